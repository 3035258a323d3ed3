"""Run under mpiexec on two ranks: plans that write into pageable memory of the other rank. `process_writes.py WHEN`.

WHEN is when the system begins to refuse access to memory of other processes: `never`, `early` (before the ranks meet), or `late`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from client_arrays import table, turned
from given.rank_program import begin, tell
from lane_runs import refuse_access

import isoviz
from isoviz.backends.mpi.world import World
from isoviz.machines import Machine, preset
from isoviz.runtime.ranks.lanes.lane_transfers import LaneTransfer
from isoviz.runtime.ranks.rank_engine import RankEngine

SIZE = 200
FIELDS = isoviz.FieldSpace(a="float32", b="int64")
WRITE = "node0.sys->node1.sys ProcessWrite"
ONE_HOP = [WRITE]
SEVERAL_HOPS = ["node0.reg->node0.sys", WRITE, "node1.sys->node1.reg"]
THROUGH_WINDOW = ["node0.sys->node1.reg Window", "node1.reg->node1.sys"]


def plan_of(machine: Machine, path: list[str], chunk: int | None) -> isoviz.Plan:
    """Structs to columns, transposed."""
    memory = "reg" if path == SEVERAL_HOPS else "sys"
    space = isoviz.IndexSpace(x=SIZE, y=SIZE)
    ends = (f"node0.{memory}", "<F, x, y>", f"node1.{memory}", "<y, x, F>")
    return isoviz.cost(isoviz.Transfer.whole(space, FIELDS, *ends), machine, path, chunk=chunk)


def ends_of(world: World, memory: str) -> tuple[Any, Any]:
    """The source on rank 0, and an empty destination on rank 1."""
    given = table(SIZE)
    array = np.zeros(given.nbytes, np.uint8) if memory == "sys" else world.array(given.nbytes)
    if world.rank:
        return None, array
    array[:] = given.reshape(-1).view(np.uint8)
    return array, None


def main(when: str) -> None:
    begin()
    if when == "early":
        refuse_access()
    found: dict[str, Any] = {}
    with World(limit=20) as world:
        found["refused"] = world.writes_refused
        if when == "late":
            refuse_access()
        machine = preset("ranks", ranks=2, hosts=list(world.hosts), measure="assumed")
        with RankEngine(machine, world.devices, world.transport) as engine:
            for name, path, chunk in (("one hop", ONE_HOP, None), ("several hops", SEVERAL_HOPS, 12 * SIZE * 10)):
                plan = engine.agreed(lambda path=path, chunk=chunk: plan_of(machine, path, chunk))  # type: ignore[misc]
                assert (plan.chunk_count == 1) == (path == ONE_HOP)
                ends = ends_of(world, "sys" if path == ONE_HOP else "reg")
                report = engine.run(plan, *ends)
                arrived = engine.gather(world.rank == 1 and ends[1].tobytes() == turned(table(SIZE)))
                found[name] = [report.verified, arrived[1], [note for note in report.notes if note.startswith("ProcessWrite")]]
            lanes = []
            for path, memory in ((ONE_HOP, "sys"), (THROUGH_WINDOW, "sys"), (SEVERAL_HOPS, "reg")):
                ends = ends_of(world, memory)
                prepared = engine.prepare(engine.agreed(lambda path=path: plan_of(machine, path, None)), *ends)  # type: ignore[misc]
                prepared.start().wait(120)
                assert engine.gather(world.rank == 1 and ends[1].tobytes() == turned(table(SIZE)))[1]
                lanes.append(isinstance(prepared, LaneTransfer))
                assert len(prepared.plan.every_hop) == (1 if lanes[-1] else len(path))
                prepared.close()
            found["are lanes"] = lanes
    tell(world.rank, found)


if __name__ == "__main__":
    main(sys.argv[1])
