"""What goals are judged on and what is shown of a run, taken from builds, plans and printed text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.evidence import KernelFact, LaunchFact
from grader.explain import sentence
from grader.puzzle import Number

if TYPE_CHECKING:
    from grader.build import Build
    from grader.record.plan import Plan

_PRINTED_LINES, PRINTED_CHARACTERS = 40, 4000


def launch_facts(plan: Plan) -> tuple[LaunchFact, ...]:
    """The launches of a plan in stream order, as goals see them."""
    from grader.record.plan import Launch

    return tuple(
        LaunchFact(operation.kernel, operation.grid, operation.block, operation.shared, operation.line)
        for operation in plan.operations
        if isinstance(operation, Launch)
    )


def kernel_facts(built: Build) -> dict[str, KernelFact]:
    """What each compiled kernel needs, by mangled name."""
    return {
        name: KernelFact(kernel.registers, kernel.static_shared, kernel.local) for name, kernel in built.kernels.items()
    }


def printed_by_host(text: str) -> str:
    """What launch code printed, told apart from what the kernel prints."""
    return "".join(sentence("verdict", "printed_by_host", facts={"line": line}) + "\n" for line in text.splitlines())


def readable(text: str) -> str:
    """The first lines of what was printed, without characters that move a terminal's cursor or change its colours."""
    kept = "".join(character for character in text if character in "\n\t" or character.isprintable())
    lines = kept.splitlines()
    shown = "\n".join(lines[:_PRINTED_LINES])[:PRINTED_CHARACTERS]
    return shown + ("\n…" if len(lines) > _PRINTED_LINES or len(shown) < len(kept.rstrip("\n")) else "")


def as_sentence(text: str) -> str:
    """An error's message as a sentence."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def listed(params: Mapping[str, Number]) -> str:
    """A case's scalars as a sentence has them: "M = 33, N = 1"; nothing of a case without any."""
    return ", ".join(f"{name} = {value}" for name, value in params.items())
