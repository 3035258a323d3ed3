"""Packets between VICs on four MPI ranks, beside NumPy's own scatter and beside a one-sided put.

Ranks measure in turn, while the others are at a barrier: what is counted is processor time of the thread that sends, so that
fewer processors than ranks do no harm.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import isoviz.rma
from isoviz.bench.aims import compared
from isoviz.launch.ranks import ranks
from isoviz.vortex import Vic, on_ranks
from isoviz.vortex.packet import WORDS

RANKS = 4
PACKETS = 1 << 20
"""Packets of a batch, to drawn words of all VICs."""
ALONE = 10_000
"""Packets that are sent one at a time."""
RATE, SCATTER, PUT = 1e7, 0.3, 1 / 20
"""Aims: packets per second, and the least ratios to the peers."""
BATCH, NUMPY, ONE, OTHER = "a batch", "NumPy's scatter", "alone", "a put of 8 B"


def rows(repeat: int) -> list[dict[str, Any]]:
    """The rows of four ranks, which are started for them: medians of all rounds of all ranks.

    Raises:
        MissingPartError: there is no MPI in this Python's environment. LaunchError: the ranks did not start.
    """
    with ranks(RANKS) as started:
        return compare(started.call(measured, repeat)[0])


def measured(repeat: int, packets: int = PACKETS, alone: int = ALONE) -> dict[str, list[float]]:
    """Seconds of a packet, or of a put, of each way, round by round and rank by rank. All ranks call it."""
    with isoviz.rma.malloc(WORDS, "f8") as heap, on_ranks() as system:
        of_all = system.run(program, heap, repeat, packets, alone).results
    return {name: [seconds for each in of_all for seconds in each[name]] for name in of_all[0]}


def program(vic: Vic, heap: isoviz.rma.Heap, repeat: int, packets: int, alone: int) -> dict[str, list[float]]:
    """Each node sends in its turn, and has what NumPy scatters in memory of its own."""
    draw = np.random.default_rng(vic.rank)
    vics, addresses, values = draw.integers(0, vic.nodes, packets), draw.integers(0, WORDS, packets), draw.random(packets)
    local = [np.zeros(WORDS) for _ in range(vic.nodes)]
    places = [(here, vics == here) for here in range(vic.nodes)]
    split = [(local[here], addresses[which], values[which]) for here, which in places]
    to = (vic.rank + 1) % vic.nodes

    def scatter() -> None:
        for array, at, some in split:
            array[at] = some

    def send_alone() -> None:
        for _ in range(alone):
            vic.send(to, 5, 1.0, counter=3)

    def put() -> None:
        for _ in range(alone):
            heap.put(1.0, to=to, at=5)

    ways: dict[str, tuple[Callable[[], object], int]] = {
        BATCH: (lambda: vic.send(vics, addresses, values, counter=3), packets),
        NUMPY: (scatter, packets),
        ONE: (send_alone, alone),
        OTHER: (put, alone),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(vic.nodes):
        vic.barrier()
        for number in range(repeat + 1 if turn == vic.rank else 0):
            for name, (way, each) in ways.items():
                began = time.thread_time()
                way()
                if number:  # the first round touches all pages
                    times[name].append((time.thread_time() - began) / each)
    vic.barrier()
    return times


def compare(times: dict[str, list[float]]) -> list[dict[str, Any]]:
    """Rows of what `measured` gives."""
    rate = f"{RATE:.0e} packets/s"
    beside = {**times, rate: [1 / RATE] * len(times[BATCH])}
    return [
        compared("on ranks", "4 ranks, a packet of a batch", beside, BATCH, NUMPY, SCATTER),
        compared("on ranks", "4 ranks, a packet of a batch", beside, BATCH, rate, 1),
        compared("on ranks", "4 ranks, a packet alone", beside, ONE, OTHER, PUT),
    ]
