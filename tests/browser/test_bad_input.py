"""Nonsense in every field is explained beside that field; nothing jumps, and the last good plan stays, greyed."""

from __future__ import annotations

import re

import harness
import pytest
from playwright.sync_api import expect

SMALL = """\
import isoviz
explorer = isoviz.explore(
    space={"x": 64, "y": 48}, source=("node0.dsk", "<F, x, y>"), destination=("node0.sys", "<x, y, F>"), restore=False,
)
"""
SCRIPT = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"

# field, what is typed, and what is said there
LAYOUTS = {
    "": "F",
    "hello": "hello",
    "<F, x": ">",
    "<F, x, y, z>": "z",
    "<F, x, x, y>": "x",
    "<F, x_in=0, x_out, y>": "0",
    "<F, x_in=3, y>": "x",
    "⟨🙂, x, y⟩": "",
    SCRIPT: "",
    "<" + "x_in=2, " * 400 + ">": "",
}
FEW_LAYOUTS = ("", "<F, x", "<F, x_in=3, y>", SCRIPT)
"""Those that `make test` types. The others differ in what is said about them alone."""
SIZES = ("", "0", "-4", "3.5", "many", "1e99", "9" * 30, "٣", SCRIPT)
DTYPES = ("", "float33", "O", "str", "<x>", SCRIPT)
NAMES = ("", "2x", "F", "x_in", "y", "a b", SCRIPT)


@pytest.fixture
def explorer(desk: harness.Notebook) -> harness.Notebook:
    desk.show(SMALL)
    desk.to_top()
    return desk


def places(notebook: harness.Notebook) -> dict[str, list[int]]:
    """Where chips, grids, bar and journey are, relative to the explorer, in whole pixels."""
    found = {}
    parts = {"bar": notebook.explorer.locator(".iv-bar"), "journey": notebook.part("journey"), "run": notebook.part("run")}
    for side in ("source", "destination"):
        parts[f"{side} chips"] = notebook.part(f"layout-editor-{side}").locator(".iv-edit-chips")
        parts[f"{side} text"] = notebook.part(f"{side}-layout")
        parts[f"{side} grid"] = notebook.memory(side)
    root = notebook.explorer.bounding_box()
    assert root is not None
    for name, part in parts.items():
        try:
            expect(part).to_have_count(1)
        except AssertionError:
            pytest.fail(f"{name} is gone; the explorer says: {notebook.explorer.inner_text()}")
        box = part.bounding_box()
        assert box is not None, f"{name} is not seen"
        found[name] = [round(box["x"] - root["x"]), round(box["y"] - root["y"]), round(box["width"]), round(box["height"])]
    return found


def assert_still(before: dict[str, list[int]], after: dict[str, list[int]], what: str) -> None:
    moved = {}
    for name, box in before.items():
        if max(abs(a - b) for a, b in zip(box, after[name], strict=True)) > 1:
            moved[name] = box, after[name]
    assert moved == {}, what


def assert_not_run(notebook: harness.Notebook) -> None:
    assert notebook.page.evaluate("window.hacked") is None
    assert notebook.explorer.locator("script").count() == 0


def test_nonsense_as_a_layout(explorer: harness.Notebook, full: bool) -> None:
    before = places(explorer)
    chips = explorer.chips("source")
    for text in LAYOUTS if full else FEW_LAYOUTS:
        about = LAYOUTS[text]
        explorer.choose_layout("source", text)
        problem = explorer.part("error-source-layout")
        harness.assert_seen(problem)
        assert about in problem.inner_text() and len(problem.inner_text()) > 8, text
        assert explorer.chips("source") == chips
        assert_still(before, places(explorer), text)
        expect(explorer.part("run")).to_have_attribute("aria-disabled", "true")
        expect(explorer.part("journey")).to_have_attribute("data-stale", "true")
    assert_not_run(explorer)
    explorer.at_rest()
    explorer.picture("bad-layout")
    explorer.choose_layout("source", "<F, x, y>")
    expect(explorer.part("journey")).to_have_attribute("data-stale", "false")
    assert_still(before, places(explorer), "after it was mended")


@pytest.mark.parametrize("field", ["size", "dtype"])
@pytest.mark.full
def test_nonsense_as_a_size_or_a_type(explorer: harness.Notebook, field: str, full: bool) -> None:
    explorer.open_drawer()
    before = places(explorer)
    drawing = explorer.drawing("destination")
    control, right, nonsense = ("size-y", "48", SIZES) if field == "size" else ("field-im", "float32", DTYPES)
    for text in nonsense if full else (nonsense[0], nonsense[3], nonsense[-1]):
        explorer.part(control).fill(text)
        explorer.settled()
        problem = explorer.part(f"error-{control}")
        harness.assert_seen(problem)
        expect(explorer.part(control)).to_have_attribute("aria-invalid", "true")
        assert len(explorer.chips("source")) == 3 and explorer.drawing("destination") == drawing, text
        assert_still(before, places(explorer), text)
    assert_not_run(explorer)
    explorer.picture(f"bad-{field}")
    explorer.part(control).fill(right)
    explorer.settled()
    expect(explorer.part(f"error-{control}")).to_have_text("")
    expect(explorer.part("journey")).to_have_attribute("data-stale", "false")


@pytest.mark.full
def test_nonsense_as_a_name(explorer: harness.Notebook, full: bool) -> None:
    explorer.open_drawer()
    before = places(explorer)
    row = explorer.part("dimensions").locator(".iv-array-row").first
    for text in NAMES if full else ("", "F", "y", SCRIPT):
        row.locator(".iv-array-name input").fill(text)
        row.locator(".iv-array-name input").press("Enter")
        explorer.settled()
        # Of two with one name, the second one is told.
        told = explorer.part("dimensions").locator(".iv-array-row").nth(1 if text == "y" else 0).locator(".iv-array-problem")
        harness.assert_seen(told)
        assert_still(before, places(explorer), text)
        assert len(explorer.chips("source")) == 3
    assert_not_run(explorer)
    explorer.picture("bad-name")
    row.locator(".iv-array-name input").fill("width")
    row.locator(".iv-array-name input").press("Enter")
    explorer.settled()
    expect(row.locator(".iv-array-problem")).to_have_text("")
    assert explorer.chips("source") == ["F", "width", "y"]


@pytest.mark.full
def test_nonsense_as_limits_and_options_of_the_machine(explorer: harness.Notebook, full: bool) -> None:
    explorer.open_drawer()
    explorer.part("machine").select_option("two-node")
    explorer.settled()
    explorer.to_top()
    before = places(explorer)
    controls = [name for name in ("slot-limit", "memory-limit", "machine-option-nodes") if explorer.part(name).count()]
    assert controls
    for control in controls:
        right = explorer.part(control).input_value()
        for text in ("lots", "-1", "1e400 GiB", SCRIPT) if full else ("-1", SCRIPT):
            explorer.part(control).fill(text)
            explorer.part(control).press("Enter")
            explorer.settled()
            harness.assert_seen(explorer.part(f"error-{control}"))
            explorer.to_top()
            assert_still(before, places(explorer), f"{control}: {text}")
        explorer.part(control).fill(right)
        explorer.part(control).press("Enter")
        explorer.settled()
        expect(explorer.part(f"error-{control}")).to_have_count(0)
    assert_not_run(explorer)
    explorer.picture("bad-limits")


def test_petabytes_are_told_kindly(explorer: harness.Notebook) -> None:
    explorer.open_drawer()
    for dimension in ("x", "y"):
        explorer.part(f"size-{dimension}").fill("16777216")
    explorer.settled()
    expect(explorer.part("array-extent")).to_contain_text(re.compile("PiB|TiB"))
    assert len(explorer.chips("source")) == 3
    explorer.close_drawer()
    explorer.to_top()
    explorer.picture("petabytes")
    expect(explorer.part("run")).to_have_attribute("aria-disabled", "true")
    explorer.part("run").focus()
    harness.assert_seen(explorer.part("run-reason"))
    explorer.page.keyboard.press("Escape")


@pytest.mark.full
def test_more_dimensions_than_can_be_shown_are_refused(explorer: harness.Notebook) -> None:
    explorer.open_drawer()
    add = explorer.part("add-dimension")
    for _ in range(30):
        if add.get_attribute("aria-disabled") == "true":
            break
        add.click()
        explorer.settled()
    rows = explorer.part("dimensions").locator(".iv-array-row").count()
    assert 4 <= rows < 30
    expect(add).to_have_attribute("title", re.compile("up to \\d+"))
    explorer.close_drawer()
    explorer.to_top()
    explorer.picture("many-dimensions")
    # From Python as well.
    explorer.show("import isoviz\nexplorer = isoviz.explore(space={f'd{n}': 2 for n in range(30)}, restore=False)")
    explorer.to_top()
    explorer.picture("thirty-dimensions")
    expect(explorer.explorer).to_contain_text(re.compile("dimensions"))


@pytest.mark.full
def test_a_plan_that_does_not_exist_is_explained(explorer: harness.Notebook) -> None:
    explorer.open_drawer()
    explorer.part("planner").select_option("simple")  # others find a path without a buffer
    explorer.settled()
    explorer.close_drawer()
    before = places(explorer)
    figure = explorer.part("hop-0").inner_text()
    explorer.open_drawer()
    explorer.part("memory-limit").fill("1 B")
    explorer.part("memory-limit").press("Enter")
    explorer.settled()
    explorer.close_drawer()
    expect(explorer.part("journey")).to_have_attribute("data-stale", "true")
    harness.assert_seen(explorer.part("no-plan"), "The last plan stays below")
    # What describes *Run* to a screen reader says it as well.
    said = explorer.explorer.locator(":text('There is no plan'):not(.iv-hidden *)")
    assert said.count() == 1, "it is said once"
    assert explorer.part("hop-0").inner_text() == figure, "the last good plan is gone"
    expect(explorer.part("run")).to_have_attribute("aria-disabled", "true")
    assert_still(before, places(explorer), "no plan")
    explorer.at_rest()
    explorer.picture("no-plan")
    explorer.part("undo").click()
    explorer.settled()
    expect(explorer.part("journey")).to_have_attribute("data-stale", "false")


DEFECT = "explorer.session._failed(RuntimeError('for a test'))"
REFUSED = "explorer.session.send({'kind': 'open-session', 'name': 'two-node.json', 'text': '{}'})"


def test_what_went_wrong_lies_above_everything(explorer: harness.Notebook, full: bool) -> None:
    explorer.python(REFUSED)
    refusal, defect = explorer.part("error-command"), explorer.part("error-defect")
    try:
        for width in (1000, 1280, 1440, 1920) if full else (1000, 1920):
            explorer.page.set_viewport_size({"width": width, "height": 900})
            for _large in (True, False):
                explorer.part("dock-size").click()
                for place in ("start", "end"):
                    explorer.explorer.evaluate("(element, block) => element.scrollIntoView({block})", place)
                    harness.assert_seen(refusal, "two-node.json: the key 'isoviz' is missing")
            explorer.picture(f"refused-{width}")
        # A defect as well, below it; both can be closed, and what comes next is told again.
        explorer.choose_theme("Dark")
        explorer.python(DEFECT)
        explorer.to_top()
        harness.assert_seen(refusal)
        harness.assert_seen(defect, "Something went wrong inside isoviz: RuntimeError: for a test")
        explorer.picture("defect-dark")
        for message in (refusal, defect):
            message.get_by_role("button", name="Close").click()
            expect(message).to_have_count(0)
        explorer.python(REFUSED.replace("two-node", "another"))
        explorer.to_top()
        harness.assert_seen(refusal, "another.json")
    finally:
        explorer.choose_theme("Light")
        explorer.python("explorer.close()")
