"""The engine with many transfers at once: right bytes, priorities, cancelling, faults, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import random
import resource
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_cases import assumed_machine, elements, names_in, no_leaked_files, random_bytes, random_layout, random_spaces

from isoviz import Engine, FieldSpace, IndexSpace, Options, Transfer, plan
from isoviz.backends.devices import ThisComputer
from isoviz.backends.emulated import EmulatedMachine
from isoviz.errors import Cancelled, EngineClosed, LimitError, RunError, TransferError
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Limits, Machine, Memory, MemoryKind
from isoviz.runtime import Event, first_come_first_served

pytestmark = pytest.mark.usefixtures("no_leaked_files")
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

    def channel(self, channel: Channel) -> Any:
        real = super().channel(channel)
        assert real is not None
        outer = self

        class Raising:
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


def test_random_transfers_at_once(tmp_path: Path, full: bool, report: Report) -> None:
    """Rounds of transfers between arrays and files, half of the rounds with channels that fail now and then: what is done equals
    the source element by element, what failed left no file and says why."""
    rng = random.Random(11)
    done = failed = 0
    for turn in range(50 if full else 8):
        devices = Unreliable(rng, 0.1 if turn % 2 else 0.0)
        with Engine(MACHINE, devices, request_bytes=rng.choice((64, 512, 1 << 20))) as engine:
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
                    made = plan(moving, MACHINE, options=Options(slot_limit=max(64, a.nbytes // rng.choice((1, 4)))))
                except TransferError:
                    made = plan(moving, MACHINE)
                jobs.append((engine.submit(made, given, taken, priority=rng.randrange(3)), a, data, b, taken, out))
            for event, a, data, b, taken, out in jobs:
                error = event.error(timeout=60)
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
        engine.copy(array, "<F, x, y>", turned, "<F, y, x>").wait(30)
        assert np.array_equal(turned, array.T)
        engine.copy(array, "<F, x, y>", tmp_path / "a.npy", "<F, y, x>").wait(30)
        assert np.array_equal(np.load(tmp_path / "a.npy"), array.T)
        back = np.zeros_like(array)
        engine.copy(tmp_path / "a.npy", "<F, y, x>", back, "<F, x, y>").wait(30)
        assert np.array_equal(back, array)
        records = np.zeros(1000, PAIR.dtype)
        records["re"], records["im"] = np.arange(1000), -np.arange(1000)
        split = np.zeros((2, 1000), "f4")
        engine.copy(records, "<F, x>", split, "<x, F>").wait(30)
        assert np.array_equal(split[0], records["re"]) and np.array_equal(split[1], records["im"])
        with pytest.raises(TransferError, match="same"):
            engine.copy(records, "<F, x>", records, "<F, x>").wait(30)
        with pytest.raises(TransferError, match="array or the path"):
            engine.copy([1, 2, 3], "<F, x>", back, "<F, x>")
        with pytest.raises(TransferError, match="not contiguous"):
            engine.copy(array[:, ::2], "<F, x, y>", back, "<F, x, y>")


def test_events(tmp_path: Path) -> None:
    machine = line(2, rate=50e6)
    seen: list[bool] = []
    with Engine(machine, EmulatedMachine()) as engine:
        event = engine.submit(along(machine, 4 << 20))
        assert not event.done
        with pytest.raises(TimeoutError):
            event.wait(0.001)
        event.add_done_callback(lambda _: 1 / 0)
        called = threading.Event()
        event.add_done_callback(lambda found: (seen.append(found.done), called.set()))
        event.wait(30)
        assert called.wait(30)
        assert (event.progress, event.error()) == (1.0, None)
        event.add_done_callback(lambda found: seen.append(found.done))
        assert seen == [True, True], "a callback that raises disturbs nobody; one that comes late is called at once"
        event.cancel()
        assert event.error() is None, "what has ended cannot be cancelled"

        async def several() -> None:
            await asyncio.gather(*(_awaited(engine.submit(along(machine, 1 << 20))) for _ in range(3)))

        asyncio.run(several())
        stopped = engine.submit(along(machine, 16 << 20))
        stopped.cancel()
        with pytest.raises(Cancelled):
            stopped.wait(30)
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

        def channel(self, channel: Channel) -> Any:
            real, outer = super().channel(channel), self

            class Counted:
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
        error = devices.event.error(30)
        assert error is None or isinstance(error, Cancelled)
        other.wait(30)
        assert engine.held_bytes == 0


def test_close_ends_what_is_under_way() -> None:
    machine = line(2, rate=1e6)
    engine = Engine(machine, EmulatedMachine())
    with engine:
        events = [engine.submit(along(machine, 8 << 20)) for _ in range(5)]
    assert all(isinstance(event.error(0), Cancelled) for event in events)
    engine.close()


def test_ctrl_c_while_waiting_leaves_the_transfer_alone() -> None:
    machine = line(2, rate=20e6)
    with Engine(machine, EmulatedMachine()) as engine:
        event = engine.submit(along(machine, 4 << 20))
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            event.wait(30)
        timer.join()
        event.wait(30)
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            engine.run(along(machine, 64 << 20))
        timer.join()
        assert engine.held_bytes == 0


def test_urgent_transfers_overtake() -> None:
    """By priority the urgent one ends before any of the others that came before it; first come first served it ends last."""
    machine = line(1, rate=200e6)
    for policy, first in ((None, True), (first_come_first_served, False)):
        options = {} if policy is None else {"policy": policy}
        with Engine(machine, EmulatedMachine(), request_bytes=1 << 16, record=True, **options) as engine:
            made, ends = along(machine, 4 << 20), [np.ones(4 << 20, np.uint8) for _ in range(8)]
            low = [engine.submit(made, ends[0], end) for end in ends[1:7]]
            urgent = engine.submit(made, ends[0], ends[7], priority=5)
            for event in (*low, urgent):
                event.wait(30)
            over = [span.ended for span in engine.trace().transfers]
        assert (over[-1] < sorted(over[:-1])[1]) == first


def test_a_low_transfer_that_holds_what_a_high_one_needs() -> None:
    """The low one is lent the priority and ends first; the middle one, which needs no buffers, has to wait for both."""
    machine = line(2, rate=100e6, capacity=6 << 10)
    with Engine(machine, EmulatedMachine(), request_bytes=1 << 14, record=True) as engine:
        made = along(machine, 2 << 20)
        assert 3 << 10 < made.buffer_bytes <= 6 << 10, "room for one"
        low = engine.submit(made, priority=0)
        while not low.bytes_done:
            with contextlib.suppress(TimeoutError):
                low.wait(0.001)
        high = engine.submit(made, priority=9)
        for event in (low, high):
            event.wait(30)
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
            error = fails.error(60)
            works.wait(60)
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
                    engine.copy(array, "<F, x, y>", out, "<F, y, x>", priority=number % 3).wait(60)
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
