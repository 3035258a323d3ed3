"""The sentences of an explanation: the same on a terminal, on a page and in a notebook."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz.layouts import Layout, OrderChange
from isoviz.machines.memory import emulated_text
from isoviz.planner.explanation.plan_document import starts_text
from isoviz.planner.listed_transfer import ListedTransfer
from isoviz.units import format_bytes, format_rate, format_seconds, format_share

if TYPE_CHECKING:
    from isoviz.machines import Channel
    from isoviz.planner.explanation.explanation import Explanation, RankedPath, Stage
    from isoviz.planner.plan import Plan
    from isoviz.planner.program.path_bound import PathProgram, RowState

SAME = 1e-6
"""Throughputs and times with a smaller relative difference count as the same."""


@dataclass(frozen=True)
class TimeParts:
    """The parts of the predicted time in the mean of all starts: T = `setup` + `filling` + (`chunks` − 1) × `period`, in seconds.

    `filling` is the time of the first chunk through all hops. `period` is the time that every further chunk adds. `chunks` is the
    payload divided by the bytes of a chunk; it is a fraction if the last chunk is short.

    The predicted time is T − `ahead`: a short last chunk passes the hops after the slowest one earlier than T assumes. `ahead` is
    negative if hops that share a resource delay each other, or if padding moves as well. `padding` is that padding as a share of
    the bytes, on the hop with the most padding.
    """

    setup: float
    filling: float
    period: float
    chunks: float
    ahead: float
    padding: float = 0.0

    @property
    def steady(self) -> float:
        """Seconds from the arrival of the first chunk to the end."""
        return (self.chunks - 1) * self.period

    @property
    def seconds(self) -> float:
        """T: the sum of the parts."""
        return self.setup + self.filling + self.steady


def time_parts(explanation: Explanation) -> TimeParts:
    """The parts of the predicted time of a plan."""
    plan, hops = explanation.plan, hop_stages(explanation)
    period = hops[0].seconds / hops[0].share
    chunks, ahead = plan.bytes / (plan.throughput * period), plan.objective - plan.mean
    return TimeParts(plan.only.mean_setup, sum(hop.seconds for hop in hops), period, chunks, ahead, max(plan.moved) - 1)


def hop_stages(explanation: Explanation) -> tuple[Stage, ...]:
    """The stages with a hop: all but the destination."""
    return explanation.stages[:-1]


def path_text(memories: Sequence[str], converting: int | None = None) -> str:
    """A path as text: `node0.fbm0 → zcm ⇒ reg → node1.reg`. A node is named where it changes; ⇒ marks the converting hop."""
    text, before = memories[0], memories[0].rpartition(".")[0]
    for hop, name in enumerate(memories[1:]):
        node, _, local = name.rpartition(".")
        text += f"{' ⇒ ' if hop == converting else ' → '}{local if node and node == before else name}"
        before = node
    return text


def channels_text(channels: Sequence[str], converting: int | None = None) -> str:
    """A path given by its channels: its memories if the names of the channels contain them, else the names."""
    ends = [re.fullmatch(r"(.+)->([^#]+)(#.*)?", name) for name in channels]
    pairs = [(end[1], end[2]) for end in ends if end]
    if len(pairs) == len(channels) and all(here[1] == there[0] for here, there in itertools.pairwise(pairs)):
        return path_text([pairs[0][0], *(there for _, there in pairs)], converting)
    return ", ".join(channels)


def symbols(stage: Stage, after: Stage) -> str:
    """PREFIX as a product of sizes, as in Isometry's table 3: `|F| × x_in`; TOTAL if the layout does not change."""
    if stage.layout == after.layout:
        return "TOTAL"
    parts = [] if stage.prefix == "1" else stage.prefix.split(", ")
    named = [_size(part) for part in parts]
    return " × ".join(named if "F" in parts else ["|f|", *named])


def _size(part: str) -> str:
    name, _, size = part.partition("=")
    return name if size else f"|{name}|"


def blocks_of(explanation: Explanation) -> dict[str, int]:
    """The plan's values for the variables of the program, as far as its layouts or the region contain them."""
    region = explanation.region
    found = {region.x: round(region.chosen[0]), region.y: round(region.chosen[1])} if region is not None else {}
    for variable in explanation.program.variables:
        for stage in explanation.stages[1:-1]:
            match = re.search(rf"(?<![\w.]){re.escape(variable.name)}=(\d+)", stage.layout)
            if match:
                found[variable.name] = int(match[1])
    return {variable.name: found[variable.name] for variable in explanation.program.variables if variable.name in found}


def allowed(explanation: Explanation) -> dict[str, tuple[float, float]]:
    """For every variable, the smallest and the largest size with which the path sustains the plan's throughput.

    With two variables, each range holds for the best value of the other variable.
    """
    program, region = explanation.program, explanation.region
    if region is not None and region.corners:
        xs, ys = zip(*region.corners, strict=True)
        return {region.x: (min(xs), max(xs)), region.y: (min(ys), max(ys))}
    if len(program.variables) == 1:
        return {program.variables[0].name: _interval(program, explanation.target * (1 - 1e-9))}
    return {}


def _interval(program: PathProgram, throughput: float) -> tuple[float, float]:
    variable = program.variables[0]
    low, high = 1.0, variable.high
    for row in program.throughput:
        power = len(row.run.factors)
        if power and not math.isinf(row.throughput.inverse(throughput)):
            low = max(low, (row.throughput.inverse(throughput) / row.run.coefficient) ** (1 / power))
    for space in program.space:
        if space.shuffle.factors:
            high = min(high, (space.limit / space.shuffle.coefficient) ** (1 / len(space.shuffle.factors)))
    return low, high


def amount(state: RowState, value: float) -> str:
    """A value of a row (left side, bound or slack) in the unit of the row."""
    return format_rate(value) if state.kind in ("throughput", "resource") else format_bytes(value)


def price_text(state: RowState) -> str:
    """The change of TP per unit of a bound: `+544 kB/s per MB/s`, `+18.2 MB/s per MiB`.

    The text has both directions if a lower bound changes TP at another rate than a higher bound.
    """
    if math.isnan(state.price_up):
        return ""
    if state.kind in ("throughput", "resource"):
        unit, per = 1e6, "MB/s"
    else:
        unit, per = next(((size, name) for size, name in _UNITS if state.bound >= size), (1.0, "B"))
    up, down = state.price_up * unit, state.price_down * unit
    if max(state.price_up, state.price_down) * state.bound <= SAME * max(state.left, 1.0):
        return "0"
    if math.isinf(down):
        return f"+{format_rate(up)} per {per}; less leaves no room"
    if abs(up - down) <= 1e-3 * max(up, down):
        return f"+{format_rate(up)} per {per}"
    more = f"+{format_rate(up)}" if up > 1e-6 * down else "0"
    return f"{more} per {per} more, −{format_rate(down)} less"


_UNITS = ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))


def summary(explanation: Explanation) -> list[str]:
    """The transfer, the plan for it, and the limit of the plan."""
    plan = explanation.plan
    source, destination = plan.transfer.source, plan.transfer.destination
    space = ", ".join(f"{name} = {size:,}" for name, size in plan.transfer.space.as_dict().items())
    if isinstance(plan.transfer, ListedTransfer):
        space += f"; {plan.transfer.list_text}"
    count = len(plan.hops)
    who = "This plan by hand" if explanation.is_by_hand else f"The {plan.planner} planner"
    found = (
        f"{who} takes {counted(count, 'hop')}: {format_seconds(plan.seconds)}, that is"
        f" {format_rate(plan.throughput)} in the steady state"
    )
    if plan.buffers:
        found += f", with {format_bytes(plan.buffer_bytes)} of buffers"
    changes = [change for path in plan.paths for change in path.order_changes]
    told = [f"hop {at} ({hop.kind}) {change}" for at, (hop, change) in enumerate(zip(plan.every_hop, changes, strict=True))
            if change is not OrderChange.KEEPS]  # fmt: skip
    if told:
        text = ", ".join(told)
        found += f". {text[0].upper()}{text[1:]}"
    asked = (
        f"Asked: move {format_bytes(plan.bytes)} ({space}) from {source.memory}, stored as {source.layout.pretty}, to"
        f" {destination.memory}, wanted as {destination.layout.pretty}, on the machine {plan.machine_name}."
    )
    return [
        asked,
        f"{found}.",
        f"The plan is limited by {_limit(explanation.candidates[0])}.",
        *orders_text(explanation),
        *([f"{said}."] if (said := starts_text(plan)) else []),
        *emulation_text(plan),
    ]


def orders_text(explanation: Explanation) -> list[str]:
    """Where a network changes the order at no cost, or would, and why memory copies remain beside it."""
    plan, find = explanation.plan, explanation.machine.find_channel
    hops = [
        (at, hop, change, channel)
        for at, (hop, change) in enumerate(zip(plan.hops, plan.only.order_changes, strict=True))
        if (channel := find(hop.channel)) is not None
    ]
    said = [
        f"Hop {at} changes the order at no cost: the network moves runs of {format_bytes(hop.request_bytes)} as fast as any."
        for at, hop, change, channel in hops
        if change is OrderChange.CONVERTS
        and channel.kind.crosses_nodes
        and channel.layout_rates(hop.request_bytes) >= channel.peak
    ]
    turned = next((hop for _, hop, change, channel in hops if change is OrderChange.CONVERTS and channel.is_self_loop), None)
    if turned is not None:
        said = _unused(explanation, turned.source, turned.request_bytes, [(at, channel) for at, _, _, channel in hops])
    if not said:
        return []
    for network in explanation.machine.networks:
        if network.topology.best_order and any(network.channel_ends(hop.channel) for _, hop, _, _ in hops):
            said.append(f"Where many nodes send to one another, the network carries most {network.topology.best_order}.")
    for at, hop, change, channel in hops if turned is None else []:
        if not channel.is_self_loop or change in (OrderChange.KEEPS, OrderChange.CONVERTS):
            continue
        rest = tuple(other.channel for number, other in enumerate(plan.hops) if number != at)
        without = next((each.least for each in explanation.candidates if each.channels == rest), None)
        more = "" if without is None else f" Without this copy the path takes {format_seconds(without)}."
        said.append(
            f"Hop {at} still copies in memory and {change}: all moves in {counted(plan.chunk_count, 'chunk')}, so that the hops"
            f" work at the same time, and of a chunk only {format_bytes(hop.request_bytes)} at a time are contiguous in"
            f" {hop.source if change is OrderChange.FORMS else hop.destination}.{more}"
        )
    return said


def _unused(explanation: Explanation, memory: str, run: float, hops: Sequence[tuple[int, Channel]]) -> list[str]:
    """Where a network would change the order at no cost and in less time, and a copy in a memory does it."""
    said = []
    for at, channel in hops:
        turning = [each for each in explanation.candidates if each.converting is not None]
        least = min((each.least for each in turning if each.kinds[each.converting or 0] == channel.kind), default=math.inf)
        if channel.kind.crosses_nodes and channel.layout_rates(run) >= channel.peak and least < explanation.plan.seconds:
            said.append(
                f"Hop {at} would change the order at no cost: the network moves runs of {format_bytes(run)} as fast as any."
                f" The {explanation.plan.planner} planner has memory change it, by a copy in {memory}."
                f" A path on which the network does takes {format_seconds(least)}."
            )
    return said


def emulation_text(plan: Plan) -> list[str]:
    """That some memories of a plan are emulated, as a sentence; nothing if none is."""
    return [f"Some of its memories are {emulated_text(plan.emulated)}."] if plan.emulated else []


def _limit(candidate: RankedPath) -> str:
    return candidate.limit.replace(": runs", ", with runs", 1)


def verdict(explanation: Explanation) -> list[str]:
    """The meaning of the binding rows, in sentences."""
    binding = explanation.solution.binding
    peaks: dict[int | None, float] = {row.hop: row.throughput.peak for row in explanation.program.throughput}
    tight = [row for row in binding if row.kind == "throughput"]
    flat = [row for row in tight if row.bound >= peaks[row.hop] * (1 - SAME)]
    room = [row for row in binding if row.kind not in ("throughput", "resource") and row.price_up > 0]
    peak = "works at the peak of its channel"
    said = [f"Hop {row.hop} {peak}, {format_rate(row.bound)}: longer runs would not help, only a faster channel." for row in flat]
    curved = [row for row in tight if row not in flat]
    if curved and room:
        hops = " and ".join(f"hop {row.hop}" for row in curved)
        want = "wants longer runs" if len(curved) == 1 else "want longer runs, each in a dimension of its own"
        said.append(f"{hops[0].upper()}{hops[1:]} {want}, but the bound on a slot prevents them: the price of space is above 0.")
    elif curved:
        hop = curved[0].hop
        run = format_bytes(curved[0].run or 0 if hop is None else explanation.plan.hops[hop].request_bytes)
        said.append(f"Hop {curved[0].hop} is held back by its runs of {run}, which are as long as layouts and chunk allow.")
    said += [f"{row.label}: the shared resource is used up." for row in binding if row.kind == "resource"]
    if len(tight) > 1 and all(row.price_up * row.bound < SAME * row.left for row in binding):
        said.append("Several rows bind at once: raising a single bound would not raise the throughput.")
    return said


def agreement(explanation: Explanation) -> str:
    """The results of the two methods that solve the program."""
    solution, bisection = explanation.solution, explanation.bisection
    off = abs(solution.bound - bisection.throughput) / bisection.throughput
    same = "exactly the same" if off == 0 else f"the same to {off:.1g} (relative)"
    both = f"Both find {format_rate(solution.throughput)}, {same}."
    if not solution.exact:
        both = f"The first allows {format_rate(solution.bound)} at most, the second finds {format_rate(bisection.throughput)}."
    return (
        f"Solved twice: as a linear program in PuLP, maximising log TP ({format_seconds(solution.solver_seconds)}), and by"
        f" bisection on TP as in Isometry 4.2 ({counted(len(bisection.steps), 'step')}). {both}"
    )


def sizes_text(explanation: Explanation) -> list[str]:
    """The block sizes: the range that the program allows, the plan's choice, and the reason for it."""
    plan, program, solution = explanation.plan, explanation.program, explanation.solution
    said = []
    if not program.variables:
        converting = [hop.index for hop in plan.hops if hop.converts]
        inside = any(0 < hop < len(plan.hops) - 1 for hop in converting)
        why = "Blocks hold whole dimensions" if inside else "No hop between two buffers converts"
        said.append(f"{why}, so there are no block sizes to choose, only the size of the chunks.")
    else:
        ranges = [f"{name} from {count_text(low)} to {count_text(high)}" for name, (low, high) in allowed(explanation).items()]
        if ranges:
            together = ", not both at their largest" if len(ranges) > 1 and program.space else ""
            said.append(
                f"To sustain {format_rate(explanation.target)} the program allows {' and '.join(ranges)}{together}; the middle of"
                f" its best sizes is {_pairs({name: count_text(size) for name, size in solution.values})}."
            )
        taken = blocks_of(explanation)
        if taken:
            said.append(f"The plan takes {_pairs({name: f'{size:,}' for name, size in taken.items()})}.")
    if plan.chunk_count == 1:
        said.append("All of it moves as one chunk.")
        return said
    said.append(f"A chunk is {format_bytes(plan.chunk_bytes)}; {plan.chunk_count:,} chunks move, one after another.")
    less = 1 - plan.throughput / solution.throughput
    parts = time_parts(explanation)
    reached = f"They sustain {format_rate(plan.throughput)}"
    if less <= SAME:
        reached += ", all that the program certifies"
    else:
        reached += f", {format_share(less)} less than the {format_rate(solution.throughput)} that the program certifies"
    if len(plan.hops) == 1 or not plan.overlap or explanation.is_by_hand:
        said.append(f"{reached}.")
        return said
    most = [row.run.coefficient for row in program.throughput if row.run.label == "chunk"]
    if most and plan.chunk_bytes > 0.99 * min(most):
        said.append(f"{reached}. The chunks are as large as a slot may be: more room would let them grow.")
        return said
    later = f"twice the chunk would add about {format_seconds(max(0.0, parts.filling - parts.period))} of filling"
    if less <= SAME:
        why = f"larger chunks would sustain no more and fill the pipeline later ({later})"
    else:
        why = f"larger chunks might sustain more but fill the pipeline later ({later}), and T counts both"
    said.append(f"{reached}. {_least_text(explanation)}: {why}.")
    return said


def _least_text(explanation: Explanation) -> str:
    """Whether other sizes would take less time, in words."""
    plan, least = explanation.plan, explanation.candidates[0].least
    if explanation.machine.limits.chunk_seconds:
        return "These sizes minimise the sum of T and the cost of the chunks to an engine"
    if plan.objective <= least * (1 + 1e-6):
        return "With these sizes T is least"
    return f"T is {format_share(plan.objective / least - 1)} above its least, which smaller chunks would reach"


def time_text(explanation: Explanation) -> str:
    """The time as a sum, in numbers."""
    parts = time_parts(explanation)
    whole = abs(parts.chunks - round(parts.chunks)) < 1e-6 * parts.chunks
    count = counted(round(parts.chunks), "chunk") if whole or parts.chunks >= 1000 else f"{parts.chunks:,.1f} chunks"
    total = "T" if explanation.plan.reuse == 1 else f"T, the mean of {explanation.plan.reuse:,} starts,"
    return (
        f"{total} = set-up {format_seconds(parts.setup)} + filling {format_seconds(parts.filling)} + steady state"
        f" {format_seconds(parts.steady)} = {format_seconds(parts.seconds)}, with {count} and a period of"
        f" {format_seconds(parts.period)}.{ahead_text(parts)}"
    )


def ahead_text(parts: TimeParts) -> str:
    """The difference between T and the predicted time, in words; empty if there is none."""
    if abs(parts.ahead) <= SAME * parts.seconds:
        return ""
    if parts.ahead < 0 and parts.padding:
        return (
            f" Padding moves along, {format_share(parts.padding)} of the bytes besides:"
            f" {format_seconds(parts.seconds - parts.ahead)} in all."
        )
    if parts.ahead < 0:
        return f" Hops that share a resource delay each other: {format_seconds(parts.seconds - parts.ahead)} in all."
    return (
        f" The last chunk is shorter and arrives {format_seconds(parts.ahead)} earlier:"
        f" {format_seconds(parts.seconds - parts.ahead)} in all."
    )


def count_text(value: float) -> str:
    """A number of elements: whole if it is large or nearly whole, else with three digits."""
    near = round(value)
    return f"{near:,}" if value >= 100 or abs(value - near) < 1e-6 * max(1.0, value) else f"{value:.3g}"


def layout_text(layout: str) -> str:
    """`<F, x>` as `⟨F, x⟩`."""
    return Layout(layout).pretty


def _pairs(values: dict[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def counted(count: int, noun: str) -> str:
    """`one path`, `12 paths`."""
    return f"{'one' if count == 1 else f'{count:,}'} {noun}{'' if count == 1 else 's'}"
