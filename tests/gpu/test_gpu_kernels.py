"""Layout kernels on a real GPU: what NVRTC makes of random geometries, against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from kernel_geometries import Geometry, geometries

from isoviz.backends.cuda import cupy_driver
from isoviz.backends.cuda.kernels import KernelSource, kernels_of, nvrtc
from isoviz.layouts import apply

pytestmark = pytest.mark.gpu
SEED, BATCH = 20261126, 25
"""Kernels that are compiled together: NVRTC needs a third of the time."""
Bytes = np.ndarray[Any, np.dtype[np.uint8]]


def functions(kernels: list[KernelSource]) -> Iterator[tuple[str, int, int]]:
    """Names of the kernels, their functions, and the modules that hold them."""
    driver = cupy_driver.loaded().driver
    assert driver is not None
    distinct = list({kernel.name: kernel for kernel in kernels}.values())
    for first in range(0, len(distinct), BATCH):
        batch = distinct[first : first + BATCH]
        image, _ = nvrtc.compiled("\n".join(kernel.code for kernel in batch), driver.architecture(0))
        module = driver.load(image)
        yield from ((kernel.name, driver.function(module, kernel.name), module) for kernel in batch)


def placed(data: Bytes, alignment: int) -> tuple[Any, int]:
    """Bytes on the GPU at an odd multiple of an alignment: the array that holds them, and their address. They are there."""
    import cupy

    room = cupy.zeros(len(data) + 2 * 256 + 256, np.uint8)
    start = -room.data.ptr % (2 * alignment) + alignment
    room[start : start + len(data)].set(data)
    cupy.cuda.runtime.deviceSynchronize()  # CuPy does both on the null stream, and kernels are launched on another one
    return room, room.data.ptr + start


def test_random_geometries(full: bool, report: Callable[[str, object], None]) -> None:
    driver = cupy_driver.loaded().driver
    assert driver is not None
    cases: list[tuple[Geometry, list[KernelSource]]] = [
        (case, kernels_of(case.copies, *case.alignments, small=10**9 if number % 5 == 4 else 0))
        for number, case in enumerate(geometries(450 if full else 45, SEED))
    ]
    found = list(functions([kernel for _, kernels in cases for kernel in kernels]))
    by_name = {name: function for name, function, _ in found}
    stream = driver.new_stream()
    rng = np.random.default_rng(SEED)
    try:
        for number, (case, kernels) in enumerate(cases):
            source, destination = case.arrays(rng)
            expected = destination.copy()
            apply(case.copies, source, expected)
            (_here, at), (there, to) = (placed(each, case.alignments[k]) for k, each in enumerate((source, destination)))
            for kernel in kernels:
                arguments = (at, to, *kernel.arguments)
                driver.launch(by_name[kernel.name], kernel.grid, kernel.block, kernel.shared, arguments, stream)
            driver.wait_stream(stream)
            start = to - there.data.ptr
            assert np.array_equal(there[start : start + len(expected)].get(), expected), (number, case)
            around = there.get()
            around[start : start + len(expected)] = 0
            assert not around.any(), "bytes beyond the destination changed"
    finally:
        driver.destroy_stream(stream)
        for module in {module for _, _, module in found}:
            driver.unload(module)
    report("geometries moved by kernels on a GPU, equal byte by byte", len(cases))
