"""The scheduler under the simulator and under a driver that ends requests in any order, against a referee that shares no code
with it (see `scheduler_cases`)."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings
from planner_problems import build, random_problem
from scheduler_cases import Referee, drive, random_case, simulated

from isoviz.errors import LayoutError, LimitError, TransferError
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Limits, Machine, preset
from isoviz.planner import Plan, Transfer, plan
from isoviz.runtime import simulate
from isoviz.runtime.recording import Recorder, Recording
from isoviz.runtime.trace.critical_path import critical_path
from isoviz.runtime.trace.trace import Trace
from isoviz.scheduling.scheduler import Counts
from isoviz.scheduling.work import Cancel, Finish, Submit

Report = Callable[[str, object], None]

BATCHES = range(10)
CLOSE = 1e-9


def seeds(batch: int, each: int) -> range:
    """The seeds of one of ten batches, `each` of them."""
    return range(batch * each, (batch + 1) * each)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.few(3)
def test_requests_in_any_order(report: Report, batch: int) -> None:
    """Requests end in any order, several under way on a channel; some fail; transfers are cancelled at any time."""
    seen: Counter[str] = Counter()
    for seed in seeds(batch, settings().max_examples):
        case = random_case(seed)
        scheduler = case.scheduler()
        try:
            referee, history = drive(case, scheduler)
            referee.over(scheduler)
        except Exception as error:
            error.add_note(f"drive(case := random_case({seed}), case.scheduler())")
            raise
        seen.update(referee.seen)
        seen["runs"] += 1
        seen["stimuli"] += len(history)
    assert {"done", "failed", "cancelled", "waits", "lent", "held back"} <= set(seen)
    for name in ("runs", "stimuli", "done", "failed", "cancelled"):
        report(f"scheduler, any order: {name}", seen[name])


@pytest.mark.parametrize("batch", BATCHES)
def test_many_transfers_at_once(report: Report, batch: int) -> None:
    """The same with more transfers than fit into any memory."""
    for seed in seeds(batch, max(1, settings().max_examples // 25)):
        case = random_case(f"many {seed}", transfers=60)
        scheduler = case.scheduler()
        try:
            referee, _ = drive(case, scheduler)
            referee.over(scheduler)
        except Exception as error:
            error.add_note(f'drive(case := random_case("many {seed}", transfers=60), case.scheduler())')
            raise
        report("scheduler, up to 60 transfers: runs", 1)


@pytest.mark.parametrize("batch", BATCHES)
def test_the_same_stimuli_have_the_same_answers(report: Report, batch: int) -> None:
    """Twice driven, once recorded, replayed from a file."""
    for seed in seeds(batch, max(2, settings().max_examples // 10)):
        case = random_case(seed)
        recorder = Recorder(case.scheduler(), clock=lambda: 0.0)
        _, history = drive(case, case.scheduler())
        _, again = drive(case, recorder)
        assert history == again
        recording = recorder.recording
        assert [(entry.stimulus, list(entry.instructions)) for entry in recording] == history
        assert Recording.from_json(recording.to_json()) == recording
        assert recording.replay().counts == recorder.counts
        report("scheduler: replayed", 1)


def test_recordings_of_the_first_format() -> None:
    """Runs recorded when a transfer was one path and a hop knew its neighbours: the same stimuli have the same answers."""
    recordings = json.loads((Path(__file__).parent / "scheduler_recordings_1.json").read_text(encoding="utf-8"))
    for data in recordings:
        recording = Recording.from_json(data)
        assert recording.replay().counts == Counts(0, 0, 0, 0)
        assert json.loads(json.dumps(recording.to_json())) == data


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.few(3)
def test_simulations(report: Report, batch: int) -> None:
    """Random work with faults and cancellations in virtual time, with and without shared resources."""
    for seed in seeds(batch, max(1, settings().max_examples // 2)):
        try:
            trace = _simulated_and_judged(seed)
            _, at_once, times = simulated(seed)
            assert at_once.run() == trace
            _judge_times(trace, times, {channel.name: bool(channel.resources) for channel in at_once.machine.channels})
        except Exception as error:
            error.add_note(f"simulated({seed})")
            raise
        report("scheduler, simulated: runs", 1)
        report("scheduler, simulated: requests", len(trace.requests))


def _simulated_and_judged(seed: int) -> Trace:
    """A simulation step by step, every answer judged."""
    case, simulator, _ = simulated(seed)
    referee = Referee(case.limits, case.capacity, case.by_priority)
    early = set()
    now = 0.0
    while (step := simulator.step()) is not None:
        assert now <= step.seconds < math.inf
        now = step.seconds
        stimulus = step.stimulus
        if type(stimulus) is Cancel and stimulus.transfer not in referee.all and step.instructions:
            # The scheduler does not know of it yet, and never will.
            assert step.instructions == (Finish(stimulus.transfer, "cancelled"),)
            early.add(stimulus.transfer)
            continue
        assert type(stimulus) is not Submit or stimulus.transfer not in early
        referee.check(stimulus, step.instructions)
        referee.agrees(simulator.scheduler)
    referee.over(simulator.scheduler)
    assert len(referee.all) + len(early) == len(case.works)
    trace = simulator.trace()
    outcomes = {known.number: known.outcome for known in referee.all.values()}
    for transfer in trace.transfers:
        assert (transfer.outcome, transfer.reason) == outcomes.get(transfer.number, ("cancelled", ""))
    moved = Counter(span[:4] for span in trace.requests)
    assert set(moved.values()) <= {1}
    for known in referee.all.values():
        assert known.done <= {span[1:4] for span in trace.requests if span.transfer == known.number}
    return trace


def _judge_times(trace: Trace, times: dict[int, tuple[tuple[float, float], ...]], shared: dict[str, bool]) -> None:
    """A channel works on one request after the other; without shared resources each takes what it takes alone."""
    by_channel = defaultdict(list)
    for span in trace.requests:
        by_channel[trace.channel(span)].append(span)
        work = trace.of[span.transfer].work
        alone = times[span.transfer][span.hop][span.chunk == work.hop_chunks[span.hop] - 1]
        if shared[trace.channel(span)]:
            assert span.end - span.start >= alone * (1 - 1e-9) - 1e-12
        else:
            assert math.isclose(span.end - span.start, alone, rel_tol=1e-9, abs_tol=1e-9)
        transfer = trace.of[span.transfer]
        assert transfer.admitted is not None and transfer.admitted <= span.start <= span.end <= transfer.ended
    for spans in by_channel.values():
        for before, after in itertools.pairwise(spans):
            assert before.end <= after.start


@pytest.mark.parametrize("batch", BATCHES)
def test_what_held_a_simulation_up(report: Report, batch: int) -> None:
    """A critical path goes from the start of a transfer to the last request that ended, each step where the one before ended.

    Where priorities hold somebody back from a channel that is idle, nothing that ends there explains how long.
    """
    for seed in seeds(batch, max(1, settings().max_examples // 2)):
        case, simulator, _ = simulated(seed)
        trace = simulator.run()
        path = critical_path(trace)
        assert bool(path) == bool(trace.requests)
        if not path:
            continue
        assert path[-1].span.end == max(span.end for span in trace.requests)
        assert [step.waited_for == "start" for step in path] == [True] + [False] * (len(path) - 1)
        assert len(set(path)) == len(path)
        plain = len({work.priority for work in case.works}) == 1 and not case.rates["cancel"]
        gaps = [(before, step) for before, step in itertools.pairwise(path) if before.span.end != step.span.start]
        assert all(before.span.end < step.span.start for before, step in gaps)
        for before, step in gaps if plain else ():
            # Whose buffers it got is concluded from the times: somebody's who ended just when they were there.
            transfer = trace.of[step.span.transfer]
            just = step.waited_for == "buffers" and step.span.start == transfer.began
            near = step.span.start - before.span.end <= 0.05 * (transfer.began - transfer.submitted) * (1 + CLOSE)
            assert just and near, f"simulated({seed}): {before}, {step}"
        report("critical paths: steps", len(path))
        report("critical paths: steps after a gap", len(gaps))


# ---- plans on an idle machine


def even(plan: Plan) -> bool:
    """Whether all chunks are equally long, the last one too."""
    return plan.chunk_bytes * plan.chunk_count == plan.bytes


def first_chunk(plan: Plan, machine: Machine) -> float:
    """Seconds of a full chunk through all hops, with what it takes to set up."""
    hops = sum(plan.chunk_bytes / hop.throughput for hop in plan.hops)
    return hops + sum(machine.channel(hop.channel).setup for hop in plan.hops)


def judge(plan: Plan, machine: Machine) -> float:
    """Simulate a plan alone: it takes what is predicted. Returns that by T, in which a short last chunk is a part of a chunk, and
    padding that moves along is not counted."""
    simulated = simulate(plan, machine).seconds
    assert simulated == pytest.approx(plan.seconds, rel=CLOSE), plan
    if not plan.shares:
        latencies = sum(hop.latency for hop in plan.hops)  # the last chunk has them whole
        assert plan.seconds <= (plan.objective * max(plan.moved) + latencies) * (1 + CLOSE), plan
        assert plan.seconds > plan.objective - first_chunk(plan, machine), plan
        if even(plan) and max(plan.moved) == 1:
            assert plan.seconds == pytest.approx(plan.objective, rel=CLOSE), plan
    return plan.seconds / plan.objective


@pytest.mark.parametrize("batch", BATCHES)
def test_random_problems_take_the_predicted_time(report: Report, batch: int) -> None:
    """Random machines and transfers: one slot or several, hops in turn or at the same time, chunks that are even or not."""
    each = settings().max_examples // 4
    least, shared = 1.0, 0
    for seed in seeds(batch, each):
        transfer, machine, options = build(random_problem(seed, non_nesting=seed % 5 == 4))
        for planner in ("full", "simple"):
            try:
                found = plan(transfer, machine, planner, options)
            except (TransferError, LayoutError):
                continue
            shared += bool(found.shares)
            least = min(least, judge(found, machine))
            report("simulator: random plans, alone", 1)
            report("simulator: of these with a short last chunk", int(not even(found)))
    report("simulator: of these on shared resources", shared)
    report("simulator: least time by T", round(least, 3))


def preset_transfers() -> Iterator[tuple[str, Transfer]]:
    fields = FieldSpace(re="f4", im="f8")
    spaces = [IndexSpace(x=1 << 18), IndexSpace(x=512, y=768), IndexSpace(x=96, y=80, z=100)]
    for (name, ends), space in itertools.product(
        (
            ("two-node", ("node0.fbm0", "node1.fbm0")),
            ("two-node", ("node0.dsk", "node1.sys")),
            ("xstream", ("node0.sys", "node1.fbm0")),
            ("moonlight", ("node0.fbm1", "node1.sys")),
        ),
        spaces,
    ):
        names = list(space)
        dims = ", ".join(names)
        for here, there in ((f"<F, {dims}>", f"<{dims}, F>"), (f"<{dims}, F>", f"<F, {', '.join(reversed(names))}>")):
            yield name, Transfer.whole(space, fields, ends[0], here, ends[1], there)


@pytest.mark.parametrize("planner", [pytest.param("full", marks=pytest.mark.full), "simple", "spsl", "spdl"])
def test_presets_take_the_predicted_time(report: Report, planner: str, full: bool) -> None:
    others = Limits(slots=1), Limits(overlap=False), Limits(slots=3, slot_limit=1 << 16)
    for number, (name, transfer) in enumerate(preset_transfers()):
        machine = preset(name)
        for limits in (machine.limits, *(others if full else [others[number % 3]])):
            changed = replace(machine, limits=limits)
            try:
                found = plan(transfer, changed, planner)
            except LimitError:
                continue
            judge(found, changed)
            report("simulator: plans on presets, alone", 1)


def test_stored_and_forwarded_is_the_sum_of_the_hops() -> None:
    for name, transfer in preset_transfers():
        machine = preset(name)
        found = plan(transfer, machine, "simple")
        trace = simulate(found, machine, pipelined=False)
        setup = sum(machine.channel(hop.channel).setup for hop in found.hops)
        hops = [found.bytes * moved / hop.throughput for hop, moved in zip(found.hops, found.moved, strict=True)]
        missing = found.chunks.blocks / found.per_chunk % -1  # how much of the last chunk is not there; its latency is whole
        latencies = sum(hop.latency for hop in found.hops)
        assert trace.seconds == pytest.approx(setup + sum(hops) - missing * latencies, rel=CLOSE)
        assert trace.overlap == pytest.approx(1)
