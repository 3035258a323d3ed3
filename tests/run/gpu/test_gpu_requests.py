"""Requests of a GPU channel: many are queued ahead, an urgent transfer overtakes them, and each costs little Python."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_arrays import CurrentArray, FakeArray, StreamlessArray
from fake_driver import FakeDriver
from gpu_cases import engine, machine
from test_gpu_streams import Caller

from benchmarks import gpu_requests
from benchmarks.timed_gpu import TimedDriver
from isoviz import FieldSpace, IndexSpace, Transfer, cost, plan
from isoviz.backends.cuda import staging
from isoviz.backends.host.copying import copy_all
from isoviz.errors import Cancelled, DeviceError, DeviceMemoryError, IsovizError
from isoviz.machines import Channel, ChannelKind, Constant, Machine, Memory, MemoryKind
from isoviz.planner import Plan
from isoviz.runtime import Event

AHEAD, COUNT, ASKED = 8, 32, 256
"""Requests that are queued ahead, requests of a transfer, and the length in bytes that is asked for."""
LENGTH = 16 * ASKED
"""Bytes of a request. Copies are cut at multiples of it (`isoviz.runtime.engine.execution.UNIT`)."""
FBM, ZCM = Memory("node0.fbm0", MemoryKind.FBM), Memory("node0.zcm", MemoryKind.ZCM)
MACHINE = Machine("a GPU", (FBM, ZCM), (Channel("", ChannelKind.GPU_WRITE, ZCM.name, FBM.name, Constant(1e9)),))


GPUS = machine()


def planned(requests: int) -> Plan:
    transfer = Transfer.whole(IndexSpace(x=requests * LENGTH), FieldSpace(a="u1"), ZCM.name, "<F, x>", FBM.name, "<F, x>")
    return cost(transfer, MACHINE, [ZCM.name, FBM.name])


class Held:
    """A driver that carries out nothing until `go`, but what `run` carries out."""

    def __init__(self) -> None:
        self.driver = FakeDriver(7)
        self._go = threading.Event()
        self.driver.hold = lambda: not self._go.is_set()

    def go(self) -> None:
        self._go.set()

    def queued(self, stream: int) -> int:
        """The number of requests that wait on a stream."""
        with self.driver._lock:
            return sum(work.what == "copy" for work in self.driver.streams[stream][1])

    def run(self, stream: int) -> None:
        """Carry out the first request of a stream."""
        with self.driver._lock:
            while self.driver.streams[stream][1][0].what != "event":
                self.driver._run(stream)
            self.driver._run(stream)

    def used(self) -> list[int]:
        """The streams on which requests wait, in the order in which they were made."""
        with self.driver._lock:
            return [stream for stream in self.driver.streams if self.queued(stream)]


def until(condition: Callable[[], bool], what: str) -> None:
    ends = time.monotonic() + 250
    while not condition():
        assert time.monotonic() < ends, what
        threading.Event().wait(0.005)


@contextmanager
def long_transfer(held: Held, folder: Path) -> Iterator[tuple[Any, Event, FakeArray]]:
    """An engine whose only transfer has queued as many requests as it may."""
    data = np.random.default_rng(3).integers(256, size=COUNT * LENGTH, dtype="u1")
    target = FakeArray(held.driver, np.zeros_like(data))
    with engine(held.driver, MACHINE, folder, request_bytes=ASKED) as running:
        try:
            event = running.submit(planned(COUNT), data_in_pinned_memory(held.driver, data), target)
            until(lambda: held.driver.calls["record"] >= AHEAD, "the requests are not queued")
            yield running, event, target
        finally:
            held.go()
    if event.error() is None:
        assert np.array_equal(target.data, data)
    target.drop()


def data_in_pinned_memory(driver: FakeDriver, data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy of some bytes that the driver takes for pinned memory of the caller."""
    array = data.copy()
    driver.locked[array.ctypes.data] = array
    return array


def test_eight_requests_of_a_lone_transfer_are_queued_ahead(tmp_path: Path) -> None:
    held = Held()
    with long_transfer(held, tmp_path) as (_, event, _):
        (stream,) = held.used()
        for done in range(3):
            assert held.queued(stream) == AHEAD
            held.run(stream)
            until(lambda: held.queued(stream) == AHEAD, f"no request follows number {done}, which ended")
        held.go()
        event.wait(250)


def test_an_urgent_transfer_waits_for_one_request(tmp_path: Path) -> None:
    """It is queued when one request has ended. Those that are queued already are on another stream."""
    held = Held()
    data = np.arange(LENGTH // 2, dtype="u2").view("u1")
    target = FakeArray(held.driver, np.zeros_like(data))
    with long_transfer(held, tmp_path) as (running, event, _):
        (stream,) = held.used()
        urgent = running.submit(planned(1), data_in_pinned_memory(held.driver, data), target, priority=1)
        held.run(stream)
        until(lambda: len(held.used()) == 2, "the urgent transfer is not queued")
        assert held.queued(stream) == AHEAD - 1
        held.run(next(other for other in held.used() if other != stream))
        urgent.wait(250)
        assert np.array_equal(target.data, data) and not event.done and held.queued(stream) >= AHEAD - 1
    target.drop()


def test_a_cancel_waits_for_all_requests_that_are_queued(tmp_path: Path) -> None:
    held = Held()
    with long_transfer(held, tmp_path) as (running, event, _):
        (stream,) = held.used()
        event.cancel()
        for left in range(AHEAD, 0, -1):
            assert not event.done and held.queued(stream) == left
            held.run(stream)
        assert isinstance(event.error(250), Cancelled)
        assert held.driver.calls["copy"] == AHEAD and running.held_bytes == 0


@pytest.mark.parametrize("call", ["copy", "record"])
def test_an_error_waits_for_all_requests_that_are_queued(call: str, tmp_path: Path) -> None:
    """The driver of the tests notes memory that is freed while queued work uses it."""
    held = Held()
    held.driver.fail = lambda name, number: DeviceError("planted") if (name, number) == (call, 5) else None
    with engine(held.driver, MACHINE, tmp_path, request_bytes=ASKED) as running:
        event = running.submit(planned(COUNT))
        held.go()
        with pytest.raises(DeviceError, match="planted"):
            event.wait(250)
        assert running.held_bytes == 0
        assert running.run(planned(COUNT)).verified


# ---- prepared transfers


def test_a_prepared_transfer_is_queued_by_the_thread_that_starts_it(tmp_path: Path) -> None:
    """As often as it is started, it moves what the source holds then, and other transfers go on beside it."""
    rng, driver = np.random.default_rng(4), FakeDriver(5)
    source = data_in_pinned_memory(driver, np.zeros(4 * LENGTH, np.uint8))
    target, other = (FakeArray(driver, np.zeros_like(source)) for _ in range(2))
    with (
        engine(driver, MACHINE, tmp_path, request_bytes=ASKED) as running,
        running.prepare(planned(4), source, target) as prepared,
    ):
        for _ in range(5):
            source[:] = rng.integers(256, size=len(source), dtype="u1")
            before = driver.calls["copy"]
            event = prepared.start()
            assert driver.calls["copy"] > before, "no other thread queues it"
            other_event = running.submit(planned(4), source, other)
            event.wait(250)
            assert np.array_equal(target.data, source) and event.bytes_done == len(source)
            other_event.wait(250)
            assert np.array_equal(other.data, source)
    target.drop()
    other.drop()


@pytest.mark.parametrize("kind", [CurrentArray, StreamlessArray])
def test_a_prepared_transfer_follows_the_latest_work_of_the_caller(kind: type[FakeArray], tmp_path: Path) -> None:
    driver = FakeDriver(5)
    caller, source = Caller(driver), data_in_pinned_memory(driver, np.arange(LENGTH, dtype="u2").view("u1"))
    target, begin = caller.array(np.full_like(source, 7), "fbm0", kind)
    with (
        engine(driver, MACHINE, tmp_path, request_bytes=ASKED) as running,
        running.prepare(planned(2), source, target) as prepared,
    ):
        for _ in range(3):
            begin()
            before = driver.calls["copy"]
            event = prepared.start()
            assert driver.calls["copy"] > before
            event.wait(250)
            assert np.array_equal(target.data, source)
        target._pointer += 1
        target.__dict__["__cuda_array_interface__"]["data"] = (target._pointer, False)
        with pytest.raises(IsovizError, match="is not where it was"):
            prepared.start().wait(250)
        caller.end()


@pytest.mark.parametrize("end", ["closed", "engine closed", "record", "is_over", "copy"])
def test_a_prepared_transfer_ends_before_its_memory_is_freed(end: str, tmp_path: Path) -> None:
    """The driver of the tests notes memory that is freed while queued work uses it."""
    held = Held()
    driver = held.driver
    with engine(driver, MACHINE, tmp_path, request_bytes=ASKED) as running:
        prepared = running.prepare(planned(4))
        before = driver.calls[end]
        driver.fail = lambda name, number: DeviceError("planted") if (name, number) == (end, before + 1) else None
        event = prepared.start()
        if end == "closed":
            prepared.close()
        if not end.endswith("closed"):
            held.go()
            assert isinstance(event.error(250), DeviceError)
            prepared.start().wait(250)
        else:
            assert not event.done
            threading.Thread(target=held.go).start()
    assert event.done
    prepared.close()


def test_a_prepared_transfer_ends_where_the_system_allows_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is queued any more when its event is done: the caller may free the memory."""
    driver = FakeDriver(7)
    source = data_in_pinned_memory(driver, np.arange(4 * LENGTH, dtype="u2").view("u1")[: 4 * LENGTH])
    target = FakeArray(driver, np.zeros_like(source))
    with (
        engine(driver, MACHINE, tmp_path, request_bytes=ASKED) as running,
        running.prepare(planned(4), source, target) as prepared,
    ):
        driver.slow = True

        def refuse(_: object) -> None:
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            event = prepared.start()
            assert event.done and not driver.in_flight
        assert event.error(0) is None and np.array_equal(target.data, source)
        target.data[:] = 0
        prepared.start().wait(250)
        assert np.array_equal(target.data, source)
    target.drop()


def copied(nbytes: int, *ends: str) -> Plan:
    here, there = (f"node0.{end}" for end in ends)
    return plan(Transfer.whole(IndexSpace(x=nbytes), FieldSpace(a="u1"), here, "<F, x>", there, "<F, x>"), GPUS, "direct")


def test_pieces_are_packed_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread packs a piece of its own: to divide one among threads takes longer than to pack it."""
    meet, turns = threading.Barrier(2, timeout=250), iter(range(1000))

    def met(*args: Any, **options: Any) -> None:
        if next(turns) < 4:
            meet.wait()
        copy_all(*args, **options)

    for name, value in (("THREADS", 2), ("PIECE", 1 << 14), ("copy_all", met)):
        monkeypatch.setattr(staging, name, value)
    driver = FakeDriver(3)
    data = np.random.default_rng(2).integers(256, size=1 << 16, dtype="u1")
    target, back = FakeArray(driver, np.zeros_like(data)), np.zeros_like(data)
    with engine(driver, GPUS, tmp_path) as running:
        running.run(copied(data.size, "sys", "fbm0"), data, target)
        assert next(turns) >= 4
        assert np.array_equal(target.data, data)
        running.run(copied(data.size, "fbm0", "sys"), target, back)
        assert np.array_equal(back, data)
    target.drop()


def test_a_thread_without_room_for_a_buffer_waits_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other threads have two buffers each, and give one back when the GPU has used it."""
    for name, value in (("THREADS", 3), ("PIECE", 1 << 12)):
        monkeypatch.setattr(staging, name, value)
    held = Held()
    allocate = held.driver.allocate_pinned
    given: list[Any] = []

    def limited(nbytes: int) -> Any:
        if threading.current_thread().name.endswith("staging 2"):
            until(lambda: len(given) == 4, "the other threads have no buffers")  # without any, there is no room for a single one
            raise DeviceMemoryError("no room")
        given.append(allocate(nbytes))
        return given[-1]

    monkeypatch.setattr(held.driver, "allocate_pinned", limited)
    data = np.random.default_rng(4).integers(256, size=20 << 12, dtype="u1")
    target = FakeArray(held.driver, np.zeros_like(data))
    with engine(held.driver, GPUS, tmp_path) as running:
        event = running.submit(copied(data.size, "sys", "fbm0"), data, target)
        channel: Any = running._driver.real.channel("node0.sys->node0.fbm0")
        until(lambda: channel._up._starving == 1 and channel._up._buffers == 4, "the third thread does not wait")
        held.go()
        event.wait(120)
        assert np.array_equal(target.data, data)
    target.drop()


# ---- Python per request


def calls(nbytes: int) -> tuple[int, int]:
    """The requests of a transfer to the GPU, and the calls of all threads for it, but those of the driver."""
    driver, made = TimedDriver(link=1e15), gpu_requests.machine()
    case = gpu_requests.Case("", nbytes, ZCM.name, FBM.name)
    chosen = gpu_requests.planned(case, made)
    ends = gpu_requests.end(driver, ZCM.name, nbytes), gpu_requests.end(driver, FBM.name, nbytes)
    count_of_calls = 0

    def count(frame: Any, event: str, _: object) -> None:
        nonlocal count_of_calls
        if event in ("call", "c_call") and not frame.f_code.co_filename.endswith(("timed_gpu.py", "test_gpu_requests.py")):
            count_of_calls += 1

    with gpu_requests.engine(driver, made) as running:
        requests = sum(hop.requests for hop in running.run(chosen, *ends, verify=False).hops)
    with gpu_requests.engine(driver, made) as running:  # its threads are new: they are counted
        threading.setprofile(count)
        sys.setprofile(count)
        try:
            running.submit(chosen, *ends).wait(250)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]  # the type lacks None
    return requests, count_of_calls


def test_a_request_costs_little_python(report: Callable[[str, object], None]) -> None:
    """A request costs as few calls as some tens of copies in NumPy, and there are few requests: one for half a millisecond."""
    (few, less), (many, more) = calls(1 << 30), calls(3 << 30)
    assert few <= (1 << 30) / (gpu_requests.LINK * 0.25e-3) and many > 2 * few
    each = (more - less) / (many - few)
    report("Python calls per request of a GPU", round(each))
    assert each <= 180
