"""Mutants of the solutions: a sample that changes with the commit is killed; the operators make what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.author.edits import OPERATORS
from grader.author.mutants import REASONS, Fate, Mutant, Reasons, digest_of, judge_mutants, mutants_of, sample_of
from grader.author.rates import known_parts, rates, unexplained
from grader.author.tokens import Code
from grader.catalog import load_catalog
from grader.tools import TorchLoading, default_tools
from tests.conftest import SEED
from tests.judging import ROOT
from tests.sampling import COMMIT, THOROUGH

PARTS = [part for puzzle in load_catalog(ROOT).puzzles for part in puzzle.parts]
MUTANTS = [mutant for part in PARTS for mutant in mutants_of(part)]
JUDGED = known_parts(ROOT / "results" / "mutants.json", PARTS)
SAMPLE = sample_of([mutant for mutant in MUTANTS if mutant.part in JUDGED], 100 if THOROUGH else 6, COMMIT)
ENTRIES = json.loads((ROOT / REASONS).read_text(encoding="utf-8"))


@pytest.mark.parametrize("mutant", SAMPLE, ids=lambda mutant: f"{mutant.part.label}-{mutant.number}-{mutant.operator}")
def test_a_mutant_is_killed_or_has_a_reason(mutant: Mutant) -> None:
    judged = list(judge_mutants([mutant], Reasons(ROOT / REASONS), default_tools(), TorchLoading(), SEED))
    assert unexplained(judged) == [], f"{mutant.line}\n{mutant.becomes}"


def test_every_reason_is_of_a_mutant_that_there_is() -> None:
    known = {mutant.key for mutant in MUTANTS}
    assert [
        entry for entry in ENTRIES if (entry["part"], entry["line"], entry["becomes"], entry.get("nth", 1)) not in known
    ] == []
    assert all(len(entry["reason"]) > 20 for entry in ENTRIES)


def test_the_last_full_run_left_nothing_unexplained() -> None:
    run = json.loads((ROOT / "results" / "mutants.json").read_text(encoding="utf-8"))
    assert run["parts"]
    assert all(row["killed"] == row["counted"] for row in run["parts"])
    assert all(survivor["reason"] for survivor in run["survivors"])


def test_a_part_whose_solution_has_changed_waits_for_the_next_full_run(tmp_path: Path) -> None:
    first, second = PARTS[:2]
    (tmp_path / "run.json").write_text(json.dumps({"parts": [{"solution": digest_of(first)}]}), encoding="utf-8")
    assert known_parts(tmp_path / "run.json", [first, second]) == [first]


def test_a_sample_is_drawn_by_its_seed() -> None:
    assert sample_of(MUTANTS, 5, "a") == sample_of(MUTANTS, 5, "a") != sample_of(MUTANTS, 5, "b")
    assert sample_of(MUTANTS[:3], 5, "a") == MUTANTS[:3]


def test_mutants_differ_from_the_solution_in_what_the_learner_writes() -> None:
    assert len({mutant.key for mutant in MUTANTS}) == len(MUTANTS)
    for mutant in MUTANTS:
        assert mutant.text != mutant.part.solution_path.read_text(encoding="utf-8")
        assert mutant.line != mutant.becomes


EXAMPLES = [
    ("drop_barrier", "__syncthreads();", ";"),
    ("drop_barrier", "cg::this_grid().sync();", None),
    ("drop_barrier", "block.sync();", ";"),
    ("loosen_comparison", "if (i < n) x = static_cast<int>(y);", "if (i <= n) x = static_cast<int>(y);"),
    ("loosen_comparison", "kernel<<<blocks, threads>>>(n);", None),
    ("loosen_comparison", 'printf("a < b");  // a < b', None),
    ("shorten_bound", "if (i < n) f();", "if (i + 1 < n) f();"),
    ("exchange_logic", "if (a && b) f();", "if (a || b) f();"),
    ("exchange_arithmetic", "x = a + *b;", "x = a - *b;"),
    ("forget_sum", "sum += x;", "sum = x;"),
    ("exchange_axes", "i = threadIdx.x;", "i = threadIdx.y;"),
    ("swap_indices", "t[y][x + 1] = 0;", "t[x + 1][y] = 0;"),
    ("swap_indices", "t[i] = u[i];", None),
    ("round_down", "b = (n + 256 - 1) / 256;", "b = (n) / 256;"),
    ("open_guard", "if (f(i) < n) g();", "if (true) g();"),
    ("open_guard", "if (i >= n) return;", "if (false) return;"),
    ("choose_always", "x = i < n ? a[i] : 0;", "x = true ? a[i] : 0;"),
    ("narrow_mask", "__shfl_xor_sync(0xffffffffu, x, 1);", "__shfl_xor_sync(0x0000ffffu, x, 1);"),
    ("exchange_words", "x = max(x, y);", "x = min(x, y);"),
    ("begin_further", "float sum = 0.0f;", "float sum = 1.0f;"),
    ("count_further", "y = x / 32;", "y = x / 33;"),
    ("narrow_sum", "float s; s += x[i];", "float s; s = __half2float(__float2half(s + (x[i])));"),
    ("narrow_sum", "int s; s += x[i];", None),
    ("drop_atomic", "atomicAdd(&s[i], f(x, y));", "*(&s[i]) = *(&s[i]) + f(x, y);"),
    ("drop_memset", "e = cudaMemsetAsync(p, 0, n, s);", "e = cudaSuccess;"),
    ("drop_last_error", "return cudaGetLastError();", "return cudaSuccess;"),
]


@pytest.mark.parametrize(("operator", "source", "becomes"), EXAMPLES, ids=[f"{a}-{b}" for a, b, _ in EXAMPLES])
def test_an_operator_makes_one_small_mistake(operator: str, source: str, becomes: str | None) -> None:
    edits = list(OPERATORS[operator](Code(f"{source}\n")))
    made = [source[: edit.start] + edit.text + source[edit.end :] for edit in edits]
    assert made == ([becomes] if becomes is not None else [])


def test_every_operator_has_an_example() -> None:
    assert {operator for operator, _, becomes in EXAMPLES if becomes} == set(OPERATORS)


def test_a_mutant_that_passes_needs_a_reason(tmp_path: Path) -> None:
    part = next(part for part in PARTS if part.part.name == "vector_add")
    solution = part.solution_path.read_text(encoding="utf-8")
    kept = Mutant(part, "none", 1, "a", "b", solution.replace("n) return cudaSuccess;", "n) return cudaSuccess; "))
    other = Mutant(part, "none", 1, "a", "b", solution.replace("threads = 256", "threads = 128"))
    broken = Mutant(part, "none", 1, "a", "b", solution.replace("int n", "int m"))
    wrong = Mutant(part, "none", 1, "a", "b", solution.replace("a[i] + b[i]", "a[i] - b[i]"))
    reasons = tmp_path / "reasons.json"
    judged = list(judge_mutants([kept, other, broken, wrong], Reasons(reasons), default_tools(), TorchLoading(), SEED))
    assert [one.fate for one in judged] == [Fate.same, Fate.survived, Fate.stillborn, Fate.killed]
    assert unexplained(judged) == [judged[1]]
    (row,) = rates(judged)
    assert (row["mutants"], row["counted"], row["killed"]) == (4, 2, 1)
    reasons.write_text('[{"part": "vector_add", "line": "a", "becomes": "b", "reason": "smaller blocks"}]')
    (explained,) = judge_mutants([other], Reasons(reasons), default_tools(), TorchLoading(), SEED)
    assert unexplained([explained]) == []
    assert rates([explained])[0]["counted"] == 0
