"""The schedulers of several ranks, which share transfers, under messages that are delayed: against a referee that sees all ranks
(`rank_cases`). The cases are those of `test_scheduler`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import settings
from rank_cases import drive_ranks, lose_a_rank, split, straight
from scheduler_cases import drive, random_case

Report = Callable[[str, object], None]

BATCHES = range(10)


def seeds(batch: int, each: int) -> range:
    """The seeds of one of ten batches, `each` of them."""
    return range(batch * each, (batch + 1) * each)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.few(3)
def test_transfers_on_several_ranks(report: Report, batch: int) -> None:
    """Order, bounds of rings and memories, priorities on every channel; everything ends in the same way on all its ranks."""
    seen: Counter[str] = Counter()
    for seed in seeds(batch, min(500, settings().max_examples)):
        try:
            referee = drive_ranks(split(random_case(seed), seed))
        except Exception as error:
            error.add_note(f"drive_ranks(split(random_case({seed}), {seed}))")
            raise
        seen.update(referee.seen)
        seen["runs"] += 1
    assert {
        "done",
        "failed",
        "cancelled",
        "SendArrived",
        "SendCredit",
        "held back",
        "lent",
        "on several ranks",
        "received",
        "direct",
    } <= set(seen)
    for name in ("runs", "done", "failed", "cancelled", "on several ranks", "direct", "SendArrived", "SendCredit"):
        report(f"schedulers of ranks: {name}", seen[name])


@pytest.mark.parametrize("batch", BATCHES)
def test_many_transfers_on_several_ranks(report: Report, batch: int) -> None:
    """The same with more transfers than fit into any memory."""
    for seed in seeds(batch, max(1, settings().max_examples // 50)):
        try:
            drive_ranks(split(random_case(f"many {seed}", transfers=60), seed))
        except Exception as error:
            error.add_note(f'drive_ranks(split(random_case("many {seed}", transfers=60), {seed}))')
            raise
        report("schedulers of ranks, up to 60 transfers: runs", 1)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.few(3)
def test_direct_transfers(report: Report, batch: int) -> None:
    """Two ranks settle a transfer without buffers among themselves, whichever of them is late, fails or cancels."""
    seen: Counter[str] = Counter()
    for seed in seeds(batch, max(20, settings().max_examples // 8)):
        case = random_case(f"straight {seed}", transfers=20)
        try:
            seen.update(drive_ranks(straight(case, seed)).seen)
            lose_a_rank(straight(case, seed))
        except Exception as error:
            error.add_note(f'straight(random_case("straight {seed}", transfers=20), {seed})')
            raise
    assert {"done", "failed", "cancelled", "direct", "private", "held back", "SendStop", "SendEnd"} <= set(seen)
    assert not {"Request", "Settled"} & set(seen), "the coordinator has nothing to do"
    report("schedulers of ranks: direct transfers on two ranks", seen["direct"] // 2)


@pytest.mark.parametrize("batch", BATCHES)
def test_ranks_move_what_one_process_moves(batch: int) -> None:
    """Without failures, the same chunks of the same hops, all of them."""
    for seed in seeds(batch, max(1, settings().max_examples // 10)):
        case = random_case(seed)
        case = replace(case, rates={**case.rates, "fail": 0.0, "cancel": 0.0})
        alone, _ = drive(case, case.scheduler())
        shared = drive_ranks(split(case, seed))
        assert {number: known.done for number, known in alone.all.items()} == {
            number: known.done for number, known in shared.all.items()
        }


@pytest.mark.parametrize("batch", BATCHES)
def test_a_lost_rank_takes_only_its_own_transfers_along(batch: int) -> None:
    """Transfers of a lost rank fail on all other ranks, all others are done, and no buffer is kept."""
    found: Counter[str] = Counter()
    for seed in seeds(batch, max(5, settings().max_examples // 5)):
        case = split(random_case(f"lost {seed}", transfers=12), seed)
        try:
            found += lose_a_rank(case)
        except Exception as error:
            error.add_note(f'lose_a_rank(split(random_case("lost {seed}", transfers=12), {seed}))')
            raise
    assert {"done", "failed"} <= set(found)
