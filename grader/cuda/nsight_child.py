"""What Nsight Compute profiles: `python -m grader.cuda.nsight_child FOLDER` replays the plan that lies there, once.

The folder has plan.json, kernel.cubin, and request.json: sizes, hints and arena to reserve, the files of the inputs,
the poison of everything else.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from grader.cuda.driver import Driver, DriverError
from grader.cuda.replay import Replay
from grader.record.plan import PlanInvalid

FAILED = "replay: "  # how a line begins that says why


def main(folder: Path, api: Any = None) -> int:
    """Replays it; on failure says why in a line on standard error. `api` as in Driver."""
    asked = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    try:
        driver = Driver(api)
        driver.open()
        replay = Replay(driver)
        replay.reserve(asked["sizes"], asked["hints"], asked["arena"])
        replay.load((folder / "plan.json").read_text(encoding="utf-8"), (folder / "kernel.cubin").read_bytes())
        for name, path in asked["inputs"].items():
            replay.fill(name, 0, path)
        replay.run("stream", asked["poison"])
    except (DriverError, PlanInvalid, OSError) as error:
        sys.stderr.write(f"{FAILED}{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
