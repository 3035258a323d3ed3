"""Plans of several paths on Blue Gene/Q of growing size: the time of planning and of simulating, and what several paths gain."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from isoviz.bench.table import Row, Table
from isoviz.document import Document, Plot, Points, Prose
from isoviz.figures.charts.theme import DIMENSION_COLOURS, colour
from isoviz.figures.plots.bokeh_plot import Axis, add_hover, add_legend, new_plot
from isoviz.figures.plots.predictions import MARKERS
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Machine, preset
from isoviz.machines.presets.blue_gene import bridge_nodes, io_node
from isoviz.planner import Transfer, plan, plan_together
from isoviz.runtime.simulator import simulate
from isoviz.units import format_seconds

Result = TypeVar("Result")
SEED = 44
SMALL, LARGE = (32, 128), (512, 2048, 8192)
"""The partitions by their compute nodes."""
PAIR, BLOCK = 64 << 20, 16 << 20
"""The bytes of a pair's transfer, and of each transfer between two blocks of 64 nodes."""
RANKS, MOST = 16, 8 << 20
"""Ranks of a node, and the most bytes of a rank, in the uniform pattern (Bui et al., section 6.1: pattern 1)."""


class MultipathTable(Table):
    """The rows, and their growth with the machine as a page."""

    def to_page(self) -> str:
        """A page: planning time over compute nodes as a figure, and the table."""
        from isoviz.figures.page import document_page

        figure = Plot("growth", "Planning time", lambda: growth_figure(self.rows))
        return document_page(Document("Planning several paths", [figure, Prose(self.title), self.table(), Points(self.notes)]))


def growth_figure(rows: Sequence[Row]) -> Any:
    """Planning time over compute nodes as a Bokeh figure, both logarithmic: a mark for each pattern."""
    nodes, seconds = [row["nodes"] for row in rows], [row["seconds"] for row in rows]
    across = Axis("compute nodes", "number", min(nodes) / 1.6, max(nodes) * 1.6)
    up = Axis("planning time", "seconds", min(seconds) / 1.6, max(seconds) * 1.6)
    plot = new_plot("Planning time", across, up, height=420)
    entries = []
    for number, what in enumerate(dict.fromkeys(row["what"] for row in rows)):
        shown = [row for row in rows if row["what"] == what]
        columns = {
            "nodes": [row["nodes"] for row in shown],
            "seconds": [row["seconds"] for row in shown],
            "tip": [f"{what}, {row['nodes']:,} nodes: {format_seconds(row['seconds'])}" for row in shown],
        }
        fill = colour(DIMENSION_COLOURS[number % len(DIMENSION_COLOURS)])
        marker = MARKERS[number % len(MARKERS)]
        marks = plot.scatter("nodes", "seconds", source=columns, size=10, marker=marker, fill_color=fill)
        entries.append((what, [marks]))
    add_hover(plot, [marks for _, (marks,) in entries])
    add_legend(plot, entries, columns=len(entries))
    return plot


def measure(repeat: int = 5, *, quick: bool = False, progress: Callable[[str], None] = lambda _: None) -> Table:
    """Medians of `repeat` plans on partitions of growing size, up to 128 nodes if `quick`; the uniform pattern once."""
    rows: list[Row] = []
    for count in SMALL if quick else (*SMALL, *LARGE):
        machine = preset("bgq", nodes=count)
        machine.digest  # noqa: B018  a machine in use has one
        for row in _rows(machine, count, repeat):
            rows.append(row)
            progress(f"{row['what']}, {count} nodes: {format_seconds(row['seconds'])}")
    return MultipathTable(
        "multipath",
        f"plans of several paths on Blue Gene/Q: medians of {repeat}, the uniform pattern once",
        {
            "what": ("transfers", str),
            "nodes": ("nodes", str),
            "transfers": ("count", str),
            "paths": ("paths", str),
            "seconds": ("planning", format_seconds),
            "simulating": ("simulating", format_seconds),
            "end": ("all arrive after", format_seconds),
            "gain": ("one path ÷ several", lambda ratio: f"{ratio:.2f}"),
        },
        rows,
        (
            "a pair: 64 MiB between two random nodes; 64 to 64: 16 MiB from each node of a block to its counterpart",
            "uniform: a tenth of the nodes, 0 to 8 MiB for each of 16 ranks, to any I/O node (pattern 1)",
            "one path: every message on its default route, to the I/O node of its own nodes; both times are simulated",
        ),
    )


def _rows(machine: Machine, nodes: int, repeat: int) -> Iterator[Row]:
    draw = random.Random(SEED)  # noqa: S311  # no secret
    pairs = [[_moved(PAIR, *draw.sample(range(nodes), 2))] for _ in range(repeat)]
    yield _row("a pair", machine, nodes, pairs)
    if nodes == 512:
        yield _row(
            "64 to 64", machine, nodes, [[_moved(BLOCK - k, at, at + nodes // 2) for at in range(64)] for k in range(repeat)]
        )
    sources = sorted(draw.sample(range(nodes), nodes // 10))
    sizes = [sum(draw.randrange(MOST) for _ in range(RANKS)) for _ in sources]
    moved = [_moved(size, source, io_node(nodes, source)) for size, source in zip(sizes, sources, strict=True)]
    yield _row("uniform", machine, nodes, [moved], [f"node{nodes + k}.sys" for k in range(len(bridge_nodes(nodes)))])


def _row(what: str, machine: Machine, nodes: int, cases: Sequence[list[Transfer]], ends: Sequence[str] = ()) -> Row:
    found = [_timed(partial(plan_together, case, machine, destinations=ends)) for case in cases]
    plans = found[-1][1]
    simulating, trace = _timed(partial(simulate, plans, machine))
    direct = [plan(transfer, machine, "direct") for transfer in cases[-1]]
    return {
        "what": what,
        "nodes": nodes,
        "transfers": len(cases[-1]),
        "paths": sum(len(each.paths) for each in plans),
        "seconds": statistics.median(seconds for seconds, _ in found),
        "simulating": simulating,
        "end": trace.end,
        "gain": simulate(direct, machine).end / trace.end,
    }


def _timed(action: Callable[[], Result]) -> tuple[float, Result]:
    began = time.perf_counter()
    result = action()
    return time.perf_counter() - began, result


def _moved(nbytes: int, source: int, destination: int) -> Transfer:
    ends = f"node{source}.sys", "<F, x>", f"node{destination}.sys", "<F, x>"
    return Transfer.whole(IndexSpace(x=max(1, nbytes)), FieldSpace(v="u1"), *ends)
