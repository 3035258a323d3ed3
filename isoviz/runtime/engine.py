"""The first engine: the chunks of a path, in order, each through all hops.

One slot per intermediate buffer, no overlap between hops: plans for the `local` machine predict just that. What moves the bytes
is behind `isoviz.runtime.protocols`, so that a scheduler which keeps every channel busy can take this engine's place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoviz.errors import Cancelled, RunError, TransferError
from isoviz.layouts import StridedCopy, strided_copies
from isoviz.runtime.report import HopMeasurement, Report

if TYPE_CHECKING:
    from isoviz.layouts import Chunk
    from isoviz.machines import Machine
    from isoviz.planner import Hop, Plan
    from isoviz.runtime.protocols import CancelToken, Check, Devices, Endpoint, RealChannel, RealMemory, Slot, Store


@dataclass(frozen=True)
class Progress:
    """How far a run is. `stage` is "move" while bytes move, then "verify"; the numbers are those of the moving."""

    stage: str
    chunks_done: int
    chunks: int
    bytes_done: int
    bytes: int


ProgressCallback = Callable[[Progress], None]


class Engine:
    """Runs plans for one machine on the devices handed in.

    Any number of threads may call `run`; an engine keeps nothing between two runs.
    """

    def __init__(self, machine: Machine, devices: Devices) -> None:
        self.machine = machine
        self.devices = devices

    def run(
        self,
        plan: Plan,
        source: Any | None = None,
        destination: Any | None = None,
        *,
        verify: bool = True,
        progress: ProgressCallback | None = None,
        cancel: CancelToken | None = None,
    ) -> Report:
        """Carry a plan out.

        `source` and `destination` are arrays (host memory) or paths (disks); without them the paths that the plan's instances
        name are used, and where there are none the source is generated and the destination given up afterwards. `cancel` (such as
        a `threading.Event`) is asked between requests. A destination file appears under its name only once it is complete, on
        the disk and, with `verify`, compared bit for bit.

        Raises:
            TransferError: the plan is for another machine, this computer lacks one of its memories, or source and destination
                are the same; nothing has been touched. FileError: a file is not what the plan expects.
            RunError: a hop failed; Cancelled: `cancel` was set; VerificationError: the ends differ. No destination file is left.
        """
        memories = self._memories(plan)
        channels = [self._channel(hop) for hop in plan.hops]
        transfer = plan.transfer
        with ExitStack() as stack:
            here = _opened(stack, memories[0].source(transfer.source, source))
            there = _opened(stack, memories[-1].destination(transfer.destination, destination, transfer.is_partial))
            if here.identity == there.identity:
                raise TransferError(f"transfer: source and destination are the same ({transfer.source}); nothing was changed")
            with ExitStack() as buffers:
                slots = _acquire(buffers, plan, memories)
                move = _Move(plan, here, slots, there, channels, cancel, progress)
                move.run()
            verified = None
            if verify:
                move.report("verify")
                self.devices.verify(plan, here, there, move.check)
                verified = True
            move.check()
            there.publish()
            notes = (*here.notes, *there.notes, *self._unmeasured(plan))
            return Report(plan, move.seconds, move.flush_seconds, move.measured, verified, notes)

    def _unmeasured(self, plan: Plan) -> tuple[str, ...]:
        """A note for predictions that do not come from measurements: what differs from them says little about the plan."""
        channels = {hop.channel: self.machine.channel(hop.channel).provenance for hop in plan.hops}
        found = [f"{name} ({provenance})" for name, provenance in channels.items() if not provenance.startswith("measured")]
        return (f"predicted without a measurement: {', '.join(found)}",) if found else ()

    def _memories(self, plan: Plan) -> list[RealMemory]:
        if plan.machine_digest != self.machine.digest:
            raise TransferError(
                f"plan: made for a machine {plan.machine_name!r} that is not this engine's {self.machine.name!r} as it is now;"
                " plan again"
            )
        found = []
        for name in plan.memories:
            memory = self.devices.memory(self.machine.memory(name))
            if memory is None:
                here = [m.name for m in self.machine.memories if self.devices.memory(m) is not None]
                raise TransferError(
                    f"memory {name}: this computer has no such device ({self.machine.memory(name).kind});"
                    f" of machine {self.machine.name!r} it can run {', '.join(here) or 'none'}"
                )
            found.append(memory)
        return found

    def _channel(self, hop: Hop) -> RealChannel:
        channel = self.devices.channel(self.machine.channel(hop.channel))
        if channel is None:
            raise TransferError(f"channel {hop.channel}: this computer has no such device ({hop.kind})")
        return channel


def _opened(stack: ExitStack, endpoint: Endpoint) -> Endpoint:
    stack.callback(endpoint.close)
    return endpoint


def _acquire(stack: ExitStack, plan: Plan, memories: Sequence[RealMemory]) -> list[Slot]:
    """One slot per intermediate buffer, in the order of the memories' names: the global order that keeps transfers from waiting
    for each other (Isometry, section 3.6)."""
    slots: dict[int, Slot] = {}
    for i, buffer in sorted(enumerate(plan.buffers), key=lambda found: (found[1].memory, found[0])):
        slots[i] = memories[i + 1].slot(buffer.nbytes)
        stack.callback(slots[i].close)
    return [slots[i] for i in range(len(plan.buffers))]


class _Move:
    """One run: moves every chunk, and keeps the time."""

    def __init__(
        self,
        plan: Plan,
        source: Endpoint,
        slots: Sequence[Slot],
        destination: Endpoint,
        channels: Sequence[RealChannel],
        cancel: CancelToken | None,
        progress: ProgressCallback | None,
    ) -> None:
        self.plan = plan
        self.slots = slots
        self.destination = destination
        self.stores: tuple[Store, ...] = (source, *slots, destination)
        self.channels = channels
        self.cancel = cancel
        self.progress = progress
        self.seconds = 0.0
        self.flush_seconds = 0.0
        self._hop_seconds = [0.0] * len(plan.hops)
        self._requests = [0] * len(plan.hops)
        self._chunks_done = 0
        self._bytes_done = 0
        self.check: Check = self._check

    @property
    def measured(self) -> tuple[HopMeasurement, ...]:
        return tuple(
            HopMeasurement(i, seconds, self._bytes_done, requests)
            for i, (seconds, requests) in enumerate(zip(self._hop_seconds, self._requests, strict=True))
        )

    def run(self) -> None:
        self.report("move")
        start = time.perf_counter()
        for chunk in self.plan.chunks:
            self._move_chunk(chunk)
            self._chunks_done += 1
            self._bytes_done += chunk.payload_bytes
            self.report("move")
        moved = time.perf_counter()
        with self._located(len(self.plan.hops) - 1, None):
            self.destination.flush()
        done = time.perf_counter()
        self.seconds = done - start
        self.flush_seconds = done - moved
        # Whatever a hop left in caches, waiting for it belongs to that hop.
        self._hop_seconds[-1] += done - moved

    def report(self, stage: str) -> None:
        if self.progress is not None:
            self.progress(Progress(stage, self._chunks_done, self.plan.chunk_count, self._bytes_done, self.plan.bytes))

    def _check(self) -> None:
        if self.cancel is not None and self.cancel.is_set():
            raise Cancelled("cancelled; no destination file was left")

    def _move_chunk(self, chunk: Chunk) -> None:
        hops = range(len(self.plan.hops))
        began = time.perf_counter()
        copies = [self._copies(hop, chunk) for hop in hops]
        self._place_slots(copies)
        planned = (time.perf_counter() - began) / len(hops)  # working the copies out is part of moving them
        for hop in hops:
            began = time.perf_counter()
            with self._located(hop, chunk.index):
                self.check()
                self._requests[hop] += self.channels[hop].move(copies[hop], self.stores[hop], self.stores[hop + 1], self.check)
            self._hop_seconds[hop] += time.perf_counter() - began + planned

    def _copies(self, hop: int, chunk: Chunk) -> list[StridedCopy]:
        source, destination = self.plan.views(hop, chunk)
        return [copy for box, names in chunk.parts for copy in strided_copies(source, destination, box, names)]

    def _place_slots(self, copies: Sequence[Sequence[StridedCopy]]) -> None:
        """Shift every slot so that what a disk reads or writes in whole pages lies on pages in memory too."""
        last = len(copies) - 1
        for i, slot in enumerate(self.slots):
            shift = 0
            if i == 0 and copies[0] and self.stores[0].alignment > 1:
                first = copies[0][0]
                shift = (self.stores[0].base + first.source_offset - first.destination_offset) % self.stores[0].alignment
            elif i + 1 == last and copies[last] and self.stores[-1].alignment > 1:
                first = copies[last][0]
                shift = (self.stores[-1].base + first.destination_offset - first.source_offset) % self.stores[-1].alignment
            slot.place(shift)

    @contextmanager
    def _located(self, hop: int, chunk: int | None) -> Iterator[None]:
        """Failures say where they happened."""
        channel = self.plan.hops[hop].channel
        try:
            yield
        except RunError as error:
            if error.hop is not None:
                raise
            raise type(error)(str(error), hop=hop, channel=channel, chunk=chunk) from error
        except (OSError, MemoryError) as error:
            raise RunError(f"{type(error).__name__}: {error}", hop=hop, channel=channel, chunk=chunk) from error
