"""From a plan to what a scheduler needs to know of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoviz.errors import InputError
from isoviz.machines import ChannelKind
from isoviz.runtime.work import Ring, Work

if TYPE_CHECKING:
    from isoviz.planner import Plan

REQUEST_BYTES = 1 << 20
"""Longer chunks go in several requests, between which a channel can turn to a more urgent transfer."""
COPIED = 4
"""Within memory requests are up to so many times as long, and take less time for all that: each costs some work of its own. A
chunk has at least so many, where it would have them anyway: for as many threads."""


def work_of(
    plan: Plan,
    priority: int | None = None,
    *,
    pipelined: bool = True,
    request_bytes: int = REQUEST_BYTES,
    chunks: int | None = None,
) -> Work:
    """The work of a plan: `priority` is that of its transfer unless given, requests have at most about `request_bytes` bytes (up
    to `COPIED` times as many within memory); with `chunks` the first so many only. Not `pipelined`, every hop moves everything
    before the next one begins, through buffers that hold all of it.

    Raises:
        InputError: `chunks` is below 1.
    """
    if chunks is not None and chunks < 1:
        raise InputError(f"{chunks} chunks; expected at least 1")
    chunks = plan.chunk_count if chunks is None else min(chunks, plan.chunk_count)
    count = max(1, math.ceil(plan.chunk_payload / request_bytes))
    copied = max(min(count, COPIED), math.ceil(count / COPIED))
    requests = tuple([copied if hop.kind == ChannelKind.MEMCPY else count for hop in plan.hops])
    rings = tuple(Ring(each.memory, each.nbytes, each.slots if pipelined else chunks) for each in plan.buffers)
    channels = tuple(hop.channel for hop in plan.hops)
    urgency = plan.transfer.priority if priority is None else priority
    return Work(channels, chunks, rings, requests, urgency, pipelined, plan.overlap)
