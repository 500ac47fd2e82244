"""Figures from runs: pictures and pages of what a block asks of memory."""

from __future__ import annotations

import contextlib
import inspect
import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from html import escape
from typing import TYPE_CHECKING

from grader.catalog import UsageError
from grader.publish import traced
from grader.publish.figure import TRACED, figure, framed
from grader.publish.markup import directive
from grader.publish.sources import line_with, part_of, source_of

if TYPE_CHECKING:
    from grader.publish.asked import Asked
    from grader.publish.context import Book

_JOBS = 2
_DIMENSIONS = 3


def functions(book: Book) -> dict[str, Callable[..., object]]:
    """What a chapter calls, by name."""

    def trace(
        label: str, kind: str = "sheet", *, caption: str, alt: str, file: str | None = None, line: str | int = 0,
        case: str = "", block: Iterable[int] = (), array: str = "", step: int = 0, access: str = "",
        solution: bool = True,
    ) -> str:  # fmt: skip
        """A picture of the solution, of the file, or, with solution=false, of the skeleton."""
        if kind not in traced.KINDS:
            raise UsageError(f"there is no picture {kind!r}; there are {', '.join(traced.KINDS)}.")
        wanted = _wanted(book, label, kind, file, line, case, block, solution, array, step, access)
        return figure(traced.drawing(wanted), caption, alt, TRACED)

    def trace_page(
        label: str, *, caption: str, alt: str, file: str | None = None, line: str | int = 0, case: str = "",
        block: Iterable[int] = (), solution: bool = True,
    ) -> str:  # fmt: skip
        """A page with a slider, in a frame; the EPUB has none."""
        wanted = _wanted(book, label, "page", file, line, case, block, solution)
        name = f"{label.replace('.', '-')}-{wanted.key[:8]}.html"
        path = book.build / "traces" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(traced.page(wanted), encoding="utf-8")
        return _embedded(book, name, caption, alt)

    return {"trace": trace, "trace_page": trace_page}


def prepare(book: Book, asked: Iterable[Asked], jobs: int = _JOBS) -> None:
    """Makes the pictures and pages that chapters ask for, each in a process of a pool, so that rendering finds them."""
    wanted = [one for one in dict.fromkeys(_pictures(book, asked)) if not traced.is_kept(one)]
    if len(wanted) > 1:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(jobs, len(wanted)), context) as pool:
            list(pool.map(traced.prepare, wanted))


def _pictures(book: Book, asked: Iterable[Asked]) -> Iterator[traced.Wanted]:
    """Those that can be told from the calls; a mistake in a call is told when the chapter is rendered."""
    for name, positional, named in (call for one in asked for call in one.calls):
        if name in ("trace", "trace_page"):
            with contextlib.suppress(UsageError, TypeError):
                yield _of_call(book, name, positional, named)


def _of_call(book: Book, name: str, positional: tuple[object, ...], named: Mapping[str, object]) -> traced.Wanted:
    bound = inspect.signature(functions(book)[name]).bind(*positional, **named)
    bound.apply_defaults()
    given = {key: value for key, value in bound.arguments.items() if key not in ("caption", "alt")}
    return _wanted(book, **({"kind": "page"} | given))


def _wanted(
    book: Book, label: str, kind: str, file: str | None, line: str | int, case: str, block: Iterable[int],
    solution: bool, array: str = "", step: int = 0, access: str = "",
) -> traced.Wanted:  # fmt: skip
    located = part_of(book, label)
    name = file or f"{label}{'!' if solution else ''}"
    source = source_of(book, name)
    at = [*block, 0, 0, 0][:_DIMENSIONS]
    return traced.Wanted(
        root=book.root,
        label=located.label,
        file=book.root / source.path,
        kind=kind,  # type: ignore[arg-type]  # one of them, as was looked at
        line=line_with(source, line) if isinstance(line, str) else line,
        case=case,
        block=(at[0], at[1], at[2]),
        array=array,
        step=step,
        access=access,
    )


def _embedded(book: Book, name: str, caption: str, alt: str) -> str:
    address = f"../traces/{name}"
    frame = f'<iframe class="trace-page" src="{address}" title="{escape(alt)}" loading="lazy"></iframe>'
    link = f'<p class="trace-link"><a href="{address}">{escape(book.phrases["trace_alone"])}</a></p>'
    return directive("only", "not epub", framed(f"{frame}\n{link}", caption, alt), {})
