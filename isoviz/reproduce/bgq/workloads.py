"""Sparse data movement: what every rank of a partition writes (section 6). The values are small; the bytes follow from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from isoviz.reproduce.bgq.assumptions import MIB

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.int64]

RANKS = 16
"""Ranks of a node, one for each core (section 3)."""
MOST = 8 * MIB
"""Bytes that a rank writes at most in patterns 1 and 2."""


class Workload(Protocol):
    """What the ranks of a partition of `nodes` nodes write into one file, in the order of the ranks."""

    @property
    def nodes(self) -> int:
        """The number of compute nodes."""

    def rank_bytes(self) -> Bytes:
        """Bytes of every rank; 0 for most of them, where the data is sparse."""


@dataclass(frozen=True)
class Uniform:
    """Pattern 1: on a `share` of the nodes, chosen at random, every rank has 0 to 8 MiB, uniformly distributed."""

    nodes: int
    share: float = 0.1
    seed: int = 0

    def rank_bytes(self) -> Bytes:
        """See `Workload.rank_bytes`."""
        random = np.random.default_rng(self.seed)
        found = np.zeros((self.nodes, RANKS), np.int64)
        writing = random.permutation(self.nodes)[: max(1, round(self.share * self.nodes))]
        found[writing] = random.integers(0, MOST + 1, (len(writing), RANKS))
        return found.ravel()


@dataclass(frozen=True)
class Pareto:
    """Pattern 2: every rank has little or nothing, and a few have 8 MiB: a Pareto distribution from 0 on, cut off at 8 MiB.

    `exponent` is that of its tail. `mean` is the mean, as a share of 8 MiB; the scale of the distribution follows from it.
    """

    nodes: int
    exponent: float = 1.0
    mean: float = 0.2
    seed: int = 0

    def rank_bytes(self) -> Bytes:
        """See `Workload.rank_bytes`."""
        random = np.random.default_rng(self.seed)
        above = (1 - random.random(self.nodes * RANKS)) ** (-1 / self.exponent) - 1
        return np.minimum(MOST, MOST * self._scale() * above).astype(np.int64)

    def _scale(self) -> float:
        """The scale by 8 MiB, by bisection: the mean of what is cut off grows with it."""
        shares = (np.arange(4096) + 0.5) / 4096
        low, high = 1e-6, 1e6
        while high > low * 1.0001:
            scale = (low * high) ** 0.5
            # The mean is the integral of the chance to be above a share.
            mean = float(((1 + shares / scale) ** -self.exponent).mean())
            low, high = (scale, high) if mean < self.mean else (low, scale)
        return low


@dataclass(frozen=True)
class Hacc:
    """HACC I/O: the ranks from 4/10 to 5/10 write their particles, a tenth of all; every rank has the same number.

    `side`³ particles of `particle` bytes.
    """

    nodes: int
    side: int = 768
    particle: int = 38

    def rank_bytes(self) -> Bytes:
        """See `Workload.rank_bytes`."""
        count = self.nodes * RANKS
        found = np.zeros(count, np.int64)
        found[4 * count // 10 : 5 * count // 10] = self.side**3 * self.particle // count
        return found


def node_bytes(workload: Workload) -> Bytes:
    """Bytes of every node."""
    found: Bytes = workload.rank_bytes().reshape(workload.nodes, RANKS).sum(axis=1)
    return found
