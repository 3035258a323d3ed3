"""One path of a plan, with every decision made. Pure data."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from isoviz import checks
from isoviz.errors import InputError, show
from isoviz.layouts import ChunkSequence, Layout, Mode, OrderChange, View, compare, order_change
from isoviz.layouts.compare import block_of
from isoviz.machines.cards import REQUEST_BYTES
from isoviz.machines.kinds import request_rule
from isoviz.planner.intermediate.part_runs import buffer_orders, chunk_order
from isoviz.planner.time.makespan import PaceSetters, makespan, paces
from isoviz.planner.time.schedule import MOST_REQUESTS, HopWork, PathShape, scheduled_end
from isoviz.units import format_bytes, format_rate

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.layouts import Chunk, Linearization, StridedCopy
    from isoviz.layouts.recurring import RecurringChunks
    from isoviz.planner.transfer import Transfer


class Hop(NamedTuple):
    """One hop: a channel moves every chunk from one memory to the next, from one layout to another.

    `request_bytes` bounds the contiguous run: PREFIX, at most a chunk, the mean over the fields. `throughput` is the rate that
    the channel sustains with such runs, in bytes per second. `converts` says whether the hop converts the layout. `in_flight` is
    the number of requests that the channel takes at a time (`Channel.max_in_flight`). `latency` is what a chunk takes apart from
    its bytes, in seconds: a shorter last chunk takes it too.
    """

    index: int  # type: ignore[assignment]  # the hop's number, not the method of tuples
    channel: str
    kind: str
    source: str
    destination: str
    source_layout: str
    destination_layout: str
    request_bytes: float
    throughput: float
    converts: bool
    in_flight: int = 1
    latency: float = 0.0


def mean_of(first: float, again: float, starts: int) -> float:
    """The mean of so many starts, all but the first of which are alike."""
    return first if starts == 1 else again + (first - again) / starts


MOST_PADDED, MOST_CONVERTED = 2.0, 1.25
"""The largest ratio of bytes moved with padding to bytes moved without: between equal orders, and between different orders."""


@dataclass(frozen=True)
class Buffer:
    """An intermediate buffer: a ring of `slots` slots of `nbytes` each, holding chunks in `layout`."""

    memory: str
    layout: Layout
    nbytes: int
    slots: int

    @property
    def total_bytes(self) -> int:
        """Bytes of all its slots."""
        return self.nbytes * self.slots


@dataclass(frozen=True)
class PathPlan:
    """One path with every decision made, and its share of the data.

    `transfer` is the plan's whole transfer or a sub-box of it. `run` is None if the path moves all chunks of `transfer`.
    Otherwise several paths have one sequence of chunks in common, and this path moves a run of that sequence. `run` then holds
    the number of its first chunk and the number after its last chunk. Chunks keep their numbers in the common sequence.

    The `outer` slowest components of the layout `order` number the blocks. A chunk consists of `per_chunk` blocks. All
    intermediate layouts end with the same components. `objective` is T, the time that planners minimise: it counts the last chunk
    as a fraction of a full one (`isoviz.planner.time.path_time`), and is the mean of `reuse` starts.
    `throughput` is the rate in the steady state, in bytes per second. `setup` is the set-up time of the channels at the first
    start, in seconds; later starts save `kept` of it. `overlap` says whether hops work at the same time. `resources` names the
    shared resources of the path. `shares` holds, for each of them, the seconds of the resource that a byte costs on each hop.

    The first `source_fields` buffers hold the fields in the order of the source, the others in that of the destination. If `F`
    numbers the blocks, it is 0 or the number of buffers. Without buffers it is 1 if chunks come in the order of the source's
    fields.
    """

    transfer: Transfer
    hops: tuple[Hop, ...]
    order: Layout
    outer: int
    per_chunk: int
    slots: int
    overlap: bool
    objective: float
    throughput: float
    setup: float = 0.0
    shares: tuple[tuple[float, ...], ...] = ()
    resources: tuple[str, ...] = ()
    run: tuple[int, int] | None = None
    source_fields: int = 0
    kept: float = 0.0
    reuse: int = 1

    def __post_init__(self) -> None:
        for name in ("outer", "per_chunk", "slots", "source_fields", "reuse"):
            value = getattr(self, name)
            if type(value) is not int:
                object.__setattr__(self, name, checks.count("plan", name, value))

    @cached_property
    def seconds(self) -> float:
        """The predicted completion time of the first start: the exact time of this pipeline on an idle machine, with its short
        last chunk.

        It is at most T plus the latencies of the last chunk, and more than T minus the time of one chunk through all hops. There
        are three exceptions. If three or more hops share a resource, it may be slightly above T. If hops share a channel, it may
        be above T, because they take turns (`isoviz.planner.time.schedule`). If padding moves too (`moved`), it may be well above
        T.
        """
        return self.seconds_of(self.chunk_count)

    @cached_property
    def later(self) -> PathPlan:
        """The path at a start after the first one, when what is kept is there already."""
        return replace(self, setup=max(0.0, self.setup - self.kept), kept=0.0) if self.kept else self

    @property
    def mean_setup(self) -> float:
        """The mean of the set-up times of all starts, in seconds."""
        return self.setup if self.reuse == 1 else self.later.setup + self.kept / self.reuse

    @property
    def mean(self) -> float:
        """The mean of the predicted completion times of all starts, in seconds."""
        return mean_of(self.seconds, self.later.seconds, self.reuse)

    def seconds_of(self, count: int) -> float:
        """The predicted completion time of the first `count` chunks of the path."""
        if type(count) is not int or not 0 < count <= self.chunk_count:
            count = checks.count("plan", "chunks", count, low=1, high=self.chunk_count)
        if not all(hop.throughput for hop in self.hops):  # nothing moves
            return math.inf
        if self.shares or (self.overlap and self.repeats_a_channel):
            return scheduled_end([self.line(count, in_requests=self.repeats_a_channel)], self.setup)
        hops, last = zip(*self.chunk_seconds(count), strict=True)
        return self.setup + makespan(hops, count, last, slots=self.slots, overlap=self.overlap)

    def chunk_seconds(self, count: int | None = None) -> list[tuple[float, float]]:
        """For every hop, the seconds of a full chunk, and those of the last one of the first `count` chunks (None: of all)."""
        count = None if count is None else checks.count("chunk_seconds", "count", count, high=self.chunk_count)
        ends = count is None or count == self.chunk_count
        share = self.last_payload / self.chunk_payload if ends else 1.0
        found = []
        for hop, moved in zip(self.hops, self.moved, strict=True):
            full = self.chunk_payload * moved / hop.throughput
            latency = min(hop.latency, full)
            found.append((full, latency + share * (full - latency)))
        return found

    def requests(self, hop: Hop, request_bytes: int = REQUEST_BYTES) -> int:
        """The number of requests of a chunk on a hop, by the rule of the kind of its channel (`isoviz.machines.cards`).

        `request_bytes` is the length that requests should have.

        Raises:
            InputError: `hop` is not a hop of this path, or `request_bytes` is not a number of bytes.
        """
        if not any(hop is each for each in self.hops):
            raise InputError(f"requests: expected a hop of this path, got {show(hop)}")
        request_bytes = checks.count("requests", "request_bytes", request_bytes, low=1)
        return request_rule(hop.kind).requests(self.chunk_payload, hop.request_bytes, request_bytes, hop.throughput)

    @property
    def repeats_a_channel(self) -> bool:
        """Whether two of its hops use the same channel."""
        return len({hop.channel for hop in self.hops}) < len(self.hops)

    def line(self, count: int | None = None, *, in_requests: bool = True) -> PathShape:
        """The path with its first `count` chunks (None: all), for a prediction with shared channels and resources.

        `in_requests` says whether chunks are cut into requests. This only matters if hops share a channel.

        Raises:
            InputError: `count` is not a number of chunks, or `in_requests` is not a bool.
        """
        checks.flag_argument("line", "in_requests", in_requests)
        count = self.chunk_count if count is None else checks.count("line", "count", count, high=self.chunk_count)
        full = self.chunk_payload
        last = self.last_payload if count == self.chunk_count else full
        stages = []
        for hop, moved, (whole, short), *costs in zip(
            self.hops, self.moved, self.chunk_seconds(count), *self.shares, strict=True
        ):
            requests = min(self.requests(hop), MOST_REQUESTS) if in_requests else 1
            uses = tuple([(name, cost * moved) for name, cost in zip(self.resources, costs, strict=True) if cost])
            nbytes = full / requests, last / requests
            seconds = whole / requests, short / requests
            stages.append(HopWork(hop.channel, hop.in_flight, requests, seconds, nbytes, uses))
        return PathShape(tuple(stages), count, self.slots, self.overlap)

    @cached_property
    def chunk_payload(self) -> float:
        """Bytes of entries in a full chunk without padding; the mean if chunks differ."""
        blocks = self.chunks.blocks
        if self.run is not None:
            blocks = min(blocks, self.run[1] * self.per_chunk) - self.run[0] * self.per_chunk
        return min(self.bytes * self.per_chunk / blocks, self.bytes)

    @property
    def last_payload(self) -> float:
        """Bytes of entries in the last chunk, which may be short."""
        return self.bytes - (self.chunk_count - 1) * self.chunk_payload

    @cached_property
    def bytes(self) -> int:
        """Bytes that move."""
        if self.run is None or self.run == (0, len(self.chunks)):
            return self.transfer.nbytes
        chunks, (first, end) = self.chunks, self.run
        if chunks.linearization.is_padded:
            return sum(chunks[number].payload_bytes for number in range(first, end))
        return chunks.first_byte(end) - chunks.first_byte(first)

    @property
    def memories(self) -> tuple[str, ...]:
        """The memories of the path, source to destination."""
        return (self.hops[0].source, *(hop.destination for hop in self.hops))

    @property
    def converting(self) -> tuple[int, ...]:
        """The numbers of the hops that convert; more than one if the blocks of the two ends do not nest."""
        return tuple(hop.index for hop in self.hops if hop.converts)

    @cached_property
    def chunks(self) -> ChunkSequence:
        """The sequence of chunks, in the order in which they move.

        The boxes are in coordinates local to the path's transfer. The path moves the chunks in `numbers`.
        """
        return ChunkSequence(chunk_order(self.transfer, self.order, self.source_fields), self.outer, self.per_chunk)

    @property
    def numbers(self) -> range:
        """The numbers, in `chunks`, of the chunks that the path moves."""
        return range(len(self.chunks)) if self.run is None else range(*self.run)

    @property
    def chunk_count(self) -> int:
        """The number of chunks that the path moves."""
        return len(self.chunks) if self.run is None else self.run[1] - self.run[0]

    @property
    def chunk_bytes(self) -> int:
        """Bytes of a full chunk; the largest if chunks differ in size (`ChunkSequence.chunk_bytes`)."""
        return min(self.chunks.chunk_bytes, self.bytes)

    @cached_property
    def orders(self) -> tuple[Linearization, ...]:
        """The linearization orders of the moved data at both ends and in every buffer: one more than hops."""
        transfer = self.transfer
        inside = buffer_orders(transfer, [Layout(hop.destination_layout) for hop in self.hops[:-1]], self.source_fields)
        return (transfer.source_order, *inside, transfer.destination_order)

    @cached_property
    def shuffles(self) -> tuple[int, ...]:
        """Shuffle size of every hop: the bytes that a conversion has to hold (TOTAL / SUFFIX; Isometry, section 4.2)."""
        return tuple(compare(here, there).shuffle_bytes for here, there in pairwise(self.orders))

    @cached_property
    def order_changes(self) -> tuple[OrderChange, ...]:
        """What each hop does to the order of the entries: it keeps the order, converts it, or forms, dissolves or reorders
        blocks."""
        return tuple(order_change(*ends, block=self.block) for ends in pairwise(self.orders))

    @cached_property
    def block(self) -> dict[str, int]:
        """The extents, by dimension, of the smallest block that shows where the order changes on the path."""
        return block_of(self.orders)

    @cached_property
    def _held(self) -> tuple[ChunkSequence, ...]:
        """The sequence of chunks in every intermediate buffer: the same blocks, each buffer in its own layout."""
        return tuple(ChunkSequence(order, self.outer, self.per_chunk) for order in self.orders[1:-1])

    @cached_property
    def buffers(self) -> tuple[Buffer, ...]:
        """The intermediate buffers, in the order of the path."""
        return tuple(
            Buffer(hop.destination, held.linearization.layout, held.chunk_bytes, self.slots)
            for hop, held in zip(self.hops, self._held, strict=False)
        )

    @property
    def buffer_bytes(self) -> int:
        """Bytes of all intermediate buffers together."""
        return sum(buffer.total_bytes for buffer in self.buffers)

    def views(self, hop: int, chunk: int) -> tuple[View, View]:
        """Both ends of a hop for chunk number `chunk`: an instance, or the slot that holds this chunk."""
        last = len(self.hops) - 1
        if type(hop) is not int or not 0 <= hop <= last:
            hop = checks.count("plan", "hop", hop, high=last)
        if type(chunk) is not int or not 0 <= chunk < len(self.chunks):
            chunk = checks.count("plan", "chunk", chunk, high=len(self.chunks) - 1)
        source = self.transfer.source_view() if hop == 0 else self._slot(hop - 1, chunk)
        return source, self.transfer.destination_view() if hop == last else self._slot(hop, chunk)

    @cached_property
    def padding(self) -> tuple[tuple[int, ...], ...]:
        """For every hop and dimension, the number of padding coordinates after the last one that move as well.

        Padding that both ends of a hop have moves with the entries, so that blocks stay whole. No padding moves (0) if only a
        part of the instances moves, if it is at the end of a chunk that stays as it is, or if it costs more than it saves: more
        than a quarter of the bytes, or, between equal orders, more than all of them.
        """
        space, nothing = self.transfer.space, (0,) * len(self.transfer.space)
        if not self.transfer.is_whole:
            return (nothing,) * len(self.hops)
        found = []
        for hop, (here, there) in enumerate(pairwise(self.orders)):
            alike = {dim: here.padding[dim] if here.padding[dim] == there.padding[dim] else 0 for dim in space}
            is_equal = here.same_as(there)
            if is_equal and len(self.hops) > 1:
                self._without_end(there if hop == 0 else here, alike)
            more = math.prod(1 + pad / space[dim] for dim, pad in alike.items())
            found.append(tuple(alike.values()) if more <= (MOST_PADDED if is_equal else MOST_CONVERTED) else nothing)
        return tuple(found)

    def _without_end(self, buffer: Linearization, pads: dict[str, int]) -> None:
        """Leave out padding at the end of every chunk: the entries before it are one run in any case."""
        inside = buffer.parts[: len(buffer.parts) - self.outer]
        slowest = inside[-1] if inside and self.per_chunk == 1 else None
        if isinstance(slowest, Mode) and pads[slowest.dim] % slowest.step == 0:
            pads[slowest.dim] = 0

    @cached_property
    def moved(self) -> tuple[float, ...]:
        """For every hop, the bytes moved per byte of an entry: more than 1 where padding moves as well."""
        space = self.transfer.space
        return tuple(math.prod(1 + pad / space[dim] for dim, pad in zip(space, pads, strict=True)) for pads in self.padding)

    @property
    def rates(self) -> tuple[float, ...]:
        """For every hop, the bytes of entries per second: its throughput, divided by `moved`."""
        return tuple(hop.throughput / moved for hop, moved in zip(self.hops, self.moved, strict=True))

    @cached_property
    def paces(self) -> tuple[PaceSetters, ...]:
        """What sets the pace of the path; several entries if they tie."""
        channels = [hop.channel for hop in self.hops]
        return paces(channels, self.rates, self.resources, self.shares) if self.overlap else paces(channels, self.rates)

    @cached_property
    def slowest(self) -> frozenset[int]:
        """The numbers of the hops that set the pace of the path; none if it has one hop. `Plan.slowest` knows its other paths."""
        return frozenset(hop for pace in self.paces for hop in pace.hops) if len(self.hops) > 1 else frozenset()

    def copies(self, hop: int, chunk: int) -> list[StridedCopy]:
        """The copies of a hop for chunk number `chunk`."""
        hop = checks.count("plan", "hop", hop, high=len(self.hops) - 1)
        chunk = checks.count("plan", "chunk", chunk, high=len(self.chunks) - 1)
        return self.recurring(hop).of(chunk)[0]

    def recurring(self, hop: int, chunk: Callable[[int], Chunk] | None = None) -> RecurringChunks:
        """The copies of a hop, chunk by chunk; `chunk` as in `RecurringChunks`."""
        return self.transfer.recurring(self.chunks, partial(self.views, hop), chunk, self.padding[hop])

    def _slot(self, buffer: int, chunk: int) -> View:
        held = self._held[buffer]
        # The first byte in this buffer's own layout: it may pad a block differently from the layout that numbers the chunks.
        return View(held.linearization, base=-held.first_byte(chunk))


ConstraintKind = Literal["throughput", "shuffle", "slot", "memory-limit", "capacity", "resource", "buffers"]
RATES = ("throughput", "resource")
"""The constraints in bytes per second; all others are in bytes."""

ROUNDING = 1e-9
"""A rate above its bound by at most this share is rounding, and the constraint holds."""


@dataclass(frozen=True)
class Constraint:
    """`needed` ≤ `allowed`: bytes per second for `throughput` and `resource`, else bytes.

    - `throughput`: the wanted throughput ≤ the rate of hop `hop`, with its runs and chunks. Hops of one channel take turns; then
      the bound is what the channel sustains for all of them.
    - `shuffle`: the shuffle size of hop `hop`, between two buffers, ≤ the chunk. Without a hop: the smallest block of the path ≤
      the chunk that was asked for.
    - `slot`: the slot that a chunk takes in the memory `name` ≤ the slot limit there (TH).
    - `memory-limit`: all buffers of the transfer together ≤ their limit.
    - `capacity`: the buffers in the memory `name` ≤ what is free in it.
    - `resource`: the bytes per second of the shared resource `name` at the wanted throughput ≤ its capacity.
    - `buffers`: the bytes of a buffer in the memory `name`, which holds no buffers, ≤ 0.
    """

    constraint: ConstraintKind
    hop: int | None
    name: str
    needed: float
    allowed: float

    @property
    def holds(self) -> bool:
        """Whether the constraint holds."""
        return self.needed <= (self.allowed * (1 + ROUNDING) if self.constraint in RATES else self.allowed)

    @property
    def slack(self) -> float:
        """The unused part of what is allowed; negative by what is missing where the constraint does not hold."""
        return 0.0 if self.holds and self.needed > self.allowed else self.allowed - self.needed

    def __str__(self) -> str:
        form = format_rate if self.constraint in RATES else format_bytes
        where = [f" of hop {self.hop}"] * (self.hop is not None) + [f" ({self.name})"] * bool(self.name)
        return f"{self.constraint}{''.join(where)}: {form(self.needed)} needed, {form(self.allowed)} allowed"
