"""Everything by keyboard: a blocked destination made, planned and run; shortcuts of JupyterLab and keys of the explorer."""

from __future__ import annotations

import harness
import pytest
from playwright.sync_api import Locator, expect

SMALL = """\
import isoviz
explorer = isoviz.explore(
    space={"x": 64, "y": 48}, source=("node0.dsk", "<F, x, y>"), destination=("node0.sys", "<x, y, F>"), restore=False,
)
"""
MOST_TABS = 150
MOST_STOPS = 15
"""Stops of Tab from the first one to the dock."""

_FOCUS = """() => {
  const element = document.activeElement;
  const root = document.querySelector("[data-testid=explorer]");
  if (element === null || !root.contains(element)) return null;
  const style = getComputedStyle(element), box = element.getBoundingClientRect();
  const rings = [style, ...[...element.children].map(child => getComputedStyle(child))];
  const ring = rings.some(({outlineStyle, outlineWidth, boxShadow}) =>
    (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) || boxShadow !== "none");
  window.focused ??= []; window.focused.push(element);
  return {
    name: element.dataset.testid ?? element.getAttribute("aria-label") ?? element.textContent.slice(0, 40),
    ring, seen: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight,
  };
}"""

# What can be reached: not what is hidden, and of a group with one place for Tab only that place.
_REACHABLE = """root => {
  const all = [...root.querySelectorAll("button, input, select, textarea, summary, [tabindex]")];
  return all.filter(element => element.tabIndex >= 0 && !element.disabled && element.closest("[inert]") === null
      && element.checkVisibility({visibilityProperty: true}))
    .filter(element => !(window.focused ?? []).includes(element))
    .map(element => element.outerHTML.slice(0, 160));
}"""

_IN_SIGHT = """element => {
  const box = element.getBoundingClientRect();
  return box.top >= 0 && box.bottom <= innerHeight && element.contains(document.elementFromPoint(box.x + 2, box.y + 2));
}"""

# Pixels between a word and its explanation, which stands below it, or above it where there is no room.
_GAP_TO_EXPLANATION = """word => {
  const at = word.getClientRects()[0], box = word.querySelector("[role=tooltip]").getBoundingClientRect();
  return Math.max(box.top - at.bottom, at.top - box.bottom);
}"""


@pytest.fixture
def explorer(desk: harness.Notebook) -> harness.Notebook:
    desk.show(SMALL)
    desk.to_top()
    return desk


def enter(notebook: harness.Notebook) -> None:
    """From the notebook into the explorer by Tab."""
    notebook.page.keyboard.press("Escape")
    for _ in range(30):
        notebook.page.keyboard.press("Tab")
        if notebook.page.evaluate(_FOCUS) is not None:
            return
    raise AssertionError("Tab does not lead into the explorer")


def tab_to(notebook: harness.Notebook, goal: Locator, key: str = "Tab") -> None:
    """Press Tab until `goal` has the focus."""
    for _ in range(MOST_TABS):
        if goal.evaluate("element => element === document.activeElement"):
            return
        notebook.page.keyboard.press(key)
        assert notebook.page.evaluate(_FOCUS) is not None, "Tab has left the explorer"
    raise AssertionError("not reached by Tab")


def has_focus(goal: Locator) -> None:
    expect(goal).to_be_focused()


def cells(notebook: harness.Notebook) -> list[str]:
    """What kinds of cells there are, and what they say."""
    told = r"cell.className.replace(/jp-mod-\S+|jp-toolbar-overlap/g, '').trim() + cell.querySelector('.cm-content')?.innerText"
    return list(notebook.page.locator(".jp-Notebook .jp-Cell").evaluate_all(f"cells => cells.map(cell => {told})"))


@pytest.mark.full
def test_a_blocked_destination_made_planned_and_run_without_a_mouse(explorer: harness.Notebook) -> None:
    press = explorer.page.keyboard.press
    enter(explorer)
    tab_to(explorer, explorer.chip("destination", "x:0"))

    # Split x into blocks of 4: the focus goes to the controls of the chip, and comes back to it.
    press("Enter")
    has_focus(explorer.part("layout-editor-destination").get_by_test_id("block-number"))
    press("ControlOrMeta+a")
    explorer.page.keyboard.type("4")
    press("Enter")
    expect(explorer.chip("destination", "x:0")).to_have_text("x_in=4")
    explorer.picture("keyboard-split")
    press("Escape")
    has_focus(explorer.chip("destination", "x:0"))

    # Move x_out behind y.
    press("ArrowDown")
    has_focus(explorer.chip("destination", "x:1"))
    press("ArrowRight")
    has_focus(explorer.chip("destination", "x:1"))
    expect(explorer.part("destination-layout")).to_have_value("<x_in=4, y, x_out, F>")
    assert explorer.chips("destination") == ["x_in=4", "y", "x_out", "F"]
    explorer.settled()
    expect(explorer.part("stop-2")).to_have_attribute("title", harness.containing("x_in=4, y, x_out, F"))

    # Run it, and read the report.
    tab_to(explorer, explorer.part("run"), "Shift+Tab")
    explorer.runs(lambda: press("Enter"))
    explorer.part("report").locator("[data-verified=true]").wait_for()
    has_focus(explorer.part("run"))
    tab_to(explorer, explorer.part("tab-run"))
    tab_to(explorer, explorer.part("pane-run"))
    explorer.picture("keyboard-report")
    assert explorer.python("print(explorer.session.state.settings.destination.layout)") == "<x_in=4, y, x_out, F>"


def test_tab_goes_from_part_to_part_and_arrow_keys_go_on_inside(explorer: harness.Notebook) -> None:
    press = explorer.page.keyboard.press
    enter(explorer)
    stops = [explorer.page.evaluate(_FOCUS)["name"]]
    while not explorer.part("dock").evaluate("dock => dock.contains(document.activeElement)"):
        press("Tab")
        stops.append(explorer.page.evaluate(_FOCUS)["name"])
        assert len(stops) <= MOST_STOPS + 1, stops
    # In a toolbar: to the end and on to the begin, and Tab comes back to where it was left.
    explorer.part("undo").focus()
    press("ArrowRight")
    has_focus(explorer.part("redo"))
    press("End")
    press("ArrowRight")
    has_focus(explorer.part("title"))
    explorer.part("redo").focus()
    press("Tab")
    press("Shift+Tab")
    has_focus(explorer.part("redo"))
    # What takes arrow keys for itself keeps those: a menu those up and down, a slider those to the sides.
    colour = explorer.part("linearization-colour")
    colour.focus()
    press("ArrowRight")
    has_focus(explorer.part("linearization-play"))
    slider = explorer.part("linearization-scrub")
    slider.focus()
    before = slider.input_value()
    press("ArrowRight")
    has_focus(slider)
    assert slider.input_value() != before
    press("ArrowUp")
    has_focus(explorer.part("linearization-play"))
    # F6 goes from card to card.
    cards = []
    explorer.part("hop-0").click()
    explorer.part("inspector").wait_for()
    explorer.part("run").focus()
    for _ in range(4):
        press("F6")
        card = explorer.page.evaluate("document.activeElement.closest('.iv-card').dataset.testid")
        cards.append(card)
    assert cards == ["journey", "end-source", "end-destination", "inspector"]
    press("Shift+F6")
    assert explorer.end("destination").evaluate("card => card.contains(document.activeElement)")


def test_tab_reaches_every_control_and_leads_out_again(explorer: harness.Notebook) -> None:
    explorer.page.evaluate("window.focused = []")
    enter(explorer)
    stops = []
    for _ in range(MOST_TABS):
        stop = explorer.page.evaluate(_FOCUS)
        if stop is None:
            break
        stops.append(stop)
        explorer.page.keyboard.press("Tab")
    else:
        raise AssertionError("Tab does not lead out of the explorer")
    assert explorer.explorer.evaluate(_REACHABLE) == []
    assert [stop["name"] for stop in stops if not stop["ring"]] == [], "focus is not visible there"
    assert [stop["name"] for stop in stops if not stop["seen"]] == [], "focus is outside of the page"


def test_tab_reaches_every_control_of_the_drawer(explorer: harness.Notebook) -> None:
    explorer.page.evaluate("window.focused = []")
    enter(explorer)
    tab_to(explorer, explorer.part("title"))
    explorer.page.keyboard.press("Enter")
    has_focus(explorer.part("drawer"))
    for _ in range(60):
        explorer.page.keyboard.press("Tab")
        explorer.page.evaluate(_FOCUS)
        if not explorer.part("drawer").evaluate("drawer => drawer.contains(document.activeElement)"):
            break
    assert explorer.part("drawer").evaluate(_REACHABLE) == []
    explorer.part("drawer-close").focus()
    explorer.rest()
    explorer.page.keyboard.press("Escape")
    expect(explorer.part("drawer")).to_have_count(0)
    has_focus(explorer.part("title"))


@pytest.mark.full
def test_shortcuts_with_ctrl_are_jupyterlabs_from_everywhere(explorer: harness.Notebook) -> None:
    places = {
        "chip": explorer.chip("source", "F"),
        "grid": explorer.grid("source"),
        "slider": explorer.part("linearization-scrub"),
        "text": explorer.part("source-layout"),
        "menu": explorer.part("source-memory"),
        "button": explorer.part("run"),
        "journey": explorer.part("hop-0"),
        "tab": explorer.part("tab-why"),
    }
    for name, place in places.items():
        place.focus()
        with explorer.saved(f"from the {name}"):
            explorer.page.keyboard.press("Control+s")
        has_focus(place)
        explorer.page.keyboard.press("Control+Shift+c")
        palette = explorer.page.locator(".lm-CommandPalette")
        expect(palette, f"from the {name}").to_be_visible()
        explorer.page.keyboard.press("Escape")
        expect(palette).to_be_hidden()
        explorer.rest()
    explorer.open_drawer()
    explorer.part("size-x").focus()
    with explorer.saved("from the drawer"):
        explorer.page.keyboard.press("Control+s")


@pytest.mark.full
def test_single_keys_do_nothing_to_the_notebook(explorer: harness.Notebook) -> None:
    before = cells(explorer)
    places = (
        explorer.chip("source", "F"),
        explorer.grid("destination"),
        explorer.part("linearization-scrub"),
        explorer.part("run"),
        explorer.part("hop-0"),
        explorer.part("tab-why"),
        explorer.part("source-memory"),
        explorer.part("source-layout"),
    )
    for place in places:
        for keys in ("a", "b", "dd", "x", "z", "m", "r", "00", "1", "l"):
            place.focus()
            explorer.page.keyboard.type(keys)
    explorer.at_rest()
    assert cells(explorer) == before
    assert explorer.page.locator(".jp-Dialog").count() == 0
    # Once the explorer has been left, they are JupyterLab's again.
    explorer.page.locator(".jp-CodeCell .jp-InputArea-editor").last.click()
    explorer.page.keyboard.press("Escape")
    explorer.page.keyboard.press("b")
    expect(explorer.page.locator(".jp-Notebook .jp-Cell")).to_have_count(len(before) + 1)
    explorer.page.keyboard.type("dd")
    expect(explorer.page.locator(".jp-Notebook .jp-Cell")).to_have_count(len(before))


def test_undo_and_redo_by_keys(explorer: harness.Notebook) -> None:
    chip = explorer.chip("source", "F")
    chip.focus()
    chip.press("End")
    expect(explorer.part("source-layout")).to_have_value("<x, y, F>")
    explorer.settled()
    chip.press("ControlOrMeta+z")
    expect(explorer.part("source-layout")).to_have_value("<F, x, y>")
    assert explorer.chips("source") == ["F", "x", "y"]
    chip.press("ControlOrMeta+Shift+z")
    expect(explorer.part("source-layout")).to_have_value("<x, y, F>")
    grid = explorer.grid("source")
    grid.press("ControlOrMeta+z")
    expect(explorer.part("source-layout")).to_have_value("<F, x, y>")
    explorer.settled()
    expect(explorer.part("undo")).to_have_attribute("aria-disabled", "true")


def test_escape_closes_what_is_open_and_the_focus_returns(explorer: harness.Notebook) -> None:
    press = explorer.page.keyboard.press
    # The menu.
    explorer.part("menu").focus()
    press("Enter")
    has_focus(explorer.part("menu-open-session"))
    press("ArrowDown")
    has_focus(explorer.part("menu-save-session"))
    press("Escape")
    expect(explorer.part("menu-save-session")).to_have_count(0)
    has_focus(explorer.part("menu"))
    # An explanation.
    term = explorer.part("journey").locator("[data-term]").first
    term.focus()
    expect(term.get_by_role("tooltip")).to_be_visible()
    explorer.rest()
    press("Escape")
    expect(term.get_by_role("tooltip")).to_have_count(0)
    has_focus(term)
    # The controls of a chip.
    chip = explorer.chip("source", "y:0")
    chip.focus()
    press("Enter")
    expect(explorer.part("layout-editor-source").get_by_test_id("chip-split")).to_be_visible()
    press("Escape")
    expect(explorer.part("layout-editor-source").get_by_test_id("chip-split")).to_have_count(0)
    has_focus(chip)
    # What can be chosen about a picture.
    more = explorer.part("linearization-more")
    more.focus()
    press("Enter")
    expect(more).to_have_attribute("aria-expanded", "true")
    press("Tab")
    press("Escape")
    expect(more).to_have_attribute("aria-expanded", "false")
    has_focus(more)
    # A drag: the chip goes back.
    chip.hover()
    box = chip.bounding_box()
    assert box is not None
    explorer.page.mouse.down()
    explorer.page.mouse.move(box["x"] - 200, box["y"] + 5, steps=6)
    assert explorer.chips("source")[0] == "y"
    press("Escape")
    explorer.page.mouse.up()
    explorer.settled()
    expect(explorer.part("source-layout")).to_have_value("<F, x, y>")


def test_an_explanation_goes_with_its_word_when_the_focus_scrolls_the_page(explorer: harness.Notebook) -> None:
    term = explorer.part("journey").locator("[data-term]").first
    explorer.explorer.evaluate("element => element.scrollIntoView({block: 'end'})")
    explorer.frame()
    assert not term.evaluate(_IN_SIGHT), "the window shows the whole explorer"
    term.focus()
    explorer.rest()
    assert term.evaluate(_IN_SIGHT)
    explanation = term.get_by_role("tooltip")
    harness.assert_seen(explanation)
    gap = term.evaluate(_GAP_TO_EXPLANATION)
    assert 0 <= gap <= 8, "it stands elsewhere"


def test_arrow_keys_go_along_the_journey_and_the_tabs(explorer: harness.Notebook) -> None:
    press = explorer.page.keyboard.press
    explorer.part("stop-0").focus()
    press("ArrowRight")
    has_focus(explorer.part("hop-0"))
    press("End")
    has_focus(explorer.part("stop-2"))
    press("Enter")
    expect(explorer.part("inspector").locator("h2")).to_contain_text("Stop 2")
    explorer.part("tab-why").focus()
    press("Enter")
    expect(explorer.part("pane-why")).to_be_visible()
    press("End")
    expect(explorer.part("pane-find-layout")).to_be_visible()
