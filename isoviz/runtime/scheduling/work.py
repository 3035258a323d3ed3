"""What a scheduler is told and what it answers: values without memory, clocks or threads.

A driver (simulator, engine, ranks) hands stimuli in and carries the instructions out. Everything is a small tuple of names and
numbers, so that a run can be written down and replayed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    everything, as Realm did with transfers of several hops (Isometry, section 6.1): then the rings hold all of it. Without
    `overlap` a chunk goes through all hops before the next one begins.
    """

    channels: tuple[str, ...]
    chunks: int
    rings: tuple[Ring, ...] = ()
    requests: tuple[int, ...] = ()
    priority: int = 0
    pipelined: bool = True
    overlap: bool = True

    def room(self, hop: int) -> tuple[int, int] | None:
        """What makes room for the output of a hop: (a hop, n), which has to be done with chunk c − n before chunk c may begin.
        None: there always is room."""
        last = len(self.channels) - 1
        if hop == last:
            return None
        if self.overlap or not self.pipelined:
            return hop + 1, self.rings[hop].slots
        return None if hop else (last, 1)

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which `from_json` makes equal work."""
        return {**self._asdict(), "rings": [ring._asdict() for ring in self.rings]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Work:
        """The work that `to_json` described; KeyError or TypeError where that is none."""
        rings = tuple(Ring(**ring) for ring in data["rings"])
        return cls(**{**data, "channels": tuple(data["channels"]), "requests": tuple(data["requests"]), "rings": rings})


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
