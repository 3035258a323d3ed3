"""The growth of planning time with the machine: time, and the proved gap of the plan, over memories and channels."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import networkx

from benchmarks.machines import PLACES, Place
from isoviz.bench.table import Row, Table
from isoviz.document import Document, Part, Plot, Points, Prose, Section
from isoviz.figures.charts.theme import DIMENSION_COLOURS, colour
from isoviz.figures.plots.bokeh_plot import Axis, add_hover, add_legend, new_plot, text_style
from isoviz.figures.plots.predictions import MARKERS
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Machine
from isoviz.planner import CACHE, Options, Plan, Transfer, plan
from isoviz.planner.full import forget_machines
from isoviz.units import format_seconds, format_share

AIMS = ((0.1, "aim for 20 memories"), (1.0, "aim for 40 memories"))
"""Planning time to aim for, in seconds, and the machine that it applies to (all-to-all)."""
REPEAT = 5
"""Plans of each case; the median counts."""
_FIELDS = FieldSpace(re="float32", im="float32")
_NUMBERS = itertools.count()
"""A number for each transfer, so that no two transfers have the same sizes."""
CASES: Mapping[str, tuple[dict[str, int], str, str]] = {
    "1-D": ({"x": 1 << 22}, "<F, x>", "<x, F>"),
    "2-D": ({"x": 1024, "y": 768}, "<F, x, y>", "<y, x, F>"),
    "3-D": ({"x": 128, "y": 96, "z": 64}, "<F, x, y, z>", "<z, F, y, x>"),
    "as it is": ({"x": 1024, "y": 768}, "<F, x, y>", "<F, x, y>"),
}
"""Sizes, and the layouts of both ends: 6 MiB, 32 MiB where there is one dimension."""


@dataclass(frozen=True, repr=False)
class PlannerTable(Table):
    """What planners cost on one cluster, and how planning time grows with the machine."""

    growth: Table | None = None

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | ({} if self.growth is None else {"growth": self.growth.to_json()})

    def to_page(self) -> str:
        """A page: planning time over channels as a figure, and both tables."""
        from isoviz.figures.page import document_page

        rows = [] if self.growth is None else self.growth.rows
        parts: list[Part] = [Plot("growth", "Planning time", lambda: growth_figure(rows))] if rows else []
        for each in (self.growth, self):
            parts += [] if each is None else [Prose(each.title), each.table(), Points(each.notes)]
        return document_page(Document("Planning time", [*parts, Section("Measured on", [Prose(self.known())])]))

    def __str__(self) -> str:
        return super().__str__() + ("" if self.growth is None else f"\n\n{self.growth}")


def growth_figure(rows: Sequence[Row]) -> Any:
    """Planning time over the channels of machines as a Bokeh figure, both logarithmic: a mark for each family of machines."""
    channels, seconds = [row["channels"] for row in rows], [row["seconds"] for row in rows]
    times = [*seconds, *(aim for aim, _ in AIMS)]
    across = Axis("channels of the machine", "number", min(channels) / 1.6, max(channels) * 1.6)
    plot = new_plot("Planning time", across, Axis("planning time", "seconds", min(times) / 1.6, max(times) * 1.6), height=420)
    for aim, text in AIMS:
        plot.line([across.low, across.high], [aim, aim], line_color=colour("muted"), line_dash="dashed")
        plot.text([across.low], [aim], text=[text], x_offset=6, y_offset=-9, **text_style("muted"))
    entries = []
    for number, family in enumerate(dict.fromkeys(row["family"] for row in rows)):
        shown = [row for row in rows if row["family"] == family]
        columns = {
            "channels": [row["channels"] for row in shown],
            "seconds": [row["seconds"] for row in shown],
            "tip": [
                f"{row['what']}, {row['case']}: {row['channels']:,} channels, {format_seconds(row['seconds'])}" for row in shown
            ],
        }
        style = {
            "marker": MARKERS[number % len(MARKERS)],
            "fill_color": colour(DIMENSION_COLOURS[number % len(DIMENSION_COLOURS)]),
        }
        marks = plot.scatter("channels", "seconds", source=columns, size=10, line_color=colour("panel"), **style)
        entries.append((family, [marks]))
    add_hover(plot, [marks for _, (marks,) in entries])
    add_legend(plot, entries, columns=len(entries))
    return plot


def growth(repeat: int = REPEAT) -> Table:
    """Planning times of `full` on machines of growing size, beside `simple` and a shortest path by networkx."""
    rows = [row for name, place in PLACES.items() for row in _rows(name, place, repeat)]
    gaps = [row["gap"] for row in rows if row["gap"] is not None]
    return Table(
        "planning growth",
        f"full planner on machines of growing size: medians of {repeat}, sizes new every time",
        {
            "what": ("machine", str),
            "case": ("case", str),
            "memories": ("memories", str),
            "channels": ("channels", str),
            "seconds": ("full", format_seconds),
            "first": ("first on the machine", format_seconds),
            "gap": ("gap", _gap),
            "hops": ("hops", str),
            "simple": ("simple", format_seconds),
            "networkx": ("networkx", format_seconds),
            "slower": ("T of simple ÷ full", lambda value: f"{value:.3g}"),
        },
        rows,
        (
            f"gap: by how much the plan can be above the optimum at most; the largest is {_gap(max(gaps, default=None))}",
            "first on the machine: nothing is known of its channels and paths; a plan may use what other sizes left",
            "networkx: a shortest path by the peak of the channels",
            "links of their own: latencies of 10 ns to 3 µs and 1 to 32 GB/s at random, the same in every run",
        ),
    )


def _gap(value: float | None) -> str:
    return "not proved" if value is None else "0" if value <= 1e-9 else f"≤ {format_share(value)}"


def _rows(name: str, place: Place, repeat: int) -> list[Row]:
    machine = place.machine()
    machine.digest  # noqa: B018  a machine in use has one
    graph = machine.graph()
    for _, _, data in graph.edges(data=True):
        data["weight"] = 1 / data["channel"].peak
    rows: list[Row] = []
    for case in CASES:
        first = statistics.median([_first(place, machine, case)[0] for _ in range(min(repeat, 3))])
        found = [_planned(place, machine, case, "full") for _ in range(repeat)]
        simple = [_planned(place, machine, case, "simple") for _ in range(repeat)]
        began = time.perf_counter()
        networkx.dijkstra_path(graph, place.source, place.destination)
        peer = time.perf_counter() - began
        made = found[-1][1]
        plain = plan(made.transfer, machine, "simple", Options())
        gaps = [each.gap for _, each in found]
        rows.append(
            {
                "what": name,
                "family": place.family,
                "case": case,
                "memories": len(machine.memories),
                "channels": len(machine.channels),
                "seconds": statistics.median(seconds for seconds, _ in found),
                "first": first,
                "gap": None if None in gaps else max(gap for gap in gaps if gap is not None),
                "hops": len(made.hops),
                "simple": statistics.median(seconds for seconds, _ in simple),
                "networkx": peer,
                "slower": plain.objective / made.objective,
            }
        )
    return rows


def _first(place: Place, machine: Machine, case: str) -> tuple[float, Plan]:
    CACHE.clear()
    forget_machines()
    return _planned(place, machine, case, "full")


def _planned(place: Place, machine: Machine, case: str, planner: str) -> tuple[float, Plan]:
    """Seconds of planning a transfer of new sizes, and the plan."""
    sizes, source, destination = CASES[case]
    number = next(_NUMBERS)
    space = IndexSpace.of({**sizes, "x": sizes["x"] - number % (sizes["x"] // 4)})
    transfer = Transfer.whole(space, _FIELDS, place.source, source, place.destination, destination)
    began = time.perf_counter()
    found = plan(transfer, machine, planner, Options())
    return time.perf_counter() - began, found
