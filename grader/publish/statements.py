"""What a puzzle says of its parts, as a page shows it: an entry's signature and parameters, the list of parts."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.buffers import Buffer, DType, Param, Scalar
from grader.catalog import Located, LocatedPuzzle, UsageError
from grader.list_part import ListPart, ReadingPart
from grader.publish.markup import code, table
from grader.python_part import PythonPart

if TYPE_CHECKING:
    from grader.publish.context import Book

_IN_C = {
    "f32": "float", "f16": "half", "bf16": "__nv_bfloat16", "f64": "double", "i32": "int", "i64": "long long",
}  # fmt: skip
_WIDEST = 92
_ROW = re.compile(r"\| (\d+\.\d+)(\+?) `(\w+)`( \(\w+\))? \|(.*)\|")


def statement(book: Book, located: Located) -> str:
    """The entry's signature, and below it what each parameter is."""
    part = located.part
    params: list[Param] = [*(part.tensors if isinstance(part, PythonPart) else ()), *part.params]
    if isinstance(part, ListPart | PythonPart | ReadingPart):
        function = _python_entry(located)
        taken = [argument.arg for argument in function.args.args]
        params = [param for param in params if param.name in taken]
        first, after = function.lineno - 1, function.body[0].lineno - 1
        listing = code("\n".join(located.skeleton().splitlines()[first:after]), "python", class_="statement")
    else:
        listing = code(signature(located), "cuda", class_="statement")
    if not params:
        return listing
    heads = [book.phrases[key] for key in ("parameter", "role", "type", "shape")]
    return f"{listing}\n\n{table(heads, [_row(book, param) for param in params])}"


def signature(located: Located) -> str:
    """The entry as C++ declares it, on lines of at most 92 characters."""
    part = located.part
    words = [f"{_c_type(param)} {param.name}" for param in part.params]
    if not part.is_host:
        words.append("cudaStream_t stream")
    head = f'extern "C" {"void" if part.is_host else "cudaError_t"} {part.name}('
    lines = [head]
    for place, word in enumerate(words):
        piece = word + (", " if place < len(words) - 1 else ");")
        if len(lines[-1]) + len(piece.rstrip()) > _WIDEST:
            lines.append(" " * 8)
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def _c_type(param: Param) -> str:
    if isinstance(param, Scalar):
        return _IN_C[param.dtype.name]
    name = _IN_C[param.dtype.name] if isinstance(param.dtype, DType) else "void"
    return f"const {name}*" if param.role == "in" else f"{name}*"


def _python_entry(located: Located) -> ast.FunctionDef:
    entry = located.names[-1]
    for node in ast.parse(located.skeleton()).body:
        if isinstance(node, ast.FunctionDef) and node.name == entry:
            return node
    raise UsageError(f"{located.path.name} has no function {entry}.")


def _row(book: Book, param: Param) -> list[str]:
    if not isinstance(param, Buffer):
        return [f"`{param.name}`", book.phrases["role_number"], f"`{_IN_C[param.dtype.name]}`", ""]
    types = [param.dtype] if isinstance(param.dtype, DType) else list(param.dtype.types)
    shown = f" {book.phrases['or']} ".join(f"`{_IN_C[dtype.name]}`" for dtype in types)
    shape = ", ".join(map(str, param.shape))
    return [f"`{param.name}`", book.phrases[f"role_{param.role}"], shown, f"`[{shape}]`"]


def parts_table(book: Book, number: int) -> str:
    """Part, what is written, level and minutes, from the puzzle's page; each part leads to where it is told."""
    puzzle, _ = book.catalog.resolve(str(number))
    told = _told_by(puzzle)
    rows = [[row.link, *row.cells] for row in (told[part.label] for part in puzzle.parts)]
    return table([book.phrases[key] for key in ("part", "you_write", "level", "minutes")], rows)


def minutes(book: Book, *chosen: str | int) -> int:
    """How long parts take together, as their puzzles' pages say; the number of a puzzle means its core parts."""
    parts: list[Located] = []
    for one in chosen:
        puzzle, part = book.catalog.resolve(str(one))
        parts += [part] if part is not None else [core for core in puzzle.parts if not core.part.extra]
    return sum(int(_told_by(part.puzzle)[part.label].cells[-1]) for part in parts)


@dataclass(frozen=True)
class _Row:
    """What a puzzle's page says of a part: `cells` are what is written, its level, and minutes."""

    link: str
    cells: list[str]


def _told_by(puzzle: LocatedPuzzle) -> dict[str, _Row]:
    """By label; raises `UsageError` for a part that the page leaves out."""
    page = (puzzle.directory / "README.md").read_text(encoding="utf-8")
    told = {
        label: _Row(
            f"[{label}](#part-{label.replace('.', '-')}){plus} `{name}`{extra}",
            [cell.strip() for cell in rest.split("|")],
        )
        for label, plus, name, extra, rest in _ROW.findall(page)
    }
    if missing := [part.label for part in puzzle.parts if part.label not in told]:
        raise UsageError(f"The page of puzzle {puzzle.number} has no row for part {missing[0]}.")
    return told
