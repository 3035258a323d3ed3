"""Boxes in boxes of a machine figure: the memories of a node within its sockets, switches and devices.

Boxes that are alike are one, as a stack, unless one of them has a memory of the path: a node with two sockets of four GPUs each
is drawn as one socket with one GPU.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from isoviz.machines import Memory, Resource
from isoviz.machines.memory_families import families, family, listed, resource_families
from isoviz.units import format_rate

BOX_WIDTH = 126.0
BOX_HEIGHT = 42.0
TITLE = 24.0
"""Height of the title of a box in a node."""
_GAP = 36.0
"""Between memories, and between boxes."""
_PAD = 14.0
_LOOPS = 30.0
"""Above memories, for channels within them and their rates."""
_LEAST = 210.0
"""Least width inside a box: a title, and a resource beside it."""
_ROW = 3
"""Most memories of a box in a row."""
_APART = 4
"""Most memories of a box that are drawn one by one."""

Stack = tuple[Memory, ...]
"""The memories of one box, usually one."""
Within = tuple[str, ...]


@dataclass(frozen=True)
class Rect:
    """An upright rectangle."""

    x: float
    y: float
    width: float
    height: float

    @property
    def centre(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2

    def grown(self, by: float) -> Rect:
        return Rect(self.x - by, self.y - by, self.width + 2 * by, self.height + 2 * by)

    def moved(self, x: float, y: float) -> Rect:
        return Rect(self.x + x, self.y + y, self.width, self.height)

    def overlaps(self, other: Rect) -> bool:
        return (
            self.x < other.x + other.width
            and other.x < self.x + self.width
            and self.y < other.y + other.height
            and other.y < self.y + self.height
        )

    def holds(self, x: float, y: float) -> bool:
        return self.x < x < self.x + self.width and self.y < y < self.y + self.height


@dataclass(frozen=True)
class BoxFrame:
    """A box in a node, at `depth` from 1 on: title, frame, what channels share there, and how many boxes it stands for."""

    title: str
    shared: str
    rect: Rect
    depth: int
    count: int


@dataclass(frozen=True)
class NestedBoxes:
    """The contents of a box from its top left corner: boxes of memories by the first memory of each stack, and frames."""

    width: float
    height: float
    boxes: dict[str, Rect] = field(default_factory=dict)
    stacks: tuple[Stack, ...] = ()
    frames: tuple[BoxFrame, ...] = ()

    def moved(self, x: float, y: float) -> NestedBoxes:
        boxes = {name: rect.moved(x, y) for name, rect in self.boxes.items()}
        frames = tuple(replace(frame, rect=frame.rect.moved(x, y)) for frame in self.frames)
        return replace(self, boxes=boxes, frames=frames)


def nested_boxes(memories: Iterable[Memory], resources: Iterable[Resource], path: Collection[str]) -> NestedBoxes:
    """The memories of one node in their boxes. Resources are those of the machine, memories on the `path` are drawn apart."""
    return _Node(memories, resources, path).contents([()])


class _Node:
    """The parts of a node by the boxes that they lie in."""

    def __init__(self, memories: Iterable[Memory], resources: Iterable[Resource], path: Collection[str]) -> None:
        self._path = path
        self._memories: dict[Within, list[Memory]] = {}
        self._resources: dict[Within, list[Resource]] = {}
        self._inner: dict[Within, list[Within]] = {}
        nodes = set()
        for memory in memories:
            nodes.add(memory.node)
            self._enter(memory.within)
            self._memories.setdefault(memory.within, []).append(memory)
        for resource in resources:
            if resource.node in nodes:
                self._enter(resource.within)
                self._resources.setdefault(resource.within, []).append(resource)

    def _enter(self, within: Within) -> None:
        for depth in range(len(within)):
            inner = self._inner.setdefault(within[:depth], [])
            if within[: depth + 1] not in inner:
                inner.append(within[: depth + 1])

    def contents(self, alike: Sequence[Within]) -> NestedBoxes:
        """What boxes that are alike hold, as one."""
        groups: dict[object, list[Within]] = {}
        for box in alike:
            for inner in self._inner.get(box, ()):
                groups.setdefault(self._kind(inner), []).append(inner)
        units = [self._framed(group) for group in groups.values() if self._holds_memory(group[0])]
        members = [memory for box in alike for memory in self._memories.get(box, ())]
        stacks = families(members, self._path, 0 if len(alike) > 1 else _APART)
        for first in range(0, len(stacks), _ROW):
            row = stacks[first : first + _ROW]
            units.append(
                _row([NestedBoxes(BOX_WIDTH, BOX_HEIGHT, {s[0].name: Rect(0, 0, BOX_WIDTH, BOX_HEIGHT)}, (s,)) for s in row])
            )
        whole = _in_lines(units, _LEAST if alike[0] else 0.0)
        for group in groups.values():
            if not self._holds_memory(group[0]):
                strip = replace(self._frame(group, whole.width, TITLE), rect=Rect(0, whole.height + _PAD / 2, whole.width, TITLE))
                whole = replace(whole, height=whole.height + _PAD / 2 + TITLE, frames=(*whole.frames, strip))
        return whole

    def _framed(self, alike: Sequence[Within]) -> NestedBoxes:
        inside = self.contents(alike)
        above = _PAD if any(frame.rect.y == 0 for frame in inside.frames) else _LOOPS
        width, height = inside.width + 2 * _PAD, TITLE + above + inside.height + _PAD
        moved = inside.moved(_PAD, TITLE + above)
        return NestedBoxes(width, height, moved.boxes, moved.stacks, (self._frame(alike, width, height), *moved.frames))

    def _frame(self, alike: Sequence[Within], width: float, height: float) -> BoxFrame:
        shared: dict[str, list[str]] = {}
        for resource in [resource for box in alike for resource in self._resources.get(box, ())]:
            amount = f"{resource.capacity:g}" if resource.held else format_rate(resource.capacity)
            shared.setdefault(amount, []).append(resource.name)
        words = "; ".join(f"{resource_families(names)} {amount}" for amount, names in shared.items())
        title = listed(dict.fromkeys(box[-1] for box in alike))
        return BoxFrame(title, words, Rect(0, 0, width, height), len(alike[0]), len(alike))

    def _holds_memory(self, box: Within) -> bool:
        return box in self._memories or any(map(self._holds_memory, self._inner.get(box, ())))

    def _kind(self, box: Within) -> object:
        """The key by which boxes are grouped: equal for interchangeable boxes, unique for a box with a memory of the path."""
        memories = self._memories.get(box, ())
        if any(memory.name in self._path for memory in memories):
            return box
        inner = [self._kind(each) for each in self._inner.get(box, ())]
        if any(each in self._inner.get(box, ()) for each in inner):
            return box
        own = sorted(repr((m.kind, family(m.short_name), m.capacity, m.emulated)) for m in memories)
        shared = sorted(repr((family(each.name), each.capacity, each.held)) for each in self._resources.get(box, ()))
        return family(box[-1]), tuple(own), tuple(shared), tuple(sorted(map(repr, inner)))


def _row(blocks: Sequence[NestedBoxes]) -> NestedBoxes:
    """Blocks side by side, each in the middle of the row."""
    height = max(block.height for block in blocks)
    x, placed = 0.0, []
    for block in blocks:
        placed.append(block.moved(x, (height - block.height) / 2))
        x += block.width + _GAP
    return _joined(x - _GAP, height, placed)


def _in_lines(units: Sequence[NestedBoxes], least: float) -> NestedBoxes:
    """Units below each other, each beside the last one where the whole does not get wider by it, or than `least`."""
    widest = max([least, *[unit.width for unit in units]])
    lines: list[list[NestedBoxes]] = []
    for unit in units:
        if lines and sum(each.width + _GAP for each in lines[-1]) + unit.width <= widest:
            lines[-1].append(unit)
        else:
            lines.append([unit])
    y, placed = 0.0, []
    for line in map(_row, lines):
        placed.append(line.moved((widest - line.width) / 2, y))
        y += line.height + _GAP
    return _joined(widest, max(y - _GAP, 0.0), placed)


def _joined(width: float, height: float, blocks: Sequence[NestedBoxes]) -> NestedBoxes:
    boxes = {name: rect for block in blocks for name, rect in block.boxes.items()}
    stacks = tuple(stack for block in blocks for stack in block.stacks)
    return NestedBoxes(width, height, boxes, stacks, tuple(frame for block in blocks for frame in block.frames))
