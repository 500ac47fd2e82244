"""The colours of traced figures as a sheet for the pages, which have a switch for light and dark."""

from __future__ import annotations

import re
from pathlib import Path

from grader.publish import sketch
from grader.trace.svg import STYLE

_DARK = re.compile(r"@media \(prefers-color-scheme: dark\) \{\n(?P<rules>.*?)\n\}\n", re.DOTALL)


def write(folder: Path) -> None:
    """Writes `trace.css` into the folder, where it is not the same already."""
    folder.mkdir(parents=True, exist_ok=True)
    sheet = folder / "trace.css"
    text = trace_style()
    if not sheet.is_file() or sheet.read_text(encoding="utf-8") != text:
        sheet.write_text(text, encoding="utf-8")


def trace_style() -> str:
    """The styles of traces and of sketches, dark where the reader's system is and where the reader chose it."""
    dark = _DARK.search(STYLE)
    assert dark is not None
    rules = dark["rules"]
    chosen = rules.replace(".trace", 'body[data-theme="dark"] .trace')
    by_system = rules.replace(".trace", 'body[data-theme="auto"] .trace')
    return _DARK.sub("", STYLE) + f"{chosen}\n@media (prefers-color-scheme: dark) {{\n{by_system}\n}}\n{sketch.STYLE}"
