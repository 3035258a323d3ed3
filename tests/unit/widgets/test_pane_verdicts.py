"""Panes alone with a check: what is judged, in which thread, and for how long a verdict holds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import pytest

import isoviz
from isoviz.errors import InputError
from isoviz.schema import plain
from isoviz.widgets import Entry, LayoutEditor, LinearizationView, MachineEditor, PlanView, Session
from isoviz.widgets.chosen.settings import ByHand
from isoviz.widgets.commands.command import CheckAsked
from isoviz.widgets.commands.explorer_commands import read_command
from isoviz.widgets.contract import WIRE
from isoviz.widgets.views.checked_pane import CheckedPane
from tests.waiting import until

SPACE, FIELDS = {"x": 8, "y": 6}, {"a": "f4", "b": "f8"}
TRANSFER = isoviz.Transfer.whole(
    isoviz.IndexSpace(x=1024, y=1024),
    isoviz.FieldSpace(value="complex128"),
    source=("node0.fbm0", "<F, x, y>"),
    destination=("node1.fbm0", "<F, y, x>"),
)


@dataclass(frozen=True)
class Said:
    kind: str
    text: str

    def __str__(self) -> str:
        return self.text


def wants(layout: str) -> Callable[[isoviz.Layout], Said]:
    def check(found: isoviz.Layout) -> Said:
        return Said("right", f"Right: {found}.") if found == isoviz.Layout(layout) else Said("wrong", f"{found} is another one.")

    return check


def send(pane: CheckedPane, **command: Any) -> None:
    pane._receive(pane, {"client": "a", "number": 1, **command}, None)


def press(pane: CheckedPane, **seen: Any) -> None:
    """What the button sends: what is on screen, which is what the session has but for `seen`."""
    told = plain(pane.session.settings, WIRE)
    shown = {**{key: told[key] for key in ("dimensions", "fields", "byHand")}, "source": told["source"]["layout"]}
    send(pane, kind="check", **{**shown, "destination": told["destination"]["layout"], "entry": None, **seen})


def verdict_of(pane: CheckedPane) -> dict[str, Any]:
    """What the browser shows once nothing is under way."""
    assert until(lambda: pane.checked is not None and pane.checked["text"] != "" and not pane.checked["busy"])
    return dict(pane.checked)


@pytest.fixture
def editor() -> Iterator[LayoutEditor]:
    with closing(LayoutEditor("<x, F, y>", space=SPACE, fields=FIELDS, check=wants("<F, x, y>"))) as found:
        yield found


def test_a_pane_without_a_check_has_no_button() -> None:
    with closing(LayoutEditor("<x, F, y>", space=SPACE)) as editor:
        assert editor.checked is None and editor.verdict is None
        press(editor)
        editor.session.wait()
        assert editor.checked is None and editor.session.state.refused is None


@pytest.mark.parametrize("check", [3, "right", Said])
def test_a_check_is_a_function(check: Any) -> None:
    with pytest.raises(InputError, match="LayoutEditor, check: expected a function that takes the value on screen"):
        LayoutEditor("<x, F, y>", space=SPACE, check=check)


def test_what_is_judged_is_what_the_click_carries(editor: LayoutEditor) -> None:
    press(editor)
    assert verdict_of(editor) == {"busy": False, "kind": "wrong", "text": "<x, F, y> is another one.", "fresh": True}
    press(editor, source="<F, x, y>")  # the drag itself is still on its way
    assert until(lambda: editor.checked["kind"] == "right")
    assert editor.checked["text"] == "Right: <F, x, y>." and not editor.checked["fresh"]
    assert editor.verdict is None and str(editor.answer()) == "<x, F, y>"
    send(editor, kind="set", field="source-layout", value="<F, x, y>", number=2)
    assert until(lambda: editor.checked["fresh"])
    assert editor.verdict == "Right: <F, x, y>."


def test_a_click_after_many_gestures_judges_the_last(editor: LayoutEditor) -> None:
    for turn in range(40):
        send(editor, kind="set", field="source-layout", value=["<y, x, F>", "<x, y, F>", "<F, y, x>", "<F, x, y>"][turn % 4])
    press(editor, source="<F, x, y>")
    send(editor, kind="set", field="source-layout", value="<F, y, x>")
    assert verdict_of(editor)["text"] == "Right: <F, x, y>."
    assert not verdict_of(editor)["fresh"] and str(editor.answer()) == "<F, y, x>"


def test_a_verdict_belongs_to_its_value(editor: LayoutEditor) -> None:
    seen: list[Any] = []
    editor.observe(lambda change: seen.append(change["new"]), names="verdict")
    press(editor)
    assert until(lambda: editor.verdict is not None)
    assert editor.verdict == "<x, F, y> is another one."
    editor.value = "<F, x, y>"
    assert until(lambda: editor.verdict is None)
    editor.session.undo()
    assert until(lambda: editor.verdict is not None)
    assert until(lambda: verdict_of(editor)["fresh"]) and seen == ["<x, F, y> is another one.", None, "<x, F, y> is another one."]


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ({"source": "<x, y"}, r"'<x, y', character 6: The text ends; expected ',' or '>'."),
        ({"source": "<x, F>"}, "'y' is missing"),
        ({"source": ""}, ""),
        ({"dimensions": [{"key": 1, "name": "x", "value": "-3"}, {"key": 2, "name": "y", "value": "6"}]}, "'-3'"),
    ],
)
def test_where_there_is_no_value_nothing_is_called(shown: dict[str, Any], words: str) -> None:
    called: list[object] = []

    def check(value: object) -> Said:
        called.append(value)
        return Said("right", "Right.")

    with closing(LayoutEditor("<x, F, y>", space=SPACE, check=check)) as editor:
        press(editor, **shown)
        told = verdict_of(editor)
        assert told["kind"] == "unread" and words in told["text"] and called == []


def fails(value: object) -> Said:
    raise ZeroDivisionError(f"by {value}")


def ends(_: object) -> Said:
    raise SystemExit


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (fails, "The check could not judge this, by a mistake of its own: ZeroDivisionError: by <x, F, y>."),
        (ends, "The check could not judge this, by a mistake of its own: SystemExit."),
        (
            lambda _: True,
            "The check gave no verdict: expected something with a kind (right, wrong, unread, open) and a text, got True.",
        ),
        (lambda _: Said("green", "Good."), "The check gave no verdict: expected something with a kind"),
        (lambda _: Said("right", " "), "The check gave no verdict"),
    ],
)
def test_a_check_with_a_mistake_says_a_sentence(check: Callable[[Any], Any], words: str) -> None:
    with closing(LayoutEditor("<x, F, y>", space=SPACE, check=check)) as editor:
        press(editor)
        told = verdict_of(editor)
        assert told["kind"] == "unread" and told["text"].startswith(words) and editor.session.state.defect == ""
        press(editor)
        editor.answer()


def test_a_slow_check_leaves_the_pane_usable() -> None:
    held, judged = threading.Event(), []

    def check(value: isoviz.Layout) -> Said:
        judged.append(str(value))
        held.wait(60)
        return Said("open", f"{value} in {threading.current_thread().name}")

    with closing(LayoutEditor("<x, F, y>", space=SPACE, check=check)) as editor:
        press(editor)
        assert until(lambda: editor.checked["busy"] and judged == ["<x, F, y>"])
        for layout in ("<y, F, x>", "<F, x, y>"):
            send(editor, kind="set", field="source-layout", value=layout)
            press(editor, source=layout)
        assert str(editor.answer()) == "<F, x, y>" and editor.checked["text"] == "", "drawn while the check is under way"
        held.set()
        assert until(lambda: editor.verdict is not None)
        assert editor.verdict == "<F, x, y> in isoviz-check"
        assert judged == ["<x, F, y>", "<F, x, y>"], "of the clicks meanwhile, the newest counts"
        assert not verdict_of(editor)["busy"]


def test_a_plan_and_a_machine_are_checked() -> None:
    def of_plan(plan: isoviz.Plan) -> Said:
        return Said("right" if plan.chunk_bytes == 1 << 20 else "wrong", f"{len(plan.hops)} hops")

    with closing(PlanView(isoviz.plan(TRANSFER, "two-node"), check=of_plan)) as view:
        path = tuple(hop.channel for hop in view.answer().hops)
        layouts = tuple(str(hop.destination_layout) for hop in view.answer().hops[:-1])
        press(view, byHand=plain(ByHand(path, layouts, "1 MiB"), WIRE))
        assert (verdict_of(view)["kind"], verdict_of(view)["fresh"]) == ("right", False)
        press(view)
        assert until(lambda: view.checked["fresh"])
        assert view.verdict == f"{len(path)} hops" and view.checked["kind"] == "wrong"
        press(view, byHand=plain(ByHand(path[:2], layouts[:1]), WIRE))
        assert until(lambda: view.checked["kind"] == "unread")
        assert "node0" in view.checked["text"]

    def of_machine(machine: isoviz.Machine) -> Said:
        return Said("open", f"{len(machine.memories)} memories")

    with closing(MachineEditor(check=of_machine)) as editor:
        press(editor)
        assert verdict_of(editor)["text"] == "1 memories"
        send(
            editor,
            kind="edit-machine",
            edit={"do": "add-memory", "memoryKind": "SYS", "node": 1, "within": [], "place": None, "positions": []},
        )
        press(editor)
        assert until(lambda: editor.checked["text"] == "2 memories")
        assert editor.verdict == "2 memories"
        send(editor, kind="edit-machine", edit={"do": "place", "positions": [["node0.sys", [9.0, 9.0]]], "goesOn": False})
        editor.session.wait()
        assert editor.verdict == "2 memories", "where a memory lies on the drawing is no other machine"


def test_the_state_stays_as_it_is() -> None:
    session = Session()
    with closing(session):
        state = session.wait()
        told = plain(state.settings, WIRE)
        command = read_command(
            {"kind": "check", "dimensions": told["dimensions"], "fields": told["fields"], "source": "<x, y, F>"}
            | {"destination": told["destination"]["layout"], "byHand": None, "entry": None}
        )
        assert isinstance(command, CheckAsked)
        assert command.after(state) == state
        seen = command.seen(state)
        assert seen.entry is None
        assert seen.settings == state.settings.with_end("source", replace(state.settings.source, layout="<x, y, F>"))


def test_a_closed_pane_leaves_no_thread(editor: LayoutEditor) -> None:
    press(editor)
    verdict_of(editor)
    editor.close()
    assert until(lambda: not any(each.name == "isoviz-check" and each.is_alive() for each in threading.enumerate()))


def test_an_entry_is_picked() -> None:
    def check(entry: Entry) -> Said:
        return Said("right" if (entry.index["x"], entry.field) == (3, "b") else "wrong", f"{entry.field} at {dict(entry.index)}")

    with closing(LinearizationView("<x, F, y>", space=SPACE, fields=FIELDS, check=check, quiet=True)) as view:
        press(view)
        assert verdict_of(view)["kind"] == "unread" and "No entry is selected" in verdict_of(view)["text"]
        picked = {"index": [["x", 3], ["y", 2]], "field": "b"}
        press(view, entry=picked)  # the selection itself is sent a moment later
        assert until(lambda: view.checked["kind"] == "right" and not view.checked["fresh"])
        assert view.verdict is None
        view.selection = {"x": 3, "y": 2}, "b"
        assert until(lambda: view.verdict == "b at {'x': 3, 'y': 2}")
        view.selection = {"x": 4, "y": 2}, "b"
        assert until(lambda: view.verdict is None)
        press(view, entry={"index": [["x", 8], ["y", 2]], "field": "b"})
        assert until(lambda: view.checked["kind"] == "unread" and "is not in" in view.checked["text"])
