"""From `.loc` to sites: which line of the learner's file an instruction belongs to."""

from __future__ import annotations

from pathlib import PurePosixPath

from grader.simt import ptx
from grader.simt.program import Site


class Sites:
    """Collects sites; equal ones are kept once. `source_name` is the learner's file, of which the last part counts."""

    def __init__(self, module: ptx.Module, source_name: str) -> None:
        self.module = module
        source = PurePosixPath(source_name).name
        self.names = {number: PurePosixPath(path).name for number, path in module.files.items()}
        self.own = {number for number, name in self.names.items() if name == source}
        self.sites = [Site(0, "", 0, "")]
        self._numbers = {self.sites[0]: 0}
        self._of_location: dict[tuple[int, str], int] = {}

    def number(self, location: int, function: str) -> int:
        """The site of a location (Module.locations) inside a function."""
        if not location:
            return 0
        key = (location, function)
        known = self._of_location.get(key)
        if known is None:
            known = self._of_location[key] = self._add(self.module.locations[location], function)
        return known

    def _add(self, location: ptx.Location, function: str) -> int:
        name = self._function_name(location.function) if location.function else function
        line, *callers = self._own_lines(location) or [0]
        site = Site(line, self.names.get(location.file, ""), location.line, name, tuple(callers))
        if site not in self._numbers:
            self._numbers[site] = len(self.sites)
            self.sites.append(site)
        return self._numbers[site]

    def _own_lines(self, location: ptx.Location) -> list[int]:
        """The lines in the learner's file where the code stands, or where the header code that it is was called; and
        of the calls that led there.
        """
        lines = []
        at: ptx.Location | None = location
        while at is not None:
            if at.file in self.own:
                lines.append(at.line)
            at = self.module.locations[at.inlined_at] if at.inlined_at is not None else None
        return lines

    def _function_name(self, label: str) -> str:
        """The string at a label of `.debug_str`, or `label+offset`."""
        name, _, offset = label.partition("+")
        return self.module.strings.get(name, "")[int(offset or "0") :]
