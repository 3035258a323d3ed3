"""The planned runs of boxes, of some of the fields, and of fields in another order are the runs of the copies that move them."""

from __future__ import annotations

import itertools
import math
import random
from functools import lru_cache

import pytest

from isoviz.errors import LimitError
from isoviz.layouts import FieldSpace, IndexSpace, Layout, View
from isoviz.machines import Channel, LatencyBandwidth, Machine, Memory
from isoviz.planner import Instance, Options, Plan, Transfer, cost, plan, plan_from_json, plan_to_json

DTYPES = ("u1", "<i2", "S3", "<f4", "<f8")
MOST = {1: 24, 2: 8, 3: 5}


@lru_cache(maxsize=1)
def machine() -> Machine:
    """Three memories in a row, and a channel past the one in the middle."""
    memories = [Memory(f"node0.{name}", "SYS", 0) for name in ("a", "b", "c")]
    ends = itertools.permutations(("a", "b", "c"), 2)
    channels = [
        Channel(
            "", "Memcpy", f"node0.{here}", f"node0.{there}", LatencyBandwidth(1e-7 * (1 + k), 1e9 * (1 + k)), request_seconds=1e-9
        )
        for k, (here, there) in enumerate((*ends, ("b", "b")))
    ]
    return Machine("row", tuple(memories), tuple(channels))


@lru_cache(maxsize=1)
def relay() -> Machine:
    """The same without the channel past the middle, which converts faster than it reads."""
    row = machine()
    channels = [each for each in row.channels if {each.source, each.destination} != {"node0.a", "node0.c"}]
    return Machine("relay", row.memories, tuple(channels))


def random_layout(draw: random.Random, sizes: dict[str, int]) -> Layout:
    """Up to three digits for every dimension, in any order; blocks need not divide."""
    parts = ["F"]
    for dim, size in sizes.items():
        extents: list[int] = []
        while len(extents) < 2 and draw.random() < 0.4:
            extents.append(draw.randint(1, max(1, size // math.prod(extents))))
        labels = [""] if not extents else ["_in", "_out"] if len(extents) == 1 else ["_0", "_1", "_2"]
        parts += [f"{dim}{label}" + (f"={extents[k]}" if k < len(extents) else "") for k, label in enumerate(labels)]
    draw.shuffle(parts)
    return Layout(f"<{', '.join(parts)}>")


def random_end(
    draw: random.Random, memory: str, shape: dict[str, int], moved: dict[str, str]
) -> tuple[Instance, tuple[int, ...]]:
    """An instance with room for a box and some more, with some more fields, and the place of the box in it."""
    fields = list(moved.items()) + [(f"other{k}", draw.choice(DTYPES)) for k in range(draw.choice((0, 0, 1, 2)))]
    if draw.random() < 0.6:
        draw.shuffle(fields)
    dims = list(shape)
    draw.shuffle(dims)
    lows = {dim: draw.choice((0, 0, draw.randint(0, 5))) for dim in dims}
    sizes = {dim: lows[dim] + shape[dim] + draw.choice((0, 0, draw.randint(0, 5))) for dim in dims}
    layout = random_layout(draw, sizes)
    return Instance(memory, IndexSpace.of(sizes), FieldSpace.of(dict(fields)), layout), tuple(lows.values())


def random_transfer(seed: int) -> Transfer:
    draw = random.Random(f"runs of parts {seed}")
    dims = "xyz"[: draw.randint(1, 3)]
    shape = {dim: draw.choice((1, draw.randint(1, MOST[len(dims)]), MOST[len(dims)])) for dim in dims}
    moved = {f"f{k}": draw.choice(DTYPES) for k in range(draw.choice((1, 2, 2, 3, 4)))}
    source, low = random_end(draw, "node0.a", shape, moved)
    destination, target = random_end(draw, "node0.c", shape, moved)
    extents = tuple(shape[dim] for dim in source.space)
    names = tuple(moved)
    if draw.random() < 0.5:
        names = tuple(draw.sample(names, draw.randint(1, len(names))))
    return Transfer(source, destination, extents, low, target, names)


def stretches(here: View, there: View, transfer: Transfer) -> float:
    """The mean run of a hop, element by element: a run goes on while both addresses do. Infinite where there is one run."""
    dims, names = transfer.source.space.dims, transfer.field_names
    elements = []
    for index in itertools.product(*(range(extent) for extent in transfer.shape)):
        at = dict(zip(dims, index, strict=True))
        for name in names:
            places = [
                view.linearization.offset({dim: at[dim] + low for dim, low in zip(view.dims, view.origin, strict=True)}, name)
                for view in (here, there)
            ]
            fields = here.linearization.fields
            elements.append((places[1], places[0], fields.sizes[fields.index(name)]))
    elements.sort()
    runs = 1 + sum((a[0] + a[2], a[1] + a[2]) != b[:2] for a, b in itertools.pairwise(elements))
    return math.inf if runs == 1 else transfer.nbytes / runs


def of_copies(made: Plan, hop: int) -> float:
    """The mean run of the copies that carry out a hop."""
    copies = [copy for chunk in made.only.numbers for copy in made.only.copies(hop, chunk)]
    return sum(copy.nbytes for copy in copies) / sum(copy.nbytes // copy.run for copy in copies)


def test_planned_runs_are_those_of_the_copies(full: bool) -> None:
    hops = longer = 0
    for seed in range(5000 if full else 150):
        transfer = random_transfer(seed)
        draw = random.Random(seed)
        texts = [random_layout(draw, transfer.space.as_dict())] * draw.choice((0, 1, 1, 2))
        path = ["node0.a", *["node0.b"] * len(texts), "node0.c"]
        made = cost(transfer, machine(), path, texts, chunk=1 << 20)
        assert made.chunk_count == 1
        if transfer.is_whole:
            continue  # whole blocks count (`test_layouts`)
        views = [transfer.source_view(), *map(View, made.only.orders[1:-1]), transfer.destination_view()]
        for hop in {0, len(made.hops) - 1}:
            expected = min(stretches(views[hop], views[hop + 1], transfer), transfer.nbytes)
            told = made.hops[hop].request_bytes
            assert told == pytest.approx(of_copies(made, hop), rel=1e-9), f"seed {seed}, hop {hop}: {transfer} by {made.hops}"
            assert told <= expected * (1 + 1e-9), f"seed {seed}, hop {hop}: {transfer} by {made.hops}"
            hops, longer = hops + 1, longer + (told < expected * (1 - 1e-9))
    # Copies end where a digit of one end turns, even where the bytes go on: at the edge of a block that a box cuts.
    assert longer <= 0.05 * hops


def run_in_memory(made: Plan, transfer: Transfer) -> bytes:
    """The bytes of the destination after all copies of a plan, chunk by chunk; the source holds random bytes."""
    path = made.only
    ends = transfer.source.linearization.nbytes, transfer.destination.linearization.nbytes
    store = [
        bytearray(random.Random(1).randbytes(ends[0])),
        *(bytearray(each.nbytes) for each in path.buffers),
        bytearray(ends[1]),
    ]
    for chunk in path.numbers:
        for hop in range(len(path.hops)):
            for copy in path.copies(hop, chunk):
                for turns in itertools.product(*(range(extent) for extent, _, _ in copy.loops)):
                    at = copy.source_offset + sum(k * here for k, (_, here, _) in zip(turns, copy.loops, strict=True))
                    to = copy.destination_offset + sum(k * there for k, (_, _, there) in zip(turns, copy.loops, strict=True))
                    store[hop + 1][to : to + copy.run] = store[hop][at : at + copy.run]
    return bytes(store[-1])


def misplaced(transfer: Transfer, moved: bytes) -> list[tuple[tuple[int, ...], str]]:
    """The elements whose bytes are not where the destination stores them."""
    here, there = transfer.source, transfer.destination
    given = random.Random(1).randbytes(here.linearization.nbytes)
    places = transfer.source_origin, transfer.destination_origin
    low = [dict(zip(end.space, at, strict=True)) for end, at in zip((here, there), places, strict=True)]
    wrong = []
    for index, name in itertools.product(itertools.product(*(range(extent) for extent in transfer.shape)), transfer.field_names):
        at = dict(zip(here.space, index, strict=True))
        source, destination = (
            end.linearization.offset({dim: at[dim] + more[dim] for dim in at}, name)
            for end, more in zip((here, there), low, strict=True)
        )
        size = here.fields.sizes[here.fields.index(name)]
        if moved[destination : destination + size] != given[source : source + size]:
            wrong.append((index, name))
    return wrong


def test_plans_of_parts_move_every_byte(full: bool) -> None:
    """Also where buffers hold the fields in the order of the source, up to the hop that converts."""
    held = set()
    for seed in range(2000 if full else 60):
        transfer = random_transfer(seed)
        limit = Options(slot_limit=random.Random(seed).choice((64, 256, 4096)))
        for planner in ("full", "simple", "spsl", "spdl"):
            try:
                made = plan(transfer, relay(), planner, limit)
            except LimitError:
                continue
            again = plan_from_json(plan_to_json(made))
            assert again.only == made.only
            assert not misplaced(transfer, run_in_memory(again, transfer)), f"seed {seed}, {planner}: {made}"
            if transfer.source_fields is not transfer.fields:
                held.add((made.only.source_fields, len(made.only.hops)))
    assert {at > 0 for at, hops in held if hops > 1} == {True, False}
