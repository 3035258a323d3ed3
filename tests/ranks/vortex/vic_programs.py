"""Programs for VICs, simulated and on ranks. Run under mpiexec: `vic_programs.py SEEDS [FOLDER]`.

With an empty folder, rank 1 dies in the end.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from given.rank_program import begin
from stopped_rank import wait

from isoviz.backends.mpi import world as worlds
from isoviz.bench.vortex import measured
from isoviz.errors import InputError, IsovizError, RankLost
from isoviz.vortex import FIFO, Aggregated, System, Vic, gups, header, on_ranks, transposed
from isoviz.vortex.workloads.breadth_first import bfs
from isoviz.vortex.workloads.fourier_transform import fourier
from isoviz.vortex.workloads.heat_equation import heat
from isoviz.vortex.workloads.transport_sweep import sweep

Array = np.ndarray[Any, Any]
FEW = 10
"""Below so many seeds, a job does less."""
RING = 256
"""Words of a FIFO where it is to be full."""


def digest(system: System, seed: int) -> str:
    """Random updates and a Fourier transform of a seed, which verify themselves."""
    table = gups(system, updates=1500, table=256, seed=seed).table
    spectrum = fourier(system, points=1024, seed=seed, pieces=1 + seed % 3).spectrum
    assert spectrum is not None
    return hashlib.sha256(table.tobytes() + spectrum.tobytes()).hexdigest()


def others(system: System) -> list[str]:
    """The other workloads, which verify themselves. The tree of a search depends on the order of arrival."""
    bfs(system, scale=7, keys=3)
    found = [heat(system).temperatures, heat(system, restructured=True).temperatures, sweep(system).flux]
    return [hashlib.sha256(np.ascontiguousarray(each).tobytes()).hexdigest() for each in found]


def every_way(vic: Vic) -> list[list[int]]:
    """All that a VIC can do, on four nodes: what each has in the end."""
    rank, nodes = vic.rank, vic.nodes
    right = (rank + 1) % nodes
    vic.memory[300:304] = 0
    vic.memory[10:20] = np.arange(10) + 100 * rank
    vic.memory[[30, 40]] = header([right, (rank + 2) % nodes], 50, counter=6)[0], header(right, FIFO)[0]
    for step in range(nodes):
        ends = step == (rank + 1) % nodes
        vic.memory[31 + step] = header(step, 60, counter=9) if ends else header(right, 31 + step, onward=True)
    for counter, number in ((4, 10), (5, 3 * nodes), (6, 1), (8, 10), (9, 1)):
        vic.set_counter(counter, number)
    vic.barrier()
    # The VIC to the right answers to the one after it, and sends on.
    vic.query(right, np.arange(10, 20), reply_to=((rank + 2) % nodes, np.arange(100, 110)), counter=4)
    vic.send_on(right, [30, 40], [7 + rank, 8 + rank])
    vic.send_own(right, np.arange(400, 410), np.arange(10, 20), counter=8)
    # A chain around all of them.
    vic.send_on(rank, 31 + rank, 9 + rank)
    with Aggregated(vic, size=7) as out:
        for other in range(nodes):
            out.send(other, 200 + 3 * rank + np.arange(3), rank * 1.5, counter=5)
            out.send(other, FIFO, 1000 + rank)
    for counter in (4, 5, 6, 8, 9):
        vic.wait(counter)
    vic.barrier([rank, rank ^ 1])
    if rank % 2:
        vic.set_counter(7, 2, of=rank - 1)
    vic.barrier()
    while not rank % 2 and vic.counter(7) != 2:
        vic.compute(1e-6)
    vic.barrier()
    vic.send(rank & ~1, 300 + rank, rank, counter=7, by="direct")
    if not rank % 2:
        vic.wait(7)
        assert vic.counter(7) == 0
    found = np.empty(3 * nodes)
    vic.store(200, found)
    vic.load(np.arange(20), np.arange(20), wait=False)
    vic.store(np.arange(19, -1, -1), backwards := np.empty(20, np.int64), wait=False)
    vic.finish()
    assert vic.seconds > 0 and vic.returned()[0].size == 0
    words = np.sort(vic.fifo.take(nodes + 1))
    memory = vic.memory[[50, 60, 100, 109, 300, 301, 302, 303, 400, 409]]
    return [words.tolist(), memory.tolist(), (found * 2).astype(int).tolist(), backwards.tolist(), [int(vic.memory[3])]]


def late_counter(vic: Vic, preset: bool) -> int:
    """Node 1 sends 20 words to node 0. It sets their counter after the first five, unless node 0 presets it."""
    if vic.rank == 0 and preset:
        vic.set_counter(3, 20)
    vic.barrier()
    if vic.rank == 1:
        vic.send(0, np.arange(5), np.arange(5), counter=3)
    vic.compute(20e-6)
    vic.barrier()
    if vic.rank == 1:
        if not preset:
            vic.set_counter(3, 20, of=0)
        vic.send(0, np.arange(5, 20), np.arange(5, 20), counter=3)
    if vic.rank == 0:
        vic.wait(3)
        assert np.array_equal(vic.memory[:20], np.arange(20))
    return vic.rank


def flood(vic: Vic, words: int) -> int:
    """All send to node 0, which begins to take late. What comes back is sent again. How much came back."""
    vic.barrier()
    back = 0
    if vic.rank:
        vic.send(0, FIFO, np.arange(words) + words * vic.rank)
        while len((returned := vic.returned())[0]):
            assert set(returned[0].tolist()) == {0}
            back += len(returned[1])
            vic.send(*returned[:1], FIFO, returned[1])
            vic.compute(5e-6)
        return back
    found = np.empty(0, np.int64)
    while len(found) < words * (vic.nodes - 1):
        found = np.concatenate([found, vic.fifo.take(1)])
        vic.compute(5e-6)
    assert np.array_equal(np.sort(found), np.arange(words, words * vic.nodes)) and not len(vic.fifo.take())
    return back


def carelessly(vic: Vic) -> None:
    if vic.rank:
        vic.send(0, FIFO, np.arange(2 * RING))


WRONG: dict[str, Callable[[Vic], Any]] = {
    "number 1 is 4; there are 4 VICs": lambda vic: vic.send([0, 4], 0, 1),
    "number 0 is 4194304; there are 4194304 words": lambda vic: vic.send(0, 1 << 22, 1),
    "expected whole numbers from 0 on": lambda vic: vic.send(0, -1, 1),
    "expected arrays of one length, got 2, 3, 1": lambda vic: vic.send([0, 1], [0, 1, 2], 1),
    "numbers of 8 bytes": lambda vic: vic.send(0, 0, np.int32(1)),
    "63 is the scratch counter": lambda vic: vic.wait(63),
    "61 is reserved for barriers": lambda vic: vic.set_counter(61, 1),
    "62 is reserved": lambda vic: vic.send(0, 0, 1, counter=62),
    "counter: expected a whole number from 0 to 63": lambda vic: vic.query(0, 0, reply_to=(0, 0), counter=64),
    "number 0 is 9; there are 4 VICs": lambda vic: vic.query(0, 0, reply_to=(9, 0)),
    "number: expected a whole number": lambda vic: vic.set_counter(1, -1),
    "by: expected one of": lambda vic: vic.send(0, 0, 1, by="post"),
    "and not 0, which calls it": lambda vic: vic.barrier([1]),
    "number 1 is 4; there are 4 nodes": lambda vic: vic.barrier([0, 4]),
    "8,193 runs of words": lambda vic: vic.load(np.arange(0, 2 * 8193, 2), np.zeros(8193)),
    "beyond the 4194304 words": lambda vic: vic.memory[: (1 << 22) + 1],
    "end beyond": lambda vic: vic.store((1 << 22) - 1, np.zeros(2)),
    "2 values for 3 words": lambda vic: vic.memory.__setitem__(slice(3), [1, 2]),
    "timeout: expected": lambda vic: vic.wait(1, timeout=-1),
    "columns for 4 nodes": lambda vic: transposed(vic, np.zeros((2, 3)), counter=1),
}


def wrong_calls(vic: Vic) -> list[str]:
    """The words for each wrong call on node 0. None of them changes anything."""
    found, before = [], vic.memory[:]
    for call in WRONG.values() if vic.rank == 0 else ():
        try:
            call(vic)
        except InputError as error:
            found.append(str(error))
        else:
            found.append("no error")
    assert np.array_equal(vic.memory[:], before)
    return found


def ends(vic: Vic, how: str) -> Any:
    """Something goes wrong on node 2, while the others are at a barrier, or wait."""
    if how in ("error", "polls") and vic.rank == 2:
        raise KeyError(17)
    while how == "polls" and not vic.memory[7]:
        vic.compute(1e-6)
    if how == "wrong" and vic.rank == 2:
        vic.send(4, 0, 1)
    if how == "left out" and vic.rank == 2:
        return None
    if how == "other barrier":
        vic.barrier([2, 3] if vic.rank == 3 else None)
    if how in ("waits", "times out"):
        vic.set_counter(5, 3)
        vic.barrier()
        vic.send((vic.rank + 1) % vic.nodes, [0, 1], 5, counter=5)
        vic.wait(5, timeout=0.05 if how == "times out" else None)
    if how == "too few words":
        vic.send((vic.rank + 1) % vic.nodes, FIFO, 5)
        vic.fifo.take(2)
    if how == "ring" and vic.rank == 2:
        vic.memory[9] = header(2, 9, onward=True)
        vic.send_on(2, 9, 1)
    if how == "no header" and vic.rank == 2:
        vic.send_on(1, 9, 1)
    if how == "unsent result" and vic.rank == 2:
        return threading.Lock()
    if how not in ("no header", "ring", "unsent result"):
        vic.barrier()
    return None


HOWS = ("error", "waits", "times out")
MORE_HOWS = ("polls", "left out", "no header", "ring", "wrong", "other barrier", "too few words", "unsent result")


def of_another(vic: Vic, kept: list[Vic]) -> str:
    """What another thread hears that uses a VIC."""
    heard: list[str] = []

    def use() -> None:
        try:
            vic.send(0, 0, 1)
        except InputError as error:
            heard.append(str(error))

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    kept.append(vic)
    return heard[0]


def raised(call: Callable[[], object]) -> str:
    """The error of a call, in words."""
    try:
        call()
    except IsovizError as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def all_of_them(seeds: int) -> dict[str, Any]:
    """What the test asks of a job."""
    found: dict[str, Any] = {}
    kept: list[Vic] = []
    with on_ranks() as system:
        found["digests"] = [digest(system, seed) for seed in range(seeds)]
        found["others"] = [] if seeds < FEW else others(system)
        run = system.run(every_way)
        found["every way"], found["packets"] = run.results, run.packets
        assert run.seconds == max(run.by_node) > 0 and len(run.by_node) == 4
        found["preset"] = [system.run(late_counter, True).results, len(system.races)]
        found["wrong calls"] = system.run(wrong_calls).results[0]
        found["other thread"] = system.run(of_another, kept).results
        found["after it"] = raised(lambda: kept[0].send(0, 0, 1))
    found["closed"] = raised(partial(system.run, late_counter, True))
    with contextlib.suppress(IsovizError), on_ranks() as system:
        found["late"] = raised(partial(system.run, late_counter, False))
        found["races"] = [str(race) for race in system.races]
        found["failed"] = raised(partial(system.run, late_counter, True))
    with on_ranks(ring=RING) as system:
        found["flood"] = system.run(flood, 300).results
        found["careless"] = raised(partial(system.run, carelessly))
    for how in HOWS if seeds < FEW else HOWS + MORE_HOWS:
        with on_ranks(ring=RING) as system:
            found[how] = raised(partial(system.run, ends, how))
    found["bench"] = measured(1, packets=1 << 10, alone=10)
    found["small ring"] = raised(partial(on_ranks, ring=3))
    return found


def apart() -> str:
    """What ranks hear that cannot map each other's memory, as on several hosts."""
    made: Any = worlds.World
    worlds.World = partial(made, mapped=False)  # type: ignore[misc]
    return raised(on_ranks)


def in_a_call(seed: int) -> str:
    """The same within a function of `ranks.call`."""
    with on_ranks() as system:
        return digest(system, seed)


def dies(vic: Vic) -> None:
    if vic.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    vic.barrier()


def after_a_death() -> list[Any]:
    """What a rank hears when rank 1 has died inside a barrier, and at its next program."""
    system = on_ranks(ring=RING)
    try:
        system.run(dies)
    except RankLost as error:
        return [error.rank, raised(partial(system.run, dies))]
    return []


def main() -> None:
    begin()
    made: Any = worlds.World
    worlds.World = partial(made, period=0.5, limit=15.0)  # type: ignore[misc]
    found = all_of_them(int(sys.argv[1]))
    heard = on_ranks(ring=RING).run(lambda vic: found).results
    assert all(each.keys() == found.keys() for each in heard)
    if heard[0] == found:
        print(json.dumps(heard), flush=True)
    if len(sys.argv) > 2:
        print(json.dumps(after_a_death()), flush=True)
        folder = Path(sys.argv[2])
        (folder / str(os.getpid())).touch()
        wait(lambda: len(list(folder.iterdir())) == len(heard) - 1)  # who has left counts as lost, and may end the others


if __name__ == "__main__":
    main()
