"""How well kernels use memory, without a GPU: sectors of 32 bytes and turns of shared memory, counted from executed accesses.

The copies are those of `isoviz bench layouts`. What is asserted here are counts, not times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
from kernel_traffic import Moved, moved
from ptx_executor import Executor
from test_cuda_kernels import decoded

from isoviz.backends.cuda.kernels import KernelSource, kernels_of
from isoviz.bench.layouts import Case, cases
from isoviz.layouts import StridedCopy

SIZE = 64_000_000
MEAN, MOST = 1.1, 1.75
"""Sectors that are touched per sector that is needed: the geometric mean, and that of any case."""
TURNS, INSTRUCTIONS = 1.9, 400
"""Turns of an access of shared memory at most, and instructions of a thread for 16 bytes at most.

Shared memory of recent GPUs moves ten times as many bytes as their memory, and 250 instructions take about as long as memory.
"""
REGULAR = (
    "2048²",
    "4096²",
    "1024²",
    "8192²",
    "8 × 4 B",
    "4 × 4 B",
    "2 × 4 B",
    "2-D → ",
    "8² → ",
    "64² → ",
    "128 × 112²",
    "256 × 56²",
)
"""Cases with extents that are multiples of 16 bytes: nothing is touched in excess, and nothing conflicts."""


def traffic(
    executor: Executor, copies: Sequence[StridedCopy], alignments: tuple[int, int] = (256, 256)
) -> list[tuple[KernelSource, Moved]]:
    """The traffic of the kernels that move most of the bytes."""
    kernels = kernels_of(copies, *alignments)
    total = sum(kernel.nbytes for kernel in kernels)
    large = [kernel for kernel in kernels if kernel.nbytes * 50 > total]
    return moved(executor, copies, large, decoded(large), shifts=tuple(each % 256 for each in alignments))


@pytest.mark.full
def test_the_suite_of_layouts(executor: Executor, full: bool, report: Callable[[str, object], None]) -> None:
    found: list[tuple[Case, Moved]] = []
    for case in list(cases(SIZE))[:: 1 if full else 19]:
        found += [(case, each) for _, each in traffic(executor, case.copies())]
    for case, each in found:
        assert max(each.loads, each.stores) <= MOST, (case.name, each)
        assert each.turns <= TURNS and each.instructions <= INSTRUCTIONS, (case.name, each)
        if any(part in case.name for part in REGULAR) and case.group != "3- to 6-D":
            assert max(each.loads, each.stores) <= 1.01 and each.turns <= 1.51, (case.name, each)
    for name, values in (("loads", [each.loads for _, each in found]), ("stores", [each.stores for _, each in found])):
        mean = math.exp(sum(map(math.log, values)) / len(values))
        report(f"sectors that GPU kernels touch per sector needed, {name}: mean, worst", f"{mean:.3f}, {max(values):.2f}")
        assert mean <= MEAN
    report("turns of GPU kernels' accesses of shared memory: mean", f"{sum(each.turns for _, each in found) / len(found):.2f}")


SLOW = {
    "a transposition of bytes, rows at odd addresses": (StridedCopy(1, 3, 1, ((3001, 1, 3001), (3001, 3001, 1))), 1.45, 1.25),
    "cells of 13 bytes, packed": (StridedCopy(0, 0, 13, ((1 << 20, 16, 13),)), 1.35, 1.2),
    "cells of 13 bytes, spread": (StridedCopy(0, 0, 13, ((1 << 20, 13, 16),)), 1.05, 2.2),
    "structs into structs with padding": (StridedCopy(0, 4, 12, ((1 << 20, 12, 16),)), 1.05, 1.55),
    "rows at odd addresses": (StridedCopy(1, 2, 1001, ((4000, 1003, 1007),)), 1.1, 1.15),
    "long rows, apart by an odd number of bytes": (StridedCopy(1, 0, 1 << 20, ((16, (1 << 20) + 5, 1 << 20),)), 1.05, 1.05),
    "runs of 4 bytes": (StridedCopy(0, 0, 4, ((1 << 20, 8, 4),)), 2.05, 1.05),
}
"""Copies, and the most sectors per needed one that they may load and store."""


@pytest.mark.parametrize("what", SLOW)
@pytest.mark.few(2)
@pytest.mark.full
def test_slow_cases(executor: Executor, what: str, report: Callable[[str, object], None]) -> None:
    copy, loads, stores = SLOW[what]
    for _, each in traffic(executor, [copy], (1, 1) if "odd" in what else (256, 256)):
        report(
            f"GPU kernels: {what}: loads, stores, passes of loads", f"{each.loads:.2f}, {each.stores:.2f}, {each.load_passes:.2f}"
        )
        assert each.loads <= loads and each.stores <= stores and each.load_passes <= 2.5, each
