"""What an ordinary run leaves out comes in another: samples change with the commit, and `make thorough` takes all."""

from __future__ import annotations

import pytest

from tests import sampling
from tests.sampling import one_of_each, sampled

EVERY = list(range(60))
KINDS = [{item % 7, "even" if item % 2 == 0 else "odd"} for item in EVERY]


@pytest.fixture(autouse=True)
def ordinary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "THOROUGH", False)
    monkeypatch.setattr(sampling, "COMMIT", "one")


def test_a_sample_is_in_order_and_never_empty() -> None:
    assert sampled(EVERY, 20) == sorted(sampled(EVERY, 20))
    assert len(sampled(EVERY, 20)) == 3
    assert sampled(EVERY[:2], 20) in ([0], [1])
    assert sampled([], 20) == []


def test_of_each_kind_there_is_one() -> None:
    chosen = one_of_each(EVERY, KINDS)
    assert chosen == sorted(chosen)
    assert set().union(*(KINDS[item] for item in chosen)) == set().union(*KINDS)
    assert 7 <= len(chosen) <= 8


def test_none_is_taken_whose_kinds_others_show(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = [{"a"}, {"b"}, {"a", "b", "c"}]
    for commit in range(20):
        monkeypatch.setattr(sampling, "COMMIT", str(commit))
        assert one_of_each(["a", "b", "all"], kinds) == ["all"]


def test_over_some_commits_everything_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, needed = set[int](), set[int]()
    for commit in range(200):
        monkeypatch.setattr(sampling, "COMMIT", str(commit))
        drawn.update(sampled(EVERY, 20))
        needed.update(one_of_each(EVERY, KINDS))
    assert drawn == needed == set(EVERY)


def test_a_thorough_run_takes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "THOROUGH", True)
    assert sampled(EVERY, 20) == one_of_each(EVERY, KINDS) == EVERY
