"""JupyterLab as a user meets it: the real `make lab`, opened in a headless Chromium."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chromium
import servers
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from playwright.sync_api import TimeoutError as PageTimeout

ROOT = Path(__file__).resolve().parents[2]
ARTIFACTS = ROOT / "artifacts" / "browser"
LAB_FOLDER = ROOT / "isoviz-lab"
PATIENCE = 60_000  # milliseconds that a page may take for anything it does
START = 900  # seconds that `make lab` may take where it has to make its environment first


class Lab:
    """A running `make lab`, with configuration, data and runtime folders of its own."""

    def __init__(self, url: str, notebook: Path, home: Path, output: list[str]) -> None:
        self.url = url
        self.notebook = notebook
        self.home = home
        self.output = output

    @property
    def document_url(self) -> str:
        """The address of the notebook alone: JupyterLab's `/lab` would also restore what was open before."""
        return self.url.replace("/lab/tree/", "/doc/tree/")

    def choose_theme(self, name: str) -> None:
        """Store the theme in the settings of this server; it shows after a reload."""
        settings = self.home / "config" / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True, exist_ok=True)
        (settings / "themes.jupyterlab-settings").write_text(f'{{"theme": "{name}"}}', encoding="utf-8")


@contextlib.contextmanager
def running_lab(home: Path, *options: str) -> Iterator[Lab]:
    """Run `make lab` without a window until the block ends; a user's own working copy is kept out of its way."""
    kept = LAB_FOLDER.with_name(f"{LAB_FOLDER.name}-kept")
    if LAB_FOLDER.exists() and not kept.exists():  # what is there besides kept ones is left from a test that was killed
        LAB_FOLDER.rename(kept)
    command = ["make", "lab", f"ARGS={' '.join(['--no-browser', '--port', '0', *options])}"]
    try:
        with servers.serving(command, cwd=ROOT, env=servers.variables(home), patience=START) as (url, output):
            yield Lab(url, LAB_FOLDER / "explorer.ipynb", home, output)
    finally:
        shutil.rmtree(LAB_FOLDER, ignore_errors=True)
        if kept.exists():
            kept.rename(LAB_FOLDER)


@contextlib.contextmanager
def running_chromium() -> Iterator[Browser]:
    """A headless Chromium with a profile of its own."""
    executable = chromium.find()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(chromium.FLAGS))
        try:
            yield browser
        finally:
            browser.close()


_HAS_RUN = """before => {
  const prompt = document.querySelector(".jp-CodeCell .jp-InputPrompt").innerText;
  return /\\[\\d+\\]/.test(prompt) && prompt !== before;
}"""


class Notebook:
    """The explorer notebook in a page: what a user does with it, and what the page had to say."""

    def __init__(self, browser: Browser, lab: Lab, **context: Any) -> None:
        self.lab = lab
        self.context = browser.new_context(**{"viewport": {"width": 1440, "height": 2600}, **context})
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.errors: list[str] = []
        self.elsewhere: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._note_request)

    def _note_request(self, request: Any) -> None:
        if not re.match(r"(https?|wss?)://(localhost|127\.0\.0\.1)[:/]|data:|blob:|about:", request.url):
            self.elsewhere.append(request.url)

    def open(self) -> None:
        self.page.goto(self.lab.document_url)
        self.page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
        self.wait_for_kernel()

    def wait_for_kernel(self) -> None:
        """Wait until there is a kernel (without one JupyterLab would ask which) and it is idle."""
        name = self.page.locator(".jp-NotebookPanel-toolbar .jp-Toolbar-kernelName").first
        expect(name).to_have_text(re.compile("Python"), timeout=PATIENCE)
        self.page.locator(".jp-NotebookPanel .jp-Notebook-ExecutionIndicator[data-status=idle]").first.wait_for()

    def run_first_cell(self) -> None:
        def press() -> None:
            self.page.locator(".jp-CodeCell .jp-InputArea-editor").first.click()
            self.page.keyboard.press("Shift+Enter")

        self._run(press)

    def run_all_cells(self) -> None:
        def choose() -> None:
            self.page.get_by_role("menuitem", name="Run", exact=True).click()
            self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()

        self._run(choose)

    def _run(self, action: Callable[[], None]) -> None:
        """Have cells run: again where JupyterLab, still connecting to its kernel, drops the request unsaid.

        It then leaves the cell as it was, or marked as running while its kernel is idle.
        """
        before = self.page.locator(".jp-CodeCell .jp-InputPrompt").first.inner_text()
        idle = self.page.locator(".jp-NotebookPanel .jp-Notebook-ExecutionIndicator[data-status=idle]")
        action()
        for attempt in range(6):
            try:
                self.page.wait_for_function(_HAS_RUN, arg=before, timeout=PATIENCE / 4)
                break
            except PageTimeout:
                if attempt == 5:
                    raise
                if idle.count():
                    action()
        failure = self.page.locator(
            '.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.stderr"], .jp-RenderedText pre .ansi-red-fg'
        )
        shown = self.page.locator("[data-testid=explorer][data-busy=false]")
        shown.or_(failure).first.wait_for()
        assert failure.count() == 0, failure.first.inner_text()
        shown.first.wait_for()

    @property
    def explorer(self) -> Locator:
        return self.page.get_by_test_id("explorer").first

    def part(self, testid: str) -> Locator:
        return self.explorer.get_by_test_id(testid)

    def settled(self) -> None:
        """Wait until the explorer shows the answer to everything that was asked."""
        self.page.locator("[data-testid=explorer][data-busy=false]").first.wait_for()

    def choose_layout(self, side: str, layout: str) -> None:
        self.part(f"{side}-layout").fill(layout)
        expect(self.part(f"{side}-layout")).to_have_value(layout, timeout=PATIENCE)
        self.settled()

    def save(self) -> None:
        """Save as a user does, and wait until the file is written."""
        before = self.lab.notebook.stat().st_mtime_ns
        with self.page.expect_response(lambda response: response.request.method == "PUT" and "/api/contents/" in response.url):
            self.page.locator(".jp-NotebookPanel-toolbar [data-jp-item-name=save] jp-button").click()
        assert self.lab.notebook.stat().st_mtime_ns != before

    def picture(self, name: str) -> Path:
        """A screenshot of the whole page, kept for people to look at."""
        ARTIFACTS.mkdir(parents=True, exist_ok=True)
        path = ARTIFACTS / f"{name}.png"
        self.page.screenshot(path=path)
        assert path.stat().st_size > 10_000, f"{name} shows next to nothing"
        return path

    def close(self) -> None:
        self.context.close()


def git_status() -> str:
    done = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else f"not a checkout ({sys.platform})"
