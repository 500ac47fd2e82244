"""Runs Sphinx on the rendered pages: HTML that opens from the disk, and an EPUB. Its warnings are errors."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from grader import __version__
from grader.cache import content_key
from grader.publish.settings import Settings

_EXTENSIONS = ("myst_parser", "sphinx_design", "sphinx_copybutton", "grader.publish.extension")
_STYLES = ("trace.css", "book.css")
_OF_THE_SITE = ("check-solid.svg", "copy-button.svg", "copybutton.css", "file.png", "minus.png", "plus.png")
_LICENCE = "STIXTwoMath-OFL.txt"  # an EPUB holds no plain text; the font names its licence itself
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def configuration(settings: Settings, styles: Sequence[Path], left_out: Collection[str]) -> dict[str, Any]:
    """The values that Sphinx would read from its conf.py; `styles` are folders of files for the pages."""
    return {
        "project": settings.title,
        "author": settings.author,
        "copyright": settings.author,
        "version": __version__,
        "language": settings.language,
        "extensions": list(_EXTENSIONS),
        "nitpicky": True,
        "left_out": frozenset(left_out),
        "made_by": content_key(*(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))),
        "highlight_language": "none",
        "suppress_warnings": ["misc.highlighting_failure"],  # an example may say … for what it leaves out
        "myst_enable_extensions": ["colon_fence", "deflist", "dollarmath", "attrs_inline", "smartquotes"],
        "myst_update_mathjax": False,
        "myst_heading_anchors": 3,
        "html_math_renderer": "mathml",
        "copybutton_selector": "div.highlight-console pre, div.highlight-cuda pre, div.highlight-python pre",
        "copybutton_prompt_text": "$ ",
        **_html(settings, styles),
        **_epub(settings),
    }


def _html(settings: Settings, styles: Sequence[Path]) -> dict[str, Any]:
    return {
        "html_theme": "furo",
        "html_title": settings.title,
        "html_static_path": [str(folder) for folder in styles],
        "html_css_files": list(_STYLES),
        "html_copy_source": False,
        "html_show_sphinx": False,
        "html_show_copyright": False,
        "html_show_search_summary": False,  # it would be fetched, which a page from the disk may not
        "html_permalinks_icon": "#",
        "html_use_index": False,
        "pygments_style": "a11y-light",
        "pygments_dark_style": "a11y-dark",
    }


def _epub(settings: Settings) -> dict[str, Any]:
    return {
        "epub_title": settings.title,
        "epub_description": settings.title,
        "epub_identifier": f"urn:{file_name(settings.title)}:{settings.language}",
        "epub_scheme": "URN",
        "epub_uid": "book",
        "epub_contributor": settings.author,
        "epub_author": settings.author,
        "epub_publisher": settings.author,
        "epub_basename": file_name(settings.title),
        "epub_css_files": ["ebook.css", *_STYLES],
        "epub_exclude_files": [f"_static/{name}" for name in (*_OF_THE_SITE, _LICENCE)],
        "epub_show_urls": "no",
        "epub_use_index": False,
    }


def file_name(title: str) -> str:
    """A title as the name of a file."""
    return re.sub(r"\W+", "-", title.lower()).strip("-")


def run_sphinx(builder: str, source: Path, out: Path, doctrees: Path, values: dict[str, Any]) -> list[str]:
    """Builds; returns what Sphinx warned of, one line each."""
    from sphinx.application import Sphinx
    from sphinx.errors import SphinxError
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    warnings = io.StringIO()
    with patch_docutils(), docutils_namespace():
        try:
            app = Sphinx(source, None, out, doctrees, builder, values, None, warnings, warningiserror=True)
            app.build()
        except SphinxError as error:
            warnings.write(f"{error}\n")
    return [line for line in _ANSI.sub("", warnings.getvalue()).splitlines() if line.strip()]
