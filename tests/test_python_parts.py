"""Parts in Python: a right file passes, each mistake is told with its kind and line, and nobody gets out of the cage.

The part is RMSNorm, differentiable through the entries of puzzle 6 (`tests/python_parts/`).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from grader import cli
from grader.caged_python import session
from grader.catalog import Located, emptied, is_untouched, load_catalog, region_spans, regions
from grader.puzzle import In, PuzzleError, Scalar, Tolerance, f32, i32
from grader.python_part import Call, PythonPart, Source
from grader.verdict import PartVerdict, State
from tests.judging import ROOT, Judge, shown
from tests.sampling import one_of_each, sampled
from tests.test_cli_commands import SCHEMA

FILES = ROOT / "tests" / "python_parts"
RIGHT = (FILES / "1_autograd.py").read_text(encoding="utf-8")
FOLDER, NORMS = "puzzle_91_autograd", "puzzle_06_rmsnorm"


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("course")
    for kind in ("puzzles", "solutions"):
        shutil.copytree(ROOT / kind / NORMS, root / kind / NORMS)
        (root / kind / FOLDER).mkdir()
    shutil.copy(FILES / "puzzle.py", root / "puzzles" / FOLDER)
    (root / "solutions" / FOLDER / "1_autograd.py").write_text(RIGHT)
    (root / "puzzles" / FOLDER / "1_autograd.py").write_text(emptied(RIGHT))
    return root


@pytest.fixture(scope="module")
def part(course: Path) -> Located:
    found = load_catalog(course).resolve("91.1")[1]
    assert found is not None
    return found


@pytest.fixture
def judged(part: Located, judge: Judge, tmp_path: Path) -> Callable[[str], PartVerdict]:
    def of(text: str) -> PartVerdict:
        source = tmp_path / "1_autograd.py"
        source.write_text(text)
        return judge(part, source)

    return of


def line_of(text: str, words: str) -> int:
    (line,) = (number for number, line in enumerate(text.splitlines(), 1) if words in line)
    return line


def with_change(old: str, new: str) -> str:
    assert RIGHT.count(old) == 1, old
    return RIGHT.replace(old, new)


# ---- a right file ----


def test_the_solution_passes_and_every_case_is_compared(part: Located, judge: Judge) -> None:
    verdict = judge(part, part.solution_path)
    assert verdict.state is State.passed, shown(verdict)
    assert list(dict.fromkeys(case.group for case in verdict.cases)) == list(part.part.groups)
    assert all(case.passed and case.checked for case in verdict.cases)
    assert max(case.of_tolerance for case in verdict.cases) < 0.25
    assert [goal.reached for goal in verdict.goals] == [True]
    assert [used.part for used in verdict.uses] == ["rmsnorm", "rmsnorm_backward"]


def test_the_skeleton_is_not_started_and_told_what_is_missing(part: Located, judge: Judge) -> None:
    verdict = judge(part, part.path)
    assert verdict.state is State.not_started
    assert "returns a NoneType and not a tensor" in verdict.findings[0].message


def test_its_verdict_is_as_the_schema_says_and_both_of_its_names_are_known(
    course: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(course)
    for name in ("autograd", "fused_rmsnorm"):
        assert cli.run(["check", "puzzle_91", "--part", name, "--solution", "--json"]) == 0
        verdict = json.loads(capsys.readouterr().out)
        jsonschema.validate(verdict, SCHEMA)
        assert (verdict["parts"][0]["part"], verdict["passed"]) == ("autograd", True)


def test_a_case_of_other_sizes_can_be_asked_for(
    course: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(course)
    assert cli.run(["check", "91.1", "--solution", "--json", "--case", "hidden=100,batch=3"]) == 0
    (case,) = json.loads(capsys.readouterr().out)["parts"][0]["cases"]
    assert (case["params"]["hidden"], case["params"]["batch"], case["passed"]) == (100, 3, True)


def test_on_a_gpu_it_is_not_judged(
    course: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(course)
    assert cli.run(["check", "91.1", "--solution", "--json", "--device", "cuda"]) == 3
    (part,) = json.loads(capsys.readouterr().out)["parts"]
    assert (part["state"], part["reason"][:28]) == ("unchecked", "91.1 is judged on the softwa")


def test_reset_brings_the_skeleton_back_and_plan_and_debug_say_why_they_do_not(
    course: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(course)
    path = course / "puzzles" / FOLDER / "1_autograd.py"
    path.write_text(RIGHT)
    assert cli.run(["reset", "91.1", "--yes"]) == 0
    assert path.read_text() == emptied(RIGHT)
    assert cli.run(["plan", "91.1"]) == cli.run(["debug", "91.1"]) == 2
    said = capsys.readouterr().err
    assert "91.1 is Python, and its kernels are those of rmsnorm, rmsnorm_backward." in said
    assert "starts no kernel" in said


def test_markers_may_begin_as_comments_of_python_do() -> None:
    assert len(regions(RIGHT)) == 3
    assert [RIGHT[start:end] for start, end in region_spans(RIGHT)] == regions(RIGHT)
    assert not is_untouched(RIGHT)
    assert is_untouched(emptied(RIGHT).replace("# --- end", "# a thought\n    # --- end"))


# ---- mistakes ----

WRONG = {
    "a gradient is None": ("return dx, dw, None", "return dx, None, None", "never_written", "dx, None", "`weight`"),
    "in the wrong order": (
        "return dx, dw, None",
        "return dw, dx, None",
        "wrong_values",
        "return dw",
        r"The gradient of `x` has shape [8]",
    ),
    "of the wrong shape": (
        "return dx, dw, None",
        "return dx.reshape(-1), dw, None",
        "wrong_values",
        "return dx.reshape",
        "has shape [48], and `x` itself has [2, 3, 8]",
    ),
    "another gradient": (
        "return dx, dw, None",
        "return dx.flip(0), dw, None",
        "wrong_values",
        "return dx.flip",
        "The gradient of `x` is wrong in 48 of 48 elements, the first is [0][0][0]",
    ),
    "y is kept in the place of x": (
        "save_for_backward(x, weight)",
        "save_for_backward(y, weight)",
        "wrong_values",
        "return dx, dw",
        "The gradient of `x` is wrong",
    ),
    "eps is forgotten": ("ctx.eps = eps", "ctx.eps = 1e-5", "wrong_values", "return dx, dw", "The gradient of `x`"),
    "cut off": (
        "return FusedRMSNorm.apply(x, weight, eps)",
        "return FusedRMSNorm.apply(x, weight, eps).detach()",
        "never_written",
        ".detach()",
        "cut off from its inputs",
    ),
    "forward called directly": (
        "return FusedRMSNorm.apply(x, weight, eps)",
        "return FusedRMSNorm.forward(torch.autograd.function.FunctionCtx(), x, weight, eps)",
        "never_written",
        "FusedRMSNorm.forward",
        "cut off from its inputs",
    ),
    "dy is not contiguous": (
        "dy.contiguous()",
        "dy",
        "host_crash",
        "rmsnorm_backward(x, weight, dy,",
        "wants `dy` contiguous",
    ),
    "x is not contiguous": (
        "x, cols = x.contiguous(), x.shape[-1]",
        "cols = x.shape[-1]",
        "host_crash",
        "rmsnorm(x, weight, y,",
        "wants `x` contiguous",
    ),
    "a wrong size": (
        "rmsnorm(x, weight, y, x.numel() // cols, cols, eps)",
        "rmsnorm(x, weight, y, x.shape[0], cols, eps)",
        "host_crash",
        "x.shape[0]",
        "`x` of shape rows × cols = [2, 8]",
    ),
    "nothing is returned": ("return FusedRMSNorm.apply", "FusedRMSNorm.apply", "never_written", "", "not a tensor"),
    "a result of another shape": (
        "return FusedRMSNorm.apply(x, weight, eps)",
        "return FusedRMSNorm.apply(x, weight, eps).reshape(-1)",
        "wrong_values",
        "",
        "The result of `fused_rmsnorm` has shape [48], and it should have [2, 3, 8]",
    ),
    "the result is never written": (
        "rmsnorm(x, weight, y, x.numel() // cols, cols, eps)",
        "y.zero_()",
        "wrong_values",
        "return y",
        "elements of the result are wrong, the first is [0][0][0]: 0 instead of",
    ),
    "not a number": (
        "rmsnorm(x, weight, y, x.numel() // cols, cols, eps)",
        "y.fill_(float('nan'))",
        "not_a_number",
        "return y",
        "nan instead of",
    ),
    "gradients add up": (
        "return dx, dw, None",
        "kept.append(dw)\n        return dx, sum(kept[-2:]) if len(kept) > 8 else dw, None",
        "wrong_values",
        "return dx, sum",
        "In 3 steps of gradient descent the loss goes",
    ),
    "computed by PyTorch": (
        "rmsnorm(x, weight, y, x.numel() // cols, cols, eps)",
        "y = torch.nn.functional.rms_norm(x, (cols,), weight, eps)",
        "goal_missed",
        "torch.nn.functional",
        "PyTorch computes `",
    ),
    "computed behind its back": (
        "rmsnorm(x, weight, y, x.numel() // cols, cols, eps)",
        "import numpy\n"
        "        a, b = x.detach().numpy(), y.numpy()\n"
        "        b[...] = a / numpy.sqrt((a * a).mean(-1, keepdims=True) + eps) * weight.detach().numpy()",
        "goal_missed",
        "",
        "not, bit for bit, what `rmsnorm` gave",
    ),
    "a name that is missing": ("cols, cols, eps)", "cols, width, eps)", "host_crash", "width", "NameError: name 'wid"),
    "another entry": ('part_entry("rmsnorm")', 'part_entry("norm")', "host_crash", "y, x.numel", "no entry `norm`"),
    "no Python": ("ctx.eps = eps", "ctx.eps = = eps", "compile_error", "= = eps", "Python cannot read this file"),
    "no function": ("def fused_rmsnorm(", "def fused_norm(", "missing_entry", "", "has no function `fused_rmsnorm`"),
    "it opens a file": ("ctx.eps = eps", "open('/etc/passwd')", "forbidden_call", "passwd", "opens no files"),
    "it opens a connection": (
        "ctx.eps = eps",
        "import socket\n        socket.socket()",
        "forbidden_call",
        "socket.socket()",
        "PermissionError",
    ),
    "it starts a process": (
        "ctx.eps = eps",
        "import os\n        os.fork()",
        "forbidden_call",
        "os.fork()",
        "PermissionError",
    ),
    "it leaves": ("ctx.eps = eps", "raise SystemExit(0)", "forbidden_call", "SystemExit", "does not end the process"),
    "it leaves at once": ("ctx.eps = eps", "import os\n        os._exit(0)", "host_crash", "", "has ended (exit 0)"),
    "it breaks the line": (
        "ctx.eps = eps",
        "import os\n        os.write(3, b'x' * 100)\n        os.read(3, 1 << 20)",
        "host_crash",
        "",
        "has ended (flood)",
    ),
    "it says that it is done": (
        "ctx.eps = eps",
        "import os, struct\n"
        "        said = b'{\"done\": {\"result\": {\"dtype\": \"float32\", \"shape\": [9999999999]}}}'\n"
        "        os.write(3, struct.pack('<IQ', len(said), 0) + said)",
        "host_crash",
        "",
        "is no tensor that can be read",
    ),
    "it asks for what there is not": (
        "ctx.eps = eps",
        "import os, struct\n"
        "        said = b'{\"ask\": \"entry\", \"tensors\": [7]}'\n"
        "        os.write(3, struct.pack('<IQ', len(said), 0) + said)",
        "host_crash",
        "",
        "is no tensor that can be read",
    ),
}  # fmt: skip


# Each starts a Python with PyTorch: an ordinary run tries one of each kind of finding and a sixth of the others.
ALWAYS = one_of_each(list(WRONG), [[kind] for _, _, kind, _, _ in WRONG.values()])
NAMES = [*ALWAYS, *sampled([name for name in WRONG if name not in ALWAYS], 6)]


@pytest.mark.parametrize("name", NAMES)
def test_a_mistake_is_told_with_its_kind_and_line(name: str, judged: Callable[[str], PartVerdict]) -> None:
    old, new, kind, at, words = WRONG[name]
    text = with_change(old, new).replace("class FusedRMSNorm", "kept = []\n\n\nclass FusedRMSNorm")
    verdict = judged(text)
    finding = verdict.findings[0]
    assert verdict.state is (State.goal_open if kind == "goal_missed" else State.wrong), shown(verdict)
    assert finding.kind == kind, shown(verdict)
    assert words in finding.message, shown(verdict)
    if at:
        assert finding.line == line_of(text, at), shown(verdict)


def test_gradients_that_change_places_are_told_by_whose_they_are(judged: Callable[[str], PartVerdict]) -> None:
    """Where shapes do not tell, values do: of one row and one column both gradients are single numbers."""
    text = with_change("return dx, dw, None", "return dx, dx.sum((0, 1)), None")
    assert judged(text).findings[0].kind == "wrong_values"


def test_a_file_that_does_not_end_is_stopped(
    judged: Callable[[str], PartVerdict], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "SECONDS", 1.0)
    verdict = judged(with_change("ctx.eps = eps", "while True: pass"))
    assert verdict.findings[0].kind == "host_timeout"


def test_what_a_file_prints_is_shown_and_bounded(judged: Callable[[str], PartVerdict]) -> None:
    verdict = judged(with_change("ctx.eps = eps", "ctx.eps = eps\n        print('seen', tuple(x.shape))"))
    assert verdict.state is State.passed, shown(verdict)
    assert "seen (2, 3, 8)" in verdict.printed
    assert len(judged(f"print('x' * 1000000)\n{RIGHT}").printed) < 5000


def test_the_solutions_of_the_course_cannot_be_read(
    judged: Callable[[str], PartVerdict], part: Located, course: Path
) -> None:
    for path in (part.solution_path, course / "puzzles" / FOLDER / "puzzle.py", ROOT / "solutions", ROOT / "README.md"):
        attempt = f"import os\nos.stat({str(path)!r})\nopen({str(path)!r})\n" if path.is_file() else ""
        verdict = judged(f"{attempt or f'import os{chr(10)}os.listdir({str(path)!r}){chr(10)}'}{RIGHT}")
        assert verdict.findings[0].kind == "forbidden_call", path


def test_a_kernel_with_a_fault_is_told_at_the_call(course: Path, judge: Judge, tmp_path: Path) -> None:
    """A part that it builds on is the learner's own where it has passed; what its cases do not show may show here."""
    root = tmp_path / "course"
    shutil.copytree(course, root)
    solution = root / "solutions" / NORMS / "2_rmsnorm.cu"
    text = solution.read_text()
    assert text.count("y[begin + c] =") == 1
    solution.write_text(text.replace("y[begin + c] =", "y[begin + c + 1] ="))
    broken = load_catalog(root).resolve("91.1")[1]
    assert broken is not None
    verdict = judge(broken, broken.solution_path)
    assert verdict.findings[0].kind == "out_of_bounds_write", shown(verdict)
    assert verdict.findings[0].line == line_of(RIGHT, "rmsnorm(x, weight, y,")
    assert "2_rmsnorm.cu, line" in verdict.findings[0].message


# ---- the vocabulary ----


def python_part(**changed: object) -> PythonPart:
    plain: dict[str, object] = {
        "entry": "f",
        "uses": ["rmsnorm"],
        "params": [Scalar("n", i32)],
        "tensors": [In("x", f32, "n")],
        "reference": lambda x: x,
        "result": Source("rmsnorm", "y"),
        "gradients": {"x": Source("rmsnorm", "y")},
        "groups": {"all": [Call(n=3)]},
        "tolerance": Tolerance(0.0, why="exact"),
        "lesson": "none",
    }
    return PythonPart("autograd", **(plain | changed))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"gradients": {}}, "`gradients` names each of its tensors"),
        ({"uses": []}, "rmsnorm is no part that it uses"),
        ({"groups": {"all": [Call(m=3)]}}, "which are not its scalars"),
        ({"groups": {"all": [Call(n=3, needs=["y"])]}}, "a call speaks of y, which is no tensor"),
        ({"groups": {"all": [Call(n=-3)]}}, "below 0"),
    ],
)
def test_a_part_that_contradicts_itself_is_refused(changed: dict[str, object], words: str) -> None:
    assert python_part().is_host
    with pytest.raises(PuzzleError, match=words):
        python_part(**changed)
