"""Copies as large as users have them, 1 MiB to 1 GiB: transpositions, blocks, structs, and copies with any strides."""

from __future__ import annotations

import math
import random
from typing import NamedTuple

from isoviz.layouts import Box, FieldSpace, IndexSpace, Layout, StridedCopy, View, strided_copies

DTYPES = ("u1", "u1", "u2", "f4", "f4", "f4", "f8", "c16", "S3", "(3,)f4")
EXTENTS = (2, 3, 4, 5, 8, 12, 16, 30, 32, 33, 56, 64, 100, 112, 128, 224, 255, 256, 500, 512, 1000, 1024, 4096, 8192, 16385)
RUNS = (1, 2, 4, 4, 8, 12, 13, 16, 24, 40, 64, 100, 200)
LEAST, MOST = 1 << 20, 1 << 30


class Large(NamedTuple):
    """Copies between two arrays whose addresses are multiples of 256."""

    what: str
    copies: tuple[StridedCopy, ...]


def between(source: str, destination: str, fields: dict[str, str], **sizes: int) -> Large:
    """A whole instance from one layout into another."""
    space, kept = IndexSpace.of(sizes), FieldSpace.of(fields)
    a, b = (View(Layout(text).on(space, kept)) for text in (source, destination))
    what = f"{source} → {destination}, {', '.join(fields.values())}, {sizes}"
    return Large(what, tuple(strided_copies(a, b, Box((0,) * len(space), tuple(space.sizes)))))


LONG_ROWS = between("<F, a, b, c, d, e>", "<F, e, d, b, a, c>", {"f": "u1"}, a=33, b=30, c=500, d=32, e=33)
"""Its near rows are a few bytes longer than a power of two, so that every pad makes a tile much larger."""


def large_shapes(count: int, seed: int) -> list[Large]:
    """`count` copies, the same ones for a seed."""
    rng = random.Random(seed)
    found: list[Large] = []
    while len(found) < count:
        made = rng.choice((_permutation, _permutation, _structs, _strides))(rng)
        if made.copies and LEAST <= sum(copy.nbytes for copy in made.copies) <= MOST:
            found.append(made)
    return found


def _sizes(rng: random.Random, most: int) -> dict[str, int]:
    return {name: rng.choice(EXTENTS) for name in "abcdef"[: rng.randint(2, most)]}


def _permutation(rng: random.Random) -> Large:
    sizes = _sizes(rng, 6)
    if math.prod(sizes.values()) > MOST:
        return Large("", ())
    here, there = list(sizes), list(sizes)
    rng.shuffle(there)
    if rng.random() < 0.2:  # blocks along one dimension
        name = rng.choice(there)
        there[there.index(name)] = f"{name}_in={rng.choice([block for block in (2, 4, 8, 16, 32, 64) if block <= sizes[name]])}"
        there.append(f"{name}_out")
    return between(f"<F, {', '.join(here)}>", f"<F, {', '.join(there)}>", {"f": rng.choice(DTYPES)}, **sizes)


def _structs(rng: random.Random) -> Large:
    sizes = _sizes(rng, 3)
    if math.prod(sizes.values()) > MOST // 4:
        return Large("", ())
    fields = {f"f{number}": rng.choice(DTYPES) for number in range(rng.randint(2, 8))}
    ends = [f"<F, {', '.join(sizes)}>", f"<{', '.join(sizes)}, F>"]
    rng.shuffle(ends)
    return between(*ends, fields, **sizes)


def _strides(rng: random.Random) -> Large:
    """One copy with loops in any order, with gaps."""
    run, extents = rng.choice(RUNS), [rng.choice(EXTENTS) for _ in range(rng.randint(2, 5))]
    if not LEAST <= run * math.prod(extents) <= MOST:
        return Large("", ())
    ends = []
    for _ in range(2):
        order, strides, at = list(range(len(extents))), [0] * len(extents), run + rng.choice((0, 0, 1, 4, 16))
        rng.shuffle(order)
        for loop in order:
            strides[loop] = at
            at = at * extents[loop] + rng.choice((0, 0, 0, 1, 16))
        ends.append(strides)
    copy = StridedCopy(
        rng.choice((0, 4)), rng.choice((0, 4)), run, tuple(sorted(zip(extents, *ends, strict=True), key=lambda each: -each[2]))
    )
    return Large(str(copy), (copy,))
