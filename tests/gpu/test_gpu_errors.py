"""What fails on a real GPU ends the transfer with a typed error, and the pools are as they were."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from one_gpu import FBM, SYS, ZCM, machine, structs

from isoviz import Engine, FieldSpace, IndexSpace, Transfer, plan
from isoviz.backends.devices import ThisComputer
from isoviz.errors import Cancelled, DeviceMemoryError, TransferError
from isoviz.machines import Memory, MemoryKind

pytestmark = pytest.mark.gpu
MIB = 1 << 20


@pytest.mark.parametrize(("near", "far"), [(SYS, FBM), (FBM, ZCM), (FBM, FBM)])
def test_no_room_within_a_limit_of_the_pool(near: str, far: str, tmp_path: Path) -> None:
    """A limit that the program sets for CuPy's pool holds for isoviz."""
    import cupy

    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    chosen = structs(4 * MIB, near, far)
    with Engine(machine(), ThisComputer(tmp_path)) as engine:
        pool.set_limit(size=pool.used_bytes() + MIB)
        try:
            with pytest.raises(DeviceMemoryError, match=r"memory node0\.fbm0: no room for 4 MiB on GPU 0"):
                engine.run(chosen)
            assert engine.held_bytes == 0
        finally:
            pool.set_limit(size=0)
        assert engine.run(chosen).verified


def test_no_room_on_the_device(tmp_path: Path) -> None:
    import cupy

    _, total = cupy.cuda.runtime.memGetInfo()
    space = IndexSpace(x=2 * total)
    chosen = plan(Transfer.whole(space, FieldSpace(v="u1"), FBM, "<F, x>", FBM, "<F, x>"), machine())
    with Engine(machine(), ThisComputer(tmp_path)) as engine:
        with pytest.raises(DeviceMemoryError, match=r"memory node0\.fbm0: no room for"):
            engine.run(chosen)
        assert engine.run(structs(MIB, SYS, FBM)).verified


def test_the_wrong_device_and_the_wrong_object(tmp_path: Path) -> None:
    import cupy

    chosen = structs(1000, FBM, FBM)
    data = np.zeros(1000, np.uint8)
    with Engine(machine(), ThisComputer(tmp_path)) as engine:
        for given, said in (
            (data, "expected an array on a GPU"),
            (cupy.asarray(data[:9]), "has 9 bytes of uint8; layout .* needs 1000"),
        ):
            with pytest.raises(TransferError, match=said):
                engine.run(chosen, given, cupy.asarray(data))
        if cupy.cuda.runtime.getDeviceCount() > 1:
            with cupy.cuda.Device(1):
                there = cupy.asarray(data)
            with pytest.raises(TransferError, match=r"lies on GPU 1; expected GPU 0"):
                engine.run(chosen, there, cupy.asarray(data))
    with pytest.raises(TransferError, match=r"memory node0\.fbm63: is bound to GPU 63; this computer has GPU"):
        ThisComputer().memory(Memory("node0.fbm63", MemoryKind.FBM))


@pytest.mark.parametrize(("near", "far"), [(SYS, FBM), (FBM, SYS), (ZCM, FBM), (FBM, FBM)])
def test_cancel_in_flight(near: str, far: str, tmp_path: Path, full: bool) -> None:
    chosen = structs(256 * MIB if full else 2 * MIB, near, far)
    with Engine(machine(), ThisComputer(tmp_path), request_bytes=1 << 16) as engine:
        for _ in range(3):
            event = engine.submit(chosen)
            while not event.bytes_done and not event.done:
                pass
            event.cancel()
            error = event.error(timeout=60)
            assert error is None or isinstance(error, Cancelled)  # the last request may have been on its way
            assert engine.held_bytes == 0
        assert engine.run(structs(MIB, near, far)).verified


@pytest.mark.usefixtures("needs_a_real_device")
@pytest.mark.parametrize("road", ["within", "staged", "pinned"])
def test_a_failing_kernel(road: str) -> None:
    """After a wrong access the device is of no use in its process: the error is typed, and the engine and the process end."""
    program = Path(__file__).parent / "failing_kernel.py"
    done = subprocess.run([sys.executable, str(program), road], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["error"] == "DeviceError" and "illegal memory access" in found["said"], found
    assert found["again"] in ("DeviceError", "TransferError") and found["held"] == 0, found
