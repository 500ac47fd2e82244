"""A real browser for tests: Chromium, through its driver, by the W3C's WebDriver protocol. It has no network.

Where the machine has none, the tests that want one are skipped.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SECONDS = 30.0  # for each answer
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


def programs() -> tuple[str, str] | None:
    """The browser and its driver."""
    browser, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


class Browser:
    """One window."""

    def __init__(self, port: int, browser: str, profile: Path) -> None:
        self._driver = http.client.HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
        options = {"binary": browser, "args": [*_FLAGS, f"--user-data-dir={profile}"]}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        session = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{session['sessionId']}"

    def open(self, page: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Shows a file as if it had been clicked, in a window of this size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self._chrome("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._chrome("Emulation.setEmulatedMedia", {"features": [scheme]})
        self._ask("POST", f"{self._session}/url", {"url": page.resolve().as_uri()})

    def run(self, script: str, *arguments: object) -> Any:
        """What a function's body in JavaScript returns."""
        return self._ask("POST", f"{self._session}/execute/sync", {"script": script, "args": list(arguments)})

    def source(self) -> str:
        """The page as the browser has it now."""
        return str(self._ask("GET", f"{self._session}/source"))

    def without_scripts(self, *, off: bool) -> None:
        """Whether pages that are opened from now on run theirs."""
        self._chrome("Emulation.setScriptExecutionDisabled", {"value": off})

    def said(self) -> list[str]:
        """What has come to the console since the last time, warnings and errors."""
        lines = self._ask("POST", f"{self._session}/se/log", {"type": "browser"})
        return [line["message"] for line in lines if line["level"] in ("WARNING", "SEVERE")]

    def picture(self, path: Path) -> None:
        """The whole page, as long as it is."""
        shot = self._chrome("Page.captureScreenshot", {"captureBeyondViewport": True})
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        self._ask("DELETE", self._session)
        self._driver.close()

    def _chrome(self, command: str, parameters: dict[str, Any]) -> Any:
        return self._ask("POST", f"{self._session}/goog/cdp/execute", {"cmd": command, "params": parameters})

    def _ask(self, method: str, path: str, content: object = None) -> Any:
        body = None if content is None else json.dumps(content)
        self._driver.request(method, path, body, {"Content-Type": "application/json"})
        answer = json.load(self._driver.getresponse())["value"]
        if isinstance(answer, dict) and "error" in answer:
            raise RuntimeError(answer["message"])
        return answer


@contextlib.contextmanager
def started(folder: Path) -> Iterator[Browser]:
    """A browser with a fresh profile in `folder`."""
    found = programs()
    assert found is not None
    browser, driver = found
    with subprocess.Popen(
        [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            window = Browser(_port(process), browser, folder / "profile")
            try:
                yield window
            finally:
                window.close()
        finally:
            process.terminate()


def _port(process: subprocess.Popen[str]) -> int:
    """From the sentence with which the driver says that it has begun."""
    assert process.stdout is not None
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        line = process.stdout.readline()
        if "started successfully on port " in line:
            return int(line.rsplit("on port ", 1)[1].split(".")[0])
    raise TimeoutError("the browser's driver has not begun")
