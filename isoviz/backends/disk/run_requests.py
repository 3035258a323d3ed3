"""Many runs of one length between a file and host memory, a request for each: as few steps of Python around it as possible.

Short runs come by the hundred thousand, from several threads that take turns in the interpreter: what a request costs there is
lost to all of them. So they are handed to the system many at a time, where it has a way (`isoviz.backends.disk.aio`).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from isoviz.backends.disk import aio
from isoviz.backends.disk.aio import DEPTH, READ, WRITE, address_of
from isoviz.backends.disk.file_access import REQUEST, NewFile, ReadFile
from isoviz.backends.host.bounce import BOUNCE, bounce
from isoviz.backends.pages import PAGE, Bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoviz.backends.disk.aio import Numbers
    from isoviz.runtime.protocols import Check

_ENOUGH = 1 << 20
"""Bytes handed over together: more in flight are no faster, and keep whoever wants to stop waiting."""
_QUICK = 64 << 10
"""Bytes of runs that are copied sooner than another thread could make use of the interpreter."""
_SHORT = 32 << 10
"""Bytes of runs that begin within pages, and are shorter, which the page cache puts together best: all of them, for unbuffered
requests beside make it write what it has."""


def read_runs(file: ReadFile | NewFile, offsets: Numbers, places: Numbers, run: int, memory: Bytes, check: Check) -> int:
    """Read `run` bytes from each of `offsets` in the file to the same of `places` in memory; returns how many requests that took.
    `check` is called before requests that are handed over together.

    Raises:
        RunError: the file ends before, or cannot be read; what `check` raises.
    """
    if isinstance(file, NewFile):
        file.write_shared()
    direct = file.unbuffered
    leads = offsets % PAGE
    room = -(-(int(leads.max(initial=0)) + run) // PAGE) * PAGE
    lines_up = not ((places - leads + address_of(memory)) % PAGE).any()
    aligned = room == run and lines_up
    alone = len(offsets) == 1 and lines_up  # goes where it belongs but for its edges
    if direct is None or not PAGE <= run <= REQUEST or alone or (room > BOUNCE and not aligned):
        return sum(file.read_at(at, memory[to : to + run], check) for at, to in _pairs(offsets, places))
    begins, wanted = offsets - leads, leads + run
    if aligned:
        moved = _read_in_place(direct, offsets, places, run, memory, check)
    else:  # by way of a buffer
        into = bounce()

        def arrived(which: Numbers, at: Numbers) -> None:
            _spread(into, at + leads[which], memory, places[which], run)

        with aio.requests(min(len(offsets), BOUNCE // room)) as way:
            moved = way.read_by_slots(direct, begins, -(-wanted // PAGE) * PAGE, into, room, arrived, check)
    again = 0
    for k in np.flatnonzero(moved < wanted).tolist():
        # The end of the file, an error: said, or done another way, where it is tried again.
        at, to = int(offsets[k]), int(places[k])
        again += file.read_at(at, memory[to : to + run], check) - 1
        file.count(-run)
    file.count(run * len(offsets))
    return len(offsets) + again


def _read_in_place(direct: int, offsets: Numbers, places: Numbers, run: int, memory: Bytes, check: Check) -> Numbers:
    """Runs of whole pages that go where they belong; how many bytes of each have come."""
    together, nbytes, moved = max(1, min(DEPTH, _ENOUGH // run)), np.full(len(offsets), run), np.zeros(len(offsets), np.int64)
    with aio.requests(min(together, len(offsets))) as way:
        for first in range(0, len(offsets), together):
            check()
            part = slice(first, first + together)
            moved[part] = way.carry_out(READ, direct, offsets[part], memory, places[part], nbytes[part])
    return moved


def write_runs(file: NewFile, places: Numbers, offsets: Numbers, run: int, memory: Bytes, check: Check) -> int:
    """Write `run` bytes from each of `places` in memory to the same of `offsets` in the file; returns how many requests that
    took. `check` is called before requests that are handed over together.

    Raises:
        RunError: the disk is full, the file would be larger than allowed, or the disk fails; what `check` raises.
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
    if not aligned:  # by way of a buffer
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
    """The same for runs that begin or end within pages: these are kept until somebody brings the rest of them."""
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
    """The same for one run that lies in memory as it does on its pages: in one request, where others have brought the rest of its
    first and its last page, else without these.

    They do not go through the page cache while others write to the file: the system would have all of them wait."""
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
    """Write whole pages from several places in memory one after the other; returns how many requests that took."""
    direct, nbytes = file.unbuffered, sum(map(len, parts))
    _forget_shared(file, offset, nbytes)
    try:
        moved = 0 if direct is None else os.pwritev(direct, [part.data for part in parts], offset)
    except OSError:  # said, or done another way, where it is tried again
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
    """Keep nothing of pages that are written as a whole now."""
    for number in file.shared.among(offset // PAGE, (offset + nbytes) // PAGE):
        file.shared.forget(number)


def _is_whole(file: NewFile, at: int, low: int, high: int, page: Bytes, check: Check) -> bool:
    """Whether a page of a file, of which a part is known, can be written as a whole. What is not kept of it goes to the page
    cache."""
    whole = file.shared.joined(at // PAGE, low, high, page)
    if whole is None:
        file.write_at(at + low, page[low:high], check)
    return bool(whole)


def _write_pages(
    file: NewFile, way: aio.Requests, offsets: Numbers, out: Bytes, slots: Numbers, nbytes: Numbers, check: Check
) -> int:
    """Hand over requests of whole pages; returns how many more it took."""
    direct, again = file.unbuffered, 0
    for to, count in zip(offsets.tolist(), nbytes.tolist(), strict=True):
        _forget_shared(file, to, count)
    moved = np.zeros_like(nbytes) if direct is None else way.carry_out(WRITE, direct, offsets, out, slots, nbytes)
    for k in np.flatnonzero(moved != nbytes).tolist():  # said, or done another way, where it is tried again
        at, to, count = int(slots[k]), int(offsets[k]), int(nbytes[k])
        again += file.write_at(to, out[at : at + count], check) - 1
        file.count(-count)
    file.count(int(nbytes.sum()))
    return again


def _spread(source: Bytes, here: Numbers, destination: Bytes, there: Numbers, run: int) -> None:
    """Copy runs from some places in memory to others: at once, where both lie evenly."""
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
    # NumPy lets go of the interpreter for every run, and waits to get it back: longer than a short one takes.
    into, out = destination.data, source.data
    for at, to in _pairs(here, there):
        into[to : to + run] = out[at : at + run]


def _pairs(here: Numbers, there: Numbers) -> Iterator[tuple[int, int]]:
    return zip(here.tolist(), there.tolist(), strict=True)
