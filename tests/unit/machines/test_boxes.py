"""Boxes around memories and resources: kept by files and edits, refused in words, and of no effect on what a machine does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from isoviz.errors import MachineError
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Machine, Memory, Resource, machine_from_json, machine_to_json, preset, presets
from isoviz.machines.edits.memory_edits import changed_memory, changed_resource, with_copies, with_memory
from isoviz.machines.positions import DEEPEST
from isoviz.planner import Transfer, plan

BOXED = (
    "armci-cluster",
    "data-vortex",
    "dgx-h100-pair",
    "gh200",
    "mri",
    "theta-gpu",
    "v100-mesh",
    "vortex-infiniband",
    "workstation",
)


def without_boxes(machine: Machine) -> Machine:
    memories = tuple(replace(memory, within=()) for memory in machine.memories)
    return replace(machine, memories=memories, resources=tuple(replace(each, node=None, within=()) for each in machine.resources))


@pytest.mark.parametrize("name", BOXED)
def test_presets_say_what_their_parts_lie_in(name: str) -> None:
    machine = preset(name)
    assert any(memory.within for memory in machine.memories)
    assert all(resource.node in machine.nodes for resource in machine.resources)
    assert machine_from_json(machine_to_json(machine)) == machine
    bare = without_boxes(machine)
    assert bare != machine and bare.digest == machine.digest
    assert machine.undrawn == bare and bare.undrawn is bare


def test_boxes_change_no_plan() -> None:
    machine = preset("gh200")
    space, fields = IndexSpace(x=256, y=256), FieldSpace(a="complex64")
    transfer = Transfer.whole(space, fields, "node0.fbm0", "<F, x, y>", "node1.sys", "<F, y, x>")
    assert plan(transfer, machine) == plan(transfer, without_boxes(machine))


def test_other_presets_have_none() -> None:
    for name in set(presets()) - {*BOXED, "local", "ranks", "bgq"}:
        machine = preset(name)
        assert not any(memory.within for memory in machine.memories) and machine.undrawn is machine


def spoiled(change: Callable[[dict[str, Any]], None]) -> str:
    data = machine_to_json(preset("workstation"))
    change(data)
    with pytest.raises(MachineError) as caught:
        machine_from_json(data)
    return str(caught.value)


@pytest.mark.parametrize(
    ("within", "told"),
    [
        ("socket 0", "memories[1].within: expected a list"),
        (["socket 0", 3], "memories[1].within[1]: expected text"),
        (["socket 0", ""], "memories[1].within[1]: expected a name, got nothing"),
        (["socket 0/GPU 1"], "memories[1].within[0]: expected a name without '/'"),
        (["a"] * (DEEPEST + 1), f"memories[1].within: expected at most {DEEPEST} boxes"),
    ],
)
def test_wrong_boxes_of_a_file_are_told_with_their_place(within: object, told: str) -> None:
    assert told in spoiled(lambda data: data["memories"][1].update(within=within))


def test_boxes_of_a_resource_need_its_node() -> None:
    assert "resources[0].within: expected the node" in spoiled(lambda data: data["resources"][0].pop("node"))
    assert "resources[0].node" in spoiled(lambda data: data["resources"][0].update(node="0"))
    with pytest.raises(MachineError, match="expected the node of these boxes"):
        Resource("bus", 1e9, within=("socket 0",))


def test_files_without_boxes_do_not_mention_them() -> None:
    written = machine_to_json(preset("two-node"))
    assert not any("within" in part for part in written["memories"])
    described = machine_to_json(preset("dgx-h100-pair"))
    assert described["memories"][3]["within"] == ["socket 0", "PCIe switch 3", "GPU 3"]


def test_edits_keep_boxes_and_change_them() -> None:
    machine = preset("workstation")
    added, name = with_memory(machine, "FBM", 0, within=("GPU 0",))
    assert added.memory(name).within == ("GPU 0",)
    moved, _ = changed_memory(added, name, within=("rack", "GPU 9"))
    assert moved.memory(name) == Memory(name, added.memory(name).kind, 0, within=("rack", "GPU 9"))
    copied = with_copies(machine, 0, 1)
    assert copied.memory("node1.fbm0").within == ("GPU 0",)
    assert (copied.resource("node1.link0.up").node, copied.resource("node1.link0.up").within) == (1, ("GPU 0",))
    placed = changed_resource(machine, "node0.drive", within=("drives",))
    assert placed.resource("node0.drive").within == ("drives",) and placed.digest == machine.digest
    with pytest.raises(MachineError, match="expected the node"):
        changed_resource(machine, "node0.bus", node=None)
