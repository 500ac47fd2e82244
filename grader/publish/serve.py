"""Shows the book while it is written: builds again on every change, and serves what was built to this machine."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_HOST = "127.0.0.1"
_PAUSE = 300  # milliseconds without a change: an editor writes a file in several steps


@contextmanager
def served(folder: Path, port: int) -> Iterator[str]:
    """Serves a folder to this machine alone, at `port`, or at a free one for 0; the address. Raises OSError."""
    server = ThreadingHTTPServer((_HOST, port), functools.partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{_HOST}:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def rebuild_on_change(
    folders: Sequence[Path], built: Path, build: Callable[[], None], stop: threading.Event | None = None
) -> None:
    """Calls `build` whenever something changes below one of the folders and not in `built`, where it builds.

    Until it is interrupted, or `stop` is set.
    """
    from watchfiles import Change, DefaultFilter, watch

    logging.getLogger("watchfiles").setLevel(logging.WARNING)
    usual = DefaultFilter()

    def counts(change: Change, path: str) -> bool:
        return usual(change, path) and not Path(path).is_relative_to(built.resolve())

    for _changes in watch(*folders, watch_filter=counts, debounce=_PAUSE, stop_event=stop, raise_interrupt=True):
        build()


class _Quiet(SimpleHTTPRequestHandler):
    """Does not tell of every request, and lets no browser keep a page of before."""

    def log_message(self, *_arguments: Any) -> None:
        pass

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()
