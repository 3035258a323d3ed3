"""The figure of a measured machine: every sample, its spread, the planning curve, what is shared; light and dark."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from isoviz.figures import html, measured_throughput_svg
from isoviz.figures.machines.measured_throughput import measured_samples
from isoviz.machines import Channel, ChannelKind, Constant, Machine, Memory, MemoryKind, Resource, Sampled
from isoviz.machines.measurement import Check, Measurement, Pair
from isoviz.this_computer import ComputerFacts

SVG = "{http://www.w3.org/2000/svg}"
SAMPLES = ((64.0, 1e7), (4096.0, 1e7), (65536.0, 5e8), (2.0**24, 2e9))
MIDDLES = ((64.0, 9e8), (4096.0, 1e7), (65536.0, 5e8), (2.0**24, 2e9))
RANGES = ((8e8, 1e9), (9e6, 2e7), (2e8, 9e8), (1e9, 3e9))


def measured(host: str = "here", spread_only: bool = False) -> Machine:
    function = Sampled(SAMPLES, (0.2, 1.1, 1.4, 1.0), "2026-01-01", MIDDLES, None if spread_only else RANGES)
    memories = (Memory("node0.sys", MemoryKind.SYS), Memory("node0.dsk", MemoryKind.DSK))
    uses = (("device", 1.0),)
    channels = (
        Channel("", ChannelKind.MEMCPY, "node0.sys", "node0.sys", Sampled(((1.0, 1e9), (64.0, 9e9)), (0.1, 0.1))),
        Channel("", ChannelKind.DISK_READ, "node0.dsk", "node0.sys", function, 1e-3, resources=uses, max_in_flight=4),
        Channel("", ChannelKind.DISK_WRITE, "node0.sys", "node0.dsk", Constant(1e9), resources=uses),
    )
    found = Measurement(
        ComputerFacts(host, "a <processor>", 2, "a system"),
        "2026-01-01T10:11:12+00:00",
        20.0,
        (("isoviz", "1"),),
        (("node0.dsk", "/data"),),
        (Pair("node0.dsk->node0.sys", "node0.sys->node0.dsk", (2e9, 1e9), (0.8e9, 0.8e9)),),
        (Check("a <copy>", 0.5, 0.6),),
    )
    return Machine("local", memories, channels, (Resource("device", 1.2, held=True),), measurement=found)


@pytest.mark.parametrize("theme", ["light", "dark", "auto"])
def test_every_sample_is_a_point_inside_the_frame(theme: str) -> None:
    root = ET.fromstring(measured_throughput_svg(measured(), theme=theme))  # type: ignore[arg-type]
    tips = [node.text or "" for node in root.iter(f"{SVG}title")]
    points = [node for node in root.iter(f"{SVG}circle") if node.find(f"{SVG}title") is not None]
    assert len(points) == 6, "four samples and two"
    frame = next(node for node in list(root.iter(f"{SVG}rect"))[1:])
    left, width = float(frame.get("x", 0)), float(frame.get("width", 0))
    assert all(left - 8 <= float(point.get("cx", 0)) <= left + width for point in points)
    assert any("runs of 64 B: 900 MB/s, 800 MB/s to 1 GB/s; planned with 10 MB/s" in tip for tip in tips)
    sizes = [float(node.get("font-size", "0")) for node in root.iter() if node.get("font-size")]
    assert min(sizes) >= 10


def test_points_that_planning_leaves_aside_are_hollow() -> None:
    root = ET.fromstring(measured_throughput_svg(measured(), theme="light"))
    reads = [node for node in root.iter(f"{SVG}circle") if (node.findtext(f"{SVG}title") or "").startswith("file read, runs of")]
    fills = [node.get("fill") for node in reads]
    assert fills[0] != fills[1] == fills[2] == fills[3]


def test_what_it_says_beside_the_curves() -> None:
    svg = measured_throughput_svg(measured())
    text = " ".join(node.text or "" for node in ET.fromstring(svg).iter(f"{SVG}text"))
    for words in ("here (2 × a <processor>), 2026-01-01 10:11 UTC", "4 in flight", "set-up 1 ms", "as much as 1.2 at once"):
        assert words in text
    assert "<processor>" not in svg, "escaped"


def test_what_is_held_in_parts() -> None:
    """Three quarters and a half of it: both at once have to wait for each other now and then."""
    machine = measured()
    channels = [
        replace(channel, resources=(("device", weight),))
        for channel, weight in zip(machine.channels[1:], (0.9, 0.6), strict=True)
    ]
    svg = measured_throughput_svg(replace(machine, channels=(machine.channels[0], *channels)))
    text = " ".join(node.text or "" for node in ET.fromstring(svg).iter(f"{SVG}text"))
    assert "device, held while at work: 75 % by file read, 50 % by file write" in text


def test_spread_alone_will_do() -> None:
    found = measured_samples(measured(spread_only=True).channels[1])
    assert found[0].low == pytest.approx(9e8 * 0.9) and found[0].high == pytest.approx(9e8 * 1.1)
    assert measured_samples(measured().channels[2]) == (), "not measured"


def test_machines_that_were_not_measured_and_empty_ones() -> None:
    memories = (Memory("m", MemoryKind.SYS),)
    assert "nothing was measured" in measured_throughput_svg(Machine("none", memories))
    plain = Machine("plain", memories, (Channel("", ChannelKind.MEMCPY, "m", "m", Constant(1e9)),))
    ET.fromstring(measured_throughput_svg(plain))


def test_the_page_of_a_machine_shows_its_measurement() -> None:
    shown = html(measured())
    assert "Measured throughput functions" in shown
    for words in ("Two channels at once", "Predictions checked", "a &lt;copy&gt;", "1.20×"):
        assert words in shown


def test_what_the_legend_says_of_a_channel_is_whole() -> None:
    machine = measured()
    channels = tuple(
        replace(channel, throughput=Constant(2.56e10), setup=3.77e-5, conversion_setup=4.2e-5, max_in_flight=16)
        for channel in machine.channels
    )
    svg = measured_throughput_svg(replace(machine, channels=channels))
    assert svg.count("16 in flight, set-up 37.7 µs<") == 3
    assert svg.count("set-up 37.7 µs; converting takes 42 µs more to set up") == 3
