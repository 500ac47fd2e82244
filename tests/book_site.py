"""Little editions for tests, and what is read out of a built site."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from grader.catalog import Catalog
from grader.publish.settings import read_settings
from grader.publish.site import Built, build

SETTINGS = """
title = "A little book"
author = "Nobody"
language = "en"
[[parts]]
title = "Ground"
chapters = ["lanes"]
[[parts]]
title = "Puzzles"
chapters = ["puzzle-01"]
"""
INDEX = "# {{ edition().title }}\n\n{{ contents() }}\n"
LANES = """# Lanes

(a-lane)=
## A lane

Something is called a zebra here and nowhere else. See [the puzzle](puzzle-01.md).
"""
PUZZLE = r"""# Vector add

A lane is explained in [its chapter](#a-lane), and {{ 6 * 7 }} is a number.

$$
\begin{aligned} y &= \frac{1}{n} \sum_{i=0}^{n-1} \operatorname{relu}(x_i) \\ z &= \sqrt{y} \end{aligned}
$$

| one | two | three | four | five | six | seven | eight | nine | ten |
|---|---|---|---|---|---|---|---|---|---|
| a long word | a long word | a long word | a long word | a long word | a long word | 7 | 8 | 9 | 10 |

```{code-block} cuda
:caption: puzzles/puzzle_01_vector_add/a_file_with_quite_a_long_name_that_has_no_blank_in_it.cu
__global__ void add(const float* a, const float* b, float* out, int n) { /* too long a line for paper */ }
```

```verdict
  ✘ ragged end   n = 257                                   writes out of bounds
```

::::::{dropdown} Tip 1
Folded, with $x^2$.
::::::

::::{tab-set}
:::{tab-item} Before
Not passed.
:::
:::{tab-item} Solved
Passed.
:::
::::
"""


# In a browser, given a width: what of the text sticks out of the window, and does not scroll inside itself.
TOO_WIDE = """
const scrolls = element => { for (let at = element; at.tagName !== "ARTICLE"; at = at.parentElement)
  if (["auto", "scroll"].includes(getComputedStyle(at).overflowX)) return true; return false; };
return [...document.querySelectorAll("article *")]
  .filter(element => element.getBoundingClientRect().right > arguments[0] + 1 && !scrolls(element))
  .map(element => element.outerHTML.slice(0, 80));
"""
# The titles of what a search has found, as soon as there are any.
AFTER_SEARCH = """
const end = Date.now() + 5000;
const links = () => [...document.querySelectorAll("#search-results .search li a")].map(link => link.textContent);
while (Date.now() < end && !links().length) await new Promise(done => setTimeout(done, 50));
return links();
"""


def little_book(folder: Path, settings: str = SETTINGS, **chapters: str) -> Path:
    """Writes an edition into the folder, whose chapters are given by name, `_` for `-`; the path of its settings."""
    texts = folder / "en" / "chapters"
    texts.mkdir(parents=True, exist_ok=True)
    (folder / "static").mkdir(exist_ok=True)
    (folder / "static" / "book.css").write_bytes(
        (Path(__file__).parents[1] / "book" / "static" / "book.css").read_bytes()
    )
    (folder / "book.toml").write_text(settings, encoding="utf-8")
    (folder / "en" / "index.md.j2").write_text(INDEX, encoding="utf-8")
    for name, text in ({"lanes": LANES, "puzzle_01": PUZZLE} | chapters).items():
        (texts / f"{name.replace('_', '-')}.md.j2").write_text(text, encoding="utf-8")
    return folder / "book.toml"


def build_in(folder: Path, catalog: Catalog, settings: str = SETTINGS, *, epub: bool = False, **chapters: str) -> Built:
    """Builds a little book with these chapters in the place of its own."""
    path = little_book(folder, settings, **chapters)
    return build(read_settings(path, catalog), catalog, folder / "out", {}, epub=epub, tell=lambda _: None)


@dataclass
class PageOf(HTMLParser):
    """A page of a site: the addresses it links to, those it loads, the places in it, and the names of its elements."""

    path: Path
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)
    elements: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        found = {name: value for name, value in attrs if value is not None}
        self.places |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        else:
            self.loaded += [found[name] for name in ("src", "href", "data", "poster") if name in found]


def pages_of(site: Path) -> Mapping[Path, PageOf]:
    return {path: PageOf(path) for path in sorted(site.rglob("*.html"))}


def broken(pages: Mapping[Path, PageOf]) -> Iterator[str]:
    """Links, and what is loaded, that lead to nothing in the site; addresses elsewhere are not tried."""
    for page in pages.values():
        for address in (*page.links, *page.loaded):
            url = urlsplit(address)
            if url.scheme or url.netloc:
                continue
            target = (page.path.parent / unquote(url.path)).resolve() if url.path else page.path
            place = unquote(url.fragment)
            if not target.is_file() or (place and target in pages and place not in pages[target].places):
                yield f"{page.path.name} → {address}"


def from_elsewhere(site: Path, pages: Mapping[Path, PageOf]) -> Iterator[str]:
    """What a browser would load from another machine: by an element, or by a style."""
    for page in pages.values():
        yield from (f"{page.path.name}: {address}" for address in page.loaded if re.match(r"(https?:)?//", address))
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        found = re.findall(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')]+)", text)
        yield from (f"{sheet.name}: {address}" for address in found)


_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}rootfile"
_DECLARED = {"{http://www.w3.org/1998/Math/MathML}math": "mathml", "{http://www.w3.org/2000/svg}svg": "svg"}
_ITEM, _REFERENCE = "{http://www.idpf.org/2007/opf}item", "{http://www.idpf.org/2007/opf}itemref"


def faults_of_epub(path: Path) -> Iterator[str]:
    """What a reader of EPUBs would stumble over."""
    with zipfile.ZipFile(path) as packed:
        first = packed.infolist()[0]
        if (first.filename, first.compress_type, packed.read(first)) != ("mimetype", 0, b"application/epub+zip"):
            yield "its type does not stand first, as it is"
        opf = _xml(packed.read("META-INF/container.xml")).find(f".//{_CONTAINER}")
        assert opf is not None
        package = _xml(packed.read(opf.attrib["full-path"]))
        base = Path(opf.attrib["full-path"]).parent
        items = {item.attrib["id"]: item.attrib for item in package.iter(_ITEM)}
        names = set(packed.namelist())
        for item in items.values():
            name = (base / unquote(item["href"])).as_posix()
            if name not in names:
                yield f"{name} is in the manifest and not in the file"
            elif item["media-type"] == "application/xhtml+xml":
                yield from _faults_of_page(name, packed.read(name), item.get("properties", "").split())
                yield from _missing_of_page(name, packed.read(name), names)
        yield from (f"{one} is read and not in the manifest" for one in _spine(package) if one not in items)


def _xml(text: bytes) -> ElementTree.Element:
    return ElementTree.fromstring(text)  # noqa: S314 - our own


def _spine(package: ElementTree.Element) -> Iterator[str]:
    return (reference.attrib["idref"] for reference in package.iter(_REFERENCE))


def _missing_of_page(name: str, text: bytes, names: set[str]) -> Iterator[str]:
    """What a page loads or leads to, and what is not in the file."""
    for element in _xml(text).iter():
        for address in (element.get("href"), element.get("src")):
            url = urlsplit(address or "")
            if (
                url.path
                and not url.scheme
                and posixpath.normpath(f"{Path(name).parent}/{unquote(url.path)}") not in names
            ):
                yield f"{name} → {address}"


def _faults_of_page(name: str, text: bytes, properties: list[str]) -> Iterator[str]:
    try:
        page = _xml(text)
    except ElementTree.ParseError as error:
        yield f"{name}: {error}"
        return
    for element, word in _DECLARED.items():
        if (page.find(f".//{element}") is not None) != (word in properties):
            yield f"{name}: {word} is {'not ' if word not in properties else ''}declared"
