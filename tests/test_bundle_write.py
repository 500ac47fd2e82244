"""`grader bundle`: what passes is packed with code and plans for each GPU, and what does not stays out and is named."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from grader.bundle import archive
from grader.bundle.archive import Bundle
from grader.bundle.cubins import read_cubin
from grader.bundle.format import Bundled
from grader.bundle.gpus import TARGETS, shown, targets
from grader.bundle.plans import checked_plan, offsets
from grader.bundle.rebuild import NotItsSource, check_code, check_plan, rebuilt
from grader.bundle.write import Bundler
from grader.cache import ToolMissing
from grader.catalog import UsageError, load_catalog
from grader.cli import run
from grader.cuda.addresses import ARENA_BYTES, PLACES, Place
from grader.leaderboard.names import Player
from grader.record.layout import MAX_BUFFERS
from grader.record.plan import from_json
from grader.submission import Submission, written
from tests.judging import ROOT
from tests.small_course import FILE, KERNEL, make_course


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_course(tmp_path / "course")
    monkeypatch.chdir(root)
    return root


def submitted(course: Path, learner: str, text: str, place: str = FILE) -> None:
    path = course.parent / "class" / learner / place
    path.parent.mkdir(parents=True)
    path.write_text(text)


# ---- targets --------------------------------------------------------------------------------------------------------


def test_gpus_are_known_by_their_names_and_by_their_targets() -> None:
    assert targets("T4") == targets("sm_75") == targets("Tesla T4") == targets("75") == (75,)
    assert targets("h100, A100,T4,H200") == (75, 80, 90)
    assert shown(75) == "T4 (sm_75)"
    assert shown(110) == "sm_110"


@pytest.mark.parametrize("name", ["V100", "sm_70", "P100", "K80"])
def test_a_gpu_that_nvcc_no_longer_builds_for_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(UsageError, match=r"nvcc 13 builds for sm_75 and newer"):
        targets(f"T4,{name}")


@pytest.mark.parametrize("name", ["", "sm_91", "TPU", "sm_", "sm_²", "-1", "99999999999999999999"])
def test_a_gpu_that_nobody_knows_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="--for knows no GPU"):
        targets(name)


def test_the_targets_are_those_of_nvcc() -> None:
    import subprocess

    from grader.toolchain import find_toolchain

    told = subprocess.run([find_toolchain().nvcc, "--list-gpu-arch"], capture_output=True, text=True, check=True).stdout
    assert set(TARGETS) == {int(number) for number in re.findall(r"compute_(\d+)\b", told)}


def test_the_first_place_is_what_an_h200_was_seen_to_give() -> None:
    found = json.loads((ROOT / "results" / "h200" / "first_light.json").read_text(encoding="utf-8"))
    assert [int(address, 16) for address in found["addresses"]] == PLACES[0].hints(4)


def test_places_lie_apart_from_each_other_and_from_the_second_call() -> None:
    most = MAX_BUFFERS + 1
    layouts = [place.layout([0] * MAX_BUFFERS) for place in PLACES]
    spans = [(hint, hint + place.between) for place in PLACES for hint in place.hints(most)]
    spans += [(address, address + (1 << 36)) for address in layouts[0].second]
    spans += [(layouts[0].arenas[1], layouts[0].arenas[1] + ARENA_BYTES), (layouts[0].stream, layouts[0].stream + 16)]
    spans.sort()
    assert all(below <= above for (_, below), (above, _) in pairwise(spans))
    assert all(len(set(layout.shifts)) == len(layout.shifts) for layout in layouts)


# ---- one's own files ------------------------------------------------------------------------------------------------


def test_an_own_part_is_packed_with_code_and_plans_for_each_gpu(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bundle", "1.1", "--for", "T4,H100", "--out", "x.zip"]) == 0
    assert "T4 (sm_75), H100 (sm_90)" in capsys.readouterr().out
    part = load_catalog().puzzles[0].parts[0].part
    with Bundle(course / "x.zip") as bundle:
        (entry,) = bundle.manifest.entries
        assert bundle.read(entry.source).decode() == KERNEL
        assert [one.target for one in entry.compiled] == [75, 90]
        for one in entry.compiled:
            path = course / "k.cubin"
            path.write_bytes(bundle.read(one.cubin))
            assert [Place(at.first, at.between) for at in one.plans] == list(PLACES)
            for at in one.plans:
                layout = Place(at.first, at.between).layout(offsets(part))
                plan = checked_plan(bundle.read(at.plan), part, read_cubin(path, one.target), layout)
                assert [buffer.address for buffer in plan.buffers] == list(layout.first)


def test_a_part_that_does_not_pass_stays_out(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (course / "puzzles" / "puzzle_01_sums" / FILE).write_text(KERNEL.replace("a[i] + b[i]", "a[i] - b[i]"))
    assert run(["bundle", "1", "--for", "T4", "--out", "x.zip"]) == 1
    assert re.search(r"✘ .* It does not pass: wrong values, line 6\.", capsys.readouterr().out)
    assert not (course / "x.zip").exists()


def test_a_kernel_that_is_right_on_one_gpu_only_is_packed_for_that_one(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Judged for every target whose code is another; else a kernel that looks at its architecture gets in."""
    wrong_on_hopper = "#if __CUDA_ARCH__ == 900\n    if (i < n) out[i] = a[i];\n    return;\n#endif\n    if (i < n)"
    looking = KERNEL.replace("    if (i < n)", wrong_on_hopper)
    (course / "puzzles" / "puzzle_01_sums" / FILE).write_text(looking)
    assert run(["bundle", "1", "--for", "T4,A100,H100", "--out", "x.zip"]) == 0
    assert "Not for H100 (sm_90): wrong values, line 7." in capsys.readouterr().out
    with Bundle(course / "x.zip") as bundle:
        assert [one.target for one in bundle.manifest.entries[0].compiled] == [75, 80]


def test_a_kernel_that_no_old_gpu_can_run_is_packed_for_the_others(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asynchronous = KERNEL.replace(
        "if (i < n)", 'asm volatile("{ .reg .b32 r; redux.sync.add.s32 r, 1, -1; }");\n    if (i < n)'
    )
    (course / "puzzles" / "puzzle_01_sums" / FILE).write_text(asynchronous)
    assert run(["bundle", "1", "--for", "T4,A100", "--out", "x.zip"]) == 0
    assert "Not for T4 (sm_75): " in capsys.readouterr().out


def test_a_launcher_that_asks_for_more_than_the_oldest_gpu_has_is_packed_for_the_others(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only at full size: 80 KiB of shared memory, of which a T4 has 64."""
    asking = KERNEL.replace(
        "    add<<<(n + 255) / 256, 256, 0, stream>>>",
        "    int shared = n > 1000 ? 80 << 10 : 0;\n"
        "    cudaError_t set = cudaFuncSetAttribute(add, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);\n"
        "    if (set != cudaSuccess) return set;\n"
        "    add<<<(n + 255) / 256, 256, shared, stream>>>",
    )
    (course / "puzzles" / "puzzle_01_sums" / FILE).write_text(asking)
    assert run(["bundle", "1", "--for", "T4,A100", "--out", "x.zip"]) == 0
    assert "Not for T4 (sm_75): " in capsys.readouterr().out
    with Bundle(course / "x.zip") as bundle:
        assert [one.target for one in bundle.manifest.entries[0].compiled] == [80]


def test_a_plan_that_no_reader_would_take_is_not_written(
    course: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(archive._MOST, ".json", 100)
    assert run(["bundle", "1", "--for", "T4", "--out", "x.zip"]) == 1
    assert "too large for a bundle" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bundle", "1.1", "--out", "nowhere/x.zip"], "no folder nowhere"),
        (["bundle", "1.1", "--out", "puzzles"], "is a folder"),
        (["bundle", "1.1", "--out", "x.zip", "--for", "K80"], "nvcc 13 builds for"),
        (["bundle", "9.9", "--out", "x.zip"], "no puzzle or part"),
        (["bundle", "--out", "x.zip"], "PART"),
        (["bundle", "1.1"], "--out"),
        (["bundle", "1.1", "--out", "own.cu"], "own.cu is there already and is no bundle"),
        (["bundle", "1.1", "--out", "x.zip", "--submissions", "nowhere"], "no folder nowhere"),
    ],
)
def test_a_mistake_is_one_sentence(
    arguments: list[str], words: str, course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("own.cu").write_text("// mine\n")
    assert run(arguments) == 2
    said = capsys.readouterr().err
    assert words in said
    assert Path("own.cu").read_text() == "// mine\n"
    assert len(said.splitlines()) == 1


def test_a_part_without_kernels_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bundle", "3.1", "--out", "/tmp/x.zip"]) == 2
    assert "nothing that a GPU could time" in capsys.readouterr().err


def test_without_nvcc_one_sentence_says_how_to_get_it(
    course: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise ToolMissing("nvcc 13.0 is missing: pip install")

    monkeypatch.setattr("grader.toolchain.find_toolchain", missing)
    assert run(["bundle", "1", "--out", "x.zip"]) == 3
    assert capsys.readouterr().err == "grader: nvcc 13.0 is missing: pip install\n"


def test_a_machine_that_is_too_busy_for_one_file_does_not_stop_the_others(
    course: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    honest = Bundler.add

    def sometimes(self: Bundler, submission: Submission, player: Player) -> Bundled:
        if "+ 0.f" in submission.text():
            raise ToolMissing("nvcc was not done after 120 s")
        return honest(self, submission, player)

    monkeypatch.setattr(Bundler, "add", sometimes)
    submitted(course, "ada", KERNEL.replace("+ b[i]", "+ b[i] + 0.f"))
    submitted(course, "bo", KERNEL)
    assert run(["bundle", "1", "--for", "T4", "--submissions", "../class", "--out", "x.zip"]) == 1
    out = capsys.readouterr().out
    assert re.search(r"✘ ada .* nvcc was not done after 120 s", out)
    assert re.search(r"✔ bo ", out)


# ---- a class --------------------------------------------------------------------------------------------------------


def test_a_class_is_packed_from_folders_however_they_keep_their_files(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submitted(course, "ada", KERNEL)
    submitted(course, "bo", KERNEL.replace("+ b[i]", "+ b[i] * 1.f"), f"puzzle_01_sums/{FILE}")
    submitted(course, "cy", KERNEL.replace("a[i] + b[i]", "b[i] + a[i]"), f"puzzles/puzzle_01_sums/{FILE}")
    assert run(["bundle", "1", "--for", "T4", "--submissions", "../class", "--out", "x.zip"]) == 0
    with Bundle(course / "x.zip") as bundle:
        entries = bundle.manifest.entries
        assert len({entry.player_id for entry in entries}) == 3
        assert len({entry.source for entry in entries}) == 3
        written = (course / "x.zip").read_bytes() + json.dumps([entry.player_name for entry in entries]).encode()
    assert not any(name in written for name in (b"ada", b"cy/")), "whose it is stays with the instructor"
    assert re.search(r"ada \(\w+ \w+ \d+\)", capsys.readouterr().out)


def test_one_whose_file_is_wrong_does_not_stop_the_others(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    submitted(course, "ada", "this is no C++")
    submitted(course, "bo", KERNEL)
    submitted(course, "cy", re.sub(r"(?m)^    if .*\n", "", KERNEL))
    submitted(course, "dan", KERNEL.replace("a[i] + b[i]", "a[i]"))
    submitted(course, "eve", "\0\0\0")
    (course.parent / "class" / "fay").mkdir()
    (course.parent / "class" / "fay" / FILE).symlink_to("/etc/passwd")
    assert run(["bundle", "1", "--for", "T4", "--submissions", "../class", "--out", "x.zip"]) == 1
    out = capsys.readouterr().out
    assert re.search(r"✘ ada .* does not pass: ", out)
    assert re.search(r"✔ bo ", out)
    assert re.search(r"– cy .* has begun none", out)
    assert re.search(r"✘ dan .* wrong values", out)
    assert re.search(r"✘ eve .* no text", out)
    assert re.search(r"✘ fay .* link that leads elsewhere", out)
    with Bundle(course / "x.zip") as bundle:
        assert len(bundle.manifest.entries) == 1


# ---- made from its source? ------------------------------------------------------------------------------------------


def entry_of(course: Path, text: str, tmp_path: Path) -> tuple[Bundle, Bundled]:
    (course / "puzzles" / "puzzle_01_sums" / FILE).write_text(text)
    assert run(["bundle", "1", "--for", "T4", "--out", str(tmp_path / "made.zip")]) == 0
    bundle = Bundle(tmp_path / "made.zip")
    return bundle, bundle.manifest.entries[0]


def test_code_and_plan_are_found_to_be_of_their_source_or_of_another(course: Path, tmp_path: Path) -> None:
    located = load_catalog().puzzles[0].parts[0]
    other = KERNEL.replace("(n + 255) / 256, 256", "(n + 127) / 128, 128").replace("a[i] + b[i]", "b[i] + a[i] * 1.5f")
    other = other.replace("* 1.5f", "")
    bundle, entry = entry_of(course, KERNEL, tmp_path)
    with bundle:
        one, at = entry.compiled[0], entry.compiled[0].plans[0]
        path, layout = tmp_path / "k.cubin", Place(at.first, at.between).layout(offsets(located.part))
        path.write_bytes(bundle.read(one.cubin))
        code, plan = read_cubin(path, 75).code, from_json(bundle.read(at.plan))
    mine = written(located, entry.file, KERNEL, {}, tmp_path)
    check_code(rebuilt(mine, 75), code)
    check_plan(mine, rebuilt(mine, 75), plan, layout)
    (tmp_path / "theirs").mkdir()
    theirs = written(located, entry.file, other, {}, tmp_path / "theirs")
    with pytest.raises(NotItsSource, match="not what the source beside it asks for"):
        check_plan(theirs, rebuilt(theirs, 75), plan, layout)
    changed = written(located, entry.file, KERNEL.replace("+ b[i]", "+ 2.f * b[i]"), {}, tmp_path / "theirs")
    with pytest.raises(NotItsSource, match="was not made from the source"):
        check_code(rebuilt(changed, 75), code)
    broken = written(located, entry.file, "int", {}, tmp_path / "theirs")
    with pytest.raises(NotItsSource, match="does not compile"):
        rebuilt(broken, 75)
