"""A running transfer: the stores at both ends, the ring buffers between them, and the copies of each request."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from isoviz.errors import Cancelled, RunError
from isoviz.layouts.recurring import split, split_together
from isoviz.runtime.bundle_ends import destination_of, received, source_of
from isoviz.runtime.engine.device_errors import Closing, of_opening, of_request, of_step, require_apart, tidied
from isoviz.runtime.engine.prepared_plans import IN_TURN, MINE, SMALL_REQUEST, PreparedPlan
from isoviz.runtime.engine.program import bound
from isoviz.runtime.opening import WAITS
from isoviz.runtime.trace.report import HopMeasurement
from isoviz.runtime.trace.spans import Spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.layouts import Chunk, StridedCopy
    from isoviz.layouts.recurring import RecurringChunks
    from isoviz.planner import Instance, Plan
    from isoviz.runtime.engine.dispatcher import Dispatcher
    from isoviz.runtime.engine.event import Event
    from isoviz.runtime.engine.prepared_plans import HopOfPath
    from isoviz.runtime.engine.program import Lane
    from isoviz.runtime.protocols import CancelToken, Done, Endpoint, Expected, PartLoop, RealChannel, RealMemory, Slot, Store
    from isoviz.scheduling.work import Issue, Lease, Work

EXPECTED = 8
"""The first chunks of a path whose copies are expected. Most chunks after them have the same shapes."""
UNIT = 4096
"""Bytes. Runs are cut into requests at multiples of this unit, which suits disks."""


class Execution:
    """One transfer of an engine, from its submission to its end. Any thread may carry out its requests.

    - `memories`: the memories of each path.
    - `channels`: the channels of all hops, path after path. The scheduler numbers the hops in the same order. Chunks are numbered
      within their path.
    - `given`: the source and the destination that the caller passed.
    - `when_moved`: called once when none of its bytes move any more. `waits`: whether the caller waits for that.
    - `prepared`: the plan on these channels, if it is prepared already.

    The ends and the ring buffers are opened when the scheduler grants the buffers. `release` closes the ring buffers. `stack`
    closes the ends.
    """

    opens_at_once = False
    """Whether there is nothing to open that takes long."""
    small_request = SMALL_REQUEST
    """Bytes. A request up to this size costs less than handing it to another thread."""

    def __init__(
        self,
        number: int,
        plan: Plan,
        work: Work,
        event: Event,
        given: tuple[Any, Any],
        memories: Sequence[Sequence[RealMemory]],
        channels: Sequence[RealChannel],
        token: CancelToken | None,
        when_moved: Callable[[Execution], None],
        waits: bool = False,
        prepared: PreparedPlan | None = None,
    ) -> None:
        self.number, self.plan, self.work, self.event = number, plan, work, event
        self.memories, self.channels = memories, channels
        self.dispatchers: list[Dispatcher] = []
        self.token = token
        self.when_moved = when_moved
        self.stack = Closing()
        self.source: Endpoint
        self.destination: Endpoint
        self.phase = WAITS
        """How far it is with its stores (`isoviz.runtime.opening`)."""
        self.early: list[Issue | Lease] = []
        """Requests and leases that came before the stores were open."""
        self.stopped = False
        self.outcome = ""
        self.error: BaseException | None = None
        self.submitted = self.ended = self.buffer_seconds = 0.0
        self.admitted: float | None = None
        self.spans = Spans(len(channels))
        self.requests = [0] * len(channels)
        self.prepared = prepared or PreparedPlan(plan, memories, channels)
        self._hops = self.prepared.hops
        self.lying, self._fitted = plan, self.prepared
        """The plan for the ends as they were found (`Plan.lying`), prepared."""
        self._lies: tuple[Instance | None, Instance | None] = None, None
        self._refusal: Exception | None = None
        self.given = given if self.prepared.receivers == (None, None) else self._received(given)
        self.is_asynchronous = self.prepared.is_asynchronous
        self.is_mine, self.is_small = self.prepared.handling(work, waits, self.small_request)
        self.loop: PartLoop | None = None
        """What may carry out its parts on channels that are leased to it."""
        self.lane: Lane | None = None
        """Its program on that loop, once its stores are open; None if it has none."""
        self.is_recalled, self._waits = False, waits
        self.chunks_done = 0
        self._rings: list[list[Slot]] = []
        self._slots = Closing()
        self._lock = threading.Lock()
        self._chunks: dict[tuple[int, int], Chunk] = {}
        self._payloads: dict[tuple[int, int], int] = {}
        self._parts: dict[tuple[int, int], list[list[StridedCopy]]] = {}
        self._left: dict[tuple[int, int], int] = {}
        self._recurring: dict[int, RecurringChunks] = {}

    # ---- stores

    def open(self) -> None:
        """Open both ends and the ring buffers.

        Raises:
            TransferError: source and destination are the same.
            FileError: a file is not what the plan expects.
            RunError: no room.
        """
        try:
            self._open()
        except Exception as error:  # noqa: BLE001  # it is raised, typed
            raise of_opening(error)  # noqa: B904  # it has its cause already

    def _received(self, given: tuple[Any, Any]) -> tuple[Any, Any]:
        """The objects of the caller as the memories take them, in the thread of the caller. An error is raised by `open`."""
        try:
            ends = [
                end if end is None or receiver is None else received(receiver, end)
                for end, receiver in zip(given, self.prepared.receivers, strict=True)
            ]
        except Exception as error:  # noqa: BLE001  # the event carries it
            self._refusal = error
            return given
        return ends[0], ends[1]

    def _open(self) -> None:
        if self._refusal is not None:
            raise self._refusal
        transfer = self.plan.transfer
        self.admitted = time.perf_counter()
        self.source = source_of(self.memories[0][0], transfer, self.given[0])
        self.stack.callback(self.source.close)
        self.destination = destination_of(self.memories[0][-1], transfer, self.given[1])
        self.stack.callback(self.destination.close)
        if self.source.lies or self.destination.lies:
            self.lie(self.source.lies, self.destination.lies)
        require_apart(self.lying.transfer, self.source, self.destination)
        self.destination.comes_from(self.source.sources)
        self._allocate()
        self.lane = self._bound()
        if self.work.chunks and self.lane is None:
            self._anticipate()

    def lie(self, source: Instance | None = None, destination: Instance | None = None) -> None:
        """Take note that the fields of an end lie otherwise (None: nothing new). No request has begun that reads or writes there.

        Raises:
            TransferError: an end lacks a field that moves.
        """
        with self._lock:
            lies = source or self._lies[0], destination or self._lies[1]
            if lies == self._lies:
                return
            self.lying, self._fitted = self.prepared.lying(self.plan, *lies)
            self._lies, self._hops = lies, self._fitted.hops
            kept = {hop for hop, at in enumerate(self._hops) if not (source and not at.hop) and not (destination and at.is_last)}
            self._parts = {key: parts for key, parts in self._parts.items() if key[0] in kept}
            self._recurring = {hop: found for hop, found in self._recurring.items() if hop in kept}

    def _anticipate(self) -> None:
        """Compute the copies of the first chunk before its first request: it takes as long as moving a small transfer.

        Then tell the channels what to expect.
        """
        hops = self.known_hops
        for hop in hops:
            self.parts_of(hop, 0)
        for hop in hops:
            self.located(partial(self.channels[hop].expect, self._expected(hop)), hop)

    @property
    def known_hops(self) -> Sequence[int]:
        """The hops whose stores are open when `open` ends."""
        return range(len(self.channels))

    def _expected(self, hop: int) -> Iterator[Expected]:
        """The requests of the first chunks and of the last one. This places no slots."""
        count = self._hops[hop].path.chunk_count
        for chunk in dict.fromkeys((*range(min(count, EXPECTED)), count - 1)):
            for copies in self.parts_of(hop, 0) if not chunk else self._split(hop, self._copies(hop, chunk)):
                if copies:
                    yield copies, self._source(hop, chunk), self._destination(hop, chunk)

    def _allocate(self) -> None:
        """Allocate the ring buffers of all paths by the names of the memories: the global order (Isometry, section 3.6)."""
        if not self.work.rings:
            return
        began, memories = time.perf_counter(), [memory for path in self.memories for memory in path[1:-1]]
        rings: dict[int, list[Slot]] = {}
        for i, ring in sorted(enumerate(self.work.rings), key=lambda found: (found[1].memory, found[0])):
            rings[i] = []
            for _ in range(ring.slots):
                slot = memories[i].slot(ring.nbytes)
                self._slots.callback(slot.close)
                rings[i].append(slot)
        self._rings, self.buffer_seconds = [rings[i] for i in range(len(rings))], time.perf_counter() - began

    def _bound(self) -> Lane | None:
        """Its program on the loop, bound to its stores."""
        if self.loop is None or (program := self._fitted.program(self.lying, self.loop)) is None:
            return None
        stores = (self.source,), *self._rings, (self.destination,)
        return bound(program, self.loop, stores, self.work.chunks, is_timed=self._waits)

    def release(self) -> Exception | None:
        """Close the ring buffers. Returns the error of a slot that cannot be closed: the transfer has to end in any case."""
        self._rings, self.lane = [], None
        return tidied(self._slots.close)

    @property
    def is_scheduled(self) -> bool:
        """Whether the scheduler carries it out."""
        return True

    @property
    def ends_at_once(self) -> bool:
        """Whether nothing is left to do that takes long once its bytes have moved."""
        return self.error is not None or not self.destination.durable

    def forget(self) -> None:
        """Drop all references to the caller's objects."""
        self.given = None, None
        self._chunks.clear()
        self._payloads.clear()
        self._parts.clear()
        self._recurring.clear()

    # ---- requests

    def move(self, issue: Issue) -> None:
        """Carry out a request.

        Raises:
            RunError: a request failed; the error names hop, channel and chunk.
            Cancelled: the transfer has to stop.
        """
        _, hop, chunk, request = issue
        try:
            self.check()
            copies = self.parts_of(hop, chunk)[request]
            if copies:
                count = self.channels[hop].move(copies, self._source(hop, chunk), self._destination(hop, chunk), self.check)
                with self._lock:
                    self.requests[hop] += count
        except Exception as error:  # noqa: BLE001  # it is raised, typed
            raise self.placed(error, issue)  # noqa: B904  # it has its cause already

    def start(self, issue: Issue, done: Done) -> None:
        """Start a request of an asynchronous channel, which calls `done` at its end.

        Raises:
            Exception: it was not started.
        """
        hop, chunk = issue.hop, issue.chunk
        self.check()
        if copies := self.parts_of(hop, chunk)[issue.request]:
            self.channels[hop].start(copies, self._source(hop, chunk), self._destination(hop, chunk), self.check, done)
        else:
            done(0)

    def count(self, hop: int, requests: int) -> None:
        """Add to the number of device requests of a hop."""
        with self._lock:
            self.requests[hop] += requests

    def placed(self, error: BaseException, issue: Issue) -> BaseException:
        """The error of a request with its hop, channel and chunk added."""
        return of_request(error, partial(self._located, issue.hop, issue.chunk))

    def _located(self, hop: int, chunk: int | None, kind: type[RunError], message: str) -> RunError:
        """An error of a hop. It names the hop by its number on the path, and the path by its number if there are several."""
        at = self._hops[hop]
        number = None if chunk is None else at.first + chunk
        said = f"path {at.number}: {message}" if len(self.plan.paths) > 1 else message
        return kind(said, hop=at.hop, channel=self.work.channels[hop], chunk=number)

    def finished(self, issue: Issue) -> None:
        """Note the end of a request.

        The last request of a chunk drops the chunk's copies. On the last hop, it also counts the bytes of the chunk as arrived.
        """
        _, hop, chunk, _ = issue
        with self._lock:
            key = hop, chunk
            left = self._left[key] = self._left.get(key, self.work.requests[hop]) - 1
            if left:
                return
            del self._left[key]
            self._parts.pop(key, None)
            at = self._hops[hop]
            if not at.is_last:
                return
            self._chunks.pop((at.number, chunk), None)
            payload = self._payloads.pop((at.number, chunk))
            self.chunks_done += 1
        self.event.moved(payload)

    # ---- parts of a lease

    def may_lease(self, loop: PartLoop) -> None:
        """Let a loop carry out its parts on leased channels, in the thread of the caller if that takes a moment."""
        self.loop = loop
        self.is_mine = self.plan.bytes * len(self.channels) <= (MINE if self._waits else IN_TURN)

    def recall(self) -> None:
        """Let it give its channels back after the part at work."""
        self.is_recalled = True
        if (lane := self.lane) is not None:
            lane.stop()

    def move_parts(self, moved: Sequence[int]) -> None:
        """Move its chunks on leased channels until all have arrived or the lease is recalled. Each hop has moved `moved` already.

        Raises:
            RunError: a part failed. Cancelled: the transfer has to stop.
        """
        if (lane := self.lane) is None:
            return
        self.event.route = "lane"
        lane.begin(moved)
        if self.is_recalled:  # before the stores were open
            lane.stop()
        while not lane.is_over:
            self.check()
            before = lane.moved
            self.located(lambda: self.spans.add(self.number, lane.move()), lane.hop)
            nbytes, chunks, copies = lane.gone(before)
            with self._lock:
                self.requests = [count + more for count, more in zip(self.requests, copies, strict=True)]
                self.chunks_done += chunks
            self.event.moved(nbytes)

    def located(self, action: Callable[[], None], hop: int | None = None) -> None:
        """Call `action` as part of a hop (None: the last one): an error that it raises names that hop."""
        at = len(self.channels) - 1 if hop is None else hop
        try:
            action()
        except Exception as error:  # noqa: BLE001  # it is raised, typed
            raise of_step(error, partial(self._located, at, None))  # noqa: B904  # it has its cause already

    def close(self) -> Exception | None:
        """Close the ends. Returns the error of a store that cannot be closed."""
        return tidied(self.stack.close)

    def check(self) -> None:
        """Check for cancellation, between requests.

        Raises:
            Cancelled: the transfer has to stop.
        """
        if self.stopped or (self.token is not None and self.token.is_set()):
            raise Cancelled("cancelled; no destination file was left")

    def _source(self, hop: int, chunk: int) -> Store:
        at = self._hops[hop]
        if not at.hop:
            return self.source
        slots = self._rings[at.ring - 1]
        return slots[chunk % len(slots)]

    def _destination(self, hop: int, chunk: int) -> Store:
        at = self._hops[hop]
        return self.destination if at.is_last else self._slot(at.ring, chunk)

    def _slot(self, ring: int, chunk: int) -> Slot:
        slots = self._rings[ring]
        return slots[chunk % len(slots)]

    def parts_of(self, hop: int, number: int) -> list[list[StridedCopy]]:
        """The copies of each request of a chunk on a hop. The first call for a chunk also places the slot behind the hop."""
        key = hop, number
        found = self._parts.get(key)
        if found is None:
            with self._lock:
                found = self._parts.get(key)
                if found is None:
                    copies = self._copies(hop, number)
                    if not self._hops[hop].is_last:
                        self._place(hop, number, copies)
                    found = self._parts[key] = self._split(hop, copies)
        return found

    def _split(self, hop: int, copies: list[StridedCopy]) -> list[list[StridedCopy]]:
        """Split the copies of a chunk into its requests, at page boundaries of the disk.

        Copies that the channel reads together, gaps included, stay in one request. In several requests it would read the gaps
        once for each.
        """
        count = self.work.requests[hop]
        if count == 1:
            return [copies]
        close, others = self.channels[hop].kept_together(copies)
        if close:
            found = split(others, min(count - 1, self._worth(hop, others)), UNIT, self.source.base, "source") if others else []
            found.append(close)
        elif self._hops[hop].is_last and self.destination.alignment > 1:
            found = split(copies, self._worth(hop, copies), UNIT, self.destination.base)
        elif self._hops[hop].hop == 0 and self.source.alignment > 1:
            found = split(copies, self._worth(hop, copies), UNIT, self.source.base, "source")
        else:
            found = split_together(copies, count, UNIT)
        return [*found, *([] for _ in range(count - len(found)))]

    def _worth(self, hop: int, copies: list[StridedCopy]) -> int:
        """The number of requests for the copies of a chunk.

        A chunk smaller than most chunks gets fewer requests, so that all requests are about as long.
        """
        count = self.work.requests[hop]
        full = self._hops[hop].path.chunk_payload / count
        return max(1, min(count, math.ceil(sum([copy.nbytes for copy in copies]) / full)))

    def _copies(self, hop: int, number: int) -> list[StridedCopy]:
        at = self._hops[hop]
        if not number and (kept := self._fitted.first.get(hop)) is not None:
            copies, self._payloads[at.number, 0] = kept
            return copies
        recurring = self._recurring.get(hop)
        if recurring is None:
            recurring = self._recurring[hop] = at.path.recurring(at.hop, partial(self._chunk, at))
        copies, payload = self.prepared.taken(hop, *recurring.of(at.first + number))
        self._payloads[at.number, number] = payload
        if not number:
            self._fitted.keep(hop, copies, payload)
        return copies

    def _chunk(self, at: HopOfPath, number: int) -> Chunk:
        """A chunk by its number in the plan's sequence. It is kept for the following hops until it has arrived."""
        key = at.number, number - at.first
        found = self._chunks.get(key)
        if found is None:
            found = self._chunks[key] = at.path.chunks[number]
        return found

    def _place(self, hop: int, number: int, copies: Sequence[StridedCopy]) -> None:
        """Place the slot that a hop writes a chunk to.

        The shift puts data that a disk reads or writes in whole pages on page boundaries in memory. The slot is cleared if the
        hop behind it moves padding that no request writes. This is done before the first request writes to the slot, because no
        other request uses it then.
        """
        shift, at = 0, self._hops[hop]
        if at.hop == 0 and copies and self.source.alignment > 1:
            first = copies[0]
            shift = (self.source.base + first.source_offset - first.destination_offset) % self.source.alignment
        elif self._hops[hop + 1].is_last and self.destination.alignment > 1 and (leaving := self._copies(hop + 1, number)):
            first = leaving[0]
            shift = (self.destination.base + first.destination_offset - first.source_offset) % self.destination.alignment
        slot = self._slot(at.ring, number)
        slot.place(shift)
        if self.prepared.cleared[at.ring]:
            slot.clear()

    # ---- measurements

    @property
    def moving_seconds(self) -> float:
        """Seconds from the start of the first request to the end of the last one."""
        return max(0.0, self.spans.last - self.spans.first)

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of ends, memories and channels about this run."""
        return notes_of_devices(self.prepared, self.source, self.destination)

    def measured(self, flush_seconds: float) -> tuple[HopMeasurement, ...]:
        """The busy seconds, bytes and requests of every hop. Flushing the destination counts for the last hop of each path.

        A hop is busy while any of its requests is in flight. Several requests in flight count once.
        """
        busy = self.spans.busy()
        return tuple(
            HopMeasurement(at.hop, seconds + (flush_seconds if at.is_last else 0.0), at.path.bytes, requests, at.number)
            for at, seconds, requests in zip(self._hops, busy, self.requests, strict=True)
        )


def notes_of_devices(prepared: PreparedPlan, source: Endpoint, destination: Endpoint) -> tuple[str, ...]:
    """The notes of ends, memories and channels about a run."""
    notes = [note for path in prepared.memories for memory in path for note in memory.notes]
    notes += [note for channel in prepared.channels for note in channel.notes]
    return (*source.notes, *destination.notes, *dict.fromkeys(notes))
