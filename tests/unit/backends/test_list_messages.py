"""Lists in the messages between ranks: cut into pieces, packed and scattered, they move what NumPy moves."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest

from isoviz.backends.mpi.channels.cutting import copies_of, cut, filled, pieces, plain, reach
from isoviz.backends.mpi.channels.runs import runs
from isoviz.backends.mpi.other_process import runs_at
from isoviz.layouts import StridedCopy, apply
from isoviz.layouts.copies import ListedCopy
from isoviz.runtime.ranks.handles import StoreHandle

SIZE = 100_000


def a_list(rng: random.Random) -> ListedCopy:
    """Entries at random places, in order, or contiguous, at each end; some with loops of their own."""
    run, count = rng.choice((1, 3, 8, 16)), rng.randint(1, 40)
    loops = tuple(rng.sample([(2, 400 * 16, 2000 * 16), (3, 1600 * 16, 700 * 16)], rng.randint(0, 2)))
    tables = []
    for _ in range(2):
        found = rng.sample(range(60), count)
        found = rng.choice((found, sorted(found), list(range(count))))
        tables.append(np.array(found, np.int64) * run)
    return ListedCopy((rng.randint(0, 9), rng.randint(0, 9)), (tables[0], tables[1]), run, loops)


def moved(copies: list[StridedCopy], source: np.ndarray, room: np.ndarray | None = None) -> np.ndarray:
    room = np.zeros(SIZE, np.uint8) if room is None else room
    apply(copies, source, room)
    return room


@pytest.mark.few(60)
@pytest.mark.parametrize("seed", range(400))
def test_pieces_of_lists(seed: int) -> None:
    rng = random.Random(seed)
    source = np.random.default_rng(seed).integers(1, 256, SIZE, np.uint8)
    copies: list[StridedCopy] = [a_list(rng)]
    if rng.random() < 0.4:
        copies.append(StridedCopy(5, 90_000, 16, ((3, 40, 60),)))
    wanted = moved(copies, source)
    found, most = np.zeros(SIZE, np.uint8), rng.choice((7, 64, 1000, 1 << 20))
    for made in pieces(copies, most):
        assert made.nbytes <= most
        message = moved(made.pack, source, np.zeros(made.nbytes, np.uint8))
        if made.source is not None:
            assert np.array_equal(message, source[made.source : made.source + made.nbytes])
        sent = pickle.loads(pickle.dumps(plain(made.unpack)))
        moved(copies_of(sent), message, found)
        at, room = 0, np.zeros(SIZE, np.uint8)  # the message, run after run, as the system writes it into another process
        for to, nbytes in runs_at(None, made.unpack, False, StoreHandle(1, 1, SIZE, None)).tolist():
            room[to : to + nbytes] = message[at : at + nbytes]
            at += nbytes
        assert np.array_equal(room, moved(made.unpack, message))
        if made.destination is not None:
            assert np.array_equal(message, found[made.destination : made.destination + made.nbytes])
    assert np.array_equal(found, wanted)
    assert reach(copies) == (np.flatnonzero(wanted).min(), np.flatnonzero(wanted).max() + 1)


def test_entries_in_order_at_one_end_are_contiguous_in_their_message() -> None:
    random_places, in_order = np.array([96, 0, 32, 64]), np.arange(4) * 16
    (gathered,) = pieces([ListedCopy((0, 5), (random_places, in_order), 16)], 1000)
    assert (gathered.source, gathered.destination) == (None, 5)
    (scattered,) = pieces([ListedCopy((5, 0), (in_order, random_places), 16)], 1000)
    assert (scattered.source, scattered.destination) == (5, None)


def test_a_list_without_gaps_at_the_destination_is_one_write() -> None:
    places = np.array([48, 0, 16, 32])
    made = filled([ListedCopy((7, 100), (np.array([0, 64, 128, 192]), places), 16)])
    assert made is not None and made.destination == 100
    assert filled([ListedCopy((7, 100), (np.array([0, 64]), np.array([0, 32])), 16)]) is None


def test_a_table_in_a_message_is_short_where_it_can_be() -> None:
    many = np.arange(10_000)
    regular = ListedCopy((0, 0), (many * 8, np.random.default_rng(1).permutation(many) * 8), 8)
    assert len(pickle.dumps(plain([regular]))) < 4 * 10_000 + 500
    (again,) = copies_of(plain([regular]))
    assert again == regular


def test_runs_of_lists_at_each_end() -> None:
    """Both ends name the runs in one order."""
    copy = ListedCopy((10, 20), (np.array([0, 8, 100]), np.array([50, 58, 0])), 8)
    assert list(runs([copy], 0)) == [(10, 16), (110, 8)]
    assert list(runs([copy], 1)) == [(70, 16), (20, 8)]
    end = StoreHandle(1, 1, 200, None, process=1, address=1000)
    assert runs_at(None, [copy], False, end).tolist() == [[1070, 16], [1020, 8]]


def test_an_entry_that_is_larger_than_a_piece_is_cut() -> None:
    copy = ListedCopy((0, 0), (np.array([500, 0]), np.array([0, 300])), 100, ((2, 200, 100),))
    parts = list(cut(copy, 60))
    assert max(part.nbytes for part in parts) <= 60
    source = np.random.default_rng(1).integers(1, 256, SIZE, np.uint8)
    assert np.array_equal(moved(parts, source), moved([copy], source))
