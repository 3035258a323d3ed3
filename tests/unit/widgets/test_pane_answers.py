"""What panes answer to Python: the value of the last gesture, or the words of what is wrong on the screen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

import isoviz
from isoviz.errors import InputError, InternalError
from isoviz.machines import Machine, machine_to_json, preset
from isoviz.schema import plain
from isoviz.widgets import Explorer
from isoviz.widgets.chosen.settings import ByHand
from isoviz.widgets.worker import Worker

SPACE, FIELDS = isoviz.IndexSpace(x=1024, y=1024), isoviz.FieldSpace(value="complex128")
TRANSFER = isoviz.Transfer.whole(SPACE, FIELDS, source=("node0.fbm0", "<F, x, y>"), destination=("node1.fbm0", "<F, y, x>"))
PATH = ("node0.fbm0->node0.zcm", "node0.zcm->node0.reg", "node0.reg->node1.reg", "node1.reg->node1.fbm0")


def gesture(pane: Explorer, **command: Any) -> None:
    """What the browser sends, as it arrives."""
    pane._receive(pane, {"client": "a", "number": 1, **command}, None)


def typed(pane: Explorer, field: str, value: str) -> None:
    gesture(pane, kind="set", field=field, value=value)


@pytest.fixture
def editor() -> Iterator[isoviz.LayoutEditor]:
    with closing(isoviz.LayoutEditor("<x, F, y>", space={"x": 8, "y": 6}, fields={"a": "f4", "b": "f8"})) as found:
        yield found


def test_a_layout_is_that_of_the_last_gesture(editor: isoviz.LayoutEditor) -> None:
    assert editor.answer() == isoviz.Layout("<x, F, y>")
    last = ["<F, x, y>", "<F, y, x>", "<x_in=4, F, y, x_out>"]
    for text in last * 60:
        typed(editor, "source-layout", text)
    answer = editor.answer()
    assert answer == isoviz.Layout(last[-1]) and type(answer) is isoviz.Layout
    editor.value = "<y, x, F>"
    assert editor.answer() == isoviz.Layout("<y, x, F>")


@pytest.mark.parametrize(
    ("field", "text", "words"),
    [
        ("source-layout", "<x, y", r"layout editor: '<x, y', character 6: The text ends; expected ',' or '>'"),
        ("source-layout", "<x, F>", r"layout editor: .*'y' is missing"),
        ("source-layout", "<x, y, F, q>", "'q'"),
        ("source-layout", "", "layout editor: "),
    ],
)
def test_a_text_that_is_no_layout_has_its_words(editor: isoviz.LayoutEditor, field: str, text: str, words: str) -> None:
    typed(editor, field, text)
    with pytest.raises(InputError, match=words):
        editor.answer()
    assert editor.value == isoviz.Layout("<x, F, y>"), "the last one that fitted"
    gesture(editor, kind="undo")
    assert editor.answer() == isoviz.Layout("<x, F, y>")


def test_a_gesture_on_its_way_through_the_kernel_counts(editor: isoviz.LayoutEditor, monkeypatch: pytest.MonkeyPatch) -> None:
    """It arrives in another thread, after the cell has begun to wait."""
    waiting = threading.Event()
    idle = Worker.idle.fget
    assert idle is not None

    def looked(worker: Worker[Any]) -> bool:
        waiting.set()
        return bool(idle(worker))

    monkeypatch.setattr(Worker, "idle", property(looked))

    def arrive() -> None:
        waiting.wait()
        typed(editor, "source-layout", "<y, F, x>")

    thread = threading.Thread(target=arrive)
    monkeypatch.setattr("isoviz.widgets.views.checked_pane.QUIET", 1.0)
    thread.start()
    assert editor.answer() == isoviz.Layout("<y, F, x>")
    thread.join()


def test_a_view_of_the_other_end_answers_for_its_end() -> None:
    first = isoviz.LayoutEditor("<x, y, F>", space={"x": 4, "y": 4})
    with closing(first) as editor, closing(isoviz.LayoutEditor(session=editor, side="destination")) as other:
        typed(editor, "source-layout", "<F, y, x>")
        typed(editor, "destination-layout", "<nothing")
        assert editor.answer() == isoviz.Layout("<F, y, x>")
        with pytest.raises(InputError, match=r"'<nothing', character"):
            other.answer()


def test_a_plan_is_there_before_its_explanation(monkeypatch: pytest.MonkeyPatch) -> None:
    held, begun = threading.Event(), threading.Event()
    explain = isoviz.explain

    def slow(*given: Any, **named: Any) -> Any:
        begun.set()
        held.wait(60)
        return explain(*given, **named)

    monkeypatch.setattr("isoviz.planner.explain", slow)
    try:
        with closing(isoviz.PlanView(TRANSFER, "two-node")) as view:
            assert view.answer() == isoviz.plan(TRANSFER, "two-node", "full")
            begun.wait(60)
            assert view.answer().planner == "full" and view.explanation is None
            typed(view, "source-layout", "<y, F, x>")
            answer = view.answer()
            assert str(answer.transfer.source.layout) == "<y, F, x>" and answer == isoviz.plan(
                answer.transfer, "two-node", "full"
            )
            held.set()
    finally:
        held.set()


def test_a_plan_by_hand_over_its_limits_is_an_answer() -> None:
    with closing(isoviz.PlanView(TRANSFER, "two-node")) as view:
        typed(view, "slot-limit", "1 MiB")
        columns = "<F, y_in=512, x_in=512, x_out, y_out>"
        hand = ByHand(PATH, ("<F, x_in=512, y_in=512, x_out, y_out>", columns, columns))
        gesture(view, kind="by-hand", part="", byHand=plain(hand))
        answer = view.answer()
        assert [(each.constraint, each.name, each.needed, each.allowed) for each in answer.violations] == [
            ("slot", memory, 1 << 22, 1 << 20) for memory in ("node0.zcm", "node0.reg", "node1.reg")
        ]
        gesture(view, kind="by-hand", part="", byHand=plain(ByHand(PATH[:2], ("<F, x, y>",))))
        with pytest.raises(InputError, match=r"plan view: .*node0\.reg"):
            view.answer()


@pytest.mark.parametrize(
    ("field", "text", "words"),
    [
        ("source-layout", "<F, x", "plan view: '<F, x', character 6: The text ends"),
        ("source-memory", "node7.sys", "plan view: .*'node7.sys'"),
        ("slot-limit", "much", "plan view: .*'much'"),
    ],
)
def test_why_there_is_no_plan(field: str, text: str, words: str) -> None:
    with closing(isoviz.PlanView(TRANSFER, "two-node")) as view:
        view.answer()
        typed(view, field, text)
        with pytest.raises(InputError, match=words):
            view.answer()


def test_a_plan_that_does_not_fit_its_machine_says_so() -> None:
    view = isoviz.PlanView(isoviz.plan(TRANSFER, "two-node"), "workstation")
    with closing(view), pytest.raises(InputError, match=r"plan view: .*node1\.fbm0"):
        view.answer()


@pytest.mark.parametrize("machine", ["two-node", preset("sapling"), None])
def test_a_machine_is_that_of_the_last_gesture(machine: str | Machine | None) -> None:
    with closing(isoviz.MachineEditor(machine)) as editor:
        first = editor.answer()
        assert type(first) is Machine and (machine is None or first == (preset(machine) if isinstance(machine, str) else machine))
        gesture(editor, kind="describe-machine", machine=machine_to_json(preset("laptop")))
        assert editor.answer() == preset("laptop")
        gesture(editor, kind="undo")
        assert editor.answer() == first


def test_why_there_is_no_machine() -> None:
    with closing(isoviz.MachineEditor("sapling")) as editor:
        gesture(editor, kind="set", field="machine-option", name="nodes", value="no number")
        with pytest.raises(InputError, match="machine editor: 'no number' cannot be; expected a whole number such as 2"):
            editor.answer()
        gesture(editor, kind="set", field="machine-option", name="nodes", value="3")
        assert editor.answer() == preset("sapling", nodes=3)


PANES: dict[str, Callable[[], Any]] = {
    "a layout": lambda: isoviz.LayoutEditor("<F, x>", space={"x": 4}),
    "a plan": lambda: isoviz.PlanView(TRANSFER, "two-node"),
    "a machine": lambda: isoviz.MachineEditor("two-node"),
}


@pytest.mark.parametrize("name", PANES)
def test_what_should_not_happen_is_no_answer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("by hand")

    with closing(PANES[name]()) as pane:
        pane.answer()
        monkeypatch.setattr("isoviz.widgets.commands.command.Step.after", broken)
        typed(pane, "source-layout", "<x, F>")
        with pytest.raises(InternalError, match="ZeroDivisionError: by hand"):
            pane.answer()


def test_a_busy_pane_gives_up_in_time() -> None:
    with closing(isoviz.PlanView(TRANSFER, "two-node")) as view:
        view.session._calculator.close()
        typed(view, "source-layout", "<y, F, x>")
        with pytest.raises(TimeoutError, match=r"still busy after 0\.2 seconds"):
            view.answer(timeout=0.2)
