"""The figure of a switch of a Data Vortex: its cylinders unrolled, and the load of each when it is saturated."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from isoviz.errors import MissingPartError
from isoviz.figures.charts.html_parts import heading, representation, table
from isoviz.figures.charts.svg import Drawing
from isoviz.figures.charts.theme import MARGIN, ThemeName
from isoviz.machines import DataVortex
from isoviz.machines.networks.vortex_shares import input_angles
from isoviz.units import format_share
from isoviz.vortex.switch import Switch

if TYPE_CHECKING:
    from isoviz.vortex.run import SwitchRun

WIDE, HIGH, GAP, TOP, LEFT = 56.0, 220.0, 22.0, 44.0, 100.0
"""The width and height of a cylinder, the room between two, above them, and to their left; pixels."""
LOADS = 46.0
"""The height of the bars that show loads."""
MOST_BANDS = 64
WORK = 3_000_000
"""Nodes times cycles of the run that measures the load."""


def switch_html(switch: Switch | DataVortex, *, theme: ThemeName = "auto") -> str:
    """The picture of a switch with its sizes, and a table of its cylinders."""
    switch = _whole(switch)
    loads = _loads(_saturated(switch))
    heads = ["cylinder", "what it does", *(["taken nodes, saturated"] if loads else [])]
    rows = [(each, _told(switch, each), *map(format_share, loads[each : each + 1])) for each in range(switch.cylinders)]
    shown = table("The cylinders, the outermost first", heads, rows, numbers=(0, 2))
    return representation("switch", heading(_title(switch)), switch_svg(switch, theme=theme), shown)


def switch_svg(switch: Switch | DataVortex, *, theme: ThemeName = "auto") -> str:
    """The cylinders of a switch beside each other, height by angle, the outermost on the left, with the way of one packet.

    It also shows the share of occupied nodes of each cylinder when the switch is saturated, if Numba is installed to simulate it.
    """
    switch = _whole(switch)
    way, run = _way(switch), _saturated(switch)
    drawing = Drawing(f"{_title(switch)}, unrolled", " ".join(_lines(run, len(way) - 1)), theme)
    loads = _loads(run)
    up, across = HIGH / switch.heights, WIDE / switch.angles
    floor = TOP + HIGH

    def corner(cylinder: int) -> float:
        return LEFT + cylinder * (WIDE + GAP)

    def node(cylinder: int, height: int, angle: float) -> tuple[float, float]:
        return corner(cylinder) + (angle + 0.5) * across, floor - (height + 0.5) * up

    for cylinder in range(switch.cylinders):
        left, inner = corner(cylinder), cylinder == switch.cylinders - 1
        drawing.rect(left, TOP, WIDE, HIGH, fill="panel", stroke="line")
        bands = 0 if inner or 2 << cylinder > MOST_BANDS else 2 << cylinder
        for band in range(0, bands, 2):
            drawing.rect(left, TOP + band * HIGH / bands, WIDE, HIGH / bands, fill="faint")
        drawing.text(left + WIDE / 2, TOP - 26, f"cylinder {cylinder}", size=10.5, anchor="middle", fill="ink")
        drawing.text(left + WIDE / 2, TOP - 13, _told(switch, cylinder), size=10, anchor="middle", fill="muted")
        for angle in switch.inputs if cylinder == 0 else ():
            x, _ = node(cylinder, 0, angle)
            drawing.path(f"M{x - 4:.1f} {TOP - 9}h8l-4 7z", fill="ink")
        for angle in switch.outputs if inner else ():
            drawing.element(
                "circle", cx=node(cylinder, 0, angle)[0], cy=TOP - 5, r=3, fill="none", stroke="ink", stroke_width=1.4
            )
        if run is not None:
            share = loads[cylinder]
            drawing.rect(left, floor + 20, WIDE, LOADS, fill="panel", stroke="line")
            drawing.rect(left, floor + 20 + LOADS * (1 - share), WIDE, LOADS * share, fill="measured")
            drawing.text(left + WIDE / 2, floor + 15, format_share(share), size=11, anchor="middle")
    begin = switch.inputs[0]
    places = [node(cylinder, height, (begin + step) % switch.angles) for step, (cylinder, height) in enumerate(way)]
    data = f"M{LEFT - 22:.1f} {places[0][1]:.1f}L{places[0][0]:.1f} {places[0][1]:.1f}"
    beyond = ""  # past the last angle, and on before the first one
    for step, ((x0, y0), (x1, y1)) in enumerate(pairwise(places), 1):
        wraps = (begin + step) % switch.angles == 0 and way[step][0] == way[step - 1][0]
        data += f"{'M' if wraps else 'L'}{x1:.1f} {y1:.1f}"
        if wraps:
            left, middle = corner(way[step][0]), (y0 + y1) / 2
            beyond += f"M{x0:.1f} {y0:.1f}L{left + WIDE:.1f} {middle:.1f}M{left:.1f} {middle:.1f}L{x1:.1f} {y1:.1f}"
    drawing.path(beyond, stroke="turn", width=2)
    right = corner(switch.cylinders - 1) + WIDE
    data += f"L{right + 18:.1f} {places[-1][1]:.1f}"
    drawing.path(data, stroke="turn", width=2, stroke_linejoin="round", marker_end=drawing.arrow("turn"))
    drawing.text(LEFT - 26, places[0][1] + 4, f"input {switch.heights - 1}", size=10.5, anchor="end", fill="turn")
    drawing.text(right + 30, places[-1][1] + 4, f"output {(len(switch.outputs) - 1) * switch.heights}", size=10.5, fill="turn")
    y = floor + 20 + (LOADS + 18 if run is not None else 8)
    if run is not None:
        drawing.text(LEFT - 8, floor + 20 + LOADS / 2, "taken nodes,", size=10, anchor="end", fill="muted")
        drawing.text(LEFT - 8, floor + 32 + LOADS / 2, "saturated", size=10, anchor="end", fill="muted")
    width = max(right + 100, 640.0)
    for line in _lines(run, len(way) - 1):
        drawing.text(MARGIN, y, line, size=11.5)
        y += 17
    return drawing.render(width, y + MARGIN - 12)


def _whole(given: Switch | DataVortex) -> Switch:
    return given if isinstance(given, Switch) else Switch(given.heights, given.angles, input_angles(given.angles, given.inputs))


def _title(switch: Switch) -> str:
    plural = "" if switch.angles == 1 else "s"
    return f"Data Vortex of {switch.heights:,} heights at {switch.angles} angle{plural}, {switch.inputs_count:,} inputs"


def _told(switch: Switch, cylinder: int) -> str:
    return f"bit worth {switch.heights >> (cylinder + 1)}" if cylinder < switch.cylinders - 1 else "to its angle"


def _loads(run: SwitchRun | None) -> list[float]:
    """What share of the nodes of each cylinder is taken, once the switch is full."""
    return [] if run is None else run.load[len(run.load) // 2 :].mean(axis=0).tolist()


def _lines(run: SwitchRun | None, hops: int) -> list[str]:
    lines = [
        "▼ Packets enter at these angles; ○ they leave at these. Shaded: heights whose bit of the cylinder is 1.",
        f"The line is a packet's way when nothing deflects it: {hops} hops, inwards where its bit is right.",
    ]
    if run is not None:
        lines.append(
            f"Saturated: {run.throughput:.3f} packets per port and cycle, {run.latencies.mean:.1f} cycles in the switch, "
            f"{run.turns.mean:.1f} deflections."
        )
    return lines


def _way(switch: Switch) -> list[tuple[int, int]]:
    """Cylinders and heights of a packet from the highest input of the first angle to the lowest output of the last one."""
    cylinder, height, angle = 0, switch.heights - 1, switch.inputs[0]
    way = [(cylinder, height)]
    while cylinder < switch.cylinders - 1 or angle != switch.outputs[-1]:
        angle = (angle + 1) % switch.angles
        bit = switch.heights >> (cylinder + 1)
        if cylinder < switch.cylinders - 1 and height & bit:
            height ^= bit
        elif cylinder < switch.cylinders - 1:
            cylinder += 1
        way.append((cylinder, height))
    return way


@lru_cache(maxsize=8)
def _saturated(switch: Switch) -> SwitchRun | None:
    try:
        return switch.saturate(max(100, min(4000, WORK // switch.nodes)), warm=max(50, min(1000, WORK // switch.nodes)), seed=1)
    except MissingPartError:
        return None
