"""The rows of attacks.py as docs/threat-model.md has them; `python -m tests.red_team.table` writes them anew."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.red_team.attacks import ATTACKS, Attack

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "threat-model.md"
MEASURED = ROOT / "results" / "h200" / "red_team.json"
_BEGIN, _END = "<!-- attacks -->\n", "<!-- end -->"


def table() -> str:
    """One row an attack, in the order of attacks.py."""
    heads = ("attack", "what it does", "what stops it", "what takes that away", "verdict", "on an H200")
    found = json.loads(MEASURED.read_text(encoding="utf-8"))
    rows = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    return "\n".join([*rows, *(_row(attack, found) for attack in ATTACKS)])


def _row(attack: Attack, found: Mapping[str, Any]) -> str:
    suffix = "py" if attack.folder == "python" else "cu"
    source = f"[{attack.name}](../tests/red_team/{attack.folder}/{attack.name}.{suffix})"
    verdict = f"`{attack.finding}`" if attack.finding else "gains nothing"
    measured = _on_hardware(attack, found)
    return f"| {source} | {attack.tries} | {attack.defence} | {attack.without} | {verdict} | {measured} |"


def _on_hardware(attack: Attack, found: Mapping[str, Any]) -> str:
    """What came of it there: milliseconds without and with the defence, or what the values said."""
    lap, value = (found[kind].get(attack.name) for kind in ("laps", "values"))
    if lap is not None and lap["succeeds"]:
        return f"{lap['off']['ms']:.3f} ms without, {_held(lap['on'])} with it"
    if value is not None:
        return ", ".join(f"`{kind}`" for kind in dict.fromkeys(value["on"]))
    return "not shown" if attack.name in found["not_shown"] else ""


def _held(outcome: Mapping[str, Any]) -> str:
    if outcome["refused"]:
        return "no time"
    return f"`{outcome['findings'][0]}`" if outcome["findings"] else f"{outcome['ms']:.3f}"


def written() -> str:
    """The page with its table written anew."""
    before, rest = PAGE.read_text(encoding="utf-8").split(_BEGIN)
    return f"{before}{_BEGIN}{table()}\n{rest[rest.index(_END) :]}"


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
