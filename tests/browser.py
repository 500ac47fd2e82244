"""A real browser for tests: Chromium in a window of its own. It has no network.

Where the machine has none, the tests that want one are skipped.
"""

from __future__ import annotations

import base64
import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService

_SECONDS = 30  # for each answer
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


needed = pytest.mark.skipif(programs() is None, reason="there is no Chromium with its driver")


class Browser:
    """One window."""

    def __init__(self, chrome: Chrome) -> None:
        self._chrome = chrome

    def open(self, page: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Shows a file as if it had been clicked, in a window of this size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self._chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self._chrome.get(page.resolve().as_uri())

    def run(self, script: str, *arguments: object) -> Any:
        """What a function's body in JavaScript returns."""
        return self._chrome.execute_script(script, *arguments)

    def source(self) -> str:
        """The page as the browser has it now."""
        return self._chrome.page_source

    def without_scripts(self, *, off: bool) -> None:
        """Whether pages that are opened from now on run theirs."""
        self._chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": off})

    def said(self) -> list[str]:
        """What has come to the console since the last time, warnings and errors."""
        lines = self._chrome.get_log("browser")  # type: ignore[no-untyped-call]
        return [line["message"] for line in lines if line["level"] in ("WARNING", "SEVERE")]

    def picture(self, path: Path) -> None:
        """The whole page, as long as it is."""
        shot = self._chrome.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
        path.write_bytes(base64.b64decode(shot["data"]))


@contextlib.contextmanager
def started(folder: Path) -> Iterator[Browser]:
    """A browser with a fresh profile in `folder`."""
    found = programs()
    assert found is not None
    options = ChromeOptions()
    options.binary_location, driver = found
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in (*_FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    chrome = Chrome(options, ChromeService(driver))
    chrome.set_page_load_timeout(_SECONDS)
    chrome.set_script_timeout(_SECONDS)
    try:
        yield Browser(chrome)
    finally:
        chrome.quit()
