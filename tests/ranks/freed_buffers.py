"""A rank of a job whose buffers are freed, and made again at the same addresses: `freed_buffers.py`."""

from __future__ import annotations

import gc
import json

import numpy as np
from given.rank_program import begin

from isoviz import FieldSpace, IndexSpace, Machine, Transfer, plan
from isoviz.backends.mpi.world import World
from isoviz.errors import RankError
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Memory, MemoryKind
from isoviz.runtime.ranks.rank_engine import RankEngine

LARGE = 6 << 20
"""Bytes of an array that has pages of its own, which go back to the system: in a window, and from the allocator."""


def machine_of(kind: str, channel: str) -> Machine:
    memories = tuple(Memory(f"node{rank}.{kind}", MemoryKind(kind.upper()), rank) for rank in range(2))
    only = Channel("", ChannelKind(channel), f"node0.{kind}", f"node1.{kind}", LatencyBandwidth(1e-7, 1e9))
    return Machine("two ranks", memories, (only,))


def array(world: World, kind: str, nbytes: int) -> np.ndarray:
    room = world.array(LARGE + nbytes) if kind == "reg" else np.zeros(LARGE + nbytes, np.uint8)
    return room[:nbytes]


def freed(world: World, kind: str, channel: str) -> dict[str, int]:
    """Buffers of changing shapes at the same addresses. A rank frees its own while the other one has its prepared transfer."""
    machine, found, before = machine_of(kind, channel), {"same": 0, "refused": 0}, set[int]()
    with RankEngine(machine, world.devices, world.transport) as engine:
        for turn, (rows, columns) in enumerate([(100, 200), (700, 300), (100, 200), (3, 7), (900, 900)] * 2):
            space, fields = IndexSpace(x=columns, y=rows), FieldSpace(a="<f4")
            made = plan(
                Transfer.whole(space, fields, f"node0.{kind}", "<F, x, y>", f"node1.{kind}", "<F, y, x>"), machine, "direct"
            )
            mine = array(world, kind, 4 * rows * columns)
            found["same"] += int(mine.ctypes.data) in before
            before.add(int(mine.ctypes.data))
            content = np.random.default_rng(turn).integers(0, 256, mine.size, np.uint8)
            mine[:] = content if not world.rank else 0
            ends = (mine, None) if not world.rank else (None, mine)
            prepared = engine.prepare(made, *ends)
            for _ in range(2):
                prepared.start().wait(60)
                if world.rank:
                    right = content.view("<f4").reshape(rows, columns).T
                    assert np.array_equal(mine.view("<f4").reshape(columns, rows).view("<u4"), right.view("<u4")), turn
                    mine[:] = 0
                engine.barrier()
            # One rank lets go, and makes its buffer again; the transfer that the other one has kept must not reach it.
            if world.rank == turn % 2:
                prepared.close()
                del prepared, mine, ends
                gc.collect()
                other = array(world, kind, 4 * rows * columns)
                other[:] = 7
                engine.barrier()
                engine.barrier()
                assert (other == 7).all(), turn
                del other
            else:
                engine.barrier()
                try:
                    prepared.start().wait(60)
                except RankError:
                    found["refused"] += 1
                engine.barrier()
                prepared.close()
                del prepared, mine, ends
            gc.collect()
            engine.barrier()
    return found


def main() -> None:
    begin(120)
    with World(limit=60) as world:
        found = {
            f"{kind} {channel}": freed(world, kind, channel)
            for kind, channel in (("reg", "Window"), ("sys", "ProcessWrite"), ("sys", "Packed"))
        }
        with RankEngine(machine_of("reg", "Window"), world.devices, world.transport) as engine:
            told = engine.gather(found)
    if not world.rank:
        print(json.dumps(told))


if __name__ == "__main__":
    main()
