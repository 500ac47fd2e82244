"""What the book adds to Sphinx: MathML, colours of verdicts, links to what is left out, tabs where there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx_design.shared import is_component

from grader.publish import mathml
from grader.publish.lexer import VerdictLexer

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_GLOSSARY = "glossary"  # the chapter that defines all terms
_BEFORE_RESOLUTION = 5  # MyST resolves its links at 9, Sphinx its own at 10


class LeftOutLinks(SphinxPostTransform):
    """A link to a chapter that this edition leaves out becomes its words alone.

    `left_out` names the documents and labels that exist in the book and not in the edition; a link to anything else
    that is not there stays a warning, as it should.
    """

    default_priority = _BEFORE_RESOLUTION

    def run(self, **_kwargs: Any) -> None:
        left_out = self.config.left_out
        for node in list(self.document.findall(addnodes.pending_xref)):
            if _target(node) in left_out or (node["reftype"] == "term" and _GLOSSARY in left_out):
                words = nodes.inline("", "", *[child.deepcopy() for child in node.children], classes=["left-out"])
                node.replace_self(words)


class TabsBelowEachOther(SphinxPostTransform):
    """In an EPUB there are no tabs: what would lie behind each stands below its name."""

    builders = ("epub",)
    default_priority = 190  # sphinx-design makes its tabs at 200

    def run(self, **_kwargs: Any) -> None:
        for tabs in list(self.document.findall(lambda node: is_component(node, "tab-set"))):
            tabs.replace_self([child for item in tabs.children for child in self._below(item)])

    def _below(self, item: nodes.Element) -> list[nodes.Node]:
        if not is_component(item, "tab-item"):
            return [item]
        label, content = item.children
        name = nodes.paragraph("", "", *label.children, classes=["sd-tab-label"])
        return [name, *content.children]


def _target(node: addnodes.pending_xref) -> str:
    """Of a link to a document its path without a suffix, of one to a label its name."""
    path, _, label = str(node["reftarget"]).partition("#")
    return (path or label).removesuffix(".md").rpartition("/")[2]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.setup_extension("furo")  # here, and not with the theme: now its settings are known
    mathml.set_up(app)
    app.add_lexer("verdict", VerdictLexer)
    app.add_config_value("left_out", frozenset(), "", types=frozenset({frozenset}))
    app.add_config_value("made_by", "", "html", types=frozenset({str}))  # another one, and every page is made again
    app.add_post_transform(LeftOutLinks)
    app.add_post_transform(TabsBelowEachOther)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
