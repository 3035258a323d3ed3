"""The evaluation of the Isometry paper again, in simulation, beside the statements of the paper."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

from isoviz.reproduce.assumption import Metric, Sensitivity, described, sensitivities
from isoviz.reproduce.isometry import figure7, figure8, figure9, figure11, figure12, figure13, table6
from isoviz.reproduce.isometry.applications import APPLICATIONS
from isoviz.reproduce.isometry.assumptions import Assumptions
from isoviz.reproduce.isometry.figure8 import ONE_HOP, SEVERAL_HOPS, THREADS
from isoviz.reproduce.isometry.microbenchmarks import MULTI_HOP
from isoviz.reproduce.reproduction import Progress, Reproduction

QUICK = Assumptions(instances=4, low_priority=8, launches=16)
"""Fewer instances and launches, for a look and for tests."""
QUICK_NODES = 4
_MODELS = """
Isometry: isoviz plans every transfer and its scheduler carries it out in virtual time, on presets that were fixed beforehand.
Bandwidths of Sapling are those of table 5; XStream's and Moonlight's are published or assumed.

Realm: every transfer is a series of single hops along a shortest path, through temporary instances of its whole size. Each node
has DMA threads; one takes the copy of the highest priority that waits and does it whole. Threads on one channel share it.

MVAPICH2-GPU: blocks go through a pipeline of GPURead, network and GPUWrite; entries that are not contiguous are packed by strided
copies, row by row.

Applications: in an iteration all transfers are launched together, then every node computes. Channels are one of a kind per node,
or per GPU, so the transfers of a node share its network card. Sizes, where the paper gives none, are assumed.
"""
NODES = 16
"""Nodes of the applications in the table of assumptions, those of Circuit too: 64 nodes would take long."""


def _application(name: str, nodes: int, what: str) -> Callable[[Assumptions], float]:
    def value(given: Assumptions) -> float:
        figure: float = getattr(figure12.point(figure12.application(name, given), nodes, given), what)
        return figure

    return value


def metrics(nodes: int) -> dict[str, Metric]:
    """The figures by a short name; those of applications on `nodes` nodes."""
    one, several = (
        lambda given, pair=pair: figure8.figure8(given, pair).change(max(THREADS)) for pair in (ONE_HOP, SEVERAL_HOPS)
    )
    by_name = {
        "pipelining": Metric(
            "figure 7: FBM → FBM*, speedup", "times", lambda given: figure7.figure7(given, MULTI_HOP[:1])[0].speedup
        ),
        "one hop": Metric("figure 8a: one hop, 8 threads", "change", one),
        "hops": Metric("figure 8b: several hops, 8 threads", "change", several),
        "mpi": Metric("figure 11: AOS to SOA, speedup", "times", figure11.speedup),
    }
    for key, name, count, what in (
        ("page rank", "PageRank", nodes, "communication"),
        ("page rank run", "PageRank", nodes, "overall"),
        ("vgg one", "VGG-16", 1, "communication"),
        ("vgg", "VGG-16", nodes, "communication"),
        ("vgg run", "VGG-16", nodes, "overall"),
        ("circuit", "Circuit", nodes, "communication"),
    ):
        said = "whole run" if what == "overall" else what
        where = f"{name}, {count} node{'s'[: count > 1]}: {said}"
        by_name[key] = Metric(where, "change", _application(name, count, what))
    return by_name


AFFECTED: dict[str, tuple[str, ...]] = {
    "threads": ("pipelining", "page rank", "vgg", "circuit"),
    "worker": ("pipelining", "page rank", "vgg", "circuit"),
    "temporaries": ("pipelining", "hops", "page rank", "vgg", "circuit"),
    "conversion": ("vgg one",),
    "page_rank_gpus": ("page rank",),
    "low_priority": ("one hop", "hops"),
    "launches": ("one hop", "hops"),
    "entries": ("one hop", "hops"),
    "request_bytes": ("pipelining", "one hop", "hops"),
    "mpi_block": ("mpi",),
    "mpi_slots": ("mpi",),
    "page_rank_bytes": ("page rank", "page rank run"),
    "page_rank_compute": ("page rank run",),
    "vgg_batch": ("vgg one", "vgg", "vgg run"),
    "vgg_rate": ("vgg run",),
    "circuit_bytes": ("circuit",),
    "circuit_ratio": ("circuit",),
    "latency": ("pipelining", "one hop", "mpi", "page rank", "circuit"),
    "gpu_link": ("page rank", "vgg one", "vgg", "circuit"),
    "memcpy": ("page rank", "vgg one"),
}
"""Assumption → the names of the figures that depend on it (`metrics`)."""


@dataclass(frozen=True)
class Results:
    """What was simulated, and the `seconds` that it took."""

    given: Assumptions
    quick: bool
    pipelining: tuple[figure7.PairThroughput, ...]
    direct: tuple[figure7.PairThroughput, ...]
    one_hop: figure8.Priority
    several_hops: figure8.Priority
    spread: figure8.Priority
    plain: tuple[figure9.PlannerThroughput, ...]
    converting: tuple[figure9.PlannerThroughput, ...]
    mpi: figure11.Comparison
    scaling: dict[str, tuple[figure12.Point, ...]]
    ladder: figure13.Ladder
    planned: tuple[table6.Planned, ...]
    sensitivities: tuple[Sensitivity, ...]
    seconds: float


def evaluate(*, quick: bool = False, progress: Progress | None = None) -> Results:
    """Run everything; `quick` with fewer instances and nodes. `progress` is called with the name of each step."""
    given = QUICK if quick else Assumptions()
    say = progress or (lambda _: None)
    began = time.perf_counter()
    say("figure 7: pipelining")
    pipelining, direct = figure7.figure7(given), figure7.direct(given)
    say("figure 8: priorities")
    one, several = figure8.figure8(given, ONE_HOP), figure8.figure8(given, SEVERAL_HOPS)
    spread = figure8.figure8(given, ONE_HOP, spread=True)
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
    affected = {name: AFFECTED[name] for name in ("threads", "circuit_bytes")} if quick else AFFECTED
    changed = tuple(sensitivities(given, metrics(QUICK_NODES if quick else NODES), affected))
    return Results(
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
        changed,
        time.perf_counter() - began,
    )


def reproduction(results: Results) -> Reproduction:
    """The results beside the paper's statements."""
    given = results.given
    return Reproduction(
        paper="isometry",
        evaluation="Isometry (ICS '18), section 6",
        citation="Jia et al., Isometry: A Path-Based Distributed Data Transfer System, ICS '18, section 6.",
        title="Isometry's evaluation again, in simulation",
        remark="All figures but planning times are simulated.",
        models=tuple(" ".join(each.split()) for each in _MODELS.split("\n\n")),
        facts=(("instances", f"{given.instances}{' (quick)' if results.quick else ''}"),),
        statements=(
            *figure7.statements(results.pipelining, results.direct),
            *figure8.statements(results.one_hop, results.several_hops, results.spread),
            *figure9.statements(results.plain, results.converting),
            *figure11.statements(results.mpi),
            *figure12.statements(results.scaling["PageRank"], results.scaling["VGG-16"], results.scaling["Circuit"]),
            *figure13.statements(results.ladder),
            *table6.statements(results.planned),
        ),
        sections=(
            figure7.section(results.pipelining, results.direct, given),
            figure8.section(results.one_hop, results.several_hops, results.spread),
            figure9.section(results.plain, results.converting),
            figure11.section(results.mpi),
            figure12.section(results.scaling),
            figure13.section(results.ladder),
            table6.section(results.planned),
        ),
        assumptions=described(given),
        sensitivities=results.sensitivities,
        data=_data(results),
        quick=results.quick,
        seconds=results.seconds,
    )


def reproduce(*, quick: bool = False, progress: Progress | None = None) -> Reproduction:
    """Run everything, and set it beside the paper's statements; see `evaluate`."""
    return reproduction(evaluate(quick=quick, progress=progress))


def _data(results: Results) -> dict[str, Any]:
    """The figures as JSON values."""
    return {
        "figure7": [_pair(row) for row in results.pipelining],
        "direct": [_pair(row) for row in results.direct],
        "figure8": {
            name: {"pair": each.pair.label, "isometry": each.isometry, "alone": each.alone, "realm": each.realm}
            for name, each in (("8a", results.one_hop), ("8b", results.several_hops), ("8a spread", results.spread))
        },
        "figure9": {
            name: [{"pair": row.pair.label, "throughput": row.throughput, "paths": row.paths} for row in rows]
            for name, rows in (("9a", results.plain), ("9b", results.converting))
        },
        "figure11": asdict(results.mpi),
        "figure12": {
            name: [
                {**asdict(each), "communication": each.communication, "overall": each.overall, "realm_share": each.share}
                for each in points
            ]
            for name, points in results.scaling.items()
        },
        "figure13": asdict(results.ladder),
        "table6": [asdict(row) for row in results.planned],
    }


def _pair(row: figure7.PairThroughput) -> dict[str, Any]:
    return {
        "pair": row.pair.label,
        **{field.name: getattr(row, field.name) for field in fields(row) if field.name != "pair"},
        "speedup": row.speedup,
    }
