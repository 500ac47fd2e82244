"""Small PTX texts for tests, and ways to look at what becomes of them."""

from __future__ import annotations

import re
from pathlib import Path

from grader.simt.lower import lower
from grader.simt.program import Function, Program
from grader.simt.program_text import instruction_text

FIXTURES = Path(__file__).parent / "ptx"
HEADER = ".version 9.0\n.target sm_80\n.address_size 64\n"
REGISTERS = (
    ".reg .pred %p<10>; .reg .b16 %rs<10>; .reg .b32 %r<20>; .reg .f32 %f<10>; .reg .b64 %rd<10>; .reg .f64 %fd<10>;"
)
# Gives every register that a test may name a value: 16, 32 and 64 bits from parameters, predicates from those.
ASSIGNED = "\n".join(
    [
        "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [a+8]; ld.param.u64 %rd3, [a+16];",
        "ld.param.u32 %r1, [a+24]; ld.param.u32 %r2, [a+28]; ld.param.u32 %r3, [a+32]; ld.param.u32 %r4, [a+36];",
        "ld.param.f32 %f1, [a+24]; ld.param.f32 %f2, [a+28]; ld.param.f32 %f3, [a+32];",
        "ld.param.f64 %fd1, [a]; ld.param.f64 %fd2, [a+8]; ld.param.f64 %fd3, [a+16];",
        "ld.param.u16 %rs1, [a+24]; ld.param.u16 %rs2, [a+26]; ld.param.u16 %rs3, [a+28];",
        "setp.ne.s32 %p1, %r1, 77; setp.ne.s32 %p2, %r2, 77; setp.ne.s32 %p3, %r3, 77;",
    ]
)
# Keeps every result: what nobody reads would be dropped.
USED = "\n".join(
    [
        *(f"st.global.u64 [%rd1], {name};" for name in ("%rd0", "%fd0", "%rd9")),
        *(f"st.global.u32 [%rd1], {name};" for name in ("%r0", "%f0", "%r9")),
        "st.global.u16 [%rd1], %rs0;",
        "@%p0 st.global.u32 [%rd1], 1;",
        "@%p9 st.global.u32 [%rd1], 2;",
        "ret;",
    ]
)
_BEGIN, _END = "membar.cta;", "membar.sys;"


def kernel(body: str, *, before: str = "", name: str = "k", parameters: str = ".param .align 8 .b8 a[64]") -> str:
    """A module with one kernel. `before` is what stands at module level before it."""
    return f"{HEADER}{before}\n.visible .entry {name}({parameters})\n{{\n{REGISTERS}\n{body}\n}}\n"


def texts(program: Program, function: Function) -> list[list[str]]:
    """The instructions of each block."""
    return [
        [instruction_text(program, function, item) for item in function.instructions[block.first :][: block.count]]
        for block in function.blocks
    ]


def lowered(body: str, *, before: str = "", parameters: str = ".param .align 8 .b8 a[64]") -> list[list[str]]:
    """The instructions of each block of a kernel with that body."""
    program = lower(kernel(body, before=before, parameters=parameters), "k.cu")
    return texts(program, program.functions[-1])


def spelled(instructions: str, *, before: str = "") -> list[str]:
    """What the instructions become, slots without their numbers: `add.s32 %r0, %r1, 3;` gives `add.b32 r, r, 0x3`.

    Registers 1 to 3 of each class have values; registers 0 and 9 are read afterwards.
    """
    wrapped = f"{ASSIGNED}\n{_BEGIN}\n{instructions}\n{_END}\n{USED}"
    made = [text for block in lowered(wrapped, before=before) for text in block]
    made = made[made.index("membar.cta") + 1 : made.index("membar.sys")]
    return [re.sub(r"(?<![\w%.])([rdp])\d+\b", r"\1", text) for text in made if "track." not in text]
