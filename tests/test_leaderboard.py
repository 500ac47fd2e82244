"""Results on a board: kept, ranked with ties, exchanged, and refused where they do not fit."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from grader import cli
from grader.build import build
from grader.cache import ToolMissing
from grader.catalog import Catalog, Located, load_catalog
from grader.cuda.decision import MARGIN, margin_at
from grader.identity import HASHED, cubin_hash, statement_hash, text_hash
from grader.leaderboard import admission
from grader.leaderboard.admission import admitted
from grader.leaderboard.entry import Entry, entry_from_json, entry_of, read_results, results_text
from grader.leaderboard.fields import EntryRefused
from grader.leaderboard.names import player_of, why_no_name
from grader.leaderboard.ranking import competition_ranks, part_boards, share_interval
from grader.leaderboard.shown import TimeUnit, digits, percent, rate, rate_of, times
from grader.leaderboard.store import Kept, Leaderboard
from grader.leaderboard.table import print_overview, print_part
from grader.submission import Submission
from grader.verdict import Timing, dumps
from tests.judging import ROOT
from tests.results import H200, L4, few, hashes, player, result, season, timing, with_hash

PUZZLE = "puzzle_01_vector_add"
# As it is printed, spaces aside, of `few` results.
BOARD = f"""\
Vector add · 1.2 vector_add · NVIDIA H200
rank who time speed of limit × reference × PyTorch date
limit 0.7200 ± 0.0007 ms 4,474 GB/s 100.0 %
=1 ● {player("ada").name} (you) 0.9000 ± 0.0009 ms 3,579 GB/s 80.0 % 1.02 1.10 2024-11-02
=1 {player("bob").name} 0.9020 ± 0.0009 ms 3,571 GB/s 2024-11-05
reference 0.9180 ± 0.0009 ms 3,509 GB/s 78.4 %
PyTorch 0.9900 ± 0.0010 ms 3,254 GB/s 72.7 %
Equal ranks: these times cannot be told to differ by more than 1 %.

Vector add · 1.2 vector_add · NVIDIA L4
rank who time speed of limit × reference × PyTorch date
limit 11.20 ± 0.01 ms 287.6 GB/s 100.0 %
1 {player("cy").name} 12.00 ± 0.01 ms 268.4 GB/s 93.3 % 2024-11-02

All devices
rank who device of limit date
1 {player("cy").name} NVIDIA L4 93.3 % 2024-11-02
2 ● {player("ada").name} (you) NVIDIA H200 80.0 % 2024-11-02

1 timed with an earlier statement of the part, not compared.
NVIDIA H200
part fastest time of limit × PyTorch speed
1.2 vector_add ● {player("ada").name} (you) 0.9000 ms 80.0 % 1.10 3,579 GB/s

NVIDIA L4
part fastest time of limit × PyTorch speed
1.2 vector_add {player("cy").name} 12.00 ms 93.3 % 268.4 GB/s

"""
RIVALS = {"reference": 0.9, "pytorch": 0.95, "ceiling": 0.74}


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """A course of one puzzle."""
    course = tmp_path_factory.mktemp("course")
    for folder in ("puzzles", "solutions"):
        shutil.copytree(ROOT / folder / PUZZLE, course / folder / PUZZLE)
    return load_catalog(course)


@pytest.fixture(scope="module")
def part(catalog: Catalog) -> Located:
    return catalog.puzzles[0].parts[1]


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Leaderboard:
    monkeypatch.setenv("GRADER_DATA", str(tmp_path / "notes"))
    return Leaderboard(tmp_path)


def plain(entry: Entry) -> dict[str, Any]:
    """An entry as a file has it."""
    document: dict[str, Any] = json.loads(dumps(entry.to_json()))
    return document


# ---- entries ----


def test_a_result_survives_a_file(part: Located) -> None:
    entry = replace(result(part, 0.9, rivals=RIVALS), source="x\n", uses={})
    entry = with_hash(entry, source=text_hash("x\n", {}))
    (found,) = read_results(results_text([entry]))
    assert entry_from_json(found) == entry


def test_the_drivers_version_may_be_unknown(part: Located) -> None:
    entry = with_hash(result(part, 0.9), driver="")
    assert entry_from_json(plain(entry)) == entry


def test_an_interval_that_is_open_survives_too(part: Located) -> None:
    entry = result(part, 0.9, rivals=RIVALS)
    rivals = tuple(replace(one, times_interval=(0.0, float("inf")), decision="tie") for one in entry.timing.rivals)
    entry = replace(entry, timing=replace(entry.timing, rivals=rivals))
    assert entry_from_json(plain(entry)) == entry


def test_a_whole_number_of_milliseconds_is_the_same_result(part: Located) -> None:
    entry = result(part, 1.0)
    assert replace(entry, timing=replace(entry.timing, ms=1)).id == entry.id


def test_name_and_source_are_no_part_of_what_a_result_is_known_by(part: Located) -> None:
    entry = result(part, 0.9)
    renamed = replace(entry, player=replace(entry.player, name="Ada"), source="x\n")
    assert renamed.id == entry.id
    assert replace(entry, player=player("bob")).id != entry.id


def test_what_passed_becomes_a_result_with_its_source(part: Located, tmp_path: Path) -> None:
    (tmp_path / "mine.cu").write_text("kernel\n")
    submission = Submission(part, tmp_path / "mine.cu", "mine.cu")
    timed = replace(timing(part, 0.9), hashes=hashes(part, H200, "kernel\n"))
    entry = entry_of(submission, timed, player("ada"), target=90)
    assert (entry.file, entry.source, entry.params) == ("mine.cu", "kernel\n", part.part.bench.params)
    assert entry_from_json(plain(entry)) == entry


def changed(*keys: str, to: object) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (changed("timing", "ms", to=0.89999), "was changed after it was written"),
        (changed("when", to="2024-11-03T09:00:00Z"), "was changed after it was written"),
        (changed("timing", "ms", to=0), "ms is no number above 0"),
        (changed("timing", "ms", to="NaN"), "ms is no number above 0"),
        (changed("timing", "ms", to=True), "ms is no number above 0"),
        (changed("timing", "ms", to=1e300), "ms is no number above 0"),
        (changed("timing", "ms", to=1e-300), "ms is no number above 0"),
        (changed("timing", "interval_ms", to=[1e-300, 0.92]), "interval_ms is no interval around its middle"),
        (changed("timing", "gb_per_s", to=float("nan")), "gb_per_s is no number from 0 on"),
        (changed("timing", "interval_ms", to=[0.91, 0.92]), "interval_ms is no interval around its middle"),
        (changed("timing", "interval_ms", to=[0.0, 0.92]), "interval_ms is no interval around its middle"),
        (changed("timing", "interval_ms", to=[0.9]), "interval_ms is no interval around its middle"),
        (changed("timing", "runs", to=0), "runs is not between"),
        (changed("timing", "runs", to=3.5), "runs is not a whole number"),
        (changed("timing", "runs", to=True), "runs is not a whole number"),
        (changed("timing", "cold_l2", to=1), "cold_l2 is not true or false"),
        (changed("timing", "bound", to="magic"), "bound is none of"),
        (changed("timing", "medal", to="platinum"), "medal is none of"),
        (changed("timing", "refused", to="too fast"), "were refused when they were taken: too fast"),
        (changed("timing", "rivals", to={}), "rivals is not a list"),
        (changed("timing", "rivals", to=[5]), "A rival is no object"),
        (changed("timing", "rivals", to=[{}] * 65), "more than 64 items"),
        (lambda document: document["timing"]["rivals"][0].update(more=1), "A rival has a field that this grader does"),
        (changed("timing", "sensors", to={"a": {}}), "what no sensor says"),
        (changed("timing", "sensors", to={"a": "\x1b[31m"}), "what no sensor says"),
        (changed("timing", "sensors", to={"a": "x" * 401}), "what no sensor says"),
        (changed("timing", "sensors", to={"a": [1] * 65}), "what no sensor says"),
        (changed("timing", "hashes", to={}), "hashes lack statement"),
        (changed("timing", "hashes", "device", to="other"), "another device"),
        *((changed("timing", "hashes", name, to=""), f"hashes lack {name}") for name in (*HASHED, "nvcc", "device")),
        (lambda document: document["timing"]["rivals"].append(document["timing"]["rivals"][0]), "one rival twice"),
        (changed("timing", "device", to="GPU\x1b[2J"), "no printable text"),
        (changed("timing", "device", to="x" * 401), "no printable text of at most 400"),
        (changed("timing", "more", to=1), "does not know: 'more'"),
        (changed("more", to=1), "does not know: 'more'"),
        (changed("schema", to=2), "schema is not 1"),
        (changed("player", "name", to="\u202eevil"), "no printable text"),
        (changed("player", "more", to=1), "player has a field that this grader does not know"),
        (changed("player", "name", to=""), "name is empty"),
        (changed("player", "name", to="a" * 41), "more than 40 characters"),
        (changed("player", "id", to="../../etc/passwd"), "no 16 hexadecimal digits"),
        (changed("when", to="yesterday"), "no time such as"),
        (changed("when", to="2026-1-2T3:4:5Z"), "no time such as"),
        (changed("file", to="../x.cu"), "no bare name"),
        (changed("file", to=".x.cu"), "no bare name"),
        (changed("file", to="uses"), "no bare name"),
        (changed("file", to="\N{PILE OF POO}" * 100 + ".cu"), "no bare name"),
        (changed("file", to="a\\x.cu"), "no bare name"),
        (changed("target", to=90000), "target is not between"),
        (changed("source", to=5), "no source text"),
        (changed("source", to="x" * (1 << 21)), "no source text of at most"),
        (changed("source", to="\ud800"), "no source text"),
        (changed("source", to="a\0b"), "no source text"),
        (changed("source", to="other\n"), "not the one that was timed"),
        (changed("uses", to={"x": 5}), "no source text"),
        (changed("params", to={"n": "many"}), "more than numbers"),
        (changed("params", to={str(number): 1 for number in range(100)}), "too many names"),
        (changed("params", to={"x" * 401: 1}), "names that cannot be printed"),
        (changed("params", to={"\x1b[31m": 1}), "names that cannot be printed"),
        (lambda document: document.pop("part"), "has no part"),
    ],
)
def test_an_entry_that_is_not_what_it_says_is_refused(
    part: Located, change: Callable[[dict[str, Any]], object], told: str
) -> None:
    document = plain(result(part, 0.9, rivals=RIVALS))
    change(document)
    with pytest.raises(EntryRefused, match=told):
        entry_from_json(document)


def test_own_parts_that_come_along_are_those_that_were_timed(part: Located) -> None:
    entry = replace(result(part, 0.9), source="x\n", uses={"add": "y\n"})
    entry = with_hash(entry, source=text_hash("x\n", {"add": "y\n"}))
    assert entry_from_json(plain(entry)) == entry
    with pytest.raises(EntryRefused, match="not the one that was timed"):
        entry_from_json(plain(replace(entry, uses={"add": "z\n"})))


@pytest.mark.parametrize("document", [None, 5, "text", [], [1]])
def test_what_is_no_entry_at_all_is_refused(document: object) -> None:
    with pytest.raises(EntryRefused, match="is no object"):
        entry_from_json(document)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "is no object"),
        ('{"schema": 1}', "no list of entries"),
        ('{"schema": 1, "entries": 5}', "no list of entries"),
        ('{"schema": 9, "entries": []}', "schema"),
        (json.dumps({"schema": 1, "entries": [0] * 10_001}), "10,001 entries"),
    ],
)
def test_a_file_that_holds_no_results_is_refused(text: str, told: str) -> None:
    with pytest.raises(EntryRefused, match=told):
        read_results(text)


# ---- names ----


def test_pseudonyms_stay_and_tell_nothing() -> None:
    ada = player_of(b"key", "ada")
    assert player_of(b"key", "ada") == ada
    others = {player_of(b"key", f"learner {number}").name for number in range(200)}
    assert len(others) > 198
    assert player_of(b"other key", "ada").id != ada.id
    assert why_no_name(ada.name) is None


@pytest.mark.parametrize("name", ["\u3164", "a\u2800b", "\ufe0f", "\u0301a"])
def test_a_name_without_ink_is_none(name: str) -> None:
    assert why_no_name(name) == "has characters that cannot be seen"


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "a\u202eb", "a\u200bb", "e\u0301", "x" * 41, "a\x1b[0m"])
def test_a_name_that_could_mislead_is_none(name: str) -> None:
    assert why_no_name(name)


@pytest.mark.parametrize("name", ["Ada", "Ada Lovelace", "한국어 이름", "O'Brien <3", "Éva", "Ada ❤\ufe0f"])
def test_people_have_many_kinds_of_names(name: str) -> None:
    assert why_no_name(name) is None


# ---- the store ----


def test_results_outlive_the_process_and_the_owner_keeps_a_pseudonym(
    board: Leaderboard, part: Located, tmp_path: Path
) -> None:
    board.note(replace(result(part, 0.9), player=board.player))
    board.close()
    again = Leaderboard(tmp_path)
    (kept,) = again.entries()
    assert (kept.own, kept.entry.player) == (True, board.player)
    assert again.entries("puzzle_02_tiled_gemm") == []
    assert len(again.entries(PUZZLE, "vector_add")) == 1


def test_a_chosen_name_holds_for_what_there_is_too(board: Leaderboard, part: Located) -> None:
    board.note(replace(result(part, 0.9), player=board.player))
    pseudonym = board.player
    board.choose_name("Ada")
    assert [kept.entry.player.name for kept in board.entries()] == ["Ada"]
    board.choose_name(None)
    assert board.player == pseudonym


def test_the_owner_knows_a_class_by_stable_pseudonyms(board: Leaderboard) -> None:
    assert board.player_named("ada") == board.player_named("ada")
    assert len({board.player.id, board.player_named("ada").id, board.player_named("bob").id}) == 3


def test_the_same_result_is_kept_once_and_never_loses_its_source(board: Leaderboard, part: Located) -> None:
    with_source = with_hash(replace(result(part, 0.9), source="x\n"), source=text_hash("x\n", {}))
    assert board.keep([Kept(with_source, rebuilt=True)]) == 1
    assert board.keep([Kept(with_source.without_texts())]) == 0
    assert board.entries() == [Kept(with_source, rebuilt=True)]


def test_a_document_that_was_damaged_is_left_out(board: Leaderboard, part: Located) -> None:
    board.note(result(part, 0.9))
    board.note(result(part, 0.8))
    board._database.execute("UPDATE entry SET document = replace(document, '\"ms\": 0.8', '\"ms\": 0.1')")
    board._database.commit()
    assert [kept.entry.timing.ms for kept in board.entries()] == [0.9]


def test_a_check_does_not_fail_because_of_the_board(board: Leaderboard, part: Located) -> None:
    assert board.path is not None
    other = sqlite3.connect(board.path)
    other.execute("BEGIN EXCLUSIVE")
    board._database.execute("PRAGMA busy_timeout = 10")
    board.note(result(part, 0.9))
    assert board.entries() == []
    other.rollback()


# ---- ranks ----


@pytest.mark.parametrize(
    ("times", "ranks"),
    [
        ([1.0], [1]),
        ([1.0, 1.005, 1.05], [1, 1, 3]),
        ([1.0, 1.05, 1.1], [1, 2, 3]),
        ([1.0, 1.005, 1.009, 1.5, 1.501], [1, 1, 1, 4, 4]),
        ([1.0, 1.008, 1.016, 1.024], [1, 1, 3, 3]),  # told apart from the first of its group
    ],
)
def test_ranks_are_those_of_a_competition(times: list[float], ranks: list[int]) -> None:
    found = competition_ranks([(ms * 0.9995, ms, ms * 1.0005) for ms in times], [MARGIN] * len(times))
    assert [rank for rank, _ in found] == ranks
    assert [tied for _, tied in found] == [ranks.count(rank) > 1 for rank in ranks]


def test_wide_intervals_make_ties(part: Located) -> None:
    for second in ((1.0, 1.05, 1.09), (1.03, 1.05, 1.09)):
        assert [rank for rank, _ in competition_ranks([(0.96, 1.0, 1.04), second], [MARGIN] * 2)] == [1, 1]


@pytest.mark.parametrize(("margins", "ranks"), [((0.1, 0.01), [1, 1]), ((0.01, 0.1), [1, 1]), ((0.01, 0.01), [1, 2])])
def test_of_two_margins_the_wider_counts(margins: tuple[float, float], ranks: list[int]) -> None:
    assert [rank for rank, _ in competition_ranks([(1.0, 1.0, 1.0), (1.05, 1.05, 1.05)], margins)] == ranks


def test_what_events_do_not_resolve_makes_no_ranks() -> None:
    times = (0.0040, 0.0043, 0.0052)  # ms: events tell steps of half a microsecond
    intervals = [(ms * 0.9995, ms, ms * 1.0005) for ms in times]
    found = competition_ranks(intervals, [margin_at(ms) for ms in times])
    assert [rank for rank, _ in found] == [1, 1, 3]


def boards_of(part: Located, entries: Sequence[Entry]) -> Any:
    return part_boards([Kept(entry) for entry in entries], statement_hash(part))


def test_of_each_player_the_fastest_result_counts(part: Located) -> None:
    entries = [result(part, 1.2, "ada"), result(part, 0.9, "ada", days=1), result(part, 1.0, "bob")]
    (board,) = boards_of(part, entries).boards
    assert [(row.rank, row.entry.timing.ms) for row in board.rows] == [(1, 0.9), (2, 1.0)]
    assert len(board.history) == 3


def test_each_device_has_a_board_and_all_have_one_by_share_of_their_limits(part: Located) -> None:
    entries = [
        result(part, 0.9, "ada", rivals={"ceiling": 0.74}),
        result(part, 12.0, "bob", device=L4, rivals={"ceiling": 11.2}),
        result(part, 13.0, "cy", device=L4),
    ]
    boards = boards_of(part, entries)
    assert [board.device for board in boards.boards] == [H200, L4]
    assert [row.entry.player for row in boards.overall] == [player("bob"), player("ada")]
    assert [row.rank for row in boards.overall] == [1, 2]


def test_shares_of_limits_are_as_unsure_as_the_times_that_they_are_made_of(part: Located) -> None:
    how: dict[str, Any] = {"rivals": {"ceiling": 0.81}, "width": 0.02}
    entries = [result(part, 1.0, "ada", **how), result(part, 1.02, "bob", device=L4, **how)]
    low, share, high = share_interval(entries[0])
    assert (low, share, high) == pytest.approx((0.81 / 1.02, 0.81, 0.81 / 0.98))
    assert [row.rank for row in boards_of(part, entries).overall] == [1, 1]


def test_of_equal_times_the_earlier_stands_first(part: Located) -> None:
    (board,) = boards_of(part, [result(part, 0.9, "bob", days=1), result(part, 0.9, "ada", days=0.5)]).boards
    assert [row.entry.player for row in board.rows] == [player("ada"), player("bob")]


def test_a_result_of_an_earlier_statement_is_listed_and_not_ranked(part: Located) -> None:
    old = with_hash(result(part, 0.5, "ada"), statement="0" * 32)
    boards = boards_of(part, [old, result(part, 0.9, "bob")])
    assert [row.entry.player for row in boards.boards[0].rows] == [player("bob")]
    assert [kept.entry for kept in boards.earlier] == [old]


def test_noise_wins_no_rank(part: Located) -> None:
    entries = [result(part, 0.9, "ada"), result(part, 0.95, "bob", width=0.08), result(part, 1.2, "bob", days=1)]
    (board,) = boards_of(part, entries).boards
    assert [(row.rank, row.entry.timing.ms) for row in board.rows] == [(1, 0.9), (2, 1.2)]
    (alone,) = boards_of(part, entries[1:2]).boards
    assert [row.rank for row in alone.rows] == [None]


def test_rivals_stand_among_the_players_by_the_median_of_what_was_measured(part: Located) -> None:
    entries = [
        result(part, 0.92, who, rivals={"reference": reference, "ceiling": 0.74})
        for who, reference in (("ada", 0.9), ("bob", 0.91), ("eve", 0.0001))
    ]
    (board,) = boards_of(part, entries).boards
    assert [rival.ms for rival in board.rivals] == [0.74, 0.9]
    assert [board.share_of(rival) for rival in board.rivals] == pytest.approx([1.0, 0.74 / 0.9])
    assert [getattr(line, "name", "player") for line in board.lines] == ["ceiling", "reference", *["player"] * 3]


def test_a_board_has_one_row_for_each_player_and_rival(part: Located) -> None:
    console = Console(width=120, file=StringIO(), record=True)
    print_part(console, part, part_boards(few(part), statement_hash(part)))
    print_overview(console, [(part, part_boards(few(part), statement_hash(part)))])
    assert [" ".join(line.split()) for line in console.export_text().splitlines()] == BOARD.splitlines()


def test_speeds_shares_and_ratios_are_told_in_their_units(part: Located) -> None:
    timed = timing(part, 0.8, rivals={"pytorch": 1.0})
    assert rate(timed) == f"{12 * (1 << 28) / 0.8 / 1e6:,.0f} GB/s"
    assert rate(replace(timed, bound="compute", tflop_per_s=51.377)) == "51.4 TFLOP/s"
    assert rate_of(replace(timed, gb_per_s=4000.0), 1.6) == "2,000 GB/s"
    assert (percent(0.7884), percent(None), times(timed.rivals[0]), times(None)) == ("78.8 %", "", "1.25", "")
    assert TimeUnit([1.0]).with_interval(1.0, (0.9, 1.3)) == "1.000 ± 0.300 ms"
    assert TimeUnit([1.0]).with_interval(1.0, (0.7, 1.1)) == "1.000 ± 0.300 ms"


def test_times_have_the_digits_that_count() -> None:
    assert (TimeUnit([0.9361]).text(0.93612), TimeUnit([0.00377]).text(0.003776)) == ("0.9361", "3.776")
    assert TimeUnit([0.00377]).with_interval(0.0038, (0.0037, 0.0039)) == "3.800 ± 0.100 µs"
    assert (digits(3441.2, 4), digits(51.377, 3), digits(0.0123, 2)) == ("3,441", "51.4", "0.012")


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_a_narrow_terminal_leaves_out_columns_and_no_names(part: Located, width: int) -> None:
    console, entry = Console(width=width, record=True, file=StringIO()), result(part, 0.9, "ada")
    print_part(console, part, boards_of(part, [entry]))
    said = console.export_text()
    assert entry.player.name in said
    assert "…" not in said
    assert ("±" in said) == (width > 40)


def test_the_terminal_shows_names_from_files_as_they_are(part: Located) -> None:
    entry = result(part, 0.9, "ada", rivals=RIVALS)
    odd = replace(entry, player=replace(entry.player, name="[red]eve[/red] :smile:"))
    console = Console(width=120, record=True, file=None, force_terminal=False)
    with console.capture() as capture:
        print_part(console, part, boards_of(part, [odd]))
    assert "[red]eve[/red] :smile:" in capture.get()
    assert "PyTorch" in capture.get()


# ---- what comes from elsewhere ----


def reasons(catalog: Catalog, *entries: Entry) -> list[str]:
    taken, found = admitted([plain(entry) for entry in entries], catalog)
    assert len(taken) + len(found) == len(entries)
    return [reason.why for reason in found]


def test_a_result_that_fits_is_taken(catalog: Catalog, part: Located) -> None:
    assert reasons(catalog, result(part, 0.9, rivals=RIVALS)) == []


def retimed(entry: Entry, **changes: Any) -> Entry:
    return replace(entry, timing=replace(entry.timing, **changes))


def with_ratio(entry: Entry, name: str, times: float) -> Entry:
    """A result that claims to be so many times as fast as a rival."""
    claimed: dict[str, Any] = {"times": times, "times_interval": (times, times)}
    rivals = (replace(one, **claimed) if one.name == name else one for one in entry.timing.rivals)
    return retimed(entry, rivals=tuple(rivals))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda entry: with_hash(entry, statement="0" * 32), "another statement of 1.2"),
        (lambda entry: with_hash(entry, reference="0" * 32), "another reference solution"),
        (lambda entry: with_hash(entry, grader="0" * 32), "another version of the grader"),
        (lambda entry: replace(entry, puzzle="puzzle_77_none"), "no part 'vector_add' in a puzzle 'puzzle_77_none'"),
        (lambda entry: replace(entry, params={"n": 1024}), "other sizes"),
        (lambda entry: replace(entry, uses={"gemm_tiled": ""}), "builds on 'gemm_tiled'"),
        (lambda entry: retimed(entry, gb_per_s=9000.0), "GB/s do not follow"),
        (lambda entry: retimed(entry, tflop_per_s=90.0), "TFLOP/s do not follow"),
        (lambda entry: retimed(entry, gb_per_s=1.03 * entry.timing.gb_per_s), "GB/s do not follow"),
        (lambda entry: retimed(entry, tflop_per_s=0.97 * entry.timing.tflop_per_s), "TFLOP/s do not follow"),
        (lambda entry: retimed(entry, medal="bronze"), "medal does not follow"),
        (lambda entry: with_ratio(entry, "pytorch", 9.0), "ratio to PyTorch does not follow"),
        (lambda entry: with_ratio(entry, "pytorch", 1.5), "ratio to PyTorch does not follow"),
        (lambda entry: with_ratio(entry, "reference", 1.1), "beside reference does not follow"),
        (lambda entry: retimed(entry, of_limit=0.99), "share of the limit does not follow"),
        (lambda entry: retimed(entry, cold_l2=False), "warm L2"),
        (lambda entry: replace(entry, when="9026-11-30T12:34:56Z"), "in the future"),
        (
            lambda entry: replace(entry, when=f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%dT%H:%M:%SZ}"),
            "in the fut",
        ),
    ],
)
def test_a_result_that_does_not_fit_is_refused_with_the_reason(
    catalog: Catalog, part: Located, change: Callable[[Entry], Entry], told: str
) -> None:
    (why,) = reasons(catalog, change(result(part, 0.9, rivals=RIVALS)))
    assert told in why


def test_a_short_kernel_that_claims_what_events_do_not_resolve_is_refused(catalog: Catalog, part: Located) -> None:
    (why,) = reasons(catalog, result(part, 0.004, rivals={"reference": 0.0043}))
    assert "beside reference does not follow" in why


def test_one_that_does_not_fit_keeps_no_other_out(catalog: Catalog, part: Located) -> None:
    good, bad = result(part, 0.9), with_hash(result(part, 0.8), statement="0" * 32)
    taken, found = admitted([plain(bad), plain(good), {}], catalog)
    assert [kept.entry for kept in taken] == [good]
    assert [reason.number for reason in found] == [1, 3]


def timed_solution(part: Located, text: str | None = None, target: int = 80) -> Entry:
    """The reference as somebody's own, with the code that nvcc makes of it."""
    source = part.solution_path.read_text() if text is None else text
    entry = replace(result(part, 0.9), source=source, target=target)
    names = {"source": text_hash(source, {}), "cubin": cubin_hash(build(part.solution_path, target=target).cubin)}
    return with_hash(entry, **names)


@pytest.mark.parametrize("target", [80, 90])
def test_a_source_that_comes_along_is_rebuilt(catalog: Catalog, part: Located, target: int) -> None:
    taken, _ = admitted([plain(timed_solution(part, target=target))], catalog)
    assert [kept.rebuilt for kept in taken] == [True]


def test_a_source_that_becomes_other_code_is_refused(catalog: Catalog, part: Located) -> None:
    text = part.solution_path.read_text()
    (why,) = reasons(catalog, timed_solution(part, text.replace("a[i] + b[i]", "a[i] * b[i]")))
    assert "other code than the one that was timed" in why


def test_a_source_that_does_not_compile_is_refused(catalog: Catalog, part: Located) -> None:
    (why,) = reasons(catalog, timed_solution(part, "this is no C++\x1b\n"))
    assert "does not compile here" in why
    assert why.isprintable()


def test_without_a_source_or_its_compiler_nothing_is_rebuilt(
    catalog: Catalog, part: Located, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = timed_solution(part)
    (taken, _), (other, _) = (
        admitted([plain(one)], catalog) for one in (entry.without_texts(), with_hash(entry, nvcc="13.0.1"))
    )
    monkeypatch.setattr(admission, "find_toolchain", _no_toolchain)
    (here, _) = admitted([plain(entry)], catalog)
    assert [kept.rebuilt for kept in (*taken, *other, *here)] == [False, False, False]


def _no_toolchain() -> None:
    raise ToolMissing("no nvcc")


# ---- the command ----


@pytest.fixture
def course(catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRADER_DATA", str(tmp_path / "notes"))
    monkeypatch.chdir(catalog.root)
    return tmp_path


def written(path: Path, entries: Sequence[Entry]) -> str:
    path.write_text(results_text(entries))
    return str(path)


def test_an_empty_board_says_how_results_come(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["leaderboard"]) == 0
    assert "comes onto the board by itself" in capsys.readouterr().out
    assert cli.run(["leaderboard", "1.2"]) == 0
    assert "Nothing of 1.2" in capsys.readouterr().out


def test_results_go_from_one_workspace_into_another(
    course: Path, part: Located, catalog: Catalog, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = timed_solution(part)
    with Leaderboard(catalog.root) as board:
        board.note(replace(entry, player=board.player))
        board.keep([Kept(result(part, 1.1, "bob"))])
    assert cli.run(["leaderboard", "export", str(course / "out.json")]) == 0
    assert "2 results are in" in capsys.readouterr().out

    monkeypatch.setenv("GRADER_DATA", str(course / "other"))
    assert cli.run(["leaderboard", "import", str(course / "out.json")]) == 0
    assert "2 new, 0 known" in capsys.readouterr().out
    assert cli.run(["leaderboard", "import", str(course / "out.json")]) == 0
    assert "0 new, 2 known" in capsys.readouterr().out
    with Leaderboard(catalog.root) as board:
        assert sorted((kept.own, kept.rebuilt) for kept in board.entries()) == [(False, False), (False, True)]
    assert cli.run(["leaderboard", "1.2"]) == 0
    assert "0.9000 ± 0.0009 ms" in capsys.readouterr().out


def test_sources_leave_only_by_their_owner_and_not_if_unwanted(course: Path, part: Located, catalog: Catalog) -> None:
    entry = timed_solution(part)
    with Leaderboard(catalog.root) as board:
        board.note(replace(entry, player=board.player))
        board.keep([Kept(replace(entry, player=player("bob")))])
    file = course / "out.json"
    assert cli.run(["leaderboard", "export", str(file)]) == 0
    entries = [entry_from_json(one) for one in read_results(file.read_text())]
    assert [one.source is not None for one in entries] == [one.player.id != player("bob").id for one in entries]
    assert cli.run(["leaderboard", "export", str(file), "--no-source", "--yes"]) == 0
    assert "__global__" not in file.read_text()


def test_what_is_not_taken_is_told_and_makes_exit_code_1(
    course: Path, part: Located, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [result(part, 0.9), with_hash(result(part, 0.8), statement="0" * 32)]
    assert cli.run(["leaderboard", "import", written(course / "in.json", entries)]) == 1
    printed = capsys.readouterr()
    assert "1 new, 0 known" in printed.out
    assert f"result 2 ({player('ada').name}, vector_add): not taken. It was timed with another" in printed.err


def test_the_overview_names_the_fastest(course: Path, part: Located, capsys: pytest.CaptureFixture[str]) -> None:
    cli.run(["leaderboard", "import", written(course / "in.json", [result(part, 0.9), result(part, 1.2, "bob")])])
    assert cli.run(["leaderboard"]) == 0
    shown = capsys.readouterr().out
    assert player("ada").name in shown
    assert player("bob").name not in shown


def test_a_name_is_chosen_and_given_back(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["leaderboard", "--name", "Ada"]) == 0
    assert "You are Ada" in capsys.readouterr().out
    assert cli.run(["leaderboard", "--name", ""]) == 0
    assert "You are Ada" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["import"], "Name the file"),
        (["export"], "Name the file"),
        (["export", "a", "b"], "Name the file"),
        (["1.2", "1.3"], "one word too many"),
        (["9"], "no puzzle or part '9'"),
        (["import", "nothing.json"], "There is no file"),
        (["import", "."], ". is a folder"),
        (["export", "."], ". is a folder"),
        (["export", "x.json", "--html", "site"], "--html"),
        (["import", "x.json", "--html", "site"], "--html"),
        (["1.2", "--no-source"], "--no-source"),
        (["import", "puzzles/puzzle_01_vector_add/puzzle.py"], "holds no results. It is no JSON"),
        (["export", "no/such/folder/x.json"], "cannot be written"),
        (["--html", "solutions/puzzle_01_vector_add/2_vector_add.cu"], "cannot be written"),
        (["--name", "a\nb"], "characters that cannot be seen"),
    ],
)
def test_bad_usage_is_one_sentence(
    course: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert cli.run(["leaderboard", *arguments]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert told in printed.err


def test_an_export_asks_before_it_writes_over_a_file(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (course / "out.json").write_text("precious")
    assert cli.run(["leaderboard", "export", str(course / "out.json")]) == 2
    assert "--yes" in capsys.readouterr().err
    assert (course / "out.json").read_text() == "precious"


def test_a_season_of_a_class_has_boards(part: Located) -> None:
    kept = [*season(part, H200, limit=0.74, players=30), *season(part, L4, limit=11.2, players=9)]
    boards = part_boards(kept, statement_hash(part))
    assert [len(board.rows) for board in boards.boards] == [30, 9]
    assert isinstance(boards.boards[0].rows[0].entry.timing, Timing)


# ---- the page ----

PAGE = (ROOT / "docs" / "leaderboard.md").read_text(encoding="utf-8")


def test_the_page_tells_of_every_field(part: Located) -> None:
    document = plain(result(part, 0.9, rivals=RIVALS))
    named = set(re.findall(r"`(\w+)`", PAGE))
    assert {*document, *document["timing"], *document["timing"]["hashes"], *document["player"]} <= named


def test_the_commands_of_the_page_work_one_after_another(
    course: Path, part: Located, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(course)
    shutil.copytree(catalog.root / "puzzles", course / "puzzles")
    shutil.copytree(catalog.root / "solutions", course / "solutions")
    with Leaderboard(course) as board:
        board.note(replace(result(part, 0.9, rivals=RIVALS), player=board.player))
    commands = re.findall(r"^\$ grader (.+)$", PAGE, re.MULTILINE)
    assert len(commands) == 5
    assert [cli.run(shlex.split(command)) for command in commands] == [0] * 5
    assert (course / "site" / "index.html").is_file()
