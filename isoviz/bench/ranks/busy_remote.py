"""One-sided calls of 8 B while the remote rank is idle, computes in NumPy or computes in Python; and calls that overlap with
work.

For MPI's ways the work is done in the thread that calls MPI, as in a program that calls MPI itself: nothing else makes MPI go on
there. For those of isoviz the thread of the caller works. A way that waits for the remote is timed once for each piece of work,
which lasts `WORK` seconds.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import isoviz.rma
from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.mpi.stores import RemoteStore
from isoviz.bench.aims import row
from isoviz.bench.ranks.one_sided import ALLOCATED, CREATED, MESSAGES, SPELLS, Statement, Target, two_ranks
from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from isoviz.bench.ranks.bench import Order
    from isoviz.machines import Machine

WORK, QUICK_WORK = 0.3, 0.01
"""Seconds of a piece of work, at most."""
MOST = 2000
"""Samples of a piece of work at most."""
PUTS, TIMES = 50, 3
"""Aims. A get by a helper takes at most the time of PUTS puts. A busy remote makes it at most TIMES times as long."""
OVERLAPPED = 16 << 20
"""Bytes of a transfer beside work."""
HELPER = "Assisted, by the remote's helper"
_TO = 1
_STARTED, _OVER = range(2)


class _Kind(NamedTuple):
    """Whether a way calls MPI itself, and whether it waits for the remote."""

    raw: bool = False
    waits: bool = False


def busy_remote_on_rank(machine: Machine, order: Order) -> list[dict[str, Any]]:  # noqa: ARG001  # all parts are called alike
    """Rows for each way and each kind of work of the remote, and for transfers beside work where a core is free."""
    with two_ranks(1 << 12) as target, isoviz.rma.malloc(8, "f8") as heap, isoviz.rma.malloc(2, "i8") as control:
        found, calls = _Phases(target, control, order), _calls(target, heap)
        times = {(name, work): found.samples(kind, calls.get(name), work) for name, kind in _KINDS.items() for work in WORKS}
        put = _put_of_a_value(target, heap) if target.is_origin else 0.0
    return [*(_rows(times, put) if target.is_origin else ()), *_overlaps(target, order)]


def _put_of_a_value(target: Target, heap: isoviz.rma.Heap) -> float:
    """The seconds of a put of a value."""
    put = Statement("put(1.0, to=1, at=0)", {"put": heap.put})
    return statistics.median(target.seconds(put, 1000) for _ in range(SPELLS))


def _rows(times: dict[tuple[str, str], list[float]], put: float) -> list[dict[str, Any]]:
    rows = []
    for (name, work), seconds in times.items():
        high, highest = np.quantile(seconds, (0.9, 0.99))
        said = f"90 % {format_seconds(high)}, 99 % {format_seconds(highest)} of {len(seconds)}"
        rows.append(row("busy remote", f"{name}, remote {work}", statistics.median(seconds), said))
    idle, _, python = (statistics.median(times[HELPER, work]) for work in WORKS)
    what = f"{HELPER}, remote"
    rows.append(row("busy remote", f"{what} idle", idle, f"{PUTS} × a put of a value", PUTS * put, 1.0))
    rows.append(row("busy remote", f"{what} busy in Python", python, f"{TIMES} × idle", TIMES * idle, 1.0))
    return rows


_MAPPED_PUT, _MAPPED_GET, _SERVER = "put into mapped memory", "get from mapped memory", "messages to the server"
_KINDS = {
    **dict.fromkeys((_MAPPED_PUT, _MAPPED_GET, HELPER, _SERVER), _Kind()),
    f"put, {ALLOCATED}": _Kind(raw=True),
    f"put, {CREATED}": _Kind(raw=True, waits=True),
    f"get, {MESSAGES}": _Kind(raw=True, waits=True),
}
"""The ways by their words."""


def _calls(target: Target, heap: isoviz.rma.Heap) -> dict[str, Callable[[], object]]:
    """What rank 0 calls for each way; nothing at rank 1. Both ranks ask together."""
    world = target.world
    one, nothing = np.ones(1), [np.empty(0, np.uint8), target.mpi.BYTE]
    handle = world.stores.export(HostStore(heap.local.view(np.uint8)))
    there, at = world.meeting.gather((handle, heap.local.ctypes.data))[_TO]
    answer = target.answer(nothing, [target.memories[MESSAGES][:8].view("f8"), target.mpi.DOUBLE])
    if not target.is_origin:
        return {}
    place, client = heap.place(to=_TO, at=0), world.helpers.client(_TO)
    process, address = client.place_of(one.ctypes.data, one.nbytes)

    def moved(window: Any) -> None:
        window.Put(one, _TO)
        window.Flush(_TO)

    def by_message() -> None:
        target.ask(answer)
        target.comm.Send(nothing, _TO)
        target.comm.Recv(one, _TO)

    return {
        _MAPPED_PUT: partial(place.put, 1.0),
        _MAPPED_GET: place.get,
        HELPER: lambda: client.copy(at, address, 8, destination_process=process, kept=one).wait(),
        _SERVER: partial(RemoteStore(there, world.exchange).read, 0, 8),
        f"put, {ALLOCATED}": partial(moved, target.windows[ALLOCATED]),
        f"put, {CREATED}": partial(moved, target.windows[CREATED]),
        f"get, {MESSAGES}": by_message,
    }


class _Phases:
    """Pieces of work at rank 1, during which rank 0 takes samples. `control` has a word for its start and one for its end."""

    def __init__(self, target: Target, control: isoviz.rma.Heap, order: Order) -> None:
        self.target, self._control = target, control
        self._seconds, self._repeat = QUICK_WORK if order.quick else WORK, order.repeat
        self._turn = 0

    def samples(self, kind: _Kind, call: Callable[[], object] | None, work: str) -> list[float]:
        """The seconds of single calls at rank 0 while rank 1, which has none, works. Both ranks call it together."""
        once = kind.waits and work != "idle"
        found: list[float] = []
        for _ in range(self._repeat if once else 1):
            self._turn += 1
            self._control.barrier()
            if call is None:
                self._worked(kind, work)
            else:
                found += self._taken(kind, call, 1 if once else MOST)
        return found

    def _taken(self, kind: _Kind, call: Callable[[], object], most: int) -> list[float]:
        control = self._control
        found: list[float] = []
        while control.get(of=_TO, at=_STARTED) != self._turn:
            time.sleep(0)

        def taken() -> None:
            end = time.perf_counter() + self._seconds
            while len(found) < most and time.perf_counter() < end:
                began = time.perf_counter()
                call()
                found.append(time.perf_counter() - began)

        if kind.raw:
            self.target.world.thread.call(taken)
        else:
            taken()
        control.put(self._turn, to=_TO, at=_OVER)
        if kind.raw:
            self.target.stop()
        return found

    def _worked(self, kind: _Kind, work: str) -> None:
        turn = self._turn
        words = memoryview(self._control.local)  # type: ignore[arg-type]  # an array has a buffer

        def worked() -> None:
            words[_STARTED] = turn
            end = time.perf_counter() + self._seconds
            step = WORKS[work]()
            while words[_OVER] != turn and time.perf_counter() < end:
                step()

        if not kind.raw:
            worked()
            return
        if work == "idle":  # it is in a call of MPI
            words[_STARTED] = turn
        else:
            self.target.world.thread.call(worked)
        self.target.serve()


def _asleep() -> Callable[[], object]:
    return partial(threading.Event().wait, 1e-3)


def _numpy() -> Callable[[], object]:
    values, room = np.linspace(1, 2, 1 << 15), np.empty(1 << 15)
    return partial(np.sqrt, values, out=room)


def _python() -> Callable[[], object]:
    def step() -> int:
        found = 0
        for number in range(1000):
            found += number
        return found

    return step


WORKS: dict[str, Callable[[], Callable[[], object]]] = {"idle": _asleep, "busy in NumPy": _numpy, "busy in Python": _python}
"""What the remote does, by its words."""


def _overlaps(target: Target, order: Order) -> list[dict[str, Any]]:
    """A put and a get that were begun, beside work of rank 0, while rank 1 sleeps. Nothing where no core is free."""
    if len(os.sched_getaffinity(0)) < 2:
        return []
    nbytes = order.nbytes if order.quick else OVERLAPPED
    with isoviz.rma.malloc(nbytes // 8, "f8") as heap:
        rows = list(_beside_work(heap, order.repeat, nbytes)) if target.is_origin else []
        heap.barrier()
    return rows


def _beside_work(heap: isoviz.rma.Heap, repeat: int, nbytes: int) -> Iterator[dict[str, Any]]:
    array = np.ones(heap.shape)
    begun: dict[str, Callable[[], Any]] = {
        "put": partial(heap.put, array, to=_TO, wait=False),
        "get": partial(heap.get, of=_TO, into=array, wait=False),
    }
    for kind, begin in begun.items():
        for work in ("busy in NumPy", "busy in Python"):
            times = _together(begin, WORKS[work](), repeat)
            moved, busy, both = (format_seconds(statistics.median(each)) for each in zip(*times, strict=True))
            hidden = statistics.median((a + b - c) / min(a, b) for a, b, c in times)
            what = f"share hidden, {kind} of {format_bytes(nbytes)}, wait=False, caller {work}"
            yield row("busy remote", what, hidden, f"{moved} and {busy} alone, {both} together", unit="share")


def _together(begin: Callable[[], Any], step: Callable[[], object], repeat: int) -> list[tuple[float, float, float]]:
    """The seconds of a transfer, of work that takes about as long, and of both at the same time, in each round."""

    def moved() -> None:
        begin().wait()

    moved()
    turns = max(1, round(statistics.median(_timed(moved) for _ in range(repeat)) / min(_timed(step) for _ in range(9))))

    def worked() -> None:
        for _ in range(turns):
            step()

    def both() -> None:
        handle = begin()
        worked()
        handle.wait()

    return [(_timed(moved), _timed(worked), _timed(both)) for _ in range(repeat)]


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
