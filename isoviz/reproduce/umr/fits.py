"""What figures 8 and 10 leave open: sets of costs that fit both, drawn at random, and what such sets say of the other figures."""

from __future__ import annotations

import math
from dataclasses import fields
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.document import Quantity
from isoviz.reproduce import Claim, Columns, experiment
from isoviz.reproduce.claim import TOLERANCE
from isoviz.reproduce.umr.assumptions import CONTIGUOUS, KIB, UmrAssumptions
from isoviz.reproduce.umr.figure10 import BLOCKS as VECTORS
from isoviz.reproduce.umr.figure10 import SIZES

if TYPE_CHECKING:
    from numpy.typing import NDArray


US, GB = 1e-6, 1e9
RANGES: dict[str, tuple[float, float]] = {
    "launch": (1 * US, 15 * US),
    "pack": (100 * GB, 800 * GB),
    "handshake": (2 * US, 12 * US),
    "wire": (8 * GB, 24 * GB),
    "copy": (2 * US, 12 * US),
    "pcie": (8 * GB, 24 * GB),
    "post": (0.1 * US, 2 * US),
    "gather": (0.002 * US, 0.3 * US),
    "runs_of_key": (4, 128),
    "map_key": (0.3 * US, 10 * US),
    "map_run": (0.02 * US, 1 * US),
    "exchange": (0.01 * US, 0.5 * US),
    "block": (2 * US, 20 * US),
}
"""Assumed: what is plausible for each cost. Draws are uniform in the logarithm."""


class Times:
    """Seconds of the schemes in formulas, for one set of costs or for arrays of many: of `runs` runs with `run` bytes each, which
    are scattered at `ends` ends. For one set they are those of the plans."""

    def __init__(self, costs: Any) -> None:
        self.costs = costs

    def kernels(self, runs: int, run: int, ends: int = 2) -> Any:
        """Packing and unpacking."""
        costs = self.costs
        return ends * (costs.launch + runs * (run + costs.sector) / costs.pack)

    def packed(self, runs: int, run: int, ends: int = 2) -> Any:
        """pack-gdr."""
        costs = self.costs
        return self.kernels(runs, run, ends) + costs.handshake + costs.post + runs * run / costs.wire

    def staged(self, runs: int, run: int, ends: int = 2) -> Any:
        """pack-stage."""
        costs, nbytes = self.costs, runs * run
        through = 2 * (costs.copy + costs.row + nbytes / costs.pcie)
        return self.kernels(runs, run, ends) + through + self._between_hosts(nbytes)

    def _between_hosts(self, nbytes: int) -> Any:
        costs = self.costs
        return costs.handshake + costs.post + costs.message + nbytes / costs.network

    def copied(self, runs: int, run: int, ends: int = 2) -> Any:
        """A copy for every block; a contiguous end is one block."""
        costs, nbytes = self.costs, runs * run
        blocks = ends * runs + 2 - ends
        begun = 2 * np.maximum(0.0, costs.copy - costs.block)
        return begun + blocks * costs.block + 2 * nbytes / costs.pcie + self._between_hosts(nbytes)

    def keys(self, runs: int) -> Any:
        """Keys of equal runs."""
        return np.ceil(runs / self.costs.runs_of_key)

    def keyed(self, runs: int, run: int) -> Any:
        """UMR, with its caches filled."""
        costs = self.costs
        return costs.handshake + self.keys(runs) * costs.post + runs * costs.gather + runs * run / costs.wire

    def mapped(self, runs: int) -> Any:
        """To map the keys of one end."""
        return self.keys(runs) * self.costs.map_key + runs * self.costs.map_run

    def first(self, runs: int, run: int) -> Any:
        """UMR at its first start."""
        return self.keyed(runs, run) + 2 * self.mapped(runs) + self.keys(runs) * self.costs.exchange


def figures(costs: Any) -> dict[str, Any]:
    """The figures of the paper by their names, from the formulas: for a set of costs, or for arrays of many."""
    times = Times(costs)
    ends = 1 if costs.receiver == CONTIGUOUS else 2
    vectors = [(count, size) for size in SIZES for count in VECTORS]
    milc = [(64, 768 << power) for power in range(4)]
    of_figures, mapped = [milc["ABCD".index(grid)] for grid in costs.grids], times.mapped(64)
    grids = [(64, 4080), (64, 8176), (118, 16368)]
    meshes = [(count, 4 * KIB) for count in (32, 64, 128)]

    faces = [(128 * 128, 8), (128, KIB), (1, 128 * KIB)]
    each = [(face, times.packed(*face, 2 if face[0] > 1 else 0)) for face in faces]
    packed_faces = sum(seconds for _, seconds in each)

    def over(scheme: Any, cases: Any, best: Any, *scattered: int) -> Any:
        return best([scheme(*case, *scattered) / times.keyed(*case) for case in cases], 0)

    return {
        "8: default over cached, 16 blocks": times.first(16, KIB) / times.keyed(16, KIB),
        "8: default over cached, 64 blocks": times.first(64, KIB) / times.keyed(64, KIB),
        "10: pack-gdr over UMR, most": over(times.packed, vectors, np.max),
        "10: pack-stage over UMR, most": over(times.staged, vectors, np.max),
        "2: largest share of packing": np.max([times.kernels(*case) / times.packed(*case) for case in of_figures], 0),
        "3: largest share of mapping": np.max([mapped / (times.keyed(*case) + mapped) for case in of_figures], 0),
        "9: all faces by UMR": packed_faces / sum(times.keyed(*face) for face in faces),
        "9: each face by the better scheme": packed_faces / sum(np.minimum(times.keyed(*face), p) for face, p in each),
        "11a: pack-gdr over UMR, least": over(times.packed, milc, np.min),
        "11a: a copy for every block over UMR, least": over(times.copied, milc, np.min),
        "11b: pack-gdr over UMR, least": over(times.packed, grids, np.min),
        "11b: a copy for every block over UMR, most": over(times.copied, grids, np.max),
        "11c: pack-gdr over UMR, least": over(times.packed, meshes, np.min, ends),
        "11c: a copy for every block over UMR, most": over(times.copied, meshes, np.max, ends),
    }


PAPER: dict[str, tuple[float, float | None]] = {
    "8: default over cached, 16 blocks": (2, 2),
    "8: default over cached, 64 blocks": (3, 3),
    "10: pack-gdr over UMR, most": (2, 2),
    "10: pack-stage over UMR, most": (3, 3),
    "2: largest share of packing": (0.4, 0.4),
    "3: largest share of mapping": (0.4, 0.4),
    "9: all faces by UMR": (2, 2),
    "9: each face by the better scheme": (2, 2),
    "11a: pack-gdr over UMR, least": (1.15, None),
    "11a: a copy for every block over UMR, least": (10, None),
    "11b: pack-gdr over UMR, least": (1.5, None),
    "11b: a copy for every block over UMR, most": (30, 30),
    "11c: pack-gdr over UMR, least": (1.2, 1.2),
    "11c: a copy for every block over UMR, most": (20, 20),
}
"""The figures of the paper: from, to."""


def _holds(found: NDArray[np.float64], name: str) -> NDArray[np.bool_]:
    low, high = PAPER[name]
    above = found >= low * (1 - TOLERANCE)
    return above if high is None else above & (found <= high * (1 + TOLERANCE))


def drawn(given: UmrAssumptions, draws: int) -> Any:
    """Random costs as arrays, the others as they are given."""
    random = np.random.default_rng(2)
    found = {name: np.exp(random.uniform(math.log(low), math.log(high), draws)) for name, (low, high) in RANGES.items()}
    found["runs_of_key"] = np.floor(found["runs_of_key"])
    return SimpleNamespace(**{**{each.name: getattr(given, each.name) for each in fields(given)}, **found})


FITTED = tuple(name for name in PAPER if name.startswith(("8", "10")))
LEAST = 20
"""With fewer sets that fit, nothing is said of them."""


@experiment(
    "figures 8 and 10",
    "what they leave open",
    claims=(
        Claim("random sets of costs that fit figures 8 and 10", "none", None, "fits", "count"),
        Claim("of 10 other figures, the most that agree at once in such a set", "none", None, "most", "count").because(
            "figure 9 comes out in none of them, and 11b, at least 50 % over MVAPICH2-GDR, excludes figures 2 and 11c"
        ),
    ),
    shows=(
        Columns(
            (
                ("figure", "figure"),
                ("paper", "paper", "set right"),
                ("agrees in", "agrees", "share"),
                ("a tenth is below", "low", "set right"),
                ("half", "middle", "set right"),
                ("nine tenths", "high", "set right"),
                ("with the costs of the presets", "ours", "set right"),
            ),
            lambda found: found["rows"],
            "Costs drawn at random that give figures 8 and 10 to a tenth, and what they say of the others",
        ),
    ),
    quick={"draws": 100_000},
)
def fits(given: UmrAssumptions, draws: int = 400_000) -> dict[str, Any]:
    """Random sets of costs that fit figures 8 and 10: how many there are, and the shares and quantiles of the other figures."""
    found = figures(drawn(given, draws))
    fitting = np.all([_holds(found[name], name) for name in FITTED], 0)
    others = [name for name in PAPER if name not in FITTED]
    held = np.array([_holds(found[name][fitting], name) for name in others])
    count = int(fitting.sum())
    if count < LEAST:
        return {"fits": count, "most": 0, "rows": []}
    ours = figures(given)
    rows = []
    for name, holds in zip(others, held, strict=True):
        low, high = PAPER[name]
        values = [*np.quantile(found[name][fitting], (0.1, 0.5, 0.9)).tolist(), float(ours[name]), low]
        written = [str(Quantity(value, "share" if "share" in name else "times")) for value in values]
        paper = written.pop() if high is not None else f"at least {written.pop()}"
        quantiles = dict(zip(("low", "middle", "high", "ours"), written, strict=True))
        rows.append({"figure": name, "paper": paper, "agrees": float(holds.mean()), **quantiles})
    return {"fits": count, "most": int(held.sum(0).max()), "rows": rows}
