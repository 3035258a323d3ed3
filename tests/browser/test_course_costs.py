"""Exercise 2.4 in its two editors: one button checks what both of them have on screen."""

from __future__ import annotations

import json
from typing import NamedTuple

import harness
import pytest
from axe import objections
from playwright.sync_api import Locator, expect

BEGIN = """\
import json, tempfile
from isoviz import course
from isoviz.course.classroom import new_folder

folder = tempfile.mkdtemp()
new_folder(folder, "ada", "a class")
course.start(folder)
course.pane("2.4")"""


class Between(NamedTuple):
    """The layouts of blocks that do for this learner, behind the first hop and behind the second one."""

    first: str
    second: str


@pytest.fixture
def pane(desk: harness.Notebook) -> harness.Notebook:
    desk.show(BEGIN)
    desk.page.locator("[data-testid=explorer][data-busy=false]").nth(1).wait_for()
    desk.to_top()
    return desk


def right(notebook: harness.Notebook) -> Between:
    entry = {"float32": 4, "float64": 8, "complex64": 8, "complex128": 16}
    given = json.loads(notebook.python("print(json.dumps(course.given('2.4')))"))
    side = given["run"] // entry[given["fields"]["v"]]
    return Between(*(f"<F, {a}_in={side}, {b}_in={side}, x_out, y_out>" for a, b in ("xy", "yx")))


def editor(notebook: harness.Notebook, number: int) -> Locator:
    found: Locator = notebook.page.get_by_test_id("explorer").nth(number)
    return found


def text(notebook: harness.Notebook, number: int) -> Locator:
    """The layout of an editor as text."""
    return editor(notebook, number).get_by_test_id("source-layout")


def check(notebook: harness.Notebook) -> Locator:
    return editor(notebook, 1).get_by_test_id("check")


def said(notebook: harness.Notebook) -> Locator:
    return editor(notebook, 1).get_by_test_id("verdict")


def test_a_click_judges_what_both_editors_have_on_screen(pane: harness.Notebook) -> None:
    layouts = right(pane)
    assert pane.page.get_by_test_id("check").count() == 1
    check(pane).click()
    expect(said(pane)).to_contain_text("The hop between, <F, x, y> to <F, y, x>")
    for number, layout in enumerate(layouts):
        text(pane, number).fill(layout)
    check(pane).click()
    expect(said(pane)).to_contain_text("Right.")
    expect(said(pane)).to_contain_text(f"With {layouts.first} and {layouts.second}")
    pane.page.locator("svg text", has_text="The memories at the four stops").last.wait_for()
    text(pane, 0).fill("<F, x, y>")  # the other editor, and at once the button
    check(pane).click()
    expect(said(pane)).to_contain_text("Not yet.")
    text(pane, 0).fill("<F, x")
    check(pane).click()
    expect(said(pane)).to_have_attribute("data-kind", "unread")


def test_by_keyboard_alone(pane: harness.Notebook) -> None:
    keys = pane.page.keyboard
    for number, layout in enumerate(right(pane)):
        text(pane, number).focus()
        keys.press("ControlOrMeta+a")
        keys.insert_text(layout)
    for _ in range(8):
        keys.press("Tab")
        if check(pane).evaluate("element => element === document.activeElement"):
            break
    keys.press("Enter")
    expect(said(pane)).to_have_attribute("data-kind", "right")


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_axe_finds_nothing(pane: harness.Notebook, theme: str) -> None:
    pane.choose_theme(theme)
    try:
        check(pane).click()
        expect(said(pane)).to_have_attribute("data-kind", "wrong")
        told = [each for number in (0, 1) for each in objections(pane, editor(pane, number))]
        pane.picture(f"course-costs-{theme.lower()}")
        assert not told, "\n".join(told)
    finally:
        pane.choose_theme("Light")
