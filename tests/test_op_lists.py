"""Parts that are lists of op calls: what a list may say, how it is told what it may not, and what it stands for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from grader.catalog import Located, load_catalog
from grader.check import Options, Submission, check_part
from grader.evidence import CaseEvidence, Evidence, LaunchFact
from grader.goals import loss_falls
from grader.launch_goals import kernels_only, variants_chosen
from grader.list_part import ListPart
from grader.op_kinds import OPS, operations, shapes_fit
from grader.op_list.calls import Call, ListRefused
from grader.op_list.entry import entry_text
from grader.op_list.listing import listed
from grader.puzzle import Case, PuzzleError
from grader.submission import UsedPart, references
from grader.tools import TorchLoading, default_tools
from grader.verdict import Finding, PartVerdict, State
from tests.judging import ROOT, Judge

HEAD = "from grader.op import op, part_list\n\n\ndef backward_linear(X, T, W, b, Y, dY, dW, db, lr):\n"


def located(name: str) -> Located:
    found = load_catalog(ROOT).resolve("puzzle_10", name)[1]
    assert found is not None
    return found


@pytest.fixture(scope="module")
def linear() -> Located:
    return located("backward_linear")


@pytest.fixture
def told(linear: Located, judge: Judge, tmp_path: Path) -> Callable[[str], Finding]:
    """What is told of a list that returns this."""

    def first(returned: str, head: str = HEAD) -> Finding:
        file = tmp_path / "6_backward_linear.py"
        file.write_text(f"{head}    return {returned}\n", encoding="utf-8")
        verdict = judge(linear, file)
        assert verdict.state is State.wrong
        return verdict.findings[0]

    return first


def part_of(where: Located) -> ListPart:
    assert isinstance(where.part, ListPart)
    return where.part


def calls(where: Located, returned: str) -> list[Call]:
    return listed(part_of(where), f"{HEAD}    return {returned}\n".encode(), "6_backward_linear.py", [])


# ---- what a list says ----


def test_calls_come_back_with_their_names_attributes_and_lines(linear: Located) -> None:
    text = '[\n  op("Gemm", [X, dY], [dW], trans_a=1, trans_b=0),\n  op("SgdStep", [W, dW], [W], lr=lr),\n]'
    product, update = calls(linear, text)
    assert product == Call("Gemm", ("X", "dY"), ("dW",), {"trans_a": 1, "trans_b": 0}, 6)
    assert update == Call("SgdStep", ("W", "dW"), ("W",), {"lr": "lr"}, 7)


def test_a_list_may_be_made_by_a_loop_and_a_rate_may_be_a_number(linear: Located) -> None:
    made = calls(linear, '[op("SgdStep", [w, g], [w], lr=0.25) for w, g in ((W, dW), (b, db))]')
    assert [(call.inputs, call.attrs) for call in made] == [(("W", "dW"), {"lr": 0.25}), (("b", "db"), {"lr": 0.25})]


def test_the_entry_calls_each_op_at_the_learners_line(linear: Located) -> None:
    text = entry_text(part_of(linear), calls(linear, '[\n\n        op("MseGrad", [Y, T], [dY]),\n    ]'), "six.cu")
    lines = text.splitlines()
    at = lines.index('#line 7 "six.cu"')
    assert lines[at + 1].strip() == "error = op_call(5, inputs, 2, outputs, 1, attrs, 0, stream);"
    assert "const TensorDesc inputs[] = {Y, T}, outputs[] = {dY};" in text
    assert "TensorDesc X{memory_of_X, dtype, 2, {rows, features}, {std::int64_t(features), 1}};" in text


def test_a_list_of_another_part_is_put_in_with_its_names_exchanged_at_the_line_of_its_call() -> None:
    step, mlp = located("train_step"), located("backward_mlp")
    used = part_of(mlp), [Call("Gemm", ("dY", "W2"), ("dH",), {"trans_a": 0, "trans_b": 1}, 3)]
    names = ", ".join(part_of(step).names)
    given = ", ".join(name if name != "dH" else "dZ1" for name in part_of(mlp).names)
    text = (
        "from grader.op import part_list\n"
        'back = part_list("backward_mlp")\n'
        f"def train_step({names}):\n"
        f"    return back({given})\n"
    )
    (call,) = listed(part_of(step), text.encode(), "8_train_step.py", [used])
    assert call == Call("Gemm", ("dY", "W2"), ("dZ1",), {"trans_a": 0, "trans_b": 1}, 4)


def test_a_list_that_is_repeated_is_a_loop_in_the_entry() -> None:
    step = located("train_step")
    assert "for (int round = 0; round < steps; ++round) {" in entry_text(part_of(step), [], "eight.cu")


# ---- what it may not say ----


@pytest.mark.parametrize(
    ("returned", "words", "line"),
    [
        ('[op("Gem", [X, dY], [dW], trans_a=1, trans_b=0)]', "There is no op `Gem`; `Gemm` is one.", 5),
        ("[op(op, [X, dY], [dW])]", "An op is named by its name in quotation marks", 5),
        ('[op("MseGrad", Y, [dY])]', "`MseGrad` wants its inputs in a list, [y, target], and is given a Tensor.", 5),
        ('[op("MseGrad", [Y], [dY])]', "`MseGrad` has 2 inputs, [y, target], and is given 1.", 5),
        ('[op("MseGrad", [Y, T], [dY, dY])]', "`MseGrad` has 1 outputs, [dy], and is given 2.", 5),
        ('[op("MseGrad", [Y, 0], [dY])]', "`MseGrad` is given 0 as target, which is no tensor of this part.", 5),
        ('[op("MseGrad", [Y, "T"], [dY])]', "`MseGrad` is given a str as target", 5),
        ('[op("MseGrad", [Y, lr], [dY])]', "`MseGrad` is given `lr` as target", 5),
        ('[op("ReduceSum", [dY], [db])]', "`ReduceSum` is not told its `axis`.", 5),
        ('[op("ReduceSum", [dY], [db], axis=2)]', "`axis` of `ReduceSum` is 0 or 1, and not 2.", 5),
        ('[op("ReduceSum", [dY], [db], axis=0, keep=1)]', "`ReduceSum` has no `keep`; it has axis.", 5),
        ('[op("MseGrad", [Y, T], [dY], lr=lr)]', "`MseGrad` has no `lr`, nor any other attribute.", 5),
        ('[op("SgdStep", [W, dW], [W], lr=W)]', "`lr` of `SgdStep` is a number or lr, and not `W`.", 5),
        ('[op("SgdStep", [W, dW], [W], lr=float("inf"))]', "`lr` of `SgdStep` is a number or lr, and not inf.", 5),
        ('[op("SgdStep", [W, dW], [W], lr=10**400)]', "`lr` of `SgdStep` is a number or lr, and not 1000", 5),
        ('[op("SgdStep", [W, dW], [W], lr=float("nan"))]', "`lr` of `SgdStep` is a number or lr, and not nan.", 5),
        ('[op("SgdStep", [W, dW], [W], lr=True)]', "`lr` of `SgdStep` is a number or lr, and not True.", 5),
        ('[op("Gemm", [X, dY], [dW], trans_a=1, trans_b=1)]', "no variant that turns both of its inputs", 5),
        ('[op("SgdStep", [W, dW], [dW], lr=lr)]', "its output w has to be `W` again, not `dW`", 5),
        ('[op("MseGrad", [Y, T], [X])]', "These shapes do not fit `MseGrad`", 5),
        ("[None]", "Entry 1 of the list is a NoneType, and no call of an op.", None),
        ("{}", "`backward_linear` returns a dict, and it should return a list", None),
        ("None", "`backward_linear` returns nothing", None),
        ('[op("MseGrad", [Y, T], [dY])] * 2000', "The list has 2,000 calls, and 256 are the most.", None),
        ("[", "Python cannot read this file", 5),
        ("[W @ X]", "`backward_linear` ends with TypeError", 5),
        ("[op()]", "`backward_linear` ends with TypeError", 5),
        ('part_list("backward_mlp")(X)', "`backward_linear` ends with LookupError", 5),
        ("[op] * exit()", "This may not be done here (SystemExit", 5),
        ("__import__('os').abort()", "The process that ran this file has ended (signal SIGABRT).", None),
        ('open("/etc/passwd")', "This may not be done here (PermissionError", 5),
    ],
)
def test_what_is_no_list_of_calls_is_told_in_a_sentence_with_its_line(
    told: Callable[[str], Finding], returned: str, words: str, line: int | None
) -> None:
    finding = told(returned)
    assert words in finding.message
    assert finding.line == line
    assert finding.title


def test_a_list_that_is_never_done_is_stopped(linear: Located, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.op_list.listing._SECONDS", 1.0)
    with pytest.raises(ListRefused) as refused:
        calls(linear, "[op for op in iter(int, 1)]")
    assert (refused.value.kind, refused.value.key) == ("host_timeout", "late")


def test_a_file_without_the_function_says_so(linear: Located, judge: Judge, tmp_path: Path) -> None:
    file = tmp_path / "6_backward_linear.py"
    file.write_text("answer = 42\n", encoding="utf-8")
    (finding,) = judge(linear, file).findings
    assert (finding.kind, finding.message) == ("missing_entry", "The file has no function `backward_linear`.")


@pytest.mark.parametrize(
    ("answered", "key"),
    [
        ({"calls": "none", "count": 1}, "no_list"),
        ({"calls": [], "count": 1}, "too_long"),
        ({"calls": [7], "count": 1}, "no_call"),
        ({"calls": [{"op": "Gemm", "line": "7"}], "count": 1}, "no_line"),
        ({"calls": [{"op": ["Gemm"], "line": 7}], "count": 1}, "no_name"),
        ({"calls": [{"op": "MseGrad", "line": 7, "inputs": [{}, []]}], "count": 1}, "no_tensor"),
        ({"calls": [{"op": "SgdStep", "line": 7, "inputs": [{"tensor": "W"}] * 2, "outputs": [{"tensor": "W"}],
                     "attrs": [[], 3]}], "count": 1}, "attr_missing"),
    ],
)  # fmt: skip
def test_an_answer_that_the_child_would_not_give_is_refused(
    linear: Located, answered: dict[str, object], key: str
) -> None:
    from grader.op_list.look import looked_at

    with pytest.raises(ListRefused) as refused:
        looked_at(part_of(linear), answered)
    assert refused.value.key == key


def test_a_tensor_that_the_part_does_not_have_is_no_tensor(linear: Located) -> None:
    forged = {"op": "MseGrad", "line": 7, "inputs": [{"tensor": "Y; system()"}, {"tensor": "T"}], "outputs": []}
    from grader.op_list.look import looked_at

    with pytest.raises(ListRefused) as refused:
        looked_at(part_of(linear), {"calls": [forged], "count": 1})
    assert refused.value.key == "no_tensor"


# ---- a part whose file is given ----


def used(step: Located, own: Sequence[str]) -> list[UsedPart]:
    return [
        dataclasses.replace(one, is_own=one.located.label in own or one.located.puzzle.number != 10)
        for one in references(step)
    ]


def judged(step: Located, uses: Sequence[UsedPart] | None) -> PartVerdict:
    submission = Submission(step, step.path, step.path.name, uses=uses)
    cases = [("one step", next(step.part.cases()))]
    return check_part(submission, Options(7, "software", cases=cases, shrink=0), default_tools(), TorchLoading())


def test_a_given_part_begins_when_the_learners_own_parts_have_passed() -> None:
    step, labels = located("train_step"), [f"10.{number}" for number in range(2, 8)]
    verdict = judged(step, used(step, labels[1:5]))
    assert verdict.state is State.not_started
    assert "Still to come: 10.2, 10.7." in (verdict.reason or "")
    assert judged(step, used(step, labels)).state is State.passed


# ---- goals ----


def evidence(*kernels: str, besides: int = 0, losses: Sequence[float] = ()) -> Evidence:
    launches = [LaunchFact(kernel, (1, 1, 1), (1, 1, 1), 0, line) for line, kernel in enumerate(kernels, 1)]
    return Evidence([CaseEvidence("case", Case(n=1), launches, {}, {}, besides=besides)], {}, losses)


def missed(check: object) -> str | None:
    return getattr(check, "sentence", None)


def test_variants_are_known_by_their_kernel_or_by_the_part_that_they_call() -> None:
    goal = variants_chosen(lambda case: ["relu_kernel", "gemm_tn"])
    of_part = "_ZN12part_gemm_tn6kernelEPf"
    assert goal.check(evidence("_ZN3any11relu_kernelIfEEvPT_", of_part)) is None
    assert missed(goal.check(evidence(of_part, "relu_kernel"))) == "For n = 1 it is kernel, not relu_kernel."
    assert missed(goal.check(evidence("relu_kernel"))) == "For n = 1 there are 1 launches, not 2."
    assert missed(goal.check(evidence("relu_kernel", of_part, of_part))) == "For n = 1 there are 3 launches, not 2."
    assert variants_chosen(lambda case: None).check(evidence("any")) is None


def test_a_plan_with_more_than_launches_is_no_graph_of_kernels_alone() -> None:
    assert kernels_only().check(evidence("a")) is None
    assert missed(kernels_only().check(evidence("a", besides=2))) == (
        "For n = 1 there are 2 copies, fills or allocations besides."
    )


def test_a_loss_that_rises_or_is_no_number_misses_the_goal() -> None:
    goal = loss_falls()
    falling = evidence(losses=[2.0, 1.0, 0.5])
    assert goal.check(falling) is None
    assert goal.measured is not None
    assert goal.measured(falling) == "2 → 0.5 (-1.5) in 2 steps"
    assert missed(goal.check(evidence(losses=[2.0, 1.0, 1.0]))) == "In step 2 it goes from 1 to 1."
    assert goal.check(evidence(losses=[2.0, float("nan")])) is not None


# ---- ops ----


def test_shapes_that_go_together_do_so_by_name_and_by_number() -> None:
    product = OPS["Gemm"].shapes_for({"trans_a": 1, "trans_b": 0})
    assert product is not None
    assert shapes_fit(product, [("rows", "features"), ("rows", "outputs")], [("features", "outputs")])
    assert shapes_fit(product, [(5, 3), (5, 2)], [(3, 2)])
    assert not shapes_fit(product, [(5, 3), (3, 2)], [(5, 2)])
    assert not shapes_fit(product, [(5, 3), (5,)], [(3,)])
    assert OPS["Gemm"].shapes_for({"trans_a": 1, "trans_b": 1}) is None
    assert OPS["BiasAdd"].written({}) == "x [rows, cols], bias [cols] → y [rows, cols]"


def test_operations_are_those_of_the_arithmetic() -> None:
    assert operations(OPS["Gemm"], [(5, 3), (3, 2)], [(5, 2)]) == 2 * 5 * 3 * 2
    assert operations(OPS["Gemm"], [(1 << 14, 1 << 14)] * 2, [(1 << 14, 1 << 14)]) == 2 << 42
    assert operations(OPS["ReduceSum"], [(5, 3)], [(3,)]) == 15
    assert operations(OPS["SgdStep"], [(5,), (5,)], [(5,)]) == 10
    assert operations(OPS["EltwiseAdd"], [(5,), (5,)], [(5,)]) == 5


def test_a_part_that_contradicts_itself_cannot_be_made(linear: Located) -> None:
    with pytest.raises(PuzzleError, match="laps is no scalar"):
        dataclasses.replace(part_of(linear), repeat="laps")
