"""Figure 6: one to nine paths between two of 512 nodes (section 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz.planner import Options, plan
from isoviz.reproduce.bgq.assumptions import KIB, MIB, machine, torus_of
from isoviz.reproduce.bgq.curves import Curve, throughput_figure
from isoviz.reproduce.bgq.messages import MESSAGES, message, one_path, several_paths, throughput
from isoviz.reproduce.bgq.paths import paths_between
from isoviz.reproduce.figure import Grid, Section
from isoviz.reproduce.statement import Statement, share
from isoviz.units import format_bytes, format_rate

if TYPE_CHECKING:
    from isoviz.reproduce.bgq.assumptions import BgqAssumptions

NODES, PATHS = 512, 9
SINGLE = 1.7e9
"""Bytes per second: the most over a single route (section 5.2), so nine have 15.3 GB/s."""
PLANNED = (64 * KIB, 32 * MIB)
"""Messages that isoviz plans itself."""


@dataclass(frozen=True)
class PlannedMessage:
    """A message that isoviz plans: its size, the number of its paths, its throughput."""

    nbytes: int
    paths: int
    throughput: float


@dataclass(frozen=True)
class NinePaths:
    """Throughputs: direct by MPI, and by PAMI over 1, 2, … paths in equal parts. `proxies` are those of each path."""

    direct: Curve
    paths: dict[int, Curve]
    proxies: tuple[int, ...]
    planned: tuple[PlannedMessage, ...]

    def best(self, nbytes: int) -> int:
        """The number of paths with the highest throughput."""
        return max(self.paths, key=lambda count: self.paths[count][nbytes])

    def size_from(self, count: int) -> int:
        """The smallest message for which at least `count` paths are best."""
        return next(nbytes for nbytes in sorted(self.direct) if self.best(nbytes) >= count)


def figure6(
    given: BgqAssumptions,
    sizes: Sequence[int] = MESSAGES,
    planned: Sequence[int] = PLANNED,
    counts: Sequence[int] = range(1, PATHS + 1),
) -> NinePaths:
    """The curves of these numbers of paths, and some messages planned by isoviz."""
    partition = machine(NODES, given)
    torus = torus_of(partition)
    there = torus.topology.router(given.destination)
    (paths,) = paths_between(torus, [(0, there)])
    curves = {
        count: {nbytes: throughput(several_paths(partition, paths[:count], nbytes), partition) for nbytes in sizes}
        for count in counts
    }
    direct = {nbytes: throughput(one_path(partition, (0, there), nbytes, "mpi", nbytes), partition) for nbytes in sizes}
    options, plans = Options(planner="multipath"), []
    for nbytes in planned:
        made = plan(message(0, there, nbytes), partition, options=options)
        plans.append(PlannedMessage(nbytes, len(made.paths), throughput(made, partition)))
    return NinePaths(direct, curves, tuple(len(path) - 2 for path in paths), tuple(plans))


def most(given: BgqAssumptions) -> float:
    """The throughput of the largest message over nine paths."""
    return max(figure6(given, MESSAGES[-1:], (), (PATHS,)).paths[PATHS].values())


def best_from(given: BgqAssumptions, count: int = 2) -> float:
    """The smallest message for which at least `count` paths are best."""
    found = figure6(given, MESSAGES[2:8], (), (1, *range(count, PATHS + 1)))
    return float(found.size_from(count))


def statements(found: NinePaths, unbounded: float) -> tuple[Statement, ...]:
    """Beside the paper. `unbounded` is the throughput of nine paths where reception does not bound it."""
    largest, small = max(found.direct), 4 * KIB
    nine = found.paths[max(found.paths)]
    where = "5.2, figure 6"
    usual = max(found.proxies, key=found.proxies.count)
    why = (
        "the direct path has no proxy, so nothing waits; a part through a proxy takes two messages at least. All parts are equal"
        f" and leave at once, so all {found.proxies.count(usual)} paths with {usual} proxies pay from the same size on. The steps"
        " of the paper need costs that grow with the number of paths, such as a thread that starts one message after the other"
    )
    return (
        Statement(where, "link-disjoint paths between two nodes", "9", 9, 9, len(found.proxies), "count"),
        Statement(
            *(where, "nine paths, highest throughput", "12 GB/s", 12e9, 12e9, max(nine.values()), "rate"),
            "what the one reception FIFO of a node takes is set to this figure",
            given=True,
        ),
        Statement(
            *(where, "nine paths, if reception did not bound them", "15.3 GB/s at most", 9 * SINGLE, 9 * SINGLE, unbounded),
            "rate",
            "what is missing to 15.3 GB/s is the time of the first windows",
        ),
        Statement(
            *(where, "nine paths over direct MPI, largest message", "7.8 ×", 7.8, 7.8, nine[largest] / found.direct[largest]),
            "times",
            "12 GB/s by 7.8 is 1.54 GB/s for a direct message; in figure 5 of the paper, and in isoviz, it has 1.7 GB/s",
        ),
        Statement(
            *(where, "two paths over direct MPI, largest message", "2 ×", 2.0, 2.0),
            *(found.paths[2][largest] / found.direct[largest], "times"),
        ),
        Statement(
            *(where, "nine paths over one, 4 KB", "less", None, 1.0, nine[small] / found.paths[1][small], "times"),
        ),
        *(
            Statement(
                where, f"{words} or more paths are best from", text, size, size, float(found.size_from(count)), "bytes", why
            )
            for count, words, size, text in (
                (2, "two", 4 * KIB, "4 KB"),
                (3, "three", 16 * KIB, "16 KB"),
                (4, "four", 32 * KIB, "32 KB"),
            )
        ),
    )


def section(found: NinePaths) -> Section:
    """The figure, and what isoviz plans."""
    shown = {f"{count} path{'s'[: count > 1]}": found.paths[count] for count in (1, 2, 3, 5, 7, 8, 9) if count in found.paths}
    figure = throughput_figure("figure6", "Figure 6: paths between two of 512 nodes", {"direct, MPI": found.direct} | shown)
    rows = []
    for each in found.planned:
        best = found.paths[found.best(each.nbytes)][each.nbytes]
        rows.append((format_bytes(each.nbytes), f"{each.paths}", format_rate(each.throughput), share(each.throughput / best)))
    header = ("message", "paths", "throughput", "of the best equal parts")
    return Section("Figure 6: nine paths", (figure, Grid("Messages that isoviz plans, in unequal parts", header, rows)))
