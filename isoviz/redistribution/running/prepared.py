"""A redistribution that is ready to run, on one rank: its arrays are known to its peers, its copies are computed.

What one hop moves goes straight over the hop's channel between two meetings of the ranks. A transfer through the scheduler of the
engine asks and tells other ranks about half a dozen times, which takes longer than a copy of a few MiB. Transfers with buffers on
the way go through the engine.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from isoviz.backends.host.host_memory import Memcpy
from isoviz.errors import Cancelled, DistributionError, InternalError, RankLost, RunError
from isoviz.redistribution.running.checking import check_against_peers, check_generated
from isoviz.redistribution.running.meeting import Meeting
from isoviz.redistribution.running.run_on_rank import RankRun, Span
from isoviz.runtime.device_bases import AsynchronousChannel
from isoviz.runtime.protocols import Bound
from isoviz.runtime.ranks.rank_engine import Item
from isoviz.this_computer import usable_cpus

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy
    from isoviz.machines import Channel
    from isoviz.redistribution.redistribution_plan import RedistributionPlan, Sending
    from isoviz.runtime.protocols import CancelToken, Endpoint, RealChannel, RealMemory, Store
    from isoviz.runtime.ranks.handles import StoreHandle
    from isoviz.runtime.ranks.rank_engine import RankEngine

PACKING = 4
"""The most transfers that a rank packs at the same time."""


class _Ready(NamedTuple):
    """A sending of one hop: its number, its channel, the copies of its chunks, and the store that it writes."""

    number: int
    channel: RealChannel
    chunks: tuple[tuple[int, Sequence[StridedCopy]], ...]
    destination: Store


class Prepared:
    """A redistribution on the rank of an engine. All ranks make it together, with equal plans.

    `source` and `destination` are what this rank's ends lie in: an array, or the path of a file. None where the rank has no part,
    and for the destination also where isoviz provides it. `fill` is called with the source's store if `source` is None.

    Raises:
        DistributionError: a rank has no such memory, or an array has another size. All ranks raise it.
        RankLost: a rank no longer answers.
    """

    def __init__(
        self,
        engine: RankEngine,
        plan: RedistributionPlan,
        source: Any | None = None,
        destination: Any | None = None,
        fill: Callable[[Store], None] | None = None,
    ) -> None:
        self.engine, self.plan, self.rank = engine, plan, engine.rank
        self._stack = ExitStack()
        self.source: Endpoint | None = None
        self.destination: Endpoint | None = None
        self._handles: dict[str, list[StoreHandle | None]] = {}
        self._given: tuple[Any | None, Any | None] = source, destination
        self._ready: list[_Ready] = []
        try:
            self._meeting = Meeting(engine)
            self._stack.callback(self._meeting.close)
            found = self._together(partial(self._open, source, destination, fill))
            self._handles = {"source": [each[0] for each in found], "destination": [each[1] for each in found]}
            self._meeting.share(all(self._together(partial(self._prepare, [each[2] for each in found]))))
        except BaseException:
            self._stack.close()
            raise

    # ---- preparation

    def _together(self, work: Callable[[], Any]) -> list[Any]:
        """Do work that may fail, and return its results on all ranks. If it fails on a rank, all ranks raise."""
        error: Exception | None = None
        made: Any = None
        try:
            made = work()
        except Exception as found:  # noqa: BLE001  # the other ranks must not wait for this one
            error = found
        words = None if error is None else f"rank {self.rank}: {error}"
        answers = cast("list[tuple[str | None, Any]]", self.engine.gather((words, made)))
        if error is not None:
            raise error
        for said, _ in answers:
            if said is not None:
                raise DistributionError(said)
        return [each for _, each in answers]

    def _open(
        self, source: Any | None, destination: Any | None, fill: Callable[[Store], None] | None
    ) -> tuple[StoreHandle | None, StoreHandle | None, StoreHandle | None]:
        """Open this rank's ends; returns the handles of source, destination and flag for the other ranks."""
        size = self.engine.transport.size
        for rank in self.plan.ranks:
            if rank >= size:
                raise DistributionError(f"redistribution: needs rank {rank}, and there are {size} ranks, from 0 on")
        part = self.plan.source.part(self.rank)
        if part is not None:
            memory = self._memory(part.memory)
            if source is None and self.engine.machine.memory(part.memory).is_file_system:
                raise DistributionError(
                    f"redistribution: generated data need host memory, not {part.memory}; give paths of files"
                )
            self.source = memory.destination(part, None, True) if source is None else memory.source(part, source)
            self._stack.callback(self.source.close)
            if source is None and fill is not None:
                fill(self.source)
        part = self.plan.destination.part(self.rank)
        if part is not None and self.engine.machine.memory(part.memory).is_file_system:
            raise DistributionError(
                f"redistribution: runs into host memory, not into files ({part.memory}); write the parts from there"
            )
        if part is not None:
            self.destination = self._memory(part.memory).destination(part, destination, True)
            if destination is not None:
                self._stack.callback(self.destination.close)
        return self._exported(self.source), self._exported(self.destination), self._meeting.handle

    def _memory(self, name: str) -> RealMemory:
        found = self.engine.devices.memory(self.engine.machine.memory(name))
        if found is None:
            raise DistributionError(f"memory {name}: rank {self.rank} has no such device")
        return found

    def _exported(self, store: Endpoint | None) -> StoreHandle | None:
        """The handle of an end for the other ranks."""
        if store is None:
            return None
        handle = self.engine.far.export(store)
        self._stack.callback(partial(self.engine.far.withdraw, handle))
        return handle

    def _store(self, end: str, rank: int) -> Store:
        """The store of an end on any rank."""
        own = self.source if end == "source" else self.destination
        if rank == self.rank:
            assert own is not None, "the plan says that this rank has a part"
            return own
        handle = self._handles[end][rank]
        if handle is None:
            raise InternalError(f"rank {rank} gave no store for its part of the {end}")
        store = self.engine.far.reach(handle)
        self._stack.callback(store.close)
        return store

    def _prepare(self, flags: Sequence[StoreHandle | None]) -> bool:
        """Reach what this rank writes, and compute its copies; returns whether this rank maps the flags of all."""
        channels: dict[str, RealChannel] = {}
        stores: dict[int, Store] = {}
        for number, sending in self._own():
            hop = sending.plan.hops[0]
            channel = channels.get(hop.channel)
            if channel is None:
                channel = channels[hop.channel] = self._channel(self.engine.machine.channel(hop.channel))
                if isinstance(channel, Memcpy):
                    channel.prepare(self.plan.bytes)
            if sending.receiver not in stores:
                stores[sending.receiver] = self._store("destination", sending.receiver)
            path = sending.plan.only
            chunks = tuple((chunk, path.copies(0, chunk)) for chunk in path.numbers)
            self._ready.append(_Ready(number, channel, chunks, stores[sending.receiver]))
        return self._meeting.reach(flags)

    def _own(self) -> Iterator[tuple[int, Sending]]:
        """The sendings of this rank with one hop, with their numbers."""
        for number, sending in enumerate(self.plan.sendings):
            if sending.sender == self.rank and is_direct(sending):
                yield number, sending

    def _channel(self, channel: Channel) -> RealChannel:
        machine, devices = self.engine.machine, self.engine.devices
        ends = []
        for name in (channel.source, channel.destination):
            memory = machine.memory(name)
            ends.append(Bound(memory, cast("RealMemory", devices.memory(memory))))  # None where another rank has it
        found = devices.channel(channel, *ends)
        if found is None:
            raise DistributionError(f"channel {channel.name}: rank {self.rank} has no device that is a {channel.kind}")
        return found

    @cached_property
    def _processors(self) -> int:
        """The number of processors that this rank may use: its share of those of its host."""
        hosts = getattr(self.engine.transport, "hosts", None) or ("",) * self.engine.transport.size
        return max(1, usable_cpus() // list(hosts).count(hosts[self.rank]))

    # ---- running

    def run(self, cancel: CancelToken | None = None) -> RankRun:
        """Move everything once, together with all ranks. When it returns on any rank, all destinations are complete.

        `cancel` stops this rank's part. The result carries what failed on this rank; `together` tells all ranks.

        Raises:
            RankLost: a rank no longer answers.
        """
        self._meeting.wait()
        met = time.perf_counter()
        spans: list[Span] = []
        error: Exception | None = None
        try:
            self._move(spans, cancel)
        except Exception as found:  # noqa: BLE001  # the other ranks must not wait for this one
            error = found
        if any(not is_direct(each) for each in self.plan.sendings):
            error = self._move_staged(spans, cancel) or error
        self._meeting.wait()
        began = min((span.start for span in spans), default=met)
        ended = max((span.end for span in spans), default=met)
        return RankRun(self.rank, met, began, ended, tuple(spans), error)

    def _move(self, spans: list[Span], cancel: CancelToken | None) -> None:
        """Move the transfers of one hop: first those without a thread, then those that wait, then the kernels.

        The kernels run in this thread, and in further ones where the rank has several processors.
        """

        def check() -> None:
            if cancel is not None and cancel.is_set():
                raise Cancelled("the redistribution was cancelled")

        started = [each for each in self._ready if isinstance(each.channel, AsynchronousChannel)]
        waiting = [each for each in self._ready if each not in started and not getattr(each.channel, "at_once", False)]
        at_once = [each for each in self._ready if each not in started and each not in waiting]
        flight = _Flight()
        errors: list[BaseException] = []
        for each in started:
            self._start(each, flight, spans, check)
        left = iter(at_once)  # Threads take the next one in turn, which is safe: `next` on an iterator of a list is atomic.

        def serve() -> None:
            for each in left:
                self._carry_out(each, spans, check)

        helpers = min(self._processors, len(at_once)) - 1
        with ThreadPoolExecutor(min(PACKING, len(waiting)) + max(0, helpers) or 1, "redistribution") as pool:
            futures = [pool.submit(self._carry_out, each, spans, check) for each in waiting]
            futures += [pool.submit(serve) for _ in range(helpers)]
            try:
                serve()
            except Exception as error:  # noqa: BLE001  # what is on its way has to arrive first
                errors.append(error)
            errors += [found for found in [future.exception() for future in futures] if found is not None]
        errors += flight.wait()
        if errors:
            raise errors[0]

    def _carry_out(self, ready: _Ready, spans: list[Span], check: Callable[[], None]) -> None:
        assert self.source is not None
        for chunk, copies in ready.chunks:
            check()
            start = time.perf_counter()
            ready.channel.move(copies, self.source, ready.destination, check)
            spans.append(Span(ready.number, 0, chunk, start, time.perf_counter()))

    def _start(self, ready: _Ready, flight: _Flight, spans: list[Span], check: Callable[[], None]) -> None:
        assert self.source is not None
        for chunk, copies in ready.chunks:
            start = time.perf_counter()

            def done(result: int | BaseException, chunk: int = chunk, start: float = start) -> None:
                spans.append(Span(ready.number, 0, chunk, start, time.perf_counter()))
                flight.landed(result)

            flight.begin()
            try:
                cast("AsynchronousChannel", ready.channel).start(copies, self.source, ready.destination, check, done)
            except Exception as error:  # noqa: BLE001  # `wait` raises it
                flight.landed(error)

    def _move_staged(self, spans: list[Span], cancel: CancelToken | None) -> Exception | None:
        """Move the transfers with buffers on the way, by the engine, together with all ranks."""
        numbers = [number for number, each in enumerate(self.plan.sendings) if not is_direct(each)]
        items = []
        for number in numbers:
            sending = self.plan.sendings[number]
            source = self._object(0) if sending.sender == self.rank else None
            items.append(Item(sending.plan, source, self._object(1) if sending.receiver == self.rank else None))
        parts = self.engine.run_parts(items, verify=False, cancel=cancel)
        error: Exception | None = None
        for number, part in zip(numbers, parts, strict=True):
            spans += [Span(number, span.hop, span.chunk, span.start, span.end) for span in part.spans]
            if part.error is not None and error is None:
                error = part.error if isinstance(part.error, Exception) else RunError(str(part.error))
        return error

    def _object(self, end: int) -> Any:
        """What the engine takes as this rank's source (0) or destination (1)."""
        given, store = self._given[end], (self.source, self.destination)[end]
        return getattr(store, "array", None) if given is None else given

    # ---- afterwards

    def verify(self, *, generated: bool, check: Callable[[], None] | None = None) -> Exception | None:
        """Compare this rank's part of the destination, and return what differs. The ranks may do so at the same time.

        `generated` says that the source holds generated data (`content`). Otherwise the parts of the peers are
        read piece by piece.
        """
        if self.destination is None:
            return None
        source, destination = self.plan.source, self.plan.destination
        try:
            if generated:
                check_generated(destination, self.rank, self.destination, source, check)
            else:
                check_against_peers(
                    source, destination, self.rank, self.destination, lambda peer: self._store("source", peer), check
                )
        except Exception as error:  # noqa: BLE001  # the report carries it
            return error
        return None

    def wait(self) -> None:
        """Wait for all ranks.

        Raises:
            RankLost: a rank no longer answers.
        """
        self._meeting.wait()

    def close(self) -> None:
        """Withdraw what the peers reach, after all ranks are done. Arrays that isoviz provided stay valid.

        Raises:
            RankLost: a rank no longer answers.
        """
        try:
            self._meeting.wait()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Withdraw what the peers reach without waiting for them: a rank is lost, or none of them uses it."""
        self._stack.close()

    def __enter__(self) -> Prepared:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and issubclass(kind, RankLost):
            self.abandon()
        else:
            self.close()


def is_direct(sending: Sending) -> bool:
    """Whether a sending is a single hop, without a buffer."""
    return len(sending.plan.every_hop) == 1


class _Flight:
    """Requests of asynchronous channels that are on their way."""

    def __init__(self) -> None:
        self._count = 0
        self._errors: list[BaseException] = []
        self._changed = threading.Condition()

    def begin(self) -> None:
        with self._changed:
            self._count += 1

    def landed(self, result: int | BaseException) -> None:
        with self._changed:
            self._count -= 1
            if isinstance(result, BaseException):
                self._errors.append(result)
            self._changed.notify_all()

    def wait(self) -> list[BaseException]:
        """Wait for all requests, and return the errors."""
        with self._changed:
            while self._count:
                self._changed.wait()
            return self._errors
