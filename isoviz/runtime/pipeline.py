"""The conversion of a plan into work for a scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.machines.cards import REQUEST_BYTES
from isoviz.scheduling.work import PathWork, Ring, Work

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoviz.planner import PathPlan, Plan
    from isoviz.runtime.protocols import RealChannel


def work_of(
    plan: Plan,
    priority: int | None = None,
    *,
    pipelined: bool = True,
    request_bytes: int = REQUEST_BYTES,
    chunks: int | None = None,
    channels: Sequence[RealChannel] | None = None,
) -> Work:
    """The work of a plan.

    - `priority`: replaces the transfer's priority.
    - `pipelined`: without it, every hop moves all chunks before the next hop begins, through buffers that hold all chunks.
    - `request_bytes`: the approximate length of requests in bytes.
    - `chunks`: move only the first `chunks` chunks of each path.
    - `channels`: the real channels of the hops, which cut the requests. Without them, the rules of the described kinds apply.

    Raises:
        InputError: `chunks` is below 1, or a number is not a whole one.
    """
    if chunks is not None:
        chunks = checks.count("run", "chunks", chunks, low=1)
    left = iter(channels) if channels is not None else None
    urgency = plan.transfer.priority if priority is None else checks.priority(priority)
    return Work(tuple([_path_work(path, left, request_bytes, chunks, pipelined) for path in plan.paths]), urgency)


def _path_work(
    path: PathPlan, channels: Iterator[RealChannel] | None, request_bytes: int, chunks: int | None, pipelined: bool
) -> PathWork:
    count = path.chunk_count if chunks is None else min(chunks, path.chunk_count)
    if channels is None:
        requests = tuple([path.requests(hop, request_bytes) for hop in path.hops])
    else:
        pairs = zip(path.hops, channels, strict=False)  # hops first: at their end, zip takes no channel of the next path
        requests = tuple([channel.requests_of_chunk(path, hop, request_bytes) for hop, channel in pairs])
        for hop, number in zip(path.hops, requests, strict=True):
            if type(number) is not int or number < 1:
                checks.count(f"channel {hop.channel}", "requests of a chunk", number, low=1)
    rings = tuple(Ring(each.memory, each.nbytes, each.slots if pipelined else count) for each in path.buffers)
    return PathWork(tuple(hop.channel for hop in path.hops), count, rings, requests, pipelined, path.overlap)
