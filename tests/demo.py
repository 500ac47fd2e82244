"""`make demo`: puzzle 1 graded twice, the untouched skeletons and the solutions.

Exits 0 only if every skeleton was refused and every solution passed. Works in a folder of its own, so that neither your
files nor your progress are touched.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from grader.catalog import load_catalog

ROOT = Path(__file__).resolve().parents[1]
GRADER = Path(sys.executable).with_name("grader")
PUZZLE = "puzzle_1"


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="grader-demo-") as folder:
        workspace = Path(folder)
        hand_out(workspace)
        say("The skeletons, as they are handed out. None of them may pass.\n")
        skeletons = grade(workspace)
        say("\nThe solutions. All of them must pass.\n")
        solutions = grade(workspace, "--solution")
    count = sum(not part.extra for part in load_catalog(ROOT).resolve(PUZZLE)[0].puzzle.parts)
    refused, passed = skeletons.count(False), solutions.count(True)
    say(f"\nDemo: {refused} of {count} skeletons refused, {passed} of {count} solutions passed.")
    return 0 if refused == passed == len(skeletons) == len(solutions) == count else 1


def hand_out(workspace: Path) -> None:
    """Puzzle 1 in `workspace` with its skeletons, whatever the checkout's files hold by now."""
    puzzle, _ = load_catalog(ROOT).resolve(PUZZLE)
    target = workspace / "puzzles" / puzzle.name
    target.mkdir(parents=True)
    for name in ("puzzle.py", "hints.md", "README.md"):
        shutil.copy(puzzle.directory / name, target / name)
    for part in puzzle.parts:
        (target / part.path.name).write_text(part.skeleton(), encoding="utf-8")


def grade(workspace: Path, *options: str) -> list[bool]:
    """Shows the verdict as a learner sees it; whether each part passed, as the JSON of a second run says it."""
    command = [str(GRADER), "check", PUZZLE, "--all", *options]
    environment = {**os.environ, "GRADER_DATA": str(workspace / "progress")}
    shown = subprocess.run(command, cwd=workspace, env=environment, check=False)
    told = subprocess.run([*command, "--json"], cwd=workspace, env=environment, check=False, stdout=subprocess.PIPE)
    parts = json.loads(told.stdout).get("parts", [])
    outcomes = [bool(part["passed"]) for part in parts]
    if shown.returncode != told.returncode or (told.returncode == 0) != all(outcomes):
        say(f"The exit codes {shown.returncode} and {told.returncode} do not say what the verdicts say.")
        return []
    return outcomes


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
