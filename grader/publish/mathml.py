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
    translator.body.append(_formula(node, block=False))
    raise nodes.SkipNode


def _block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="formula", TABINDEX="0"))
    translator.body.append(_formula(node, block=True))
    if number := node.get("number"):
        translator.body.append(f'<span class="eqno">({number})</span>')
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def _formula(node: nodes.Element, *, block: bool) -> str:
    tex = node.astext()
    try:
        return mathml(tex, block=block)
    except MathError as error:
        _LOGGER.warning("this formula cannot be set: %s (%s)", error, tex.strip(), location=node, type="mathml")
        return ""
