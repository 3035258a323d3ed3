"""Many runs of one length between a file and host memory, a request for each: as few steps of Python around it as possible.

Short runs come by the hundred thousand, from several threads that take turns in the interpreter: what a request costs there is
lost to all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from isoviz.backends.disk import BOUNCE, REQUEST, NewFile, ReadFile
from isoviz.backends.host import PAGE, Bytes

if TYPE_CHECKING:
    from isoviz.runtime.protocols import Check

Pair = tuple[int, int]
"""Offset in the file and in memory, bytes."""


def read_runs(file: ReadFile | NewFile, pairs: Iterable[Pair], run: int, memory: Bytes, check: Check) -> int:
    """Read `run` bytes for every pair (offset in the file, offset in memory); returns how many requests that took.

    Raises:
        RunError: the file ends before, or cannot be read; what `check` raises, which is called before every request.
    """
    direct, requests, moved = file.unbuffered, 0, 0
    if direct is None or not PAGE <= run <= REQUEST:
        return sum(file.read_at(at, memory[to : to + run], check) for at, to in pairs)
    address, view, preadv = memory.__array_interface__["data"][0], memory.data, os.preadv
    bounce: memoryview | None = None
    whole, small = run % PAGE == 0, run <= BOUNCE - 2 * PAGE
    for at, to in pairs:
        lead = at % PAGE
        aligned = whole and not lead and not (address + to) % PAGE
        if not aligned and not small:
            requests += file.read_at(at, memory[to : to + run], check)
            continue
        check()
        try:
            if aligned:
                got = preadv(direct, [view[to : to + run]], at)
            else:
                if bounce is None:
                    bounce = file.bounce.data
                got = preadv(direct, [bounce[: -(-(lead + run) // PAGE) * PAGE]], at - lead) - lead
        except OSError:
            got = 0  # said, or done another way, where it is tried again
        if got >= run:
            if bounce is not None and not aligned:
                view[to : to + run] = bounce[lead : lead + run]
            moved += run
            requests += 1
        else:
            requests += file.read_at(at, memory[to : to + run], check)
    return requests + file.count(requests=0, moved=moved, cached=0)


def write_runs(file: NewFile, pairs: Iterable[Pair], run: int, memory: Bytes, check: Check) -> int:
    """Write `run` bytes for every pair (offset in memory, offset in the file); returns how many requests that took.

    Raises:
        RunError: the disk is full, the file would be larger than allowed, or the disk fails; what `check` raises.
    """
    direct, requests, moved = file.unbuffered, 0, 0
    if direct is None or run % PAGE or run > BOUNCE:
        return sum(file.write_at(to, memory[at : at + run], check) for at, to in pairs)
    address, view, pwritev = memory.__array_interface__["data"][0], memory.data, os.pwritev
    bounce: memoryview | None = None
    for at, to in pairs:
        got = 0
        if not to % PAGE:
            check()
            data = view[at : at + run]
            if (address + at) % PAGE:
                if bounce is None:
                    bounce = file.bounce.data
                bounce[:run] = data
                data = bounce[:run]
            try:
                got = pwritev(direct, [data], to)
            except OSError:
                got = 0  # said, or done another way, where it is tried again
        if got == run:
            moved += run
            requests += 1
        else:
            requests += file.write_at(to, memory[at : at + run], check)
    return requests + file.count(requests=0, moved=moved, cached=0)
