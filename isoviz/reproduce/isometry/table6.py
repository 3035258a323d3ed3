"""Table 6: the number of planned paths on a node of each application, and the planning time (section 6.5)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz.planner import CACHE, plan
from isoviz.planner.paths.routes import forget_routes
from isoviz.reproduce.figure import Grid, Section
from isoviz.reproduce.isometry.applications import planner_of, transfer_of
from isoviz.reproduce.isometry.assumptions import cluster
from isoviz.reproduce.isometry.figure12 import application
from isoviz.reproduce.statement import Statement
from isoviz.units import format_seconds

if TYPE_CHECKING:
    from isoviz.planner import Transfer
    from isoviz.reproduce.isometry.assumptions import Assumptions

NODES = 16
"""As in table 6."""


@dataclass(frozen=True)
class Planned:
    """The plans of one node: paths by planner, their planning time, the planning time once the routes of the machine are known,
    and the number of new plans in a second iteration."""

    application: str
    node: str
    full: int
    simple: int
    seconds: float
    known: float
    again: int


def table6(given: Assumptions) -> tuple[Planned, ...]:
    """Every application; for Circuit the master and another node."""
    rows = []
    for name, node, who in (
        ("Circuit", 0, "master"),
        ("Circuit", 1, "other nodes"),
        ("PageRank", 0, "per node"),
        ("VGG-16", 0, "per node"),
    ):
        rows.append(_planned(name, node, who, given))
    return tuple(rows)


def _planned(name: str, node: int, who: str, given: Assumptions) -> Planned:
    """Plans every transfer that starts on a node, for two iterations. A path is planned once for the same memories and layouts
    (section 4.2), by the full or by the simple planner."""
    app = application(name, given)
    machine = cluster(app.cluster, given, NODES, app.gpus)
    moves = [move for phase in app.phases(NODES) for move in phase if move.here == node]
    jobs = {(transfer_of(move, move.here, move.there), planner_of(move)): None for move in moves}
    new: dict[tuple[str, ...], tuple[Transfer, str]] = {}
    for transfer, planner in jobs:
        source, destination = transfer.source, transfer.destination
        key = (source.memory, str(source.layout), destination.memory, str(destination.layout), planner)
        new.setdefault(key, (transfer, planner))
    forget_routes()
    times = []
    for _ in range(2):
        CACHE.clear()
        began = time.perf_counter()
        for transfer, planner in new.values():
            plan(transfer, machine, planner)
        times.append(time.perf_counter() - began)
    for transfer, planner in jobs:  # the rest of the first iteration: paths known, other sizes
        plan(transfer, machine, planner)
    before = CACHE.statistics.hits
    for transfer, planner in jobs:
        plan(transfer, machine, planner)
    again = len(jobs) - (CACHE.statistics.hits - before)
    planners = [planner for _, planner in new.values()]
    return Planned(name, who, planners.count("full"), planners.count("simple"), times[0], times[1], again)


PAPER = {
    ("Circuit", "master"): (96, 50, 5.5e-3),
    ("Circuit", "other nodes"): (5, 2, 0.3e-3),
    ("PageRank", "per node"): (16, 0, 0.8e-3),
    ("VGG-16", "per node"): (16, 4, 0.9e-3),
}
"""Table 6: full paths, simple paths, seconds of planning."""
_WHY = {
    "Circuit": "how many memories of each node the master's transfers touch is assumed",
    "PageRank": "the pattern was chosen by this count: one GPU per node, and large transfers only",
    "VGG-16": "as PageRank's pattern; small transfers (labels, losses) are assumed",
}
_PUT_IN = {("PageRank", "full"), ("PageRank", "simple"), ("VGG-16", "full")}
"""Counts that the patterns were chosen by: they test nothing."""


def statements(rows: tuple[Planned, ...]) -> tuple[Statement, ...]:
    """Beside the paper."""
    judged = []
    for row in rows:
        full, simple, seconds = PAPER[row.application, row.node]
        name = row.application
        what, why = f"{name}, {row.node}", _WHY[name]
        judged += [
            Statement("table 6", f"{what}: full paths", f"{full}", full, full, row.full, "count", why, (name, "full") in _PUT_IN),
            Statement(
                "table 6",
                f"{what}: simple paths",
                f"{simple}",
                simple,
                simple,
                row.simple,
                "count",
                why,
                (name, "simple") in _PUT_IN,
            ),
            Statement(
                "table 6",
                f"{what}: planning time",
                f"{1e3 * seconds:.1f} ms",
                seconds,
                seconds,
                row.seconds,
                "seconds",
                f"isoviz plans in Python, and finds the routes of the machine at first; once these are known it is"
                f" {format_seconds(row.known)}. The paper's planner is C++.",
            ),
        ]
    judged.append(
        Statement(
            "table 6",
            "new plans in the second iteration, all applications",
            "none",
            0,
            0,
            sum(row.again for row in rows),
            "count",
        )
    )
    return tuple(judged)


def section(rows: tuple[Planned, ...]) -> Section:
    """Paths and planning times, the paper's in brackets."""
    cells = []
    for row in rows:
        full, simple, seconds = PAPER[row.application, row.node]
        cells.append(
            (
                f"{row.application}, {row.node}",
                f"{row.full} ({full})",
                f"{row.simple} ({simple})",
                f"{format_seconds(row.seconds)} ({1e3 * seconds:.1f} ms)",
                format_seconds(row.known),
                str(row.again),
            )
        )
    header = ("application", "full paths", "simple paths", "planning", "routes known", "new in iteration 2")
    return Section(
        "Table 6: paths planned", (Grid("Table 6: paths planned on a node, 16 nodes; in brackets the paper's", header, cells),)
    )
