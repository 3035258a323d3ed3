"""Exercise 3.1 in its pane, by mouse and keyboard alone: mistakes that people make, and the way to block sizes that are right."""

from __future__ import annotations

import re
from collections.abc import Iterator

import harness
import pytest
from axe import objections
from playwright.sync_api import Locator, expect

BEGIN = """\
import tempfile
from isoviz import course
from isoviz.course.classroom import new_folder

folder = tempfile.mkdtemp()
new_folder(folder, "ada", "a class")
course.start(folder)
view = course.pane("3.1")
view"""
RIGHT = "1,536", "768"
"""Blocks that are right for this learner, as the sliders say them: they fill the slot of 9 MiB."""


@pytest.fixture
def pane(desk: harness.Notebook) -> harness.Notebook:
    desk.show(BEGIN)
    desk.part("constraints").wait_for()
    desk.settled()
    desk.to_top()
    return desk


@pytest.fixture
def dark(pane: harness.Notebook) -> Iterator[harness.Notebook]:
    pane.choose_theme("Dark")
    yield pane
    pane.choose_theme("Light")


def size(notebook: harness.Notebook, dim: str) -> Locator:
    """The slider of a block size."""
    return notebook.part(f"by-hand-block-{dim}_in")


def press_to(notebook: harness.Notebook, dim: str, value: str) -> None:
    """Press arrow keys at a slider until it says a value."""
    slider = size(notebook, dim)
    slider.focus()
    wanted = int(value.replace(",", ""))
    for _ in range(40):
        said = int(str(slider.get_attribute("aria-valuetext")).replace(",", ""))
        if said == wanted:
            break
        notebook.page.keyboard.press("ArrowRight" if said < wanted else "ArrowLeft")
        notebook.frame()
        notebook.frame()
    expect(slider).to_have_attribute("aria-valuetext", value)


def blocks(notebook: harness.Notebook, x_in: str, y_in: str) -> None:
    press_to(notebook, "x", x_in)
    press_to(notebook, "y", y_in)


def checked(notebook: harness.Notebook, kind: str) -> Locator:
    """Press *Check* with the keyboard, and wait for a verdict of that kind on what is on screen."""
    notebook.part("check").focus()
    notebook.page.keyboard.press("Enter")
    said = notebook.part("verdict")
    expect(said).to_have_attribute("data-old", "false")
    expect(said).to_have_attribute("data-kind", kind)
    return said


def test_mistakes_get_hints_and_the_right_blocks_are_right(pane: harness.Notebook) -> None:
    expect(checked(pane, "wrong")).to_contain_text("How much of the slot is that?")
    blocks(pane, "1,024", "1,024")
    expect(checked(pane, "wrong")).to_contain_text("Do both ends need the same run")
    press_to(pane, "x", "6,144")
    expect(checked(pane, "wrong")).to_contain_text(re.compile("a chunk takes .* MiB, and a slot holds 9 MiB"))
    expect(pane.part("constraints")).to_contain_text("missing")
    blocks(pane, *RIGHT)
    expect(checked(pane, "right")).to_contain_text("every limit holds")
    pane.settled()
    expect(pane.part("constraints")).to_contain_text("all hold")
    kept = "print([(each.model, each.right) for each in course.lessons.learners_folder().progress.attempts('3.1')])"
    assert pane.python(kept) == ("[('both-runs-short', False), ('square-block', False), ('slot-forgotten', False), ('', True)]")
    pane.part("check").scroll_into_view_if_needed()
    pane.picture("course-paths-right")


def test_a_click_right_after_a_drag_judges_what_is_on_screen(pane: harness.Notebook) -> None:
    slider, check = size(pane, "y"), pane.part("check")
    pane.page.set_viewport_size({"width": 1280, "height": 1600})  # nothing scrolls between the drag and the click
    mouse = pane.page.mouse
    said = []
    for share in (0.9, 0.35, 0.6):
        pane.to_top()
        pane.at_rest()
        track = slider.bounding_box()
        assert track is not None
        at = str(slider.get_attribute("aria-valuetext"))
        place = float(slider.evaluate("slider => slider.value / slider.max"))
        mouse.move(track["x"] + 8 + (track["width"] - 16) * place, track["y"] + track["height"] / 2)
        mouse.down()
        mouse.move(track["x"] + track["width"] * share, track["y"] + track["height"] / 2, steps=6)
        mouse.up()
        check.click()  # nothing is waited for: the plan of this gesture is still to come
        verdict = pane.part("verdict")
        expect(slider).not_to_have_attribute("aria-valuetext", at)
        expect(verdict).to_have_attribute("data-old", "false")
        pane.settled()
        expect(verdict).to_have_attribute("data-old", "false")
        rate = pane.python("print(f'{view.answer().throughput / 1e9:.3f} GB/s')")
        expect(verdict).to_contain_text(rate)
        said.append(verdict.inner_text())
    assert len(set(said)) == 3


def test_the_point_of_the_blocks_is_dragged(pane: harness.Notebook) -> None:
    point = pane.part("region-point")
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    assert box is not None
    mouse = pane.page.mouse
    mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    mouse.down()
    mouse.move(box["x"] + 90, box["y"] - 70, steps=6)
    mouse.up()
    expect(size(pane, "x")).not_to_have_attribute("aria-valuetext", "64")
    said = checked(pane, "wrong")
    assert pane.python("print(f'{view.answer().throughput / 1e9:.3f} GB/s')") in said.inner_text()
    assert pane.part("back-to-planner").count() == 0, "the planner's own plan is no answer"


def objected(notebook: harness.Notebook, name: str) -> list[str]:
    """What axe says of a wrong and of a right answer, with pictures to look at."""
    told = []
    for kind, answer in (("wrong", ("1,024", "1,024")), ("right", RIGHT)):
        blocks(notebook, *answer)
        checked(notebook, kind)
        notebook.settled()
        told += objections(notebook)
        notebook.part("check").scroll_into_view_if_needed()
        notebook.picture(f"course-paths-{name}-{kind}")
    return told


@pytest.mark.full
def test_axe_finds_nothing(pane: harness.Notebook) -> None:
    assert not (told := objected(pane, "light")), "\n".join(told)


def test_axe_finds_nothing_in_the_dark(dark: harness.Notebook) -> None:
    assert not (told := objected(dark, "dark")), "\n".join(told)


@pytest.mark.parametrize(("width", "height"), [(480, 800), (640, 450)], ids=["narrow", "at 200 per cent"])
def test_a_small_window_shows_the_verdict_whole(pane: harness.Notebook, width: int, height: int) -> None:
    pane.page.set_viewport_size({"width": width, "height": height})  # 1280 × 900 at 200 per cent is 640 × 450
    blocks(pane, *RIGHT)
    checked(pane, "right")
    pane.settled()
    pane.part("check").scroll_into_view_if_needed()
    harness.assert_seen(pane.part("check"))
    harness.assert_seen(pane.part("verdict"), "every limit holds")
    pane.picture(f"course-paths-{width}")
