"""The preset `ranks` with GPUs: memories, channels, their rates, and the paths between GPUs of two ranks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from isoviz import FieldSpace, IndexSpace, Plan, Transfer, plan
from isoviz.errors import MachineError
from isoviz.machines import (
    Channel,
    ChannelKind,
    LatencyBandwidth,
    Machine,
    Memory,
    MemoryKind,
    machine_from_json,
    machine_to_json,
    preset,
)
from isoviz.machines.presets.rank_gpu_presets import with_gpus


def ranks(**options: Any) -> Machine:
    return preset("ranks", **{"ranks": 2, "gpus": 1, "measure": "assumed", **options})


def planned(machine: Machine, source: str = "node0.fbm0", destination: str = "node1.fbm0") -> Plan:
    space, fields = IndexSpace(x=2048, y=2048), FieldSpace(a="float32", b="float32")
    return plan(Transfer.whole(space, fields, source, "<F, x, y>", destination, "<y, x, F>"), machine)


def test_every_rank_has_pinned_memory_and_its_gpus() -> None:
    machine = ranks(gpus=2, hosts=2)
    names = ["sys", "reg", "zcm", "fbm0", "fbm1", "dsk"]
    assert [memory.name for memory in machine.memories] == [f"node{rank}.{name}" for rank in range(2) for name in names]
    assert all(
        (memory.node == int(memory.name[4]) and memory.device is None) or memory.is_file_system for memory in machine.memories
    )
    assert [memory.label for memory in machine.memories if memory.kind is MemoryKind.FBM] == ["on host0"] * 2 + ["on host1"] * 2
    assert machine_from_json(machine_to_json(machine)) == machine
    host = {"sys", "reg", "zcm"}
    found = {
        (str(c.kind), c.source[6:], c.destination[6:]) for c in machine.channels if c.source[:6] == c.destination[:6] == "node1."
    }
    assert {(a, b) for kind, a, b in found if kind == "Memcpy"} == {(a, b) for a in host for b in host}
    for gpu in ("fbm0", "fbm1"):
        assert {b for kind, a, b in found if kind == "GPURead" and a == gpu} == host
        assert {a for kind, a, b in found if kind == "GPUWrite" and b == gpu} == host
    assert {(a, b) for kind, a, b in found if kind == "GPUCopy"} == {(f"fbm{j}", f"fbm{k}") for j in (0, 1) for k in (0, 1)}
    assert {a for kind, a, b in found if kind == "DiskWrite"} == {b for kind, a, b in found if kind == "DiskRead"} == host
    assert len({channel.name for channel in machine.channels}) == len(machine.channels)


def test_without_gpus_nothing_changes() -> None:
    assert ranks(gpus=0) == preset("ranks", ranks=2, measure="assumed")
    assert not any(memory.kind is MemoryKind.ZCM for memory in ranks(gpus=0).memories)


def test_gpus_of_two_ranks_are_joined_through_registered_memory() -> None:
    made = planned(ranks())
    assert [str(hop.kind) for hop in made.every_hop if hop.kind != "GPUCopy"] == ["GPURead", "Window", "GPUWrite"], made
    far = planned(ranks(hosts=2))
    kinds = [str(hop.kind) for hop in far.every_hop if hop.kind != "GPUCopy"]
    assert kinds[0] == "GPURead" and kinds[-1] == "GPUWrite" and set(kinds[1:-1]) <= {"TwoSided", "Packed", "Memcpy"}, far
    staged = ranks().channel("node0.fbm0->node0.sys")
    assert ranks().channel("node0.fbm0->node0.reg").peak == ranks().channel("node0.fbm0->node0.zcm").peak > staged.peak


def test_messages_between_gpus_are_offered_where_mpi_takes_them() -> None:
    between = [c for c in ranks(gpu_memory="cuda-aware").channels if c.kind.crosses_nodes and "fbm" in c.name]
    assert {(c.source, c.destination, str(c.kind)) for c in between} == {
        ("node0.fbm0", "node1.fbm0", "TwoSided"),
        ("node1.fbm0", "node0.fbm0", "TwoSided"),
    }
    assert not [c for c in ranks().channels if c.kind.crosses_nodes and "fbm" in c.name]
    assert not any(memory.emulated for memory in ranks(gpu_memory="cuda-aware").memories)


def test_emulated_gpus_are_marked() -> None:
    machine = ranks(gpu_memory="emulated")
    assert {memory.short_name for memory in machine.memories if memory.emulated} == {"zcm", "fbm0"}
    assert "emulated" in str(planned(machine))


def test_rates_are_those_of_the_measured_computer() -> None:
    """The first GPU of the computer stands for the GPUs of all ranks."""
    names = {"sys": MemoryKind.SYS, "zcm": MemoryKind.ZCM, "fbm0": MemoryKind.FBM}
    memories = tuple(Memory(f"node0.{name}", kind, capacity=1 << 34) for name, kind in names.items())
    rates = {("fbm0", "zcm"): 21e9, ("fbm0", "sys"): 11e9, ("zcm", "fbm0"): 22e9, ("sys", "fbm0"): 12e9, ("fbm0", "fbm0"): 9e11}
    channels = tuple(
        Channel(
            "",
            ChannelKind.GPU_COPY if a == b else ChannelKind.GPU_READ if a == "fbm0" else ChannelKind.GPU_WRITE,
            f"node0.{a}",
            f"node0.{b}",
            LatencyBandwidth(1e-9, rate),
            setup=3e-6,
            max_in_flight=3,
            provenance="measured",
        )
        for (a, b), rate in rates.items()
    )
    computer = Machine("local", memories, channels)
    machine = with_gpus(preset("ranks", ranks=2, measure="assumed"), 2, "real", computer)
    for (a, b), rate in rates.items():
        assert machine.channel(f"node1.{a}->node1.{b}").peak == rate
    assert machine.channel("node0.reg->node0.fbm1").peak == 22e9, "registered memory is as fast as pinned memory"
    assert machine.channel("node0.fbm0->node0.reg").setup == 3e-6
    assert machine.channel("node0.fbm0->node0.fbm1").provenance == "assumed", "the computer has one GPU"
    assert machine.memory("node1.fbm1").capacity == 1 << 34
    without = replace(computer, memories=memories[:1], channels=())
    assert with_gpus(preset("ranks", ranks=2, measure="assumed"), 1, "real", without) == ranks()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gpus": -1}, r"preset 'ranks', gpus: expected a whole number from 0 to 16, got -1"),
        ({"gpus": 17}, "gpus: expected"),
        ({"gpus": "many"}, "gpus: expected"),
        ({"gpu_memory": "fast"}, "gpu_memory: expected one of real, cuda-aware, emulated, got 'fast'"),
        ({"gpu_memory": True}, "gpu_memory: expected one of"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(MachineError, match=said):
        ranks(**options)
