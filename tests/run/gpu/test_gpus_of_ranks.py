"""What a rank knows of GPUs without MPI: which of them are its own, and how its registered memory is locked for them."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
from fake_arrays import FakeKernels
from fake_driver import FakeDriver

from isoviz.backends.cuda.device_memory import DeviceMemory
from isoviz.backends.cuda.gpu import Gpu
from isoviz.backends.cuda.gpus import Gpus, ProcessOnHost
from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.mpi.gpu_memory import LockedWindows
from isoviz.backends.mpi.windows import Segment, Windows
from isoviz.errors import DeviceError, TransferError
from isoviz.machines import Memory, MemoryKind

FBM, ZCM = MemoryKind.FBM, MemoryKind.ZCM


@pytest.mark.parametrize(
    ("ranks", "gpus", "first"),
    [
        (1, 1, [0]),
        (1, 4, [0]),
        (2, 1, [0, 0]),
        (2, 2, [0, 1]),
        (2, 4, [0, 2]),
        (3, 2, [0, 1, 0]),
        (4, 2, [0, 1, 0, 1]),
        (2, 3, [0, 1]),
    ],
)
def test_ranks_of_a_host_divide_its_gpus(ranks: int, gpus: int, first: list[int]) -> None:
    assert [ProcessOnHost(rank, "", rank, ranks).gpu(0, gpus) for rank in range(ranks)] == first


def test_names_and_devices_choose_the_gpu_of_a_rank() -> None:
    driver = FakeDriver(devices=4)
    made = Gpus(driver, FakeKernels(), process=ProcessOnHost(7, "rank 7", 1, 2))

    def number(name: str, kind: MemoryKind = FBM, device: int | None = None) -> int:
        found = (made.device_memory if kind is FBM else made.pinned_memory)(Memory(f"node7.{name}", kind, 7, device=device))
        assert found is not None
        return found.gpu.number  # type: ignore[attr-defined, no-any-return]

    assert [number("fbm0"), number("fbm1"), number("fbm2"), number("zcm", ZCM)] == [2, 3, 0, 2]
    assert [number("fbm0", device=0), number("zcm", ZCM, 1)] == [0, 1]
    for memory in (Memory("node7.fbm4", FBM, 7), Memory("node7.fbm0", FBM, 7, device=4)):
        with pytest.raises(TransferError, match=r"is bound to GPU 4; rank 7 has GPUs 0 to 3"):
            made.device_memory(memory)
    assert made.device_memory(Memory("node0.fbm0", FBM)) is None, "it belongs to another rank"
    driver.fail = lambda name, number: DeviceError("planted") if name == "device_count" else None
    broken = Gpus(driver, FakeKernels(), process=ProcessOnHost(7, "rank 7"))
    with pytest.raises(TransferError, match="the GPUs of rank 7 cannot be used: planted"):
        broken.device_memory(Memory("node7.fbm0", FBM, 7))
    assert isinstance(made.device_memory(Memory("node7.fbm0", FBM, 7)), DeviceMemory)


class Held:
    """Windows whose segments are locked, on a driver that checks how."""

    def __init__(self) -> None:
        self.driver = FakeDriver()
        self.gpu = Gpu(self.driver, 1, FakeKernels())
        self.windows = Windows(ended=self._ended)
        self.locked = LockedWindows(self.windows)

    def _ended(self, segment: Segment) -> None:
        self.locked.forget(segment)


def test_a_segment_is_locked_at_its_first_use_and_unlocked_while_it_is_mapped() -> None:
    held = Held()
    large, small, other = held.windows.array(5 << 20), held.windows.array(100), held.windows.array(100)
    assert held.locked.address(held.gpu, HostStore(np.zeros(9, np.uint8))) is None, "it lies in no window"
    for array in (large[777:], small, large, other):
        assert held.locked.address(held.gpu, HostStore(array)) == array.ctypes.data
    assert held.driver.calls["page_lock"] == 2, "small arrays share a segment"
    assert sum(map(len, held.driver.locked.values())) == held.windows.nbytes
    part = large[4096:8192].view("u4")
    del large, array
    gc.collect()
    assert len(held.driver.locked) == 2, "a part of it is in use"
    del part
    gc.collect()
    assert len(held.driver.locked) == 1
    held.windows.close()
    assert not held.driver.locked and not held.driver.violations
    assert small.sum() == 0, "the array is still there"


def test_a_segment_that_cannot_be_locked_is_asked_for_once() -> None:
    held = Held()
    held.driver.fail = lambda name, number: DeviceError("planted") if name == "page_lock" else None
    array = held.windows.array(5 << 20)
    for _ in range(3):
        with pytest.raises(DeviceError, match="planted"):
            held.locked.address(held.gpu, HostStore(array))
    assert held.driver.calls["page_lock"] == 1
    del array
    gc.collect()
    assert held.driver.calls["page_unlock"] == 0 and not held.windows.nbytes


def test_a_dead_device_does_not_keep_segments() -> None:
    held = Held()
    array = held.windows.array(5 << 20)
    held.locked.address(held.gpu, HostStore(array))
    held.driver.dead = True
    del array
    gc.collect()
    assert not held.windows.nbytes


def test_threads_lock_a_segment_once() -> None:
    held = Held()
    arrays = [held.windows.array(5 << 20) for _ in range(4)]
    together = threading.Barrier(8)

    def work() -> None:
        together.wait()
        for array in arrays:
            held.locked.address(held.gpu, HostStore(array))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert held.driver.calls["page_lock"] == 4 and not held.driver.violations
    held.windows.close()
    assert not held.driver.locked and not held.driver.violations
