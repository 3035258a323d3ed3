"""`isoviz bench predictions`: on emulated machines predictions hold and nothing is regretted; where a description is wrong, both
show. Nothing is left behind, whatever ends it."""

from __future__ import annotations

import itertools
import json
import math
import os
import random
import signal
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from isoviz.backends.emulated import EmulatedMachine, RateLimited
from isoviz.bench.predictions import regret
from isoviz.bench.predictions import suite as bench
from isoviz.bench.predictions.random_transfers import LARGEST, MOST_HELD, SMALLEST, random_layout, random_transfers
from isoviz.bench.predictions.regret import BEST, OTHERS, Deadline, Regret, TimedRuns, _over, candidates, regret_of, share_within
from isoviz.bench.predictions.report import Measurements, Sample, held_share
from isoviz.bench.predictions.suite import Effort, measure
from isoviz.cli import main
from isoviz.errors import InputError, TransferError, VerificationError
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Limits, Machine, Memory, MemoryKind, preset
from isoviz.measure.local_engine import Engine
from isoviz.measure.trial import Trial
from isoviz.planner import Transfer, plan
from isoviz.planner.time.spread import Prediction
from isoviz.runtime import Progress
from isoviz.runtime.device_bases import BaseChannel
from isoviz.runtime.ledger.ledger import Ledger
from isoviz.runtime.protocols import Bound, RealChannel

SYS = MemoryKind.SYS
FAST, SLOW = 12e6, 4e6
"""Bytes per second: slow enough for any computer to keep up with."""
LATENCY = 1e-7


def forked(direct: float, through: float) -> Machine:
    """From a to b directly, or through c; hops take turns, so that chunks are large and threads cost next to nothing."""
    memories = tuple(Memory(name, SYS) for name in "abc")
    channels = (
        Channel("direct", ChannelKind.MEMCPY, "a", "b", LatencyBandwidth(LATENCY, direct)),
        Channel("in", ChannelKind.MEMCPY, "a", "c", LatencyBandwidth(LATENCY, through)),
        Channel("out", ChannelKind.MEMCPY, "c", "b", LatencyBandwidth(LATENCY, through)),
    )
    return Machine("forked", memories, channels, limits=Limits(overlap=False))


class Really(EmulatedMachine):
    """Devices whose channels are as fast as those of another machine, whatever theirs is described with."""

    def __init__(self, truth: Machine) -> None:
        super().__init__()
        self.truth = truth

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> RealChannel:
        return RateLimited(self.truth.channel(channel.name))


QUICK = Effort(transfers=4, regrets=2, error_seconds=20.0, regret_seconds=30.0)


@pytest.mark.full
def test_what_is_described_rightly_is_predicted_rightly() -> None:
    machine, effort = forked(FAST, SLOW), QUICK._replace(regrets=4)
    found = measure(size="256KiB", repeat=3, machine=machine, devices=EmulatedMachine(), planner="full", effort=effort).to_json()
    assert found["summary"]["model_median_error"] < 0.15 and found["summary"]["trial_median_error"] is None
    assert len(found["transfers"]) == 4 and len(found["regret"]) == 4
    for row in found["regret"]:
        assert row["regret"] < 0.25 + row["noise"]
        assert row["candidates"] >= 1
    assert max(row["candidates"] for row in found["regret"]) >= 2
    assert found["summary"]["seconds"] > 0 and found["summary"]["given_up"] == 0
    assert sum(row["samples"] for row in found["rows"] if row["path"] != "all") == 4 == found["rows"][-1]["transfers"]


def off(row: dict[str, Any]) -> float:
    """The error of the model."""
    return abs(row["model"]["seconds"] - row["measured_seconds"]) / row["measured_seconds"]


@pytest.mark.full
def test_a_wrong_description_shows_as_error_and_as_regret() -> None:
    """The direct channel is a sixth as fast as it is said to be."""
    said, truth = forked(FAST, FAST * 0.8), forked(FAST / 6, FAST * 0.8)
    effort = QUICK._replace(transfers=6, regrets=6)
    found = measure(size="128KiB", repeat=3, machine=said, devices=Really(truth), planner="full", effort=effort).to_json()
    by_channel = {
        wrong: [row for row in found["transfers"] if (" a <" in row["transfer"]) and ("→ b" in row["transfer"]) is wrong]
        for wrong in (True, False)
    }
    assert all(off(row) > 0.6 for row in by_channel[True]) and len(by_channel[True]) >= 1
    assert all(off(row) < 0.4 for row in by_channel[False]) and len(by_channel[False]) >= 1
    assert not found["summary"]["meets_goals"]["regret"] and found["summary"]["model_p95_error"] > 0.6
    regrets = {row["transfer"]: row for row in found["regret"]}
    assert len(regrets) == 6
    for row in by_channel[True]:
        assert regrets[row["transfer"]]["regret"] > 0.3 and regrets[row["transfer"]]["best"].count("→") == 1


def direct_transfer(entries: int = 16384) -> Transfer:
    return Transfer.whole(IndexSpace(x=entries), FieldSpace(v="f4", w="f4"), "a", "<F, x>", "b", "<x, F>")


@pytest.mark.full
def test_regret_is_what_a_wrong_choice_costs(tmp_path: Path) -> None:
    said, truth = forked(FAST, FAST * 0.8), forked(FAST / 6, FAST * 0.8)
    devices = Really(truth)
    chosen = plan(direct_transfer(), said, "full")
    assert len(chosen.hops) == 1
    with Engine(said, devices) as engine, TimedRuns(engine, devices, chosen.transfer, tmp_path) as runs:
        found = regret_of(chosen, said, runs, 6 * chosen.seconds, random.Random(1))
    assert isinstance(found, Regret) and found.best is found.rival
    assert 0.5 < found.value < 8 and found.to_json()["regret"] == found.value
    assert [hop.channel for hop in found.best.hops] == ["in", "out"]
    assert share_within([found]) == 0


def test_plans_are_compared_round_by_round() -> None:
    """A computer that goes at two speeds is as fast for the one as for the other; and a run that was held up does not count."""
    ratio, noise = _over([1.1, 2.2, 1.1, 9.0, 2.2], [1.0, 2.0, 1.0, 1.0, 2.0])
    assert ratio == pytest.approx(1.1) and noise == pytest.approx(0, abs=1e-9)
    rng = random.Random(1)
    found = []
    for _ in range(300):
        rounds = [(rng.lognormvariate(0, 0.1), rng.lognormvariate(0, 0.1)) for _ in range(25)]
        found.append(_over(*zip(*rounds, strict=True)))
    within = sum(abs(ratio - 1) <= noise for ratio, noise in found) / len(found)
    assert 0.88 < within < 0.99, "two standard errors"


def test_candidates_are_the_best_predicted_and_others() -> None:
    machine = forked(FAST, SLOW)
    chosen = plan(direct_transfer(), machine, "full")
    found = candidates(chosen, machine, random.Random(1))
    assert found[0] is chosen and 2 <= len(found) <= BEST + OTHERS
    assert len({(hop.channel for hop in made.hops) for made in found}) >= 2
    assert all(math.isfinite(made.seconds) and made.transfer == chosen.transfer for made in found)
    keys = [(tuple(hop.channel for hop in made.hops), str(made.order), made.outer, made.per_chunk) for made in found]
    again = candidates(chosen, machine, random.Random(1))
    assert [made.seconds for made in again] == [made.seconds for made in found] and len(keys) == len(found)
    assert any("in" in key[0] for key in keys)  # a path that loses whatever moves is drawn as well


def test_wrong_bytes_end_it(tmp_path: Path) -> None:
    class Lying(EmulatedMachine):
        def channel(self, channel: Channel, source: Bound, destination: Bound) -> RealChannel:
            class Nothing(BaseChannel):
                at_once = False

                def move(self, copies, source, destination, check) -> int:
                    return len(copies)

            return Nothing()  # type: ignore[return-value]

    with pytest.raises(VerificationError):
        measure(size="64KiB", machine=forked(FAST, SLOW), devices=Lying(), effort=QUICK, directory=tmp_path)
    assert list(tmp_path.iterdir()) == []


def sample(times: tuple[float, ...], said: Prediction | None = None, spent: float = 0.1) -> Sample:
    machine = forked(FAST, SLOW)
    transfer = Transfer.whole(IndexSpace(x=1000), FieldSpace(v="f4"), "a", "<F, x>", "b", "<F, x>")
    made = plan(transfer, machine, "full")
    return Sample(transfer, made, machine, times, None if said is None else Trial(made, made, {}, said, spent))


def test_what_was_said_beside_what_was_measured() -> None:
    """Rounds weigh alike, however many runs they have."""
    said = Prediction(5.0, 4.0, 6.0, "trial", scatter=0.1)
    found = Measurements([sample((9.0,) * 15, said), sample((5.0, 5.5, 50.0), said), sample((4.0,))])
    assert [each.measured for each in found.model] == [9.0, 5.5, 4.0]
    assert [each.predicted for each in found.trials] == [5.0, 5.0] and len(found.tried) == 2
    assert {each.predicted for each in found.model} == {each.plan.seconds for each in found.samples}
    share, inside, runs = held_share(found.samples, with_trial=True) or (0.0, 0, 0)
    assert (share, inside, runs) == (pytest.approx(1 / 3), 2, 18)
    assert held_share(found.samples, with_trial=False) is None, "no channel was measured: there is no interval"
    assert found.samples[1].cost == pytest.approx(0.1 / 5.5) and found.samples[2].cost is None


@pytest.mark.full
def test_rounds_over_all_transfers(tmp_path: Path) -> None:
    """All have their first runs before any has more; those that were given up have none."""
    said = forked(FAST, SLOW)
    told: list[str] = []
    effort = QUICK._replace(transfers=3, regrets=0, rounds=3)
    ends = {"machine": said, "devices": EmulatedMachine(), "planner": "full", "directory": tmp_path}
    data = measure(size="128KiB", repeat=2, effort=effort, progress=told.append, **ends).to_json()  # type: ignore[arg-type]
    rounds = [line.split(",")[0] for line in told]
    assert (
        rounds == [f"errors: transfer {k} of 3" for k in (1, 2, 3)] + ["errors: round 2 of 3"] * 3 + ["errors: round 3 of 3"] * 3
    )
    names = [row["transfer"] for row in data["transfers"]]
    assert len(names) == 9 and names[:3] == names[3:6] == names[6:]
    assert all(row["measured_seconds"] == statistics.median(row["runs"]) for row in data["transfers"])
    assert (data["summary"]["transfers"], data["summary"]["samples"], data["summary"]["tried"]) == (3, 9, 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stops", [0, regret.STOPS, regret.STOPS + 1])
def test_a_chosen_plan_that_stops_for_once_is_run_again(stops: int) -> None:
    """A rival that does so is not."""

    class Runs:
        def __init__(self) -> None:
            self.made = {"chosen": 0, "rival": 0, "lame": 0}

        def seconds(self, made: str, limit: float) -> float | None:
            self.made[made] += 1
            if made == "chosen" and 2 <= self.made[made] < 2 + stops:
                return None
            return None if made == "lame" else limit / 10

    runs = Runs()
    times = regret._in_turn(["chosen", "rival", "lame"], runs, 1.0, 7, random.Random(1))  # type: ignore[list-item, arg-type]
    assert len(times[0]) == (7 if stops <= regret.STOPS else 1)
    assert len(times[1]) == 7 and not times[2] and runs.made["lame"] == 1


def test_what_takes_far_too_long_is_given_up(tmp_path: Path) -> None:
    said, truth = forked(1e9, 1e9), forked(1e5, 1e5)
    effort = Effort(1, 0, 20.0, 0.0, patience=5.0, slack=0.05, rounds=2)
    told: list[str] = []
    ends = {"machine": said, "devices": Really(truth), "planner": "direct"}
    found = measure(size="128KiB", directory=tmp_path, effort=effort, progress=told.append, **ends)  # type: ignore[arg-type]
    assert len(told) == 1 and told[0].startswith("errors: transfer 1 of 1, ")
    data = found.to_json()
    assert data["summary"]["given_up"] == 1 and data["summary"]["model_median_error"] > 0.8
    assert "given up, having taken much longer than predicted" in str(found)


def test_a_deadline_does_not_count_verification() -> None:
    late = Deadline(-1.0)
    assert late.is_set()
    late.told(Progress("move", 0, 1, 0, 1))
    assert late.is_set()
    late.told(Progress("verify", 1, 1, 1, 1))
    assert not late.is_set()


def test_what_there_is_no_time_for_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "GRACE", 0.0)
    said, truth = forked(1e9, 1e9), forked(1e5, 1e5)
    effort = Effort(1, 0, 0.2, 0.0, patience=1e9)
    data = measure(size="128KiB", machine=said, devices=Really(truth), planner="direct", effort=effort).to_json()
    assert data["summary"]["left_out"] == 1 and data["transfers"] == data["rows"] == data["regret"] == []
    assert not any(data["summary"]["meets_goals"].values())


# ---- random transfers


def test_draws_are_the_same_for_the_same_seed() -> None:
    machine = preset("local", measure="assumed")
    memories = ["node0.sys", "node0.dsk"]
    first, again, other = (list(itertools.islice(random_transfers(machine, memories, seed), 60)) for seed in (1, 1, 2))
    assert first == again != other
    assert {(each.source.memory, each.destination.memory) for each in first} == set(itertools.product(memories, repeat=2))
    assert all(SMALLEST / 4 <= each.nbytes <= LARGEST * 1.1 for each in first)
    assert all(each.source.linearization.nbytes + each.destination.linearization.nbytes <= MOST_HELD for each in first)
    assert {len(each.space) for each in first} == {1, 2, 3}
    sizes = {size for each in first for size in each.fields.sizes}
    assert min(sizes) == 1 and max(sizes) == 16 and len(sizes) > 6
    assert any(each.source.layout.is_blocked for each in first) and any(not each.converts for each in first)
    assert all(plan(each, machine).seconds > 0 for each in first)


def test_layouts_of_every_kind() -> None:
    rng = random.Random(3)
    found = {str(random_layout(rng, IndexSpace(x=100, y=50))) for _ in range(300)}
    assert {"<F, x, y>", "<F, y, x>", "<x, y, F>", "<y, x, F>"} <= found
    assert len(found) > 60


def test_memories_without_a_path() -> None:
    alone = Machine("alone", (Memory("a", SYS), Memory("b", SYS)), ())
    with pytest.raises(TransferError, match="no path between any two"):
        next(random_transfers(alone, ["a", "b"]))


# ---- on this computer


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "USUAL", Effort(3, 1, 20.0, 20.0, rounds=2))


@pytest.mark.full
def test_on_this_computer(
    tmp_path: Path, tiny: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "here"
    work.mkdir()
    monkeypatch.setenv("ISOVIZ_LEDGER", str(tmp_path / "runs.jsonl"))
    page = tmp_path / "page.html"
    # Seed 6: one of the three stays within memory, so that there is a copy to try whatever the disk is like.
    arguments = ("--size", "256KiB", "--repeat", "2", "--directory", str(work), "--seed", "6", "-o", str(page), "--json")
    assert main(["bench", "predictions", *arguments]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["benchmark"] == "predictions" and len(data["transfers"]) == 6 and len(data["regret"]) == 1
    every = data["rows"][-1]
    assert every["path"] == "all" and (every["transfers"], every["samples"]) == (3, 6)
    assert list(work.iterdir()) == []
    shown = page.read_text(encoding="utf-8")
    assert shown.count('class="plot" data-plot') == 2 and "By a trial" in shown and "By the model alone" in shown
    tried = [row for row in data["transfers"] if row["trial"] is not None]
    assert len(tried) == every["tried"] == data["summary"]["tried"] >= 2
    assert every["trial_runs"] == sum(len(row["runs"]) for row in tried) and 0 <= every["trial_coverage"] <= 1
    assert every["trial_cost"] > 0 and data["summary"]["trial_seconds"]["most"] == max(row["trial_spent"] for row in tried)
    assert all(row["trial"]["interval"][0] < row["trial"]["seconds"] < row["trial"]["interval"][1] for row in tried)
    assert any(row["trial"]["seconds"] != row["model"]["seconds"] for row in tried)
    rounds: dict[str, set[int]] = {}
    for row in tried:
        rounds.setdefault(row["transfer"], set()).add(row["trial"]["ledger_runs"])
    assert all(len(known) == 1 for known in rounds.values()), "all rounds of a transfer know the runs before it, and no others"
    kept = Ledger(tmp_path / "runs.jsonl").read().entries
    assert [each.origin for each in kept] == ["bench predictions"] * 3 and all(each.verified for each in kept)
    assert sum(each.tried for each in kept) == len(rounds) and all(each.scatter is not None for each in kept if each.tried)


@pytest.mark.full
def test_for_people(tmp_path: Path, tiny: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "predictions", "--size", "128KiB", "--repeat", "1", "--directory", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "predicted against measured: 3 random transfers of 64 KiB to 128 KiB on local" in said
    assert "regret of at most 5.0 %" in said and "± noise" in said and "seed 0" in said


def test_what_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "predictions", "--size", "1KiB"]) == 2
    assert "expected at least 64 KiB" in capsys.readouterr().err
    assert main(["bench", "engine", "-o", str(tmp_path / "x.html")]) == 2
    assert main(["bench", "engine", "--seed", "1"]) == 2
    with pytest.raises(InputError):
        measure(size="junk")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.few(1)
def test_nothing_is_left_when_it_is_interrupted(tmp_path: Path, number: signal.Signals) -> None:
    """Whatever it is at: it says so and takes its files away."""
    code = (
        "import sys; from isoviz.bench import predictions; from isoviz.bench.predictions.regret import TimedRuns\n"
        "begun = TimedRuns.run\n"
        "def run(self, *args, **options):\n"
        "    print('running', flush=True)\n"
        "    while True: begun(self, *args, **options)\n"
        "TimedRuns.run = run\n"
        "from isoviz.cli import main\n"
        f"sys.exit(main(['bench', 'predictions', '--size', '1MiB', '--directory', {str(tmp_path)!r}]))\n"
    )
    started = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert started.stdout is not None and started.stdout.readline() == "running\n"
    assert list(tmp_path.iterdir()) != []
    os.kill(started.pid, number)
    _, error = started.communicate(timeout=250)
    assert started.returncode == 128 + number, error
    assert "interrupted; nothing was left behind" in error
    assert list(tmp_path.iterdir()) == []
