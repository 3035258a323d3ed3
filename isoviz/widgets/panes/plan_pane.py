"""The plan: its figures and its hops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypedDict

from isoviz.schema import Named, named
from isoviz.units import format_bytes, format_seconds
from isoviz.widgets.consequences.derive import EVERYTHING
from isoviz.widgets.consequences.run_places import RANKS
from isoviz.widgets.panes.pane import pane
from isoviz.widgets.remembered import Remembered
from isoviz.widgets.state import State, sentence

if TYPE_CHECKING:
    from isoviz.machines import Channel, Machine
    from isoviz.planner import PathPlan, Plan
    from isoviz.runtime.ledger.trial_interval import ModelInterval
    from isoviz.widgets.consequences.run_places import Where


class ShownBuffer(TypedDict):
    """A ring of `slots` slots of `slotBytes` bytes each."""

    slots: int
    slotBytes: int


class ShownStop(TypedDict):
    """A memory on the path, with the layout that the data have there.

    `words` says what kind of memory it is, `where` on which node. `layout` is the text of the layout, which lies on the whole
    index space; in a buffer only a chunk of it is there at a time.
    """

    memory: str
    words: str
    where: str
    node: int
    emulated: bool
    layout: str
    pretty: str
    buffer: ShownBuffer | None


class ShownHop(TypedDict):
    """One hop: hop i leads from stop i to stop i + 1.

    `words` says what kind of channel it is, `order` what it does to the order (`OrderChange`). `run` and `shuffle` are bytes;
    `shuffle` is null where the layout stays the same. `rate` is bytes per second, `busy` the share of the transfer for which the
    channel is at work, from 0 to 1. `curve` is the throughput function around the operating point, `measured` the samples behind
    it where it was measured. `peak` is the highest rate of the channel, `origin` the source of its figures. `limits` names what
    bounds the rate: the run, the chunk, the channel itself, or a resource that channels share. `descriptors` is the most runs of
    one request, null where there is no such limit; `hasProtocol` says whether its messages are known.
    """

    index: int
    channel: str
    kind: str
    words: str
    source: str
    destination: str
    sourceLayout: str
    destinationLayout: str
    converts: bool
    order: Literal["keeps", "forms blocks", "converts", "dissolves blocks", "reorders blocks"]
    run: float
    shuffle: float | None
    rate: float
    peak: float
    busy: float
    bottleneck: bool
    limits: str
    descriptors: int | None
    hasProtocol: bool
    curve: list[CurvePoint]
    measured: list[CurvePoint]
    origin: str


class ChunkDigit(TypedDict):
    """A digit that numbers the blocks of the chunks; the dimension "F" counts the fields."""

    dim: str
    extent: int
    step: int


class ShownBox(TypedDict):
    """The box of the array that a path moves: its first index and its extent by dimension. `source` and `destination` are the
    layouts in which both ends store its entries, on the box alone.
    """

    origin: Named[int]
    shape: Named[int]
    source: str
    destination: str


class ShownPace(TypedDict):
    """What sets the pace of a path: its hops of these numbers on the path, at `rate` bytes per second.

    Where several hops do so together, since they share something, `words` is a sentence about it without a full stop, and
    `takesTurns` says whether only one of them works at a time.
    """

    hops: list[int]
    rate: float
    words: str
    takesTurns: bool


class ShownPath(TypedDict):
    """One path of a plan with its share of the data, from 0 to 1. Chunks are runs of `perChunk` blocks, which `chunkDigits`
    number, fastest first; `firstChunk` is the number of its first chunk, for several paths may share one sequence of chunks.
    `box` is the part of the array that the blocks and the layouts of buffers are about, null where that is the whole array.
    `block` has the coordinates of one block, by dimension: what turns is seen in it. `pace` says what sets its pace.
    """

    share: float
    box: ShownBox | None
    firstChunk: int
    chunks: int
    chunkBytes: int
    perChunk: int
    chunkDigits: list[ChunkDigit]
    block: Named[int]
    stops: list[ShownStop]
    hops: list[ShownHop]
    pace: ShownPace


class ShownInterval(TypedDict):
    """The seconds that nine of ten runs should take, and where that is known from."""

    low: float
    high: float
    origin: str


class PlanPart(TypedDict):
    """A plan in bytes, seconds and bytes per second, with its notes in words. `seconds` are those of the first of `reuse` starts,
    `again` those of each later one.

    `where` says where it runs: "this computer", ranks such as "4 ranks of this computer", or "simulated only". ", emulated"
    follows where main memory stands in for a memory. `interval` is null where nothing is known of the errors of predictions.
    """

    planner: str
    machine: str
    where: str
    bytes: int
    seconds: float
    again: float
    reuse: int
    interval: ShownInterval | None
    throughput: float
    setup: float
    buffers: int
    bufferBytes: int
    paths: list[ShownPath]
    notes: list[str]


_remembered: Remembered[PlanPart] = Remembered()
_remembered_planner: Remembered[PlanPart] = Remembered()


@pane("plan", "the plan", {"plan": EVERYTHING})
def plan_part(state: State) -> PlanPart | None:
    """What the plan pane shows: the last plan there was, None before the first."""
    derived = state.derived
    plan, machine = derived.plan, derived.planned_on
    if plan is None or machine is None:
        return None
    where = where_words(derived.where, bool(plan.emulated))
    return _remembered.of(lambda: _plan(plan, machine, where, derived.interval), plan, machine, derived.interval, where)


@pane("planned", "the planner's plan, where there is one by hand")
def planned_part(state: State) -> PlanPart | None:
    """The plan that a planner makes of what is planned by hand; None where a planner plans, or it is not known yet."""
    derived = state.derived
    plan: Plan | None = derived.later.get("planners_plan")
    if plan is None or derived.planned_on is None or derived.settings.by_hand is None or plan.transfer != derived.transfer:
        return None
    machine, where = derived.planned_on, where_words(derived.where, bool(plan.emulated))
    return _remembered_planner.of(lambda: _plan(plan, machine, where, None), plan, machine, where)


def where_words(where: Where | None, emulated: bool = False) -> str:
    """Where a plan runs, in words; `emulated` says whether a memory of it is."""
    if where is None or where.place is None:
        return "simulated only"
    count, mark = where.place.ranks, ", emulated" if emulated else ""
    return f"{count} rank{'s' * (count != 1)} of this computer{mark}" if where.place.name == RANKS else f"this computer{mark}"


def _plan(plan: Plan, machine: Machine, where: str, interval: ModelInterval | None) -> PlanPart:
    return {
        "planner": plan.planner,
        "machine": plan.machine_name,
        "where": where,
        "bytes": plan.bytes,
        "seconds": plan.seconds,
        "again": plan.again,
        "reuse": plan.reuse,
        "interval": None if interval is None else _interval(interval),
        "throughput": plan.throughput,
        "setup": plan.setup,
        "buffers": len(plan.buffers),
        "bufferBytes": plan.buffer_bytes,
        "paths": [_path(plan, number, machine) for number in range(len(plan.paths))],
        "notes": [sentence(note) for note in plan.notes],
    }


def _interval(known: ModelInterval) -> ShownInterval:
    runs = "the latest run" if known.runs == 1 else f"the latest {known.runs} runs"
    return {"low": known.low, "high": known.high, "origin": f"from {runs} of this kind on this computer"}


def _path(plan: Plan, number: int, machine: Machine) -> ShownPath:
    from isoviz.layouts import Mode

    path = plan.paths[number]
    first = sum(len(before.hops) for before in plan.paths[:number])
    fields = len(path.transfer.fields)
    digits: list[ChunkDigit] = [
        {"dim": part.dim, "extent": part.extent, "step": part.step}
        if isinstance(part, Mode)
        else {"dim": "F", "extent": fields, "step": 1}
        for part in path.chunks.digits
    ]
    return {
        "share": path.bytes / plan.bytes if plan.bytes else 1.0,
        "box": None if path.transfer.shape == path.transfer.source.space.sizes else _box(path),
        "firstChunk": path.numbers.start,
        "chunks": path.chunk_count,
        "chunkBytes": path.chunk_bytes,
        "perChunk": path.per_chunk,
        "chunkDigits": digits,
        "block": named(path.block),
        "stops": _stops(path, machine),
        "hops": [_hop(plan, number, index, machine, first) for index in range(len(path.hops))],
        "pace": _pace(path, plan.slowest[number], first),
    }


def _pace(path: PathPlan, slowest: frozenset[int], first: int) -> ShownPace:
    together = next((pace for pace in path.paces if len(pace.hops) > 1), None)
    return {
        "hops": sorted(slowest) or list(range(len(path.hops))),
        "rate": path.throughput,
        "words": "" if together is None else together.words(first),
        "takesTurns": together is not None and together.takes_turns,
    }


def _box(path: PathPlan) -> ShownBox:
    space, orders = path.transfer.space, path.orders
    return {
        "origin": list(zip(space, path.transfer.source_origin, strict=True)),
        "shape": named(space.as_dict()),
        "source": str(orders[0].layout),
        "destination": str(orders[-1].layout),
    }


def _stops(path: PathPlan, machine: Machine) -> list[ShownStop]:
    from isoviz.layouts import Layout

    layouts = (path.hops[0].source_layout, *(hop.destination_layout for hop in path.hops))
    buffers: list[ShownBuffer | None] = [{"slots": each.slots, "slotBytes": each.nbytes} for each in path.buffers]
    stops: list[ShownStop] = []
    for name, layout, buffer in zip(path.memories, layouts, [None, *buffers, None], strict=True):
        memory = machine.memory(name)
        stops.append(
            {
                "memory": name,
                "words": memory.kind.words,
                "where": f"node {memory.node} · {memory.short_name}",
                "node": memory.node,
                "emulated": memory.emulated,
                "layout": layout,
                "pretty": Layout(layout).pretty,
                "buffer": buffer,
            }
        )
    return stops


def _hop(plan: Plan, number: int, index: int, machine: Machine, first: int) -> ShownHop:
    from isoviz.layouts import Layout

    path = plan.paths[number]
    hop = path.hops[index]
    channel = machine.channel(hop.channel)
    rate = path.rates[index]
    return {
        "index": index,
        "channel": hop.channel,
        "kind": str(hop.kind),
        "words": channel.kind.words,
        "source": hop.source,
        "destination": hop.destination,
        "sourceLayout": Layout(hop.source_layout).pretty,
        "destinationLayout": Layout(hop.destination_layout).pretty,
        "converts": hop.converts,
        "order": path.order_changes[index].value,
        "run": hop.request_bytes,
        "shuffle": path.shuffles[index] if hop.converts else None,
        "rate": hop.throughput,
        "peak": channel.peak,
        "busy": _busy(path.bytes, rate, plan.seconds),
        "bottleneck": index in plan.slowest[number],
        "limits": limit_words(path, index, channel, first),
        "descriptors": channel.descriptors,
        "hasProtocol": channel.kind.protocol is not None,
        "curve": curve_points(channel, hop.request_bytes),
        "measured": measured_points(channel, hop.request_bytes),
        "origin": channel.provenance,
    }


def _busy(nbytes: int, rate: float, seconds: float) -> float:
    """The share of `seconds` for which a hop is at work that moves `nbytes` at this rate."""
    if not rate or not seconds or not math.isfinite(seconds):
        return 1.0
    return min(1.0, nbytes / rate / seconds)


# ---- a hop: its throughput function near its run, and the bound on its rate


MOST_POINTS = 40
"""Points of a curve."""
_GRID = 24
"""Points of a curve that has no samples of its own to go through."""
_BELOW, _ABOVE = 2.0**12, 2.0**8
"""How far a curve reaches to both sides of the run, as factors."""
_LEAST, _MOST = 1.0, 2.0**40
"""The runs between which curves are drawn, in bytes."""
_AT_PEAK = 0.95
"""The share of the highest rate from which on a hop works at its peak: longer runs would gain next to nothing."""
_SAME = 1e-6


class CurvePoint(TypedDict):
    """A point of a throughput function: a run in bytes, and the bytes per second that the channel sustains with such runs."""

    run: float
    rate: float


def curve_points(channel: Channel, run: float) -> list[CurvePoint]:
    """The throughput function around a run: at both ends, at the run, at its samples, and in even steps if these are few."""
    low, high = _reach(channel, run)
    runs = {low, high}
    if low < run < high:
        runs.add(run)
    own = [sample for sample, _ in channel.throughput.samples if low < sample < high]
    if len(own) < 4:
        runs |= {low * (high / low) ** (step / _GRID) for step in range(1, _GRID)}
    room = MOST_POINTS - len(runs)
    runs |= set(own if len(own) <= room else [own[k * len(own) // room] for k in range(room)])
    return [{"run": each, "rate": channel.rate(each)} for each in sorted(runs)]


def measured_points(channel: Channel, run: float) -> list[CurvePoint]:
    """The samples that were measured, within the reach of the curve; none if the channel was not measured."""
    function = channel.throughput
    if getattr(function, "date", None) is None and not channel.provenance.startswith("measured"):
        return []
    low, high = _reach(channel, run)
    samples = getattr(function, "measured", None) or function.samples
    found: list[CurvePoint] = [{"run": each, "rate": rate} for each, rate in samples if low <= each <= high]
    return found if len(found) <= MOST_POINTS else [found[k * len(found) // MOST_POINTS] for k in range(MOST_POINTS)]


def _reach(channel: Channel, run: float) -> tuple[float, float]:
    """The shortest and the longest run of a curve: around the run, and far enough to show where the channel reaches its peak."""
    run_of_curve = min(max(run, _LEAST), _MOST)
    at_peak = channel.throughput.inverse(_AT_PEAK * channel.peak)
    high = max(run_of_curve * _ABOVE, 4 * at_peak) if math.isfinite(at_peak) else run_of_curve * _ABOVE
    return max(_LEAST, run_of_curve / _BELOW), min(max(high, 2.0), _MOST)


def limit_words(path: PathPlan, hop: int, channel: Channel, first: int = 0) -> str:
    """What bounds the rate of a hop, as one sentence without a full stop. `first` is the number of the path's first hop."""
    found = path.hops[hop]
    if shared := next((words for pace in path.paces if hop in pace.hops and (words := pace.words(first))), ""):
        return shared
    if found.throughput >= _AT_PEAK * channel.peak:
        return "It works at its peak"
    if words := _requests_words(path, hop, channel):
        return words
    run = format_bytes(found.request_bytes)
    if found.request_bytes < path.chunk_payload * (1 - _SAME):
        return f"Its runs are short: the layouts keep {run} together"
    if path.chunk_count == 1:
        return f"The transfer is small: all of it moves as one run of {run}"
    return f"Its chunks are short: each moves as one run of {run}"


def _requests_words(path: PathPlan, hop: int, channel: Channel) -> str:
    """That the requests of a hop take longer than its bytes, if they do: then its runs explain nothing."""
    found, nbytes = path.hops[hop], path.chunk_payload * path.moved[hop]
    if not channel.request_seconds or not found.throughput:
        return ""
    rates = channel.layout_rates if found.converts else channel.throughput
    whole, moving = nbytes / found.throughput, nbytes / rates(found.request_bytes)
    if whole <= 2 * moving:
        return ""
    return f"Its requests take longer than its bytes: {format_seconds(whole - moving)} of {format_seconds(whole)} for a chunk"
