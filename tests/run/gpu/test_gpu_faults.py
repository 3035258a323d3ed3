"""What fails on a GPU ends the transfer with a typed error: nothing is leaked, and the engine goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_arrays import FakeArray, FakeKernels
from fake_driver import FakeDriver
from gpu_cases import MEMORIES, engine, machine
from run_cases import no_leaked_files

from isoviz import FieldSpace, IndexSpace, Transfer, plan
from isoviz.backends.cuda import staging
from isoviz.backends.cuda.enqueueing import Lane
from isoviz.backends.cuda.gpus import Gpus
from isoviz.backends.devices import ThisComputer
from isoviz.errors import Cancelled, DeviceError, DeviceMemoryError, RunError, TransferError, VerificationError
from isoviz.machines import Memory, MemoryKind
from isoviz.planner import Plan

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]

MACHINE = machine()
SPACE, PAIR = IndexSpace(x=700), FieldSpace(re="f4", im="f2")
ROADS = {
    "staged up": ("sys", "fbm0"),
    "staged down": ("fbm0", "sys"),
    "direct up": ("zcm", "fbm0"),
    "direct down": ("fbm1", "zcm"),
    "within": ("fbm0", "fbm0"),
    "to a peer": ("fbm0", "fbm1"),
    "from a file": ("dsk", "fbm1"),
}
CALLS = (
    *("device_count", "device_name", "architecture", "used_device", "use", "allocate", "allocate_pinned", "place_of"),
    *("new_stream", "wait_stream", "destroy_stream", "new_event", "destroy_event", "record", "is_over", "wait_event", "follow"),
    *("copy", "copy_2d", "copy_peer", "fill", "reaches", "enable_peer", "load", "function", "launch", "unload", "free_bytes"),
)


def plan_of(road: str, layout: str = "<x, F>") -> Plan:
    near, far = (f"node0.{name}" for name in ROADS[road])
    return plan(Transfer.whole(SPACE, PAIR, near, "<F, x>", far, layout), MACHINE)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "PIECE", 1024)


def run(
    driver: FakeDriver, road: str, folder: Path, kernels: FakeKernels | None = None, layout: str = "<x, F>"
) -> BaseException | None:
    """The error of a transfer, after which the same engine carries out another one, and nothing is left."""
    chosen = plan_of(road, layout)
    error: BaseException | None = None
    with engine(driver, MACHINE, folder, kernels, request_bytes=1024, tolerant=True) as running:
        try:
            running.run(chosen)
        except (RunError, TransferError) as found:
            error = found
        driver.fail = lambda name, number: None
        assert running.held_bytes == 0
        if not driver.dead:
            assert running.run(chosen).verified
    return error


@pytest.mark.full
def test_every_call_may_fail(tmp_path: Path, report: Callable[[str, object], None]) -> None:
    failed: set[str] = set()
    cases = 0
    for road in ROADS:
        for layout in ("<x, F>", "<F, x>"):
            quiet = FakeDriver()
            assert run(quiet, road, tmp_path, layout=layout) is None
            for call in CALLS:
                most = quiet.calls[call]
                for number in range(1, min(most, 20) + 1):
                    driver = FakeDriver(number)

                    def fail(name: str, count: int, call: str = call, number: int = number) -> Exception | None:
                        return DeviceError(f"planted in {call}") if (name, count) == (call, number) else None

                    driver.fail = fail
                    error = run(driver, road, tmp_path, layout=layout)
                    cases += 1
                    if error is not None:
                        assert isinstance(error, DeviceError | TransferError), error
                        assert f"planted in {call}" in str(error), error
                        failed.add(call)
    # A transfer needs neither kernels, nor the end of a stream, an event or a module, nor a figure for an error message.
    # Its arrays have no stream to follow (`test_gpu_streams`). The driver is asked to wait only for what takes long.
    unneeded = {
        "wait_event",
        "load",
        "function",
        "destroy_stream",
        "destroy_event",
        "unload",
        "free_bytes",
        "place_of",
        "copy_2d",
        "follow",
    }
    assert failed >= set(CALLS) - unneeded, failed
    report("faults planted in GPU calls, nothing leaked", cases)


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("call", ["is_over", "wait_event", "launch", "copy"])
@pytest.mark.few(4)
def test_a_failing_kernel_takes_the_device_with_it(road: str, call: str, tmp_path: Path) -> None:
    """After a wrong access of a kernel every call fails. The transfer ends nevertheless, and so does the engine."""
    driver = FakeDriver(3)

    def die(name: str, number: int) -> Exception | None:
        if name == call:
            driver.dead = True
            return DeviceError("fake: an illegal memory access was encountered")
        return None

    driver.fail = die
    error = run(driver, road, tmp_path)
    assert error is None or isinstance(error, DeviceError | TransferError)
    assert (error is None) == (not driver.dead)
    if driver.dead and error is not None and not isinstance(error, TransferError):
        assert "illegal memory access" in str(error)


@pytest.mark.parametrize("road", ROADS)
def test_no_room(road: str, tmp_path: Path) -> None:
    for capacity, pinned in ((2500, 1 << 30), (1 << 30, 700)):
        driver = FakeDriver(capacity=capacity, pinned=pinned)
        chosen = plan_of(road)
        with engine(driver, MACHINE, tmp_path, tolerant=True) as running:
            needs_pinned = any(name.endswith((".zcm", ".sys")) for name in chosen.every_memory)
            if pinned == 700 and not needs_pinned:
                continue
            with pytest.raises(DeviceMemoryError, match=r"no room|out of pinned memory|out of memory"):
                running.run(chosen)
            driver.capacity = driver.pinned_capacity = 1 << 30
            assert running.run(chosen).verified


def test_no_room_says_what_is_free(tmp_path: Path) -> None:
    with engine(FakeDriver(capacity=2500), MACHINE, tmp_path) as running, pytest.raises(DeviceMemoryError) as caught:
        running.run(plan_of("staged up"))
    assert "memory node0.fbm0: no room for 4.1 KiB on GPU 0 (fake), where 2.44 KiB of 2.44 KiB are free" in str(caught.value)


@pytest.mark.parametrize("road", ROADS)
def test_cancel_in_flight(road: str, tmp_path: Path) -> None:
    """A cancelled transfer waits for what the GPU still does, and only then frees its memory."""
    driver = FakeDriver(5)
    flying, go = threading.Event(), threading.Event()

    def hold() -> bool:
        if driver.in_flight:
            flying.set()
        return not go.is_set()

    driver.hold = hold
    with engine(driver, MACHINE, tmp_path, request_bytes=256) as running:
        event = running.submit(plan_of(road))
        assert flying.wait(120)
        event.cancel()
        go.set()
        error = event.error(timeout=250)
        assert error is None or isinstance(error, Cancelled)  # the last request may have been on its way
        assert running.held_bytes == 0
        assert running.run(plan_of(road)).verified


def test_the_wrong_device_and_the_wrong_object(tmp_path: Path) -> None:
    driver = FakeDriver()
    data = np.zeros(4200, np.uint8)
    here, there = FakeArray(driver, data, 0), FakeArray(driver, data, 1)
    narrow = FakeArray(driver, data[:9], 0)
    fixed = FakeArray(driver, data, 0)
    fixed.__cuda_array_interface__["data"] = (fixed._pointer, True)
    masked = FakeArray(driver, data, 0, mask=here)
    apart = FakeArray(driver, data, 0, shape=(2100,), typestr="|u1", strides=(2,))
    chosen = plan_of("within")
    wrong: list[tuple[Any, Any, str]] = [
        (there, here, r"source array for node0\.fbm0: lies on GPU 1; expected GPU 0"),
        (here, there, r"destination array for node0\.fbm0: lies on GPU 1; expected GPU 0"),
        (narrow, here, "has 9 bytes of uint8; layout .* needs 4200"),
        (here, fixed, "is read-only"),
        (masked, here, "has a mask"),
        (apart, here, "is not dense"),
        (data, here, "expected an array on a GPU .*, not ndarray"),
        (here, here, "source and destination are the same"),
    ]
    with engine(driver, MACHINE, tmp_path) as running:
        for source, destination, said in wrong:
            with pytest.raises(TransferError, match=said):
                running.run(chosen, source, destination)
    devices = ThisComputer(gpus=Gpus(driver, FakeKernels()))
    with pytest.raises(TransferError, match=r"memory node0\.fbm7: is bound to GPU 7; this computer has GPUs 0 to 1"):
        devices.memory(Memory("node0.fbm7", MemoryKind.FBM))
    assert devices.memory(Memory("node0.fbm7", MemoryKind.FBM, device=1)) is not None
    assert devices.memory(Memory("node1.fbm0", MemoryKind.FBM, node=1)) is None


def test_emulated_memory_never_asks_for_a_gpu(tmp_path: Path) -> None:
    driver = FakeDriver()
    emulated = machine(**dict.fromkeys(("fbm0", "fbm1", "zcm"), True))
    with engine(driver, emulated, tmp_path) as running:
        for near in MEMORIES:
            chosen = plan(Transfer.whole(SPACE, PAIR, f"node0.{near}", "<F, x>", "node0.fbm0", "<x, F>"), emulated)
            found = running.run(chosen)
            assert found.verified and any("emulated in host memory: " in note for note in found.notes)
    assert not driver.calls


# ---- planted errors: what these tests would find


def test_a_request_that_ends_too_early_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = FakeDriver()
    driver.lazy = True
    monkeypatch.setattr(driver, "wait_event", lambda event: None)
    with pytest.raises((VerificationError, AssertionError)), engine(driver, MACHINE, tmp_path) as running:
        running.run(plan_of("direct up"), verify=False)  # frees what queued work uses


def test_a_buffer_that_is_used_again_too_early_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = FakeDriver()
    driver.lazy = True
    monkeypatch.setattr(driver, "wait_event", lambda event: None)
    out = FakeArray(driver, np.zeros(4200, np.uint8))
    with pytest.raises((VerificationError, AssertionError)), engine(driver, MACHINE, tmp_path) as running:
        running.run(plan_of("staged up"), np.random.default_rng(1).integers(256, size=4200, dtype="u1"), out)


def test_a_thread_with_another_device_is_found(tmp_path: Path) -> None:
    driver = FakeDriver()
    gpu = ThisComputer(gpus=Gpus(driver, FakeKernels())).memory(Memory("node0.fbm1", MemoryKind.FBM)).gpu  # type: ignore[union-attr]
    lane = Lane(gpu)
    with gpu.current():
        stream = lane.stream
    with pytest.raises(AssertionError, match="a stream of device 1 in a thread that uses device 0"):
        driver.record(driver.new_event(), stream)
    lane.close()
