"""Words of a chapter that no dictionary knows: of its prose alone, not of code, formulas, names and addresses.

What a dictionary lacks and is right stands in `words.txt`, sorted, and no longer than it is used.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grader.catalog import UsageError, shown_path
from grader.publish.chapters import text_of

if TYPE_CHECKING:
    from grader.publish.asked import Asked
    from grader.publish.context import Book

WORDS = "words.txt"
_FENCE = re.compile(r"^(?P<fence>`{3,}).*?^(?P=fence)`*[ \t]*$", re.MULTILINE | re.DOTALL)
_NO_PROSE = (
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"^\(\S+\)=$", re.MULTILINE),  # a label
    re.compile(r"^:[\w-]+:.*$", re.MULTILINE),  # an option of a directive
    re.compile(r"\$\$.*?\$\$", re.DOTALL),
    re.compile(r"(`+)[^`].*?\1", re.DOTALL),
    re.compile(r"(?<!\\)\$(?!\s)[^$]+?\$"),
    re.compile(r"\{[\w-]+\}"),
    re.compile(r"\]\([^)]*\)"),  # where a link leads
    re.compile(r"<?\bhttps?://[^\s>)]+>?"),
    re.compile(r"<[^>\n]+>"),
)
_LETTER = "A-Za-zÀ-ÖØ-öø-ÿ"
_WORD = re.compile(rf"(?<![\w/.@\-])[{_LETTER}]+(?:['’][{_LETTER}]+)?(?![\w/@]|\.\w|\()")
_BEGINNING = re.compile(r"(?:^|[.!?:|#(“\"*\]])[\s#*>|(“\"\[\-0-9.:]*$")  # of a sentence, before its first word
_MISSPELT = re.compile(r"^.*?/(?P<page>[\w-]+)\.txt:(?P<line>\d+): (?P<words>.*)$", re.MULTILINE)


def prose(text: str) -> str:
    """The page with everything else blanked out; lines stay where they are."""
    for pattern in (_FENCE, *_NO_PROSE):
        text = pattern.sub(_blank, text)
    return text


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def words(text: str) -> Iterator[tuple[str, int]]:
    """The words of the prose and the lines that they stand in. Abbreviations are none, and neither are names: what has
    a capital inside a word, or inside a sentence.
    """
    for number, line in enumerate(prose(text).replace("-", " ").splitlines(), 1):
        for match in _WORD.finditer(line):
            word = re.sub(r"['’]s?$", "", match[0]).replace("’", "'")
            is_name = word[:1].isupper() and not _BEGINNING.search(line[: match.start()])
            if len(word) > 1 and word[1:] == word[1:].lower() and not is_name:
                yield word.lower(), number


def misspelt(book: Book, asked: Sequence[Asked], *, whole: bool) -> Iterator[str]:
    """A sentence for each word that is not known, or is a usual slip. Where it is the `whole` book, also for each word
    of the list that is not needed. A language that has no dictionary here is passed over.
    """
    own = own_words(book)
    yield from _order(book, own)
    unknown = _unknown(book.language, {word for one in asked for word, _ in words(one.page.text)})
    if unknown is None:
        return
    for page in (one.page for one in asked):
        found = {word: line for word, line in reversed(list(words(page.text))) if word in unknown - set(own)}
        for word, line in sorted(found.items(), key=lambda item: item[1]):
            yield f"{shown_path(page.template)}:{page.template_line(line)}: {word!r} is in no dictionary."
    if whole:
        unused = (word for word in own if word not in unknown)
        yield from (f"{_list(book)}: {word!r} is not used, or the dictionary has it." for word in unused)
    yield from _slips(asked, own)


def own_words(book: Book) -> list[str]:
    """The book's own list."""
    path = book.folder / book.language / WORDS
    return text_of(path).split() if path.is_file() else []


def _list(book: Book) -> str:
    return shown_path(book.folder / book.language / WORDS)


def _order(book: Book, own: Sequence[str]) -> Iterator[str]:
    if list(own) != sorted({word.lower() for word in own}):
        yield f"{_list(book)}: its words should be sorted, each once, in small letters."


def _unknown(language: str, every: Iterable[str]) -> set[str] | None:
    try:
        from spellchecker import SpellChecker
    except ImportError:
        raise UsageError("Spelling is looked at with pyspellchecker and codespell: pip install them.") from None
    try:
        dictionary = SpellChecker(language=language)
    except ValueError:
        return None
    return set(dictionary.unknown(every))


def _slips(asked: Iterable[Asked], own: Sequence[str]) -> Iterator[str]:
    """What codespell finds."""
    pages = {one.chapter: one.page for one in asked}
    with tempfile.TemporaryDirectory() as folder:
        for name, page in pages.items():
            (Path(folder) / f"{name}.txt").write_text(prose(page.text), encoding="utf-8")
        ignored = ["--ignore-words-list", ",".join(own)] if own else []
        done = subprocess.run(
            [sys.executable, "-m", "codespell_lib", *ignored, folder], capture_output=True, text=True, check=False
        )
    for match in _MISSPELT.finditer(done.stdout):
        page = pages[match["page"]]
        yield f"{shown_path(page.template)}:{page.template_line(int(match['line']))}: {match['words']}"
