"""A new puzzle: a small one that works, to be changed into what it is to teach."""

from __future__ import annotations

import re
from pathlib import Path

from grader.catalog import Catalog, UsageError, emptied

TEMPLATE = Path(__file__).parent / "template"
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_MOST = 99


def new_puzzle(catalog: Catalog, name: str, number: int | None = None) -> list[Path]:
    """Writes the files of a new puzzle called `name`, its part and its entry too; returns their paths.

    `number` is by default the next one. Raises `UsageError` for a name that is none, or is taken.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name[:80]!r} is no name for a puzzle: small letters, digits and single underscores, as in vector_add."
        )
    taken = [
        entry for puzzle in catalog.puzzles for entry in (puzzle.topic, *(part.part.name for part in puzzle.parts))
    ]
    if name in taken:
        raise UsageError(f"There is a puzzle or a part called {name} already; choose another name.")
    numbers = [puzzle.number for puzzle in catalog.puzzles]
    chosen = max(numbers, default=0) + 1 if number is None else number
    if chosen in numbers or not 1 <= chosen <= _MOST:
        raise UsageError(f"A new puzzle cannot have the number {chosen}: it is taken, or not between 1 and {_MOST}.")
    return _write(
        catalog.root, f"puzzle_{chosen:02d}_{name}", {"ENTRY": name, "NUMBER": str(chosen), "TITLE": _title(name)}
    )


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _write(root: Path, folder: str, words: dict[str, str]) -> list[Path]:
    entry = words["ENTRY"]
    puzzle, wrong = root / "puzzles" / folder, root / "tests" / "wrong" / folder
    solution = _filled("solution.cu", words)
    texts = {
        puzzle / "puzzle.py": _filled("puzzle.py", words),
        puzzle / "README.md": _filled("README.md", words),
        puzzle / "hints.md": _filled("hints.md", words),
        puzzle / f"1_{entry}.cu": emptied(solution),
        root / "solutions" / folder / f"1_{entry}.cu": solution,
        wrong / "expected.json": _filled("expected.json", words),
    }
    for path in sorted(TEMPLATE.glob("wrong_*.cu")):
        texts[wrong / path.name.removeprefix("wrong_")] = _filled(path.name, words)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(texts)


def _filled(name: str, words: dict[str, str]) -> str:
    text = (TEMPLATE / name).read_text(encoding="utf-8")
    for word, meaning in words.items():
        text = re.sub(rf"(?<![A-Z]){word}(?![A-Z])", meaning, text)
    return text
