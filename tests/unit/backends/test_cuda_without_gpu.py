"""GPUs on a computer without one: nothing is imported for them, and a sentence says what is missing."""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
import sys

import pytest

from isoviz import Engine, FieldSpace, IndexSpace, Machine, Transfer, plan
from isoviz.backends.cuda import cupy_driver
from isoviz.backends.cuda.cupy_driver import Loaded, Memcpy3D, planes
from isoviz.backends.cuda.row_copies import Rows
from isoviz.backends.devices import ThisComputer
from isoviz.errors import TransferError
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Memory, MemoryKind

SYS, GPU = Memory("node0.sys", MemoryKind.SYS), Memory("node0.fbm0", MemoryKind.FBM)
WRITE = Channel("", ChannelKind.GPU_WRITE, SYS.name, GPU.name, LatencyBandwidth(1e-6, 1e10))


def no_gpu(monkeypatch: pytest.MonkeyPatch, *, cupy: bool, driver: bool) -> None:
    """A computer with or without CuPy and a driver, as far as it says."""
    find, load = importlib.util.find_spec, ctypes.CDLL

    def found(name: str, package: str | None = None) -> object:
        return (object() if cupy else None) if name == "cupy" else find(name, package)

    def library(name: str, *args: object) -> object:
        if "cuda" in str(name) and not driver:
            raise OSError(name)
        return load(None) if "cuda" in str(name) else load(name)

    monkeypatch.setattr(importlib.util, "find_spec", found)
    monkeypatch.setattr(ctypes, "CDLL", library)
    cupy_driver.loaded.cache_clear()


@pytest.fixture(autouse=True)
def forget() -> object:
    yield
    cupy_driver.loaded.cache_clear()


@pytest.mark.parametrize(
    ("cupy", "driver", "said"),
    [
        (False, False, r"CuPy is not installed here \(pip install 'isoviz\[gpu-cuda13\]'\)"),
        (True, False, "CuPy finds no GPU: this computer has no NVIDIA driver"),
        (True, True, "CuPy cannot use a GPU here: DeviceError: cudaGetDeviceCount failed: no device"),
    ],
)
def test_a_sentence_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, cupy: bool, driver: bool, said: str) -> None:
    class Broken:
        def device_count(self) -> int:
            from isoviz.errors import DeviceError

            raise DeviceError("cudaGetDeviceCount failed: no device")

    no_gpu(monkeypatch, cupy=cupy, driver=driver)
    monkeypatch.setattr(cupy_driver, "CupyDriver", Broken)
    assert ThisComputer().memory(GPU) is None
    machine = Machine("m", (SYS, GPU), (WRITE,))
    made = plan(Transfer.whole(IndexSpace(x=8), FieldSpace(v="f4"), SYS.name, "<F, x>", GPU.name, "<F, x>"), machine)
    with pytest.raises(TransferError, match=rf"memory node0\.fbm0: this computer has no such device \(FBM\); .*; {said}$"):
        Engine(machine).run(made)


def test_memory_of_other_nodes_says_nothing_of_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    no_gpu(monkeypatch, cupy=False, driver=False)
    for memory in (SYS, Memory("node1.fbm0", MemoryKind.FBM, node=1), Memory("node0.fbm0", MemoryKind.FBM, emulated=True)):
        assert ThisComputer().absence(memory) == ""
    assert cupy_driver.loaded() == Loaded(None, "CuPy is not installed here (pip install 'isoviz[gpu-cuda13]')")


def test_planning_and_devices_import_no_cupy() -> None:
    code = """
import sys
import isoviz
from isoviz import *
from isoviz.backends.devices import ThisComputer
from isoviz.machines import preset
move = Transfer.whole(IndexSpace(x=64), FieldSpace(v="f4"), "node0.sys", "<F, x>", "node0.fbm0", "<F, x>")
made = plan(move, preset("laptop"))
simulate(made)
ThisComputer()
assert not [name for name in sys.modules if name.split(".")[0] in ("cupy", "cupy_backends", "cuda")]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_planes_are_passed_as_the_driver_defines_them() -> None:
    """The sizes and offsets of cudaMemcpy3DParms on 64-bit systems, from its definition in driver_types.h."""
    assert ctypes.sizeof(Memcpy3D) == 160
    fields = (
        "source_array",
        "source_position",
        "source",
        "destination_array",
        "destination_position",
        "destination",
        "extent",
        "kind",
    )
    assert [getattr(Memcpy3D, name).offset for name in fields] == [0, 8, 32, 64, 72, 96, 128, 152]
    made = planes(1000, 2000, Rows(1, 2, 30, 4, 3, 50, 40, 10, 4))
    assert (made.source.pointer, made.source.pitch, made.source.rows) == (2001, 50, 10)
    assert (made.destination.pointer, made.destination.pitch, made.destination.rows) == (1002, 40, 4)
    assert (made.extent.x, made.extent.y, made.extent.z, made.kind) == (30, 4, 3, 4)


def test_the_calls_of_the_driver_exist_in_cupy() -> None:
    """Each function that `CupyDriver` calls, where CuPy is installed. A device is not needed for that."""
    pytest.importorskip("cupy", reason="CuPy is not installed here")
    made = cupy_driver.CupyDriver()
    runtime = (
        "getDeviceCount getDeviceProperties memGetInfo getDevice setDevice deviceCanAccessPeer deviceEnablePeerAccess"
        " pointerGetAttributes streamCreateWithFlags streamDestroy streamSynchronize eventCreateWithFlags eventDestroy"
        " eventRecord eventQuery eventSynchronize memcpyAsync memcpy2DAsync memcpy3DAsync memcpyPeerAsync memsetAsync"
        " CUDARuntimeError"
    )
    assert all(hasattr(made._runtime, name) for name in runtime.split())
    calls = "moduleLoadData moduleUnload moduleGetFunction launchKernel CUDADriverError"
    assert all(hasattr(made._driver, name) for name in calls.split())
    cupy = made._cupy
    assert all(hasattr(cupy.cuda, name) for name in ("ExternalStream", "alloc", "alloc_pinned_memory", "Device"))
    assert issubclass(cupy.cuda.memory.OutOfMemoryError, MemoryError) and hasattr(cupy, "from_dlpack")
