"""Figure 13: PageRank's transfers with Isometry's optimisations switched off one after the other (section 6.5)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isoviz.reproduce.figure import OURS, THEIRS, Bar, Bars, Figure, Grid, Group, Section
from isoviz.reproduce.isometry.applications import Application, Features, Move, Phase, isometry_seconds, realm_seconds
from isoviz.reproduce.isometry.assumptions import cluster
from isoviz.reproduce.isometry.figure12 import application
from isoviz.reproduce.statement import Statement, times
from isoviz.units import format_seconds

if TYPE_CHECKING:
    from isoviz.reproduce.isometry.assumptions import Assumptions

NODES = 16
STEPS = (
    ("Isometry", Features()),
    ("Realm's paths", Features(paths=False)),
    ("and no pipelining", Features(paths=False, pipelined=False)),
    ("and one in flight", Features(paths=False, pipelined=False, in_flight=False)),
)
"""Parts that are switched off, cumulatively as in the paper; the last step is Realm itself."""


@dataclass(frozen=True)
class Ladder:
    """Seconds of PageRank's transfers, by the parts that are switched off: all transfers of an iteration on 16 nodes, and one
    transfer between two GPUs on its own."""

    names: tuple[str, ...]
    network: float
    """How much faster the network is out of REG than out of Realm's temporary instances."""
    together: tuple[float, ...]
    alone: tuple[float, ...]

    def factor(self, step: int, *, alone: bool) -> float:
        """The cost of a step: its seconds divided by those of the step before."""
        seconds = self.alone if alone else self.together
        return seconds[step] / seconds[step - 1]


def figure13(given: Assumptions) -> Ladder:
    """All steps."""
    whole = application("PageRank", given)
    single = _alone(whole)
    machine = cluster(whole.cluster, given)
    registered, plain = (machine.between(f"node0.{kind}", "node1.sys")[0] for kind in ("reg", given.temporaries))
    together = [isometry_seconds(whole, NODES, given, features) for _, features in STEPS]
    alone = [isometry_seconds(single, 2, given, features) for _, features in STEPS]
    return Ladder(
        (*(name for name, _ in STEPS), "Realm"),
        registered.peak / plain.peak,
        (*together, realm_seconds(whole, NODES, given)),
        (*alone, realm_seconds(single, 2, given)),
    )


def _alone(whole: Application) -> Application:
    """Only the transfer from the first GPU to the second one."""

    def phases(nodes: int) -> tuple[Phase, ...]:
        first: Move = next(move for move in whole.phases(nodes)[0] if (move.here, move.there) == (0, 1))
        return ((first,),)

    return replace(whole, phases=phases, alike=False)


def statements(ladder: Ladder) -> tuple[Statement, ...]:
    """Beside the paper."""
    paths, alone = (ladder.factor(1, alone=each) for each in (False, True))
    pipelining = ladder.factor(2, alone=True)
    return (
        Statement(
            "6.5, figure 13",
            "PageRank: speedup by paths, one transfer",
            "1.6 ×",
            1.6,
            1.6,
            alone,
            "times",
            f"all at once: {times(paths)}. While pipelined, a path is as fast as its slowest hop, the network; out of REG that is"
            f" {times(ladder.network)} as fast as out of Realm's temporary instances, as on Sapling (assumed of XStream).",
        ),
        Statement(
            "6.5, figure 13",
            "PageRank: speedup by pipelining, one transfer",
            "2.2 ×",
            2.2,
            2.2,
            pipelining,
            "times",
            "the sum of all hops by the slowest of them. With all transfers of a node at once it is"
            f" {times(ladder.factor(2, alone=False))} as long as each channel has its own worker, since different transfers then"
            " overlap; Realm's threads, which take whole copies in order of arrival, undo that: another"
            f" {times(ladder.factor(4, alone=False))} (last step).",
        ),
        Statement(
            "6.5, figure 13",
            "PageRank: speedup by requests in flight, all transfers",
            "the remainder, no figure",
            None,
            None,
            ladder.factor(3, alone=False),
            "times",
            "the latency that one request at a time leaves open, on the network only",
        ),
        Statement(
            "6.5, figure 13",
            "PageRank: Isometry over Realm, all transfers",
            "more than 1.6 × 2.2",
            3.52,
            None,
            ladder.together[-1] / ladder.together[0],
            "times",
            f"the steps multiply: {' · '.join(times(ladder.factor(step, alone=False)) for step in range(1, len(ladder.names)))};"
            " it is what figure 12 has on 16 nodes",
        ),
    )


def section(steps: Ladder) -> Section:
    """Both ladders, each in units of its first step."""
    groups = []
    for label, seconds in (("all transfers", steps.together), ("one transfer", steps.alone)):
        for k, name in enumerate(steps.names):
            token = OURS if k == 0 else THEIRS if k == len(steps.names) - 1 else "dim0"
            factor = seconds[k] / seconds[0]
            step = times(seconds[k] / seconds[k - 1]) if k else ""
            groups.append(Group(name, label, (Bar(((token, factor),), f"{format_seconds(seconds[k])} ({times(factor)})"),), step))
    legend = ((OURS, "Isometry"), ("dim0", "switched off, cumulatively"), (THEIRS, "Realm"))
    bars = Bars(groups, legend, title="PageRank's transfers on 16 nodes", right="÷ before")
    return Section("Figure 13: optimisations switched off in turn", (Figure("figure13", bars, (_grid(steps),)),))


def _grid(steps: Ladder) -> Grid:
    rows = []
    for k, name in enumerate(steps.names):
        factors = [times(steps.factor(k, alone=alone)) if k else "" for alone in (False, True)]
        rows.append((name, format_seconds(steps.together[k]), factors[0], format_seconds(steps.alone[k]), factors[1]))
    header = ("switched off", "all transfers", "÷ before", "one transfer", "÷ before")
    return Grid("Figure 13: PageRank's transfers on 16 nodes, optimisations switched off in turn", header, rows)
