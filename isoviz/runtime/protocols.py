"""What real memories and real channels must offer, so that an engine can carry a plan out.

An engine knows machines by their description and the world by these protocols only. `isoviz.backends` implements them for this
computer; a test hands in a channel that fails or waits, a host runtime hands in its own (Isometry, section 3: a host lets the
engine allocate intermediate buffers in its memories and describes its data by instances).

The protocols list everything that an engine asks. `isoviz.runtime.device_bases` has a base class for each of them, with defaults
for what a simple device need not say: devices from outside derive from these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from isoviz.layouts import Layout, StridedCopy
    from isoviz.machines import Channel, Memory
    from isoviz.planner import Instance, Plan
    from isoviz.planner.path_plan import Hop, PathPlan

Check = Callable[[], None]
"""Called between requests; raises `isoviz.errors.Cancelled` when the transfer is to stop."""

Done = Callable[[int | BaseException], None]
"""Called when a started request has ended: with the number of device requests that it took, or with the error."""


class Store(Protocol):
    """Bytes in a real memory that hold an instance or a chunk of one. Offsets count from its first byte.

    - `alignment`: the offsets and addresses of a request are multiples of it, in bytes (1: the memory asks nothing).
    - `base`: the place of the store's first byte in the units of `alignment` (for a file: the offset in it).
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
        them. Verification reads by this, so it must not use what moved the bytes.

        Raises:
            RunError: they cannot be read.
        """

    def close(self) -> None:
        """Give everything back; a destination that was not published disappears. Safe to call twice."""


class Slot(Store, Protocol):
    """A store for one chunk between two hops."""

    def place(self, shift: int) -> None:
        """Move the first byte `shift` bytes (less than a page) past a page boundary. What a disk reads in whole pages then lands
        where it belongs without another copy."""

    def clear(self) -> None:
        """Fill it with zeros: padding that moves along is never what another transfer left there."""


class Endpoint(Store, Protocol):
    """A store that is one end of a transfer."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the report should know: generated data, buffered instead of unbuffered access."""

    @property
    def identity(self) -> object:
        """Equal for two endpoints that share bytes: a transfer onto itself."""

    @property
    def durable(self) -> bool:
        """Whether `flush` waits for a device."""

    def flush(self) -> None:
        """Make what was written durable. Belongs to the transfer: it is measured."""

    def publish(self) -> None:
        """Let the world see the complete destination under its final name."""


class Holds(IntEnum):
    """Whether a memory holds what a caller handed to `copy`."""

    NO = 0
    """It does not: another memory has to."""
    PERHAPS = 1
    """It can hold such a thing, and nothing says that this one is there. Taken where no memory says YES."""
    YES = 2
    """It does."""


class RealMemory(Protocol):
    """A memory in which an engine can hold bytes."""

    @property
    def name(self) -> str:
        """The name of the described memory."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the report should know of every run that uses this memory."""

    @property
    def takes(self) -> str:
        """What `holds` accepts, in words: "a NumPy array". Empty where it accepts nothing."""

    def slot(self, nbytes: int) -> Slot:
        """A buffer of this size, its pages touched.

        Raises:
            RunError: no room. TransferError: a memory that cannot hold buffers.
        """

    def source(self, instance: Instance, given: Any | None) -> Endpoint:
        """The instance to read: `given` (an array, a path), else the path the instance names, else generated data.

        Raises:
            FileError: missing, too short, of another dtype. TransferError: an array of another size.
        """

    def destination(self, instance: Instance, given: Any | None, partial: bool) -> Endpoint:
        """Room for the instance. `partial`: the transfer writes only a part, what else is there is kept.

        Raises:
            FileError: a place where no file can be. RunError: no room.
        """

    def holds(self, given: Any) -> Holds:
        """Whether this memory holds what a caller handed to `copy`."""

    def describe(self, given: Any, layout: Layout | str, like: Instance | None) -> Instance:
        """What a caller handed to `copy`, and `holds` accepted, as an instance: its spaces and its layout in this memory. `like`
        is the source, where the destination is asked for. The same object for equal questions makes small copies quick: the
        engine remembers plans by it.

        Raises:
            InputError: the layout does not fit it.
        """


class RealChannel(Protocol):
    """A channel that really moves bytes, in one of two ways.

    An ordinary channel has `move`, which returns when the bytes are there; the engine calls it in `max_in_flight` threads. An
    asynchronous one has `start`, which returns at once; the engine keeps `max_in_flight` requests started without a thread each.
    """

    @property
    def at_once(self) -> bool:
        """Whether there is no device to wait for: the caller's own thread may carry out a few KiB while nobody else uses the
        channel, and a single request of up to 16 MiB that it waits for. Never so of an asynchronous channel."""

    @property
    def is_asynchronous(self) -> bool:
        """Whether the engine calls `start` and not `move`."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the report of a run that used this channel."""

    def prepare(self, nbytes: int) -> None:
        """Called before a transfer of `nbytes` bytes is measured: load what moving them needs."""

    def requests_of_chunk(self, path: PathPlan, hop: Hop, request_bytes: int) -> int:
        """In how many requests a chunk of a path goes over this channel on a hop. Between two requests a more urgent transfer may
        go first. `request_bytes` is the length that the engine asks for.

        The simulator has no real channels: it uses the rule of the described kind
        (`isoviz.runtime.scheduling.requests.requests_of_chunk`), which is the default here, too. At least 1.
        """

    def kept_together(self, copies: Sequence[StridedCopy]) -> tuple[list[StridedCopy], list[StridedCopy]]:
        """The copies of a chunk that go in one request, because the channel reads what lies between them with them; and the
        others, which may be cut."""

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:
        """Carry out strided copies, in requests of the device; returns how many these were.

        Raises:
            RunError: what failed, in words; the engine adds hop, channel and chunk. Cancelled: by `check`.
        """

    def start(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check, done: Done) -> None:
        """Begin to carry out strided copies and return at once; call `done` exactly once when they have ended, from any thread.

        `done` takes what `move` returns, or the error that `move` would raise. It only notes that and returns. Both stores stay
        open until then. `check` may be called from any thread, to stop early when the transfer is cancelled. Requests may end in
        any order. The engine calls `start` of one channel from one thread at a time. An error that `start` raises ends the
        request as `done(error)` does.
        """


class Bound(NamedTuple):
    """A described memory and the real one behind it: one end of a channel."""

    memory: Memory
    real: RealMemory


class Devices(Protocol):
    """The real memories and channels behind a machine description."""

    def memory(self, memory: Memory) -> RealMemory | None:
        """The real memory, or None where this computer has none of its kind. `Memory.device` says which one is meant.

        Raises:
            TransferError: there is such a kind of memory, but not the device that the memory is bound to.
        """

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:
        """The real channel between two memories, or None where this computer has none of its kind between these."""

    def verify(self, plan: Plan, source: Endpoint, destination: Endpoint, check: Check) -> None:
        """Compare both ends bit for bit, by other means than those that moved the data.

        Raises:
            VerificationError: naming the first index and field that differ.
        """


@runtime_checkable
class CancelToken(Protocol):
    """What `threading.Event` offers and an engine asks."""

    def is_set(self) -> bool: ...
