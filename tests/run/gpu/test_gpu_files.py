"""Files and GPUs: through a ring of pinned memory, and straight (GPUDirect Storage, played by a kvikio of the tests)."""

from __future__ import annotations

import importlib.util
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_arrays import FakeArray, FakeKernels
from fake_driver import FakeDriver
from fake_kvikio import FakeKvikio, IOFuture, installs
from gpu_cases import engine, random_plan_moves_every_element
from run_cases import no_leaked_files, random_bytes

from isoviz import FieldSpace, IndexSpace, Machine, Options, Transfer, plan
from isoviz.backends import direct_storage
from isoviz.backends.disk import run_requests
from isoviz.errors import Cancelled, RunError, TransferError
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Memory, MemoryKind
from isoviz.planner import Plan

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]

DSK, ZCM, FBM = (
    Memory(f"node0.{name}", kind) for name, kind in (("dsk", MemoryKind.DSK), ("zcm", MemoryKind.ZCM), ("fbm0", MemoryKind.FBM))
)
RATE = LatencyBandwidth(1e-5, 1e9)
RING = Machine(
    "a ring",
    (DSK, ZCM, FBM),
    tuple(
        Channel("", kind, a.name, b.name, RATE)
        for a, b, kind in (
            (DSK, ZCM, ChannelKind.DISK_READ),
            (ZCM, DSK, ChannelKind.DISK_WRITE),
            (ZCM, FBM, ChannelKind.GPU_WRITE),
            (FBM, ZCM, ChannelKind.GPU_READ),
        )
    ),
)
DIRECT = Machine(
    "direct",
    (DSK, FBM),
    (
        Channel("in", ChannelKind.DIRECT_READ, DSK.name, FBM.name, RATE),
        Channel("out", ChannelKind.DIRECT_WRITE, FBM.name, DSK.name, RATE),
        Channel("within", ChannelKind.GPU_COPY, FBM.name, FBM.name, LatencyBandwidth(1e-9, 1e11)),
    ),
)
SPACE, PAIR = IndexSpace(x=1 << 17), FieldSpace(re="f4", im="f4")
NBYTES = 1 << 20


def between(near: Memory, far: Memory, made: Machine, there: str = "<F, x>", **options: int) -> Plan:
    return plan(Transfer.whole(SPACE, PAIR, near.name, "<F, x>", far.name, there), made, options=Options(**options))


# ---- through pinned memory


def address(view: Any) -> int:
    return int(np.frombuffer(view, np.uint8).ctypes.data)


@pytest.mark.parametrize("reads", [True, False])
def test_files_go_straight_to_and_from_pinned_memory(reads: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request of the disk uses the slots of the ring, from their first byte to their last: no byte is copied on the way."""
    driver = FakeDriver()
    there, bounced = 0, 0

    def watched(call: Callable[..., int]) -> Callable[..., int]:
        def moves(file: int, views: list[Any], offset: int) -> int:
            nonlocal there, bounced
            for view in views:
                at = address(view)
                inside = any(start <= at and at + len(view) <= start + len(data) for start, data in driver.pinned.items())
                there, bounced = there + len(view) * inside, bounced + len(view) * (not inside)
            return call(file, views, offset)

        return moves

    path = tmp_path / "pairs.bin"
    random_bytes(random.Random(1), NBYTES).tofile(path)
    chosen = between(DSK, FBM, RING, slot_limit=NBYTES // 8) if reads else between(FBM, DSK, RING, slot_limit=NBYTES // 8)
    assert [hop.kind for hop in chosen.hops] == (["DiskRead", "GPUWrite"] if reads else ["GPURead", "DiskWrite"])
    out = FakeArray(driver, np.fromfile(path, np.uint8))
    with engine(driver, RING, tmp_path) as running:
        monkeypatch.setattr(os, "preadv", watched(os.preadv))
        monkeypatch.setattr(os, "pwritev", watched(os.pwritev))
        monkeypatch.setattr(run_requests.aio, "is_available", lambda: False)
        result = (path, out) if reads else (out, tmp_path / "out.bin")
        running.run(chosen, *result, verify=False)
    assert np.array_equal(out.data, np.fromfile(result[0] if reads else result[1], np.uint8)[-NBYTES:])
    assert there == NBYTES and bounced < 4096


@pytest.mark.parametrize("reads", [True, False])
def test_the_disk_and_the_gpu_work_at_the_same_time(reads: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The GPU carries out nothing until the disk has the second chunk, or the disk nothing until the GPU has it."""
    driver = FakeDriver()
    chosen = between(DSK, FBM, RING, slot_limit=NBYTES // 8) if reads else between(FBM, DSK, RING, slot_limit=NBYTES // 8)
    assert chosen.only.chunk_count >= 8
    read, queued = threading.Semaphore(0), threading.Semaphore(0)
    in_time: list[bool] = []
    moves, copy = os.preadv if reads else os.pwritev, driver.copy

    def on_disk(file: int, views: list[Any], offset: int) -> int:
        if not reads and not in_time:
            in_time.append(all(queued.acquire(timeout=250) for _ in range(2)))
        count = moves(file, views, offset)
        read.release()
        return count

    def on_gpu(*arguments: int) -> None:
        copy(*arguments)
        queued.release()

    def hold() -> bool:
        """Whether the GPU rests. It gives up at last, so that a run without pipelining ends."""
        late = time.monotonic() > give_up
        if read._value >= 2 or late:
            in_time[:] = in_time or [not late]
            return False
        return True

    give_up = time.monotonic() + 60
    driver.copy = on_gpu  # type: ignore[method-assign]
    with engine(driver, RING, tmp_path) as running:
        monkeypatch.setattr(os, "preadv" if reads else "pwritev", on_disk)
        if reads:
            driver.hold = hold
        spans = running.run(chosen, verify=False).trace.requests
    assert in_time == [True]
    assert min(span.end for span in spans if span.hop == 1) < max(span.start for span in spans if span.hop == 0), "chunk by chunk"


# ---- straight


found = pytest.fixture(installs)


@pytest.mark.parametrize("compat", [False, True])
def test_files_to_a_gpu_and_back(compat: bool, tmp_path: Path, found: Callable[..., FakeKvikio]) -> None:
    driver = FakeDriver(4)
    module = found(driver, compat_mode=compat)
    data = np.arange(2 * SPACE["x"], dtype="f4").reshape(SPACE["x"], 2).view([("re", "f4"), ("im", "f4")])[:, 0]
    np.save(tmp_path / "in.npy", data)
    source, out = FakeArray(driver, data.view("u1")), FakeArray(driver, np.zeros(NBYTES, "u1"))
    up, down = between(DSK, FBM, DIRECT, "<x, F>"), between(FBM, DSK, DIRECT)
    assert up.hops[0].kind == "GPUDirectRead" and [hop.kind for hop in down.hops] == ["GPUDirectWrite"]
    with engine(driver, DIRECT, tmp_path) as running:
        report = running.run(up, tmp_path / "in.npy", out)
        assert report.verified and report.hops[0].requests >= 1 <= module.requests
        assert any("compatibility mode" in note for note in report.notes) == compat
        assert np.array_equal(out.data.view("f4").reshape(2, -1), data.view("f4").reshape(-1, 2).T)
        assert running.run(down, source, tmp_path / "out.npy").verified
    assert np.array_equal(np.load(tmp_path / "out.npy"), data)
    assert len(module.opened) == 2 and all(file.closed for file in module.opened)


def test_two_threads_may_ask_for_one_request() -> None:
    """The played kvikio: two threads that ask for one request get its result, and it is carried out once."""
    for _ in range(30):
        begun, asking = threading.Event(), threading.Event()
        carried: list[None] = []

        def carry_out(begun=begun, asking=asking, carried=carried) -> int:
            carried.append(None)
            begun.set()
            assert asking.wait(120)
            os.sched_yield()
            return 4096

        future = IOFuture(carry_out)
        found: list[int] = []
        first = threading.Thread(target=lambda future=future, found=found: found.append(future.get()))
        first.start()
        assert begun.wait(120)
        was_done = future.done()
        asking.set()
        found.append(future.get())
        first.join()
        assert found == [4096, 4096] and len(carried) == 1 and future.done() and not was_done


def test_random_plans_with_direct_storage(tmp_path: Path, full: bool, found: Callable[..., FakeKvikio], report) -> None:
    rng = random.Random(9)
    kinds: Counter[str] = Counter()
    for number in range(150 if full else 20):
        driver = FakeDriver(rng.randrange(1 << 30))
        found(driver)
        largest = rng.choice((5, 12))
        chosen = random_plan_moves_every_element(rng, driver, FakeKernels(), tmp_path, number, largest, direct=True)
        kinds.update(hop.kind for hop in chosen.every_hop)
    assert set(kinds) >= {"GPUDirectRead", "GPUDirectWrite"}, kinds
    report("random plans with direct storage over a driver that plays GPUs", number + 1)


@pytest.mark.parametrize("reads", [True, False])
def test_what_fails_ends_the_transfer(reads: bool, tmp_path: Path, found: Callable[..., FakeKvikio]) -> None:
    driver = FakeDriver()
    module = found(driver)
    chosen = between(DSK, FBM, DIRECT) if reads else between(FBM, DSK, DIRECT)

    def broken(number: int) -> int | None:
        raise RuntimeError("cuFile: no such device")

    faults: list[tuple[Callable[[int], int | None], str]] = [
        (broken, r"kvikio: cuFile: no such device \(hop 0"),
        (lambda number: 5 if number % 4 == 2 else None, r"kvikio: 5 of \d+ bytes at byte \d+ were moved \(hop 0"),
    ]
    with engine(driver, DIRECT, tmp_path, request_bytes=4096) as running:
        for fail, said in faults:
            module.fail = fail
            with pytest.raises(RunError, match=said):
                running.run(chosen)
            assert running.held_bytes == 0
        module.fail = lambda number: None
        assert running.run(chosen).verified
    assert all(file.closed for file in module.opened)


def test_a_cancel_waits_for_requests_under_way(tmp_path: Path, found: Callable[..., FakeKvikio]) -> None:
    driver = FakeDriver()
    module = found(driver)
    stop = threading.Event()

    def stopping(number: int) -> None:
        if number == 3:
            stop.set()

    module.fail = stopping
    with engine(driver, DIRECT, tmp_path, request_bytes=4096) as running, pytest.raises(Cancelled):
        running.run(between(DSK, FBM, DIRECT, "<x_in=64, F, x_out>"), cancel=stop)
    assert all(file.closed for file in module.opened)


def test_without_kvikio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    direct_storage.kvikio.cache_clear()
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "kvikio" else find(name, *more))
    said = r"channel in: kvikio, for GPUDirect Storage, is not installed here \(pip install kvikio-cu13\)"
    with engine(FakeDriver(), DIRECT, tmp_path) as running, pytest.raises(TransferError, match=said):
        running.run(between(DSK, FBM, DIRECT))


def test_an_emulated_gpu_needs_no_kvikio(tmp_path: Path) -> None:
    emulated = Machine("m", (DSK, Memory(FBM.name, FBM.kind, emulated=True)), DIRECT.channels)
    with engine(FakeDriver(), emulated, tmp_path) as running:
        for near, far in ((DSK, FBM), (FBM, DSK)):
            assert running.run(between(near, far, emulated)).verified
