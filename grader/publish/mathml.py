"""Mathematics as MathML, made while the book is built: a page needs no script and no font for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

_LOGGER = logging.getLogger(__name__)
_APPLY = "&ApplyFunction;"  # known to HTML, not to XML
_LARGE = re.compile(r"\\([bB]igg?)(?![a-zA-Z])")  # docutils knows \bigl and its like alone
_LONG = 30  # characters of LaTeX
_MARKS = re.compile(r"(?P<opens>\\(?:left|begin)\b|\{)|(?P<closes>\\(?:right|end)\b|\})|\\.|(?P<equals>=)", re.DOTALL)
_ROWS = '<mtable class="ams-align">'  # of `aligned`, whose fractions should be as large as those outside it
_LARGE_ROWS = '<mtable class="ams-align" displaystyle="true">'


def set_up(app: Sphinx) -> None:
    """Makes `mathml` known to Sphinx as a way to write formulas."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))


def mathml(tex: str, *, block: bool) -> str:
    """A formula in LaTeX as an element of MathML; raises MathError for what is not known."""
    made: str = tex2mathml(_LARGE.sub(r"\\\1l", tex), as_block=block)
    return made.replace(_APPLY, "&#x2061;").replace(_ROWS, _LARGE_ROWS)


def _inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append("<wbr/>".join(_formula(node, piece, block=False) for piece in breakable(node.astext())))
    raise nodes.SkipNode


def _block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="formula", TABINDEX="0"))
    translator.body.append(_formula(node, node.astext(), block=True))
    if number := node.get("number"):
        translator.body.append(f'<span class="eqno">({number})</span>')
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def breakable(tex: str) -> list[str]:
    """A long formula in pieces, between which a line of text may end: before each `=` that stands in no group."""
    if len(tex) < _LONG:
        return [tex]
    pieces, depth, begun = [], 0, 0
    for found in _MARKS.finditer(tex):
        if found["opens"]:
            depth += 1
        elif found["closes"]:
            depth -= 1
        elif found["equals"] and depth == 0:
            pieces.append(tex[begun : found.start()])
            begun = found.start()
    return [*pieces, tex[begun:]]


def _formula(node: nodes.Element, tex: str, *, block: bool) -> str:
    try:
        return mathml(tex, block=block)
    except MathError as error:
        _LOGGER.warning("this formula cannot be set: %s (%s)", error, tex.strip(), location=node, type="mathml")
        return ""
