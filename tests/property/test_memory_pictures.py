"""The picture of memory by address, against a drawing made from offsets alone: it changes where the order in a block changes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from planner_problems import build, random_problem

from isoviz.errors import LimitError, NoPathError
from isoviz.figures.layouts.memory_map import MemoryMap, block_map
from isoviz.figures.layouts.memory_picture import memory_pixels
from isoviz.layouts import Linearization
from isoviz.planner import PathPlan, plan

Report = Callable[[str, object], None]
Element = tuple[tuple[int, ...], int]
Pixels = NDArray[np.uint8]
LIMIT = 64
SIDE = 3
"""Pixels along a side of an element in the independent drawing."""


# ---- a drawing from offsets alone


def in_order(linear: Linearization, elements: set[Element]) -> list[Element]:
    """The elements by their offsets."""
    return sorted(elements, key=lambda element: linear.offset(element[0], linear.fields.names[element[1]]))


def digits_of(order: Sequence[Element]) -> list[tuple[int, int]]:
    """How the elements follow each other: (axis, values) of each step, fastest first. The last axis is the field."""
    axes = [[*point, field] for point, field in order]
    ranks = [sorted({axis[number] for axis in axes}) for number in range(len(axes[0]))]
    places = [tuple(ranks[number].index(value) for number, value in enumerate(axis)) for axis in axes]
    found: list[tuple[int, int]] = []
    period = 1
    while period < len(places):
        (moved,) = [number for number, value in enumerate(places[period]) if value != places[0][number]]
        step = places[period][moved]
        count = 1
        while count * period < len(places):
            wanted = tuple(count * step if number == moved else value for number, value in enumerate(places[0]))
            if places[count * period] != wanted:
                break
            count += 1
        found.append((moved, count))
        period *= count
    return found


def drawing(order: Sequence[Element], wholes: Sequence[int], colours: dict[Element, Any]) -> Pixels | None:
    """The elements in the order of memory, level by level; None if the gaps would not be those of a picture of that size."""
    digits = digits_of(order)
    strips = 1
    fields = len(wholes) - 1
    if len(digits) > 1 and (digits[0][0] == fields or digits[0][1] == wholes[digits[0][0]] <= 4):
        strips = digits.pop(0)[1]
    levels: list[tuple[int, int]] = []
    while digits:
        axis, count = digits.pop(0)
        last_fields = len(digits) == 1 and digits[0][0] == fields
        if digits and digits[0][0] != axis and not last_fields:
            levels.append((count, digits.pop(0)[1]))
        elif not levels:
            levels.append((count, 1))
        else:
            wide, high = math.prod(level[0] for level in levels), math.prod(level[1] for level in levels)
            rows = [(n, count // n) for n in range(1, count + 1) if count % n == 0]
            levels.append(min(rows, key=lambda row: (max(row[0] * wide / row[1] / high, row[1] * high / row[0] / wide), -row[0])))

    def tile(part: Sequence[Element], level: int, gap: int) -> Pixels:
        if level < 0:
            return np.repeat(np.repeat(np.array([[colours[each] for each in part]], np.uint8), SIDE, 0), SIDE, 1)
        across, down = levels[level]
        each = len(part) // (across * down)
        tiles = [tile(part[at * each : (at + 1) * each], level - 1, gap) for at in range(across * down)]
        rows = [_joined(tiles[row * across : (row + 1) * across], 1, level * gap) for row in range(down)]
        return _joined(rows, 0, level * gap)

    for gap in (1, 2, 3, 4, 5, 6):
        found = tile(order, len(levels) - 1, gap)
        height, width, _ = found.shape
        clear = (SIDE * strips * math.prod(level[0] for level in levels), SIDE * math.prod(level[1] for level in levels))
        fits = width - clear[0] <= width / 4 and height - clear[1] <= height / 4
        if fits and gap == max(1, min(6, math.floor(min(width, height) / 48 + 0.5))):
            return found
    return None


def _joined(tiles: Sequence[Pixels], axis: int, gap: int) -> Pixels:
    shape = list(tiles[0].shape)
    shape[axis] = gap
    return np.concatenate([part for each in tiles for part in (np.zeros(shape, np.uint8), each)][1:], axis)


# ---- the pictures of plans


def pixels_of(memory: MemoryMap, path: PathPlan, width: int = 61, height: int = 47) -> Pixels:
    return memory_pixels(memory, (path.orders[0], path.orders[-1]), width, height)


def colours_of(path: PathPlan) -> dict[Element, Any]:
    """The colour of each element, read from the picture of the source."""
    memory = block_map(path.orders[0], path.block, path.orders, LIMIT)
    columns, rows = math.prod(memory.across) * memory.strips, math.prod(memory.down)
    gaps = 40 * max(1, columns), 40 * max(1, rows)  # so large that every cell has its pixels
    picture = pixels_of(memory, path, *gaps)
    filled = [[at for at, each in enumerate(picture.any(axis=axis)[:, 3]) if each] for axis in (0, 1)]
    found = {}
    for place in range(memory.count):
        element = memory.element_at(place)
        if element is None:
            continue
        column, row = cell_of(memory, place)
        x = filled[0][(2 * column + 1) * len(filled[0]) // (2 * columns)]
        y = filled[1][(2 * row + 1) * len(filled[1]) // (2 * rows)]
        found[tuple(element.point), element.field] = picture[y, x]
    return found


def cell_of(memory: MemoryMap, place: int) -> tuple[int, int]:
    """The column (of strips) and the row of a place."""
    place, column = divmod(place, memory.strips)
    row, wide, high = 0, memory.strips, 1
    for across, down in memory.levels:
        if across is not None:
            place, value = divmod(place, across.extent)
            column, wide = column + value * wide, wide * across.extent
        if down is not None:
            place, value = divmod(place, down.extent)
            row, high = row + value * high, high * down.extent
    return column, row


def check_pictures(path: PathPlan) -> tuple[int, int]:
    """The pictures of all stops, against offsets. Returns the hops, and the stops that were drawn once more."""
    maps = [block_map(order, path.block, path.orders, LIMIT) for order in path.orders]
    names = path.orders[0].fields.names

    def elements(memory: MemoryMap) -> list[tuple[tuple[int, ...], str]]:
        return [(each.point, memory.linear.fields.names[each.field]) for each in memory.elements()]

    shown = set(elements(maps[0]))
    assert all(set(elements(memory)) == shown for memory in maps), "every stop shows the same elements"
    whole = math.prod(path.block.values()) * len(names)
    assert len(shown) == whole or 2 * whole > LIMIT, "a small block is shown whole"
    orders = []
    for memory in maps:
        here = {(point, memory.linear.fields.names.index(name)) for point, name in shown}
        by_offset = in_order(memory.linear, here)
        orders.append([(point, memory.linear.fields.names[field]) for point, field in by_offset])
        assert elements(memory) == orders[-1], "elements stand in the order of memory"
    pictures = [pixels_of(memory, path) for memory in maps]
    for (before, after), (here, there), change in zip(
        itertools.pairwise(pictures), itertools.pairwise(orders), path.order_changes, strict=True
    ):
        changed = before.shape != after.shape or bool((before != after).any())
        assert changed == (here != there), "the pixels change exactly where the order in the block changes"
        assert changed == (change == "converts"), f"{change}"
    if path.orders[0].fields.names != path.orders[-1].fields.names:
        return len(path.hops), 0
    drawn = 0
    colours = colours_of(path)
    wholes = [*(min(path.block[dim], size) for dim, size in path.transfer.space.as_dict().items()), len(names)]
    for memory, order in zip(maps, orders, strict=True):
        if memory.has_holes or len(order) < math.prod(memory.across) * math.prod(memory.down) * memory.strips:
            continue
        expected = drawing([(point, names.index(name)) for point, name in order], wholes, colours)
        if expected is not None:
            height, width, _ = expected.shape
            assert (pixels_of(memory, path, width, height) == expected).all(), str(memory.linear)
            drawn += 1
    return len(path.hops), drawn


def check_plans(first: int, count: int, report: Report) -> None:
    seed, plans, hops, drawn = first, 0, 0, 0
    while plans < count:
        seed += 1
        transfer, machine, options = build(random_problem(seed, non_nesting=seed % 3 == 0))
        try:
            found = plan(transfer, machine, ("full", "simple", "spsl", "spdl")[seed % 4], options)
        except (NoPathError, LimitError):
            continue
        plans += 1
        for path in found.paths:
            try:
                more = check_pictures(path)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {error}\n{[str(each) for each in path.orders]} {path.block}") from error
            hops, drawn = hops + more[0], drawn + more[1]
    report("hops whose pictures were compared", hops)
    report("stops that were drawn once more, from offsets", drawn)
    assert drawn > plans


def test_pictures_change_where_the_order_in_a_block_changes(report: Report) -> None:
    check_plans(0, 25, report)


@pytest.mark.full
@pytest.mark.parametrize("first", range(1000, 6000, 1000))
def test_pictures_of_500_plans(report: Report, first: int) -> None:
    check_plans(first, 100, report)
