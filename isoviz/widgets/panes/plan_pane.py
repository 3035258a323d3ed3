"""The plan: its figures and its hops."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from isoviz.widgets.state import State, sentence

if TYPE_CHECKING:
    from isoviz.planner import Plan


class ShownHop(TypedDict):
    """One hop. `run` and `shuffle` are bytes, `shuffle` is null where the layout stays the same; `rate` is bytes per second."""

    index: int
    channel: str
    kind: str
    source: str
    destination: str
    sourceLayout: str
    destinationLayout: str
    converts: bool
    run: float
    shuffle: float | None
    rate: float
    bottleneck: bool


class PlanPart(TypedDict):
    """A plan in bytes, seconds and bytes per second, with its notes in words."""

    planner: str
    machine: str
    bytes: int
    seconds: float
    throughput: float
    buffers: int
    bufferBytes: int
    chunks: int
    chunkBytes: int
    hops: list[ShownHop]
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
