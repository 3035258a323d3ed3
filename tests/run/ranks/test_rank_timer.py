"""Timing of jobs on ranks, played by threads: rates of channels that work at the same time, and chunks that are relayed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from group import group

from isoviz.backends.pages import page_aligned
from isoviz.machines import preset
from isoviz.measure.jobs import Job, job_plan
from isoviz.measure.ranks import rank_probe
from isoviz.measure.ranks.rank_probe import RankTimer, with_variants
from isoviz.measure.tuning import KIB, MIB
from isoviz.runtime.engine.event import Event
from isoviz.runtime.ranks.merging import RankPart
from isoviz.runtime.ranks.rank_engine import RankEngine

MACHINE = preset("ranks", ranks=2, measure="assumed")
COPY, WINDOW = "node0.sys->node0.sys", "node0.sys->node1.reg Window"


def on_ranks(folder: Path, measure: Any) -> Any:
    """What `measure(timer)` returns on rank 0, or raises."""

    def on_rank(engine: RankEngine) -> Any:
        timer = RankTimer(engine, 8 * MIB, page_aligned)
        if engine.rank:
            return timer.follow()
        try:
            return measure(timer)
        finally:
            timer.end()

    with group(with_variants(MACHINE), folder, 2) as ranks:
        found, other = ranks.together(on_rank)
    if isinstance(found, Exception):
        raise found
    assert other is None
    return found


def test_the_rate_of_several_jobs_counts_each_moment_once(tmp_path: Path) -> None:
    parts: list[RankPart] = []

    def measure(timer: RankTimer) -> dict[str, float]:
        run_parts = timer.engine.run_parts

        def noted(*args: Any, **options: Any) -> list[RankPart]:
            parts[:] = run_parts(*args, **options)
            return parts

        timer.engine.run_parts = noted  # type: ignore[method-assign]
        return timer.together(MACHINE, [Job(COPY, "stream", MIB, MIB)] * 3)

    rates = on_ranks(tmp_path, measure)
    seconds = max(part.last for part in parts) - min(part.first for part in parts)
    assert rates == {COPY: pytest.approx(3 * MIB / seconds)}


def test_channels_of_both_kinds_have_rates_together(tmp_path: Path) -> None:
    jobs = [Job(COPY, "stream", MIB, 2 * MIB), Job(WINDOW, "stream", MIB, 2 * MIB)]
    rates = on_ranks(tmp_path, lambda timer: timer.together(MACHINE, jobs))
    assert set(rates) == {COPY, WINDOW}, "the names are those of the machine that is measured"
    assert min(rates.values()) > 0


def test_a_submitted_job_is_timed_from_the_call_to_the_end(tmp_path: Path) -> None:
    spans: list[tuple[float, float]] = []

    def measure(timer: RankTimer) -> float:
        submit = timer.engine.submit

        def noted(*args: Any, **options: Any) -> Event:
            begin, event = time.perf_counter(), submit(*args, **options)
            event.wait()
            spans.append((begin, time.perf_counter()))
            return event

        timer.engine.submit = noted  # type: ignore[method-assign]
        return timer.submitted_seconds(MACHINE, Job(WINDOW, "stream", 64 * KIB, 64 * KIB))

    begin = time.perf_counter()
    seconds = on_ranks(tmp_path, measure)
    ((submitted, ended),) = spans
    assert ended - submitted <= seconds < time.perf_counter() - begin


def test_channels_that_never_work_at_the_same_time_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_probe, "rates_together", lambda trace: None)
    jobs = [Job(COPY, "stream", 64 * KIB, 128 * KIB), Job(WINDOW, "stream", 64 * KIB, 64 * KIB)]
    rates = on_ranks(tmp_path, lambda timer: timer.together(MACHINE, jobs))
    assert rates[COPY] == pytest.approx(2 * rates[WINDOW])
    assert rates[WINDOW] > 0


@pytest.mark.parametrize("channel", [WINDOW, "node0.sys->node1.sys TwoSided"])
def test_relayed_chunks_pass_the_other_rank(tmp_path: Path, channel: str) -> None:
    job = Job(channel, "relayed", 64 * KIB, 256 * KIB)
    plan = job_plan(MACHINE, job)
    assert [hop.kind for hop in plan.hops] == [channel.split()[-1], "Memcpy"]
    assert (plan.hops[1].destination, plan.chunk_count) == ("node1.sys", 4)
    assert on_ranks(tmp_path, lambda timer: timer.seconds(MACHINE, job)) > 0
