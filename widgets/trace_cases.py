"""Traces as the kernel half packs them, with what Python says of them: the browser half must say the same.

    python widgets/trace_cases.py FILE [COUNT [SEED]]

Each case has the head of a trace, its columns in base64, and, by request in the order of the columns, when it was ready; moments
with the chunks that move and the levels of the buffers; the busy seconds of each channel; the critical path.
"""

from __future__ import annotations

import base64
import json
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import preset
from isoviz.planner import Options, Plan, Transfer, plan
from isoviz.runtime import Simulator, Trace
from isoviz.runtime.trace.critical_path import critical_path
from isoviz.runtime.trace.trace import RequestSpan
from isoviz.widgets.traces.session_traces import packed

MACHINE = preset("two-node")
_ENDS = (("node0.fbm0", "node1.fbm0"), ("node0.sys", "node1.sys"), ("node0.dsk", "node0.sys"), ("node0.fbm0", "node1.sys"))
_LAYOUTS = ("<F, x, y>", "<F, y, x>", "<x, F, y>")


def a_plan(rng: random.Random) -> Plan:
    """A plan of several chunks."""
    space = IndexSpace(x=rng.choice([64, 100, 256]), y=rng.choice([64, 96]))
    source, destination = rng.choice(_ENDS)
    transfer = Transfer.whole(space, FieldSpace(a="f8"), source, rng.choice(_LAYOUTS), destination, rng.choice(_LAYOUTS))
    return plan(transfer, MACHINE, options=Options(slot_limit=rng.choice([1 << 12, 1 << 14, 1 << 16])))


def a_trace(rng: random.Random, number: int) -> Trace:
    """A trace of one to three transfers; in some of them, requests of a channel overlap as in a real run."""
    simulator = Simulator(MACHINE, request_bytes=rng.choice([1 << 11, 1 << 20]))
    pipelined = rng.random() < 0.75
    for _ in range(rng.choice([1, 1, 2, 3])):
        found = a_plan(rng)
        begin = rng.choice([0.0, 0.3 * found.seconds])
        simulator.submit(found, at=begin, priority=rng.choice([0, 0, 5]), pipelined=pipelined)
    trace = simulator.run()
    if number % 4 == 3:
        late = rng.uniform(0, 2)
        spans = [span._replace(end=span.end + late * (span.end - span.start)) for span in trace.requests]
        end = max(span.end for span in spans)
        transfers = tuple(each._replace(ended=max(end, each.ended)) for each in trace.transfers)
        return replace(trace, requests=tuple(sorted(spans, key=lambda span: span.end)), transfers=transfers)
    if number % 7 == 5:  # a run that was cut off
        return replace(trace, requests=trace.requests[: len(trace.requests) // 2])
    return trace


def case(trace: Trace, rng: random.Random) -> dict[str, Any]:
    """A trace with what Python says of it. Times count from its begin."""
    head, buffers = packed(trace, "a trace", MACHINE)
    lanes = {channel: lane for lane, channel in enumerate(trace.channels)}
    order = sorted(trace.requests, key=lambda span: (lanes[trace.channel(span)], span.start, span.end))
    row = {each.number: head["transfers"][place]["row"] for place, each in enumerate(trace.transfers)}
    begin = trace.begin

    def named(span: RequestSpan) -> list[int]:
        return [row[span.transfer] + span.hop, span.chunk, span.request]

    times = [rng.uniform(0, trace.seconds) for _ in range(40)]
    return {
        "head": head,
        "columns": [base64.b64encode(bytes(buffer)).decode() for buffer in buffers],
        "requests": [[*named(span), span.start - begin, span.end - begin] for span in order],
        "ready": [trace.ready(span) - begin for span in order],
        "moments": [moment(trace, row, time) for time in times],
        "busy": [use.seconds for use in trace.uses],
        "critical": [[*named(step.span), step.waited_for] for step in critical_path(trace)],
    }


def moment(trace: Trace, row: dict[int, int], time: float) -> dict[str, Any]:
    """The chunks that move at a time, and the slots in use of every buffer."""
    now = trace.begin + time
    moving = {(row[span.transfer] + span.hop, span.chunk) for span in trace.requests if span.start <= now < span.end}
    levels = []
    for each in trace.transfers:
        for hop, _ring in each.work.buffers:
            steps = [level for when, level in trace.fill(each.number, hop) if when <= now]
            levels.append(steps[-1] if steps else 0)
    return {"time": time, "moving": sorted(moving), "levels": levels}


def written(path: Path, count: int, seed: int) -> None:
    """Write `count` traces."""
    rng = random.Random(seed)
    cases = [case(a_trace(rng, number), rng) for number in range(count)]
    path.write_text(json.dumps({"traces": cases}, separators=(",", ":")), encoding="ascii")


if __name__ == "__main__":
    _, target, *numbers = sys.argv
    written(Path(target), *(int(given) for given in (*numbers, *("16", "20260717")[len(numbers) :])))
