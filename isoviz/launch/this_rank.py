"""What a function that runs on a rank can ask about its rank, `this_rank()`, and how threads of its process take turns."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from isoviz.errors import InputError, in_words
from isoviz.forks import Home
from isoviz.machines import preset

if TYPE_CHECKING:
    from isoviz.backends.mpi.world import World
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime.ranks.rank_engine import RankEngine


# What a rank keeps between commands: its place in the world of ranks, and the engine for the machine that was used
# last.
#
# All ranks make, change and leave them together, in the order of the commands that they get.

T = TypeVar("T")
MOST_MACHINES, MOST_PLANS = 16, 64
"""Machines and plans that ranks keep of the latest submissions: each edit of a machine's figures makes another machine."""


def bound_digest(machine: Machine) -> str:
    """A digest of a machine together with its devices, on which plans do not depend, but runs do."""
    bound = [f"{memory.name}={memory.device}" for memory in machine.memories if memory.device is not None]
    return " ".join((machine.digest, *bound))


class Recent(Generic[T]):
    """The values of the latest submissions by their digests: at most `most`.

    The notebook has one, and every rank has one. Both `keep` the values of every submission in the same order. So a value whose
    digest the notebook's one has need not be sent again.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[str, T] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, digest: str) -> T:
        return self._values[digest]

    def keep(self, digest: str, value: T) -> bool:
        """Make a value the latest one, and drop the oldest one beyond `most`. Returns whether the digest was there before."""
        is_known = digest in self._values
        self._values[digest] = value
        self._values.move_to_end(digest)
        if len(self._values) > self._most:
            self._values.popitem(last=False)
        return is_known


class _SentPlan:
    """A plan that the notebook has sent as a JSON object. It is made when it is first needed."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    @cached_property
    def plan(self) -> Plan:
        from isoviz.planner.plan_file import plan_from_json

        return plan_from_json(self._data)


class Station:
    """The world and the engine of one worker. The thread that executes commands uses it."""

    def __init__(self) -> None:
        self._home = Home("the place of a rank")
        self._world: World | None = None
        self._engine: RankEngine | None = None
        self._machines: Recent[Machine] = Recent(MOST_MACHINES)
        self._plans: Recent[_SentPlan] = Recent(MOST_PLANS)

    def world(self) -> World:
        """This rank's place in the world of ranks. All ranks have to ask together for the first time.

        Raises:
            RunError: MPI cannot be used.
            ForkedError: this is a forked child of the rank.
        """
        self._home.require()
        if self._world is None:
            from isoviz.backends.mpi.world import World

            self._world = World()
        return self._world

    def submitted_machine(self, sent: Machine | str) -> Machine:
        """The machine of a submission of the notebook: as it is, or by its `bound_digest` where the notebook knows it is kept."""
        machine = self._machines[sent] if isinstance(sent, str) else sent
        self._machines.keep(bound_digest(machine), machine)
        return machine

    def submitted_plans(self, sent: Sequence[tuple[str, Mapping[str, Any] | None]]) -> list[Plan]:
        """The plans of a submission of the notebook, from their digests and JSON objects: None where it knows that one is kept.

        A plan that is submitted again is the same object, so that the engine finds what it has prepared for it.

        Raises:
            TransferError: an object is invalid.
        """
        found = []
        for digest, data in sent:  # All are kept before one is refused: the notebook counts on it.
            found.append(self._plans[digest] if data is None else _SentPlan(data))
            self._plans.keep(digest, found[-1])
        return [each.plan for each in found]

    def engine(self, machine: Machine) -> RankEngine:
        """The engine for a machine. All ranks ask together.

        Raises:
            RunError: MPI cannot be used.
        """
        engine = self._engine
        if engine is None or (engine.machine is not machine and bound_digest(engine.machine) != bound_digest(machine)):
            from isoviz.runtime.ranks.rank_engine import RankEngine

            world = self.world()
            self.release()
            # In a `with`, its threads stay between transfers: starting them would take longer than a short transfer.
            engine = self._engine = RankEngine(machine, world.devices, world.transport)
            engine.__enter__()
        return engine

    def release(self) -> None:
        """Close the engine, so that another one can use the world. No effect in a forked child."""
        engine, self._engine = self._engine, None
        if engine is not None and self._home.is_here:
            engine.close()

    def leave(self, reason: str | None = None) -> None:
        """Close the engine and leave the world, together with all ranks. With a `reason`, the others count this rank as lost.

        No effect in a forked child.
        """
        self.release()
        world, self._world = self._world, None
        if world is not None and self._home.is_here:
            world.close(reason)


SWITCH = 500e-6
"""Seconds after which another Python thread gives way, where `switch_often` was called."""


@dataclass(frozen=True)
class ThisRank:
    """The rank that a function of `Ranks.call` runs on.

    - `rank`, `size`: its number, and the number of ranks.
    - `cancel`: set when the caller no longer wants the result. A function that takes long looks at it from time to time.
    - `tell`: sends an object to the `tell` function of the caller.
    - `station`: what the rank keeps between calls.
    """

    rank: int
    size: int
    cancel: threading.Event = field(compare=False)
    tell: Callable[[object], None] = field(compare=False)
    station: Station = field(compare=False)

    @property
    def world(self) -> World:
        """The rank's place in the world of ranks: its MPI thread, its transport and its devices. It stays for later calls.

        All ranks have to ask together for the first time. An engine that earlier runs have left is closed, so that the caller
        can make one of its own, and close it again.
        """
        world = self.station.world()
        self.station.release()
        return world


class _Current(threading.local):
    rank: ThisRank | None = None


_current = _Current()


def this_rank() -> ThisRank:
    """The rank that the calling function runs on.

    Raises:
        InputError: the function was not called by `Ranks.call`, or this is another thread than the one it was called in.
    """
    if _current.rank is None:
        raise InputError("this_rank(): expected to be called by a function of Ranks.call, in the thread that it was called in")
    return _current.rank


def current_rank() -> ThisRank | None:
    """The same; None where `this_rank` raises."""
    return _current.rank


def set_this_rank(rank: ThisRank | None) -> None:
    """Set what `this_rank` answers in this thread."""
    _current.rank = rank


def switch_often() -> None:
    """Let the threads of this process take turns more often, because every MPI call waits once for the interpreter.

    It concerns all threads, so only processes call it that isoviz has started for itself. In the program of a user,
    `sys.setswitchinterval` is the user's own.
    """
    sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH))


# The session of a program that every rank runs: `mpiexec -n 4 python -P program.py`.
#
# The first call makes this process's place in the world of ranks and an engine; the end of the program leaves them.
# All ranks call together.


@dataclass(frozen=True)
class RankSession:
    """This rank among the ranks that run the same program.

    `machine` is the machine of all ranks: rank r has the memories of node r. It is equal on all ranks.
    """

    machine: Machine
    station: Station

    @property
    def world(self) -> World:
        """This rank's place in the world of ranks."""
        return self.station.world()

    @property
    def engine(self) -> RankEngine:
        """The engine of this rank. All ranks ask for it together."""
        return self.station.engine(self.machine)

    @property
    def rank(self) -> int:
        """The number of this rank."""
        return self.world.rank

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self.world.size


_SET_BY_MPIEXEC = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MV2_COMM_WORLD_SIZE")
_session: RankSession | None = None


def is_rank_program() -> bool:
    """Whether `mpiexec` or `srun` started this process as one of its ranks. MPI is not loaded for the answer."""
    return any(name in os.environ for name in _SET_BY_MPIEXEC)


def rank_session() -> RankSession:
    """The session of this process. It is made at the first call, by all ranks together, and left when the program ends.

    Without `mpiexec` the process is the only rank.

    Raises:
        MissingPartError: mpi4py is not installed.
        RunError: MPI cannot be used.
    """
    global _session  # There is one world of ranks for the process.
    if _session is None:
        station = Station()
        world = station.world()
        comm = world.thread.mpi.COMM_WORLD
        made = preset("ranks", ranks=world.size, hosts=list(world.hosts)) if world.rank == 0 else None
        # Rank 0 decides: hosts may have kept different measurements.
        machine: Machine = world.thread.call(lambda: comm.bcast(made))
        _session = RankSession(machine, station)
        atexit.register(_leave, _session)
    return _session


def this_world() -> World:
    """The ranks that this process is one of: in a program those of its session, in a function of `ranks.call` those of the call.

    Errors are those of `rank_session`.
    """
    here = current_rank()
    return rank_session().world if here is None else here.station.world()


def _leave(session: RankSession) -> None:
    """Leave the world. After an error that ended the program, the other ranks count this one as lost, and do not wait for it."""
    global _session
    _session = None
    error = getattr(sys, "last_value", None)
    session.station.leave(None if error is None else f"it ended with {in_words(error)}")
