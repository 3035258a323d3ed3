"""Layouts of small problems and what two of them share, written down a second time. Shares no code with the package.

A layout is a sequence of digits (dimension, step, step of the next digit of the dimension or None) and "F", fastest first, in
normal form. Lengths are counted in elements, one field of one entry.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np

Digit = tuple[str, int, int | None]
"""Dimension, step, and the step of the next digit of the dimension (None for the last)."""
Parts = tuple[Any, ...]
"""Digits and "F", fastest first, in normal form."""
COMPONENTS = 6


def parts_of(layout: Sequence[Any], sizes: dict[str, int], fields: int) -> Parts:
    """The normal form: no digits of extent 1, adjacent digits merged, no F where there is one field (it is the fastest)."""
    steps: dict[str, list[int]] = {dim: [] for dim in sizes}
    for part in layout:
        if part != "F" and part[1] < max(2, sizes[part[0]]):
            steps[part[0]].append(part[1])
    found: list[Any] = []
    for part in layout:
        if part == "F":
            if fields > 1:
                found.append("F")
            continue
        dim, step = part
        if step >= sizes[dim]:
            continue
        end = min((other for other in steps[dim] if other > step), default=None)
        if found and found[-1] != "F" and found[-1][0] == dim and found[-1][2] == step:
            found[-1] = (dim, found[-1][1], end)
        else:
            found.append((dim, step, end))
    return tuple(found)


def chains(size: int, most: int) -> Iterator[tuple[int, ...]]:
    """All ways to cut a dimension into at most `most` digits: their steps, every one a multiple of the one before."""

    def grow(steps: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        yield steps
        if len(steps) < most:
            for step in range(2 * steps[-1], size, steps[-1]):
                yield from grow((*steps, step))

    yield from grow((1,)) if size > 1 else [()]


def all_layouts(sizes: dict[str, int], fields: int, components: int = COMPONENTS) -> Iterator[Parts]:
    """All layouts of at most so many components (F is one), each once."""
    most = components - 1
    for cuts in itertools.product(*(chains(size, most) for size in sizes.values())):
        if sum(map(len, cuts)) <= most:
            parts: list[Any] = ["F"] if fields > 1 else []
            for dim, steps in zip(sizes, cuts, strict=True):
                parts += [(dim, step, end) for step, end in zip(steps, (*steps[1:], None), strict=False)]
            yield from orders(parts)


def orders(parts: list[Any]) -> Iterator[Parts]:
    """All permutations without two digits side by side that are one."""

    def grow(taken: Parts, left: list[Any]) -> Iterator[Parts]:
        if not left:
            yield taken
        for k, part in enumerate(left):
            last = taken[-1] if taken else "F"
            if part == "F" or last == "F" or last[0] != part[0] or last[2] != part[1]:
                yield from grow((*taken, part), left[:k] + left[k + 1 :])

    yield from grow((), parts)


def extent(digit: Digit, sizes: dict[str, int]) -> int:
    dim, step, end = digit
    return -(-sizes[dim] // step) if end is None else end // step


def prefix(a: Parts, b: Parts, sizes: dict[str, int], fields: int) -> int:
    """Elements in the common prefix of two layouts, at most all of them."""
    left, right = list(a[::-1]), list(b[::-1])
    count = 1
    while left and right:
        x, y = left.pop(), right.pop()
        if x == "F" or y == "F":
            if x != y:
                break
            count *= fields
            continue
        (dim, step, end), (other, start, stop) = x, y
        if dim != other or step != start:
            break
        if end is None and stop is None:
            count *= extent(x, sizes)
            continue
        shared = math.gcd(*(e // step for e in (end, stop) if e is not None))
        count *= shared
        middle = step * shared
        if end != middle:
            left.append((dim, middle, end))
        if stop != middle:
            right.append((dim, middle, stop))
        if middle not in (end, stop):
            break
    total = math.prod(sizes.values()) * fields
    return total if a == b else min(count, total)


def block(a: Parts, b: Parts, sizes: dict[str, int], fields: int) -> tuple[int, int, bool]:
    """Elements before the common suffix: places (the larger of both sides), those of them that exist, and whether F is there.

    (1, 1, False) of equal layouts. The places are more than the elements that exist where digits pad their dimension.
    """
    if a == b:
        return 1, 1, False
    left, right = list(a), list(b)
    while left and right:
        x, y = left[-1], right[-1]
        if x == "F" or y == "F":
            if x != y:
                break
            left.pop()
            right.pop()
            continue
        (dim, step, end), (other, start, stop) = x, y
        if dim != other or end != stop:
            break
        common = math.lcm(step, start)
        if step != start and common >= (end or sizes[dim]):
            break  # a single block: no order to share
        left.pop()
        right.pop()
        if step < common:
            left.append((dim, step, common))
        if start < common:
            right.append((dim, start, common))
        if step < common and start < common:
            break
    inside = "F" in left
    places = max(math.prod(extent(part, sizes) for part in side if part != "F") for side in (left, right))
    held: dict[str, list[tuple[int, int]]] = {}
    for part in left:
        if part != "F":
            held.setdefault(part[0], []).append((part[1], extent(part, sizes)))
    exist = math.prod(reached(tuple(digits), sizes[dim]) for dim, digits in held.items())
    return places * (fields if inside else 1), exist * (fields if inside else 1), inside


@cache
def reached(digits: tuple[tuple[int, int], ...], size: int) -> int:
    """How many coordinates below a size have all digits but these (step, extent) zero."""
    values = [range(0, step * count, step) for step, count in digits]
    return sum(sum(coordinate) < size for coordinate in itertools.product(*values))


def whole_entries(layout: Parts, sizes: dict[str, int], fields: int) -> int:
    """The fewest elements, counted from the fastest digit, that hold all fields of their entries."""
    before = layout[: layout.index("F")] if "F" in layout else ()
    return math.prod(extent(part, sizes) for part in before) * fields


@dataclass(frozen=True)
class Tables:
    """All layouts of a shape; run and block in elements, and whether F is in the block, of every pair.

    `share` of a block's places that exist, as a number in `shares`, which ascend to 1; `entries`: the fewest elements of a layout
    that are whole entries.
    """

    layouts: list[Parts]
    entries: np.ndarray
    run: np.ndarray
    block: np.ndarray
    share: np.ndarray
    shares: list[Fraction]
    inside: np.ndarray

    def kinds(self, whole: bool) -> tuple[np.ndarray, np.ndarray]:
        """The different (run, block, share, inside, different layouts), and which of them every pair has.

        With `whole`, blocks that hold whole entries on both sides.
        """
        return self._whole_kinds if whole else self._kinds

    @cached_property
    def _kinds(self) -> tuple[np.ndarray, np.ndarray]:
        return self._distinct(self.block, self.inside)

    @cached_property
    def _whole_kinds(self) -> tuple[np.ndarray, np.ndarray]:
        blocks = np.lcm(self.block, np.lcm(self.entries[:, None], self.entries[None, :]))
        return self._distinct(blocks, np.ones_like(self.inside))

    def _distinct(self, blocks: np.ndarray, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        count = len(self.layouts)
        rows = np.stack([self.run, blocks, self.share, inside, ~np.eye(count, dtype=bool)], axis=-1).reshape(-1, 5)
        found, which = np.unique(rows, axis=0, return_inverse=True)
        return found, which.reshape(count, count)


@lru_cache(maxsize=64)
def tables(shape: tuple[tuple[str, int], ...], fields: int) -> Tables:
    sizes = dict(shape)
    layouts = list(all_layouts(sizes, fields))
    count, total = len(layouts), math.prod(sizes.values()) * fields
    run, blocks = np.ones((count, count), np.int64), np.ones((count, count), np.int64)
    exist, inside = blocks.copy(), np.zeros((count, count), bool)
    for i, a in enumerate(layouts):
        run[i, i] = total
        for j in range(i):
            run[i, j] = run[j, i] = prefix(a, layouts[j], sizes, fields)
            found = block(a, layouts[j], sizes, fields)
            blocks[i, j], exist[i, j], inside[i, j] = blocks[j, i], exist[j, i], inside[j, i] = found
    common = np.gcd(exist, blocks)
    pairs, which = np.unique(np.stack([exist // common, blocks // common], axis=-1).reshape(-1, 2), axis=0, return_inverse=True)
    fractions = [Fraction(int(some), int(all_)) for some, all_ in pairs]
    shares = sorted({*fractions, Fraction(1)})
    share = np.array([shares.index(fraction) for fraction in fractions])[which.reshape(count, count)]
    entries = np.array([whole_entries(layout, sizes, fields) for layout in layouts])
    return Tables(layouts, entries, run, exist, share, shares, inside)
