"""A replay process without some of its defences: `python -m tests.gpu.open_replay poison,cold_l2`."""

from __future__ import annotations

import sys

from grader.cuda.replay import main
from tests.red_team.laps import defences_without

if __name__ == "__main__":
    sys.exit(main(defences=defences_without(*filter(None, sys.argv[1].split(",")))))
