"""Requests for many runs of one length between a file and host memory, with little Python code per request.

Short runs come by the hundred thousand, from several threads that share the GIL. Time spent per request with the GIL is lost to
all threads. Therefore requests are submitted in batches where the system supports it (`isoviz.backends.disk.aio`).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from isoviz.backends.disk import aio
from isoviz.backends.disk.aio import DEPTH, READ, WRITE, address_of
from isoviz.backends.disk.file_access import REQUEST, NewFile, ReadFile
from isoviz.backends.pages import BOUNCE, PAGE, Bytes, bounce

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoviz.backends.disk.aio import Numbers
    from isoviz.runtime.protocols import Check

_ENOUGH = 1 << 20
"""Most bytes of a batch. A larger batch is no faster, and a cancellation has to wait for it."""
_QUICK = 64 << 10
"""Run length in bytes below which copying a run takes less time than handing the GIL to another thread."""
_SHORT = 32 << 10
"""Length in bytes below which runs that begin within pages go through the page cache.

It combines short runs fastest. All of them go through it, because direct I/O to the same file forces it to write its pages.
"""


def read_runs(file: ReadFile | NewFile, offsets: Numbers, places: Numbers, run: int, memory: Bytes, check: Check) -> int:
    """Read `run` bytes from each of `offsets` in the file to each of `places` in memory. Returns the number of requests.

    `check` is called before each batch of requests.

    Raises:
        RunError: the file ends too early, or cannot be read. Errors of `check` pass through.
    """
    if isinstance(file, NewFile):
        file.write_shared()
    direct = file.unbuffered
    leads = offsets % PAGE
    room = -(-(int(leads.max(initial=0)) + run) // PAGE) * PAGE
    lines_up = not ((places - leads + address_of(memory)) % PAGE).any()
    aligned = room == run and lines_up
    alone = len(offsets) == 1 and lines_up  # Only the first and the last page go through the bounce buffer.
    if direct is None or not PAGE <= run <= REQUEST or alone or (room > BOUNCE and not aligned):
        return sum(file.read_at(at, memory[to : to + run], check) for at, to in _pairs(offsets, places))
    begins, wanted = offsets - leads, leads + run
    if aligned:
        moved = _read_in_place(direct, offsets, places, run, memory, check)
    else:  # Through the bounce buffer.
        into = bounce()

        def arrived(which: Numbers, at: Numbers) -> None:
            _spread(into, at + leads[which], memory, places[which], run)

        with aio.requests(min(len(offsets), BOUNCE // room)) as way:
            moved = way.read_by_slots(direct, begins, -(-wanted // PAGE) * PAGE, into, room, arrived, check)
    again = 0
    for k in np.flatnonzero(moved < wanted).tolist():
        # At the end of the file or after an error, `read_at` tries again. It reports the error or reads in another way.
        at, to = int(offsets[k]), int(places[k])
        again += file.read_at(at, memory[to : to + run], check) - 1
        file.count(-run)
    file.count(run * len(offsets))
    return len(offsets) + again


def _read_in_place(direct: int, offsets: Numbers, places: Numbers, run: int, memory: Bytes, check: Check) -> Numbers:
    """Read aligned runs of whole pages without the bounce buffer. Returns the bytes read of each."""
    together, nbytes, moved = max(1, min(DEPTH, _ENOUGH // run)), np.full(len(offsets), run), np.zeros(len(offsets), np.int64)
    with aio.requests(min(together, len(offsets))) as way:
        for first in range(0, len(offsets), together):
            check()
            part = slice(first, first + together)
            moved[part] = way.carry_out(READ, direct, offsets[part], memory, places[part], nbytes[part])
    return moved


def write_runs(file: NewFile, places: Numbers, offsets: Numbers, run: int, memory: Bytes, check: Check) -> int:
    """Write `run` bytes from each of `places` in memory to each of `offsets` in the file. Returns the number of requests.

    `check` is called before each batch of requests.

    Raises:
        RunError: the disk is full, the file exceeds the size limit, or the disk fails. Errors of `check` pass through.
    """
    aligned = not ((places + address_of(memory)) % PAGE).any()
    whole = not (run % PAGE or (offsets % PAGE).any())
    if len(offsets) > 1 and file.unbuffered is not None and _SHORT <= run <= BOUNCE - 2 * PAGE and not whole:
        return _write_across_pages(file, places, offsets, run, memory, check)
    lines_up = not ((places - offsets + address_of(memory)) % PAGE).any()
    if file.unbuffered is not None and not whole and lines_up and _SHORT <= run <= REQUEST:
        return sum(_write_around(file, to, memory[at : at + run], check) for at, to in _pairs(places, offsets))
    if file.unbuffered is None or not whole or run > (REQUEST if aligned else BOUNCE):
        cached = run < _SHORT
        return sum(file.write_at(to, memory[at : at + run], check, cached) for at, to in _pairs(places, offsets))
    together = max(1, min(DEPTH, (_ENOUGH if aligned else BOUNCE) // run))
    out, slots, nbytes, again = memory, places, np.full(len(offsets), run), 0
    if not aligned:  # Through the bounce buffer.
        out, slots = bounce(), np.arange(len(offsets)) % together * run
    with aio.requests(min(together, len(offsets))) as way:
        for first in range(0, len(offsets), together):
            check()
            part = slice(first, first + together)
            if not aligned:
                _spread(memory, places[part], out, slots[part], run)
            again += _write_pages(file, way, offsets[part], out, slots[part], nbytes[part], check)
    return len(offsets) + again


def _write_across_pages(file: NewFile, places: Numbers, offsets: Numbers, run: int, memory: Bytes, check: Check) -> int:
    """`write_runs` for runs that begin or end within pages. Incomplete pages wait in memory until another run completes them."""
    leads, ends = offsets % PAGE, (offsets + run) % PAGE
    room = -(-(int(leads.max()) + run) // PAGE) * PAGE
    together = max(1, min(DEPTH, BOUNCE // room))
    out, requests = bounce(), 0
    with aio.requests(min(together, len(offsets))) as way:
        for first in range(0, len(offsets), together):
            check()
            part = slice(first, first + together)
            slots = np.arange(len(offsets[part])) * room
            _spread(memory, places[part], out, slots + leads[part], run)
            begins, behind = offsets[part] - leads[part], -(-(offsets[part] + run) // PAGE) * PAGE
            for k in np.flatnonzero(leads[part]).tolist():
                at, lead = int(slots[k]), int(leads[first + k])
                if not _is_whole(file, int(begins[k]), lead, PAGE, out[at : at + PAGE], check):
                    begins[k] += PAGE
                    slots[k] += PAGE
            for k in np.flatnonzero(ends[part]).tolist():
                at = int(slots[k] + behind[k] - begins[k]) - PAGE
                if not _is_whole(file, int(behind[k]) - PAGE, 0, int(ends[first + k]), out[at : at + PAGE], check):
                    behind[k] -= PAGE
            some = np.flatnonzero(behind > begins)
            if len(some):
                begins, slots, nbytes = begins[some], slots[some], (behind - begins)[some]
                requests += len(some) + _write_pages(file, way, begins, out, slots, nbytes, check)
    return requests


def _write_around(file: NewFile, offset: int, data: Bytes, check: Check) -> int:
    """`write_runs` for one run whose position within a page is the same in memory and in the file.

    One request writes it, with its first and last page where other runs have completed them. Incomplete pages do not go through
    the page cache while other threads write to the file: the system would make them all wait.
    """
    check()
    lead, tail = offset % PAGE, (offset + len(data)) % PAGE
    begin, end = -lead % PAGE, len(data) - tail
    at, parts, first, last = offset + begin, [data[begin:end]], bounce()[:PAGE], bounce()[PAGE : 2 * PAGE]
    if lead:
        first[lead:] = data[:begin]
        if _is_whole(file, at - PAGE, lead, PAGE, first, check):
            at, parts = at - PAGE, [first, *parts]
    if tail:
        last[:tail] = data[end:]
        if _is_whole(file, offset + end, 0, tail, last, check):
            parts.append(last)
    return _write_parts(file, at, parts, check)


def _write_parts(file: NewFile, offset: int, parts: list[Bytes], check: Check) -> int:
    """Write whole pages from several places in memory to consecutive pages of the file. Returns the number of requests."""
    direct, nbytes = file.unbuffered, sum(map(len, parts))
    _forget_shared(file, offset, nbytes)
    try:
        moved = 0 if direct is None else os.pwritev(direct, [part.data for part in parts], offset)
    except OSError:  # `write_at` tries again. It reports the error or writes in another way.
        moved = 0
    if moved == nbytes:
        file.count(nbytes)
        return 1
    requests = 0
    for part in parts:
        requests += file.write_at(offset, part, check)
        offset += len(part)
    return requests


def _forget_shared(file: NewFile, offset: int, nbytes: int) -> None:
    """Drop the pending parts of pages that are now written whole."""
    for number in file.shared.among(offset // PAGE, (offset + nbytes) // PAGE):
        file.shared.forget(number)


def _is_whole(file: NewFile, at: int, low: int, high: int, page: Bytes, check: Check) -> bool:
    """Whether the known part of a page and its pending part complete the page.

    A part that can be neither joined nor kept is written through the page cache.
    """
    whole = file.shared.joined(at // PAGE, low, high, page)
    if whole is None:
        file.write_at(at + low, page[low:high], check)
    return bool(whole)


def _write_pages(
    file: NewFile, way: aio.FileRequests, offsets: Numbers, out: Bytes, slots: Numbers, nbytes: Numbers, check: Check
) -> int:
    """Submit requests of whole pages; returns the number of extra requests."""
    direct, again = file.unbuffered, 0
    for to, count in zip(offsets.tolist(), nbytes.tolist(), strict=True):
        _forget_shared(file, to, count)
    moved = np.zeros_like(nbytes) if direct is None else way.carry_out(WRITE, direct, offsets, out, slots, nbytes)
    for k in np.flatnonzero(moved != nbytes).tolist():  # `write_at` tries again. It reports the error or writes in another way.
        at, to, count = int(slots[k]), int(offsets[k]), int(nbytes[k])
        again += file.write_at(to, out[at : at + count], check) - 1
        file.count(-count)
    file.count(int(nbytes.sum()))
    return again


def _spread(source: Bytes, here: Numbers, destination: Bytes, there: Numbers, run: int) -> None:
    """Copy runs between places in memory, with one NumPy copy where both sides have a constant stride."""
    steps = np.diff(here), np.diff(there)
    if len(here) > 1 and all((each == each[0]).all() for each in steps):
        shape = len(here), run
        strides = [(int(each[0]), 1) for each in steps]
        rows = np.ndarray(shape, np.uint8, source, int(here[0]), strides[0])
        np.ndarray(shape, np.uint8, destination, int(there[0]), strides[1])[...] = rows
        return
    if run >= _QUICK:
        for at, to in _pairs(here, there):
            destination[to : to + run] = source[at : at + run]
        return
    # NumPy releases the GIL for every run. Getting it back takes longer than copying a short run.
    into, out = destination.data, source.data
    for at, to in _pairs(here, there):
        into[to : to + run] = out[at : at + run]


def _pairs(here: Numbers, there: Numbers) -> Iterator[tuple[int, int]]:
    return zip(here.tolist(), there.tolist(), strict=True)
