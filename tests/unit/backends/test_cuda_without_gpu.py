"""GPUs on a computer without one: nothing is imported for them, and a sentence says what is missing."""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
import sys
import types
from pathlib import Path

import pytest

from isoviz import Engine, FieldSpace, IndexSpace, Machine, Transfer, plan
from isoviz.backends.cuda import cupy_driver
from isoviz.backends.cuda.cupy_driver import Loaded, Memcpy3D, planes
from isoviz.backends.cuda.gpus import Gpus
from isoviz.backends.cuda.row_copies import Rows
from isoviz.backends.devices import ThisComputer
from isoviz.errors import DeviceError, TransferError
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Memory, MemoryKind
from isoviz.measure.gpus.gpu_parts import gpus_here

SYS, GPU = Memory("node0.sys", MemoryKind.SYS), Memory("node0.fbm0", MemoryKind.FBM)
WRITE = Channel("", ChannelKind.GPU_WRITE, SYS.name, GPU.name, LatencyBandwidth(1e-6, 1e10))


def no_gpu(monkeypatch: pytest.MonkeyPatch, *, cupy: bool, driver: bool) -> None:
    """A computer with or without CuPy and a driver, as far as it says."""
    find, load = importlib.util.find_spec, ctypes.CDLL

    def found(name: str, package: str | None = None) -> object:
        return (object() if cupy else None) if name == "cupy" else find(name, package)

    def library(name: str, *args: object) -> object:
        if "cuda" in str(name) and not driver:
            raise OSError(f"{name}: cannot open shared object file: No such file or directory")
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
        (False, False, r"CuPy is not installed here \(pip install --editable '\.\[gpu-cuda13\]' in the folder of isoviz\)"),
        (True, False, "CuPy finds no GPU: this computer has no NVIDIA driver"),
        (True, True, "CuPy cannot use a GPU here: DeviceError: cudaGetDeviceCount failed: no device"),
    ],
)
def test_a_sentence_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, cupy: bool, driver: bool, said: str) -> None:
    class Broken:
        def device_count(self) -> int:
            raise DeviceError("cudaGetDeviceCount failed: no device")

    no_gpu(monkeypatch, cupy=cupy, driver=driver)
    monkeypatch.setattr(cupy_driver, "CupyDriver", Broken)
    assert ThisComputer().memory(GPU) is None
    machine = Machine("m", (SYS, GPU), (WRITE,))
    made = plan(Transfer.whole(IndexSpace(x=8), FieldSpace(v="f4"), SYS.name, "<F, x>", GPU.name, "<F, x>"), machine)
    with pytest.raises(TransferError, match=rf"memory node0\.fbm0: this computer has no such device \(FBM\); .*; {said}$"):
        Engine(machine).run(made)


class Failing:
    """In place of the driver: CuPy is there, and an error comes with the first call."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __call__(self) -> Failing:
        return self

    def device_count(self) -> int:
        raise self.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            DeviceError("cudaGetDeviceCount failed: cudaErrorInsufficientDriver: CUDA driver version is insufficient"),
            "CuPy cannot use a GPU here: the NVIDIA driver is broken, or too old for the CUDA of CuPy",
        ),
        (DeviceError("cudaErrorNoDevice: no CUDA-capable device is detected"), "CuPy finds no GPU here"),
        (
            ImportError("\n=====\nCuPy is not correctly installed.\n\n  Original error:\n    not there\n=====\n"),
            "CuPy cannot use a GPU here: ImportError: CuPy is not correctly installed. Original error: not there",
        ),
        (RuntimeError("x" * 5000), "CuPy cannot use a GPU here: RuntimeError: x"),
    ],
)
def test_any_failure_is_one_sentence(monkeypatch: pytest.MonkeyPatch, error: Exception, said: str) -> None:
    no_gpu(monkeypatch, cupy=True, driver=True)
    monkeypatch.setattr(cupy_driver, "CupyDriver", Failing(error))
    reason = cupy_driver.loaded().reason
    assert reason.startswith(said) and "\n" not in reason and len(reason) < 400
    assert reason == said or "x" in said


def test_a_driver_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    no_gpu(monkeypatch, cupy=True, driver=True)

    def refuse(name: str, *_: object) -> object:
        raise OSError(f"/usr/lib/{name}: file too short")

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    said = "CuPy finds no GPU: the NVIDIA driver cannot be loaded: /usr/lib/libcuda.so.1: file too short"
    assert cupy_driver.loaded() == Loaded(None, said)


@pytest.mark.parametrize(
    "content", ["raise ImportError('libcudart is missing')", "1 / 0", "import no_such_module_of_anybody", "}"]
)
def test_a_cupy_that_raises_when_it_is_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str) -> None:
    (tmp_path / "cupy").mkdir()
    (tmp_path / "cupy" / "__init__.py").write_text(content)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "cupy"]:
        monkeypatch.delitem(sys.modules, name)
    load = ctypes.CDLL
    monkeypatch.setattr(ctypes, "CDLL", lambda name, *more: load(None) if "cuda" in str(name) else load(name, *more))
    cupy_driver.loaded.cache_clear()
    assert ThisComputer().memory(GPU) is None
    reason = cupy_driver.loaded().reason
    assert reason.startswith("CuPy cannot use a GPU here: ") and "\n" not in reason
    assert gpus_here(None, Gpus()) == ()


def test_something_else_in_the_place_of_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module without a specification, as tests of other packages put there."""
    monkeypatch.setitem(sys.modules, "cupy", types.ModuleType("cupy"))
    load = ctypes.CDLL
    monkeypatch.setattr(ctypes, "CDLL", lambda name, *more: load(None) if "cuda" in str(name) else load(name, *more))
    cupy_driver.loaded.cache_clear()
    assert cupy_driver.loaded().reason.startswith("CuPy cannot use a GPU here: ")


def test_memory_of_other_nodes_says_nothing_of_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    no_gpu(monkeypatch, cupy=False, driver=False)
    for memory in (SYS, Memory("node1.fbm0", MemoryKind.FBM, node=1), Memory("node0.fbm0", MemoryKind.FBM, emulated=True)):
        assert ThisComputer().absence(memory) == ""
    assert cupy_driver.loaded() == Loaded(
        None, "CuPy is not installed here (pip install --editable '.[gpu-cuda13]' in the folder of isoviz)"
    )


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
    subprocess.run([sys.executable, "-c", code], check=True, timeout=250)


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
        " eventRecord eventQuery eventSynchronize streamWaitEvent memcpyAsync memcpy2DAsync memcpy3DAsync memcpyPeerAsync"
        " memsetAsync CUDARuntimeError"
    )
    assert all(hasattr(made._runtime, name) for name in runtime.split())
    calls = "moduleLoadData moduleUnload moduleGetFunction launchKernel CUDADriverError"
    assert all(hasattr(made._driver, name) for name in calls.split())
    cupy = made._cupy
    assert all(hasattr(cupy.cuda, name) for name in ("ExternalStream", "alloc", "alloc_pinned_memory", "Device"))
    assert issubclass(cupy.cuda.memory.OutOfMemoryError, MemoryError) and hasattr(cupy, "from_dlpack")
