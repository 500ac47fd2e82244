"""The tables of docs/exactness.md, made from data: `python -m tests.forms.page` writes them anew."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tests.forms.known import Form, forms, unknown
from tests.oracle.differences import DIFFERENCES
from tests.oracle.matrices import FORMS
from tests.oracle.recorded import record
from tests.oracle.recorded_matrices import TILES, matrices
from tests.test_solution_counts import REASONS, RECORDED, SOURCE_PAGE

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "exactness.md"
TARGETS = (75, 80, 90)
_SHOWN = {"cub/block": "CUB's block primitives", "cub/warp": "CUB's warp primitives"}


def measured() -> str:
    """How much of tests/instructions ran on the GPU."""
    ran = record()
    return (
        f"{ran.count:,} cases were measured on an {ran.about['device']} ({ran.about['date']}), with {ran.results:,} "
        "results. Not\nmeasured are what the machine itself has to report, products of matrices, which are below, and "
        f"{len(ran.failed)} forms\nthat ptxas refuses."
    )


def differences() -> str:
    rows = ["| | kind | at most | why |", "|---|---|---|---|"]
    for item in DIFFERENCES:
        apart = f"2^{math.log2(item.apart):g}" if item.apart else ""
        if item.units:
            apart = f"{item.units} units" if 1 < item.units < 1 << 32 else "1 unit"
        rows.append(f"| {item.shown} | {item.kind} | {apart} | {item.reason} |".replace("|  |", "| |"))
    return "\n".join(rows)


def approximations() -> str:
    with np.load(ROOT / "results" / "h200" / "approximations.npz") as archive:
        sweeps: dict[str, dict[str, int]] = json.loads(str(archive["head"]))["sweeps"]
    rows = ["| | operands | equal | one unit | more |", "|---|---|---|---|---|"]
    for name, counts in sweeps.items():
        total = sum(counts.values())
        shares = [counts.get("0", 0), counts.get("-1", 0) + counts.get("1", 0)]
        shown = " | ".join(f"{100 * share / total:.1f} %" for share in (*shares, total - sum(shares)))
        rows.append(f"| `{name}` | {total:,} | {shown} |")
    return "\n".join(rows)


def products() -> str:
    results = sum(TILES * FORMS[name.split(" ")[0]].m * FORMS[name.split(" ")[0]].n for name in matrices().digests)
    return (
        f"{len(FORMS)} forms of `mma` and `wmma` (f16, bf16 and tf32, sums in f16 and f32), {len(matrices().digests)} "
        f"groups of operands: near one, cancelling, ties, subnormal, overflowing, with infinities and NaNs, any bits. "
        f"{results:,} results, all equal."
    )


def counts() -> str:
    numbers = len(RECORDED["parts"]) * len(SOURCE_PAGE)
    others: dict[str, set[str]] = {}
    for part, reasons in REASONS.items():
        for reason in reasons.values():
            others.setdefault(reason, set()).add(part)
    rows = [f"{numbers} of {numbers} numbers of {len(RECORDED['parts'])} solutions. Other counters differ where", ""]
    rows += [f"* {reason}: {', '.join(f'`{part}`' for part in sorted(parts))};" for reason, parts in others.items()]
    rows[-1] = rows[-1].removesuffix(";") + "."
    return "\n".join(rows)


def table() -> str:
    missing = {form.name for form, _ in unknown()}
    headers = list(dict.fromkeys(place.rpartition(" ")[0] for form in forms() for place in form.met))

    def share(of: Iterable[Form]) -> str:
        names = [form.name for form in of]
        return f"{sum(name not in missing for name in names)} of {len(names)}"

    rows = ["| | " + " | ".join(f"sm_{target}" for target in TARGETS) + " | all |", "|---|---|---|---|---|"]
    for header in sorted(headers):
        cells = [share(form for form in forms() if f"{header} {target}" in form.met) for target in TARGETS]
        cells.append(share(form for form in forms() if header in form.headers))
        rows.append(f"| {_SHOWN.get(header, header)} | {' | '.join(cells)} |")
    cells = [share(form for form in forms() if target in form.targets) for target in TARGETS]
    return "\n".join([*rows, f"| **together** | {' | '.join(cells)} | **{share(forms())}** |"])


def missing() -> str:
    return "\n".join(f"* `{form.name}` ({', '.join(sorted(form.headers))})" for form, _ in unknown())


SECTIONS: dict[str, Callable[[], Any]] = {
    "measured": measured,
    "differences": differences,
    "approximations": approximations,
    "matrices": products,
    "counts": counts,
    "forms": table,
    "unknown": missing,
}


def written() -> str:
    """The page with each of its tables written anew."""
    text = PAGE.read_text(encoding="utf-8")
    for marker, make in SECTIONS.items():
        before, rest = text.split(f"<!-- {marker} -->\n")
        text = f"{before}<!-- {marker} -->\n{make()}\n{rest[rest.index('<!-- end -->') :]}"
    return text


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
