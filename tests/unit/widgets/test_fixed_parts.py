"""What was given stays: whatever a browser sends, whatever is undone, and whatever Python sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

import isoviz
from isoviz.errors import InputError
from isoviz.machines import Machine, machine_to_json, preset
from isoviz.schema import format_json, plain
from isoviz.widgets import LayoutEditor, LinearizationView, MachineEditor, PlanView
from isoviz.widgets.chosen.settings import ByHand, PathShare
from isoviz.widgets.contract import WIRE
from isoviz.widgets.explorer import Explorer
from isoviz.widgets.snapshot import snapshot

SPACE, FIELDS = {"x": 8, "y": 6}, {"a": "f4", "b": "f8"}
TRANSFER = isoviz.Transfer.whole(
    isoviz.IndexSpace(x=1024, y=1024),
    isoviz.FieldSpace(value="complex128"),
    source=("node0.fbm0", "<F, x, y>"),
    destination=("node1.fbm0", "<F, y, x>"),
)
ARRAY = "The array is given: its dimensions and fields stay as they are."


def ask(pane: Explorer, **command: Any) -> str:
    """Why a command of the browser was refused; "" where it was not."""
    pane._receive(pane, {"client": "a", "number": 1, **command}, None)
    state = pane.session.until(lambda _: True, 60.0)
    assert state.defect == ""
    return "" if state.refused is None else state.refused.message


@pytest.fixture
def editor() -> Iterator[LayoutEditor]:
    with closing(LayoutEditor("<x, F, y>", space=SPACE, fields=FIELDS, fixed=True)) as found:
        yield found


@pytest.mark.parametrize(
    "command",
    [
        {"kind": "set", "field": "dimension-size", "row": 1, "value": "9"},
        {"kind": "set", "field": "dimension-name", "row": 1, "value": "z"},
        {"kind": "set", "field": "field-dtype", "row": 3, "value": "f8"},
        {"kind": "add-dimension"},
        {"kind": "add-field"},
        {"kind": "remove-dimension", "row": 1},
        {"kind": "remove-field", "row": 3},
        {"kind": "example", "value": "two-node"},
    ],
)
def test_a_fixed_array_stays(editor: LayoutEditor, command: dict[str, Any]) -> None:
    before = editor.answer(), editor.session.settings
    assert ask(editor, **command) == ARRAY
    assert (editor.answer(), editor.session.settings) == before
    assert ask(editor, kind="set", field="source-layout", value="<F, x, y>") == ""
    assert editor.answer() == isoviz.Layout("<F, x, y>")


def test_undo_and_python_leave_a_fixed_array(editor: LayoutEditor) -> None:
    assert ask(editor, kind="set", field="source-layout", value="<F, x, y>") == ""
    for kind in ("undo", "redo", "begin-afresh"):
        assert ask(editor, kind=kind) == ""
    other = isoviz.Layout("<F, x>").on(isoviz.IndexSpace(x=4), isoviz.FieldSpace(a="f4"))
    with pytest.raises(InputError, match=f"layout editor: {ARRAY}"):
        editor.value = other
    editor.value = "<F, q>"
    assert "'q'" in editor.problem
    same = isoviz.Layout("<y, x, F>").on(isoviz.IndexSpace(**SPACE), isoviz.FieldSpace(**FIELDS))
    editor.value = same
    assert editor.answer() == same.layout
    editor.session.choose(replace(editor.session.settings, fields=()))
    state = editor.session.until(lambda _: True, 60.0)
    assert state.refused is not None and state.refused.message == ARRAY and len(state.settings.fields) == 2
    with closing(LinearizationView(editor)) as view, pytest.raises(InputError, match=ARRAY):
        view.value = other


def test_the_browser_is_told_what_stays(editor: LayoutEditor) -> None:
    told = snapshot(editor.session.state, 1)["frame"]["fixed"]
    assert told == {"parts": ["array"], "planner": True, "memories": [], "channels": [], "resources": []}
    with closing(LayoutEditor("<x, F, y>", space=SPACE)) as free:
        assert snapshot(free.session.state, 1)["frame"]["fixed"] is None
        assert ask(free, kind="add-field") == ""
        with pytest.raises(InputError, match="LayoutEditor: fixed is about a session of its own"):
            LayoutEditor(session=free, fixed=True)
    with pytest.raises(InputError, match="LayoutEditor, fixed: expected True or False"):
        LayoutEditor("<x, F, y>", fixed="array")  # type: ignore[arg-type]


def test_what_a_click_carries_is_held_to_it_too() -> None:
    with closing(LayoutEditor("<x, F, y>", space=SPACE, check=lambda _: None, fixed=True)) as editor:
        told = plain(editor.session.settings, WIRE)
        rows = [{**told["dimensions"][0], "value": "9"}, told["dimensions"][1]]
        shown = {"fields": told["fields"], "source": "<F, x, y>", "destination": "<F, x, y>", "byHand": None, "entry": None}
        assert ask(editor, kind="check", dimensions=rows, **shown) == ARRAY
        assert editor.verdict is None and not editor.checked["busy"]


@pytest.fixture(scope="module")
def plan() -> isoviz.Plan:
    return isoviz.plan(TRANSFER, "two-node")


def hand_of(plan: isoviz.Plan, **changed: Any) -> dict[str, Any]:
    path = tuple(hop.channel for hop in plan.hops)
    layouts = tuple(str(hop.destination_layout) for hop in plan.hops[:-1])
    told: dict[str, Any] = plain(replace(ByHand(path, layouts), **changed), WIRE)
    return told


def test_of_a_fixed_plan_blocks_and_chunk_can_be_changed(plan: isoviz.Plan) -> None:
    with closing(PlanView(plan, fixed=True)) as view:
        assert view.answer().paths == plan.paths
        for command, words in (
            ({"kind": "set", "field": "source-layout", "value": "<y, F, x>"}, "The transfer is given"),
            ({"kind": "set", "field": "slot-limit", "value": "1 GiB"}, "The transfer is given"),
            ({"kind": "set", "field": "dimension-size", "row": 1, "value": "9"}, "The transfer is given"),
            ({"kind": "set", "field": "machine", "value": "laptop"}, "The machine is given"),
            ({"kind": "edit-machine", "edit": {"do": "new"}}, "The machine is given"),
            ({"kind": "add-transfer"}, "The transfer is given"),
            ({"kind": "swap"}, "The transfer is given"),
            ({"kind": "by-hand", "part": "", "byHand": hand_of(plan, path=("node0.fbm0->node1.fbm0",))}, "The path is given"),
            ({"kind": "by-hand", "part": "", "byHand": hand_of(plan, paths=(PathShare(1.0, ("a",)),) * 2)}, "The path is given"),
        ):
            assert ask(view, **command).startswith(words), command
        assert ask(view, kind="by-hand", part="", byHand=hand_of(plan, chunk="64 KiB")) == ""
        assert view.answer().chunk_bytes == 1 << 16
        memories = (*(hop.source for hop in plan.hops), plan.hops[-1].destination)
        assert ask(view, kind="by-hand", part="", byHand=hand_of(plan, path=memories)) == ""
        assert ask(view, kind="by-hand", part="", byHand=None) == "", "the planner's plan was given"


def test_a_fixed_plan_by_hand_stays_by_hand(plan: isoviz.Plan) -> None:
    with closing(PlanView(plan)) as first:
        assert ask(first, kind="by-hand", part="", byHand=hand_of(plan, chunk="64 KiB")) == ""
        by_hand = first.answer()
    with closing(PlanView(by_hand, "two-node", fixed=["path"])) as view:
        assert ask(view, kind="by-hand", part="", byHand=None).startswith("The path is given")
        assert ask(view, kind="set", field="slot-limit", value="1 GiB") == "", "only the path was fixed"
        told = snapshot(view.session.state, 1)["frame"]["fixed"]
        assert told is not None and (told["parts"], told["planner"]) == (["path"], False)


@pytest.mark.parametrize("fixed", ["path", ["hops"], 3, [1]])
def test_parts_of_a_plan_have_names(plan: isoviz.Plan, fixed: Any) -> None:
    with pytest.raises(InputError, match="PlanView, fixed: expected True, or some of transfer, machine, path"):
        PlanView(plan, "two-node", fixed=fixed)


def edit(pane: MachineEditor, do: str, **rest: Any) -> str:
    return ask(pane, kind="edit-machine", edit={"do": do, **rest})


def test_given_parts_of_a_machine_stay_and_others_can_be_added() -> None:
    given = preset("two-node")
    memory, channel = given.memories[0].name, given.channels[0].name
    with closing(MachineEditor(given, fixed=True)) as editor:
        for words in (
            edit(editor, "delete", memories=[memory], channels=[], resources=[]),
            edit(editor, "set-memory", memory=memory, field="capacity", value="1 GiB"),
            edit(editor, "set-memory", memory=memory, field="name", value="node0.mine"),
            edit(editor, "emulate", memories=[memory], on=True),
            edit(editor, "new"),
        ):
            assert words.startswith("The memory 'node0"), words
        for words in (
            edit(editor, "delete", memories=[], channels=[channel], resources=[]),
            edit(editor, "set-channel", channel=channel, field="bandwidth", value="9 GB/s"),
        ):
            assert words == f"The channel {channel!r} is given: it stays as it is. What you add beside it can be changed."
        assert ask(editor, kind="set", field="machine", value="laptop").startswith("The machine is given")
        opened = {"name": "mine.json", "text": format_json(machine_to_json(preset("laptop")))}
        assert ask(editor, kind="open-machine", **opened).startswith("The memory")
        with pytest.raises(InputError, match="machine editor: The memory"):
            editor.value = preset("laptop")
        assert editor.answer() == given

        assert edit(editor, "add-memory", memoryKind="SYS", node=0, within=[], place=None, positions=[]) == ""
        added = editor.answer().memories[-1].name
        assert added not in {each.name for each in given.memories}
        assert edit(editor, "set-memory", memory=added, field="name", value="node0.mine") == ""
        assert edit(editor, "connect", source="node0.mine", destination=memory, channelKind="") == ""
        assert edit(editor, "place", positions=[[memory, [4.0, 4.0]]], goesOn=False) == ""
        more = editor.answer()
        assert len(more.channels) == len(given.channels) + 1
        assert edit(editor, "delete", memories=["node0.mine"], channels=[], resources=[]) == ""
        assert editor.answer().undrawn.memories == given.undrawn.memories
        assert ask(editor, kind="undo") == "" and editor.answer() == more


def test_the_given_machine_may_be_a_part_of_the_one_shown() -> None:
    whole = preset("two-node")
    given = replace(whole, channels=whole.channels[:3])
    with closing(MachineEditor(whole, fixed=given)) as editor:
        assert edit(editor, "delete", memories=[], channels=[whole.channels[-1].name], resources=[]) == ""
        assert edit(editor, "delete", memories=[], channels=[whole.channels[0].name], resources=[]) != ""
        assert isinstance(editor.answer(), Machine)
    with pytest.raises(InputError, match=r"the memory .* is not part of the machine 'laptop'"):
        MachineEditor("laptop", fixed=given)
    with closing(MachineEditor(whole, fixed="two-node")) as editor:
        assert edit(editor, "delete", memories=[], channels=[whole.channels[0].name], resources=[]) != ""
    with pytest.raises(InputError, match="MachineEditor, fixed: expected a machine"):
        MachineEditor(whole, fixed=3)  # type: ignore[arg-type]
