"""What a scheduler is told and what it answers: values without memory, clocks or threads.

A driver (simulator, engine, ranks) hands stimuli in and carries the instructions out. Everything is a small tuple of names and
numbers, so that a run can be written down and replayed.
"""

from __future__ import annotations

from functools import cached_property
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


Dependency = tuple[str, int, int]
"""What a hop waits for: (reason, hop, lead). Chunk c may begin once the hop at position `hop` of the path has moved more than
c − `lead` chunks; on a path that is not pipelined, once that hop has moved all chunks.

The reason is "data" (the hop before has written the chunk), "slot" (the hop behind has read a slot) or "chunk" (the chunk before
has passed the last hop).
"""


class PathWork(NamedTuple):
    """One path of a transfer as a scheduler sees it.

    `channels` name the hops in order, `rings` the buffers between them, one less. All hops move `chunks` chunks, the hop at
    position p each in `requests[p]` requests (empty: one each). Without `pipelined` a hop begins only when the one before has
    moved everything, as Realm did with transfers of several hops (Isometry, section 6.1): then the rings hold all of it. Without
    `overlap` a chunk goes through all hops before the next one begins. `ranks[p]` is the rank whose scheduler carries out the hop
    at position p (empty: the scheduler that has the work carries out all hops).
    """

    channels: tuple[str, ...]
    chunks: int
    rings: tuple[Ring, ...] = ()
    requests: tuple[int, ...] = ()
    pipelined: bool = True
    overlap: bool = True
    ranks: tuple[int, ...] = ()

    def dependencies(self, hop: int) -> list[Dependency]:
        """What the hop at a position waits for, besides its channel: at most one hop that writes its input, or else lets it begin
        the next chunk, and at most one that frees its output."""
        last = len(self.channels) - 1
        in_turn = self.pipelined and not self.overlap
        found: list[Dependency] = []
        if hop:
            found.append(("data", hop - 1, 0))
        elif in_turn and last:
            found.append(("chunk", last, 1))
        # Where hops take turns, a slot is free whenever a chunk comes; but another rank has to say that it has allocated it.
        if hop < last and (not in_turn or (self.ranks and self.ranks[hop] != self.ranks[hop + 1])):
            found.append(("slot", hop + 1, self.rings[hop].slots))
        return found

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which `from_json` makes an equal path."""
        found = {**self._asdict(), "rings": [ring._asdict() for ring in self.rings]}
        if not self.ranks:
            del found["ranks"]
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PathWork:
        """The path that `to_json` described; KeyError or TypeError where that is none."""
        rings = tuple(Ring(**ring) for ring in data["rings"])
        tuples = {name: tuple(data.get(name, ())) for name in ("requests", "ranks")}
        return cls(**{**data, **tuples, "channels": tuple(data["channels"]), "rings": rings})


class _Work(NamedTuple):
    paths: tuple[PathWork, ...]
    priority: int = 0


class Work(_Work):
    """A transfer as a scheduler sees it: paths that are admitted together and finished together, and a priority.

    Its hops are numbered path after path: hop `h` of `Issue`, `Done` and a trace is hop `h − start(path)` of its path.
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
    ) -> Work:
        """A transfer along one path; see `PathWork`."""
        return cls((PathWork(channels, chunks, rings, requests, pipelined, overlap, ranks),), priority)

    @cached_property
    def channels(self) -> tuple[str, ...]:
        """The channels of all hops."""
        return self.paths[0].channels if len(self.paths) == 1 else tuple(name for path in self.paths for name in path.channels)

    @cached_property
    def requests(self) -> tuple[int, ...]:
        """Requests of a chunk, for all hops."""
        return tuple(count for path in self.paths for count in path.requests or (1,) * len(path.channels))

    @cached_property
    def hop_chunks(self) -> tuple[int, ...]:
        """How many chunks each hop moves: those of its path."""
        return tuple(path.chunks for path in self.paths for _ in path.channels)

    def ranks(self, here: int) -> tuple[int, ...]:
        """The ranks that carry out its hops, in order; `here` is the rank of paths that name none."""
        return tuple(sorted({rank for path in self.paths for rank in path.ranks or (here,)}))

    @property
    def chunks(self) -> int:
        """Chunks of all paths."""
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
        """For all hops: the number of the path, and the position of the hop on it."""
        return tuple((number, hop) for number, path in enumerate(self.paths) for hop in range(len(path.channels)))

    @cached_property
    def rings(self) -> tuple[Ring, ...]:
        """The buffers of all paths."""
        return tuple(ring for path in self.paths for ring in path.rings)

    @cached_property
    def buffers(self) -> tuple[tuple[int, Ring], ...]:
        """The buffers of all paths, each with the number of the hop that writes it."""
        return tuple(
            (start + at, ring) for start, path in zip(self.starts, self.paths, strict=True) for at, ring in enumerate(path.rings)
        )

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which `from_json` makes equal work: of one path the path's own, with the priority."""
        if len(self.paths) == 1:
            return {**self.paths[0].to_json(), "priority": self.priority}
        return {"paths": [path.to_json() for path in self.paths], "priority": self.priority}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Work:
        """The work that `to_json` described; KeyError or TypeError where that is none."""
        rest = dict(data)
        priority = rest.pop("priority")
        if "paths" in rest:
            return cls(tuple(PathWork.from_json(path) for path in rest["paths"]), priority)
        return cls((PathWork.from_json(rest),), priority)


def contradiction(work: Work) -> str | None:
    """What keeps work from ever ending; None: nothing does."""
    paths = work.paths
    if len(paths) == 1:
        return _wrong_path(paths[0])
    if not paths:
        return "no path"
    if len({bool(path.ranks) for path in paths}) > 1:
        return "some paths name ranks, others do not"
    wrongs = ((number, _wrong_path(path)) for number, path in enumerate(paths))
    return next((f"path {number}: {wrong}" for number, wrong in wrongs if wrong), None)


def _wrong_path(path: PathWork) -> str | None:
    """What keeps a path from ever ending."""
    hops = len(path.channels)
    if not hops or len(path.rings) != hops - 1:
        return f"{hops} hops with {len(path.rings)} buffers between them"
    if path.requests and (len(path.requests) != hops or min(path.requests) < 1):
        return f"expected at least one request for each of {hops} hops, got {path.requests}"
    if path.ranks and (len(path.ranks) != hops or min(path.ranks) < 0):
        return f"expected a rank for each of {hops} hops, got {path.ranks}"
    if path.chunks < 0:
        return f"{path.chunks} chunks"
    least = 1 if path.pipelined else max(1, path.chunks)
    for ring in path.rings:
        if ring.slots < least or ring.nbytes < 0:
            return f"a buffer of {ring.slots} slots of {ring.nbytes} bytes, expected at least {least} slots"
    return None


# ---- stimuli


class Submit(NamedTuple):
    """A transfer, with a number that no other one has. Schedulers of several ranks know it by the same number."""

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


class Arrived(NamedTuple):
    """Another rank says that the first `chunks` chunks of the input of a hop are there. A number that is known, or lower, changes
    nothing: messages may come twice, or late."""

    transfer: int
    hop: int
    chunks: int


class Credit(NamedTuple):
    """Another rank says that there are slots for the output of a hop up to the first `chunks` chunks. A number that is known, or
    lower, changes nothing."""

    transfer: int
    hop: int
    chunks: int


class Grant(NamedTuple):
    """The coordinator says that a transfer has its buffers."""

    transfer: int


class Lend(NamedTuple):
    """The coordinator says which priority a transfer has now, its own or lent."""

    transfer: int
    priority: int


class Stop(NamedTuple):
    """The coordinator says that a transfer has failed or was cancelled on another rank."""

    transfer: int
    outcome: str
    reason: str = ""


class End(NamedTuple):
    """The coordinator says that nothing of a transfer is under way on any rank, and how it ended."""

    transfer: int
    outcome: str
    reason: str = ""


Stimulus = Submit | Done | Failed | Cancel | Arrived | Credit | Grant | Lend | Stop | End


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


class SendArrived(NamedTuple):
    """Tell a rank `Arrived(transfer, hop, chunks)`."""

    rank: int
    transfer: int
    hop: int
    chunks: int


class SendCredit(NamedTuple):
    """Tell a rank `Credit(transfer, hop, chunks)`."""

    rank: int
    transfer: int
    hop: int
    chunks: int


class Request(NamedTuple):
    """Ask the coordinator for the buffers of a transfer: bytes by memory. `ranks` carry out its hops; each of them asks."""

    transfer: int
    needs: tuple[tuple[str, int], ...]
    priority: int
    ranks: tuple[int, ...]


class Abort(NamedTuple):
    """Tell the coordinator that a transfer has failed or was cancelled here."""

    transfer: int
    outcome: str
    reason: str = ""


class Settled(NamedTuple):
    """Tell the coordinator that this rank hands over nothing of a transfer any more, and nothing of it is under way here."""

    transfer: int


Instruction = Allocate | Issue | Release | Finish | SendArrived | SendCredit | Request | Abort | Settled
"""A scheduler without a rank gives the first four only."""
