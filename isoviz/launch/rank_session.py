"""The session of a program that every rank runs: `mpiexec -n 4 python -P program.py`.

The first call makes this process's place in the world of ranks and an engine; the end of the program leaves them. All ranks call
together.
"""

from __future__ import annotations

import atexit
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz.errors import in_words
from isoviz.launch.rank_station import Station
from isoviz.launch.this_rank import current_rank
from isoviz.machines import preset

if TYPE_CHECKING:
    from isoviz.backends.mpi.world import World
    from isoviz.machines import Machine
    from isoviz.runtime.ranks.rank_engine import RankEngine


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
