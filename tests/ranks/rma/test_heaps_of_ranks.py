"""One-sided calls in functions that a notebook's ranks run: heaps of one call, and heaps that stay between calls."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import heap_calls
import pytest
from left_over import Belongings
from mpi_jobs import needs_mpi

import isoviz
from isoviz.errors import Cancelled, RankError

pytestmark = [needs_mpi, pytest.mark.usefixtures("no_leaked_threads")]


@pytest.fixture(scope="module")
def two() -> Iterator[isoviz.Ranks]:
    with isoviz.ranks(2) as ranks:
        yield ranks


def test_heaps_of_one_call(two: isoviz.Ranks) -> None:
    for seed in (10, 20, 30):
        assert two.call(heap_calls.round_trip, seed) == [seed + 1, seed]


def test_heaps_stay_between_calls(two: isoviz.Ranks) -> None:
    assert two.call(heap_calls.make, "one", 8) == two.call(heap_calls.make, "other", 100_000) == [2, 2]
    for turn in range(3):
        for name in ("one", "other"):
            two.call(heap_calls.put, name, 100 * turn)
            assert two.call(heap_calls.look, name, -1) == [100 * turn + 1, 100 * turn]
        assert two.call(heap_calls.round_trip, turn) == [turn + 1, turn]
    before = two.call(heap_calls.look, "one", 3)[0]
    two.call(heap_calls.add, "one", 3, 500)
    assert two.call(heap_calls.look, "one", 3)[0] == before + 1000
    for name in ("one", "other"):
        assert two.call(heap_calls.drop, name) == ["this heap was freed"] * 2


def test_a_rank_that_fails_keeps_nobody_waiting(two: isoviz.Ranks) -> None:
    for rank in (0, 1, 1, 0):
        with pytest.raises((RankError, ArithmeticError), match="one and one are three"):
            two.call(heap_calls.fail_in, rank)
        assert two.call(heap_calls.round_trip, 5) == [6, 5]


def test_a_rank_that_fails_before_a_meeting_keeps_nobody_waiting(two: isoviz.Ranks) -> None:
    """The caller hears why that rank failed, not that the other one was cancelled."""
    two.call(heap_calls.make, "kept", 8)
    for rank, call in ((0, "barrier"), (1, "malloc"), (1, "barrier"), (0, "malloc")):
        with pytest.raises(RankError, match=rf"rank {rank} .*one and one are three") as caught:
            two.call(heap_calls.fail_before, rank, call)
        assert isinstance(caught.value.__cause__, ArithmeticError) and len(caught.value.__notes__) == 1
        assert two.call(heap_calls.round_trip, 5) == [6, 5]
    assert two.call(heap_calls.drop, "kept") == ["this heap was freed"] * 2


def test_a_rank_that_hears_late_of_a_meeting_given_up_is_in_the_next_one() -> None:
    """The next call begins after all ranks have heard it: none takes what another told before for its own call."""
    with isoviz.ranks(2) as two:
        two.call(heap_calls.make, "kept", 8)
        two.call(heap_calls.hear_late, 0.3)
        for rank, call in ((1, "malloc"), (0, "barrier")):
            with pytest.raises(RankError, match=rf"rank {rank} .*one and one are three"):
                two.call(heap_calls.fail_before, rank, call)
            assert two.call(heap_calls.round_trip, 5) == [6, 5]


def test_a_cancel_ends_a_wait_for_ranks_that_do_not_come(two: isoviz.Ranks) -> None:
    two.call(heap_calls.make, "kept", 8)
    assert two.call(heap_calls.other_thread) == [["5"], ["5"]]
    for rank in (0, 1, 1):
        cancel = threading.Event()
        with pytest.raises((Cancelled, RankError), match="cancelled while it waited for other ranks"):
            two.call(heap_calls.wait_for, rank, tell=lambda *_, cancel=cancel: cancel.set(), cancel=cancel)
        assert two.call(heap_calls.look, "kept", 1) == [5, 5]  # the ranks stay
        assert two.call(heap_calls.round_trip, 8) == [9, 8]  # and meet again
    assert two.call(heap_calls.drop, "kept") == ["this heap was freed"] * 2


def test_ranks_end_with_heaps_that_were_not_freed() -> None:
    with isoviz.ranks(2) as ranks:
        belongings = Belongings(ranks)
        ranks.call(heap_calls.make, "kept", 1 << 20)
        ranks.call(heap_calls.put, "kept", 1)
    assert belongings.left() == []
