"""Runs that are read together with what lies between them: all of them, none twice, and not much else."""

from __future__ import annotations

import random

import numpy as np
import pytest

from isoviz.backends.disk import listed_runs as sieve
from isoviz.layouts import StridedCopy


def places(copy: StridedCopy) -> set[tuple[int, int]]:
    """Where every byte of a copy comes from and goes to."""
    at, to = np.array([copy.source_offset]), np.array([copy.destination_offset])
    for extent, here, there in (*copy.loops, (copy.run, 1, 1)):
        at = (at[:, None] + np.arange(extent) * here).ravel()
        to = (to[:, None] + np.arange(extent) * there).ravel()
    return set(zip(at.tolist(), to.tolist(), strict=True))


def random_copies(rng: random.Random) -> list[StridedCopy]:
    """Copies as conversions have them: their sources do not overlap within a copy."""
    found = []
    for _ in range(rng.randint(1, 4)):
        run = at = rng.randint(1, 40)
        loops = []
        for _ in range(rng.randint(0, 3)):
            extent = rng.randint(2, 6)
            here = at + rng.choice((0, 0, 3, 100))
            loops.append((extent, here * rng.choice((1, 1, -1)), rng.choice((1, -1)) * rng.randint(1, 500)))
            at = extent * here
        found.append(
            StridedCopy(rng.randint(0, 50) + 5000, 10**6 + rng.randint(0, 50), run, tuple(rng.sample(loops, len(loops))))
        )
    return found


def test_every_byte_once(monkeypatch: pytest.MonkeyPatch, full: bool) -> None:
    rng = random.Random(1)
    together = 0
    for _ in range(3000 if full else 600):
        monkeypatch.setattr(sieve, "GAP", rng.choice((0, 5, 200, 10_000)))
        copies, limit = random_copies(rng), rng.choice((1, 50, 1000, 100_000))
        found = []
        for group in sieve.groups(copies):
            close = sieve.is_close(group)
            assert close or len(group) == 1
            for piece in sieve.pieces(group, limit) if close else [group]:
                found += piece
                lo, hi = sieve.span(piece)
                assert not close or hi - lo <= limit or all(not copy.loops for copy in piece)
                runs = sum(copy.nbytes // copy.run for copy in piece)
                wanted = sum(copy.nbytes for copy in piece)
                assert not close or hi - lo <= wanted + max(runs * sieve.GAP, 4 * wanted)
                together += close and runs > 1
        assert sum(copy.nbytes for copy in found) == sum(copy.nbytes for copy in copies)
        assert set().union(*map(places, found)) == set().union(*map(places, copies))
    assert together > 100


def test_fields_of_structs_are_read_at_once() -> None:
    fields = [StridedCopy(at, at * 1000, size, ((700, 16, size),)) for at, size in ((0, 4), (4, 1), (5, 8), (13, 3))]
    (group,) = sieve.groups(fields)
    assert sieve.is_close(group)
    assert [sieve.span(piece) for piece in sieve.pieces(group)] == [(0, 700 * 16)]
    assert [sieve.span(piece)[1] for piece in sieve.pieces(group, 4000)] == [3728, 7456, 11200]


@pytest.mark.parametrize("pitch", [20_000, 100_000, 1_000_000])
def test_rows_far_apart_are_read_one_by_one(pitch: int) -> None:
    """However many runs they have: these do not pay for what lies between rows."""
    rows = StridedCopy(0, 0, 4, ((50, pitch, 400), (100, 8, 4)))
    (group,) = sieve.groups([rows])
    assert sieve.is_close(group)
    spans = [sieve.span(piece) for piece in sieve.pieces(group)]
    assert spans == [(k * pitch, k * pitch + 99 * 8 + 4) for k in range(50)] or (pitch - 796 <= sieve.GAP)


def test_single_runs_far_apart_are_requests_of_their_own() -> None:
    assert not sieve.is_close([StridedCopy(0, 0, 64, ((50, 40_000, 64),))])
    assert not sieve.is_close([StridedCopy(0, 0, sieve.LONG, ((50, sieve.LONG, sieve.LONG * 2),))])
    two = [StridedCopy(at, at, 64, ((50, 100_000, 640),)) for at in (0, 30_000)]
    assert [len(group) for group in sieve.groups(two)] == [1, 1]


def test_single_runs_close_together_are_read_at_once() -> None:
    """As the rows of a blocked array are where its blocks end."""
    runs = [StridedCopy(at, at, 5000, ()) for at in range(0, 900_000, 9000)]
    (group,) = sieve.groups([*runs, StridedCopy(-300_000, 0, 200_000, ())])[1:]
    assert len(group) == 100 and sieve.is_close(group)
    assert [sieve.span(piece) for piece in sieve.pieces(group)] == [(0, 896_000)]
    assert all(high - low <= 100_000 for low, high in map(sieve.span, sieve.pieces(group, 100_000)))
    assert len(list(sieve.pieces(group, 100_000))) <= 16
