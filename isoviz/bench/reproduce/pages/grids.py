"""The tables of a reproduction as text cells, for the terminal, the page and the report in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from isoviz.bench.reproduce.findings import change, share, times
from isoviz.bench.reproduce.results.figure8 import THREADS
from isoviz.bench.reproduce.results.figure9 import PLANNERS, WITHOUT
from isoviz.units import format_rate, format_seconds

if TYPE_CHECKING:
    from isoviz.bench.reproduce.isometry import Reproduction
    from isoviz.bench.reproduce.results import figure7, figure9, figure12


class Grid(NamedTuple):
    """A table: the first `words` columns are text, the others numbers."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1

    def text(self) -> str:
        """For a terminal."""
        cells = [self.header, *self.rows]
        widths = [max(len(row[k]) for row in cells) for k in range(len(self.header))]
        return "\n".join([self.title, *(self._line(row, widths) for row in cells)])

    def _line(self, row: Sequence[str], widths: Sequence[int]) -> str:
        padded = [
            cell.ljust(width) if k < self.words else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(padded).rstrip()

    def markdown(self) -> str:
        """For a report."""
        rules = ["---"] * self.words + ["---:"] * (len(self.header) - self.words)
        return "\n".join(f"| {' | '.join(row)} |" for row in (self.header, rules, *self.rows))


def findings(found: Reproduction) -> Grid:
    """The figures of isoviz beside the paper's, without reasons."""
    rows = [(each.where, each.what, each.paper, each.text, each.verdict) for each in found.findings]
    return Grid("Ours beside the paper's statements", ("where", "what", "paper", "ours", ""), rows, 5)


def reasons(found: Reproduction) -> tuple[tuple[str, str], ...]:
    """The figures with reasons, and the reasons."""
    kept: dict[str, list[str]] = {}
    for each in found.findings:
        if each.why:
            kept.setdefault(each.why, []).append(f"{each.what} ({each.verdict})")
    return tuple(("; ".join(figures), why) for why, figures in kept.items())


def pipelining(rows: Iterable[figure7.Row], title: str) -> Grid:
    """Figure 7."""
    return Grid(
        title,
        ("transfer", "Isometry", "Realm", "speedup", "hardware limit", "Isometry ÷ limit"),
        [
            (
                row.pair.label,
                format_rate(row.isometry),
                format_rate(row.realm),
                times(row.speedup),
                format_rate(row.limit),
                share(row.isometry / row.limit),
            )
            for row in rows
        ],
    )


def priorities(found: Reproduction) -> Grid:
    """Figure 8."""
    rows = []
    for name, each in (
        ("one hop", found.one_hop),
        ("several hops", found.several_hops),
        ("one hop, others spread over the channels", found.spread),
    ):
        rows.append(
            (
                f"{name} ({each.pair.label})",
                format_seconds(each.alone),
                format_seconds(each.isometry),
                *(f"{format_seconds(each.realm[threads])} ({change(each.change(threads))})" for threads in THREADS),
            )
        )
    header = ("transfer of high priority", "alone", "Isometry", *(f"Realm, {n} thread{'s'[: n > 1]}" for n in THREADS))
    return Grid("Figure 8: completion time of a transfer of high priority", header, rows)


def planners(rows: Iterable[figure9.Row], *, converting: bool) -> Grid:
    """Figure 9."""
    names = PLANNERS if converting else WITHOUT
    return Grid(
        "Figure 9b: AOS to SOA" if converting else "Figure 9a: no conversion",
        ("transfer", "full's path", *names),
        [
            (
                row.pair.label,
                " → ".join(map(_short, row.paths["full"])),
                *(format_rate(row.throughput[name]) for name in names),
            )
            for row in rows
        ],
        2,
    )


def _short(memory: str) -> str:
    """The name of a memory in the paper's figures; `*` is the other node."""
    node, _, name = memory.partition(".")
    return name.rstrip("0123456789").upper() + "*" * (node != "node0")


def packing(found: Reproduction) -> Grid:
    """Figure 11."""
    mpi = found.mpi
    return Grid(
        "Figure 11: FBM → FBM*, beside MVAPICH2-GPU",
        ("", "Isometry", "MVAPICH2-GPU", "ratio"),
        [
            ("no conversion", format_rate(mpi.isometry), format_rate(mpi.mpi), times(mpi.isometry / mpi.mpi)),
            (
                "AOS to SOA, packs within the GPU",
                format_rate(mpi.isometry_converting),
                format_rate(mpi.mpi_packing),
                times(mpi.speedup),
            ),
            (
                "AOS to SOA, packs on the way to the host",
                format_rate(mpi.isometry_converting),
                format_rate(mpi.mpi_packing_on_the_way),
                times(mpi.isometry_converting / mpi.mpi_packing_on_the_way),
            ),
        ],
    )


def scaling(name: str, points: Iterable[figure12.Point]) -> Grid:
    """Figure 12."""
    return Grid(
        f"Figure 12: {name}, an iteration",
        ("nodes", "computing", "Isometry: communication", "Realm: communication", "its share", "communication", "whole run"),
        [
            (
                str(each.nodes),
                format_seconds(each.compute),
                format_seconds(each.isometry),
                format_seconds(each.realm),
                share(each.share),
                change(each.communication),
                change(each.overall),
            )
            for each in points
        ],
        0,
    )


def ladder(found: Reproduction) -> Grid:
    """Figure 13."""
    steps = found.ladder
    rows = []
    for k, name in enumerate(steps.names):
        factors = [times(steps.factor(k, alone=alone)) if k else "" for alone in (False, True)]
        rows.append((name, format_seconds(steps.together[k]), factors[0], format_seconds(steps.alone[k]), factors[1]))
    header = ("switched off", "all transfers", "÷ before", "one transfer", "÷ before")
    return Grid("Figure 13: PageRank's transfers on 16 nodes, optimisations switched off in turn", header, rows)


def paths(found: Reproduction) -> Grid:
    """Table 6."""
    from isoviz.bench.reproduce.results.table6 import PAPER

    rows = []
    for row in found.planned:
        full, simple, seconds = PAPER[row.application, row.node]
        rows.append(
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
    return Grid("Table 6: paths planned on a node, 16 nodes; in brackets the paper's", header, rows)


def assumptions(found: Reproduction) -> Grid:
    """The assumptions."""
    return Grid(
        "Assumptions",
        ("what", "value", "where it comes from"),
        [(each.what, each.value, each.origin) for each in found.assumptions],
        3,
    )


def turned(found: Reproduction) -> Grid:
    """The figures that depend on assumptions."""
    return Grid(
        "Each assumption halved and doubled, or turned into its alternative",
        ("assumption", "value", "figure", "as it is", "halved", "doubled", "alternative"),
        [
            (
                *(("", "") if row.assumption == before else (row.assumption, row.value)),
                row.metric,
                *(row.text(which) for which in ("base", "halved", "doubled", "alternative")),
            )
            for before, row in zip(("", *(each.assumption for each in found.sensitivity)), found.sensitivity, strict=False)
        ],
        3,
    )


def everything(found: Reproduction) -> tuple[Grid, ...]:
    """All tables in the order of the paper."""
    return (
        findings(found),
        pipelining(found.pipelining, f"Figure 7: {found.given.instances} instances of 128 MiB, several hops"),
        pipelining(found.direct, "Table 5: the same over single channels"),
        priorities(found),
        planners(found.plain, converting=False),
        planners(found.converting, converting=True),
        packing(found),
        *(scaling(name, points) for name, points in found.scaling.items()),
        ladder(found),
        paths(found),
        assumptions(found),
        turned(found),
    )
