"""Branches, calls and what they pass, ends, and the system's functions (PTX ISA 9.1, sections 9.7.12 and 9.7.19)."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from tests.instructions.case import Case, Row, fixed
from tests.instructions.memory import ROWS, TYPES, counts, extended, names, registers, show, vector, width

_LANES = range(32)


def _thread(title: str, body: str, expected: Sequence[Row], before: str = "", findings: tuple[str, ...] = ()) -> Case:
    """A row for each thread of a warp, whose number is in %t."""
    rows = [(n,) for n in range(len(expected))]
    words = len(expected[0])
    return Case(title, body, rows, words, fixed(expected), before=before, block=len(rows), findings=findings)


def branches() -> Iterator[Case]:
    loop = """mov.b32 %r1, 0;
mov.b32 %r2, 0;
again:
add.u32 %r1, %r1, %r2;
add.u32 %r2, %r2, 1;
setp.le.u32 %p1, %r2, %t;
> @%p1 bra again;
st.global.b32 [%out], %r1;"""
    yield _thread("bra in a loop", loop, [(n * (n + 1) // 2,) for n in _LANES])
    body = "> bra.uni over;\nst.global.b32 [%out], 1;\nover:\nst.global.b32 [%out+8], 2;"
    yield _thread("bra.uni", body, [(0, 2)] * 32)
    negated = """setp.lt.u32 %p1, %t, 5;
mov.b32 %r1, 1;
> @!%p1 bra over;
mov.b32 %r1, 2;
over:
st.global.b32 [%out], %r1;"""
    yield _thread("bra with !", negated, [(2 if n < 5 else 1,) for n in _LANES])
    for title, guard in (("brx.idx", ""), ("brx.idx with a guard", "setp.ne.u32 %p1, %t, 9;\n")):
        at = "@%p1 " if guard else ""
        table = f"""mov.b32 %r1, 9;
rem.u32 %r2, %t, 3;
{guard}targets: .branchtargets zero, one, two;
> {at}brx.idx %r2, targets;
bra done;
zero:
mov.b32 %r1, 100;
bra done;
one:
mov.b32 %r1, 101;
bra done;
two:
add.u32 %r1, %r1, 93;
done:
st.global.b32 [%out], %r1;"""
        yield _thread(title, table, [(9 if guard and n == 9 else 100 + n % 3,) for n in _LANES])


def ends() -> Iterator[Case]:
    rows: list[Row] = [(1, 0 if n < 7 else 2) for n in _LANES]
    for name in ("ret", "exit"):
        body = f"setp.lt.u32 %p1, %t, 7;\nst.global.b32 [%out], 1;\n> @%p1 {name};\nst.global.b32 [%out+8], 2;"
        yield _thread(name, body, rows)
    callee = """.func leave(.param .b32 n)
{
.reg .b32 %r<3>; .reg .pred %p<2>;
ld.param.u32 %r1, [n];
setp.lt.u32 %p1, %r1, 7;
> @%p1 exit;
ret;
}"""
    body = "st.global.b32 [%out], 1;\n" + _call("", "leave", "n", "%t") + "\nst.global.b32 [%out+8], 2;"
    yield _thread("exit from a function", body, rows, callee)
    trap = "setp.eq.u32 %p1, %t, 3;\nst.global.b32 [%out], 1;\n> @%p1 trap;\nst.global.b32 [%out+8], 2;"
    yield _thread("trap", trap, [(1, 0)] * 32, findings=("device_trap",))


def _call(result: str, function: str, parameter: str, argument: str) -> str:
    back = f"\nld.param.b32 {result}, [back];" if result else ""
    declared = ".param .b32 back;\n" if result else ""
    return f"""{{
.param .b32 {parameter}_0;
{declared}st.param.b32 [{parameter}_0], {argument};
call.uni {"(back), " if result else ""}{function}, ({parameter}_0);{back}
}}"""


_FACTORIAL = """.func (.param .b32 f_r) factorial(.param .b32 f_n)
{
.reg .b32 %r<6>; .reg .pred %p<2>;
ld.param.u32 %r1, [f_n];
mov.b32 %r4, 1;
setp.lt.u32 %p1, %r1, 2;
@%p1 bra done;
sub.u32 %r2, %r1, 1;
{
.param .b32 n_0;
.param .b32 r_0;
st.param.b32 [n_0], %r2;
> call.uni (r_0), factorial, (n_0);
ld.param.b32 %r3, [r_0];
}
mul.lo.u32 %r4, %r1, %r3;
done:
st.param.b32 [f_r], %r4;
> ret;
}"""
_TWO = """.func (.param .b32 a_r) twice(.param .b32 a_n)
{
.reg .b32 %r<3>;
ld.param.u32 %r1, [a_n];
add.u32 %r2, %r1, %r1;
st.param.b32 [a_r], %r2;
ret;
}
.func (.param .b32 b_r) square(.param .b32 b_n)
{
.reg .b32 %r<3>;
ld.param.u32 %r1, [b_n];
mul.lo.u32 %r2, %r1, %r1;
st.param.b32 [b_r], %r2;
ret;
}"""


def calls() -> Iterator[Case]:
    product = [1]
    for n in range(1, 32):
        product.append(product[-1] * n)
    # nvcc calls a function of its own by `call.uni`; each lane goes as deep as it needs.
    body = f"{_call('%r1', 'factorial', 'n', '%t')}\nst.global.b32 [%out], %r1;"
    yield _thread("call", body, [(product[n] % (1 << 32),) for n in _LANES], _FACTORIAL)
    prototype = "prototype: .callprototype (.param .b32 _) _ (.param .b32 _);"
    body = f"""rem.u32 %r2, %t, 2;
setp.eq.u32 %p1, %r2, 0;
> mov.u64 %d1, twice;
> mov.u64 %d2, square;
selp.b64 %d3, %d1, %d2, %p1;
{prototype}
{{
.param .b32 n_0;
.param .b32 r_0;
st.param.b32 [n_0], %t;
> call (r_0), %d3, (n_0), prototype;
ld.param.b32 %r1, [r_0];
}}
st.global.b32 [%out], %r1;"""
    yield _thread("call of an address", body, [(2 * n if n % 2 == 0 else n * n,) for n in _LANES], _TWO)
    table = f"{_TWO}\n.global .align 8 .u64 functions[2] = {{twice, square}};"
    body = f"""rem.u32 %r2, %t, 2;
mov.u64 %d1, functions;
mad.wide.u32 %d1, %r2, 8, %d1;
ld.global.u64 %d3, [%d1];
{prototype}
{{
.param .b32 n_0;
.param .b32 r_0;
st.param.b32 [n_0], %t;
> call (r_0), %d3, (n_0), prototype;
ld.param.b32 %r1, [r_0];
}}
st.global.b32 [%out], %r1;"""
    yield _thread("call through a table", body, [(2 * n if n % 2 == 0 else n * n,) for n in _LANES], table)


def passed() -> Iterator[Case]:
    """Arguments and results of every type and vector: the function gives back what it got, each lane its own."""
    for kind in TYPES:
        for count in counts(kind):
            register = registers(kind)[0] if width(kind) > 16 else "r"
            tail, listed = vector(count, kind), names(register, count)
            before = f""".func (.param .align 16 .b8 f_r[16]) echo(.param .align 16 .b8 f_a[16])
{{
.reg .b32 %r<20>; .reg .b64 %d<20>;
> ld.param{tail} {listed}, [f_a];
> st.param{tail} [f_r], {listed};
ret;
}}"""
            loads = "\n".join(
                f"ld.global.{kind} %{register}{10 + i}, [%in+{i * width(kind) // 8}];" for i in range(count)
            )
            body = f"""{loads}
{{
.param .align 16 .b8 a_0[16];
.param .align 16 .b8 r_0[16];
> st.param{tail} [a_0], {listed};
call.uni (r_0), echo, (a_0);
> ld.param{tail} {listed}, [r_0];
}}
{show(register, count)}"""

            def expected(k: str = kind, c: int = count, r: str = register) -> list[Row]:
                return [extended(k, struct.pack("<2Q", *row), c, r) for row in ROWS]

            yield Case(f"ld.param{tail} and st.param of a call", body, ROWS, count, expected, before=before, block=64)


def system() -> Iterator[Case]:
    before = """.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[8] = {110, 61, 37, 100, 10, 0, 0, 0};"""
    body = """.local .align 8 .b8 stack[8];
mov.u64 %d1, stack;
st.local.u32 [%d1], %t;
cvta.local.u64 %d2, %d1;
mov.u64 %d3, text;
cvta.global.u64 %d4, %d3;
{
.param .b64 f_0;
.param .b64 a_0;
.param .b32 r_0;
st.param.b64 [f_0], %d4;
st.param.b64 [a_0], %d2;
> call.uni (r_0), vprintf, (f_0, a_0);
ld.param.b32 %r1, [r_0];
}
setp.ge.s32 %p1, %r1, 0;
selp.b32 %r2, 1, 0, %p1;
st.global.b32 [%out], %r2;"""
    printed = "".join(f"n={n}\n" for n in range(4))
    yield _printing("call of vprintf", body, [(1,)] * 4, before, printed)
    before = """.extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);
.global .align 1 .b8 text[4] = {110, 62, 48, 0};"""
    body = """setp.ne.u32 %p1, %t, 2;
st.global.b32 [%out], 1;
@%p1 bra past;
mov.u64 %d3, text;
cvta.global.u64 %d4, %d3;
{
.param .b64 m_0;
.param .b64 f_0;
.param .b32 l_0;
.param .b64 n_0;
.param .b64 c_0;
st.param.b64 [m_0], %d4;
st.param.b64 [f_0], %d4;
st.param.b32 [l_0], 7;
st.param.b64 [n_0], %d4;
st.param.b64 [c_0], 1;
> call.uni __assertfail, (m_0, f_0, l_0, n_0, c_0);
}
past:
bar.sync 0;
st.global.b32 [%out+8], 2;"""
    yield _thread("call of __assertfail", body, [(1, 0)] * 32, before, findings=("device_trap",))


def _printing(title: str, body: str, expected: Sequence[Row], before: str, printed: str) -> Case:
    rows = [(n,) for n in range(len(expected))]
    return Case(title, body, rows, len(expected[0]), fixed(expected), before=before, block=len(rows), printed=printed)


CASES = [*branches(), *ends(), *calls(), *passed(), *system()]
