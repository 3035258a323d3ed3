"""A second layout beside the first, and views that say nothing of memory: as Python sets them, and as the browser gets them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
import traitlets

import isoviz
from isoviz.errors import InputError, LayoutError, NotationError
from isoviz.widgets import LayoutEditor, LinearizationView
from isoviz.widgets.notebook.static_picture import StaticPicture
from tests.waiting import until

SPACE, FIELDS = {"x": 8, "y": 6}, {"a": "f4", "b": "f8"}


@pytest.fixture(params=[LayoutEditor, LinearizationView])
def view(request: pytest.FixtureRequest) -> Iterator[LayoutEditor | LinearizationView]:
    with closing(request.param("<x, F, y>", space=SPACE, fields=FIELDS, beside="<F,x,y>", quiet=True)) as found:
        yield found


def test_a_layout_stands_beside_the_first(view: LayoutEditor) -> None:
    revision = view.frame["revision"]
    assert view.beside == isoviz.Layout("<F, x, y>") and view.beside_text == "<F, x, y>"
    view.beside = isoviz.Layout("<y, F, x>")
    assert view.beside_text == "<y, F, x>"
    assert until(lambda: view.frame["revision"] > revision), "the browser looks again"
    with pytest.raises(NotationError):
        view.beside = "<y, F"
    with pytest.raises(LayoutError, match="'q'"):
        view.beside = "<y, F, x, q>"
    with pytest.raises(traitlets.TraitError, match="beside: expected a Layout, its text, or None, got 3"):
        view.beside = 3
    assert view.beside == isoviz.Layout("<y, F, x>") and view.beside_text == "<y, F, x>"
    view.beside = None
    assert view.beside is None and view.beside_text == ""
    assert view.answer() == isoviz.Layout("<x, F, y>")


def test_a_quiet_view_tells_when_it_is_asked(view: LayoutEditor) -> None:
    assert view.quiet is True
    picture = StaticPicture(view.session, "0a", view.side, view.pane, lambda: view.is_quiet)
    told = picture._bundle("here")
    assert "<svg" not in told["text/html"] and "B" not in told["text/plain"].replace("F, y", "")
    assert "⟨x, F, y⟩" in told["text/plain"] and "x 8 × y 6" in told["text/plain"]
    view.reveal()
    assert view.quiet is False
    told = picture._bundle("here")
    assert "<svg" in told["text/html"] and "576 B" in told["text/plain"]


def test_quiet_is_true_or_false() -> None:
    with pytest.raises(InputError, match="LinearizationView, quiet: expected True or False"):
        LinearizationView("<x, F, y>", quiet="yes")  # type: ignore[arg-type]
