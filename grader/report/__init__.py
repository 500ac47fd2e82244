"""Verdicts on the screen."""

from grader.report.terminal import Surroundings, print_part, print_summary

__all__ = ["Surroundings", "print_part", "print_summary"]
