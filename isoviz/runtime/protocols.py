"""Protocols of real memories and real channels, through which an engine carries out a plan.

An engine uses machines only through their description, and devices only through these protocols. `isoviz.backends` implements
them for this computer. A test passes a channel that fails or waits. A host runtime passes its own devices: it lets the engine
allocate intermediate buffers in its memories and describes its data by instances (Isometry, section 3).

The protocols list everything that an engine calls. `isoviz.runtime.device_bases` has a base class for each of them, with defaults
for simple devices. Devices outside isoviz derive from these classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from isoviz.file_rights import Rights
    from isoviz.layouts import Layout, StridedCopy
    from isoviz.machines import Channel, Memory
    from isoviz.planner import Instance, Plan
    from isoviz.planner.bundled.bundle import BundleEnd
    from isoviz.planner.path_plan import Hop, PathPlan

Check = Callable[[], None]
"""Called between requests. It raises `isoviz.errors.Cancelled` if the transfer has to stop."""

Expected = tuple["Sequence[StridedCopy]", "Store", "Store"]
"""The copies of a request that will come, its source and its destination."""

Integers = np.ndarray[Any, np.dtype[np.int64]]
"""A table of whole numbers."""

Done = Callable[[int | BaseException], None]
"""Called when a started request has ended, with the number of device requests that it took, or with the error."""


class Store(Protocol):
    """Bytes in a real memory that hold an instance or a chunk of one. Offsets count from the first byte of the store.

    - `alignment`: the offsets and addresses of a request are multiples of it, in bytes (1: no requirement).
    - `base`: the position of the store's first byte to which `alignment` applies (for a file: the offset in it).
    - `reads_in_place`: whether `read` returns a view of the stored bytes at no cost, not a copy.
    """

    @property
    def nbytes(self) -> int: ...

    @property
    def alignment(self) -> int: ...

    @property
    def base(self) -> int: ...

    @property
    def reads_in_place(self) -> bool: ...

    def read(self, offset: int, nbytes: int) -> bytes | np.ndarray[Any, np.dtype[np.uint8]]:
        """The stored bytes from `offset` up to `offset + nbytes`, as bytes or as an array of uint8. The caller does not write to
        them.

        Verification uses this method, so it must not use the code that moved the bytes.

        Raises:
            RunError: they cannot be read.
        """

    def close(self) -> None:
        """Release everything. A destination that was not published disappears. Safe to call twice."""


class Slot(Store, Protocol):
    """A store for one chunk between two hops."""

    def place(self, shift: int) -> None:
        """Place the first byte `shift` bytes (less than a page) after a page boundary.

        Data that a disk reads in whole pages then needs no further copy.
        """

    def clear(self) -> None:
        """Fill the slot with zeros, so that padding that moves along never holds bytes of another transfer."""


class Endpoint(Store, Protocol):
    """A store that is one end of a transfer."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the report, such as generated data or buffered access instead of unbuffered."""

    @property
    def lies(self) -> Instance | None:
        """The instance with the fields at the places that the endpoint has, if the instance says otherwise; else None."""

    @property
    def identity(self) -> object:
        """A value that is equal for two endpoints that share bytes. It detects a transfer onto itself."""

    @property
    def durable(self) -> bool:
        """Whether `flush` waits for a device."""

    @property
    def sources(self) -> tuple[Rights, ...]:
        """The rights of the files that its bytes are from: a copy of these bytes must not be readable by anybody else. Empty: no
        file."""

    def comes_from(self, sources: tuple[Rights, ...]) -> None:
        """Keep the rights of the files that its bytes will be from, until `publish`."""

    def flush(self) -> None:
        """Make the written bytes durable. This belongs to the transfer: its time is measured."""

    def publish(self) -> None:
        """Make the complete destination visible under its final name."""


class Holds(IntEnum):
    """Whether a memory holds an object that a caller passed to `copy`."""

    NO = 0
    """It does not; another memory has to."""
    PERHAPS = 1
    """It can hold such an object, but the object does not show where it is. Used if no memory answers YES."""
    YES = 2
    """It holds the object."""


class RealMemory(Protocol):
    """A memory in which an engine can hold bytes."""

    @property
    def name(self) -> str:
        """The name of the described memory."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the report of every run that uses this memory."""

    @property
    def takes(self) -> str:
        """The objects that `holds` accepts, in words: "a NumPy array". Empty if it accepts none."""

    def slot(self, nbytes: int) -> Slot:
        """A buffer of `nbytes` bytes, with its pages touched.

        Raises:
            RunError: no room.
            TransferError: the memory cannot hold buffers.
        """

    def source(self, instance: Instance, given: Any | None) -> Endpoint:
        """The endpoint to read: `given` (an array, a path), else the path that the instance names, else generated data.

        Raises:
            FileError: the file is missing, is too short, or has another dtype.
            TransferError: the array has another size.
        """

    def destination(self, instance: Instance, given: Any | None, partial: bool) -> Endpoint:
        """The endpoint to write. With `partial` the transfer writes only a part of it, and the rest is kept.

        Raises:
            FileError: no file can be at this place.
            RunError: no room.
        """

    def together(self, stores: Sequence[Endpoint], end: BundleEnd) -> Endpoint:
        """One store for an end of a bundle, made of the stores of all members, which it closes. Its `lies` says where they are.

        Raises:
            TransferError: the memory has no such store.
        """

    def received(self, given: Any) -> Any:
        """The value that `source` or `destination` get for an object of a caller: usually the object itself.

        It is called in the caller's thread, before a transfer waits: the object may mean something else in another thread, such
        as an array with a current stream.
        """

    def holds(self, given: Any) -> Holds:
        """Whether this memory holds an object that a caller passed to `copy`."""

    def describe(self, given: Any, layout: Layout | str, like: Instance | None) -> Instance:
        """The instance (spaces and layout) of an object that a caller passed to `copy` and that `holds` accepted.

        `like` is the source if the object is the destination. Return the same instance for equal arguments: the engine finds the
        plan of a small copy by the identity of its instances.

        Raises:
            InputError: the layout does not fit the object.
        """


class RealChannel(Protocol):
    """A channel that moves bytes, in one of two ways.

    An ordinary channel has `move`, which returns when the bytes have arrived. The engine calls it in `max_in_flight` threads. An
    asynchronous channel has `start`, which returns at once. The engine keeps up to `max_in_flight` requests in flight without a
    thread for each.
    """

    @property
    def at_once(self) -> bool:
        """Whether the channel works without a device to wait for. Always false for an asynchronous channel.

        If true, the caller's thread may carry out some requests itself: up to 64 KiB while the channel is idle, or a single
        request of up to 16 MiB that the caller waits for.
        """

    @property
    def takes_lists(self) -> bool:
        """Whether the channel knows copies with a table of offsets (`ListedCopy`). Other channels get a copy for each run."""

    @property
    def is_asynchronous(self) -> bool:
        """Whether the engine calls `start` instead of `move`."""

    @property
    def names_places(self) -> bool:
        """Whether it only tells the rank of a store which bytes to write, and never writes to a mapped store itself."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the report of a run that used this channel."""

    def prepare(self, nbytes: int) -> None:
        """Prepare for a transfer of `nbytes` bytes, before its stores are opened: load what the moves need."""

    def expect(self, requests: Iterable[Expected]) -> None:
        """Prepare for requests of a transfer, before its time is measured: compile what their copies need.

        The stores are open, and nothing was moved yet. `requests` are those of the first chunks and of the last one. Their copies
        are computed while the channel iterates, so a channel that has nothing to prepare does not. Other requests may follow.
        `isoviz.runtime.opening.check_opening` raises if the transfer has to stop.
        """

    @property
    def part_loop(self) -> PartLoop | None:
        """What carries out many short requests of a transfer at a time, over all of its hops; None if nothing does now."""

    def requests_of_chunk(self, path: PathPlan, hop: Hop, request_bytes: int) -> int:
        """The number of requests for a chunk of a path on a hop over this channel, at least 1.

        A more urgent transfer may go first between two requests. `request_bytes` is the length that the engine asks for. The
        simulator has no real channels, so it uses the rule of the described kind
        (`PathPlan.requests`). That rule is the default here, too.
        """

    def kept_together(self, copies: Sequence[StridedCopy]) -> tuple[list[StridedCopy], list[StridedCopy]]:
        """Divide the copies of a chunk: those that have to stay in one request, and the others, which may be cut.

        Copies stay together if the channel reads them in one piece with the gaps between them.
        """

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:
        """Carry out strided copies in requests of the device. Returns the number of these requests.

        Raises:
            RunError: the reason of the failure in words; the engine adds hop, channel and chunk.
            Cancelled: raised by `check`.
        """

    def prepared_move(
        self, copies: Sequence[StridedCopy], source: Store, destination: Store
    ) -> Sequence[Callable[[], object]] | None:
        """The parts of `move` as functions that are called one after the other, again and again, while both stores are open.

        They raise what `move` raises. None if the channel can find out nothing beforehand; the engine then calls `move`.
        """

    def start(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check, done: Done) -> None:
        """Start strided copies and return at once. Call `done` exactly once when they have ended, from any thread.

        `done` takes the number that `move` returns, or the error that `move` would raise. It only notes this and returns. Both
        stores stay open until then. `check` may be called from any thread, to stop early when the transfer is cancelled. Requests
        may end in any order. The engine calls `start` of one channel from one thread at a time. An error that `start` raises ends
        the request as `done(error)` does.
        """

    def release(self) -> None:
        """Release what the channel keeps while it is idle, such as threads. A closed engine calls it. Never raises."""


class PartLoop(Protocol):
    """A compiled loop that moves the parts of a transfer without Python between them (`isoviz.runtime.engine.program`)."""

    def order(self, copy: StridedCopy) -> tuple[tuple[int, int, int], ...] | None:
        """The loops of a copy as `loops` of `move` has them; None if a call of the channel moves it faster."""

    def address(self, store: Store) -> int | None:
        """Where a store lies in the memory of this process; None if it does not."""

    def move(
        self,
        hops: Integers,
        first: Integers,
        rows: Integers,
        loops: Integers,
        stores: Integers,
        slots: Integers,
        chunks: int,
        words: Integers,
        until: int,
        times: Integers,
    ) -> int:
        """Move chunks over all hops until all have arrived, a word says stop, or the time is over. Returns the number of parts.

        - `hops`: a row for each hop: `whole`, `turn`, two shifts, the place of its first class in `first`. Chunk c < `whole` has
          the copies of class c mod `turn`, with offsets that are c div `turn` shifts larger. Chunk c from `whole` on has those of
          class `turn` + c − `whole`.
        - `first`: the first row of each class, and behind the last class of a hop the row after it.
        - `rows`: a copy each: its offsets in the stores before and behind the hop, the bytes of a run, the first of its loops and
          their number. `loops`: turns and the two strides, the innermost loop last.
        - `stores`, `slots`: the addresses and the number of the stores before, between and behind the hops, a row for each place.
          Chunk c is in store number c mod `slots`.
        - `chunks`: the number of chunks.
        - `words`: the first one is not 0 if the loop has to stop before the next part. The next two are the loop's own. The rest
          count the chunks that each hop has moved.
        - `until`: nanoseconds of `time.perf_counter_ns`; the loop goes on with no part after it.
        - `times`: if it has rows, the loop writes one for each part (hop, chunk, begin and end in nanoseconds), and stops behind
          the last row.
        """


class Bound(NamedTuple):
    """One end of a channel: a described memory and its real memory."""

    memory: Memory
    real: RealMemory


class Devices(Protocol):
    """The real memories and channels behind a machine description."""

    def memory(self, memory: Memory) -> RealMemory | None:
        """The real memory, or None if this computer has no memory of its kind. `Memory.device` selects the device.

        Raises:
            TransferError: this computer has such memories, but not the device that this memory is bound to.
        """

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:
        """The real channel between two memories, or None if this computer has no channel of its kind between them."""

    def absence(self, memory: Memory) -> str:
        """Why `memory` returned None for this memory, as the end of a sentence; empty if there is nothing to add."""

    def verify(self, plan: Plan, source: Endpoint, destination: Endpoint, check: Check) -> None:
        """Compare both ends bit for bit, with other code than the code that moved the data.

        Raises:
            VerificationError: they differ; the error names the first index and field that differ.
        """


@runtime_checkable
class CancelToken(Protocol):
    """A token to cancel a transfer, such as a `threading.Event`."""

    def is_set(self) -> bool: ...
