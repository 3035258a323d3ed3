"""Plans on every preset: the same in every process, and never more planning than twice what the options allow."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from preset_questions import NAMES, plans, question

from isoviz.errors import IsovizError
from isoviz.planner.cache import CACHE
from isoviz.planner.options import PLANNING_TIME
from isoviz.planner.planning_work import STEPS_PER_SECOND, Work

QUESTIONS = Path(__file__).parent / "preset_questions.py"
Report = Callable[[str, object], None]


def answers(count: int, seed: int, cache: Path) -> list[str]:
    """The answers of a process with this hash seed, which knows nothing that was measured on this computer."""
    command = [sys.executable, str(QUESTIONS), "0", str(count)]
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "XDG_CACHE_HOME": str(cache)}
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout.splitlines()


@pytest.mark.timeout(3600)
def test_plans_are_the_same_whatever_the_hashes_of_texts(report: Report, full: bool, tmp_path: Path) -> None:
    """Five processes that differ in their hash seed, or two."""
    count, seeds = (300, 5) if full else (len(NAMES), 2)
    said = [answers(count, seed, tmp_path) for seed in range(seeds)]
    assert all(len(each) == count for each in said)
    assert [lines for lines in zip(*said, strict=True) if len(set(lines)) > 1] == []
    report("questions on the presets, equal in processes with other hash seeds", count)


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> list[Work]:
    """The works that are made."""
    made: list[Work] = []
    before = Work.__init__

    def init(self: Work, seconds: float, *, sparing: bool = False, starts: int = 1) -> None:
        before(self, seconds, sparing=sparing, starts=starts)
        made.append(self)

    monkeypatch.setattr(Work, "__init__", init)
    return made


@pytest.mark.timeout(3600)
def test_planning_takes_at_most_twice_its_planning_time(works: list[Work], report: Report, full: bool) -> None:
    """In steps, which are counted everywhere; the report says how many seconds of processor a million of them took."""
    most, steps, seconds = 0.0, 0.0, 0.0
    count = 300 if full else len(NAMES)
    for number in range(count):
        transfers, _, _, options = question(number)
        CACHE.clear()
        works.clear()
        begin = time.process_time()
        try:
            plans(number)
        except IsovizError:
            continue
        took = max(work.steps for work in works)  # that of the question has those of its parts
        allowed = len(transfers) * (options.planning_time or PLANNING_TIME) * STEPS_PER_SECOND
        assert took <= 2 * allowed, (number, took / allowed)
        most, steps, seconds = max(most, took / allowed), steps + took, seconds + time.process_time() - begin
    report("questions on the presets within twice their planning time", count)
    report("the most planning, as a share of the planning time", round(most, 2))
    report("seconds of processor for a million steps", round(seconds / steps * 1e6, 2))
