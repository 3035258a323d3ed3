"""Prepared transfers: they move what a plan moves, as often as they are started, beside all others."""

from __future__ import annotations

import gc
import random
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from run_cases import elements, random_bytes

import isoviz
from isoviz.backends.devices import ThisComputer
from isoviz.backends.host.host_memory import HostMemory, Memcpy
from isoviz.errors import EngineClosed, InputError, RunError, TransferError
from isoviz.machines import ChannelKind, MemoryKind, preset

MACHINE = preset("local", measure="assumed")
ORDERS = ("<F, x, y>", "<F, y, x>", "<x, F, y>", "<x_in=4, F, y, x_out>", "<y, x, F>")


def transfer_of(source: str, destination: str, space: isoviz.IndexSpace, fields: isoviz.FieldSpace) -> isoviz.Transfer:
    return isoviz.Transfer.whole(space, fields, "node0.sys", source, "node0.sys", destination)


def test_random_plans_again_and_again(full: bool) -> None:
    """Small ones and large ones, with the source changed between the starts."""
    chance = random.Random(11)
    with isoviz.Engine(MACHINE) as engine:
        for _ in range(400 if full else 12):
            space = isoviz.IndexSpace(x=chance.randint(4, 70), y=chance.randint(1, 70))
            types = [chance.choice(("u1", "f4", "f8", "c16", "S3")) for _ in range(chance.randint(1, 3))]
            fields = isoviz.FieldSpace.of({f"f{k}": each for k, each in enumerate(types)})
            transfer = transfer_of(chance.choice(ORDERS), chance.choice(ORDERS), space, fields)
            options = isoviz.Options(slot_limit=chance.choice((None, 1 << 12)))
            plan = isoviz.plan(transfer, MACHINE, "full", options=options)
            ends = [end.linearization for end in (transfer.source, transfer.destination)]
            source, destination = (np.zeros(end.nbytes, np.uint8) for end in ends)
            with engine.prepare(plan, source, destination) as prepared:
                for _ in range(3):
                    source[:] = random_bytes(chance, ends[0].nbytes)
                    prepared.start().wait()
                    assert elements(ends[1], destination) == elements(ends[0], source)


def small(engine: isoviz.Engine) -> tuple[isoviz.Plan, np.ndarray, np.ndarray]:
    transfer = transfer_of("<F, x, y>", "<F, y, x>", isoviz.IndexSpace(x=8, y=8), isoviz.FieldSpace(v="f8"))
    plan = isoviz.plan(transfer, engine.machine)
    return plan, np.arange(64.0).reshape(8, 8), np.zeros((8, 8))


def test_a_small_one_is_carried_out_by_the_thread_that_starts_it() -> None:
    with isoviz.Engine(MACHINE) as engine:
        plan, source, destination = small(engine)
        prepared = engine.prepare(plan, source, destination)
        before = threading.active_count()
        event = prepared.start()
        assert event.done and event.plan is plan and event.bytes_done == 512
        assert threading.active_count() == before
        assert np.array_equal(destination, source.T)


def test_the_ends_of_a_small_one_are_opened_once() -> None:
    opened = []

    class Counted(HostMemory):
        def source(self, *arguments: object) -> object:  # type: ignore[override]
            opened.append(self.name)
            return super().source(*arguments)  # type: ignore[arg-type]

    with isoviz.Engine(MACHINE, ThisComputer(memories={MemoryKind("SYS"): lambda memory: Counted(memory.name)})) as engine:
        plan, source, destination = small(engine)
        prepared = engine.prepare(plan, source, destination)
        for _ in range(5):
            prepared.start().wait()
        assert np.array_equal(destination, source.T) and len(opened) == 1


def test_beside_others_on_the_channel() -> None:
    """While the channel is busy a prepared transfer waits its turn like any other."""
    entered, go_on = threading.Event(), threading.Event()

    class Slow(Memcpy):
        def move(self, *arguments: object) -> int:
            entered.set()
            assert go_on.wait(120)
            return super().move(*arguments)  # type: ignore[arg-type]

    devices = ThisComputer(channels={ChannelKind("Memcpy"): lambda *_: Slow()})
    with isoviz.Engine(MACHINE, devices) as engine:
        plan, source, destination = small(engine)
        prepared = engine.prepare(plan, source, destination)
        big = isoviz.plan(
            transfer_of("<F, x, y>", "<F, x, y>", isoviz.IndexSpace(x=1 << 10, y=1 << 10), isoviz.FieldSpace(v="f8")), MACHINE
        )
        first = engine.submit(big)
        assert entered.wait(120)
        event = prepared.start()
        assert not event.done and not destination.any()
        with pytest.raises(InputError, match="has not ended"):
            prepared.start()
        go_on.set()
        event.wait(120)
        first.wait(120)
        assert np.array_equal(destination, source.T)
        prepared.start().wait(120)


def test_what_it_holds_and_when_it_ends() -> None:
    engine = isoviz.Engine(MACHINE)
    plan, source, destination = small(engine)
    prepared = engine.prepare(plan, source, destination)
    kept = weakref.ref(source)
    del source
    assert kept() is not None
    prepared.close()
    prepared.close()
    gc.collect()
    assert kept() is None
    with pytest.raises(InputError, match="closed"):
        prepared.start()
    source = np.ones((8, 8))
    other = engine.prepare(plan, source, destination)
    engine.close()
    with pytest.raises((EngineClosed, InputError), match="closed"):
        other.start()
    with pytest.raises(EngineClosed):
        engine.prepare(plan, source, destination)


def test_refused() -> None:
    with isoviz.Engine(MACHINE) as engine:
        plan, source, destination = small(engine)
        with pytest.raises(TransferError, match="has 504 bytes"):
            engine.prepare(plan, source.reshape(-1)[:63], destination)
        with pytest.raises(TransferError, match="the same"):
            engine.prepare(plan, source, source)
        with pytest.raises(InputError, match="a plan"):
            engine.prepare("plan", source, destination)  # type: ignore[arg-type]
        far = isoviz.plan(
            isoviz.Transfer.whole(
                isoviz.IndexSpace(x=4), isoviz.FieldSpace(v="f8"), "node0.fbm0", "<F, x>", "node1.fbm0", "<F, x>"
            ),
            preset("two-node"),
        )
        with pytest.raises(TransferError):
            engine.prepare(far)


def test_an_error_of_its_channel_is_that_of_the_event() -> None:
    class Broken(Memcpy):
        def prepared_move(self, *_: object) -> tuple[object, ...]:  # type: ignore[override]
            return (self._fail,)

        def _fail(self) -> None:
            raise OSError(5, "the bus is gone")

    devices = ThisComputer(memories={}, channels={ChannelKind("Memcpy"): lambda *_: Broken()})
    with isoviz.Engine(MACHINE, devices) as engine:
        plan, source, destination = small(engine)
        prepared = engine.prepare(plan, source, destination)
        for _ in range(2):
            error = prepared.start().error(120)
            assert isinstance(error, RunError) and error.hop == 0 and error.chunk == 0 and "the bus is gone" in str(error)


def test_files_are_opened_at_every_start(tmp_path: Path) -> None:
    """A file of that name may be another one by then, and a destination appears only when it is complete."""
    space, fields = isoviz.IndexSpace(x=16, y=4), isoviz.FieldSpace(value="f8")
    ends = [("node0.dsk", "<F, x, y>"), ("node0.dsk", "<F, y, x>")]
    transfer = isoviz.Transfer.whole(space, fields, *ends[0], *ends[1])
    source, destination = tmp_path / "in.npy", tmp_path / "out.npy"
    with isoviz.Engine(MACHINE) as engine:
        np.save(source, np.zeros((4, 16)))
        prepared = engine.prepare(isoviz.plan(transfer, MACHINE), source, destination)
        for turn in range(2):
            values = np.random.default_rng(turn).random((4, 16))
            np.save(source, values)
            prepared.start().wait()
            assert np.array_equal(np.load(destination), values.T)
            destination.unlink()


def test_an_own_channel_that_prepares_nothing() -> None:
    """It is called as ever."""
    moves = []

    class Plain(Memcpy):
        def prepared_move(self, *_: object) -> None:  # type: ignore[override]
            return None

        def move(self, *arguments: object) -> int:
            moves.append(len(arguments))
            return super().move(*arguments)  # type: ignore[arg-type]

    with isoviz.Engine(MACHINE, ThisComputer(channels={ChannelKind("Memcpy"): lambda *_: Plain()})) as engine:
        plan, source, destination = small(engine)
        prepared = engine.prepare(plan, source, destination)
        prepared.start().wait()
        prepared.start().wait()
        assert np.array_equal(destination, source.T) and len(moves) == 2


def test_a_recorded_engine_keeps_its_trace() -> None:
    with isoviz.Engine(MACHINE, record=True) as engine:
        plan, source, destination = small(engine)
        prepared = engine.prepare(plan, source, destination)
        for _ in range(3):
            prepared.start().wait()
        assert len(engine.trace().transfers) == 3


def test_without_objects_the_source_is_generated_once() -> None:
    with isoviz.Engine(MACHINE) as engine:
        plan, _, _ = small(engine)
        prepared = engine.prepare(plan)
        for _ in range(2):
            prepared.start().wait()
