"""What the grader prints, for Pygments: ticks, crosses, the line meant, and the words at its margin."""

from __future__ import annotations

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Generic, Keyword, Name, Number, Text


class VerdictLexer(RegexLexer):  # type: ignore[misc]
    """A verdict as the terminal shows it."""

    name = "Verdict"
    aliases = ("verdict",)
    url = ""
    tokens = {  # noqa: RUF012 - Pygments asks for this shape
        "root": [
            (r"^(\$ )(.*)$", bygroups(Generic.Prompt, Keyword)),
            (r"^Puzzle \d+.*$", Generic.Heading),
            (r"^(\s*)(✔)(.*)$", bygroups(Text, Generic.Inserted, Text)),
            (r"^(\s*)(✘)(.*)$", bygroups(Text, Generic.Deleted, Text)),
            (r"^(\s*)(–|-)( not reached.*)$", bygroups(Text, Comment, Comment)),
            (r"^(\s*)(▶)(\s*\d+ )(│)(.*)$", bygroups(Text, Generic.Deleted, Number, Comment, Text)),
            (r"^(\s*)(\d+ )(│)(.*)$", bygroups(Text, Comment, Comment, Text)),
            (r"^(\s*)(│)(\s*)(└─.*)$", bygroups(Text, Comment, Text, Generic.Error)),
            (r"^(  )([A-Z][a-z]+)(  +\S.*)$", bygroups(Text, Name.Tag, Text)),
            (r"^(\s*)(NOT PASSED)(.*)$", bygroups(Text, Generic.Deleted, Text)),
            (r"^(\s*)(PASSED|THIS CASE PASSES)(.*)$", bygroups(Text, Generic.Inserted, Text)),
            (r"^(\s*)([A-Z]{3,}[A-Z, ]+)( · .*)$", bygroups(Text, Generic.Strong, Text)),
            (r"[█▏▎▍▌▋▊▉]+", Generic.Inserted),
            (r"[^\n█▏▎▍▌▋▊▉]+", Text),
            (r"\n", Text),
        ],
    }
