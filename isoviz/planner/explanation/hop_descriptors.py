"""Which bytes move at both ends: those that each request or key of a hop names, and those that a list names."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoviz.errors import InputError
from isoviz.layouts import Box
from isoviz.layouts.geometry import strided_copies
from isoviz.layouts.windows import PlacedRuns, agreed_window, placed_runs, windows

if TYPE_CHECKING:
    from isoviz.layouts.windows import Ints
    from isoviz.machines import Machine
    from isoviz.planner.path_plan import PathPlan
    from isoviz.planner.transfer import Transfer

PLAIN = "request"
MOST_RUNS = 1 << 16
"""Runs of a chunk that are looked at."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Stretches of memory in the order of the data: where each begins and how long it is, in bytes, and whose it is."""

    starts: Ints
    nbytes: Ints
    owner: Ints

    def __len__(self) -> int:
        return len(self.starts)

    def of(self, owners: int) -> Pieces:
        """The pieces of the first `owners` owners."""
        few = int(np.searchsorted(self.owner, owners))
        return Pieces(self.starts[:few], self.nbytes[:few], self.owner[:few])


@dataclass(frozen=True, eq=False)
class HopDescriptors:
    """What the descriptors of a hop name for its first chunk, at both ends.

    `name` is what a request is called, "request" or "key". `limit` is the most runs of one. `window` is the bytes on which both
    ends agree for it, None where only `limit` bounds a request. `count` is the number of requests for the chunk, of `chunks`.
    `source` and `destination` list their runs; where the chunk has very many, they are those of the first ones.
    """

    name: str
    limit: int
    window: int | None
    count: int
    chunks: int
    source: Pieces
    destination: Pieces


def hop_descriptors(path: PathPlan, hop: int, machine: Machine) -> HopDescriptors | None:
    """The descriptors of a hop of a path; None where its channel has no limit of runs.

    Raises:
        InputError: there is no such hop. MachineError: the machine has no such channel.
    """
    if not 0 <= hop < len(path.hops):
        raise InputError(f"descriptors: hop {hop}; expected one of 0 to {len(path.hops) - 1}")
    channel = machine.channel(path.hops[hop].channel)
    limit = channel.descriptors
    if limit is None:
        return None
    copies = path.copies(hop, path.numbers.start)
    nbytes = sum(copy.nbytes for copy in copies)
    here, there = placed_runs(copies, MOST_RUNS)
    listed = int(here.nbytes.sum())
    if channel.kind.counts_both_ends:
        window = agreed_window(here.nbytes, there.nbytes, limit)
        count = max(1, math.ceil(nbytes / window))
        protocol = channel.kind.protocol
        name = PLAIN if protocol is None else protocol.request
        return HopDescriptors(name, limit, window, count, path.chunk_count, _cut(here, window), _cut(there, window))
    both = _both(here, there)
    requests = [Pieces(starts, both[0], np.arange(len(both[0])) // limit) for starts in both[1:]]
    count = math.ceil(len(both[0]) / limit * nbytes / listed)
    return HopDescriptors(PLAIN, limit, None, count, path.chunk_count, *requests)


def moved_pieces(transfer: Transfer, most: int) -> tuple[Pieces, Pieces]:
    """The runs at both ends of a transfer in the order of the data, about the first `most` where there are more.

    The owner of a piece is the thousandth of the listed bytes at which it begins.
    """
    box = Box((0,) * len(transfer.shape), transfer.shape)
    copies = strided_copies(transfer.source_view(), transfer.destination_view(), box, transfer.fields.names)
    here, there = (
        Pieces(runs.starts, runs.nbytes, (np.cumsum(runs.nbytes) - runs.nbytes) * 1000 // max(1, int(runs.nbytes.sum())))
        for runs in placed_runs(copies, most)
    )
    return here, there


def _cut(runs: PlacedRuns, window: int) -> Pieces:
    """The runs of an end as windows cut them."""
    cut = windows(runs.nbytes, window)
    return Pieces(runs.starts[cut.run] + cut.offset, cut.nbytes, cut.window)


def _both(here: PlacedRuns, there: PlacedRuns) -> tuple[Ints, Ints, Ints]:
    """The runs that are contiguous at both ends: their lengths, and where they begin at each."""
    ends = np.union1d(np.cumsum(here.nbytes), np.cumsum(there.nbytes))
    begins = np.concatenate(([0], ends[:-1]))
    places = []
    for runs in (here, there):
        own = np.cumsum(runs.nbytes)
        run = np.searchsorted(own, begins, side="right")
        places.append(runs.starts[run] + begins - (own[run] - runs.nbytes[run]))
    return ends - begins, places[0], places[1]
