"""The same question has the same plan: in every process, on a busy computer, and after other questions."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

QUESTIONS = Path(__file__).parent / "planning_questions.py"
SPINNING = "while True: pass"


def asked(count: int, seed: int, *how: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(QUESTIONS), str(count), *how]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONHASHSEED": str(seed)})


def answers(process: subprocess.Popen[str]) -> list[str]:
    said, _ = process.communicate()
    assert process.returncode == 0
    return said.splitlines()


@pytest.mark.timeout(1800)
def test_the_same_questions_have_the_same_plans(report: Callable[[str, object], None], full: bool) -> None:
    """Quietly, with other hashes of texts, with clocks that jump, in the other order, and (all counts) beside busy processes."""
    count = 500 if full else 25
    others = [asked(count, 1), asked(count, 2, "jumping", "backwards")]
    first, second = map(answers, others)
    assert len(first) == count
    assert [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]] == []
    stopped = sum("was used up" in line for line in first)
    assert stopped, "no question was hard enough to be stopped"
    report("planning questions with equal answers", count)
    report("planning questions that used up their planning time", stopped)
    if full:
        busy = [subprocess.Popen([sys.executable, "-c", SPINNING]) for _ in range(4)]
        try:
            assert answers(asked(count, 3)) == first
        finally:
            for each in busy:
                each.kill()
                each.wait()
