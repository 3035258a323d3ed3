"""What a rank keeps between commands: its place in the world of ranks, and the engine for the machine that was used last.

All ranks make, change and leave them together, in the order of the commands that they get.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from isoviz.forks import Home

if TYPE_CHECKING:
    from isoviz.backends.mpi.world import World
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime.ranks.rank_engine import RankEngine

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
