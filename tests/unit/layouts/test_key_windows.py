"""Windows over the runs of both ends, beside loops over single bytes."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from isoviz.errors import LayoutError
from isoviz.layouts import Box, FieldSpace, IndexSpace, Layout, StridedCopy, View, strided_copies
from isoviz.layouts.windows import agreed_window, end_runs, keyed, windows


def naive(runs: list[int], window: int) -> list[tuple[int, int, int, int]]:
    """(run, offset in it, bytes, window) of every piece: a window takes bytes from the runs until it is full."""
    found, number, left = [], 0, window
    for run, length in enumerate(runs):
        at = 0
        while at < length:
            taken = min(left, length - at)
            found.append((run, at, taken, number))
            at, left = at + taken, left - taken
            if not left:
                number, left = number + 1, window
    return found


def runs_of(total: int, draw: random.Random, step: int) -> list[int]:
    """Random runs of `total` bytes together, which begin at multiples of `step`."""
    cuts = {0, total, *(step * draw.randrange(total // step + 1) for _ in range(draw.randrange(1, 60)))}
    return [high - low for low, high in itertools.pairwise(sorted(cuts))]


def test_random_pairs_of_layouts_agree_on_windows_that_hold_at_most_so_many_runs_of_either() -> None:
    draw = random.Random(5)
    for _ in range(2000):
        step, limit = draw.choice((1, 4, 8)), draw.randrange(1, 9)
        total = step * draw.randrange(1, 4000 // step)
        ends = runs_of(total, draw, step), runs_of(total, draw, step)
        window = agreed_window(*ends, limit)
        for runs in ends:
            found, expected = windows(runs, window), naive(runs, window)
            assert list(zip(*[each.tolist() for each in found], strict=True)) == expected
            in_each = np.bincount([number for *_, number in expected])
            assert in_each.max() == found.most <= limit
            assert found.keys == math.ceil(total / window)  # as many at both ends, and so each for the same bytes


def test_equal_runs_fill_a_window_up_to_the_limit() -> None:
    """4,096 blocks, 4 for each key, are 1,024 keys (section III-C), however long the blocks are."""
    for run in (8, 768, 1000, 1024):
        blocks = [run] * 4096
        window = agreed_window(blocks, blocks, 4)
        assert window == 4 * run
        assert windows(blocks, window).keys == 1024
    assert agreed_window([64] * 12, [96] * 8, 4) == 4 * 64  # the receiver keeps what fits its runs
    assert agreed_window([96] * 8, [64] * 12, 4) == 2 * 96  # and lowers what does not, to whole runs of the sender
    assert agreed_window([5000], [100] * 50, 1) == 100
    assert agreed_window([3, 5], [8], 2) == 8
    assert windows([], 4).keys == windows([], 4).most == 0


def test_a_short_run_between_long_ones_makes_windows_smaller() -> None:
    """The mean run would not tell: it is nearly the same."""
    even, uneven = [1000] * 100, [1000] * 49 + [8] * 20 + [1000] * 50 + [840]
    assert sum(even) == sum(uneven)
    assert agreed_window(even, even, 8) == 8000
    window = agreed_window(even, uneven, 8)
    assert window < 1000 and windows(uneven, window).most <= 8


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: agreed_window([4, 4], [4, 5], 2), "the source has 8 bytes, the destination 9"),
        (lambda: agreed_window([4, 0], [4], 2), "expected the lengths of runs"),
        (lambda: windows([1.5], 2), "expected the lengths of runs"),
        (lambda: windows([[1], [1, 2]], 2), "expected the lengths of runs"),  # type: ignore[list-item]
        (lambda: windows([1 << 62, 1 << 62], 2), "more than 2⁶³ − 1 bytes"),
        (lambda: windows([1 << 60], 2), "pieces of runs; expected at most"),
        (lambda: windows([4], 0), "window"),
        (lambda: agreed_window([4], [4], 0), "limit"),
    ],
)
def test_runs_that_are_none(call: object, words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        call()  # type: ignore[operator]


def test_a_million_runs_are_cut_without_a_loop() -> None:
    runs = np.random.default_rng(1).integers(8, 65, 1_000_000)
    window = agreed_window(runs, runs[::-1], 22)
    found = windows(runs, window)
    assert found.nbytes.sum() == runs.sum() and 15 < found.most <= 22


def own_runs(addresses: list[int]) -> list[int]:
    """The lengths of stretches in which each byte is at the address after the one before."""
    found = [1]
    for here, there in itertools.pairwise(addresses):
        if there == here + 1:
            found[-1] += 1
        else:
            found.append(1)
    return found


def bytes_of(copies: list[StridedCopy]) -> tuple[list[int], list[int]]:
    """The addresses of all bytes at both ends, one by one."""
    found: tuple[list[int], list[int]] = [], []
    for copy in copies:
        for counters in itertools.product(*(range(extent) for extent, _, _ in copy.loops)):
            for k in range(copy.run):
                for end, at in enumerate((copy.source_offset, copy.destination_offset)):
                    found[end].append(at + k + sum(c * loop[1 + end] for c, loop in zip(counters, copy.loops, strict=True)))
    return found


@pytest.mark.parametrize("layouts", list(itertools.product(("<F, x, y>", "<F, y, x>", "<F, x_in=3, y, x_out>"), repeat=2)))
def test_the_runs_of_each_end_are_counted_by_themselves(layouts: tuple[str, str]) -> None:
    space, fields = IndexSpace(x=10, y=7), FieldSpace(v="u2")
    ends = [View(Layout(text).on(space, fields)) for text in layouts]
    copies = strided_copies(*ends, Box((1, 2), (9, 6)))
    assert [each.tolist() for each in end_runs(copies)] == [own_runs(addresses) for addresses in bytes_of(copies)]


def test_what_keys_map_where_a_box_moves() -> None:
    space, fields = IndexSpace(x=64, y=100), FieldSpace(v="u1")
    strided, packed = View(Layout("<F, x, y>").on(space, fields)), View(Layout("<F, x, y>").on(IndexSpace(x=16, y=100), fields))
    found = keyed(strided, packed, (16, 100), ("v",), 10)
    assert (found.window, found.source_runs, found.destination_runs) == (160, 100, 1)
    assert [found.keys(nbytes) for nbytes in (16, 160, 161, 1600)] == [1, 1, 2, 10]
    assert keyed(packed, packed, (16, 100), ("v",), 10).window == math.inf
    vast = View(Layout("<F, x, y>").on(IndexSpace(x=64, y=1 << 26), fields))
    found = keyed(vast, vast, (16, 1 << 26), ("v",), 10)
    assert found.window == 160 and found.source_runs == found.destination_runs == 1 << 26
