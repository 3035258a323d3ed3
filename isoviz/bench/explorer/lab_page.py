"""JupyterLab in a headless browser: a server with folders of its own, and a notebook whose cells run what they are given."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoviz.errors import InputError, MissingPartError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_ADDRESS = re.compile(r"http://(?:localhost|127\.0\.0\.1):\d+/lab/tree/\S+token=\w+")
_FOLDERS = {
    "JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime", "IPYTHONDIR": "ipython",
    "XDG_CACHE_HOME": "cache", "XDG_DATA_HOME": "share", "XDG_STATE_HOME": "state",
}  # fmt: skip
_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
_START = 120.0
"""Seconds that the server may take to print its address."""


class LabPage:
    """A notebook in a page: `run` replaces its first code cell and runs it."""

    def __init__(self, page: Page, kernel: int | None = None) -> None:
        self.page = page
        self.kernel = kernel

    def open(self, url: str) -> None:
        """Open the notebook and wait for its kernel."""
        self.page.goto(url.replace("/lab/tree/", "/doc/tree/"))
        self.page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
        self.page.locator(".jp-NotebookPanel-toolbar .jp-Toolbar-kernelName", has_text="Python").first.wait_for()
        self._idle()

    def _idle(self) -> None:
        self.page.locator(".jp-NotebookPanel .jp-Notebook-ExecutionIndicator[data-status=idle]").first.wait_for()

    def run(self, code: str) -> None:
        """Replace the first code cell by this code and run it; returns when the key has been pressed."""
        self.page.locator(".jp-CodeCell .jp-InputArea-editor").first.click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(code)
        self._idle()
        self.page.keyboard.press("Shift+Enter")

    def settled(self) -> None:
        """Wait until the explorer shows the answer to everything that was asked."""
        self.page.locator("[data-testid=explorer][data-busy=false]").first.wait_for()


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A headless Chromium: that of `ISOVIZ_CHROMIUM`, that of the environment or of the system, or Playwright's own.

    Raises:
        MissingPartError: Playwright is not installed. InputError: there is no Chromium.
    """
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        raise MissingPartError("the benchmark of the explorer", "test") from None
    unpacked = Path(sys.prefix) / "chromium" / "chromium"  # where `make test` may have put one
    chromium = os.environ.get("ISOVIZ_CHROMIUM") or (str(unpacked) if unpacked.exists() else shutil.which("chromium"))
    with sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(executable_path=chromium, args=[*_FLAGS, "--enable-precise-memory-info"])
        except Error as error:
            problem = str(error).splitlines()[0]
            raise InputError(f"no Chromium ({problem}); name one by ISOVIZ_CHROMIUM, or: playwright install chromium") from None
        try:
            yield found
        finally:
            found.close()


@contextlib.contextmanager
def server(home: Path, without: Sequence[str] = ()) -> Iterator[str]:
    """Run `isoviz lab` with folders of its own below `home`; gives the address of the notebook.

    `without` names extensions of JupyterLab that are left out.
    """
    if without:
        settings = home / _FOLDERS["JUPYTER_CONFIG_DIR"] / "labconfig" / "page_config.json"
        settings.parent.mkdir(parents=True)
        settings.write_text(json.dumps({"disabledExtensions": dict.fromkeys(without, True)}), encoding="utf-8")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("DISPLAY", "WAYLAND", "JUPYTER", "IPYTHON"))}
    env = {**kept, **{name: str(home / folder) for name, folder in _FOLDERS.items()}}
    work = home / "work"
    work.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "isoviz", "lab", "--no-browser", "--port", "0", "--dir", str(work)]
    process = subprocess.Popen(  # noqa: S603  # this Python
        command, cwd=work, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    found = threading.Event()
    said: list[str] = []
    address: list[str] = []

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            if not address and (match := _ADDRESS.search(line)):
                address.append(match[0])
                found.set()
        found.set()

    reader = threading.Thread(target=read, name="isoviz-bench-server", daemon=True)
    reader.start()
    try:
        if not found.wait(_START) or not address:
            raise InputError(f"JupyterLab did not start: {''.join(said[-3:]).strip() or 'it said nothing'}")
        yield address[0]
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=20)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reader.join(timeout=10)


@contextlib.contextmanager
def lab_page(chromium: Browser, url: str, **context: Any) -> Iterator[LabPage]:
    """A page of its own with the notebook open."""
    made = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
    try:
        page = made.new_page()
        page.set_default_timeout(60_000)
        shown = LabPage(page)
        # A moment after it has printed its address the server listens.
        for attempt in range(50):
            try:
                shown.open(url)
                break
            except Exception as error:
                if "ERR_CONNECTION_REFUSED" not in str(error) or attempt == 49:
                    raise
                page.wait_for_timeout(100)
        yield shown
    finally:
        made.close()
