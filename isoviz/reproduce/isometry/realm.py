"""A model of the DMA subsystem that Realm had before Isometry (Isometry, sections 5.1, 6.1 and 6.2).

- A transfer of several hops is a series of single ones along a shortest path, through temporary instances of its whole size; a
  hop is queued when the one before is done.
- Each node has a fixed number of DMA threads. A thread takes the copy of the highest priority that waits, first come first
  served, and carries it out whole before it takes another, even if a copy of higher priority has arrived.
- Threads know nothing of each other: those that use the same channel share it.

A copy is done by a thread of the node it starts from, unless `by_launcher` says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from isoviz.machines import shortest_path
from isoviz.scheduling.fair_sharing import fair_rates

if TYPE_CHECKING:
    from isoviz.machines import Machine

ROUNDING = 1e-9
"""A share of a copy below this is zero."""


class Copy(NamedTuple):
    """One hop of a whole instance: `seconds` on its channel without other users, by a thread of `node`."""

    channel: str
    seconds: float
    node: int


class Order(NamedTuple):
    """A transfer: its copies one after the other, from `at` seconds on."""

    copies: tuple[Copy, ...]
    priority: int = 0
    at: float = 0.0


class _Running(NamedTuple):
    order: int
    hop: int
    copy: Copy


def completion(orders: Sequence[Order], threads: int) -> list[float]:
    """The end of each order in seconds, with `threads` DMA threads on each node."""
    ends = [order.at for order in orders]
    arrivals: list[tuple[float, int, int]] = []  # when, which order, which hop
    for number, order in enumerate(orders):
        if order.copies:
            heappush(arrivals, (order.at, number, 0))
    queues: dict[int, list[tuple[int, int, int, int]]] = {}  # by node: −priority, arrival, order, hop
    running: list[_Running] = []
    left: list[float] = []
    busy: dict[int, int] = {}
    count, now = 0, 0.0
    while arrivals or running:
        rates = _rates(running)
        until = min((work / rate for work, rate in zip(left, rates, strict=True)), default=float("inf"))
        if arrivals and arrivals[0][0] - now < until:
            until = max(0.0, arrivals[0][0] - now)
        now += until
        left = [work - rate * until for work, rate in zip(left, rates, strict=True)]
        done = [each for each, work in zip(running, left, strict=True) if work <= ROUNDING * each.copy.seconds]
        if done:
            kept = [(each, work) for each, work in zip(running, left, strict=True) if work > ROUNDING * each.copy.seconds]
            running, left = [each for each, _ in kept], [work for _, work in kept]
        for number, hop, copy in done:
            busy[copy.node] -= 1
            if hop + 1 < len(orders[number].copies):
                heappush(arrivals, (now, number, hop + 1))
            else:
                ends[number] = now
        while arrivals and arrivals[0][0] <= now:
            _, number, hop = heappop(arrivals)
            node = orders[number].copies[hop].node
            heappush(queues.setdefault(node, []), (-orders[number].priority, count, number, hop))
            count += 1
        for node, queue in queues.items():
            while queue and busy.get(node, 0) < threads:
                _, _, number, hop = heappop(queue)
                copy = orders[number].copies[hop]
                busy[node] = busy.get(node, 0) + 1
                running.append(_Running(number, hop, copy))
                left.append(copy.seconds)
    return ends


def _rates(running: Sequence[_Running]) -> list[float]:
    """Seconds of work per second: a channel has one, fairly shared by the copies that use it."""
    uses = [((each.copy.channel, 1.0),) for each in running]
    return fair_rates([1.0] * len(running), uses, {each.copy.channel: 1.0 for each in running})


def route(machine: Machine, source: str, destination: str, temporaries: str = "sys") -> tuple[str, ...]:
    """The memories of a shortest path, with temporary instances in one kind of host memory of each node they are on.

    Whole instances are too large to count on registered memory (section 6.5), hence SYS.
    """
    memories = [source, *(channel.destination for channel in shortest_path(machine, source, destination))]
    return (source, *(f"node{machine.memory(name).node}.{temporaries}" for name in memories[1:-1]), destination)


def copies(machine: Machine, memories: Sequence[str], nbytes: int) -> tuple[Copy, ...]:
    """The copies along a path, all of `nbytes` bytes and none of them converting."""
    return tuple(single(machine, here, there, nbytes, nbytes) for here, there in pairwise(memories))


def single(machine: Machine, source: str, destination: str, nbytes: int, run: float) -> Copy:
    """One copy over the fastest channel there is, whose contiguous runs have `run` bytes."""
    channel = max(machine.between(source, destination), key=lambda each: each.rate(run))
    return Copy(channel.name, channel.setup + nbytes / channel.rate(run), machine.memory(source).node)


def by_launcher(hops: Sequence[Copy]) -> tuple[Copy, ...]:
    """The same copies, all done by threads of the node that the first one starts from."""
    return tuple(copy._replace(node=hops[0].node) for copy in hops)
