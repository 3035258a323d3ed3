"""The picture of a switch of a Data Vortex: its cylinders, the way of a packet, and the load of each cylinder when saturated."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

import isoviz
from isoviz.figures import html, switch_svg
from isoviz.vortex import Recorded, Switch


def points(svg: str) -> list[tuple[float, float]]:
    """The corners of the line that is the way of a packet."""
    data = next(each.get("d", "") for each in ET.fromstring(svg).iter() if each.get("marker-end"))
    return [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", data)]


@pytest.mark.parametrize("switch", [Switch(8, 3), Switch(16, 4, [0, 2]), Switch(4, 5, [3], [1])])
def test_the_way_that_is_drawn_is_the_one_that_the_switch_takes(switch: Switch) -> None:
    last = (len(switch.outputs) - 1) * switch.heights
    run = switch.run(Recorded([switch.heights - 1], [last]))
    assert run.packets is not None
    way = points(switch_svg(switch))[1:-1]  # without the ways in and out
    assert len(way) - 1 == run.packets.hops[0]
    steps = [(x1 > x0, y1 == y0) for (x0, y0), (x1, y1) in pairwise(way)]
    assert sum(not level for _, level in steps) == switch.cylinders - 1, "every bit differs, and is changed by a jump"


def test_the_bars_are_as_high_as_the_cylinders_are_full() -> None:
    switch = Switch(32, 4, [0])
    svg = switch_svg(switch, theme="light")
    run = switch.saturate(2000, warm=500, seed=2)
    told = [float(text) for text in re.findall(r">([\d.]+) %<", svg)]
    expected = 100 * run.load[len(run.load) // 2 :].mean(axis=0)
    assert told == pytest.approx(expected, abs=2.5) and told[0] > told[-1]
    found = re.search(r"Saturated: ([\d.]+) packets", svg)
    assert found is not None and float(found[1]) == pytest.approx(run.throughput, abs=0.005)


def test_a_switch_shows_itself_as_html_with_its_sizes() -> None:
    shown = html(isoviz.vortex.Switch(64))
    assert "Data Vortex of 64 heights at 1 angle, 64 inputs" in shown
    assert shown.count("cylinder ") >= 7
