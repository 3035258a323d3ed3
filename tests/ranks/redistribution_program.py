"""Run under mpiexec: random redistributions on real ranks, bit for bit against a naive loop; prints what was done as JSON."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from given.rank_program import begin, tell

from isoviz import machines
from isoviz.backends.mpi.world import World
from isoviz.machines import ChannelKind, Machine
from isoviz.redistribution.running.on_rank import prepare_on_rank, redistribute_on_rank
from isoviz.runtime.ranks.rank_engine import RankEngine

sys.path.append(str(Path(__file__).parents[1] / "property"))
from redistribution_cases import Bytes, gaps_of, keeps_entries, naive_content, random_ends, with_gaps, without_gaps

WAYS: dict[str, tuple[ChannelKind, ...]] = {
    "all": (),
    "windows": (ChannelKind.WINDOW,),
    "messages": (ChannelKind.TWO_SIDED, ChannelKind.PACKED),
    "datatypes": (ChannelKind.DERIVED,),
}
"""The kinds of channels between ranks that a machine has; empty for all."""

MAPPED = (ChannelKind.WINDOW, ChannelKind.PROCESS_WRITE)
"""The kinds that ranks have that map each other's memory."""


def machine_of(world: World, kinds: tuple[ChannelKind, ...], mapped: bool) -> Machine:
    made = machines.preset("ranks", ranks=world.size, hosts=list(world.hosts), measure="assumed", channels="all")
    found = [each for each in made.channels if not kinds or not each.kind.crosses_nodes or each.kind in kinds]
    return replace(made, channels=tuple(each for each in found if mapped or each.kind not in MAPPED))


def in_windows(world: World, content: Bytes | None, memory: str) -> Bytes | None:
    """The bytes of a part, in memory of the kind where they should lie."""
    if content is None or memory != "reg":
        return content
    found = world.array(len(content))
    found[:] = content
    return found


def main(cases: int, *, mapped: bool) -> None:
    begin(300)
    done: dict[str, int] = {}
    with World(mapped=mapped) as world:
        for way, kinds in WAYS.items():
            if way == "windows" and not mapped:
                continue
            engine = RankEngine(machine_of(world, kinds, mapped), world.devices, world.transport)
            try:
                for case in range(cases):
                    for kind in one_case(engine, world, random.Random(f"{way} {mapped} {world.size} {case}")):
                        done[kind] = done.get(kind, 0) + 1
                    done["cases"] = done.get("cases", 0) + 1
                    structs_with_gaps(engine, world, random.Random(f"gaps {way} {mapped} {world.size} {case}"))
            finally:
                engine.close()
        tell(world.rank, done)


def one_case(engine: RankEngine, world: World, rng: random.Random) -> list[str]:
    """A random redistribution; returns the kinds of the hops of its transfers."""
    memories = rng.choice(("sys", "reg")), rng.choice(("sys", "reg"))
    source, destination = random_ends(rng, world.size, memories, largest=rng.choice((24, 60)))
    content, wanted = naive_content(source), naive_content(destination)
    given = rng.random() < 0.7
    mine = in_windows(world, content.get(world.rank), source.memory) if given else None
    done = redistribute_on_rank(engine, source, destination, mine)
    assert done.report.verified
    if given and world.rank in wanted:
        assert done.array is not None
        assert np.array_equal(done.array.reshape(-1).view(np.uint8), wanted[world.rank]), f"{source} → {destination}"
    return [hop.kind for each in done.report.plan.sendings for hop in each.plan.every_hop]


def structs_with_gaps(engine: RankEngine, world: World, rng: random.Random) -> None:
    """A redistribution between arrays of structs with gaps, another one on every rank. Gaps keep what they hold."""
    memories = rng.choice(("sys", "reg")), rng.choice(("sys", "reg"))
    while True:
        source, destination = random_ends(rng, world.size, memories, largest=24)
        if keeps_entries(source) and keeps_entries(destination):
            break
    content, wanted = naive_content(source), naive_content(destination)
    arrays = {rank: with_gaps(rng, source, found) for rank, found in content.items()}
    rooms = {rank: with_gaps(rng, destination, np.zeros_like(found)) for rank, found in wanted.items()}
    mine, room = arrays.get(world.rank), rooms.get(world.rank)
    if rng.random() < 0.5:  # in memory that the ranks reach
        mine, room = [
            None if each is None else in_windows(world, each.view(np.uint8), "reg").view(each.dtype) for each in (mine, room)
        ]
    before = None if room is None else gaps_of(room)
    with prepare_on_rank(engine, source, destination, mine, room) as ready:
        for _ in range(2):
            assert ready.run(verify=True).verified
    if room is not None:
        assert np.array_equal(without_gaps(destination, room), wanted[world.rank]), f"{source} → {destination}"
        assert gaps_of(room) == before, f"{source} → {destination}"


if __name__ == "__main__":
    main(int(sys.argv[1]), mapped=sys.argv[2] == "mapped")
