"""A rank of a job on several hosts: `hosts_program.py maps | rate | paths | breaks FOLDER`.

- `maps`: whether the memory of each other rank is mapped here.
- `rate`: bytes per second of a contiguous transfer between two hosts, and of raw MPI, in turns.
- `paths`: bytes per second over one path, two and three, where a link of its own joins each pair of hosts.
- `breaks`: transfers without end; each rank writes into FOLDER how they ended.
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from given.rank_program import begin, tell

from isoviz import FieldSpace, IndexSpace, Instance, Layout, Machine, Options, Plan, Report, Transfer, plan
from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.mpi.stores import MappedStore
from isoviz.backends.mpi.world import World
from isoviz.machines import Channel, ChannelKind, Constant, Memory, MemoryKind, preset
from isoviz.runtime.ranks.rank_engine import Item, RankEngine

SIZE = 24 << 20
PATHS_SIZE = 4 << 20, 12 << 20
"""Bytes for one turn, and for several."""
LINK = 4.7e6
"""Bytes per second of a link of 40 Mbit/s, without the headers of packets."""
TURNS = 5


def plan_between(machine: Machine, here: int, there: int, nbytes: int) -> Plan:
    space, fields, layout = IndexSpace.of({"x": nbytes}), FieldSpace.of({"f": "u1"}), Layout("<F, x>")
    return plan(Transfer(*(Instance(f"node{rank}.sys", space, fields, layout) for rank in (here, there))), machine, "simple")


def linked(world: World) -> Machine:
    """The hosts as `Hosts(pairs=True)` joins them: one rank and one memory on each, a link of 40 Mbit/s between any two."""
    memories = [Memory(f"node{rank}.sys", MemoryKind.SYS, rank) for rank in range(world.size)]
    channels = [
        Channel(
            "",
            ChannelKind.TWO_SIDED,
            *(f"node{rank}.sys" for rank in ends),
            Constant(LINK),
            request_seconds=1e-3,
            max_in_flight=3,
        )
        for ends in itertools.permutations(range(world.size), 2)
    ]
    return Machine("linked", tuple(memories), tuple(channels))


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


def paths(world: World, engine: RankEngine, machine: Machine, turns: int) -> object:
    """Megabytes per second from rank 0 to the last rank: directly, through a proxy as well, through two, and through two alone.

    `overlap`: of the time in which a proxy receives, the share in which it forwards. `predicted`: by the planner.
    """
    last, size = world.size - 1, PATHS_SIZE[turns > 1]
    direct, first, second = [(0, last)], [(0, 1), (1, last)], [(0, 2), (2, last)]
    ways = {"1": direct, "2": [*direct, *first], "3": [*direct, *first, *second], "2 proxies": [*first, *second]}
    space, fields = IndexSpace.of({"x": size}), FieldSpace.of({"f": "u1"})
    moved = Transfer.whole(space, fields, "node0.sys", "<F, x>", f"node{last}.sys", "<F, x>")
    plans: dict[str, Plan] = {}
    for way, links in ways.items():
        wanted = {f"node{here}.sys->node{there}.sys" for here, there in links}
        part = Machine("part", machine.memories, tuple(each for each in machine.channels if each.name in wanted))
        made = engine.agreed(lambda part=part: plan(moved, part, "multipath", Options(slots=6)))  # type: ignore[misc]
        assert len(made.paths) == (2 if "proxies" in way else int(way)), made
        plans[way] = replace(made, machine_name=machine.name, machine_digest=machine.digest)
    seconds: dict[str, list[float]] = {way: [] for way in plans}
    overlap = 1.0
    for turn in range(turns):
        for way, made in plans.items():
            report = engine.run(made, verify=not turn)
            seconds[way].append(report.seconds)
            for number, path in enumerate(made.paths if "2" in way else ()):
                if len(path.hops) > 1:
                    overlap = min(overlap, proxy_overlap(report, number))
    found = {way: size / statistics.median(taken) / 1e6 for way, taken in seconds.items()}
    return {**found, "overlap": overlap, "predicted": {way: size / made.seconds / 1e6 for way, made in plans.items()}}


def proxy_overlap(report: Report, path: int) -> float:
    """Of the time in which a proxy receives, the share in which it forwards as well."""
    assert report.trace is not None
    start = report.trace.transfers[0].work.starts[path]
    received, forwarded = (
        sorted((span.start, span.end) for span in report.trace.requests if span.hop == start + hop) for hop in (0, 1)
    )
    both = sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a in received for b in forwarded)
    return both / sum(end - begin for begin, end in received)


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
    begin(120)
    what, folder = sys.argv[1], Path(sys.argv[2])
    with World(limit=5 if what == "breaks" else 60) as world:
        machine = preset("ranks", ranks=world.size, hosts=list(world.hosts)) if what != "paths" else linked(world)
        with RankEngine(machine, world.devices, world.transport) as engine:
            if what == "breaks":
                breaks(world, engine, machine, folder)
            if what == "maps":
                found = maps(world, engine)
            elif what == "paths":
                found = paths(world, engine, machine, int(sys.argv[3]))
            else:
                found = rate(world, engine, plan_between(machine, 0, world.size // 2, SIZE))
            engine.barrier()
        rank = world.rank
    tell(rank, found)


main()
