"""Random bundles, and the bytes that they move, element by element."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

import isoviz
from isoviz import Bundle, FieldSpace, IndexSpace, Instance, Layout, Transfer

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
DTYPES = ("u1", "<i2", "S3", "<f4", ">f8", "V12")
MOST = {1: 24, 2: 7, 3: 4}


def random_layout(draw: random.Random, sizes: dict[str, int]) -> Layout:
    """Up to three digits for every dimension, in any order; blocks need not divide."""
    parts = ["F"]
    for dim, size in sizes.items():
        extents: list[int] = []
        while len(extents) < 2 and draw.random() < 0.3:
            extents.append(draw.randint(1, max(1, size // math.prod(extents))))
        labels = [""] if not extents else ["_in", "_out"] if len(extents) == 1 else ["_0", "_1", "_2"]
        parts += [f"{dim}{label}" + (f"={extents[k]}" if k < len(extents) else "") for k, label in enumerate(labels)]
    draw.shuffle(parts)
    return Layout(f"<{', '.join(parts)}>")


def _end(draw: random.Random, memory: str, shape: dict[str, int], moved: dict[str, str]) -> tuple[Instance, tuple[int, ...]]:
    """An instance with room for a box and some more, with some more fields, and the place of the box in it."""
    fields = list(moved.items()) + [(f"other{k}", draw.choice(DTYPES)) for k in range(draw.choice((0, 0, 1)))]
    draw.shuffle(fields)
    dims = draw.sample(list(shape), len(shape))
    lows = {dim: draw.choice((0, 0, draw.randint(0, 5))) for dim in dims}
    sizes = {dim: lows[dim] + shape[dim] + draw.choice((0, 0, draw.randint(0, 5))) for dim in dims}
    return Instance(memory, IndexSpace.of(sizes), FieldSpace.of(dict(fields)), random_layout(draw, sizes)), tuple(lows.values())


def random_member(draw: random.Random, source: str, destination: str) -> Transfer:
    """A box of some of the fields, with an order and gaps of its own at each end."""
    dims = "xyz"[: draw.randint(1, 3)]
    shape = {dim: draw.randint(1, MOST[len(dims)]) for dim in dims}
    moved = {f"f{k}": draw.choice(DTYPES) for k in range(draw.choice((1, 1, 2, 3)))}
    here, low = _end(draw, source, shape, moved)
    there, target = _end(draw, destination, shape, moved)
    return Transfer(here, there, tuple(shape[dim] for dim in here.space), low, target, tuple(moved))


def random_bundle(draw: random.Random, source: str, destination: str, most: int = 12) -> Bundle:
    """Members of all kinds; some of them look the same."""
    members: list[Transfer] = []
    while len(members) < 2 or (len(members) < most and draw.random() < 0.8):
        members += [random_member(draw, source, destination)] * draw.choice((1, 1, 1, 3))
    draw.shuffle(members)
    made = isoviz.bundle(members)
    assert isinstance(made, Bundle)
    return made


def random_ends(bundle: Bundle, seed: int) -> tuple[list[Bytes], list[Bytes]]:
    """Arrays with random bytes for all members, at both ends."""
    draw = np.random.default_rng(seed)
    sizes = [(each.source.linearization.nbytes, each.destination.linearization.nbytes) for each in bundle.members]
    sources, destinations = ([draw.integers(0, 256, pair[end], np.uint8) for pair in sizes] for end in (0, 1))
    return sources, destinations


def expected(bundle: Bundle, sources: Sequence[Bytes], destinations: Sequence[Bytes]) -> list[Bytes]:
    """The destinations after the bundle, from the offsets of the layouts alone."""
    return [
        _moved(member, source, destination.copy())
        for member, source, destination in zip(bundle.members, sources, destinations, strict=True)
    ]


def _moved(member: Transfer, source: Bytes, destination: Bytes) -> Bytes:
    here, there = member.source.linearization, member.destination.linearization
    low = dict(zip(here.space, member.source_origin, strict=True))
    target = dict(zip(there.space, member.destination_origin, strict=True))
    for index in itertools.product(*(range(extent) for extent in member.shape)):
        at = dict(zip(here.space, index, strict=True))
        for name in member.field_names:
            size = here.fields.sizes[here.fields.index(name)]
            a = here.offset({dim: at[dim] + low[dim] for dim in at}, name)
            b = there.offset({dim: at[dim] + target[dim] for dim in at}, name)
            destination[b : b + size] = source[a : a + size]
    return destination
