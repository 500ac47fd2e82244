"""An op call as a file in Python writes it down. Nothing is called: `op` makes a note, and a list of them is a program.

This file is read by the caged process that runs a learner's list (`grader/caged_python/list_child.py`), which has
nothing else of ours: it imports nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class OpNote:
    """One op call: the op's name, what it reads and writes, its attributes, and where it was written down.

    Inputs and outputs are whatever the list was made with: names in a check, tensors on one's own machine.
    """

    kind: Any
    inputs: Any
    outputs: Any
    attrs: Mapping[str, Any]
    file: str
    line: int


def op(kind: str, inputs: Sequence[Any], outputs: Sequence[Any], **attrs: Any) -> OpNote:
    """The call of an op, `op("Gemm", [X, dY], [dW], trans_a=1, trans_b=0)`, for a list of them."""
    caller = sys._getframe(1)
    return OpNote(kind, inputs, outputs, attrs, caller.f_code.co_filename, caller.f_lineno)
