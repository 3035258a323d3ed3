"""The layout of a machine figure: positions of memories, nodes and channels.

A kind of memory has the same position on every node. The layout is deterministic and designed by hand, not by a force simulation.
GPU memory is at the top, disks are at the bottom, pinned memory is at the left and registered memory at the right. Each kind has
its own row, which keeps lines between nodes clear. The memories of a node that says what they lie in are drawn in these boxes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from isoviz.figures.machines.nested_boxes import BOX_HEIGHT, BOX_WIDTH, BoxFrame, Rect, Stack, nested_boxes
from isoviz.machines import Channel, Machine, Memory, MemoryKind
from isoviz.machines.memory_families import families

NODE_GAP = 150.0
_ROW = 80.0
_TITLE = 30.0
_NODE_PAD = 18.0
"""Room around the boxes in a node."""
BAND = 44.0
"""Room for the channels between nodes below boxes that stand in one row, so that their words lie on no line of a path."""
_MOST_APART = 6
"""Most memories of a node with a box of their own: with more than two GPUs, lines would cover each other."""
_ELSEWHERE = 0.5
"""The position in its row of a memory whose card says none."""


@dataclass(frozen=True)
class NodePanel:
    """One node: its frame, the boxes of its memories by name, and the memories that each box stands for.

    On a node with many memories, equal memories share a box (a stack). `frames` are the boxes around memories, outer ones first.
    """

    node: int
    frame: Rect
    boxes: dict[str, Rect]
    stacks: tuple[tuple[Memory, ...], ...]
    frames: tuple[BoxFrame, ...] = ()


@dataclass(frozen=True)
class Arc:
    """A line between two boxes. It is bent (a quadratic Bézier) where a straight one would cross another box."""

    start: tuple[float, float]
    control: tuple[float, float]
    end: tuple[float, float]

    def at(self, t: float) -> tuple[float, float]:
        a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t * t
        return (
            a * self.start[0] + b * self.control[0] + c * self.end[0],
            a * self.start[1] + b * self.control[1] + c * self.end[1],
        )

    @property
    def is_steep(self) -> bool:
        """Whether the line is more vertical than horizontal."""
        return abs(self.end[1] - self.start[1]) > 0.5 * abs(self.end[0] - self.start[0])

    @property
    def data(self) -> str:
        (x0, y0), (x1, y1), (x2, y2) = self.start, self.control, self.end
        return f"M{x0:.1f} {y0:.1f}Q{x1:.1f} {y1:.1f} {x2:.1f} {y2:.1f}"


@dataclass
class LabelPlacer:
    """Places labels where they cover neither a box nor another label."""

    taken: list[Rect] = field(default_factory=list)

    def place(self, candidates: Iterable[Rect]) -> Rect | None:
        """Take the first free candidate; None if no candidate is free."""
        for candidate in candidates:
            if not any(candidate.overlaps(other) for other in self.taken):
                self.taken.append(candidate)
                return candidate
        return None


@dataclass(frozen=True)
class GraphLayout:
    """The panels of the shown nodes, the numbers of the other nodes, and the extent of the picture."""

    panels: tuple[NodePanel, ...]
    hidden: tuple[int, ...]
    hidden_frame: Rect | None
    width: float
    height: float

    def alone(self, panel: NodePanel) -> GraphLayout:
        """One of the panels by itself, with its corner at the origin."""
        x, y = panel.frame.x, panel.frame.y
        boxes = {name: box.moved(-x, -y) for name, box in panel.boxes.items()}
        frames = tuple(replace(frame, rect=frame.rect.moved(-x, -y)) for frame in panel.frames)
        moved = replace(panel, frame=panel.frame.moved(-x, -y), boxes=boxes, frames=frames)
        return GraphLayout((moved,), (), None, panel.frame.width, panel.frame.height)

    @property
    def boxes(self) -> dict[str, Rect]:
        return {name: box for panel in self.panels for name, box in panel.boxes.items()}

    @property
    def front(self) -> dict[str, str]:
        """By memory: the first memory of its box, which represents all of them."""
        return {member.name: stack[0].name for panel in self.panels for stack in panel.stacks for member in stack}

    def top(self, name: str, depth: float) -> Rect:
        """The box of a memory; for a stack, extended to its rearmost box."""
        box = self.boxes[name]
        several = any(len(stack) > 1 and stack[0].name == name for panel in self.panels for stack in panel.stacks)
        return Rect(box.x, box.y - depth, box.width, box.height) if several else box

    def curve(self, source: str, destination: str, bend: float = 0.0) -> Arc:
        """The line from one memory to another, with the least bend that avoids the other boxes."""
        boxes = self.boxes
        start, end = boxes[source].centre, boxes[destination].centre
        ends = (boxes[source], boxes[destination])
        others = [box.grown(5) for box in dict.fromkeys(boxes.values()) if box not in ends]
        tries = [bend] if bend else [0.0]
        tries += [bend + sign * step for step in (30.0, 55.0, 80.0, 110.0, 150.0) for sign in (1, -1)]
        curves = [_bent(boxes[source], boxes[destination], start, end, each) for each in tries]
        crossings = [sum(box.holds(*each.at(k / 32)) for box in others for k in range(33)) for each in curves]
        return curves[crossings.index(min(crossings))]


def graph_layout(machine: Machine, nodes: Sequence[int], path: Collection[str] = ()) -> GraphLayout:
    """Panels for `nodes` side by side. The machine's other nodes become one narrow panel at the right.

    Memories on the `path` have their own boxes, even if equal memories share a box.
    """
    members = {node: [memory for memory in machine.memories if memory.node == node] for node in nodes}
    nested = {
        node: nested_boxes(memories, machine.resources, path).moved(_NODE_PAD, _TITLE + _NODE_PAD)
        for node, memories in members.items()
        if any(memory.within for memory in memories)
    }
    by_node = {node: families(memories, path, _MOST_APART) for node, memories in members.items() if node not in nested}
    row_of, single = _rows(by_node.values())
    x, panels = 0.0, []
    height = _TITLE + (112.0 if single else 26.0 + _ROW * (max(row_of.values(), default=0) + 1) - (_ROW - BOX_HEIGHT))
    height = max([height if by_node else 0.0, *[_TITLE + 2 * _NODE_PAD + block.height for block in nested.values()]])
    node_of = {memory.name: node for node, memories in members.items() for memory in memories}
    joined = {(node_of.get(channel.source), node_of.get(channel.destination)) for channel in machine.channels}
    if (single or nested) and any(None not in pair and pair[0] != pair[1] for pair in joined):
        height += BAND
    for node in nodes:
        if node in nested:
            block = nested[node].moved(x, 0.0)
            width, boxes, stacks, frames = block.width + 2 * _NODE_PAD, block.boxes, block.stacks, block.frames
        else:
            width, boxes = _place(by_node[node], row_of, single, x)
            stacks, frames = tuple(by_node[node]), ()
        every = {member.name: boxes[stack[0].name] for stack in stacks for member in stack}
        panels.append(NodePanel(node, Rect(x, 0.0, width, height), every, stacks, frames))
        x += width + NODE_GAP
    hidden = tuple(node for node in machine.nodes if node not in nodes)
    right = x - NODE_GAP
    frame = Rect(right + 28, height / 2 - 60, 170, 120) if hidden else None
    return GraphLayout(tuple(panels), hidden, frame, right + (198 if hidden else 0), height)


def shown_nodes(machine: Machine, path: Sequence[str], most: int = 2) -> tuple[int, ...]:
    """The nodes to draw: those on the path, by number; without a path the first ones."""
    if path:
        return tuple(sorted({machine.memory(name).node for name in path}))
    return machine.nodes[:most]


def alike(machine: Machine, nodes: Sequence[int]) -> bool:
    """Whether nodes hold the same kinds of memories."""
    kinds = [Counter(memory.kind for memory in machine.memories if memory.node == node) for node in nodes]
    return all(each == kinds[0] for each in kinds[1:])


def rate_range(channels: Iterable[Channel]) -> tuple[float, float]:
    """The lowest and the highest peak rate."""
    peaks = [channel.peak for channel in channels]
    return min(peaks), max(peaks)


def _height(kind: MemoryKind) -> tuple[float, bool, str]:
    """The vertical position of a kind; kinds whose card says no place are below similar ones."""
    if kind.place is not None:
        return kind.place[0], False, kind
    like = MemoryKind.DSK if kind.is_file_system else MemoryKind.SYS if kind.is_host else MemoryKind.FBM
    assert like.place is not None
    return like.place[0], True, kind


def _rows(groups: Iterable[Sequence[Stack]]) -> tuple[dict[MemoryKind, int], bool]:
    """The row of each kind that occurs, and whether all memories fit in one row instead."""
    found = list(groups)
    kinds = sorted({stack[0].kind for group in found for stack in group}, key=_height)
    single = max((len(group) for group in found), default=0) <= 3
    return {kind: 0 if single else number for number, kind in enumerate(kinds)}, single


def _place(stacks: Sequence[Stack], row_of: dict[MemoryKind, int], single: bool, x: float) -> tuple[float, dict[str, Rect]]:
    """The width of a node, and the boxes of its stacks by their first memories."""
    memories = [stack[0] for stack in stacks]
    if single:
        ordered = sorted(memories, key=lambda memory: (_height(memory.kind), memory.name))
        step = BOX_WIDTH + 150
        width = max(BOX_WIDTH + 120, step * (len(ordered) - 1) + BOX_WIDTH + 120)
        return width, {
            memory.name: Rect(x + 60 + step * k, _TITLE + 46, BOX_WIDTH, BOX_HEIGHT) for k, memory in enumerate(ordered)
        }
    rows: dict[MemoryKind, list[Memory]] = {}
    for memory in sorted(memories, key=lambda memory: memory.name):
        rows.setdefault(memory.kind, []).append(memory)
    width = max(360.0, max((len(row) for row in rows.values()), default=1) * (BOX_WIDTH + 34) + 40)
    boxes: dict[str, Rect] = {}
    for kind, row in rows.items():
        for number, memory in enumerate(row):
            across = _ELSEWHERE if kind.place is None else kind.place[1]
            share = across if len(row) == 1 else (number + 0.5) / len(row)
            centre = x + 14 + share * (width - 28)
            boxes[memory.name] = Rect(centre - BOX_WIDTH / 2, _TITLE + 20 + _ROW * row_of[kind], BOX_WIDTH, BOX_HEIGHT)
    return width, boxes


def _bent(source: Rect, destination: Rect, start: tuple[float, float], end: tuple[float, float], bend: float) -> Arc:
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy) or 1.0
    middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    control = (middle[0] - dy / length * 2 * bend, middle[1] + dx / length * 2 * bend)
    return Arc(_border(source.grown(2), control), control, _border(destination.grown(3), control))


def _border(box: Rect, towards: tuple[float, float]) -> tuple[float, float]:
    """The point where the ray from the centre of a box to a point leaves the box."""
    cx, cy = box.centre
    dx, dy = towards[0] - cx, towards[1] - cy
    scale = min(
        box.width / 2 / abs(dx) if dx else math.inf,
        box.height / 2 / abs(dy) if dy else math.inf,
    )
    return (cx, cy) if scale == math.inf else (cx + dx * scale, cy + dy * scale)
