"""Figure 9: the paths that the planners find, without and with a conversion from AOS to SOA (section 6.3)."""

from __future__ import annotations

from typing import Any

from isoviz.document import times
from isoviz.reproduce import Bars, Claim, Columns, Group, Row, Shown, bars_of, experiment, under
from isoviz.reproduce.isometry.assumptions import Assumptions, sapling
from isoviz.reproduce.isometry.microbenchmarks import AOS, PLANNED, SOA, isometry_throughput, planned
from isoviz.reproduce.plots import OURS

COLOURS = {"full": OURS, "simple": "dim0", "spsl": "dim1", "spdl": "dim4"}
"""The planners. Without a conversion all shortest paths are the same, so there are two then."""


def _rates(found: Any, case: str, label: str) -> dict[str, float]:
    return next(row["throughput"] for row in found[case] if row["pair"] == label)


def _full_by_simple(label: str) -> Any:
    return lambda found: _rates(found, "9a", label)["full"] / _rates(found, "9a", label)["simple"]


def _of_full(found: Any, *planners: str) -> float:
    rates = _rates(found, "9b", "SYS → DSK")
    return max(rates[name] for name in planners) / rates["full"]


def _least(found: Any) -> float:
    return min(float(row["throughput"]["simple"] / row["throughput"]["full"]) for row in found["9b"])


def _short(memory: str) -> str:
    """The name of a memory in the paper's figures; `*` is the other node."""
    node, _, name = memory.partition(".")
    return name.rstrip("0123456789").upper() + "*" * (node != "node0")


def _group(row: Row) -> Group:
    rates = row["throughput"]
    bars = bars_of(rates, {name: COLOURS[name] for name in rates}, "rate")
    return Group(row["pair"], "", bars, times(rates["full"] / rates["simple"]), rates["full"])


def _shown(case: str, heading: str, title: str, *planners: str) -> Shown:
    return under(
        heading,
        case[1:],
        Bars([(COLOURS[name], name) for name in planners], lambda found: map(_group, found[case]), "full ÷ simple", title),
        Columns(
            (
                ("transfer", "pair"),
                ("full's path", lambda row: " → ".join(map(_short, row["paths"]["full"]))),
                *((name, ("throughput", name), "rate") for name in planners),
            ),
            lambda found: found[case],
        ),
    )


@experiment(
    "figure 9",
    "planners",
    section="6.3",
    claims=(
        Claim(
            "SYS → SYS*: full (through REG) against simple",
            *("17 % faster", 1.17, _full_by_simple("SYS → SYS*"), "times", "6.3, figure 9a"),
        ),
        Claim("FBM → DSK: full against simple", "the same", 1.0, _full_by_simple("FBM → DSK"), "times", "6.3, figure 9a"),
        Claim(
            "SYS → DSK, AOS to SOA: the better of SPSL and SPDL as a share of full",
            *(
                "poor (read as: below half)",
                (None, 0.5),
                lambda found: _of_full(found, "spsl", "spdl"),
                "share",
                "6.3, figure 9b",
            ),
        ).because(
            "each run of 4 bytes is a request to the disk here, and costs its latency; a file system's cache would gather some"
        ),
        Claim(
            "SYS → DSK, AOS to SOA: simple as a share of full",
            *("both efficient (read as: equal)", 1.0, lambda found: _of_full(found, "simple"), "share", "6.3, figure 9b"),
        ),
        Claim(
            "AOS to SOA: simple as a share of full, where it is least",
            *("reasonably well (read as: at least half)", (0.5, None), _least, "share", "6.3, figure 9b"),
        ),
    ),
    shows=(
        _shown("9a", "Without a conversion", "Throughput by planner, no conversion", "full", "simple"),
        _shown("9b", "AOS to SOA", "Throughput by planner, AOS to SOA", *COLOURS),
    ),
)
def figure9(given: Assumptions) -> dict[str, list[dict[str, Any]]]:
    """A pair of memories: bytes per second and path by planner; figure 9a, and 9b with a conversion."""
    machine = sapling(given)
    found: dict[str, list[dict[str, Any]]] = {}
    for case, layout, planners in (("9a", AOS, ("full", "simple")), ("9b", SOA, tuple(COLOURS))):
        rows = found[case] = []
        for pair in PLANNED:
            plans = {name: planned(machine, pair, name, layout) for name in planners}
            rates = {name: isometry_throughput(machine, plan, given) for name, plan in plans.items()}
            paths = {name: plan.memories for name, plan in plans.items()}
            rows.append({"pair": pair.label, "throughput": rates, "paths": paths})
    return found
