"""The transport: control messages between the ranks of a group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

Receive = Callable[[int, object], None]
"""Called with the rank of the sender and the message, in the transport's own thread. It returns quickly."""
Lost = Callable[[int, str], None]
"""Called once with a rank that no longer answers, and the reason."""


class ClockOffset(NamedTuple):
    """The clock (`time.perf_counter`) of a rank minus that of rank 0, in seconds, and the largest error of this figure."""

    offset: float
    uncertainty: float


class Slots(Protocol):
    """Memory in which all ranks tell each other small values. What a rank tells has a stamp, a number that only grows.

    One thread of a rank at a time uses it. A thread that waits is woken when a signal comes.
    """

    @property
    def latest(self) -> int:
        """The stamp that this rank has told last; 0 at first."""

    def tell(self, stamp: int, data: bytes) -> bool:
        """Tell a value. False if there is no room for it: then the others learn only the stamp."""

    def has_told(self, rank: int, stamp: int) -> bool:
        """Whether a rank has told what has this stamp, or something later."""

    def behind(self, stamp: int) -> list[int]:
        """The ranks that have yet to tell that."""

    def wait_for(self, rank: int, stamp: int, waits: int = 0) -> bool:
        """Wait for that, some milliseconds at most. Whether it has. It is longer after some `waits` of the kind."""

    def value(self, rank: int, stamp: int) -> bytes | None:
        """What a rank has told with a stamp; None if it has told only the stamp.

        It can be read until this rank tells something later.
        """

    def note(self, number: int, value: int) -> None:
        """Change note 0 or 1 of this rank: after what it has told before, and before what it reads afterwards."""

    def notes(self, number: int) -> list[int]:
        """A note of every rank; 0 at first."""


class Transport(Protocol):
    """Control messages between ranks. They are small and can be pickled.

    Messages from one rank to another arrive in the order in which they were sent. Messages between different pairs of ranks may
    overtake each other.
    """

    rank: int
    size: int

    @property
    def slots(self) -> Sequence[Slots]:
        """Those of engines and those of redistributions; none where not all ranks share memory. They stay for later engines."""

    @property
    def number(self) -> int:
        """How often `start` was called: equally often on all ranks that have the same engine."""

    def start(self, receive: Receive, lost: Lost) -> None:
        """Deliver messages from now on. Messages that came before are delivered first."""

    def send(self, rank: int, message: object) -> None:
        """Send a message and return at once. Any thread may call it. A rank can send to itself."""

    def poll(self, is_over: Callable[[], bool]) -> None:
        """Deliver messages in this thread for a moment, until something is over, if the transport can.

        A thread that waits for a message calls it before it sleeps: that saves waking two threads.
        """

    def give_up(self, rank: int, reason: str) -> None:
        """Count a rank as lost, because another rank does. Its `Lost` is called when it cannot write to this rank any more."""

    def clock_offsets(self) -> tuple[ClockOffset | None, ...]:
        """The clock of each rank against that of rank 0; None for a lost rank. Any rank may ask at any time.

        Raises:
            RunError: rank 0 is lost.
        """

    def close(self) -> None:
        """Send the messages that wait, and end."""
