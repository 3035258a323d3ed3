"""The figure of a machine: memories by node, channels with their peak rates, and the path of a plan with its hops."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from isoviz.figures.charts.svg import Drawing, shorten, text_width, wrap
from isoviz.figures.charts.theme import MARGIN, ThemeName
from isoviz.figures.machines.graph_layout import (
    Arc,
    GraphLayout,
    LabelPlacer,
    alike,
    graph_layout,
    rate_range,
    shown_nodes,
)
from isoviz.figures.machines.hop_cards import draw_cards, hop_tip
from isoviz.figures.machines.nested_boxes import BOX_HEIGHT, TITLE, BoxFrame, Rect
from isoviz.machines import Channel, Machine, MachineLike, Memory, machine_argument
from isoviz.machines.memory_families import listed, reach
from isoviz.units import format_bytes, format_rate

if TYPE_CHECKING:
    from isoviz.layouts import OrderChange
    from isoviz.planner import Hop, Plan

_BADGE = 10.5
_DEPTH = 6.0
"""Offset of the last box of a stack from the first, in pixels."""


def path_svg(machine: MachineLike, plan: Plan | None = None, *, cards: bool = True, theme: ThemeName = "auto") -> str:
    """A machine, and the path of `plan` through it with a card for each hop.

    Nodes are side by side, each with its memories; nodes off the path are named but not drawn. Without a plan the first two nodes
    are drawn. Channels in both directions between two memories are one line. The number at each end is the peak rate of the
    channel that arrives there. Of a machine with networks, only the part around these memories is shown.

    Raises:
        MachineError: the plan uses a memory that the machine does not have.
    """
    machine = machine_argument("figure", machine)
    paths = plan.paths if plan is not None else ()
    # Hops of several paths are numbered consecutively, as in a report.
    hops = [hop._replace(index=number) for number, hop in enumerate(hop for path in paths for hop in path.hops)]
    changes = [change for path in paths for change in path.order_changes]
    path = [name for each in paths for name in each.memories]
    if machine.networks:
        first = machine.nodes[:2]
        machine = machine.around(*(path or [memory.name for memory in machine.memories if memory.node in first]))
    layout = graph_layout(machine, shown_nodes(machine, path), path)
    title = f"Machine {machine.name}"
    if path:
        words = "path" if len(paths) == 1 else "paths"
        title += f": {words} {'; '.join(' → '.join(each.memories) for each in paths)}"
    drawing = Drawing(title, _description(machine, hops, changes), theme)
    width = max(layout.width, 420.0 if not hops else 640.0)
    drawing.open(transform=f"translate({MARGIN} {MARGIN})")
    on_path = {frozenset((hop.source, hop.destination)) for hop in hops}
    draw = partial(_node, drawing, machine, path=path, on_path=on_path, labels=not hops)
    drawing.once([((panel.frame.x, panel.frame.y), partial(draw, layout.alone(panel))) for panel in layout.panels])
    for panel in layout.panels:
        drawing.text(panel.frame.x + 14, panel.frame.y + 20, f"node {panel.node}", size=12, fill="muted", bold=True)
    _hidden(drawing, machine, layout, bool(path))
    placer = _placer(layout)
    _networks(drawing, machine, layout, placer)
    _hops(drawing, layout, placer, hops, changes)
    drawing.close()
    y = MARGIN + layout.height + 12
    for line in wrap(_legend(machine, layout, hops), width, 11.5):
        drawing.text(MARGIN, y + 10, line, size=11.5, fill="muted")
        y += 17
    if hops and cards:
        y = draw_cards(drawing, paths, MARGIN, y + 10, width)
    return drawing.render(width + 2 * MARGIN, y + MARGIN - 4)


def _node(
    drawing: Drawing, machine: Machine, layout: GraphLayout, *, path: Sequence[str], on_path: set[frozenset[str]], labels: bool
) -> None:
    """The frame of the one node of a layout, its memories, and its channels off the path."""
    (panel,) = layout.panels
    frame = panel.frame
    drawing.rect(frame.x, frame.y, frame.width, frame.height, fill="panel", stroke="faint", radius=10)
    for box in panel.frames:
        _box_frame(drawing, box)
    _edges(drawing, machine, layout, _placer(layout), on_path, labels=labels)
    _boxes(drawing, layout, path)


def _placer(layout: GraphLayout) -> LabelPlacer:
    """A placer for labels beside memories and the titles of nodes and frames."""
    taken = [box.grown(2) for box in layout.boxes.values()]
    taken += [Rect(panel.frame.x, panel.frame.y, 90, 24) for panel in layout.panels]
    frames = [frame.rect for panel in layout.panels for frame in panel.frames]
    return LabelPlacer([*taken, *(Rect(rect.x, rect.y, rect.width, TITLE) for rect in frames)])


def _hidden(drawing: Drawing, machine: Machine, layout: GraphLayout, has_path: bool) -> None:
    """The frame that stands for the nodes which are not drawn."""
    if (frame := layout.hidden_frame) is not None:
        drawing.rect(frame.x, frame.y, frame.width, frame.height, fill="panel", stroke="line", radius=10, stroke_dasharray="4 4")
        count = len(layout.hidden)
        lines = [f"+ {count} more node{'s' if count > 1 else ''}"]
        if has_path:
            lines.append("not on the path")
        elif alike(machine, [*(panel.node for panel in layout.panels), *layout.hidden]):
            lines.append("with the same memories")
        shown = ", ".join(str(node) for node in layout.hidden[:4]) + (", …" if count > 4 else "")
        lines.append(f"node{'s' if count > 1 else ''} {shown}")
        for number, line in enumerate(lines):
            y = frame.y + frame.height / 2 + 18 * (number - (len(lines) - 1) / 2) + 4
            drawing.text(
                frame.x + frame.width / 2, y, shorten(line, frame.width - 12, 12 if number == 0 else 11),
                size=12 if number == 0 else 11, fill="muted", anchor="middle", bold=number == 0,
            )  # fmt: skip


def _box_frame(drawing: Drawing, frame: BoxFrame) -> None:
    rect, fill = frame.rect, "paper" if frame.depth % 2 else "panel"
    for behind in (_DEPTH, _DEPTH / 2) if frame.count > 1 else ():
        drawing.rect(rect.x + behind, rect.y - behind, rect.width, rect.height, fill=fill, stroke="line", radius=8)
    many = f"{frame.count} × " if frame.count > 1 else ""
    tip = f"{many}{frame.title}" + (f": {frame.shared}" if frame.shared else "")
    drawing.rect(rect.x, rect.y, rect.width, rect.height, fill=fill, stroke="line", radius=8, tip=tip)
    room = rect.width - 20
    title = shorten(frame.title, room, 11.5, bold=True)
    drawing.text(rect.x + 10, rect.y + 16, title, size=11.5, fill="ink", bold=True)
    left = room - text_width(title, 11.5, bold=True) - 12
    # What channels share there, as much as there is room for; the tooltip has all of it.
    shared = [part for part in (frame.shared, frame.shared.split("; ")[0]) if part and text_width(part, 11) <= left]
    if shared:
        drawing.text(rect.x + rect.width - 10, rect.y + 16, shared[0], size=11, fill="muted", anchor="end")


def _boxes(drawing: Drawing, layout: GraphLayout, path: Sequence[str]) -> None:
    with drawing.sorted_by_style():
        for stack in [stack for panel in layout.panels for stack in panel.stacks]:
            _box(drawing, layout.boxes[stack[0].name], stack, on_path=stack[0].name in path)


def _box(drawing: Drawing, box: Rect, stack: Sequence[Memory], *, on_path: bool) -> None:
    memory = stack[0]
    for behind in (_DEPTH, _DEPTH / 2) if len(stack) > 1 else ():
        drawing.rect(
            box.x + behind, box.y - behind, box.width, box.height, fill="raised", stroke="line", radius=8, stroke_width=1.2
        )  # fmt: skip
    drawing.rect(
        box.x, box.y, box.width, box.height, fill="path-soft" if on_path else "raised",
        stroke="path" if on_path else "line", radius=8, stroke_width=2 if on_path else 1.2,
        stroke_dasharray="5 3" if memory.emulated else None, tip=_box_tip(stack),
    )  # fmt: skip
    cx, cy = box.centre
    name = listed(member.short_name for member in stack)
    drawing.text(cx, cy - 3, shorten(name, box.width - 12, 13, bold=True), size=13, anchor="middle", bold=True)
    many = f"{len(stack)} × " if len(stack) > 1 else ""
    below = f"{many}{memory.kind.words}"
    if memory.emulated:
        below += " · emulated"
    elif memory.capacity:
        size = format_bytes(memory.capacity)
        if text_width(f"{below} · {size}", 11) <= box.width - 8:
            below += f" · {size}"
        elif many:
            below = many + size
    drawing.text(cx, cy + 13, shorten(below, box.width - 8, 11), size=11, fill="muted", anchor="middle")


def _box_tip(stack: Sequence[Memory]) -> str:
    memory, many = stack[0], f"{len(stack)} × " if len(stack) > 1 else ""
    said = [
        f"{many}{memory.kind.words}",
        format_bytes(memory.capacity) if memory.capacity else "",
        listed(member.label for member in stack if member.label),
        "emulated" if memory.emulated else "",
    ]
    return f"{listed(member.short_name for member in stack)}: {', '.join(filter(None, said))}"


# -- channels off the path


def _edges(
    drawing: Drawing,
    machine: Machine,
    layout: GraphLayout,
    placer: LabelPlacer,
    on_path: set[frozenset[str]],
    *,
    labels: bool,
) -> None:
    shown, front = layout.boxes, layout.front
    order = {name: number for number, name in enumerate(shown)}
    pairs: dict[tuple[str, str], list[Channel]] = {}
    for channel in machine.channels:
        if channel.source in shown and channel.destination in shown and not channel.kind.crosses_nodes:
            first, second = sorted((front[channel.source], front[channel.destination]), key=order.__getitem__)
            pairs.setdefault((first, second), []).append(channel)
    drawn: list[tuple[Arc, tuple[str, str], list[Channel]]] = []
    for (first, second), channels in pairs.items():
        if frozenset((first, second)) in on_path:
            continue
        tip = _channels_tip(machine, channels)
        if first == second:
            drawing.path(_loop(layout.top(first, _DEPTH), layout)[0], stroke="line", width=1.4, tip=tip)
            continue
        curve = layout.curve(first, second)
        both = {front[channel.destination] for channel in channels}
        head = drawing.arrow("line")
        drawing.path(
            curve.data, stroke="line", width=1.4, tip=tip,
            marker_end=head if second in both and len(both) == 1 else None,
            marker_start=None,
        )  # fmt: skip
        drawn.append((curve, (first, second), channels))
    if not labels:
        return
    with drawing.sorted_by_style():
        for curve, pair, channels in drawn:
            _edge_labels(drawing, placer, layout, curve, pair, channels)
        for (first, second), channels in pairs.items():
            if first == second:
                _, (x, y) = _loop(layout.top(first, _DEPTH), layout)
                text = _rates(channels)
                wide = text_width(text, 11) + 4
                spots = [Rect(x - wide / 2, y - 16, wide, 14), Rect(x + 6, y - 8, wide, 14), Rect(x - wide - 6, y - 8, wide, 14)]
                _label(drawing, placer, text, spots)


def _channels_tip(machine: Machine, channels: Sequence[Channel]) -> str:
    """The channels of a line by kind and rate; a star marks memories of another node."""
    alike: dict[str, list[tuple[str, str]]] = {}
    for channel in channels:
        ends = machine.memory(channel.source).short_name, machine.memory(channel.destination).short_name
        alike.setdefault(f"{channel.kind.words}, up to {format_rate(channel.peak)}", []).append(ends)
    mark = "*" if channels[0].kind.crosses_nodes else ""
    return "\n".join(f"{words}: {' → '.join(reach(ends, mark))}" for words, ends in alike.items())


def _edge_labels(
    drawing: Drawing, placer: LabelPlacer, layout: GraphLayout, curve: Arc, pair: tuple[str, str], channels: Sequence[Channel]
) -> None:
    """One rate in the middle if both directions are equal, else one at each end: the rate that arrives there."""
    front = layout.front
    to_second = [channel.peak for channel in channels if front[channel.destination] == pair[1]]
    to_first = [channel.peak for channel in channels if front[channel.destination] == pair[0]]
    texts: list[tuple[str, tuple[float, ...]]]
    if to_first and to_second and max(to_first) != max(to_second):
        texts = [
            (_short_rate(max(to_first)), (0.26, 0.2, 0.32, 0.38)),
            (_short_rate(max(to_second)), (0.74, 0.8, 0.68, 0.62)),
        ]
    else:
        texts = [(_short_rate(max(to_first + to_second)), (0.5, 0.42, 0.58, 0.35, 0.65))]
    for text, places in texts:
        wide = text_width(text, 11) + 4
        spots = [Rect(x - wide / 2, y - 7, wide, 14) for x, y in (curve.at(t) for t in places)]
        _label(drawing, placer, text, spots)


def _label(drawing: Drawing, placer: LabelPlacer, text: str, spots: Sequence[Rect]) -> None:
    spot = placer.place(spots)
    if spot is not None:
        x, y = spot.centre
        drawing.rect(spot.x, spot.y, spot.width, spot.height, fill="panel", radius=3)
        drawing.text(x, y + 4, text, size=11, fill="muted", anchor="middle")


def _rates(channels: Sequence[Channel]) -> str:
    """The rates of channels under one label, in the unit of the highest."""
    low, high = rate_range(channels)
    most = _short_rate(high)
    if low == high:
        return most
    number, _, unit = format_rate(high).partition(" ")
    return f"{low / high * float(number):.2g}–{most}" if unit else most


def _short_rate(rate: float) -> str:
    return format_rate(rate).removesuffix(" GB/s")


def _networks(drawing: Drawing, machine: Machine, layout: GraphLayout, placer: LabelPlacer) -> None:
    """Draw the channels between neighbouring nodes as one band, not as nine lines."""
    for left, right in pairwise(layout.panels):
        there = [c for c in machine.channels if c.source in left.boxes and c.destination in right.boxes]
        back = [c for c in machine.channels if c.source in right.boxes and c.destination in left.boxes]
        if not there and not back:
            continue
        x0, x1 = left.frame.x + left.frame.width, right.frame.x
        y = left.frame.y + left.frame.height - 34
        drawing.line(x0, y, x1, y, stroke="line", width=5, tip=_channels_tip(machine, there + back))
        low, high = rate_range(there + back)
        count = _both_ways(len(there), len(back))
        rates = format_rate(high) if low == high else f"{format_rate(low)} to {format_rate(high)}"
        middle = (x0 + x1) / 2
        for text, baseline in (("network", y - 9), (shorten(count, x1 - x0 - 6, 11), y + 17), (rates, y + 31)):
            drawing.text(middle, baseline, text, size=11, fill="muted", anchor="middle")
        placer.taken.append(Rect(x0, y - 21, x1 - x0, 56))


def _both_ways(there: int, back: int) -> str:
    """The numbers of channels to the right and to the left, as text."""
    if there == back:
        return "one channel each way" if there == 1 else f"{there} channels each way"
    parts = [f"{count} {arrow}" for count, arrow in ((there, "→"), (back, "←")) if count]
    return f"channels: {', '.join(parts)}"


# -- the path


def _hops(
    drawing: Drawing, layout: GraphLayout, placer: LabelPlacer, hops: Sequence[Hop], changes: Sequence[OrderChange]
) -> None:
    head = drawing.arrow("path") if hops else ""
    used: dict[frozenset[str], int] = {}
    spots: list[tuple[Hop, list[tuple[float, float]], bool]] = []
    for hop, change in zip(hops, changes, strict=True):
        if hop.source == hop.destination:
            data, apex = _loop(layout.boxes[hop.source], layout, large=True)
            places, steep = [apex], False
        else:
            ends = frozenset((hop.source, hop.destination))
            used[ends] = used.get(ends, 0) + 1
            curve = layout.curve(hop.source, hop.destination, 26.0 if used[ends] > 1 else 0.0)
            data = curve.data
            places, steep = [curve.at(t) for t in (0.5, 0.42, 0.58, 0.35, 0.65, 0.28, 0.72)], curve.is_steep
            # Between two nodes, prefer the gap to the edge of a panel.
            places.sort(key=lambda at: any(panel.frame.grown(30).holds(*at) for panel in layout.panels))
        drawing.path(data, stroke="path", width=3, marker_end=head, tip=hop_tip(hop, change))
        spots.append((hop, places, steep))
    for hop, places, _ in spots:
        discs = [Rect(x - _BADGE, y - _BADGE, 2 * _BADGE, 2 * _BADGE) for x, y in places]
        disc = placer.place(discs) or discs[0]
        x, y = disc.centre
        drawing.element("circle", cx=x, cy=y, r=_BADGE, fill="path", stroke="paper", stroke_width=1.5)
        drawing.text(x, y + 4.2, str(hop.index), size=12, fill="on-path", anchor="middle", bold=True)
    for hop, places, steep in spots:
        text = format_rate(hop.throughput)
        wide = text_width(text, 12, bold=True) + 6
        candidates = []
        for x, y in places:
            around = [Rect(x - wide / 2, y + 13, wide, 16), Rect(x - wide / 2, y - 29, wide, 16)]
            beside = [Rect(x + 14, y - 8, wide, 16), Rect(x - 14 - wide, y - 8, wide, 16)]
            candidates += (
                beside + around if steep else around + beside
            )  # Beside a steep line, which would cross the text otherwise.
        x, y = places[0]
        off = BOX_HEIGHT / 2 + 4  # Between two neighbouring boxes, only above and below is free.
        candidates += [Rect(x - wide / 2, y + off, wide, 16), Rect(x - wide / 2, y - off - 16, wide, 16)]
        spot = placer.place(candidates)
        if spot is not None:
            cx, cy = spot.centre
            drawing.text(cx, cy + 4, text, size=12, fill="path", anchor="middle", bold=True, halo="panel")


def _loop(box: Rect, layout: GraphLayout, *, large: bool = False) -> tuple[str, tuple[float, float]]:
    """A self-loop on top of a box, on the side away from the middle of its node, and its uppermost point."""
    frame = next(panel.frame for panel in layout.panels if panel.frame.x <= box.x < panel.frame.x + panel.frame.width)
    left = box.centre[0] < frame.centre[0] - 20
    wide, high = (30.0, 30.0) if large else (18.0, 17.0)
    start = box.x + 8 + wide if left else box.x + box.width - 8 - wide
    end = box.x + 8 if left else box.x + box.width - 8
    lean = (end - start) * 0.45
    data = (
        f"M{start:.1f} {box.y - 1:.1f}C{start - lean:.1f} {box.y - high:.1f} "
        f"{end + lean:.1f} {box.y - high:.1f} {end:.1f} {box.y - 3:.1f}"
    )
    return data, ((start + end) / 2, box.y - high * 0.75)


# -- words


def _legend(machine: Machine, layout: GraphLayout, hops: Sequence[Hop]) -> str:
    said = []
    if hops:
        said.append("Blue: the path, hops numbered in order, with the rate each sustains. Grey: channels not used.")
    elif machine.channels:
        said.append("Numbers are peak rates in GB/s unless marked; two on one line: what arrives at that end.")
        said.append("Loops copy within a memory.")
    if any(len(stack) > 1 for panel in layout.panels for stack in panel.stacks):
        said.append("A stack stands for memories or boxes that are alike, its loop also for copies between them.")
    if any(memory.emulated for memory in machine.memories):
        said.append("Dashed boxes are emulated in host memory.")
    sources = sorted({channel.provenance.split(" ")[0] for channel in machine.channels if channel.provenance})
    if machine.provenance:
        said.append(f"Figures: {machine.provenance}.".replace("..", "."))
    elif sources:
        said.append(f"Figures: {', '.join(sources)}.")
    return " ".join(said)


def _description(machine: Machine, hops: Sequence[Hop], changes: Sequence[OrderChange]) -> str:
    memories, nodes, channels = len(machine.memories), len(machine.nodes), len(machine.channels)
    text = f"{memories} {'memory' if memories == 1 else 'memories'} on {nodes} node{'s'[: nodes != 1]}, "
    text += f"{channels} channel{'s'[: channels != 1]}."
    for hop, change in zip(hops, changes, strict=True):
        text += f" Hop {hop.index}: {hop_tip(hop, change)}."
    return text
