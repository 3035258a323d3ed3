"""A message to and fro between two nodes (Gioiosa et al., section V, figure 3): in three ways over PCIe, and with MPI.

A message counts as received once all of it is in the memory of the host. It comes in parts with a group counter each: while one
is read out of the VIC, the next one is on its way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoviz.checks import count, expect, is_one_of
from isoviz.errors import InputError, VerificationError, show
from isoviz.vortex.modelled_mpi.communicator import Communicator
from isoviz.vortex.modelled_mpi.system import MessageSystem
from isoviz.vortex.packet import WORDS
from isoviz.vortex.patterns import Aggregated
from isoviz.vortex.program import WAYS, Vic
from isoviz.vortex.systems import System
from isoviz.vortex.traffic import Whole

PARTS = 56
"""Parts of a message at most: there are 61 group counters."""
LEAST = 512
"""Words of a part at least: what they take is more than what begins a read."""
MOST = 1 << 20


@dataclass(frozen=True)
class PingPong:
    """Modelled `seconds` of a message of so many words one way, the mean of so many `times` to and fro. What came back was what
    had been sent."""

    way: str
    words: int
    times: int
    seconds: float

    @property
    def rate(self) -> float:
        """Bytes of data per modelled second."""
        return 8 * self.words / self.seconds


def ping_pong(system: System, words: int, times: int = 3, way: str = WAYS[-1], seed: int = 0) -> PingPong:
    """Send drawn words from node 0 to node 1 and back. Other nodes do nothing.

    `way`, on a Data Vortex: `"direct"` writes headers and words, `"cached"` writes words alone, and both read words; `"DMA"` has
    the engines fetch and store words.

    Raises:
        InputError: an argument is out of range, or there are less than two nodes.
        VerificationError: what came back is not what had been sent.
    """
    expect("ping_pong", system, System, "a system, as isoviz.vortex.simulated() or messages() makes it")
    count("ping_pong", "nodes", system.nodes, low=2)
    count("ping_pong", "words", words, low=1, high=min(MOST, WORDS))
    count("ping_pong", "times", times, low=1)
    if not is_one_of(way, WAYS):
        raise InputError(f"ping_pong, way: expected one of {', '.join(map(repr, WAYS))}, got {show(way)}")
    sent = np.random.default_rng(count("ping_pong", "seed", seed)).integers(1 << 62, size=words)
    if isinstance(system, MessageSystem):
        way, run = "MPI", system.run(on_messages, sent, times)
    else:
        run = system.run(on_vics, sent, times, way)
    seconds, came = run.results[0]
    if not np.array_equal(came, sent):
        raise VerificationError(f"ping_pong: {int((came != sent).sum())} of {words} words came back wrong")
    return PingPong(way, words, times, seconds)


def on_vics(vic: Vic, sent: Whole, times: int, way: str = WAYS[-1]) -> tuple[float, Whole] | None:
    """The program of a node of a Data Vortex: on node 0, seconds of a message, and what came back."""
    if vic.rank > 1:
        return None
    here, found = Corresponding(vic, len(sent), way), np.empty_like(sent)
    vic.barrier([0, 1])
    begin, sends = vic.seconds, sent if vic.rank == 0 else found
    for number in range(2 * times):
        if number % 2 == vic.rank:
            here.send(sends)
            sends = found
        else:
            here.receive(found)
    return (vic.seconds - begin) / (2 * times), found


class Corresponding:
    """Messages to and from the other one of two nodes. Before a node sends, its counters are set for what comes next."""

    def __init__(self, vic: Vic, words: int, way: str) -> None:
        self._vic, self._way, self._other = vic, way, 1 - vic.rank
        parts = max(1, min(PARTS, words // LEAST))
        self._parts = [slice(part * words // parts, (part + 1) * words // parts) for part in range(parts)]
        for counter, part in enumerate(self._parts):
            vic.set_counter(counter, part.stop - part.start)

    def send(self, words: Whole) -> None:
        """Send a message: by DMA all parts together."""
        vic, way = self._vic, self._way
        with Aggregated(vic, MOST) as out:
            for counter, part in enumerate(self._parts):
                addresses = np.arange(part.start, part.stop)
                if way == "DMA":
                    out.send(self._other, addresses, words[part], counter)
                else:
                    vic.send(self._other, addresses, words[part], counter, by=way)

    def receive(self, into: Whole) -> None:
        """Receive a message into the memory of the host."""
        vic = self._vic
        for counter, part in enumerate(self._parts):
            vic.wait(counter)
            vic.set_counter(counter, part.stop - part.start)
            if self._way == "DMA":
                vic.store(part.start, into[part], wait=False)
            else:
                into[part] = vic.memory[part]
        if self._way == "DMA":
            vic.finish()


def on_messages(comm: Communicator, sent: Whole, times: int) -> tuple[float, Whole] | None:
    """The program of a node with MPI: as `on_vics`."""
    if comm.rank > 1:
        return None
    found, other, begin = np.empty_like(sent), 1 - comm.rank, comm.seconds
    sends = sent if comm.rank == 0 else found
    for number in range(2 * times):
        if number % 2 == comm.rank:
            comm.Send(sends, other)
            sends = found
        else:
            comm.Recv(found, other)
    return (comm.seconds - begin) / (2 * times), found
