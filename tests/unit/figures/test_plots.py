"""Plots of numbers: the data and the words that they hold. How they look is for the browser tests."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from html_cases import Outline, without_plots
from prediction_cases import outcomes

from isoviz.figures import (
    block_region_figure,
    buffer_figure,
    candidate_figure,
    channel_use_figure,
    chunk_curve_figure,
    html,
    machine_throughput_figure,
    plan_throughput_figure,
    plot_html,
    prediction_figure,
    sweep_figure,
    throughput_figure,
    winner_map_figure,
)
from isoviz.figures.charts.theme import TOKENS, colour
from isoviz.figures.machines.curves import OperatingPoint
from isoviz.figures.page import document_page, page
from isoviz.figures.plots.predictions import MARKERS
from isoviz.figures.plots.throughput import measured_samples
from isoviz.figures.throughput_page import throughput_page
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, Constant, Machine, Memory, MemoryKind, Resource, Sampled, preset
from isoviz.machines.measurement import Check, Measurement, Pair
from isoviz.planner import Explanation, Options, Plan, Sweep, Transfer, WinnerMap, chunk_curve, explain, plan
from isoviz.planner.explanation.curves.sweeping import SweepPoint
from isoviz.planner.explanation.curves.winner_map import MapPoint, MapTurn, Way
from isoviz.planner.explanation.explanation import Region
from isoviz.planner.explanation.explanation_words import path_text
from isoviz.runtime import Trace, simulate
from isoviz.runtime.ledger.prediction_document import prediction_document
from isoviz.runtime.ledger.prediction_errors import Outcome
from isoviz.this_computer import ComputerFacts
from isoviz.units import format_seconds
from isoviz.widgets.pages.plan_page import html_page

MACHINE = preset("two-node")
EVIL = "</script><script>alert(1)</script>&\"'"


@cache
def made(planner: str = "full", slot_limit: int | None = None) -> Plan:
    move = IndexSpace(x=4096, y=4096), FieldSpace(v="complex128"), "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>"
    return plan(Transfer.whole(*move), MACHINE, planner, Options(slot_limit=slot_limit))


@cache
def explained(slot_limit: int | None = None) -> Explanation:
    planner = "full" if slot_limit is None else "simple"
    return explain(made(planner, slot_limit), MACHINE, options=Options(slot_limit=slot_limit))


def glyphs(plot: Any, name: str) -> list[Any]:
    return [each for each in plot.renderers if type(each.glyph).__name__ == name]


def column(plot: Any, glyph: str, name: str) -> list[Any]:
    """The values of a column over all glyphs of one kind."""
    return [value for each in glyphs(plot, glyph) for value in each.data_source.data.get(name, ())]


def legend(plot: Any) -> list[str]:
    return [item.label.value for each in plot.legend for item in each.items]


def words(plot: Any) -> str:
    """Everything that the plot holds, as it goes onto a page."""
    from bokeh.embed import json_item

    return json.dumps(json_item(plot), ensure_ascii=False)


# ---- onto a page


def test_a_page_holds_the_library_once_and_loads_nothing() -> None:
    plots = [plot_html(throughput_figure, MACHINE.channels), plot_html(chunk_curve_figure, chunk_curve(made(), MACHINE))]
    text = page("Two <plots>", plots)
    assert text.count("document.head.append") == 1 and "//cdn" not in text and "src=" not in text
    assert len(text) < 800_000 and "data-plot" not in page("None", ["<p>none</p>"]) and "Decompression" not in page("", [])
    assert "Two &lt;plots&gt;" in text and len(without_plots("".join(plots))[1]) == 2
    ids = Outline("".join(plots)).values("id")
    assert len(ids) == len(set(ids))


def test_hostile_names_stay_in_their_plot() -> None:
    channel = replace(MACHINE.channels[0], name=EVIL, provenance=EVIL)
    text = plot_html(throughput_figure, [channel], remark=EVIL)
    assert text.count("<script") == text.count("</script>") == 1
    assert EVIL in json.dumps(json.loads(without_plots(text)[1][0])).encode().decode("unicode_escape")


def test_every_colour_of_a_plot_has_a_dark_one() -> None:
    """The page replaces light values by dark ones; a value that two tokens share has one dark value in plots."""
    light = {token.light for token in TOKENS.values()}
    for plot in (throughput_figure(MACHINE.channels), prediction_figure(outcomes(20)), candidate_figure(explained().candidates)):
        used = set(re.findall(r"#[0-9a-f]{6}", words(plot)))
        assert used <= light and len(used) > 5
    dark = plot_html(throughput_figure, MACHINE.channels)
    for token in ("ink", "paper", "path"):
        assert f'"{TOKENS[token].light}": "{TOKENS[token].dark}"' in dark


def test_without_bokeh_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("bokeh", "bokeh.models", "bokeh.plotting"):
        monkeypatch.setitem(sys.modules, name, None)
    text = html(Sweep("size", "B", 1.0, (SweepPoint(1.0, 1.0, 1.0, ("a", "b"), ("a->b",), None),)))
    assert "pip install --editable '.[lab]'" in Outline(text).text and "<script" not in text and "<table" in text
    assert "pip install" in document_page(prediction_document("Predictions", [("By a trial", "", outcomes(3))]))


def test_bokeh_is_loaded_only_when_needed() -> None:
    code = (
        "import sys, isoviz.figures as f; from isoviz.layouts import Layout; f.html(Layout('<F, x>'));"
        "heavy = {'bokeh', 'networkx', 'pulp', 'highspy', 'ipywidgets', 'anywidget', 'cupy', 'mpi4py', 'numba'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ---- throughput


SAMPLES = ((64.0, 1e7), (4096.0, 1e7), (65536.0, 5e8), (2.0**24, 2e9))
MIDDLES = ((64.0, 9e8), (4096.0, 1e7), (65536.0, 5e8), (2.0**24, 2e9))
RANGES = ((8e8, 1e9), (9e6, 2e7), (2e8, 9e8), (1e9, 3e9))


def measured(spread_only: bool = False) -> Machine:
    function = Sampled(SAMPLES, (0.2, 1.1, 1.4, 1.0), "2026-01-01", MIDDLES, None if spread_only else RANGES)
    memories = (Memory("node0.sys", MemoryKind.SYS), Memory("node0.dsk", MemoryKind.DSK))
    uses = (("device", 0.9),)
    channels = (
        Channel("", ChannelKind.MEMCPY, "node0.sys", "node0.sys", Sampled(((1.0, 1e9), (64.0, 9e9)), (0.1, 0.1))),
        Channel("", ChannelKind.DISK_READ, "node0.dsk", "node0.sys", function, 1e-3, resources=uses, max_in_flight=4),
        Channel("", ChannelKind.DISK_WRITE, "node0.sys", "node0.dsk", Constant(1e9), resources=(("device", 0.6),)),
    )
    found = Measurement(
        ComputerFacts("here", "a <processor>", 2, "a system"),
        "2026-01-01T10:11:12+00:00",
        20.0,
        (("isoviz", "1"),),
        (("node0.dsk", "/data"),),
        (Pair("node0.dsk->node0.sys", "node0.sys->node0.dsk", (2e9, 1e9), (0.8e9, 0.8e9)),),
        (Check("a <copy>", 0.5, 0.6),),
    )
    return Machine("local", memories, channels, (Resource("device", 1.2, held=True),), measurement=found)


def test_throughput_has_every_function_and_point() -> None:
    points = [OperatingPoint("node0.dsk->node0.sys", 65536.0, 1e8, "0"), OperatingPoint("node0.sys->node0.sys", 16.0, 7e9, "1")]
    plot: Any = throughput_figure(MACHINE.channels, points)
    functions = {tuple(channel.rate(run) for run in (64.0, 2.0**20)) for channel in MACHINE.channels}
    drawn = set()
    for line in glyphs(plot, "Line"):
        rates = dict(zip(line.data_source.data["run"], line.data_source.data["rate"], strict=True))
        drawn.add((rates[64.0], rates[2.0**20]))
    assert drawn == functions
    assert column(plot, "Text", "text") == ["0", "1"] and column(plot, "Scatter", "rate") == [1e8, 7e9]
    assert any(entry.endswith("; hop 0") for entry in legend(plot))
    assert throughput_figure([]).renderers == [] and "No channels" in words(throughput_figure([]))


def test_hops_at_one_place_share_a_disc() -> None:
    channel = MACHINE.channels[0]
    points = [OperatingPoint(channel.name, 65536, channel.rate(65536), str(k)) for k in range(3)]
    plot = throughput_figure([channel], points)
    assert column(plot, "Text", "text") == ["0, 1, 2"]


def test_plans_mark_the_hops_on_their_curves() -> None:
    plot = plan_throughput_figure(MACHINE, made())
    hops = [int(number) for text in column(plot, "Text", "text") for number in text.split(", ")]
    assert sorted(hops) == [hop.index for hop in made().hops]


def test_every_sample_is_a_point_with_its_range() -> None:
    plot: Any = machine_throughput_figure(measured())
    assert column(plot, "Scatter", "rate") == [1e9, 9e9, *(rate for _, rate in MIDDLES)]
    assert list(zip(column(plot, "Segment", "low"), column(plot, "Segment", "high"), strict=True))[2:] == list(RANGES)
    fills = column(plot, "Scatter", "fill")
    assert fills[2] == colour("panel") != fills[3] == fills[4] == fills[5], "hollow where planning takes another rate"
    assert "runs of 64 B: 900 MB/s, 800 MB/s to 1 GB/s; planned with 10 MB/s" in words(plot)
    assert plot.y_range.start <= 9e6 and plot.y_range.end >= 3e9
    assert any("4 in flight; set-up 1 ms" in entry for entry in legend(plot))


def test_spread_alone_will_do() -> None:
    found = measured_samples(measured(spread_only=True).channels[1])
    assert found[0].low == pytest.approx(9e8 * 0.9) and found[0].high == pytest.approx(9e8 * 1.1)
    assert measured_samples(measured().channels[2]) == (), "not measured"


def test_the_page_of_a_machine_says_what_is_shared_and_how_it_was_measured() -> None:
    text = without_plots(throughput_page(measured()))[0]
    assert "device, held while at work: 75 % by file read, 50 % by file write" in text
    for said in ("Two channels at once", "Predictions checked", "a &lt;copy&gt;", "1.20×", "hollow where planning"):
        assert said in text
    plain = Machine("plain", (Memory("m", MemoryKind.SYS),))
    assert "hollow" not in throughput_page(plain)


def test_resources_that_are_shared_in_the_same_way_have_one_line() -> None:
    text = without_plots(throughput_page(preset("dgx-h100-pair")))[0]
    assert text.count("<li>") == 7
    assert "node0.drives, node1.drives, each shared by direct file read, direct file write, file read, file write: 40" in text
    assert "node0.nvlink0.out, node0.nvlink0.in, node0.nvlink1.out and 29 more, each shared by GPU copy: 450 GB/s in all" in text


# ---- plans


def test_candidates_are_bars_with_the_chosen_one_first() -> None:
    candidates = explained().candidates
    plot: Any = candidate_figure(candidates, most=5)
    (bars,) = glyphs(plot, "HBar")
    data = bars.data_source.data
    assert data["right"] == [each.least for each in candidates[:5]]
    assert data["path"] == [path_text(each.memories, each.converting) for each in candidates[:5]]
    assert data["fill"][0] == colour("path") and set(data["fill"][1:]) == {colour("predicted")}
    assert data["time"][0].endswith("chosen") and format_seconds(candidates[1].least) in data["time"][1]
    assert f"{len(candidates) - 5} slower ones are left out" in plot.title.text


def test_candidates_are_logarithmic_only_where_times_are_far_apart() -> None:
    chosen, second, *_ = explained().candidates
    near: Any = candidate_figure((chosen, replace(second, seconds=chosen.least * 2)))
    assert "linear scale" in near.xaxis[0].axis_label and near.x_range.start == 0
    far: Any = candidate_figure((chosen, replace(second, seconds=chosen.least * 1e4)))
    assert "logarithmic scale" in far.xaxis[0].axis_label and 0 < far.x_range.start < chosen.least
    bound: Any = candidate_figure((chosen, replace(second, seconds=None, throughput=None)))
    assert column(bound, "HBar", "dash") == ["solid", "dashed"]
    assert column(bound, "HBar", "time")[1].startswith(f"≥ {format_seconds(second.bound)}")


def test_region_names_its_sides_and_points() -> None:
    explanation = explained(2**22)
    assert explanation.region is not None
    plot: Any = block_region_figure(explanation.region, explanation.program, marks=((2048, 1024, "Isometry 4.3"),))
    (patch,) = glyphs(plot, "Patch")
    corners = list(zip(patch.data_source.data["x"], patch.data_source.data["y"], strict=True))
    assert corners == [tuple(corner) for corner in explanation.region.corners]
    entries = legend(plot)
    assert entries[0].startswith("the plan: ") and entries[1].startswith("Isometry 4.3: x_in = 2,048")
    assert any("(TH)" in entry for entry in entries) and any("keeps up" in entry for entry in entries)
    assert "of 4,096" in plot.xaxis[0].axis_label and [entry[:2] for entry in entries[2:4]] == ["a:", "b:"]


@pytest.mark.parametrize("corners", [(), ((4.0, 5.0),), ((4.0, 5.0), (8.0, 5.0)), ((1.0, 1.0), (1.5, 1.0), (1.0, 1.5))])
def test_regions_without_area(corners: tuple[tuple[float, float], ...]) -> None:
    plot: Any = block_region_figure(Region("x", "y", 1e9, corners, (4.0, 5.0)), marks=((1.0, 1.0, "corner"),))
    assert ("No block sizes at all" in plot.title.text) == (not corners)
    assert plot.x_range.start < 1.0 < 4.0 < plot.x_range.end


def point(value: float, seconds: float, name: str) -> SweepPoint:
    return SweepPoint(value, seconds, 1e9, ("a.m", f"a.{name}", "b.m"), (f"a.m->a.{name}", f"a.{name}->b.m"), 0)


def test_sweep_names_paths_and_marks_now() -> None:
    plot: Any = sweep_figure(
        Sweep("slot_limit", "B", 2.0**20, tuple(point(2.0**k, 1.0 / k, "pq"[k >= 18]) for k in range(12, 25)))
    )
    assert legend(plot) == ["A: a.m ⇒ p → b.m", "B: a.m ⇒ q → b.m"]
    assert column(plot, "Scatter", "seconds") == [1.0 / k for k in range(12, 25)]
    first, second = glyphs(plot, "Line")
    assert first.data_source.data["x"][-1] == second.data_source.data["x"][0] == 2.0**17.5, "they meet half-way"
    assert "now: 1 MiB" in words(plot)
    many = sweep_figure(Sweep("other", "", 3.0, tuple(point(2.0**k, 2.0**-k, f"m{k}") for k in range(30))))
    assert legend(many)[-1] == "and 18 more paths"
    assert "nothing to draw" in words(sweep_figure(Sweep("size", "B", 1.0, ())))


def test_map_of_winners_has_regions_boundaries_and_the_transfer() -> None:
    ways = tuple(Way(("a.m", "b.m"), (name,), (kind,)) for name, kind in (("p", "Memcpy"), ("q", "GPURead")))
    points = tuple(MapPoint(run, runs, 1e-6, int(runs > 2)) for run in (8, 16) for runs in (1, 2, 4) if (run, runs) != (16, 4))
    turn = MapTurn("runs", 8, 3, 0, 1)
    found = WinnerMap(("a.m", "b.m"), "both ends", 5, (8, 16), (1, 2, 4), ways, points, MapPoint(8, 2, 1e-6, 0), 0, 1e-6, (turn,))
    plot: Any = winner_map_figure(found)
    assert legend(plot) == ["A: memory copy", "B: GPU read", "the transfer: 2 runs of 8 B"]
    assert [len(each.data_source.data["left"]) for each in glyphs(plot, "Quad")] == [4, 1]
    assert len(glyphs(plot, "Segment")[0].data_source.data["x0"]) == 1, "one boundary: above (16, 2) nothing is known"
    said = words(plot)
    assert "B from 3" in said and "each 5 times" in said
    assert "nothing to draw" in words(winner_map_figure(replace(found, points=(), turns=(), now=None)))


@pytest.mark.parametrize("planner", ["full", "simple", "spsl"])
def test_chunk_curve_marks_choice_and_minimum(planner: str) -> None:
    curve = chunk_curve(made(planner), MACHINE)
    entries = legend(chunk_curve_figure(curve))
    marked = ["the plan and the minimum"] if curve.best == curve.chosen else ["the plan", "the minimum"]
    assert [entry.partition(":")[0] for entry in entries[-len(marked) :]] == marked
    assert entries[1].startswith("stored and forwarded")
    plot = chunk_curve_figure(curve)
    assert {point.seconds for point in curve.points} >= set(glyphs(plot, "Scatter")[0].data_source.data["seconds"])


# ---- runs


@cache
def traced(name: str) -> Trace:
    return Trace((), ()) if name == "empty" else simulate(made("simple"), MACHINE, pipelined=name == "pipelined")


@pytest.mark.parametrize("name", ["pipelined", "stored", "empty"])
def test_runs_show_buffers_and_use(name: str) -> None:
    trace = traced(name)
    plot: Any = channel_use_figure(trace)
    assert column(plot, "HBar", "busy")[: len(trace.uses)] == [min(use.share, 1.0) for use in trace.uses]
    overlaps = {"pipelined": f"{trace.overlap:.2f} of", "stored": "one after the other", "empty": "No channel"}
    assert overlaps[name] in plot.title.text
    text = words(buffer_figure(trace))
    assert ("No buffer" in text) == (name == "empty") and "NaN" not in text and len(text) < 500_000


def test_buffers_rise_to_the_slots_that_were_in_use() -> None:
    plot: Any = buffer_figure(traced("pipelined"))
    steps = glyphs(plot, "Step")
    assert len(steps) == len(made("simple").buffers)
    for row, step in enumerate(steps):
        assert min(step.data_source.data["y"]) == pytest.approx(row - 0.4), "all slots in use at some time"


# ---- predictions


def test_every_run_has_its_marks() -> None:
    found = outcomes(60)
    scatter, errors = prediction_figure(found).children
    residuals, histogram = errors.children
    for plot in (scatter, residuals):
        tips = column(plot, "Scatter", "tip")
        assert len(tips) == 60 and all(sum(tip.startswith(f"{each.label}: predicted") for tip in tips) == 1 for each in found)
    assert sorted(column(scatter, "Scatter", "y")) == sorted(each.measured for each in found)
    counted = [
        right - left for left, right in zip(column(histogram, "Quad", "left"), column(histogram, "Quad", "right"), strict=True)
    ]
    assert sum(counted) == 60 and residuals.y_range is histogram.y_range


def test_one_run_and_more_paths_than_marks() -> None:
    words(prediction_figure([Outcome("Memcpy", "t", 1, 0.001, 0.001)]))
    scatter = prediction_figure(outcomes(80, paths=len(MARKERS) + 3)).children[0]
    assert legend(scatter)[-1] == "4 other paths"


def test_what_is_far_off_stays_in_the_plot() -> None:
    wild = [Outcome("Memcpy", f"t{k}", 1, 1e-5, 1e-5 * 1000**k, (1e-9, 1e3)) for k in range(-1, 2)]
    residuals: Any = prediction_figure([*outcomes(10), *wild]).children[1].children[0]
    low, high = residuals.y_range.start, residuals.y_range.end
    assert low <= 1 / 8 and high >= 8 and high < 9, "eight times at most"
    assert all(low <= y <= high for y in column(residuals, "Scatter", "y"))


def test_the_page_has_the_plot_as_tables_too() -> None:
    found = [*outcomes(20), Outcome("<b>path</b>", "<script>alert(1)</script>", 1, 1.0, 1.5)]
    text = document_page(
        prediction_document("Predictions & runs", [("By a trial", "Tried.", found), ("By the model alone", "Not tried.", [])])
    )
    shown = without_plots(text)[0]
    assert "By a trial" in shown and "By the model alone" not in shown, "a way without runs has no section"
    assert shown.startswith("<!DOCTYPE html>") and "<script>alert" not in text and "&lt;script&gt;" in shown
    assert shown.count("<tr>") + shown.count('<tr class="slow">') == (5 + 1) + (21 + 1)
    assert "median error (aimed at: 10 %)" in shown
    assert "No runs" in document_page(prediction_document("Empty", [("By a trial", "", []), ("By the model alone", "", [])]))


def test_pages_load_nothing_from_elsewhere() -> None:
    """A policy in the page says so; Bokeh's script compiles labels, which is all that it allows beyond other pages."""
    policy = re.compile(r'<head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="([^"]*)">')
    (plots,) = policy.findall(throughput_page(preset("laptop")))
    (other,) = policy.findall(html_page("a page", {}, []))
    assert other.startswith("default-src 'none'; script-src 'unsafe-inline' blob:;") and "base-uri 'none'" in other
    assert plots == other.replace(" blob:;", " 'unsafe-eval';", 1)
