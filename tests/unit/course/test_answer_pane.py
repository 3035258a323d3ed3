"""Panes of exercises: the button judges what is on screen, the same is taken by `check`, and a picture stands below."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ipywidgets import Widget

from isoviz import course
from isoviz.course.checking import Shown
from isoviz.course.lessons import AnswerPane
from isoviz.errors import InputError
from isoviz.widgets.notebook import static_picture


class Drawn:
    """A picture of the tests."""

    def _repr_html_(self) -> str:
        return "<svg>drawn</svg>"


class Quiet:
    """A pane without a browser."""

    size = 3

    def __init__(self, check: Callable[[Any], Shown]) -> None:
        self.check = check

    def show(self) -> None:
        pass


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, bool]]]:
    found: list[tuple[str, bool]] = []
    monkeypatch.setattr(static_picture, "is_in_kernel", lambda: True)

    def publish(data: dict[str, str], *, transient: dict[str, str], update: bool) -> None:
        assert len(transient["display_id"]) == 32
        found.append((data["text/html"], update))

    monkeypatch.setattr("IPython.display.publish_display_data", publish)
    yield found
    Widget.close_all()


def test_the_picture_of_the_last_answer_stands_below(published: list[tuple[str, bool]]) -> None:
    pane = AnswerPane(Quiet, lambda answer: Shown("wrong", "1.2", answer, picture=Drawn if answer == "drawn" else None))
    assert pane.check("drawn").kind == "wrong"
    assert published == []  # it is not shown yet
    pane._ipython_display_()
    pane.check("without")
    pane.check("drawn")
    pane.check("drawn")
    pane.check("without")
    assert published == [("<div></div>", False), ("<svg>drawn</svg>", True), ("<div></div>", True)]
    assert pane.size == 3


def test_the_pane_itself_is_an_answer(folder: Path) -> None:
    editor = course.pane("1.2")
    assert course.check("1.2", editor).kind == "wrong"
    given = course.lessons.learners_folder().given(course.lessons.exercise("1.2"))
    editor.pane.value = given["layout"]
    assert str(editor.value) == given["layout"]
    assert course.check("1.2", editor).right
    assert repr(editor) == f"<isoviz layout editor: {given['layout']}>"
    Widget.close_all()


def test_an_exercise_without_a_pane_says_so(folder: Path) -> None:
    with pytest.raises(InputError, match=r"without a pane; expected check\('1\.4'"):
        course.pane("1.4")
