"""Candidate sizes for blocks and chunks, and the search for the best of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from isoviz.planner.tuning import BOUND_SLACK, MOST_EVEN_PARTS, MOST_SIZES_TRIED, TIE

GOLDEN_SECTION = 0.381966  # (3 − √5) / 2
"""The share of an interval at which golden-section search puts its points: one of them serves again in the next step."""
_ROUND = (*range(1, 32), *(significant << shift for shift in range(1, 64) for significant in range(16, 32)))
"""Numbers of at most five significant bits."""


def round_numbers(most: int) -> tuple[int, ...]:
    """The round numbers from 1 to `most`: all numbers up to `MOST_SIZES_TRIED`, else those of five significant bits, and `most`
    itself."""
    if most <= MOST_SIZES_TRIED:
        return tuple(range(1, most + 1))
    return (*_ROUND[: bisect_left(_ROUND, most)], most)


def even_or_round_sizes(extent: int, most: int) -> tuple[int, ...]:
    """Sizes up to `most` at which to cut an extent that can be cut anywhere.

    They are the round numbers, and the sizes that make a few parts of equal size, without a small last part.
    """
    sizes = round_numbers(min(extent, most))
    if extent <= MOST_SIZES_TRIED:
        return sizes
    even = {size for parts in range(1, MOST_EVEN_PARTS + 1) if (size := -(-extent // parts)) <= most}
    return tuple(sorted({*sizes, *even}))


def cut_sizes(cuts: Sequence[int], free: bool) -> tuple[int, ...]:
    """The sizes at which to cut a digit: round numbers where it can be cut anywhere (`free`), else all of `cuts`."""
    return round_numbers(cuts[-1]) if free else tuple(cuts)


def first_at_least(sizes: Sequence[int], bound: float) -> int:
    """The first size of at least `bound`; the last size where none is that large."""
    return sizes[min(bisect_left(sizes, bound * (1 - TIE)), len(sizes) - 1)]


def smallest_as_fast(seconds: Callable[[int], float], most: int) -> int:
    """The smallest round number that is as fast as `most`, where a larger number is never slower."""
    goal = seconds(most) * (1 + BOUND_SLACK)
    sizes = round_numbers(most)
    return sizes[bisect_left(sizes, True, key=lambda n: seconds(n) <= goal)]


def fastest_size(
    seconds: Callable[[int], float], sizes: Sequence[int], every: int, start: int | None = None
) -> tuple[float, int]:
    """The least number of seconds, and the first size that reaches it. `start` is a guess of that size.

    All sizes are tried where there are at most `every`. Otherwise the function is taken to have a single minimum, and a
    golden-section search finds it.
    """
    low, high = 0, len(sizes) - 1
    if len(sizes) <= every:
        return min((seconds(size), size) for size in sizes)
    if start is not None:
        i = bisect_left(sizes, start)
        value = seconds(start)
        goal = value * (1 + TIE)
        if (i == low or seconds(sizes[i - 1]) > goal) and (i == high or seconds(sizes[i + 1]) > goal):
            return value, start  # a convex function has no other minimum
    known: dict[int, float] = {}

    def at(i: int) -> float:
        value = known.get(i)
        if value is None:
            value = known[i] = seconds(sizes[i])
        return value

    while high - low > 3:
        x = low + max(1, round(GOLDEN_SECTION * (high - low)))
        y = high - max(1, round(GOLDEN_SECTION * (high - low)))
        if x >= y:
            x, y = y - 1 if y - 1 > low else x, y if y - 1 > low else x + 1
        if at(x) <= at(y):
            high = y
        else:
            low = x
    value, i = min((at(i), i) for i in range(low, high + 1))
    return value, sizes[i]
