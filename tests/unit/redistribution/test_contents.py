"""Generated data and verification: they agree, notice every wrong byte, and use bounded memory."""

from __future__ import annotations

import random
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoviz import DistributedInstance, Distribution, FieldSpace, IndexSpace, Layout
from isoviz.backends.host.host_memory import HostStore
from isoviz.errors import VerificationError
from isoviz.redistribution.running import checking, content
from isoviz.redistribution.running.checking import check_against_peers, check_generated
from isoviz.redistribution.running.content import expected, generate
from isoviz.runtime.device_bases import BaseEndpoint

sys.path.append(str(Path(__file__).parents[2] / "property"))
from redistribution_cases import Bytes, random_ends


class FarStore(BaseEndpoint):
    """A store that is read by copies only, as that of a rank on another host. It counts the bytes of the largest read."""

    reads_in_place = False

    def __init__(self, array: Bytes) -> None:
        self.array = array
        self.nbytes = len(array)
        self.largest = 0

    def read(self, offset: int, nbytes: int) -> Bytes:
        self.largest = max(self.largest, nbytes)
        return self.array[offset : offset + nbytes].copy()


def held(instance: DistributedInstance, rank: int) -> Bytes:
    part = instance.part(rank)
    found = np.zeros(0 if part is None else part.linearization.nbytes, np.uint8)
    generate(instance, rank, found)
    return found


@pytest.fixture
def small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many tiles, also for small parts."""
    monkeypatch.setattr(checking, "BUDGET", 4 << 10)
    monkeypatch.setattr(content.tiles, "__defaults__", (4 << 10,))


@pytest.mark.usefixtures("small_budget")
@pytest.mark.parametrize("seed", range(40))
def test_generated_ends_agree_and_every_wrong_byte_is_found(seed: int) -> None:
    rng = random.Random(seed)
    ranks = rng.choice([1, 2, 3, 4])
    source, destination = random_ends(rng, ranks)
    parts = {rank: held(source, rank) for rank in range(ranks)}
    for rank in range(ranks):
        mine = held(destination, rank)
        far = {peer: (FarStore if rng.random() < 0.5 else HostStore)(array) for peer, array in parts.items()}
        check_generated(destination, rank, HostStore(mine), source)
        check_against_peers(source, destination, rank, HostStore(mine), far.__getitem__)
        part = destination.part(rank)
        if part is None:
            continue
        point = [rng.randrange(size) for size in part.space.sizes]
        field = rng.choice(part.fields.names)
        at = part.linearization.offset(point, field) + rng.randrange(part.fields.sizes[part.fields.index(field)])
        mine[at] ^= 1 << rng.randrange(8)
        index = destination.index(rank, dict(zip(part.space, point, strict=True)))
        words = f"rank {rank}, field {field!r} at {', '.join(f'{dim}={index[dim]}' for dim in part.space)} is"
        for verify in (
            lambda mine=mine, rank=rank: check_generated(destination, rank, HostStore(mine), source),
            lambda mine=mine, rank=rank, far=far: check_against_peers(
                source, destination, rank, HostStore(mine), far.__getitem__
            ),
        ):
            with pytest.raises(VerificationError) as caught:
                verify()
            assert words in str(caught.value)


def test_generated_entries_differ() -> None:
    """Elements of eight bytes are all different, whichever fields and points they belong to."""
    instance = square(300, "float64")
    points = {dim: np.arange(300) for dim in ("x", "y")}
    values = np.concatenate([expected(instance, points, name).ravel() for name in ("a", "b")])
    assert len(np.unique(values)) == 2 * 300 * 300
    turned = expected(instance, {dim: points[dim] for dim in ("y", "x")}, "a")
    assert np.array_equal(turned.transpose(1, 0, 2), expected(instance, points, "a"))


def square(size: int, dtype: Any, layout: str = "<F, x, y>", over: str = "y", ranks: int = 1) -> DistributedInstance:
    space, fields = IndexSpace(x=size, y=size), FieldSpace(a=dtype, b=dtype)
    return DistributedInstance(space, fields, Distribution({over: ranks}), Layout(layout), "sys")


def test_memory_is_bounded() -> None:
    """A transposition of 8 MiB of a peer is verified within the budget, and read in pieces."""
    source, destination = square(1024, "float32", ranks=2), square(1024, "float32", "<F, y, x>", "x", ranks=2)
    mine = HostStore(held(destination, 1))
    far = {peer: FarStore(held(source, peer)) for peer in range(2)}
    for verify in (
        lambda: check_generated(destination, 1, mine, source),
        lambda: check_against_peers(source, destination, 1, mine, far.__getitem__),
    ):
        tracemalloc.start()
        verify()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 1.5 * content.BUDGET
    assert max(each.largest for each in far.values()) <= 1 << 20
