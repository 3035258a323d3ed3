"""A rank of a job on several hosts: `hosts_program.py maps | rate | breaks FOLDER`.

- `maps`: whether the memory of each other rank is mapped here.
- `rate`: bytes per second of a contiguous transfer between two hosts, and of raw MPI, in turns.
- `breaks`: transfers without end; each rank writes into FOLDER how they ended.
"""

from __future__ import annotations

import faulthandler
import itertools
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from isoviz import FieldSpace, IndexSpace, Instance, Layout, Machine, Plan, Transfer, plan
from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.mpi.stores import MappedStore
from isoviz.backends.mpi.world import World
from isoviz.machines import preset
from isoviz.runtime.ranks.rank_engine import Item, RankEngine

SIZE = 24 << 20
TURNS = 5


def plan_between(machine: Machine, here: int, there: int, nbytes: int) -> Plan:
    space, fields, layout = IndexSpace.of({"x": nbytes}), FieldSpace.of({"f": "u1"}), Layout("<F, x>")
    return plan(Transfer(*(Instance(f"node{rank}.sys", space, fields, layout) for rank in (here, there))), machine, "simple")


def maps(world: World, engine: RankEngine) -> object:
    """The other ranks whose windows are mapped, for each rank. A window is written, and read by all others."""
    room = world.array(4096)
    room[:] = world.rank + 1
    handles = engine.gather(world.devices.export(HostStore(room)))
    mapped = []
    for rank, handle in enumerate(handles):
        if rank != world.rank:
            store = world.devices.reach(handle)  # type: ignore[arg-type]
            assert bytes(np.frombuffer(store.read(0, 4096), np.uint8)) == bytes([rank + 1]) * 4096
            mapped += [rank] * isinstance(store, MappedStore)
    return {"hosts": world.hosts, "mapped": engine.gather(mapped)}


def rate(world: World, engine: RankEngine, found: Plan) -> object:
    """Megabytes per second from the first rank of the first host to the first rank of the second one."""
    far, rank = world.size // 2, world.rank
    data = np.random.default_rng(1).integers(0, 255, SIZE, np.uint8)
    room = np.zeros(SIZE, np.uint8)
    comm = world.thread.mpi.COMM_WORLD
    seconds: dict[str, list[float]] = {"raw": [], "isoviz": []}

    def raw() -> None:
        if rank == 0:
            comm.Send(data, far)
            comm.recv(source=far)
        elif rank == far:
            comm.Recv(room, 0)
            comm.send(None, 0)

    def ours() -> None:
        part = engine.run_parts([Item(found, data if rank == 0 else None, room if rank == far else None)], verify=False)[0]
        assert part.error is None, part.error

    for _ in range(TURNS):
        for name, move in (("raw", lambda: world.thread.call(raw)), ("isoviz", ours)):
            room[:] = 0
            engine.barrier()
            began = time.perf_counter()
            move()
            seconds[name].append(time.perf_counter() - began)
            assert rank != far or np.array_equal(room, data)
    engine.barrier()
    return {name: SIZE / statistics.median(taken) / 1e6 for name, taken in seconds.items()}


def breaks(world: World, engine: RankEngine, machine: Machine, folder: Path) -> None:
    """Transfers in both directions between the hosts, until one fails. How it ended is written to a file."""
    far = world.size // 2
    plans = [plan_between(machine, here, there, 1 << 20) for here, there in ((0, far), (far + 1, 1))]
    try:
        for turn in itertools.count():
            for part in engine.run_parts([Item(each) for each in plans], verify=False):
                if part.error is not None:
                    raise part.error
            engine.barrier()
            if turn == 3:
                (folder / f"begun{world.rank}").touch()
    except Exception as error:
        note = folder / f"new{world.rank}"
        note.write_text(json.dumps({"type": type(error).__name__, "words": str(error), "at": time.monotonic()}))
        note.rename(folder / f"ended{world.rank}")
        raise


def main() -> None:
    faulthandler.dump_traceback_later(120, exit=True)
    what, folder = sys.argv[1], Path(sys.argv[2])
    with World(limit=5 if what == "breaks" else 60) as world:
        machine = preset("ranks", ranks=world.size, hosts=list(world.hosts))
        with RankEngine(machine, world.devices, world.transport) as engine:
            if what == "breaks":
                breaks(world, engine, machine, folder)
            found = (
                maps(world, engine) if what == "maps" else rate(world, engine, plan_between(machine, 0, world.size // 2, SIZE))
            )
            engine.barrier()
        rank = world.rank
    if rank == 0:
        print(json.dumps(found))


main()
