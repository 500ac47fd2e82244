"""What `grader book check` finds, and that the book's own chapters hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.publish import book_check, console, coverage, spelling
from grader.publish.asked import Asked, asked_for
from grader.publish.settings import choose, read_settings
from grader.publish.store import unwanted
from grader.publish.stored import is_fresh
from tests.book import asked_in, edition, settings_of
from tests.judging import ROOT
from tests.sampling import sampled

BOOK = edition()


@pytest.fixture(scope="module")
def whole_book() -> list[Asked]:
    """What the book's own chapters ask for; each of them is rendered, and so each region that they name is there."""
    settings = read_settings(ROOT / "book" / "book.toml", BOOK.catalog)
    return asked_for(BOOK, settings, settings.chapters)


# ---- the book as it is ----


def test_every_core_part_is_shown_with_its_solution(whole_book: list[Asked]) -> None:
    assert list(coverage.not_shown(BOOK, whole_book)) == []


def test_no_word_is_misspelt_and_the_list_of_words_is_no_longer_than_needed(whole_book: list[Asked]) -> None:
    assert list(spelling.misspelt(BOOK, whole_book, whole=True)) == []


def test_commands_in_chapters_do_what_they_should(whole_book: list[Asked]) -> None:
    typed = console.commands(whole_book)
    assert len(typed) > 50
    assert list(console.failing(sampled(typed, 20), BOOK.catalog)) == []


def test_every_verdict_is_stored_and_none_is_left_over(whole_book: list[Asked]) -> None:
    requests = book_check.requests_of(whole_book)
    assert [request.name for request in requests if not is_fresh(BOOK, request)] == []
    assert unwanted(BOOK, whole_book) == []


def test_stored_verdicts_name_no_machine() -> None:
    for path in (ROOT / "book" / "verdicts").rglob("*.txt"):
        assert not re.search(r"/(tmp|home|root|work)/", path.read_text(encoding="utf-8")), path


# ---- regions ----

SHOWN = '{{ skeleton("3.1") }}\n{% call solution("3.1") %}x{% endcall %}\n'


def test_a_core_part_without_skeleton_or_solution_is_told(tmp_path: Path) -> None:
    text = '# T\n{{ skeleton("3.2") }}\n' + SHOWN
    book, asked = asked_in(tmp_path, {"puzzle-03": text})
    told = list(coverage.not_shown(book, asked))
    assert any(sentence.endswith('part 3.2 is not shown by solution("3.2").') for sentence in told)
    assert any(sentence.endswith('part 3.3 is not shown by skeleton("3.3").') for sentence in told)
    assert not any("3.1" in sentence or "3.6" in sentence for sentence in told)  # 3.6 is extra


def test_a_part_shown_in_another_chapter_does_not_count(tmp_path: Path) -> None:
    book, asked = asked_in(tmp_path, {"first-kernel": "# T\n" + SHOWN, "puzzle-03": "# T\n"})
    assert any('"3.1"' in sentence for sentence in coverage.not_shown(book, asked))


# ---- commands ----


def test_commands_are_those_of_a_console_without_places_to_fill_in(tmp_path: Path) -> None:
    text = (
        "# T\n\n```console\n$ grader hint 3.4\nwhat it says\n$ grader hint PART\n$ make\n```\n\n"
        "```text\n$ grader list\n```\n\n```console\n$ grader hint 3.4\n$ grader trace 3.3 --case rows=1,cols=1\n```\n"
    )
    _, asked = asked_in(tmp_path, {"c": text})
    typed = console.commands(asked)
    assert [one.command for one in typed] == ["grader hint 3.4", "make", "grader trace 3.3 --case rows=1,cols=1"]
    assert typed[0].place.endswith("c.md.j2:4")


def test_a_command_that_does_not_work_is_told_with_what_it_says() -> None:
    commands = [
        "grader hint 3.9",
        "make nonsense",
        "make test SECONDS=1",
        "grader explain data_race",
        "grader book serve",
        "grader run nothing.cu",
        "grader reset 3.2",
        "grader solution 3.2",
    ]
    typed = [console.Typed(command, "c.md:1") for command in (*commands, "grader check 3.2 --seed 7", "cd somewhere")]
    told = list(console.failing(typed, BOOK.catalog))
    assert len(told) == 3
    assert told[0].startswith("c.md:1: `grader hint 3.9` does not work: grader: There is no part '3.9'")
    assert told[1] == "c.md:1: `make nonsense`: make has no nonsense."
    assert told[2].startswith("c.md:1: `grader run nothing.cu` does not work: grader: There is no file")


# ---- spelling ----


def test_prose_is_what_is_no_code_no_formula_and_no_address() -> None:
    text = (
        "(part-3-4)=\n### A tile\n\nA `vectro` and $vectro_i$ and [a lane](#vectro).\n\n"
        "```{code-block} cuda\n:caption: vectro\nvectro\n```\n\n:::{tip} Its title\n:class: vectro\nWords.\n:::\n"
        "$$\nvectro\n$$\n<span>so</span> vectro_add(x) https://vectro.example vectro.cu {ref}`vectro`\n"
    )
    assert [word for word, _ in spelling.words(text)] == [
        "tile", "and", "and", "lane", "its", "title", "words", "so",
    ]  # fmt: skip


def test_abbreviations_and_names_are_no_words() -> None:
    text = "GPUs of NVIDIA run PyTorch; Nagaraja wrote it. Micikevicius's paper isn’t x² or Aᵀ.\n"
    assert [word for word, _ in spelling.words(text)] == [
        "of",
        "run",
        "wrote",
        "it",
        "micikevicius",
        "paper",
        "isn't",
        "or",
    ]


@pytest.mark.parametrize(
    ("text", "words", "told"),
    [
        ("A seperate tile.", "", ["c.md.j2:3: 'seperate' is in no dictionary.", "c.md.j2:3: seperate ==> separate"]),
        ("A warpgroup.", "warpgroup\n", []),
        ("A tile.", "warpgroup\n", ["words.txt: 'warpgroup' is not used, or the dictionary has it."]),
        ("A warpgroup of wavefronts.", "wavefronts\nwarpgroup\n", ["words.txt: its words should be sorted"]),
    ],
)
def test_a_word_is_known_or_told(tmp_path: Path, text: str, words: str, told: list[str]) -> None:
    book, asked = asked_in(tmp_path, {"c": f"# Title\n\n{text}\n"})
    (tmp_path / "en" / "words.txt").write_text(words, encoding="utf-8")
    found = list(spelling.misspelt(book, asked, whole=True))
    assert len(found) == len(told)
    assert all(any(one in sentence for sentence in found) for one in told)


# ---- all together ----


def test_a_book_with_mistakes_is_told_all_of_them(tmp_path: Path) -> None:
    book = edition(tmp_path)
    text = '# Title\n\nA seperate tile.\n\n```console\n$ grader hint 3.9\n```\n\n{{ transcript("grader hint 3.4") }}\n'
    settings = settings_of(book, {"c": text, "puzzle-03": "# T\n"})
    heard: list[str] = []
    told = "\n".join(book_check.check(book, choose(settings, ["c"]), heard.append))
    assert "'seperate' is in no dictionary" in told
    assert "`grader hint 3.9` does not work" in told
    assert "verdicts/commands/hint_3.4.txt is missing" in told
    assert "skeleton" not in told  # of a chapter that was not chosen
    assert heard


def test_only_a_whole_edition_is_told_of_what_nobody_asks_for(tmp_path: Path) -> None:
    book = edition(tmp_path)
    settings = settings_of(book, {"c": "# Title\n\nA tile.\n"})
    (tmp_path / "en" / "words.txt").write_text("warpgroup\n", encoding="utf-8")
    (tmp_path / "verdicts").mkdir()
    (tmp_path / "verdicts" / "left.txt").touch()
    assert len(book_check.check(book, settings, lambda _: None)) == 2
    other = tmp_path / "ko" / "chapters" / "d.md.j2"
    other.parent.mkdir(parents=True)
    other.touch()
    assert book_check.check(book, settings, lambda _: None) == []
