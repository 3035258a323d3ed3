"""Panes alone with a button *Check*: by mouse and by keyboard, in both themes, in a narrow window, without a kernel."""

from __future__ import annotations

import json
import re

import harness
import pytest
from axe import objections
from playwright.sync_api import Locator, expect

CHECK = """\
import isoviz, threading

class Said:
    def __init__(self, kind, text):
        self.kind, self.text = kind, text

    def __str__(self):
        return self.text

held = threading.Event()
held.set()

def check(found):
    held.wait(60)
    if str(found) == "<y, x, F>":
        raise ZeroDivisionError("by hand")
    if str(found) == "<F, x, y>":
        return Said("right", f"Right: {found} stores whole entries, x fastest.")
    return Said("wrong", f"{found} begins with the entries of y.\\nWhich component is fastest <b>on the tape</b>?")

"""
EDITOR = CHECK + 'editor = isoviz.LayoutEditor("<y, F, x>", space={"x": 8, "y": 6}, fields={"a": "f4"}, check=check)\neditor'


@pytest.fixture
def editor(desk: harness.Notebook) -> harness.Notebook:
    desk.show(EDITOR)
    desk.to_top()
    return desk


def said(notebook: harness.Notebook) -> Locator:
    return notebook.part("verdict")


def test_a_click_right_after_a_drag_judges_what_is_on_screen(editor: harness.Notebook) -> None:
    for key, to, layout in (("F", "y:0", "<F, y, x>"), ("x:0", "F", "<x, F, y>"), ("F", "x:0", "<F, x, y>")):
        editor.drag_chip("source", key, to)
        editor.part("check").click(force=True)  # it waits for nothing
        expect(said(editor)).to_contain_text(layout)
        expect(said(editor)).to_have_attribute("data-old", "false")
    expect(said(editor)).to_have_attribute("data-kind", "right")
    harness.assert_seen(said(editor), "stores whole entries")
    assert editor.python("print(editor.verdict)") == "Right: <F, x, y> stores whole entries, x fastest."


def test_by_keyboard_alone(editor: harness.Notebook) -> None:
    keys = editor.page.keyboard
    editor.chip("source", "y:0").focus()
    for key in ("ArrowRight", "ArrowRight"):
        keys.press(key)
    for _ in range(6):
        keys.press("Tab")
        if editor.part("check").evaluate("element => element === document.activeElement"):
            break
    keys.press("Enter")
    expect(said(editor)).to_contain_text("Right: <F, x, y>")
    keys.press("Space")
    expect(said(editor)).to_have_attribute("data-kind", "right")


def test_a_verdict_is_that_of_its_value(editor: harness.Notebook) -> None:
    editor.part("check").click()
    harness.assert_seen(said(editor), re.compile(r"^Not yet\. <y, F, x> begins"))
    assert said(editor).locator("b").all_text_contents() == ["Not yet. "], "what a check says is text"
    editor.choose_layout("source", "<F, y, x>")
    expect(said(editor)).to_have_attribute("data-old", "true")
    harness.assert_seen(said(editor), "Said of what was there before:")
    assert editor.python("print(editor.verdict)") == "None"
    editor.choose_layout("source", "<y, F, x>")
    expect(said(editor)).to_have_attribute("data-old", "false")
    editor.part("source-layout").fill("<y, F")
    editor.part("check").click()
    harness.assert_seen(said(editor), "Not counted. '<y, F', character 6: The text ends")
    editor.choose_layout("source", "<y, x, F>")
    editor.part("check").click()
    harness.assert_seen(
        said(editor), "Not counted. The check could not judge this, by a mistake of its own: ZeroDivisionError: by hand."
    )


def test_a_slow_check_leaves_the_pane_usable(editor: harness.Notebook) -> None:
    editor.python("held.clear()")
    editor.part("check").click()
    harness.assert_seen(said(editor), "Checking…")
    editor.choose_layout("source", "<F, x, y>")
    assert editor.python("print(editor.answer())") == "<F, x, y>"
    editor.python("held.set()")
    expect(said(editor)).to_have_attribute("data-old", "true")
    editor.part("check").click()
    expect(said(editor)).to_contain_text("Right: <F, x, y>")


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_axe_finds_nothing(editor: harness.Notebook, theme: str) -> None:
    editor.choose_theme(theme)
    try:
        told = []
        for layout, kind in (("<y, F, x>", "wrong"), ("<F, x, y>", "right"), ("<y, F>", "unread")):
            editor.part("source-layout").fill(layout)
            editor.part("check").click()
            expect(said(editor)).to_have_attribute("data-kind", kind)
            told += objections(editor)
            editor.picture(f"checked-{kind}-{theme.lower()}")
        editor.choose_layout("source", "<F, y, x>")
        expect(said(editor)).to_have_attribute("data-old", "true")
        told += objections(editor)
        editor.picture(f"checked-old-{theme.lower()}")
        assert not told, "\n".join(told)
    finally:
        editor.choose_theme("Light")


@pytest.mark.parametrize("width", [420, 640])
def test_nothing_is_cut_off_in_a_narrow_window(editor: harness.Notebook, width: int) -> None:
    editor.page.set_viewport_size({"width": width, "height": 700})
    editor.part("check").click()
    editor.part("check").scroll_into_view_if_needed()
    harness.assert_seen(said(editor), "Which component is fastest <b>on the tape</b>?")
    harness.assert_seen(editor.part("check"))
    editor.picture(f"checked-narrow-{width}")


def test_without_a_kernel_there_is_no_button_that_does_nothing(editor: harness.Notebook) -> None:
    editor.part("check").click()
    expect(said(editor)).to_contain_text("Not yet")
    editor.save()
    outputs = json.dumps(json.loads(editor.path.read_text(encoding="utf-8"))["cells"][0]["outputs"])
    assert "data-isoviz-static" in outputs and "<button" not in outputs


PLAN = (
    CHECK
    + """
transfer = isoviz.Transfer.whole(
    isoviz.IndexSpace(x=1024, y=1024), isoviz.FieldSpace(value="complex128"),
    source=("node0.fbm0", "<F, x, y>"), destination=("node1.fbm0", "<F, y, x>"),
)
made = isoviz.plan(transfer, "two-node")
hops = made.hops
by_hand = isoviz.cost(transfer, "two-node", [hop.channel for hop in hops], [hop.destination_layout for hop in hops[:-1]])
view = isoviz.PlanView(by_hand, "two-node", fixed=True, check=lambda plan: Said("open", f"a chunk of {plan.chunk_bytes:,} B"))
view
"""
)
MACHINE = (
    CHECK
    + """
editor = isoviz.MachineEditor("two-node", fixed=True, check=lambda machine: Said("wrong", f"{len(machine.channels)} channels"))
editor
"""
)


def test_a_plan_by_hand_keeps_its_path(desk: harness.Notebook) -> None:
    desk.show(PLAN)
    desk.to_top()
    desk.part("by-hand-chunk").wait_for()
    desk.settled()
    for gone in ("by-hand-next", "by-hand-back", "back-to-planner", "journey-planned"):
        expect(desk.part(gone)).to_have_count(0)
    desk.part("by-hand-chunk").focus()
    desk.page.keyboard.press("ArrowRight")
    desk.part("check").click()
    expect(said(desk)).to_contain_text("a chunk of")
    expect(said(desk)).to_have_attribute("data-old", "false")
    assert desk.python("print(view.verdict == f'a chunk of {view.answer().chunk_bytes:,} B')") == "True"
    desk.part("check").scroll_into_view_if_needed()
    assert not (told := objections(desk)), "\\n".join(told)
    desk.picture("checked-plan")
    desk.to_top()
    desk.picture("fixed-plan")


def test_a_given_machine_can_be_added_to(desk: harness.Notebook) -> None:
    desk.show(MACHINE)
    desk.to_top()
    desk.settled()
    assert desk.part("new-machine").count() == 0
    desk.part("canvas-memory-node0.sys").press("Enter")
    expect(desk.part("memory-name")).to_have_attribute("readonly", "")
    harness.assert_seen(desk.part("given"), "This is given: it stays as it is.")
    assert desk.part("delete-memory").count() == 0
    desk.picture("fixed-machine")
    before = int(desk.python("print(len(editor.answer().channels))"))
    desk.part("connect").select_option(index=1)
    desk.part("check").click()
    expect(said(desk)).to_contain_text(f"{before + 1} channels")
    expect(desk.part("channel-name")).not_to_have_attribute("readonly", "")
    desk.part("canvas-memory-node0.sys").press("Delete")
    expect(desk.part("error-canvas")).to_contain_text("The memory 'node0.sys' is given: it stays as it is.")
    assert not (told := objections(desk)), "\\n".join(told)
    desk.part("check").scroll_into_view_if_needed()
    desk.picture("checked-machine")


BESIDE = """
import isoviz
editor = isoviz.LayoutEditor("<x, F, y>", space={"x": 8, "y": 6}, fields={"a": "f4", "b": "f8"}, beside="<x_in=4, F, x_out, y>")
editor
"""
QUIET = """
import isoviz
view = isoviz.LinearizationView("<x_in=4, F, x_out, y>", space={"x": 6, "y": 5}, fields={"a": "f4", "b": "f8"}, quiet=True)
view
"""


def test_a_second_layout_stands_beside_the_edited_one(desk: harness.Notebook) -> None:
    desk.show(BESIDE)
    desk.to_top()
    beside = desk.part("beside")
    expect(beside).to_have_attribute("data-differs", "16")
    harness.assert_seen(desk.part("beside-words"), "differs from byte 16 on: here x = 4, y = 0 · a, beside it x = 0, y = 0 · b.")
    tape = desk.part("tape-source").locator("canvas").nth(1)
    marked = tape.evaluate("canvas => canvas.toDataURL()")
    desk.picture("beside-differs")
    desk.choose_layout("source", "<x_in=4, F, x_out, y>")
    expect(beside).to_have_attribute("data-differs", "")
    harness.assert_seen(desk.part("beside-words"), "stores the same bytes in the same order.")
    desk.at_rest()
    assert tape.evaluate("canvas => canvas.toDataURL()") != marked
    desk.python('editor.beside = "<y, x, F>"')
    expect(beside).to_have_attribute("data-differs", "4")
    desk.to_top()
    assert not (told := objections(desk)), "\n".join(told)
    desk.page.set_viewport_size({"width": 520, "height": 800})
    desk.to_top()
    harness.assert_seen(desk.part("beside-words"), "differs from byte 4 on")
    desk.picture("beside-narrow")
    desk.python("editor.beside = None")
    expect(beside).to_have_count(0)


WORDS = """e => [e, ...e.querySelectorAll('*')].flatMap(each => [...each.attributes])
  .filter(({name}) => /^(aria-|title|alt)/.test(name)).map(({value}) => value).join('\\n') + e.innerText"""


def test_a_quiet_view_says_nothing_of_memory(desk: harness.Notebook) -> None:
    desk.show(QUIET)
    desk.to_top()
    grid = desk.part("linearization-grid")
    seen = []
    for layout in ("<x_in=4, F, x_out, y>", "<y, x, F>"):
        desk.python(f"view.value = {layout!r}\nview.selection = None")
        desk.at_rest()
        grid.press("ArrowRight")
        desk.page.keyboard.press("n")
        grid.hover(position={"x": 90, "y": 60})
        expect(desk.explorer.locator("[data-fact=entry]")).to_contain_text("x = 1")
        desk.at_rest()
        desk.picture("quiet-view")
        words = str(desk.explorer.evaluate(WORDS))
        assert "x 6 by y 5" in words
        assert not re.search(r"byte|\bB\b|stride|offset|line|padding|fastest first|N and P|480|360", words), words
        pixels = [canvas.evaluate("canvas => canvas.toDataURL()") for canvas in grid.locator("canvas").all()]
        seen.append((words, *pixels))
        selected = desk.python("print(view.selection)")
        assert selected == "Entry(index={'x': 0, 'y': 0}, field='a')", "N does not follow memory"
    assert seen[0] == seen[1], "what is the same for all layouts tells nothing of them"
    assert not (told := objections(desk)), "\n".join(told)
    desk.python("view.reveal()")
    expect(desk.part("linearization-digits")).to_be_visible()
    harness.assert_seen(desk.part("linearization-facts"))
    assert "byte" in str(desk.explorer.evaluate(WORDS))


def test_an_entry_is_picked_and_checked_at_once(desk: harness.Notebook) -> None:
    code = 'lambda entry: Said("open", f"{entry.field} at {entry.index}")'
    space = 'space={"x": 6, "y": 5}, fields={"a": "f4", "b": "f8"}, quiet=True'
    desk.show(f'{CHECK}view = isoviz.LinearizationView("<x, F, y>", {space}, check={code})\nview')
    desk.to_top()
    grid = desk.part("linearization-grid")
    grid.wait_for()
    desk.part("check").click()
    harness.assert_seen(
        said(desk), "Not counted. No entry is selected; expected one: click it, or press arrow keys in the picture."
    )
    grid.click(position={"x": 90, "y": 60})
    desk.part("check").click()
    expect(said(desk)).to_contain_text("a at {'x': 1, 'y': 1}")
    expect(said(desk)).to_have_attribute("data-old", "false")
    for key in ("f", "ArrowRight"):
        grid.press(key)
    expect(said(desk)).to_have_attribute("data-old", "true")
    desk.page.keyboard.press("Tab")
    desk.page.keyboard.press("Enter")
    harness.assert_seen(said(desk), "b at {'x': 2, 'y': 1}")
    assert desk.python("print(view.verdict)") == "b at {'x': 2, 'y': 1}"
