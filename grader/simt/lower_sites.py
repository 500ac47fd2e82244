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
        self._numbers: dict[tuple[int, str, int, str], int] = {(0, "", 0, ""): 0}
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
        site = (self._own_line(location), self.names.get(location.file, ""), location.line, name)
        if site not in self._numbers:
            self._numbers[site] = len(self.sites)
            self.sites.append(Site(*site))
        return self._numbers[site]

    def _own_line(self, location: ptx.Location) -> int:
        """The line in the learner's file where the code stands, or where the header code that it is was called."""
        at: ptx.Location | None = location
        while at is not None:
            if at.file in self.own:
                return at.line
            at = self.module.locations[at.inlined_at] if at.inlined_at is not None else None
        return 0

    def _function_name(self, label: str) -> str:
        """The string at a label of `.debug_str`, or `label+offset`."""
        name, _, offset = label.partition("+")
        return self.module.strings.get(name, "")[int(offset or "0") :]
