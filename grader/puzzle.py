"""The vocabulary that `puzzle.py` files are written in.

A puzzle is data: its parts, each with the C parameters of its entry, a reference in PyTorch, cases in named groups
(easy first), a tolerance with its reason, and goals. This module is the ground floor: it imports nothing of
ours but `buffers.py`, whose words are its own, and `evidence.py`, and no torch, so that `grader list` stays instant.

    puzzle = Puzzle(
        title="Vector add",
        parts=[Part(
            "vector_add",
            params=[In("a", f32, "n"), In("b", f32, "n"), Out("out", f32, "n"), Scalar("n", i32)],
            reference=lambda a, b: a + b, sampled=lambda at, i: (at.a[i], at.b[i]),
            groups={"exact": [Case(n=256), Case(n=1024)], "ragged": [Case(n=1), Case(n=257)], "empty": [Case(n=0)]},
            bench=Case(n=1 << 28), work=lambda n: Work(bytes=12 * n, flops=n),
            tolerance=Tolerance(2.0**-22, why="one rounded addition: half a unit in the last place, 2**-24"),
            lesson="Many blocks, and a ragged end.",
        )],
    )

`reference` and `work` take what they need by name: any input buffer (a float64 tensor; integers as int64) and any
scalar; `in_` asks for the buffer `in`. A mistake in a puzzle raises `PuzzleError` with one sentence when the file is
loaded, not when a learner is graded.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Any, Literal

from grader.buffers import (
    Buffer,
    Dim,
    DType,
    DTypeBy,
    HostOut,
    In,
    InOut,
    Number,
    Out,
    Param,
    PuzzleError,
    Scalar,
    Workspace,
    bf16,
    buffer_bytes,
    dtype_of,
    element_count,
    f16,
    f32,
    f64,
    i32,
    i64,
    scalar_value,
    scalars_of,
    shape_of,
)
from grader.evidence import Goal

__all__ = [
    "Beside",
    "Buffer",
    "Case",
    "DType",
    "DTypeBy",
    "Dim",
    "HostOut",
    "In",
    "InOut",
    "Mistake",
    "Number",
    "Out",
    "Param",
    "Part",
    "Puzzle",
    "PuzzleError",
    "Scalar",
    "Tolerance",
    "Work",
    "Workspace",
    "bf16",
    "buffer_bytes",
    "call_by_name",
    "dtype_of",
    "element_count",
    "f16",
    "f32",
    "f64",
    "i32",
    "i64",
    "scalar_value",
    "shape_of",
]


@dataclass(frozen=True, init=False)
class Case:
    """One set of scalar values, and how the buffers are filled and placed.

    `inputs` names a generator of `grader/inputs.py` per buffer; `offset` places a buffer that many bytes past a
    256-byte boundary, which is how alignment is tested: `Case(n=1023, inputs={"b": "cancelling"}, offset={"a": 4})`.
    """

    params: Mapping[str, Number]
    inputs: Mapping[str, str] = field(default_factory=dict)
    offset: Mapping[str, int] = field(default_factory=dict)

    def __init__(
        self, *, inputs: Mapping[str, str] | None = None, offset: Mapping[str, int] | None = None, **params: Number
    ) -> None:
        object.__setattr__(self, "params", dict(params))
        object.__setattr__(self, "inputs", dict(inputs or {}))
        object.__setattr__(self, "offset", dict(offset or {}))

    @classmethod
    def of(cls, params: Mapping[str, Number]) -> Case:
        """The case of these scalar values, buffers filled and placed as usual; names may be any."""
        case = cls()
        object.__setattr__(case, "params", dict(params))
        return case


@dataclass(frozen=True)
class Tolerance:
    """Right is |got - expected| <= absolute + relative * |expected|; `why` derives the numbers in a line.

    `absolute` may depend on the case, as the error of a sum does on its terms: then it is a function that takes the
    scalars it needs by name. Where terms cancel, what `scale` returns, a function such as `reference`, stands for
    |expected|.
    """

    relative: float
    absolute: float | Callable[..., float] = 0.0
    why: str = field(kw_only=True)
    scale: Callable[..., Any] | None = field(default=None, kw_only=True)

    def absolute_in(self, case: Case) -> float:
        """The absolute part in this case."""
        return call_by_name(self.absolute, case.params) if callable(self.absolute) else self.absolute


@dataclass(frozen=True)
class Mistake:
    """A usual mistake of a part: `reference` gives what comes of it, as the part's own does what is right.

    Wrong values that fit are told by it: "as if " and `like` say what they look like, `why` what to look at.
    """

    like: str
    reference: Callable[..., Any]
    why: str


@dataclass(frozen=True)
class Beside:
    """Parts of the same puzzle that do together what this one does, counted beside it once it has passed.

    `parts` are in the order of their calls. `cases` are of this part, told apart by the scalar `by`; the others take
    the scalars that they have. Buffers of one name are one, and so are those that `same` names: {"two.dy": "one.dx"}.
    """

    parts: Sequence[str]
    by: str
    cases: Sequence[Case]
    same: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Work:
    """What a case must at least move and compute: bytes of device memory, floating-point operations."""

    bytes: int
    flops: int


@dataclass(frozen=True)
class Part:
    """One entry, one file. `name` is the entry's name, and the file's after its number: `2_vector_add.cu`.

    `sampled` gives the inputs that one element of the result is made of, such that `reference` of them is this element,
    or all of a dimension in which it then has its own place: `lambda at, i, j: (at.A[i, :], at.B[:, j])` for a product,
    `lambda at, i, j: at.x[i, :]` for a softmax; see `Indexed`. Of several results it is about the first. Without it, no
    values of the bench case are compared. `default_inputs` names the generator of buffers for which a case names none,
    by buffer where they are not alike; a function takes inputs before this one, and scalars, by name, as `reference`
    does, and gives its values. `same_program_as` marks the part whose finished file this one would equal, so that
    nothing tells their outcomes apart. `number` is needed only where the part before it in the list is not the one
    before it by number. `valid` takes scalars by name and says which sizes the entry must cope with, where the cases do
    not show it: the smallest that fails is looked for among those. `answers` says, of an entry that fills in answers,
    what each of them is about; see `grader/banks/reads.py`. `far` is a case whose indices need 64 bits, where the bench
    case's do not: a sample of it is run on the software GPU, as of the bench case, and it is not timed. `mistakes` are
    those that this part invites, beside what any part may have. `uses` names entries of other parts, of any puzzle,
    that the launcher calls: they are compiled with it (`prelude.py`), the learner's own where it has passed, else the
    reference. `headers` are files of the puzzle's folder that lie beside the source when it is compiled, as glob
    patterns: "runtime/*.hpp" can be included then, and a .cu among them is included ahead of the source (`prelude.py`);
    a part that uses this one gets them too. `beside` names parts that this one is to be better than; both are counted,
    nothing is judged by it. `pytorch` is what one would write in PyTorch instead, which a kernel is timed beside: it
    takes inputs and scalars by name and gives results as `reference` does, but tensors of the buffers' own types on the
    GPU. An InOut buffer may be changed in place; None stands for a result that PyTorch does not give. Its docstring
    names what of PyTorch it is. It is the reference where nothing else is said; None where PyTorch has no such thing.
    """

    name: str
    params: Sequence[Param] = field(kw_only=True)
    reference: Callable[..., Any] = field(kw_only=True)
    sampled: Callable[..., Any] | None = field(default=None, kw_only=True)
    groups: Mapping[str, Sequence[Case]] = field(kw_only=True)
    bench: Case = field(kw_only=True)
    far: Case | None = field(default=None, kw_only=True)
    work: Callable[..., Work] = field(kw_only=True)
    tolerance: Tolerance = field(kw_only=True)
    lesson: str = field(kw_only=True)
    goals: Sequence[Goal] = field(default=(), kw_only=True)
    extra: bool = field(default=False, kw_only=True)
    default_inputs: str | Mapping[str, str | Callable[..., Any]] = field(default="normal", kw_only=True)
    same_program_as: str | None = field(default=None, kw_only=True)
    number: int | None = field(default=None, kw_only=True)
    answers: Callable[[], Sequence[Any]] | None = field(default=None, kw_only=True)
    valid: Callable[..., bool] | None = field(default=None, kw_only=True)
    mistakes: Sequence[Mistake] = field(default=(), kw_only=True)
    uses: Sequence[str] = field(default=(), kw_only=True)
    headers: Sequence[str] = field(default=(), kw_only=True)
    beside: Beside | None = field(default=None, kw_only=True)
    pytorch: Callable[..., Any] | Literal["reference"] | None = field(default="reference", kw_only=True)

    def __post_init__(self) -> None:
        names = [param.name for param in self.params]
        if twice := {name for name in names if names.count(name) > 1}:
            raise PuzzleError(f"{self.name}: the parameter {min(twice)} appears twice.")
        if not self.groups or not all(self.groups.values()):
            raise PuzzleError(f"{self.name}: every part needs groups, and every group at least one case.")
        counted = self.beside.cases if self.beside is not None else ()
        for case in (*self.cases(), self.bench, *([self.far] if self.far is not None else []), *counted):
            self._check_case(case)
        mistaken = (mistake.reference for mistake in self.mistakes)
        own = (self.reference, self.work, self.tolerance.absolute, self.tolerance.scale, self.valid, self.pytorch)
        for function in (*own, *mistaken):
            if unknown := [name for name in _asked(function).values() if name not in names]:
                raise PuzzleError(f"{self.name}: a function of it asks for {unknown[0]}, which is no parameter.")

        if self.is_host and self.buffers:
            raise PuzzleError(f"{self.name}: an entry that fills host memory has no buffers on the device.")
        dimensions = [len(buffer.shape) for buffer in self.results[:1]]
        if self.sampled is not None and dimensions != [len(_asked(self.sampled)) - 1]:
            sentence = "`sampled` takes the inputs, and the indices of an element of the first result."
            raise PuzzleError(f"{self.name}: {sentence}")

    def _check_case(self, case: Case) -> None:
        scalars = {scalar.name for scalar in self.scalars}
        if odd := sorted(set(case.params) ^ scalars):
            raise PuzzleError(f"{self.name}: a case gives {sorted(case.params)}, not {sorted(scalars)}: see {odd[0]}.")
        buffers = {buffer.name: buffer for buffer in self.buffers}
        if unknown := [name for name in (*case.inputs, *case.offset) if name not in buffers]:
            raise PuzzleError(f"{self.name}: a case places or fills {unknown[0]}, which is no buffer.")
        for name, offset in case.offset.items():
            if not 0 <= offset < 256 or offset % dtype_of(buffers[name], case.params).bytes:
                raise PuzzleError(f"{self.name}: offset {offset} of {name} is no multiple of its type's, below 256.")
        for buffer in self.buffers:
            buffer_bytes(buffer, case.params)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Those in device memory."""
        return tuple(param for param in self.params if isinstance(param, Buffer) and param.is_on_device)

    @property
    def is_host(self) -> bool:
        """Whether the entry is host code alone."""
        return any(isinstance(param, HostOut) for param in self.params)

    @property
    def in_pytorch(self) -> Callable[..., Any] | None:
        """What PyTorch is timed with; None where there is nothing to time, or nothing of PyTorch's."""
        if self.is_host:
            return None
        return self.reference if isinstance(self.pytorch, str) else self.pytorch

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        return tuple(param for param in self.params if isinstance(param, Scalar))

    @property
    def sizes(self) -> frozenset[str]:
        """The scalars that the size of a buffer depends on."""
        return frozenset[str]().union(*map(scalars_of, self.buffers))

    @property
    def results(self) -> tuple[Buffer, ...]:
        """The buffers compared with the reference, in the order in which the reference returns them."""
        return tuple(param for param in self.params if isinstance(param, Buffer) and param.is_result)

    def cases(self) -> Iterator[Case]:
        """All cases, group by group."""
        return itertools.chain.from_iterable(self.groups.values())


@dataclass(frozen=True)
class Puzzle:
    """A title and its parts, in the order of their numbers."""

    title: str
    parts: Sequence[Part]

    def __post_init__(self) -> None:
        names = [part.name for part in self.parts]
        if not names or len(set(names)) != len(names):
            raise PuzzleError(f"{self.title}: a puzzle has at least one part, and no two of one name.")
        if any(earlier >= later for earlier, later in itertools.pairwise((0, *self.numbers))):
            raise PuzzleError(f"{self.title}: the numbers of its parts do not rise: {self.numbers}.")
        known = {part.name: {scalar.name for scalar in part.scalars} for part in self.parts}
        for part, beside in ((part, part.beside) for part in self.parts if part.beside is not None):
            if unknown := set(beside.parts) - known.keys():
                raise PuzzleError(f"{part.name}: it stands beside {min(unknown)}, which is no part of this puzzle.")
            if missing := set.union({beside.by}, *(known[name] for name in beside.parts)) - known[part.name]:
                raise PuzzleError(f"{part.name}: it has no {min(missing)}, which the parts beside it need.")

    @property
    def numbers(self) -> tuple[int, ...]:
        """The number of each part: its own, else the next after the part before."""
        numbers: list[int] = []
        for part in self.parts:
            numbers.append(part.number if part.number is not None else (numbers[-1] if numbers else 0) + 1)
        return tuple(numbers)


def call_by_name(function: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """Calls `function` with those of `values` that its parameters name."""
    return function(**{parameter: values[name] for parameter, name in _asked(function).items()})


def _asked(function: object) -> dict[str, str]:
    """What a function asks for, by parameter: `in_` asks for `in`, which Python keeps for itself."""
    parameters = inspect.signature(function).parameters if callable(function) else ()
    return {name: name[:-1] if name.endswith("_") and iskeyword(name[:-1]) else name for name in parameters}
