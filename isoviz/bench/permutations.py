"""Permutations of the dimensions of float32 arrays, each as a share of `memcpy` with the same bytes in the same run.

The suite resembles those that compare libraries for tensor transposition: 57 permutations of 2 to 6 dimensions, of about 200
MB, each irreducible to fewer dimensions. `cases` states the rule that draws them.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from isoviz.backends.host import kernels
from isoviz.bench.layouts import LEAST_SIZE, PEERS, Case, measured, opencv, share, torch
from isoviz.bench.table import Table
from isoviz.errors import InputError
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.units import format_bytes, format_rate, parse_bytes

SEED = 57
COUNTS = {2: 3, 3: 9, 4: 15, 5: 15, 6: 15}
"""Dimensions → permutations."""
MIDDLE = range(12, 76)
"""Extents of a small dimension in the middle."""
LEAST_EXTENT = 6
SPREAD = 4.0
"""Largest ratio of a drawn extent to the mean, before all are scaled to the size."""


def irreducible(dimensions: int) -> list[tuple[int, ...]]:
    """The permutations that keep no two neighbouring dimensions together, as these two would be one dimension."""
    found = itertools.permutations(range(dimensions))
    return [order for order in found if not any(after == before + 1 for before, after in itertools.pairwise(order))]


def cases(nbytes: int) -> Iterator[Case]:
    """The suite, each case of about `nbytes` bytes: always the same permutations and, but for rounding, the same proportions.

    Of every number of dimensions, in turn: two permutations in which another dimension becomes the fastest, and one that keeps
    it (three dimensions or more). Each of these has extents of three kinds, in turn: about equal; drawn between a quarter and
    four times of that, log-uniformly; drawn, with a dimension of 12 to 75 in the middle (of two dimensions either).
    """
    rng = random.Random(SEED)  # noqa: S311  # no secret
    for dimensions, count in COUNTS.items():
        orders = irreducible(dimensions)
        kept, moved = ([order for order in orders if (order[0] == 0) is keeps] for keeps in (True, False))
        for number in range(count):
            order = rng.choice(kept if kept and number % 3 == 2 else moved)
            extents = _extents(rng, dimensions, (number + number // 3) % 3, nbytes / 4)
            names = "abcdef"[:dimensions]
            after = [names[place] for place in order]
            shape = " × ".join(map(str, extents))
            yield Case(
                "fastest kept" if order[0] == 0 else "fastest moved",
                f"{names} → {''.join(after)}, {shape}",
                IndexSpace(**dict(zip(names, extents, strict=True))),
                FieldSpace(v="f4"),
                f"<F, {', '.join(names)}>",
                f"<F, {', '.join(after)}>",
            )


def _extents(rng: random.Random, dimensions: int, kind: int, elements: float) -> list[int]:
    """Extents that hold about this number of elements, the fastest dimension first."""
    spread = 1.1 if kind == 0 else SPREAD
    weights = [math.exp(rng.uniform(-math.log(spread), math.log(spread))) for _ in range(dimensions)]
    small = rng.randrange(1, dimensions - 1) if dimensions > 2 else rng.randrange(dimensions)
    fixed = {small: rng.choice(MIDDLE)} if kind == 2 else {}
    free = [place for place in range(dimensions) if place not in fixed]
    left = elements / math.prod(fixed.values())
    extents = dict(fixed)
    # The smallest first: later extents make up for its rounding.
    for done, place in enumerate(sorted(free, key=weights.__getitem__)):
        others = sorted(free, key=weights.__getitem__)[done:]
        scale = (left / math.prod(weights[each] for each in others)) ** (1 / len(others))
        extents[place] = max(LEAST_EXTENT, round(scale * weights[place]))
        left /= extents[place]
    return [extents[place] for place in range(dimensions)]


def measure(size: str = "200MB", repeat: int = 5) -> Table:
    """Medians of `repeat` interleaved rounds for permutations of about `size` bytes; peers that take very long get fewer.

    Raises:
        InputError: a size is invalid, or too small for a result.
    """
    nbytes = parse_bytes(size)
    if nbytes < LEAST_SIZE:
        raise InputError(f"bench permutations: --size {size}: expected at least {format_bytes(LEAST_SIZE)}")
    kernels.prepare(wait=True)
    peers = torch(), opencv()
    rows = [measured(case, repeat, *peers) for case in cases(nbytes)]
    missing = [name for name, module in zip(("PyTorch", "OpenCV"), peers, strict=True) if module is None]
    return Table(
        "permutations",
        f"permutations of float32 arrays of about {format_bytes(nbytes)}: shares of memcpy, medians of {repeat}",
        {
            "case": ("permutation, extents (fastest first)", str),
            "memcpy": ("memcpy", format_rate),
            "share": ("isoviz", share),
            "two_threads": ("2 threads", share),
            **{name: (heading, share) for name, heading in PEERS.items()},
        },
        rows,
        (*_notes(rows), *(f"{name} is not installed: no figures" for name in missing)),
    )


def _notes(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield f"{kernels.state()}; {kernels.suiting()}"
    for group in (None, "fastest kept", "fastest moved"):
        some = [row for row in rows if group in (None, row["group"])]
        shares = [row["share"] for row in some]
        slower = [row["case"] for row in some if any((row[name] or 0) > row["share"] for name in PEERS)]
        least = min(some, key=lambda row: row["share"])
        numpy = statistics.geometric_mean([row["numpy"] for row in some])
        yield (
            f"{len(some)} permutations{f', {group}' if group else ''}: geometric mean {statistics.geometric_mean(shares):.2f} of "
            f"memcpy, one thread; NumPy {numpy:.2f}; least {least['share']:.2f} ({least['case']}); "
            f"slower than a peer: {len(slower)} ({len(slower) / len(some):.0%}){': ' if slower else ''}{'; '.join(slower)}"
        )
