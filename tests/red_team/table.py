"""The rows of attacks.py as docs/threat-model.md has them; `python -m tests.red_team.table` writes them anew."""

from __future__ import annotations

from pathlib import Path

from tests.red_team.attacks import ATTACKS, Attack

PAGE = Path(__file__).resolve().parents[2] / "docs" / "threat-model.md"
_BEGIN, _END = "<!-- attacks -->\n", "<!-- end -->"


def table() -> str:
    """One row an attack, in the order of attacks.py."""
    rows = ["| attack | what it does | what stops it | what takes that away | verdict |", "|---|---|---|---|---|"]
    return "\n".join([*rows, *map(_row, ATTACKS)])


def _row(attack: Attack) -> str:
    suffix = "py" if attack.folder == "python" else "cu"
    source = f"[{attack.name}](../tests/red_team/{attack.folder}/{attack.name}.{suffix})"
    verdict = f"`{attack.finding}`" if attack.finding else "gains nothing"
    return f"| {source} | {attack.tries} | {attack.defence} | {attack.without} | {verdict} |"


def written() -> str:
    """The page with its table written anew."""
    before, rest = PAGE.read_text(encoding="utf-8").split(_BEGIN)
    return f"{before}{_BEGIN}{table()}\n{rest[rest.index(_END) :]}"


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
