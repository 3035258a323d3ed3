"""Memories, channels and machines: what they are, what they answer, what they refuse."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from isoviz.errors import MachineError, NoPathError
from isoviz.machines import (
    Channel,
    Constant,
    LatencyBandwidth,
    Limits,
    Machine,
    Memory,
    MemoryKind,
    Resource,
    channel_kinds,
    preset,
    shortest_path,
)

TP = Constant(1e9)
SYS, DSK, FBM = Memory("node0.sys", "SYS"), Memory("node0.dsk", "DSK"), Memory("node0.fbm0", "FBM")  # type: ignore[arg-type]
FAR = Memory("node1.sys", MemoryKind.SYS, node=1)


def machine(*channels: Channel, **changes: Any) -> Machine:
    return Machine(**{"name": "small", "memories": (SYS, DSK, FBM, FAR), "channels": channels, **changes})


def channel(kind: str, source: str, destination: str, **changes: Any) -> Channel:
    return Channel(**{"name": "", "kind": kind, "source": source, "destination": destination, "throughput": TP, **changes})


def test_kinds_follow_table_2_of_isometry_and_those_of_gpus_and_ranks() -> None:
    host = {"SYS", "ZCM", "REG"}
    expected = {
        "Memcpy": (host, host),
        "GPURead": ({"FBM"}, host),
        "GPUWrite": (host, {"FBM"}),
        "GPUCopy": ({"FBM"}, {"FBM"}),
        "ZeroCopyRead": ({"FBM"}, {"ZCM"}),
        "ZeroCopyWrite": ({"ZCM"}, {"FBM"}),
        "DiskRead": ({"DSK"}, host),
        "DiskWrite": (host, {"DSK"}),
        "GPUDirectRead": ({"DSK"}, {"FBM"}),
        "GPUDirectWrite": ({"FBM"}, {"DSK"}),
        "RemoteMemcpy": (host, host),
        "Window": (host, {"REG"}),
        "ProcessWrite": (host, {"SYS"}),
        "TwoSided": (host | {"FBM"}, host | {"FBM"}),
        "Packed": (host, host),
        "Derived": (host, host),
        "Put": (host, {"REG"}),
        "GPUDirectRemote": ({"FBM", "REG"}, {"FBM", "REG"}),
        "Assisted": ({"REG"}, {"REG"}),
        "AssistedGet": ({"REG"}, {"REG"}),
        "GetByPut": ({"REG"}, {"REG"}),
        "UMR": (host | {"FBM"}, host | {"FBM"}),
        "VICWrite": (host, {"DV"}),
        "VICRead": ({"DV"}, host),
        "DMAIn": (host, {"DV"}),
        "DMAOut": ({"DV"}, host),
        "VortexPackets": ({"DV"}, {"DV"}),
    }
    assert {str(kind): (set(kind.sources), set(kind.destinations)) for kind in channel_kinds() if kind in expected} == expected


def test_lookup() -> None:
    read = channel("DiskRead", "node0.dsk", "node0.sys")
    loop = channel("Memcpy", "node0.sys", "node0.sys")
    slow = channel("DiskRead", "node0.dsk", "node0.sys", name="through the page cache")
    small = machine(read, loop, slow)
    assert read.name == "node0.dsk->node0.sys"
    assert small.memory("node0.sys") is SYS
    assert small.channel("through the page cache") is slow
    assert small.between("node0.dsk", "node0.sys") == (read, slow)
    assert small.between("node0.sys", "node0.sys") == (loop,)
    assert small.between("node0.sys", "node0.dsk") == ()
    assert small.outgoing(SYS) == small.outgoing("node0.sys") == (loop,)
    assert loop.is_self_loop
    assert small.nodes == (0, 1)
    assert read.rate(1) == 1e9


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    small = machine(channel("Memcpy", "node0.sys", "node0.sys"))
    with pytest.raises(MachineError, match=r"no memory 'node0.sis'; it has node0.sys, .* did you mean 'node0.sys'\?"):
        small.memory("node0.sis")
    with pytest.raises(MachineError, match=r"no channel 'x'; it has node0\.sys->node0\.sys"):
        small.channel("x")
    with pytest.raises(MachineError, match="no resource 'bus'; it has none"):
        small.resource("bus")
    with pytest.raises(MachineError, match="no memory"):
        small.between("node0.sys", "nowhere")


def test_graph_is_a_view_with_everything_in_it() -> None:
    small = machine(channel("DiskRead", "node0.dsk", "node0.sys"), channel("Memcpy", "node0.sys", "node0.sys"))
    graph = small.graph()
    assert set(graph.nodes) == {"node0.sys", "node0.dsk", "node0.fbm0", "node1.sys"}
    assert graph.nodes["node0.sys"]["memory"] is SYS
    assert graph.edges["node0.dsk", "node0.sys", "node0.dsk->node0.sys"]["channel"] is small.channels[0]
    assert graph.number_of_edges() == 2


def test_shortest_path_has_fewest_hops_then_first_names() -> None:
    two = preset("two-node")
    names = [c.name for c in shortest_path(two, "node0.fbm0", "node1.fbm0")]
    # Isometry, section 4.4: FBM → REG → REG* → FBM*.
    assert names == ["node0.fbm0->node0.reg", "node0.reg->node1.reg", "node1.reg->node1.fbm0"]
    assert [c.name for c in shortest_path(two, "node0.sys", "node1.sys")] == ["node0.sys->node1.sys"]
    assert shortest_path(two, "node0.sys", "node0.sys") == ()


def test_shortest_path_agrees_with_networkx() -> None:
    import networkx

    four = preset("sapling", nodes=3, gpus=2)
    graph = four.graph()
    for source in graph.nodes:
        lengths = networkx.single_source_shortest_path_length(graph, source)
        for destination, length in lengths.items():
            path = shortest_path(four, source, destination)
            assert len(path) == length
            ends = [source, *(c.destination for c in path)]
            assert ends[-1] == destination
            assert [c.source for c in path] == ends[:-1]


def test_shortest_path_takes_the_fastest_of_parallel_channels() -> None:
    small = machine(
        channel("DiskRead", "node0.dsk", "node0.sys", name="a"),
        channel("DiskRead", "node0.dsk", "node0.sys", name="b", throughput=Constant(2e9)),
        channel("DiskRead", "node0.dsk", "node0.sys", name="c", throughput=Constant(2e9)),
    )
    assert [c.name for c in shortest_path(small, "node0.dsk", "node0.sys")] == ["b"]


def test_no_path_says_what_can_be_reached() -> None:
    small = machine(channel("DiskRead", "node0.dsk", "node0.sys"))
    with pytest.raises(NoPathError, match=r"from node0.dsk to node1.sys; only node0.sys can be reached from it"):
        shortest_path(small, "node0.dsk", "node1.sys")
    with pytest.raises(NoPathError, match=r"from node0.sys to node0.dsk; nothing can be reached from it"):
        shortest_path(small, "node0.sys", "node0.dsk")


def test_machines_are_values() -> None:
    a, b = preset("two-node"), preset("two-node")
    assert a == b
    assert hash(a) == hash(b)
    assert a.digest == b.digest
    other = dataclasses.replace(a, limits=Limits(slots=3))
    assert other != a
    assert other.digest != a.digest
    with pytest.raises(dataclasses.FrozenInstanceError):
        a.name = "other"  # type: ignore[misc]


def test_digest_is_the_same_in_another_process() -> None:
    program = "from isoviz.machines import preset; print(preset('sapling', nodes=3).digest)"
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert result.stdout.strip() == preset("sapling", nodes=3).digest


BAD: list[tuple[Callable[[], Any], str]] = [
    # memories
    (lambda: Memory("", "SYS"), "memory, name: expected a name"),  # type: ignore[arg-type]
    (lambda: Memory("a b", "SYS"), "name: expected one printable word"),  # type: ignore[arg-type]
    (lambda: Memory("a->b", "SYS"), "without '->'"),  # type: ignore[arg-type]
    (lambda: Memory("a\nb", "SYS"), "printable"),  # type: ignore[arg-type]
    (lambda: Memory(3, "SYS"), "expected text, got 3"),  # type: ignore[arg-type]
    (lambda: Memory("x" * 300, "SYS"), "at most 200 characters"),  # type: ignore[arg-type]
    (lambda: Memory("a", "RAM"), r"memory 'a', kind: expected one of SYS, REG, ZCM, FBM, DSK, .*got 'RAM'"),  # type: ignore[arg-type]
    (lambda: Memory("a", MemoryKind.SYS, node=-1), "node: expected a whole number from 0"),
    (lambda: Memory("a", MemoryKind.SYS, node=0.5), "node: expected a whole number"),  # type: ignore[arg-type]
    (lambda: Memory("a", MemoryKind.SYS, capacity=0), "capacity: expected a whole number from 1"),
    (lambda: Memory("a", MemoryKind.SYS, capacity=2**63), "capacity: expected a whole number"),
    (lambda: Memory("a", MemoryKind.SYS, slot_limit=0), "slot_limit"),
    (lambda: Memory("a", MemoryKind.SYS, emulated="yes"), "emulated: expected true or false"),  # type: ignore[arg-type]
    # channels
    (lambda: channel("Teleport", "a", "b"), "kind: expected one of Memcpy, GPURead, .*'Teleport'"),
    (lambda: channel("Memcpy", "", "b"), "source"),
    (lambda: channel("Memcpy", "a", "b", throughput=3e9), "throughput: expected a throughput function"),
    (lambda: channel("Memcpy", "a", "b", setup=-1), "channel 'a->b', setup"),
    (lambda: channel("Memcpy", "a", "b", setup=float("nan")), "setup"),
    (lambda: channel("Memcpy", "a", "b", conversion_setup=-1), "channel 'a->b', conversion_setup"),
    (lambda: channel("Memcpy", "a", "b", alignment=3), "alignment: expected a power of two, got 3"),
    (lambda: channel("Memcpy", "a", "b", alignment=0), "alignment: expected a whole number from 1"),
    (lambda: channel("Memcpy", "a", "b", max_in_flight=0), "max_in_flight"),
    (lambda: channel("Memcpy", "a", "b", resources=(("bus", -1),)), r"resources\[0\]\[1\]: expected a finite number ≥ 0"),
    (lambda: channel("Memcpy", "a", "b", resources=(("bus", 1), ("bus", 2))), r"resources\[1\]: .*'bus' stands twice"),
    (lambda: channel("Memcpy", "a", "b", resources="bus"), "resources: expected pairs"),
    (lambda: channel("Memcpy", "a", "b", resources=("bus",)), r"resources\[0\]: expected a pair"),
    # resources and limits
    (lambda: Resource("bus", 0), "resource 'bus', capacity: expected a finite number > 0"),
    (lambda: Resource("bus", float("inf")), "capacity"),
    (lambda: Limits(slot_limit=0), "slot_limit"),
    (lambda: Limits(memory_limit=-1), "memory_limit"),
    (lambda: Limits(slots=0), "slots"),
    (lambda: Limits(slots=True), "slots"),
    (lambda: Limits(overlap=1), "overlap: expected true or false"),  # type: ignore[arg-type]
    # machines
    (lambda: Machine("empty", ()), "memories: expected at least one memory"),
    (lambda: Machine("m", SYS), "memories: expected a list"),  # type: ignore[arg-type]
    (lambda: Machine("m", ("node0.sys",)), r"memories\[0\]: expected a Memory, got 'node0.sys'"),  # type: ignore[arg-type]
    (lambda: Machine("m", (SYS, SYS)), r"memories\[1\].name: .*'node0.sys' is already that of memories\[0\]"),
    (lambda: Machine("m", (SYS,), limits=None), "limits"),  # type: ignore[arg-type]
    (lambda: Machine("m", (SYS,), resources=(Resource("a", 1), Resource("a", 1))), r"resources\[1\].name"),
    (lambda: machine(channel("Memcpy", "node0.sys", "node0.reg")), r"channels\[0\].destination: no memory 'node0.reg'"),
    (lambda: machine(channel("Memcpy", "node0.reg", "node0.sys")), r"channels\[0\].source: no memory 'node0.reg'"),
    (
        lambda: machine(*(channel("DiskRead", "node0.dsk", "node0.sys") for _ in range(2))),
        r"channels\[1\].name: .* parallel channels need names of their own",
    ),
    (lambda: machine(channel("Memcpy", "node0.dsk", "node0.sys")), "Memcpy starts from SYS, ZCM, REG, but 'node0.dsk' is DSK"),
    (lambda: machine(channel("GPUWrite", "node0.sys", "node0.dsk")), "GPUWrite leads to FBM, but 'node0.dsk' is DSK"),
    (lambda: machine(channel("DiskWrite", "node0.dsk", "node0.dsk")), "DiskWrite starts from"),
    (lambda: machine(channel("Memcpy", "node0.sys", "node1.sys")), "Memcpy stays on one node"),
    (lambda: machine(channel("RemoteMemcpy", "node0.sys", "node0.sys")), "RemoteMemcpy joins different nodes"),
    (
        lambda: machine(channel("Memcpy", "node0.sys", "node0.sys", resources=(("bus", 1),))),
        r"channels\[0\].resources\[0\]: no resource 'bus'",
    ),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[str(k) for k in range(len(BAD))])
def test_bad_values(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(MachineError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["SYS", "REG", "ZCM"])
def test_self_loops_of_host_memories(kind: str) -> None:
    memory = Memory("m", MemoryKind(kind))
    assert Machine("m", (memory,), (channel("Memcpy", "m", "m"),)).between("m", "m")


def test_self_loop_of_gpu_memory_and_shared_resource() -> None:
    copy = channel("GPUCopy", "node0.fbm0", "node0.fbm0", throughput=LatencyBandwidth(1e-8, 5e10), resources=(("hbm", 2),))
    small = machine(copy, resources=(Resource("hbm", 1e11, "from the data sheet"),))
    assert small.resource("hbm").capacity == 1e11
    assert small.channels[0].resources == (("hbm", 2.0),)
