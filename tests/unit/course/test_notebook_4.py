"""Notebook 4: its times are those of isoviz, what is cheap is not right, and pictures show the learner's own answer."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from isoviz.course.checking import judged
from isoviz.course.classroom import drawn, learner_seed
from isoviz.course.exercise import Verdict
from isoviz.course.lessons import exercises_of
from isoviz.course.notebook_4.buffer_orders import stop_of
from isoviz.course.notebook_4.chunk_sizes import best_chunk
from isoviz.course.notebook_4.hidden_cause import CHANGES, changed
from isoviz.course.notebook_4.timelines import Pipeline, answer_marks, at_work, pipeline_of, timeline_html
from isoviz.figures.charts.svg import text_width
from isoviz.machines import Channel, ChannelKind, Constant, Machine, Memory, MemoryKind
from isoviz.runtime import Simulator
from isoviz.scheduling.work import Ring, Work
from isoviz.units import format_bytes, format_seconds

EXERCISES = exercises_of(4)


def numbers(name: str, seed: int = 0) -> dict[str, Any]:
    return drawn(EXERCISES[name], learner_seed("notebook 4", f"{name} {seed}"))


def verdict(name: str, answer: object, given: Any) -> Verdict:
    return judged(EXERCISES[name], answer, given).verdict


def drawn_by(found: Verdict) -> str:
    assert found.picture is not None
    return str(found.picture())


# ---- times


def test_a_pipeline_takes_as_long_as_the_scheduler_takes() -> None:
    source = random.Random(4)
    for _ in range(20):
        hops = tuple(source.uniform(0.1, 2.0) for _ in range(source.randrange(1, 6)))
        pipeline = Pipeline(hops, source.randrange(1, 12), source.uniform(0, 3), source.randrange(1, 4))
        assert pipeline.trace().seconds == pytest.approx(pipeline.seconds, rel=1e-12), pipeline


def test_what_goes_on_is_what_the_trace_shows() -> None:
    pipeline = Pipeline((2.0, 3.0), 4, 1.0)
    assert at_work(pipeline, 0.5) == "the set-up is still under way"
    assert at_work(pipeline, 2.0) == "hop 0 moves chunk 0; the last chunk, chunk 3, is not there yet"
    assert at_work(pipeline, 4.0) == "hop 0 moves chunk 1 and hop 1 moves chunk 0; the last chunk, chunk 3, is not there yet"


def test_no_chunk_takes_less_than_the_best_one() -> None:
    exercise, given = EXERCISES["4.2"], numbers("4.2")
    best = {part: best_chunk(given[part]) for part in ("small", "large")}
    time = re.compile(r"T = (\S+ \S+?)[,;]")
    least = time.findall(exercise.judge(best, given).says)
    for factor in (0.25, 0.5, 0.8, 1.25, 2, 4):
        others = exercise.judge({part: round(factor * chunk) for part, chunk in best.items()}, given).says
        assert [_seconds(each) for each in time.findall(others)] >= [_seconds(each) for each in least]


def _seconds(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"s": 1.0, "ms": 1e-3, "µs": 1e-6}[unit]


def test_each_change_of_a_hidden_cause_is_that_change_alone() -> None:
    given = numbers("4.4")
    now = changed(given)
    larger, slot, faster, ready = (changed(given, change) for change in CHANGES)
    assert (larger.chunks * 4, larger.setup, larger.slots) == (now.chunks, now.setup, now.slots)
    assert slot == now._replace(slots=now.slots + 1)
    assert ready == now._replace(setup=0.0)
    unlike = [hop for hop, (one, other) in enumerate(zip(now.hops, faster.hops, strict=True)) if one != other]
    assert unlike == [now.slowest] and faster == now._replace(hops=faster.hops)


# ---- many right answers


def test_any_good_chunk_is_right() -> None:
    given = numbers("4.2")
    small, large = best_chunk(given["small"]), best_chunk(given["large"])
    for answer in (
        (small, large),
        {"large": f"{large // 1024} KiB", "small": f"{small // 1024} KiB"},
        [1.25 * small // 1, large // 3],
        (f"{small} B", f"{2 * large} B"),
        (round(0.85 * small), 4 * large),
    ):
        assert verdict("4.2", answer, given).right, answer


def test_any_design_that_holds_is_right_and_its_cost_is_said() -> None:
    given = numbers("4.P")
    costs = set()
    for chunk in (4 << 20, (4 << 20) - 4096, 4_000_000):
        found = verdict("4.P", (chunk, 2), given)
        assert found.right
        costs.add(found.cost)
    assert len(costs) == 3
    assert all("would be enough" in each for each in costs)


# ---- cheap wins


def test_a_design_cannot_be_right_by_its_size_alone() -> None:
    given = numbers("4.P")
    for answer in ((1, 1), (1, 10**9), (10**15, 2), (8 << 20, 1), (1 << 20, 8), (4 << 20, 3), (1 << 63 - 1, 1)):
        assert not verdict("4.P", answer, given).right, answer


def test_a_hint_names_the_chunk_that_was_given() -> None:
    """Also where it is larger than the transfer, which then has one chunk of its own size."""
    chunk = 14948260
    words = verdict("4.2", (chunk, chunk), numbers("4.2")).words
    assert numbers("4.2")["small"] < chunk
    assert (words["chosen"], words["count"]) == ("14.3 MiB", "1 chunk")


def test_a_chunk_is_not_right_for_few_bytes_and_for_many() -> None:
    given = numbers("4.2")
    tried = [round(1024 * 1.3**step) for step in range(60)]
    assert not any(verdict("4.2", (chunk, chunk), given).right for chunk in tried)


def nothing(needs):
    return []


def one_list(needs):
    return [sorted({name for each in needs for name in each})] * len(needs)


def nothing_each(needs):
    return [[] for _ in needs]


def twice(needs):
    return [sorted(each) + sorted(each) for each in needs]


def first_only(needs):
    return [sorted(each)[:1] for each in needs]


def emptied(needs):
    for each in needs:
        each.clear()
    return needs


@pytest.mark.parametrize("function", [nothing, one_list, nothing_each, twice, first_only, emptied])
def test_orders_have_to_be_whole(function: Any) -> None:
    found = verdict("4.5", function, numbers("4.5"))
    assert not found.right
    assert "with all of its names, each once" in found.says


def as_before(needs):
    return needs


def test_a_stop_is_told_step_by_step() -> None:
    given = numbers("4.5")
    found = verdict("4.5", as_before, given)
    one, other = given["systems"][0][0]
    assert f"transfer 0 takes {one}, transfer 1 takes {other}" in found.says
    assert f"transfer 0 waits for {other} and transfer 1 waits for {one}" in found.says
    picture = drawn_by(found)
    assert f"transfer 0 holds {one}" in picture and f"transfer 1 waits for {one}" in picture


def test_the_steps_that_are_told_lead_to_a_stop() -> None:
    source = random.Random(5)
    stops = 0
    for _ in range(60):
        orders = [source.sample("ABCD", source.randrange(1, 4)) for _ in range(source.randrange(1, 5))]
        stop = stop_of(orders)
        if stop is None:
            continue
        stops += 1
        held: dict[str, int] = {}
        places = [0] * len(orders)
        for who, what in stop.steps:
            for done, order in enumerate(orders):  # who has all has ended, at the latest when another needs what it had
                if places[done] == len(order) and what in order:
                    held = {name: holder for name, holder in held.items() if holder != done}
            assert orders[who][places[who]] == what and what not in held
            held[what], places[who] = who, places[who] + 1
        assert stop.waits
        for who, what in stop.waits.items():
            assert orders[who][places[who]] == what and held[what] != who and held[what] in stop.waits
    assert stops > 10
    assert stop_of([sorted(each) for each in ("BA", "CAB", "CB")]) is None


def test_the_scheduler_ends_what_stops_step_by_step() -> None:
    """As the notebook says: in isoviz, transfers that need the same buffers the other way round both end."""
    memories = tuple(Memory(name, MemoryKind.SYS, capacity=1) for name in "sABt")
    ends = "sA", "AB", "Bt", "sB", "BA", "At"
    channels = tuple(Channel(pair, ChannelKind.MEMCPY, *pair, Constant(1.0)) for pair in ends)
    simulator = Simulator(Machine("crossing", memories, channels))
    for path, buffers in ((ends[:3], "AB"), (ends[3:], "BA")):
        work = Work.one_path(path, 3, tuple(Ring(name, 1, 1) for name in buffers))
        simulator.submit_work(work, [(1.0, 1.0)] * 3, 3.0, 1.0)
    assert [each.outcome for each in simulator.run().transfers] == ["done", "done"]
    assert stop_of(["AB", "BA"]) is not None


# ---- pictures


@pytest.mark.parametrize("name", ["4.1", "4.3"])
def test_the_learners_time_stands_on_the_axis(name: str) -> None:
    given = numbers(name)
    end = pipeline_of(given, 1 if name == "4.3" else 2).seconds
    early, late, far = (drawn_by(verdict(name, factor * end, given)) for factor in (0.8, 1.3, 1e6))
    for picture, factor in ((early, 0.8), (late, 1.3), (far, 1e6)):
        assert f"your answer: {format_seconds(factor * end)}" in picture
        assert f"the end: {format_seconds(end)}" in picture
    assert f"{format_seconds(1e6 * end)} →" in far and f"{format_seconds(1.3 * end)} →" not in late
    assert "your answer" not in drawn_by(verdict(name, end, given))


def test_an_answer_behind_the_axis_does_not_shrink_the_picture() -> None:
    trace = Pipeline((1.0, 2.0), 5, 1.0).trace()
    near, far = (timeline_html(("", trace, 1.0), marks=answer_marks(answer, 12.0, False)) for answer in (60.0, 1e29))
    bars = [re.findall(r"<rect x=\"([\d.]+)\"", picture) for picture in (near, far)]
    assert bars[0] == bars[1]


def test_a_picture_has_a_bar_for_each_chunk_of_each_hop() -> None:
    pipeline = Pipeline((1.0, 2.0, 1.0), 5, 1.0)
    picture = timeline_html(("", pipeline.trace(), pipeline.setup), buffers=True)
    tips = re.findall(r"<title>(hop \d): chunk (\d), (.*?)</title>", picture)
    assert sorted(tips) == sorted(
        (f"hop {hop}", str(chunk), "2 s" if hop == 1 else "1 s") for hop in range(3) for chunk in range(5)
    )
    assert picture.count("a slot holds chunk") == 10


def test_marks_of_a_picture_stay_inside() -> None:
    given = numbers("4.1")
    end = pipeline_of(given).seconds
    for factor in (0.0, 0.01, 0.49, 0.51, 1.0, 2.4, 2.6, 1e20):
        picture = drawn_by(verdict("4.1", factor * end, given))
        width = float(re.findall(r"viewBox=\"0 0 ([\d.]+)", picture)[0])
        marks = re.findall(r"<text([^>]*)>((?:your answer|the end)[^<]*)<", picture)
        assert marks
        for attributes, text in marks:
            x, long = float(re.findall(r' x="([-\d.]+)"', attributes)[0]), text_width(text, 12, bold=True)
            left = x - long if 'text-anchor="end"' in attributes else x
            assert left >= 0 and left + long <= width, text


def test_the_learners_chunk_stands_on_both_curves() -> None:
    given = numbers("4.2")
    picture = drawn_by(verdict("4.2", ("1 KiB", "2 GiB"), given))
    assert "your chunk: 1 KiB" in picture
    assert picture.count("<svg") == 2
    assert f"your chunk: {format_bytes(given['large'])}" in picture  # no chunk is larger than the transfer


def test_a_change_is_drawn_below_what_is() -> None:
    given = numbers("4.4")
    for change in CHANGES:
        picture = drawn_by(verdict("4.4", change, given))
        assert picture.index("as it is:") < picture.index(f"with {change}:")


def test_the_slots_of_a_design_are_seen() -> None:
    given = numbers("4.P")
    one, two = (drawn_by(verdict("4.P", ("2 MiB", slots), given)) for slots in (1, 2))
    assert "in 1 slot:" in one and "in 2 slots:" in two
    assert "set-up:" not in one  # the picture begins after it


@pytest.mark.parametrize(
    ("name", "answer"),
    [("4.1", 0), ("4.3", 1e29), ("4.2", (1, 1)), ("4.2", (10**18, 10**18)), ("4.P", (1, 1)), ("4.P", (10**18, 10**9))],
)
def test_far_answers_have_pictures_too(name: str, answer: object) -> None:
    found = verdict(name, answer, numbers(name))
    assert not found.right and "<svg" in drawn_by(found)
