"""Figure 5: random updates over time, on both networks (section VI)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from isoviz.document import Cell, Part, Plot, Quantity, Table
from isoviz.figures.charts.theme import colour
from isoviz.figures.plots.bokeh_plot import Axis, add_hover, add_legend, new_plot, row_names
from isoviz.reproduce import Claim, experiment, under
from isoviz.reproduce.data_vortex.assumptions import MPI, VICS, WORD, VortexAssumptions, cycle_of, messages_of, vics
from isoviz.units import format_seconds
from isoviz.vortex import MessageSystem, ProgramRun, Vic
from isoviz.vortex.workloads import random_updates
from isoviz.vortex.workloads.random_updates import AHEAD

if TYPE_CHECKING:
    from bokeh.plotting import figure


# A workload over modelled time on both networks: when each node computes, sends and waits, and what goes between
# nodes.

COMPUTES, SENDS, WAITS = "computes", "sends", "waits"
TOKENS = {WAITS: "faint", COMPUTES: "dim0", SENDS: "field"}
"""What a node does, and its colour, in the order in which it is drawn."""
MESSAGE = "dim3"
_GAP = 1.2


class Step(NamedTuple):
    """What a node does for a while: one of `TOKENS`."""

    node: int
    does: str
    begin: float
    end: float


class Passed(NamedTuple):
    """Words from a node to another one: when the first left its host, and when the last arrived, or entered the switch."""

    source: int
    to: int
    begin: float
    end: float
    words: int


@dataclass(frozen=True)
class Timeline:
    """A run of a program: seconds of each node, its steps, and the words between nodes."""

    by_node: Sequence[float]
    steps: list[Step] = field(default_factory=list)
    passed: list[Passed] = field(default_factory=list)

    def whole(self) -> Timeline:
        """The same from the first step of any node on; a node that neither computes nor sends waits."""
        first = min(step.begin for step in self.steps)
        every = list[Step]()
        for node, seconds in enumerate(self.by_node):
            at = first
            for step in sorted((step for step in self.steps if step.node == node), key=lambda step: step.begin):
                every += [Step(node, WAITS, at, step.begin), step]
                at = max(at, step.end)
            every.append(Step(node, WAITS, at, seconds))
        moved = [step._replace(begin=step.begin - first, end=step.end - first) for step in every if step.end > step.begin]
        passed = [each._replace(begin=each.begin - first, end=each.end - first) for each in self.passed]
        return Timeline([seconds - first for seconds in self.by_node], moved, passed)

    def shares(self) -> dict[str, float]:
        """The shares of the time of all nodes in which they compute, send and wait."""
        spent = {does: sum(step.end - step.begin for step in self.steps if step.does == does) for does in TOKENS}
        return {does: seconds / sum(spent.values()) for does, seconds in spent.items()}


def of_messages(system: MessageSystem, run: ProgramRun) -> Timeline:
    """The last run of a program by MPI. A message takes of its node what lies between the starts of two messages."""
    steps = [Step(each.node, COMPUTES, each.begin, each.end) for each in system.computed]
    steps += [Step(each.source, SENDS, each.begin, each.begin + system.figures.message) for each in system.sent]
    passed = [Passed(each.source, each.to, each.begin, each.end, each.bytes // WORD) for each in system.sent]
    return Timeline(run.by_node, steps, passed).whole()


class RecordedVic:
    """A VIC for a program, whose computing and sending are recorded. `late`: from the host until a word is in the switch."""

    def __init__(self, vic: Vic, late: float) -> None:
        self._vic, self._late = vic, late
        self.steps, self.passed = list[Step](), list[Passed]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._vic, name)

    def compute(self, seconds: float) -> None:
        """As `Vic.compute`."""
        self._recorded(COMPUTES, self._vic.compute, seconds)

    def send(self, vics: Any, addresses: Any, values: Any, counter: int | None = None, **options: Any) -> None:
        """As `Vic.send`."""
        begin, end = self._recorded(SENDS, self._vic.send, vics, addresses, values, counter, **options)
        goals = np.broadcast_to(vics, np.broadcast(vics, values).shape).reshape(-1)
        for to in np.unique(goals).tolist():
            places = np.flatnonzero(goals == to)
            times = begin + (end - begin) * (places[[0, -1]] + 1) / len(goals)
            self.passed.append(Passed(self._vic.rank, to, times[0], times[1] + self._late, len(places)))

    def _recorded(self, does: str, call: Callable[..., None], *given: Any, **options: Any) -> tuple[float, float]:
        begin = self._vic.seconds
        call(*given, **options)
        end = self._vic.seconds
        self.steps.append(Step(self._vic.rank, does, begin, end))
        return begin, end


@dataclass(frozen=True)
class Timelines:
    """Plots of what was found under the key `timelines`: a `Timeline` by network; and the table of their shares.

    `part`: from which share of the longer one until which is shown.
    """

    title: str
    part: tuple[float, float] = (0.0, 1.0)

    def __call__(self, found: Mapping[str, Any], name: str, _: str) -> list[Part]:
        """The plot, and its table."""
        lines: Mapping[str, Timeline] = found["timelines"]
        rows: list[list[Cell]] = []
        for network, line in lines.items():
            shares = line.shares()
            rows.append([network, Quantity(max(line.by_node), "seconds"), *[Quantity(shares[does], "share") for does in TOKENS]])
        plot = Plot(name, self.title, lambda: timeline_figure(lines, self.part))
        return [plot, Table(["", "time", *TOKENS], rows)]


def timeline_figure(lines: Mapping[str, Timeline], part: tuple[float, float] = (0.0, 1.0)) -> figure:
    """Timelines one above the other, over the same time, as a Bokeh figure.

    Raises:
        MissingPartError: Bokeh is not installed.
    """
    longest = max(max(line.by_node) for line in lines.values())
    first, last = (share * longest for share in part)
    columns = {does: {key: list[Any]() for key in ("y", "left", "right", "tip")} for does in TOKENS}
    words = {key: list[Any]() for key in ("x0", "y0", "x1", "y1", "tip")}
    names, row = dict[float, str](), 0.0
    for network, line in lines.items():
        for step in line.steps:
            if step.begin < last and step.end > first:
                tip = f"{network}, node {step.node} {step.does}: {format_seconds(step.end - step.begin)}"
                values = row + step.node, max(step.begin, first), min(step.end, last), tip
                for key, value in zip(columns[step.does], values, strict=True):
                    columns[step.does][key].append(value)
        for each in line.passed:
            if each.begin < last and each.end > first and each.source != each.to:
                tip = f"{network}: {each.words} words from node {each.source} to node {each.to}"
                for key, value in zip(words, (each.begin, row + each.source, each.end, row + each.to, tip), strict=True):
                    words[key].append(value)
        names |= {row + node: f"{network}, node {node}" for node in range(len(line.by_node))}
        row += len(line.by_node) + _GAP - 1
    plot = new_plot(
        "", Axis("modelled time", "seconds", first, last, False), Axis("", "number", 0, 1, False), height=110 + int(20 * row)
    )
    row_names(plot, [])
    plot.y_range.start, plot.y_range.end = row - _GAP + 0.6, -0.6
    plot.yaxis.ticker = list(names)
    plot.yaxis.major_label_overrides = names
    drawn = {}
    for does, token in TOKENS.items():
        bar = {"fill_color": colour(token), "line_color": colour("line") if does == WAITS else None, "line_width": 0.5}
        drawn[does] = [plot.hbar("y", 0.62, "right", "left", source=columns[does], **bar)]
        if does == WAITS:
            line_style = {"line_color": colour(MESSAGE), "line_width": 1, "line_alpha": 0.5}
            drawn["words between nodes"] = [plot.segment("x0", "y0", "x1", "y1", source=words, **line_style)]
    add_hover(plot, [glyph for glyphs in drawn.values() for glyph in glyphs])
    add_legend(plot, [*drawn.items()], "above", columns=4)
    return cast("figure", plot)


TABLE = 1 << 12
SEED = 0


def _recorded(late: float, updates: int, vic: Vic) -> RecordedVic:
    recorded = RecordedVic(vic, late)
    random_updates.on_vics(cast("Vic", recorded), updates, TABLE, SEED)
    return recorded


def _message(found: Any) -> float:
    return float(np.mean([each.words - 1 for each in found["timelines"][MPI].passed]))


@experiment(
    "figure 5",
    "random updates over time",
    section="VI",
    quick={"nodes": 4, "updates": AHEAD},
    claims=(
        Claim("updates to the node of the next one, over chance", "no regularity to aggregate", 1.0, "next", "times").because(
            "which is why a message has as many updates as chance gives it"
        ),
        Claim("MPI: updates of a message, mean", "no figure", None, _message, "count").because(
            "1,024 updates that may be looked ahead, among all nodes"
        ),
    ),
    shows=(
        under("5a, all of it", "a", Timelines("Random updates on both networks")),
        under("5b, close up", "b", Timelines("Random updates on both networks, close up", (0.4, 0.65))),
    ),
    data=lambda found: {"figure5": {network: line.shares() for network, line in found["timelines"].items()}},
)
def figure5(given: VortexAssumptions, nodes: int = 8, updates: int = 8 * AHEAD) -> dict[str, Any]:
    """Timelines of both networks, and how often the `next` update goes to the same node, over chance."""
    with vics(given, nodes) as system:
        late = given.latency + cycle_of(given)
        run = system.run(partial(_recorded, late, updates))
        steps = [step for vic in run.results for step in vic.steps]
        passed = [each for vic in run.results for each in vic.passed]
        on_vics = Timeline(run.by_node, steps, passed).whole()
    with messages_of(given, nodes) as by_messages:
        by_mpi = of_messages(by_messages, by_messages.run(random_updates.on_messages, updates, TABLE, SEED))
    goals = [random_updates.drawn(SEED, node, updates) // TABLE % nodes for node in range(nodes)]
    same = float(np.mean([each[1:] == each[:-1] for each in goals]))
    return {"timelines": {VICS: on_vics, MPI: by_mpi}, "next": same * nodes}
