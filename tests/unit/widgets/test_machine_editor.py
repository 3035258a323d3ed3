"""The machine editor alone: its value follows what is edited and can be set, and only the machine is computed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import traitlets

import isoviz
from isoviz.machines import Machine, preset, save
from isoviz.machines.edits.memory_edits import new_machine
from isoviz.widgets import MachineEditor, Session
from isoviz.widgets.panes.machine_pane import machine_part


@pytest.fixture
def made() -> Iterator[Callable[[Any], Any]]:
    """Closes what a test makes; no thread may be left."""
    found: list[Any] = []
    before = set(threading.enumerate())
    yield lambda widget: found.append(widget) or widget
    for widget in reversed(found):
        widget.close()
    for thread in set(threading.enumerate()) - before:
        if thread.name.startswith("isoviz"):
            thread.join(120)
            assert not thread.is_alive(), thread.name


def edit(editor: MachineEditor, do: str, **more: Any) -> None:
    """What a browser sends."""
    editor._receive(editor, {"kind": "edit-machine", "edit": {"do": do, **more}, "client": "a page", "number": 1}, [])
    editor.session.wait()


def part(editor: MachineEditor) -> Any:
    """What the browser gets."""
    return machine_part(editor.session.state)


def test_the_value_follows_what_is_edited(made: Callable[[Any], Any]) -> None:
    editor = made(isoviz.MachineEditor())
    assert editor.value == new_machine()
    seen: list[Machine] = []
    editor.observe(lambda change: seen.append(change["new"]), names="value")
    edit(editor, "add-memory", memoryKind="FBM", node=0, within=[], place=None, positions=[])
    assert [memory.name for memory in editor.value.memories] == ["node0.sys", "node0.fbm0"] and seen == [editor.value]
    edit(editor, "delete", memories=["nowhere"], channels=[], resources=[])
    assert "no memory 'nowhere'" in editor.problem
    assert part(editor)["canvas"]["memories"][1]["name"] == "node0.fbm0"


def test_the_value_can_be_set(made: Callable[[Any], Any], tmp_path: Any) -> None:
    editor = made(MachineEditor("two-node"))
    editor.session.wait()
    assert editor.value == preset("two-node")
    editor.value = preset("laptop")
    assert editor.value == preset("laptop")
    editor.session.wait()
    assert part(editor)["name"] == "laptop"
    save(preset("sapling"), tmp_path / "machine.json")
    editor.value = tmp_path / "machine.json"
    editor.session.wait()
    assert editor.value == preset("sapling")
    with pytest.raises(traitlets.TraitError, match="expected a Machine"):
        editor.value = 3


def test_only_the_machine_is_demanded(made: Callable[[Any], Any]) -> None:
    editor = made(MachineEditor("two-node"))
    editor.session.wait()
    assert "plan" not in editor.session.state.demanded and editor.session.plan is None


def test_a_session_is_shared(made: Callable[[Any], Any]) -> None:
    session = made(Session())
    editor = made(MachineEditor(new_machine(), session=session))
    session.wait()
    assert session.machine == new_machine()
    edit(editor, "name-machine", value="mine")
    assert session.machine.name == "mine" == editor.value.name
    session.undo()
    session.wait()
    assert editor.value == new_machine()


def test_boxes_are_edited_as_text(made: Callable[[Any], Any]) -> None:
    editor = made(MachineEditor("workstation"))
    edit(editor, "add-memory", memoryKind="FBM", node=0, within=["GPU 0"], place=None, positions=[])
    assert editor.value.memory("node0.fbm1").within == ("GPU 0",)
    edit(editor, "set-memory", memory="node0.fbm1", field="within", value="board / GPU 1")
    assert editor.value.memory("node0.fbm1").within == ("board", "GPU 1")
    assert part(editor)["canvas"]["memories"][-1]["within"] == ["board", "GPU 1"]
    edit(editor, "set-memory", memory="node0.fbm1", field="within", value="board // GPU 1")
    assert "within[1]: expected a name, got nothing" in editor.problem
    edit(editor, "set-memory", memory="node0.fbm1", field="within", value="")
    assert editor.value.memory("node0.fbm1").within == ()
    edit(editor, "set-resource", resource="node0.drive", field="within", value="drives")
    edit(editor, "set-resource", resource="node0.bus", field="node", value="")
    resources = {each["name"]: (each["node"], each["within"]) for each in part(editor)["canvas"]["resources"]}
    assert (resources["node0.drive"], resources["node0.bus"]) == ((0, ["drives"]), (None, []))
    assert resources["node0.gpu0"] == (0, ["GPU 0"])
