"""What one block of a part asks of memory, as a drawing or a page: recorded on the software GPU, and kept in the cache
under all that it was made of.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from grader import cache as kept
from grader.catalog import Catalog, Located, UsageError, load_catalog
from grader.chosen_cases import chosen_cases
from grader.explain import sentence
from grader.submission import Submission
from grader.trace.svg import Drawing

if TYPE_CHECKING:
    from grader.trace.accesses import Access, Array, Trace
    from grader.trace.steps import Step

Kind = Literal["bank", "sectors", "tiles", "tree", "sheet", "page"]
KINDS = ("bank", "sectors", "tiles", "tree", "sheet")

_SHELF, _FILE = "figures", "figure.json"
_SEED = 1  # as `grader trace` has it
_SPACES = {"bank": "shared", "sectors": "global"}


@dataclass(frozen=True)
class Wanted:
    """A picture. `file` is judged as the part `label`; both can be sent to another process, as `root`, the course's.

    `line` is that of the access, 0 for any; `step` that of the block, from 1, 0 for the one that costs most; `case` the
    sizes as in "rows=32,cols=32", "" for a typical case; `block` as in (1, 0, 0); `access` "load" or "store".
    """

    root: Path
    label: str
    file: Path
    kind: Kind
    line: int = 0
    case: str = ""
    block: tuple[int, int, int] = (0, 0, 0)
    array: str = ""
    step: int = 0
    access: str = ""

    @property
    def key(self) -> str:
        """Names the picture: it changes with all that it is made of but the software GPU."""
        asked = repr(replace(self, root=Path(), file=Path()))
        located = _located(self)
        submission = Submission(located, self.file, "")
        behind = [source.read_text(encoding="utf-8") for source in _drawing_code()]
        puzzle = (located.puzzle.directory / "puzzle.py").read_text(encoding="utf-8")
        return kept.content_key(asked, submission.text(), puzzle, repr(submission.sources()), *behind)

    def __str__(self) -> str:
        return f"a trace of {self.file.name} as {self.label}"


def drawing(wanted: Wanted) -> Drawing:
    """The picture, from the cache or made now; raises `UsageError` where there is nothing to draw."""
    found = json.loads((_entry(wanted) / _FILE).read_text(encoding="utf-8"))
    return Drawing(found["title"], found["height"], tuple(found["parts"]))


def page(wanted: Wanted) -> str:
    """The HTML of a page with a slider; raises `UsageError` where there is nothing to draw."""
    html: str = json.loads((_entry(wanted) / _FILE).read_text(encoding="utf-8"))
    return html


def is_kept(wanted: Wanted) -> bool:
    """Whether it is in the cache."""
    return (kept.cache_root() / _SHELF / wanted.key).is_dir()


def prepare(wanted: Wanted) -> None:
    """Makes it, so that it is in the cache; a mistake is told by who asks for the picture."""
    try:
        _entry(wanted)
    except UsageError:
        return


def _entry(wanted: Wanted) -> Path:
    def make(folder: Path) -> None:
        (folder / _FILE).write_text(json.dumps(_made(wanted)), encoding="utf-8")

    return kept.entry(_SHELF, wanted.key, make)


def _made(wanted: Wanted) -> object:
    trace = _trace(wanted)
    if wanted.kind == "page":
        from grader.trace.page import page as page_of

        return page_of(trace, _heading(wanted), wanted.line or None)
    found = _DRAWN[wanted.kind](trace, wanted)
    if found is None:
        raise UsageError(f"{wanted} has no {wanted.kind} to draw.")
    return {"title": found.title, "height": found.height, "parts": list(found.parts)}


@cache
def _drawing_code() -> Sequence[Path]:
    from grader import trace

    return [Path(__file__), *sorted(path for path in Path(trace.__file__).parent.iterdir() if path.is_file())]


@cache
def _catalog(root: Path, _changed: tuple[int, ...]) -> Catalog:
    return load_catalog(root)


def _located(wanted: Wanted) -> Located:
    changed = tuple(path.stat().st_mtime_ns for path in sorted(wanted.root.glob("puzzles/*/puzzle.py")))
    located = _catalog(wanted.root, changed).resolve(wanted.label)[1]
    assert located is not None  # who made the request has found the part
    return located


def _heading(wanted: Wanted) -> str:
    return sentence("trace", "heading", facts={"label": wanted.label, "part": _located(wanted).part.name})


# ---- recording ----


def _trace(wanted: Wanted) -> Trace:
    from grader.build import BuildFailed
    from grader.simt.machine import MachineError
    from grader.simt.ptx import PtxError
    from grader.tools import default_tools
    from grader.trace.record import NothingToDraw, Recorder

    located, tools = _located(wanted), default_tools()
    submission = Submission(located, wanted.file, wanted.file.name)
    uses, line = submission.sources(), wanted.line or None
    try:
        built = tools.build(submission.source, uses)
        recorder = Recorder(located.part, built, tools, _SEED, submission.text(), uses)
        if not wanted.case:
            return recorder.typical(wanted.block, line)
        return recorder.trace(chosen_cases(located.part, wanted.case)[0][1], wanted.block, line)
    except BuildFailed:
        raise UsageError(f"{wanted.file.name} does not compile.") from None
    except NothingToDraw as nothing:
        at = ",".join(map(str, wanted.block))
        raise UsageError(
            sentence("trace", str(nothing), facts={"label": wanted.label, "line": line, "block": at})
        ) from None
    except (PtxError, MachineError) as error:
        raise UsageError(f"{wanted} cannot be made: {error}.") from None


# ---- choosing what is drawn ----


def _access(trace: Trace, wanted: Wanted) -> Drawing | None:
    """The bank map or the sectors of the access that costs most of those that are meant."""
    from grader.trace.sheet import picture
    from grader.trace.steps import worst

    meant = [access for access in _accesses(trace, wanted) if _is_meant(access, wanted)]
    chosen = worst(meant)
    return picture(chosen) if chosen is not None else None


def _accesses(trace: Trace, wanted: Wanted) -> Sequence[Access]:
    return _step(trace, wanted.step).accesses if wanted.step else trace.accesses


def _is_meant(access: Access, wanted: Wanted) -> bool:
    name = access.array.name if access.array is not None else ""
    return (
        access.space == _SPACES[wanted.kind]
        and wanted.line in (0, access.line)
        and wanted.array in ("", name)
        and wanted.access in ("", access.kind)
    )


def _step(trace: Trace, number: int) -> Step:
    from grader.trace.steps import steps_of

    steps = steps_of(trace)
    if not 1 <= number <= len(steps):
        raise UsageError(f"The block takes {len(steps)} steps, and none is number {number}.")
    return steps[number - 1]


def _tiles(trace: Trace, wanted: Wanted) -> Drawing | None:
    """An array over time, or at one step."""
    from grader.trace.tiles import at_step, tiles

    array = _array(trace, wanted.array)
    return at_step(trace, array, wanted.step) if wanted.step else tiles(trace, array)


def _tree(trace: Trace, wanted: Wanted) -> Drawing | None:
    """Who adds to whom: in an array, or by shuffles."""
    from grader.trace.tree import shared_tree, warp_tree

    return shared_tree(trace, _array(trace, wanted.array)) if wanted.array else warp_tree(trace)


def _array(trace: Trace, name: str) -> Array:
    """The array of this name; without one the first that can be drawn."""
    from grader.trace.tiles import drawn_arrays

    arrays = [field.array for field in drawn_arrays(trace, len(trace.arrays))]
    found = next((array for array in arrays if name in ("", array.name)), None)
    if found is None:
        there = ", ".join(dict.fromkeys(array.name for array in arrays)) or "none"
        raise UsageError(f"There is no array {name!r} that could be drawn; there are {there}.")
    return found


def _sheet(trace: Trace, wanted: Wanted) -> Drawing:
    from grader.trace.sheet import pictures
    from grader.trace.svg import stacked

    heading = _heading(wanted)
    return stacked(pictures(trace, heading, wanted.line or None), heading)


_DRAWN: dict[str, Callable[[Trace, Wanted], Drawing | None]] = {
    "bank": _access, "sectors": _access, "tiles": _tiles, "tree": _tree, "sheet": _sheet,
}  # fmt: skip
