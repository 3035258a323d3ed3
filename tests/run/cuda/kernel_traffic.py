"""What kernels of large copies move: counted from the accesses of some blocks, executed on the processor."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from ptx_executor import Executor
from ptx_program import Program

from isoviz.backends.cuda.kernels import KernelSource
from isoviz.layouts import StridedCopy

SECTOR = 32
BLOCKS = 16
"""The blocks of a kernel that are executed, drawn from all."""
NO_RESERVE = 0x4000
"""The flag of Linux with which memory counts once it is touched; Python 3.11 does not name it."""


class Moved(NamedTuple):
    """What a warp's access moves, as ratios.

    - `loads`, `stores`: sectors that go between the caches and memory, per sector of payload; 1 is the least.
    - `load_passes`: sectors of all loads, also of those that the first-level cache serves, per sector of payload.
    - `turns`: of an access of shared memory; 1: no conflict.
    - `instructions`: of a thread, per 16 bytes of payload.
    """

    loads: float
    stores: float
    load_passes: float
    turns: float
    instructions: float


def sparse(nbytes: int) -> tuple[mmap.mmap, np.ndarray]:
    """An array whose pages exist once they are written to."""
    held = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
    return held, np.frombuffer(held, np.uint8)


def moved(
    executor: Executor,
    copies: Sequence[StridedCopy],
    kernels: Sequence[KernelSource],
    programs: dict[str, Program],
    shifts: tuple[int, int] = (0, 0),
) -> list[tuple[KernelSource, Moved]]:
    """The traffic of some blocks of each kernel. The arrays begin `shifts` bytes after a page."""
    sizes = [
        shift + max(copy[end] + copy.run + sum((loop[0] - 1) * loop[1 + end] for loop in copy.loops) for copy in copies)
        for end, shift in enumerate(shifts)
    ]
    (held, source), (other, destination) = map(sparse, sizes)
    found = []
    for kernel in kernels:
        grid = kernel.grid[0]
        counts = executor.launch(
            programs[kernel.name],
            source[shifts[0] :],
            destination[shifts[1] :],
            kernel.arguments,
            grid,
            blocks=np.random.default_rng(1).choice(grid, min(grid, BLOCKS), replace=False),
            once=False,
            races=False,
            counts=True,
            seed=1,
        )
        needed = counts.stores.nbytes / SECTOR
        sectors = (counts.loads.different, counts.stores.sectors, counts.loads.sectors)
        ratios = [each / needed for each in sectors]
        found.append((kernel, Moved(*ratios, counts.turns, counts.instructions * 16 / counts.stores.nbytes)))
    del source, destination
    held.close()
    other.close()
    return found
