"""`grader time` on a pretended GPU: what is honest gets a time, what is not a sentence, and the others go on."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.bundle import ready
from grader.bundle.archive import Bundle, BundleWriter
from grader.bundle.cubins import Cubin, read_cubin
from grader.bundle.format import Bundled, BundleInvalid, Manifest
from grader.bundle.plans import checked_plan
from grader.cache import ToolMissing
from grader.catalog import load_catalog
from grader.cli import run, timed
from grader.cuda import pytorch_rival, rivals
from grader.cuda.addresses import PLACES, Place
from grader.cuda.session import RealGPU
from grader.leaderboard.entry import Entry, entry_from_json, read_results, results_text
from grader.puzzle import Part
from tests.results import with_hash
from tests.small_course import FILE, KERNEL, make_course

WRONG = KERNEL.replace("void add(", "void subtract(").replace("add<<<", "subtract<<<")
OTHER = KERNEL.replace("a[i] + b[i]", "b[i] + a[i] + 0.f")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course, a class in it, and class.zip for H100: ada's and bo's are right, cy's is not what this GPU runs."""
    root = make_course(tmp_path_factory.mktemp("time") / "course")
    for learner, text in (("ada", KERNEL), ("bo", OTHER), ("cy", WRONG)):
        (root / "class" / learner).mkdir(parents=True)
        (root / "class" / learner / FILE).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        assert run(["bundle", "1.1", "--submissions", "class", "--for", "H100", "--out", "class.zip"]) == 0
    return root


@pytest.fixture
def here(course: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(course)
    (course / "results.json").unlink(missing_ok=True)
    return course


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A GPU that gives the addresses of these places."""
    monkeypatch.setattr(timed, "_no_gpu", lambda: None)
    monkeypatch.setattr(rivals, "rivals_of", lambda *_, **__: [])
    monkeypatch.setattr(pytorch_rival, "pytorch_ahead", lambda located: None)
    defaults: dict[str, Any] = dict(RealGPU.__init__.__kwdefaults__ or {})

    def given(places: str) -> None:
        defaults["command"] = (sys.executable, "-m", "tests.obedient_gpu", *places.split(" "))
        monkeypatch.setattr(RealGPU.__init__, "__kwdefaults__", defaults)

    given("0")
    return given


@pytest.fixture
def no_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready, "find_toolchain", raising(ToolMissing("nvcc 13.0 is missing")))


def raising(error: Exception) -> Callable[..., Any]:
    def fails(*_: object, **__: object) -> None:
        raise error

    return fails


Change = Callable[[Bundle, BundleWriter, Bundled], Bundled]


def results(path: Path = Path("results.json")) -> list[Entry]:
    return [entry_from_json(plain) for plain in read_results(path.read_text())]


def unchanged(_bundle: Bundle, _writer: BundleWriter, entry: Bundled) -> Bundled:
    return entry


def repacked(here: Path, change: Change = unchanged, *, most: int = 1, nvcc: str = "") -> str:
    """The first entries of class.zip, each changed, in a bundle whose names and digests are all right."""
    with Bundle(here / "class.zip") as bundle, BundleWriter(here / "again.zip") as writer:
        entries = []
        for entry in bundle.manifest.entries[:most]:
            new = change(bundle, writer, entry)
            for member in set(new.members) & set(entry.members):
                writer.add(bundle.read(member), member[64:])
            entries.append(new)
        writer.finish(Manifest(nvcc or bundle.manifest.nvcc, tuple(entries)))
    return "again.zip"


def test_a_class_is_timed_and_one_that_is_wrong_does_not_stop_the_others(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["time", "class.zip", "--out", "results.json"]) == 1
    out = capsys.readouterr().out
    assert "Pretended GPU, sm_90" in out
    assert out.count("✔ 2 ms (2 to 2)") == 2
    assert "✘ On Pretended GPU its results are not right: wrong values." in out
    assert "2 of 3 timed." in out
    assert "grader leaderboard import results.json" in out
    ada, bo = results()
    assert (ada.source, bo.source) == (KERNEL, OTHER)
    assert ada.player != bo.player
    assert (ada.target, ada.timing.device, ada.timing.ms, ada.file) == (90, "Pretended GPU", 2.0, FILE)
    assert ada.hashes["cubin"] != bo.hashes["cubin"]
    assert ada.hashes["statement"] == bo.hashes["statement"]


def test_what_was_timed_before_is_not_timed_again(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["time", repacked(here), "--out", "results.json"]) == 0
    before = results()
    assert run(["time", repacked(here), "--out", "results.json"]) == 0
    assert "timed before: 2 ms" in capsys.readouterr().out
    assert results() == before


@pytest.mark.parametrize("other", ["grader", "reference"])
def test_what_no_import_takes_any_more_is_timed_again(here: Path, other: str) -> None:
    assert run(["time", repacked(here), "--out", "results.json"]) == 0
    old = with_hash(results()[0], **{other: "0" * 32})
    Path("results.json").write_text(results_text([old]))
    assert run(["time", repacked(here), "--out", "results.json"]) == 0
    assert [entry.hashes[other] == "0" * 32 for entry in results()] == [True, False]


def test_results_are_written_as_they_come(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from grader.bundle.timing import Timer

    honest = Timer.time
    seen: list[int] = []

    def stopped(self: Timer, *arguments: Any) -> Entry:
        if seen:
            assert len(results()) == 1
            raise KeyboardInterrupt
        seen.append(1)
        return honest(self, *arguments)

    monkeypatch.setattr(Timer, "time", stopped)
    assert run(["time", "class.zip", "--out", "results.json"]) == 130
    assert len(results()) == 1


# ---- what does not fit its source -----------------------------------------------------------------------------------


def others_code(bundle: Bundle, writer: BundleWriter, entry: Bundled) -> Bundled:
    """The entry with the code of the next one."""
    other = bundle.manifest.entries[1].compiled[0].cubin
    writer.add(bundle.read(other), ".cubin")
    return replace(entry, compiled=(replace(entry.compiled[0], cubin=other),))


def test_code_that_was_not_made_from_its_source_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["time", repacked(here, others_code), "--out", "results.json"]) == 1
    assert "✘ The code in the bundle was not made from the source beside it." in capsys.readouterr().out
    assert not (here / "results.json").exists()


def larger_blocks(bundle: Bundle, writer: BundleWriter, entry: Bundled) -> Bundled:
    """Plans of one's own making, which are right and were never asked for by the source."""
    compiled = entry.compiled[0]
    plans = []
    for at in compiled.plans:
        document = json.loads(bundle.read(at.plan))
        document["operations"][0].update(grid=[8, 1, 1], block=[512, 1, 1])
        plans.append(replace(at, plan=writer.add(json.dumps(document).encode(), ".json")))
    return replace(entry, compiled=(replace(compiled, plans=tuple(plans)),))


def test_a_plan_that_its_source_does_not_ask_for_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["time", repacked(here, larger_blocks), "--out", "results.json"]) == 1
    assert "✘ The plan in the bundle is not what the source beside it asks for." in capsys.readouterr().out


def test_without_nvcc_nobody_can_tell_and_the_values_decide(
    here: Path, no_nvcc: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["time", repacked(here, larger_blocks), "--out", "results.json"]) == 0
    assert "✔ 2 ms" in capsys.readouterr().out


def test_a_source_that_keeps_the_compiler_from_ending_is_no_way_round(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ready, "rebuilt", raising(ToolMissing("nvcc was not done after 120 s")))
    assert run(["time", repacked(here), "--out", "results.json"]) == 1
    assert "✘ nvcc was not done after 120 s" in capsys.readouterr().out


def test_what_nobody_thought_of_stops_one_entry_only(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ready, "check_code", raising(ZeroDivisionError("division by zero")))
    assert run(["time", repacked(here, most=2), "--out", "results.json"]) == 1
    assert capsys.readouterr().out.count("✘ The grader itself failed here (ZeroDivisionError: division by zero).") == 2


def test_whoever_no_import_would_take_is_not_timed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = repacked(here, lambda _bundle, _writer, entry: replace(entry, player_name="a" * 60))
    assert run(["time", long, "--out", "results.json"]) == 2
    assert "a player's name that cannot be shown" in capsys.readouterr().err
    assert not (here / "results.json").exists()


def test_another_nvcc_makes_other_code_and_what_it_makes_here_is_timed(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["time", repacked(here, others_code, nvcc="13.0.48"), "--out", "results.json"]) == 0
    assert "✔ 2 ms" in capsys.readouterr().out
    assert {entry.hashes["nvcc"] for entry in results()} == {"13.0.88"}


# ---- addresses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("places", ["0", "2,3", "3"])
def test_without_nvcc_the_first_place_that_the_gpu_gives_is_taken(
    places: str, here: Path, no_nvcc: None, gpu: Callable[[str], None]
) -> None:
    gpu(places)
    assert run(["time", repacked(here), "--out", "results.json"]) == 0
    assert {entry.hashes["nvcc"] for entry in results()} == {"13.0.88"}


def test_a_place_that_was_given_is_asked_for_first(
    here: Path, no_nvcc: None, gpu: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    class Counting(RealGPU):
        def __init__(self, part: Part, *, place: Place = PLACES[0]) -> None:
            asked.append(PLACES.index(place))
            super().__init__(part, place=place)

    gpu("1")
    monkeypatch.setattr(ready, "RealGPU", Counting)
    assert run(["time", repacked(here, most=2), "--out", "results.json"]) == 0
    assert asked == [0, 0, 1, 0, 1], "the first of each is the GPU as it comes, for its target"


def test_without_nvcc_a_gpu_that_gives_none_of_the_places_says_so(
    here: Path, no_nvcc: None, gpu: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    gpu("")
    assert run(["time", repacked(here), "--out", "results.json"]) == 1
    assert "✘ This GPU's driver gives none of the addresses" in capsys.readouterr().out


def test_where_nvcc_is_any_addresses_will_do(here: Path, gpu: Callable[[str], None]) -> None:
    gpu("")
    assert run(["time", repacked(here), "--out", "results.json"]) == 0


# ---- what this course or this GPU cannot time -----------------------------------------------------------------------


def test_a_bundle_for_another_gpu_says_what_to_do(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bundle", "1.1", "--for", "T4", "--out", "t4.zip"]) == 0
    assert run(["time", "t4.zip", "--out", "results.json"]) == 1
    assert "packed for T4 (sm_75)" in capsys.readouterr().out


def test_a_part_that_asks_something_else_by_now_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    puzzle = here / "puzzles" / "puzzle_01_sums" / "puzzle.py"
    text = puzzle.read_text()
    try:
        puzzle.write_text(text.replace("2.0**-22", "2.0**-2"))
        assert run(["time", "class.zip", "--out", "results.json"]) == 1
    finally:
        puzzle.write_text(text)
    assert capsys.readouterr().out.count("✘ What part 1.1 asks was another thing") == 3


def test_a_part_that_this_course_does_not_have_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = repacked(here, lambda _bundle, _writer, entry: replace(entry, part="product"))
    assert run(["time", other, "--out", "results.json"]) == 1
    assert "no part product in puzzle_01_sums" in capsys.readouterr().out


def test_without_a_gpu_one_sentence_says_what_is_missing(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.undo()
    monkeypatch.chdir(here)
    assert run(["time", "class.zip", "--out", "results.json"]) == 3
    assert "No NVIDIA GPU was found here" in capsys.readouterr().err


def test_a_gpu_that_does_not_work_says_so(
    here: Path, gpu: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    gpu("0 no_driver")
    assert run(["time", "class.zip", "--out", "results.json"]) == 3
    assert "libcuda" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["time", "nowhere.zip", "--out", "results.json"], "nowhere.zip is no bundle: it cannot be read"),
        (["time", "puzzles/puzzle_01_sums/puzzle.py", "--out", "r.json"], "is no bundle: it is no zip file"),
        (["time", "class.zip", "--out", "class.zip"], "holds no results"),
        (["time", "class.zip", "--out", "puzzles"], "cannot be written"),
        (["time", "class.zip", "--out", "nowhere/r.json"], "cannot be written"),
        (["time", "class.zip"], "--out"),
        (["time", "--out", "results.json"], "BUNDLE"),
    ],
)
def test_a_mistake_is_one_sentence(
    arguments: list[str], words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    said = capsys.readouterr().err
    assert words in said
    assert len(said.splitlines()) == 1


def test_a_file_that_is_no_bundle_does_not_stop_the_others(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "broken.zip").write_bytes((here / "class.zip").read_bytes()[:-1])
    assert run(["time", "broken.zip", repacked(here), "--out", "results.json"]) == 1
    captured = capsys.readouterr()
    assert "broken.zip is no bundle: it is no zip file that `grader bundle` wrote." in captured.err
    assert "1 of 1 timed." in captured.out


# ---- plans and cubins from strangers --------------------------------------------------------------------------------


@pytest.fixture
def one(course: Path, tmp_path: Path) -> tuple[dict[str, Any], Cubin]:
    """A plan at the first place, as JSON, and its cubin."""
    with Bundle(course / "class.zip") as bundle:
        compiled = bundle.manifest.entries[0].compiled[0]
        path = tmp_path / "k.cubin"
        path.write_bytes(bundle.read(compiled.cubin))
        return json.loads(bundle.read(compiled.plans[0].plan)), read_cubin(path, 90)


PLANS: dict[str, Callable[[dict[str, Any]], object]] = {
    "no plan": dict.clear,
    "of another entry": lambda plan: plan.update(entry="other"),
    "for another target": lambda plan: plan.update(target=80),
    "of an entry that failed": lambda plan: plan.update(returned=1),
    "of an entry that never came back": lambda plan: plan.update(returned=None),
    "with a buffer less": lambda plan: plan["buffers"].pop(),
    "with a buffer more": lambda plan: plan["buffers"].append(
        {"name": "x", "address": 1 << 40, "bytes": 4, "role": "in"}
    ),
    "with a larger buffer": lambda plan: plan["buffers"][2].update(bytes=1 << 20),
    "with a result as an input": lambda plan: plan["buffers"][2].update(role="in"),
    "elsewhere": lambda plan: plan["buffers"][0].update(address=1 << 40),
    "of another size": lambda plan: plan["scalars"][0].update(value=1),
    "with a kernel that is not there": lambda plan: plan["operations"][0].update(kernel="other"),
    "with other parameters": lambda plan: plan["operations"][0].update(parameters="AAAA"),
    "with too much shared memory": lambda plan: plan["operations"][0].update(
        shared=1 << 19, max_dynamic_shared=1 << 19
    ),
    "with a symbol that is not there": lambda plan: plan["operations"].append(
        {"op": "symbol_upload", "symbol": "s", "offset": 0, "payload": "AAAA", "line": None}
    ),
    "with memory elsewhere": lambda plan: plan["operations"].append(
        {"op": "allocate", "address": 1 << 40, "bytes": 16, "line": None}
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_that_is_not_of_this_part_and_cubin_is_refused(
    name: str, one: tuple[dict[str, Any], Cubin], course: Path
) -> None:
    plan, cubin = one
    part = load_catalog(course).puzzles[0].parts[0].part
    layout = PLACES[0].layout([0, 0, 0])
    assert checked_plan(json.dumps(plan).encode(), part, cubin, layout)
    PLANS[name](plan)
    with pytest.raises(BundleInvalid, match="its plan cannot be"):
        checked_plan(json.dumps(plan).encode(), part, cubin, layout)


def test_a_cubin_that_is_none_is_refused(one: tuple[dict[str, Any], Cubin], tmp_path: Path) -> None:
    whole = one[1].cubin.read_bytes()
    for content in (b"", b"\x7fELF", b"\0" * 1000, whole[:100], b"\x7fELF\x02" + b"\xff" * 2000):
        path = tmp_path / "x.cubin"
        path.write_bytes(content)
        with pytest.raises(BundleInvalid, match="its cubin cannot be read"):
            read_cubin(path, 90)


def test_a_cubin_that_leads_its_reader_round_in_circles_is_given_up(
    one: tuple[dict[str, Any], Cubin], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.bundle.cubins._SECONDS", 0.01)
    with pytest.raises(BundleInvalid, match="its cubin cannot be read"):
        read_cubin(one[1].cubin, 90)


# ---- and back -------------------------------------------------------------------------------------------------------


def test_results_go_onto_the_leaderboard_where_the_bundle_was_made(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["time", repacked(here, most=2), "--out", "results.json"]) == 0
    assert run(["leaderboard", "import", "results.json"]) == 0
    assert run(["leaderboard", "1.1"]) == 0
    shown = capsys.readouterr().out
    assert all(entry.player.name in shown for entry in results())


def test_code_that_was_timed_where_nobody_could_compare_it_is_found_out_by_the_import(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as without_nvcc:
        without_nvcc.setattr(ready, "find_toolchain", raising(ToolMissing("nvcc 13.0 is missing")))
        assert run(["time", repacked(here, others_code), "--out", "results.json"]) == 0
    assert run(["leaderboard", "import", "results.json"]) == 1
    captured = capsys.readouterr()
    assert "Its source compiles here to other code than the one that was timed." in captured.out + captured.err
