"""Pages of the command line, opened as files: nothing is loaded, the summary fits a screen, all of it works without a kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import harness
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

AXE = harness.ROOT / "widgets" / "node_modules" / "axe-core" / "axe.min.js"
VIOLATIONS = "async () => (await axe.run('[data-testid=page]')).violations.map(each => [each.id, each.nodes.map(n => n.html)])"
TRANSFER = """\
[space]
x = 96
y = 64
[fields]
re = "float32"
im = "float32"
[source]
memory = "node0.sys"
layout = "<F, x, y>"
[destination]
memory = "node0.sys"
layout = "<x_in=8, F, y, x_out>"
[machine]
preset = "local"
measure = "assumed"
"""


class SavedPages:
    """A folder with a page of each kind, and how one is opened."""

    def __init__(self, folder: Path, browser: Browser) -> None:
        self.folder = folder
        self._browser = browser
        self._open: list[Any] = []
        self.said: list[str] = []
        self.asked: list[str] = []

    def open(self, name: str, **context: Any) -> Page:
        made = self._browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True, **context)
        self._open.append(made)
        page = made.new_page()
        page.set_default_timeout(harness.PATIENCE)
        page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto((self.folder / f"{name}.html").as_uri())
        page.get_by_test_id("page").wait_for()
        return page

    def check(self) -> None:
        """Nothing was complained of, and nothing was loaded but the pages themselves."""
        assert self.said == []
        inside = ("data:", "blob:", self.folder.as_uri())
        assert [url for url in self.asked if not url.startswith(inside)] == []

    def close(self) -> None:
        for context in self._open:
            context.close()
        self._open.clear()


def make_page(folder: Path, command: str, *arguments: str) -> None:
    """Have the command line write a page, with a ledger of the folder's own."""
    page = folder / f"{command}.html"
    variables = {**os.environ, "ISOVIZ_LEDGER": str(folder / "ledger.jsonl")}
    words = [sys.executable, "-m", "isoviz", command, *arguments, "-o", str(page)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=variables)
    assert done.returncode == 0, done.stderr
    assert page.stat().st_size < (5_000_000 if command in ("simulate", "run") else 600_000)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[SavedPages]:
    folder = tmp_path_factory.mktemp("pages")
    transfer = folder / "transfer.toml"
    transfer.write_text(TRANSFER, encoding="utf-8")
    for command in ("show", "simulate", "run"):
        make_page(folder, command, str(transfer))
    make_page(folder, "history")
    found = SavedPages(folder, browser)
    yield found
    found.close()


@pytest.fixture
def opened(pages: SavedPages) -> Iterator[Callable[..., Page]]:
    pages.said.clear()
    pages.asked.clear()
    yield pages.open
    pages.check()
    pages.close()


def bottom(page: Page, selector: str) -> float:
    return float(page.locator(selector).first.evaluate("element => element.getBoundingClientRect().bottom"))


def settled(page: Page) -> None:
    """A few frames: what is drawn in the next one is there."""
    for _ in range(4):
        page.evaluate("() => new Promise(requestAnimationFrame)")


def look(page: Page, name: str) -> None:
    settled(page)
    harness.ARTIFACTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=harness.ARTIFACTS / f"page-{name}.png")


def test_the_page_of_a_run(opened: Callable[..., Page], tmp_path: Path) -> None:
    page = opened("run")
    assert page.get_by_role("heading", level=1).inner_text().startswith("Block 96 × 64")
    for part in ("figures", "journey", "verified", "inspector"):
        expect(page.get_by_test_id(part)).to_be_visible()
    expect(page.get_by_test_id("verified")).to_have_attribute("data-verified", "true")
    assert bottom(page, "[data-testid=page-said]") <= 900 and bottom(page, "[data-testid=inspector]") <= 900, "one screen"
    look(page, "run")
    # What is folded opens, and both layouts work as in the explorer.
    page.get_by_test_id("view-ends").locator("summary").click()
    page.get_by_test_id("page-end-source").get_by_test_id("way-both").click()
    grid = page.get_by_test_id("page-end-source").get_by_test_id("linearization-grid")
    box = grid.bounding_box()
    assert box is not None
    inside = {"x": 0.3 * box["width"], "y": 0.3 * box["height"]}  # in the first of two fields
    grid.hover(position=inside)
    fact = page.get_by_test_id("page-end-destination").locator("[data-fact=entry]")
    expect(fact).to_contain_text("x = ")
    grid.click(position=inside)
    page.keyboard.press("ArrowRight")
    expect(page.get_by_test_id("page-end-destination").locator("[data-fact=byte]")).not_to_have_text("")
    # A stop of the journey is explained where it is selected.
    page.get_by_test_id("stop-0").click()
    expect(page.get_by_test_id("inspector")).to_contain_text("main memory")
    # Files and pictures need no kernel.
    with page.expect_download() as saved:
        page.get_by_test_id("save-report").click()
    assert json.loads(saved.value.path().read_text(encoding="utf-8"))["verified"] is True
    end = page.get_by_test_id("page-end-source")
    for kind in ("svg", "png"):
        end.get_by_test_id("save-picture").click()
        with page.expect_download() as saved:
            page.get_by_test_id(f"picture-{kind}").click()
        saved.value.save_as(tmp_path / f"end.{kind}")
    drawn = ElementTree.parse(tmp_path / "end.svg").getroot()
    texts = ["".join(each.itertext()) for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"re", "im"} <= set(texts) and any(each.startswith("y = 0") for each in texts), "the picture has text, not dots"
    width, height = (float(drawn.attrib[name]) for name in ("width", "height"))
    with Image.open(tmp_path / "end.png") as image:
        assert image.size == (round(2 * width), round(2 * height))
        assert len(image.convert("RGB").getcolors(1 << 24) or []) > 50, "it shows the colours of the offsets"


@pytest.mark.parametrize("name", ["show", "simulate"])
@pytest.mark.few(1)
def test_every_kind_of_page(opened: Callable[..., Page], name: str) -> None:
    page = opened(name, color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)", "dark as the system is"
    expect(page.get_by_test_id("journey")).to_be_visible()
    assert bottom(page, "[data-testid=page-said]") <= 900
    for view in page.locator("[data-testid^=view-]").all():
        if view.get_attribute("open") is None:
            view.locator("summary").click()
    expect(page.get_by_test_id("plan")).to_be_visible()
    if name == "simulate":
        expect(page.get_by_test_id("page-said")).to_contain_text("stored and forwarded")
        expect(page.get_by_test_id("timeline-pane")).to_be_visible()
    look(page, f"{name}-dark")
    page.add_script_tag(path=AXE)
    found = page.evaluate(
        "async () => (await axe.run('[data-testid=page]')).violations.map(v => [v.id, v.nodes.map(n => n.html)])"
    )
    assert found == []


# What is cut: what lies beyond the right edge of the window, and words of the inspector in a column too narrow for them.
_CUT = """() => {
  const [edge, found] = [document.documentElement.clientWidth, []];
  if (document.documentElement.scrollWidth > edge) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
  const scrolls = each => each !== null && (/auto|scroll/.test(getComputedStyle(each).overflowX) || scrolls(each.parentElement));
  for (const each of document.querySelectorAll(".iv-page :is(h1, h2, p, dt, dd, th, td, button, code, .iv-inspector *)")) {
    const { width, right } = each.getBoundingClientRect();
    if (width > 0 && right > edge + 0.5 && each.closest(".iv-hidden") === null && !scrolls(each.parentElement))
      found.push(`${each.tagName} ends at ${right}: ${each.textContent.slice(0, 40)}`);
  }
  for (const each of document.querySelectorAll(".iv-inspector :is(h2, p)")) {
    const { width, height } = each.getBoundingClientRect();
    if (each.textContent.trim().length > 10 && height > 40 && width < 160) found.push(`${width} wide: ${each.textContent}`);
  }
  return found;
}"""


@pytest.mark.parametrize("name", ["run", "show", "simulate"])
@pytest.mark.few(1)
def test_nothing_is_cut_at_any_width(opened: Callable[..., Page], name: str, full: bool) -> None:
    page = opened(name)
    cut = {}
    for place in ("hop-0", "stop-0"):
        page.set_viewport_size({"width": 1280, "height": 900})
        page.get_by_test_id(place).first.click()
        for width in sorted({*range(320, 1601, 20 if full else 160), *range(920, 1041, 20)}):
            page.set_viewport_size({"width": width, "height": 900})
            page.evaluate("() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
            if found := page.evaluate(_CUT):
                cut[place, width] = found
    assert cut == {}


@pytest.mark.parametrize(("scheme", "paper"), [("light", (255, 255, 255)), ("dark", (18, 22, 28))])
@pytest.mark.full
def test_plots_are_drawn_in_the_colours_of_the_page(
    pages: SavedPages, browser: Browser, scheme: Literal["light", "dark"], paper: tuple[int, int, int], tmp_path: Path
) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1100, "height": 900})
    try:
        page = context.new_page()
        said: list[str] = []
        page.on("console", lambda each: said.append(each.text) if each.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url) if not request.url.startswith("file:") else None)
        page.goto((pages.folder / "history.html").as_uri())
        plot = page.locator("[data-plot]").first
        expect(plot.locator("canvas").first).to_be_visible(timeout=60_000)
        look(page, f"history-{scheme}")
        plot.screenshot(path=tmp_path / "plot.png")
    finally:
        context.close()
    assert said == []
    with Image.open(tmp_path / "plot.png") as image:
        colours = {colour: count for count, colour in image.convert("RGB").getcolors(1 << 24) or []}
    assert colours.get(paper, 0) > 1000, "the paper of the page around the axes"


def test_on_paper_and_without_scripts(opened: Callable[..., Page], pages: SavedPages, browser: Browser) -> None:
    page = opened("run")
    page.emulate_media(media="print")
    expect(page.locator("#isoviz-static")).to_be_visible()
    expect(page.locator("#isoviz-page")).to_be_hidden()
    expect(page.locator("#isoviz-static h1")).to_have_count(1)
    assert page.pdf().startswith(b"%PDF")
    plain = browser.new_context(java_script_enabled=False)
    try:
        shown = plain.new_page()
        shown.goto((pages.folder / "run.html").as_uri())
        expect(shown.locator("#isoviz-static")).to_contain_text("every byte verified")
        assert shown.locator("#isoviz-static svg").count() >= 3
    finally:
        plain.close()
