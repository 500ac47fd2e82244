"""What is damaged: PTX texts of our tests and puzzles, and the programs that they, or their damaged twins, become."""

from __future__ import annotations

from pathlib import Path

from grader.build import build
from grader.catalog import load_catalog
from grader.simt.lower import lower
from grader.simt.program import write_program
from grader.submission import used_sources
from tests.judging import ROOT

_MOST_BYTES = 256 << 10  # of a text: what CUB makes of a sort takes seconds to lower


def write_texts(directory: Path) -> None:
    """The PTX that lies in tests/ptx, and that of tests/kernels and of the puzzles' solutions, each as NAME.ptx."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in ROOT.glob("tests/ptx/*.ptx")}
    parts = [part for puzzle in load_catalog(ROOT).puzzles for part in puzzle.parts]
    uses = {part.solution_path: used_sources(part) for part in parts}
    for source in (*ROOT.glob("tests/kernels/**/*.cu"), *ROOT.glob("solutions/*/*.cu")):
        name = "-".join(source.relative_to(ROOT).with_suffix("").parts)
        texts[name] = build(source, uses=uses.get(source, ())).ptx.read_text(encoding="utf-8")
    for name, text in texts.items():
        if len(text) <= _MOST_BYTES:
            (directory / f"{name}.ptx").write_text(text, encoding="utf-8")


def write_programs(texts: Path, directory: Path) -> None:
    """What each text in `texts` becomes when it is lowered, as NAME.simt."""
    for text in texts.glob("*.ptx"):
        write_program(lower(text.read_text(encoding="utf-8"), f"{text.stem}.cu"), directory / f"{text.stem}.simt")
