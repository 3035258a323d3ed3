"""The machine edited in a session: presets become drawn machines, ends stay in step, undo goes back, wrong edits are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from given.sessions import session_fixture

from isoviz.machines import Machine, machine_from_json, preset
from isoviz.machines.edits.memory_edits import new_machine
from isoviz.widgets.chosen.session_file import session_text, settings_in
from isoviz.widgets.chosen.settings import ByHand, settings_for
from isoviz.widgets.panes.machine_pane import machine_part
from isoviz.widgets.session import Session
from isoviz.widgets.snapshot import snapshot
from isoviz.widgets.state import State

ENDS = {"source": ("node0.fbm0", "<F, x, y>"), "destination": ("node1.sys", "<F, y, x>")}
session = session_fixture(
    settings_for(machine="two-node", space={"x": 64, "y": 64}, fields={"a": "float32"}, **ENDS), "explorer", waits=True
)


def edit(session: Session, do: str, **more: Any) -> State:
    session.send({"kind": "edit-machine", "edit": {"do": do, **more}})
    return session.wait()


def test_a_preset_becomes_a_drawn_machine_and_undo_brings_it_back(session: Session) -> None:
    before = session.settings
    state = edit(session, "delete", memories=["node0.dsk"], channels=[], resources=[])
    assert state.refused is None
    assert (state.settings.machine.kind, state.settings.machine.name) == ("drawn", "two-node (edited)")
    assert session.plan is not None
    state = edit(session, "name-machine", value="mine")
    assert state.settings.machine.name == "mine"
    session.undo()
    session.undo()
    assert session.wait().settings == before


def test_a_renamed_memory_stays_an_end(session: Session) -> None:
    state = edit(session, "set-memory", memory="node0.fbm0", field="name", value="gpu")
    assert state.settings.source.memory == "gpu"
    assert session.plan is not None and session.plan.paths[0].memories[0] == "gpu"


def test_a_path_by_hand_follows_new_names(session: Session) -> None:
    path = ("node0.fbm0->node0.sys", "node0.sys->node1.sys")
    session.choose(replace(session.settings, by_hand=ByHand(path, ("<F, x, y>",))))
    edit(session, "set-memory", memory="node0.sys", field="name", value="host")
    by_hand = session.state.settings.by_hand
    assert by_hand is not None and by_hand.path == ("node0.fbm0->host", "host->node1.sys")


def test_an_end_whose_memory_is_deleted_moves_and_says_so(session: Session) -> None:
    state = edit(session, "delete", memories=["node1.sys"], channels=[], resources=[])
    assert state.settings.destination.memory != "node1.sys"
    assert state.settings.destination.memory in state.notice


def test_positions_are_steps_and_leave_the_plan_alone(session: Session) -> None:
    edit(session, "place", positions=[["node0.sys", [10, 20]]], goesOn=False)
    plan = session.plan
    state = edit(session, "place", positions=[["node0.sys", [30, 40]]], goesOn=False)
    assert session.plan is plan
    assert dict(state.derived.machine.positions) == {"node0.sys": (30.0, 40.0)}  # type: ignore[union-attr]
    assert settings_in(session_text(state.settings), "file").machine == state.settings.machine
    session.undo()
    assert dict(session.wait().derived.machine.positions) == {"node0.sys": (10.0, 20.0)}  # type: ignore[union-attr]


def test_a_key_that_is_held_is_one_step(session: Session) -> None:
    for x in range(5):
        session.send({"kind": "edit-machine", "edit": {"do": "place", "positions": [["node0.sys", [x, 0]]], "goesOn": True}})
    assert len(session.wait().past) == 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            {"do": "set-channel", "channel": "node0.sys->node0.zcm", "field": "bandwidth", "value": "fast"},
            "expected a number with",
        ),
        ({"do": "set-memory", "memory": "node0.sys", "field": "capacity", "value": "much"}, "size 'much'"),
        ({"do": "set-memory", "memory": "node0.sys", "field": "node", "value": "-1"}, "whole number"),
        ({"do": "copy-node", "node": 0, "value": "all"}, "number of copies"),
        ({"do": "connect", "source": "node0.dsk", "destination": "node0.dsk", "channelKind": ""}, "main memory"),
        ({"do": "connect", "source": "nowhere", "destination": "node0.fbm0", "channelKind": ""}, "no memory"),
        ({"do": "place", "positions": [["node0.sys", [1, 2, 3]]], "goesOn": False}, "pair"),
        ({"do": "fly"}, "edit.do: 'fly' is not known; known are new, name-machine"),
        ({"do": "name-machine"}, "edit: the key 'value' is missing; expected a text"),
    ],
)
def test_wrong_edits_are_refused_in_words(session: Session, wrong: dict[str, Any], words: str) -> None:
    before = session.settings
    session.send({"kind": "edit-machine", "edit": wrong, "client": "view", "number": 7})
    state = session.wait()
    assert state.settings == before
    assert state.refused is not None and state.refused.number == 7
    assert words in state.refused.message


def test_a_machine_is_built_from_nothing_and_run(session: Session) -> None:
    state = edit(session, "new")
    assert state.settings.machine.machine == new_machine()  # type: ignore[union-attr]
    edit(session, "add-memory", memoryKind="ZCM", node=0, within=[], place=None, positions=[])
    edit(session, "add-memory", memoryKind="FBM", node=1, within=[], place=[5, 5], positions=[])
    edit(session, "add-memory", memoryKind="REG", node=1, within=[], place=None, positions=[])
    for source, destination in (("node0.sys", "node0.zcm"), ("node0.zcm", "node1.reg"), ("node1.reg", "node1.fbm0")):
        state = edit(session, "connect", source=source, destination=destination, channelKind="")
        assert state.refused is None
    session.send({"kind": "set", "field": "source-memory", "value": "node0.sys"})
    session.send({"kind": "set", "field": "destination-memory", "value": "node1.fbm0"})
    session.wait()
    session.demand("machine")
    state = session.wait()
    assert session.plan is not None
    part = machine_part(state)
    assert part is not None and part["canvas"] is not None
    assert part["canvas"]["runs"] == "simulated"
    assert part["canvas"]["absent"] == ["node0.zcm", "node1.fbm0", "node1.reg"] == part["canvas"]["emulable"]
    assert state.derived.where is not None and "lacks" in state.derived.where.reason
    state = edit(session, "emulate", memories=[], on=True)
    part = machine_part(state)
    assert part is not None and part["canvas"] is not None and part["canvas"]["runs"] == "emulated"
    session.run()
    report = session.wait().run.report
    assert report is not None and report.verified


def test_the_parts_of_a_machine_are_told_only_where_they_are_shown(session: Session) -> None:
    assert machine_part(session.state)["canvas"] is None  # type: ignore[index]
    session.demand("machine")
    part = machine_part(session.wait())
    assert part is not None and part["canvas"] is not None
    canvas = part["canvas"]
    machine = preset("two-node")
    assert [memory["name"] for memory in canvas["memories"]] == [memory.name for memory in machine.memories]
    for shown, channel in zip(canvas["channels"], machine.channels, strict=True):
        ends = canvas["memories"][shown["source"]]["name"], canvas["memories"][shown["destination"]]["name"]
        assert ends == (channel.source, channel.destination)
        assert canvas["functions"][shown["function"]]["bandwidth"] == channel.peak
    assert snapshot(session.state, 1)["panes"]["machine"] == part


def test_the_edited_machine_is_described_by_its_file(session: Session) -> None:
    edit(session, "copy-node", node=1, value="2")
    machine = session.state.settings.machine.machine  # type: ignore[union-attr]
    assert isinstance(machine, Machine) and machine.nodes == (0, 1, 2, 3)
    from isoviz.machines import machine_to_json

    assert machine_from_json(machine_to_json(machine)) == machine


def test_other_transfers_follow_a_renamed_memory(session: Session) -> None:
    path = ("node0.fbm0->node0.sys", "node0.sys->node1.sys")
    session.choose(replace(session.settings, by_hand=ByHand(path, ("<F, x, y>",))))
    session.send({"kind": "add-transfer"})
    state = edit(session, "set-memory", memory="node0.fbm0", field="name", value="gpu")
    (other,) = state.settings.beside
    assert (other.source.memory, other.by_hand) == ("gpu", state.settings.by_hand)
    assert state.derived.problems == {} and state.derived.beside[0].plan is not None
    state = edit(session, "delete", memories=["gpu"], channels=[], resources=[])
    assert state.settings.beside[0].source.memory == state.settings.source.memory == "node1.fbm0"
    assert f"{other.name}: the source is now GPU memory (node1.fbm0)" in state.notice


def test_a_memory_that_is_bound_to_a_missing_device_is_planned_on_and_said(session: Session) -> None:
    session.send({"kind": "set", "field": "source-memory", "value": "node0.sys"})
    state = edit(session, "set-memory", memory="node0.sys", field="device", value="4000")
    assert state.defect == ""
    assert state.derived.plan is not None
    assert state.derived.where is not None and "4000" in state.derived.where.reason
