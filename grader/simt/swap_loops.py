"""Compare-and-swap loops: the plain load that such a loop begins with.

`old = *p; do { seen = old; old = atomicCAS(p, seen, f(seen)); } while (old != seen);` is right though others may change
`*p` meanwhile: a value that is no longer true only makes the first exchange fail. So the load counts as relaxed.
"""

from __future__ import annotations

from grader.simt.cfg import CodeBlock
from grader.simt.code import Op


def relax_first_loads(blocks: list[CodeBlock]) -> None:
    """Loads from an address at which the function compares and swaps later become `ld.relaxed.gpu`."""
    ops = [op for block in blocks for op in block.ops]
    last_swap = {
        _place(op): number for number, op in enumerate(ops) if op.name.startswith("atom.") and ".cas." in op.name
    }
    for number, op in enumerate(ops):
        verb, _, rest = op.name.partition(".")
        plain_load = verb == "ld" and rest.startswith(("global.", "shared.", "generic."))
        if plain_load and number < last_swap.get(_place(op), 0):
            op.name = f"ld.relaxed.gpu.{rest}"


def _place(op: Op) -> tuple[int, int]:
    """The address of an access: its register and the offset."""
    return op.sources[0] if op.sources else -1, op.immediate
