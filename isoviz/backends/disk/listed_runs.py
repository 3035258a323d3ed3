"""Entries that a list names, between a file and host memory: in the order of the file, neighbours together.

Random entries of a file are sorted first. Those that lie close together are read in one request, together with the bytes between
them (data sieving). Those that lie one behind the other in a new file are gathered and written in one request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from isoviz.backends.disk.run_requests import read_runs, write_runs
from isoviz.backends.host.copying import copy_strided
from isoviz.backends.pages import BOUNCE, PAGE, bounce, page_aligned
from isoviz.layouts import StridedCopy
from isoviz.layouts.copies import ListedCopy

if TYPE_CHECKING:
    from isoviz.backends.disk.aio import Numbers
    from isoviz.backends.disk.file_access import NewFile, ReadFile
    from isoviz.backends.pages import Bytes
    from isoviz.runtime.protocols import Check


# Data sieving: runs close together in a file are read in one request, together with the bytes between them.
#
# This pays where reading the unwanted bytes takes less time than another request.

LONG = 128 << 10
"""Run length in bytes from which one request per run is as fast."""
GAP = 16 << 10
"""Bytes between two runs that take as long to read as another request."""
SIEVE = BOUNCE - 2 * PAGE
"""Most bytes of one sieved request. With the rest of the first and the last page it still fits the thread's bounce buffer."""


def groups(copies: Sequence[StridedCopy]) -> list[list[StridedCopy]]:
    """Group the copies that are read together, such as the fields of structs. Other copies form groups of one.

    The copies of a group share their slowest loop and begin within one iteration of it, or they are single runs close together.
    """
    found: list[list[StridedCopy]] = []
    for copy in sorted(copies, key=lambda copy: (slowest(copy), copy.source_offset)):
        if found and _goes_with(copy, found[-1]):
            found[-1].append(copy)
        else:
            found.append([copy])
    return [part for group in found for part in ([group] if is_close(group) else [[copy] for copy in group])]


def _goes_with(copy: StridedCopy, group: list[StridedCopy]) -> bool:
    """Whether a copy belongs to the group of the copies before it."""
    first, last = group[0], group[-1]
    _, apart = common = slowest(copy)
    if common != slowest(first):
        return False
    if apart:
        return copy.source_offset - first.source_offset < max(PAGE, abs(apart))
    return max(copy.run, last.run) < LONG and copy.source_offset - last.source_offset - last.run <= GAP


def is_close(group: Sequence[StridedCopy]) -> bool:
    """Whether one request reads several runs of a group: all runs, or those of one iteration of its slowest loop."""
    if any(copy.run >= LONG for copy in group):
        return False
    if not slowest(group[0])[1]:
        return len(group) > 1 and _as_a_whole(group)
    return _as_a_whole(group) or (_is_even(group) and is_close(_turn(group, 0, 1)))


def pieces(group: Sequence[StridedCopy], limit: int = SIEVE) -> Iterator[Sequence[StridedCopy]]:
    """Split a group into parts that one request reads. Each spans up to `limit` bytes of the file; single runs may be longer."""
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
    else:  # These copies share no loop.
        for part in (group[: len(group) // 2], group[len(group) // 2 :]):
            yield from pieces(part, limit)


def span(copies: Sequence[StridedCopy]) -> tuple[int, int]:
    """The first source byte that the copies touch, and the end of the last one. Strides may be negative."""
    los = [copy.source_offset + sum((loop[0] - 1) * min(loop[1], 0) for loop in copy.loops) for copy in copies]
    his = [copy.source_offset + copy.run + sum((loop[0] - 1) * max(loop[1], 0) for loop in copy.loops) for copy in copies]
    return min(los), max(his)


def slowest(copy: StridedCopy) -> tuple[int, int]:
    """The iterations and the stride in bytes of the loop with the largest stride in the file; zeros for a single run."""
    return max(((loop[0], loop[1]) for loop in copy.loops), key=lambda loop: abs(loop[1]), default=(0, 0))


def _is_even(group: Sequence[StridedCopy]) -> bool:
    """Whether all copies share their slowest loop."""
    first = slowest(group[0])
    return bool(first[1]) and all(slowest(copy) == first for copy in group[1:])


def _as_a_whole(group: Sequence[StridedCopy]) -> bool:
    """Whether a single request for the whole group is worth it.

    It is where no gap between runs or loop iterations exceeds both `GAP` and the wanted bytes.
    """
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
    """A range of iterations of the slowest loop, which the copies share."""
    found = []
    for copy in group:
        k = [loop[:2] for loop in copy.loops].index(slowest(copy))
        _, here, there = copy.loops[k]
        loop = ((end - start, here, there),) if end - start > 1 else ()
        loops = (*copy.loops[:k], *loop, *copy.loops[k + 1 :])
        found.append(StridedCopy(copy.source_offset + start * here, copy.destination_offset + start * there, copy.run, loops))
    return found


def lists_apart(copies: Sequence[StridedCopy]) -> tuple[list[ListedCopy], list[StridedCopy]]:
    """The copies of lists, and the others."""
    lists = [copy for copy in copies if isinstance(copy, ListedCopy)]
    return lists, [copy for copy in copies if not isinstance(copy, ListedCopy)] if lists else list(copies)


def are_close(copy: ListedCopy, disk: int) -> bool:
    """Whether one request reads or writes several of its runs (disk: 1 it is read from a file, 2 it is written to one).

    The entries of a part of the list lie as far apart as those of the whole list: cut into requests, each would read all gaps.
    """
    low, high = copy.spans()[disk - 1]
    count = copy.nbytes // copy.run
    if disk == 2:
        return 2 * copy.nbytes > high - low
    return copy.run < LONG and high - low - copy.nbytes <= max(GAP * (count - 1), copy.nbytes)


def read_listed(file: ReadFile | NewFile, base: int, copy: ListedCopy, memory: Bytes, check: Check) -> int:
    """Read the entries of a list. The data begin at byte `base` of the file. Returns the number of requests.

    Raises:
        RunError: as `read_runs`. Errors of `check` pass through.
    """
    run, (at, to) = copy.run, _in_order(copy, 1)
    if run >= LONG:
        return read_runs(file, base + at, to, run, memory, check)
    alone, together = _stretches(at, run, GAP, SIEVE)
    requests = 0
    for first, last in together:
        low, high = int(at[first]), int(at[last - 1]) + run
        lead = (base + low) % PAGE
        wanted = lead + high - low
        room = bounce()[: -(-wanted // PAGE) * PAGE]
        requests += file.read_pages(base + low - lead, room, wanted, check)
        copy_strided(ListedCopy((lead - low, 0), (at[first:last], to[first:last]), run), room, memory)
    return requests + (read_runs(file, base + at[alone], to[alone], run, memory, check) if len(alone) else 0)


def write_listed(file: NewFile, base: int, copy: ListedCopy, memory: Bytes, check: Check) -> int:
    """Write the entries of a list. The data begin at byte `base` of the file. Returns the number of requests.

    Raises:
        RunError: as `write_runs`. Errors of `check` pass through.
    """
    run, (to, at) = copy.run, _in_order(copy, 2)
    alone, together = _stretches(to, run, 0, BOUNCE)
    requests, room = 0, page_aligned(BOUNCE + PAGE) if len(together) else memory[:0]
    for first, last in together:
        check()
        low, nbytes = int(to[first]), (last - first) * run
        lead = (base + low) % PAGE  # whole pages of the file are whole pages of the room
        copy_strided(ListedCopy((0, lead - low), (at[first:last], to[first:last]), run), memory, room)
        requests += write_runs(file, np.array([lead]), np.array([base + low]), nbytes, room, check)
    return requests + (write_runs(file, at[alone], base + to[alone], run, memory, check) if len(alone) else 0)


def _in_order(copy: ListedCopy, disk: int) -> tuple[Numbers, Numbers]:
    """The offsets of all runs in the file and in memory, in the order of the file."""
    file, memory = copy.offsets[disk - 1], copy.offsets[2 - disk]
    for loop in copy.loops:
        turns = np.arange(loop[0], dtype=np.int64)
        file = (file[:, None] + turns * loop[disk]).ravel()
        memory = (memory[:, None] + turns * loop[3 - disk]).ravel()
    order = np.argsort(file, kind="stable")
    return file[order], memory[order]


def _stretches(at: Numbers, run: int, gap: int, limit: int) -> tuple[Numbers, list[tuple[int, int]]]:
    """Sorted runs that are more than `gap` bytes from their neighbours, and stretches (first, behind the last) of the others.

    A stretch spans up to `limit` bytes.
    """
    breaks = np.flatnonzero(np.diff(at) - run > gap) + 1
    bounds = np.concatenate(([0], breaks, [len(at)]))
    counts = np.diff(bounds)
    single = counts == 1
    found: list[tuple[int, int]] = []
    alone = [bounds[:-1][single]]
    for first, last in zip(bounds[:-1][~single].tolist(), bounds[1:][~single].tolist(), strict=True):
        for low, high in _within(at, run, first, last, max(run, limit)):
            if high - low == 1:
                alone.append(np.array([low]))
            else:
                found.append((low, high))
    return np.concatenate(alone), found


def _within(at: Numbers, run: int, first: int, last: int, limit: int) -> Iterator[tuple[int, int]]:
    """A stretch in parts of up to `limit` bytes."""
    while first < last:
        behind = first + int(np.searchsorted(at[first:last], at[first] + limit - run, "right"))
        yield first, behind
        first = behind
