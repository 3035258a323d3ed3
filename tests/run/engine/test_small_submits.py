"""Small transfers by `submit`: carried out by the thread that submits them, with everything else as for large ones.

Also plans that are submitted again and again: what they have in common is prepared once.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_cases import assumed_machine, elements, no_leaked_files, random_bytes

from isoviz import Engine, FieldSpace, IndexSpace, Options, Plan, Transfer, plan
from isoviz.backends.devices import ThisComputer
from isoviz.backends.host.host_memory import HostMemory, HostStore, Memcpy
from isoviz.errors import Cancelled, EngineClosed, InputError, RunError, TransferError, VerificationError
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Limits, Machine, Memory, MemoryKind
from isoviz.runtime.device_bases import BaseChannel
from isoviz.runtime.engine.device_errors import Closing
from isoviz.runtime.engine.inline import AT_ONCE
from isoviz.runtime.engine.interrupts import defer_interrupts
from isoviz.runtime.engine.prepared_plans import MOST_WORKS, SMALL_REQUEST
from isoviz.runtime.protocols import Bound
from isoviz.scheduling.admission import Admission

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]

BYTE = FieldSpace(value="u1")
OWN = "isoviz m0->m1 0"
SYS, DSK = "node0.sys", "node0.dsk"


def row(hops: int = 1, slot_limit: int = 1 << 20) -> Machine:
    """Memories in a row, and between them channels that take one request at a time."""
    memories = tuple(Memory(f"m{i}", MemoryKind.SYS) for i in range(hops + 1))
    speed = LatencyBandwidth(20e-6, 2e9)
    channels = tuple(Channel("", ChannelKind.MEMCPY, f"m{i}", f"m{i + 1}", speed) for i in range(hops))
    return Machine("row", memories, channels, limits=Limits(slot_limit=slot_limit, chunk_seconds=1.0))


def along(machine: Machine, nbytes: int, here: str = "<F, x>", there: str = "<F, x>") -> Plan:
    last = machine.memories[-1].name
    return plan(Transfer.whole(IndexSpace(x=nbytes), BYTE, "m0", here, last, there), machine, "full")


def ends(nbytes: int, seed: int = 1) -> tuple[Any, Any]:
    return random_bytes(random.Random(seed), nbytes), np.zeros(nbytes, "u1")


class Watched(ThisComputer):
    """Channels that need no device, and note the thread and the first byte of each request."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, int]] = []
        self.before: Callable[[], None] = lambda: None

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> Any:
        real: Any = super().channel(channel, source, destination)
        outer = self

        class Noting(BaseChannel):
            at_once = True

            def move(self, copies: Any, here: Any, there: Any, check: Callable[[], None]) -> int:
                outer.seen.append((threading.current_thread().name, int(here.read(0, 1)[0])))
                outer.before()
                return real.move(copies, here, there, check)

        return Noting()

    @property
    def threads(self) -> list[str]:
        return [thread for thread, _ in self.seen]


def held_up(devices: Watched) -> tuple[threading.Event, threading.Event]:
    """Set when the first request has come; the first request waits for the second event."""
    arrived, gate = threading.Event(), threading.Event()

    def before() -> None:
        if not arrived.is_set():
            arrived.set()
            assert gate.wait(120)

    devices.before = before
    return arrived, gate


@pytest.mark.parametrize(("nbytes", "is_mine"), [(1, True), (8, True), (AT_ONCE, True), (AT_ONCE + 1, False)])
def test_a_small_transfer_is_carried_out_by_its_submitter(nbytes: int, is_mine: bool) -> None:
    machine, devices = row(), Watched()
    made, me = along(machine, nbytes), threading.current_thread().name
    with Engine(machine, devices) as engine:
        for seed in range(5):
            source, destination = ends(nbytes, seed)
            event = engine.submit(made, source, destination)
            assert event.done or not is_mine
            event.wait(120)
            assert event.bytes_done == nbytes and event.progress == 1
            assert event.route == ("inline" if is_mine else "scheduler")
            np.testing.assert_array_equal(source, destination)
    assert devices.threads == [me if is_mine else OWN] * 5


def test_arrays_that_come_again_and_change() -> None:
    """Their moves are kept: never for other bytes, and never past a device of the caller."""
    machine, space = row(), IndexSpace(x=64, y=8)
    made = plan(Transfer.whole(space, BYTE, "m0", "<F, x, y>", "m1", "<F, y, x>"), machine, "full")
    rng, rooms = np.random.default_rng(5), [np.zeros(512, "u1") for _ in range(3)]
    with Engine(machine) as engine:
        for turn in range(60):
            source = rooms[turn % 2 if turn > 40 else 0]
            source[:] = rng.integers(0, 255, 512)
            destination = np.zeros((64, 8), "u1") if turn % 7 == 3 else rooms[2].reshape(64, 8)
            destination[:] = 0
            assert engine.submit(made, source, destination).route == "inline"
            np.testing.assert_array_equal(destination, source.reshape(8, 64).T)
        for wrong in (rooms[0][:511], rooms[0].view("u2"), rooms[0][::-1]):
            with pytest.raises(InputError):
                engine.submit(made, wrong, rooms[2]).wait(120)
        rooms[2].flags.writeable = False
        with pytest.raises(InputError):
            engine.submit(made, rooms[0], rooms[2]).wait(120)
        with pytest.raises(TransferError):
            engine.submit(made, rooms[0], rooms[0]).wait(120)
        rooms[0].resize(1024, refcheck=False)
        with pytest.raises(InputError):
            engine.submit(made, rooms[0], rooms[1]).wait(120)


class Changed(ThisComputer):
    """Host memory whose copies also call a function, in every way to move them."""

    def __init__(self, call: Callable[[HostStore], object]) -> None:
        super().__init__()
        self._call = call

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> Any:
        call = self._call

        class Calling(Memcpy):
            def move(self, copies: Any, here: Any, there: Any, check: Callable[[], None]) -> int:
                found = super().move(copies, here, there, check)
                call(there)
                return found

            def prepared_move(self, copies: Any, here: Any, there: Any) -> Any:
                return (partial(self.move, copies, here, there, lambda: None),)

        return Calling() if super().channel(channel, source, destination) else None


def test_a_run_of_arrays_that_come_again_is_carried_out_by_its_caller() -> None:
    """Its report says what that of the scheduler says."""
    machine, space = row(), IndexSpace(x=64, y=8)
    made = plan(Transfer.whole(space, BYTE, "m0", "<F, x, y>", "m1", "<F, y, x>"), machine, "full")
    source, destination = ends(512)
    destination = destination.reshape(64, 8)
    with Engine(machine) as engine, Engine(machine, record=True) as scheduled:
        for verify in (True, False, True):
            mine, other = [[each.run(made, source, destination, verify=verify) for _ in range(3)] for each in (engine, scheduled)]
            assert {report.route for report in other} == {"scheduler"} and mine[-1].route == "inline"
            destination[:] = 0
            source += 1
            report = engine.run(made, source, destination, verify=verify)
            np.testing.assert_array_equal(destination, source.reshape(8, 64).T)
            assert report.to_json()["route"] == report.route == "inline"
            for found in (mine[-1], report):
                assert found.verified == other[-1].verified == (verify or None)
                assert (found.notes, found.prediction, found.plan) == (other[-1].notes, other[-1].prediction, made)
                assert found.seconds > 0 and found.hops[0].seconds == found.seconds == found.trace.seconds  # type: ignore[union-attr]
                [hop], [wanted] = found.hops, other[-1].hops
                assert replace(hop, seconds=0.0) == replace(wanted, seconds=0.0)
                assert [span[1:4] for span in found.trace.requests] == [(0, 0, 0)]  # type: ignore[union-attr]
                [transfer], [like] = found.trace.transfers, other[-1].trace.transfers  # type: ignore[union-attr]
                assert transfer.work == like.work and transfer.outcome == like.outcome and transfer.nbytes == like.nbytes
        assert len({report.trace.transfers[0].number for report in mine}) == 3  # type: ignore[union-attr]
        for option in ({"progress": lambda _: None}, {"cancel": threading.Event()}, {"pipelined": False}, {"chunks": 1}):
            assert engine.run(made, source, destination, **option).route == "scheduler"  # type: ignore[arg-type]


def test_a_run_that_is_carried_out_by_its_caller_is_verified() -> None:
    machine, is_wrong = row(), threading.Event()

    def change(store: HostStore) -> None:
        if is_wrong.is_set():
            store.array[77] ^= 1

    made, (source, destination) = along(machine, 512), ends(512)
    with Engine(machine, Changed(change)) as engine:
        assert [engine.run(made, source, destination).route for _ in range(3)][-1] == "inline"
        is_wrong.set()
        for _ in range(2):
            with pytest.raises(VerificationError, match="x=77"):
                engine.run(made, source, destination)
        assert engine.run(made, source, destination, verify=False).verified is None
        is_wrong.clear()
        assert engine.run(made, source, destination).verified


def test_a_run_that_its_caller_carries_out_fails_as_others_do() -> None:
    machine, said = row(), []

    def fail(_: HostStore) -> None:
        raise OSError("no luck")

    made, (source, destination) = along(machine, 512), ends(512)
    with Engine(machine, Changed(fail)) as engine:
        for _ in range(3):
            with pytest.raises(RunError) as caught:
                engine.run(made, source, destination)
            said.append((str(caught.value), caught.value.hop, caught.value.channel, caught.value.chunk))
            assert engine.held_bytes == 0
    assert len(set(said)) == 1 and said[0][1:] == (0, made.hops[0].channel, 0)
    with pytest.raises(EngineClosed):
        engine.run(made, source, destination)


def test_ctrl_c_in_a_run_that_its_caller_carries_out() -> None:
    machine, interrupts = row(), threading.Event()

    def press(_: HostStore) -> None:
        if interrupts.is_set():
            interrupts.clear()
            os.kill(os.getpid(), signal.SIGINT)

    made, (source, destination) = along(machine, 512), ends(512)
    before = signal.getsignal(signal.SIGINT)
    with Engine(machine, Changed(press)) as engine:
        for _ in range(4):
            interrupts.set()
            with pytest.raises(KeyboardInterrupt):
                engine.run(made, source, destination)
            destination[:] = 0
            assert engine.run(made, source, destination).verified
            np.testing.assert_array_equal(source, destination)
    assert signal.getsignal(signal.SIGINT) is before


def test_arrays_are_not_kept() -> None:
    machine = row()
    made, (source, destination) = along(machine, 64), ends(64)
    with Engine(machine) as engine:
        for _ in range(4):
            engine.submit(made, source, destination).wait(120)
        alive = weakref.ref(source), weakref.ref(destination)
        del source, destination
        gc.collect()
        assert not any(each() is not None for each in alive)


def test_what_a_device_of_the_caller_changes_is_never_skipped() -> None:
    """Classes derived from those of isoviz: each sees every transfer."""
    seen: list[str] = []

    class Counted(Memcpy):
        def move(self, *args: Any) -> int:
            seen.append("move")
            return super().move(*args)

    class Described(HostMemory):
        def source(self, *args: Any) -> HostStore:
            seen.append("source")
            return super().source(*args)

    class OwnMemory(ThisComputer):
        def memory(self, memory: Memory) -> Any:
            return Described(memory.name)

    class OwnChannel(ThisComputer):
        def channel(self, channel: Channel, source: Bound, destination: Bound) -> Any:
            return Counted()

    for devices in (OwnChannel(), OwnMemory()):
        machine = row()
        made, given = along(machine, 64), ends(64)
        with Engine(machine, devices) as engine:
            for _ in range(5):
                engine.submit(made, *given).wait(120)
    assert seen == ["move"] * 5 + ["source"] * 5


def test_several_requests_or_hops_leave_the_submitter_alone() -> None:
    devices = Watched()
    with Engine(row(2), devices) as engine:
        engine.submit(along(row(2), 64)).wait(120)
    machine = row()
    with Engine(machine, devices, request_bytes=SMALL_REQUEST // 4) as engine:
        engine.submit(along(machine, SMALL_REQUEST)).wait(120)
    assert devices.threads == [OWN] * (2 + 4)


def test_channels_that_wait_for_a_device_are_left_to_their_threads() -> None:
    class Waits(Watched):
        def channel(self, channel: Channel, source: Bound, destination: Bound) -> Any:
            found = super().channel(channel, source, destination)
            found.at_once = False
            return found

    machine, devices = row(), Waits()
    with Engine(machine, devices) as engine:
        engine.submit(along(machine, 8)).wait(120)
    assert devices.threads == [OWN]


def test_small_transfers_wait_for_their_turn() -> None:
    """A transfer of a higher priority is on the channel; then they go by priority, and in the order of their submission."""
    machine, devices = row(), Watched()
    large, small = along(machine, 1 << 17), along(machine, 8)
    arrived, gate = held_up(devices)
    with Engine(machine, devices) as engine:
        urgent = engine.submit(large, np.full(1 << 17, 100, "u1"), np.zeros(1 << 17, "u1"), priority=9)
        assert arrived.wait(120)
        taken = [np.zeros(8, "u1") for _ in range(6)]
        priorities = (0, 3, 1, 3, 0, 1)
        events = [engine.submit(small, np.full(8, i, "u1"), taken[i], priority=p) for i, p in enumerate(priorities)]
        assert not any(event.done for event in events)
        gate.set()
        for event in (urgent, *events):
            event.wait(120)
        assert [first for _, first in devices.seen] == [100, 1, 3, 2, 5, 0, 4]
        assert set(devices.threads) == {OWN}
        engine.submit(small).wait(120)
    assert devices.threads[-1] == threading.current_thread().name
    assert [array[0] for array in taken] == list(range(6))


def test_cancelled_before_its_turn_it_moves_nothing() -> None:
    machine, devices = row(), Watched()
    large, small = along(machine, 1 << 17), along(machine, 8)
    arrived, gate = held_up(devices)
    source, destination = np.ones(8, "u1"), np.zeros(8, "u1")
    with Engine(machine, devices) as engine:
        first = engine.submit(large)
        assert arrived.wait(120)
        waiting = engine.submit(small, source, destination)
        waiting.cancel()
        with pytest.raises(Cancelled):
            waiting.wait(120)
        gate.set()
        first.wait(120)
        token = threading.Event()
        token.set()
        with pytest.raises(Cancelled):
            engine.submit(small, source, destination, cancel=token).wait(120)
        assert not destination.any()
        engine.submit(small, source, destination, cancel=threading.Event()).wait(120)
        assert destination.all() and engine.held_bytes == 0


@pytest.mark.parametrize("error", [RunError("broken"), ValueError("broken"), OSError(5, "broken")])
def test_an_error_names_hop_channel_and_chunk(error: Exception) -> None:
    machine, devices = row(), Watched()
    made = along(machine, 8)

    def before() -> None:
        raise error

    with Engine(machine, devices) as engine:
        engine.submit(made).wait(120)
        devices.before = before
        event = engine.submit(made)
        with pytest.raises(RunError, match="broken") as raised:
            event.wait(120)
        assert (raised.value.hop, raised.value.channel, raised.value.chunk) == (0, "m0->m1", 0)
        devices.before = lambda: None
        engine.submit(made).wait(120)
        read_only, same = np.zeros(8, "u1"), np.zeros(8, "u1")
        read_only.flags.writeable = False
        with pytest.raises(TransferError, match="read-only"):
            engine.submit(made, same, read_only).wait(120)
        with pytest.raises(TransferError, match="the same"):
            engine.submit(made, same, same).wait(120)
        with pytest.raises(TransferError, match="has 7 bytes"):
            engine.submit(made, np.zeros(7, "u1"), same).wait(120)
        with pytest.raises(InputError, match="priority"):
            engine.submit(made, priority=0.5)  # type: ignore[arg-type]  # what a caller may pass


def test_callbacks() -> None:
    machine, devices = row(), Watched()
    large, small = along(machine, 1 << 17), along(machine, 8)
    me = threading.current_thread().name
    called: list[str] = []
    with Engine(machine, devices) as engine:
        engine.submit(small).add_done_callback(lambda _: called.append(threading.current_thread().name))
        assert called == [me], "it had ended already"
        arrived, gate = held_up(devices)
        engine.submit(large)
        assert arrived.wait(120)
        told = threading.Event()

        def callback(event: Any) -> None:
            called.append(threading.current_thread().name)
            engine.submit(small).wait(120)
            told.set()

        engine.submit(small).add_done_callback(callback)
        gate.set()
        assert told.wait(120)
    assert called == [me, "isoviz callbacks 0"]


def test_a_recording_engine_has_them_in_its_trace() -> None:
    machine, devices = row(), Watched()
    small, other = along(machine, 8), along(machine, 4096)
    with Engine(machine, devices, record=True) as engine:
        for priority in (0, 4, 0):
            engine.submit(small, priority=priority).wait(120)
            engine.submit(other).wait(120)
        devices.before = lambda: 1 / 0  # type: ignore[assignment]
        assert isinstance(engine.submit(small).error(120), RunError)
        trace = engine.trace()
    assert [span.number for span in trace.transfers] == list(range(7))
    assert [span.nbytes for span in trace.transfers] == [8, 4096] * 3 + [8]
    assert [span.work.priority for span in trace.transfers] == [0, 0, 4, 0, 0, 0, 0]
    assert [span.outcome for span in trace.transfers] == ["done"] * 6 + ["failed"]
    assert [each[:4] for each in trace.requests] == [(number, 0, 0, 0) for number in range(7)]
    for span, request in zip(trace.transfers, trace.requests, strict=True):
        assert span.submitted <= span.began <= request.start <= request.end <= span.ended


def test_close_while_the_submitter_carries_it_out() -> None:
    machine, devices = row(), Watched()
    made = along(machine, 8)
    arrived, gate = held_up(devices)
    engine = Engine(machine, devices)
    with ThreadPoolExecutor(2) as pool:
        submitted = pool.submit(engine.submit, made)
        assert arrived.wait(120)
        closed = pool.submit(engine.close)
        while not any(execution.stopped for execution in list(engine._driver.executions.values())):
            threading.Event().wait(0.002)
        assert not closed.done(), "it waits for the request in flight"
        gate.set()
        closed.result(120)
        assert isinstance(submitted.result(120).error(120), Cancelled)
    with pytest.raises(EngineClosed):
        engine.submit(made)


def test_many_threads_submit_small_transfers_at_once() -> None:
    """Among larger ones, with and without priorities: every byte is right."""
    machine = row()
    sizes = (8, 64, 4096, 1 << 17)
    plans = [along(machine, nbytes) for nbytes in sizes]

    def submit(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(60):
            at = rng.randrange(len(sizes))
            source, destination = ends(sizes[at], rng.randrange(1 << 30))
            engine.submit(plans[at], source, destination, priority=rng.choice((None, 0, 1, 7))).wait(120)
            assert (source == destination).all()

    with Engine(machine) as engine, ThreadPoolExecutor(6) as pool:
        list(pool.map(submit, range(6)))
        assert engine.held_bytes == 0 and len(engine._plans) == len(sizes)


# ---- plans that are used again


@pytest.mark.parametrize("pipelined", [True, False])
@pytest.mark.parametrize(("here", "there"), [("m0", "m3"), (SYS, DSK), (DSK, SYS), (DSK, DSK)])
@pytest.mark.few(3)
def test_a_plan_used_again_moves_what_it_is_given(here: str, there: str, pipelined: bool, tmp_path: Path) -> None:
    """Several chunks and hops, a conversion, padding, files: each time as the first time, between other ends."""
    machine = row(3) if here == "m0" else assumed_machine()
    space, fields = IndexSpace(x=1300, y=7), FieldSpace(a="f4", b="u2")
    found = Transfer.whole(space, fields, here, "<F, x, y>", there, "<x_in=64, y, F, x_out>")
    made = plan(found, machine, options=Options(slot_limit=4096))
    assert made.chunk_count > 2
    a, b = found.source.linearization, found.destination.linearization
    rng = random.Random(here + there)
    with Engine(machine) as engine:
        for turn in range(3):
            data, out = random_bytes(rng, a.nbytes), np.zeros(b.nbytes, "u1")
            source: Any = data
            destination: Any = out
            if here == DSK:
                source = tmp_path / f"in{turn}"
                source.write_bytes(data.tobytes())
            if there == DSK:
                destination = tmp_path / f"out{turn}"
            engine.submit(made, source, destination, pipelined=pipelined).wait(120)
            if there == DSK:
                out = np.frombuffer(destination.read_bytes(), "u1")
            assert elements(a, data) == elements(b, out)
        assert len(engine._plans) == 1


def test_a_plan_is_kept_as_long_as_it_lives() -> None:
    machine = row()
    kept = along(machine, 8)
    gc.collect()
    gc.freeze()  # only what this test makes is searched for cycles
    with Engine(machine) as engine:
        for nbytes in range(1, 40):
            source, destination = ends(nbytes)
            engine.submit(replace(along(machine, nbytes)), source, destination).wait(120)  # the planner keeps its own
            assert (source == destination).all()
            engine.submit(kept).wait(120)
            gc.collect()
            assert len(engine._plans) == 1
        for priority in range(3 * MOST_WORKS):
            engine.submit(kept, priority=priority).wait(120)
        assert len(engine._plans.of(kept)._works) <= MOST_WORKS
    assert not len(engine._plans)
    gc.unfreeze()


def test_a_plan_of_another_machine_is_still_refused() -> None:
    machine, other = row(), row(2)
    made = along(machine, 8)
    with Engine(machine) as engine, Engine(other) as wrong:
        for _ in range(3):
            engine.submit(made).wait(120)
            with pytest.raises(TransferError, match="made for a machine"):
                wrong.submit(made)


# ---- what makes them cheap


def test_transfers_in_unbounded_memories_wait_for_nothing() -> None:
    admission = Admission({"small": 10})
    assert admission.at_once(0, {}, 5) and admission.at_once(1, {"large": 1 << 40}, 0) and admission.at_once(2, {"small": 0}, 0)
    assert not admission.at_once(3, {"small": 1}, 0)
    assert (admission.is_settled, admission.is_idle) == (True, False)
    admission.request(3, {"small": 8}, 0)
    assert (admission.is_settled, list(admission.granted())) == (False, [3])
    admission.request(4, {"small": 8}, 7)
    assert list(admission.granted()) == [] and list(admission.revalued()) == [(3, 7)]
    assert admission.at_once(5, {"large": 1}, -1)
    for number in (0, 1, 2, 5):
        admission.release(number)
    assert list(admission.granted()) == []
    admission.release(3)
    assert list(admission.granted()) == [4]
    admission.release(4)
    assert admission.is_idle


def test_closing_calls_all_functions_the_last_one_first() -> None:
    called: list[int] = []

    def failing(number: int) -> None:
        called.append(number)
        raise ValueError(number)

    closing = Closing()
    for number in range(4):
        closing.callback(partial(failing if number in (1, 2) else called.append, number))
    with pytest.raises(ValueError, match="1"):
        closing.close()
    assert called == [3, 2, 1, 0]
    closing.close()
    assert len(called) == 4


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="only the main thread handles signals")
def test_deferred_signals_come_after_the_function() -> None:
    came: list[str] = []

    def handler(*_: object) -> None:
        came.append("signal")

    @defer_interrupts()
    def work(depth: int) -> int:
        """Counts."""
        os.kill(os.getpid(), signal.SIGTERM)
        came.append(f"in {depth}")
        return depth if not depth else work(depth - 1) + 1

    before = signal.signal(signal.SIGTERM, handler)
    try:
        assert work(2) == 2
        assert came[:3] == ["in 2", "in 1", "in 0"] and set(came[3:]) == {"signal"}
        assert signal.getsignal(signal.SIGTERM) is handler
        assert (work.__name__, work.__doc__) == ("work", "Counts.")
        with pytest.raises(ZeroDivisionError), defer_interrupts():
            raise ZeroDivisionError
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)
