"""Recordings made ahead: a recorder is a process of its own, and can work while this one imports, runs or compares.

Order stays that of the cases, and a case whose recording shows something is the last one, unless all are wanted.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from grader.puzzle import Case

if TYPE_CHECKING:
    from grader.record import Recording


class Ahead:
    """Records `cases` in order in a thread, at most `most` of them ahead; `stop` before recording anything else.

    With `most` = 0 a case is recorded while the caller waits for it, and never at another time.
    """

    def __init__(
        self, cases: Sequence[Case], record: Callable[[Case], Recording], *, everything: bool, most: int
    ) -> None:
        self._cases = cases
        self._record = record
        self._everything = everything
        self._done: queue.Queue[Recording | BaseException] = queue.Queue()
        self._room = threading.Semaphore(most)
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name="record", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        for case in self._cases:
            self._room.acquire()
            if self._stopped:
                return
            try:
                recording = self._record(case)
            except BaseException as error:
                self._done.put(error)
                return
            self._done.put(recording)
            if recording.findings and not self._everything:
                return

    def next(self) -> Recording:
        """The recording of the next case, waited for; raises what recording it raised."""
        self._room.release()
        done = self._done.get()
        if isinstance(done, BaseException):
            raise done
        return done

    def stop(self) -> None:
        """Returns when no recording is under way any more."""
        self._stopped = True
        self._room.release()
        self._thread.join()
