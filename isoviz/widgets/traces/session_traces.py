"""The traces of a session: simulated, simulated stored and forwarded, measured, and the trace given to a `TraceView`."""

from __future__ import annotations

import uuid
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz.widgets.remembered import Remembered
from isoviz.widgets.running.begin_run import OF_SESSION
from isoviz.widgets.state import State
from isoviz.widgets.trace_contract import (
    TraceColumn,
    TraceDependency,
    TraceHead,
    TraceHop,
    TraceKind,
    TraceLane,
    TraceRing,
    TraceTransfer,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoviz.machines import Machine
    from isoviz.runtime import Trace
    from isoviz.runtime.trace.trace import TransferSpan
    from isoviz.scheduling.work import PathWork
    from isoviz.widgets.traces.simulating import Simulation

STAGES: dict[TraceKind, str] = {"simulated": "simulation", "stored": "stored_simulation"}
"""The stage of a simulated trace (`isoviz.widgets.consequences.derive`)."""


class SessionTrace(NamedTuple):
    """A trace with its name and a note for the browser.

    `machine` is the machine of the trace, None if it is unknown. `about` has the predicted seconds and the key of each transfer
    (`packed`). `fresh` tells whether the trace belongs to the plan that the explorer shows.
    """

    name: str
    trace: Trace
    machine: Machine | None
    about: dict[int, tuple[float, int]]
    note: str
    fresh: bool


_names: Remembered[str] = Remembered(16)
_packed: Remembered[PackedTrace] = Remembered(4)


def session_trace(state: State, which: TraceKind, run: str = "") -> SessionTrace | None:
    """The latest trace of a kind, None before the first. `run` names a run: its measured trace, None where it is not kept."""
    if which in STAGES:
        simulation = latest_simulation(state, which)
        if simulation is None or simulation.trace is None:
            return None
        about = {number: (each.plan.seconds, each.key) for number, each in enumerate(simulation.transfers)}
        return SessionTrace(
            _name(simulation.trace), simulation.trace, simulation.machine, about, simulation.note, is_fresh(state, simulation)
        )
    if which == "given":
        return None if state.given is None else SessionTrace(_name(state.given), state.given, state.given_machine, {}, "", True)
    return _measured(state, run)


def _measured(state: State, name: str) -> SessionTrace | None:
    for run in (state.run, *state.history):
        its_name = f"{OF_SESSION}{run.number}"
        report = run.report
        if report is None or (name and name != its_name):
            continue
        trace = run.trace or report.trace
        if trace is None or not trace.requests:
            return None
        machine = run.machine or state.derived.planned_on
        is_machine_of_run = machine is not None and machine.digest == report.plan.machine_digest
        fresh = report.plan == state.derived.plan
        return SessionTrace(its_name, trace, machine if is_machine_of_run else None, {}, _left_out(trace), fresh)
    return None


def latest_simulation(state: State, which: TraceKind) -> Simulation | None:
    """The latest simulation of a kind, None before the first."""
    simulation: Simulation | None = state.derived.later.get(STAGES[which])
    return simulation


def is_fresh(state: State, simulation: Simulation) -> bool:
    """Whether a simulation belongs to the plan that the explorer shows."""
    return simulation.plan is state.derived.plan and "plan" not in state.derived.stale


def packed_trace(trace: SessionTrace) -> PackedTrace:
    """A trace packed for the browser. The latest four are cached."""
    return _packed.of(lambda: packed(trace.trace, trace.name, trace.machine, trace.about, trace.note), trace.trace)


def _name(trace: Trace) -> str:
    return _names.of(lambda: uuid.uuid4().hex[:12], trace)


def _left_out(trace: Trace) -> str:
    """A note on a measured trace that lacks requests: a long run keeps only its first ones. "" if the trace is complete."""
    count = sum(path.chunks * sum(path.requests) for each in trace.transfers for path in each.work.paths)
    kept = len(trace.requests)
    return "" if kept >= count else f"The first {kept:,} of {count:,} requests were kept."


# ---- a trace packed for the browser: columns of numbers, sorted by lane and then by start, and what they mean
#
# Nothing is done request by request in Python. What follows from the columns (waits, slots in use, the critical path) the browser
# computes itself (`widgets/src/trace/`).

_FIELDS = 6
"""Numbers of a request: those of `isoviz.runtime.trace.trace.RequestSpan`."""


class PackedTrace(NamedTuple):
    """What a trace is about, and its columns as bytes, in the order of `head["columns"]`."""

    head: TraceHead
    buffers: tuple[memoryview, ...]


def packed(
    trace: Trace, name: str, machine: Machine | None = None, about: Mapping[int, tuple[float, int]] | None = None, note: str = ""
) -> PackedTrace:
    """Pack a trace. `name` identifies it. `machine` gives words for channels and memories; without it they have their names.

    `about` has the seconds that transfers take on an idle machine, and their keys in the session, by number. Times of the result
    count from the beginning of the trace.
    """
    import numpy as np

    channels = trace.channels
    lanes = {channel: lane for lane, channel in enumerate(channels)}
    rows = [(transfer, hop) for transfer in trace.transfers for hop in range(len(transfer.work.channels))]
    first = {}  # of a transfer, by number: the row of its first hop
    for row, (transfer, hop) in enumerate(rows):
        if hop == 0:
            first[transfer.number] = row
    lane_of_row = np.array([lanes[transfer.work.channels[hop]] for transfer, hop in rows], np.int32)
    count = len(trace.requests)
    flat = np.fromiter(chain.from_iterable(trace.requests), np.float64, count * _FIELDS).reshape(count, _FIELDS)
    numbers = np.zeros(1 + max(first, default=0), np.int64)
    for number, row in first.items():
        numbers[number] = row
    row_of = numbers[flat[:, 0].astype(np.int64)] + flat[:, 1].astype(np.int64)
    lane_of = lane_of_row[row_of] if count else np.zeros(0, np.int32)
    start, end = flat[:, 4] - trace.begin, flat[:, 5] - trace.begin
    order = np.lexsort((end, start, lane_of))
    counts = np.bincount(lane_of, minlength=len(channels))
    columns: dict[str, Any] = {
        "start": start[order],
        "end": end[order],
        "row": _small(row_of[order]),
        "chunk": _small(flat[:, 2][order]),
        "request": _small(flat[:, 3][order]),
    }
    column_heads: list[TraceColumn] = [{"name": column, "type": array.dtype.str[1:]} for column, array in columns.items()]
    facts = about or {}
    begins = np.concatenate([[0], np.cumsum(counts)])
    head: TraceHead = {
        "id": name,
        "where": trace.where,
        "seconds": trace.seconds,
        "count": count,
        "note": note,
        "columns": column_heads,
        "lanes": [
            _lane(channel, machine, trace.emulated, int(begins[lane]), int(counts[lane])) for lane, channel in enumerate(channels)
        ],
        "hops": [_hop(transfer, hop, place, lanes, first[transfer.number]) for place, transfer, hop in _placed(trace)],
        "rings": [ring for transfer in trace.transfers for ring in _rings(transfer, machine, first[transfer.number])],
        "transfers": [_transfer(each, trace.begin, first[each.number], facts.get(each.number)) for each in trace.transfers],
    }
    return PackedTrace(head, tuple([np.ascontiguousarray(array).data.cast("B") for array in columns.values()]))


def _small(numbers: Any) -> Any:
    """Whole numbers in the smallest unsigned type that holds them."""
    import numpy as np

    return numbers.astype(np.min_scalar_type(int(numbers.max()) if len(numbers) else 0))


def _placed(trace: Trace) -> list[tuple[int, TransferSpan, int]]:
    return [(place, each, hop) for place, each in enumerate(trace.transfers) for hop in range(len(each.work.channels))]


def _lane(channel: str, machine: Machine | None, emulated: Sequence[str], first: int, count: int) -> TraceLane:
    title, detail = _channel_words(channel, machine)
    if machine is None:
        touched = any(name in title.split() for name in emulated)
    else:
        machine_channel = machine.channel(channel)
        touched = machine_channel.source in emulated or machine_channel.destination in emulated
    title += " (emulated)" if touched else ""
    return {"channel": channel, "title": title, "detail": detail, "first": first, "count": count}


def _channel_words(channel: str, machine: Machine | None) -> tuple[str, str]:
    """What a channel is, in words, and between which memories it is."""
    if machine is None:
        return channel.replace("->", " → "), ""
    machine_channel = machine.channel(channel)
    source, destination = machine.memory(machine_channel.source), machine.memory(machine_channel.destination)
    if source.node == destination.node:
        return machine_channel.kind.words, f"node {source.node}: {source.short_name} → {destination.short_name}"
    return (
        machine_channel.kind.words,
        f"node {source.node} {source.short_name} → node {destination.node} {destination.short_name}",
    )


def _hop(transfer: TransferSpan, hop: int, place: int, lanes: Mapping[str, int], first: int) -> TraceHop:
    work = transfer.work
    path, position = work.places[hop]
    nbytes, full = transfer.shares[path] if transfer.shares else (transfer.nbytes, transfer.chunk_bytes)
    return {
        "transfer": place,
        "hop": hop,
        "path": path,
        "place": position,
        "lane": lanes[work.channels[hop]],
        "chunks": work.paths[path].chunks,
        "requests": work.requests[hop],
        "bytes": nbytes,
        "chunkBytes": full,
        "waits": _dependencies(work.paths[path], position, first + work.starts[path]),
    }


def _dependencies(path: PathWork, place: int, first: int) -> list[TraceDependency]:
    """What chunk c of a hop waits for: chunk c − lead of another row; its last chunk where a path is stored and forwarded."""
    found: list[TraceDependency] = []
    for reason, other, lead in path.dependencies(place):
        is_whole = reason == "data" and not path.pipelined
        found.append({"reason": reason, "row": first + other, "lead": lead, "whole": is_whole})
    return found


def _rings(transfer: TransferSpan, machine: Machine | None, first: int) -> list[TraceRing]:
    found: list[TraceRing] = []
    for hop, ring in transfer.work.buffers:
        memory = None if machine is None else machine.memory(ring.memory)
        title = ring.memory if memory is None else memory.kind.words
        title += " (emulated)" if ring.memory in transfer.emulated else ""
        detail = "" if memory is None else f"node {memory.node}: {memory.short_name}"
        found.append(
            {
                "row": first + hop,
                "memory": ring.memory,
                "title": title,
                "detail": detail,
                "slots": ring.slots,
                "slotBytes": ring.nbytes,
            }
        )
    return found


def _transfer(each: TransferSpan, begin: float, first: int, about: tuple[float, int] | None) -> TraceTransfer:
    alone, key = about or (None, None)
    return {
        "number": each.number,
        "label": each.label,
        "priority": each.work.priority,
        "submitted": each.submitted - begin,
        "admitted": None if each.admitted is None else each.admitted - begin,
        "ended": each.ended - begin,
        "outcome": each.outcome,
        "reason": each.reason,
        "bytes": each.nbytes,
        "row": first,
        "hops": len(each.work.channels),
        "alone": alone,
        "key": key,
    }
