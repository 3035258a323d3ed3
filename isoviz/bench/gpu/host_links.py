"""Contiguous bytes between host memory and the GPU, pinned and pageable, by size; and small transfers."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.host.copying import copy_all
from isoviz.bench.gpu.gpu_here import ANY, FBM, SYS, ZCM, medians
from isoviz.bench.gpu.gpu_report import left_out
from isoviz.bench.result_rows import compared, row
from isoviz.bench.table import seconds_of
from isoviz.layouts import StridedCopy
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.bench.gpu.gpu_here import GpuHere

LARGE = 64 << 20
"""Bytes from which on the aims hold."""
PINNED_AIM, PAGEABLE_AIM, NEVER_SLOWER = 0.97, 0.8, 1.0
THREADS = min(8, os.cpu_count() or 1)
"""Threads of the memory copy."""
CALLS = 20
"""Small transfers in a round; their median is the figure of the round."""
SHORT = {FBM: "FBM", ZCM: "pinned", SYS: "pageable"}


def host_links(here: GpuHere) -> Iterator[dict[str, Any]]:
    """Rows of all sizes, memories and directions."""
    for nbytes in here.sizes.links:
        for memory in (ZCM, SYS):
            for up in (True, False):
                if here.has_time:
                    yield from _link(here, nbytes, memory, up)
                else:
                    yield left_out("links", f"{format_bytes(nbytes)}, {SHORT[memory]} {'→' if up else '←'} GPU")
        here.tidy()


def _link(here: GpuHere, nbytes: int, memory: str, up: bool) -> Iterator[dict[str, Any]]:
    host, device = here.host(memory, nbytes), here.device(nbytes)[:nbytes]
    made = here.plan(nbytes, *((memory, FBM) if up else (FBM, memory)))
    ends: tuple[Any, Any] = (host, device) if up else (device, host)
    ways: dict[str, Callable[[], float]] = {"isoviz": here.submitted(made, *ends)}
    to, at = (device.data.ptr, host.ctypes.data) if up else (host.ctypes.data, device.data.ptr)
    what = f"{format_bytes(nbytes)}, {SHORT[memory]} {'→ GPU' if up else '← GPU'}"
    aims = nbytes >= LARGE
    aim = PINNED_AIM if aims else None
    if memory == ZCM:
        ways["cudaMemcpyAsync"] = partial(here.bare, to, at, nbytes)
        times = here.in_turn(ways)
        here.check(what, ways["isoviz"], ends[1], here.host(SYS, nbytes))
        yield {
            **compared("links", what, times, "isoviz", "cudaMemcpyAsync", aim),
            "ways": medians(times),
        }
        return
    pinned = here.host(ZCM, nbytes)
    there, near = (device.data.ptr, pinned.ctypes.data) if up else (pinned.ctypes.data, device.data.ptr)
    other = np.empty_like(host)
    whole = [StridedCopy(0, 0, nbytes)]
    ways["cudaMemcpy, pageable"] = lambda: seconds_of(lambda: here.runtime.memcpy(to, at, nbytes, ANY))
    ways["cudaMemcpyAsync, pinned"] = partial(here.bare, there, near, nbytes)
    ways[f"memcpy, {THREADS} threads"] = lambda: seconds_of(lambda: copy_all(whole, host, other, _nothing, THREADS))
    times = here.in_turn(ways)
    here.check(what, ways["isoviz"], ends[1], pinned)
    limits = [times[name] for name in ways if name.startswith(("cudaMemcpyAsync", "memcpy"))]
    lesser = [max(both) for both in zip(*limits, strict=True)]  # the lower rate is the longer time
    ratio = statistics.median(limit / mine for limit, mine in zip(lesser, times["isoviz"], strict=True))
    found = {"ways": medians(times)}
    mine, limit = statistics.median(times["isoviz"]), statistics.median(lesser)
    beside = "the slower of cudaMemcpyAsync and threaded memcpy"
    yield {**row("links", what, mine, beside, limit, PAGEABLE_AIM if aims else None, ratio=ratio), **found}
    yield {**compared("links", what, times, "isoviz", "cudaMemcpy, pageable", NEVER_SLOWER if aims else None), **found}


def _nothing() -> None:
    """Nobody cancels."""


def small_transfers(here: GpuHere) -> Iterator[dict[str, Any]]:
    """A few bytes, from `submit` to the end, beside cudaMemcpyAsync and a wait for it."""
    for nbytes in here.sizes.small:
        for near, far in ((ZCM, FBM), (FBM, ZCM), (SYS, FBM), (FBM, SYS), (FBM, FBM)):
            ends = [here.device(nbytes)[:nbytes] if memory == FBM else here.host(memory, nbytes) for memory in (near, far)]
            source, destination = (each.ctypes.data if isinstance(each, np.ndarray) else each.data.ptr for each in ends)
            one = here.submitted(here.plan(nbytes, near, far), *ends)
            ways = {
                "isoviz": partial(_median, one),
                "cudaMemcpyAsync": partial(_median, partial(here.bare, destination, source, nbytes)),
            }
            times = here.in_turn(ways)
            what = f"{format_bytes(nbytes)}, {SHORT[near]} → {SHORT[far]}"
            yield {**compared("small", what, times, "isoviz", "cudaMemcpyAsync"), "ways": medians(times)}


def _median(way: Callable[[], float]) -> float:
    return statistics.median(way() for _ in range(CALLS))
