"""A quick measurement of how fast one thread converts layouts in host memory, over the length of the runs.

Each sample is an AOS → SOA conversion of eight fields, each `run` bytes long: reads with gaps, writes in sequence, as layout
conversions are. The data are walked so that nothing read or written is in a cache from before.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from isoviz.layouts import StridedCopy, apply

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
CopyKernel = Callable[[StridedCopy, Bytes, Bytes], None]

MIB = 1 << 20
RUNS = (1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096, 65536, MIB, 4 * MIB)
"""The run lengths measured, bytes."""
FIELDS = 8
_PIECE = 8192  # entries of one field that are converted before the next field, so that lines read stay in the cache
_WIDEST = 64  # longer runs are whole lines; nothing is read twice
_LEAST_WORKING_SET = 64 * MIB
_MOST_WORKING_SET = 1024 * MIB


def measure_memcpy(seconds: float = 0.5, copy: CopyKernel | None = None) -> list[tuple[float, float, float]]:
    """Samples (run bytes, bytes per second, relative spread), in about so many seconds.

    `copy` carries out one strided copy between two contiguous uint8 arrays; by default NumPy, in pieces that fit the cache.
    """
    copy = convert if copy is None else copy
    half = working_set() // 2 // MIB * MIB
    source = np.empty(half, np.uint8)
    destination = np.empty(half, np.uint8)
    source[:] = 1  # touched, so that no sample pays for the first use of a page
    destination[:] = 1
    piece = min(half, 32 * MIB)
    result = []
    at = 0
    share = seconds / len(RUNS)
    for run in RUNS:
        # Short runs are slow: a smaller part of the same large arrays says as much in less time.
        nbytes = piece if run >= 16 else min(piece, 8 * MIB)
        entries = max(1, nbytes // (FIELDS * run))
        nbytes = entries * FIELDS * run
        job = StridedCopy(0, 0, run, ((FIELDS, run, entries * run), (entries, FIELDS * run, run)))
        times: list[float] = []
        while len(times) < 2 or (sum(times) < share and len(times) < 5):
            if at + nbytes > half:
                at = 0
            here, there = source[at : at + nbytes], destination[at : at + nbytes]
            begin = time.perf_counter()
            copy(job, here, there)
            times.append(time.perf_counter() - begin)
            at += nbytes
        middle = median(times)
        result.append((float(run), nbytes / middle, (max(times) - min(times)) / middle))
    return result


def convert(job: StridedCopy, source: Bytes, destination: Bytes) -> None:
    """One strided copy of two loops with NumPy, short runs in pieces that fit the cache."""
    fields, entries = job.loops
    if job.run > _WIDEST:
        apply((job,), source, destination)
        return
    for first in range(0, entries[0], _PIECE):
        count = min(_PIECE, entries[0] - first)
        start = job.source_offset + first * entries[1], job.destination_offset + first * entries[2]
        apply((StridedCopy(*start, job.run, (fields, (count, *entries[1:]))),), source, destination)


def working_set() -> int:
    """Bytes to walk through so that caches do not help: twice the largest cache, 64 MiB at least, 1 GiB at most."""
    return min(max(_LEAST_WORKING_SET, 2 * largest_cache()), _MOST_WORKING_SET)


def largest_cache() -> int:
    """Bytes of the largest cache of the first CPU, where the system says so (Linux), else 0."""
    sizes = [0]
    for entry in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        try:
            text = entry.read_text(encoding="ascii").strip()
            sizes.append(int(text[:-1]) * {"K": 1024, "M": MIB}.get(text[-1], 0))
        except (OSError, ValueError, IndexError):
            continue
    return max(sizes)
