"""The result of a run of a switch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from isoviz.checks import amount
from isoviz.errors import InputError
from isoviz.vortex.traffic import Recorded, Whole


@dataclass(frozen=True, eq=False)
class Distribution:
    """How often each whole number from 0 on occurred. The last of `counts` includes all greater numbers.

    `total` is the sum of all numbers and `most` the greatest one; both are exact.
    """

    counts: Whole
    total: int
    most: int

    @property
    def number(self) -> int:
        """The number of values."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """The mean; NaN if there are no values."""
        return self.total / self.number if self.number else float("nan")

    def quantile(self, share: float) -> int:
        """The least number that a `share` of all values, from 0 to 1, does not exceed.

        Raises:
            InputError: there are no values, or `share` is not from 0 to 1.
        """
        amount("quantile", "share", share, high=1)
        if not self.number:
            raise InputError("quantile: no packet was counted")
        place = int(np.searchsorted(np.cumsum(self.counts), max(1, share * self.number)))
        return place if place < len(self.counts) - 1 else self.most


@dataclass(frozen=True, eq=False)
class Packets:
    """Every packet of a run, one row each: packets of a list in the order of the list, others in the order in which they entered.

    The arrays are: `inputs` and `outputs` (ports); the cycles in which a packet `arrived` at its input, `entered` the switch (−1:
    it still waits, or was refused) and `left` it (−1: not yet); and its `deflections` so far.
    """

    inputs: Whole
    outputs: Whole
    arrived: Whole
    entered: Whole
    left: Whole
    deflections: Whole

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def delivered(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether each packet has left the switch."""
        return self.left >= 0

    @property
    def hops(self) -> Whole:
        """The moves from node to node of each packet that has left the switch; −1 for the others."""
        return np.where(self.delivered, self.left - self.entered - 1, -1)

    @property
    def order(self) -> Whole:
        """The rows of the packets that have left, in the order of leaving; by output if they left in the same cycle."""
        rows = np.flatnonzero(self.delivered)
        return rows[np.lexsort((self.outputs[rows], self.left[rows]))]

    def traffic(self) -> Recorded:
        """The same packets as traffic for another run."""
        return Recorded(self.inputs, self.outputs, self.arrived)


@dataclass(frozen=True, eq=False)
class SwitchRun:
    """The result of a run. Counts cover the `cycles` after the warm-up.

    - `offered`: packets that arrived; `refused`: packets for which their input had no room; `entered`, `delivered`: packets that
      entered and left the switch; `waiting`, `in_flight`: packets at the inputs and in the switch at the end.
    - `hops`: moves of packets from node to node; `deflections`: moves that a signal forced.
    - `waits`: cycles from the arrival of a packet until it entered; `latencies`: cycles from there until it left, one more than
      its hops; `turns`: deflections of a packet. `latencies` and `turns` cover the packets that left.
    - `at_inputs`, `at_outputs`: packets that entered and left, by port.
    - `load`: a row for every `span` cycles, warm-up included, with the mean share of occupied nodes of each cylinder, the
      outermost first.
    - `packets`: every packet, if the run was recorded or its traffic is a list; else None.
    """

    cycles: int
    seed: int
    offered: int
    refused: int
    entered: int
    delivered: int
    waiting: int
    in_flight: int
    hops: int
    deflections: int
    waits: Distribution
    latencies: Distribution
    turns: Distribution
    at_inputs: Whole
    at_outputs: Whole
    load: np.ndarray[Any, np.dtype[np.float64]]
    span: int
    packets: Packets | None

    @cached_property
    def throughput(self) -> float:
        """Packets delivered per input port and cycle."""
        return self.delivered / self.cycles / len(self.at_inputs) if self.cycles else 0.0

    def __str__(self) -> str:
        return (
            f"{self.delivered:,} packets in {self.cycles:,} cycles: {self.throughput:.3f} per port and cycle, "
            f"latency {self.latencies.mean:.1f} cycles, {self.turns.mean:.2f} deflections, {self.waiting:,} waiting"
        )
