"""Many runs of one length between a file and host memory, a request for each: as few steps of Python around it as possible.

Short runs come by the hundred thousand, from several threads that take turns in the interpreter: what a request costs there is
lost to all of them. So they are handed to the system many at a time, where it has a way (`isoviz.backends.aio`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoviz.backends import aio
from isoviz.backends.aio import DEPTH, READ, WRITE, address_of
from isoviz.backends.bounce import BOUNCE, bounce
from isoviz.backends.disk import REQUEST, NewFile, ReadFile
from isoviz.backends.host import PAGE, Bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoviz.backends.aio import Numbers
    from isoviz.runtime.protocols import Check

_ENOUGH = 1 << 20
"""Bytes handed over together: more in flight are no faster, and keep whoever wants to stop waiting."""
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
    aligned = room == run and not ((places + address_of(memory)) % PAGE).any()
    if direct is None or not PAGE <= run <= REQUEST or (room > BOUNCE and not aligned):
        return sum(file.read_at(at, memory[to : to + run], check) for at, to in _pairs(offsets, places))
    together = max(1, min(DEPTH, (_ENOUGH if aligned else BOUNCE) // room))
    begins, into, slots, nbytes = offsets - leads, memory, places, np.full(len(offsets), run)
    if not aligned:  # by way of a buffer
        into, slots, nbytes = bounce(), np.arange(len(offsets)) % together * room, -(-(leads + run) // PAGE) * PAGE
    wanted, starts, again = leads + run, slots + leads, 0
    with aio.requests(min(together, len(offsets))) as way:
        for first in range(0, len(offsets), together):
            check()
            part = slice(first, first + together)
            moved = way.carry_out(READ, direct, begins[part], into, slots[part], nbytes[part])
            if not aligned:
                _spread(into, starts[part], memory, places[part], run)
            for k in np.flatnonzero(moved < wanted[part]).tolist():
                # The end of the file, an error: said, or done another way, where it is tried again.
                at, to = int(offsets[first + k]), int(places[first + k])
                again += file.read_at(at, memory[to : to + run], check) - 1
                file.count(-run)
    file.count(run * len(offsets))
    return len(offsets) + again


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
        for number in file.shared.among(to // PAGE, (to + count) // PAGE):
            file.shared.forget(number)  # it is written as a whole now
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
    for at, to in _pairs(here, there):
        destination[to : to + run] = source[at : at + run]


def _pairs(here: Numbers, there: Numbers) -> Iterator[tuple[int, int]]:
    return zip(here.tolist(), there.tolist(), strict=True)
