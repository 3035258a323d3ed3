"""What ranks cost that wait: round trips of messages, and the processors that idle ranks use."""

from __future__ import annotations

import statistics
import threading
import time
from typing import TYPE_CHECKING, Any

from isoviz.backends.mpi.world import World
from isoviz.bench.result_rows import row

if TYPE_CHECKING:
    from isoviz.bench.ranks.here import Order

ROUND_TRIP, IDLE = 2e-3, 0.05
"""Aims: seconds of a round trip in the median, and the share of a processor that all idle ranks use together."""
IDLE_SECONDS = 0.3
"""Seconds of idleness that are measured for each round."""
_PATIENCE = 120.0


class _Echo:
    """Answers questions of other ranks, and waits for answers and for the last word of rank 0."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._answered, self._over = threading.Event(), threading.Event()
        self._used: dict[int, float] = {}
        self._told = threading.Condition()
        world.transport.start(self._receive, lambda rank, reason: None)  # noqa: ARG005  # a wait ends at its limit

    def _receive(self, sender: int, message: object) -> None:
        if message == "question":
            self._world.transport.send(sender, "answer")
        elif message == "answer":
            self._answered.set()
        elif message == "over":
            self._over.set()
        elif isinstance(message, float):
            with self._told:
                self._used[sender] = message
                self._told.notify()

    def round_trip(self, rank: int) -> float:
        """Seconds from a question to the answer of a rank."""
        self._answered.clear()
        begin = time.perf_counter()
        self._world.transport.send(rank, "question")
        if not self._answered.wait(_PATIENCE):
            raise TimeoutError(f"rank {rank} did not answer")
        return time.perf_counter() - begin

    def wait_until_over(self) -> None:
        """Wait for the last word of rank 0."""
        self._over.wait(_PATIENCE)

    def used(self, own: float) -> float:
        """The sum of what all ranks tell."""
        with self._told:
            self._told.wait_for(lambda: len(self._used) == self._world.size - 1, _PATIENCE)
            return own + sum(self._used.values())


def waiting_on_rank(order: Order) -> list[dict[str, Any]]:
    """Round trips from rank 0 to every other rank in turn, after which all ranks are idle."""
    with World() as world:
        echo = _Echo(world)
        others = range(1, world.size)
        if world.rank == 0:
            hot = [echo.round_trip(rank) for _ in range(20 * order.repeat) for rank in others]
            cold = []
            for _ in range(order.repeat):
                for rank in others:
                    threading.Event().wait(0.02)
                    cold.append(echo.round_trip(rank))
            for rank in others:
                world.transport.send(rank, "over")
        else:
            echo.wait_until_over()
        seconds = IDLE_SECONDS * order.repeat
        begin, used = time.perf_counter(), time.process_time()
        threading.Event().wait(seconds)
        share = (time.process_time() - used) / (time.perf_counter() - begin)
        if world.rank:
            world.transport.send(0, share)
            return []
        ranks = f"{world.size} ranks"
        return [
            row("waiting", f"round trip of a message, {ranks} at work", statistics.median(hot), "2 ms", ROUND_TRIP, 1.0),
            row("waiting", f"round trip of a message, {ranks} asleep", statistics.median(cold), "2 ms", ROUND_TRIP, 1.0),
            row("waiting", f"{ranks} idle: share of a core, all together", echo.used(share), "5 %", IDLE, 1.0, unit="share"),
        ]
