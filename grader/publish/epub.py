"""Finishes Sphinx's EPUB: its manifest says which pages hold mathematics and drawings, as EPUB 3 asks."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

_OPF = "http://www.idpf.org/2007/opf"
_PREFIXES = {"": _OPF, "dc": "http://purl.org/dc/elements/1.1/"}
_MANIFEST = "content.opf"
_PAGE = "application/xhtml+xml"
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
            target.writestr(entry, data, entry.compress_type)


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
