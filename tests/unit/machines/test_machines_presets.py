"""Presets: the figures of the Isometry paper, exactly, and its example of section 4.3."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import pytest
from work_done import lines_of

from isoviz.errors import MachineError
from isoviz.figures import path_svg
from isoviz.figures.machines.graph_layout import graph_layout
from isoviz.machines import (
    Constant,
    Machine,
    draw,
    machine_from_json,
    machine_to_json,
    preset,
    presets,
    shortest_path,
)

# Isometry, table 5, written down a second time and independently: source, destination, channel, MB/s.
TABLE_5 = """
zcm/reg/sys  zcm/reg/sys  Memcpy        7740
zcm          fbm          GPUWrite      5941
reg/sys      fbm          GPUWrite      5139
fbm          zcm          GPURead       6418
fbm          reg/sys      GPURead       4502
fbm          fbm          GPUCopy       55366
zcm/reg/sys  dsk          DiskWrite     270
dsk          zcm/reg/sys  DiskRead      280
reg          zcm/reg/sys  RemoteMemcpy  3180
zcm/sys      zcm/reg/sys  RemoteMemcpy  2701
"""
ROWS = {
    (a, b, kind): float(rate) * 1e6
    for sources, destinations, kind, rate in map(str.split, TABLE_5.strip().splitlines())
    for a in sources.split("/")
    for b in destinations.split("/")
}

CLUSTERS: dict[str, dict[str, Any]] = {
    "sapling": {"nodes": 3, "gpus": 2},
    "two-node": {},
    "xstream": {"nodes": 3},
    "moonlight": {"nodes": 3},
    "dgx-h100-pair": {},
    "v100-mesh": {},
    "two-nics": {},
    "gh200": {"nodes": 3},
    "workstation": {"gpus": 2},
    "laptop": {},
    "ranks": {"ranks": 4, "hosts": 2, "measure": "assumed"},
    "bgq": {},
    "mri": {"nodes": 3, "gpus": 2},
    "theta-gpu": {"gpus": 2},
    "armci-cluster": {"nodes": 3, "busy": 0.6},
    "data-vortex": {"nodes": 3, "angles": 3, "heights": 8, "inputs": 2},
    "vortex-infiniband": {"nodes": 3},
}
"""Every preset but `local`, which has tests of its own, with options that show most."""


def by_kinds(machine: Machine) -> dict[tuple[str, str, str], set[float]]:
    found: dict[tuple[str, str, str], set[float]] = {}
    for channel in machine.channels:
        ends = (machine.memory(channel.source).kind.lower(), machine.memory(channel.destination).kind.lower())
        found.setdefault((*ends, str(channel.kind)), set()).add(channel.peak)
    return found


def test_sapling_reproduces_table_5() -> None:
    assert by_kinds(preset("sapling")) == {ends: {rate} for ends, rate in ROWS.items()}


@pytest.mark.parametrize(("nodes", "gpus"), [(1, 0), (1, 1), (2, 1), (4, 2), (7, 3)])
def test_sapling_of_any_size(nodes: int, gpus: int) -> None:
    machine = preset("sapling", nodes=nodes, gpus=gpus)
    names = [memory.name for memory in machine.memories]
    per_node = ["sys", "reg", "zcm", *(f"fbm{k}" for k in range(gpus)), "dsk"]
    assert names == [f"node{n}.{suffix}" for n in range(nodes) for suffix in per_node]
    remote = [c for c in machine.channels if c.kind == "RemoteMemcpy"]
    assert len(remote) == 9 * nodes * (nodes - 1)
    assert len(machine.channels) - len(remote) == nodes * (9 + 6 * gpus + gpus**2 + 6)


def test_two_node_is_figure_4() -> None:
    machine = preset("two-node")
    assert {m.name for m in machine.memories} == {f"node{n}.{s}" for n in (0, 1) for s in ("sys", "reg", "zcm", "fbm0", "dsk")}
    loops = {c.source for c in machine.channels if c.is_self_loop}
    assert loops == {m.name for m in machine.memories if m.kind != "DSK"}
    assert machine.limits.slot_limit == 32 * 2**20
    network = {c.peak for c in machine.channels if c.kind == "RemoteMemcpy" and c.source.endswith("reg")}
    assert network == {3e9}


def test_two_node_satisfies_section_4_3() -> None:
    """|F| = 16, x_in = 2K, y_in = 1K, TH = 32 MiB on FBM → ZCM → REG → REG* → FBM*, at 3 GB/s (table 3)."""
    machine = preset("two-node")
    fields, x_in, y_in, target = 16, 2048, 1024, 3e9
    assert fields * x_in * y_in <= machine.limits.slot_limit
    hops = [
        ("node0.fbm0", "node0.zcm", fields * x_in),
        ("node0.zcm", "node0.reg", fields),
        ("node0.reg", "node1.reg", machine.limits.slot_limit),
        ("node1.reg", "node1.fbm0", fields * y_in),
    ]
    for source, destination, run in hops:
        (channel,) = machine.between(source, destination)
        assert channel.rate(run) >= target, channel.name
        assert channel.throughput.inverse(target) <= run, channel.name
    # And these blocks are about the smallest that do: half of either breaks a constraint.
    assert machine.between("node0.fbm0", "node0.zcm")[0].rate(fields * x_in / 2) < target
    assert machine.between("node1.reg", "node1.fbm0")[0].rate(fields * y_in / 2) < target


@pytest.mark.parametrize("name", ["sapling", "two-node"])
def test_memcpy_does_not_mind_short_runs(name: str) -> None:
    """Isometry, figure 5d."""
    for channel in preset(name).channels:
        if channel.kind == "Memcpy":
            assert channel.rate(1) == channel.rate(1 << 25) == 7740e6


@pytest.mark.parametrize("name", ["sapling", "two-node"])
def test_everything_says_where_it_comes_from(name: str) -> None:
    machine = preset(name, **({"gpus": 2} if name == "sapling" else {}))
    assert "paper" in machine.provenance
    assert "assumed" in machine.provenance
    for channel in machine.channels:
        peer = channel.kind == "GPUCopy" and not channel.is_self_loop
        assert (channel.provenance == "assumed") if peer else channel.provenance.startswith("bandwidth from the paper")
        assert math.isfinite(channel.throughput.inverse(channel.peak / 2))
        assert (channel.alignment == 4096) == channel.kind.startswith("Disk")


def test_presets_tell_their_options() -> None:
    known = presets()
    assert set(known) == {"local", *CLUSTERS}
    assert known["sapling"].options["nodes"].default == 2
    assert str(known["sapling"]).endswith("(options: nodes=2, gpus=1)")
    assert all("\n" not in str(info) for info in known.values())


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("saplin", {}, "no preset 'saplin'; there are local, ranks, sapling, two-node, xstream, "),
        (
            "saplin",
            {},
            "mri, theta-gpu, v100-mesh, two-nics, data-vortex, vortex-infiniband; did you mean 'sapling'?",
        ),
        (3, {}, "no preset 3"),
        ("two-node", {"nodes": 3}, "preset 'two-node' has no option 'nodes'; it takes none"),
        ("sapling", {"node": 3}, "preset 'sapling' has no option 'node'; it takes nodes, gpus"),
        ("sapling", {"nodes": 0}, "nodes: expected a whole number from 1 to 128, got 0"),
        ("sapling", {"nodes": "2"}, "nodes: expected a whole number"),
        ("sapling", {"nodes": 10**9}, "nodes: expected a whole number from 1 to 128"),
        ("sapling", {"gpus": -1}, "gpus: expected a whole number from 0 to 16"),
        ("xstream", {"nodes": 129}, "preset 'xstream', nodes: expected a whole number from 1 to 128, got 129"),
        ("moonlight", {"gpus": 17}, "preset 'moonlight', gpus: expected a whole number from 0 to 16, got 17"),
        ("dgx-h100-pair", {"gpus": 9}, "preset 'dgx-h100-pair', gpus: expected a whole number from 1 to 8, got 9"),
        *(
            ("dgx-h100-pair", {"gpus": n}, f"gpus: expected a whole number from 1 to 8, got {n!r}")
            for n in (0, -1, "x", 1.5, True)
        ),
        *(("workstation", {"gpus": n}, f"gpus: expected a whole number from 1 to 4, got {n!r}") for n in (0, 5, -1, "x", 1.5)),
        *(("gh200", {"nodes": n}, f"nodes: expected a whole number from 1 to 128, got {n!r}") for n in (0, 129, "x", 1.5)),
        ("gh200", {"gpus": 1}, "preset 'gh200' has no option 'gpus'; it takes nodes"),
        ("dgx-h100-pair", {"nodes": 2}, "preset 'dgx-h100-pair' has no option 'nodes'; it takes gpus"),
        ("laptop", {"gpus": 1}, "preset 'laptop' has no option 'gpus'; it takes none"),
        ("local", {"measure": "slowly"}, "measure: expected one of cached, fresh, assumed, got 'slowly'"),
        ("local", {"directory": "/no/such/place"}, "directory: '/no/such/place' is no directory"),
        ("local", {"directory": 3}, "directory: expected a path, got 3"),
        ("local", {"directory": "a\0b"}, "directory: "),
    ],
)
def test_bad_options(name: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(MachineError) as caught:
        preset(name, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", CLUSTERS)
def test_round_trip_through_json(name: str) -> None:
    machine = preset(name, **CLUSTERS[name])
    again = machine_from_json(json.loads(json.dumps(machine_to_json(machine))))
    assert again == machine
    assert again.digest == machine.digest


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *CLUSTERS.items(),
        ("xstream", {"nodes": 1, "gpus": 0}),
        ("ranks", {"ranks": 3, "measure": "assumed"}),
        *(("dgx-h100-pair", {"gpus": n}) for n in (1, 4, 5)),
        ("gh200", {"nodes": 1}),
        ("workstation", {"gpus": 1}),
    ],
)
def test_every_memory_reaches_every_other(name: str, options: dict[str, int]) -> None:
    machine = preset(name, **options)
    names = [memory.name for memory in machine.memories]
    for source in names:
        for destination in names:
            path = shortest_path(machine, source, destination)
            assert len(path) == 0 if source == destination else 1 <= len(path) <= 7


@pytest.mark.parametrize("name", ["sapling", "two-node", "xstream", "moonlight"])
def test_gpus_of_different_nodes_meet_by_registered_or_host_memory(name: str) -> None:
    machine = preset(name, **CLUSTERS[name])
    gpus = [memory for memory in machine.memories if memory.kind == "FBM"]
    for a, b in ((a, b) for a in gpus for b in gpus if a.node != b.node):
        path = shortest_path(machine, a.name, b.name)
        assert [channel.kind for channel in path if channel.kind != "GPUCopy"] == ["GPURead", "RemoteMemcpy", "GPUWrite"]
        assert len(path) == 3


@pytest.mark.parametrize("name", ["dgx-h100-pair", "gh200"])
def test_nics_of_today_reach_gpus(name: str) -> None:
    """GPUDirect RDMA joins GPUs of one rail, and a GPU with registered memory; another rail is one copy by NVLink away."""
    machine = preset(name)
    gpus = [memory for memory in machine.memories if memory.kind == "FBM"]
    for a, b in ((a, b) for a in gpus for b in gpus if a.node != b.node):
        kinds = [channel.kind for channel in shortest_path(machine, a.name, b.name)]
        assert sorted(kinds) == ["GPUCopy"] * (a.short_name != b.short_name) + ["GPUDirectRemote"]
    registered = "node1.reg0" if name == "dgx-h100-pair" else "node1.reg"
    for ends in (("node0.fbm0", registered), (registered, "node0.fbm0")):
        assert [channel.kind for channel in machine.between(*ends)] == ["GPUDirectRemote"]


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_figure_is_labelled(name: str) -> None:
    machine = preset(name, **CLUSTERS[name])
    labels = [machine.provenance, *(channel.provenance for channel in machine.channels)]
    labels += [resource.provenance for resource in machine.resources]
    for label in labels:
        assert any(word in label for word in ("from the paper", "published", "measured", "fitted", "assumed")), label
    for channel in machine.channels:
        assert math.isfinite(channel.throughput.inverse(channel.peak / 2))
        of_files = any(machine.memory(end).kind == "DSK" for end in (channel.source, channel.destination))
        assert (channel.alignment == 4096) == of_files
        if channel.kind != "Memcpy":
            assert "assumed" in channel.provenance or "fitted" in channel.provenance, "no latency is published"


@pytest.mark.parametrize(
    ("name", "gpus", "gpu", "dram"), [("xstream", 4, 12 * 2**30, 256 * 2**30), ("moonlight", 2, 6 * 2**30, 32 * 2**30)]
)
def test_table_4(name: str, gpus: int, gpu: int, dram: int) -> None:
    machine = preset(name)
    assert machine.nodes == (0, 1)
    found = [memory for memory in machine.memories if memory.kind == "FBM" and memory.node == 0]
    assert [memory.capacity for memory in found] == [gpu] * gpus
    host = [machine.memory(f"node0.{kind}").capacity for kind in ("sys", "reg", "zcm")]
    assert sum(size or 0 for size in host) == dram
    assert len(preset(name, nodes=16).nodes) == 16


def test_moonlight_is_as_fast_as_sapling_where_its_links_are_the_same() -> None:
    sapling, moonlight = by_kinds(preset("sapling")), by_kinds(preset("moonlight", gpus=1))
    for ends, rates in sapling.items():
        if ends[2] in ("GPURead", "GPUWrite", "RemoteMemcpy"):
            assert moonlight[ends] == rates


def test_fdr_is_as_much_faster_than_qdr_as_its_link() -> None:
    sapling, xstream = by_kinds(preset("sapling")), by_kinds(preset("xstream"))
    for ends, rates in sapling.items():
        if ends[2] == "RemoteMemcpy":
            assert max(xstream[ends]) / max(rates) == pytest.approx((56.25 * 64 / 66) / (40 * 8 / 10), rel=1e-4)


def test_laptop() -> None:
    machine = preset("laptop")
    assert [memory.name for memory in machine.memories] == ["node0.sys", "node0.zcm", "node0.fbm0", "node0.dsk"]
    assert machine.provenance == "assumed"
    assert "RemoteMemcpy" not in {channel.kind for channel in machine.channels}


def test_dgx_node_has_pairs_of_gpu_and_nic_on_two_sockets() -> None:
    machine = preset("dgx-h100-pair")
    assert len(machine.memories) == 2 * (8 + 8 + 2 + 2 + 1)
    for a, b in ((a, b) for a in range(8) for b in range(8)):
        joined = machine.between(f"node0.fbm{a}", f"node0.fbm{b}")
        assert [channel.peak for channel in joined] == [0.45 * 3350e9 if a == b else 376e9], "NVLink joins all GPUs of a node"
        assert bool(machine.between(f"node0.fbm{a}", f"node0.reg{b}")) == (a == b)
        assert bool(machine.between(f"node0.reg{a}", f"node1.reg{b}")) == (a == b), "a network of rails"
        near = bool(machine.between(f"node0.fbm{a}", f"node0.sys{b // 4}"))
        assert near == (a // 4 == b // 4), "a GPU copies with the memory of its own socket"


def test_dgx_resources_bound_what_is_shared() -> None:
    """Published: 400 Gb/s per NIC and 64 GB/s × 128/130 per PCIe link, each way; 38.4 GB/s on each of 8 channels of DDR5."""
    machine = preset("dgx-h100-pair")
    used = {name for channel in machine.channels for name, _ in channel.resources}
    assert used == {resource.name for resource in machine.resources}
    assert len(machine.resources) == 2 * (8 * 7 + 3)
    assert machine.resource("node1.nic7.out").capacity == 400e9 / 8
    assert machine.resource("node1.pcie7.up").capacity == pytest.approx(64e9 * 128 / 130, rel=1e-3)
    assert machine.resource("node0.bus1").capacity == pytest.approx(8 * 38.4e9)
    for channel in machine.channels:
        for name, weight in channel.resources:
            assert channel.peak * weight <= machine.resource(name).capacity, "no channel alone is more than what it shares"
    (sent,) = machine.between("node0.reg5", "node1.reg5")
    assert dict(sent.resources) == {
        "node0.bus1": 1, "node0.pcie5.down": 1, "node0.nic5.out": 1,
        "node1.nic5.in": 1, "node1.pcie5.up": 1, "node1.bus1": 1,
    }  # fmt: skip
    # Four GPUs of a socket sending by way of host memory: each byte crosses the memory bus twice, and that is what bounds.
    assert 4 * 2 * sent.peak > machine.resource("node0.bus1").capacity
    (direct,) = machine.between("node0.fbm5", "node1.fbm5")
    assert {name for name, _ in direct.resources} == {
        "node0.hbm5", "node0.pcie5.up", "node0.nic5.out", "node1.nic5.in", "node1.pcie5.down", "node1.hbm5",
    }, "GPUDirect RDMA does not touch the memory of the host"  # fmt: skip
    (copy,) = machine.between("node0.sys0", "node0.zcm0")
    assert dict(copy.resources) == {"node0.bus0": 2}, "a copy reads and writes"


@pytest.mark.parametrize("name", ["dgx-h100-pair", "gh200", "workstation"])
def test_machines_of_today_change_layouts_by_kernels(name: str) -> None:
    """A layout change has a rate of its own, short runs without their neighbours are slow, and no hop is free."""
    machine = preset(name)
    for channel in machine.channels:
        assert channel.request_seconds > 0, channel.name
        if channel.kind in ("Memcpy", "GPUCopy"):
            assert channel.rate(4) < 0.4 * channel.peak < 0.7 * channel.peak < channel.layout_rates(4) <= channel.peak
    for kind in ("Memcpy", "GPUCopy"):  # between two GPUs the link is the limit, not the kernel
        within = [each for each in machine.channels if each.kind == kind and each.is_self_loop]
        assert all(each.layout_rates(1) < each.layout_rates(4) < each.layout_rates(4 << 20) for each in within), kind
    (loop,) = machine.between("node0.fbm0", "node0.fbm0")
    pinned = "node0.zcm0" if name == "dgx-h100-pair" else "node0.zcm"
    engine, kernel = machine.between(pinned, "node0.fbm0")
    assert (engine.kind, kernel.kind) == ("GPUWrite", "ZeroCopyWrite")
    assert engine.rate(4 << 20) > kernel.rate(4 << 20) > kernel.layout_rates(4) > 5 * engine.layout_rates(4)
    assert loop.layout_rates(4) > 2 * kernel.layout_rates(4), "a kernel is never the limit of a link"


@pytest.mark.parametrize("name", ["sapling", "two-node", "xstream", "moonlight"])
def test_presets_of_the_paper_have_no_costs_of_today(name: str) -> None:
    assert all(each.layout_throughput is None and each.request_seconds == 0 for each in preset(name).channels)


@pytest.mark.parametrize("gpus", [1, 3, 8])
def test_dgx_with_fewer_gpus(gpus: int) -> None:
    machine = preset("dgx-h100-pair", gpus=gpus)
    assert sum(memory.kind == "FBM" for memory in machine.memories) == 2 * gpus
    assert len(machine.resources) == 2 * (7 * gpus + 3)
    host = [memory.capacity or 0 for memory in machine.memories if memory.node == 0 and memory.kind.is_host]
    assert sum(host) == 2**41


def test_dgx_as_text_shows_families() -> None:
    text = draw(preset("dgx-h100-pair"))
    assert max(map(len, text.splitlines())) <= 120
    assert len(text.splitlines()) < 100
    for words in ("8 × FBM", "74.5 GiB", "fbm0–7  each other", "fbm0–7  reg0–7, same number", "fbm0–7  1 of zcm0–1 each",
                  "reg0–7*, same number", "fbm0–7*, same number", "uses pcie*.up, bus", "16 × node*.nic*.out",
                  "16 × node*.hbm*"):  # fmt: skip
        assert words in text


def test_large_machines_are_made_and_asked_quickly() -> None:
    """Making one takes as long for each channel as in a small one; a search looks at a channel once, and a question at none."""
    made = {nodes: lines_of(lambda nodes=nodes: preset("sapling", nodes=nodes).digest) for nodes in (8, 32)}
    small, large = (preset("sapling", nodes=nodes) for nodes in made)
    assert len(large.channels) == 9632 > 14 * len(small.channels)
    assert made[32] / len(large.channels) < 1.2 * made[8] / len(small.channels)
    assert len(shortest_path(large, "node0.fbm0", "node31.fbm0")) == 3
    assert lines_of(lambda: shortest_path(large, "node0.fbm0", "node31.fbm0")) < 2 * len(large.channels)
    assert len(large.between("node0.reg", "node31.reg")) == 1
    assert lines_of(lambda: large.between("node0.reg", "node31.reg")) < 20


def test_digest_tells_every_part_apart() -> None:
    machine = preset("two-node")
    channel = machine.channels[0]
    changed = [
        dataclasses.replace(channel, throughput=Constant(1.0)),
        dataclasses.replace(channel, setup=1.0),
        dataclasses.replace(channel, conversion_setup=1.0),
        dataclasses.replace(channel, alignment=2),
        dataclasses.replace(channel, max_in_flight=7),
        dataclasses.replace(channel, provenance="elsewhere"),
        dataclasses.replace(channel, name="another"),
    ]
    variants = [dataclasses.replace(machine, channels=(first, *machine.channels[1:])) for first in changed]
    variants += [dataclasses.replace(machine, channels=machine.channels[1:]), dataclasses.replace(machine, name="x"), machine]
    variants += [dataclasses.replace(machine, channels=(*machine.channels[1:], channel))]
    assert len({variant.digest for variant in variants}) == len(variants)
    zero, minus = (dataclasses.replace(channel, setup=sign * 0.0) for sign in (1, -1))
    same = [dataclasses.replace(machine, channels=(each, *machine.channels[1:])) for each in (zero, minus)]
    assert same[0] == same[1]
    assert same[0].digest == same[1].digest


@pytest.mark.parametrize(("name", "stacks"), [("dgx-h100-pair", 4), ("xstream", 1), ("sapling", 0)])
def test_pictures_stack_memories_that_are_alike(name: str, stacks: int) -> None:
    machine = preset(name)
    layout = graph_layout(machine, machine.nodes)
    assert set(layout.boxes) == {memory.name for memory in machine.memories}
    assert sum(len(stack) > 1 for stack in layout.panels[0].stacks) == stacks
    path = ["node0.fbm0", "node0.reg0" if name == "dgx-h100-pair" else "node0.reg"]
    apart = graph_layout(machine, machine.nodes, path)
    for memory in path:
        assert [key for key, box in apart.boxes.items() if box == apart.boxes[memory]] == [memory]
    for text in ("fbm0–7", "8 × 74.5 GiB", "0.38–1.51 TB/s", "32 channels each way") if name == "dgx-h100-pair" else ():
        assert f">{text}</text>" in path_svg(machine)


@pytest.mark.parametrize(
    "name",
    [name for name in CLUSTERS if name not in ("ranks", "bgq", "two-nics", "armci-cluster", "data-vortex", "vortex-infiniband")],
)
def test_gpus_always_have_a_request_waiting(name: str) -> None:
    """While a GPU carries out one request, the next one is queued."""
    channels = [channel for channel in preset(name).channels if str(channel.kind) in ("GPURead", "GPUWrite", "GPUCopy")]
    assert channels and all(channel.max_in_flight >= 2 for channel in channels)
