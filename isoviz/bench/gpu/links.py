"""Transfers between a GPU and the host over one channel: large ones, small ones, and an urgent one among others."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.host.copying import copy_all
from isoviz.bench.aims import compared, row
from isoviz.bench.gpu.bench import ANY, FBM, SYS, ZCM, left_out, medians
from isoviz.bench.table import seconds_of
from isoviz.layouts import StridedCopy
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.bench.gpu.bench import GpuBench
    from isoviz.planner import Plan

LARGE = 64 << 20
"""Bytes from which on the aims hold."""
PINNED_AIM, PAGEABLE_AIM, NEVER_SLOWER = 0.97, 0.8, 1.0
THREADS = min(8, os.cpu_count() or 1)
"""Threads of the memory copy."""
CALLS = 20
"""Small transfers in a round; their median is the figure of the round."""
OTHERS, PRIORITY = 6, 10
ALLOWED = 1.2
"""Times the duration alone, plus one request."""
REQUEST = 16 << 20
"""Bytes of the longest request of a GPU channel."""
SHORT = {FBM: "FBM", ZCM: "pinned", SYS: "pageable"}


def host_links(bench: GpuBench) -> Iterator[dict[str, Any]]:
    """Rows of all sizes, memories and directions."""
    for nbytes in bench.sizes.links:
        for memory in (ZCM, SYS):
            for up in (True, False):
                if bench.has_time:
                    yield from _link(bench, nbytes, memory, up)
                else:
                    yield left_out("links", f"{format_bytes(nbytes)}, {SHORT[memory]} {'→' if up else '←'} GPU")
        bench.tidy()


def _link(bench: GpuBench, nbytes: int, memory: str, up: bool) -> Iterator[dict[str, Any]]:
    host, device = bench.host(memory, nbytes), bench.device(nbytes)[:nbytes]
    made = bench.plan(nbytes, *((memory, FBM) if up else (FBM, memory)))
    ends: tuple[Any, Any] = (host, device) if up else (device, host)
    ways: dict[str, Callable[[], float]] = {"isoviz": bench.submitted(made, *ends)}
    to, at = (device.data.ptr, host.ctypes.data) if up else (host.ctypes.data, device.data.ptr)
    what = f"{format_bytes(nbytes)}, {SHORT[memory]} {'→ GPU' if up else '← GPU'}"
    aims = nbytes >= LARGE
    aim = PINNED_AIM if aims else None
    if memory == ZCM:
        ways["cudaMemcpyAsync"] = partial(bench.bare, to, at, nbytes)
        times = bench.in_turn(ways)
        bench.check(what, ways["isoviz"], ends[1], bench.host(SYS, nbytes))
        yield {
            **compared("links", what, times, "isoviz", "cudaMemcpyAsync", aim),
            "ways": medians(times),
        }
        return
    pinned = bench.host(ZCM, nbytes)
    there, near = (device.data.ptr, pinned.ctypes.data) if up else (pinned.ctypes.data, device.data.ptr)
    other = np.empty_like(host)
    whole = [StridedCopy(0, 0, nbytes)]
    ways["cudaMemcpy, pageable"] = lambda: seconds_of(lambda: bench.runtime.memcpy(to, at, nbytes, ANY))
    ways["cudaMemcpyAsync, pinned"] = partial(bench.bare, there, near, nbytes)
    ways[f"memcpy, {THREADS} threads"] = lambda: seconds_of(lambda: copy_all(whole, host, other, _nothing, THREADS))
    times = bench.in_turn(ways)
    bench.check(what, ways["isoviz"], ends[1], pinned)
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


def small_transfers(bench: GpuBench) -> Iterator[dict[str, Any]]:
    """A few bytes, from `submit` to the end, beside cudaMemcpyAsync and a wait for it."""
    for nbytes in bench.sizes.small:
        for near, far in ((ZCM, FBM), (FBM, ZCM), (SYS, FBM), (FBM, SYS), (FBM, FBM)):
            ends = [bench.device(nbytes)[:nbytes] if memory == FBM else bench.host(memory, nbytes) for memory in (near, far)]
            source, destination = (each.ctypes.data if isinstance(each, np.ndarray) else each.data.ptr for each in ends)
            one = bench.submitted(bench.plan(nbytes, near, far), *ends)
            ways = {
                "isoviz": partial(_median, one),
                "cudaMemcpyAsync": partial(_median, partial(bench.bare, destination, source, nbytes)),
            }
            times = bench.in_turn(ways)
            what = f"{format_bytes(nbytes)}, {SHORT[near]} → {SHORT[far]}"
            yield {**compared("small", what, times, "isoviz", "cudaMemcpyAsync"), "ways": medians(times)}


def _median(way: Callable[[], float]) -> float:
    return statistics.median(way() for _ in range(CALLS))


def urgent_on_gpu(bench: GpuBench) -> Iterator[dict[str, Any]]:
    """Rows of three channels."""
    for near, far in ((ZCM, FBM), (FBM, ZCM), (SYS, FBM)):
        big, small = bench.sizes.bulk, bench.sizes.urgent
        bulk, urgent = (bench.plan(nbytes, near, far) for nbytes in (big, small))
        low, high = (
            [bench.device(nbytes)[:nbytes] if memory == FBM else bench.host(memory, nbytes) for memory in (near, far)]
            for nbytes in (big, small)
        )
        ways: dict[str, Callable[[], float]] = {
            "alone": partial(_urgent, bench, bulk, urgent, low, high, 0),
            "amid others": partial(_urgent, bench, bulk, urgent, low, high, OTHERS),
            "one of the others": bench.submitted(bulk, *low),
        }
        times = bench.in_turn(ways)
        requests = [one * min(1.0, REQUEST / big) for one in times["one of the others"]]
        limits = [ALLOWED * alone + request for alone, request in zip(times["alone"], requests, strict=True)]
        ratio = statistics.median(limit / mine for limit, mine in zip(limits, times["amid others"], strict=True))
        what = f"urgent {format_bytes(small)} among {OTHERS} × {format_bytes(big)}, {SHORT[near]} → {SHORT[far]}"
        mine, limit = statistics.median(times["amid others"]), statistics.median(limits)
        beside = f"{ALLOWED} × alone + a request"
        yield {**row("urgent", what, mine, beside, limit, 1.0, ratio=ratio), "ways": medians(times)}
        bench.tidy()


def _urgent(bench: GpuBench, bulk: Plan, urgent: Plan, low: list[Any], high: list[Any], others: int) -> float:
    """Seconds from `submit` to the end of the urgent transfer, once the others are under way."""
    events = [bench.engine.submit(bulk, *low) for _ in range(others)]
    while events and not events[0].bytes_done and not events[0].done:
        time.sleep(0.0002)
    begin = time.perf_counter()
    bench.engine.submit(urgent, *high, priority=PRIORITY).wait()
    seconds = time.perf_counter() - begin
    for event in events:
        event.wait()
    return seconds
