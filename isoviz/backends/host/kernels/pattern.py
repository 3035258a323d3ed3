"""Copies of short runs of any size by byte shuffles: structs of different fields, odd sizes, small blocks.

The longest loop repeats a pattern: after a number of turns, the destination has advanced by whole lines. The bytes of each line
of the pattern, and their places in the source, are worked out once. A line of the destination then costs one shuffle for each
line of the source that it takes bytes from, independent of the sizes of the fields. Each line is stored whole and once, with
non-temporal stores where it is not read again soon. The kernel needs vectors of 512 bits with byte shuffles (AVX-512 VBMI).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.host.kernels import choices as constants
from isoviz.backends.host.kernels.recipe import LINE, Integers, goes_past

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.backends.host.kernels.recipe import Bare
    from isoviz.layouts.copies import Loop

    Shape = tuple[int, int, int, tuple[Loop, ...]]
    """Source offset, destination offset, bytes of a run, loops."""

APART = 1 << 40
"""Bytes between fields of the destination with different strides, in a cached pattern: more than any copy has."""


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
    """Copies with equal loops, without their offsets.

    `along` is the loop that repeats the pattern, `within` and `outer` are the loops inside and around it, `turns` its turns per
    pattern. `past_caches` asks for non-temporal stores. `open_ended` are the shapes with the extents of `along` and `outer` left
    out. `moving` are the strides of each shape along these loops, in the source and in the destination: shapes with equal strides
    keep their distance.
    """

    along: int
    within: tuple[int, ...]
    outer: tuple[int, ...]
    turns: int
    past_caches: bool
    open_ended: Bare
    moving: tuple[tuple[tuple[int, ...], ...], ...]


@lru_cache(maxsize=256)
def pattern_of(shapes: tuple[Shape, ...], misalignment: int, *, large: bool = False) -> Pattern | None:
    """The pattern of copies with equal loops; None where other kernels are faster.

    The offsets of `shapes` are relative to any address. The destination begins `misalignment` bytes after a cache line boundary.
    `large` marks a part of a large copy. There is no pattern where loops differ or have too few turns, where the pattern would be
    too large, or where a line takes bytes from many lines.
    """
    bare = tuple([shape[2:] for shape in shapes])
    for short in (True, False):
        frame = _frame(bare, large, short)
        found = None if frame is None else _pattern(shapes, misalignment, frame)
        if found is not None and (found.together > 1 or not short):
            return found
    return None


def _pattern(shapes: tuple[Shape, ...], misalignment: int, frame: _Frame) -> Pattern | None:
    """The pattern of copies with this frame."""
    # No load may reach beyond the last byte of the source, and 40 bits hold the distance of two places.
    end = max(shape[0] + shape[2] + sum([(n - 1) * here for n, here, _ in shape[3]]) for shape in shapes)
    if end - min(shape[0] for shape in shapes) >= 1 << 40:
        return None
    # Fields with different strides change their distance from chunk to chunk: the cached part leaves that distance out.
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
    if repeats < constants.LEAST_REPEATS // 2:
        return None
    together = constants.LINES_TOGETHER // len(lines) if _go_together(lines) else 1
    return Pattern(around + 1, steps, strides, lines, fetches, pieces, frame.turns, count, repeats, together, frame.past_caches)


@lru_cache(maxsize=256)
def _frame(bare: Bare, large: bool, short: bool) -> _Frame | None:
    """The frame of copies at any offset, for a `short` or a long pattern.

    None where no loop repeats the pattern often enough, or where the pattern would be too large.
    """
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
    if nbytes * count * math.prod(first[i][0] for i in outer) < constants.LEAST_PATTERN_COPY or (
        outer and nbytes * count < constants.LEAST_PATTERN_LOOP
    ):
        return None
    # Long patterns gain up to 64 turns, short ones up to a line of the source: each line is loaded once then.
    far = min(loops[along][1] for _, loops in bare)
    while 2 * turns <= min(LINE, count // constants.LEAST_REPEATS):
        if 2 * turns * nbytes > (constants.SHORT_PATTERN * LINE if short else constants.GOOD_PATTERN) or (
            short and turns * far >= LINE
        ):
            break
        turns *= 2
    if short and turns * nbytes > constants.SHORT_PATTERN * LINE:
        return None
    if (
        count < constants.LEAST_REPEATS * turns
        or turns * nbytes > constants.MOST_PATTERN
        or combinations * len(bare) > constants.MOST_PIECES
    ):
        return None
    past_caches = goes_past(nbytes, [first[i] for i in (along, *outer)], large=large)
    past_caches = past_caches and not any(loops[i][2] % LINE for _, loops in bare for i in outer)
    open_ended = tuple(
        (run, tuple([loop if i in within else (0, *loop[1:]) for i, loop in enumerate(loops)])) for run, loops in bare
    )
    moving = tuple(tuple(tuple([loops[i][end] for i in (along, *outer)]) for _, loops in bare) for end in (1, 2))
    return _Frame(along, tuple(within), tuple(outer), turns, past_caches, open_ended, moving)


def _begins(offsets: Sequence[int], moving: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], int]:
    """The first offset for each set of strides."""
    found: dict[tuple[int, ...], int] = {}
    for offset, key in zip(offsets, moving, strict=True):
        found[key] = min(offset, found.get(key, offset))
    return found


def _meet(shapes: Sequence[Shape], frame: _Frame) -> bool:
    """Whether fields with different strides share lines of the destination within two patterns in sequence."""
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
    """The pieces of a turn, and the result of `isoviz.backends.host.kernels.compiled.shuffle.pattern` for them.

    `rhythms` numbers the sets of strides that pieces have in the source and in the destination, and `keys` holds these strides.
    There are no lines where byte shuffles are not the fastest way.
    """

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
    """The pattern for any number of turns."""
    from isoviz.backends.host.kernels.compiled.shuffle import pattern

    pieces, rhythms, keys = _pieces(shapes, along, within, outer)
    made = pattern(pieces, rhythms, turns, misalignment, constants.PATTERN_PREFETCH)
    steps, _, lines, _ = made
    if len(steps) > min(constants.MOST_STEPS, len(lines) * _most_steps(shapes, together=_go_together(lines))):
        made = tuple([each[:0].copy() for each in made])
    return _Repeated(pieces, rhythms, keys, *made)


def _go_together(lines: Integers) -> bool:
    """Whether a pattern is short and has whole lines only: one line of it is then stored for many repeats in turn."""
    return len(lines) <= constants.SHORT_PATTERN and bool((lines[:, -2] == -1).all())


def _most_steps(shapes: tuple[Shape, ...], *, together: bool) -> float:
    """Steps of a line up to which byte shuffles were measured to be the fastest.

    Other kernels move several elements of the sizes in `STEPS_PER_LINE` at a time, and elements of other sizes one by one.
    """
    run, loops = shapes[0][2:]
    if len(shapes) > 1 or run not in constants.STEPS_PER_LINE:
        return max(1.0, LINE * len(shapes) / sum(shape[2] for shape in shapes) / (2.5 if together else 3.0))
    for count, *field in loops:
        for _, *entry in loops:
            for near, far in ((0, 1), (1, 0)):
                if 2 <= count <= 4 and (field[near], entry[near], entry[far]) == (run, run * count, run):  # few fields
                    return 3.0 if together else 1.0
    return constants.STEPS_PER_LINE[run]


def _pieces(
    shapes: tuple[Shape, ...], along: int, within: Sequence[int], outer: Sequence[int]
) -> tuple[Integers, Integers, tuple[tuple[tuple[int, ...], ...], ...]]:
    """The runs of one turn, as a table, and the sets of strides they have.

    A row holds the offsets of a run at both ends, its bytes, and its strides at both ends along the loop and along each outer
    loop. The second table numbers the set of strides of each run in the source and in the destination; the tuple holds these
    sets.
    """
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
