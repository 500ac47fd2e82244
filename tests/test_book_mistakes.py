"""What goes wrong around a book is told in one sentence, and nothing that is not the book's is touched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from grader import cli
from grader.catalog import Catalog, load_catalog
from grader.publish.chapters import render
from grader.publish.context import BookError
from tests.book_site import LANES, SETTINGS, build_in, little_book
from tests.judging import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:.*Check CHANGES for Sphinx API modifications")

Refused = Callable[[], str]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT)


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """Builds the little book in `tmp_path`, which cannot be done; what is said, a sentence."""
    monkeypatch.chdir(ROOT)

    def told() -> str:
        settings, out = str(tmp_path / "book.toml"), str(tmp_path / "out")
        assert cli.run(["book", "build", "--settings", settings, "--out", out]) == cli.BAD_USAGE
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        return said

    return told


# ---- where it is built ----


@pytest.mark.parametrize("folder", ["html", "epub", "work"])
def test_a_folder_that_is_somebodys_is_left_as_it_is(tmp_path: Path, refused: Refused, folder: str) -> None:
    little_book(tmp_path)
    mine = tmp_path / "out" / folder / "mine.html"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine", encoding="utf-8")
    assert f"out/{folder} is there, and not by a build of a book: --out DIR chooses another." in refused()
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == [mine]


def test_what_lies_beside_the_book_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    settings, out = little_book(tmp_path), tmp_path / "out"
    mine = [out / "traces" / "mine.html", out / "notes.txt"]
    for path in mine:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine", encoding="utf-8")
    for only in ([], ["--only", "lanes"]):
        assert cli.run(["book", "build", "--settings", str(settings), "--out", str(out), "--no-epub", *only]) == 0
        assert all(path.read_text(encoding="utf-8") == "mine" for path in mine)


def test_a_file_where_a_folder_should_be_is_told(tmp_path: Path, refused: Refused) -> None:
    little_book(tmp_path)
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    assert "The book cannot be written: " in refused()
    assert (tmp_path / "out").read_text(encoding="utf-8") == "mine"


# ---- what it is made of ----


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('"puzzle-01"', '"puzzle-1"', "there is no chapter 'puzzle-1'; did you mean puzzle-01?"),
        ('"puzzle-01"', '"lanes"', "the chapter lanes is listed twice."),
        ('language = "en"', 'language = "xx"', "there is no edition in 'xx'"),
        ('author = "Nobody"', "author = 3", "author should be words in quotes."),
        ('author = "Nobody"', 'autor = "Nobody"', "there is no setting 'autor'"),
        ('language = "en"', 'language = "en"\npuzzles = [1, 99]', "there is no puzzle 99; there are 1, 2, 3"),
        ('language = "en"', 'language = "en"\nleaderboard = ["gone.json"]', "there is no file of results"),
        (SETTINGS.partition("[[parts]]")[2], "", "there is no part; begin one with [[parts]]."),
        ('title = "A', "title = A", "is no TOML"),
    ],
)
def test_a_mistake_in_the_settings_is_told(
    tmp_path: Path, refused: Refused, before: str, after: str, said: str
) -> None:
    little_book(tmp_path, SETTINGS.replace(before, after).removesuffix("[[parts]]"))
    assert said in refused()


@pytest.mark.parametrize(
    ("file", "place"),
    [
        ("book.toml", "book.toml:3"),
        ("en/phrases.toml", "phrases.toml:3"),
        ("en/chapters/lanes.md.j2", "lanes.md.j2:3"),
        ("en/chapters/left-out.md.j2", "left-out.md.j2:3"),
    ],
)
def test_a_file_that_is_no_utf_8_is_named(tmp_path: Path, refused: Refused, file: str, place: str) -> None:
    little_book(tmp_path)
    (tmp_path / file).write_bytes(b"# one\n\n# caf\xe9\n")
    assert f"{place}: this line is no UTF-8; save the file as UTF-8." in refused()


@pytest.mark.parametrize(
    ("phrases", "said"),
    [
        ("", "en/phrases.toml lacks the phrase 'tip'; the course's book/en/phrases.toml has it."),
        ("tip = 3", "en/phrases.toml: tip should be words in quotes."),
        ("tip = ", "en/phrases.toml is no TOML: "),
    ],
)
def test_phrases_that_a_translation_lacks_are_named(tmp_path: Path, refused: Refused, phrases: str, said: str) -> None:
    little_book(tmp_path, lanes='# Lanes\n\n{{ tips("3.4") }}\n')
    (tmp_path / "en" / "phrases.toml").write_text(phrases, encoding="utf-8")
    assert said in refused()


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("def lane():\n    return missing\n", "lanes.py:2: NameError: name 'missing' is not defined"),
        ("def lane():\n    return (\n", "lanes.py:2: SyntaxError: "),
        ("import nothing_of_that_name\n", "lanes.py:1: ModuleNotFoundError: "),
        ("", "lanes.py has no function 'lane'."),
    ],
)
def test_a_drawing_that_fails_is_told_with_its_line(tmp_path: Path, refused: Refused, module: str, said: str) -> None:
    little_book(tmp_path, lanes='# Lanes\n\n{{ drawing("lane", caption="A lane.", alt="A lane") }}\n')
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "lanes.py").write_text(module, encoding="utf-8")
    assert said in refused()


# ---- chapters ----


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{{ nothing }}", "'nothing' is undefined"),
        ("{{ skeleton('99.1') }}", "skeleton('99.1')"),
        ("{% if %}", "Expected an expression, got 'end of statement block'"),
        ("{{ 1 / 0 }}", "division by zero"),
    ],
)
def test_a_chapter_that_cannot_be_rendered_names_file_and_line(
    line: str, words: str, catalog: Catalog, tmp_path: Path
) -> None:
    with pytest.raises(BookError) as raised:
        build_in(tmp_path, catalog, lanes=f"{LANES}\n{line}\n")
    place = LANES.count("\n") + 2
    assert f"lanes.md.j2:{place}: " in str(raised.value)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[nothing](#nothing-of-that-name)", "cross-reference target not found"),
        ("$\\undefinedcommand{x}$", 'Unknown LaTeX command "\\undefinedcommand"'),
        ("{nothing}`x`", "Unknown interpreted text role"),
    ],
)
def test_what_sphinx_warns_of_is_told_with_the_line_that_somebody_wrote(
    line: str, words: str, catalog: Catalog, tmp_path: Path
) -> None:
    added = "{% for _ in range(9) %}\nA line, nine times.\n{% endfor %}\n"
    made = build_in(tmp_path, catalog, lanes=f"{LANES}\n{added}\n{line}\n")
    place = LANES.count("\n") + added.count("\n") + 3
    assert any(f"lanes.md.j2:{place}: " in warning and words in warning for warning in made.warnings)
    again = build_in(tmp_path, catalog, lanes=f"{LANES}\n{added}\n{line}\n")
    assert again.warnings == made.warnings  # and not only the first time


def test_lines_of_what_was_made_are_found_in_the_template(tmp_path: Path) -> None:
    template = tmp_path / "one.md.j2"
    template.write_text("first\n{% for n in range(3) %}\nturn {{ n }}\n{% endfor %}\nlast\n", encoding="utf-8")
    page = render(template, {}, {})
    assert page.text == "first\nturn 0\nturn 1\nturn 2\nlast\n"
    assert [page.template_line(line) for line in (1, 5)] == [1, 5]
    assert all(2 <= page.template_line(line) <= 4 for line in (2, 3, 4))
