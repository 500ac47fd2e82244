"""Findings, patterns of wrong values and nvcc's usual errors in sentences that a learner understands.

Every sentence lies in one catalogue, `en/sentences.toml`, by kind of finding; every kind has a page, `en/KIND.md`.
"""

from grader.explain.catalogue import KINDS, page, sentence, title
from grader.explain.compiler import Diagnostic, diagnostics, unset_variables
from grader.explain.findings import element, say
from grader.explain.observation import Mark, Observation, Said, Setting
from grader.explain.patterns import Pattern, Values, find_pattern

__all__ = [
    "KINDS",
    "Diagnostic",
    "Mark",
    "Observation",
    "Pattern",
    "Said",
    "Setting",
    "Values",
    "diagnostics",
    "element",
    "find_pattern",
    "page",
    "say",
    "sentence",
    "title",
    "unset_variables",
]
