"""What is closed at the end of a `with`."""

from __future__ import annotations

from typing import Self


class Closing:
    """A base of classes that have `close`: a `with` of one of them closes it, whatever happens inside."""

    def close(self) -> None:
        """Gives back what is held."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
