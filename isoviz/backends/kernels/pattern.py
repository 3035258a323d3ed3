"""Copies of short pieces of any sizes by shuffling bytes: structs of different fields, odd sizes, small blocks.

The loop that turns most often repeats a pattern: after so many turns the destination has moved on by whole lines. Which bytes
of which places of the source make up every line of the pattern is worked out once; carrying it out costs one shuffle for every
line of the source that a line of the destination has bytes of, whatever sizes the fields have. Lines are written whole and each
once, past the caches where nobody reads them soon. Needs vectors of 512 bits with shuffles of bytes (AVX-512 VBMI).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.kernels.recipe import LINE, Integers, goes_past, integers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.layouts.geometry import Loop

    Shape = tuple[int, int, int, tuple[Loop, ...]]
    """Source offset, destination offset, bytes of a run, loops."""

MOST_BYTES = 8 << 10
"""Bytes of a pattern at most."""
GOOD_BYTES = 4 << 10
"""Bytes of a pattern that is as long as it may."""
MOST_STEPS = 256
"""Steps of a pattern at most: they fill most of the first-level cache."""
MOST_PIECES = 256
"""Runs of a turn at most."""
LEAST_REPEATS = 8
"""Patterns that a loop has at least: the first and the last turns are moved run by run."""
ALIKE = {1: 4.0, 2: 3.0, 4: 2.0, 8: 2.0}
"""Sizes of elements, and the steps of a line up to which shuffling these is faster than interleaving vectors of them."""
LEAST = 128 << 10
"""Bytes from which making a pattern pays."""
LEAST_LOOP = 32 << 10
"""Bytes from which carrying out a pattern pays, once in every turn of the loops around."""
AHEAD = 1024
"""Bytes that every place of the source is fetched ahead, at least."""


class Pattern(NamedTuple):
    """The arguments of `isoviz.backends.kernels.shuffle.shuffle_lines`."""

    extents: Integers
    steps: Integers
    strides: Integers
    lines: Integers
    fetches: Integers
    pieces: Integers
    turns: int
    all_turns: int
    repeats: int
    past_caches: bool


@lru_cache(maxsize=256)
def pattern_of(shapes: tuple[Shape, ...], misalignment: int, *, large: bool = False) -> Pattern | None:
    """The pattern of copies that turn alike (their offsets relative to any address), the destination of which begins so many
    bytes behind the beginning of a line; `large`: they are a part of a large copy.

    None where they do not turn alike or not often enough, where the pattern would be too large, or where lines would be put
    together of so many places that other kernels are faster.
    """
    first = shapes[0][3]
    if not first or any([loop[0] for loop in shape[3]] != [loop[0] for loop in first] for shape in shapes):
        return None
    along = max(range(len(first)), key=lambda i: first[i][0])
    count = first[along][0]
    within = [
        i for i in range(len(first)) if i != along and any(min(shape[3][i][1:]) < max(shape[3][along][1:]) for shape in shapes)
    ]
    outer = [i for i in range(len(first)) if i != along and i not in within]
    outer.sort(key=lambda i: -first[i][2])
    turns = max(LINE // math.gcd(LINE, shape[3][along][2]) for shape in shapes)
    combinations = math.prod(first[i][0] for i in within)
    nbytes = combinations * sum(shape[2] for shape in shapes)
    if nbytes * count * math.prod(first[i][0] for i in outer) < LEAST or (outer and nbytes * count < LEAST_LOOP):
        return None
    # Longer patterns are better up to a line's worth of turns: every line of the source is fetched once then.
    while 2 * turns <= min(LINE, count // LEAST_REPEATS) and 2 * turns * nbytes <= GOOD_BYTES:
        turns *= 2
    if count < LEAST_REPEATS * turns or turns * nbytes > MOST_BYTES or combinations * len(shapes) > MOST_PIECES:
        return None
    past_caches = goes_past(nbytes, [first[i] for i in (along, *outer)], large=large)
    past_caches = past_caches and not any(shape[3][i][2] % LINE for shape in shapes for i in outer)
    # No window may reach beyond the last byte that is copied; and places are told apart by 40 bits.
    end = max(shape[0] + shape[2] + sum((n - 1) * here for n, here, _ in shape[3]) for shape in shapes)
    if end - min(shape[0] for shape in shapes) >= 1 << 40:
        return None
    open_ended = tuple(
        (*shape[:3], tuple([loop if i in within else (0, *loop[1:]) for i, loop in enumerate(shape[3])])) for shape in shapes
    )
    apart = misalignment if past_caches else 0
    pieces, steps, strides, lines, fetches = _repeated(open_ended, along, tuple(within), tuple(outer), turns, apart)
    if not len(lines):
        return None
    repeats, around = count // turns - 1, [first[i][0] - 1 for i in outer]
    for window in (0, 1):
        last = steps[:, window] + LINE + strides[:, window * len(outer) : (window + 1) * len(outer)] @ np.array(around, np.int64)
        repeats = min(repeats, int(((end - last) // steps[:, 2 + window]).min()) + 1)
    if repeats < LEAST_REPEATS // 2:
        return None
    extents = integers(first[i][0] for i in outer)
    return Pattern(extents, steps, strides, lines, fetches, pieces, turns, count, repeats, past_caches)


@lru_cache(maxsize=256)
def _repeated(
    shapes: tuple[Shape, ...], along: int, within: tuple[int, ...], outer: tuple[int, ...], turns: int, misalignment: int
) -> tuple[Integers, Integers, Integers, Integers, Integers]:
    """The pieces of a turn and what `isoviz.backends.kernels.shuffle.pattern` makes of them, however often the loops turn; no
    lines where shuffling them is not the fastest way."""
    from isoviz.backends.kernels.shuffle import pattern

    pieces, rhythms = _pieces(shapes, along, within, outer)
    steps, strides, lines, fetches = pattern(pieces, rhythms, turns, misalignment, AHEAD)
    if len(steps) > min(MOST_STEPS, len(lines) * _most_steps(shapes)):
        return pieces, steps[:0].copy(), strides[:0].copy(), lines[:0].copy(), fetches[:0].copy()
    return pieces, steps, strides, lines, fetches


def _most_steps(shapes: tuple[Shape, ...]) -> float:
    """The steps of a line up to which shuffling was measured to be the fastest. Other kernels move many elements of `ALIKE` sizes
    at a time, all others one by one."""
    run, loops = shapes[0][2:]
    if len(shapes) > 1 or run not in ALIKE:
        return max(1.0, LINE * len(shapes) / sum(shape[2] for shape in shapes) / 2.5)
    for count, *field in loops:
        for _, *entry in loops:
            for near, far in ((0, 1), (1, 0)):
                if 2 <= count <= 4 and (field[near], entry[near], entry[far]) == (run, run * count, run):  # few fields
                    return 1.0
    return ALIKE[run]


def _pieces(shapes: tuple[Shape, ...], along: int, within: Sequence[int], outer: Sequence[int]) -> tuple[Integers, Integers]:
    """A row for every run of a turn: where it begins at both ends, its bytes, then the strides at both ends along the loop and
    along every outer loop; and two numbers, the same for those that have the same strides in the source, in the destination."""
    rows = []
    for here, there, run, loops in shapes:
        begins = [(there, here)]
        for i in within:
            extent, by_here, by_there = loops[i]
            begins = [(b + turn * by_there, a + turn * by_here) for b, a in begins for turn in range(extent)]
        strides = [stride for i in (along, *outer) for stride in loops[i][1:]]
        rows += [(b, a, run, *strides) for b, a in begins]
    rows.sort()
    numbers: tuple[dict[Any, int], dict[Any, int]] = {}, {}
    rhythms = [[found.setdefault(row[3 + end :: 2], len(found)) for end, found in enumerate(numbers)] for row in rows]
    return np.array([(a, b, *rest) for b, a, *rest in rows], np.int64), np.array(rhythms, np.int64)
