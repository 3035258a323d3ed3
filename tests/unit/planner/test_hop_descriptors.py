"""What the descriptors of a hop name, against the bytes that move, one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest

from isoviz import FieldSpace, IndexSpace, Instance, Transfer, plan
from isoviz.errors import InputError
from isoviz.machines import Channel, LatencyBandwidth, Machine, Memory
from isoviz.planner import Plan
from isoviz.planner.explanation.hop_descriptors import HopDescriptors, Pieces, hop_descriptors


def wired(kind: str, descriptors: int | None) -> Machine:
    memories = tuple(Memory(f"node{n}.fbm0", "FBM", n) for n in (0, 1))
    rate = LatencyBandwidth(1e-7, 1e10)
    wire = Channel("wire", kind, "node0.fbm0", "node1.fbm0", rate, descriptors=descriptors, request_seconds=1e-6)
    return Machine("wired", memories, (wire,))


def halo(chosen: random.Random) -> Transfer:
    """A random box between random places of two arrays of fields."""
    fields = FieldSpace(a="f4", b="f8")
    sizes = {"x": chosen.randint(3, 7), "y": chosen.randint(3, 7)}
    shape = tuple(chosen.randint(1, size - 1) for size in sizes.values())
    orders = "<F, x, y>", "<F, y, x>", "<x, F, y>"
    ends = [Instance(f"node{n}.fbm0", IndexSpace.of(sizes), fields, chosen.choice(orders)) for n in (0, 1)]  # type: ignore[arg-type]
    origin = tuple(chosen.randint(0, size - extent) for size, extent in zip(sizes.values(), shape, strict=True))
    return Transfer(*ends, shape=shape, source_origin=origin, field_names=chosen.choice([("a",), ("b",), ("a", "b")]))  # type: ignore[misc, arg-type]


def bytes_in_order(found: Plan) -> list[tuple[int, int]]:
    """The bytes that move as pairs (source, destination), in the order of the copies."""
    pairs = []
    for copy in found.paths[0].copies(0, 0):
        here, there = np.array([copy.source_offset]), np.array([copy.destination_offset])
        for extent, a, b in (*copy.loops, (copy.run, 1, 1)):
            here = (here[:, None] + np.arange(extent) * a).ravel()
            there = (there[:, None] + np.arange(extent) * b).ravel()
        pairs += zip(here.tolist(), there.tolist(), strict=True)
    return pairs


def listed(pieces: Pieces, owner: int) -> list[int]:
    chosen = pieces.owner == owner
    stretches = zip(pieces.starts[chosen].tolist(), pieces.nbytes[chosen].tolist(), strict=True)
    return [byte for start, length in stretches for byte in range(start, start + length)]


@pytest.mark.parametrize("kind", ["UMR", "GPUDirectRemote"])
@pytest.mark.parametrize("seed", range(12))
def test_every_request_names_the_next_bytes_at_both_ends(kind: str, seed: int) -> None:
    chosen = random.Random(seed)
    limit = chosen.randint(1, 5)
    machine = wired(kind, limit)
    found = plan(halo(chosen), machine)
    told = hop_descriptors(found.paths[0], 0, machine)
    assert isinstance(told, HopDescriptors) and told.limit == limit and (told.window is not None) == (kind == "UMR")
    pairs = bytes_in_order(found)
    at = 0
    for owner in range(told.count):
        here, there = listed(told.source, owner), listed(told.destination, owner)
        assert list(zip(here, there, strict=True)) == pairs[at : at + len(here)]
        at += len(here)
        for pieces in (told.source, told.destination):
            assert np.count_nonzero(pieces.owner == owner) <= limit
        if told.window is not None and owner < told.count - 1:
            assert len(here) == told.window
    assert at == len(pairs)


def test_hops_without_a_limit_have_no_descriptors() -> None:
    machine = wired("GPUDirectRemote", None)
    found = plan(halo(random.Random(1)), machine)
    assert hop_descriptors(found.paths[0], 0, machine) is None
    with pytest.raises(InputError, match="hop 3; expected one of 0 to 0"):
        hop_descriptors(found.paths[0], 3, machine)


def test_of_very_many_runs_the_first_ones_are_listed_and_all_are_counted() -> None:
    machine = wired("UMR", 4)
    space = IndexSpace(x=2, y=1 << 18)
    ends = [Instance(f"node{n}.fbm0", space, FieldSpace(v="u1"), "<F, x, y>") for n in (0, 1)]  # type: ignore[arg-type]
    found = plan(Transfer(*ends, shape=(1, 1 << 18)), machine)  # type: ignore[misc, arg-type]
    told = hop_descriptors(found.paths[0], 0, machine)
    assert told is not None and told.count * told.chunks == pytest.approx((1 << 18) / 4, rel=1e-3)
    assert len(told.source) <= 1 << 16 and len(told.source.of(3)) == 12
