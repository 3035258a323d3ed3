"""The first exercises of the course in JupyterLab: a prediction in a cell, a layout in a pane, with the mistakes people make."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import harness
import pytest
from axe import objections
from playwright.sync_api import Locator, expect

from isoviz.course.classroom import drawn, learner_seed
from isoviz.course.lessons import exercise

BEGIN = """\
import tempfile
from isoviz import course
from isoviz.course import lessons
from isoviz.course.classroom import new_folder
folder = tempfile.mkdtemp()
new_folder(folder, "ada", "a class")
course.start(folder)
"""
ATTEMPTS = "import json; print(json.dumps([each.answer for each in lessons.learners_folder().progress.attempts({!r})]))"
SEED = learner_seed("a class", "ada")
BYTE, TAPE = drawn(exercise("1.1"), SEED), drawn(exercise("1.2"), SEED)
SPLIT, BLOCK = TAPE["split"], TAPE["block"]
KEYS = [
    "F" if part == "F" else f"{part[0]}:{int(part.endswith('_out'))}"
    for part in TAPE["layout"].strip("<>").replace(" ", "").split(",")
]
"""The chips of the asked layout, in their order."""


@pytest.fixture
def pane(desk: harness.Notebook) -> Iterator[harness.Notebook]:
    """The pane of exercise 1.2, with a folder of its own."""
    desk.show(BEGIN + 'pane = course.pane("1.2")\npane')
    desk.to_top()
    yield desk
    desk.page.set_viewport_size({"width": 1280, "height": 900})


def attempts(notebook: harness.Notebook, name: str) -> Any:
    return json.loads(notebook.python(ATTEMPTS.format(name)))


def said(notebook: harness.Notebook) -> Locator:
    return notebook.part("verdict")


def in_text(notebook: harness.Notebook) -> str:
    return notebook.part("source-layout").input_value()


def check(notebook: harness.Notebook, kind: str) -> None:
    """Press the button, and wait for the verdict on what is on screen."""
    notebook.part("check").click()
    expect(said(notebook)).to_have_attribute("data-old", "false")
    expect(said(notebook)).to_have_attribute("data-kind", kind)


def answer(notebook: harness.Notebook, text: str) -> Locator:
    """The verdict on an answer to 1.1, as a learner gives it in a cell."""
    notebook.show(f'{BEGIN}{text}\ndisplay(course.check("1.1", answer))\ncourse.pane("1.2")')
    return notebook.page.locator(".jp-CodeCell").first.locator(".isoviz-course")


# ---- 1.1: a number in a cell


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ("...", "open", "Not answered yet"),
        ("'twelve'", "unread", "not counted"),
        ("(3, 4)", "unread", "a whole number such as 24 or '24 B'"),
        ("'{right} lines'", "unread", "is no unit"),
        ("'{right} bytes'", "right", "Right at the first attempt"),
        ("{right} + 1", "wrong", "Not yet. At byte"),
        ("'{right} B'", "right", "Right at the first attempt"),
    ],
)
def test_a_prediction_is_told_with_both_bytes(desk: harness.Notebook, given: str, kind: str, words: str) -> None:
    right = exercise("1.1").right(BYTE)
    verdict = answer(desk, "answer = " + given.format(right=right))
    expect(verdict).to_have_attribute("data-kind", kind)
    expect(verdict).to_contain_text(words)
    drawing = desk.page.locator(".jp-CodeCell").first.locator("svg[role=img]")
    marks = drawing.locator("text", has_text=re.compile("your byte|asked: byte"))
    expect(marks).to_have_count({"wrong": 2, "right": 1}.get(kind, 0))
    assert attempts(desk, "1.1") == ([] if kind in ("open", "unread") else [right + (kind == "wrong")])


@pytest.mark.few(1)
@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_axe_finds_nothing_in_a_verdict_and_its_picture(desk: harness.Notebook, theme: str) -> None:
    desk.choose_theme(theme)
    try:
        verdict = answer(desk, "answer = 0")
        output = desk.page.locator(".jp-OutputArea-output", has=desk.page.locator(".isoviz-course")).first
        expect(output.locator("svg[role=img]")).to_have_count(1)
        told = objections(desk, output)
        verdict.scroll_into_view_if_needed()
        desk.picture(f"course-byte-{theme.lower()}")
        assert not told, "\n".join(told)
    finally:
        desk.choose_theme("Light")


# ---- 1.2: chips


def test_by_mouse_with_mistakes(pane: harness.Notebook) -> None:
    check(pane, "wrong")  # before anything is done
    assert attempts(pane, "1.2") == ["<F, x, y>"]
    harness.assert_seen(said(pane), re.compile(r"Not yet\. The first \d+ bytes of both tapes are the same"))
    # A text that is no layout is not counted, and neither is the same answer once more.
    pane.part("source-layout").fill("<F, x")
    check(pane, "unread")
    pane.choose_layout("source", "<F, x, y>")
    check(pane, "wrong")
    assert attempts(pane, "1.2") == ["<F, x, y>"]
    # The second wrong answer of a kind gets the picture below the pane, with what is on screen in it.
    pane.drag_chip("source", "F", "y:0")
    before = pane.part("check").bounding_box()
    check(pane, "wrong")
    drawing = pane.page.locator(".jp-CodeCell").first.locator("svg[role=img]", has_text="the first difference")
    expect(drawing).to_have_count(1)
    expect(drawing.locator("text", has_text="yours").first).to_be_visible()
    pane.at_rest()
    assert pane.part("check").bounding_box() == before, "the page stays where it is"
    # Now as it is asked, by mouse alone.
    pane.chip("source", f"{SPLIT}:0").click()
    pane.part("block-number").fill(str(BLOCK))
    pane.part("block-number").press("Enter")
    expect(pane.chip("source", f"{SPLIT}:0")).to_have_text(re.compile(f"{SPLIT}_in"))
    pane.settled()
    for place, key in enumerate(KEYS):
        while (at := keys(pane)).index(key) != place:
            pane.drag_chip("source", key, at[at.index(key) - 1])
            pane.settled()
    assert in_text(pane) == TAPE["layout"]
    check(pane, "right")
    harness.assert_seen(said(pane), "has this tape, from the first byte to the last")
    expect(drawing).to_have_count(0)
    assert attempts(pane, "1.2")[-1] == TAPE["layout"]


def keys(notebook: harness.Notebook) -> list[str]:
    chips = notebook.part("layout-editor-source").locator(".iv-edit-chip")
    return list(chips.evaluate_all("chips => chips.map(chip => chip.dataset.key)"))


def test_a_click_right_after_a_drag_judges_what_is_on_screen(pane: harness.Notebook) -> None:
    check(pane, "wrong")
    seen = []
    for key, to in (("F", "x:0"), ("F", "y:0"), ("x:0", "y:0")):
        pane.at_rest()  # JupyterLab scrolls for a verdict
        pane.drag_chip("source", key, to)
        pane.part("check").click(force=True)  # it waits for nothing; where the button is follows JupyterLab's scrolling
        seen.append(in_text(pane))
        expect(pane.part("check-bar")).to_have_attribute("data-checking", "false")
        expect(said(pane)).to_have_attribute("data-old", "false")
    assert len(set(seen)) == 3
    assert attempts(pane, "1.2") == ["<F, x, y>", *seen]


def test_by_keyboard_alone(pane: harness.Notebook) -> None:
    press = pane.page.keyboard.press
    pane.chip("source", "F").focus()
    go(pane, f"{SPLIT}:0")
    press("Enter")
    expect(pane.part("block-number")).to_be_focused()
    press("ControlOrMeta+a")
    pane.page.keyboard.type(str(BLOCK))
    press("Enter")
    expect(pane.chip("source", f"{SPLIT}:0")).to_have_text(re.compile(f"{SPLIT}_in"))
    press("Escape")
    for place, key in enumerate(KEYS):
        go(pane, key)
        press("Home")
        for _ in range(place):
            press("ArrowRight")
    assert keys(pane) == KEYS
    for _ in range(8):
        press("Tab")
        if pane.part("check").evaluate("element => element === document.activeElement"):
            break
    press("Enter")
    expect(said(pane)).to_have_attribute("data-kind", "right")
    expect(said(pane)).to_have_attribute("role", "status")
    assert attempts(pane, "1.2") == [TAPE["layout"]]


def go(notebook: harness.Notebook, key: str) -> None:
    """Go from chip to chip by the arrows."""
    chip = notebook.chip("source", key)
    for arrow in ["ArrowDown"] * 5 + ["ArrowUp"] * 9:
        if chip.evaluate("element => element === document.activeElement"):
            return
        notebook.page.keyboard.press(arrow)
    expect(chip).to_be_focused()


@pytest.mark.few(1)
@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_axe_finds_nothing_in_the_pane(pane: harness.Notebook, theme: str) -> None:
    pane.choose_theme(theme)
    try:
        check(pane, "wrong")
        pane.choose_layout("source", "<x, y, F>")
        check(pane, "wrong")
        told = objections(pane)
        below = pane.page.locator(".jp-CodeCell").first.locator(".jp-OutputArea-output", has_text="the first difference").last
        told += objections(pane, below)
        pane.picture(f"course-tape-{theme.lower()}")
        assert not told, "\n".join(told)
    finally:
        pane.choose_theme("Light")


@pytest.mark.few(1)
@pytest.mark.parametrize("width", [420, 640])
def test_nothing_is_cut_off_where_there_is_little_room(pane: harness.Notebook, width: int) -> None:
    """640 pixels are a window of 1280 at 200 %."""
    pane.page.set_viewport_size({"width": width, "height": 700})
    pane.choose_layout("source", TAPE["layout"])
    pane.to_top()
    for key in KEYS:
        harness.assert_seen(pane.chip("source", key))
    pane.choose_layout("source", "<x, y, F>")
    check(pane, "wrong")
    said(pane).scroll_into_view_if_needed()
    harness.assert_seen(said(pane), "of both tapes are the same")
    harness.assert_seen(pane.part("check"))
    pane.picture(f"course-tape-{width}")
