"""Programs for VICs on MPI ranks: what they do on simulated VICs, in the same words where something is wrong."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mpi_jobs import is_open_mpi, needs_mpi, run
from vic_programs import (
    HOWS,
    MORE_HOWS,
    RING,
    WRONG,
    apart,
    digest,
    every_way,
    in_a_call,
    late_counter,
    others,
    raised,
    wrong_calls,
)

import isoviz
from isoviz.bench.vortex import compare
from isoviz.vortex import simulated

SCRIPT = str(Path(__file__).with_name("vic_programs.py"))
pytestmark = [needs_mpi, pytest.mark.timeout(1200)]  # a thousand seeds


@pytest.fixture(scope="module")
def seeds(full: bool) -> int:
    return 1000 if full else 3


@pytest.fixture(scope="module")
def lines(seeds: int, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What a job of four ranks prints. One of them dies in the end, where the others can go on."""
    more = [str(tmp_path_factory.mktemp("noticed"))] if is_open_mpi() else []
    done = run(4, SCRIPT, str(seeds), *more, seconds=200, survivors=is_open_mpi())
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert found, f"{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    return found


@pytest.fixture(scope="module")
def found(lines: list[Any]) -> list[dict[str, Any]]:
    """What each rank has found."""
    heard: list[dict[str, Any]] = lines[0]
    return heard


def of_all(found: list[dict[str, Any]], name: str) -> Any:
    """What all ranks have found alike."""
    assert all(each[name] == found[0][name] for each in found), [each[name] for each in found]
    return found[0][name]


def test_gups_and_a_fourier_transform_give_the_same_bits_on_simulated_vics(found: list[dict[str, Any]], seeds: int) -> None:
    with simulated(4) as system:
        assert of_all(found, "digests") == [digest(system, seed) for seed in range(seeds)]


@pytest.mark.full
def test_other_workloads_give_the_same_bits(found: list[dict[str, Any]]) -> None:
    with simulated(4) as system:
        assert of_all(found, "others") == others(system)


def test_every_way_of_sending_gives_the_same(found: list[dict[str, Any]]) -> None:
    with simulated(4, fifo=RING) as system:
        assert of_all(found, "every way") == list(system.run(every_way).results)
    assert of_all(found, "packets") == 4 * (10 + 2 + 10 + 1 + 4 * 4 + 1) + 2


def test_an_update_that_is_lost_with_its_counter_comes_with_a_preset_one(found: list[dict[str, Any]]) -> None:
    with simulated(4) as system:
        late = raised(partial(system.run, late_counter, False))
        assert of_all(found, "races") == [str(race) for race in system.races] != []
    assert of_all(found, "late") == late
    assert "expected 20 packets, 5 missing; 5 came before the counter was set, and so it cannot reach zero" in late
    with simulated(4) as system:
        assert of_all(found, "preset") == [list(system.run(late_counter, True).results), len(system.races)]
    assert of_all(found, "failed") == "InputError: run: the system had an error; expected another one"
    assert of_all(found, "closed") == "InputError: run: the system is closed; expected another one"


def test_wrong_calls_get_the_words_of_simulated_vics(found: list[dict[str, Any]]) -> None:
    with simulated(4) as system:
        heard = system.run(wrong_calls).results[0]
    assert of_all(found, "wrong calls") == heard
    assert [words for words, text in zip(WRONG, heard, strict=True) if words not in text] == []
    for rank, each in enumerate(found):
        words = f"send: the VIC of node {rank} is for the program on that node, while it runs"
        assert each["other thread"][rank] == words and each["after it"] == f"InputError: {words}"
    assert of_all(found, "small ring") == "InputError: on_ranks, ring: expected a word for each of 4 VICs, got 3"


def test_a_full_fifo_gives_back_and_nothing_is_lost(found: list[dict[str, Any]]) -> None:
    """The program verifies what comes. A batch is shown to the other rank as a whole, so that at first the ring is full."""
    back, too_many = of_all(found, "flood"), 2 * RING - RING // 4
    assert back[0] == 0 and min(back[1:]) >= 300 - RING // 4
    words = f"RankError: node 1: {too_many} words came back from VIC 0, whose FIFO was full; returned() gives them"
    assert of_all(found, "careless") == words


WORDS_OF = {
    "error": "RankError: node 2: KeyError: 17",
    "polls": "RankError: node 2: KeyError: 17",
    "left out": "waits for a barrier of 4 nodes, to which 2 did not come; nothing is under way that could end it",
    "waits": "expected 3 packets, 1 missing; nothing is under way that could end it",
    "times out": "expected 3 packets, 1 missing; timed out after 0.05 s",
    "no header": "RankError: node 2: VIC 1: a packet for address 9 should be sent on with 0, which is no header",
    "wrong": "InputError: node 2: send, vics: number 0 is 4; there are 4 VICs, from 0 to 3",
    "other barrier": "is at a barrier of ",
    "too few words": "which has 1; nothing is under way that could end it",
    "ring": "RankError: node 2: VIC 2, address 9: a packet has been sent on 1,000 times; do the words form a ring?",
    "unsent result": "RankError: node 2: what it returns cannot be sent to the other ranks: TypeError: cannot pickle",
}


@pytest.mark.parametrize("how", [*HOWS, *(pytest.param(how, marks=pytest.mark.full) for how in MORE_HOWS)])
def test_what_goes_wrong_on_one_node_ends_all_with_its_name(how: str, found: list[dict[str, Any]]) -> None:
    assert WORDS_OF[how] in of_all(found, how)


def test_packets_beside_numpy_and_puts(found: list[dict[str, Any]]) -> None:
    """The rows of `isoviz bench vortex`."""
    rows = compare(of_all(found, "bench"))
    assert [each["aim"] for each in rows] == [0.3, 1, 0.05] and all(each["ratio"] > 0 for each in rows)


def test_a_rank_that_dies_inside_a_barrier_ends_it_for_the_others(lines: list[Any]) -> None:
    if not is_open_mpi():
        pytest.skip("MPICH ends the whole job with one of its ranks")
    assert lines[1:] == [[1, "InputError: run: the system had an error; expected another one"]] * 3


@pytest.mark.full
def test_within_a_call_of_ranks() -> None:
    with isoviz.ranks(2) as ranks, simulated(2) as system:
        for seed in (5, 6):
            assert ranks.call(in_a_call, seed) == [digest(system, seed)] * 2


@pytest.mark.full
def test_ranks_that_share_no_memory_are_refused() -> None:
    with isoviz.ranks(2) as ranks:
        found = ranks.call(apart)
    assert all(
        re.match(rf"RunError: on_ranks: the array of rank {1 - rank} is not mapped: .*; expected ranks of one host", each)
        for rank, each in enumerate(found)
    ), found
