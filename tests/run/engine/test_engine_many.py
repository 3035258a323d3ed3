"""The engine with many transfers at once: right bytes, priorities, cancelling, faults, and nothing left behind."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import resource
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_cases import assumed_machine, elements, names_in, no_leaked_files, random_bytes, random_layout, random_spaces
from waiting import ctrl_c_inside, until

from isoviz import Engine, FieldSpace, IndexSpace, Options, Transfer, cost, plan
from isoviz.backends.devices import ThisComputer
from isoviz.backends.emulated import EmulatedMachine
from isoviz.errors import ArrayError, Cancelled, EngineClosed, InputError, LimitError, RunError, TransferError
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Limits, Machine, Memory, MemoryKind
from isoviz.runtime import Event, Progress, first_come_first_served, highest_priority_first
from isoviz.runtime.device_bases import BaseChannel, BaseMemory
from isoviz.runtime.engine.dispatcher import Dispatcher
from isoviz.runtime.engine.interrupts import defer_interrupts, permit_interrupts
from isoviz.runtime.engine.progress import watch
from isoviz.runtime.opening import OPEN
from isoviz.runtime.protocols import Bound
from isoviz.scheduling.pool import Policy

pytestmark = pytest.mark.usefixtures("no_leaked_files", "ctrl_c_interrupts")
__all__ = ["no_leaked_files"]

MACHINE = assumed_machine()
SYS, DSK = "node0.sys", "node0.dsk"
PAIR = FieldSpace(re="f4", im="f4")
Report = Callable[[str, object], None]


class Unreliable(ThisComputer):
    """This computer, whose channels raise now and then."""

    def __init__(self, rng: random.Random, share: float) -> None:
        super().__init__()
        self.rng, self.share = rng, share
        self.raised = 0

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> Any:
        real = super().channel(channel, source, destination)
        assert real is not None
        outer = self

        class Raising(BaseChannel):
            at_once = False

            def move(self, copies: Sequence[Any], source: Any, destination: Any, check: Callable[[], None]) -> int:
                if outer.rng.random() < outer.share:
                    outer.raised += 1
                    raise RunError("now and then it does not work")
                return real.move(copies, source, destination, check)

        return Raising()


def line(hops: int, rate: float = 2e9, capacity: int | None = None) -> Machine:
    """Memories in a row; `capacity` bounds those between the ends."""
    inner = [None, *[capacity] * (hops - 1), None]
    memories = tuple(Memory(f"m{i}", MemoryKind.SYS, capacity=inner[i]) for i in range(hops + 1))
    speed = LatencyBandwidth(20e-6, rate)
    channels = tuple(Channel("", ChannelKind.MEMCPY, f"m{i}", f"m{i + 1}", speed, max_in_flight=2) for i in range(hops))
    return Machine("line", memories, channels, limits=Limits(slot_limit=1 << 16))


def along(machine: Machine, nbytes: int, layout: str = "<F, x>") -> Any:
    last = machine.memories[-1].name
    return plan(Transfer.whole(IndexSpace(x=nbytes // 8), PAIR, "m0", "<F, x>", last, layout), machine, "full")


def several_in_flight(count: int) -> Machine:
    """This computer, whose channels work on so many requests at a time."""
    return replace(MACHINE, channels=tuple(replace(channel, max_in_flight=count) for channel in MACHINE.channels))


def test_random_transfers_at_once(tmp_path: Path, full: bool, report: Report) -> None:
    """Rounds of transfers between arrays and files, half of the rounds with channels that fail now and then: what is done equals
    the source element by element, what failed left no file and says why."""
    rng = random.Random(11)
    done = failed = 0
    for turn in range(60 if full else 8):
        devices = Unreliable(rng, 0.1 if turn % 2 else 0.0)
        machine = several_in_flight(rng.choice((1, 4)))
        with Engine(machine, devices, request_bytes=rng.choice((64, 512, 1 << 20))) as engine:
            jobs = []
            for number in range(12):
                space, fields = random_spaces(rng)
                here, there = random_layout(rng, space), random_layout(rng, space)
                source, destination = rng.choice((SYS, DSK)), rng.choice((SYS, DSK))
                a, b = here.on(space, fields), there.on(space, fields)
                data, out = random_bytes(rng, a.nbytes), np.zeros(b.nbytes, "u1")
                given: Any = data
                taken: Any = out
                if source == DSK:
                    given = tmp_path / f"in{turn}.{number}"
                    given.write_bytes(data.tobytes())
                if destination == DSK:
                    taken = tmp_path / f"out{turn}.{number}"
                moving = Transfer.whole(space, fields, source, here, destination, there)
                try:
                    made = plan(moving, machine, options=Options(slot_limit=max(64, a.nbytes // rng.choice((1, 4)))))
                except TransferError:
                    made = plan(moving, machine)
                jobs.append((engine.submit(made, given, taken, priority=rng.randrange(3)), a, data, b, taken, out))
            for event, a, data, b, taken, out in jobs:
                error = event.error(timeout=250)
                if error is None:
                    done += 1
                    got = np.frombuffer(taken.read_bytes(), "u1") if isinstance(taken, Path) else out
                    assert elements(a, data) == elements(b, got)
                else:
                    failed += 1
                    assert isinstance(error, RunError) and error.hop is not None and "now and then" in str(error)
                    assert not (isinstance(taken, Path) and taken.exists())
    assert failed > 0
    report("real transfers at once, equal element by element", done)
    report("real transfers that an injected fault ended", failed)
    assert not [name for name in names_in(tmp_path) if name.startswith(".")]


def test_copies_of_arrays_and_files(tmp_path: Path) -> None:
    array = np.arange(300 * 200, dtype="f4").reshape(200, 300)
    with Engine(MACHINE) as engine:
        turned = np.zeros((300, 200), "f4")
        engine.copy(array, "<F, x, y>", turned, "<F, y, x>").wait(120)
        assert np.array_equal(turned, array.T)
        engine.copy(array, "<F, x, y>", tmp_path / "a.npy", "<F, y, x>").wait(120)
        assert np.array_equal(np.load(tmp_path / "a.npy"), array.T)
        back = np.zeros_like(array)
        engine.copy(tmp_path / "a.npy", "<F, y, x>", back, "<F, x, y>").wait(120)
        assert np.array_equal(back, array)
        records = np.zeros(1000, PAIR.dtype)
        records["re"], records["im"] = np.arange(1000), -np.arange(1000)
        split = np.zeros((2, 1000), "f4")
        engine.copy(records, "<F, x>", split, "<x, F>").wait(120)
        assert np.array_equal(split[0], records["re"]) and np.array_equal(split[1], records["im"])
        with pytest.raises(TransferError, match="same"):
            engine.copy(records, "<F, x>", records, "<F, x>").wait(120)
        with pytest.raises(InputError, match="array or the path"):
            engine.copy([1, 2, 3], "<F, x>", back, "<F, x>")
        with pytest.raises(TransferError, match="is not dense"):
            engine.copy(array[:, ::2], "<F, x, y>", back, "<F, x, y>")


def test_events(tmp_path: Path) -> None:
    machine, devices = line(2), Watched()
    held = devices.gates[machine.channels[0].name] = threading.Event()
    seen: list[bool] = []
    with Engine(machine, devices) as engine:
        event = engine.submit(along(machine, 4 << 20))
        assert not event.done
        with pytest.raises(TimeoutError):
            event.wait(0.001)
        event.add_done_callback(lambda _: 1 / 0)
        called = threading.Event()
        event.add_done_callback(lambda found: (seen.append(found.done), called.set()))
        held.set()
        event.wait(120)
        assert called.wait(120)
        assert (event.progress, event.error()) == (1.0, None)
        event.add_done_callback(lambda found: seen.append(found.done))
        assert seen == [True, True], "a callback that raises disturbs nobody; one that comes late is called at once"
        event.cancel()
        assert event.error() is None, "what has ended cannot be cancelled"

        async def several() -> None:
            await asyncio.gather(*(_awaited(engine.submit(along(machine, 1 << 20))) for _ in range(3)))

        with ThreadPoolExecutor(1) as elsewhere:  # a browser of other tests may have a loop running in this thread
            elsewhere.submit(asyncio.run, several()).result()
        held.clear()
        stopped = engine.submit(along(machine, 16 << 20))
        stopped.cancel()
        held.set()
        with pytest.raises(Cancelled):
            stopped.wait(120)
    with pytest.raises(EngineClosed):
        engine.submit(along(machine, 1 << 20))
    closed = Engine(MACHINE)
    closed.close()
    with pytest.raises(EngineClosed):
        closed.copy(np.zeros(8), "<F, x>", np.zeros(8), "<F, x>")


async def _awaited(event: Event) -> None:
    await event


@pytest.mark.parametrize("after", [0, 1, 2, 3, 5, 8, 13, 21])
def test_cancelled_after_so_many_requests(after: int) -> None:
    machine = line(3)

    class Counting(EmulatedMachine):
        count = 0
        event: Event | None = None

        def channel(self, channel: Channel, source: Bound, destination: Bound) -> Any:
            real, outer = super().channel(channel, source, destination), self

            class Counted(BaseChannel):
                at_once = False

                def move(self, *args: Any) -> int:
                    outer.count += 1
                    if outer.count == after and outer.event is not None:
                        outer.event.cancel()
                    return real.move(*args)

            return Counted()

    devices = Counting()
    with Engine(machine, devices, request_bytes=1 << 14) as engine:
        other = engine.submit(along(machine, 1 << 20))
        devices.event = engine.submit(along(machine, 4 << 20))
        if not after:
            devices.event.cancel()
        error = devices.event.error(120)
        assert error is None or isinstance(error, Cancelled)
        other.wait(120)
        assert engine.held_bytes == 0


class Recording(ThisComputer):
    """Channels that move what there is at once, and know which thread each request was carried out by."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[tuple[str, str]] = []
        self.before: Callable[[str], None] = lambda name: None

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> Any:
        real, outer = super().channel(channel, source, destination), self
        assert real is not None

        class Recorded(BaseChannel):
            at_once = True

            def move(self, *args: Any) -> int:
                outer.before(channel.name)
                outer.threads.append((channel.name, threading.current_thread().name))
                return real.move(*args)

        return Recorded()


def row(hops: int) -> Machine:
    """`line` with a request at a time, and chunks of a KiB."""
    machine = line(hops)
    channels = tuple(replace(channel, max_in_flight=1) for channel in machine.channels)
    return replace(machine, channels=channels, limits=Limits(slot_limit=1 << 10))


def test_small_requests_stay_in_one_thread() -> None:
    """Handing a KiB to the thread of the next channel costs more than moving it."""
    machine, devices = row(3), Recording()
    source, destination = np.random.default_rng(1).integers(0, 256, 1 << 16, dtype="u1").view("f8"), np.zeros(1 << 13)
    with Engine(machine, devices) as engine:
        engine.submit(along(machine, 1 << 16), source.view([("re", "f4"), ("im", "f4")]), destination.view("f4")).wait(120)
    np.testing.assert_array_equal(source.view("u1"), destination.view("u1"))
    assert len(devices.threads) == 3 * 64
    assert len({thread for _, thread in devices.threads}) == 1


@pytest.mark.parametrize(("nbytes", "threads"), [(1 << 17, 1), (1 << 19, 3)])
def test_one_request_after_the_other_stays_in_one_thread(nbytes: int, threads: int) -> None:
    """Of one chunk nothing can go on at the same time, and a sleeping thread takes longer to wake than some KiB take to move."""
    machine, devices = replace(row(3), limits=Limits(slot_limit=1 << 20, chunk_seconds=1.0)), Recording()
    with Engine(machine, devices) as engine:
        made = along(machine, nbytes)
        assert made.chunk_count == 1 and len(made.hops) == 3
        engine.submit(made).wait(120)
    assert len({thread for _, thread in devices.threads}) == threads


def test_a_waiting_thread_carries_a_single_request_out() -> None:
    """The bytes are in the cache of the processor that has them, and nobody has to be woken up."""
    machine, devices = replace(row(1), limits=Limits(slot_limit=1 << 20, chunk_seconds=1.0)), Recording()
    mine, own = threading.current_thread().name, "isoviz m0->m1 0"
    with Engine(machine, devices) as engine:
        alone = along(machine, 1 << 17)
        split = cost(alone.transfer, machine, "m0,m1", chunk=1 << 16)
        assert (alone.chunk_count, split.chunk_count) == (1, 2)
        told: list[Progress] = []
        assert engine.run(alone, progress=told.append).verified
        engine.submit(alone).wait(120)
        engine.run(split)
        engine.run(alone, pipelined=False)
    assert [thread for _, thread in devices.threads] == [mine, own, own, own, mine]
    assert told[-1].bytes_done == 1 << 17 and [each.stage for each in told][-1] == "verify"


def first_held_up(devices: Recording) -> tuple[threading.Event, threading.Event]:
    """What is set when the first request has come, and what it then waits for."""
    arrived, gate = threading.Event(), threading.Event()

    def before(name: str) -> None:
        if not arrived.is_set():
            arrived.set()
            assert gate.wait(120)

    devices.before = before
    return arrived, gate


def test_a_single_request_waits_for_its_turn() -> None:
    """The channel is somebody else's: then its own thread carries the request out once it is free."""
    machine, devices = replace(row(1), limits=Limits(slot_limit=1 << 20, chunk_seconds=1.0)), Recording()
    arrived, gate = first_held_up(devices)
    with Engine(machine, devices) as engine:
        made, first = along(machine, 1 << 17), engine.submit(along(machine, 1 << 16))
        assert arrived.wait(120)
        waiting = ThreadPoolExecutor(1, "waiting")
        second = waiting.submit(engine.run, made)
        assert until(lambda: len(under_way := list(engine._driver.executions.values())) == 2 and under_way[1].phase == OPEN)
        gate.set()
        assert second.result(120).verified
        first.wait(120)
        waiting.shutdown()
    assert {thread for _, thread in devices.threads} == {"isoviz m0->m1 0"}


def test_who_waits_for_his_own_request_carries_out_no_others() -> None:
    """Transfers that come while the channel is taken go to its own threads, however small they are."""
    machine, devices = replace(row(1), limits=Limits(slot_limit=1 << 20, chunk_seconds=1.0)), Recording()
    made, small = along(machine, 1 << 17), along(machine, 1 << 10)
    others: list[Event] = []

    def before(name: str) -> None:
        if not others:
            others.extend(engine.submit(small) for _ in range(20))

    devices.before = before
    with Engine(machine, devices) as engine:
        engine.run(made)
        for other in others:
            other.wait(120)
    assert devices.threads[0] == ("m0->m1", threading.current_thread().name)
    assert {thread for _, thread in devices.threads[1:]} == {"isoviz m0->m1 0"} and len(devices.threads) == 21


def test_a_single_request_that_fails_or_is_not_wanted_any_more() -> None:
    machine, devices = replace(row(1), limits=Limits(slot_limit=1 << 20, chunk_seconds=1.0)), Recording()
    made = along(machine, 1 << 17)
    cancelled = threading.Event()
    cancelled.set()

    def before(name: str) -> None:
        raise RunError(f"{name} is broken")

    with Engine(machine, devices) as engine:
        with pytest.raises(Cancelled):
            engine.run(made, cancel=cancelled)
        devices.before = before
        with pytest.raises(RunError, match="is broken") as raised:
            engine.run(made)
        assert (raised.value.hop, raised.value.chunk) == (0, 0)
        devices.before = lambda _: None
        assert engine.run(made).verified


def test_a_thread_that_works_for_another_channel_keeps_nobody_waiting() -> None:
    """The scheduler takes the channel for idle, and it is: another transfer goes on while the first one's last hop is held up."""
    machine, devices = replace(row(2), limits=Limits(slot_limit=1 << 20, chunk_seconds=1.0)), Recording()
    first, second = (channel.name for channel in machine.channels)
    arrived, gate = threading.Event(), threading.Event()

    def before(name: str) -> None:
        if name == second:
            arrived.set()
            assert gate.wait(120)

    devices.before = before
    near = Transfer.whole(IndexSpace(x=1 << 14), PAIR, "m0", "<F, x>", "m1", "<F, x>")
    with Engine(machine, devices) as engine:
        far = engine.submit(along(machine, 1 << 17))
        assert arrived.wait(120)
        engine.submit(plan(near, machine, "direct", Options(slot_limit=1 << 20))).wait(120)
        assert not far.done
        gate.set()
        far.wait(120)
    assert [name for name, _ in devices.threads].count(first) == 2
    assert len({thread for name, thread in devices.threads if name == first}) == 2, "one more for the time being"


def test_a_thread_with_another_job_hands_small_requests_over() -> None:
    machine, devices = row(2), Recording()
    arrived, gate = first_held_up(devices)
    urgent = Transfer.whole(IndexSpace(x=1 << 14), PAIR, "m0", "<F, x>", "m1", "<F, x>", priority=1)
    with Engine(machine, devices) as engine:
        one = engine.submit(along(machine, 1 << 12))
        assert arrived.wait(120)
        other = engine.submit(plan(urgent, machine, "direct", Options(slot_limit=1 << 20)))
        gate.set()
        one.wait(120)
        other.wait(120)
    assert devices.threads[:2] == [("m0->m1", "isoviz m0->m1 0")] * 2
    assert ("m1->m2", "isoviz m1->m2 0") in devices.threads


def test_close_ends_what_is_under_way() -> None:
    machine = line(2, rate=1e6)
    engine = Engine(machine, EmulatedMachine())
    with engine:
        events = [engine.submit(along(machine, 8 << 20)) for _ in range(5)]
    assert all(isinstance(event.error(0), Cancelled) for event in events)
    engine.close()


def test_ctrl_c_while_waiting_leaves_the_transfer_alone() -> None:
    machine, devices = line(2), Watched()
    held = devices.gates[machine.channels[0].name] = threading.Event()
    with Engine(machine, devices) as engine:
        event = engine.submit(along(machine, 4 << 20))
        with ctrl_c_inside(Event.wait), pytest.raises(KeyboardInterrupt):
            event.wait(120)
        held.set()
        event.wait(120)
        held.clear()
        devices.requested.clear()
        releasing = threading.Thread(target=lambda: until(lambda: is_stopped(engine)) and held.set())
        releasing.start()
        with ctrl_c_inside(watch), pytest.raises(KeyboardInterrupt):
            engine.run(along(machine, 64 << 20))
        releasing.join()
        assert engine.held_bytes == 0


def is_stopped(engine: Engine) -> bool:
    """Whether a transfer was told to stop."""
    return any(execution.stopped for execution in list(engine._driver.executions.values()))


@pytest.mark.parametrize("policy", [highest_priority_first, first_come_first_served])
def test_urgent_transfers_overtake(policy: Policy) -> None:
    """By priority none of the others goes on before the urgent one has ended, but for what was handed over already; first come
    first served it comes last. All come before the first request ends, and each request is handed over once one has ended."""
    machine, devices = line(1, rate=200e6), Watched()
    held = devices.gates[machine.channels[0].name] = threading.Event()
    at_a_time = machine.channels[0].max_in_flight
    with Engine(machine, devices, request_bytes=1 << 16, record=True, policy=policy) as engine:
        made, ends = along(machine, 1 << 20), [np.ones(1 << 20, np.uint8) for _ in range(8)]
        low = [engine.submit(made, ends[0], end) for end in ends[1:7]]
        urgent = engine.submit(made, ends[0], ends[7], priority=5)
        held.set()
        for event in (*low, urgent):
            event.wait(120)
        trace = engine.trace()
    mine = [each for each in trace.requests if each.transfer == trace.transfers[-1].number]
    others = [each for each in trace.requests if each.transfer != trace.transfers[-1].number]
    first, last = min(each.start for each in mine), max(each.end for each in mine)
    assert len(mine) > at_a_time and len(others) == 6 * len(mine)
    if policy is highest_priority_first:
        assert sum(each.start < last for each in others) <= at_a_time
    else:
        assert sum(each.end > first for each in others) < at_a_time


def test_a_low_transfer_that_holds_what_a_high_one_needs() -> None:
    """The low one is lent the priority and ends first; the middle one, which needs no buffers, has to wait for both."""
    machine = line(2, rate=100e6, capacity=6 << 10)
    with Engine(machine, EmulatedMachine(), request_bytes=1 << 14, record=True) as engine:
        made = along(machine, 2 << 20)
        assert 3 << 10 < made.buffer_bytes <= 6 << 10, "room for one"
        low = engine.submit(made, priority=0)
        assert until(lambda: low.bytes_done)
        high = engine.submit(made, priority=9)
        for event in (low, high):
            event.wait(120)
        spans = engine.trace().transfers
    assert spans[0].ended <= spans[1].ended


def test_thousands_through_a_small_memory(full: bool) -> None:
    machine = line(2, capacity=1 << 20)
    made = along(machine, 1 << 13)
    count = 10_000 if full else 1_000
    source, out = np.ones(1 << 13, np.uint8), np.zeros(1 << 13, np.uint8)
    with Engine(machine, ThisComputerOnly()) as engine:
        events = [engine.submit(made, source, out) for _ in range(count)]
        for event in events:
            event.wait(120)
        assert engine.held_bytes == 0
    assert np.array_equal(source, out)


class ThisComputerOnly(ThisComputer):
    """Every memory is host memory."""

    def memory(self, memory: Memory) -> Any:
        return EmulatedMachine().memory(memory)


def test_buffers_larger_than_the_memory() -> None:
    machine = line(2, capacity=1 << 12)
    with Engine(machine, EmulatedMachine()) as engine, pytest.raises(LimitError):
        engine.submit(along(machine, 1 << 20), pipelined=False)


def test_small_copies_leave_memory_flat(full: bool) -> None:
    a, b = np.arange(512, dtype="f8"), np.zeros(512)
    count = 100_000 if full else 10_000
    with Engine(MACHINE) as engine:
        for _ in range(1000):
            engine.copy(a, "<F, x>", b, "<F, x>").wait()
        gc.collect()
        before = len(gc.get_objects()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(count):
            engine.copy(a, "<F, x>", b, "<F, x>").wait()
        gc.collect()
        after = len(gc.get_objects()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert np.array_equal(a, b)
    assert after[0] < before[0] + 1000 and after[1] < before[1] + 4096, "objects and KiB"


def test_a_full_disk_in_the_middle(tmp_path: Path) -> None:
    """The transfer that hits the limit fails and says so; another one to memory is not disturbed."""
    space = IndexSpace(x=1 << 18)
    to_disk = plan(Transfer.whole(space, PAIR, SYS, "<F, x>", DSK, "<x, F>"), MACHINE, options=Options(slot_limit=1 << 16))
    to_memory = plan(Transfer.whole(space, PAIR, SYS, "<F, x>", SYS, "<x, F>"), MACHINE)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with Engine(MACHINE) as engine:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
            fails = engine.submit(to_disk, np.zeros(space.volume * 8, np.uint8), tmp_path / "out")
            works = engine.submit(to_memory)
            error = fails.error(120)
            works.wait(120)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert isinstance(error, RunError)
    assert names_in(tmp_path) == []


def test_many_threads_use_one_engine() -> None:
    errors: list[BaseException] = []
    with Engine(MACHINE) as engine:

        def work(number: int) -> None:
            try:
                rng = np.random.default_rng(number)
                for _ in range(20):
                    array = rng.random((rng.integers(1, 200), rng.integers(1, 200)))
                    out = np.zeros(array.shape[::-1])
                    engine.copy(array, "<F, x, y>", out, "<F, y, x>", priority=number % 3).wait(120)
                    assert np.array_equal(out, array.T)
            except BaseException as error:  # noqa: BLE001  # reported by the test's own thread
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []


def test_the_trace_of_a_run_has_every_request() -> None:
    machine = line(3)
    made = along(machine, 1 << 20)
    with Engine(machine, EmulatedMachine(), request_bytes=1 << 14) as engine:
        report = engine.run(made)
    assert report.trace is not None and report.verified
    work = report.trace.transfers[0].work
    assert len(report.trace.requests) == made.chunk_count * sum(work.requests)
    assert len({span[:4] for span in report.trace.requests}) == len(report.trace.requests)
    for span in report.trace.requests:
        if span.hop:
            assert span.start >= report.trace.chunk_ends[0, span.hop - 1, span.chunk], "not before the hop before has written it"


class Watched(EmulatedMachine):
    """Counts what is open, lets a test act while a transfer is opened or closed, and holds requests of a channel back."""

    def __init__(self) -> None:
        super().__init__()
        self.open = 0
        self.gates: dict[str, threading.Event] = {}
        self.requested = threading.Event()
        self.opening: Callable[[], object] | None = None
        self.closing: Callable[[], object] | None = None

    def memory(self, memory: Memory) -> Any:
        real, outer = super().memory(memory), self

        class Counted(BaseMemory):
            def _counted(self, store: Any) -> Any:
                outer.open += 1
                close = store.close

                def counted() -> None:
                    outer.open -= 1
                    close()
                    act, outer.closing = outer.closing, None
                    if act is not None:
                        act()

                store.close = counted
                act, outer.opening = outer.opening, None
                if act is not None:
                    act()
                return store

            def slot(self, nbytes: int) -> Any:
                return self._counted(real.slot(nbytes))

            def source(self, *args: Any) -> Any:
                return self._counted(real.source(*args))

            def destination(self, *args: Any) -> Any:
                return self._counted(real.destination(*args))

        return Counted(memory.name)

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> Any:
        real, outer = super().channel(channel, source, destination), self

        class Held(BaseChannel):
            at_once = False

            def move(self, *args: Any) -> int:
                outer.requested.set()
                gate = outer.gates.get(channel.name)
                assert gate is None or gate.wait(120)
                return real.move(*args)

        return Held()


@pytest.mark.parametrize("when", ["opening", "closing"])
def test_cancelled_while_another_thread_opens_it(when: str) -> None:
    """A transfer with buffers but without a request under way is cancelled before all of it is open, or before that began."""
    machine = line(2, capacity=12 << 10)
    made = plan(along(machine, 1 << 18).transfer, machine, "full", Options(memory_limit=6 << 10))
    assert 4 << 10 < made.buffer_bytes <= 6 << 10, "room for two"
    devices = Watched()
    gate = devices.gates[machine.channels[0].name] = threading.Event()
    with Engine(machine, devices) as engine:
        urgent = engine.submit(made, priority=9)
        holds = engine.submit(made)
        waits = engine.submit(made)
        setattr(devices, when, waits.cancel)
        holds.cancel()  # its buffers go to the one that waits, which this thread opens
        assert isinstance(holds.error(120), Cancelled) and isinstance(waits.error(120), Cancelled)
        assert devices.opening is None and devices.closing is None
        gate.set()
        urgent.wait(120)
        assert engine.held_bytes == 0
    assert devices.open == 0


def test_callbacks_may_wait_copy_cancel_and_close() -> None:
    machine = line(2, rate=200e6)
    made = along(machine, 1 << 18)
    found: list[object] = []
    over, devices = threading.Event(), Watched()
    held = devices.gates[machine.channels[0].name] = threading.Event()
    engine = Engine(machine, devices)

    def called(_: Event) -> None:
        found.append(second.error(120))
        a, b = np.ones(16, "f4"), np.zeros(16, "f4")
        engine.submit(along(machine, 64), a, b, priority=1).wait(120)
        found.append(float(b.sum()))
        third.cancel()
        engine.close()
        found.append(type(fourth.error(0)))
        over.set()

    with engine:
        gate = threading.Event()
        first = engine.submit(made)
        first.add_done_callback(lambda _: gate.wait(120))
        first.add_done_callback(called)
        held.set()  # else it may have ended, and this thread makes the calls
        second, third, fourth = engine.submit(made), engine.submit(made), engine.submit(along(machine, 64 << 20))
        gate.set()
        assert over.wait(120)
    assert found == [None, 16.0, Cancelled]
    assert third.done


def test_a_callback_that_exits_ends_no_thread() -> None:
    machine, devices = line(1), Watched()
    gate = devices.gates[machine.channels[0].name] = threading.Event()
    with Engine(machine, devices) as engine:
        event = engine.submit(along(machine, 1 << 20))
        for _ in range(3):
            event.add_done_callback(lambda _: sys.exit(1))
        gate.set()  # else it may have ended, and this thread makes the calls
        engine.submit(along(machine, 1 << 20)).wait(120)
        called = threading.Event()
        last = engine.submit(along(machine, 1 << 20))
        last.add_done_callback(lambda _: called.set())
        assert called.wait(120)


def test_after_close_every_event_is_done() -> None:
    machine = line(2, rate=1e8)
    made = along(machine, 1 << 16)
    for _ in range(20):
        engine = Engine(machine, EmulatedMachine())
        events = [engine.submit(made) for _ in range(5)]
        canceller = threading.Thread(target=lambda events=events: [event.cancel() for event in events])
        canceller.start()
        engine.close()
        assert all(event.done for event in events)
        canceller.join()


def test_ctrl_c_twice() -> None:
    """The second one ends the waiting for a request that hangs; the transfer ends when that does, and leaves nothing."""
    machine = line(2)
    devices = Watched()
    gate = devices.gates[machine.channels[0].name] = threading.Event()
    with Engine(machine, devices) as engine:

        class Impatient:
            """As a token, the first Ctrl-C; `moved.wait` meets the second one."""

            def is_set(self) -> bool:
                # The token is looked at while the transfer is opened as well.
                if threading.current_thread() is threading.main_thread() and devices.requested.is_set():
                    timer.start()
                    raise KeyboardInterrupt
                return False

        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            engine.run(along(machine, 1 << 20), cancel=Impatient())
        timer.join()
        assert devices.open > 0, "a request still uses them"
        gate.set()
    assert devices.open == 0


def test_threads_of_a_channel() -> None:
    """Closed without waiting and used again, over and over: every job is done, no thread is left after `close`."""
    dispatcher = Dispatcher("test", 3)
    done: list[int] = []
    for number in range(200):
        dispatcher.put(lambda number=number: done.append(number))
        dispatcher.put(lambda: 1 / 0)
        dispatcher.close(wait=False)
    dispatcher.close()
    assert sorted(done) == list(range(200))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("isoviz test")]
    many = Dispatcher("many", 1 << 20)
    many.put(lambda: None)
    assert threading.active_count() < 100, "no more threads than jobs"
    many.close()


def test_threads_that_were_lent_come_back() -> None:
    """As many others as there are away meanwhile; afterwards as many as before."""
    dispatcher = Dispatcher("lending", 1)
    gate, away, done = threading.Event(), threading.Semaphore(0), threading.Semaphore(0)

    def lent() -> None:
        with dispatcher.lend():
            away.release()
            assert gate.wait(120)

    for _ in range(5):
        dispatcher.put(lent)
        assert away.acquire(timeout=250)
    gate.set()
    most, now, lock = [0], [0], threading.Lock()

    def counted() -> None:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        done.release()
        with lock:
            now[0] -= 1

    for _ in range(200):
        dispatcher.put(counted)
    for _ in range(200):
        assert done.acquire(timeout=250)
    assert until(lambda: sum(thread.name.startswith("isoviz lending") for thread in threading.enumerate()) == 1)
    dispatcher.put(counted)
    assert done.acquire(timeout=250)
    dispatcher.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("isoviz lending")]


def test_arrays_that_are_more_than_arrays(tmp_path: Path) -> None:
    with Engine(MACHINE) as engine:
        for shape in ((5, 7), (400, 300)):
            here = np.arange(np.prod(shape), dtype="f8").reshape(shape).view(np.matrix)
            there = np.zeros(shape[::-1]).view(np.matrix)
            engine.copy(here, "<F, x, y>", there, "<F, y, x>").wait(120)
            assert np.array_equal(there, here.T)
            masked = np.ma.array(np.zeros(shape), mask=np.ones(shape), hard_mask=True)
            with pytest.raises(ArrayError, match="has a mask"):
                engine.copy(here, "<F, x, y>", masked, "<F, x, y>")
            assert not masked.data.any()
        mapped = np.memmap(tmp_path / "mapped", "f8", "w+", shape=(5, 7))
        engine.copy(np.ones((5, 7)), "<F, x, y>", mapped, "<F, x, y>").wait(120)
        assert mapped.sum() == 35
        fortran = np.zeros((5, 7), order="F")
        engine.copy(np.arange(35.0).reshape(5, 7), "<F, x, y>", fortran, "<F, y, x>").wait(120)
        assert np.array_equal(fortran, np.arange(35.0).reshape(5, 7))


def test_plans_of_files_are_not_kept(tmp_path: Path) -> None:
    array = np.arange(64.0)
    with Engine(MACHINE) as engine:
        for number in range(5):
            engine.copy(array, "<F, x>", tmp_path / f"{number}.npy", "<F, x>").wait(120)
            engine.copy(array, "<F, x>", np.zeros(64), "<F, x>").wait(120)
        assert len(engine._copies) == 1


@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize("pipelined", [True, False])
def test_requests_of_single_bytes(overlap: bool, pipelined: bool) -> None:
    machine = replace(line(3), limits=Limits(slot_limit=64, overlap=overlap))
    made = along(machine, 256, "<x, F>")
    source, out = np.arange(256, dtype=np.uint8), np.zeros(256, np.uint8)
    with Engine(machine, EmulatedMachine(), request_bytes=1) as engine:
        engine.submit(made, source, out, pipelined=pipelined).wait(120)
        assert engine.run(made, source, np.zeros(256, np.uint8), pipelined=pipelined).verified
    there = made.transfer.destination.linearization
    assert elements(made.transfer.source.linearization, source) == elements(there, out)


def test_awaited_in_two_loops() -> None:
    machine = line(1, rate=50e6)
    found: list[object] = []
    with Engine(machine, EmulatedMachine()) as engine:
        event = engine.submit(along(machine, 2 << 20))
        gone = engine.submit(along(machine, 64 << 20))

        async def both() -> None:
            await event
            gone.cancel()
            with pytest.raises(Cancelled):
                await gone
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(_awaited(engine.submit(along(machine, 2 << 20))), 0.001)
            found.append(event.error())

        threads = [threading.Thread(target=lambda: asyncio.run(both())) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [None, None]


# Python prints and forgets an interrupt that comes within a callback of its own weak references.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_anywhere_in_a_run(full: bool) -> None:
    """Wherever it comes, the run stops or has ended, and the engine closes with nothing left."""
    machine = line(2)
    made = along(machine, 1 << 16)
    rng = random.Random(3)
    interrupted = 0
    for _ in range(500 if full else 60):
        devices = Watched()
        engine = Engine(machine, devices, request_bytes=1 << 13)
        timer = threading.Timer(rng.random() * 0.006, os.kill, (os.getpid(), signal.SIGINT))
        try:
            timer.start()
            engine.run(made)
            timer.join()
        except KeyboardInterrupt:
            interrupted += 1
        timer.join()
        engine.close()
        assert engine.held_bytes == 0
    assert interrupted


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_held_back_and_comes_after_all(number: signal.Signals, request: pytest.FixtureRequest) -> None:
    reached: list[str] = []

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(number, stop)
    request.addfinalizer(lambda: signal.signal(number, before))

    @defer_interrupts()
    def interrupted(where: str) -> None:
        signal.raise_signal(number)
        reached.append(where)

    @defer_interrupts()
    def outer(*, inside: bool) -> None:
        interrupted("within")
        with permit_interrupts(inside):
            reached.append("not allowed")

    with pytest.raises(KeyboardInterrupt):
        interrupted("held")
    with pytest.raises(KeyboardInterrupt):
        outer(inside=True)
    with pytest.raises(KeyboardInterrupt):
        outer(inside=False)
    with defer_interrupts(), permit_interrupts():
        with pytest.raises(KeyboardInterrupt):
            interrupted("in what is allowed")
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert reached == ["held", "within", "within", "not allowed", "in what is allowed"]
    assert signal.getsignal(number) is stop
    thread = threading.Thread(target=defer_interrupts()(lambda: reached.append("elsewhere")))
    thread.start()
    thread.join()
    assert reached[-1] == "elsewhere"
