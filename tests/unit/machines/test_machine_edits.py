"""Edits of machines by hand: each returns a machine that holds together, or says in words why it cannot be."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace

import pytest

from isoviz.errors import MachineError
from isoviz.machines import (
    Channel,
    Constant,
    LatencyBandwidth,
    Machine,
    Memory,
    Resource,
    Sampled,
    machine_from_json,
    machine_to_json,
    preset,
)
from isoviz.machines.edits.channel_edits import (
    connected,
    editable_points,
    fitting_kinds,
    measured_samples,
    sharing,
    with_another_point,
    with_bandwidth,
    with_channel,
    with_latency,
    with_point,
    without_channel,
    without_point,
)
from isoviz.machines.edits.memory_edits import (
    MOST_COPIES,
    changed_memory,
    changed_resource,
    emulating,
    new_machine,
    placed,
    unplaced,
    with_copies,
    with_memory,
    with_node,
    with_resource,
    without_memories,
    without_node,
    without_resource,
)


def drawn() -> Machine:
    """Main memory and files of a node, joined both ways."""
    machine, _ = with_memory(new_machine(), "DSK", 0)
    machine, _ = connected(machine, "node0.dsk", "node0.sys")
    machine, _ = connected(machine, "node0.sys", "node0.dsk")
    return machine


def test_a_machine_is_drawn_from_nothing() -> None:
    machine = drawn()
    assert [memory.name for memory in machine.memories] == ["node0.sys", "node0.dsk"]
    assert [(channel.kind.name, channel.name) for channel in machine.channels] == [
        ("DiskRead", "node0.dsk->node0.sys"),
        ("DiskWrite", "node0.sys->node0.dsk"),
    ]
    assert all(channel.peak > 1e8 and channel.provenance.startswith("assumed") for channel in machine.channels)


def test_kinds_of_channel_are_those_of_table_2() -> None:
    machine = preset("two-node")
    table = {
        ("sys", "sys"): "Memcpy", ("sys", "reg"): "Memcpy", ("fbm0", "zcm"): "GPURead", ("zcm", "fbm0"): "GPUWrite",
        ("fbm0", "fbm0"): "GPUCopy", ("dsk", "sys"): "DiskRead", ("reg", "dsk"): "DiskWrite",
    }  # fmt: skip
    for (source, destination), kind in table.items():
        found = fitting_kinds(machine.memory(f"node0.{source}"), machine.memory(f"node0.{destination}"))
        assert found[0].name == kind  # other tests register kinds of their own
    across = fitting_kinds(machine.memory("node0.reg"), machine.memory("node1.zcm"))
    assert [each.name for each in across] == ["RemoteMemcpy", "TwoSided", "Packed", "Derived", "UMR"]
    gpus = fitting_kinds(machine.memory("node0.fbm0"), machine.memory("node1.fbm0"))
    assert [each.name for each in gpus] == ["TwoSided", "GPUDirectRemote", "UMR"]
    _, name = connected(machine, "node0.fbm0", "node1.fbm0", "GPUDirectRemote")
    assert connected(machine, "node0.fbm0", "node1.fbm0", "GPUDirectRemote")[0].channel(name).provenance.endswith("gh200")
    direct = fitting_kinds(machine.memory("node0.dsk"), machine.memory("node0.fbm0"))
    assert [each.name for each in direct] == ["GPUDirectRead"]
    with pytest.raises(MachineError, match=r"No kind of channel leads from files \(node0.dsk\) to files .*main memory"):
        connected(machine, "node0.dsk", "node0.dsk")
    with pytest.raises(MachineError, match="across nodes"):
        connected(machine, "node0.dsk", "node1.dsk")
    with pytest.raises(MachineError, match="file read does not lead"):
        connected(machine, "node0.sys", "node0.zcm", "DiskRead")


def test_channels_may_be_parallel_and_loop() -> None:
    machine = drawn()
    for _ in range(2):
        machine, name = connected(machine, "node0.sys", "node0.sys")
    assert name == "node0.sys->node0.sys 2"
    assert len(machine.between("node0.sys", "node0.sys")) == 2
    assert len(without_channel(machine, name).between("node0.sys", "node0.sys")) == 1


def test_a_new_name_of_a_memory_goes_into_its_channels_and_its_place() -> None:
    machine = placed(drawn(), {"node0.sys": (3.0, 4.0)})
    machine, _ = connected(machine, "node0.dsk", "node0.sys")
    machine = with_channel(machine, "node0.sys->node0.dsk", name="writer")
    after, name = changed_memory(machine, "node0.sys", name="host")
    assert name == "host"
    assert [channel.name for channel in after.channels] == ["node0.dsk->host", "writer", "node0.dsk->host 2"]
    assert dict(after.positions) == {"host": (3.0, 4.0)}
    with pytest.raises(MachineError, match="another memory has this name"):
        changed_memory(machine, "node0.sys", name="node0.dsk")
    with pytest.raises(MachineError, match="one printable word"):
        changed_memory(machine, "node0.sys", name="main memory")


def test_a_memory_on_another_node_takes_channels_that_cross_nodes() -> None:
    machine, _ = with_memory(drawn(), "REG", 0)
    machine, _ = connected(machine, "node0.sys", "node0.reg")
    after, name = changed_memory(machine, "node0.reg", node=1)
    assert name == "node1.reg"
    assert after.channel("node0.sys->node1.reg").kind.name == "RemoteMemcpy"
    with pytest.raises(MachineError, match=r"Delete the channel node0.dsk->node0.sys first"):
        changed_memory(machine, "node0.dsk", node=1)


def test_a_memory_on_another_node_gets_a_free_name() -> None:
    machine, there = with_memory(new_machine(), "SYS", 1)
    after, name = changed_memory(machine, "node0.sys", node=1)
    assert (there, name) == ("node1.sys", "node1.sys2")
    assert {memory.name: memory.node for memory in after.memories} == {"node1.sys": 1, "node1.sys2": 1}
    both, name = changed_memory(after, "node1.sys2", name="left", node=4)
    assert (name, both.memory("left").node) == ("left", 4)
    with pytest.raises(MachineError, match="another memory has this name already"):
        changed_memory(after, "node1.sys2", name="node1.sys")


def test_the_last_memory_stays() -> None:
    machine = without_memories(drawn(), {"node0.dsk"})
    assert machine.channels == ()
    with pytest.raises(MachineError, match="at least one memory"):
        without_memories(machine, {"node0.sys"})


@pytest.mark.parametrize("times", [1, 3])
def test_copies_of_a_node_are_joined_as_the_preset_is(times: int) -> None:
    """Nodes copied by hand have the channels that the preset with more nodes has."""
    machine = with_copies(preset("sapling", nodes=2, gpus=2), 1, times)
    goal = preset("sapling", nodes=2 + times, gpus=2)

    def figures(machine: Machine) -> set[object]:
        return {(each.name, each.kind, each.source, each.destination, each.throughput, each.setup) for each in machine.channels}

    assert set(machine.memories) == set(goal.memories)
    assert figures(machine) == figures(goal)


def test_copies_have_resources_of_their_own() -> None:
    memories = (
        Memory("node0.sys", "SYS"),
        Memory("node0.reg", "REG"),
        Memory("node1.sys", "SYS", 1),
        Memory("node1.reg", "REG", 1),
    )
    uses = (("node0.out", 1.0), ("node1.in", 1.0), ("switch", 0.5))
    channels = (
        Channel("", "Memcpy", "node0.sys", "node0.reg", Constant(1e9), resources=(("bus", 2.0),)),
        Channel("", "RemoteMemcpy", "node0.reg", "node1.reg", Constant(1e9), resources=uses),
    )
    resources = tuple(Resource(name, 1e9) for name in ("bus", "node0.out", "node1.in", "switch"))
    machine = with_copies(Machine("m", memories, channels, resources), 0, 1)
    copy = machine.channel("node2.sys->node2.reg")
    assert copy.resources == (("node2.bus", 2.0),)
    assert machine.channel("node2.reg->node1.reg").resources == (("node2.out", 1.0), ("node1.in", 1.0), ("switch", 0.5))
    assert machine.channel("node0.reg->node2.reg").resources[0] == ("node0.out", 1.0)
    gone = without_node(machine, 2)
    assert {each.name for each in gone.resources} == {"bus", "node0.out", "node1.in", "switch"}


def test_a_node_is_added_and_deleted() -> None:
    machine, name = with_node(drawn())
    assert (name, machine.nodes) == ("node1.sys", (0, 1))
    assert without_node(machine, 0).nodes == (1,)
    with pytest.raises(MachineError, match="node 7: the machine has the nodes 0, 1"):
        without_node(machine, 7)
    with pytest.raises(MachineError, match="number"):
        with_copies(machine, 0, 0)


def test_a_bandwidth_keeps_the_form_of_its_function() -> None:
    machine = drawn()
    name = machine.channels[0].name
    for function in (Constant(1e9), LatencyBandwidth(1e-5, 2e9), Sampled(((64, 1e6), (4096, 5e8), (2**20, 1.1e9)))):
        before = with_channel(machine, name, throughput=function)
        after = with_bandwidth(before, name, 3e9).channel(name)
        assert after.peak == 3e9
        assert type(after.throughput) is type(function)
        assert after.provenance == "set by hand"
        for run in (64.0, 4096.0):
            if not isinstance(function, LatencyBandwidth):
                assert math.isclose(after.rate(run) / 3e9, function(run) / function.peak)
    assert with_latency(machine, name, 2e-6).channel(name).throughput == LatencyBandwidth(2e-6, machine.channel(name).peak)
    with pytest.raises(MachineError, match="bandwidth"):
        with_bandwidth(machine, name, -1)


def test_points_of_a_function_are_moved_added_and_removed() -> None:
    machine, name = drawn(), "node0.dsk->node0.sys"
    measured = Sampled.from_measurement(((1024, 1e8), (2**20, 1e9)), date="2026-11-24")
    machine = with_channel(machine, name, throughput=measured)
    machine = with_another_point(machine, name, 2.0**15)
    points = editable_points(machine.channel(name).throughput)
    assert [run for run, _ in points] == [1024, 2**15, 2**20]
    assert math.isclose(points[1][1], measured(2.0**15))
    machine = with_point(machine, name, 1, 2.0**16, 9e8)
    assert machine.channel(name).rate(2.0**16) == 9e8
    assert measured_samples(machine.channel(name).throughput) == measured.samples
    with pytest.raises(MachineError, match="rate falls"):
        with_point(machine, name, 1, 2.0**16, 2e9)
    with pytest.raises(MachineError, match=r"ascend|grow"):
        with_point(machine, name, 1, 2.0**21, 9e8)
    for _ in range(2):
        machine = without_point(machine, name, 0)
    with pytest.raises(MachineError, match="at least one point"):
        without_point(machine, name, 0)


def test_a_function_of_latency_becomes_points_close_to_it() -> None:
    function = LatencyBandwidth(1e-5, 5e9)
    points = editable_points(function)
    assert len(points) < 12
    drawn_one = Sampled(points)
    for k in range(6, 24):
        assert drawn_one(2.0**k) == pytest.approx(function(2.0**k), rel=0.13)


def test_channels_share_resources() -> None:
    machine, bus = with_resource(drawn())
    machine = sharing(machine, "node0.dsk->node0.sys", bus, 2.0)
    machine = changed_resource(machine, bus, name="disk", held=True, capacity=1.0)
    assert machine.channel("node0.dsk->node0.sys").resources == (("disk", 2.0),)
    with pytest.raises(MachineError, match=r"weight|resources"):
        sharing(machine, "node0.dsk->node0.sys", "disk", -1.0)
    assert sharing(machine, "node0.dsk->node0.sys", "disk", None).channel("node0.dsk->node0.sys").resources == ()
    assert without_resource(machine, "disk").channels[0].resources == ()


def test_positions_are_kept_in_the_file_and_not_in_the_digest() -> None:
    machine = drawn()
    there = placed(machine, {"node0.sys": (10, -20.5)})
    assert there.digest == machine.digest and hash(there) == hash(machine) and there != machine
    again = machine_from_json(json.loads(json.dumps(machine_to_json(there))))
    assert again == there and dict(again.positions) == {"node0.sys": (10.0, -20.5)}
    assert pickle.loads(pickle.dumps(there)) == there  # its own
    assert unplaced(there) == machine
    for wrong in ({"nowhere": (1, 2)}, {"node0.sys": (1, math.nan)}, {"node0.sys": 3}, [1]):
        with pytest.raises(MachineError, match="positions"):
            replace(machine, positions=wrong)
    with pytest.raises(MachineError, match="positions"):
        machine_from_json({**machine_to_json(machine), "positions": {"node0.sys": ["a", 1]}})


def test_memories_are_emulated() -> None:
    machine = preset("two-node")
    after = emulating(machine, ["node1.fbm0"])
    assert [memory.name for memory in after.memories if memory.emulated] == ["node1.fbm0"]
    assert emulating(after, ["node1.fbm0"], emulated=False) == machine


def test_copies_that_would_make_too_many_channels_are_refused() -> None:
    with pytest.raises(MachineError, match="more than 50,000 channels; choose fewer copies"):
        with_copies(preset("two-node"), 0, MOST_COPIES)
