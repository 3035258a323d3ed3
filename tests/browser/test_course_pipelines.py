"""The exercise on chunks as a learner answers it in JupyterLab: by keyboard, by mouse, with mistakes, on every kind of page."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Literal

import harness
import pytest
from axe import objections
from playwright.sync_api import Browser, Locator, expect
from playwright.sync_api import TimeoutError as PageTimeout

from isoviz.course.checking import Shown, judged_again
from isoviz.course.classroom import drawn, new_folder, opened_folder
from isoviz.course.lessons import exercises_of

SOURCE = harness.ROOT / "notebooks" / "4-pipelines.ipynb"
CELLS = ("start", "statement-4-2", "answer-4-2")
EXERCISE = exercises_of(4)["4.2"]


class Answering:
    """The page of a learner: the cells of exercise 4.2, and what is said of an answer."""

    def __init__(self, notebook: harness.Notebook) -> None:
        self.notebook, self.page = notebook, notebook.page
        self.cell = self.page.locator(".jp-Notebook .jp-CodeCell").nth(2)
        self.said = self.page.locator(".jp-Notebook .jp-CodeCell").nth(2).locator(".isoviz-course")
        self.pictures = self.cell.locator("[data-isoviz=chunk-curves] svg")

    def write(self, answer: str) -> None:
        """Write an answer into the cell that the keyboard is in."""
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(f'answer = {answer}\ncourse.check("4.2", answer)')

    def by_keyboard(self, answer: str) -> None:
        """Answer without a mouse: from the command mode of the notebook, with the answer's cell selected."""
        self.page.keyboard.press("Enter")
        expect(self.page.locator(".jp-Notebook.jp-mod-editMode")).to_have_count(1)
        self.write(answer)
        self.page.keyboard.press("Control+Enter")

    def by_mouse(self, answer: str) -> None:
        """Answer with the pointer: into the cell, and the button that runs it."""
        self.cell.locator(".jp-InputArea-editor").click()
        self.write(answer)
        self.page.locator(".jp-NotebookPanel-toolbar [data-jp-item-name=run] jp-button").click()

    def expect(self, kind: str, text: str | re.Pattern[str]) -> None:
        """Wait until this is said."""
        expect(self.said).to_have_count(1)
        expect(self.said).to_contain_text(text)
        expect(self.said).to_have_attribute("data-kind", kind)


@pytest.fixture
def notebook(browser: Browser, lab: harness.Lab, request: pytest.FixtureRequest) -> Iterator[harness.Notebook]:
    """A notebook with the exercise alone, in the folder of a learner."""
    folder = lab.notebook.parent / request.node.name.replace("[", "-").replace("]", "")
    new_folder(folder, "ada", "a class")
    content = json.loads(SOURCE.read_text(encoding="utf-8"))
    content["cells"] = [cell for name in CELLS for cell in content["cells"] if cell["id"] == name]
    path = folder / SOURCE.name
    path.write_text(json.dumps(content), encoding="utf-8")
    notebook = harness.Notebook(browser, lab, path)
    notebook.page.goto(lab.document_url.replace(lab.notebook.name, f"{folder.name}/{path.name}"))
    notebook.page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
    notebook.wait_for_kernel()
    yield notebook
    notebook.close()


@pytest.fixture
def answering(notebook: harness.Notebook) -> Iterator[Answering]:
    found = Answering(notebook)
    for _ in range(4):  # JupyterLab, still connecting to its kernel, may drop the request unsaid
        notebook.choose_from_menu("Run", "Run All Cells")
        with contextlib.suppress(PageTimeout):
            found.said.wait_for(timeout=harness.PATIENCE / 4)
            break
    found.expect("open", "Not answered yet")
    yield found
    assert notebook.errors == []
    assert notebook.elsewhere == []


def right_answer(answering: Answering) -> str:
    """What is right on this learner's numbers."""
    folder = opened_folder(answering.notebook.path.parent)
    chunks = EXERCISE.right(folder.given(EXERCISE))
    return str((chunks["small"], chunks["large"]))


def select_by_keyboard(answering: Answering) -> None:
    """Go to the cell of the answer without a mouse."""
    page = answering.page
    page.keyboard.press("Escape")
    for _ in CELLS[1:]:
        page.keyboard.press("j")
    expect(answering.cell).to_have_class(re.compile("jp-mod-selected"))


def test_by_keyboard(answering: Answering) -> None:
    answering.page.locator(".jp-Notebook .jp-CodeCell .jp-InputArea-editor").first.click()
    select_by_keyboard(answering)
    answering.by_keyboard('("4 KiB", "4 KiB")')
    answering.expect("wrong", "Hop 0 pays 100 µs for every chunk")
    assert answering.pictures.count() == 0
    answering.by_keyboard('("8 KiB", "4 KiB")')
    answering.expect("wrong", re.compile(r"\d+ chunks: .* are latencies"))
    expect(answering.pictures).to_have_count(2)
    answering.by_keyboard(right_answer(answering))
    answering.expect("right", "times the bytes, but only")
    expect(answering.pictures.first).to_contain_text("your chunk")


@pytest.mark.full
def test_by_mouse(answering: Answering) -> None:
    answering.by_mouse('("2 GiB", "2 GiB")')
    answering.expect("wrong", "how long do hops 1 and 2 wait for the first one?")
    answering.by_mouse(right_answer(answering))
    answering.expect("right", "times the bytes, but only")


@pytest.mark.full
def test_mistakes_are_explained_and_not_counted(answering: Answering) -> None:
    for answer, said in (
        ("3", "expected (small, large), got 3"),
        ('("64 furlongs", "1 MiB")', "'furlongs' is no unit"),
        ('(-1, "1 MiB")', "not negative|at least 1"),
        ('("1 MiB", ...)', "one is still '...'"),
        ('{"small": 1024, "big": 2048}', "expected the names small, large"),
        ('("<img src=x onerror=alert(1)>", 1)', "<img src=x"),
    ):
        answering.by_mouse(answer)
        answering.expect("unread", re.compile(said if "|" in said else re.escape(said)))
        expect(answering.said).to_contain_text("not counted")
    assert answering.cell.locator(".isoviz-course img").count() == 0
    answering.by_mouse('("4 KiB", "4 KiB")')
    answering.expect("wrong", "How many chunks do you have?")  # the first hint: nothing before it was counted


def outside(view: Locator) -> list[str]:
    """What of a view a reader cannot reach: words beyond the right side of the page that nothing scrolls to."""
    return view.evaluate(
        """root => [...root.querySelectorAll("p, strong, svg")].filter(each => {
          const scrolls = each.closest("[data-isoviz]") ?? each.closest(".isoviz-course");
          return scrolls.getBoundingClientRect().right > innerWidth + 1
            || (each.tagName !== "svg" && each.scrollWidth > each.clientWidth + 1 && each.tagName === "P");
        }).map(each => each.textContent.slice(0, 60))"""
    )


@pytest.mark.full
@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_every_page_shows_it_whole(answering: Answering, theme: str) -> None:
    if theme == "Dark":
        answering.notebook.choose_theme("Dark")
    try:
        for number, answer in enumerate(('("4 KiB", "4 KiB")', '("8 KiB", "4 KiB")', right_answer(answering))):
            answering.by_mouse(answer)
            answering.expect("right" if number == 2 else "wrong", "T = ")
            if number == 0:
                continue
            expect(answering.pictures).to_have_count(2)
            answering.notebook.picture(f"course-4-2-{theme.lower()}-{number}")
            assert objections(answering.notebook, answering.cell.locator(".jp-OutputArea-output").last) == []
        for name, width, height in (("narrow", 480, 800), ("200-percent", 640, 450)):
            answering.page.set_viewport_size({"width": width, "height": height})
            answering.said.scroll_into_view_if_needed()
            answering.notebook.at_rest()
            answering.notebook.picture(f"course-4-2-{theme.lower()}-{name}")
            assert outside(answering.cell.locator(".jp-OutputArea-output").last) == []
    finally:
        answering.page.set_viewport_size({"width": 1280, "height": 900})
        if theme == "Dark":
            answering.notebook.choose_theme("Light")


@pytest.mark.full
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_verdict_and_picture_is_accessible(browser: Browser, scheme: Literal["light", "dark"]) -> None:
    parts = []
    for name, exercise in exercises_of(4).items():
        given = drawn(exercise, "a class")
        answers = [model.answer(given) for model in exercise.models] + [exercise.right(given)]
        for answer in answers:
            if answer is not None:
                found = judged_again(exercise, exercise.kind.keep(answer), given).verdict
                shown = Shown("right" if found.right else "wrong", name, found.says, found.cost, picture=found.picture)
                parts.append(shown._repr_html_())
    assert len(parts) > 25
    page = browser.new_page(color_scheme=scheme, viewport={"width": 1000, "height": 900})
    colours = "background:#111;color:#eee" if scheme == "dark" else "background:#fff;color:#111"
    page.set_content(f'<html lang="en"><title>Course</title><body style="{colours}"><main>{"".join(parts)}</main></body></html>')
    assert objections(SimpleNamespace(page=page, at_rest=lambda: None), page.locator("main")) == []
    page.close()
