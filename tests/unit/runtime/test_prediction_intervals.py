"""Intervals of predictions: by the spread of measurements, and by how earlier runs went."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prediction_cases import SPREAD, entries, outcomes, planned, two

import isoviz
from isoviz.backends.emulated import EmulatedMachine
from isoviz.cli import main
from isoviz.errors import MachineError
from isoviz.machines import Channel, ChannelKind, Constant, LatencyBandwidth, Machine, Memory, MemoryKind
from isoviz.machines.throughput import Sampled
from isoviz.planner import Plan, plan_from_json, plan_to_json
from isoviz.planner.time.spread import Prediction, range_text, spread_at, spread_prediction
from isoviz.runtime.ledger.calibration import COVERAGE, ENOUGH, LATEST, NEAREST, held_by, predicted
from isoviz.runtime.ledger.ledger import ledger
from isoviz.runtime.ledger.prediction_errors import Outcome, by_path, quantile, summarized

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
    assert found is not None and found.basis == "spread" and found.runs == 0
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


def test_without_a_measurement_nothing_is_said() -> None:
    machine = two(LatencyBandwidth(1e-6, 1e9))
    assert spread_prediction(planned(machine), machine) is None
    assert predicted(planned(machine), machine, ()) is None
    assert predicted(planned(machine), machine) is None  # with the ledger that tests have: none


def test_another_machine_is_refused() -> None:
    with pytest.raises(MachineError):
        spread_prediction(planned(two(SPREAD)), isoviz.machines.preset("two-node"))


# ---- by earlier runs


def plan_and_machine(entries: int = 1 << 17) -> tuple[Plan, Machine]:
    machine = two(SPREAD)
    return planned(machine, entries), machine


def test_enough_earlier_runs_decide() -> None:
    made, machine = plan_and_machine()
    ratios = [1.0 + k / 100 for k in range(ENOUGH)]
    before = predicted(made, machine, entries(made, ratios[:-1]))
    assert before is not None and before.basis == "spread"
    after = predicted(made, machine, entries(made, ratios))
    assert after is not None and (after.basis, after.runs) == ("history", ENOUGH)
    assert after.low == pytest.approx(made.seconds) and after.high == pytest.approx(made.seconds * ratios[-1])


def test_runs_that_always_took_longer_move_the_interval_away() -> None:
    made, machine = plan_and_machine()
    found = predicted(made, machine, entries(made, [2.4] * 30))
    assert found is not None and found.low == found.high == pytest.approx(2.4 * made.seconds)
    assert not found.holds(made.seconds) and found.to_json()["expected_seconds"] == made.seconds


def test_only_the_latest_are_looked_at() -> None:
    """Computers change: a thousand runs of last year say less than those of today."""
    made, machine = plan_and_machine()
    today = [replace(each, nbytes=each.nbytes * 3) for each in entries(made, [1.1] * LATEST)]
    found = predicted(made, machine, [*entries(made, [5.0] * 1000), *today])
    assert found is not None and found.high == pytest.approx(1.1 * made.seconds)


def test_conversions_say_little_of_copies() -> None:
    made, machine = plan_and_machine()
    converting = [replace(each, destination_layout="<x, F>") for each in entries(made, [4.0] * 40)]
    copying = [replace(each, nbytes=each.nbytes * 50) for each in entries(made, [1.2] * 40)]
    assert not copying[0].converts and converting[0].converts
    found = predicted(made, machine, [*copying, *converting])
    assert found is not None and found.high == pytest.approx(1.2 * made.seconds)


def test_too_few_runs_over_these_channels() -> None:
    """Then those over any channels of the machine say more than the spread does."""
    made, machine = plan_and_machine()
    others = [replace(each, hops=()) for each in entries(made, [1.5] * 30)]
    found = predicted(made, machine, [*others, *entries(made, [1.0] * (ENOUGH - 1))])
    assert found is not None and found.basis == "history" and not found.same_path
    assert (found.low, found.high) == (made.seconds, pytest.approx(1.5 * made.seconds))
    assert "earlier runs on this machine went" in str(found)


def test_runs_with_a_trial_say_nothing_of_those_without() -> None:
    """What a trial said has intervals of its own, until there are enough runs that had one."""
    made, machine = plan_and_machine()
    trial = Prediction(0.5, 0.4, 0.6, "trial", tried=True)
    with_trial = entries(made, [1.5] * ENOUGH, tried=True)
    without = entries(made, [3.0] * 40)
    said = predicted(made, machine, [*with_trial, *without])
    assert said is not None and (said.high, said.tried) == (pytest.approx(3.0 * made.seconds), False)
    assert predicted(made, machine, [*with_trial[1:], *without], trial) is trial
    found = predicted(made, machine, [*with_trial, *without], trial)
    assert found == Prediction(0.5, pytest.approx(0.75), pytest.approx(0.75), "history", ENOUGH, tried=True)
    assert f"tried just before, as {ENOUGH} earlier runs over these channels went" in str(found)
    assert found is not None and found.to_json()["interval_basis"]["tried"] is True


@pytest.mark.parametrize("change", [{"digest": "1" * 64}, {"emulated": True}])
def test_runs_that_say_nothing_about_this_plan(change: dict[str, object]) -> None:
    made, machine = plan_and_machine()
    other = [replace(each, **change) for each in entries(made, [3.0] * 40)]  # type: ignore[arg-type]
    found = predicted(made, machine, other)
    assert found is not None and found.basis == "spread"


def test_the_nearest_in_size_are_asked() -> None:
    made, machine = plan_and_machine()
    near = entries(made, [1.1] * NEAREST)
    far = [replace(each, nbytes=each.nbytes * 1000) for each in entries(made, [5.0] * 200)]
    found = predicted(made, machine, [*far, *near])
    assert found is not None and found.runs == NEAREST
    assert found.high == pytest.approx(1.1 * made.seconds)


@given(st.lists(st.floats(0.01, 100), min_size=ENOUGH, max_size=200))
def test_an_interval_holds_nine_of_ten_of_what_it_goes_by(ratios: list[float]) -> None:
    low, high = held_by(ratios)
    assert low <= high and {low, high} <= set(ratios)
    outside = sum(not low <= ratio <= high for ratio in ratios)
    assert outside <= (1 - COVERAGE) * (len(ratios) + 1)


def test_the_next_run_is_held_in_nine_of_ten_cases() -> None:
    rng = random.Random(5)
    held = 0
    for _ in range(2000):
        *before, after = (rng.lognormvariate(0.3, 0.4) for _ in range(41))
        low, high = held_by(before)
        held += low <= after <= high
    assert held >= 0.88 * 2000


# ---- shown


def test_ranges_name_their_unit_once() -> None:
    assert range_text(0.0109, 0.0141) == "10.9 to 14.1 ms"
    assert range_text(0.00095, 0.0012) == "950 µs to 1.2 ms"


def test_a_report_says_what_was_expected() -> None:
    machine = two(SPREAD)
    report = isoviz.Engine(machine, EmulatedMachine()).run(planned(machine))
    assert report.prediction == spread_prediction(report.plan, machine)  # there is no ledger here
    assert "interval" not in replace(report, prediction=None).to_json()
    expected = Prediction(0.0123, 0.0109, 0.0141, "history", 40)
    shown = replace(report, prediction=expected)
    assert "predicted 12.3 ms (10.9 to 14.1 ms, as 40 earlier runs over these channels went)" in str(shown)
    data = shown.to_json()
    assert data["interval"] == [0.0109, 0.0141] and data["interval_basis"] == {"from": "history", "runs": 40, "same_path": True}
    assert plan_from_json({**plan_to_json(report.plan), **expected.to_json()}) == report.plan


TRANSFER = """
space = {{ x = 100000 }}
fields = {{ value = "float64" }}
source = {{ memory = "a", layout = "<F, x>" }}
destination = {{ memory = "b", layout = "<F, x>" }}
machine = {{ file = "{machine}" }}
"""


def test_plan_says_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    machine = two(SPREAD)
    machine.save(tmp_path / "machine.json")
    path = tmp_path / "transfer.toml"
    path.write_text(TRANSFER.format(machine=tmp_path / "machine.json"))
    assert main(["plan", str(path)]) == 0
    assert "by the spread of the measured channels)" in capsys.readouterr().out
    assert main(["plan", str(path), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["interval"][0] < data["seconds"] < data["interval"][1] and data["interval_basis"]["from"] == "spread"
    monkeypatch.setenv("ISOVIZ_LEDGER", str(tmp_path / "runs.jsonl"))
    made = plan_from_json(data)
    for each in entries(made, [1.5] * 30):
        ledger().append(each)  # type: ignore[union-attr]
    assert main(["plan", str(path)]) == 0
    assert "as 30 earlier runs over these channels went)" in capsys.readouterr().out


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
