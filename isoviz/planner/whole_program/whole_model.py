"""Section 4.2 of Isometry as one mixed-integer linear program: the path, layouts and blocks with the highest throughput.

**Connectivity.** One unit flows from the start to the goal over arcs (`stages`), with a binary for each arc. A memory is entered
at most once over channels from other memories, and at most one of its self-loops is taken. Each memory has a place in an order,
and an arc leads to a later place (`order_…`; Miller, Tucker and Zemlin), so no cycle can exist beside the path.

**Throughput.** TP ≤ tp(run) for each arc that is used, with a run of at most a chunk. The runs of the first hop, the last hop and
a converting hop between two buffers are variables; all other hops move whole chunks. The rows are in logarithms, by concave parts
(`program.mip_rows`).

**What is left out.** The requests of channels (`Channel.request_seconds`), and the rate for layout changes of an end hop that
forms blocks. Then the optimum is a bound, and the program is not `exact`.

**Layouts and space.** See `layout_rows`.

**Shared resources.** TP × Σ weights ≤ capacity, summed over the hops of the path.

1. The sum is linear in the binaries, but its logarithm is not. So the program has the period too, 1 / TP, in seconds per byte: Σ
   weights / capacity ≤ period is linear and exact.
2. Period and log TP are joined by period ≥ exp(−log TP). This region is convex, so it is the intersection of its tangents, which
   are rows.
3. The objective is the least period.
4. At the optimum the period is the maximum of exp(−log TP), with log TP as high as the hops allow, and the largest Σ weights /
   capacity. So 1 / period is the minimum of what the hops and the resources allow, which is the TP of section 4.2.
5. Without resources in reach the objective is log TP itself.

Throughputs are relative to `reference`, which no path exceeds: log_TP ≤ 0, period ≥ 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isoviz.planner.program.mip_rows import Part, Point, RateLine, Rows, is_known, is_smooth, parts_of, tangent
from isoviz.planner.whole_program.layout_rows import CHUNK, add_layouts, add_limits, slot_bounds
from isoviz.planner.whole_program.stages import Arc, LayeredNode, Role, Stages, route_of, stages_of

if TYPE_CHECKING:
    from isoviz.machines import Channel, LatencyBandwidth, ThroughputFunction
    from isoviz.planner.problem import Problem


# The tolerances of the program of all paths, the limits on its rounds, and the tangents that it begins with.

TOLERANCE = 1e-8
"""A path is the best one if the bound exceeds what the path sustains by at most this share."""
NO_SLACK = 1e-7
"""A row with less slack than this, in logarithms, is binding: ten times `TOLERANCE`."""
PRESENT = 1e-9
"""A logarithm of at most this is 0: the digit is not kept."""
MOST_SECONDS = 60.0
"""The planning time of the program unless the options say otherwise."""
MOST_ROUNDS = 40
"""Programs with further tangents at most; a handful suffice."""
FIRST_PERIODS = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0, 4.0)
"""Where the tangents of exp(−log TP) touch at first, as −log TP: dense near the best throughput, up to 1/50 of it."""


TP, PERIOD, FIRST_RUN, LAST_RUN, CONVERTING_RUN = "log_TP", "period", "log_first_run", "log_last_run", "log_converting_run"
"""The names of the variables for the throughput, the period and the runs."""
_RUNS = {Role.FIRST: FIRST_RUN, Role.LAST: LAST_RUN, Role.BETWEEN: CONVERTING_RUN, Role.MIDDLE: CHUNK}


@dataclass
class Group:
    """Arcs that share their rows: they have the same throughput function and the same run, and a path uses at most one of
    them."""

    name: str
    function: ThroughputFunction
    run: str
    low: float
    arcs: list[Arc]
    when: list[tuple[str, float]] = field(default_factory=list)


class Model:
    """The program of one transfer; `rows` holds its PuLP problem.

    `layouts` says whether the program contains the layouts exactly. Where the blocks of the ends do not nest, or pad, the program
    omits them, and its optimum is a bound.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        transfer = problem.transfer
        here, there = transfer.source.memory, transfer.destination.memory
        self.layouts = problem.ends.regular
        self.converts = problem.ends.converts and self.layouts
        memories = [memory.name for memory in problem.part.memories]
        self.bounds = slot_bounds(problem, memories)
        self.stages = self._fitting(stages_of(problem.part, here, there, self.converts))
        self.exact = self.layouts and all(arc.channel.is_plain and is_known(arc.channel.throughput) for arc in self.stages.arcs)
        self.rows = Rows("isometry_4_2")
        if self.stages.arcs:
            self._build_rows()

    def _fitting(self, stages: Stages) -> Stages:
        """The arcs whose buffers can hold an element."""
        kept = [arc for arc in stages.arcs if arc.fills is None or self.bounds[arc.fills] > 0]
        return Stages(tuple(kept), stages.start, stages.goal)

    # ---- numbers

    def _ranges(self) -> None:
        """Set the logarithms of the shortest and the longest runs."""
        problem = self.problem
        reached = dict.fromkeys(arc.fills for arc in self.stages.arcs if arc.fills is not None)
        longest = max((self.bounds[name] for name in reached), default=float(problem.largest))
        self.most = math.log(min(max(longest, problem.largest), problem.nbytes))
        self.least = min(math.log(problem.largest), self.most)
        together = problem.memory_limit is not None
        same = len({self.bounds[name] for name in reached}) <= 1 and problem.uniform_slots and not together
        self.chunk_low = self.most if same else self.least
        self.conversion_run = problem.ends.run if self.converts else math.inf
        shortest = min(problem.mean, math.exp(self.most), self.conversion_run, *problem.end_runs)
        self.run_low = math.log(shortest)
        self.direct_chunk = problem.longest_chunk(())

    def _span(self, arc: Arc) -> tuple[float, float]:
        """The shortest and the longest log run of an arc."""
        end_runs = self.problem.end_runs
        if arc.role is Role.ONLY:
            run = math.log(min(self.direct_chunk, *end_runs, self.conversion_run))
            return run, run
        if _run(arc) == CHUNK:
            return self.chunk_low, self.most
        high = self.most
        if arc.converts:
            high = min(high, math.log(self.conversion_run))
        if arc.role is Role.FIRST:
            high = min(high, math.log(end_runs[0]))
        elif arc.role is Role.LAST:
            high = min(high, math.log(end_runs[1]))
        return min(self.run_low, high), high

    def _cap(self, arc: Arc) -> float:
        """The log throughput that an arc never exceeds, by its longest run and by its resources alone."""
        _, high = self._span(arc)
        most = math.log(_function(arc)(math.exp(high)))
        for name, weight in self._weights(arc.channel):
            most = min(most, -math.log(weight / self.problem.machine.resource(name).capacity))
        return most

    def _weights(self, channel: Channel) -> list[tuple[str, float]]:
        """The cost of a byte on a channel per resource, in the unit of its capacity; for a held resource its lower bound."""
        found = []
        for name, weight in channel.resources:
            held = self.problem.machine.resource(name).held
            if weight > 0:
                found.append((name, weight / channel.peak if held else weight))
        return found

    def _widest_path_rate(self, caps: dict[int, float]) -> float:
        """The paper's U: the log throughput of the widest path from start to goal; −∞ where there is none."""
        best: dict[LayeredNode, float] = {self.stages.start: math.inf}
        queue = dict.fromkeys([self.stages.start])
        while queue:
            at = max(queue, key=lambda state: (best[state], state))
            del queue[at]
            for arc in self._outgoing.get(at, ()):
                reached = min(best[at], caps[arc.number])
                if reached > best.get(arc.destination, -math.inf):
                    best[arc.destination] = reached
                    queue[arc.destination] = None
        return best.get(self.stages.goal, -math.inf)

    # ---- rows

    def _build_rows(self) -> None:
        self._ranges()
        arcs = self.stages.arcs
        self._outgoing: dict[LayeredNode, list[Arc]] = {}
        for arc in arcs:
            self._outgoing.setdefault(arc.source, []).append(arc)
        self.caps = {arc.number: self._cap(arc) for arc in arcs}
        self.log_reference = self._widest_path_rate(self.caps)
        self.reaches = math.isfinite(self.log_reference)
        if not self.reaches:
            return
        self.reference = math.exp(self.log_reference)
        rows = self.rows
        self.names = {arc.number: rows.binary(arc.name) for arc in arcs}
        rows.variable(TP, None, 0.0)
        rows.variable(CHUNK, self.chunk_low, self.most)
        for run in (FIRST_RUN, LAST_RUN, CONVERTING_RUN):
            rows.variable(run, self.run_low, self.most)
            rows.at_most(f"{run}_in_chunk", [(run, 1.0), (CHUNK, -1.0)], 0.0)
        self._add_flow()
        between = [(self.names[arc.number], 1.0) for arc in arcs if arc.role is Role.BETWEEN]
        if between:
            add_layouts(rows, self.problem, between, (FIRST_RUN, LAST_RUN), self.most)
        add_limits(rows, self.problem, arcs, self.names, self.most)
        self._add_runs()
        self.groups = self._groups()
        self._count = dict.fromkeys((group.name for group in self.groups), 0)
        for group in self.groups:
            self._add_group(group)
        self._add_tops()
        self.resources = self._add_resources()
        self.aim_at_throughput()

    def _add_flow(self) -> None:
        rows, names = self.rows, self.names
        into: dict[LayeredNode, list[Arc]] = {}
        for arc in self.stages.arcs:
            into.setdefault(arc.destination, []).append(arc)
        rows.equal("start", [(names[arc.number], 1.0) for arc in self._outgoing[self.stages.start]], 1.0)
        for number, state in enumerate(self.stages.states):
            if state not in (self.stages.start, self.stages.goal):
                come = [(names[arc.number], 1.0) for arc in into.get(state, ())]
                leave = [(names[arc.number], -1.0) for arc in self._outgoing.get(state, ())]
                rows.equal(f"flow_{number}_{state[0]}_{state[1]}", [*come, *leave], 0.0)
        rows.equal("goal", [(names[arc.number], 1.0) for arc in into[self.stages.goal]], 1.0)
        entered: dict[str, list[Arc]] = {}
        looped: dict[str, list[Arc]] = {}
        for arc in self.stages.arcs:
            (looped if arc.channel.is_self_loop else entered).setdefault(arc.channel.destination, []).append(arc)
        for what, by_memory in (("entered", entered), ("loop", looped)):
            for memory, several in by_memory.items():
                if len(several) > 1:
                    rows.at_most(f"{what}_once_{memory}", [(names[arc.number], 1.0) for arc in several], 1.0)
        self._add_order()

    def _add_order(self) -> None:
        """Each memory has a later place than the one before it, so that no cycle exists beside the path."""
        inner: dict[tuple[str, str], list[Arc]] = {}
        for arc in self.stages.arcs:
            if arc.role in (Role.MIDDLE, Role.BETWEEN) and not arc.channel.is_self_loop:
                inner.setdefault((arc.channel.source, arc.channel.destination), []).append(arc)
        memories = list(dict.fromkeys(name for pair in inner for name in pair))
        last = float(len(memories))
        places = {name: self.rows.variable(f"place_{name}", 1.0, last) for name in memories}
        for (a, b), several in inner.items():
            used = [(self.names[arc.number], last) for arc in several]
            self.rows.at_most(f"order_{a}_{b}", [(places[a], 1.0), (places[b], -1.0), *used], last - 1.0)

    def _add_runs(self) -> None:
        """The bounds on runs by the ends, and by a conversion in an end hop."""
        rows, end_runs = self.rows, self.problem.end_runs
        for run, role, end in ((FIRST_RUN, Role.FIRST, 0), (LAST_RUN, Role.LAST, 1)):
            own = [(self.names[arc.number], 1.0) for arc in self.stages.arcs if arc.role is role and arc.converts]
            if own and math.log(self.conversion_run) < self.most:
                lift = self.most - math.log(self.conversion_run)
                rows.at_most(f"{run}_converts", [(run, 1.0), *((name, lift) for name, _ in own)], self.most)
            if end_runs[end] < math.exp(self.most):
                rows.at_most(f"{run}_of_part", [(run, 1.0)], math.log(end_runs[end]))
        if self.conversion_run < math.exp(self.most):
            rows.at_most(f"{CONVERTING_RUN}_of_ends", [(CONVERTING_RUN, 1.0)], math.log(self.conversion_run))

    def _groups(self) -> list[Group]:
        """Arcs that share their rows. Arcs with whole chunks form a group where they fill the same memory."""
        found: dict[object, Group] = {}
        numbers: dict[object, int] = {}
        for arc in self.stages.arcs:
            if arc.role is Role.ONLY:
                continue
            low, high = self._span(arc)
            function = _function(arc)
            if high - low <= 0 or self._above(function, low):
                continue
            number = numbers.setdefault(function, len(numbers))
            where = arc.channel.destination if arc.role is Role.MIDDLE else ""
            key = arc.role, _run(arc), number, where, low, high
            name = f"{arc.role}_{number}{f'_{where}' if where else ''}_{len(found)}"
            group = found.setdefault(key, Group(name, function, _run(arc), low, []))
            group.arcs.append(arc)
            group.when.append((self.names[arc.number], 1.0))
        return list(found.values())

    def _above(self, function: ThroughputFunction, low: float) -> bool:
        """Whether a function never limits the throughput, even in the shortest runs."""
        return math.log(function(math.exp(low))) >= self.log_reference

    def _add_group(self, group: Group) -> None:
        _, high = self._span(group.arcs[0])
        parts = parts_of(group.function, group.low, high)
        if len(parts) == 1:
            for line in parts[0].lines:
                self._add_line(group, line, group.when)
            return
        chosen = [self.rows.binary(f"part_{group.name}_{k}") for k in range(len(parts))]
        self.rows.equal(f"one_part_{group.name}", [*((name, 1.0) for name in chosen), *((n, -f) for n, f in group.when)], 0.0)
        for part, name in zip(parts, chosen, strict=True):
            self._add_part(group, part, name)

    def _add_part(self, group: Group, part: Part, chosen: str) -> None:
        least = self._least_of(group)
        if part.low > least:
            lift = part.low - least
            self.rows.at_most(f"{chosen}_begins", [(group.run, -1.0), (chosen, lift)], lift - part.low)
        for line in part.lines:
            self._add_line(group, line, [(chosen, 1.0)])

    def _add_line(self, group: Group, line: RateLine, when: Sequence[tuple[str, float]]) -> None:
        self._count[group.name] += 1
        relative = RateLine(line.slope, line.value - self.log_reference)
        self.rows.below_line(f"rate_{group.name}_{self._count[group.name]}", TP, relative, group.run, self._least_of(group), when)

    def _least_of(self, group: Group) -> float:
        """The least value of the variable of a group's run."""
        return self.chunk_low if group.run == CHUNK else self.run_low

    def _add_tops(self) -> None:
        """The highest throughput of each arc. Arcs of one role at an end share a row, and so do arcs into one memory: a path uses
        one of them."""
        together: dict[str, list[Arc]] = {}
        for arc in self.stages.arcs:
            if arc.role is Role.MIDDLE:
                together.setdefault(f"into_{arc.channel.destination}", []).append(arc)
            elif arc.role is Role.ONLY:
                together.setdefault(Role.FIRST, []).append(arc)
            else:
                together.setdefault(arc.role, []).append(arc)
        for name, several in together.items():
            low = [(self.names[arc.number], self.log_reference - self.caps[arc.number]) for arc in several]
            terms = [(each, lift) for each, lift in low if lift > 0]
            if terms:
                self.rows.at_most(f"top_{name}", [(TP, 1.0), *terms], 0.0)

    def _add_resources(self) -> bool:
        """Add the rows of shared resources; returns whether there are any."""
        used: dict[str, list[tuple[str, float]]] = {}
        for arc in self.stages.arcs:
            for name, weight in self._weights(arc.channel):
                share = weight * self.reference / self.problem.machine.resource(name).capacity
                used.setdefault(name, []).append((self.names[arc.number], share))
        shared = {name: terms for name, terms in used.items() if sum(share for _, share in terms) > 1}
        if shared:
            self.rows.variable(PERIOD, 1.0, None)
            for name, terms in shared.items():
                self.rows.at_most(f"resource_{name}", [*terms, (PERIOD, -1.0)], 0.0)
            self._periods = 0
            for at in FIRST_PERIODS:
                self._add_period(-at)
        return bool(shared)

    def _add_period(self, at: float) -> None:
        """The period is at least exp(−log TP): the tangent at a log TP."""
        self._periods += 1
        slope = math.exp(-at)
        self.rows.at_most(f"period_{self._periods}", [(PERIOD, -1.0), (TP, -slope)], -slope * (1 + at))

    # ---- solutions

    def route(self, point: Point) -> tuple[Arc, ...]:
        """The path of a solution."""
        return route_of(self.stages, [arc for arc in self.stages.arcs if point[self.names[arc.number]] > 0.5])

    def throughput(self, point: Point) -> float:
        """The throughput of a solution by the throughput functions themselves, at its runs, in bytes per second."""
        rates, loads = [], dict[str, float]()
        for arc in self.route(point):
            low, high = self._span(arc)
            run = high if arc.role is Role.ONLY else max(low, min(high, point[_run(arc)]))
            rates.append(_function(arc)(math.exp(run)))
            for name, weight in self._weights(arc.channel):
                loads[name] = loads.get(name, 0.0) + weight
        shared = (self.problem.machine.resource(name).capacity / load for name, load in loads.items())
        return min(*rates, *shared, math.inf)

    def bound(self, point: Point) -> float:
        """The throughput that no path exceeds, as a solve proved, in bytes per second."""
        if self.resources:
            return self.reference / max(1.0, point.bound)
        return self.reference * math.exp(min(0.0, point.bound))

    def refine(self, point: Point, tolerance: float) -> bool:
        """Add the tangents that a point violates by more than a relative tolerance; returns whether there were any."""
        used = {arc.number for arc in self.route(point)}
        added = False
        for group in self.groups:
            if is_smooth(group.function) and any(arc.number in used for arc in group.arcs):
                run = point[group.run]
                if point[TP] + self.log_reference - math.log(group.function(math.exp(run))) > tolerance:
                    function: LatencyBandwidth = group.function  # type: ignore[assignment]
                    self._add_line(group, tangent(function, run), group.when)
                    added = True
        if self.resources and point[PERIOD] < math.exp(-point[TP]) * (1 - tolerance):
            self._add_period(point[TP])
            added = True
        return added

    def aim_at_throughput(self) -> None:
        """Set the objective: the highest throughput."""
        if self.resources:
            self.rows.minimise([(PERIOD, 1.0)])
        else:
            self.rows.maximise([(TP, 1.0)])

    def aim_at_fewest_hops(self) -> None:
        """Set the objective: the fewest hops; among these, a conversion at an end, which needs no blocks."""
        self.rows.minimise([(self.names[arc.number], _cost(arc)) for arc in self.stages.arcs])

    def cost(self, point: Point) -> float:
        """The value of the objective of `aim_at_fewest_hops`."""
        return sum(map(_cost, self.route(point)))

    def keep_throughput(self, point: Point, slack: float) -> None:
        """From now on lose at most the share `slack` of a point's throughput."""
        if self.resources:
            self.rows.at_most("no_slower", [(PERIOD, 1.0)], point.objective * (1 + slack))
        else:
            self.rows.at_most("no_slower", [(TP, -1.0)], -point.objective + slack)


def _function(arc: Arc) -> ThroughputFunction:
    """The throughput function of an arc: a bound on its rate."""
    return arc.channel.layout_rates if arc.converts else arc.channel.throughput


def _run(arc: Arc) -> str:
    """The name of the variable for the runs of an arc.

    Where layout changes have a rate of their own, an end hop that does not convert may form blocks or not, which has different
    rates. Both are below the rate for whole chunks.
    """
    return CHUNK if arc.channel.layout_throughput is not None and not arc.converts else _RUNS[arc.role]


def _cost(arc: Arc) -> float:
    return 1.5 if arc.role is Role.BETWEEN else 1.0
