"""Stimuli and instructions of a scheduler: values without memory, clocks or threads.

A driver (simulator, engine or ranks) passes stimuli to the scheduler and carries out its instructions. Each is a small tuple of
names and numbers, so that a run can be recorded and replayed.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Ring(NamedTuple):
    """A ring buffer between two hops: `slots` slots of `nbytes` bytes each, in one memory."""

    memory: str
    nbytes: int
    slots: int

    @property
    def total(self) -> int:
        """Bytes of all slots."""
        return self.nbytes * self.slots


Dependency = tuple[str, int, int]
"""A dependency of a hop: (reason, hop, lead).

Chunk c may begin once the hop at position `hop` of the path has moved more than c − `lead` chunks. On a path that is not
pipelined, it may begin once that hop has moved all chunks. The reasons are:

- "data": the hop before has to write the chunk.
- "slot": the hop behind has to read a slot.
- "chunk": the chunk before has to pass the last hop.
"""


class PathWork(NamedTuple):
    """One path of a transfer, as a scheduler sees it.

    - `channels`: the channels of the hops, in order.
    - `chunks`: the number of chunks that each hop moves.
    - `rings`: the ring buffers between the hops, one fewer than hops.
    - `requests`: the number of requests per chunk, for each hop; if empty, one.
    - `pipelined`: if false, a hop begins when the hop before has moved all chunks, and the ring buffers hold all chunks. Realm
      did this with transfers of several hops (Isometry, section 6.1).
    - `overlap`: if false, a chunk passes all hops before the next chunk begins.
    - `ranks`: the rank whose scheduler carries out each hop. If empty, the scheduler that has the work carries out all hops.
    - `receiver`: the rank that holds the destination; None if it is the rank of the last hop.
    """

    channels: tuple[str, ...]
    chunks: int
    rings: tuple[Ring, ...] = ()
    requests: tuple[int, ...] = ()
    pipelined: bool = True
    overlap: bool = True
    ranks: tuple[int, ...] = ()
    receiver: int | None = None

    @property
    def all_ranks(self) -> set[int]:
        """The ranks that carry out its hops or hold its destination; empty if it names none."""
        return {*self.ranks} if self.receiver is None else {*self.ranks, self.receiver}

    @property
    def has_receiver(self) -> bool:
        """Whether another rank than that of the last hop holds the destination. Its credit lets the last hop begin."""
        return self.receiver is not None and self.receiver != self.ranks[-1]

    def dependencies(self, hop: int) -> list[Dependency]:
        """The dependencies of the hop at a position, besides its channel.

        There is at most one hop that writes its input or lets it begin the next chunk, and at most one hop that frees its output.
        """
        last = len(self.channels) - 1
        in_turn = self.pipelined and not self.overlap
        found: list[Dependency] = []
        if hop:
            found.append(("data", hop - 1, 0))
        elif in_turn and last:
            found.append(("chunk", last, 1))
        # Hops that take turns always find a free slot. But another rank has to report that it has allocated the slot.
        if hop < last and (not in_turn or (self.ranks and self.ranks[hop] != self.ranks[hop + 1])):
            found.append(("slot", hop + 1, self.rings[hop].slots))
        return found

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which `from_json` makes an equal path."""
        found = {**self._asdict(), "rings": [ring._asdict() for ring in self.rings]}
        if not self.ranks:
            del found["ranks"]
        if self.receiver is None:
            del found["receiver"]
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PathWork:
        """The path that `to_json` described.

        Raises:
            KeyError, TypeError: `data` describes no path.
        """
        rings = tuple(Ring(**ring) for ring in data["rings"])
        tuples = {name: tuple(data.get(name, ())) for name in ("requests", "ranks")}
        return cls(**{**data, **tuples, "channels": tuple(data["channels"]), "rings": rings})


class _Work(NamedTuple):
    paths: tuple[PathWork, ...]
    priority: int = 0


class Work(_Work):
    """A transfer, as a scheduler sees it: a priority, and paths that are admitted together and finish together.

    Hops are numbered path after path. Hop `h` of `Issue`, `Done` and a trace has the position `h − start` on its path, where
    `start` is the number of the path's first hop (`starts`).
    """

    @classmethod
    def one_path(
        cls,
        channels: tuple[str, ...],
        chunks: int,
        rings: tuple[Ring, ...] = (),
        requests: tuple[int, ...] = (),
        priority: int = 0,
        pipelined: bool = True,
        overlap: bool = True,
        ranks: tuple[int, ...] = (),
        receiver: int | None = None,
    ) -> Work:
        """A transfer along one path; see `PathWork`."""
        return cls((PathWork(channels, chunks, rings, requests, pipelined, overlap, ranks, receiver),), priority)

    @cached_property
    def channels(self) -> tuple[str, ...]:
        """The channels of all hops."""
        return self.paths[0].channels if len(self.paths) == 1 else tuple(name for path in self.paths for name in path.channels)

    @cached_property
    def requests(self) -> tuple[int, ...]:
        """The number of requests per chunk, for all hops."""
        return tuple(count for path in self.paths for count in path.requests or (1,) * len(path.channels))

    @cached_property
    def hop_chunks(self) -> tuple[int, ...]:
        """The number of chunks that each hop moves."""
        return tuple(path.chunks for path in self.paths for _ in path.channels)

    def ranks(self, here: int) -> tuple[int, ...]:
        """The ranks that carry out its hops or hold its destination, sorted. `here` is the rank for paths that name none."""
        return tuple(sorted({rank for path in self.paths for rank in path.all_ranks or (here,)}))

    @cached_property
    def direct(self) -> tuple[int, int] | None:
        """The ranks of source and destination, if one rank writes straight to another and nothing is buffered; else None."""
        ends = {(path.ranks, path.receiver) for path in self.paths if path.has_receiver and not path.rings}
        if self.rings or len(ends) != 1 or not all(path.has_receiver for path in self.paths):
            return None
        ((sender,), receiver), *_ = ends
        assert receiver is not None
        return sender, receiver

    @cached_property
    def chunks(self) -> int:
        """The number of chunks of all paths."""
        return sum([path.chunks for path in self.paths])

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The number of the first hop of each path."""
        found = [0]
        for path in self.paths[:-1]:
            found.append(found[-1] + len(path.channels))
        return tuple(found)

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """For all hops: the number of its path, and its position on that path."""
        return tuple((number, hop) for number, path in enumerate(self.paths) for hop in range(len(path.channels)))

    @cached_property
    def rings(self) -> tuple[Ring, ...]:
        """The ring buffers of all paths."""
        return tuple(ring for path in self.paths for ring in path.rings)

    @cached_property
    def buffers(self) -> tuple[tuple[int, Ring], ...]:
        """The ring buffers of all paths, each with the number of the hop that writes it."""
        return tuple(
            (start + at, ring) for start, path in zip(self.starts, self.paths, strict=True) for at, ring in enumerate(path.rings)
        )

    @cached_property
    def contradiction(self) -> str | None:
        """The reason why this work could never end; None if there is none."""
        return _contradiction(self.paths)

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which `from_json` makes equal work.

        Work of one path has the object of that path, with the priority added.
        """
        if len(self.paths) == 1:
            return {**self.paths[0].to_json(), "priority": self.priority}
        return {"paths": [path.to_json() for path in self.paths], "priority": self.priority}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Work:
        """The work that `to_json` described.

        Raises:
            KeyError, TypeError: `data` describes no work.
        """
        rest = dict(data)
        priority = rest.pop("priority")
        if "paths" in rest:
            return cls(tuple(PathWork.from_json(path) for path in rest["paths"]), priority)
        return cls((PathWork.from_json(rest),), priority)


def _contradiction(paths: tuple[PathWork, ...]) -> str | None:
    """The reason why work along these paths could never end; None if there is none."""
    if len(paths) == 1:
        return _wrong_path(paths[0])
    if not paths:
        return "no path"
    if len({bool(path.ranks) for path in paths}) > 1:
        return "some paths name ranks, others do not"
    wrongs = ((number, _wrong_path(path)) for number, path in enumerate(paths))
    return next((f"path {number}: {wrong}" for number, wrong in wrongs if wrong), None)


def _wrong_path(path: PathWork) -> str | None:
    """The reason why a path could never end; None if there is none."""
    hops = len(path.channels)
    if not hops or len(path.rings) != hops - 1:
        return f"{hops} hops with {len(path.rings)} buffers between them"
    if path.requests and (len(path.requests) != hops or min(path.requests) < 1):
        return f"expected at least one request for each of {hops} hops, got {path.requests}"
    if path.ranks and (len(path.ranks) != hops or min(path.ranks) < 0):
        return f"expected a rank for each of {hops} hops, got {path.ranks}"
    if path.receiver is not None and (not path.ranks or path.receiver < 0):
        return f"expected ranks of the hops and a rank as receiver, got {path.ranks} and {path.receiver}"
    if path.chunks < 0:
        return f"{path.chunks} chunks"
    least = 1 if path.pipelined else max(1, path.chunks)
    for ring in path.rings:
        if ring.slots < least or ring.nbytes < 0:
            return f"a buffer of {ring.slots} slots of {ring.nbytes} bytes, expected at least {least} slots"
    return None


# ---- stimuli


class Submit(NamedTuple):
    """A new transfer, with a number that no other transfer has. The schedulers of all its ranks use the same number."""

    transfer: int
    work: Work


class Done(NamedTuple):
    """A request has moved its bytes."""

    transfer: int
    hop: int
    chunk: int
    request: int


class Failed(NamedTuple):
    """A request failed, or with `hop` −1 the allocation of the buffers."""

    transfer: int
    hop: int
    chunk: int
    request: int
    reason: str


class Cancel(NamedTuple):
    """A transfer has to be cancelled."""

    transfer: int


class Stalled(NamedTuple):
    """Nothing but the ends of requests is to come."""


class Returned(NamedTuple):
    """A transfer gives its lease back. Each of its hops has moved its first `moved` chunks. `again`: it may get another one."""

    transfer: int
    moved: tuple[int, ...]
    again: bool = True


class Arrived(NamedTuple):
    """Another rank has written the first `chunks` chunks of the input of a hop.

    A count that is not higher than the known one changes nothing, because messages may come twice or late.
    """

    transfer: int
    hop: int
    chunks: int


class Credit(NamedTuple):
    """Another rank has provided slots, or the destination, for the first `chunks` chunks of the output of a hop.

    A count that is not higher than the known one changes nothing.
    """

    transfer: int
    hop: int
    chunks: int


class Grant(NamedTuple):
    """The coordinator grants a transfer its buffers."""

    transfer: int


class Lend(NamedTuple):
    """The coordinator sets the current priority of a transfer, its own or a lent one."""

    transfer: int
    priority: int


class Stop(NamedTuple):
    """A transfer has failed or was cancelled on another rank, says the coordinator, or the receiver of a direct transfer."""

    transfer: int
    outcome: str
    reason: str = ""


class End(NamedTuple):
    """The outcome of a transfer, which has settled on all ranks, says the coordinator, or the sender of a direct transfer."""

    transfer: int
    outcome: str
    reason: str = ""


Stimulus = Submit | Done | Failed | Cancel | Stalled | Returned | Arrived | Credit | Grant | Lend | Stop | End


# ---- instructions


class Allocate(NamedTuple):
    """Allocate the buffers of a transfer, which is granted them now."""

    transfer: int


class Issue(NamedTuple):
    """Issue a request to the channel of its hop: part `request` of a chunk."""

    transfer: int
    hop: int
    chunk: int
    request: int


class Lease(NamedTuple):
    """A transfer has its channels for itself until `Returned`, and moves its chunks without being asked to.

    Each of its hops has moved its first `moved` chunks. It begins the next one when the hop before has moved it and a slot
    behind it is free.
    """

    transfer: int
    moved: tuple[int, ...]


class Recall(NamedTuple):
    """A transfer has to give its lease back as soon as the chunk at work has moved."""

    transfer: int


class Release(NamedTuple):
    """Release the buffers of a transfer. It has no request in flight."""

    transfer: int


class Finish(NamedTuple):
    """A transfer has ended: "done", "failed" or "cancelled", with the reason."""

    transfer: int
    outcome: str
    reason: str = ""


class SendArrived(NamedTuple):
    """Send `Arrived(transfer, hop, chunks)` to a rank."""

    rank: int
    transfer: int
    hop: int
    chunks: int


class SendCredit(NamedTuple):
    """Send `Credit(transfer, hop, chunks)` to a rank."""

    rank: int
    transfer: int
    hop: int
    chunks: int


class Request(NamedTuple):
    """Ask the coordinator for the buffers of a transfer, in bytes by memory. `ranks` have a part in it; each of them asks."""

    transfer: int
    needs: tuple[tuple[str, int], ...]
    priority: int
    ranks: tuple[int, ...]


class Abort(NamedTuple):
    """Report to the coordinator that a transfer has failed or was cancelled here."""

    transfer: int
    outcome: str
    reason: str = ""


class Settled(NamedTuple):
    """Report to the coordinator that this rank has no request of a transfer in flight and will issue no more."""

    transfer: int


class SendStop(NamedTuple):
    """Send `Stop(transfer, outcome, reason)` to a rank, the sender of a direct transfer."""

    rank: int
    transfer: int
    outcome: str
    reason: str = ""


class SendEnd(NamedTuple):
    """Send `End(transfer, outcome, reason)` to a rank, the receiver of a direct transfer."""

    rank: int
    transfer: int
    outcome: str
    reason: str = ""


Instruction = (
    Allocate
    | Issue
    | Release
    | Finish
    | Lease
    | Recall
    | SendArrived
    | SendCredit
    | Request
    | Abort
    | Settled
    | SendStop
    | SendEnd
)
"""The instructions of a scheduler. A scheduler without a rank gives only the first six."""
