"""Run under mpiexec: the part of `isoviz bench gpu` that two ranks carry out, on GPUs that are played. Rank 0 prints its rows.

`bench_gpu_ranks.py FOLDER`
"""

from __future__ import annotations

import json
import sys

from given.rank_program import begin
from rank_gpu_cases import PlayedGpus

from isoviz.bench.gpu.suite import between_gpus, machine_of_two
from isoviz.bench.ranks.bench import Order, RankBench
from isoviz.runtime.ranks.rank_engine import RankEngine


def main() -> None:
    begin(100)
    gpus = PlayedGpus(5)
    order = Order(1, 1 << 16, sys.argv[1], quick=True)
    with gpus.world(limit=60, directory=sys.argv[1]) as world:
        with RankEngine(machine_of_two(world.hosts), world.devices, world.transport, request_bytes=4096) as engine:
            rank = RankBench(world, engine)
            rows = between_gpus(rank, order)
            engine.barrier()
            world.thread.call(rank.comm.Free)
        is_first = world.rank == 0
    if is_first:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
