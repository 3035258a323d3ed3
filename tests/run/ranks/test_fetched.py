"""Stores of other ranks, read in blocks."""

from __future__ import annotations

import random

import numpy as np
import pytest

from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.planner import Transfer
from isoviz.runtime.device_bases import BaseStore
from isoviz.runtime.ranks import rank_execution
from isoviz.runtime.ranks.rank_execution import FetchedStore

WHOLE = Transfer.whole(IndexSpace(x=8), FieldSpace(a="u1"), "node0.sys", "<F, x>", "node1.sys", "<F, x>")
"""Of no bundle, so that every byte of a store can be read."""


class Counted(BaseStore):
    """A store that counts its reads."""

    def __init__(self, nbytes: int) -> None:
        self.content = np.random.default_rng(3).integers(0, 255, nbytes, np.uint8)
        self.nbytes, self.reads = nbytes, 0

    def read(self, offset: int, nbytes: int) -> bytes:
        self.reads += 1
        assert 0 <= offset <= offset + nbytes <= self.nbytes
        return self.content[offset : offset + nbytes].tobytes()


def test_runs_are_those_of_the_store_and_blocks_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_execution, "BLOCK", 100)
    store = Counted(1234)
    found = FetchedStore(store, WHOLE)
    rng = random.Random(4)
    for _ in range(500):
        offset = rng.randrange(1234)
        nbytes = rng.randrange(1234 - offset + 1)
        assert np.array_equal(found.read(offset, nbytes), store.content[offset : offset + nbytes])
    assert store.reads == 13


def test_few_blocks_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_execution, "BLOCK", 10)
    monkeypatch.setattr(rank_execution, "KEPT", 3)
    store = Counted(100)
    found = FetchedStore(store, WHOLE)
    for offset in (0, 10, 20, 5, 30, 12):  # the block of 10 was used longest ago when that of 30 came
        found.read(offset, 4)
    assert store.reads == 5
