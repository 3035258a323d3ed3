"""Run under mpiexec: random plans between the GPUs and other memories of ranks, bit for bit.

`gpu_rank_runs.py SEED CASES FOLDER played|cupy|real DEVICES [SECONDS]`: fake GPUs, DEVICES of them, also through CuPy, or the
real ones of this host. It ends after about SECONDS, even if plans are left.
"""

from __future__ import annotations

import itertools
import math
import random
import sys
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
from given.rank_program import begin, tell
from rank_gpu_cases import (
    FBM,
    Gpus,
    PlayedGpus,
    arrived_in,
    crosses_between_gpus,
    engine_of,
    given_to,
    gpus_of,
    machine_of,
)

from isoviz import Machine, Options, Plan, Transfer, plan
from isoviz.backends.mpi.world import World
from isoviz.errors import TransferError
from isoviz.runtime.ranks.rank_engine import Item, RankEngine

MOST_CHUNKS = 200
"""Chunks of a few bytes take a message each, and show nothing that fewer do not."""
MOST_ELEMENTS = 60_000
"""Elements that are compared one by one. The engine compares all of them in any case."""


def plans_of(rng: random.Random, machine: Machine, count: int, largest: tuple[int, ...]) -> list[Plan]:
    """Plans between any memories of any ranks; every third leads from a GPU to one of another rank."""
    from run_cases import random_layout, random_spaces

    found: list[Plan] = []
    fbms = [memory for memory in machine.memories if memory.kind is FBM]
    while len(found) < count:
        space, fields = random_spaces(rng, largest=rng.choice(largest))
        here, there = random_layout(rng, space), random_layout(rng, space)
        near, far = rng.choice(machine.memories), rng.choice(machine.memories)
        if len(found) % 3 == 0:
            near = rng.choice(fbms)
            far = rng.choice([memory for memory in fbms if memory.node != near.node])
        nbytes = here.on(space, fields).nbytes
        limits: dict[str, Any] = {
            "planning_time": 0.05,
            "slot_limit": max(64, nbytes // rng.choice((1, 2, 6))),
            "slots": rng.choice((1, 2, 3)),
        }
        transfer = Transfer.whole(space, fields, near.name, here, far.name, there)
        try:
            made = plan(transfer, machine, rng.choice(("full", "simple")), Options(**limits))
        except TransferError:  # no slots as small as that
            continue
        if made.chunk_count <= MOST_CHUNKS:
            found.append(made)
    return found


def arrays_arrive(gpus: Gpus, world: World, engine: RankEngine, found: Plan, seed: str, folder: Path) -> None:
    """Arrays and files of the callers: every element arrives, by the offsets of the layouts alone."""
    from run_cases import elements, random_bytes

    transfer, machine = found.transfer, engine.machine
    if math.prod(transfer.space.sizes) * len(transfer.fields) > MOST_ELEMENTS:
        return
    near, far = machine.memory(transfer.source.memory), machine.memory(transfer.destination.memory)
    a, b = transfer.source.linearization, transfer.destination.linearization
    data = random_bytes(random.Random(seed), a.nbytes)
    source = given_to(gpus, world, near, data, folder / f"{seed}.in") if near.node == engine.rank else None
    room = np.zeros(b.nbytes, np.uint8)
    destination = given_to(gpus, world, far, room, folder / f"{seed}.out") if far.node == engine.rank else None
    engine.submit(found, source, destination).wait(120)
    if source is not None:
        arrived_in(gpus, near, source)
    if destination is not None:
        assert elements(a, data) == elements(b, arrived_in(gpus, far, destination)[: b.nbytes]), found


def main() -> None:
    begin(280)
    seed, cases, folder, how, devices = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4], int(sys.argv[5])
    seconds = float(sys.argv[6]) if len(sys.argv) > 6 else math.inf
    gpus = gpus_of(how, seed, devices)
    done = between = hops = 0
    began, is_late = time.monotonic(), False
    kinds: set[str] = set()
    with gpus.world(limit=60, directory=folder) as world:
        for batch in itertools.count():
            if done >= cases or is_late:
                break
            rng = random.Random(f"{seed} {batch}")
            if isinstance(gpus, PlayedGpus):
                gpus.vary(rng)
            largest = (12, 24, 80) if gpus.is_real else (5, 12, 24)
            machine, asked = machine_of(rng, world.hosts, gpus.devices), rng.choice((256, 4096, 1 << 20))
            with engine_of(gpus, world, machine, request_bytes=asked) as engine:
                # One rank plans for all: a planner that is stopped by the clock may find another plan on another rank.
                own = plans_of(rng, machine, min(4, cases - done), largest) if world.rank == 0 else None
                plans = cast("list[Plan]", engine.gather(own)[0])
                parts = engine.run_parts([Item(found) for found in plans])
                assert all(part.error is None for part in parts), [part.error for part in parts]
                for k, found in enumerate(plans):
                    report = engine.run(found)
                    assert report.verified, found
                    arrays_arrive(gpus, world, engine, found, f"{seed} {batch} {k}", folder)
                is_late = cast("bool", engine.gather(time.monotonic() - began > seconds)[0])
            done += len(plans)
            crossing = [found for found in plans if crosses_between_gpus(found.transfer, machine)]
            between += len(crossing)
            hops += sum(len(list(found.every_hop)) for found in crossing)
            kinds |= {str(hop.kind) for found in plans for hop in found.every_hop}
        rank = world.rank
    calls = gpus.calls_at_end()
    tell(rank, {"done": done, "between": between, "hops": hops, "kinds": sorted(kinds), "calls": calls})


if __name__ == "__main__":
    main()
