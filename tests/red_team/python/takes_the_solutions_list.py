"""Takes its list of op calls from the solution's file."""

from pathlib import Path

solution = {}
exec(Path("@SOLUTION@").read_text(), solution)
backward_linear = solution["backward_linear"]
