"""Plans on every preset: the same in every process, and never more planning than twice what the options allow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from preset_questions import NAMES

QUESTIONS = Path(__file__).parent / "preset_questions.py"
Report = Callable[[str, object], None]


def answers(count: int, seed: int, cache: Path) -> list[dict[str, Any]]:
    """The answers of a process with this hash seed, which knows nothing that was measured on this computer."""
    command = [sys.executable, str(QUESTIONS), "0", str(count)]
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "XDG_CACHE_HOME": str(cache)}
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout
    return [json.loads(line) for line in said.splitlines()]


@pytest.fixture(scope="module")
def said(full: bool, tmp_path_factory: pytest.TempPathFactory) -> list[list[dict[str, Any]]]:
    """The answers of five processes that differ in their hash seed, or of two."""
    count, seeds = (300, 5) if full else (len(NAMES), 2)
    return [answers(count, seed, tmp_path_factory.mktemp("cache")) for seed in range(seeds)]


@pytest.mark.timeout(3600)
def test_plans_are_the_same_whatever_the_hashes_of_texts(said: list[list[dict[str, Any]]], report: Report) -> None:
    assert len({len(each) for each in said}) == 1 and len(said[0]) >= len(NAMES)
    found = [[answer["answer"] for answer in each] for each in said]
    assert [lines for lines in zip(*found, strict=True) if len(set(lines)) > 1] == []
    report("questions on the presets, equal in processes with other hash seeds", len(said[0]))


@pytest.mark.timeout(3600)
def test_planning_takes_at_most_twice_its_planning_time(said: list[list[dict[str, Any]]], report: Report) -> None:
    """In steps, which are counted everywhere; the report says how many seconds of processor a million of them took."""
    answered = [each for each in said[0] if each["steps"]]
    assert len(answered) > len(said[0]) / 2
    shares = {each["answer"]: each["steps"] / each["allowed"] for each in answered}
    assert {answer: share for answer, share in shares.items() if share > 2} == {}
    report("questions on the presets within twice their planning time", len(answered))
    report("the most planning, as a share of the planning time", round(max(shares.values()), 2))
    seconds, steps = (sum(each[name] for each in answered) for name in ("seconds", "steps"))
    report("seconds of processor for a million steps", round(seconds / steps * 1e6, 2))
