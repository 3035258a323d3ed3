"""The evaluation of several paths on Blue Gene/Q again, in simulation, beside the statements of the paper."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import Any

from isoviz.reproduce.assumption import Metric, Sensitivity, described, sensitivities
from isoviz.reproduce.bgq import figure4, figure6, figure7, figure8, figure9
from isoviz.reproduce.bgq.assumptions import KIB, MIB, BgqAssumptions
from isoviz.reproduce.bgq.messages import MESSAGES
from isoviz.reproduce.bgq.output import figure10, figure12
from isoviz.reproduce.reproduction import Progress, Reproduction

QUICK_MESSAGES = (4 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, MIB, 2 * MIB, 4 * MIB, 32 * MIB)
QUICK_PATHS = (1, 2, 3, 4, 7, 9)
_MODELS = """
Machine: the preset bgq, whose torus routes a message over the links of its default route. A message costs what MPI or PAMI
costs, and moves at 1.7 GB/s at most. All messages over a link share its 1.8 GB/s, and all to a node share what it receives.

Pairs and groups of nodes: paths are those of algorithm 1, in isoviz's search for link-disjoint paths. A message is cut into equal
parts, one for each path, and each part into windows; isoviz's scheduler carries all of them out in virtual time.

Output of whole partitions, over several paths: algorithm 1 with amounts of bytes, from every node to all I/O nodes, so that all
of them have even loads. Bytes are streams, which share links fairly until one ends: 8,192 nodes have too many windows to follow.

Default collective I/O: the two phases of ROMIO with its defaults on Blue Gene/Q. In every round each rank tells each other one
how much it sends, aggregators get the data over the torus, and then write it to the I/O nodes of their bridge nodes.

File system: it takes bytes at the rate of its servers, and gives locks on parts of the file one after the other.
"""
METRICS = {
    "windows": Metric("figure 4: windows through a proxy, 1 MB, share of direct", "share", figure4.share_of_direct),
    "pami": Metric(
        "figure 5: PAMI through a proxy beats MPI up to",
        "bytes",
        lambda given: float(figure4.figure4(given, (KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB)).crossing),
    ),
    "nine": Metric("figure 6: nine paths, largest message", "rate", figure6.most),
    "two": Metric("figure 6: two or more paths are best from", "bytes", figure6.best_from),
    "policy": Metric("figure 7: gain by the policy, 1 MB", "change", figure7.medium_gain),
    "window": Metric("figure 8: best window for 2 MB", "bytes", figure8.best_window),
    "from": Metric("figure 8: windows gain from messages of", "bytes", figure8.windows_from),
    "groups": Metric("figure 9: a pair of 64, 4 MB", "rate", figure9.four_megabytes),
    **{
        key: Metric(
            f"{where}, 8,192 cores: speedup",
            "times",
            lambda given, name=name, files=files: figure12.one(512, name, given, files=files),  # type: ignore[misc]
        )
        for key, where, name, files in (
            ("pattern 1", "figure 12: pattern 1, /dev/null", "pattern 1", False),
            ("pattern 2", "figure 12: pattern 2, /dev/null", "pattern 2", False),
            ("pattern 1 files", "figure 13: pattern 1, file system", "pattern 1", True),
            ("pattern 2 files", "figure 13: pattern 2, file system", "pattern 2", True),
            ("hacc", "figure 14: HACC I/O, file system", "HACC I/O", True),
        )
    },
}
"""The figures by a short name."""
AFFECTED: dict[str, tuple[str, ...]] = {
    "mpi_message": ("windows", "pami"),
    "pami_message": ("pami", "nine", "two", "policy", "window", "from", "groups"),
    "reception": ("nine",),
    "destination": ("nine", "two"),
    "pattern_share": ("pattern 1", "pattern 1 files"),
    "exponent": ("pattern 2",),
    "window": ("pattern 1", "hacc"),
    "default": ("pattern 1", "pattern 2", "hacc"),
    "places": ("pattern 1", "pattern 2"),
    "aggregators": ("pattern 1", "pattern 2"),
    "buffer": ("pattern 1", "pattern 2", "hacc"),
    "count_seconds": ("pattern 1", "pattern 2", "hacc"),
    "block": ("pattern 1", "hacc"),
    "lock_seconds": ("pattern 1 files", "pattern 2 files", "hacc"),
    "servers": ("pattern 1 files", "pattern 2 files", "hacc"),
}
"""Assumption → the names of the figures that depend on it (`METRICS`)."""


@dataclass(frozen=True)
class BgqResults:
    """What was simulated, and the `seconds` that it took."""

    given: BgqAssumptions
    quick: bool
    proxy: figure4.OneProxy
    nine: figure6.NinePaths
    unbounded: float
    orders: figure7.Orders
    windows: figure8.Windows
    groups: figure9.Groups
    outputs: tuple[figure12.Output, ...]
    apart: tuple[figure12.Output, ...]
    sensitivities: tuple[Sensitivity, ...]
    seconds: float


def evaluate(*, quick: bool = False, progress: Progress | None = None) -> BgqResults:
    """Run everything; `quick` with fewer sizes. `progress` is called with the name of each step."""
    given = BgqAssumptions()
    say = progress or (lambda _: None)
    began = time.perf_counter()
    sizes = QUICK_MESSAGES if quick else MESSAGES
    say("figures 4 and 5: one proxy")
    proxy = figure4.figure4(given, sizes)
    say("figure 6: nine paths")
    nine = figure6.figure6(given, sizes, figure6.PLANNED, QUICK_PATHS if quick else range(1, figure6.PATHS + 1))
    unbounded = figure6.most(given.with_reception())
    say("figure 7: fewer proxies")
    orders = figure7.figure7(given, sizes[-4:] if quick else sizes)
    say("figure 8: windows")
    windows = figure8.figure8(given, figure8.QUICK_SIZES if quick else figure8.SIZES)
    say("figure 9: groups")
    groups = figure9.figure9(given, sizes[-2:-1] if quick else (*sizes[::2], sizes[-1]))
    outputs: list[figure12.Output] = []
    for nodes in figure12.QUICK_NODES if quick else figure12.NODES:
        say(f"figures 12 to 14: sparse output of {nodes:,} nodes")
        outputs += figure12.outputs(nodes, given)
    apart = figure12.outputs(figure12.NODES[0], replace(given, places="apart"), ("pattern 1", "pattern 2"))
    say("assumptions halved and doubled")
    affected = {name: AFFECTED[name][:1] for name in ("mpi_message", "destination", "default")} if quick else AFFECTED
    changed = tuple(sensitivities(given, METRICS, affected))
    seconds = time.perf_counter() - began
    found = proxy, nine, unbounded, orders, windows, groups, tuple(outputs), tuple(apart)
    return BgqResults(given, quick, *found, changed, seconds)


def reproduction(results: BgqResults) -> Reproduction:
    """The results beside the paper's statements."""
    return Reproduction(
        paper="bgq",
        evaluation="several paths on Blue Gene/Q, sections 5 and 6",
        citation="Bui et al., Improving Sparse Data Movement Performance Using Multiple Paths on the Blue Gene/Q Supercomputer,"
        " sections 5 and 6.",
        title="Several paths on Blue Gene/Q again, in simulation",
        remark="All figures are simulated.",
        models=tuple(" ".join(each.split()) for each in _MODELS.split("\n\n")),
        facts=(("sizes of messages", f"{len(results.proxy.direct)}{' (quick)' if results.quick else ''}"),),
        statements=(
            *figure4.statements(results.proxy),
            *figure6.statements(results.nine, results.unbounded),
            *figure7.statements(results.orders),
            *figure8.statements(results.windows),
            *figure9.statements(results.groups),
            *figure10.statements(results.given),
            *figure12.statements(results.outputs, results.apart),
        ),
        sections=(
            figure4.section(results.proxy),
            figure6.section(results.nine),
            figure7.section(results.orders),
            figure8.section(results.windows),
            figure9.section(results.groups),
            figure10.section(results.given),
            figure12.section(results.outputs),
        ),
        assumptions=described(results.given),
        sensitivities=results.sensitivities,
        data=_data(results),
        quick=results.quick,
        seconds=results.seconds,
    )


def reproduce(*, quick: bool = False, progress: Progress | None = None) -> Reproduction:
    """Run everything, and set it beside the paper's statements; see `evaluate`."""
    return reproduction(evaluate(quick=quick, progress=progress))


def _data(results: BgqResults) -> dict[str, Any]:
    """The figures as JSON values: rates by the size of messages in bytes."""
    return {
        "figure4": asdict(results.proxy),
        "figure6": asdict(results.nine),
        "figure7": asdict(results.orders),
        "figure8": asdict(results.windows),
        "figure9": asdict(results.groups),
        "output": [asdict(each) for each in results.outputs],
        "output apart": [asdict(each) for each in results.apart],
    }
