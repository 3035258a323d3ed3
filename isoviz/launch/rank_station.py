"""What a rank keeps between commands: its place in the world of ranks, and the engine for the machine that was used last.

All ranks make, change and leave them together, in the order of the commands that they get.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.forks import Home

if TYPE_CHECKING:
    from isoviz.backends.mpi.world import World
    from isoviz.machines import Machine
    from isoviz.runtime.ranks.rank_engine import RankEngine


def bound_digest(machine: Machine) -> str:
    """A digest of a machine together with its devices, on which plans do not depend, but runs do."""
    bound = [f"{memory.name}={memory.device}" for memory in machine.memories if memory.device is not None]
    return " ".join((machine.digest, *bound))


class Station:
    """The world and the engine of one worker. The thread that executes commands uses it."""

    def __init__(self) -> None:
        self._home = Home("the place of a rank")
        self._world: World | None = None
        self._engine: RankEngine | None = None
        self._machines: dict[str, Machine] = {}

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

    def engine(self, machine: Machine | str) -> RankEngine:
        """The engine for a machine, which is given as it is, or by the `bound_digest` of one that was given before.

        All ranks ask together.

        Raises:
            RunError: MPI cannot be used.
        """
        if isinstance(machine, str):
            machine = self._machines[machine]
        digest = bound_digest(machine)
        self._machines[digest] = machine
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
