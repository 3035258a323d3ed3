"""Handles: how a rank reaches a store of another rank, and what a rank asks of its devices for that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from isoviz.runtime.protocols import Devices

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy
    from isoviz.planner import Plan
    from isoviz.runtime.protocols import Check, Store


class StoreHandle(NamedTuple):
    """The address of a store of rank `rank` for other ranks. It can be pickled.

    - `key`: the number of the exported store on that rank.
    - `nbytes`: the bytes of the store.
    - `window`: what the devices need to map the store (a segment and an offset); None if it cannot be mapped.
    - `alignment`, `base`: those of the store.
    - `process`, `address`: the process, and the address of the first byte in it if it is host memory; else 0.
    - `pieces`: of the end of a bundle whose arrays lie in several windows, what `window` is and the bytes of each array.
    """

    rank: int
    key: int
    nbytes: int
    window: tuple[object, ...] | None
    alignment: int = 1
    base: int = 0
    process: int = 0
    address: int = 0
    pieces: tuple[tuple[tuple[object, ...], int], ...] = ()


class ReceivingLane(Protocol):
    """The end of a prepared transfer between two ranks, on the rank of the destination. Transfers have turns from 1.

    `address` is for the sender; it can be pickled.
    """

    @property
    def address(self) -> object: ...

    @property
    def turn(self) -> int:
        """The turn that got a credit last; 0 before the first one."""

    @property
    def is_free(self) -> bool:
        """Whether the sender writes nothing: that turn is over, or was cancelled before it began."""

    def next_turn(self, number: int = 0) -> int:
        """Let the sender write for the next turn, and not for later ones. Returns its number.

        0 if the sender may still write for the turn before, or if that has a larger `number`. A turn without a number follows the
        one before.
        """

    def withdraw(self, turn: int) -> bool:
        """Take the credit of a turn back. Whether the sender writes nothing in it; else it has begun, or leaves it alone."""

    @property
    def was_left_alone(self) -> bool:
        """Whether the sender has written nothing in the turn that was over last, because its credit was withdrawn."""

    def stir(self) -> None:
        """Wake a thread of this rank that waits."""

    def is_over(self, turn: int) -> bool:
        """Whether the sender has ended this turn: it writes nothing any more, and what it wrote can be read."""

    def wait(self, turn: int, *, again: bool = False) -> bool:
        """Wait some milliseconds at most until a turn is over, and return whether it is. `again`: this follows such a wait."""

    @property
    def has_parts(self) -> bool:
        """Whether there are parts now that the sender has not taken."""

    def pull(self) -> bool:
        """Move a part that the sender has not taken (`Lanes.share`). False if there is none now.

        Raises:
            RunError: it cannot be moved here; the sender moves it.
        """

    def moved(self, turn: int) -> int:
        """The bytes of a turn that are written."""

    @property
    def source(self) -> int:
        """The number of the source of the turn that was over last; 0 if the sender has given it none."""

    def error(self) -> Exception | None:
        """The error of the turn that was over last."""

    def cancel(self, turn: int) -> bool:
        """Ask the sender to stop. Whether it writes nothing in this turn because it has not begun; else the turn will be over."""

    @property
    def sender_has_closed(self) -> bool: ...
    @property
    def was_interrupted(self) -> bool: ...

    def close(self) -> None:
        """Give no further credit."""


class SendingLane(Protocol):
    """The end of a prepared transfer between two ranks, on the rank of the source. `parts` are its moves.

    `address` is for the receiver; it can be pickled.
    """

    @property
    def address(self) -> object: ...

    @property
    def parts(self) -> Sequence[LanePart]: ...

    may_share: bool
    """Whether the receiver may move parts of this source."""
    source: int
    """The number by which the receiver knows the source."""

    @property
    def turn(self) -> int:
        """The turn that has ended last; 0 before the first one."""

    def has_credit(self, turn: int) -> bool:
        """Whether the credit of a turn is there, or comes within some microseconds."""

    def wait(self, turn: int) -> bool:
        """Wait some milliseconds at most for the credit of a turn, and return whether it is there."""

    def begin_credited(self, turn: int) -> bool:
        """Begin a turn if its credit is there and was not withdrawn."""

    def was_withdrawn(self, turn: int) -> bool:
        """Whether the credit of a turn was taken back."""

    def stir(self) -> None:
        """Wake a thread of this rank that waits."""

    @property
    def receiver_has_closed(self) -> bool: ...
    @property
    def was_interrupted(self) -> bool: ...

    def begin(self, turn: int) -> None:
        """Begin a turn that has its credit.

        Raises:
            Cancelled: the receiver has cancelled it.
        """

    def carry_out(self, turn: int) -> None:
        """Carry out all parts of a turn that has its credit; for a turn of few parts.

        Raises:
            Cancelled: the receiver has cancelled it.
            RunError: it fails.
        """

    def check(self, turn: int) -> None:
        """Between two parts.

        Raises:
            Cancelled: the receiver has cancelled the turn.
        """

    def move(self, number: int) -> int:
        """Carry out a part, unless the receiver has taken it. Returns its bytes.

        Raises:
            RunError: it fails.
        """

    def move_alone(self) -> None:
        """Let the receiver take no further part of this turn."""

    def settle(self, is_wanted: bool) -> bool:
        """Wait some milliseconds at most until the receiver moves no part of this turn any more, and return whether that is so.

        What it could not move is moved here if the transfer is still `is_wanted`.

        Raises:
            RunError: it fails.
        """

    def end(self, turn: int, error: BaseException | None) -> None:
        """Tell the receiver how a turn has ended: nothing is written any more."""

    def close(self) -> None:
        """Begin no further turn."""


class LanePart(Protocol):
    """A part of a transfer, in requests of the device: its bytes are moved without a look at anything else."""

    @property
    def nbytes(self) -> int: ...

    @property
    def requests(self) -> int: ...


class Lanes(Protocol):
    """Lanes of a rank: ways to another rank of the same host without messages."""

    def receiving(self, store: Store, sender: int) -> ReceivingLane:
        """The end of a lane that writes to a store of this rank.

        Raises:
            RunError: there can be no lane between these two; the reason is in words.
        """

    def sending(self, address: Any, source: Store, copies: Sequence[StridedCopy]) -> SendingLane:
        """The end of a lane that carries out copies from a store of this rank to the store behind an address.

        Raises:
            RunError: there can be no lane between these two; the reason is in words.
        """

    def share(self, lane: Any, store: Any, address: Any, copies: Sequence[StridedCopy]) -> None:
        """Let the receiver move parts as well, into its store, from the source behind an address, if there are several parts.

        Raises:
            RunError: it cannot reach them; the reason is in words.
        """

    def comparison(self, plan: Plan, address: Any, destination: Any) -> Callable[[Check], None]:
        """What compares the destination of the receiver with the source behind an address, as both are when it is called.

        It raises as `Devices.verify`.

        Raises:
            RunError: the source cannot be mapped although it lies in a window of this host.
        """


class RankDevices(Devices, Protocol):
    """The real memories and channels of one rank. Other ranks reach its stores by handles."""

    @property
    def lanes(self) -> Lanes: ...

    def export(self, store: Store) -> StoreHandle:
        """Make a store of this rank reachable for other ranks, until `withdraw`."""

    def withdraw(self, handle: StoreHandle) -> None:
        """Make a store of this rank unreachable again, before it is closed."""

    def reach(self, handle: StoreHandle) -> Store:
        """A store of another rank: a destination for the channels of this rank. It can be read, too.

        If the store is mapped, its bytes are host memory of this rank. Closing it releases what this rank holds of it only.
        """
