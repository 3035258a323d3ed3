"""The transport: control messages between the ranks of a group."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

Receive = Callable[[int, object], None]
"""Called with the rank of the sender and the message, in the transport's own thread. It returns quickly."""
Lost = Callable[[int, str], None]
"""Called once with a rank that no longer answers, and the reason."""


class ClockOffset(NamedTuple):
    """The clock (`time.perf_counter`) of a rank minus that of rank 0, in seconds, and the largest error of this figure."""

    offset: float
    uncertainty: float


class Transport(Protocol):
    """Control messages between ranks. They are small and can be pickled.

    Messages from one rank to another arrive in the order in which they were sent. Messages between different pairs of ranks may
    overtake each other.
    """

    rank: int
    size: int

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
