"""The figure of a network: its routers where the topology puts them, the paths of a plan from link to link, proxies as rings."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from isoviz.figures.charts.svg import Drawing, number, shorten
from isoviz.figures.charts.theme import DIMENSION_COLOURS, FIELD_COLOUR, MARGIN, ThemeName
from isoviz.machines import DataVortex, machine_argument
from isoviz.machines.networks.places import STUB, Point, places_of
from isoviz.machines.networks.vortex_shares import input_angles
from isoviz.units import format_rate, format_share

if TYPE_CHECKING:
    from isoviz.machines import Machine, MachineLike
    from isoviz.machines.networks import Link, Network, Topology
    from isoviz.planner import Plan


# The figure of a Data Vortex from above: its cylinders as rings, its nodes around, the paths of a plan through the
# middle.

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


WIDEST, NARROWEST = 1080.0, 640.0
"""Pixels; what is wider is drawn smaller, what is narrower stands in the middle."""
MOST_DRAWN = 2048
"""Routers that are drawn, and links; of more, only the frames of the panels and the stops of the plan are."""
NAMED = 37.0
"""Pixels between neighbours from which on routers have their names."""
TITLE = 18.0
"""Room above the panels for their titles."""


class Placing:
    """The places of a topology on the figure."""

    def __init__(self, topology: Topology) -> None:
        self.topology, self.places = topology, places_of(topology)
        corners = [(panel.x, panel.y) for panel in self.places.panels]
        left, top, width, height = self.places.panel
        self._left, self._top = left + min(x for x, _ in corners), top + min(y for _, y in corners)
        whole = max(x for x, _ in corners) + left + width - self._left
        self.scale = min(1.0, WIDEST / whole)
        bottom = max(y for _, y in corners) + top + height - self._top
        self.size = whole * self.scale, bottom * self.scale + TITLE
        self.apart = self.places.apart * self.scale

    def _moved(self, point: Point) -> Point:
        return (point[0] - self._left) * self.scale, (point[1] - self._top) * self.scale + TITLE

    def at(self, router: int) -> Point:
        """The middle of a router."""
        return self._moved(self.places.at(router))

    def corner(self, panel: int) -> Point:
        """The corner from which the places of a panel are counted."""
        return self._moved(self.places.panels[panel][:2])

    def frames(self) -> list[tuple[float, float, float, float, str]]:
        """The rectangle of every panel with its title."""
        left, top, width, height = self.places.panel
        return [
            (*self._moved((panel.x + left, panel.y + top)), width * self.scale, height * self.scale, panel.title)
            for panel in self.places.panels
        ]

    def line(self, link: Link, origin: Point = (0.0, 0.0)) -> str:
        """A link as a path of SVG from an origin: straight within a panel, around its edge, or an arc from panel to panel."""
        (x, y), (to_x, to_y) = (_from(origin, self.at(router)) for router in (link.source, link.destination))
        if self.places.is_across(link.source, link.destination):
            bend = 0.13
            middle = (x + to_x) / 2 - (to_y - y) * bend, (y + to_y) / 2 + (to_x - x) * bend
            return f"M{_point(x, y)}Q{_point(*middle)} {_point(to_x, to_y)}"
        way = self.places.around(link.source, link.destination)
        if way is None:
            return f"M{_point(x, y)}L{_point(to_x, to_y)}"
        dx, dy = way[0] * STUB * self.scale, way[1] * STUB * self.scale
        return f"M{_point(x, y)}L{_point(x + dx, y + dy)}M{_point(to_x - dx, to_y - dy)}L{_point(to_x, to_y)}"


def _from(origin: Point, point: Point) -> Point:
    return point[0] - origin[0], point[1] - origin[1]


def _point(x: float, y: float) -> str:
    return f"{number(x)} {number(y)}"


def drawn_network(machine: Machine) -> Network | None:
    """The first network of a machine that has more routers than one, or is a Data Vortex."""
    drawn = (each for each in machine.networks if each.topology.router_count > 1 or isinstance(each.topology, DataVortex))
    return next(drawn, None)


def network_svg(machine: MachineLike, plan: Plan | None = None, *, theme: ThemeName = "auto") -> str:
    """The first network of a machine that has several routers or is a Data Vortex, with the paths of `plan` over it.

    Routers lie where the topology puts them (`Topology.places`). Lines that end beyond an edge of a panel go on at the other
    edge. Rings are proxies. "" if the machine has no such network.

    Raises:
        MachineError: the topology returns invalid places.
    """
    machine = machine_argument("figure", machine)
    network = drawn_network(machine)
    if network is None:
        return ""
    if isinstance(network.topology, DataVortex):
        return vortex_svg(machine, network, network.topology, plan, theme)
    placing = Placing(network.topology)
    paths = plan.paths if plan is not None else ()
    said = f"{len(paths)} paths over it" if paths else "without a plan"
    drawing = Drawing(
        f"Network {network.name}: {network.topology}", f"{network.topology}, {said}. {placing.places.reading}".strip(), theme
    )
    width = max(placing.size[0] + 2 * MARGIN, NARROWEST)
    transfer = [] if plan is None else [("source", plan.transfer.source), ("destination", plan.transfer.destination)]
    ends = [(role, end.memory) for role, end in transfer if network.has_port(end.memory)]
    drawing.open(transform=f"translate({number((width - placing.size[0]) / 2)} {MARGIN})")
    _rest(drawing, placing, {network.router_of(memory) for _, memory in ends})
    for track in range(len(paths)):
        _track(drawing, network, placing, paths[track].memories, TRACKS[track % len(TRACKS)])
    for role, end in ends:
        x, y = placing.at(network.router_of(end))
        drawing.element("circle", cx=x, cy=y, r=5.0, fill="ink", stroke="paper", stroke_width=1.5)
        above = y > placing.size[1] / 2
        side = "end" if x > placing.size[0] / 2 else "start"
        drawing.text(x, y - 10 if above else y + 18, f"{role} {end}", size=11.5, bold=True, halo="paper", anchor=side)
    drawing.close()
    y = MARGIN + placing.size[1] + 40
    for track, path in enumerate(paths):
        drawing.line(MARGIN, y - 4, MARGIN + 18, y - 4, stroke=TRACKS[track % len(TRACKS)], width=4)
        share = format_share(path.bytes / plan.bytes) if plan is not None else ""
        words = f"path {track}: {share}, {' → '.join(path.memories)}"
        drawing.text(MARGIN + 26, y, shorten(words, width - 2 * MARGIN - 26, 11.5), size=11.5)
        y += 17
    return drawing.render(width, y + MARGIN - 12)


def _rest(drawing: Drawing, placing: Placing, ends: Set[int]) -> None:
    """The panels with their titles; where they are not too many, the links and the routers, with their names where there is room.

    The `ends` have names of memories instead.
    """
    topology, places = placing.topology, placing.places
    few = places.count <= MOST_DRAWN
    for x, y, width, height, title in placing.frames():
        if places.axes or not few:
            drawing.rect(x - 3, y - 3, width + 6, height + 6, fill="panel", radius=4)
        if title:
            drawing.text(x, y - 6, title, size=10.5, fill="muted")
    if not few:
        return
    size = max(1.5, min(10.0, placing.apart / 3))
    inside = _lines_inside(placing)
    has_lines = any(inside)
    in_panel = [_from(placing.corner(0), placing.at(place)) for place in range(len(places.points))]
    dots = "".join(f"M{_point(x - size / 2, y - size / 2)}h{number(size)}v{number(size)}h-{number(size)}z" for x, y in in_panel)

    def panel(lines: str) -> None:
        if lines:
            drawing.path(lines, stroke="line", width=1)
        drawing.path(dots, fill="muted" if has_lines else "line")

    drawing.once([(placing.corner(number), partial(panel, lines)) for number, lines in enumerate(inside)])
    if placing.apart >= NAMED and not places.axes:
        for router in sorted(set(range(places.count)) - ends):
            x, y = placing.at(router)
            drawing.text(x, y + size / 2 + 12, topology.router_name(router), size=10.5, fill="muted", anchor="middle")


def _lines_inside(placing: Placing) -> list[str]:
    """For each panel the links within it from its corner, once for both directions; none where there are too many in all."""
    topology, places = placing.topology, placing.places
    found: dict[tuple[int, int], Link] = {}
    for link in topology.links():
        if not places.is_across(link.source, link.destination):
            found[min(link[1:3]), max(link[1:3])] = link
        if len(found) > MOST_DRAWN:
            return [""] * len(places.panels)
    inside: list[list[str]] = [[] for _ in places.panels]
    for link in found.values():
        panel = link.source // len(places.points)
        inside[panel].append(placing.line(link, placing.corner(panel)))
    return ["".join(sorted(lines)) for lines in inside]


def _track(drawing: Drawing, network: Network, placing: Placing, memories: Sequence[str], token: str) -> None:
    """The links of a path, and its proxies as rings."""
    for here, there in pairwise(memories):
        if network.has_port(here) and network.has_port(there):
            data = "".join(placing.line(link) for link in network.route(here, there) or ())
            drawing.path(data, stroke=token, width=2.2, stroke_linecap="round")
    for name in memories[1:-1]:
        if network.has_port(name):
            x, y = placing.at(network.router_of(name))
            drawing.element("circle", cx=x, cy=y, r=4.5, fill="paper", stroke=token, stroke_width=2)
