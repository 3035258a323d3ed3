"""A rank of a job with many transfers at a time: `rank_many.py SEED ROUNDS FOLDER`.

Transfers of all priorities go through small buffers. Some are cancelled, on any rank, at any time; some ends cannot be opened.
Every transfer ends, on all its ranks in the same way; what is done is right, byte for byte.
"""

from __future__ import annotations

import random
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any, cast

import numpy as np
from given.rank_program import begin, tell
from rank_runs import MOST_CHUNKS, machine_of, plan_of

from isoviz import Machine, Plan
from isoviz.backends.mpi.world import World
from isoviz.errors import Cancelled, RunError, TransferError
from isoviz.runtime.ranks.eager import is_eager
from isoviz.runtime.ranks.rank_engine import RankEngine

TRANSFERS = 40


def plans_of(rng: random.Random, machine: Machine, size: int, folder: Path) -> list[Plan]:
    found: list[Plan] = []
    while len(found) < TRANSFERS // 4:
        try:
            plan = plan_of(rng, machine, size, folder)
        except TransferError:  # it needs more room than a memory has
            continue
        if plan.chunk_count <= MOST_CHUNKS and not any(memory.endswith("dsk") for memory in plan.every_memory):
            found.append(plan)
    return found


def outcome(error: BaseException | None) -> str:
    if isinstance(error, Cancelled):
        return "cancelled"
    return "done" if error is None else "failed"


class Round:
    """Transfers that this rank submits together with the others, and what it does to them."""

    def __init__(self, world: World, engine: RankEngine, plans: list[Plan], rng: random.Random) -> None:
        self.world, self.engine = world, engine
        self.plans = [rng.choice(plans) for _ in range(TRANSFERS)]
        self.wrong = {number: rng.randrange(world.size) for number in range(TRANSFERS) if rng.random() < 0.05}
        self.rooms: list[np.ndarray[Any, Any] | None] = []
        self.events: list[Any] = []

    def array(self, memory: str, nbytes: int) -> np.ndarray[Any, Any]:
        return self.world.array(nbytes) if memory.endswith("reg") else np.zeros(nbytes, np.uint8)

    def submit(self, number: int, priority: int) -> None:
        plan, rank = self.plans[number], self.engine.rank
        ends = [None, None]
        for at, end in enumerate((plan.transfer.source, plan.transfer.destination)):
            if self.engine.node_of(end.memory) == rank:
                array = self.array(end.memory, end.linearization.nbytes)
                if at == 0:
                    array[:] = np.random.default_rng(number).integers(0, 255, array.size, np.uint8)
                is_wrong = self.wrong.get(number) == rank
                ends[at] = array[: max(1, array.size // 2)] if is_wrong and array.size > 1 else array  # type: ignore[call-overload]
        self.rooms.append(cast("Any", ends[1]))
        self.events.append(self.engine.submit(plan, *ends, priority=priority))

    def is_right(self, number: int) -> bool:
        """Whether the destination holds the source, compared by the offsets of some entries."""
        room, transfer = self.rooms[number], self.plans[number].transfer
        if room is None:
            return True
        source = np.random.default_rng(number).integers(0, 255, transfer.source.linearization.nbytes, np.uint8)
        here, there = transfer.source.linearization, transfer.destination.linearization
        rng = random.Random(number)
        for _ in range(20):
            index = tuple(rng.randrange(size) for size in transfer.space.sizes)
            for name, size in zip(here.fields.names, here.fields.sizes, strict=True):
                at, to = here.offset(index, name), there.offset(index, name)
                if source[at : at + size].tobytes() != room[to : to + size].tobytes():
                    return False
        return True


def main() -> None:
    begin()
    seed, rounds, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    seen: Counter[str] = Counter()
    with World(limit=60, directory=folder) as world:
        for turn in range(rounds):
            rng = random.Random(f"{seed} {turn}")
            machine, asked = machine_of(rng, world.hosts), rng.choice((1 << 13, 1 << 16, 1 << 20))
            with RankEngine(machine, world.devices, world.transport, request_bytes=asked) as engine:
                own = plans_of(rng, machine, world.size, folder) if world.rank == 0 else None
                plans = cast("list[Plan]", engine.gather(own)[0])
                rng = random.Random(f"{seed} {turn} all")
                this = Round(world, engine, plans, rng)
                priorities = [rng.randrange(-2, 3) for _ in range(TRANSFERS)]
                private = random.Random(f"{seed} {turn} {world.rank}")
                for number in range(TRANSFERS):
                    this.submit(number, priorities[number])
                    if private.random() < 0.15:
                        victim = this.events[private.randrange(len(this.events))]
                        threading.Thread(target=victim.cancel).start()
                mine: list[str | None] = []
                for number, event in enumerate(this.events):
                    error = event.error(200)
                    assert error is None or isinstance(error, RunError | TransferError), error
                    if error is None:
                        assert this.is_right(number), f"{seed} {turn}: transfer {number}: {this.plans[number]}"
                    mine.append(outcome(error) if engine.has_part_in(this.plans[number]) else None)
                for number, outcomes in enumerate(zip(*cast("list[list[str | None]]", engine.gather(mine)), strict=True)):
                    found = {each for each in outcomes if each is not None}
                    # A transfer that rides with a message may be cancelled on one rank when its bytes are in place on the other.
                    # A rank whose end is wrong says so, even if another rank has cancelled the transfer.
                    twice = found == {"cancelled", "failed"} and number in this.wrong
                    assert len(found) == 1 or twice or is_eager(this.plans[number], engine.machine), (
                        f"{seed} {turn}: {number}: {outcomes}"
                    )
                    seen.update(found)
                engine.barrier()
        rank = world.rank
    tell(rank, seen)


if __name__ == "__main__":
    main()
