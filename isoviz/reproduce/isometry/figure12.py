"""Figure 12: the applications on more and more nodes, with the same work on each node (section 6.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from isoviz.reproduce.figure import OTHER, OURS, THEIRS, Bar, Bars, Figure, Grid, Group, Section
from isoviz.reproduce.isometry.applications import APPLICATIONS, Application, isometry_seconds, realm_seconds
from isoviz.reproduce.statement import Statement, change, share
from isoviz.units import format_seconds

if TYPE_CHECKING:
    from isoviz.reproduce.isometry.assumptions import Assumptions

_STEP = (
    "it depends on how Realm's threads fall into step: with as many threads as transfers, as on 4 nodes, they do all first hops,"
    " then all second ones"
)
CIRCUIT_NODES = 64
"""The largest run of Circuit, at which the paper gives the share of communication."""


@dataclass(frozen=True)
class Point:
    """An iteration on `nodes` nodes, in seconds: compute time, and communication by Isometry and by Realm."""

    nodes: int
    compute: float
    isometry: float
    realm: float

    @property
    def communication(self) -> float:
        """Isometry's communication against Realm's: −0.4 is 40 % less."""
        return self.isometry / self.realm - 1.0

    @property
    def overall(self) -> float:
        """The whole iteration by Isometry against Realm."""
        return (self.compute + self.isometry) / (self.compute + self.realm) - 1.0

    @property
    def share(self) -> float:
        """Communication in Realm's iteration."""
        return self.realm / (self.compute + self.realm)


def application(name: str, given: Assumptions) -> Application:
    """An application with its compute time. That of Circuit follows from the share of communication that the paper gives."""
    return _application(name, given)


@lru_cache(maxsize=64)
def _application(name: str, given: Assumptions) -> Application:
    app = APPLICATIONS[name](given)
    if name != "Circuit":
        return app
    communication = realm_seconds(app, CIRCUIT_NODES, given)
    return replace(app, compute=communication * (1 - given.circuit_share) / given.circuit_share)


def point(app: Application, nodes: int, given: Assumptions) -> Point:
    """One point of the figure."""
    return Point(nodes, app.compute, isometry_seconds(app, nodes, given), realm_seconds(app, nodes, given))


def figure12(name: str, given: Assumptions, most: int = 64) -> tuple[Point, ...]:
    """The points of one application, up to `most` nodes."""
    app = application(name, given)
    return tuple(point(app, nodes, given) for nodes in app.sizes if nodes <= most)


def statements(page_rank: tuple[Point, ...], vgg: tuple[Point, ...], circuit: tuple[Point, ...]) -> tuple[Statement, ...]:
    """Beside the paper."""
    several = [each for each in page_rank if each.nodes > 1]
    judged = [
        *(
            Statement(
                "6.5, figure 12",
                f"{name}: communication, {what}",
                "−40 to −80 %",
                -0.80,
                -0.40,
                pick(each.communication for each in points),
                "change",
                why,
            )
            for name, points, why in (
                (f"PageRank on {several[0].nodes} to {several[-1].nodes} nodes", several, _STEP),
                (f"VGG-16 on 1 to {vgg[-1].nodes} nodes", list(vgg), ""),
            )
            for what, pick in (("least saved", max), ("most saved", min))
        ),
        Statement(
            "6.5, figure 12",
            "PageRank and VGG-16: whole run, most saved",
            "up to −60 %",
            -0.60,
            -0.60,
            min(each.overall for each in (*page_rank, *vgg)),
            "change",
            f"PageRank's; VGG-16's run gains {change(min(each.overall for each in vgg))} at most, since an iteration of"
            f" {vgg[0].compute:.1f} s computing is assumed (communication: {share(vgg[-1].share)} of Realm's run)",
        ),
        Statement(
            "6.5",
            "VGG-16 on one node (direct transfers that convert): communication",
            "−44 %",
            -0.44,
            -0.44,
            vgg[0].communication,
            "change",
            "Isometry converts on the way into ZCM while the GPU reads; Realm's model converts in SYS first and then copies. The"
            " bandwidths of Memcpy and GPUWrite on XStream, which decide it, are assumed.",
        ),
    ]
    last = circuit[-1]
    if last.nodes == CIRCUIT_NODES:
        where = f"Circuit on {CIRCUIT_NODES} nodes"
        judged += [
            Statement(
                "6.5",
                f"{where}: communication in Realm's run",
                "36 %",
                0.36,
                0.36,
                last.share,
                "share",
                "the compute time was set so",
                given=True,
            ),
            Statement(
                "6.5",
                f"{where}: communication",
                "−43 %",
                -0.43,
                -0.43,
                last.communication,
                "change",
                "sizes and kinds of the master's transfers are assumed; it moves with the number of DMA threads and with the"
                " bandwidth of the GPUs' links, which are assumed as well (see the table of assumptions)",
            ),
            Statement(
                "6.5",
                f"{where}: whole run",
                "−16 %",
                -0.16,
                -0.16,
                last.overall,
                "change",
                "follows from the two figures above it",
            ),
        ]
    return tuple(judged)


def section(scaling: Mapping[str, tuple[Point, ...]]) -> Section:
    """An iteration of each application, computing and communicating."""
    figures = [
        Figure(f"figure12-{name.lower()}", _picture(name, points), (_grid(name, points),), name)
        for name, points in scaling.items()
    ]
    return Section("Figure 12: applications on more and more nodes", figures)


def _picture(name: str, points: tuple[Point, ...]) -> Bars:
    groups = [
        Group(
            f"{each.nodes} node{'s'[: each.nodes > 1]}",
            "",
            tuple(
                Bar(((OTHER, each.compute), (token, seconds)), format_seconds(each.compute + seconds))
                for token, seconds in ((OURS, each.isometry), (THEIRS, each.realm))
            ),
            f"{change(each.communication)} / {change(each.overall)}",
        )
        for each in points
    ]
    legend = ((OTHER, "computing"), (OURS, "communication, Isometry"), (THEIRS, "Realm"))
    return Bars(groups, legend, title=f"{name}: an iteration", right="communication / run")


def _grid(name: str, points: tuple[Point, ...]) -> Grid:
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
