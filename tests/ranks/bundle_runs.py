"""A rank of a job that runs random bundles: `bundle_runs.py SEED CASES`."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from typing import Any

import numpy as np
from bundle_cases import Bytes, expected, random_bundle, random_ends
from given.rank_program import begin, tell
from rank_runs import machine_of

import isoviz
from isoviz import Bundle, FieldSpace, IndexSpace, Instance, Options, Plan, Transfer, plan, simulate
from isoviz.backends.mpi.world import World
from isoviz.errors import IsovizError
from isoviz.runtime.ranks.rank_engine import RankEngine

OWN = 4 << 20
"""Bytes of registered memory that have a window of their own."""


class Case:
    """A bundle between two memories of any ranks, and the arrays of this rank. All ranks know the content."""

    def __init__(self, world: World, engine: RankEngine, seed: str) -> None:
        self.draw = draw = random.Random(seed)
        self.engine = engine
        ranks = [draw.randrange(world.size) for _ in range(2)]
        source, destination = (f"node{rank}.{draw.choice(('sys', 'reg'))}" for rank in ranks)
        made = random_bundle(draw, source, destination, most=draw.choice((4, 30)))
        if draw.random() < 0.4:  # large members, so that nothing rides with a message
            made = longer(made, draw.choice((40, 400)))
        limits: dict[str, Any] = {"slot_limit": draw.choice((256, 4096, 1 << 20)), "planning_time": 0.05}
        self.plan: Plan = plan(made, engine.machine, draw.choice(("auto", "simple", "full")), Options(**limits))
        assert isinstance(self.plan.transfer, Bundle)
        self.bundle = self.plan.transfer
        self.sources, self.destinations = random_ends(self.bundle, draw.randrange(1 << 30))
        self.wanted = expected(self.bundle, self.sources, self.destinations)
        self.here = self._own(world, ranks[0] == world.rank, source, self.sources)
        self.there = self._own(world, ranks[1] == world.rank, destination, self.destinations)

    def _own(self, world: World, is_mine: bool, memory: str, arrays: list[Bytes]) -> list[Bytes] | None:
        """The arrays, in registered memory if this is one, at times in windows of their own; None on another rank."""
        apart = self.draw.random() < 0.3
        if not is_mine:
            return None
        if memory.endswith("sys"):
            return [each.copy() for each in arrays]
        found = [world.array(OWN + each.size if apart else each.size)[: each.size] for each in arrays]
        for room, each in zip(found, arrays, strict=True):
            room[:] = each
        return found

    def run(self, way: str) -> None:
        """Run it in a way, and compare every byte of the destinations."""
        if way == "run":
            report = self.engine.run(self.plan, self.here, self.there)
            assert report.verified
        elif way == "submit":
            self.engine.submit(self.plan, self.here, self.there).wait(120)
        elif way == "generated":
            assert self.engine.run(self.plan).verified
            return
        else:
            with self.engine.prepare(self.plan, self.here, self.there) as prepared:
                for _ in range(3):
                    if self.there is not None:
                        for room, each in zip(self.there, self.destinations, strict=True):
                            room[:] = each
                    prepared.start().wait(120)
                    self._check()
        self._check()

    def _check(self) -> None:
        for number, right in enumerate(self.wanted if self.there is not None else ()):
            assert self.there is not None
            assert np.array_equal(self.there[number], right), f"transfer {number} of {self.plan}"


def longer(made: Bundle, count: int) -> Bundle:
    """A bundle of as many members with more coordinates in a dimension."""
    members = []
    for each in made.members:
        dim = each.source.space.dims[0]
        ends = [
            Instance(
                end.memory,
                type(end.space).of({**end.space.as_dict(), dim: end.space[dim] + count}),
                end.fields,
                f"<F, {', '.join(end.space)}>",
            )
            for end in (each.source, each.destination)
        ]
        shape = (each.shape[0] + count, *each.shape[1:])
        members.append(Transfer(*ends, shape, each.source_origin, each.destination_origin, each.field_names))
    found = isoviz.bundle(members)
    assert isinstance(found, Bundle)
    return found


def errors(engine: RankEngine, rank: int) -> dict[str, str]:
    """What a rank says where rank 1 gives other destinations than the bundle needs."""
    space, fields = IndexSpace(x=100), FieldSpace(a="<f4")
    members = [Transfer.whole(space, fields, "node0.sys", "<F, x>", "node1.sys", "<F, x>") for _ in range(3)]
    made = plan(isoviz.bundle(members), engine.machine)
    here, there = ([np.zeros(100, "<f4") for _ in range(3)] for _ in range(2))
    found = {}
    for name, given in (("too few", there[:2]), ("one array", there[0]), ("an array twice", [there[0], there[1], there[0]])):
        for way in (engine.run, engine.submit, engine.prepare):
            try:
                begun: Any = way(made, here if not rank else None, given if rank == 1 else None)
                if way == engine.prepare:
                    begun = begun.start()
                if way != engine.run:
                    begun.wait(60)
                found[f"{name} {way.__name__}"] = "nothing"
            except IsovizError as error:
                found[f"{name} {way.__name__}"] = f"{type(error).__name__}: {error}"
    assert not any(each.any() for each in there)
    return found


def main() -> None:
    begin()
    seed, cases = sys.argv[1], int(sys.argv[2])
    ways: dict[str, int] = {}
    is_apart = "apart" in seed
    with World(limit=60, mapped=not is_apart) as world:
        hosts = tuple(f"host {rank}" for rank in range(world.size)) if is_apart else world.hosts
        machine = machine_of(random.Random(f"{seed} machine"), hosts)
        machine = replace(machine, memories=tuple(replace(memory, capacity=None) for memory in machine.memories))
        with RankEngine(machine, world.devices, world.transport) as engine:
            for number in range(cases):
                case = Case(world, engine, f"{seed} {number}")
                assert abs(simulate(case.plan, machine).end / case.plan.seconds - 1) < 1e-9
                way = case.draw.choice(("run", "run", "submit", "prepared", "prepared", "generated"))
                case.run(way)
                ways[way] = ways.get(way, 0) + 1
            told = engine.gather(errors(engine, world.rank))
    tell(world.rank, {"ways": ways, "errors": told[:2]})


if __name__ == "__main__":
    main()
