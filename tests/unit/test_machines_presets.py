"""Presets: the figures of the Isometry paper, exactly, and its example of section 4.3."""

from __future__ import annotations

import math
from typing import Any

import pytest

from isoviz.errors import MachineError
from isoviz.machines import Machine, preset, presets

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
    assert set(known) == {"local", "sapling", "two-node"}
    assert known["sapling"].options["nodes"].default == 2
    assert str(known["sapling"]).endswith("(options: nodes=2, gpus=1)")
    assert all("\n" not in str(info) for info in known.values())


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("saplin", {}, "no preset 'saplin'; there are local, sapling, two-node; did you mean 'sapling'?"),
        (3, {}, "no preset 3"),
        ("two-node", {"nodes": 3}, "preset 'two-node' has no option 'nodes'; it takes none"),
        ("sapling", {"node": 3}, "preset 'sapling' has no option 'node'; it takes nodes, gpus"),
        ("sapling", {"nodes": 0}, "nodes: expected a whole number from 1 to 128, got 0"),
        ("sapling", {"nodes": "2"}, "nodes: expected a whole number"),
        ("sapling", {"nodes": 10**9}, "nodes: expected a whole number from 1 to 128"),
        ("sapling", {"gpus": -1}, "gpus: expected a whole number from 0 to 16"),
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
