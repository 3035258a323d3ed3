"""Random transfers, the same for the same seed: transfers that a user might ask for, without a preference for easy ones.

1 to 3 dimensions, 1 to 8 fields of 1 to 16 bytes, sizes even in their logarithm, any two memories between which there is a path,
and layouts of every kind: arrays of structs, structs of arrays, hybrids, blocks, any permutation.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING

from isoviz.errors import LimitError, NoPathError, TransferError
from isoviz.layouts import FieldSpace, IndexSpace, Layout
from isoviz.planner import Transfer

if TYPE_CHECKING:
    from isoviz.machines import Machine

SMALLEST, LARGEST = 64 << 10, 1 << 30
"""Bytes that transfers move."""
MOST_HELD = 4 << 30
"""Bytes of both ends together, padding and all."""
COMMON_SIZES = (1, 2, 4, 8, 16)
COMMON = 0.75
"""The share of the fields that have a size of these; the others have any from 1 to 16."""
SAME_LAYOUT = 0.15
"""The share of the transfers that only copy."""
_DTYPES = {1: "u1", 2: "u2", 4: "f4", 8: "f8", 16: "c16"}
_KINDS = ("aos", "soa", "permutation", "hybrid", "blocked")


def random_transfers(
    machine: Machine, memories: Sequence[str], seed: int = 0, smallest: int = SMALLEST, largest: int = LARGEST
) -> Iterator[Transfer]:
    """Transfers between these memories of a machine, of `smallest` to `largest` bytes, without end.

    Raises:
        TransferError: there is no path between any two of the memories.
    """
    rng = random.Random(seed)  # noqa: S311  # no secret
    pairs = [pair for pair in product(memories, repeat=2) if _joined(machine, *pair)]
    if not pairs:
        raise TransferError(f"machine {machine.name}: there is no path between any two of {', '.join(memories) or 'no memories'}")
    while True:
        here, there = rng.choice(pairs)
        found = _transfer(rng, here, there, math.exp(rng.uniform(math.log(smallest), math.log(largest))))
        if sum(end.linearization.nbytes for end in (found.source, found.destination)) <= MOST_HELD:
            yield found


def _joined(machine: Machine, here: str, there: str) -> bool:
    """Whether a transfer of a few bytes finds a path."""
    from isoviz.planner import plan

    tiny = Transfer.whole(IndexSpace(x=64), FieldSpace(value="u1"), here, "<F, x>", there, "<F, x>")
    try:
        plan(tiny, machine, "simple")
    except (NoPathError, LimitError):
        return False
    return True


def _transfer(rng: random.Random, here: str, there: str, nbytes: float) -> Transfer:
    fields = random_fields(rng)
    space = random_space(rng, max(1.0, nbytes / fields.nbytes))
    source = random_layout(rng, space)
    destination = source if rng.random() < SAME_LAYOUT else random_layout(rng, space)
    return Transfer.whole(space, fields, here, source, there, destination)


def random_fields(rng: random.Random) -> FieldSpace:
    """1 to 8 fields of 1 to 16 bytes."""
    sizes = [rng.choice(COMMON_SIZES) if rng.random() < COMMON else rng.randint(1, 16) for _ in range(rng.randint(1, 8))]
    return FieldSpace.of({f"f{i}": _DTYPES.get(size, f"V{size}") for i, size in enumerate(sizes)})


def random_space(rng: random.Random, entries: float) -> IndexSpace:
    """1 to 3 dimensions with about `entries` entries."""
    count = rng.randint(1, 3)
    cuts = sorted(rng.random() for _ in range(count - 1))
    shares = [high - low for low, high in zip([0.0, *cuts], [*cuts, 1.0], strict=True)]
    sizes = [max(1, round(entries**share)) for share in shares]
    longest = max(range(count), key=sizes.__getitem__)
    others = math.prod(size for i, size in enumerate(sizes) if i != longest)
    sizes[longest] = max(1, round(entries / others))
    return IndexSpace.of(dict(zip("xyz", sizes, strict=False)))


def random_layout(rng: random.Random, space: IndexSpace) -> Layout:
    """A layout of one of the kinds that people use, or of any."""
    dims = list(space)
    rng.shuffle(dims)
    kind = rng.choice(_KINDS)
    if kind == "aos":
        parts = ["F", *dims]
    elif kind == "soa":
        parts = [*dims, "F"]
    elif kind == "permutation":
        parts = ["F", *dims]
        rng.shuffle(parts)
    else:
        splits = {dim: _block(rng, space[dim]) for dim in (dims[:1] if kind == "hybrid" else dims)}
        inner = [f"{dim}_in={block}" for dim, block in splits.items() if block]
        outer = [f"{dim}_out" if splits.get(dim) else dim for dim in dims]
        # A hybrid has blocks of every field side by side; blocks hold whole entries or, now and then, fields apart.
        parts = [*inner, "F", *outer] if kind == "hybrid" or rng.random() < 0.3 else ["F", *inner, *outer]
    return Layout(f"<{', '.join(parts)}>")


def _block(rng: random.Random, size: int) -> int:
    """A block of 2 to 4096 entries of a dimension, mostly a power of two; 0 where it is too short for one."""
    if size < 4:
        return 0
    block = 1 << rng.randint(1, min(12, size.bit_length() - 2))
    return block if rng.random() < 0.8 else min(size - 1, block + rng.randint(0, block // 2))
