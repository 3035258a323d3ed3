"""Sizes to choose from, and the search for the best of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from isoviz.planner.one_path.tuning import BOUND_SLACK, MOST_EVEN_PARTS, MOST_SIZES_TRIED, TIE

_ROUND = (*range(1, 32), *(significant << shift for shift in range(1, 64) for significant in range(16, 32)))
"""Numbers of at most five significant bits."""


def round_numbers(most: int) -> tuple[int, ...]:
    """1 to `most`: all where that is at most `SMALL`, else numbers of five significant bits, and `most` itself."""
    if most <= MOST_SIZES_TRIED:
        return tuple(range(1, most + 1))
    return (*_ROUND[: bisect_left(_ROUND, most)], most)


def even_or_round_sizes(extent: int, most: int) -> tuple[int, ...]:
    """Sizes up to `most` at which to cut an extent anywhere: round ones, and those that make few parts of one size, so that none
    is left over that is much smaller."""
    sizes = round_numbers(min(extent, most))
    if extent <= MOST_SIZES_TRIED:
        return sizes
    even = {size for parts in range(1, MOST_EVEN_PARTS + 1) if (size := -(-extent // parts)) <= most}
    return tuple(sorted({*sizes, *even}))


def cut_sizes(cuts: Sequence[int], free: bool) -> tuple[int, ...]:
    """The places worth trying to cut a digit: round ones where it can be cut anywhere (`free`)."""
    return round_numbers(cuts[-1]) if free else tuple(cuts)


def first_at_least(sizes: Sequence[int], bound: float) -> int:
    """The first size of at least `bound`; the last where none is."""
    return sizes[min(bisect_left(sizes, bound * (1 - TIE)), len(sizes) - 1)]


def smallest_as_fast(seconds: Callable[[int], float], most: int) -> int:
    """The least number that is as fast as the largest, where more is never slower."""
    goal = seconds(most) * (1 + BOUND_SLACK)
    sizes = round_numbers(most)
    return sizes[bisect_left(sizes, True, key=lambda n: seconds(n) <= goal)]


def fastest_size(
    seconds: Callable[[int], float], sizes: Sequence[int], every: int, start: int | None = None
) -> tuple[float, int]:
    """The least value and the first size that has it; `start` is a size that is likely to be it.

    All sizes are tried where there are at most `every`; else the function is searched as one with a single minimum.
    """
    low, high = 0, len(sizes) - 1
    if len(sizes) <= every:
        return min((seconds(size), size) for size in sizes)
    if start is not None:
        i = bisect_left(sizes, start)
        value = seconds(start)
        goal = value * (1 + TIE)
        if (i == low or seconds(sizes[i - 1]) > goal) and (i == high or seconds(sizes[i + 1]) > goal):
            return value, start  # of a convex function, what is better than both neighbours is best
    known: dict[int, float] = {}

    def at(i: int) -> float:
        value = known.get(i)
        if value is None:
            value = known[i] = seconds(sizes[i])
        return value

    while high - low > 3:
        x = low + max(1, round(0.381966 * (high - low)))
        y = high - max(1, round(0.381966 * (high - low)))
        if x >= y:
            x, y = y - 1 if y - 1 > low else x, y if y - 1 > low else x + 1
        if at(x) <= at(y):
            high = y
        else:
            low = x
    value, i = min((at(i), i) for i in range(low, high + 1))
    return value, sizes[i]
