"""The evaluation of the Isometry paper again, in simulation, beside the statements of the paper."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

from isoviz.bench.reproduce.applications import APPLICATIONS
from isoviz.bench.reproduce.assumptions import Assumptions, Described, described
from isoviz.bench.reproduce.findings import Finding
from isoviz.bench.reproduce.results import figure7, figure8, figure9, figure11, figure12, figure13, table6
from isoviz.bench.reproduce.sensitivity import Row, sensitivity
from isoviz.bench.table import Table

QUICK = Assumptions(instances=4, low_priority=8, launches=16)
"""Fewer instances and launches, for a look and for tests."""
QUICK_NODES = 4
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Reproduction:
    """The results, and the `seconds` that they took."""

    given: Assumptions
    quick: bool
    pipelining: tuple[figure7.Row, ...]
    direct: tuple[figure7.Row, ...]
    one_hop: figure8.Priority
    several_hops: figure8.Priority
    spread: figure8.Priority
    plain: tuple[figure9.Row, ...]
    converting: tuple[figure9.Row, ...]
    mpi: figure11.Comparison
    scaling: dict[str, tuple[figure12.Point, ...]]
    ladder: figure13.Ladder
    planned: tuple[table6.Planned, ...]
    sensitivity: tuple[Row, ...]
    findings: tuple[Finding, ...]
    seconds: float

    @property
    def assumptions(self) -> tuple[Described, ...]:
        """The assumptions in words."""
        return described(self.given)

    @property
    def agreed(self) -> tuple[int, int]:
        """The number of figures that agree with the paper, and of figures that could."""
        judged = [each.agrees for each in self.findings if each.agrees is not None]
        return sum(judged), len(judged)

    @property
    def table(self) -> Table:
        """Ours beside the paper's."""
        return Table(
            "reproduce isometry",
            "Isometry (ICS '18), section 6, in simulation: ours beside the paper's statements",
            {
                "what": ("what", str),
                "where": ("where", str),
                "paper": ("paper", str),
                "text": ("ours", str),
                "verdict": ("", str),
            },
            [{**each.to_json(), "text": each.text} for each in self.findings],
        )

    def to_json(self) -> dict[str, Any]:
        """One JSON object: rates in bytes per second, times in seconds, ratios plain."""
        scaling = {
            name: [
                {**asdict(each), "communication": each.communication, "overall": each.overall, "realm_share": each.share}
                for each in points
            ]
            for name, points in self.scaling.items()
        }
        return {
            **self.table.to_json(),
            "quick": self.quick,
            "seconds": self.seconds,
            "assumptions": [{**each._asdict(), "number": getattr(self.given, each.name)} for each in self.assumptions],
            "figure7": [_pair(row) for row in self.pipelining],
            "direct": [_pair(row) for row in self.direct],
            "figure8": {
                name: {"pair": found.pair.label, "isometry": found.isometry, "alone": found.alone, "realm": found.realm}
                for name, found in (("8a", self.one_hop), ("8b", self.several_hops), ("8a spread", self.spread))
            },
            "figure9": {
                name: [{"pair": row.pair.label, "throughput": row.throughput, "paths": row.paths} for row in rows]
                for name, rows in (("9a", self.plain), ("9b", self.converting))
            },
            "figure11": asdict(self.mpi),
            "figure12": scaling,
            "figure13": asdict(self.ladder),
            "table6": [asdict(row) for row in self.planned],
            "sensitivity": [row._asdict() for row in self.sensitivity],
        }


def _pair(row: figure7.Row) -> dict[str, Any]:
    return {
        "pair": row.pair.label,
        **{field.name: getattr(row, field.name) for field in fields(row) if field.name != "pair"},
        "speedup": row.speedup,
    }


def reproduce(*, quick: bool = False, progress: Progress | None = None) -> Reproduction:
    """Run everything; `quick` with fewer instances and nodes. `progress` is called with the name of each step."""
    given = QUICK if quick else Assumptions()
    say = progress or (lambda _: None)
    began = time.perf_counter()
    say("figure 7: pipelining")
    pipelining, direct = figure7.figure7(given), figure7.direct(given)
    say("figure 8: priorities")
    one, several = figure8.figure8(given, figure8.ONE_HOP), figure8.figure8(given, figure8.SEVERAL_HOPS)
    spread = figure8.figure8(given, figure8.ONE_HOP, spread=True)
    say("figure 9: planners")
    plain, converting = figure9.figure9(given, converting=False), figure9.figure9(given, converting=True)
    say("figure 11: MVAPICH2-GPU")
    mpi = figure11.figure11(given)
    scaling = {}
    for name in APPLICATIONS:
        say(f"figure 12: {name}")
        scaling[name] = figure12.figure12(name, given, QUICK_NODES if quick else figure12.CIRCUIT_NODES)
    say("figure 13: what is switched off")
    ladder = figure13.figure13(given)
    say("table 6: paths planned")
    planned = table6.table6(given)
    say("assumptions halved and doubled")
    turned = sensitivity(given, nodes=QUICK_NODES, names=("threads", "circuit_bytes")) if quick else sensitivity(given)
    rows = tuple(turned)
    findings = (
        *figure7.findings(pipelining, direct),
        *figure8.findings(one, several, spread),
        *figure9.findings(plain, converting),
        *figure11.findings(mpi),
        *figure12.findings(scaling["PageRank"], scaling["VGG-16"], scaling["Circuit"]),
        *figure13.findings(ladder),
        *table6.findings(planned),
    )
    return Reproduction(
        given,
        quick,
        pipelining,
        direct,
        one,
        several,
        spread,
        plain,
        converting,
        mpi,
        scaling,
        ladder,
        planned,
        rows,
        findings,
        time.perf_counter() - began,
    )
