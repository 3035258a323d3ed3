"""Figures of runs: what they say is what the trace says, they stay small, and nothing is cut off."""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from html_cases import SVG, check_self_contained, svg_root
from test_figures_explanation import EVIL, inside, texts

from isoviz.errors import MissingPartError
from isoviz.figures import compare_svg, comparison_html, html, timeline_svg
from isoviz.figures.charts.theme import MARGIN
from isoviz.figures.charts.time_axis import LABEL_WIDTH, TimeAxis, outline, sampled
from isoviz.figures.traces.step_text import steps_text
from isoviz.figures.traces.timeline_bars import COLOURS, lanes, token
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import preset
from isoviz.planner import Plan, Transfer, plan
from isoviz.runtime import RequestSpan, Simulator, Span, Trace, TransferSpan, simulate
from isoviz.runtime.trace.critical_path import critical_parts, critical_path, critical_path_text
from isoviz.runtime.trace.trace_document import fills
from isoviz.scheduling.work import Issue, Ring, Work

if TYPE_CHECKING:
    from isoviz.figures.charts.theme import ThemeName

MACHINE = preset("two-node")


@cache
def made(planner: str = "simple", size: int = 4096) -> Plan:
    transfer = Transfer.whole(
        IndexSpace(x=size, y=size), FieldSpace(v="complex128"), "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>"
    )
    return plan(transfer, MACHINE, planner)


@cache
def traced(name: str) -> Trace:
    if name == "one":
        return simulate(made(), MACHINE)
    if name == "stored":
        return simulate(made(), MACHINE, pipelined=False)
    if name == "many chunks":
        return simulate(made("full"), MACHINE)
    if name == "64":
        return simulate([made()] * 64, MACHINE)
    if name == "100":
        return simulate([made()] * 100, MACHINE)
    if name == "waiting":
        return simulate([made(size=8192)] * 3, MACHINE, pipelined=False)  # one at a time has room
    if name == "running":
        simulator = Simulator(MACHINE)
        simulator.submit(made())
        return simulator.run(until=made().seconds / 2)
    if name == "empty":
        return Trace((), ())
    assert name == "unlucky"

    def fault(issue: Issue) -> str | None:
        return f"gone {EVIL}" if issue[:3] == (1, 2, 3) else None

    simulator = Simulator(MACHINE, fault=fault)
    step = made().seconds / 10
    for number in range(4):
        simulator.submit(made(), at=number * step, label=f"tensor {number} {EVIL}")
    simulator.cancel(2, at=15 * step)
    simulator.cancel(3, at=3.5 * step)
    return simulator.run()


CASES = ("one", "stored", "many chunks", "64", "100", "waiting", "running", "unlucky", "empty")


@pytest.mark.parametrize("theme", ["auto", "dark"])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.few(4)
def test_timelines_are_small_and_whole(name: str, theme: ThemeName) -> None:
    svg = timeline_svg(traced(name), theme=theme)
    assert texts(svg)
    inside(svg)
    check_self_contained(svg)
    assert len(svg) < 150_000
    assert "NaN" not in svg and "nan" not in svg and "inf" not in svg.lower().replace("info", "")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.few(3)
def test_trace_shows_itself(name: str) -> None:
    trace = traced(name)
    outline = check_self_contained(html(trace))
    assert outline.values("data-isoviz") == ["trace"]
    said = outline.text.replace("\xa0", " ")
    for channel in trace.channels:
        assert channel in said
    for transfer in trace.transfers[:8]:
        assert transfer.label in said and (transfer.outcome in said or transfer.outcome == "done")
    assert (critical_path_text(trace) in said) and ("mean in use" in said) == bool(fills(trace))


def test_every_channel_has_a_row_and_every_chunk_a_bar() -> None:
    trace = traced("one")
    svg = timeline_svg(trace)
    words = texts(svg)
    assert [word for word in words if "->" in word] == list(trace.channels)
    tips = [node.text or "" for node in svg_root(svg).iter(f"{SVG}title")]
    chunks = trace.transfers[0].work.chunks
    for hop, chunk in ((0, 0), (2, 1), (3, chunks - 1)):
        assert any(f"hop {hop}, chunk {chunk}" in tip for tip in tips)
    assert f"time since the first transfer was submitted ({TimeAxis(trace.seconds, 0, 100).unit})" in words


def test_bars_cover_what_the_channels_did() -> None:
    """In pixels: bars and columns together are as long as the requests, whatever was merged."""
    for name in ("one", "many chunks", "64", "unlucky"):
        trace = traced(name)
        axis = TimeAxis(trace.seconds, 200.0, 760.0)
        for use in trace.uses:
            rows = lanes(trace, axis)[use.channel]
            assert len(rows) == 1  # one request at a time
            bars = sum(bar.right - bar.left for lane in rows for bar in lane.bars)
            columns = sum((strip.right - strip.left) * strip.share for lane in rows for strip in lane.strips)
            assert bars + columns == pytest.approx(760 * use.share, abs=25)
            merged = sum(bar.merged for lane in rows for bar in lane.bars)
            assert merged <= use.requests
            assert all(axis.left <= strip.left < strip.right <= axis.right + 1e-9 for strip in rows[0].strips)


def test_requests_that_overlap_lie_beside_each_other() -> None:
    work = Work.one_path(("a->b",), 6)
    spans = [RequestSpan(0, 0, k, 0, 0.1 * k, 0.1 * k + 0.35) for k in range(6)]
    trace = Trace((TransferSpan(0, "t", work, 600, 100, 0.0, 0.0, 0.85),), tuple(spans), "real")
    rows = lanes(trace, TimeAxis(trace.seconds, 0, 700))["a->b"]
    assert len(rows) == 4
    for row in rows:
        bars = sorted(row.bars)
        assert all(here.right <= there.left + 1e-6 for here, there in pairwise(bars))
    inside(timeline_svg(trace))


def test_colours_are_constant() -> None:
    assert [token(k) for k in range(3)] == ["dim0", "dim1", "dim2"]
    assert token(COLOURS + 2) == token(2)
    fills_ = {path.get("fill") for path in svg_root(timeline_svg(traced("64"), theme="light")).iter(f"{SVG}path")}
    assert len(fills_ - {"none"}) == COLOURS
    words = texts(timeline_svg(traced("64")))
    assert "64 transfers" in words and f"colours repeat after {COLOURS}" in words


def test_waiting_failing_and_cancelled_transfers_are_told() -> None:
    waiting = timeline_svg(traced("waiting"))
    assert any(word.startswith("waits for its buffers") for word in texts(waiting))
    assert not any(word.startswith("waits for its buffers") for word in texts(timeline_svg(traced("stored"))))
    unlucky = texts(timeline_svg(traced("unlucky")))
    assert unlucky.count("cancelled") == 2 and unlucky.count("failed") == 1
    assert any(word.startswith("✗ tensor 1") and "gone" in word for word in unlucky)
    counts = texts(timeline_svg(traced("100")))
    assert "waiting for buffers" in counts and "under way" in counts


def test_two_runs_share_one_axis() -> None:
    here, there = traced("one"), traced("stored")
    svg = compare_svg(here, there, names=("pipelined", "stored and forwarded"))
    words = texts(svg)
    inside(svg)
    assert words.index("pipelined") < words.index("stored and forwarded")
    assert sum("time since" in word for word in words) == 1
    assert [word for word in words if "->" in word] == [*here.channels, *there.channels]
    # The longer one ends at the end of the axis, the shorter one where its share of it ends.
    ends = [float(node.get("x1") or 0) for node in svg_root(svg).iter(f"{SVG}line") if node.get("stroke-dasharray") == "3 3"]
    left = MARGIN + LABEL_WIDTH
    assert (ends[0] - left) / (ends[1] - left) == pytest.approx(here.seconds / there.seconds, rel=1e-2)
    outline = check_self_contained(comparison_html(here, there, names=("pipelined", "stored and forwarded")))
    assert outline.values("data-isoviz") == ["comparison"]
    assert f"{there.seconds / here.seconds:.2f}\xa0×" in outline.text


def test_buffers_are_filled_as_the_trace_says() -> None:
    trace = traced("one")
    found = fills(trace)
    assert [(fill.hop, fill.memory) for fill in found] == [
        (k, ring.memory) for k, ring in enumerate(trace.transfers[0].work.rings)
    ]
    for fill in found:
        assert fill.slots == made().slots
        assert max(level for _, level in fill.filled) <= fill.slots
        assert fill.filled[-1][1] == fill.held[-1][1] == 0
        assert 0 < fill.mean <= fill.slots
    several = fills(traced("waiting"))
    chunks = traced("waiting").transfers[0].work.chunks
    assert all(fill.transfers == 3 and fill.slots % chunks == 0 for fill in several)
    unlucky = fills(traced("unlucky"))
    assert all(fill.filled[-1][1] == 0 for fill in unlucky)  # what failed gives its slots back


def test_steps_are_sampled_exactly() -> None:
    steps = ((0.0, 1.0), (0.25, 3.0), (0.5, 0.0), (0.975, 4.0), (1.0, 0.0))
    mean, most = sampled(steps, 1.0, 10)
    assert mean == pytest.approx([1, 1, 2, 3, 3, 0, 0, 0, 0, 1])
    assert most == pytest.approx([1, 1, 3, 3, 3, 0, 0, 0, 0, 4])
    assert mean.sum() / 10 == pytest.approx(0.25 * 1 + 0.25 * 3 + 0.025 * 4)
    path = outline(mean, 0.0, 10.0, 100.0, 10.0)
    assert path.startswith("M0.0 100.0H0.0V90.0") and path.endswith("V100.0z")
    empty, _ = sampled((), 0.0, 4)
    assert empty == pytest.approx(np.zeros(4))


def test_axis_has_round_ticks_in_one_unit() -> None:
    for seconds, unit in ((2.2, "s"), (0.0031, "ms"), (4e-6, "µs"), (9e-9, "ns"), (5000, "s"), (0, "ns")):
        axis = TimeAxis(seconds, 100, 700)
        assert axis.unit == unit
        ticks = axis.ticks()
        assert ticks[0] == (0, "0") and 2 <= len(ticks) <= 11
        assert all(axis.left - 1e-6 <= axis.at(at) <= axis.right + 1e-6 for at, _ in ticks)
        assert len({text for _, text in ticks}) == len(ticks)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("empty", "running")])
@pytest.mark.few(2)
def test_critical_path_is_the_whole_run(name: str) -> None:
    trace = traced(name)
    found = critical_parts(trace)
    assert found.before + found.gaps + sum(part.seconds for part in found.parts) == pytest.approx(found.seconds, rel=1e-9)
    assert found.seconds == pytest.approx(max(span.end for span in trace.requests) - trace.begin)
    assert found.gaps <= 1e-3 * found.seconds
    steps = critical_path(trace)
    assert sum(part.requests for part in found.parts) == len(steps)
    assert all(here.span.end <= there.span.start * (1 + 1e-9) for here, there in pairwise(steps))
    assert set(found.by_channel()) <= set(trace.channels)
    assert next(iter(found.by_channel())) in critical_path_text(trace)


def test_critical_path_names_its_reasons() -> None:
    assert set(critical_parts(traced("stored")).by_reason()) == {"start", "data", "channel"}
    assert "buffers" in critical_parts(traced("waiting")).by_reason()
    slow_end = Work.one_path(("a", "b"), 4, (Ring("m", 8, 1),))
    spans = []
    for chunk in range(4):
        spans += [
            RequestSpan(0, 0, chunk, 0, 11.0 * chunk, 11.0 * chunk + 1),
            RequestSpan(0, 1, chunk, 0, 11.0 * chunk + 1, 11.0 * chunk + 11),
        ]
    trace = Trace((TransferSpan(0, "t", slow_end, 32, 8, 0.0, 0.0, 44.0),), tuple(spans))
    found = critical_parts(trace)
    assert found.by_reason() == pytest.approx({"data": 40.0, "slot": 3.0, "start": 1.0})
    taking_turns = trace.transfers[0]._replace(work=Work((slow_end.paths[0]._replace(overlap=False),)))
    assert critical_parts(Trace((taking_turns,), trace.requests)).by_reason() == pytest.approx(
        {"data": 40.0, "chunk": 3.0, "start": 1.0}
    )
    assert critical_parts(Trace((), ())).parts == ()


def test_steps_in_words() -> None:
    simulator = Simulator(MACHINE)
    simulator.submit(made())
    simulator.submit(made(), priority=3)
    simulator.cancel(1, at=made().seconds / 3)
    lines = list(steps_text(iter(simulator.step, None)))
    assert re.match(r"1\. .*transfer 0 is submitted: 4 hops, \d+ chunks$", lines[0])
    assert "2 slots of" in lines[1] and "gets its buffers" in lines[1]
    assert any("priority 3" in line for line in lines)
    assert any(line.endswith("transfer 1 is cancelled") for line in lines)
    assert lines[-1] == "     → transfer 0 is done"
    assert sum("gives its buffers back" in line for line in lines) == 2
    answers = [line for line in lines if line.startswith("     →")]
    assert sum("hand to" in line for line in answers) == sum(" is done" in line and "hop" in line for line in lines)


def test_columns_are_the_spans() -> None:
    trace = traced("one")
    columns = trace.columns()
    spans = list(trace.spans())
    assert set(columns) == set(spans[0]._fields)
    assert all(len(column) == len(spans) for column in columns.values())
    requests = columns["kind"] == "request"
    assert requests.sum() == len(trace.requests)
    assert columns["nbytes"][requests].sum() == pytest.approx(made().bytes * len(made().hops))
    assert (columns["end"] >= columns["start"]).all()
    assert [len(column) for column in traced("empty").columns().values()] == [0] * len(columns)


def test_a_data_frame() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    trace = traced("one")
    frame = trace.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == list(Span._fields)
    assert len(frame) == len(list(trace.spans()))
    moved = frame[frame["kind"] == "request"].groupby("hop")["nbytes"].sum()
    assert list(moved) == pytest.approx([made().bytes] * len(made().hops))
    assert (frame["end"] >= frame["start"]).all()


def test_no_data_frame_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPartError, match="pip install pandas"):
        traced("one").to_frame()


def test_chrome_trace_has_every_request() -> None:
    data = json.loads(json.dumps(traced("unlucky").to_chrome(), allow_nan=False))
    requests = [event for event in data["traceEvents"] if event.get("cat") == "request"]
    assert len(requests) == len(traced("unlucky").requests)
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in requests)
