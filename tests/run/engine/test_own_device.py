"""A device from outside the package, with kinds of its own: planned, run, failing and cancelled. It is the example's."""

from __future__ import annotations

import random
import runpy
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from run_cases import ROOT

import isoviz
from isoviz.errors import Cancelled, MachineError, RunError, TransferError
from isoviz.layouts.numpy_copy import apply
from isoviz.machines import machine_from_json, machine_to_json
from isoviz.planner import Plan
from isoviz.runtime.device_bases import AsynchronousChannel

OWN = runpy.run_path(str(ROOT / "examples" / "own_device.py"), run_name="own_device")
MACHINE = OWN["machine"]()
SPACE, FIELDS = isoviz.IndexSpace(x=96, y=70), isoviz.FieldSpace(re="float32", im="float64")
bytes_of: Callable[[Any], Any] = OWN["bytes_of"]


@pytest.fixture(autouse=True)
def no_queues_left() -> Iterator[None]:
    yield
    for queue in OPEN:
        queue.close()
    OPEN.clear()


class Shuffled(AsynchronousChannel):
    """A DMA engine of one thread that ends the requests it has in any order. `act` is called with the number of each request, and
    may raise, or return what to hand to `done` besides."""

    def __init__(self, seed: int = 0, act: Callable[[int], object] = lambda number: None) -> None:
        self.rng, self.act = random.Random(seed), act
        self.waiting: list[Any] = []
        self.started = self.most = 0
        self.over = False
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()
        OPEN.append(self)

    def start(self, copies: Any, source: Any, destination: Any, check: Any, done: Any) -> None:
        with self.changed:
            self.started += 1
            self.waiting.append((self.started, copies, source, destination, check, done))
            self.most = max(self.most, len(self.waiting))
            self.changed.notify()

    def _serve(self) -> None:
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.waiting or self.over)
                if self.over and not self.waiting:
                    return
                number, copies, source, destination, check, done = self.waiting.pop(self.rng.randrange(len(self.waiting)))
            try:
                check()
                self.act(number)
                apply(copies, bytes_of(source), bytes_of(destination))
            except BaseException as error:  # noqa: BLE001  # the engine gets it
                done(error)
            else:
                done(len(copies))

    def close(self) -> None:
        with self.changed:
            self.over = True
            self.changed.notify()
        self.thread.join()


OPEN: list[Shuffled] = []


def devices(make: Callable[[], Any]) -> Any:
    """This computer with the accelerator of the example, whose DMA engines are made by `make`."""
    found = OWN["devices"]()
    return type(found)(
        memories={OWN["ACC"]: OWN["DeviceMemory"]},
        channels={
            OWN["ACC_WRITE"]: lambda *_: make(),
            OWN["ACC_READ"]: lambda *_: make(),
            OWN["ACC_COPY"]: lambda *_: OWN["Copy"](),
        },
    )


def made(source: str, destination: str, layout: str = "<y, x, F>", **options: Any) -> Plan:
    limits = isoviz.Options(slot_limit=4096, **options)
    transfer = isoviz.Transfer.whole(SPACE, FIELDS, f"node0.{source}", "<F, x, y>", f"node0.{destination}", layout)
    return isoviz.plan(transfer, MACHINE, "full", limits)


def array_and_result() -> tuple[Any, Any, Any]:
    """An array of structs, room for a struct of arrays, and what has to be in it."""
    rng = np.random.default_rng(7)
    array = np.zeros((70, 96), FIELDS.dtype)
    array["re"], array["im"] = rng.random((70, 96)), rng.random((70, 96))
    return array, np.zeros(FIELDS.nbytes * 96 * 70, np.uint8), [array[name].T.tobytes() for name in ("re", "im")]


@pytest.mark.parametrize("seed", range(6))
def test_through_the_accelerator_bit_for_bit(seed: int) -> None:
    """From the host over the accelerator and back: chunks in flight, ended in any order, converted on the way."""
    path = ["node0.sys", "node0.acc", "node0.acc", "node0.sys"]
    transfer = made("sys", "sys").transfer
    plan = isoviz.cost(transfer, MACHINE, path, options=isoviz.Options(slot_limit=8192))
    array, room, expected = array_and_result()
    engines: list[Shuffled] = []

    def make() -> Shuffled:
        engines.append(Shuffled(seed))
        return engines[-1]

    with isoviz.Engine(MACHINE, devices(make), request_bytes=1024) as engine:
        report = engine.run(plan, array, room)
        assert engine.held_bytes == 0
    assert report.verified and len(plan.hops) == 3 and plan.chunk_count > 4
    assert room.tobytes() == b"".join(expected)
    assert max(each.most for each in engines) > 1, "several requests were in flight without a thread each"


@pytest.mark.parametrize(("source", "destination"), [("sys", "acc"), ("acc", "sys"), ("acc", "acc")])
def test_ends_on_the_accelerator_are_verified(source: str, destination: str) -> None:
    plan = made(source, destination)
    with isoviz.Engine(MACHINE, devices(Shuffled)) as engine:
        report = engine.run(plan)
    assert report.verified
    assert "ACC" in str(plan.hops)


def test_wrong_bytes_are_found() -> None:
    """Verification reads the accelerator by `Store.read`, not by what moved the bytes."""

    class Lying(Shuffled):
        def start(self, copies: Any, source: Any, destination: Any, check: Any, done: Any) -> None:
            done(len(copies))

    with isoviz.Engine(MACHINE, devices(Lying)) as engine, pytest.raises(isoviz.errors.VerificationError):
        engine.run(made("sys", "acc"))


@pytest.mark.parametrize("wrong", ["raises", "start raises", "not a number", "twice"])
def test_a_request_that_fails_ends_its_own_transfer(wrong: str, caplog: pytest.LogCaptureFixture) -> None:
    def act(number: int) -> None:
        if number == 5 and wrong == "raises":
            raise OSError("the link is down")

    class Failing(Shuffled):
        def start(self, copies: Any, source: Any, destination: Any, check: Any, done: Any) -> None:
            if wrong == "start raises" and self.started == 4:
                raise RuntimeError("no queue")
            if wrong == "not a number":
                done = (lambda inner: lambda result: inner("all" if isinstance(result, int) else result))(done)
            if wrong == "twice":
                done = (lambda inner: lambda result: (inner(result), inner(result)))(done)
            super().start(copies, source, destination, check, done)

    plan = made("sys", "acc")
    array, _, _ = array_and_result()
    with isoviz.Engine(MACHINE, devices(lambda: Failing(1, act)), request_bytes=512) as engine:
        if wrong == "twice":
            assert engine.run(plan, array).verified
            assert "called done twice" in caplog.text
        else:
            with pytest.raises(RunError) as caught:
                engine.run(plan, array)
            assert caught.value.channel in {hop.channel for hop in plan.hops} and caught.value.chunk is not None
        assert engine.held_bytes == 0
        other = isoviz.plan(made("sys", "sys").transfer, MACHINE, "direct")
        assert engine.run(other, array).verified, "the engine goes on"


def test_cancelled_and_closed_while_requests_are_in_flight() -> None:
    for how in ("cancel", "close"):
        gate, reached = threading.Event(), threading.Event()

        def act(number: int, gate: threading.Event = gate, reached: threading.Event = reached) -> None:
            if number == 3:
                reached.set()
                assert gate.wait(120)

        engine = isoviz.Engine(MACHINE, devices(lambda act=act: Shuffled(2, act)), request_bytes=512)
        event = engine.submit(made("sys", "acc"))
        assert reached.wait(120)
        ending = threading.Thread(target=engine.close if how == "close" else event.cancel)
        ending.start()
        gate.set()
        ending.join(120)
        assert isinstance(event.error(120), Cancelled)
        if how == "cancel":
            assert engine.held_bytes == 0
            engine.close()


def test_machines_with_kinds_of_their_own_are_kept_and_refused() -> None:
    assert machine_from_json(machine_to_json(MACHINE)) == MACHINE
    data = machine_to_json(MACHINE)
    data["memories"][1]["kind"] = "ACD"
    with pytest.raises(MachineError, match="ACC"):
        machine_from_json(data)


def test_a_kind_without_a_device_says_so() -> None:
    with isoviz.Engine(MACHINE) as engine, pytest.raises(TransferError, match=r"node0\.acc"):
        engine.run(made("sys", "acc"))


def test_the_example_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "own_device.py")], capture_output=True, text=True, check=False, timeout=250
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("every byte verified") == 2
