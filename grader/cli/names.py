"""How every command lets a puzzle or a part be named."""

from typing import Annotated

import typer

PuzzleArgument = Annotated[str, typer.Argument(metavar="PUZZLE[.PART]", help="1, 1.2, puzzle_1, vector_add_block, …")]
PartOption = Annotated[str | None, typer.Option("--part", metavar="NAME", help="One part, by the name of its entry.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
