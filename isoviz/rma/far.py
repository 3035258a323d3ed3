"""The array of a rank that is not mapped here: the rank of another host, or an array that lies in no window of its rank.

Puts, gets and changes of words are messages to the server of that rank, which works while its program computes. A put of up to
1 MiB returns when it is packed, so several are under way; a longer one returns when it is in place. Between ranks of one host the
system itself moves what has long runs (`process_vm_writev`, `process_vm_readv`): the other rank does nothing.

Operations of this rank on the same bytes take effect in its order, except those that were begun with `wait=False`.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.mpi.channels.cutting import cut, is_run, piece, plain, reach
from isoviz.backends.mpi.channels.packed import IN_FLIGHT, Packed
from isoviz.backends.mpi.channels.process_write import LEAST_RUN, ProcessWrite
from isoviz.backends.mpi.channels.writing import Outstanding, is_small, write_inline
from isoviz.backends.mpi.helper.ring import ADD, CAS, SWAP
from isoviz.backends.mpi.other_process import READ, WRITE, AccessRefusedError, accesses, runs_at
from isoviz.backends.mpi.piece_pool import PIECE
from isoviz.backends.mpi.stores import RemoteStore, read_parts
from isoviz.errors import Cancelled, RankLost, RunError
from isoviz.layouts import ListedCopy, StridedCopy
from isoviz.layouts.given_arrays import Array
from isoviz.rma import moves
from isoviz.rma.handles import Handle
from isoviz.rma.places import Ended, Place, Word, room_for, source_of
from isoviz.rma.regions import Region
from isoviz.runtime.ranks.mailbox import lost_rank

if TYPE_CHECKING:
    from isoviz.backends.mpi.exchange import Exchange
    from isoviz.backends.mpi.helper.client import Client
    from isoviz.backends.mpi.world import World
    from isoviz.backends.pages import Bytes
    from isoviz.runtime.protocols import Check
    from isoviz.runtime.ranks.handles import StoreHandle

UNDER_WAY = 16 << 20
"""Bytes of puts to a rank that are under way at most; a put that would be more waits."""
_MESSAGE = 1 << 10
"""Bytes that a message takes besides those that it puts."""
_TICK = 0.05
"""Seconds between two looks whether an operation has to end."""
_BY_HELPER = {"fetch_and_add": ADD, "swap": SWAP, "compare_and_swap": CAS}
_CANCELLED = "it was cancelled before it was complete"


class FarPart:
    """The array of rank `rank`, reached without a map of it. `local` is the array of this rank."""

    def __init__(self, world: World, local: Array, handle: StoreHandle) -> None:
        self.rank = handle.rank
        self._local, self._handle = local, handle
        self._world, self._exchange = world, world.exchange
        self._refusals = world.parts.refusals
        self._is_near = world.stores.shares_host(self.rank)
        self._packed = Packed(world.exchange, world.parts.pool)
        self._system = ProcessWrite(world.exchange, world.parts.pool, self._refusals)
        self._there = RemoteStore(handle, world.exchange)
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._under_way: dict[int, int] = {}
        """The bytes of each put, and what its message takes."""
        self._total = 0
        self._aside: dict[int, tuple[int, int]] = {}
        """Where the puts begin and end that the server may carry out after later messages."""
        self._failed: list[BaseException] = []
        self._begun: dict[Future[None], None] = {}
        self._workers: ThreadPoolExecutor | None = None
        self._over: Exception | None = None

    @property
    def way(self) -> str:
        """How the array is reached, in words."""
        if not self._is_near:
            return "by messages to its server"
        if refused := self._refusals.get(self.rank):
            return f"by messages to its server, because {refused}"
        return f"by the system where runs are {LEAST_RUN} bytes and longer on average, else by messages to its server"

    # ---- put and get

    def put(self, value: Any, index: tuple[Any, ...], has_lists: bool, *, wait: bool = True) -> Handle | None:
        """As `Heap.put`."""
        return self.put_region(Region(self._local, index, has_lists), value, wait=wait)

    def get(self, index: tuple[Any, ...], has_lists: bool, into: Array | None, *, wait: bool = True) -> Any:
        """As `Heap.get`."""
        return self.get_region(Region(self._local, index, has_lists), into, wait=wait)

    def put_region(self, region: Region, value: Any, *, wait: bool = True) -> Handle | None:
        """Put a value to a region."""
        self._check()
        if not region.like.size:
            source_of(value, region.like, "put")
            return None if wait else Handle()
        copy, source = region.copy_of(value)
        if wait:
            self._put(copy, source, self._check)
            return None
        return Handle(None, self._begin(partial(self._put, copy, source), puts=True), source)

    def get_region(self, region: Region, into: Array | None, *, wait: bool = True) -> Any:
        """Get a region. A single element comes at once, also with `wait=False`."""
        self._check()
        room = room_for(into, region.like, "get")
        is_direct = room.flags.c_contiguous and all(each in (..., slice(None, None, 1)) for each in region.flips)
        landing = room if is_direct else np.empty(room.shape, room.dtype)

        def work(check: Check) -> None:
            self._get(region.copy_to(landing), landing.reshape(-1).view(np.uint8), check)
            if not is_direct:
                room[...] = landing[region.flips]

        if not wait and room.ndim and room.size:
            return Handle(room, self._begin(work, puts=False), room)
        if room.size:
            work(self._check)
        found = room if into is not None or room.ndim else room[()] if room.dtype.names else room.item()
        return found if wait else Handle(found)

    def place(self, index: tuple[Any, ...], has_lists: bool) -> Place:
        """As `Heap.place`."""
        region = Region(self._local, index, has_lists)
        return FarPlace(self, region) if has_lists or region.like.ndim else FarWord(self, region)

    def change(self, region: Region) -> Callable[[str], Callable[..., int]] | None:
        """The atomic operations on a word by their names; None if it is not aligned."""
        offset, size = region.copy_to(np.empty((), region.like.dtype)).source_offset, region.like.itemsize
        if (self._handle.address + offset) % size:
            return None
        server = by_server(self._world, self._handle, offset, size)

        def change(name: str) -> Callable[..., int]:
            operation = server(name)

            def ordered(*values: int) -> int:
                self._check()
                self._settle(offset, offset + size)
                return operation(*values)

            return ordered

        return change

    # ---- ends

    def fence(self) -> None:
        """Wait until everything that was begun is in place.

        Raises:
            RankLost: the rank is lost. RunError: a put has failed.
        """
        wait(list(self._begun))
        with self._changed:
            self._changed.wait_for(lambda: not self._under_way)
            failed, self._failed = self._failed, []
        if failed:
            raise failed[0]

    def end(self, error: Exception) -> None:
        """Let every later use raise an error. Nobody waits for what is under way."""
        self._over = self._over or error
        if self._workers is not None:
            self._workers.shutdown(wait=False)

    def __getitem__(self, _: object) -> FarPart:
        """Itself, unless its use raises an error."""
        self._check()
        return self

    def _check(self) -> None:
        if self._over is not None:
            Ended(self._over)()

    # ---- the moves

    def _put(self, copy: StridedCopy, source: Bytes, check: Check) -> None:
        """Put, and return when `source` may be changed."""
        check()
        low, high = reach([copy])
        self._settle(low, high)
        if self._is_near or copy.nbytes > PIECE:
            self._move(copy, source, check)
            return
        with self._changed:
            while self._total > UNDER_WAY:
                check()
                self._changed.wait(_TICK)
            number = next(self._numbers)
            self._under_way[number] = copy.nbytes + _MESSAGE
            self._total += copy.nbytes + _MESSAGE
            if not (is_small([copy]) and is_run(copy)):
                self._aside[number] = low, high
        done = partial(self._ended, number)
        try:
            if is_small([copy]):
                write_inline(self._exchange, [copy], source, self._handle, check, done)
            else:
                outstanding = Outstanding(done)
                made = piece([copy])._replace(source=None)  # it is packed: then the source may change
                self._packed.send_piece(made, source, self._handle, check, outstanding, outstanding.ended)
                outstanding.all_begun()
        except BaseException:  # it has not begun
            done(None)
            raise

    def _move(self, copy: StridedCopy, source: Bytes, check: Check) -> None:
        """Put, and return when the bytes are in place."""
        if is_run(copy) and self._by_system(WRITE, copy, source):
            return
        store = HostStore(source)
        try:
            if self._is_near:
                try:
                    self._system.move([copy], store, self._there, check)
                except Cancelled:
                    raise
                except RunError:  # the server can do it, or tells why not
                    pass
                else:
                    return
            self._packed.move([copy], store, self._there, check)
        except RunError as error:
            raise self._as_lost(error) from None

    def _get(self, copy: StridedCopy, room: Bytes, check: Check) -> None:
        """Get, and return when the bytes are in `room`."""
        check()
        self._settle(*reach([copy.reversed()]))
        if self._by_system(READ, copy, room):
            return
        results: list[object] = []
        over, flight = threading.Event(), threading.Semaphore(IN_FLIGHT)

        def done(result: object) -> None:
            results.append(result)
            over.set()

        outstanding = Outstanding(done)

        def arrived(error: BaseException | None) -> None:
            flight.release()
            outstanding.ended(error)

        failed: BaseException | None = None
        try:
            for part in cut(copy, PIECE):
                check()
                while not flight.acquire(timeout=_TICK):
                    check()
                low, high = reach([part])
                outstanding.begin()
                shifted = part.moved(0, -low) if isinstance(part, ListedCopy) else part._replace(destination_offset=0)
                read_parts(self._exchange, self._handle, plain([shifted]), room[low:high], arrived)
        except BaseException as error:  # noqa: BLE001  # raised below, when nothing arrives in `room` any more
            failed = error
        outstanding.all_begun(failed)
        over.wait()
        if isinstance(results[0], BaseException):
            raise self._as_lost(results[0])

    def _by_system(self, name: str, copy: StridedCopy, here: Bytes) -> bool:
        """Let the system move long runs from or to contiguous bytes here. Whether it has."""
        if not self._is_near or self.rank in self._refusals:
            return False
        count = copy.run_count
        if copy.nbytes < LEAST_RUN * count and count > 1:
            return False
        try:
            runs = runs_at(None, [copy], name == READ, self._handle)
            for call in accesses(name, self._handle, moves.first_byte(here), runs):
                call()
        except AccessRefusedError as error:
            self._refusals[self.rank] = str(error)
        except RunError:  # the server can do it, or tells why not
            pass
        else:
            return True
        return False

    def _settle(self, low: int, high: int) -> None:
        """Wait for puts to the same bytes that the server may carry out after later messages."""
        with self._changed:
            self._changed.wait_for(lambda: not any(at < high and low < to for at, to in self._aside.values()))

    def _ended(self, number: int, result: object) -> None:
        with self._changed:
            self._total -= self._under_way.pop(number, 0)
            self._aside.pop(number, None)
            if isinstance(result, BaseException) and not isinstance(result, Cancelled):
                self._failed.append(self._as_lost(result))
            self._changed.notify_all()

    def _as_lost(self, error: BaseException) -> BaseException:
        return as_lost(self._exchange, self.rank, error)

    def _begin(self, work: Callable[[Check], None], *, puts: bool) -> _Begun:
        """Do something in a thread of its own, after what was begun before."""
        if self._workers is None:
            self._workers = ThreadPoolExecutor(1, "isoviz rma")

        def watched(check: Check) -> None:
            try:
                work(check)
            except Cancelled:
                raise
            except BaseException as error:
                if puts:
                    self._failed.append(error)
                raise

        begun = _Begun(self._workers, watched)
        self._begun[begun.future] = None
        begun.future.add_done_callback(lambda each: self._begun.pop(each, None))
        return begun


class _Begun:
    """A put or a get in a thread of its own: the `Ticket` of a handle."""

    def __init__(self, workers: ThreadPoolExecutor, work: Callable[[Check], None]) -> None:
        self._is_wanted = True
        self.future = workers.submit(work, self._check)

    @property
    def done(self) -> bool:
        return self.future.done()

    def wait(self, timeout: float | None = None) -> None:
        try:
            self.future.result(timeout)
        except CancelledError:
            raise Cancelled(_CANCELLED) from None

    def cancel(self) -> bool:
        """Stop it before its next piece, and wait until those under way have arrived."""
        self._is_wanted = False
        if self.future.cancel():
            return True
        wait([self.future])
        return isinstance(self.future.exception(), Cancelled)

    def _check(self) -> None:
        if not self._is_wanted:
            raise Cancelled(_CANCELLED)


class FarPlace(Place):
    """A place in an array that is not mapped."""

    def __init__(self, part: FarPart, region: Region) -> None:
        super().__init__(region.like, part.rank)
        self._part, self._region = part, region

    def put(self, value: Any) -> None:
        """As `Place.put`."""
        self._part.put_region(self._region, value)

    def get(self, into: Array | None = None) -> Any:
        """As `Place.get`."""
        return self._part.get_region(self._region, into)


class FarWord(FarPlace, Word):
    """An element of an array that is not mapped."""

    def __init__(self, part: FarPart, region: Region) -> None:
        Word.__init__(self, region.like, part.rank, part.change(region))
        self._part, self._region = part, region


def by_server(world: World, handle: StoreHandle, offset: int, size: int) -> Callable[[str], Callable[..., int]]:
    """Atomic operations by their names on the word at a byte of a rank's array, which that rank carries out.

    On one host its helper does it, which needs no interpreter. Between hosts its MPI thread does it. Both use the instructions
    of the processor, as ranks that reach the word themselves do. So every operation on the word is atomic with every other one.
    """
    exchange, rank = world.exchange, handle.rank

    def change(name: str) -> Callable[..., int]:
        client: Client | None = None
        if rank == world.rank or world.stores.shares_host(rank):
            with suppress(RunError):  # this system has no helpers
                client = world.helpers.client(rank)

        def by_helper(*values: int) -> int:
            assert client is not None
            expected = values[0] if len(values) == 2 else 0
            return client.rmw(_BY_HELPER[name], handle.address + offset, values[-1], expected, size).wait()

        def by_message(*values: int) -> int:
            try:
                old: int = exchange.ask(rank, "change", handle.key, offset, size, name, values)
            except RunError as error:
                raise as_lost(exchange, rank, error) from None
            return old

        return by_message if client is None else by_helper

    return change


def as_lost(exchange: Exchange, rank: int, error: BaseException) -> BaseException:
    """An error of a request to a rank: a RankLost if that is why."""
    reason = exchange.transport.lost.get(rank)
    return error if reason is None or isinstance(error, RankLost) else lost_rank(rank, reason)
