"""All views are linked: what is hovered, selected or edited in one shows in every other, and Python agrees with what is said."""

from __future__ import annotations

import json
import re

import harness
import pytest
from playwright.sync_api import Locator, expect

SMALL = """\
import isoviz
explorer = isoviz.explore(
    space={"x": 12, "y": 8}, fields={"re": "float32", "im": "float32", "weight": "float64"},
    source=("node0.dsk", "<F, x, y>"), destination=("node0.sys", "<x_in=4, y, x_out, F>"), restore=False,
)
"""
SIDES = ("source", "destination")


@pytest.fixture
def explorer(desk: harness.Notebook) -> harness.Notebook:
    desk.show(SMALL)
    desk.to_top()
    return desk


def grid(notebook: harness.Notebook, side: str) -> Locator:
    return notebook.grid(side)


def marks(picture: Locator) -> str:
    """The pixels of the marks over a grid or a tape."""
    picture.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return str(picture.locator("canvas").nth(1).evaluate("canvas => canvas.toDataURL()"))


def entry_in(text: str) -> tuple[dict[str, int], str]:
    """The entry in words: "x = 3, y = 5 · re"."""
    index, _, field = text.partition(" · ")
    return {name: int(value.replace(",", "")) for name, value in re.findall(r"(\w+) = ([\d,]+)", index)}, field.strip()


def test_an_entry_that_is_hovered_is_marked_and_named_everywhere(explorer: harness.Notebook) -> None:
    empty = {side: marks(grid(explorer, side)) for side in SIDES}
    seen = set()
    for across, down in ((70, 45), (220, 45), (70, 145)):  # a cell of each field
        grid(explorer, "source").scroll_into_view_if_needed()
        box = grid(explorer, "source").bounding_box()
        assert box is not None
        explorer.page.mouse.move(box["x"] + across, box["y"] + down, steps=2)
        expect(explorer.fact("source", "entry")).to_contain_text("x = ")
        named = explorer.fact("source", "entry").inner_text()
        seen.add(named)
        expect(explorer.fact("destination", "entry")).to_have_text(named)
        for side in SIDES:
            assert marks(grid(explorer, side)) != empty[side], f"nothing is marked at the {side}"
        index, field = entry_in(named)
        told = {side: explorer.fact(side, "byte").inner_text().replace(",", "") for side in SIDES}
        lines = {side: explorer.fact(side, "cache-line").inner_text().replace(",", "") for side in SIDES}
        answer = explorer.python(
            f"d = explorer.session.state.derived\nat = {index}, {field!r}\nprint(d.source.offset(*at), d.destination.offset(*at))"
        )
        explorer.to_top()
        for side, offset in zip(SIDES, answer.split(), strict=True):
            assert told[side].split()[0] == offset
            assert lines[side] == str(int(offset) // 64)
    assert len(seen) == 3
    explorer.page.mouse.move(5, 500)
    expect(explorer.fact("destination", "entry")).to_have_text("")


def test_the_tape_and_the_grid_name_the_same_entry(explorer: harness.Notebook) -> None:
    tape = explorer.part("tape-destination")
    tape.hover(position={"x": 60, "y": 6})
    expect(explorer.fact("destination", "entry")).to_contain_text("x = ")
    named = explorer.fact("destination", "entry").inner_text()
    expect(explorer.fact("source", "entry")).to_have_text(named)
    index, field = entry_in(named)
    offset = explorer.fact("destination", "byte").inner_text().replace(",", "").split()[0]
    assert explorer.python(f"print(explorer.session.state.derived.destination.offset({index}, {field!r}))") == offset


def test_a_hop_that_is_selected_is_explained_and_stays_selected(explorer: harness.Notebook) -> None:
    inspector = explorer.part("inspector")
    for number in (1, 0):
        explorer.part(f"hop-{number}").click()
        expect(explorer.part(f"hop-{number}")).to_have_attribute("aria-pressed", "true")
        expect(inspector.locator("h2")).to_contain_text(f"Hop {number} · ")
    # What a hop says in the journey is what the inspector says of it.
    rate = explorer.part("hop-0").locator(".iv-hop-rate").inner_text()
    expect(inspector.locator(".iv-facts div", has_text="rate").locator("dd")).to_have_text(rate)

    # Another layout, and back: the same hop is selected. A stop lets it go.
    explorer.part("shows-destination").select_option(index=2)
    explorer.choose_layout("destination", "<x, F, y>")
    expect(explorer.part("hop-0")).to_have_attribute("aria-pressed", "true")
    explorer.part("stop-1").click()
    expect(inspector.locator("h2")).to_contain_text("Stop 1 · ")
    expect(explorer.part("hop-0")).to_have_attribute("aria-pressed", "false")
    explorer.picture("stop-selected")


@pytest.mark.full
def test_scrubbing_goes_through_the_order_of_memory(explorer: harness.Notebook) -> None:
    explorer.part("linearization-more").click()
    explorer.part("linearization-plays").select_option("destination")
    scrub = explorer.part("linearization-scrub")
    scrub.focus()
    offsets = []
    for _ in range(4):
        before = explorer.fact("destination", "byte").inner_text()
        scrub.press("ArrowRight")
        expect(explorer.fact("destination", "byte")).not_to_have_text(before)
        offsets.append(int(explorer.fact("destination", "byte").inner_text().replace(",", "").split()[0]))
        expect(explorer.fact("source", "entry")).to_have_text(explorer.fact("destination", "entry").inner_text())
    assert offsets == sorted(offsets) and len(set(offsets)) == 4
    play = explorer.part("linearization-play")
    play.click()
    expect(play).to_have_attribute("aria-pressed", "true")
    before = explorer.fact("destination", "element").inner_text()
    expect(explorer.fact("destination", "element")).not_to_have_text(before)
    play.click()
    expect(play).to_have_attribute("aria-pressed", "false")
    rested = explorer.fact("destination", "element").inner_text()
    explorer.at_rest()
    assert explorer.fact("destination", "element").inner_text() == rested


def test_grids_of_both_ends_show_one_selection_by_click_and_keys(explorer: harness.Notebook) -> None:
    source = grid(explorer, "source")
    source.focus()
    source.press("ArrowRight")
    source.press("ArrowRight")
    source.press("ArrowDown")
    for side in SIDES:
        expect(explorer.fact(side, "entry")).to_have_text("x = 1, y = 1 · re")
    source.press("f")
    expect(explorer.fact("destination", "entry")).to_have_text("x = 1, y = 1 · im")
    # It is the kernel's as well, and survives another layout.
    explorer.choose_layout("source", "<y, F, x>")
    expect(explorer.fact("source", "entry")).to_have_text("x = 1, y = 1 · im")
    answer = explorer.python("s = explorer.session.state.selected.selection\nprint(dict(s.index), s.field)")
    assert answer == "{'x': 1, 'y': 1} im"


@pytest.mark.parametrize("second", ["isoviz.LinearizationView(session=explorer.session)", "explorer.show()"])
def test_two_views_of_one_session_share_selection_and_edits(desk: harness.Notebook, second: str) -> None:
    desk.show(f"{SMALL}{second}")
    views = desk.page.get_by_test_id("explorer")
    expect(views).to_have_count(2)
    one, other = views.nth(0), views.nth(1)
    expect(other).to_have_attribute("data-busy", "false")

    there = other.get_by_test_id("linearization-memory").first
    there.focus()
    there.press("ArrowRight")
    there.press("ArrowDown")
    expect(other.locator("[data-fact=entry]").first).to_have_text("x = 0, y = 1 · re")
    expect(one.locator("[data-fact=entry]").first).to_have_text("x = 0, y = 1 · re")

    before = marks(there)
    desk.choose_layout("source", "<x, y, F>")
    desk.until(lambda: marks(there) != before)  # the entry lies elsewhere
    if second == "explorer.show()":
        expect(other.get_by_test_id("source-layout")).to_have_value("<x, y, F>")
        other.get_by_test_id("layout-editor-source").get_by_test_id("chip-F").press("Home")
        expect(one.get_by_test_id("source-layout")).to_have_value("<F, x, y>")
        expect(one.get_by_test_id("undo")).not_to_have_attribute("aria-disabled", "true")
    desk.picture(f"two-views-{'twice' if second == 'explorer.show()' else 'and-a-pane'}")


def test_a_layout_editor_alone_is_bound_both_ways(desk: harness.Notebook) -> None:
    desk.show('import isoviz\neditor = isoviz.LayoutEditor("<x, F, y>", space={"x": 8, "y": 6}, fields={"a": "float32"})\neditor')
    desk.explorer.scroll_into_view_if_needed()
    assert desk.chips("source") == ["x", "F", "y"]
    desk.picture("layout-editor-alone")
    desk.chip("source", "y:0").press("Home")
    assert desk.python("print(editor.answer())") == "<y, x, F>", "the gesture just before counts"
    assert desk.python("print(editor.value)") == "<y, x, F>"
    desk.python('editor.value = "<x_in=2, F, y, x_out>"')
    expect(desk.part("source-layout")).to_have_value("<x_in=2, F, y, x_out>")
    assert desk.chips("source") == ["x_in=2", "F", "y", "x_out"]
    # A text that is wrong is shown with its mistake; the value stays what it was.
    desk.part("source-layout").fill("<x, F>")
    said = desk.python("try:\n    print(editor.answer())\nexcept isoviz.errors.InputError as error:\n    print(error)")
    assert said.startswith("layout editor: ") and "'y'" in said
    harness.assert_seen(desk.part("error-source-layout"), "y")
    value, problem = json.loads(desk.python("import json\nprint(json.dumps([str(editor.value), editor.problem]))"))
    assert value == "<x_in=2, F, y, x_out>"
    assert problem == desk.part("error-source-layout").inner_text()


def test_a_linearization_view_alone_is_bound_both_ways(desk: harness.Notebook) -> None:
    desk.show(
        'import isoviz\nview = isoviz.LinearizationView("<x, F, y>", space={"x": 8, "y": 6}, fields={"a": "float32"})\nview'
    )
    desk.explorer.scroll_into_view_if_needed()
    desk.part("way-both").click()
    there = desk.part("linearization-grid")
    there.focus()
    there.press("ArrowRight")
    there.press("ArrowDown")
    expect(desk.part("linearization-facts")).to_contain_text("x = 0, y = 1")
    desk.picture("linearization-alone")
    # The kernel is told of a selection at most ten times in a second.
    desk.until(lambda: desk.python("print(dict(view.selection.index), view.selection.field)") == "{'x': 0, 'y': 1} a")
    desk.python('view.selection = {"x": 3, "y": 2}, "a"')
    expect(desk.part("linearization-facts")).to_contain_text("x = 3, y = 2")
    desk.python('view.value = "<y, x, F>"')
    byte = desk.explorer.locator("[data-fact=byte]")
    expect(byte).to_contain_text(re.compile(rf"^{4 * (2 + 6 * 3)}$"))
