"""A quick measurement of layout conversions in host memory by one thread, for several run lengths.

Each sample is an AOS → SOA conversion of eight fields, each `run` bytes long. Like other layout conversions it reads with gaps
and writes in sequence. Successive samples use different data, so that no data are in a cache from before.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from isoviz.layouts import StridedCopy, apply
from isoviz.measure import tuning

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
CopyKernel = Callable[[StridedCopy, Bytes, Bytes], None]


def measure_memcpy(
    seconds: float = 0.5, copy: CopyKernel | None = None, tell: Callable[[float], None] = lambda _share: None
) -> list[tuple[float, float, float]]:
    """Samples (run bytes, bytes per second, relative spread), in about `seconds`.

    `copy` carries out one strided copy between two contiguous uint8 arrays. The default is NumPy, in pieces that fit the cache.
    `tell` is called between samples with the share that is done; it may raise to stop.
    """
    copy = convert if copy is None else copy
    half = working_set() // 2 // tuning.MIB * tuning.MIB
    source = np.empty(half, np.uint8)
    destination = np.empty(half, np.uint8)
    for array in (source, destination):
        for first in range(0, half, 64 * tuning.MIB):
            tell(0.0)
            array[first : first + 64 * tuning.MIB] = 1  # Take the page faults here, not in a sample.
    piece = min(half, 32 * tuning.MIB)
    result = []
    at = 0
    share = seconds / len(tuning.QUICK_RUNS)
    for done, run in enumerate(tuning.QUICK_RUNS):
        # Short runs are slow: a smaller part of the same large arrays is enough.
        nbytes = piece if run >= 16 else min(piece, 8 * tuning.MIB)
        entries = max(1, nbytes // (tuning.QUICK_FIELDS * run))
        nbytes = entries * tuning.QUICK_FIELDS * run
        job = StridedCopy(0, 0, run, ((tuning.QUICK_FIELDS, run, entries * run), (entries, tuning.QUICK_FIELDS * run, run)))
        times: list[float] = []
        while len(times) < 2 or (sum(times) < share and len(times) < 5):
            tell(done / len(tuning.QUICK_RUNS))
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
    """One strided copy of two loops with NumPy; short runs in pieces that fit the cache."""
    fields, entries = job.loops
    if job.run > tuning.WHOLE_LINE:
        apply((job,), source, destination)
        return
    for first in range(0, entries[0], tuning.PIECE_ENTRIES):
        count = min(tuning.PIECE_ENTRIES, entries[0] - first)
        start = job.source_offset + first * entries[1], job.destination_offset + first * entries[2]
        apply((StridedCopy(*start, job.run, (fields, (count, *entries[1:]))),), source, destination)


def working_set() -> int:
    """Bytes to use in turn so that caches do not help: twice the largest cache, at least 64 MiB and at most 1 GiB."""
    return min(max(tuning.LEAST_WORKING_SET, 2 * largest_cache()), tuning.MOST_WORKING_SET)


def largest_cache() -> int:
    """Bytes of the largest cache of the first CPU, if the system reports it (Linux), else 0."""
    sizes = [0]
    for entry in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        try:
            text = entry.read_text(encoding="ascii").strip()
            sizes.append(int(text[:-1]) * {"K": 1024, "M": tuning.MIB}.get(text[-1], 0))
        except (OSError, ValueError, IndexError):
            continue
    return max(sizes)
