"""Small copies: carried out by the caller's thread, with the guarantees of large ones."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from run_cases import no_leaked_files

from isoviz import Engine
from isoviz.backends.devices import ThisComputer
from isoviz.backends.host.host_memory import HostMemory, HostStore
from isoviz.errors import Cancelled, DeviceError, EngineClosed, FileError, RunError, TransferError
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine, Memory, MemoryKind
from isoviz.runtime.device_bases import BaseChannel
from isoviz.runtime.engine.event import Event
from isoviz.runtime.engine.inline import AT_ONCE
from isoviz.runtime.protocols import Bound, Holds

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]

SIZES = [8, 4096, AT_ONCE, 800 << 10]


class Far(np.ndarray[Any, Any]):
    """An array that lies in the memory `far`."""


class Place(HostMemory):
    """Holds the arrays of one class. `step` is called with what happens to its stores."""

    def __init__(self, name: str, kind: type, step: Callable[[str], None]) -> None:
        super().__init__(name)
        self.kind, self.step = kind, step

    def holds(self, given: Any) -> Holds:
        return Holds.YES if type(given) is self.kind else Holds.NO

    def source(self, instance: Any, given: Any) -> HostStore:
        self.step("source")
        return self._told(super().source(instance, given), "source")

    def destination(self, instance: Any, given: Any, partial: bool) -> HostStore:
        self.step("destination")
        return self._told(super().destination(instance, given, partial), "destination")

    def _told(self, store: Any, what: str) -> Any:
        close, step = store.close, self.step

        def closed() -> None:
            close()
            step(f"close {what}")

        store.close, store.flush, store.publish = closed, lambda: step("flush"), lambda: step("publish")
        return store


class Steps(ThisComputer):
    """Two memories and their channels. `act` is called with every step of a transfer, and may raise."""

    def __init__(self) -> None:
        super().__init__()
        self.act: Callable[[str], object] = lambda step: None
        self.seen: list[str] = []
        self.moving: Counter[str] = Counter()
        self.most = 0

    def step(self, name: str) -> None:
        self.seen.append(name)
        self.act(name)

    def memory(self, memory: Memory) -> Any:
        return Place(memory.name, Far if memory.name == "far" else np.ndarray, self.step)

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> Any:
        real: Any = super().channel(channel, source, destination)
        outer = self

        class Noting(BaseChannel):
            at_once = True

            def prepare(self, nbytes: int) -> None:
                outer.step("prepare")

            def move(self, copies: Any, here: Any, there: Any, check: Callable[[], None]) -> int:
                outer.moving[channel.name] += 1
                outer.most = max(outer.most, *outer.moving.values())
                try:
                    outer.step(f"move {channel.name} {here.read(0, 1)[0]}")
                    return real.move(copies, here, there, check)
                finally:
                    outer.moving[channel.name] -= 1

        return Noting()


@pytest.fixture
def devices() -> Steps:
    return Steps()


@pytest.fixture
def engine(devices: Steps) -> Iterator[Engine]:
    speed = LatencyBandwidth(20e-6, 2e9)
    memories = tuple(Memory(name, MemoryKind.SYS) for name in ("near", "far"))
    channels = tuple(Channel("", ChannelKind.MEMCPY, "near", there, speed) for there in ("near", "far"))
    with Engine(Machine("two", memories, channels), devices) as found:
        yield found


def copy(engine: Engine, value: int = 1, nbytes: int = 8, priority: int = 0, to: type = np.ndarray) -> Event:
    there = np.zeros(nbytes, "u1").view(to)
    return engine.copy(np.full(nbytes, value, "u1"), "<F, x>", there, "<F, x>", priority)


def held_up(devices: Steps) -> tuple[threading.Event, threading.Event]:
    """Set when the first request moves; that request waits for the second event."""
    arrived, gate = threading.Event(), threading.Event()

    def act(step: str) -> None:
        if step.startswith("move") and not arrived.is_set():
            arrived.set()
            assert gate.wait(120)

    devices.act = act
    return arrived, gate


def test_others_use_the_engine_while_a_small_copy_moves(engine: Engine, devices: Steps) -> None:
    """They ask it, copy on another channel at once, and queue on the same one, where the highest priority is next."""
    arrived, gate = held_up(devices)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(copy, engine, 1)
        try:
            assert arrived.wait(120)
            assert pool.submit(lambda: engine.held_bytes).result(120) == 0
            counts = engine._driver.scheduler.counts
            assert (counts.running, counts.in_flight, counts.held_bytes) == (1, 1, 0)
            assert copy(engine, 2, to=Far).done
            events = [copy(engine, 3, priority=0), copy(engine, 4, priority=5), copy(engine, 5, nbytes=800 << 10, priority=1)]
            assert not any(event.done for event in events)
            assert engine._driver.scheduler.counts.in_flight == 1
        finally:
            gate.set()
        for event in (first.result(120), *events):
            event.wait(120)
    moves = [step for step in devices.seen if step.startswith("move")]
    assert moves == ["move near->near 1", "move near->far 2", *(f"move near->near {value}" for value in (4, 5, 3))]
    assert devices.most == 1, "one request at a time"
    assert engine._driver.scheduler.counts.in_flight == 0
    assert copy(engine, 6).done, "the channel is idle again"


def test_close_waits_for_a_small_copy(engine: Engine, devices: Steps) -> None:
    arrived, gate = held_up(devices)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(copy, engine)
        try:
            assert arrived.wait(120)
            waiting = copy(engine, 2)
            closed = pool.submit(engine.close)
            assert isinstance(waiting.error(120), Cancelled)
            assert not closed.done()
        finally:
            gate.set()
        closed.result(120)
        first.result(120).wait(120)
    with pytest.raises(EngineClosed):
        copy(engine)


def test_a_channel_asks_its_engine(engine: Engine, devices: Steps) -> None:
    """It also copies: on its own channel, which is in use, and on another one."""
    found: list[Any] = []

    def act(step: str) -> None:
        if step == "move near->near 1":
            found.extend((engine.held_bytes, copy(engine, 2), copy(engine, 3, to=Far)))
            found.append([event.done for event in found[1:]])

    devices.act = act
    thread = threading.Thread(target=lambda: found.append(copy(engine, 1)), daemon=True)
    thread.start()
    thread.join(120)
    assert not thread.is_alive(), "it waits for itself"
    held, own, other, done, outer = found
    assert held == 0 and done == [False, True] and outer.done
    for event in (own, other, outer):
        event.wait(120)


class BrokenError(DeviceError):
    """An error of a device of somebody else."""


@pytest.mark.parametrize(
    "step", ["prepare", "source", "destination", "move", "flush", "publish", "close source", "close destination"]
)
@pytest.mark.parametrize("error", [ValueError("broken"), OSError(5, "broken"), BrokenError("broken"), FileError("broken")])
def test_errors_are_those_of_the_event_at_every_size(engine: Engine, devices: Steps, step: str, error: Exception) -> None:
    found = []
    for nbytes in SIZES:
        assert copy(engine, nbytes=nbytes).error(120) is None

        def act(at: str) -> None:
            if at.startswith(step):
                raise error

        devices.act = act
        raised: Any = copy(engine, nbytes=nbytes).error(120)
        devices.act = lambda step: None
        found.append((type(raised), str(raised), *(getattr(raised, each, None) for each in ("hop", "channel", "chunk"))))
    assert found == found[:1] * len(SIZES)
    kind, text, hop, channel, chunk = found[0]
    assert "broken" in text and issubclass(kind, FileError if kind is FileError else RunError)
    if step == "move":
        assert (hop, channel, chunk) == (0, "near->near", 0) and kind is (BrokenError if type(error) is BrokenError else RunError)


@pytest.mark.parametrize("nbytes", SIZES)
def test_every_step_of_a_store_is_taken(engine: Engine, devices: Steps, nbytes: int) -> None:
    copy(engine, 7, nbytes).wait(120)
    steps = [step for step in devices.seen if not step.startswith("move")]
    assert sorted(steps[:3]) == ["destination", "prepare", "source"] and steps[0] == "prepare"
    assert steps[3:5] == ["flush", "publish"] and sorted(steps[5:]) == ["close destination", "close source"]


@pytest.mark.parametrize("nbytes", SIZES)
def test_ends_that_do_not_fit_are_errors_of_the_event(engine: Engine, nbytes: int) -> None:
    array, read_only = np.ones(nbytes, "u1"), np.zeros(nbytes, "u1")
    read_only.flags.writeable = False
    assert "read-only" in str(engine.copy(array, "<F, x>", read_only, "<F, x>").error(120))
    same = engine.copy(array, "<F, x>", array, "<F, x>").error(120)
    assert isinstance(same, TransferError) and "the same" in str(same)


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="only the main thread handles signals")
@pytest.mark.usefixtures("ctrl_c_interrupts")
def test_ctrl_c_inside_a_small_copy(engine: Engine, devices: Steps) -> None:
    """It is raised, the channel goes on with what waits for it, and the stores are closed."""
    waiting: list[Event] = []

    def act(step: str) -> None:
        if step == "move near->near 1":
            with ThreadPoolExecutor(1) as pool:
                waiting.append(pool.submit(copy, engine, 2).result(120))
            signal.raise_signal(signal.SIGINT)

    devices.act = act
    with pytest.raises(KeyboardInterrupt):
        copy(engine, 1)
    assert {"close source", "close destination"} <= set(devices.seen)
    waiting[0].wait(120)
    assert copy(engine, 3).done
    assert engine._driver.scheduler.counts.in_flight == 0


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="only the main thread handles signals")
@pytest.mark.usefixtures("ctrl_c_interrupts")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Python drops what comes in a destructor
def test_ctrl_c_at_any_time_leaves_the_channel_free(engine: Engine, full: bool) -> None:
    """While another thread uses the same channel."""
    rng, events, over = random.Random(5), [], threading.Event()

    def others() -> None:
        while not over.is_set():
            events.append(copy(engine, 2))
            events[-1].wait(120)

    before = signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    limit = signal.getitimer(signal.ITIMER_REAL)  # that of pytest-timeout
    thread = threading.Thread(target=others, daemon=True)
    thread.start()
    rounds, dropped = 2000 if full else 100, 0
    try:
        for _ in range(rounds):
            with suppress(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(2e-5, 4e-4))
                for _ in range(1000):  # they take longer than any of these intervals
                    copy(engine, 1)
                dropped += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *limit)
        over.set()
    thread.join(120)
    assert not thread.is_alive() and dropped < rounds / 2 and all(event.error(120) is None for event in events)
    copy(engine, 3).wait(120)  # it comes after all copies that were not waited for
    pause = threading.Event()
    while engine._driver.scheduler.counts.in_flight:  # a channel that stays taken meets the limit of the test
        pause.wait(0.002)
    assert copy(engine, 3).done
