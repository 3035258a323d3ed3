"""Table 6: the number of planned paths on a node of each application, and the planning time (section 6.5)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from isoviz.document import Quantity
from isoviz.planner import CACHE, plan
from isoviz.planner.paths.routes import forget_routes
from isoviz.reproduce import Claim, Columns, experiment
from isoviz.reproduce.isometry.applications import planner_of, transfer_of
from isoviz.reproduce.isometry.assumptions import Assumptions, cluster
from isoviz.reproduce.isometry.figure12 import application

if TYPE_CHECKING:
    from isoviz.planner import Transfer
    from isoviz.reproduce import Row

NODES = 16
"""As in table 6."""
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


def _claims() -> Iterator[Claim]:
    for number, ((name, node), (full, simple, seconds)) in enumerate(PAPER.items()):
        for key, paper in (("full", full), ("simple", simple)):
            count = Claim(f"{name}, {node}: {key} paths", f"{paper}", paper, (number, key), "count")
            yield count.put_in(_WHY[name]) if (name, key) in _PUT_IN else count.because(_WHY[name])
        planning = Claim(f"{name}, {node}: planning time", _ms(seconds), seconds, (number, "seconds"), "seconds")
        yield planning.because(partial(_python, number))
    none = "new plans in the second iteration, all applications"
    yield Claim(none, "none", 0, lambda rows: sum(row["again"] for row in rows), "count")


def _python(number: int, rows: Any) -> str:
    return (
        "isoviz plans in Python, and finds the routes of the machine at first; once these are known it is"
        f" {Quantity(rows[number]['known'], 'seconds')}. The paper's planner is C++."
    )


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"


def _paper(row: Row) -> tuple[int, int, float]:
    return PAPER[row["application"], row["node"]]


@experiment(
    "table 6",
    "paths planned on a node, 16 nodes",
    claims=tuple(_claims()),
    shows=(
        Columns(
            (
                ("application", lambda row: f"{row['application']}, {row['node']}"),
                ("full paths", lambda row: f"{row['full']} ({_paper(row)[0]})", "set right"),
                ("simple paths", lambda row: f"{row['simple']} ({_paper(row)[1]})", "set right"),
                ("planning", lambda row: f"{Quantity(row['seconds'], 'seconds')} ({_ms(_paper(row)[2])})", "set right"),
                ("routes known", "known", "seconds"),
                ("new in iteration 2", "again", "count"),
            ),
            caption="In brackets the paper's",
        ),
    ),
)
def table6(given: Assumptions) -> list[dict[str, Any]]:
    """The plans of one node of every application, for Circuit of the master and of another node: paths by planner, the `seconds`
    of planning, those once the routes of the machine are `known`, and the number of new plans in a second iteration.

    A path is planned once for the same memories and layouts (section 4.2), by the full or by the simple planner.
    """
    return [_row(name, node, given) for name, node in PAPER]


def _row(name: str, which: str, given: Assumptions) -> dict[str, Any]:
    """Plans every transfer that starts on a node, for two iterations."""
    node = int(which == "other nodes")
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
    return {
        "application": name,
        "node": which,
        "full": planners.count("full"),
        "simple": planners.count("simple"),
        "seconds": times[0],
        "known": times[1],
        "again": again,
    }
