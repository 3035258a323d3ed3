"""JupyterLab as a user meets it: the real `make lab`, opened in a headless Chromium."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chromium
import numpy as np
import servers
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from playwright.sync_api import TimeoutError as PageTimeout

ROOT = Path(__file__).resolve().parents[2]
ARTIFACTS = ROOT / "artifacts" / "browser"
PATIENCE = 120_000  # milliseconds that a page may take for anything it does
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

    def new_notebook(self, name: str) -> Path:
        """A notebook with two cells of its own: one for an explorer, one for what is asked in Python."""
        path = self.notebook.with_name(f"{name}.ipynb")
        content = json.loads(self.notebook.read_text(encoding="utf-8"))
        content["cells"] = [
            {"cell_type": "code", "id": f"cell-{place}", "metadata": {}, "outputs": [], "execution_count": None, "source": ""}
            for place in range(2)
        ]
        path.write_text(json.dumps(content), encoding="utf-8")
        return path


@contextlib.contextmanager
def running_lab(home: Path, *options: str) -> Iterator[Lab]:
    """Run `make lab` without a window until the block ends.

    It serves a folder of its own: a lab of the user, or of other tests in this checkout, keeps its working copies.
    """
    served = home / "served"
    served.mkdir()
    command = ["make", "lab", f"ARGS={' '.join(['--no-browser', '--port', '0', '--dir', str(served), *options])}"]
    with servers.serving(command, cwd=ROOT, env=servers.home_with_kernels(home), patience=START) as (url, output):
        yield Lab(url, served / "isoviz-lab" / "explorer.ipynb", home, output)


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


_AT_REST = """async () => {
  const place = each => {
    const { x, y, width, height } = each.getBoundingClientRect();
    return [x, y, width, height, each.className, each.childElementCount === 0 ? each.textContent : ''].join();
  };
  const fades = each => each.playState === 'running' && each.effect?.getTiming().iterations !== Infinity;
  const look = () => [...document.querySelectorAll('.isoviz, .isoviz *')].map(place).join('|')
    + document.getAnimations().filter(fades).length;
  let [last, same] = [look(), 0];
  for (let turn = 0; turn < 200 && same < 4; turn += 1) {
    for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
    const now = look();
    [same, last] = [now === last ? same + 1 : 0, now];
  }
}"""
_IS_DARK = """dark => {
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.color = 'var(--jp-layout-color1)';
  const [red = 255] = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
  probe.remove();
  return (red < 128) === dark;
}"""
# What hides a message from a reader, or "": the points just inside of its corners and its middle have to be its own.
_UNSEEN = """element => {
  if (!element.checkVisibility({opacityProperty: true, visibilityProperty: true})) return "it is not drawn";
  if (element.innerText.trim() === "") return "it is empty";
  const {left, right, top, bottom, width, height} = element.getBoundingClientRect();
  const outside = left < 0 || top < 0 || right > innerWidth || bottom > innerHeight;
  if (outside) return `it is out of the window: ${[left, top, right, bottom]}`;
  for (let each = element; each !== null; each = each.parentElement) {
    const {overflowX, textOverflow} = getComputedStyle(each);
    const ends = each === element || textOverflow === "ellipsis";
    if (ends && overflowX !== "visible" && each.scrollWidth > each.clientWidth + 1) return "its text is cut off";
  }
  const inset = Math.min(4, width / 4, height / 4);
  const across = [left + inset, (left + right) / 2, right - inset];
  const down = [top + inset, (top + bottom) / 2, bottom - inset];
  for (const x of across) {
    for (const y of down) {
      const found = element.getRootNode().elementFromPoint(x, y);
      if (found === null || !element.contains(found))
        return `${found?.tagName} ${found?.className} lies over it at ${[x, y]}`;
    }
  }
  return "";
}"""
_BUSY = "IOStream.flush timed out"
"""What a kernel says on a computer so busy that its output waits for ten seconds: nothing is lost."""
_HAS_RUN = """before => {
  const prompt = document.querySelector(".jp-CodeCell .jp-InputPrompt").innerText;
  return /\\[\\d+\\]/.test(prompt) && prompt !== before;
}"""


class Drawing:
    """The pixels of a canvas. Two are equal where a person sees no difference: browsers smooth edges now this way, now that."""

    def __init__(self, url: str) -> None:
        encoded = base64.b64decode(url.partition(",")[2])
        self.pixels = np.asarray(Image.open(io.BytesIO(encoded)).convert("RGBA"), np.int16)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Drawing) or self.pixels.shape != other.pixels.shape:
            return False
        differs = np.abs(self.pixels - other.pixels).sum(axis=2) > 60
        return bool(differs.mean() < 0.005)

    __hash__ = None  # type: ignore[assignment]  # equality is not transitive

    def __repr__(self) -> str:
        return f"<drawing of {self.pixels.shape[1]} x {self.pixels.shape[0]} pixels>"


class Notebook:
    """A notebook with an explorer in a page: what a user does with it, and what the page had to say."""

    def __init__(self, browser: Browser, lab: Lab, path: Path | None = None, **context: Any) -> None:
        self.lab = lab
        self.path = path or lab.notebook
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.errors: list[str] = []
        self.elsewhere: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self._note_request)

    def _note_request(self, request: Any) -> None:
        if not re.match(r"(https?|wss?)://(localhost|127\.0\.0\.1)[:/]|data:|blob:|about:", request.url):
            self.elsewhere.append(request.url)

    # ---- the notebook

    def open(self) -> None:
        self.page.goto(self.lab.document_url.replace(self.lab.notebook.name, self.path.name))
        self.page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
        try:
            self.wait_for_kernel(PATIENCE / 3)
        except PageTimeout:
            # JupyterLab sometimes misses that a new kernel became idle. A user reloads the page; nothing of isoviz ran yet.
            self.page.reload()
            self.page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
            self.wait_for_kernel()

    def wait_for_kernel(self, patience: float = PATIENCE) -> None:
        """Wait until there is a kernel (without one JupyterLab would ask which) and it is idle."""
        name = self.page.locator(".jp-NotebookPanel-toolbar .jp-Toolbar-kernelName").first
        expect(name).to_have_text(re.compile("Python"), timeout=PATIENCE)
        idle = self.page.locator(".jp-NotebookPanel .jp-Notebook-ExecutionIndicator[data-status=idle]")
        idle.first.wait_for(timeout=patience)

    def show(self, code: str) -> None:
        """Replace the first code cell by code that shows an explorer, and run it."""
        self.enter(0, code)
        self.run_first_cell()

    def enter(self, cell: int, code: str) -> None:
        """Replace what a code cell says; a negative number counts from the last one."""
        cells = self.page.locator(".jp-Notebook .jp-CodeCell")
        (cells.nth(cell) if cell >= 0 else cells.nth(cells.count() + cell)).locator(".jp-InputArea-editor").click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(code)

    def run_first_cell(self) -> None:
        def press() -> None:
            self.page.locator(".jp-CodeCell .jp-InputArea-editor").first.click()
            self.page.keyboard.press("Shift+Enter")

        self._run(press)

    def run_all_cells(self) -> None:
        self._run(lambda: self.choose_from_menu("Run", "Run All Cells"))

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
        failure = self.page.locator(".jp-CodeCell").first.locator(
            '.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.stderr"], .jp-RenderedText pre .ansi-red-fg'
        )
        shown = self.page.locator("[data-testid=explorer][data-busy=false]")
        shown.or_(failure).first.wait_for()
        said = [text for text in failure.all_inner_texts() if text.strip() != _BUSY]
        assert not said, said
        shown.first.wait_for()

    def python(self, code: str) -> str:
        """What the last cell prints when it runs this code."""
        mark = uuid.uuid4().hex
        self.enter(-1, f"{code}\nprint('{mark}')")
        self.page.keyboard.press("Control+Enter")  # it stays the last cell: a long notebook would not draw the explorer
        output = self.page.locator(".jp-OutputArea-output pre", has_text=mark)
        failure = self.page.locator(".jp-RenderedText pre .ansi-red-fg")
        output.or_(failure).last.wait_for()
        assert output.count(), failure.last.inner_text()
        return output.last.inner_text().replace(mark, "").strip()

    def choose_from_menu(self, *names: str) -> None:
        """Choose from JupyterLab's menus."""
        bar, *rest = names
        self.page.get_by_role("menuitem", name=bar, exact=True).first.click()
        for name in rest:
            self.page.locator(".lm-Menu-item", has=self.page.get_by_text(name, exact=True)).last.click()

    def save(self) -> None:
        """Save as a user does, and wait until the file is written."""
        with self.saved("by the button"):
            self.page.locator(".jp-NotebookPanel-toolbar [data-jp-item-name=save] jp-button").click()

    @contextlib.contextmanager
    def saved(self, how: str) -> Iterator[None]:
        """What is done here saves the notebook: its file is written, and JupyterLab has taken note of it.

        A save ends with a checkpoint. JupyterLab ignores a save that is asked for before.
        """
        before = self.path.stat().st_mtime_ns
        with self.page.expect_response(lambda answer: answer.url.split("?")[0].endswith("/checkpoints")):
            yield
        deadline = time.monotonic() + PATIENCE / 1000
        while self.path.stat().st_mtime_ns == before or not self._is_whole():
            assert time.monotonic() < deadline, f"the notebook was not saved {how}"
            self.frame()

    def _is_whole(self) -> bool:
        """Whether the file of the notebook has been written to its end."""
        try:
            return bool(json.loads(self.path.read_text(encoding="utf-8")))
        except ValueError:
            return False

    def choose_theme(self, name: str) -> None:
        """Choose a theme from JupyterLab's menu: "Light" or "Dark"."""
        self.choose_from_menu("Settings", "Theme", f"JupyterLab {name}")
        self.page.locator(f"body[data-jp-theme-light={'true' if name == 'Light' else 'false'}]").wait_for(state="attached")
        # The style sheet of a theme comes after its name.
        self.page.wait_for_function(_IS_DARK, arg=name == "Dark")
        self.at_rest()

    # ---- the explorer

    @property
    def explorer(self) -> Locator:
        return self.page.get_by_test_id("explorer").first

    def part(self, testid: str) -> Locator:
        return self.explorer.get_by_test_id(testid)

    def end(self, side: str) -> Locator:
        return self.part(f"end-{side}")

    def fact(self, side: str, name: str) -> Locator:
        """What the picture of an end says of the entry that is hovered or selected."""
        return self.end(side).locator(f"[data-fact={name}]")

    def chips(self, side: str) -> list[str]:
        """The components of a layout as its chips say them."""
        return self.part(f"layout-editor-{side}").locator(".iv-edit-chip").all_inner_texts()

    def chip(self, side: str, key: str) -> Locator:
        """A chip by the key of its component: "x:0" (the fastest digit of x), "F"."""
        return self.part(f"layout-editor-{side}").get_by_test_id(f"chip-{key}")

    def drag_chip(self, side: str, key: str, to: str) -> None:
        """Drag a chip over another one, beyond its middle."""
        self.chip(side, key).hover()  # it glides to its place after a change
        chip, goal = self.chip(side, key).bounding_box(), self.chip(side, to).bounding_box()
        assert chip is not None and goal is not None
        beyond = 0.8 if goal["x"] > chip["x"] else 0.2
        mouse = self.page.mouse
        mouse.move(chip["x"] + chip["width"] / 2, chip["y"] + chip["height"] / 2)
        mouse.down()
        mouse.move(goal["x"] + beyond * goal["width"], goal["y"] + goal["height"] / 2, steps=8)
        mouse.up()

    def memory(self, side: str) -> Locator:
        """The picture of the memory of an end."""
        return self.end(side).get_by_test_id("linearization-memory")

    def grid(self, side: str) -> Locator:
        """The array at an end, by index; the explorer begins with memory, by address."""
        grid = self.end(side).get_by_test_id("linearization-grid")
        if not grid.count():
            self.part("way-index").last.click()  # with the whole screen, the toolbar there has it
            grid.wait_for()
        return grid

    def drawing(self, side: str) -> Drawing:
        """The pixels of the picture of an end, by address or by index as it is now, once it has been drawn."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        canvas = self.memory(side).or_(self.end(side).get_by_test_id("linearization-grid")).first.locator("canvas").first
        return Drawing(str(canvas.evaluate("canvas => canvas.toDataURL()")))

    def settled(self) -> None:
        """Wait until the explorer shows the answer to everything that was asked."""
        expect(self.explorer).to_have_attribute("data-busy", "false", timeout=PATIENCE)

    def choose_layout(self, side: str, layout: str) -> None:
        self.part(f"{side}-layout").fill(layout)
        expect(self.part(f"{side}-layout")).to_have_value(layout, timeout=PATIENCE)
        self.settled()

    def open_drawer(self) -> Locator:
        if not self.part("drawer").count():
            self.part("title").click()
        self.part("drawer").wait_for()
        return self.part("drawer")

    def close_drawer(self) -> None:
        self.part("drawer-close").click()
        self.part("drawer").wait_for(state="detached")

    def choose_from_explorer(self, *names: str) -> None:
        """Choose from the explorer's own menu, page by page."""
        self.part("menu").click()
        for name in names:
            self.part(f"menu-{name}").click()

    def run(self) -> None:
        """Run and wait for the report of this run."""
        self.runs(self.part("run").click)

    def runs(self, begin: Callable[[], None]) -> None:
        """Wait until the run that `begin` asks for has begun and ended."""
        before = int(self.explorer.get_attribute("data-run") or 0)
        begin()
        expect(self.explorer).to_have_attribute("data-run", str(before + 1), timeout=PATIENCE)
        expect(self.explorer).to_have_attribute("data-running", "false", timeout=PATIENCE)
        self.settled()

    def until(self, holds: Callable[[], bool]) -> None:
        """Look again with every frame until something holds; for what follows a gesture a moment later."""
        deadline = time.monotonic() + PATIENCE / 1000
        while not holds():
            assert time.monotonic() < deadline
            self.frame()

    def frame(self) -> None:
        """Wait for the next frame."""
        self.page.evaluate("() => new Promise(requestAnimationFrame)")

    def at_rest(self) -> None:
        """Wait until the page has looked the same for a dozen frames, and nothing fades in or out."""
        self.page.evaluate(_AT_REST)

    def to_top(self) -> None:
        """Scroll until the explorer begins where the notebook does."""
        self.explorer.evaluate("element => element.scrollIntoView({block: 'start'})")
        self.frame()

    def rest(self) -> None:
        """A few frames, as long as a quick person rests between two gestures."""
        for _ in range(8):
            self.frame()

    def picture(self, name: str) -> Path:
        """A screenshot of the page, kept for people to look at."""
        ARTIFACTS.mkdir(parents=True, exist_ok=True)
        path = ARTIFACTS / f"{name}.png"
        self.page.screenshot(path=path)
        assert path.stat().st_size > 10_000, f"{name} shows next to nothing"
        return path

    def close(self) -> None:
        self.context.close()


def assert_seen(message: Locator, text: str | re.Pattern[str] = "") -> None:
    """Whether a message is read by somebody who looks at the window as it is: inside of it, whole, and with nothing over it.

    An `expect` of Playwright is content with a text that lies behind something else. `text` is what it says.
    """
    expect(message).to_contain_text(text)
    deadline = time.monotonic() + PATIENCE / 1000
    while hidden := str(message.evaluate(_UNSEEN)):
        assert time.monotonic() < deadline, f"{message.inner_text()!r} is not seen: {hidden}"
        message.evaluate("() => new Promise(requestAnimationFrame)")


def containing(text: str) -> re.Pattern[str]:
    """For attributes that contain a text."""
    return re.compile(re.escape(text))


def git_status() -> str:
    done = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else f"not a checkout ({sys.platform})"
