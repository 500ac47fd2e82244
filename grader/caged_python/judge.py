"""A part in Python → verdict: each call's result and gradients against PyTorch's in float64, and where they come from.

PyTorch's own autograd, in float64, stands for the finite differences of `gradcheck`: in single precision those would
be right to three digits at best, and a gradient of the right size with one wrong term would pass.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from grader.caged_python.blame import Blame
from grader.caged_python.drawn import Drawn, Expected
from grader.caged_python.errors import error_told
from grader.caged_python.kernels import Called, Kernels
from grader.caged_python.process import Raised
from grader.caged_python.session import NotATensor, Session, described
from grader.explain import sentence, title
from grader.facts import printed_by_host
from grader.notes import Notes
from grader.op.errors import EntryFailed
from grader.puzzle import Case
from grader.python_part import Call, PythonPart
from grader.tools import Tools, TorchLoading
from grader.verdict import CaseResult, Finding, FirstWrong, GoalResult, PartVerdict, Stage, State

if TYPE_CHECKING:
    from grader.submission import Options, Submission

DEVICE = "software"
_MOST_LISTED = 16  # losses of a training


def check_python_part(submission: Submission, options: Options, tools: Tools, loading: TorchLoading) -> PartVerdict:
    """Judges one file; whatever it does, a verdict comes out."""
    loading.wait()
    return _PythonCheck(submission, options, tools=tools).verdict()


class _Wrong(Exception):
    """The case is not right; the message is the finding's, by key of the catalogue."""

    def __init__(self, kind: str, key: str, line: int | None, **facts: object) -> None:
        super().__init__(key)
        self.kind, self.key, self.line, self.facts = kind, key, line, facts


@dataclass(kw_only=True)
class _PythonCheck(Notes):
    tools: Tools
    computing: Mapping[str, Any] | None = None
    borrowed: str | None = None
    _compared: list[tuple[int, int, float, float, float]] = field(default_factory=list)

    def verdict(self) -> PartVerdict:
        return self.concluded(self._judge, lambda: DEVICE)

    @property
    def python(self) -> PythonPart:
        assert isinstance(self.part, PythonPart)
        return self.part

    def _judge(self) -> State:
        if self.options.device == "cuda":
            self.reason = sentence("python", "no_gpu", facts={"label": self.submission.located.label})
            return State.unchecked
        self.blame = Blame(self.submission.text())
        kernels = Kernels(self.submission.used, self.tools)
        with Session(kernels, self.submission.source.name, self.python.entry) as session:
            if self._load(session):
                self._run_cases(session)
            self._print(printed_by_host(session.printed))
        if self.findings:
            return State.wrong
        self._judge_goal()
        return State.goal_open if self.findings else State.passed

    def _load(self, session: Session) -> bool:
        begun = time.perf_counter()
        try:
            if session.load(self.submission.source.read_bytes()):
                return True
            self._tell(_Wrong("missing_entry", "no_function", None))
        except Raised as raised:
            self._tell(self._of_exception(raised, session))
        finally:
            self._spent("build", begun)
        return False

    # ---- cases ----

    def _run_cases(self, session: Session) -> None:
        self.stage = Stage.run
        for group, case in self.cases:
            call = Call.like(case)
            if call.steps and self.borrowed is not None:
                continue  # a training is judged by what the kernels gave
            begun = time.perf_counter()
            self._compared.clear()
            try:
                self._train(session, call) if call.steps else self._call(session, call)
                self.results.append(self._result(group, call, passed=True))
            except _Wrong as wrong:
                self.results.append(self._result(group, call, wrong=wrong))
                self._tell(wrong)
            except Raised as raised:
                self.results.append(self._result(group, call))
                self._tell(self._of_exception(raised, session))
                if raised.type in ("late", "flood", "ended"):
                    return
            except NotATensor:
                self.results.append(self._result(group, call))
                self._tell(_Wrong("host_crash", "no_tensor", None))
            finally:
                self._spent("run", begun)
            if self.findings and not self.options.everything:
                return

    def _call(self, session: Session, call: Call) -> None:
        part, drawn = self.python, Drawn(self.python, call, self.options.seed)
        tensors, needs, flowing = drawn.tensors, part.needs_of(call), drawn.like_the_result("dy")
        expected = drawn.expected(needs, flowing)
        session.kernels.called.clear()
        listed = [
            {**described(tensors[tensor.name]), "needs": tensor.name in needs, "strided": tensor.name in call.strided}
            for tensor in part.tensors
        ]
        message = {
            "do": "call",
            "tensors": listed,
            "dy": {**described(flowing), "strided": "dy" in call.strided},
            "numbers": [drawn.numbers[name] for name in part.numbers],
        }
        sent = [tensors[tensor.name] for tensor in part.tensors]
        answer, came = session.call(message, [*sent, flowing])
        self._compare(answer, came, expected, needs, session.kernels.called)

    def _compare(
        self,
        answer: Mapping[str, Any],
        came: Sequence[torch.Tensor],
        expected: Expected,
        needs: Sequence[str],
        called: Sequence[Called],
    ) -> None:
        self.stage = Stage.compare
        if not came:
            raise _Wrong("never_written", "no_result", self.blame.function(), type=str(answer.get("type"))[:40])
        self._same_values(came[0], expected.result, self.blame.forward())
        self._note_origin(answer, came[0], self.python.result, called)
        if not needs:
            return
        if answer.get("differentiable") is not True:
            raise _Wrong("never_written", "cut_off", self.blame.function())
        given = answer.get("gradients")
        names = [tensor.name for tensor in self.python.tensors]
        if not isinstance(given, list) or len(given) != len(names) or sum(map(bool, given)) != len(came) - 1:
            raise NotATensor
        arrived = dict(zip((name for name, there in zip(names, given, strict=True) if there), came[1:], strict=True))
        for name in needs:
            if name not in arrived:
                raise _Wrong("never_written", "no_gradient", self.blame.gradient(names.index(name)), name=name)
        for name in needs:
            self._same_gradient(name, arrived[name], expected)
            self._note_origin(answer, arrived[name], self.python.gradients[name], called)

    def _same_values(self, got: torch.Tensor, expected: torch.Tensor, line: int | None) -> None:
        if got.shape != expected.shape:
            shapes = {"got": list(got.shape), "wanted": list(expected.shape)}
            raise _Wrong("wrong_values", "result_shape", line, **shapes)
        wrong = self._wrong_elements(got, expected)
        if not wrong.any():
            return
        first = int(wrong.flatten().nonzero()[0])
        where = {"index": _index(first, expected.shape), "count": int(wrong.sum()), "of": expected.numel()}
        values = {"got": _number(got, first), "expected": _number(expected, first)}
        kind = "not_a_number" if got.flatten()[first].isnan() else "wrong_values"
        raise _Wrong(kind, "result_values", line, flat=first, buffer=None, shape=expected.shape, **where, **values)

    def _same_gradient(self, name: str, got: torch.Tensor, expected: Expected) -> None:
        wanted = expected.gradients[name]
        place = [tensor.name for tensor in self.python.tensors].index(name)
        line = self.blame.gradient(place)
        wrong = self._wrong_elements(got, wanted)
        if not wrong.any():
            return
        first = int(wrong.flatten().nonzero()[0])
        like = next((other for other, values in expected.gradients.items() if self._is_like(got, values)), None)
        facts = {"name": name, "index": _index(first, wanted.shape), "count": int(wrong.sum()), "of": wanted.numel()}
        facts |= {"got": _number(got, first), "expected": _number(wanted, first), "like": like}
        kind = "not_a_number" if got.flatten()[first].isnan() else "wrong_values"
        key = "gradient_of_another" if like is not None else "gradient_values"
        raise _Wrong(kind, key, line, flat=first, buffer=name, shape=wanted.shape, **facts)

    def _wrong_elements(self, got: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
        """A mask; what was compared is noted."""
        error = (got.double() - expected).abs()
        allowed = self._allowed(expected)
        wrong = ~(error <= allowed)
        largest = float(error.max()) if error.numel() else 0.0
        scale = float(expected.abs().max()) if expected.numel() else 0.0
        share = largest / allowed if largest else 0.0
        self._compared.append((expected.numel(), int(wrong.sum()), largest, largest / scale if scale else 0.0, share))
        return wrong

    def _allowed(self, expected: torch.Tensor) -> float:
        scale = float(expected.abs().max()) if expected.numel() else 0.0
        return self.python.tolerance.relative * scale + self.python.tolerance.absolute_in(Case())

    def _is_like(self, got: torch.Tensor, other: torch.Tensor) -> bool:
        return got.shape == other.shape and bool(((got.double() - other).abs() <= self._allowed(other)).all())

    def _note_origin(self, answer: Mapping[str, Any], got: torch.Tensor, source: Any, called: Sequence[Called]) -> None:
        """Whether these bits came out of the entry that they should come from."""
        if self.computing is None and isinstance(answer.get("computing"), dict):
            self.computing = answer["computing"]
        of_kernels = (one.after[source.buffer] for one in called if one.entry == source.entry)
        same = any(values.numel() == got.numel() and _same_bits(values, got) for values in of_kernels)
        if not same and self.borrowed is None:
            self.borrowed = source.entry

    # ---- training ----

    def _train(self, session: Session, call: Call) -> None:
        """Some steps of gradient descent: the losses, of what the kernels gave, fall as PyTorch's do in float64."""
        part, drawn = self.python, Drawn(self.python, call, self.options.seed)
        target = drawn.like_the_result("target")
        message = {
            "do": "train",
            "tensors": [described(tensor) for tensor in drawn.tensors.values()],
            "target": described(target),
            "numbers": [drawn.numbers[name] for name in part.numbers],
            "steps": call.steps,
            "rate": call.rate,
        }
        session.kernels.called.clear()
        session.call(message, [*drawn.tensors.values(), target])
        results = [one.after[part.result.buffer] for one in session.kernels.called if one.entry == part.result.entry]
        losses = [float(((result.double() - target.reshape(result.shape)) ** 2).mean()) for result in results]
        expected = list(drawn.losses(target))
        allowed = part.tolerance.relative * call.steps
        off = [abs(got - right) / right for got, right in zip(losses, expected, strict=False)]
        wrong = sum(share > allowed for share in off)
        self._compared.append((len(expected), wrong, 0.0, max(off, default=0.0), max(off, default=0.0) / allowed))
        if len(losses) != len(expected) or wrong:
            told = {"got": _listed(losses), "expected": _listed(expected), "steps": call.steps}
            raise _Wrong("wrong_values", "losses", self.blame.backward(), **told)

    # ---- goal ----

    def _judge_goal(self) -> None:
        """The entries of the parts that it uses have computed all of it."""
        self.stage = Stage.goal
        reached = self.computing is None and self.borrowed is None
        name, asked = sentence("python", "goal_name"), sentence("python", "goal")
        self.goals.append(GoalResult(name, asked, reached))
        if self.computing is not None:
            line = self.computing.get("line")
            operation = str(self.computing.get("operation"))[:40]
            self._tell(_Wrong("goal_missed", "computes", line if isinstance(line, int) else None, operation=operation))
        elif self.borrowed is not None:
            self._tell(_Wrong("goal_missed", "not_the_kernels", self.blame.function(), entry=self.borrowed))

    # ---- words ----

    def _result(self, group: str, call: Call, *, passed: bool = False, wrong: _Wrong | None = None) -> CaseResult:
        flat = wrong.facts.get("flat") if wrong is not None else None
        first = None
        if wrong is not None and isinstance(flat, int):
            index = tuple(int(place) for place in _unravelled(flat, wrong.facts["shape"]))
            values = float(str(wrong.facts["expected"])), float(str(wrong.facts["got"]))
            first = FirstWrong(_buffer(wrong.facts["buffer"]), index, *values)
        return CaseResult(
            DEVICE,
            group,
            call.params,
            passed,
            checked=sum(one[0] for one in self._compared),
            wrong=sum(one[1] for one in self._compared),
            max_abs_error=max((one[2] for one in self._compared), default=0.0),
            max_rel_error=max((one[3] for one in self._compared), default=0.0),
            of_tolerance=max((one[4] for one in self._compared), default=0.0),
            first_wrong=first,
            inputs=call.inputs,
        )

    def _of_exception(self, raised: Raised, session: Session) -> _Wrong:
        """An error in the learner's Python as a finding."""
        line, failed = raised.line, session.failed
        names = [tensor.name for tensor in self.python.tensors]
        if isinstance(failed, EntryFailed) and failed.findings and raised.type == "EntryFailed":
            return _Wrong(failed.findings[0].kind, "kernel", line, words=str(failed))
        if wrong := self.blame.invalid_gradient(raised.message, names):
            return _Wrong(
                "wrong_values", "gradient_shape", wrong.line, name=wrong.name, got=wrong.got, wanted=wrong.wanted
            )
        if (told := error_told(raised)) is not None:
            return _Wrong(told.kind, told.key, line, **told.facts)
        line = line or self.blame.of_autograd(raised.message)
        return _Wrong("host_crash", "raised", line, type=raised.type, words=raised.message)

    def _tell(self, wrong: _Wrong) -> None:
        facts = {"entry": self.python.entry, **wrong.facts}
        flat = wrong.facts.get("flat")
        line = wrong.line if wrong.line and 0 < wrong.line <= len(self.submission.text().splitlines()) else None
        self._add(
            Finding(
                kind=wrong.kind,
                severity="error",
                title=sentence("python", "titles", wrong.key) or title(wrong.kind),
                message=sentence("python", wrong.key, facts=facts),
                why=sentence("python", "why", wrong.key, facts=facts),
                file=self.submission.shown,
                line=line,
                buffer=_buffer(wrong.facts["buffer"]) if "buffer" in wrong.facts else None,
                index=flat if isinstance(flat, int) else None,
                count=int(str(wrong.facts.get("count", 1))),
            )
        )


def _buffer(name: object) -> str:
    """What is compared: the result, or a gradient."""
    return f"{name}.grad" if name is not None else "result"


def _same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.dtype != other.dtype:
        return False
    return torch.equal(one.contiguous().flatten().view(torch.uint8), other.contiguous().flatten().view(torch.uint8))


def _unravelled(flat: int, shape: Any) -> list[int]:
    index: list[int] = []
    for extent in reversed(tuple(shape)):
        index.insert(0, flat % extent)
        flat //= extent
    return index


def _index(flat: int, shape: Sequence[int]) -> str:
    return "".join(f"[{place}]" for place in _unravelled(flat, shape))


def _number(tensor: torch.Tensor, flat: int) -> str:
    return f"{float(tensor.flatten()[flat]):.6g}"


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.6g}" for value in values[:_MOST_LISTED]) or "none"
