"""What a real memory and a real channel must offer, so that an engine can carry a plan out.

An engine knows machines by their description and the world by these protocols only. `isoviz.backends` implements them for this
computer; a test hands in a channel that fails or waits, a host runtime hands in its own (Isometry, section 3: a host lets the
engine allocate intermediate buffers in its memories and describes its data by instances).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from isoviz.layouts import Layout, StridedCopy
    from isoviz.machines import Channel, Machine, Memory
    from isoviz.planner import Instance, Plan

Check = Callable[[], None]
"""Called between requests; raises `isoviz.errors.Cancelled` when the transfer is to stop."""


class Store(Protocol):
    """Bytes in a real memory that hold an instance or a chunk of one. Offsets count from its first byte.

    `alignment` is what the memory asks of the offsets and addresses of a request in bytes (1: nothing), `base` the place of the
    store's first byte in units that `alignment` refers to (the offset in a file).
    """

    @property
    def nbytes(self) -> int: ...

    @property
    def alignment(self) -> int: ...

    @property
    def base(self) -> int: ...

    def close(self) -> None:
        """Give everything back; a destination that was not published disappears. Safe to call twice."""


class Slot(Store, Protocol):
    """A store for one chunk between two hops.

    `place(shift)` moves its first byte `shift` bytes (less than a page) past a page boundary, so that what a disk reads in
    whole pages lands where it belongs without another copy. `clear()` fills it with zeros: padding that moves along is never what
    another transfer left there.
    """

    def place(self, shift: int) -> None: ...

    def clear(self) -> None: ...


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


class RealMemory(Protocol):
    """A memory in which an engine can hold bytes."""

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


class RealChannel(Protocol):
    """A channel that really moves bytes.

    `at_once` says that there is no device to wait for: the caller's own thread may carry out a few KiB while nobody else uses the
    channel, and a single request of up to 16 MiB that it waits for. Optional: `prepare(nbytes)`, called before a transfer of so
    many bytes is measured, and `notes`, sentences for its report; and `kept_together(copies)`, those of them that are read with
    what lies between them, which it is handed in one request, and the others.
    """

    @property
    def at_once(self) -> bool: ...

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:
        """Carry out strided copies, in requests; returns how many requests were issued.

        Raises:
            RunError: what failed, in words; the engine adds hop, channel and chunk. Cancelled: by `check`.
        """


class Devices(Protocol):
    """The real memories and channels behind a machine description."""

    def memory(self, memory: Memory) -> RealMemory | None:
        """The real memory, or None where this computer has none such."""

    def channel(self, channel: Channel) -> RealChannel | None:
        """The real channel, or None where this computer has none such. The memories it joins were asked for before."""

    def describe(self, machine: Machine, given: Any, layout: Layout | str, like: Instance | None) -> Instance:
        """What the caller handed to `copy`, in the data model: the memory it is in, its spaces and its layout. `like` is the
        source, where it is the destination that is asked for.

        Raises:
            InputError: it is nothing these devices hold, or the layout does not fit it.
        """

    def verify(self, plan: Plan, source: Endpoint, destination: Endpoint, check: Check) -> None:
        """Compare both ends bit for bit, by other means than those that moved the data.

        Raises:
            VerificationError: naming the first index and field that differ.
        """


@runtime_checkable
class CancelToken(Protocol):
    """What `threading.Event` offers and an engine asks."""

    def is_set(self) -> bool: ...
