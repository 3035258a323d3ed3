"""Panes alone: values bound in both directions, sessions shared and released."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import traitlets

import isoviz
from isoviz.errors import InputError
from isoviz.layouts import FieldSpace, IndexSpace, Layout
from isoviz.widgets import Entry, Explorer, LayoutEditor, LinearizationView, Session
from isoviz.widgets.chosen.settings import settings_for
from isoviz.widgets.consequences import derive
from isoviz.widgets.notebook.static_picture import StaticPicture

SPACE = {"x": 8, "y": 6}
FIELDS = {"a": "float32", "b": "float64"}
Make = Callable[..., Any]


@pytest.fixture
def made() -> Iterator[Callable[[Any], Any]]:
    """Closes what a test makes; no thread may be left."""
    found: list[Any] = []
    before = set(threading.enumerate())

    def keep(widget: Any) -> Any:
        found.append(widget)
        return widget

    yield keep
    for widget in reversed(found):
        widget.close()
    for thread in set(threading.enumerate()) - before:
        if thread.name.startswith("isoviz"):
            thread.join(120)
            assert not thread.is_alive(), thread.name


def settle(session: Session) -> None:
    """Until everything asked for is done; demands nothing, as a view is there that demands its layouts."""
    assert session._views
    session.wait()


def typed(view: Explorer, text: str) -> None:
    """What a browser sends."""
    view._receive(view, {"kind": "set", "field": f"{view.side}-layout", "value": text, "client": "a page", "number": 1}, [])
    settle(view.session)


def test_a_layout_alone_is_compared_with_nothing(made: Make) -> None:
    editor = made(isoviz.LayoutEditor("<x, y, F>", space=SPACE, fields=FIELDS))
    assert editor.frame["bothEnds"] is False
    assert made(isoviz.LinearizationView(editor)).frame["bothEnds"] is False
    session = made(Session())
    assert made(isoviz.LayoutEditor(session=session, side="destination")).frame["bothEnds"] is True


def test_two_lines_in_a_notebook(made: Make) -> None:
    editor = made(isoviz.LayoutEditor("<x, y, F>", space=SPACE, fields=FIELDS))
    assert isinstance(editor.value, isoviz.Layout)
    assert editor.value == Layout("<x, y, F>")
    assert (editor.pane, editor.side, editor.problem) == ("layout-editor", "source", "")
    assert repr(editor) == "<isoviz layout editor: <x, y, F>>"
    view = made(isoviz.LinearizationView("<F, x, y>", space=SPACE, fields=FIELDS))
    assert view.value == Layout("<F, x, y>")
    assert view.selection is None
    settle(view.session)
    assert view.linearization == Layout("<F, x, y>").on(IndexSpace(x=8, y=6), FieldSpace(a="float32", b="float64"))


def test_what_is_typed_becomes_the_value(made: Make) -> None:
    editor = made(LayoutEditor("<x, y, F>", space=SPACE, fields=FIELDS))
    seen: list[Layout] = []
    editor.observe(lambda change: seen.append(change["new"]), names="value")
    typed(editor, "<x_in=4, F, y, x_out>")
    assert editor.value == Layout("<x_in=4, F, y, x_out>")
    assert seen == [editor.value]


@pytest.mark.parametrize(
    ("text", "words"), [("<x, y", "text ends"), ("hello", "."), ("<x, F>", "'y' is missing"), ("<x, y, F, q>", "'q'"), ("", ".")]
)
def test_a_text_that_is_wrong_keeps_the_last_value_and_says_why(made: Make, text: str, words: str) -> None:
    editor = made(LayoutEditor("<x, y, F>", space=SPACE, fields=FIELDS))
    typed(editor, text)
    assert editor.value == Layout("<x, y, F>")
    assert editor.problem
    assert words in editor.problem or words == "."
    typed(editor, "<y, x, F>")
    assert (editor.value, editor.problem) == (Layout("<y, x, F>"), "")
    editor.value = text
    assert editor.value == Layout("<y, x, F>")
    assert editor.problem
    settle(editor.session)
    assert editor.value == Layout("<y, x, F>")
    assert editor.problem
    assert editor.session.settings.source.layout == text, "the mistake is shown where it can be corrected"


def test_a_value_that_is_set_is_there_at_once_and_shown(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoviz.widgets.steps.PAUSE", 60.0)
    editor = made(LayoutEditor("<x, y, F>", space=SPACE, fields=FIELDS))
    for value in (Layout("<y, F, x>"), "<F, y, x>", "<y_in=2, x, F, y_out>"):
        editor.value = value
        assert editor.value == Layout(value)
        settle(editor.session)
        assert editor.value == Layout(value)
        assert Layout(editor.session.settings.source.layout) == Layout(value)
    editor.session.undo()
    settle(editor.session)
    assert editor.value == Layout("<x, y, F>"), "what is set one after the other is one step"


def test_many_values_in_a_row_never_go_back(made: Make) -> None:
    editor = made(LayoutEditor("<x, y, F>", space=SPACE, fields=FIELDS))
    texts = ["<x, y, F>", "<y, x, F>", "<F, x, y>", "<y, F, x>"] * 20
    for text in texts:
        editor.value = text
        assert editor.value == Layout(text)
    settle(editor.session)
    assert editor.value == Layout(texts[-1])


def test_a_linearization_brings_its_spaces(made: Make) -> None:
    linear = Layout("<u, F, v>").on(IndexSpace(u=4, v=3), FieldSpace(p="int16", q=[("r", "f4"), ("s", "u1")]))
    editor = made(LayoutEditor(linear))
    settle(editor.session)
    assert editor.linearization is not None
    assert editor.linearization.nbytes == linear.nbytes
    other = Layout("<F, w>").on(IndexSpace(w=7), FieldSpace(z="float64"))
    editor.value = other
    settle(editor.session)
    assert (editor.value, editor.linearization, editor.problem) == (Layout("<F, w>"), other, "")


@pytest.mark.parametrize("value", [5, None, object(), ["<x, F>"]])
def test_a_value_that_is_nothing_of_the_kind_is_refused(made: Make, value: object) -> None:
    editor = made(LayoutEditor("<x, y, F>", space=SPACE, fields=FIELDS))
    with pytest.raises(traitlets.TraitError, match="expected a Layout"):
        editor.value = value
    assert editor.value == Layout("<x, y, F>")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "expected a layout"),
        ({"layout": "<x, F"}, "layout"),
        ({"layout": "<x, F>", "space": SPACE}, "'y'"),
        ({"layout": "<x, y, F>", "space": SPACE, "fields": {"a": "what"}}, "not a NumPy dtype"),
        ({"layout": "<x, F>", "side": "left"}, "expected source or destination"),
        ({"layout": Layout("<x, F>").on(IndexSpace(x=2), FieldSpace(a="u1")), "space": {"x": 2}}, "its own space"),
    ],
)
@pytest.mark.parametrize("kind", [LayoutEditor, LinearizationView])
def test_what_cannot_be_is_refused_in_words(made: Make, kind: Any, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        kind(**arguments)


def test_without_spaces_small_ones_are_made_up(made: Make) -> None:
    view = made(LinearizationView("<x_in=4, F, x_out>"))
    settle(view.session)
    assert view.linearization is not None
    assert view.problem == ""


def test_a_view_of_an_editor_follows_it(made: Make) -> None:
    editor = made(LayoutEditor("<x, y, F>", space=SPACE, fields=FIELDS))
    view = made(LinearizationView(editor))
    assert view.session is editor.session
    typed(editor, "<y, F, x>")
    assert view.value == Layout("<y, F, x>")
    view.value = "<F, x, y>"
    settle(editor.session)
    assert editor.value == Layout("<F, x, y>")
    view.close()
    typed(editor, "<y, x, F>")
    assert editor.value == Layout("<y, x, F>"), "it is the editor's session"


def test_the_selection_goes_both_ways(made: Make) -> None:
    view = made(LinearizationView("<x, y, F>", space=SPACE, fields=FIELDS))
    other = made(LinearizationView(view))
    settle(view.session)
    seen: list[Entry | None] = []
    other.observe(lambda change: seen.append(change["new"]), names="selection")
    view.selection = {"x": 3, "y": 2}, "b"
    assert view.selection == Entry({"x": 3, "y": 2}, "b")
    settle(view.session)
    assert other.selection == Entry({"x": 3, "y": 2}, "b")
    entry = {"index": [("x", 1), ("y", 0)], "field": "a"}
    selection = {"entry": entry, "chunk": None, "time": None, "stop": None, "hop": None}
    view._receive(view, {"kind": "select", "selection": selection, "client": "a page", "number": 1}, [])
    settle(view.session)
    assert view.selection == other.selection == Entry({"x": 1, "y": 0}, "a")
    view.selection = None
    settle(view.session)
    assert other.selection is None
    assert seen == [Entry({"x": 3, "y": 2}, "b"), Entry({"x": 1, "y": 0}, "a"), None]


@pytest.mark.parametrize("value", [({"x": 8, "y": 0}, "a"), ({"x": 0}, "a"), ({"x": 0, "y": 0}, "c"), 7, "x", ({"x": "?"}, "a")])
def test_an_entry_that_is_not_there_cannot_be_selected(made: Make, value: Any) -> None:
    view = made(LinearizationView("<x, y, F>", space=SPACE, fields=FIELDS))
    settle(view.session)
    with pytest.raises(traitlets.TraitError, match="selection"):
        view.selection = value
    assert view.selection is None


def test_it_shares_the_session_of_an_explorer(made: Make) -> None:
    explorer = made(Explorer(settings_for(machine_options={"measure": "assumed"}, space=SPACE, fields=FIELDS)))
    settle(explorer.session)
    editor = made(LayoutEditor(session=explorer, side="destination"))
    assert editor.value == Layout("<x, y, F>")
    editor.value = "<y, x, F>"
    settle(explorer.session)
    assert explorer.session.plan is not None
    assert str(explorer.session.plan.transfer.destination.layout) == "<y, x, F>"
    view = made(LinearizationView("<F, y, x>", session=explorer.session))
    settle(explorer.session)
    assert view.value == Layout("<F, y, x>")
    assert explorer.session.settings.source.layout == "<F, y, x>"
    editor.close()
    view.close()
    typed_text = {"kind": "set", "field": "source-layout", "value": "<F, x, y>"}
    explorer.session.send(typed_text)
    settle(explorer.session)
    assert view.value == Layout("<F, y, x>"), "a view that is closed hears nothing"
    with pytest.raises(InputError, match="those of the session"):
        LayoutEditor(session=explorer, space=SPACE)
    with pytest.raises(InputError, match="expected one of them"):
        LinearizationView(explorer, session=explorer.session)


def test_a_pane_alone_makes_no_machine_and_no_plan(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(derive, "machine_versions", lambda *more: asked.append(more))
    editor = made(LayoutEditor("<x, y, F>", space=SPACE, fields=FIELDS))
    view = made(LinearizationView(editor))
    typed(editor, "<y, x, F>")
    assert view.value == Layout("<y, x, F>")
    assert asked == []
    assert editor.session.state.derived.plan is None


def test_values_of_two_sessions_can_be_linked(made: Make) -> None:
    one = made(LayoutEditor("<x, y, F>", space=SPACE, fields=FIELDS))
    two = made(LinearizationView("<F, x, y>", space={"x": 16, "y": 4}, fields=FIELDS))
    link = traitlets.link((one, "value"), (two, "value"))
    assert two.value == Layout("<x, y, F>")
    typed(two, "<y, F, x>")
    settle(one.session)
    assert one.value == Layout("<y, F, x>")
    link.unlink()


def test_an_observer_that_raises_does_not_end_the_pane(made: Make) -> None:
    editor = made(LayoutEditor("<x, y, F>", space=SPACE, fields=FIELDS))

    def broken(_change: Any) -> None:
        raise RuntimeError("an observer of the caller")

    editor.observe(broken, names="value")
    typed(editor, "<y, x, F>")
    editor.unobserve(broken, names="value")
    typed(editor, "<y, F, x>")
    assert editor.value == Layout("<y, F, x>")


def test_what_was_set_in_one_view_is_in_the_other_at_once() -> None:
    editor = LayoutEditor("<F, x, y>", space={"x": 8, "y": 6}, fields={"a": "float32"})
    view = LinearizationView(editor)
    try:
        for number in range(30):
            text = f"<x_in={number % 7 + 2}, F, y, x_out>"
            editor.value = text
            assert view.linearization is not None
            assert str(view.linearization.layout) == text
    finally:
        view.close()
        editor.close()


def test_a_switch_alone_is_given_to_the_browser_and_its_picture_to_viewers_without_a_kernel(made: Make) -> None:
    switch = isoviz.vortex.Switch(heights=16, angles=4, inputs=[0, 2], outputs=[1])
    view = made(isoviz.SwitchView(switch))
    assert (view.pane, view.part_switch) == ("switch", {"heights": 16, "angles": 4, "inputs": [0, 2], "outputs": [1]})
    drawn = StaticPicture(view.session, "0a", pane="switch")._repr_mimebundle_()["text/html"]
    assert "cylinder 4" in drawn and "32 inputs" in drawn and "Source" not in drawn
    with pytest.raises(InputError, match=r"SwitchView.*expected a switch.*got 16"):
        isoviz.SwitchView(16)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"16,384 heights at 1 angles are too many for the browser.*at most 8,192"):
        isoviz.SwitchView(isoviz.vortex.Switch(16_384))
    assert made(isoviz.SwitchView(isoviz.vortex.Switch(8_192))).part_switch is not None
