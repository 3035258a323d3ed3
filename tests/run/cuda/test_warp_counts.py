"""What the explorer says of a warp (`isoviz.layouts.warp_load`) against what kernels do: executed accesses, counted."""

from __future__ import annotations

import mmap

import numpy as np
import pytest
from ptx_executor import Executor
from test_cuda_kernels import decoded

from isoviz.backends.cuda.kernels import kernels_of
from isoviz.layouts import FieldSpace, IndexSpace, Layout, StridedCopy, warp_load

LENGTH = 512
"""Entries that are loaded: 16 warps."""
CASES = (
    ("<F, x, y>", {"v": "f4", "w": "f4"}),
    ("<F, x, y>", {"v": "f4", "w": "V8"}),
    ("<F, x, y>", {"v": "f4", "w": "V28"}),
    ("<F, x, y>", {"v": "f8", "w": "f8", "u": "f8"}),
    ("<F, x, y>", {"v": "c16", "w": "c16", "u": "c16"}),
    ("<F, y, x>", {"v": "f4"}),
    ("<y, F, x>", {"v": "f8", "w": "f4"}),
    ("<y, x, F>", {"v": "c16", "w": "f4"}),
)
"""Layouts and fields: a lane takes the first field of consecutive entries along `x`, which are not adjacent, and are
aligned to their size: entries that are not, kernels share among lanes, word by word."""


@pytest.mark.parametrize(("text", "fields"), CASES)
@pytest.mark.few(3)
def test_a_kernel_touches_the_sectors_of_the_load_of_a_warp(executor: Executor, text: str, fields: dict[str, str]) -> None:
    order = Layout(text).on(IndexSpace(x=LENGTH, y=4), FieldSpace(**fields))
    size = order.fields.sizes[0]
    stride = order.offset({"x": 1, "y": 0}, "v") - order.offset({"x": 0, "y": 0}, "v")
    copy = StridedCopy(0, 0, size, ((LENGTH, stride, size),))
    held = mmap.mmap(-1, order.nbytes), mmap.mmap(-1, LENGTH * size)  # arrays that begin at a page
    (kernel,) = kernels_of([copy], mmap.PAGESIZE, mmap.PAGESIZE)
    source, destination = (np.frombuffer(each, np.uint8) for each in held)
    counts = executor.launch(decoded([kernel])[kernel.name], source, destination, kernel.arguments, kernel.grid[0], counts=True)
    loads = [warp_load(order, "x", {"x": first, "y": 0}, size) for first in range(0, LENGTH, 32)]
    assert {load.width for load in loads} == {size}
    assert counts.loads.requests == sum(load.requests for load in loads)
    assert counts.loads.nbytes == sum(load.nbytes * len(load.offsets) for load in loads)
    assert counts.loads.sectors == sum(load.sectors for load in loads)
