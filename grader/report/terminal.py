"""A verdict as a learner reads it in the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from grader.catalog import is_python, regions
from grader.explain import sentence
from grader.report.excerpt import excerpt
from grader.report.rows import steps
from grader.verdict import Finding, PartVerdict, State, Used, Verdict

if TYPE_CHECKING:
    from grader.banks.reads import Read

WIDEST = 110
_NARROWEST = 20
_LABEL_WIDTH = 7
_GROUPS_SHOWN = 3
_RUN = ("run", "compare")  # stages at which a thread has a story
# how patterns begin that say no more than the message does
_OBVIOUS = tuple(sentence("patterns", key, facts={"first": ""}) for key in ("all", "scattered", "one"))
_STYLES = {
    State.passed: "bold green",
    State.goal_open: "bold yellow",
    State.wrong: "bold red",
    State.not_started: "bold yellow",
    State.unchecked: "bold yellow",
}


@dataclass(frozen=True)
class Surroundings:
    """What a report knows besides the verdict: the puzzle's number and title, the part's place in it, the text of the
    file that was judged, how many hints there are and were seen, the part that comes next, whose file it was, whether
    one case alone was asked for, and the loads that right answers are about.
    """

    number: int
    title: str
    index: int
    parts: int
    source: str
    hints: int = 0
    hints_seen: int = 0
    following: str | None = None
    own_file: bool = True
    is_solution: bool = False
    one_case: bool = False
    reads: Sequence[Read] = ()


def _say(key: str, **facts: object) -> str:
    return sentence("verdict", key, facts=facts)


def print_part(console: Console, part: PartVerdict, around: Surroundings) -> None:
    """Heading, steps reached, findings with their lines, and what to do next."""
    width = min(console.width, WIDEST)
    device = _say("device_software") if part.device == "software" else part.device
    heading = _say(
        "heading",
        number=around.number,
        title=around.title,
        index=around.index,
        parts=around.parts,
        part=part.part,
        device=device,
    )
    put_line(console, Text(heading, style="bold"))
    console.print()
    if part.uses:
        _wrapped(console, Text("  "), Text(f"{_say('builds_on')}  {_named(part.uses)}", style="dim"), width)
    for row in steps(part, width):
        put_line(console, row)
    if part.state is State.not_started:
        places = len(regions(around.source))
        facts = {"path": part.file, "places": places, "comment": "#" if is_python(around.source) else "//"}
        begin = _say("begin_places" if places > 1 else "begin", **facts)
        prose(console, part.reason or begin, width)
    if part.state is State.unchecked and part.reason:
        prose(console, part.reason, width)
    else:
        print_findings(console, part.findings, around.source, width, _pattern(part))
    if around.reads:
        from grader.report.banks import answer_table

        _put_picture(console, answer_table(around.reads))
    if part.smallest is not None:
        labelled(console, _say("sizes"), part.smallest.sentence, width)
    if not around.is_solution:
        _print_counters(console, part, width)
    _print_timing(console, part, around, width)
    if part.comparison is not None:
        from grader.report.beside import comparison_table

        prose(console, _say("beside", others=_named(part.comparison.others)), width)
        _put_picture(console, comparison_table(part.comparison))
        prose(console, _say("beside_bytes"), width)
    if part.printed:
        prose(console, _say("printed"), width)
        for printed in part.printed.splitlines():
            put_line(console, Text(f"    {printed}", style="dim"))
    console.print()
    put_line(console, _outcome(part, around, width))
    _next(console, part, around, width)


def print_summary(console: Console, verdict: Verdict, number: int, *, stopped: bool) -> None:
    """After the parts of a whole puzzle: what was not looked at, or that all of it is passed."""
    width = min(console.width, WIDEST)
    if verdict.remaining and stopped:
        _wrapped(console, Text("  "), _code(_say("remaining_stopped", labels=", ".join(verdict.remaining))), width)
    elif verdict.passed:
        _wrapped(console, Text("  "), _code(_say("puzzle_passed", number=number, title=verdict.title)), width)


def _named(parts: Iterable[Used]) -> str:
    """Each part with whose file it is."""
    return ", ".join(_say("used_own" if one.own else "used_reference", **vars(one)) for one in parts)


# ---- findings -------------------------------------------------------------------------------------------------------


def print_findings(console: Console, findings: Sequence[Finding], source: str, width: int, remark: str = "") -> None:
    """Findings with one reason are told once, with all their lines: one missing guard lets three accesses out.

    `remark` is said behind the first of them.
    """
    groups: dict[str, list[Finding]] = {}
    for number, finding in enumerate(findings):
        groups.setdefault(finding.why or str(number), []).append(finding)
    for group in list(groups.values())[:_GROUPS_SHOWN]:
        _print_group(console, group, remark, source, width)
        remark = ""
    hidden = sum(len(group) for group in list(groups.values())[_GROUPS_SHOWN:])
    if hidden:
        prose(console, _say("more", count=hidden), width)


def _print_group(console: Console, group: Sequence[Finding], remark: str, source: str, width: int) -> None:
    first = group[0]
    prose(console, " ".join([first.message, *_again(first), remark]).rstrip(), width)
    for finding in group[1:]:
        if not finding.marks:
            prose(console, finding.message, width)
    marks = list(dict.fromkeys(mark for finding in group for mark in finding.marks))
    lines = excerpt(source, first.file or "", marks, width)
    if lines:
        console.print()
        for line in lines:
            put_line(console, line)
    elif first.original and first.original not in first.message:
        put_line(console, Text(f"    {_say('original', original=first.original)}", style="dim"))
    if first.banks is not None:
        from grader.report.banks import bank_picture

        _put_picture(console, bank_picture(first.banks))
    if first.why:
        labelled(console, _say("why"), first.why, width)


def _put_picture(console: Console, lines: Iterable[str]) -> None:
    console.print()
    for line in lines:
        put_line(console, Text(f"    {line}", style="cyan"))


def _again(finding: Finding) -> list[str]:
    if finding.count < 2 or finding.block is None:
        return []
    return [_say("times_twice") if finding.count == 2 else _say("times", count=f"{finding.count:,}")]


def _pattern(part: PartVerdict) -> str:
    """What the wrong values look like, where that says more than the message does."""
    pattern = next((result.pattern for result in part.cases if result.pattern), None)
    if part.stage != "compare" or not pattern or pattern.startswith(_OBVIOUS):
        return ""
    return "" if part.findings[:1] and part.findings[0].kind == "never_written" else _say("values", pattern=pattern)


def _print_counters(console: Console, part: PartVerdict, width: int) -> None:
    from grader.report.counts import beside_reference, costliest_line

    told = []
    if part.state is State.passed and part.timing is None:  # else the bottleneck is told
        told.append(costliest_line(part.counters, part.reference_counters))
    if part.state in (State.passed, State.goal_open):
        told.append(beside_reference(part.counters, part.reference_counters))
    for sentence_told in filter(None, told):
        prose(console, sentence_told, width)


def _print_timing(console: Console, part: PartVerdict, around: Surroundings, width: int) -> None:
    """How fast it is beside others, the medal, and what holds it back."""
    from grader.report import timing as told

    timing = part.timing
    if part.untimed:
        prose(console, sentence("timing", "untimed", facts={"reason": part.untimed}), width)
    if timing is None:
        return
    if timing.refused is not None:
        prose(console, sentence("timing", "refused", facts={"reason": timing.refused}), width)
        return
    console.print()
    heading = sentence("timing", "heading", facts={"device": timing.device})
    labelled(console, sentence("timing", "speed"), heading, width)
    console.print()
    for line in told.bars(timing, width, is_solution=around.is_solution):
        put_line(console, line)
    console.print()
    _wrapped(console, Text("  "), Text(told.medians(timing), style="dim"), width)
    if part.state is State.passed and (medal := told.medal_told(timing)):
        labelled(console, sentence("timing", "medal"), medal, width, told.MEDAL_STYLES.get(timing.medal or "", ""))
    held = timing.bottleneck
    for key, words in (
        ("bound", told.bound_told(timing)),
        ("seen", held.seen if held is not None else ""),
        ("advice", held.advice if held is not None else ""),
    ):
        if words:
            labelled(console, sentence("timing", key), words, width)


# ---- outcome --------------------------------------------------------------------------------------------------------


def _outcome(part: PartVerdict, around: Surroundings, width: int) -> Text:
    passes = part.state is State.passed and around.one_case
    headline = _say("one_case" if passes else "state_goal_open" if part.state is State.goal_open else part.state)
    notes, count = [headline], len(part.findings)
    if part.state is State.passed and part.timing is not None and part.timing.medal and part.timing.refused is None:
        notes.append(sentence("timing", f"outcome_{part.timing.medal}"))
    open_goals = sum(not goal.reached for goal in part.goals)
    if part.state is State.wrong:
        notes.append(_say("faults_one") if count == 1 else _say("faults", count=count))
    if part.state is State.goal_open:
        notes.append(_say("goals_one") if open_goals == 1 else _say("goals", count=open_goals))
    groups = {result.group for result in part.cases}
    failed = {result.group for result in part.cases if not result.passed}
    if groups and not passes:
        notes.append(_say("groups", passed=len(groups - failed), groups=len(groups) + len(part.not_reached)))
    spent = f"{part.seconds.get('total', 0.0):.1f} s, {_say('seed', seed=part.seed)}"
    if around.own_file and part.state in (State.wrong, State.not_started) and part.cases:
        spent += _say("tried_first")
    outcome = Text("  ")
    outcome.append(" · ".join(notes), style=_STYLES[part.state])
    outcome.append(" " * max(3, width - len(outcome) - len(spent)) + spent, style="dim")
    return outcome


def _next(console: Console, part: PartVerdict, around: Surroundings, width: int) -> None:
    margin = Text().append(f"  {_say('next'):<{_LABEL_WIDTH}}", style="bold")
    for row in _packed(_next_steps(part, around), width - len(margin)):
        put_line(console, margin + Text(row, style="cyan"))
        margin = Text(" " * len(margin))
    console.print()


def _packed(commands: Iterable[str], width: int) -> Iterator[str]:
    """As many on a row as fit, and none broken: a command is there to be copied."""
    row = ""
    for command in commands:
        longer = f"{row} · {command}" if row else command
        if row and len(longer) > width:
            yield row
            longer = command
        row = longer
    if row:
        yield row


def _next_steps(part: PartVerdict, around: Surroundings) -> Iterator[str]:
    if part.state is State.unchecked:
        yield _say("next_doctor")
        return
    if part.state is State.passed and around.one_case:
        yield _say("next_whole", label=part.label)
        return
    if part.state is State.passed:
        yield _say("next_check", label=around.following) if around.following else _say("next_list")
        return
    if part.state is State.not_started and not part.reason:
        yield _say("next_write", label=part.label)
    if around.hints and around.own_file:
        yield _say("next_hint", label=part.label, seen=around.hints_seen, hints=around.hints)
    if part.findings:
        yield _say("next_explain", kind=part.findings[0].kind)
    has_story = part.stage in _RUN and any(one.params for one in part.cases) and not is_python(around.source)
    if part.state is State.wrong and has_story and around.own_file:
        yield _say("next_debug", label=part.label)
    failed = next((result for result in part.cases if not result.passed and result.sampled is None), None)
    if failed is not None and part.state is State.wrong and around.own_file and failed.params:
        params = part.smallest.params if part.smallest is not None else failed.params
        case = ",".join(f"{name}={value}" for name, value in params.items())
        yield _say("next_case", label=part.label, case=case)


# ---- lines ----------------------------------------------------------------------------------------------------------


def put_line(console: Console, text: Text) -> None:
    """One line, never wrapped."""
    console.print(text, soft_wrap=True)


def prose(console: Console, text: str, width: int) -> None:
    """A paragraph, wrapped, after an empty line; `code` stands out."""
    console.print()
    _wrapped(console, Text("  "), _code(text), width)


def labelled(console: Console, label: str, text: str, width: int, style: str = "") -> None:
    """The label, and beside it the text, wrapped."""
    margin = Text().append(f"  {label:<{_LABEL_WIDTH}}", style="bold")  # the margin alone is bold
    _wrapped(console, margin, Text(text, style=style) if style else _code(text), width)


def _wrapped(console: Console, margin: Text, text: Text, width: int) -> None:
    """The text beside its margin, which stands before the first line only."""
    for line in text.wrap(console, max(width - len(margin), _NARROWEST), overflow="fold"):
        line.rstrip()
        put_line(console, margin + line)
        margin = Text(" " * len(margin))


def _code(text: str) -> Text:
    """Text in which `code` stands out; the backticks go."""
    shown = Text()
    for place, piece in enumerate(re.split(r"`([^`]*)`", text)):
        shown.append(piece, style="cyan" if place % 2 else "")
    return shown
