"""The plan: its figures and its hops."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from isoviz.widgets.state import State, sentence

if TYPE_CHECKING:
    from isoviz.planner import Plan


class ShownBuffer(TypedDict):
    """A ring of `slots` slots of `slotBytes` bytes each."""

    slots: int
    slotBytes: int


class ShownStop(TypedDict):
    """A memory on the path, with the layout that the data have there.

    `words` says what kind of memory it is, `where` on which node. `layout` is the text of the layout, which lies on the whole index
    space; in a buffer only a chunk of it is there at a time.
    """

    memory: str
    words: str
    where: str
    node: int
    emulated: bool
    layout: str
    pretty: str
    buffer: ShownBuffer | None


class CurvePoint(TypedDict):
    """A point of a throughput function: a run in bytes, and the bytes per second that the channel sustains with such runs."""

    run: float
    rate: float


class ShownHop(TypedDict):
    """One hop: hop i leads from stop i to stop i + 1.

    `words` says what kind of channel it is. `run` and `shuffle` are bytes; `shuffle` is null where the layout stays the same. `rate` is
    bytes per second, `busy` the share of the transfer for which the channel is at work, from 0 to 1. `curve` is the throughput
    function around the operating point, `measured` the samples behind it where it was measured. `peak` is the highest rate of the
    channel, `origin` the source of its figures. `limits` names what bounds the rate: the run, the chunk, the channel itself, or a
    resource that channels share.
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
    run: float
    shuffle: float | None
    rate: float
    peak: float
    busy: float
    bottleneck: bool
    limits: str
    curve: list[CurvePoint]
    measured: list[CurvePoint]
    origin: str


class ChunkDigit(TypedDict):
    """A digit that numbers the blocks of the chunks; the dimension "F" counts the fields."""

    dim: str
    extent: int
    step: int


class ShownPath(TypedDict):
    """One path of a plan with its share of the data, from 0 to 1. Chunks are runs of `perChunk` blocks, which `chunkDigits` number, fastest
    first.
    """

    share: float
    chunks: int
    chunkBytes: int
    perChunk: int
    chunkDigits: list[ChunkDigit]
    stops: list[ShownStop]
    hops: list[ShownHop]


class ShownInterval(TypedDict):
    """The seconds that nine of ten runs should take, and where that is known from."""

    low: float
    high: float
    origin: str


class PlanPart(TypedDict):
    """A plan in bytes, seconds and bytes per second, with its notes in words.

    `where` says where it runs: "this computer", or "simulated only". `interval` is null where nothing is known of the errors of
    predictions.
    """

    planner: str
    machine: str
    where: str
    bytes: int
    seconds: float
    interval: ShownInterval | None
    throughput: float
    setup: float
    buffers: int
    bufferBytes: int
    paths: list[ShownPath]
    notes: list[str]


def plan_part(state: State) -> PlanPart | None:
    """What the plan pane shows: the last plan there was, None before the first."""
    return None if state.derived.plan is None else _plan(state.derived.plan)


def _plan(plan: Plan) -> PlanPart:
    from isoviz.layouts import Layout

    slowest = min(hop.throughput for hop in plan.hops)
    return {
        "planner": plan.planner,
        "machine": plan.machine_name,
        "bytes": plan.bytes,
        "seconds": plan.seconds,
        "throughput": plan.throughput,
        "buffers": len(plan.buffers),
        "bufferBytes": plan.buffer_bytes,
        "chunks": plan.chunk_count,
        "chunkBytes": plan.chunk_bytes,
        "hops": [
            {
                "index": hop.index,
                "channel": hop.channel,
                "kind": str(hop.kind),
                "source": hop.source,
                "destination": hop.destination,
                "sourceLayout": Layout(hop.source_layout).pretty,
                "destinationLayout": Layout(hop.destination_layout).pretty,
                "converts": hop.converts,
                "run": hop.request_bytes,
                "shuffle": plan.shuffles[hop.index] if hop.converts else None,
                "rate": hop.throughput,
                "bottleneck": len(plan.hops) > 1 and hop.throughput == slowest,
            }
            for hop in plan.hops
        ],
        "notes": [sentence(note) for note in plan.notes],
    }
