"""One-sided calls that are wrong, or come at a wrong time: an error says so, no byte changes, no rank waits, and all go on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from mpi_jobs import needs_mpi, run, run_json

SCRIPT = str(Path(__file__).with_name("wrong_calls.py"))
pytestmark = needs_mpi


WAYS = ("no_room", "arguments", "freed", "freed_under_way", "forked", "differ", "raises", "interrupted")
"""What one job can do after the other."""


@pytest.mark.parametrize("what", [",".join(WAYS), "left", *(pytest.param(each, marks=pytest.mark.full) for each in WAYS)])
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.full)])
def test_each_call_says_what_is_wrong(what: str, ranks: int, report: Callable[[str, object], None]) -> None:
    """Ranks, places, values and arrays; heaps that were freed, also with calls under way; forked children; ranks that have left,
    call something else, fail, have no memory, or are interrupted."""
    found = run_json(ranks, SCRIPT, what, seconds=200)
    for each, told in found.items():
        for name, number in told.items():
            report(f"one-sided calls, {each}: {name}", number)


def test_a_rank_that_ends_its_program_keeps_nobody_waiting() -> None:
    done = run(2, SCRIPT, "ends", seconds=100)
    assert json.loads(done.stdout.splitlines()[-1]) == {"said": ["rank 1 no longer answers: it has left the other ranks"]}


@pytest.mark.usefixtures("small_shared_memory")
def test_heaps_need_no_room_in_shared_memory() -> None:
    """/dev/shm has 40 MiB and is full; the heap has 80 MiB."""
    found = run_json(2, SCRIPT, "full_shared_memory", seconds=150)
    assert found == {"full_shared_memory": {"left": 0, "of": 40 << 20}}


def test_heaps_that_come_and_go_leave_nothing(full: bool) -> None:
    found = run_json(2, SCRIPT, "leaks", "200" if full else "24", seconds=280)
    assert found["cycles"] == (200 if full else 24)
