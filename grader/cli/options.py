"""Arguments and options that several commands take: what they are about, which file and case, and how it is told."""

import secrets
from typing import Annotated

import typer

PuzzleArgument = Annotated[str, typer.Argument(metavar="PUZZLE[.PART]", help="1, 1.2, puzzle_1, vector_add_block, …")]
PartOption = Annotated[str | None, typer.Option("--part", metavar="NAME", help="One part, by the name of its entry.")]
FileOption = Annotated[
    str | None, typer.Option("--file", metavar="PATH", help="Take this file in the place of the part's own.")
]
SolutionOption = Annotated[bool, typer.Option("--solution", help="Take the reference solution instead.")]
CaseOption = Annotated[str | None, typer.Option("--case", metavar="M=65,N=33", help="Only the case of these sizes.")]
SizesOption = Annotated[
    str | None, typer.Option("--case", metavar="M=65,N=33", help="The sizes; by default a small case of the part.")
]
SeedOption = Annotated[int | None, typer.Option("--seed", min=0, max=2**31 - 1, help="Repeat the inputs of this seed.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]

_SEEDS = 1_000_000


def new_seed() -> int:
    """Where no seed is asked for; short enough to be typed."""
    return secrets.randbelow(_SEEDS)
