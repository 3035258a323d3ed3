"""What a pipeline takes, against the definition spelled out: every hop, chunk by chunk."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from isoviz.planner.time import schedule
from isoviz.planner.time.makespan import makespan
from isoviz.planner.time.schedule import HopWork, PathShape, scheduled_end


def shared_makespan(
    hops: Sequence[float], chunks: int, last: float, shares: Sequence[Sequence[float]], slots: int = 2, overlap: bool = True
) -> float:
    """The time of hops that share resources. `shares` holds the seconds of each resource that a full chunk costs on each hop."""
    stages = [
        HopWork(
            f"channel {h}", 1, 1, (seconds, last * seconds), (1.0, last), tuple((str(k), row[h]) for k, row in enumerate(shares))
        )
        for h, seconds in enumerate(hops)
    ]
    return scheduled_end([PathShape(tuple(stages), chunks, slots, overlap)])


def spelled_out(hops: Sequence[float], chunks: int, last: Sequence[float], slots: int) -> float:
    """A hop begins a chunk once it is there, its own last one is done, and a slot behind it is free."""
    done = [[0.0] * chunks for _ in hops]
    for chunk in range(chunks):
        for h, seconds in enumerate(hops):
            ready = [done[h - 1][chunk] if h else 0.0, done[h][chunk - 1] if chunk else 0.0]
            if h + 1 < len(hops) and chunk >= slots:
                ready.append(done[h + 1][chunk - slots])
            done[h][chunk] = max(ready) + (last[h] if chunk == chunks - 1 else seconds)
    return done[-1][-1]


def test_closed_form_is_the_longest_path() -> None:
    draw = random.Random(3)
    for _ in range(3000):
        hops = [draw.choice((draw.uniform(0, 3), draw.choice((0.0, 1.0, 2.0)))) for _ in range(draw.randint(1, 6))]
        chunks, slots = draw.randint(1, 9), draw.randint(1, 3)
        last = [seconds * draw.choice((1.0, draw.uniform(0.01, 1))) for seconds in hops]  # each hop has a latency of its own
        expected = spelled_out(hops, chunks, last, slots)
        assert makespan(hops, chunks, last, slots=slots) == pytest.approx(expected, rel=1e-12), (hops, chunks, last, slots)


def test_by_hand() -> None:
    assert makespan([2.0, 1.0], 3, [2.0, 1.0]) == 2 * 3 + 1
    assert makespan([2.0, 1.0], 3, [1.0, 0.5]) == 2 * 2.5 + 0.5, "the last chunk is sooner through the second hop, too"
    assert makespan([2.0, 1.0], 3, [1.5, 0.5]) == 2 * 2 + 1.5 + 0.5, "half of the first hop's time is latency"
    assert makespan([1.0, 2.0], 3, [0.5, 1.0]) == 1 + 2 * 2.5
    assert makespan([2.0, 1.0], 3, [1.0, 0.5], slots=1) == 2 + 1 + 2 + 1 + 1 + 0.5
    assert makespan([2.0, 1.0], 3, [1.0, 0.5], overlap=False) == 3 * 2.5
    assert makespan([2.0, 1.0], 1, [1.0, 0.5]) == 1.5


def test_resources_that_are_wide_enough_change_nothing() -> None:
    draw = random.Random(4)
    for _ in range(200):
        hops = [draw.uniform(0.1, 3) for _ in range(draw.randint(1, 5))]
        chunks, last, slots, overlap = draw.randint(1, 60), draw.uniform(0.01, 1), draw.randint(1, 3), draw.random() < 0.8
        wide = [[0.01 * min(hops)] * len(hops)]
        expected = makespan(hops, chunks, [last * seconds for seconds in hops], slots=slots, overlap=overlap)
        assert shared_makespan(hops, chunks, last, wide, slots=slots, overlap=overlap) == pytest.approx(expected, rel=1e-9)


def test_a_bus_by_hand() -> None:
    # Alone a hop takes 1 s; both together want twice the bus, so a chunk through each takes 2 s then.
    both = [[1.0, 1.0]]
    assert shared_makespan([1.0, 1.0], 1, 1.0, both) == pytest.approx(2)
    assert shared_makespan([1.0, 1.0], 10, 1.0, both) == pytest.approx(1 + 9 * 2 + 1)
    assert shared_makespan([1.0, 1.0], 10, 0.5, both) == pytest.approx(19), "the bus is never idle, and 2 × 9.5 chunks cross it"


def turns(*paths: tuple[str, int], requests: int = 1, in_flight: int = 1, slots: int = 2) -> list[PathShape]:
    """Paths of hops of a second each; a letter for every hop names its channel, and a number counts the chunks."""
    seconds = 1 / requests
    return [
        PathShape(
            tuple(HopWork(name, in_flight, requests, (seconds, seconds), (1.0, 1.0)) for name in names), chunks, slots, True
        )
        for names, chunks in paths
    ]


def test_a_channel_used_again_by_hand() -> None:
    assert scheduled_end(turns(("aaa", 7))) == pytest.approx(21), "one channel moves every chunk three times"
    assert scheduled_end(turns(("aaa", 7), requests=4, in_flight=2)) == pytest.approx(21)
    # Hop 0 goes first, so hop 2 waits for two chunks; then the channel alternates, and hop 1 works beside it.
    assert scheduled_end(turns(("aba", 5))) == pytest.approx(10)
    # With one slot: 0 writes, 1 moves on, then 0 goes before 2, and 1 waits for 2: three seconds for each further chunk.
    assert scheduled_end(turns(("aba", 5), slots=1)) == pytest.approx(3 + 4 * 3)


def test_paths_over_one_channel_by_hand() -> None:
    assert scheduled_end(turns(("a", 3), ("a", 4))) == pytest.approx(7)
    assert scheduled_end(turns(("ab", 3), ("cb", 3))) == pytest.approx(1 + 6), "b is never idle after the first chunk"
    assert scheduled_end(turns(("a", 3), ("b", 4)), 10.0) == pytest.approx(14), "they share nothing"
    assert scheduled_end(turns(("ab", 1), ("ac", 1))) == pytest.approx(3), "the first path goes first"


def test_what_repeats_is_not_followed_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million chunks on a bus, as far as the pipeline repeats itself; and where it does not, as it last went."""
    hops, shares = [1.0, 0.7, 1.3], [[0.6, 0.6, 0.6]]
    few = [shared_makespan(hops, chunks, 0.4, shares) for chunks in (1000, 2000)]
    many = shared_makespan(hops, 1_000_000, 0.4, shares)
    assert many == pytest.approx(few[1] + (few[1] - few[0]) * 998, rel=1e-9)
    exact = shared_makespan(hops, 400, 0.4, shares)
    monkeypatch.setattr(schedule, "SAME", -1.0)
    assert shared_makespan(hops, 400, 0.4, shares) == pytest.approx(exact, rel=1e-9), "followed to the end"
    monkeypatch.setattr(schedule, "MOST_FOLLOWED", 64)
    monkeypatch.setattr(schedule, "MOST_CHUNKS", 8)
    assert shared_makespan(hops, 400, 0.4, shares) == pytest.approx(exact, rel=1e-3)


def test_many_chunks_take_turns_as_few_do() -> None:
    """Beyond what is followed at least, a channel that is used again and again goes on as it did."""
    draw = random.Random(5)
    for _ in range(6):
        names = ["".join(draw.choices("abc", k=draw.randint(2, 4))) for _ in range(2)]
        speed = {name: draw.uniform(0.5, 2) for name in "abc"}

        def of(chunks: int, names: Sequence[str] = names, speed: dict[str, float] = speed) -> float:
            stages = [tuple(HopWork(c, 2, 2, (speed[c], speed[c]), (1.0, 1.0)) for c in each) for each in names]
            return scheduled_end([PathShape(each, chunks * (k + 1), 2, True) for k, each in enumerate(stages)])

        few, more = of(400), of(800)
        assert of(200_000) == pytest.approx(few + (more - few) * (200_000 - 400) / 400, rel=1e-2)
