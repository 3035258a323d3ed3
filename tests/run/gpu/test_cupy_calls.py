"""The driver of isoviz for real GPUs, over a CuPy that plays GPUs: every call, with CuPy's own names and parameters."""

from __future__ import annotations

import importlib.util
import inspect
import json
import random
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_arrays import FakeArray, FakeDlpack, FakeKernels
from fake_cupy import FakeCudaDriver, FakeEvent, FakeRuntime, FakeStream, install
from fake_driver import FakeDriver
from gpu_cases import engine, machine, random_plan_moves_every_element
from run_cases import no_leaked_files, random_bytes

from isoviz import FieldSpace, IndexSpace, Transfer, plan
from isoviz.backends.cuda import staging
from isoviz.backends.cuda.cuda_driver import Place
from isoviz.backends.cuda.cupy_driver import CupyDriver
from isoviz.backends.cuda.row_copies import Rows
from isoviz.backends.pages import PAGE, page_aligned
from isoviz.errors import DeviceError, DeviceMemoryError

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]


def test_random_plans_through_cupy(
    tmp_path: Path, full: bool, report: Callable[[str, object], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(41)
    count = 150 if full else 6
    for number in range(count):
        monkeypatch.setattr(staging, "PIECE", rng.choice((4096, 16384)))
        plays = FakeDriver(rng.randrange(1 << 30))
        driver = install(monkeypatch, plays)
        random_plan_moves_every_element(rng, plays, FakeKernels(), tmp_path, number, rng.choice((5, 12, 24)), driver)
    report("random plans through the calls of CuPy, equal element by element", count)


def test_every_call_reaches_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    plays = FakeDriver()
    driver = install(monkeypatch, plays)
    assert (driver.device_count(), driver.device_name(1), driver.architecture(0)) == (2, "fake", "sm_90")
    assert driver.free_bytes() == (plays.capacity, plays.capacity)
    assert driver.reaches(0, 1)
    driver.enable_peer(1)
    driver.enable_peer(1)  # twice is no error
    stream, event = driver.new_stream(), driver.new_event()
    block, pinned = driver.allocate(4096, stream), driver.allocate_pinned(4096)
    assert pinned.pointer % 4096 == 0 and pinned.array is not None and len(pinned.array) == 4096
    assert driver.place_of(block.pointer) == Place(0, False)
    assert driver.place_of(pinned.pointer) == Place(None, True)
    assert driver.place_of(np.zeros(9, np.uint8).ctypes.data) == Place(None, False)
    pinned.array[:] = np.arange(4096) % 251
    driver.copy(block.pointer, pinned.pointer, 4096, stream)
    driver.fill(block.pointer + 1, 7, 1, stream)
    rows = Rows(0, 2048, 3, 4, 5, 8, 9, 6, 7)
    driver.copy_rows(block.pointer, pinned.pointer, rows, stream)
    driver.copy_rows(block.pointer, pinned.pointer, rows._replace(depth=1, destination_offset=3072), stream)
    driver.record(event, stream)
    driver.wait_event(event)
    assert driver.is_over(event)
    found = plays.blocks[block.pointer][1]
    expected = (np.arange(4096) % 251).astype(np.uint8)
    expected[1] = 7
    for plane in range(5):
        for row in range(4):
            at, to = (plane * 6 + row) * 8, 2048 + (plane * 7 + row) * 9
            expected[to : to + 3] = (np.arange(at, at + 3) % 251).astype(np.uint8)
    for row in range(4):
        expected[3072 + 9 * row : 3075 + 9 * row] = (np.arange(8 * row, 8 * row + 3) % 251).astype(np.uint8)
    assert np.array_equal(found, expected)
    driver.free(block)
    driver.free_pinned(pinned)
    driver.destroy_event(event)
    driver.trim(stream)
    driver.destroy_stream(stream)
    assert plays.calls["trim"] == 1
    assert plays.used == (0, 0) and not plays.streams and not plays.events and not plays.violations


def test_threads_share_the_played_driver() -> None:
    """Threads that ask where bytes lie, and how many are used, while others allocate and free."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(4):
            plays = FakeDriver()
            stream, errors = plays.new_stream(), []
            together = threading.Barrier(4)

            def allocate(plays=plays, stream=stream, errors=errors, together=together) -> None:
                together.wait()
                try:
                    for block in [plays.allocate(64, stream) for _ in range(200)]:
                        plays.place_of(block.pointer)
                        plays.free_bytes()
                        plays.free(block)
                except BaseException as error:  # noqa: BLE001  # the test tells it
                    errors.append(error)

            threads = [threading.Thread(target=allocate) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not errors and plays.used == (0, 0) and not plays.violations
    finally:
        sys.setswitchinterval(before)


def test_a_thread_without_a_context_launches_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading and launching are calls of the driver, which has no context in a thread that only took over a stream."""
    plays = FakeDriver()
    driver = install(monkeypatch, plays)
    here, there = FakeArray(plays, np.arange(8, dtype="u1")), FakeArray(plays, np.zeros(8, "u1"))
    stream = driver.new_stream()

    def work() -> None:
        module = driver.load(b'{"run": 8, "loops": []}')
        driver.launch(driver.function(module, "k"), (1, 1, 1), (32, 1, 1), 0, (here._pointer, there._pointer, 0, 0), stream)
        driver.unload(module)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    driver.wait_stream(stream)
    assert not plays.violations and np.array_equal(there.data, np.arange(8))


def test_pages_are_locked_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    plays = FakeDriver()
    driver = install(monkeypatch, plays)
    array = page_aligned(8192)
    pointer = array.ctypes.data
    driver.page_lock(pointer, 8192)
    assert driver.place_of(pointer + 8191) == Place(None, True)
    driver.page_unlock(pointer)
    assert driver.place_of(pointer) == Place(None, False)
    monkeypatch.setattr(driver._runtime, "apart", 4096)
    with pytest.raises(DeviceError, match="reach the pages at another address only"):
        driver.page_lock(pointer, 8192)
    plays.fail = lambda name, number: DeviceError("planted") if name == "place_of" else None
    with pytest.raises(DeviceError, match="cudaPointerGetAttributes failed"):
        driver.page_lock(pointer, 8192)
    plays.fail = lambda name, number: DeviceMemoryError("planted") if name == "page_lock" else None
    with pytest.raises(DeviceMemoryError, match="cudaHostRegister failed"):
        driver.page_lock(pointer, 8192)
    assert not plays.locked and not plays.violations


@pytest.mark.parametrize("pages", ["all together", "each by itself", "not those between", "for devices elsewhere"])
def test_an_array_that_kernels_do_not_reach_as_it_lies_is_staged(
    pages: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others have locked its pages. Kernels get its addresses only where all of it is locked, and at the same address."""
    plays = FakeDriver()
    driver = install(monkeypatch, plays)
    array = page_aligned(4 * PAGE)
    array[:] = random_bytes(random.Random(1), len(array))
    starts = {"each by itself": (0, 1, 2, 3), "not those between": (0, 3)}.get(pages)
    for start in starts or (0,):
        plays.page_lock(array.ctypes.data + start * PAGE, len(array) if starts is None else PAGE)
    monkeypatch.setattr(driver._runtime, "apart", PAGE if "elsewhere" in pages else 0)
    space, fields = IndexSpace(x=len(array) // 4), FieldSpace(a="u2", b="u2")
    chosen = plan(Transfer.whole(space, fields, "node0.zcm", "<F, x>", "node0.fbm0", "<x, F>"), machine(), "direct")
    with engine(plays, machine(), tmp_path, through=driver) as running:
        target = FakeArray(plays, np.zeros_like(array))
        report = running.run(chosen, array, target)
        assert report.verified and np.array_equal(target.data.view("u2").reshape(2, -1), array.view("u2").reshape(-1, 2).T)
        assert any("is not pinned" in note for note in report.notes) == (pages != "all together")
        target.drop()


@pytest.mark.parametrize("shift", [0, 64])
def test_pinned_memory_is_no_larger_than_asked_for(shift: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool rounds up to a power of two. A page more is asked for only where the first answer does not begin at a page."""
    driver = install(monkeypatch, FakeDriver())
    asked: list[int] = []

    def alloc(size: int) -> np.ndarray[Any, Any]:
        asked.append(size)
        return page_aligned(size + shift)[shift:]

    monkeypatch.setattr(driver._cupy.cuda, "alloc_pinned_memory", alloc)
    block = driver.allocate_pinned(1 << 20)
    assert asked == [1 << 20] + [(1 << 20) + 4096] * (shift > 0)
    assert block.pointer % 4096 == 0 and block.nbytes == 1 << 20


def test_the_ends_of_a_transfer_ask_for_their_size(tmp_path: Path) -> None:
    driver, asked = FakeDriver(), []
    allocate = driver.allocate_pinned
    driver.allocate_pinned = lambda nbytes: asked.append(nbytes) or allocate(nbytes)  # type: ignore[method-assign,func-returns-value]
    ends = "node0.zcm", "<F, x>", "node0.fbm0", "<F, x>"
    with engine(driver, machine(), tmp_path) as running:
        running.run(plan(Transfer.whole(IndexSpace(x=1 << 16), FieldSpace(a="f4"), *ends), machine()))
    assert asked[0] == 1 << 18


class Narrow(FakeDlpack):
    """An array of elements that CuPy does not take."""

    dtype = "torch.bfloat16"


def test_elements_that_cupy_does_not_take_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plays = FakeDriver()
    driver = install(monkeypatch, plays)

    def refuses(given: object) -> object:
        raise TypeError("Unsupported dtype: bfloat16")

    monkeypatch.setattr(driver._cupy, "from_dlpack", refuses)
    given = Narrow(FakeArray(plays, np.zeros(64, "u1")))
    chosen = plan(Transfer.whole(IndexSpace(x=64), FieldSpace(a="u1"), "node0.fbm0", "<F, x>", "node0.sys", "<F, x>"), machine())
    said = (
        r"CuPy takes no Narrow with elements of torch\.bfloat16 \(Unsupported dtype: bfloat16\); .*tensor\.view\(torch\.uint16\)"
    )
    with engine(plays, machine(), tmp_path, through=driver) as running:
        with pytest.raises(DeviceError, match=said):
            running.submit(chosen, given, np.zeros(64, "u1")).wait(120)
        assert running.held_bytes == 0
    given.array.drop()


def test_errors_of_cupy_are_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    plays = FakeDriver(capacity=100, pinned=100)
    driver = install(monkeypatch, plays)
    stream = driver.new_stream()
    with pytest.raises(DeviceMemoryError, match="allocation: no room"):
        driver.allocate(101, stream)
    with pytest.raises(DeviceMemoryError, match="cudaHostAlloc failed"):
        driver.allocate_pinned(101)
    event = driver.new_event()
    plays.dead = True
    for call in (lambda: driver.wait_stream(stream), lambda: driver.is_over(event), lambda: driver.used_device()):
        with pytest.raises(DeviceError, match="failed: status 719"):
            call()


def parameters(documented: str) -> list[str]:
    """The names of the parameters in the first line of a function's documentation, as Cython writes it."""
    inside = documented.split("(", 1)[1].split(")")[0]
    return [re.split(r"[ *]", part.split("=")[0].strip())[-1] for part in inside.split(",") if part.strip()]


READ = """
import json
from cupy import cuda
names = json.loads(input())
found = {f"{m}.{n}": getattr(getattr(cuda, m), n).__doc__ for m, n in names}
found["PointerAttributes"] = [n for n in dir(cuda.runtime.PointerAttributes) if not n.startswith("_")]
print(json.dumps(found))
"""


@pytest.mark.skipif(importlib.util.find_spec("cupy") is None, reason="needs CuPy (no GPU): compares its parameters")
def test_parameters_are_those_of_the_real_cupy() -> None:
    names = [("runtime", name) for name in vars(FakeRuntime) if re.match(r"[a-z]+[A-Z]", name)]
    names += [("runtime", "memcpy"), *(("driver", name) for name in vars(FakeCudaDriver) if re.match(r"[a-z]+[A-Z]", name))]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", READ], input=json.dumps(names), capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert {"type", "device", "devicePointer"} <= set(found.pop("PointerAttributes"))
    for module, name in names:
        fake = inspect.signature(getattr(FakeRuntime if module == "runtime" else FakeCudaDriver, name))
        assert list(fake.parameters)[1:] == parameters(found[f"{module}.{name}"]), name


@pytest.mark.skipif(importlib.util.find_spec("cupy") is None, reason="needs CuPy (no GPU): compares its classes")
def test_classes_are_those_of_the_real_cupy() -> None:
    import cupy

    for fake, real in ((FakeStream, cupy.cuda.Stream), (FakeEvent, cupy.cuda.Event)):
        known, expected = inspect.signature(fake.__init__).parameters, inspect.signature(real.__init__).parameters
        assert list(known)[1:] == [name for name in expected if name != "self"][: len(known) - 1]
    driver = CupyDriver()
    lent = driver._lent_stream(5)
    assert lent.ptr == 5 and isinstance(lent, cupy.cuda.Stream)
    del lent  # does not destroy a stream
    assert issubclass(cupy.cuda.memory.OutOfMemoryError, MemoryError)
    assert driver._failed[0](2).status == 2
