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

from isoviz.backends.host.kernels.recipe import LINE, Integers, goes_past

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.backends.host.kernels.recipe import Bare
    from isoviz.layouts.geometry import Loop

    Shape = tuple[int, int, int, tuple[Loop, ...]]
    """Source offset, destination offset, bytes of a run, loops."""

MOST_BYTES = 8 << 10
"""Bytes of a pattern at most."""
GOOD_BYTES = 4 << 10
"""Bytes of a pattern that is as long as it may."""
SHORT = 12
"""Lines of a pattern up to which it is better to write one of them for many repeats, its shuffles in registers, then the next."""
TOGETHER = 48
"""Lines that are then written together: what they are read from stays in the first level of the caches, and memory likes to be
written line after line."""
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
APART = 1 << 40
"""Bytes between fields of the destination that move on differently, in what is kept of a pattern."""
AHEAD = 1024
"""Bytes that every place of the source is fetched ahead, at least."""


class Pattern(NamedTuple):
    """The arguments of `isoviz.backends.host.kernels.compiled.shuffle.shuffle_lines`."""

    extents: Integers
    steps: Integers
    strides: Integers
    lines: Integers
    fetches: Integers
    pieces: Integers
    turns: int
    all_turns: int
    repeats: int
    together: int
    past_caches: bool


class _Frame(NamedTuple):
    """What is known of copies that turn alike without their offsets: the loop that repeats a pattern, the loops within it and
    around it, the turns of a pattern, whether it is written past the caches; the shapes of open end; and for every shape its
    strides in the source and in the destination, along the loop and around: those that have the same move on together."""

    along: int
    within: tuple[int, ...]
    outer: tuple[int, ...]
    turns: int
    past_caches: bool
    open_ended: Bare
    moving: tuple[tuple[tuple[int, ...], ...], ...]


@lru_cache(maxsize=256)
def pattern_of(shapes: tuple[Shape, ...], misalignment: int, *, large: bool = False) -> Pattern | None:
    """The pattern of copies that turn alike (their offsets relative to any address), the destination of which begins so many
    bytes behind the beginning of a line; `large`: they are a part of a large copy.

    None where they do not turn alike or not often enough, where the pattern would be too large, or where lines would be put
    together of so many places that other kernels are faster.
    """
    bare = tuple([shape[2:] for shape in shapes])
    for short in (True, False):
        frame = _frame(bare, large, short)
        found = None if frame is None else _pattern(shapes, misalignment, frame)
        if found is not None and (found.together > 1 or not short):
            return found
    return None


def _pattern(shapes: tuple[Shape, ...], misalignment: int, frame: _Frame) -> Pattern | None:
    """The pattern of copies in a frame."""
    # No window may reach beyond the last byte that is copied; and places are told apart by 40 bits.
    end = max(shape[0] + shape[2] + sum([(n - 1) * here for n, here, _ in shape[3]]) for shape in shapes)
    if end - min(shape[0] for shape in shapes) >= 1 << 40:
        return None
    # Chunk after chunk, fields lie differently to each other where they move on differently: that is left out of what is kept.
    here = _begins([shape[0] for shape in shapes], frame.moving[0])
    there = _begins([shape[1] // LINE * LINE for shape in shapes], frame.moving[1])
    if len(there) > 1 and _meet(shapes, frame):
        there = dict.fromkeys(there, 0)
    else:
        there = {moving: begin - number * APART for number, (moving, begin) in enumerate(there.items())}
    bare = tuple(
        (shape[0] - here[one], shape[1] - there[other], *rest)
        for shape, one, other, rest in zip(shapes, *frame.moving, frame.open_ended, strict=True)
    )
    apart = misalignment if frame.past_caches else 0
    known = _repeated(bare, frame.along, frame.within, frame.outer, frame.turns, apart)
    if not len(known.lines):
        return None
    first = shapes[0][3]
    steps, lines, fetches, pieces = known.steps.copy(), known.lines.copy(), known.fetches.copy(), known.pieces.copy()
    from_here, to_there = (
        np.array([begins[key] for key in keys]) for begins, keys in zip((here, there), known.keys, strict=True)
    )
    steps[:, 0] += from_here[steps[:, 5]]
    steps[:, 1] += from_here[steps[:, 6]]
    fetches[:, 0] += from_here[fetches[:, -1]]
    lines[:, 0] += to_there[lines[:, -1]]
    pieces[:, 0] += from_here[known.rhythms[:, 0]]
    pieces[:, 1] += to_there[known.rhythms[:, 1]]
    count, outer, strides = first[frame.along][0], frame.outer, known.strides
    repeats, around = count // frame.turns - 1, np.array([first[i][0] - 1 for i in outer], np.int64)
    for window in (0, 1):
        last = steps[:, window] + LINE + strides[:, window * len(outer) : (window + 1) * len(outer)] @ around
        repeats = min(repeats, int(((end - last) // steps[:, 2 + window]).min()) + 1)
    if repeats < LEAST_REPEATS // 2:
        return None
    together = TOGETHER // len(lines) if _go_together(lines) else 1
    return Pattern(around + 1, steps, strides, lines, fetches, pieces, frame.turns, count, repeats, together, frame.past_caches)


@lru_cache(maxsize=256)
def _frame(bare: Bare, large: bool, short: bool) -> _Frame | None:
    """The frame of copies, wherever they begin, of a pattern that is `short` or may be long; None where no loop repeats it often
    enough, or it would be too large."""
    first = bare[0][1]
    if not first or any([loop[0] for loop in loops] != [loop[0] for loop in first] for _, loops in bare):
        return None
    along = max(range(len(first)), key=lambda i: first[i][0])
    count = first[along][0]
    within = [i for i in range(len(first)) if i != along and any(min(loops[i][1:]) < max(loops[along][1:]) for _, loops in bare)]
    outer = [i for i in range(len(first)) if i != along and i not in within]
    outer.sort(key=lambda i: -first[i][2])
    turns = max(LINE // math.gcd(LINE, loops[along][2]) for _, loops in bare)
    combinations = math.prod(first[i][0] for i in within)
    nbytes = combinations * sum(run for run, _ in bare)
    if nbytes * count * math.prod(first[i][0] for i in outer) < LEAST or (outer and nbytes * count < LEAST_LOOP):
        return None
    # Long patterns are better up to a line's worth of turns, short ones of a line of the source: each is fetched once then.
    far = min(loops[along][1] for _, loops in bare)
    while 2 * turns <= min(LINE, count // LEAST_REPEATS):
        if 2 * turns * nbytes > (SHORT * LINE if short else GOOD_BYTES) or (short and turns * far >= LINE):
            break
        turns *= 2
    if short and turns * nbytes > SHORT * LINE:
        return None
    if count < LEAST_REPEATS * turns or turns * nbytes > MOST_BYTES or combinations * len(bare) > MOST_PIECES:
        return None
    past_caches = goes_past(nbytes, [first[i] for i in (along, *outer)], large=large)
    past_caches = past_caches and not any(loops[i][2] % LINE for _, loops in bare for i in outer)
    open_ended = tuple(
        (run, tuple([loop if i in within else (0, *loop[1:]) for i, loop in enumerate(loops)])) for run, loops in bare
    )
    moving = tuple(tuple(tuple([loops[i][end] for i in (along, *outer)]) for _, loops in bare) for end in (1, 2))
    return _Frame(along, tuple(within), tuple(outer), turns, past_caches, open_ended, moving)


def _begins(offsets: Sequence[int], moving: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], int]:
    """Where those begin that move on together."""
    found: dict[tuple[int, ...], int] = {}
    for offset, key in zip(offsets, moving, strict=True):
        found[key] = min(offset, found.get(key, offset))
    return found


def _meet(shapes: Sequence[Shape], frame: _Frame) -> bool:
    """Whether, in a pattern and the next one, lines of the destination have bytes of fields that move on differently."""
    places = []
    for shape, key in zip(shapes, frame.moving[1], strict=True):
        begins = [shape[1]]
        for i in frame.within:
            extent, _, by = shape[3][i]
            begins = [begin + turn * by for begin in begins for turn in range(extent)]
        reach = shape[2] + (2 * frame.turns - 1) * key[0] + LINE
        places += [(begin, begin + reach, key) for begin in begins]
    places.sort()
    ends: dict[tuple[int, ...], int] = {}
    for low, high, key in places:
        if any(low <= end for other, end in ends.items() if other != key):
            return True
        ends[key] = max(high, ends.get(key, high))
    return False


class _Repeated(NamedTuple):
    """The pieces of a turn with their rhythms, and what `isoviz.backends.host.kernels.compiled.shuffle.pattern` makes of them;
    `keys` are the strides that a rhythm's number stands for, in the source and in the destination. No lines where shuffling is
    not the fastest way."""

    pieces: Integers
    rhythms: Integers
    keys: tuple[tuple[tuple[int, ...], ...], ...]
    steps: Integers
    strides: Integers
    lines: Integers
    fetches: Integers


@lru_cache(maxsize=256)
def _repeated(
    shapes: tuple[Shape, ...], along: int, within: tuple[int, ...], outer: tuple[int, ...], turns: int, misalignment: int
) -> _Repeated:
    """What a pattern is, however often the loops turn."""
    from isoviz.backends.host.kernels.compiled.shuffle import pattern

    pieces, rhythms, keys = _pieces(shapes, along, within, outer)
    made = pattern(pieces, rhythms, turns, misalignment, AHEAD)
    steps, _, lines, _ = made
    if len(steps) > min(MOST_STEPS, len(lines) * _most_steps(shapes, together=_go_together(lines))):
        made = tuple([each[:0].copy() for each in made])
    return _Repeated(pieces, rhythms, keys, *made)


def _go_together(lines: Integers) -> bool:
    """Whether a pattern is short and all of its lines are whole: then a line of many repeats is written at a time."""
    return len(lines) <= SHORT and bool((lines[:, -2] == -1).all())


def _most_steps(shapes: tuple[Shape, ...], *, together: bool) -> float:
    """The steps of a line up to which shuffling was measured to be the fastest. Other kernels move many elements of `ALIKE` sizes
    at a time, all others one by one."""
    run, loops = shapes[0][2:]
    if len(shapes) > 1 or run not in ALIKE:
        return max(1.0, LINE * len(shapes) / sum(shape[2] for shape in shapes) / (2.5 if together else 3.0))
    for count, *field in loops:
        for _, *entry in loops:
            for near, far in ((0, 1), (1, 0)):
                if 2 <= count <= 4 and (field[near], entry[near], entry[far]) == (run, run * count, run):  # few fields
                    return 3.0 if together else 1.0
    return ALIKE[run]


def _pieces(
    shapes: tuple[Shape, ...], along: int, within: Sequence[int], outer: Sequence[int]
) -> tuple[Integers, Integers, tuple[tuple[tuple[int, ...], ...], ...]]:
    """A row for every run of a turn: where it begins at both ends, its bytes, then the strides at both ends along the loop and
    along every outer loop; and two numbers, the same for those that have the same strides in the source, in the destination; and
    these strides by number."""
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
    pieces = np.array([(a, b, *rest) for b, a, *rest in rows], np.int64)
    return pieces, np.array(rhythms, np.int64), tuple(tuple(found) for found in numbers)
