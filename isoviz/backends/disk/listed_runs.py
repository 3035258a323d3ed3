"""Entries that a list names, between a file and host memory: in the order of the file, neighbours together.

Random entries of a file are sorted first. Those that lie close together are read in one request, together with the bytes between
them (data sieving). Those that lie one behind the other in a new file are gathered and written in one request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoviz.backends.disk.data_sieving import GAP, LONG, SIEVE
from isoviz.backends.disk.run_requests import read_runs, write_runs
from isoviz.backends.host.bounce import BOUNCE, bounce
from isoviz.backends.host.copying import copy_strided
from isoviz.backends.pages import PAGE, page_aligned
from isoviz.layouts.copies import ListedCopy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoviz.backends.disk.aio import Numbers
    from isoviz.backends.disk.file_access import NewFile, ReadFile
    from isoviz.backends.pages import Bytes
    from isoviz.layouts import StridedCopy
    from isoviz.runtime.protocols import Check


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
