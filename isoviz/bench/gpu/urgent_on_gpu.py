"""An urgent transfer among others on the same channel of a GPU."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from isoviz.bench.gpu.gpu_here import FBM, SYS, ZCM, medians
from isoviz.bench.gpu.host_links import SHORT
from isoviz.bench.result_rows import row
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.bench.gpu.gpu_here import GpuHere
    from isoviz.planner import Plan

OTHERS, PRIORITY = 6, 10
ALLOWED = 1.2
"""Times the duration alone, plus one request."""
REQUEST = 16 << 20
"""Bytes of the longest request of a GPU channel."""


def urgent_on_gpu(here: GpuHere) -> Iterator[dict[str, Any]]:
    """Rows of three channels."""
    for near, far in ((ZCM, FBM), (FBM, ZCM), (SYS, FBM)):
        big, small = here.sizes.bulk, here.sizes.urgent
        bulk, urgent = (here.plan(nbytes, near, far) for nbytes in (big, small))
        low, high = (
            [here.device(nbytes)[:nbytes] if memory == FBM else here.host(memory, nbytes) for memory in (near, far)]
            for nbytes in (big, small)
        )
        ways: dict[str, Callable[[], float]] = {
            "alone": partial(_urgent, here, bulk, urgent, low, high, 0),
            "amid others": partial(_urgent, here, bulk, urgent, low, high, OTHERS),
            "one of the others": here.submitted(bulk, *low),
        }
        times = here.in_turn(ways)
        requests = [one * min(1.0, REQUEST / big) for one in times["one of the others"]]
        limits = [ALLOWED * alone + request for alone, request in zip(times["alone"], requests, strict=True)]
        ratio = statistics.median(limit / mine for limit, mine in zip(limits, times["amid others"], strict=True))
        what = f"urgent {format_bytes(small)} among {OTHERS} × {format_bytes(big)}, {SHORT[near]} → {SHORT[far]}"
        mine, limit = statistics.median(times["amid others"]), statistics.median(limits)
        beside = f"{ALLOWED} × alone + a request"
        yield {**row("urgent", what, mine, beside, limit, 1.0, ratio=ratio), "ways": medians(times)}
        here.tidy()


def _urgent(here: GpuHere, bulk: Plan, urgent: Plan, low: list[Any], high: list[Any], others: int) -> float:
    """Seconds from `submit` to the end of the urgent transfer, once the others are under way."""
    events = [here.engine.submit(bulk, *low) for _ in range(others)]
    while events and not events[0].bytes_done and not events[0].done:
        time.sleep(0.0002)
    begin = time.perf_counter()
    here.engine.submit(urgent, *high, priority=PRIORITY).wait()
    seconds = time.perf_counter() - begin
    for event in events:
        event.wait()
    return seconds
