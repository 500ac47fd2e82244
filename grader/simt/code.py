"""A function between PTX and the lowered program: operations on virtual registers.

An operand is `kind << 28 | index` as in the file, but the index of a register is that of a *value*: a virtual
register of the function, whatever its class. `slots` later gives every value a slot of its class.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.simt.program import (
    CONSTANT32,
    CONSTANT64,
    INDEX_MASK,
    KIND_SHIFT,
    NOT_PREDICATE,
    PREDICATE,
    R32,
    R64,
    SINK,
    UNKNOWN_WIDTH,
)

TERMINATORS = frozenset({"bra", "brx", "ret", "exit", "trap"})
REGISTER_KINDS = frozenset({R32, R64, PREDICATE, NOT_PREDICATE})


def register_value(operand: int) -> int | None:
    """The value of a register operand, None for constants and the sink."""
    return operand & INDEX_MASK if operand >> KIND_SHIFT in REGISTER_KINDS else None


@dataclass(slots=True)
class Op:
    """One operation. `guard` is 0 or 1 + 2 * value + negated.

    `effect` says that it does more than write its results; `waits` that lanes of other groups are waited for, so
    that a block ends behind it; `takes_undefined` that it may well store an undefined value; `targets` are PTX
    instructions first, then blocks; `line` is that of the PTX; `compiled` is that of `program.Instruction`.
    """

    name: str
    results: list[int]
    sources: list[int]
    immediate: int
    guard: int
    site: int
    line: int
    effect: bool = False
    waits: bool = False
    takes_undefined: bool = False
    targets: list[int] = field(default_factory=list)
    compiled: int = UNKNOWN_WIDTH

    @property
    def ends_block(self) -> bool:
        return self.waits or self.name in TERMINATORS

    @property
    def leaves(self) -> bool:
        """No lane goes on to the next operation."""
        return not self.guard and self.name in TERMINATORS

    def used_values(self) -> list[int]:
        """Values that are read, the guard's among them."""
        used = [operand & INDEX_MASK for operand in self.sources if operand >> KIND_SHIFT in REGISTER_KINDS]
        if self.guard:
            used.append((self.guard - 1) >> 1)
        return used

    def written_values(self) -> list[int]:
        return [operand & INDEX_MASK for operand in self.results if operand != SINK]


@dataclass(slots=True)
class Code:
    """The operations of a function, and what its values are.

    `kinds` holds R32, R64 or PREDICATE for each value, `names` the PTX names; a value in `specials` is filled
    before the first operation.
    """

    name: str
    kinds: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    constants32: dict[int, int] = field(default_factory=dict)
    constants64: dict[int, int] = field(default_factory=dict)
    specials: dict[str, int] = field(default_factory=dict)

    def new_value(self, kind: int, name: str) -> int:
        """A new value, as an operand."""
        self.kinds.append(kind)
        self.names.append(name)
        return kind << KIND_SHIFT | len(self.kinds) - 1

    def constant32(self, value: int) -> int:
        pool = self.constants32
        return CONSTANT32 << KIND_SHIFT | pool.setdefault(value & 0xFFFFFFFF, len(pool))

    def constant64(self, value: int) -> int:
        pool = self.constants64
        return CONSTANT64 << KIND_SHIFT | pool.setdefault(value & 0xFFFFFFFFFFFFFFFF, len(pool))

    def special(self, name: str) -> int:
        """The value of a 32-bit special register, as an operand."""
        value = self.specials.get(name)
        if value is None:
            operand = self.new_value(R32, f"%{name}")
            self.specials[name] = operand & INDEX_MASK
            return operand
        return R32 << KIND_SHIFT | value
