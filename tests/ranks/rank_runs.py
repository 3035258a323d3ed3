"""A rank of a job that runs random plans of random machines: `rank_runs.py SEED CASES FOLDER`."""

from __future__ import annotations

import itertools
import random
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
from given.rank_program import begin, tell

from isoviz import FieldSpace, IndexSpace, Instance, Layout, Machine, Options, Plan, Transfer, plan
from isoviz.backends.mpi.world import World
from isoviz.errors import TransferError
from isoviz.machines import Channel, ChannelKind, Memory, MemoryKind
from isoviz.machines.throughput import LatencyBandwidth
from isoviz.runtime.ranks.rank_engine import Item, RankEngine

FIELDS = ("u1", "<f4", ">f8", "i2", "S3", "c16", "V12")
MOST_CHUNKS = 400
"""Chunks of a few bytes take a message each, and show nothing that fewer do not."""
KINDS = ("Window", "ProcessWrite", "TwoSided", "Packed", "Derived", "Put", "RemoteMemcpy", "Assisted")


def machine_of(rng: random.Random, hosts: tuple[str, ...]) -> Machine:
    """Ranks with three memories each. Every pair has some of the channels between ranks, at random rates.

    `hosts` names the host of each rank: only ranks of one host have windows.
    """
    memories, channels = [], []
    size = len(hosts)

    def join(kind: ChannelKind, source: str, destination: str) -> None:
        rate = LatencyBandwidth(rng.choice((1e-9, 1e-7, 1e-6)), rng.choice((1e9, 5e9, 2e10)))
        channels.append(
            Channel(f"{source}->{destination}:{kind}", kind, source, destination, rate, max_in_flight=rng.choice((1, 2)))
        )

    for rank in range(size):
        sys_, reg, dsk = (f"node{rank}.{kind}" for kind in ("sys", "reg", "dsk"))
        memories += [
            Memory(sys_, MemoryKind.SYS, rank),
            Memory(reg, MemoryKind.REG, rank, capacity=rng.choice((None, 1 << 18))),
            Memory(dsk, MemoryKind.DSK, rank),
        ]
        for source, destination in ((sys_, reg), (reg, sys_), (sys_, sys_), (reg, reg)):
            join(ChannelKind.MEMCPY, source, destination)
        join(ChannelKind.DISK_READ, dsk, sys_)
        join(ChannelKind.DISK_WRITE, sys_, dsk)
    for here, there in itertools.permutations(range(size), 2):
        for source, destination in itertools.product(("sys", "reg"), ("sys", "reg")):
            for kind in map(ChannelKind, KINDS):
                if kind in ("Window", "Put") and destination == "sys":
                    continue
                if kind == "ProcessWrite" and destination == "reg":
                    continue
                if kind == "Assisted" and (source, destination) != ("reg", "reg"):
                    continue
                if kind in ("Window", "ProcessWrite", "Assisted") and hosts[here] != hosts[there]:
                    continue
                if rng.random() < (0.6 if source == destination == "reg" else 0.15):
                    join(kind, f"node{here}.{source}", f"node{there}.{destination}")
        join(ChannelKind.REMOTE_MEMCPY, f"node{here}.reg", f"node{there}.reg") if not any(
            channel.source == f"node{here}.reg" and channel.destination == f"node{there}.reg" for channel in channels
        ) else None
    return Machine("ranks", tuple(memories), tuple(channels))


def layout_of(rng: random.Random, space: IndexSpace) -> Layout:
    parts = ["F"]
    for dim, size in space.as_dict().items():
        if size > 2 and rng.random() < 0.4:
            parts += [f"{dim}_in={rng.randint(2, size - 1)}", f"{dim}_out"]
        else:
            parts.append(dim)
    rng.shuffle(parts)
    return Layout(f"<{', '.join(parts)}>")


def plan_of(rng: random.Random, machine: Machine, size: int, folder: Path) -> Plan:
    """A plan between two memories of any ranks, small or of some MiB."""
    largest = rng.choice((12, 12, 60, 160))
    space = IndexSpace.of({name: rng.randint(1, largest) for name in "xyz"[: rng.randint(1, 3 if largest < 100 else 2)]})
    fields = FieldSpace.of({f"f{i}": rng.choice(FIELDS) for i in range(rng.randint(1, 4))})
    ends = []
    for side in ("source", "destination"):
        memory = f"node{rng.randrange(size)}.{rng.choice(('sys', 'sys', 'reg', 'reg', 'dsk'))}"
        path = str(folder / f"{side}{rng.random()}.bin") if memory.endswith("dsk") and side == "destination" else None
        ends.append(Instance(memory, space, fields, layout_of(rng, space), path))
    limits: dict[str, Any] = {
        "planning_time": 0.05,
        "slot_limit": rng.choice((1024, 1 << 16, 1 << 22)),
        "slots": rng.choice((1, 2, 3)),
    }
    return plan(Transfer(*ends), machine, rng.choice(("full", "simple")), Options(**limits))


def plans_of(rng: random.Random, machine: Machine, size: int, folder: Path) -> list[Plan]:
    found: list[Plan] = []
    while len(found) < 10:
        try:
            plan = plan_of(rng, machine, size, folder)
        except TransferError:  # it needs more room than a memory has
            continue
        if plan.chunk_count <= MOST_CHUNKS:
            found.append(plan)
    return found


def arrays_are_equal(world: World, engine: RankEngine, found: Plan) -> None:
    """Arrays of the callers: every entry of the destination is the entry of the source, by the offsets of the layouts alone."""
    transfer = found.transfer
    source = np.random.default_rng(5).integers(0, 255, transfer.source.linearization.nbytes, np.uint8)
    room = np.zeros(transfer.destination.linearization.nbytes, np.uint8)
    if transfer.source.memory.endswith("reg"):
        source, kept = world.array(source.size), source
        source[:] = kept
    if transfer.destination.memory.endswith("reg"):
        room = world.array(room.size)
    here = engine.node_of(transfer.source.memory) == engine.rank
    there = engine.node_of(transfer.destination.memory) == engine.rank
    engine.submit(found, source if here else None, room if there else None).wait(120)
    if there:
        space, lin, into = transfer.space, transfer.source.linearization, transfer.destination.linearization
        for index in itertools.islice(np.ndindex(*space.sizes), 0, None, max(1, int(np.prod(space.sizes)) // 97)):
            for name, size in zip(lin.fields.names, lin.fields.sizes, strict=True):
                at, to = lin.offset(index, name), into.offset(index, name)
                assert source[at : at + size].tobytes() == room[to : to + size].tobytes(), f"{found} at {index} {name}"


def main() -> None:
    begin()
    seed, cases, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    done = across = 0
    kinds: set[str] = set()
    with World(limit=60, directory=folder) as world:
        for batch in itertools.count():
            if done >= cases:
                break
            rng = random.Random(f"{seed} {batch}")
            machine, asked = machine_of(rng, world.hosts), rng.choice((1 << 14, 1 << 16, 1 << 20))
            with RankEngine(machine, world.devices, world.transport, request_bytes=asked) as engine:
                # One rank plans for all: a planner that is stopped by the clock may find another plan on another rank.
                own = plans_of(rng, machine, world.size, folder) if world.rank == 0 else None
                plans = cast("list[Plan]", engine.gather(own)[0])
                for found in plans:
                    report = engine.run(found)
                    assert report.verified, found
                    assert report.trace is not None and len(report.trace.requests) >= found.chunk_count
                parts = engine.run_parts([Item(found) for found in plans])
                assert all(part.error is None for part in parts), [part.error for part in parts]
                for found in plans:
                    if found.transfer.source.path is None and not any(memory.endswith("dsk") for memory in found.every_memory):
                        arrays_are_equal(world, engine, found)
                engine.barrier()
            done += len(plans)
            across += sum(len({machine.memory(name).node for name in found.every_memory}) > 1 for found in plans)
            kinds |= {hop.kind for found in plans for hop in found.every_hop}
        rank = world.rank
    tell(rank, {"done": done, "across": across, "kinds": sorted(kinds)})


if __name__ == "__main__":
    main()
