"""Arrays of CuPy and PyTorch on a real GPU, as ends of copies, with and without DLPack; and what is no such end."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from one_gpu import machine
from run_cases import random_bytes

from isoviz import Engine
from isoviz.backends.devices import ThisComputer
from isoviz.errors import TransferError

pytestmark = pytest.mark.gpu
SIDE = 300


class OnlyDlpack:
    """An array that has DLPack and no other interface."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


@pytest.fixture
def matrix() -> np.ndarray[Any, Any]:
    return random_bytes(random.Random(2), 4 * SIDE * SIDE).view("u4").reshape(SIDE, SIDE)


@pytest.mark.parametrize("wrap", [lambda array: array, OnlyDlpack], ids=["cuda array interface", "DLPack"])
def test_arrays_of_cupy(wrap: Callable[[Any], Any], matrix: np.ndarray[Any, Any], tmp_path: Path) -> None:
    import cupy

    out, back = cupy.zeros((SIDE, SIDE), "u4"), np.zeros((SIDE, SIDE), "u4")
    with Engine(machine(), ThisComputer(tmp_path)) as engine:
        engine.copy(matrix, "<F, x, y>", wrap(out), "<F, y, x>").wait(60)
        assert np.array_equal(out.get(), matrix.T)
        engine.copy(wrap(out), "<F, y, x>", back, "<F, x, y>").wait(60)
        assert np.array_equal(back, matrix)
        again = cupy.zeros((SIDE, SIDE), "u4")
        engine.copy(wrap(out), "<F, x, y>", wrap(again), "<F, y, x>").wait(60)
        assert np.array_equal(again.get(), matrix)


@pytest.mark.usefixtures("needs_a_real_device")
def test_work_on_another_stream_ends_first(matrix: np.ndarray[Any, Any], tmp_path: Path) -> None:
    """The stream of an array is that of its interface: what still writes the array there is waited for."""
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    back = np.zeros((SIDE, SIDE), "u4")
    with Engine(machine(), ThisComputer(tmp_path)) as engine, stream:
        source = cupy.zeros((SIDE, SIDE), "u4")
        wanted = cupy.asarray(matrix)
        for _ in range(200):
            source += wanted
        engine.copy(source, "<F, x, y>", back, "<F, x, y>").wait(60)
        stream.synchronize()
    assert np.array_equal(back, matrix * np.uint32(200))


@pytest.mark.usefixtures("needs_a_real_device")
def test_arrays_of_pytorch(matrix: np.ndarray[Any, Any], tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed here")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    given = torch.as_tensor(matrix.view("i4")).to("cuda")
    out = torch.zeros((SIDE, SIDE), dtype=torch.int32, device="cuda")
    torch.cuda.synchronize()
    with Engine(machine(), ThisComputer(tmp_path)) as engine:
        for wrap in (lambda tensor: tensor, OnlyDlpack):
            out.zero_()
            torch.cuda.synchronize()
            engine.copy(wrap(given), "<F, x, y>", wrap(out), "<F, y, x>").wait(60)
            assert np.array_equal(out.cpu().numpy(), matrix.view("i4").T)


def test_what_is_not_dense_is_refused(matrix: np.ndarray[Any, Any], tmp_path: Path) -> None:
    import cupy

    device = cupy.asarray(matrix)
    out = np.zeros((SIDE, SIDE // 2), "u4")
    with Engine(machine(), ThisComputer(tmp_path)) as engine, pytest.raises(TransferError, match="is not dense"):
        engine.copy(device[:, ::2], "<F, x, y>", out, "<F, x, y>")
