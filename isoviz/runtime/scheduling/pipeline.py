"""From a plan to what a scheduler needs to know of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoviz.errors import InputError
from isoviz.machines import ChannelKind
from isoviz.runtime.scheduling.work import Ring, Work

if TYPE_CHECKING:
    from isoviz.planner import Plan
    from isoviz.planner.path_plan import Hop

REQUEST_BYTES = 1 << 20
"""Longer chunks go in several requests, between which a channel can turn to a more urgent transfer."""
LONGER, AT_LEAST = 4, 4
"""Requests within memory, and those that are single runs of a disk, are up to so many times as long, and take less time for all
that: each costs some work of its own. A chunk has at least so many, where it would have them anyway: for as many threads."""
SHORT_RUNS, SHORTER = 128 << 10, 3 / 4
"""Below so many bytes, runs of a disk are handed over many at once; requests of them are by this factor shorter: with what their
pages have besides, they go by way of what a thread has for a whole request."""
_DISK = (ChannelKind.DISK_READ, ChannelKind.DISK_WRITE)


def work_of(
    plan: Plan,
    priority: int | None = None,
    *,
    pipelined: bool = True,
    request_bytes: int = REQUEST_BYTES,
    chunks: int | None = None,
) -> Work:
    """The work of a plan: `priority` is that of its transfer unless given, requests have at most about `request_bytes` bytes (up
    to `LONGER` times as many within memory, and of single runs of a disk); with `chunks` the first so many only. Not `pipelined`,
    every hop moves everything before the next one begins, through buffers that hold all of it.

    Raises:
        InputError: `chunks` is below 1.
    """
    if chunks is not None and chunks < 1:
        raise InputError(f"{chunks} chunks; expected at least 1")
    chunks = plan.chunk_count if chunks is None else min(chunks, plan.chunk_count)
    requests = tuple([_requests(plan, hop, request_bytes) for hop in plan.hops])
    rings = tuple(Ring(each.memory, each.nbytes, each.slots if pipelined else chunks) for each in plan.buffers)
    channels = tuple(hop.channel for hop in plan.hops)
    urgency = plan.transfer.priority if priority is None else priority
    return Work(channels, chunks, rings, requests, urgency, pipelined, plan.overlap)


def _requests(plan: Plan, hop: Hop, request_bytes: int) -> int:
    """How many requests a chunk is on a hop."""
    on_disk = hop.kind in _DISK
    is_short = on_disk and hop.request_bytes < min(SHORT_RUNS, plan.chunk_payload)
    count = max(1, math.ceil(plan.chunk_payload / (request_bytes * (SHORTER if is_short else 1))))
    if hop.kind == ChannelKind.MEMCPY or (on_disk and not is_short and hop.request_bytes >= request_bytes):
        return max(min(count, AT_LEAST), math.ceil(count / LONGER))
    return count
