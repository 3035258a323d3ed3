"""From a path of channels to a plan: which hop converts, which blocks, which chunk.

Shared by the planners that convert in one hop (`simple`, `spsl`, `spdl`, `direct`): every buffer before the converting hop
holds a part in the source's order, every buffer after it a part in the destination's order.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from isoviz.errors import LimitError
from isoviz.layouts import Layout, Linearization, compare
from isoviz.layouts.chunks import ChunkSequence
from isoviz.machines import Channel, Machine, MemoryKind
from isoviz.planner.blocks import grown, restricted
from isoviz.planner.plan import Hop, Plan
from isoviz.planner.runs import contiguous_bytes
from isoviz.planner.timing import Timing, pipeline
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoviz.planner.options import Options
    from isoviz.planner.transfer import Transfer

# The unit in which budgets for a chunk are tried: below this, the work per chunk costs more than overlapping hops gains.
SMALLEST_CHUNK = 64 * 1024


@dataclass(frozen=True)
class _Candidate:
    """Layouts along a path for one block, with the time they take."""

    layouts: tuple[Linearization, ...]
    outer: int
    per_chunk: int
    runs: tuple[float, ...]
    channels: tuple[Channel, ...]
    timing: Timing
    buffer_bytes: int

    @property
    def key(self) -> tuple[float, int, tuple[str, ...]]:
        """Ties: fewer hops first, then less buffer space, then names (DESIGN, section 2)."""
        return (self.timing.seconds, self.buffer_bytes, tuple(str(lin.layout) for lin in self.layouts))


@dataclass(frozen=True)
class PathSearch:
    """The best plan along one path of memories that converts in one given hop (None: nothing to convert).

    `hops` holds the parallel channels of every hop; the fastest for the run is taken.
    """

    transfer: Transfer
    machine: Machine
    options: Options
    hops: tuple[tuple[Channel, ...], ...]
    converting: int | None

    @property
    def slots(self) -> int:
        """Slots of a buffer."""
        return self.options.slots or self.machine.limits.slots

    def best(self) -> _Candidate:
        """The candidate with the least predicted time.

        Raises:
            LimitError: not even one entry fits the limits; the message says what would be enough.
        """
        limit = self._slot_limit()
        best: _Candidate | None = None
        for entries in self._chunk_entries(limit):
            if best is not None and not self._may_pay(entries):
                break
            for block in self._blocks(entries):
                candidate = self._candidate(block, limit)
                if candidate is not None and (best is None or candidate.key < best.key):
                    best = candidate
        if best is None:
            slots, need = (len(self.hops) - 1) * self.slots, format_bytes(self.transfer.fields.nbytes)
            raise LimitError(
                f"transfer from {self.transfer.source} to {self.transfer.destination}: the limits leave {format_bytes(limit)}"
                f" for each of {slots} slots; expected at least {need}, one entry"
            )
        return best

    def _slot_limit(self) -> int:
        """Bytes one slot may have: TH, the memory limit and the capacities divided among all slots of the path."""
        inside = [channels[0].destination for channels in self.hops[:-1]]
        machine, limits = self.machine, self.machine.limits
        bounds = [self.options.slot_limit or limits.slot_limit] if not inside else []
        total = self.options.memory_limit or limits.memory_limit
        if total is not None and inside:
            bounds.append(total // (len(inside) * self.slots))
        for name in inside:
            memory = machine.memory(name)
            own = [limit for limit in (self.options.slot_limit, memory.slot_limit) if limit is not None]
            bounds.append(min(own, default=limits.slot_limit))
            if memory.capacity is not None:
                bounds.append(self._free(name) // (inside.count(name) * self.slots))
        return min(bounds) if inside else max(bounds[0], self.transfer.fields.nbytes)  # nothing is held: a chunk may be one entry

    def _free(self, name: str) -> int:
        """Capacity of a memory less the ends of this transfer that lie in it."""
        ends = {self.transfer.source, self.transfer.destination}
        taken = sum(end.linearization.nbytes for end in ends if end.memory == name)
        return max(0, (self.machine.memory(name).capacity or 0) - taken)

    def _order(self) -> Linearization:
        """Whose order the chunks follow: a disk's, so that it is read or written in sequence; else the destination's."""
        ends = self.transfer.source_order, self.transfer.destination_order
        disks = [
            self.machine.memory(end.memory).kind is MemoryKind.DSK for end in (self.transfer.source, self.transfer.destination)
        ]
        return ends[0] if disks[0] and not disks[1] else ends[1]

    def _blocks(self, entries: int) -> Iterator[dict[str, int]]:
        """Blocks worth trying for a chunk of so many entries.

        Where all buffers hold the same end's order, a block is a contiguous part of that end. Where the converting hop has
        buffers on both sides, a long run at one end costs the other end its run: all splits by powers of two are tried.
        """
        source, destination = self.transfer.source_order, self.transfer.destination_order
        unit = dict.fromkeys(self.transfer.space.dims, 1)
        last = len(self.hops) - 1
        both_sides = self.converting is not None and 0 < self.converting < last
        held = destination if self.converting == 0 else source
        lead = held if last else self._order()
        seen: set[tuple[int, ...]] = set()
        runs = [entries >> shift for shift in range(entries.bit_length())] if both_sides else [entries]
        for run in runs:
            block = grown(lead, destination if both_sides else self._order(), unit, run)
            if both_sides:
                block = grown(source, destination, grown(destination, source, block, entries), entries)
            if tuple(block.values()) not in seen:
                seen.add(tuple(block.values()))
                yield block

    def _chunk_entries(self, limit: int) -> Iterator[int]:
        """Entries of a chunk: the most that the limit holds, and halves of it."""
        entries = min(limit // self.transfer.fields.nbytes, self.transfer.space.volume)
        while entries >= 1:
            yield entries
            entries //= 2

    def _may_pay(self, entries: int) -> bool:
        """Whether a smaller chunk may be faster: hops overlap, and it is not so small that the work per chunk costs more."""
        return self.machine.limits.overlap and 2 * entries * self.transfer.fields.nbytes > SMALLEST_CHUNK

    def _candidate(self, block: dict[str, int], limit: int) -> _Candidate | None:
        source, destination, order = self.transfer.source_order, self.transfer.destination_order, self._order()
        space, fields = self.transfer.space, self.transfer.fields
        before, outer = restricted(source, order, block)
        after, _ = restricted(destination, order, block)
        last = len(self.hops) - 1
        at = last if self.converting is None else self.converting
        inner = [(before if i < at else after).on(space, fields) for i in range(last)]
        held = inner or [(before if order is source else after).on(space, fields)]
        sequences = [ChunkSequence(lin, outer) for lin in held]
        block_bytes = max(sequence.block_bytes for sequence in sequences)
        if block_bytes > limit:
            return None
        per_chunk = min(limit // block_bytes, sequences[0].blocks)
        layouts = (source, *inner, destination)
        payload = self.transfer.nbytes
        chunk = min(per_chunk * block_bytes, payload)
        runs = [min(compare(a, b).run_bytes, float(chunk)) for a, b in itertools.pairwise(layouts)]
        runs[0] = min(runs[0], self._end_runs[0])
        runs[-1] = min(runs[-1], self._end_runs[1])
        channels = tuple(
            max(options, key=lambda c: c.rate(min(run, chunk))) for options, run in zip(self.hops, runs, strict=True)
        )
        overlap = self.machine.limits.overlap
        timing = pipeline(self.machine, channels, runs, payload, chunk, self.slots, overlap)
        buffers = sum(per_chunk * sequence.block_bytes * self.slots for sequence in sequences) if inner else 0
        return _Candidate((held[0], *layouts), outer, per_chunk, tuple(runs), channels, timing, buffers)

    @cached_property
    def _end_runs(self) -> tuple[float, float]:
        """Bytes that lie contiguously in the source and in the destination, where a part has gaps."""
        names, transfer = self.transfer.field_names, self.transfer
        shape = [transfer.space[dim] for dim in transfer.destination.space]
        return (
            contiguous_bytes(transfer.source.linearization, transfer.source_origin, transfer.shape, names),
            contiguous_bytes(transfer.destination.linearization, transfer.destination_origin, shape, names),
        )

    def plan(self, planner: str, notes: Sequence[str] = ()) -> Plan:
        """The best candidate as a plan."""
        found = self.best()
        order, layouts = found.layouts[0], found.layouts[1:]
        ends = (self.transfer.source.layout, *(lin.layout for lin in layouts[1:-1]), self.transfer.destination.layout)
        hops = []
        for i, (channel, run) in enumerate(zip(found.channels, found.runs, strict=True)):
            here, there = layouts[i], layouts[i + 1]
            hops.append(
                Hop(
                    index=i,
                    channel=channel.name,
                    kind=str(channel.kind),
                    source=channel.source,
                    destination=channel.destination,
                    source_layout=str(ends[i]),
                    destination_layout=str(ends[i + 1]),
                    request_bytes=run,
                    shuffle_bytes=compare(here, there).shuffle_bytes,
                    throughput=channel.rate(run),
                    converts=i == self.converting,
                )
            )
        return Plan(
            transfer=self.transfer,
            machine_name=self.machine.name,
            machine_digest=self.machine.digest,
            planner=planner,
            hops=tuple(hops),
            order=Layout(order.layout),
            outer=found.outer,
            per_chunk=found.per_chunk,
            slots=self.slots,
            overlap=self.machine.limits.overlap,
            seconds=found.timing.seconds,
            throughput=found.timing.throughput,
            notes=tuple(notes),
        )
