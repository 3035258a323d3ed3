"""What a rank keeps between commands: its place in the world of ranks, and the engine for the machine that was used last.

All ranks make, change and leave them together, in the order of the commands that they get.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from isoviz.forks import Home

if TYPE_CHECKING:
    from isoviz.backends.mpi.world import World
    from isoviz.machines import Machine
    from isoviz.runtime.ranks.rank_engine import RankEngine

MOST_MACHINES = 16
"""Machines that a notebook and its ranks keep of their latest submissions: each edit of a machine's figures makes another one."""


def bound_digest(machine: Machine) -> str:
    """A digest of a machine together with its devices, on which plans do not depend, but runs do."""
    bound = [f"{memory.name}={memory.device}" for memory in machine.memories if memory.device is not None]
    return " ".join((machine.digest, *bound))


class RecentMachines:
    """The machines of the latest submissions, by `bound_digest`: at most `MOST_MACHINES`.

    The notebook has one, and every rank has one. Both `keep` the machine of every submission, in the same order, so a machine
    that the notebook's one has need not be sent again.
    """

    def __init__(self) -> None:
        self._machines: OrderedDict[str, Machine] = OrderedDict()

    def __contains__(self, digest: str) -> bool:
        return digest in self._machines

    def __len__(self) -> int:
        return len(self._machines)

    def __getitem__(self, digest: str) -> Machine:
        return self._machines[digest]

    def keep(self, machine: Machine) -> None:
        """Make a machine the latest one; the oldest one beyond `MOST_MACHINES` is dropped."""
        digest = bound_digest(machine)
        self._machines[digest] = machine
        self._machines.move_to_end(digest)
        if len(self._machines) > MOST_MACHINES:
            self._machines.popitem(last=False)


class Station:
    """The world and the engine of one worker. The thread that executes commands uses it."""

    def __init__(self) -> None:
        self._home = Home("the place of a rank")
        self._world: World | None = None
        self._engine: RankEngine | None = None
        self._submitted = RecentMachines()

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
        machine = self._submitted[sent] if isinstance(sent, str) else sent
        self._submitted.keep(machine)
        return machine

    def engine(self, machine: Machine) -> RankEngine:
        """The engine for a machine. All ranks ask together.

        Raises:
            RunError: MPI cannot be used.
        """
        digest = bound_digest(machine)
        if self._engine is None or bound_digest(self._engine.machine) != digest:
            from isoviz.runtime.ranks.rank_engine import RankEngine

            world = self.world()
            self.release()
            # In a `with`, its threads stay between transfers: starting them would take longer than a short transfer.
            self._engine = RankEngine(machine, world.devices, world.transport)
            self._engine.__enter__()
        return self._engine

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
