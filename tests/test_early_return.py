"""Threads that ended before a barrier: an early return is allowed, a way round the barrier is not."""

from __future__ import annotations

import pytest

from grader.simt.early_return import without_early_returns

RETURNS = {
    "on one line": "if (i >= n) return;",
    "on two lines": "if (i >= n)\n    return;",
    "in braces": "if (i >= n) {\n    return;\n}",
    "after some work": "if (i >= n) {\n    out[i] = 0;\n    return;\n}",
    "with calls in the condition": "if (min(i, f(j)) >= n || (i & 1)) return;",
    "with a comment": "if (i >= n) /* no element */ return;  // if (i < n)",
    "in a loop": "for (;;) if (done(i)) return;",
    "in a macro": "GUARD(i, n);",
    "a trap": "if (i >= n) __trap();",
    "a jump": "if (i >= n) goto end;",
}
WAYS_ROUND = {
    "an if": "if (i < n) {\n    s[t] = x[i];\n    __syncthreads();\n}",
    "an if without braces": "if (i < n)\n    step(s, t);",
    "a loop": "for (int j = t; j < n; j += 32) {\n    __syncthreads();\n}",
    "a while": "while (t < half) {\n    half /= 2;\n    __syncthreads();\n}",
    "an if that returns in the end": "if (t < 32) {\n    __syncthreads();\n    return;\n}",
}


def findings(*texts: str) -> list[dict[str, object]]:
    return [{"kind": "barrier_divergence", "line": 9, "other_line": 3, "text": text} for text in texts]


@pytest.mark.parametrize("statement", RETURNS.values(), ids=RETURNS.keys())
def test_an_early_return_is_no_finding(statement: str) -> None:
    assert without_early_returns(findings("left"), f"// one\n// two\n    {statement}\n    __syncthreads();\n") == []


@pytest.mark.parametrize("statement", WAYS_ROUND.values(), ids=WAYS_ROUND.keys())
def test_a_way_round_a_barrier_is_one(statement: str) -> None:
    assert without_early_returns(findings("left"), f"// one\n// two\n    {statement}\n") == findings("left")


def test_work_behind_a_barrier_may_be_that_of_a_thread_that_returned_early() -> None:
    source = "// one\nif (done) {\n    *to = a;\n    return;\n}\n\n\n\n    __syncthreads();\n*to = b;\n"
    assert without_early_returns(findings("behind"), source) == []


def test_else_it_tells_that_the_thread_went_past() -> None:
    for source in ("\nif (i >= n) return;\n", "\nif (t < 32) {\n    __syncthreads();\n    return;\n}\n", "\n\n"):
        assert without_early_returns(findings("behind"), source) == findings("behind")


def test_other_findings_stay_whatever_the_source_says() -> None:
    assert without_early_returns(findings("", "left"), "\n\n    if (i >= n) return;\n") == findings("")


@pytest.mark.parametrize("line", [None, 0, 99])
def test_a_line_that_the_source_does_not_have_is_no_way_round(line: int | None) -> None:
    (finding,) = findings("left")
    assert without_early_returns([{**finding, "other_line": line}], "if (i < n) {\n") == []
