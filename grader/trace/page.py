"""A page that stands alone: the steps of a block under a slider, with the source, the access and the arrays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from grader.trace.accesses import Trace
from grader.trace.sheet import about, picture, places
from grader.trace.steps import Step, steps_of
from grader.trace.svg import STYLE, WIDTH, Drawing, escaped, number, tag
from grader.trace.tiles import Field, drawn_arrays, framed, legend, painted, rulers, touched_in
from grader.trace.tree import shuffle_map
from grader.trace.words import counts, say

_HERE = Path(__file__).parent
_MOST_STEPS, _MOST_CHARACTERS = 400, 150_000
_MOST_FIELDS = 4
_LEFT, _TOP, _NARROWEST = 40, 20, 60.0  # of a field: room for its rulers, and the least for its cells
_SCALE = 0.62  # of fields: two of 32 columns side by side


@dataclass
class _Frames:
    """What the slider shows: pieces of SVG, each once, and for each step which of them."""

    bodies: list[str] = field(default_factory=list)
    steps: list[dict[str, object]] = field(default_factory=list)
    characters: int = 0
    _numbers: dict[str, int] = field(default_factory=dict)

    def number(self, body: str) -> int:
        """The number of a piece, which is kept if it is new."""
        if body not in self._numbers:
            self._numbers[body] = len(self.bodies)
            self.bodies.append(body)
            self.characters += len(json.dumps(body))
        return self._numbers[body]

    def add(self, step: dict[str, object]) -> None:
        self.steps.append(step)
        self.characters += len(json.dumps(step))


def page(trace: Trace, heading: str, line: int | None = None) -> str:
    """The HTML of a trace, some 200 KB at most: of a block that takes more steps the first are shown.

    With a line the slider begins at its first access.
    """
    steps = steps_of(trace)
    fields = drawn_arrays(trace, _MOST_FIELDS)
    frames = _frames(steps, fields)
    shown = steps[: len(frames.steps)]
    first = next((at for at, step in enumerate(shown) if step.line == line), 0)
    under = about(trace)
    if len(shown) < len(steps):
        under.append(say("cut_steps", shown=len(shown), steps=len(steps)))
    parts = [
        "<header>" + _element("h1", heading) + "".join(_element("p", each) for each in under) + "</header>",
        _bar(shown, first),
        f"<main><div>{_source(trace)}{_fields(fields)}</div>{_access()}</main>",
        f'<script type="application/json" id="frames">{_json(frames)}</script>',
        f"<script>{(_HERE / 'page.js').read_text(encoding='utf-8')}</script>",
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"{_element('title', heading)}\n<style>{STYLE}{(_HERE / 'page.css').read_text(encoding='utf-8')}</style>\n"
        '</head>\n<body class="trace">\n' + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def _frames(steps: Sequence[Step], fields: Sequence[Field]) -> _Frames:
    """What the page shows at each step. `begun` is the first step behind the same barrier: what was touched since then
    is drawn pale.
    """
    frames, begun = _Frames(), 0
    for place, step in enumerate(steps[:_MOST_STEPS]):
        begun = place if step.phase != steps[begun].phase else begun
        drawing = _drawing(step)
        frames.add(
            {
                "line": step.line,
                "begun": begun,
                "says": _what(step),
                "told": _told(step, place + 1, len(steps)),
                "access": [frames.number(part) for part in drawing.parts],
                "view": f"0 0 {WIDTH} {number(drawing.height)}",
                "fields": [frames.number(painted(each, touched_in(step, each.array))) for each in fields],
            }
        )
        if frames.characters > _MOST_CHARACTERS:
            break
    return frames


def _drawing(step: Step) -> Drawing:
    """Of the step's warps the one that costs most."""
    return picture(step.worst) if step.worst is not None else shuffle_map(step.shuffles[0])


def _what(step: Step) -> str:
    """Such as "Line 30: 8 warps load tile"."""
    alone = len(step.events) == 1
    warps = say("one_warp", warp=step.events[0].warp) if alone else say("all_warps", number=len(step.events))
    if step.worst is None:
        return say("step_shuffle", line=step.line, warps=warps)
    verb = say(f"verb_one_{step.worst.kind}" if alone else f"verb_{step.worst.kind}")
    what = step.array.name if step.array is not None else say("memory")
    return say("step_of_warps", line=step.line, warps=warps, verb=verb, what=what)


def _told(step: Step, place: int, steps: int) -> str:
    when = say("step_number", number=place, steps=steps)
    if step.phase:
        when += ", " + say("after_barriers_one" if step.phase == 1 else "after_barriers", number=step.phase)
    told = _element("strong", _what(step)) + escaped(when)
    if step.worst is None or not step.cost:
        return told
    kind = "bad" if step.cost > step.ideal else "good"
    return f'{told} · <span class="{kind}">{escaped(counts(step.worst.space, step.cost, step.ideal))}</span>'


def _bar(steps: Sequence[Step], first: int) -> str:
    last = len(steps)
    buttons = "".join(
        f'<button id="{name}" type="button" aria-label="{escaped(say(name))}">{sign}</button>'
        for name, sign in (("back", "‹"), ("play", "▶"), ("on", "›"))
    )
    slider = (
        f'<input type="range" id="step" min="1" max="{last}" value="{first + 1}" data-first="{first}" '
        f'aria-label="{escaped(say("slider"))}">'
    )
    track = f'<div class="track">{_track(steps)}{slider}</div>'
    return (
        f'<div class="bar"><div class="controls">{buttons}{track}<div id="told" aria-live="polite"></div></div></div>'
    )


def _track(steps: Sequence[Step]) -> str:
    """All steps side by side: what is loaded, stored, and costs more than it needs; gaps at barriers."""
    body = ""
    for place, step in enumerate(steps):
        kind = "costly" if step.cost > step.ideal else "store" if step.worst and step.worst.kind != "load" else "load"
        body += tag("rect", x=place, width=1, height=1, class_=kind)
    gaps = "".join(f"M{place} 0v1" for place, (one, other) in enumerate(pairwise(steps), 1) if one.phase != other.phase)
    body += tag("path", d=gaps, class_="grid") if gaps else ""
    body += tag("rect", id="here", width=1, height=1, fill="var(--ink)")
    return tag("svg", body, viewBox=f"0 0 {len(steps)} 1", preserveAspectRatio="none", aria_hidden="true")


def _source(trace: Trace) -> str:
    """The lines from the kernel's head to the last one that touches memory; those that do can be clicked."""
    costs: dict[int, int] = {}
    for place in places(trace):
        costs[place.first.line] = costs.get(place.first.line, 0) + place.cost - place.ideal
    asks = {event.line for step in steps_of(trace) for event in step.events}
    lines = trace.source.split("\n")
    items = ""
    for at in range(_first_line(lines, min(asks)), min(max(asks) + 1, len(lines)) + 1):
        kind = f' class="asks{" costs" if costs.get(at) else ""}" tabindex="0"' if at in asks else ""
        items += f'<li data-line="{at}"{kind}><i>{at}</i>{escaped(lines[at - 1].expandtabs(4))}</li>'
    return f"<section>{_element('h2', say('source'))}<ol>{items}</ol>{_element('p', say('keys'))}</section>"


def _first_line(lines: Sequence[str], line: int) -> int:
    """The kernel's head at or above a line, or else the line itself."""
    return next((at for at in range(line, 0, -1) if "__global__" in lines[at - 1]), line)


def _access() -> str:
    """Where the script puts the access of the step at hand."""
    drawing = tag("svg", " ", class_="drawing", id="access")
    return f"<section>{drawing}{_element('p', say('worst_warp'))}</section>"


def _fields(fields: Sequence[Field]) -> str:
    if not fields:
        return ""
    key = tag("svg", legend(0, 12), viewBox=f"0 0 {WIDTH} 18", class_="drawing legend")
    return f'<section><div class="fields">{"".join(map(_figure, fields))}</div>{key}</section>'


def _figure(each: Field) -> str:
    cells = tag("g", " ", class_="cells")
    body = tag("g", rulers(each) + framed(each, cells, each.size), transform=f"translate({_LEFT} {_TOP})")
    width = _LEFT + max(each.columns * each.size, _NARROWEST) + 8
    drawing = tag(
        "svg", body, viewBox=f"0 0 {number(width)} {number(_TOP + each.rows * each.size + 6)}", class_="drawing"
    )
    style = f"width:{number(_SCALE * width)}px"
    return f'<figure style="{style}">{_element("h2", each.array.name)}{drawing}</figure>'


def _element(name: str, content: str) -> str:
    return f"<{name}>{escaped(content)}</{name}>"


def _json(frames: _Frames) -> str:
    """As it may stand in a script element: nothing in it ends one."""
    return json.dumps({"bodies": frames.bodies, "steps": frames.steps}, separators=(",", ":")).replace("<", "\\u003c")
