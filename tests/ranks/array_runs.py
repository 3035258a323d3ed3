"""A rank of a job that moves random arrays by every way of ranks: `array_runs.py SEED CASES FOLDER`.

All ranks make the same arrays, and each gives the one of its own end. The rank of the destination looks at all of its memory.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from given.rank_program import begin, tell

sys.path.append(str(Path(__file__).parents[1] / "property"))
from array_cases import Case, memory_of
from array_ways import RANK_WAYS, RankWay, arrived, pair, relaying, wanted

import isoviz
from isoviz.backends.mpi.world import World
from isoviz.errors import InputError, RankError
from isoviz.runtime.ranks.rank_engine import RankEngine


def in_window(world: World, given: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A dense array that lies like another one, with all of its bytes, in memory that the ranks share."""
    room = world.array(given.nbytes)
    room[:] = np.frombuffer(memory_of(given), np.uint8)
    return np.ndarray(given.shape, given.dtype, room, 0, given.strides)


def can_be_shared(end: Case) -> bool:
    """Whether an array is one of the forms that may lie in shared memory."""
    return type(end.given) is np.ndarray and end.values is not None and end.given.flags.writeable and end.given.nbytes > 0


def outcome(world: World, engine: RankEngine, way: RankWay, seed: str, folder: Path) -> str:
    """What a way makes of two arrays, the same on all ranks: right, refused or WRONG."""
    rng = random.Random(seed)
    source, destination = pair(seed, folder)
    ends = [f"node{rank}.{rng.choice(('sys', 'reg'))}" for rank in rng.sample(range(world.size), 2)]
    for number, (place, end) in enumerate(zip(ends, (source, destination), strict=True)):
        if not can_be_shared(end):
            ends[number] = place.replace("reg", "sys")
        elif place.endswith("reg") and engine.node_of(place) == world.rank:
            end.given = in_window(world, end.given)
    here, there = [engine.node_of(end) == world.rank for end in ends]
    before, said = memory_of(destination.given), "taken"
    try:
        given = source.given if here else None, destination.given if there else None
        way(engine, source, destination, (ends[0], ends[1]), given)
    except InputError:
        said = "refused"
    except RankError:
        said = "refused elsewhere"
    if said == "taken" and there:
        said = arrived(source, destination, before)
    elif there and memory_of(destination.given) != before:
        said = "WRONG: refused, and written to"
    told = [str(each) for each in engine.gather(said)]
    if any(each.startswith("WRONG") for each in told):
        return "; ".join(told)
    is_refused = "refused" in told
    if is_refused and any(each in ("right", "taken") for each in (told[engine.node_of(ends[0])], told[engine.node_of(ends[1])])):
        return f"WRONG: one end refused, the other did not: {told}"
    return f"{'refused' if is_refused else 'right'}|{wanted(source, destination)}|{source.form}|{destination.form}"


def main() -> None:
    begin()
    seed, cases, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    done: Counter[str] = Counter()
    with World(limit=60, directory=folder) as world:
        direct = isoviz.machines.preset("ranks", ranks=world.size, hosts=list(world.hosts), measure="assumed", channels="all")
        own = folder / f"rank{world.rank}"
        own.mkdir()
        for name, machine in (("direct", direct), ("relayed", relaying(direct))):
            with RankEngine(machine, world.devices, world.transport) as engine:
                for case in range(cases):
                    for kind, way in RANK_WAYS.items():
                        words = f"{seed} {name} {case}"
                        said = outcome(world, engine, way, words, own)
                        if said.startswith("WRONG"):
                            raise AssertionError(f"{words}, {kind}: {said}")
                        found, expected, *forms = said.split("|")
                        assert found == expected, f"{words}, {kind}: {found}, {forms}"
                        done[found] += 1
                        done[f"{kind}, {name}"] += 1
                engine.barrier()
        rank = world.rank
    tell(rank, done)


if __name__ == "__main__":
    main()
