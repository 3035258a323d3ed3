"""Asynchronous channels: how many requests are in flight, who starts them, how they end, and that nothing is left behind."""

from __future__ import annotations

import logging
import random
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from run_cases import elements, no_leaked_files, random_bytes, random_layout, random_spaces
from vaults import Devices, Held, machine

from isoviz import Engine, FieldSpace, IndexSpace, Instance, Layout, Options, Transfer, plan, simulate
from isoviz.errors import Cancelled, RunError, TransferError, VerificationError
from isoviz.planner import Plan
from isoviz.runtime import Event, Progress

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]

MACHINE = machine()
SYS, NEAR, FAR = "node0.sys", "node0.vault0", "node0.vault1"
PAIR = FieldSpace(re="f4", im="f4")
REQUEST = 1 << 14
Report = Callable[[str, object], None]


@pytest.fixture
def devices() -> Iterator[Devices]:
    found = Devices()
    yield found
    found.join()


def pairs(source: str, destination: str, nbytes: int = 1 << 20, layout: str = "<x, F>") -> Plan:
    return plan(Transfer.whole(IndexSpace(x=nbytes // 8), PAIR, source, "<F, x>", destination, layout), MACHINE)


def ready(engine: Engine, devices: Devices, made: Plan) -> list[Any]:
    """The device's channels of a plan, before anything is submitted."""
    for hop in made.hops:
        engine._driver.real.channel(hop.channel)
    return [devices.links[hop.channel] for hop in made.hops if hop.channel in devices.links]


def test_several_hops_that_convert_are_right_in_every_byte(devices: Devices) -> None:
    data = np.frombuffer(random.Random(1).randbytes(1 << 20), "u1").copy()
    there, back = pairs(SYS, FAR), pairs(FAR, SYS)
    assert len(there.hops) >= 3 and any(hop.source_layout != hop.destination_layout for hop in there.hops)
    kept = Held(FAR, there.transfer.destination, np.zeros(1 << 20, "u1"))
    with Engine(MACHINE, devices, request_bytes=REQUEST) as engine:
        first, *_ = ready(engine, devices, there)
        first.at_least = 4  # a chunk is several requests, and two chunks have a slot
        report = engine.run(there, data, kept)
        assert report.verified and "moved by a vault" in report.notes
        expected = np.stack([data.view("f4")[0::2], data.view("f4")[1::2]]).view("u1").reshape(-1)
        assert np.array_equal(kept.read(0, 1 << 20), expected)
        assert first.most_in_flight == 4 and first.ended != sorted(first.ended)
        for hop in there.hops:
            link = devices.links[hop.channel]
            assert 1 <= link.most_in_flight <= MACHINE.channel(hop.channel).max_in_flight
            assert sorted(link.ended) == list(range(link.started))
            assert link.starters == {f"isoviz {hop.channel} 0"}, "started from one thread of the channel"
        assert [measured.requests for measured in report.hops] == [devices.links[hop.channel].started for hop in there.hops]
        assert engine.run(back).verified
    assert devices.open == 0
    assert devices.ends[f"{SYS}->{NEAR}"] == 1, "a channel is made once, with both of its ends"


def test_random_transfers_at_once(devices: Devices, full: bool, report: Report) -> None:
    """To and from the device, over its channels and an ordinary one, some of them failing: what is done equals the source element
    by element."""
    rng = random.Random(5)
    done = failed = 0
    both = machine(copies=True)
    for _ in range(12 if full else 3):
        with Engine(both, devices, request_bytes=rng.choice((64, 512, 1 << 20))) as engine:
            jobs = []
            for _ in range(12):
                space, fields = random_spaces(rng)
                here, there = random_layout(rng, space), random_layout(rng, space)
                a, b = here.on(space, fields), there.on(space, fields)
                data = random_bytes(rng, a.nbytes)
                near, far = rng.choice(((SYS, FAR), (SYS, NEAR), (FAR, SYS), (NEAR, FAR)))
                moving = Transfer.whole(space, fields, near, here, far, there)
                try:
                    made = plan(moving, both, options=Options(slot_limit=max(64, a.nbytes // rng.choice((1, 4)))))
                except TransferError:
                    made = plan(moving, both)
                for link in ready(engine, devices, made):
                    link.act = lambda number: 1 / 0 if number % 37 == 36 else None
                given: Any = data if near == SYS else Held(near, moving.source, data)
                empty = np.zeros(b.nbytes, "u1")
                taken: Any = empty if far == SYS else Held(far, moving.destination, empty)
                jobs.append((engine.submit(made, given, taken, priority=rng.randrange(3)), a, data, b, taken))
            for event, a, data, b, taken in jobs:
                error = event.error(timeout=250)
                if error is None:
                    done += 1
                    out = taken if isinstance(taken, np.ndarray) else taken.read(0, b.nbytes)
                    assert elements(a, data) == elements(b, out)
                else:
                    failed += 1
                    assert isinstance(error, RunError) and error.hop is not None and "ZeroDivisionError" in str(error)
            assert engine.held_bytes == 0
        assert devices.open == 0
    assert done and failed
    report("real transfers over asynchronous channels, equal element by element", done)


def test_what_is_held_by_a_device_can_be_copied(devices: Devices) -> None:
    data = np.arange(1 << 16, dtype="u1")
    instance = Instance(FAR, IndexSpace(x=1 << 13), PAIR, Layout("<F, x>"))
    out = np.zeros((2, 1 << 13), "f4")
    with Engine(MACHINE, devices) as engine:
        engine.copy(Held(FAR, instance, data), "<F, x>", out, "<x, F>").wait(120)
        assert np.array_equal(out.view("u4"), data.view("u4").reshape(-1, 2).T)
        with pytest.raises(TransferError, match=r"copy: expected a NumPy array or something held in a vault, not str"):
            engine.copy("a file", "<F, x>", out, "<x, F>")


@pytest.mark.parametrize("hop", [0, 1, 2])
@pytest.mark.parametrize("how", ["act", "refuse"])
@pytest.mark.parametrize("error", [RunError("the vault is shut"), OSError(5, "Input/output error"), ValueError("what?")])
@pytest.mark.few(4)
def test_a_failure_names_hop_channel_and_chunk(devices: Devices, hop: int, how: str, error: Exception) -> None:
    """A request that ends with an error, and one that does not even start."""
    made = pairs(SYS, FAR)

    def fail(number: int) -> None:
        if number == 5:
            raise error

    with Engine(MACHINE, devices, request_bytes=REQUEST) as engine:
        setattr(ready(engine, devices, made)[hop], how, fail)
        event = engine.submit(made)
        found = event.error(120)
        assert isinstance(found, RunError) and str(error) in str(found)
        assert (found.hop, found.channel) == (hop, made.hops[hop].channel) and found.chunk is not None
        assert engine.held_bytes == 0
        setattr(devices.links[made.hops[hop].channel], how, lambda number: None)
        assert engine.run(made).verified, "the channel is as good as before"
    assert devices.open == 0


@pytest.mark.parametrize("count", [0, 1, 7, 20])
def test_cancelled_after_a_number_of_requests(devices: Devices, count: int) -> None:
    made = pairs(SYS, FAR)
    events: list[Event] = []
    known = threading.Event()

    def cancel(number: int) -> None:
        if number == count:
            assert known.wait(120)
            events[0].cancel()

    with Engine(MACHINE, devices, request_bytes=REQUEST) as engine:
        ready(engine, devices, made)[0].act = cancel
        events.append(engine.submit(made))
        known.set()
        assert isinstance(events[0].error(120), Cancelled)
        assert engine.held_bytes == 0
    assert devices.open == 0


def test_a_run_is_cancelled_by_its_token(devices: Devices) -> None:
    made, token = pairs(SYS, FAR), threading.Event()
    seen: list[Progress] = []
    with Engine(MACHINE, devices, request_bytes=REQUEST) as engine:
        ready(engine, devices, made)[1].act = lambda number: token.set() if number == 3 else None
        with pytest.raises(Cancelled):
            engine.run(made, cancel=token, progress=seen.append)
    assert devices.open == 0 and seen[-1].chunks_done < made.chunk_count


@pytest.mark.parametrize("result", [1, RunError("the vault is shut")])
def test_closing_waits_for_what_is_in_flight(devices: Devices, result: Any) -> None:
    """Stores stay open until the last request has ended, in success and in failure."""
    made = pairs(SYS, FAR)
    engine = Engine(MACHINE, devices, request_bytes=REQUEST)
    first, *_ = ready(engine, devices, made)
    first.act, first.at_least = lambda number: True, 4
    event = engine.submit(made)
    closer = threading.Thread(target=engine.close)
    with first.changed:
        assert first.changed.wait_for(lambda: len(first.held) == 4, 60)
    assert first.in_flight == 4 == MACHINE.channel("store").max_in_flight, "no more than the channel takes"
    closer.start()
    while not engine._driver.is_closed:
        closer.join(0.001)
    for number in (2, 0, 3):
        first.held[number](result)
        assert closer.is_alive() and not event.done and devices.open > 0
    first.held[1](result)
    closer.join(120)
    assert not closer.is_alive() and first.started == 4
    assert isinstance(event.error(0), Cancelled if result == 1 else RunError) and devices.open == 0


def test_done_called_twice_counts_once(devices: Devices, caplog: pytest.LogCaptureFixture) -> None:
    made = pairs(SYS, NEAR, 1 << 14, "<F, x>")
    with Engine(MACHINE, devices) as engine:
        (link,) = ready(engine, devices, made)
        start = link.start

        def twice(copies: Any, source: Any, destination: Any, check: Any, done: Callable[[Any], None]) -> None:
            def both(result: Any) -> None:
                done(result)
                done(RunError("once more"))

            start(copies, source, destination, check, both)

        link.start = twice
        with caplog.at_level(logging.ERROR, "isoviz"):
            report = engine.run(made)
            link.join()
        assert report.verified and report.hops[0].requests == 1
        assert "called done twice" in caplog.text and "once more" in caplog.text


@pytest.mark.parametrize("result", ["fine", None, -1, 1.5, True])
def test_done_with_nonsense_fails_the_transfer(devices: Devices, result: object) -> None:
    made = pairs(SYS, NEAR, 1 << 14, "<F, x>")
    with Engine(MACHINE, devices) as engine:
        (link,) = ready(engine, devices, made)
        link.start = lambda copies, source, destination, check, done: done(result)
        with pytest.raises(RunError, match="expected the number of requests of the device, or an exception"):
            engine.run(made)
    assert devices.open == 0


def test_thousands_of_requests_that_end_within_start(devices: Devices) -> None:
    """No request is carried out within another one: the stack stays flat, for the first requests and for those that follow."""
    made = pairs(SYS, NEAR, 1 << 20, "<F, x>")
    with Engine(MACHINE, devices, request_bytes=64) as engine:
        (link,) = ready(engine, devices, made)
        depths: set[int] = set()

        def at_once(copies: Any, source: Any, destination: Any, check: Any, done: Callable[[Any], None]) -> None:
            frame, depth = sys._getframe(), 0
            while (frame := frame.f_back) is not None:  # type: ignore[assignment]
                depth += 1
            depths.add(depth)
            done(1)

        link.start = at_once
        with pytest.raises(VerificationError):
            engine.run(made)
    assert len(depths) <= 2


def test_the_simulator_has_the_requests_of_the_engine(devices: Devices) -> None:
    for source, destination in ((SYS, FAR), (FAR, SYS), (NEAR, FAR)):
        made = pairs(source, destination)
        said = simulate(made, MACHINE)
        with Engine(MACHINE, devices) as engine:
            real = engine.run(made).trace
        assert sorted(span[1:4] for span in said.requests) == sorted(span[1:4] for span in real.requests)
