"""What pages need beside `book/static`: the colours of traced figures, and a font that can set mathematics."""

from __future__ import annotations

import re
import shutil
from importlib.util import find_spec
from pathlib import Path

from grader.cache import ToolMissing
from grader.publish import sketch
from grader.trace.svg import STYLE

_DARK = re.compile(r"@media \(prefers-color-scheme: dark\) \{\n(?P<rules>.*?)\n\}\n", re.DOTALL)


_FONT = "STIXTwoMath-Regular.ttf"


def write(folder: Path) -> None:
    """Writes `trace.css` and the font into the folder, where they are not the same already."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / _FONT).is_file():
        shutil.copyfile(_font(), folder / _FONT)
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


def _font() -> Path:
    """STIX Two Math, which a package of another use carries: roots and brackets grow only with such a font."""
    package = find_spec("ziamath")
    if package is None or not package.submodule_search_locations:
        raise ToolMissing("The font for mathematics is missing: pip install 'ziamath>=0.13'.")
    return Path(package.submodule_search_locations[0]) / "fonts" / _FONT
