"""A built entry as a function on PyTorch tensors: CPU tensors on the software GPU, CUDA tensors on the real one.

    rmsnorm = load_entry(build(path), part)
    rmsnorm(x, w, y, rows, cols, eps)      # results are written into the tensors that are given

The same built object serves both: our CUDA runtime hands what it asks on to the software GPU's runtime, or to CUDA's
own (grader/runtime/forward/). It is for one's own code on one's own machine: no cage holds it, and nothing that ran
this way is ever ranked.

    entry.py     the function, and what it raises
    arguments.py what it is called with
    library.py   the object in memory, and its two back ends
    cudart.py    where CUDA's own library is
    part.py      an entry by its name alone
    op_call.py   an op of puzzle 10 on tensors
    operands.py  what such an op may be called with
    numbers.py   what counts as a number
    tensors.py   what PyTorch knows of a tensor and a kernel does not
    lists.py     a list of op calls by its part's name
    step.py      such a list as a training step, eager or captured
    words.py     what the software GPU saw, as an error
"""

from grader.op.entry import Entry, load_entry
from grader.op.errors import EntryFailed, EntryMisused, NoBackEnd
from grader.op.lists import part_list
from grader.op.op_call import op_call
from grader.op.part import part_entry
from grader.op.step import OurOpsAlone, Step, TorchRefused
from grader.op_record import op

__all__ = [
    "Entry",
    "EntryFailed",
    "EntryMisused",
    "NoBackEnd",
    "OurOpsAlone",
    "Step",
    "TorchRefused",
    "load_entry",
    "op",
    "op_call",
    "part_entry",
    "part_list",
]
