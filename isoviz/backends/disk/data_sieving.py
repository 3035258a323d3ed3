"""Runs of a file that are read together with what lies between them, where another request would take longer than reading on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from isoviz.backends.host.bounce import BOUNCE
from isoviz.backends.pages import PAGE
from isoviz.layouts import StridedCopy

LONG = 128 << 10
"""Bytes of runs from which on a request for each is as fast."""
GAP = 16 << 10
"""Bytes between two runs that are read as soon as another request is answered."""
SIEVE = BOUNCE - 2 * PAGE
"""Bytes that are read at once: with what the first and the last page have besides, they fit a thread's buffer."""


def groups(copies: Sequence[StridedCopy]) -> list[list[StridedCopy]]:
    """Copies that are read together, such as the fields of structs, and others each on their own.

    Copies of a group have their slowest loop in common and begin within one turn of it, or are single runs close together.
    """
    found: list[list[StridedCopy]] = []
    for copy in sorted(copies, key=lambda copy: (slowest(copy), copy.source_offset)):
        if found and _goes_with(copy, found[-1]):
            found[-1].append(copy)
        else:
            found.append([copy])
    return [part for group in found for part in ([group] if is_close(group) else [[copy] for copy in group])]


def _goes_with(copy: StridedCopy, group: list[StridedCopy]) -> bool:
    """Whether a copy belongs to a group of those before it."""
    first, last = group[0], group[-1]
    _, apart = common = slowest(copy)
    if common != slowest(first):
        return False
    if apart:
        return copy.source_offset - first.source_offset < max(PAGE, abs(apart))
    return max(copy.run, last.run) < LONG and copy.source_offset - last.source_offset - last.run <= GAP


def is_close(group: Sequence[StridedCopy]) -> bool:
    """Whether several runs of a group are read together: all of them, or those of a turn of its slowest loop."""
    if any(copy.run >= LONG for copy in group):
        return False
    if not slowest(group[0])[1]:
        return len(group) > 1 and _as_a_whole(group)
    return _as_a_whole(group) or (_is_even(group) and is_close(_turn(group, 0, 1)))


def pieces(group: Sequence[StridedCopy], limit: int = SIEVE) -> Iterator[Sequence[StridedCopy]]:
    """A group in parts that are read at once, each from up to so many bytes of the file; single runs may be longer."""
    lo, hi = span(group)
    turns, apart = slowest(group[0])
    even = _is_even(group)
    parts = 1
    if not _as_a_whole(group):
        parts = turns if even else 0
    elif hi - lo > limit:
        one = hi - lo - (turns - 1) * abs(apart)
        parts = -(-turns // max(1, (limit - one) // abs(apart) + 1)) if even else 0
    if parts == 1 or (len(group) == 1 and not apart):
        yield group
    elif parts:
        for start, end in pairwise(turns * part // parts for part in range(parts + 1)):
            yield from pieces(_turn(group, start, end), limit)
    else:  # these have no loop in common any more
        for part in (group[: len(group) // 2], group[len(group) // 2 :]):
            yield from pieces(part, limit)


def span(copies: Sequence[StridedCopy]) -> tuple[int, int]:
    """The first byte in the source that copies touch, and the one behind the last; strides may be negative."""
    los = [copy.source_offset + sum((loop[0] - 1) * min(loop[1], 0) for loop in copy.loops) for copy in copies]
    his = [copy.source_offset + copy.run + sum((loop[0] - 1) * max(loop[1], 0) for loop in copy.loops) for copy in copies]
    return min(los), max(his)


def slowest(copy: StridedCopy) -> tuple[int, int]:
    """The loop of a copy that goes furthest in the file: its turns, and the bytes from one to the next; zeros for one run."""
    return max(((loop[0], loop[1]) for loop in copy.loops), key=lambda loop: abs(loop[1]), default=(0, 0))


def _is_even(group: Sequence[StridedCopy]) -> bool:
    """Whether copies have their slowest loop in common."""
    first = slowest(group[0])
    return bool(first[1]) and all(slowest(copy) == first for copy in group[1:])


def _as_a_whole(group: Sequence[StridedCopy]) -> bool:
    """Whether nowhere in a group more lies between two runs, or two turns of a loop, than is read sooner than asked for anew, or
    than they have themselves."""
    lo, hi = span(group)
    if _is_even(group):
        turns, apart = slowest(group[0])
        skipped = abs(apart) - (hi - lo - (turns - 1) * abs(apart))
        return skipped <= max(GAP, _wanted(group) // turns) and _as_a_whole(_turn(group, 0, 1))
    if len(group) == 1:
        return True
    return hi - lo - _wanted(group) <= max(GAP * (len(group) - 1), _wanted(group)) and all(_as_a_whole([copy]) for copy in group)


def _wanted(group: Sequence[StridedCopy]) -> int:
    return sum(copy.nbytes for copy in group)


def _turn(group: Sequence[StridedCopy], start: int, end: int) -> list[StridedCopy]:
    """Some turns of the slowest loop that copies have in common."""
    found = []
    for copy in group:
        k = [loop[:2] for loop in copy.loops].index(slowest(copy))
        _, here, there = copy.loops[k]
        loop = ((end - start, here, there),) if end - start > 1 else ()
        loops = (*copy.loops[:k], *loop, *copy.loops[k + 1 :])
        found.append(StridedCopy(copy.source_offset + start * here, copy.destination_offset + start * there, copy.run, loops))
    return found
