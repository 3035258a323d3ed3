"""Traces: what follows from requests and transfers, and their other forms."""

from __future__ import annotations

import json
import math
import random
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from isoviz.errors import InputError
from isoviz.figures.traces.step_text import stimulus_text
from isoviz.machines import preset
from isoviz.runtime import RequestSpan, Simulator, Trace, TransferSpan
from isoviz.runtime.trace.critical_path import critical_path
from isoviz.scheduling.work import PathWork, Ring, Submit, Work

TWO = preset("two-node")


def pipeline(overlap: bool = True) -> Trace:
    """Two hops of 1 s and 2 s, three chunks of 10 bytes, the last one half as long, two slots."""
    simulator = Simulator(TWO)
    work = Work.one_path(("a", "b"), 3, (Ring("somewhere", 10, 2),), (1, 2), 0, True, overlap)
    simulator.submit_work(work, ((1.0, 0.5), (1.0, 0.5)), 25.0, 10.0, at=1.0, setup=0.5, label="it")
    return simulator.run()


def crowd(seed: int, count: int = 12, memory: str = "node0.reg") -> Trace:
    """Transfers of up to three hops on three channels, some of which fail, some of which wait for buffers."""
    draw = random.Random(seed)

    def fault(issue: Any) -> str | None:
        return "broken" if issue.transfer % 5 == 4 and issue.chunk == 1 else None

    simulator = Simulator(TWO, fault=fault)
    room = TWO.memory(memory).capacity
    assert room is not None
    for k in range(count):
        hops, chunks = draw.randint(1, 3), draw.randint(1, 5)
        rings = (Ring(memory, room // draw.choice((4, 8)), 1),) * (hops - 1)
        times = tuple((t := draw.random(), t / 2) for _ in range(hops))
        path = tuple(draw.sample("abc", hops))
        requests = tuple(draw.choice((1, 2)) for _ in range(hops))
        simulator.submit_work(
            Work.one_path(path, chunks, rings, requests), times, chunks * 8.0 - 4.0, 8.0, at=k * draw.random(), setup=0.25
        )
    simulator.cancel(0, at=0.5)
    return simulator.run()


CROWDS = [crowd(seed) for seed in range(6)]
EMPTY = Trace((), ())


def test_what_a_pipeline_did() -> None:
    trace = pipeline()
    assert (trace.begin, trace.end, trace.seconds) == (1.0, 7.5, 6.5)
    assert trace.nbytes == 25 and trace.throughput == 25 / 6.5
    (transfer,) = trace.transfers
    assert (transfer.submitted, transfer.admitted, transfer.ended, transfer.outcome) == (1.0, 1.5, 7.5, "done")
    assert [transfer.payload(0, chunk) for chunk in range(3)] == [10, 10, 5]
    assert [transfer.request_bytes(1, chunk) for chunk in range(3)] == [5, 5, 2.5]
    hop = {span.hop: span for span in trace.spans() if span.kind == "hop"}
    assert (hop[0].start, hop[0].end, hop[0].nbytes) == (1.5, 5.0, 25)
    assert (hop[1].start, hop[1].end, hop[1].nbytes) == (2.5, 7.5, 25)
    assert {use.channel: (use.seconds, use.nbytes, use.requests) for use in trace.uses} == {"a": (2.5, 25, 3), "b": (5, 25, 6)}
    assert [use.share + use.idle for use in trace.uses] == [1, 1]
    assert trace.overlap == pytest.approx(7.5 / 6)


def two_paths() -> Trace:
    """The pipeline of two hops, and beside it one of a hop and then another, four chunks of 4 bytes through one slot."""
    simulator = Simulator(TWO)
    paths = (PathWork(("a", "b"), 3, (Ring("m", 10, 2),), (1, 2)), PathWork(("c", "d"), 4, (Ring("n", 4, 1),)))
    times = ((1.0, 0.5), (1.0, 0.5), (1.0, 1.0), (2.0, 2.0))
    simulator.submit_work(Work(paths), times, 41.0, 0.0, at=1.0, setup=0.5, shares=((25.0, 10.0), (16.0, 4.0)))
    return simulator.run()


def test_what_two_paths_did() -> None:
    trace, alone = two_paths(), pipeline()
    (transfer,) = trace.transfers
    assert (transfer.began, transfer.ended, transfer.outcome) == (1.5, 13.5, "done") and trace.nbytes == 41
    assert [span for span in trace.requests if span.hop < 2] == list(alone.requests)
    assert [transfer.payload(hop, 2) for hop in range(4)] == [5, 5, 4, 4]
    hop = {span.hop: (span.channel, span.nbytes) for span in trace.spans() if span.kind == "hop"}
    assert hop == {0: ("a", 25), 1: ("b", 25), 2: ("c", 16), 3: ("d", 16)}
    assert trace.fill(0, 0) == alone.fill(0, 0) and trace.fill(0, 1) == trace.fill(0, 3) == ()
    assert trace.fill(0, 2) == ((1.5, 1), (4.5, 1), (7.5, 1), (10.5, 1), (13.5, 0))
    steps = [(*step.span[1:3], step.waited_for) for step in critical_path(trace)]
    assert steps[:3] == [(2, 0, "start"), (3, 0, "data"), (2, 1, "slot")] and steps[-1] == (3, 3, "data")
    text = json.dumps(trace.to_json())
    again = Trace.from_json(json.loads(text))
    assert Trace.from_json(text) == again
    assert again == trace and "shares" not in alone.to_json()["transfers"][0]
    assert "2 paths: 2 hops, 3 chunks; 2 hops, 4 chunks" in stimulus_text(Submit(0, transfer.work), {})


def test_how_full_its_buffer_was() -> None:
    # Slots fill at 1.5, 2.5 and, freed at 4.5, 4.5; they are empty at 4.5, 6.5 and 7.5.
    assert pipeline().fill(0, 0) == ((1.5, 1), (2.5, 2), (4.5, 2), (6.5, 1), (7.5, 0))
    assert pipeline().fill(0, 1) == pipeline().fill(7, 0) == ()


def test_what_held_it_up() -> None:
    steps = [(*step.span[1:4], step.waited_for) for step in critical_path(pipeline())]
    assert steps == [
        (0, 0, 0, "start"),
        (1, 0, 0, "data"),
        (1, 0, 1, "channel"),
        (1, 1, 0, "channel"),
        (1, 1, 1, "channel"),
        (1, 2, 0, "channel"),
        (1, 2, 1, "channel"),
    ]


def test_hops_in_turn() -> None:
    trace = pipeline(overlap=False)
    assert trace.seconds == 8.0 and trace.overlap == 1.0
    path = critical_path(trace)
    assert len(path) == len(trace.requests)
    assert all(before.span.end == after.span.start for before, after in pairwise(path))
    assert max(slots for _, slots in trace.fill(0, 0)) == 1
    assert [trace.ready(span) for span in trace.requests if span.hop == 0] == [1.5, 4.5, 7.5]


@pytest.mark.parametrize("trace", [*CROWDS, pipeline(), EMPTY])
def test_spans_agree_with_each_other(trace: Trace) -> None:
    spans = list(trace.spans())
    by_kind = defaultdict(list)
    for span in spans:
        assert trace.begin <= span.start <= span.end <= trace.end and span.nbytes >= 0
        by_kind[span.kind].append(span)
    assert set(by_kind) <= {"transfer", "hop", "chunk", "request", "wait"}
    assert len(by_kind["transfer"]) == len(trace.transfers) and len(by_kind["request"]) == len(trace.requests)
    # Requests make chunks, chunks make hops; bytes and times add up.
    for inner, outer, depth in (("request", "chunk", 4), ("chunk", "hop", 3)):
        parts = defaultdict(list)
        for span in by_kind[inner]:
            parts[span[1:depth]].append(span)
        wholes = {span[1:depth]: span for span in by_kind[outer]}
        assert set(parts) == set(wholes) and len(wholes) == len(by_kind[outer])
        for key, found in parts.items():
            assert wholes[key].start == min(span.start for span in found)
            assert wholes[key].end == max(span.end for span in found)
            assert math.isclose(wholes[key].nbytes, sum(span.nbytes for span in found))
    # Who waits goes on when the wait is over.
    begun = {span[1:5]: span.start for span in by_kind["request"]}
    for span in by_kind["wait"]:
        assert span.end > span.start
        if span.hop >= 0:
            assert begun[span[1:5]] == span.end
    for transfer in trace.transfers:
        if transfer.outcome == "done":
            moved = [span.nbytes for span in by_kind["hop"] if span.transfer == transfer.number]
            assert moved == pytest.approx([transfer.nbytes] * len(transfer.work.channels))


@pytest.mark.parametrize("trace", CROWDS)
def test_requests_go_when_they_may(trace: Trace) -> None:
    """In one priority, a channel of one request at a time is never idle while somebody is ready for it."""
    by_channel = defaultdict(list)
    for span in trace.requests:
        assert trace.ready(span) <= span.start
        by_channel[trace.channel(span)].append(span)
    for spans in by_channel.values():
        for before, after in pairwise(spans):
            assert before.end <= after.start
            assert after.start == max(before.end, trace.ready(after))


@pytest.mark.parametrize("trace", CROWDS)
def test_uses_and_overlap(trace: Trace) -> None:
    for use in trace.uses:
        mine = [span for span in trace.requests if trace.channel(span) == use.channel]
        assert use.requests == len(mine)
        assert use.seconds == pytest.approx(sum(span.end - span.start for span in mine))
        assert 0 <= use.share <= 1 and use.share == pytest.approx(use.seconds / trace.seconds)
    assert 1 <= trace.overlap <= len(trace.uses)
    edges = sorted({edge for span in trace.requests for edge in span[4:]})
    busy = sum(b - a for a, b in pairwise(edges) if any(span.start <= a and b <= span.end for span in trace.requests))
    assert trace.overlap == pytest.approx(sum(span.end - span.start for span in trace.requests) / busy)


@pytest.mark.parametrize("trace", CROWDS)
def test_buffers_are_never_overfull_and_empty_at_the_end(trace: Trace) -> None:
    for transfer in trace.transfers:
        for k, ring in enumerate(transfer.work.rings):
            fill = trace.fill(transfer.number, k)
            assert [when for when, _ in fill] == sorted({when for when, _ in fill})
            assert all(0 <= slots <= ring.slots for _, slots in fill)
            assert not fill or (fill[-1][1] == 0 and fill[-1][0] <= transfer.ended)


@pytest.mark.parametrize("trace", CROWDS)
def test_critical_paths_have_no_gaps(trace: Trace) -> None:
    path = critical_path(trace)
    assert path[0].waited_for == "start" and path[0].span.start == trace.of[path[0].span.transfer].began
    assert path[-1].span.end == max(span.end for span in trace.requests)
    assert all(before.span.end == after.span.start for before, after in pairwise(path))


def test_a_critical_path_goes_on_where_buffers_were_given_back() -> None:
    simulator = Simulator(TWO)
    room = TWO.memory("node0.reg").capacity
    for _ in range(3):
        simulator.submit_work(Work.one_path(("a", "b"), 1, (Ring("node0.reg", room or 1, 1),)), ((1.0, 1.0),) * 2, 8.0, 8.0)
    path = critical_path(simulator.run())
    assert [(step.span.transfer, step.waited_for) for step in path] == [
        (0, "start"),
        (0, "data"),
        (1, "buffers"),
        (1, "data"),
        (2, "buffers"),
        (2, "data"),
    ]


def test_a_critical_path_through_no_time_at_all() -> None:
    """Everything at the same moment, and yet one after the other."""
    simulator = Simulator(TWO)
    room = TWO.memory("node0.reg").capacity
    simulator.submit_work(Work.one_path(("a", "b"), 1, (Ring("node0.reg", room or 1, 1),)), ((1.0, 1.0),) * 2, 8.0, 8.0)
    for seconds in (0.0, 0.0, 0.0, 1.0):
        work = Work.one_path(("a", "b"), 1, (Ring("node0.reg", room or 1, 1),))
        simulator.submit_work(work, ((seconds, seconds),) * 2, 8.0, 8.0)
    trace = simulator.run()
    path = critical_path(trace)
    assert path[0].waited_for == "start" and len(set(path)) == len(path) <= len(trace.requests)


@pytest.mark.parametrize("trace", [*CROWDS, pipeline(), EMPTY])
def test_the_chrome_format(trace: Trace) -> None:
    chrome = json.loads(json.dumps(trace.to_chrome(), allow_nan=False))
    events = chrome["traceEvents"]
    named = {(event["pid"], event.get("tid")) for event in events if event["ph"] == "M"}
    found = [event for event in events if event["ph"] == "X"]
    assert len(found) + sum(event["ph"] == "M" for event in events) == len(events)
    tracks = defaultdict(list)
    for event in found:
        assert event["dur"] >= 0 and event["ts"] >= 0 and event["name"]
        assert (event["pid"], event["tid"]) in named
        tracks[event["pid"], event["tid"]].append(event)
    assert sum(event["cat"] == "request" for event in found) == len(trace.requests)
    # What is on the track of a channel or a hop lies side by side; on a transfer's first one its waiting lies in the transfer.
    for (pid, tid), on_track in tracks.items():
        if pid == 1 or tid:
            for before, after in pairwise(sorted(on_track, key=lambda event: (event["ts"], event["dur"]))):
                assert before["ts"] + before["dur"] <= after["ts"] * (1 + 1e-9) + 1e-6


@pytest.mark.parametrize("trace", [*CROWDS, pipeline(), pipeline(overlap=False), EMPTY])
def test_json_round_trip(trace: Trace) -> None:
    again = Trace.from_json(json.loads(json.dumps(trace.to_json(), allow_nan=False)))
    assert again == trace
    assert str(again) == str(trace) and critical_path(again) == critical_path(trace)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "isoviz-trace-0"},
        {"transfers": 3},
        {"transfers": [{}]},
        {"transfers": [{"work": {}}]},
        {"requests": [[1, 2]]},
        {"requests": [3]},
        {"where": None, "requests": None},
    ],
)
def test_what_is_no_trace(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="trace"):
        Trace.from_json({**pipeline().to_json(), **change})
    for nothing in (None, [], "trace", {}):
        with pytest.raises(InputError, match="trace"):
            Trace.from_json(nothing)  # type: ignore[arg-type]


def test_an_empty_trace() -> None:
    assert (EMPTY.begin, EMPTY.end, EMPTY.seconds, EMPTY.nbytes, EMPTY.throughput, EMPTY.overlap) == (0,) * 6
    assert EMPTY.uses == critical_path(EMPTY) == EMPTY.channels == () and list(EMPTY.spans()) == []
    assert "0 of 0 transfers" in str(EMPTY)


def test_a_transfer_that_never_began() -> None:
    work = Work.one_path(("a",), 1)
    trace = Trace((TransferSpan(0, "it", work, 8.0, 8.0, 1.0, None, 3.0, "cancelled"),), ())
    assert [(span.kind, span.start, span.end) for span in trace.spans()] == [("transfer", 1, 3), ("wait", 1, 3)]
    assert trace.nbytes == 0 and critical_path(trace) == () and trace.fill(0, 0) == ()


def test_several_requests_at_a_time_are_one_use() -> None:
    """As an engine records them: a channel with threads, requests that end in any order."""
    work = Work.one_path(("a",), 3)
    spans = (RequestSpan(0, 0, 1, 0, 0.0, 2.0), RequestSpan(0, 0, 0, 0, 0.0, 3.0), RequestSpan(0, 0, 2, 0, 2.0, 4.0))
    trace = Trace((TransferSpan(0, "it", work, 24.0, 8.0, 0.0, 0.0, 4.0),), spans, "measured")
    (use,) = trace.uses
    assert (use.seconds, use.nbytes, use.share) == (4.0, 24.0, 1.0) and trace.overlap == 1.0
    assert critical_path(trace)[-1].span == spans[2]
    other = replace(trace, requests=spans[::-1])
    assert other.uses == trace.uses and other.chunk_ends == trace.chunk_ends
