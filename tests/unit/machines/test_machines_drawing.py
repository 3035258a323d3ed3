"""Machines as text."""

from __future__ import annotations

import dataclasses

import pytest

from isoviz.machines import Channel, ChannelKind, Constant, Machine, Memory, MemoryKind, Resource, draw, preset


@pytest.mark.parametrize("options", [{"nodes": 1, "gpus": 0}, {}, {"nodes": 4, "gpus": 2}, {"nodes": 9, "gpus": 16}])
def test_fits_and_names_everything(options: dict[str, int]) -> None:
    machine = preset("sapling", **options)
    text = draw(machine)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 120
    assert len(lines) < 60
    for kind in {str(channel.kind) for channel in machine.channels}:
        assert kind in text
    if options.get("gpus") == 16:
        assert "fbm0–15" in text
        assert "16 × FBM" in text
    for memory in machine.memories:
        assert memory.short_name in text or (memory.kind == "FBM" and options.get("gpus") == 16)
    assert "assumed" in text
    assert "table 5" in text


def test_alike_nodes_are_drawn_once() -> None:
    text = draw(preset("sapling", nodes=4, gpus=2))
    assert "nodes 0–3, each\n" in text
    assert text.count("  zcm ↺") == 1
    assert "between any two nodes" in text
    assert "fbm0, fbm1     itself" in text
    assert "fbm0, fbm1     each other" in text


def test_peak_and_latency_and_provenance_in_one_row() -> None:
    rows = [line for line in draw(preset("two-node")).splitlines() if "GPURead" in line and "zcm" in line]
    (row,) = rows
    assert "6.42 GB/s" in row
    assert "5.8 µs" in row
    assert "36.4 KiB" in row, "half of the peak at latency × bandwidth"
    assert "[2]" in row


def test_different_nodes_are_drawn_apart() -> None:
    two = preset("two-node")
    bigger = [dataclasses.replace(m, capacity=1 << 40) if m.name == "node1.sys" else m for m in two.memories]
    text = draw(dataclasses.replace(two, memories=tuple(bigger)))
    assert "  node 0\n" in text
    assert "  node 1\n" in text
    assert "1 TiB" in text


def test_resources_names_emulated_and_limits_are_shown() -> None:
    machine = Machine(
        "odd",
        (Memory("node0.sys", MemoryKind.SYS, slot_limit=1 << 20, label="near"), Memory("gpu", MemoryKind.FBM, emulated=True)),
        (
            Channel("pinned", ChannelKind.GPU_WRITE, "node0.sys", "gpu", Constant(1e9), resources=(("pcie", 1),)),
            Channel("pageable", ChannelKind.GPU_WRITE, "node0.sys", "gpu", Constant(1e9), resources=(("pcie", 1),)),
        ),
        (Resource("pcie", 1.2e10, "assumed"),),
    )
    text = draw(machine)
    assert "emulated" in text
    assert "slots up to 1 MiB" in text
    assert "GPUWrite 'pinned'" in text
    assert "GPUWrite 'pageable'" in text
    assert "uses pcie" in text
    assert "12 GB/s" in text
    assert "2 channels" in text


def test_a_machine_without_channels() -> None:
    text = draw(Machine("least", (Memory("m", MemoryKind.DSK),)))
    assert "1 node, 1 memory, 0 channels" in text
    assert "size unknown" in text


def test_long_names_do_not_break_the_width() -> None:
    names = [f"node0.{'x' * 60}{k}" for k in range(6)]
    memories = tuple(Memory(name, MemoryKind.SYS, label="y" * 150) for name in names)
    channels = tuple(
        Channel(f"{'c' * 100} {k}", ChannelKind.MEMCPY, names[0], name, Constant(1e9)) for k, name in enumerate(names)
    )
    text = draw(Machine("m" * 150, memories, channels, provenance="p" * 190))
    assert max(map(len, text.splitlines())) <= 120


def test_ring_of_nodes_lists_who_is_joined() -> None:
    memories = tuple(Memory(f"node{n}.sys", MemoryKind.SYS, n) for n in range(3))
    ring = tuple(
        Channel("", ChannelKind.REMOTE_MEMCPY, f"node{n}.sys", f"node{(n + 1) % 3}.sys", Constant(1e9)) for n in range(3)
    )
    text = draw(Machine("ring", memories, ring))
    assert "between nodes 0 → 1, 1 → 2, 2 → 0" in text


def test_as_text_a_machine_is_one_line() -> None:
    assert str(Machine("least", (Memory("m", MemoryKind.DSK),))) == "Machine least: 1 node, 1 memory, 0 channels"
    two = preset("two-node")
    assert str(two).startswith("Machine two-node: 2 nodes, ")
    assert "\n" not in str(two)
    assert draw(two).startswith(str(two))
