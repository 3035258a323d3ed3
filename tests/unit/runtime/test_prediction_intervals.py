"""Intervals of predictions: by the spread of measurements, and by a trial and how earlier ones came true."""

from __future__ import annotations

import json
import math
import random
import re
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prediction_cases import SPREAD, entries, outcomes, planned, two

import isoviz
from isoviz.backends.emulated import EmulatedMachine
from isoviz.cli import main
from isoviz.errors import MachineError
from isoviz.figures.document_html import told_html
from isoviz.machines import Channel, ChannelKind, Constant, LatencyBandwidth, Machine, Memory, MemoryKind, save
from isoviz.machines.measurement import Check, Measurement
from isoviz.machines.throughput import Sampled
from isoviz.planner import Plan, plan_from_json, plan_to_json
from isoviz.planner.time.spread import Prediction, band_at, range_text, slowest_channel, spread_at, spread_prediction
from isoviz.runtime.ledger.ledger_entry import LedgerEntry
from isoviz.runtime.ledger.prediction_errors import Outcome, by_path, quantile, summarized
from isoviz.runtime.ledger.trial_interval import (
    COVERAGE,
    FLOOR,
    GROWTH,
    LATEST,
    LEAST_PRIOR_RUNS,
    MOST_PRIOR_RUNS,
    NEAREST,
    conformal_bounds,
    prior,
    standardized,
    trial_prediction,
    trial_record,
    unit_of,
)
from isoviz.this_computer import this_computer, versions

# ---- by the spread


def test_the_spread_around_a_run() -> None:
    assert spread_at(SPREAD, 1) == spread_at(SPREAD, 4) == 0.4
    assert spread_at(SPREAD, 4096) == spread_at(SPREAD, 1e9) == 0.1
    assert spread_at(SPREAD, 128) == pytest.approx(0.25)  # half way, in logarithms
    assert spread_at(Constant(1.0), 4) is None
    assert spread_at(Sampled(((1.0, 1.0),)), 4) is None


def test_one_hop_is_off_by_half_its_spread() -> None:
    machine = two(SPREAD)
    made = planned(machine)
    found = spread_prediction(made, machine)
    assert found is not None and found.basis == "model" and found.runs == 0 and not found.tried
    assert found.seconds == made.seconds
    assert found.high / found.seconds == pytest.approx(1.05) == found.seconds / found.low


def test_a_pipeline_is_off_by_what_its_slowest_hop_is() -> None:
    """The steady hop has no spread: most of the time is the other one's."""
    calm = Sampled(((1.0, 4e9),), spread=(0.0,))
    memories = tuple(Memory(name, MemoryKind.SYS) for name in "abc")
    slow = Sampled(((1.0, 1e9),), spread=(0.5,))
    machine = Machine(
        "three",
        memories,
        (Channel("", ChannelKind.MEMCPY, "a", "b", slow), Channel("", ChannelKind.MEMCPY, "b", "c", calm)),
    )
    transfer = isoviz.Transfer.whole(isoviz.IndexSpace(x=1 << 20), isoviz.FieldSpace(v="u1"), "a", "<F, x>", "c", "<F, x>")
    found = spread_prediction(isoviz.plan(transfer, machine, "full"), machine)
    assert found is not None
    assert 1.2 < found.high / found.seconds <= 1.25
    assert 1 / 1.25 <= found.low / found.seconds < 0.85


def test_the_lowest_and_the_highest_rate_bound_it() -> None:
    """Not the same on both sides, and never on one side of the prediction alone."""
    for low, high, slower, faster in ((0.5e9, 1.1e9, 2.0, 1.1), (0.5e9, 0.8e9, 2.0, 1.0), (1.2e9, 1.5e9, 1.0, 1.5)):
        machine = two(Sampled(((1.0, 1e9),), spread=(0.1,), ranges=((low, high),)))
        found = spread_prediction(planned(machine), machine)
        assert found is not None
        assert found.high / found.seconds == pytest.approx(slower)
        assert found.seconds / found.low == pytest.approx(faster)
    ranges = ((0.5e9, 2e9), (1e9, 4e9))
    assert band_at(Sampled(((4.0, 1e9), (64.0, 4e9)), ranges=ranges), 16) == pytest.approx((math.sqrt(0.5 * 0.25), math.sqrt(2)))
    assert band_at(Constant(1.0), 4) is None


def test_the_errors_of_checks_widen_it() -> None:
    """Those on the channel of the slowest hop; each end is the wider of what the repetitions and the checks say."""
    calm = two(Sampled(((1.0, 1e9),), spread=(0.1,), ranges=((0.5e9, 1.05e9),)))
    mine = calm.channels[0].name
    checks = tuple(Check("a copy", 1.0, seconds, mine) for seconds in (1.1, 1.2, 0.9, 0.8))
    others = tuple(Check("a copy", 1.0, 9.0, "elsewhere") for _ in range(4))
    measurement = Measurement(this_computer(), "2026-01-01", 1.0, versions(), checks=(*checks, *others))
    machine = replace(calm, measurement=measurement)
    made = planned(machine)
    found, error = spread_prediction(made, machine), measurement.error(mine)
    assert slowest_channel(made) == mine
    assert found is not None and error is not None and 0.2 < error < 0.5
    assert found.seconds / found.low == pytest.approx(math.exp(error)), "the checks are further off"
    assert found.high / found.seconds == pytest.approx(2.0), "the lowest rate is further off"


def test_without_a_measurement_nothing_is_said() -> None:
    machine = two(LatencyBandwidth(1e-6, 1e9))
    assert spread_prediction(planned(machine), machine) is None


def test_another_machine_is_refused() -> None:
    with pytest.raises(MachineError):
        spread_prediction(planned(two(SPREAD)), isoviz.machines.preset("two-node"))


# ---- by a trial and earlier runs


def made_here(entries: int = 1 << 17) -> Plan:
    return planned(two(SPREAD), entries)


def tried(made: Plan, ratios: list[float], **changes: Any) -> list[LedgerEntry]:
    """Runs with a trial that took these multiples of what it said."""
    return entries(made, ratios, **{"tried": True, "basis": "trial", "scatter": 0.0, **changes})


def test_without_earlier_runs_the_prior_decides() -> None:
    made = made_here()
    calm, wild = (trial_prediction(made, 2.0, scatter, ()) for scatter in (0.0, 0.5))
    assert (calm.seconds, calm.basis, calm.runs, calm.scatter) == (2.0, "trial", 0, 0.0) and calm.tried
    assert math.log(calm.high / 2.0) == pytest.approx(FLOOR * 2.4) and math.log(2.0 / calm.low) == pytest.approx(FLOOR * 1.8)
    assert wild.low < calm.low < 2.0 < calm.high < wild.high, "a trial whose repeats differ promises less"
    for runs in range(LEAST_PRIOR_RUNS, MOST_PRIOR_RUNS + 1):
        assert len(prior(runs)) == runs and list(prior(runs)) == sorted(prior(runs))


def test_one_run_that_stopped_does_not_decide() -> None:
    made = made_here()
    alone = trial_prediction(made, 2.0, 0.1, ())
    found = trial_prediction(made, 2.0, 0.1, tried(made, [50.0]))
    assert found.runs == 1 and found.high < 1.2 * alone.high


def test_a_computer_that_keeps_its_times_gets_narrow_intervals() -> None:
    made = made_here()
    alone = trial_prediction(made, 2.0, 0.1, ())
    found = trial_prediction(made, 2.0, 0.1, tried(made, [1.0 + k / 1000 for k in range(NEAREST)]))
    assert found.runs == NEAREST
    assert alone.low < found.low < 2.0 < found.high < alone.high


def test_runs_that_always_took_longer_move_the_interval() -> None:
    made = made_here()
    found = trial_prediction(made, 2.0, 0.1, tried(made, [2.4] * NEAREST, scatter=0.1))
    assert found.high == pytest.approx(2.4 * 2.0) and found.low < 2.0 and found.seconds == 2.0


def test_errors_count_in_units_of_their_trials() -> None:
    """An error after a trial with wild repeats says little about one with calm repeats."""
    made = made_here()
    (wild,), (calm,), (unknown,) = (tried(made, [1.5], scatter=scatter) for scatter in (1.0, 0.0, None))
    assert 0 < standardized(wild) < standardized(unknown) < standardized(calm)
    assert standardized(calm) == pytest.approx(math.log(1.5) / FLOOR)
    assert unit_of(1.0) == pytest.approx(math.sqrt(FLOOR**2 + GROWTH))


@pytest.mark.parametrize(
    "change",
    [{"tried": False}, {"emulated": True}, {"digest": "1" * 64, "host": "elsewhere"}],
)
def test_runs_that_say_nothing_about_this_trial(change: dict[str, Any]) -> None:
    made = made_here()
    assert trial_prediction(made, 2.0, 0.1, tried(made, [3.0] * 40, **change)).runs == 0


@pytest.mark.parametrize("change", [{"digest": "1" * 64, "host": socket.gethostname()}, {"host": "renamed"}])
def test_runs_of_this_computer_count_whatever_it_was_measured_or_called(change: dict[str, Any]) -> None:
    made = made_here()
    assert trial_prediction(made, 2.0, 0.1, tried(made, [3.0] * 40, **change)).runs == 40


@pytest.mark.parametrize(
    "other", [{"nbytes": 1 << 40}, {"hops": ()}, {"destination_layout": "<x, F>"}], ids=["size", "channels", "conversion"]
)
def test_the_nearest_runs_count(other: dict[str, Any]) -> None:
    made = made_here()
    near = tried(made, [1.1] * NEAREST)
    far = [replace(each, **other) for each in tried(made, [5.0] * (LATEST - NEAREST))]
    assert trial_prediction(made, 2.0, 0.0, [*near, *far]) == trial_prediction(made, 2.0, 0.0, near)


def test_only_the_latest_count() -> None:
    """Computers change: a thousand runs of last year say less than those of today."""
    made = made_here()
    today = [replace(each, nbytes=each.nbytes * 3) for each in tried(made, [1.1] * LATEST)]
    found = trial_prediction(made, 2.0, 0.0, [*tried(made, [5.0] * 1000), *today])
    assert found == trial_prediction(made, 2.0, 0.0, today)


@given(st.lists(st.floats(0.01, 100), min_size=19, max_size=200))
def test_bounds_hold_nine_of_ten_of_their_values(ratios: list[float]) -> None:
    low, high = conformal_bounds(ratios)
    assert low <= high and {low, high} <= set(ratios)
    outside = sum(not low <= ratio <= high for ratio in ratios)
    assert outside <= (1 - COVERAGE) * (len(ratios) + 1)


@pytest.mark.parametrize(("bias", "sigma"), [(0.0, 1.0), (0.5, 0.7), (-0.5, 1.4), (0.3, 2.0)])
def test_the_next_run_is_held_in_nine_of_ten_cases(bias: float, sigma: float) -> None:
    """Whatever the errors of a computer are like in units, once its ledger has runs; trials differ in their scatter."""
    rng = random.Random(5)
    made, held, count = made_here(), 0, 300
    (like,) = tried(made, [1.0])

    def run() -> LedgerEntry:
        scatter = rng.uniform(0.0, 0.6)
        error = unit_of(scatter) * rng.gauss(bias, sigma)
        return replace(like, scatter=scatter, measured=like.predicted * math.exp(error))

    for _ in range(count):
        *before, after = (run() for _ in range(NEAREST + 1))
        assert after.scatter is not None
        held += trial_prediction(made, after.predicted, after.scatter, before).holds(after.measured)
    assert 0.85 <= held / count <= 0.97


# ---- shown


def test_ranges_name_their_unit_once() -> None:
    assert range_text(0.0109, 0.0141) == "10.9 to 14.1 ms"
    assert range_text(0.00095, 0.0012) == "950 µs to 1.2 ms"


def test_a_report_says_what_was_expected() -> None:
    machine = two(SPREAD)
    report = isoviz.Engine(machine, EmulatedMachine()).run(planned(machine))
    assert report.prediction == spread_prediction(report.plan, machine)  # there is no ledger here
    assert "interval" not in replace(report, prediction=None).to_json()
    expected = Prediction(0.0123, 0.0109, 0.0141, "trial", 40, 0.1)
    shown = replace(report, prediction=expected)
    assert "after the trial 12.3 ms (10.9 to 14.1 ms; 40 earlier runs count)" in str(shown)
    assert expected.to_json()["interval_basis"] == {"from": "trial", "runs": 40, "scatter": 0.1}
    assert plan_from_json({**plan_to_json(report.plan), **expected.to_json()}) == report.plan
    assert str(replace(expected, runs=0)) == "after the trial 12.3 ms (10.9 to 14.1 ms)"
    assert str(replace(expected, runs=1)).endswith("1 earlier run counts)")


@pytest.mark.parametrize(("nearer", "further"), [(0, 0), (1, 0), (1, 1), (2, 1), (0, 3)])
def test_a_trial_is_the_prediction_where_it_has_come_nearer(nearer: int, further: int) -> None:
    """Text, JSON and HTML of a report compare the measured time with one and the same figure, and name it."""
    machine = two(SPREAD)
    report = isoviz.Engine(machine, EmulatedMachine()).run(planned(machine))
    plan = report.plan
    good, bad = (tried(plan, [ratio], model=plan.seconds, predicted=2 * plan.seconds)[0] for ratio in (1.9, 1.1))
    elsewhere = replace(good, source_layout="<x, F>", destination_layout="<F, x>")
    record = trial_record(plan, [good] * nearer + [bad] * further + [elsewhere] * 5)
    assert record == (nearer, nearer + further)
    after = replace(plan)
    shown = replace(report, tried=after, record=record, prediction=Prediction(0.01, 0.009, 0.012, "trial", 4, 0.1))
    assert shown.trial_leads == (nearer > further)
    assert shown.expected is (after if nearer > further else plan)
    name = "after the trial" if nearer > further else "planned"
    texts = [str(shown), told_html(shown, machine)]
    assert [set(re.findall(r"measured / (planned|predicted|after the trial)", text)) for text in texts] == [{name}, {name}]
    assert shown.to_json()["trial"]["is_prediction"] == (nearer > further) == ("expected_seconds" in shown.to_json())


TRANSFER = """
space = {{ x = 100000 }}
fields = {{ value = "float64" }}
source = {{ memory = "a", layout = "<F, x>" }}
destination = {{ memory = "b", layout = "<F, x>" }}
machine = {{ file = "{machine}" }}
"""


def test_plan_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(two(SPREAD), tmp_path / "machine.json")
    path = tmp_path / "transfer.toml"
    path.write_text(TRANSFER.format(machine=tmp_path / "machine.json"))
    assert main(["plan", str(path)]) == 0
    assert "by the model alone)" in capsys.readouterr().out
    assert main(["plan", str(path), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["interval"][0] < data["seconds"] < data["interval"][1] and data["interval_basis"] == {"from": "model"}


# ---- errors


def test_errors_of_predictions() -> None:
    each = Outcome("p", "t", 1, 1.0, 2.0, (0.9, 2.5))
    assert (each.error, each.ratio, each.held) == (0.5, 2.0, True)
    assert Outcome("p", "t", 1, 2.0, 1.0).error == 1.0
    assert Outcome("p", "t", 1, 2.0, 1.0, (1.5, 3.0)).held is False
    found = summarized([each, Outcome("p", "t", 1, 1.0, 1.0), Outcome("p", "t", 1, 1.0, 1.1, (1.2, 1.3))])
    assert (found.count, found.with_interval, found.held, found.coverage) == (3, 2, 1, 0.5)
    assert found.worst == 2.0 and found.ratio == 1.1 and found.median == pytest.approx(0.1 / 1.1)
    assert not found.meets_goals
    assert summarized([Outcome("p", "t", 1, 1.0, 1.05)]).meets_goals


def test_errors_by_path() -> None:
    found = by_path(outcomes(7, paths=2))
    assert [(each.path, each.count) for each in found] == [("path 0", 4), ("path 1", 3)]
    assert summarized(outcomes(4, intervals=False)).coverage is None


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50), st.floats(0, 1))
def test_quantiles_are_numpys(values: list[float], share: float) -> None:
    import numpy as np

    assert quantile(sorted(values), share) == pytest.approx(float(np.quantile(values, share)), rel=1e-9, abs=1e-9)
