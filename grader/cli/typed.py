"""Commands one after the other in one process, for a program that wants what many of them print.

    python -m grader.cli.typed

reads a line of JSON for each, `{"arguments": ["check", "3.4"], "folder": "/a/workspace"}`, and writes one,
`{"code": 1, "output": "…", "errors": ""}`. PyTorch is imported once.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys


def answer(line: str) -> dict[str, object]:
    """Runs the command of a line, in its folder."""
    asked = json.loads(line)
    from grader.cli import run

    os.chdir(asked["folder"])
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = run(asked["arguments"])
    return {"code": code, "output": output.getvalue(), "errors": errors.getvalue()}


if __name__ == "__main__":
    answers = sys.stdout
    for asked_for in sys.stdin:
        answers.write(json.dumps(answer(asked_for)) + "\n")
        answers.flush()
