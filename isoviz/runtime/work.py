"""What a scheduler is told and what it answers: values without memory, clocks or threads.

A driver (simulator, engine, ranks) hands stimuli in and carries the instructions out. Everything is a small tuple of names and
numbers, so that a run can be written down and replayed.
"""

from __future__ import annotations

from typing import NamedTuple


class Ring(NamedTuple):
    """An intermediate buffer: `slots` slots of `nbytes` bytes each, in one memory."""

    memory: str
    nbytes: int
    slots: int

    @property
    def total(self) -> int:
        """Bytes of all slots."""
        return self.nbytes * self.slots


class Work(NamedTuple):
    """A transfer as a scheduler sees it.

    `channels` name the hops of the path in order, `rings` the buffers between them, one less. All hops move `chunks` chunks, hop
    h each in `requests[h]` requests (empty: one each). Without `pipelined` a hop begins only when the one before has moved
    everything, as Realm did with transfers of several hops (Isometry, section 6.1): then the rings hold all of it.
    """

    channels: tuple[str, ...]
    chunks: int
    rings: tuple[Ring, ...] = ()
    requests: tuple[int, ...] = ()
    priority: int = 0
    pipelined: bool = True


# ---- stimuli


class Submit(NamedTuple):
    """A transfer, with a number that no other one has."""

    transfer: int
    work: Work


class Done(NamedTuple):
    """A request has moved its bytes."""

    transfer: int
    hop: int
    chunk: int
    request: int


class Failed(NamedTuple):
    """A request, or with `hop` −1 the allocation of the buffers, went wrong."""

    transfer: int
    hop: int
    chunk: int
    request: int
    reason: str


class Cancel(NamedTuple):
    """Somebody no longer wants a transfer."""

    transfer: int


Stimulus = Submit | Done | Failed | Cancel


# ---- instructions


class Allocate(NamedTuple):
    """The buffers of a transfer are its own from now on."""

    transfer: int


class Issue(NamedTuple):
    """Hand a request to the channel of its hop: part `request` of a chunk."""

    transfer: int
    hop: int
    chunk: int
    request: int


class Release(NamedTuple):
    """Nothing of a transfer is under way any more: its buffers may go."""

    transfer: int


class Finish(NamedTuple):
    """A transfer has ended: "done", "failed" or "cancelled", with the reason."""

    transfer: int
    outcome: str
    reason: str = ""


Instruction = Allocate | Issue | Release | Finish
