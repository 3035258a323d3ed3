"""The figure of a Data Vortex from above: its cylinders as rings, its nodes around, the paths of a plan through the middle."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from isoviz.figures.charts.svg import Drawing, number, shorten
from isoviz.figures.charts.theme import DIMENSION_COLOURS, FIELD_COLOUR, MARGIN, ThemeName
from isoviz.machines.networks.vortex_shares import input_angles
from isoviz.units import format_rate

if TYPE_CHECKING:
    from isoviz.machines import DataVortex, Machine
    from isoviz.machines.networks import Network
    from isoviz.machines.networks.places import Point
    from isoviz.planner import Plan

INNER, STEP, COLLAR = 34.0, 21.0, 20.0
"""The radius of the innermost cylinder, and how far cylinders are apart and ports are around the outermost one; pixels."""
TO_NODES, NODE = 58.0, 10.5
"""From the ports to the nodes, and the radius of a node."""
MOST_PORTS, MOST_ANGLES = 256, 64
"""Ports and angles that are drawn one by one."""
TRACKS = (*DIMENSION_COLOURS, FIELD_COLOUR, "predicted")
"""The colours of paths, in turn."""


def vortex_svg(machine: Machine, network: Network, switch: DataVortex, plan: Plan | None, theme: ThemeName) -> str:
    """The switch with its nodes, which stand around it in their order, and the paths of a plan."""
    paths = plan.paths if plan is not None else ()
    said = f"{len(paths)} paths through it" if paths else "without a plan"
    drawing = Drawing(f"Network {network.name}: {switch}", f"{switch}, {said}. {switch.places().reading}", theme)
    outer = INNER + STEP * (switch.cylinders - 1)
    collar, count = outer + COLLAR, len(network.ports)
    around = max(collar + TO_NODES, count * (2 * NODE + 5) / math.tau)
    middle = (around + NODE + 150, around + NODE + MARGIN + 18)
    ways = {port.memory: math.tau * k / count - math.pi / 2 for k, port in enumerate(network.ports)}
    _rings(drawing, switch, middle, outer)
    spokes = "".join(f"M{_text(_on(middle, collar, way))}L{_text(_on(middle, around, way))}" for way in ways.values())
    drawing.path(spokes, stroke="line")
    for track, path in enumerate(paths):
        for here, there in pairwise(path.memories):
            if here in ways and there in ways:
                first, last = _on(middle, collar, ways[here]), _on(middle, collar, ways[there])
                data = f"M{_text(_on(middle, around, ways[here]))}L{_text(first)}Q{_text(middle)} {_text(last)}"
                data += f"L{_text(_on(middle, around - NODE - 2, ways[there]))}"
                token = TRACKS[track % len(TRACKS)]
                drawing.path(data, stroke=token, width=2.4, marker_end=drawing.arrow(token), stroke_linejoin="round")
    ends = [] if plan is None else [("source", plan.transfer.source.memory), ("destination", plan.transfer.destination.memory)]
    homes = {machine.memory(memory).node: f"{role} {memory}" for role, memory in ends}
    both = [_on(middle, around, ways[port.memory]) for port in network.ports if machine.memory(port.memory).node in homes]
    close, named = len(both) > 1 and math.dist(*both[:2]) < 40, False
    for port in network.ports:
        node, place = machine.memory(port.memory).node, _on(middle, around, ways[port.memory])
        chosen = node in homes
        drawing.element(
            "circle", cx=place[0], cy=place[1], r=NODE, fill="ink" if chosen else "paper", stroke="ink" if chosen else "line",
            tip=f"{port.memory}: {format_rate(port.inject or network.link_rate)} in and out",
        )  # fmt: skip
        colour = "paper" if chosen else "muted"
        drawing.text(place[0], place[1] + 3.5, str(node), size=10, fill=colour, anchor="middle")
        if chosen:
            x, y = _on(middle, around + NODE + 8 + 16 * (close and named), ways[port.memory])
            named = True
            side = "middle" if abs(x - middle[0]) < NODE else "start" if x > middle[0] else "end"
            drawing.text(x, y + (0 if y < middle[1] else 8), homes[node], size=11.5, bold=True, halo="paper", anchor=side)
    plural = "" if switch.angles == 1 else "s"
    held = network.capacity(next(switch.links()))
    lines = [
        f"{switch.cylinders} cylinders × {switch.heights} heights × {switch.angles} angle{plural}, {switch.ports:,} ports.",
        f"All together move {format_rate(held)} of uniform traffic: {switch.share:.3f} words per port and cycle.",
        "▲ Packets enter here at every height; ○ they leave here.",
        *[f"path {track}: {' → '.join(path.memories)}" for track, path in enumerate(paths)],
    ]
    width, y = 2 * middle[0], middle[1] + around + NODE + 42
    for line in lines:
        drawing.text(MARGIN, y, shorten(line, width - 2 * MARGIN, 11.5), size=11.5)
        y += 17
    return drawing.render(width, y + MARGIN - 12)


def _rings(drawing: Drawing, switch: DataVortex, middle: Point, outer: float) -> None:
    """The cylinders, the nodes of each of them from above, the ways inwards, and the ports."""
    angles = switch.angles if switch.angles <= MOST_ANGLES else 0
    collar = outer + COLLAR

    def turned(angle: float) -> float:
        return math.tau * angle / switch.angles - math.pi / 2

    drawing.element("circle", cx=middle[0], cy=middle[1], r=collar, fill="panel", stroke="line", stroke_width=2)
    if switch.ports <= MOST_PORTS:
        ways = [math.tau * port / switch.ports - math.pi / 2 for port in range(switch.ports)]
        ticks = [f"M{_text(_on(middle, collar - 3, way))}L{_text(_on(middle, collar + 3, way))}" for way in ways]
        drawing.path("".join(ticks), stroke="line")
    radii = [outer - STEP * cylinder for cylinder in range(switch.cylinders)]
    inwards = ""
    for radius in radii:
        drawing.element("circle", cx=middle[0], cy=middle[1], r=radius, fill="none", stroke="muted", stroke_width=1)
    for radius, further in pairwise(radii):
        for angle in range(angles):
            bend = (radius + further) / 2 / math.cos(min(1.0, math.pi / switch.angles))
            points = (_on(middle, radius, turned(angle)), _on(middle, bend, turned(angle + 0.5)))
            inwards += f"M{_text(points[0])}Q{_text(points[1])} {_text(_on(middle, further, turned(angle + 1)))}"
    if inwards:
        drawing.path(inwards, stroke="line")
    dots = [_on(middle, radius, turned(angle)) for radius in radii for angle in range(angles)]
    drawing.path("".join(f"M{number(x - 2.5)} {number(y - 2.5)}h5v5h-5z" for x, y in dots), fill="muted")
    for angle in input_angles(switch.angles, switch.inputs) if angles else ():
        wide = 6 / collar
        corners = [
            _on(middle, outer + 4, turned(angle)),
            *[_on(middle, outer + 15, turned(angle) + side * wide) for side in (-1, 1)],
        ]
        drawing.path(f"M{'L'.join(map(_text, corners))}z", fill="ink")
        x, y = _on(middle, INNER, turned(angle))
        drawing.element("circle", cx=x, cy=y, r=6.0, fill="none", stroke="ink", stroke_width=1.5)


def _on(middle: Point, radius: float, turned: float) -> Point:
    """A point on a circle."""
    return middle[0] + radius * math.cos(turned), middle[1] + radius * math.sin(turned)


def _text(point: Point) -> str:
    return f"{number(point[0])} {number(point[1])}"
