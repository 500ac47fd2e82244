"""A drawing in a page: inline SVG with words for those who do not see it, and a caption below, which is Markdown."""

from __future__ import annotations

from grader.catalog import UsageError
from grader.publish.markup import raw
from grader.trace.svg import WIDTH, Drawing, escaped, number, tag

BY_HAND, TRACED = "trace sketch", "trace"  # whose letters and lines a drawing has


def figure(drawing: Drawing, caption: str, alt: str, class_: str = BY_HAND) -> str:
    """The drawing as a figure; raises `UsageError` without a caption or without `alt`, what is to be seen in words."""
    return framed(inline(drawing, alt, class_), caption, alt)


def framed(html: str, caption: str, alt: str) -> str:
    """HTML with a caption below it."""
    for name, words in (("caption", caption), ("alt", alt)):
        if not words.strip():
            raise UsageError(f"A figure needs its {name}.")
    begun = raw(f'<figure class="figure">\n{html}\n<figcaption>')
    return "\n\n".join([begun, caption.strip(), raw("</figcaption>\n</figure>")])


def inline(drawing: Drawing, alt: str, class_: str = BY_HAND) -> str:
    """The SVG, which takes its colours from the page's style."""
    return tag(
        "svg", tag("title", escaped(alt)) + drawing.body, xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {number(float(drawing.height))}", class_=class_, role="img",
    )  # fmt: skip
