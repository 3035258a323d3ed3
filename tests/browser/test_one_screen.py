"""One screen: all that matters is seen together, nothing is cut, every text can be read; 700 to 1920 pixels wide, both themes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import harness
import pytest
from playwright.sync_api import Browser, Locator, expect

FIRST = "import isoviz\nexplorer = isoviz.explore(restore=False)"
CROWDED = """\
import isoviz
names = ("density", "pressure", "temperature", "vx", "vy", "vz", "ex", "ey", "ez", "flags", "identity", "weight")
explorer = isoviz.explore(
    machine="sapling", machine_options={"nodes": 4},
    space={"time": 6, "x": 48, "y": 36, "z": 20, "species": 4, "component": 3},
    fields={name: "float64" if place % 3 else "float32" for place, name in enumerate(names)},
    source=("node0.fbm0", "<F, x, y, z, species, component, time>"),
    destination=("node3.fbm0", "<x_in=16, y_in=4, F, z, x_out, species, component, y_out, time>"),
    restore=False,
)
"""
EMPTY = "import isoviz\nexplorer = isoviz.explore(space={'x': 1}, fields={'a': 'int8'}, restore=False)"
SCREENS = {"first": FIRST, "crowded": CROWDED, "empty": EMPTY}

# Texts that are cut: their content is wider than they are, nothing scrolls it, and no title tells the whole.
_CUT = """root => {
  const cut = [];
  for (const element of root.querySelectorAll("*")) {
    const hasWords = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim() !== "");
    if (!hasWords || !element.checkVisibility({visibilityProperty: true}) || element.closest(".iv-hidden") !== null) continue;
    const style = getComputedStyle(element);
    if (style.display === "inline" || element.tagName === "OPTION" || element.closest("svg") !== null) continue;
    if (["auto", "scroll"].includes(style.overflowX)) continue;
    if (element.scrollWidth <= element.clientWidth + 1) continue;
    const told = style.textOverflow === "ellipsis" && element.closest("[title]") !== null;
    const scrolls = element.parentElement.closest(".iv-scroll, pre") !== null;
    const name = element.className || element.tagName;
    const words = element.textContent.slice(0, 60);
    if (!told && !scrolls) cut.push(`${name} ${element.scrollWidth} > ${element.clientWidth}: ${words}`);
  }
  return cut;
}"""

# Texts beyond the edge of a box around them that hides what is too much.
_HIDDEN = """root => {
  const cut = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.textContent.trim() === "" || !element.checkVisibility({visibilityProperty: true})) continue;
    if (element.closest(".iv-hidden, option, [aria-hidden=true], datalist") !== null) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    for (let around = element; around !== null && around !== root; around = around.parentElement) {
      const style = getComputedStyle(around);
      if (style.textOverflow === "ellipsis" && around.closest("[title]") !== null) break;
      if ([style.overflowX, style.overflowY].some(value => value === "auto" || value === "scroll")) break;
      if (style.overflowX !== "hidden" && style.overflowX !== "clip") continue;
      const edge = around.getBoundingClientRect();
      if (box.right > edge.right + 1 || box.left < edge.left - 1 || box.bottom > edge.bottom + 2)
        cut.push(`${around.className}: ${node.textContent.slice(0, 60)}`);
    }
  }
  return cut;
}"""

_SMALL = """root => {
  const small = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.textContent.trim() === "" || !element.checkVisibility() || element.closest(".iv-hidden") !== null) continue;
    const svg = element.closest("svg");
    const scale = svg === null ? 1 : (svg.getScreenCTM()?.a ?? 1);
    const size = parseFloat(getComputedStyle(element).fontSize) * scale;
    if (size < 11.99) small.push(`${size}: ${node.textContent.slice(0, 40)}`);
  }
  return small;
}"""

# Set before the page: the smallest text that any canvas is asked to write, in CSS pixels.
_CANVAS_TEXT = """() => {
  window.smallest = Infinity;
  for (const name of ["fillText", "strokeText"]) {
    const before = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function (text, ...rest) {
      const scale = this.getTransform().a / devicePixelRatio;
      if (text !== "") window.smallest = Math.min(window.smallest, parseFloat(/([\\d.]+)px/.exec(this.font)[1]) * scale);
      return before.call(this, text, ...rest);
    };
  }
}"""

# Pairs of neighbours in the page whose texts lie on each other.
_CROSSED = """root => {
  const boxes = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.textContent.trim() === "" || !element.checkVisibility({visibilityProperty: true})) continue;
    if (element.closest(".iv-hidden, option, datalist, .iv-edit-mirror") !== null) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (let box of range.getClientRects()) {
      for (let around = element; around !== root; around = around.parentElement) {
        if (getComputedStyle(around).overflowX === "visible") continue;
        const edge = around.getBoundingClientRect();
        const [left, right] = [Math.max(box.left, edge.left), Math.min(box.right, edge.right)];
        const [top, bottom] = [Math.max(box.top, edge.top), Math.min(box.bottom, edge.bottom)];
        box = {left, right, top, bottom, width: right - left, height: bottom - top};
      }
      // What lies below the bar or the drawer is not seen.
      const seen = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
      if (box.width > 2 && seen !== null && (seen === element || seen.contains(element) || element.contains(seen)))
        boxes.push({node, box, text: node.textContent.trim().slice(0, 30)});
    }
  }
  const crossed = [];
  boxes.forEach((one, place) => boxes.slice(place + 1).forEach(other => {
    if (one.node === other.node) return;
    const wide = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
    const high = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
    if (wide > 2 && high > 5) crossed.push(`${one.text} × ${other.text}`);
  }));
  return crossed;
}"""


def box_of(part: Locator) -> dict[str, float]:
    box = part.bounding_box()
    assert box is not None, f"{part} is not there"
    return dict(box)


def assert_readable(notebook: harness.Notebook) -> None:
    root = notebook.explorer
    for problem, script in {"cut": _CUT, "hidden": _HIDDEN, "too small": _SMALL, "crossed": _CROSSED}.items():
        assert root.evaluate(script) == [], problem
    assert root.evaluate("root => root.scrollWidth - root.clientWidth") <= 1
    assert notebook.page.evaluate("window.smallest ?? Infinity") >= 11.99, "a canvas has smaller text"


def assert_on_one_screen(notebook: harness.Notebook) -> None:
    """Bar, Run, predicted time, journey, and chips and memory of both ends are inside of what is seen of the notebook."""
    notebook.to_top()
    window = box_of(notebook.page.locator(".jp-WindowedPanel-outer").first)
    parts: dict[str, Locator] = {
        "Run": notebook.part("run"),
        "time": notebook.part("figure-seconds"),
        "journey": notebook.part("journey"),
        "status": notebook.part("status"),
    }
    for side in ("source", "destination"):
        parts[f"{side} chips"] = notebook.part(f"layout-editor-{side}").locator(".iv-edit-chips")
        parts[f"{side} text"] = notebook.part(f"{side}-layout")
        parts[f"{side} memory"] = notebook.memory(side)
    outside = {}
    for name, part in parts.items():
        box = box_of(part)
        top, bottom = box["y"] - window["y"], box["y"] + box["height"] - window["y"] - window["height"]
        sides = (box["x"] - window["x"], window["x"] + window["width"] - box["x"] - box["width"])
        if top < -1 or bottom > 1 or min(sides) < -1:
            outside[name] = (top, bottom, sides)
    assert outside == {}


@pytest.fixture(scope="module")
def page(shared_notebook: harness.Notebook) -> harness.Notebook:
    shared_notebook.page.evaluate(_CANVAS_TEXT)
    return shared_notebook


def test_a_wide_window_is_used(desk: harness.Notebook, page: harness.Notebook) -> None:
    desk.show(FIRST)
    widths = {}
    for wide, high in ((1280, 900), (1920, 1080)):
        desk.page.set_viewport_size({"width": wide, "height": high})
        desk.at_rest()
        widths[wide] = {side: box_of(desk.memory(side)) for side in ("source", "destination")}
        widths[wide]["all"] = box_of(desk.explorer)
    assert widths[1920]["all"]["width"] > widths[1280]["all"]["width"] + 600
    for side in ("source", "destination"):
        small, large = (widths[wide][side]["width"] * widths[wide][side]["height"] for wide in (1280, 1920))
        assert large > 1.3 * small


@pytest.mark.parametrize(
    ("screen", "width"),
    [
        ("first", 700),
        ("crowded", 900),
        *(pytest.param(*each, marks=pytest.mark.full) for each in (("first", 900), ("crowded", 700))),
    ],
)
@pytest.mark.few(1)
def test_narrow_windows_lose_nothing(desk: harness.Notebook, page: harness.Notebook, screen: str, width: int) -> None:
    desk.page.set_viewport_size({"width": width, "height": 900})
    desk.show(SCREENS[screen])
    desk.to_top()
    desk.at_rest()
    desk.picture(f"screen-{screen}-{width}")
    assert_readable(desk)
    edge = box_of(desk.explorer)
    for part in ("run", "menu", "journey", "source-layout", "destination-layout", "dock"):
        box = box_of(desk.part(part))
        assert box["x"] >= edge["x"] - 1 and box["x"] + box["width"] <= edge["x"] + edge["width"] + 1, part
    desk.open_drawer()
    assert_readable(desk)
    desk.picture(f"screen-{screen}-{width}-drawer")


@pytest.mark.full
@pytest.mark.parametrize("screen", ["first", "crowded"])
def test_zoomed_to_125_per_cent(browser: Browser, lab: harness.Lab, desk: harness.Notebook, screen: str) -> None:
    size: Any = {"width": 1024, "height": 720}
    notebook = harness.Notebook(browser, lab, desk.path, viewport=size, device_scale_factor=1.25)
    try:
        notebook.page.add_init_script(f"({_CANVAS_TEXT})()")
        notebook.open()
        notebook.show(SCREENS[screen])
        notebook.to_top()
        notebook.at_rest()
        notebook.picture(f"screen-{screen}-zoomed")
        assert_readable(notebook)
        if screen == "first":
            assert_tabs_readable(notebook, f"{screen}-zoomed")
        assert notebook.errors == []
    finally:
        notebook.close()


LARGE = """\
import isoviz
explorer = isoviz.explore(
    machine="two-node", space={"x": 8192, "y": 8192}, restore=False,
    source=("node0.fbm0", "<F, x, y>"), destination=("node1.fbm0", "<F, y, x>"),
)
"""

# What lies beyond the edge of its card: names of tools, and texts below the grid.
_BEYOND = """card => {
  const edge = card.getBoundingClientRect().right;
  const parts = [...card.querySelectorAll(".iv-lin-bar button, .iv-lin-bar select, .iv-lin-aside :is(dd, .iv-lin-item)")];
  return parts.filter(part => part.checkVisibility() && part.getBoundingClientRect().right > edge - 4)
    .map(part => part.title || part.textContent);
}"""


def test_what_stands_at_a_grid_stays_in_its_card(desk: harness.Notebook, page: harness.Notebook) -> None:
    desk.show(LARGE)
    desk.to_top()
    grid = desk.grid("source")
    grid.click()
    for steps, width in ((0, 1152), (9, 1280), (9, 1152)):
        desk.page.set_viewport_size({"width": width, "height": 720})
        for _ in range(steps):
            desk.page.keyboard.press("+")
        desk.at_rest()
        desk.picture(f"zoomed-{width}-{steps}")
        assert [desk.end(side).evaluate(_BEYOND) for side in ("source", "destination")] == [[], []]
        assert desk.explorer.evaluate(_CROSSED) == []


@pytest.mark.full
def test_on_a_projector_letters_are_large(browser: Browser, lab: harness.Lab, desk: harness.Notebook) -> None:
    """A projector of 1024 x 768 dots: a page that the browser enlarges by a half, and what has the whole screen as it is."""
    size: Any = {"width": 683, "height": 512}
    notebook = harness.Notebook(browser, lab, desk.path, viewport=size, device_scale_factor=1.5)
    try:
        notebook.page.add_init_script(f"({_CANVAS_TEXT})()")
        notebook.open()
        notebook.show(SCREENS["first"])
        notebook.to_top()
        notebook.at_rest()
        notebook.picture("projector")
        assert_readable(notebook)  # 12 pixels are 18 dots
        assert_tabs_readable(notebook, "projector")
        notebook.page.set_viewport_size({"width": 1024, "height": 768})
        notebook.to_top()
        large = _SMALL.replace("11.99", "17.99")
        for opening, clicks, part in (("ends-whole", 1, "ends"), ("hop-1", 2, "stage")):
            notebook.part(opening).click(click_count=clicks)
            expect(notebook.part(part)).to_have_attribute("data-whole", "true")
            notebook.at_rest()
            notebook.picture(f"projector-{part}")
            assert notebook.part(part).evaluate(large) == [], part
            notebook.page.keyboard.press("Escape")
            expect(notebook.explorer.locator("[data-whole=true]")).to_have_count(0)
        assert notebook.errors == []
    finally:
        notebook.close()


def tabs_of(notebook: harness.Notebook) -> list[str]:
    """The names of the tabs of the dock."""
    names = notebook.part("dock").get_by_role("tab").evaluate_all("tabs => tabs.map(tab => tab.dataset.testid)")
    return [name.removeprefix("tab-") for name in names]


def assert_tabs_readable(notebook: harness.Notebook, name: str) -> None:
    """Every tab of the dock, as the dock is now."""
    for tab in tabs_of(notebook):
        notebook.part(f"tab-{tab}").click()
        notebook.settled()
        notebook.part(f"pane-{tab}").scroll_into_view_if_needed()
        notebook.at_rest()
        notebook.picture(f"dock-{tab}-{name}")
        try:
            assert_readable(notebook)
        except AssertionError as error:
            error.add_note(f"tab {tab}, {name}")
            raise


@pytest.mark.parametrize("screen", [pytest.param("first", marks=pytest.mark.full), "crowded"])
@pytest.mark.full
def test_every_pane_of_the_dock_and_the_drawer_can_be_read(
    desk: harness.Notebook, page: harness.Notebook, screen: str, full: bool
) -> None:
    desk.show(SCREENS[screen])
    desk.to_top()
    if screen == "first":
        desk.run()
    assert len(tabs_of(desk)) >= 5
    assert_tabs_readable(desk, screen)
    desk.part("dock-size").click()
    for wide, high in ((1280, 900), (1920, 1080)) if full else ((1920, 1080),):
        desk.page.set_viewport_size({"width": wide, "height": high})
        assert_tabs_readable(desk, f"{screen}-wide-{wide}")
    desk.page.set_viewport_size({"width": 1280, "height": 900})
    desk.part("dock-size").click()
    desk.to_top()
    desk.open_drawer()
    desk.picture(f"drawer-{screen}")
    assert_readable(desk)


# In both themes, and last: the other tests see the light one.


@pytest.fixture(scope="module", params=["Light", "Dark"])
def theme(page: harness.Notebook, request: pytest.FixtureRequest) -> Iterator[str]:
    page.choose_theme(request.param)
    yield request.param
    page.choose_theme("Light")


@pytest.mark.parametrize("screen", SCREENS)
def test_all_that_matters_is_on_one_screen(desk: harness.Notebook, theme: str, screen: str, full: bool) -> None:
    if not full and (theme, screen) != ("Dark", "crowded"):
        pytest.skip("all of them in both themes in `make test-full` (ISOVIZ_FULL=1)")
    desk.show(SCREENS[screen])
    desk.to_top()
    desk.at_rest()
    desk.picture(f"screen-{screen}-1280-{theme.lower()}")
    assert_on_one_screen(desk)
    assert_readable(desk)
    desk.page.set_viewport_size({"width": 1920, "height": 1080})
    desk.at_rest()
    assert_on_one_screen(desk)
    desk.picture(f"screen-{screen}-1920-{theme.lower()}")
    assert_readable(desk)


def test_the_menu_scrolls_nothing(desk: harness.Notebook) -> None:
    desk.show(FIRST)
    desk.settled()
    dock = desk.part("dock")
    dock.evaluate("element => element.scrollIntoView({block: 'end'})")
    desk.at_rest()
    before = dock.evaluate("element => element.getBoundingClientRect().top")
    box = desk.part("menu").bounding_box()
    assert box is not None
    desk.page.mouse.click(box["x"] + 5, box["y"] + 5)  # a click on the element would scroll to it first
    desk.explorer.get_by_role("menuitem").first.wait_for()
    desk.at_rest()
    assert abs(dock.evaluate("element => element.getBoundingClientRect().top") - before) < 1
    desk.page.keyboard.press("Escape")
    desk.at_rest()
    assert abs(dock.evaluate("element => element.getBoundingClientRect().top") - before) < 1
