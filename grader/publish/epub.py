"""Finishes Sphinx's EPUB: the manifest says which pages hold what, and no page asks for what is not there.

The theme of the site adds its style to every page, of the EPUB too, where it does not lie.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

_OPF = "http://www.idpf.org/2007/opf"
_PREFIXES = {"": _OPF, "dc": "http://purl.org/dc/elements/1.1/"}
_MANIFEST = "content.opf"
_PAGE = "application/xhtml+xml"
_STYLE = re.compile(rb'<link rel="stylesheet"[^>]* href="(?P<address>[^"]*)" />\s*')
_DECLARED = {
    "mathml": "{http://www.w3.org/1998/Math/MathML}math",
    "svg": "{http://www.w3.org/2000/svg}svg",
}


def finish(made: Path, out: Path) -> None:
    """Writes `out`, which is the EPUB `made` with a whole manifest. Raises ValueError for a page that is no XHTML."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(made) as source, zipfile.ZipFile(out, "w") as target:
        for entry in source.infolist():
            data = _manifest(source) if entry.filename == _MANIFEST else source.read(entry)
            if entry.filename.endswith(".xhtml"):
                data = _without_missing_styles(data, entry.filename, source.namelist())
            target.writestr(entry, data, entry.compress_type)


def _without_missing_styles(page: bytes, name: str, names: Collection[str]) -> bytes:
    folder = posixpath.dirname(name)

    def kept(link: re.Match[bytes]) -> bytes:
        return link[0] if posixpath.normpath(posixpath.join(folder, link["address"].decode())) in names else b""

    return _STYLE.sub(kept, page)


def _manifest(packed: zipfile.ZipFile) -> bytes:
    for prefix, address in _PREFIXES.items():
        ElementTree.register_namespace(prefix, address)
    package = ElementTree.fromstring(packed.read(_MANIFEST))  # noqa: S314 - Sphinx wrote it
    for item in package.iter(f"{{{_OPF}}}item"):
        if item.attrib["media-type"] == _PAGE:
            words = [*item.get("properties", "").split(), *_held(packed, unquote(item.attrib["href"]))]
            if words:
                item.set("properties", " ".join(words))
    text: bytes = ElementTree.tostring(package, encoding="utf-8", xml_declaration=True)
    return text


def _held(packed: zipfile.ZipFile, name: str) -> Iterator[str]:
    """What a page holds that has to be declared."""
    try:
        page = ElementTree.fromstring(packed.read(name))  # noqa: S314 - Sphinx wrote it
    except ElementTree.ParseError as error:
        raise ValueError(f"{name} is no XHTML: {error}") from None
    return (word for word, element in _DECLARED.items() if page.find(f".//{element}") is not None)
