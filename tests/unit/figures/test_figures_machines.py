"""Pictures of machines, paths and throughput functions: nothing overlaps, nothing is invented, nothing is cut off."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET

import pytest
from html_cases import SVG, svg_root

from isoviz import machines
from isoviz.figures.charts.svg import text_width
from isoviz.figures.charts.theme import MARGIN
from isoviz.figures.machines.curves import bounds, channels_of, curves, operating_points
from isoviz.figures.machines.graph_layout import graph_layout, shown_nodes
from isoviz.figures.machines.nested_boxes import TITLE, BoxFrame, Rect
from isoviz.figures.machines.path_picture import path_svg
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import (
    Channel,
    ChannelKind,
    Constant,
    LatencyBandwidth,
    Machine,
    Memory,
    MemoryKind,
    channel_kinds,
    memory_kinds,
)
from isoviz.planner import Plan, Transfer, plan
from isoviz.units import format_rate

FIELDS = FieldSpace(re="float32", im="float32")


def local() -> Machine:
    """Two memories, as the preset of this name has them, without measuring anything."""
    memories = (Memory("node0.sys", MemoryKind.SYS), Memory("node0.dsk", MemoryKind.DSK, capacity=2**38))
    channels = (
        Channel("", ChannelKind.DISK_READ, "node0.dsk", "node0.sys", LatencyBandwidth(1e-5, 1.4e9)),
        Channel("", ChannelKind.DISK_WRITE, "node0.sys", "node0.dsk", LatencyBandwidth(1e-5, 1.1e9)),
        Channel("", ChannelKind.MEMCPY, "node0.sys", "node0.sys", Constant(9e9)),
    )
    return Machine("local", memories, channels)


def crowded() -> Machine:
    """Odd but legal: several GPUs and disks on one node, none of some kinds, hostile names."""
    memories = [Memory(f"node0.fbm{k}", MemoryKind.FBM, emulated=k == 1) for k in range(4)]
    memories += [Memory("<script>alert(1)</script>", MemoryKind.SYS, label="<b>&"), Memory("node0.dsk", MemoryKind.DSK)]
    memories += [
        Memory("node0.dsk2-with-a-very-long-name-that-no-box-can-hold", MemoryKind.DSK),
        Memory("far", MemoryKind.REG, node=7),
    ]
    host = memories[4].name
    channels = [Channel("", ChannelKind.GPU_READ, f"node0.fbm{k}", host, Constant(1e9 + k)) for k in range(4)]
    channels += [
        Channel("", ChannelKind.GPU_COPY, f"node0.fbm{a}", f"node0.fbm{b}", Constant(5e10)) for a in range(4) for b in range(4)
    ]
    channels += [Channel("second <i>", ChannelKind.GPU_READ, "node0.fbm0", host, Constant(2e9))]
    channels += [Channel("", ChannelKind.REMOTE_MEMCPY, host, "far", Constant(3e9))]
    return Machine("<img src=x>", tuple(memories), tuple(channels))


MACHINES = {
    "local": local(),
    "two-node": machines.preset("two-node"),
    "sapling": machines.preset("sapling", nodes=4),
    "crowded": crowded(),
    "alone": Machine("alone", (Memory("m", MemoryKind.SYS),)),
}


def planned(machine: Machine, source: str, destination: str) -> Plan:
    return plan(Transfer.whole(IndexSpace(x=1024, y=512), FIELDS, source, "<F, x, y>", destination, "<F, y, x>"), machine)


PLANS = {
    "local": planned(MACHINES["local"], "node0.dsk", "node0.sys"),
    "two-node": planned(MACHINES["two-node"], "node0.fbm0", "node1.fbm0"),
    "sapling": planned(MACHINES["sapling"], "node1.fbm0", "node3.dsk"),
}


@pytest.mark.parametrize("name", MACHINES)
def test_boxes_are_inside_their_node_and_apart(name: str) -> None:
    machine = MACHINES[name]
    layout = graph_layout(machine, machine.nodes)
    assert set(layout.boxes) == {memory.name for memory in machine.memories}
    for a, b in itertools.combinations(set(layout.boxes.values()), 2):  # memories that are alike may share a box
        assert not a.overlaps(b)
    for panel in layout.panels:
        for box in panel.boxes.values():
            frame = panel.frame
            assert frame.x <= box.x and box.x + box.width <= frame.x + frame.width
            assert frame.y <= box.y and box.y + box.height <= frame.y + frame.height
    for a, b in itertools.combinations([panel.frame for panel in layout.panels], 2):
        assert not a.overlaps(b)


@pytest.mark.parametrize("name", ["two-node", "sapling"])
def test_every_node_looks_alike_and_lines_keep_off_boxes(name: str) -> None:
    machine = MACHINES[name]
    layout = graph_layout(machine, machine.nodes[:2])
    first, second = layout.panels
    for memory, box in first.boxes.items():
        twin = second.boxes[memory.replace("node0", "node1")]
        assert (twin.x - second.frame.x, twin.y) == pytest.approx((box.x - first.frame.x, box.y))
    for channel in machine.channels:
        if channel.source in layout.boxes and channel.destination in layout.boxes and channel.source != channel.destination:
            curve = layout.curve(channel.source, channel.destination)
            others = [box for key, box in layout.boxes.items() if key not in (channel.source, channel.destination)]
            if not channel.kind.crosses_nodes:
                assert not any(box.holds(*curve.at(k / 50)) for box in others for k in range(51)), channel.name


def text_boxes(svg: str) -> list[tuple[str, Rect]]:
    """The discs with hop numbers."""
    return [
        (node.tag, Rect(float(node.get("cx", 0)) - 10, float(node.get("cy", 0)) - 10, 20, 20))
        for node in svg_root(svg).iter(f"{SVG}circle")
    ]


@pytest.mark.parametrize("name", PLANS)
def test_path_shows_every_hop_and_what_limits(name: str) -> None:
    machine, made = MACHINES[name], PLANS[name]
    svg = path_svg(machine, made)
    root = svg_root(svg)
    texts = [node.text or "" for node in root.iter(f"{SVG}text")]
    for hop in made.hops:
        assert texts.count(str(hop.index)) == 2  # on the path and on its card
        assert format_rate(hop.throughput) in texts
        assert ChannelKind(hop.kind).words in texts
    codes = {str(kind) for kind in (*memory_kinds(), *channel_kinds())}
    assert not [text for text in texts if codes & set(text.split())], "a kind is named by its code alone"
    assert texts.count("slowest hop") == len(made.only.slowest)
    discs = [box for _, box in text_boxes(path_svg(machine, made, cards=False))]
    assert len(discs) == len(made.hops)
    assert not any(a.overlaps(b) for a, b in itertools.combinations(discs, 2))


def test_nodes_off_the_path_are_named_not_drawn() -> None:
    machine, made = MACHINES["sapling"], PLANS["sapling"]
    assert shown_nodes(machine, made.memories) == (1, 3)
    texts = [node.text for node in svg_root(path_svg(machine, made)).iter(f"{SVG}text")]
    assert {"node 1", "node 3", "+ 2 more nodes", "not on the path", "nodes 0, 2"} <= set(texts)
    assert "node 0" not in texts


@pytest.mark.parametrize("name", MACHINES)
def test_any_machine_draws_well_formed_and_escaped(name: str) -> None:
    machine = MACHINES[name]
    for svg in (path_svg(machine), path_svg(machine, theme="dark")):
        root = svg_root(svg)
        assert "<script" not in svg and "<img" not in svg and "<b>" not in svg
        assert len(svg) < 400_000
        sizes = [float(node.get("font-size", "0")) for node in root.iter() if node.get("font-size")]
        assert min(sizes) >= 10
    assert any(memory.emulated for memory in machine.memories) == ("emulated" in path_svg(machine))


def test_drawing_is_deterministic() -> None:
    plain = [re.sub(r"iv[0-9a-f]{10}(-\d+)?", "id", path_svg(MACHINES["two-node"], PLANS["two-node"])) for _ in range(2)]
    assert plain[0] == plain[1]


def test_curves_group_equal_functions_and_lose_no_channel() -> None:
    machine = MACHINES["sapling"]
    found = curves(machine.channels)
    assert sorted(c.name for curve in found for c in curve.channels) == sorted(c.name for c in machine.channels)
    assert len(found) < 16
    for curve in found:
        assert {channel.kind for channel in curve.channels} == {curve.kind}
        for run, rate in curve.points[::17]:
            assert all(channel.rate(run) == rate for channel in curve.channels)


@pytest.mark.parametrize("name", PLANS)
def test_operating_points_lie_on_their_curves(name: str) -> None:
    machine, made = MACHINES[name], PLANS[name]
    points = operating_points(made)
    used = channels_of(machine, made)
    assert [point.label for point in points] == [str(hop.index) for hop in made.hops]
    assert {point.channel for point in points} == {channel.name for channel in used}
    for point in points:
        assert point.rate == pytest.approx(machine.channel(point.channel).rate(point.run_bytes), rel=1e-6)
    box = bounds(curves(used), points)
    for point in points:
        assert box.low_run <= point.run_bytes <= box.high_run and box.low_rate <= point.rate <= box.high_rate


def inside(inner: Rect, outer: Rect) -> bool:
    return (
        outer.x <= inner.x
        and outer.y <= inner.y
        and inner.x + inner.width <= outer.x + outer.width
        and inner.y + inner.height <= outer.y + outer.height
    )


def frames_of(machine: Machine, path: tuple[str, ...] = ()) -> list[BoxFrame]:
    """The frames of the first node, after a check that frames and memories lie in each other or apart, and off the titles."""
    (panel, *_) = graph_layout(machine, machine.nodes[:1], path).panels
    boxes = list(dict.fromkeys(panel.boxes.values()))
    for a, b in itertools.combinations(panel.frames, 2):
        assert not a.rect.overlaps(b.rect) or (a.depth < b.depth and inside(b.rect, a.rect)), (a, b)
    for frame in panel.frames:
        assert inside(frame.rect, panel.frame)
        title = Rect(frame.rect.x, frame.rect.y, frame.rect.width, TITLE)
        assert not any(title.overlaps(box) for box in boxes), frame
        assert all(inside(box, frame.rect) or not box.overlaps(frame.rect) for box in boxes), frame
    return list(panel.frames)


@pytest.mark.parametrize("name", [name for name in machines.presets() if name not in ("local", "ranks", "bgq")])
def test_boxes_in_boxes_lie_in_each_other(name: str) -> None:
    machine = machines.preset(name)
    frames = frames_of(machine)
    assert bool(frames) == any(memory.within for memory in machine.memories)


def test_boxes_that_are_alike_are_one_unless_the_path_takes_one() -> None:
    machine = machines.preset("dgx-h100-pair")
    together = {frame.title: (frame.depth, frame.count, frame.shared) for frame in frames_of(machine)}
    assert together == {
        "socket 0–1": (1, 2, ""),
        "PCIe switch 0–7": (2, 8, "pcie* 63 GB/s"),
        "GPU 0–7": (3, 8, "nvlink* 450 GB/s; hbm* 3.02 TB/s"),
        "NIC 0–7": (3, 8, "nic* 50 GB/s"),
        "DRAM": (2, 2, "bus* 307 GB/s"),
    }
    apart = [(frame.title, frame.count) for frame in frames_of(machine, ("node0.fbm5", "node0.reg5"))]
    assert {("socket 0", 1), ("socket 1", 1), ("GPU 5", 1), ("GPU 4, 6–7", 3), ("PCIe switch 0–3", 4)} <= set(apart)
    svg = path_svg(machine)
    assert ">GPU 0–7</text>" in svg and ">nic* 50 GB/s</text>" in svg


def slow(low: float = 1.25e8, high: float = 1.25e8, back: bool = False) -> Machine:
    """Two nodes of one memory each, joined by a network."""
    memories = Memory("node0.sys", MemoryKind.SYS), Memory("node1.sys", MemoryKind.SYS, node=1)
    pairs = [("node0.sys", "node1.sys", low)] + ([("node1.sys", "node0.sys", high)] if back else [])
    network = (Channel("", ChannelKind.REMOTE_MEMCPY, here, there, Constant(rate)) for here, there, rate in pairs)
    copies = (Channel("", ChannelKind.MEMCPY, each.name, each.name, Constant(1e10)) for each in memories)
    return Machine("slow", memories, (*network, *copies))


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (slow(), "125 MB/s"),
        (slow(1.25e8, 3e9, back=True), "125 MB/s to 3 GB/s"),
        (slow(3e9, 3e9, back=True), "3 GB/s"),
    ],
)
def test_words_of_a_network_lie_on_nothing(machine: Machine, words: str) -> None:
    transfer = Transfer.whole(IndexSpace(x=512, y=256), FIELDS, "node0.sys", "<F, x, y>", "node1.sys", "<F, y, x>")
    for found in (None, plan(transfer, machine)):
        root = svg_root(path_svg(machine, found, cards=False))
        (picture,) = (each for each in root if each.get("transform") is not None)
        texts = [each for each in picture.iter(f"{SVG}text") if not (each.text or "").isdecimal()]  # numbers lie on their discs
        assert words in [each.text for each in texts]
        places = [*map(rect_of, texts), *map(disc, picture.iter(f"{SVG}circle"))]
        assert not [pair for pair in itertools.combinations(places, 2) if pair[0].overlaps(pair[1])]
        inside = set(picture.iter())
        top = min(rect_of(each).y for each in root.iter(f"{SVG}text") if each not in inside)
        assert max(place.y + place.height for place in places) + MARGIN + 4 < top, "the words below the picture"


def rect_of(text: ET.Element) -> Rect:
    """Where a text stands, to the height of its small letters."""
    size, wide = float(text.get("font-size", "12")), text_width(text.text or "", float(text.get("font-size", "12")))
    left = float(text.get("x", "0")) - {"middle": wide / 2, "end": wide}.get(text.get("text-anchor", ""), 0)
    return Rect(left, float(text.get("y", "0")) - 0.7 * size, wide, 0.7 * size)


def disc(circle: ET.Element) -> Rect:
    """The box around a circle."""
    x, y, r = (float(circle.get(name, "0")) for name in ("cx", "cy", "r"))
    return Rect(x - r, y - r, 2 * r, 2 * r)
