"""The compiled copies of listed entries move the bytes of the reference, and touch no others."""

from __future__ import annotations

import random

import numpy as np
import pytest
from run_cases import random_bytes

from isoviz.backends.host import kernels
from isoviz.backends.host.copying import copy_all, prepared_copies
from isoviz.backends.host.kernels.dispatch import _block_of
from isoviz.errors import LayoutError
from isoviz.layouts import ListedCopy, apply
from isoviz.layouts.copies import Loop


@pytest.fixture(autouse=True)
def _compiled() -> None:
    assert kernels.prepare(wait=True), kernels.state()


def random_copy(rng: random.Random, run: int) -> tuple[ListedCopy, int, int]:
    """A copy of listed entries, and the bytes of its ends: loops lie within entries, around them, or both."""
    count, loops, ends = rng.randint(1, 300), list[Loop](), [run, run]
    inside = rng.choice((0, 0, 1, 2))
    for _ in range(inside):
        extent = rng.randint(2, 5)
        gaps = [end + rng.choice((0, 3)) for end in ends]
        loops.insert(0, (extent, *gaps))
        ends = [(extent - 1) * gap + end for gap, end in zip(gaps, ends, strict=True)]
    room = count + rng.randint(0, 50)
    places = []
    for end, size in enumerate(ends):
        order = rng.sample(range(room), count)
        if rng.random() < 0.5:
            order.sort()
        if end and rng.random() < 0.5:
            order = list(range(count))
        if rng.random() < 0.3:  # neighbours in long stretches
            first = rng.randint(0, room - count)
            order = list(range(first, first + count))
            order[count // 3 :] = [each for each in range(room) if each not in order[: count // 3]][-len(order[count // 3 :]) :]
        places.append(np.array(order, np.int64) * size)
    sizes = [room * size for size in ends]
    if rng.random() < 0.5:  # a loop around all entries
        extent = rng.randint(2, 4)
        loops.insert(0, (extent, *sizes))
        sizes = [extent * size for size in sizes]
    bases = rng.randint(0, 9), rng.randint(0, 9)
    copy = ListedCopy(bases, (places[0], places[1]), run, tuple(loops))
    return copy, bases[0] + sizes[0], bases[1] + sizes[1]


def test_listed_entries_of_every_size(full: bool) -> None:
    rng = random.Random(3)
    blocks, joined = set(), 0
    for run in [*range(1, 70), 100, 128, 1000] * (8 if full else 2):
        copy, here, there = random_copy(rng, run)
        source, before = random_bytes(rng, here), random_bytes(rng, there)
        expected, moved, prepared = before.copy(), before.copy(), before.copy()
        apply([copy], source, expected)
        copy_all([copy], source, moved, lambda: None)
        moves = prepared_copies([copy], source, prepared)
        for move in [*moves, *moves]:
            move()
        assert bytes(moved) == bytes(expected) == bytes(prepared), copy
        assert kernels.prepared_listed(copy, source, moved)
        blocks.add(min(_block_of(copy), 65) if copy.loops else 0)
        joined += copy.joins_much and not copy.loops
    assert {0, 1, 65} <= blocks
    assert joined


def test_what_reaches_outside_is_refused() -> None:
    source, destination = np.zeros(80, np.uint8), np.zeros(80, np.uint8)
    for places in (
        (np.array([0, 73]), np.array([0, 8])),
        (np.array([0, 8]), np.array([0, 73])),
        (np.array([0, -8]), np.array([0, 8])),
    ):
        copy = ListedCopy((0, 0), places, 8)
        for way in (
            lambda copy=copy: copy_all([copy], source, destination, lambda: None),
            lambda copy=copy: prepared_copies([copy], source, destination),
        ):
            with pytest.raises(LayoutError, match="outside"):
                way()
    assert not destination.any()
