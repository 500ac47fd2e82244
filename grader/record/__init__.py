"""Build → Plan: an entry's host code runs in a caged child against our CUDA runtime, which notes what it asks for.

    recording = record(build, part, case)
    recording.plan, recording.findings

plan.py is the format; everything else here makes one and judges the code that it came from.
"""

from grader.record.findings import HostFinding
from grader.record.layout import Layout, layout_at, software_layout
from grader.record.plan import Plan, PlanInvalid
from grader.record.recording import Recording, record, record_entry
from grader.record.request import EntryArgument, EntryCall

__all__ = [
    "EntryArgument",
    "EntryCall",
    "HostFinding",
    "Layout",
    "Plan",
    "PlanInvalid",
    "Recording",
    "layout_at",
    "record",
    "record_entry",
    "software_layout",
]
