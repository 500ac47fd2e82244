"""Kill rates by part, and the file that the last full run is kept in."""

from __future__ import annotations

import datetime
import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from grader.author.mutants import Fate, Judged, digest_of
from grader.catalog import Located


def rates(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """One row a part: its mutants, how many of them count, how many of those are killed, and what became of the rest.

    Those count that compile, are another program than the solution, and have no reason to be as right as it is.
    """
    rows = []
    for label in dict.fromkeys(one.mutant.part.label for one in judged):
        own = [one for one in judged if one.mutant.part.label == label]
        rows.append(
            {
                "label": label,
                "part": own[0].mutant.part.part.name,
                "solution": digest_of(own[0].mutant.part),
                "mutants": len(own),
                "stillborn": sum(one.fate is Fate.stillborn for one in own),
                "same_program": sum(one.fate is Fate.same for one in own),
                "equivalent": sum(one.fate is Fate.survived and bool(one.note) for one in own),
                "counted": sum(one.counts for one in own),
                "killed": sum(one.fate is Fate.killed for one in own),
            }
        )
    return rows


def table(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """The rows as text, one line a part, and one line for all of them."""
    yield f"{'part':<34}{'mutants':>8}{'no code':>9}{'same':>6}{'as right':>10}{'killed':>19}"
    total: dict[str, Any] = {"label": "all", "part": ""}
    for row in rows:
        yield _line(row)
        for name, value in row.items():
            if isinstance(value, int):
                total[name] = total.get(name, 0) + value
    if "mutants" in total:
        yield _line(total)


def _line(row: dict[str, Any]) -> str:
    share = f"{100 * row['killed'] / row['counted']:.0f} %" if row["counted"] else "–"
    killed = f"{row['killed']} of {row['counted']} {share:>6}"
    name = f"{row['label']} {row['part']}"
    return (
        f"{name:<34}{row['mutants']:>8}{row['stillborn']:>9}{row['same_program']:>6}{row['equivalent']:>10}{killed:>19}"
    )


def survivors(judged: Iterable[Judged]) -> Iterator[Judged]:
    """Those that passed, with a reason or without, and those that nobody could judge."""
    return (one for one in judged if one.fate in (Fate.survived, Fate.unjudged))


def unexplained(judged: Iterable[Judged]) -> list[Judged]:
    """Those that must not be: they passed without a reason, or could not be judged."""
    return [one for one in judged if one.fate is Fate.unjudged or (one.fate is Fate.survived and not one.note)]


def write(path: Path, judged: Sequence[Judged], commit: str | None, seed: int) -> None:
    """The rows and the survivors, as results/README.md describes them."""
    found = {
        "about": {
            "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
            "commit": commit,
            "command": "grader author mutate --json FILE",
            "seed": seed,
        },
        "parts": rates(judged),
        "survivors": [
            {
                "part": one.mutant.part.part.name,
                "operator": one.mutant.operator,
                "line": one.mutant.line,
                "becomes": one.mutant.becomes,
                "fate": str(one.fate),
                "reason": one.note,
            }
            for one in survivors(judged)
        ],
    }
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def known_parts(path: Path, parts: Iterable[Located]) -> list[Located]:
    """Those whose mutants the last full run, in this file, has judged as their solutions are now."""
    known = {row["solution"] for row in json.loads(path.read_text(encoding="utf-8"))["parts"]}
    return [part for part in parts if digest_of(part) in known]


def commit_of(root: Path) -> str | None:
    """The commit that is checked out; None where this is no checkout."""
    try:
        ended = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return ended.stdout.strip() or None
