"""Transfers that lease their channels: a compiled loop moves their parts. Cancels, errors and other transfers come in between."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from bundle_cases import expected
from hypothesis import settings
from run_cases import ROOT, elements, random_bytes, random_layout, random_spaces

from isoviz import Bundle, Engine, FieldSpace, IndexSpace, Plan, Transfer, bundle
from isoviz.backends.devices import ThisComputer
from isoviz.backends.host import kernels
from isoviz.backends.host.host_memory import HostLoop, Memcpy
from isoviz.errors import ArrayError, Cancelled, EngineClosed, RunError
from isoviz.machines import Channel, ChannelKind, Constant, Limits, Machine, Memory, MemoryKind
from isoviz.planner import plan_by_path
from isoviz.runtime import first_come_first_served
from isoviz.runtime.engine import execution, program
from isoviz.runtime.protocols import Bound
from isoviz.runtime.trace.report import Report

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the loop has the clock of Linux")

CHUNK = 4096


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    if not kernels.prepare(wait=True):
        pytest.skip(kernels.state())


def row(hops: int = 3, capacity: int | None = None, chunk: int = CHUNK) -> Machine:
    memories = tuple(Memory(f"m{i}", MemoryKind.SYS, capacity=capacity) for i in range(hops + 1))
    channels = tuple(Channel("", ChannelKind.MEMCPY, f"m{i}", f"m{i + 1}", Constant(1e10)) for i in range(hops))
    return Machine("row", memories, channels, limits=Limits(slot_limit=chunk))


def along(machine: Machine, chunks: int, priority: int = 0, chunk: int = CHUNK) -> Plan:
    """A plan of several hops that moves bytes in chunks of 4 KiB."""
    names = [memory.name for memory in machine.memories]
    whole = Transfer.whole(IndexSpace(x=chunks * chunk), FieldSpace(v="u1"), names[0], "<F, x>", names[-1], "<F, x>")
    found = plan_by_path(replace(whole, priority=priority), machine, names, chunk=chunk)
    assert found.chunk_count == chunks
    return found


def ends(made: Plan, seed: int = 1) -> tuple[Any, Any]:
    return random_bytes(random.Random(seed), made.bytes), np.zeros(made.bytes, "u1")


class Stepping(ThisComputer):
    """Channels of this computer whose loop moves one part at a time, and calls `between` before each with the number of parts."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = 0
        self.between: Callable[[int], None] = lambda _: None
        devices = self

        class Loop(HostLoop):
            def move(self, *arguments: Any) -> int:  # type: ignore[override]
                *tables, until, times = arguments
                if times.size:  # the loop stops behind the last row
                    times = times[:1]
                else:
                    until = 0
                devices.between(devices.parts)
                parts = HostLoop.move(*tables, until, times)
                devices.parts += parts
                return parts

        loop = Loop()

        class Channel(Memcpy):
            @property
            def part_loop(self) -> Any:
                return loop

        self._channel = Channel()

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> Any:
        super().channel(channel, source, destination)
        return self._channel


@pytest.fixture
def stepping(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Stepping, Machine, Engine]]:
    """An engine that steps, and hands submitted transfers to another thread also if they are small."""
    monkeypatch.setattr(execution, "IN_TURN", 0)
    devices, machine = Stepping(), row(chunk=1 << 20)
    with Engine(machine, devices) as engine:
        yield devices, machine, engine
        assert engine.held_bytes == 0


# ---- bytes


def test_random_plans_arrive(report: Callable[[str, object], None]) -> None:
    """Random spaces, layouts and chunks over one to four hops: the same elements as by the scheduler, and the same report."""
    lanes = 0
    for seed in range(max(25, settings().max_examples // 4)):
        rng = random.Random(f"lanes {seed}")
        hops, chunk = rng.randint(1, 4), rng.choice((64, 256, 1024))
        space, fields = random_spaces(rng)
        machine = row(hops, chunk=1 << 20)
        names = [memory.name for memory in machine.memories]
        whole = Transfer.whole(space, fields, "m0", random_layout(rng, space), f"m{hops}", random_layout(rng, space))
        made = plan_by_path(whole, machine, names, chunk=chunk)
        here, there = made.transfer.source.linearization, made.transfer.destination.linearization
        source = random_bytes(rng, here.nbytes)
        found, routes, reports = [], [], []
        for has_lanes in (True, False):
            destination = np.zeros(there.nbytes, np.uint8)
            with Engine(machine, lanes=has_lanes) as engine:
                reports.append(engine.run(made, source, destination))
                again = np.zeros(there.nbytes, np.uint8)
                event = engine.submit(made, source, again)
                event.wait()
                assert event.bytes_done == made.bytes
                assert engine.held_bytes == 0
            assert elements(there, destination) == elements(there, again) == elements(here, source), seed
            found.append(destination.tobytes())
            routes.append(event.route)
        assert routes[1] != "lane"
        lanes += routes[0] == "lane"
        _check_report(made, *reports, is_lane=routes[0] == "lane")
    assert lanes
    report("random plans in lanes", lanes)


def _check_report(made: Plan, lane: Report, other: Report, *, is_lane: bool) -> None:
    assert lane.verified is other.verified is True
    assert [hop.requests for hop in lane.hops] == [hop.requests for hop in other.hops]
    if not is_lane:
        return
    assert lane.route == "lane"
    spans = {(span.hop, span.chunk): span for span in lane.trace.requests}
    assert len(spans) == len(lane.trace.requests) == made.chunk_count * len(made.hops)
    slots = [ring.slots for ring in made.buffers]
    for (hop, chunk), span in spans.items():
        assert span.start <= span.end
        if hop:
            assert spans[hop - 1, chunk].end <= span.start
        if hop < len(slots) and chunk >= slots[hop]:
            assert spans[hop + 1, chunk - slots[hop]].end <= span.start
    for hop, measured in enumerate(lane.hops):
        busy = sum(span.end - span.start for (at, _), span in spans.items() if at == hop)
        flushed = lane.flush_seconds if hop == len(slots) else 0.0
        assert measured.seconds == pytest.approx(busy + flushed, rel=1e-6, abs=1e-8)


def test_who_decides_otherwise_gets_the_same_bytes() -> None:
    """Own policies, records, hops that are not pipelined, arrays whose fields lie otherwise, and no lanes: by the scheduler."""
    machine = row()
    made = along(machine, 8)
    source, _ = ends(made)

    def last_come(channel: Any) -> Any:
        return max(channel.waiting(), key=lambda hop: hop.order, default=None)

    for options, how, route in (
        ({}, {}, "lane"),
        ({"policy": first_come_first_served}, {}, "lane"),
        ({"policy": last_come}, {}, "scheduler"),
        ({"record": True}, {}, "scheduler"),
        ({"lanes": False}, {}, "scheduler"),
        ({}, {"pipelined": False}, "scheduler"),
    ):
        destination = np.zeros(made.bytes, "u1")
        with Engine(machine, **options) as engine:  # type: ignore[arg-type]
            event = engine.submit(made, source, destination, **how)  # type: ignore[arg-type]
            event.wait()
        assert event.route == route, (options, how)
        assert (source == destination).all()


@pytest.mark.parametrize("rest", [1, 4095])
def test_the_last_chunk_may_be_shorter(rest: int) -> None:
    machine = row()
    names = [memory.name for memory in machine.memories]
    whole = Transfer.whole(IndexSpace(x=10 * CHUNK + rest), FieldSpace(v="u1"), names[0], "<F, x>", names[-1], "<F, x>")
    made = plan_by_path(whole, machine, names, chunk=CHUNK)
    assert made.chunk_count == 11
    source, destination = ends(made)
    with Engine(machine) as engine:
        assert engine.run(made, source, destination).route == "lane"
    assert (source == destination).all()


@pytest.mark.parametrize("hops", [1, 3])
def test_bundles_go_in_lanes(hops: int) -> None:
    """Lists of arrays and single arrays; chunks hold several members, and parts of one."""
    machine = row(hops, chunk=1 << 20)
    names = [memory.name for memory in machine.memories]
    fields = FieldSpace(a="<f4", b="u1")
    members = [
        Transfer.whole(IndexSpace(x=size), fields, names[0], "<F, x>", names[-1], "<x, F>") for size in (5, 300, 7, 7, 1000, 64)
    ]
    whole = bundle(members)
    assert isinstance(whole, Bundle)
    made = plan_by_path(whole, machine, names, chunk=512)
    assert made.chunk_count > 4
    sources = [random_bytes(random.Random(seed), 5 * each.space["x"]) for seed, each in enumerate(members)]
    right = np.concatenate(expected(whole, sources, [np.zeros_like(each) for each in sources]))
    with Engine(machine) as engine:
        for joins in (list, np.concatenate):
            there: Any = joins([np.zeros_like(each) for each in sources])
            report = engine.run(made, joins(sources), there)
            assert report.verified
            assert report.route == "lane"
            assert (right == (np.concatenate(there) if isinstance(there, list) else there)).all()


def test_the_first_chunks_only(stepping: tuple[Stepping, Machine, Engine]) -> None:
    devices, machine, engine = stepping
    made = along(machine, 9)
    source, destination = ends(made)
    report = engine.run(made, source, destination, chunks=4)
    assert len(report.trace.requests) == devices.parts == 12
    assert (destination[: 4 * CHUNK] == source[: 4 * CHUNK]).all()
    assert not destination[4 * CHUNK :].any()


# ---- no Python between two parts


def test_python_does_the_same_for_4_and_400_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "SLICE", 60.0)
    monkeypatch.setattr(execution, "IN_TURN", 1 << 30)  # both in this thread
    machine = row(4)
    counts = []
    with Engine(machine) as engine:
        for made in (along(machine, 1), along(machine, 100)):
            source, destination = ends(made)
            for _ in range(3):
                engine.submit(made, source, destination).wait()
            counts.append(min(_calls(lambda: engine.submit(made, source, destination).wait()) for _ in range(5)))  # noqa: B023
            assert (source == destination).all()
    few, many = counts
    assert many <= few + 2, "a part costs calls in Python"


def _calls(action: Callable[[], object]) -> int:
    """The number of Python functions that are called meanwhile, in all threads."""
    count = 0

    def note(frame: Any, what: str, _: object) -> None:
        nonlocal count
        count += what == "call" and "isoviz" in frame.f_code.co_filename

    gc.disable()
    threading.setprofile_all_threads(note) if sys.version_info >= (3, 12) else threading.setprofile(note)
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
        threading.setprofile_all_threads(None) if sys.version_info >= (3, 12) else threading.setprofile(None)  # type: ignore[arg-type]
        gc.enable()
    return count


# ---- something happens between two parts


@pytest.mark.parametrize("at", range(12))
def test_cancelled_before_any_part(stepping: tuple[Stepping, Machine, Engine], at: int) -> None:
    devices, machine, engine = stepping
    made = along(machine, 4)
    source, destination = ends(made)
    given = threading.Event()
    events: list[Any] = []

    def between(parts: int) -> None:
        given.wait()
        if parts == at:
            events[0].cancel()

    devices.between = between
    events.append(engine.submit(made, source, destination))
    given.set()
    assert isinstance(events[0].error(), Cancelled)
    assert devices.parts == at, "a part began after the cancel"
    assert engine.held_bytes == 0
    _moves_again(devices, engine, made)


@pytest.mark.parametrize("at", [0, 5, 11])
def test_a_token_stops_it(stepping: tuple[Stepping, Machine, Engine], at: int) -> None:
    devices, machine, engine = stepping
    made, token = along(machine, 4), threading.Event()
    devices.between = lambda parts: token.set() if parts == at else None
    with pytest.raises(Cancelled):
        engine.run(made, *ends(made), cancel=token)
    assert devices.parts == at + 1
    _moves_again(devices, engine, made)


@pytest.mark.parametrize("at", range(0, 12, 3))
def test_an_error_ends_it(stepping: tuple[Stepping, Machine, Engine], at: int) -> None:
    devices, machine, engine = stepping
    made = along(machine, 4)

    def between(parts: int) -> None:
        if parts == at:
            raise MemoryError("no room")

    devices.between = between
    error = engine.submit(made, *ends(made)).error()
    assert isinstance(error, RunError)
    assert "no room" in str(error)
    _moves_again(devices, engine, made)


def _moves_again(devices: Stepping, engine: Engine, made: Plan) -> None:
    assert engine.held_bytes == 0
    devices.between = lambda _: None
    source, destination = ends(made, 2)
    engine.run(made, source, destination)
    assert (source == destination).all()


@pytest.mark.parametrize("at", [0, 1, 7, 22])
def test_a_more_urgent_transfer_goes_first(stepping: tuple[Stepping, Machine, Engine], at: int) -> None:
    """It recalls the lease and gets one of its own. Then the long transfer goes on where it was, in a lane again."""
    devices, machine, engine = stepping
    long, urgent = along(machine, 8), along(machine, 2, priority=5)
    (source, destination), (here, there) = ends(long), ends(urgent, 2)
    events: list[Any] = []

    def between(parts: int) -> None:
        if parts == at and not events:
            events.append(engine.submit(urgent, here, there))

    devices.between = between
    first = engine.submit(long, source, destination)
    first.wait()
    events[0].wait()
    assert (source == destination).all()
    assert (here == there).all()
    assert first.route == events[0].route == "lane"
    assert devices.parts == 3 * (8 + 2), "each part is moved once"


def test_an_equal_transfer_is_served_meanwhile(stepping: tuple[Stepping, Machine, Engine]) -> None:
    """It recalls the lease, and does not wait for the end of a long transfer."""
    devices, machine, engine = stepping
    large = 1 << 16  # bytes of a chunk: requests of that size have a thread for each channel
    long, short = along(machine, 300, chunk=large), along(machine, 1, chunk=large)
    (source, destination), (here, there) = ends(long), ends(short, 2)
    events: list[Any] = []
    arrived: list[int] = []
    told = threading.Event()

    def note(_: object) -> None:
        arrived.append(first.bytes_done)
        told.set()

    def between(parts: int) -> None:
        if parts == 3 and not events:
            events.append(engine.submit(short, here, there))
            events[0].add_done_callback(note)

    devices.between = between
    first = engine.submit(long, source, destination)
    first.wait()
    events[0].wait()
    told.wait()
    assert (source == destination).all()
    assert (here == there).all()
    assert arrived[0] < long.bytes


@pytest.mark.parametrize("what", ["opens", "fails", "is cancelled"])
@pytest.mark.parametrize("held", ["_begin", "_opened"])
def test_leased_before_its_stores_are_open(
    stepping: tuple[Stepping, Machine, Engine], monkeypatch: pytest.MonkeyPatch, held: str, what: str
) -> None:
    """A transfer ends while another thread opens the stores of the next one, which gets the channels."""
    devices, machine, engine = stepping
    made = along(machine, 4)
    (source, destination), (here, there) = ends(made), ends(made, 2)
    given, ended, events = threading.Event(), threading.Event(), list[Any]()
    devices.between = lambda _: given.wait()
    first = engine.submit(made, source, destination)
    method = getattr(engine._driver, held)

    def waits(execution: Any, *rest: Any) -> Any:
        given.set()
        ended.wait()
        if what == "is cancelled":
            execution.event.cancel()
        return method(execution, *rest)

    monkeypatch.setattr(engine._driver, held, waits)
    there = there[: -CHUNK if what == "fails" else None]
    thread = threading.Thread(target=lambda: events.append(engine.submit(made, here, there)))
    thread.start()
    first.wait()
    for _ in range(100):  # the thread that has moved it carries out what follows
        ended.wait(1e-3)
    ended.set()
    thread.join()
    error = events[0].error(timeout=60)
    if what == "opens":
        assert error is None
        assert events[0].route == "lane"
        assert (here == there).all()
    else:
        assert isinstance(error, Cancelled if what == "is cancelled" else ArrayError)
    monkeypatch.undo()
    _moves_again(devices, engine, made)


def test_its_first_channel_is_leased_to_another_transfer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first hop has ended and its last one waits. It goes on in a thread of the channel that it needs."""
    monkeypatch.setattr(execution, "IN_TURN", 0)
    devices, machine = Stepping(), row(2)
    names = [memory.name for memory in machine.memories]

    def between(first: int, last: int, chunks: int) -> Plan:
        over = names[first : last + 1]
        whole = Transfer.whole(IndexSpace(x=chunks * CHUNK), FieldSpace(v="u1"), over[0], "<F, x>", over[-1], "<F, x>")
        return plan_by_path(whole, machine, over, chunk=CHUNK)

    both, left, right = between(0, 2, 2), between(0, 1, 4), between(1, 2, 4)
    begun, ends_now = [threading.Event() for _ in range(2)], [threading.Event() for _ in range(2)]
    holds = [False, True]

    def held(_: int) -> None:
        at = "m0" not in threading.current_thread().name
        if holds[at]:
            begun[at].set()
            ends_now[at].wait()

    devices.between = held
    with Engine(machine, devices) as engine:
        events = [engine.submit(right, *ends(right))]
        begun[1].wait()
        source, destination = ends(both)
        events.append(engine.submit(both, source, destination))
        hops = engine._driver.scheduler._transfers[1].xds
        while hops[0].moved < 2:
            pass
        holds[0] = True
        events.append(engine.submit(left, *ends(left)))
        begun[0].wait()
        holds[1] = False
        ends_now[1].set()
        try:
            assert events[1].error(timeout=60) is None
            assert (source == destination).all()
            assert not events[2].done
        finally:
            ends_now[0].set()
        for event in events:
            event.wait()


def test_closed_meanwhile(stepping: tuple[Stepping, Machine, Engine]) -> None:
    devices, machine, engine = stepping
    made = along(machine, 4)
    closing = threading.Thread(target=engine.close)

    def between(parts: int) -> None:
        if parts == 5:
            closing.start()
            while not engine._driver.is_closed:
                threading.Event().wait(0.001)

    devices.between = between
    event = engine.submit(made, *ends(made))
    assert isinstance(event.error(), Cancelled)
    closing.join()
    with pytest.raises(EngineClosed):
        engine.submit(made, *ends(made))


@pytest.mark.parametrize("waits", [False, True])
def test_the_caller_carries_out_a_small_one(waits: bool) -> None:
    devices, machine = Stepping(), row()
    made, threads = along(machine, 4), set()
    devices.between = lambda _: threads.add(threading.current_thread())
    source, destination = ends(made)
    with Engine(machine, devices) as engine:
        if waits:
            engine.run(made, source, destination)
        else:
            assert engine.submit(made, source, destination).done
    assert threads == {threading.current_thread()}
    assert (source == destination).all()


def test_many_at_once(report: Callable[[str, object], None]) -> None:
    """Threads submit transfers of all priorities over the same channels: every byte arrives."""
    machine = row(capacity=1 << 20)
    plans = [along(machine, chunks, priority=priority) for chunks in (1, 3, 16) for priority in (0, 1, 2)]
    wrong, routes = [], []
    with Engine(machine) as engine:

        def work(seed: int) -> None:
            rng = random.Random(seed)
            for _ in range(15):
                made = rng.choice(plans)
                source, destination = ends(made, rng.randrange(1000))
                event = engine.submit(made, source, destination)
                if rng.random() < 0.1:
                    event.cancel()
                error = event.error()
                routes.append(event.route)
                if error is None and (source != destination).any():
                    wrong.append(seed)
                elif error is not None and not isinstance(error, Cancelled):
                    wrong.append(error)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert engine.held_bytes == 0
    assert not wrong
    assert "lane" in routes
    report("transfers at once, in lanes", routes.count("lane"))


# ---- the process ends

LEFT = """
import sys, numpy as np
sys.path[:0] = ["tests", "tests/run/engine"]
from test_leased_channels import along, row
from isoviz import Engine
from isoviz.backends.host import kernels
kernels.prepare(wait=True)
machine = row(3, chunk=1 << 18)
made = along(machine, 800, chunk=1 << 18)
source, destination = np.ones(made.bytes, "u1"), np.zeros(made.bytes, "u1")
engine = Engine(machine)
event = engine.submit(made, source, destination)
while not event.bytes_done and not event.done:
    pass
"""


@pytest.mark.few(1)
@pytest.mark.parametrize("turn", range(10))
def test_the_process_ends_while_a_lane_works(turn: int) -> None:
    done = subprocess.run([sys.executable, "-c", LEFT], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")


WATCHED = """
import atexit, sys, threading

def watch():  # it comes after what isoviz has registered
    program, pause = sys.modules["isoviz.runtime.engine.program"], threading.Event()
    for _ in range(30):
        pause.wait(2e-3)
        if program._moving:
            print("a loop works", file=sys.stderr)
            return

atexit.register(watch)
"""


def test_no_loop_begins_once_the_process_ends() -> None:
    code = WATCHED + LEFT
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_waits_for_no_loop(stepping: tuple[Stepping, Machine, Engine]) -> None:
    """The loops that work stay the parent's."""
    devices, machine, engine = stepping
    made = along(machine, 2)
    found = []

    def between(_: int) -> None:
        if not found and not (child := os.fork()):
            os._exit(len(program._moving))
        elif not found:
            found.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    devices.between = between
    engine.run(made, *ends(made))
    assert found == [0]
