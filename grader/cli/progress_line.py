"""One line at the bottom of the terminal that says what is being done; gone when it is done."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status


@contextlib.contextmanager
def progress_line(*, wanted: bool = True) -> Iterator[Callable[[str], None]]:
    """A function that shows a short sentence in the place of the one before.

    It shows nothing where it is not wanted, and where nobody looks: standard error is no terminal. Nothing appears
    before the first sentence.
    """
    if not wanted or not sys.stderr.isatty():
        yield lambda _sentence: None
        return
    with contextlib.ExitStack() as stack:
        shown: list[Status] = []

        def tell(sentence: str) -> None:
            if not shown:
                from rich.console import Console

                shown.append(stack.enter_context(Console(stderr=True).status("")))
            shown[0].update(sentence)

        yield tell
