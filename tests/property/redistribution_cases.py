"""Random distributed arrays, and where their entries lie, written down a second time with a naive loop."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from typing import Any

import numpy as np

from isoviz.layouts import FieldSpace, IndexSpace, StridedCopy
from isoviz.redistribution import DistributedInstance, Distribution

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
DTYPES = {"a": "int32", "b": "int16", "c": "float64", "d": "int32", "e": "(3,)u1"}


def random_ends(
    rng: random.Random, ranks: int, memories: tuple[str, str] = ("sys", "reg"), largest: int = 40
) -> tuple[DistributedInstance, DistributedInstance]:
    """Two ends of one index space; the destination may lack fields and have another order of dimensions."""
    names = rng.sample("xyz", rng.randint(1, 3))
    most = {1: largest, 2: largest, 3: max(3, largest // 3)}[len(names)]
    sizes = {dim: rng.randint(1, most) for dim in names}
    fields = rng.sample(sorted(DTYPES), rng.randint(1, 3))
    kept = rng.sample(fields, rng.randint(1, len(fields)))
    turned = {dim: sizes[dim] for dim in rng.sample(names, len(names))}
    return (
        random_instance(rng, IndexSpace.of(sizes), FieldSpace.of({name: DTYPES[name] for name in fields}), ranks, memories[0]),
        random_instance(rng, IndexSpace.of(turned), FieldSpace.of({name: DTYPES[name] for name in kept}), ranks, memories[1]),
    )


def random_instance(rng: random.Random, space: IndexSpace, fields: FieldSpace, ranks: int, memory: str) -> DistributedInstance:
    over: dict[str, int] = {}
    left = ranks
    for dim in rng.sample(space.dims, len(space)):
        parts = rng.choice([k for k in range(1, left + 1) if left % k == 0])
        if parts > 1 or rng.random() < 0.2:
            over[dim] = parts
            left //= parts
    block = {dim: rng.choice([1, 2, 3, 4, 8, 16]) for dim in over if rng.random() < 0.6}
    chosen = rng.sample(range(ranks), math.prod(over.values()))
    return DistributedInstance(space, fields, Distribution(over, block, tuple(chosen)), random_layout(rng, space), memory)  # type: ignore[arg-type]


def random_layout(rng: random.Random, space: IndexSpace) -> str:
    digits: list[list[str]] = []
    for dim in space:
        blocks = [k for k in (2, 3, 4, 8) if k <= space[dim]]
        digits.append([f"{dim}_in={rng.choice(blocks)}", f"{dim}_out"] if blocks and rng.random() < 0.35 else [dim])
    parts: list[str] = []
    while any(digits):
        parts.append(rng.choice([each for each in digits if each]).pop(0))
    parts.insert(rng.randint(0, len(parts)), "F")
    return f"<{', '.join(parts)}>"


def naive_owners(instance: DistributedInstance) -> dict[tuple[int, ...], tuple[int, tuple[int, ...]]]:
    """By point, in the order of the dimensions: the rank that holds it, and its local coordinates."""
    dealt: list[list[tuple[int, int]]] = []
    over = instance.distribution.over
    for dim, size in instance.space.as_dict().items():
        parts = over.get(dim, 1)
        block = instance.distribution.block.get(dim, -(-size // parts))
        have: Counter[int] = Counter()
        places: list[tuple[int, int]] = []
        part = taken = 0
        for _ in range(size):
            places.append((part, have[part]))
            have[part] += 1
            taken += 1
            if taken == block:
                part, taken = (part + 1) % parts, 0
        dealt.append(places)
    grid = list(
        itertools.product(*(range(parts) for parts in reversed(list(over.values()))))
    )  # the first dimension is the fastest
    rank_at = {tuple(reversed(place)): rank for place, rank in zip(grid, instance.ranks, strict=True)}
    found = {}
    for point in itertools.product(*map(range, instance.space.sizes)):
        at = [dealt[i][coordinate] for i, coordinate in enumerate(point)]
        place = {dim: part for dim, (part, _) in zip(instance.space, at, strict=True)}
        found[point] = rank_at[tuple(place[dim] for dim in over)], tuple(local for _, local in at)
    return found


def value(space: IndexSpace, point: dict[str, int], field: str, nbytes: int) -> bytes:
    """Bytes that tell an entry from every other one; they do not depend on the order of the dimensions."""
    number = "xyz".index(min(space.dims)) if field else 0
    for dim in sorted(space.dims):
        number = number * (space[dim] + 1) + point[dim]
    digits = (number * 2654435761 + ord(field) * 97) % (1 << 61)
    return (digits.to_bytes(8, "little") * (nbytes // 8 + 1))[:nbytes]


def naive_content(instance: DistributedInstance) -> dict[int, Bytes]:
    """The bytes of every rank's part; padding is 0. Ranks that hold nothing are absent."""
    found: dict[int, Bytes] = {}
    for point, (rank, local) in naive_owners(instance).items():
        part = instance.part(rank)
        assert part is not None
        held = found.setdefault(rank, np.zeros(part.linearization.nbytes, np.uint8))
        at = dict(zip(instance.space, point, strict=True))
        for name, size in zip(instance.fields.names, instance.fields.sizes, strict=True):
            start = part.linearization.offset(local, name)
            held[start : start + size] = np.frombuffer(value(instance.space, at, name, size), np.uint8)
    return found


def keeps_entries(instance: DistributedInstance) -> bool:
    """Whether every rank stores all fields of an entry side by side: such a part may be an array of structs."""
    return str(instance.layout).startswith("<F")


def with_gaps(rng: random.Random, instance: DistributedInstance, packed: Bytes) -> np.ndarray[Any, Any]:
    """The bytes of a part as structs of an array that other people have: with gaps, and with fields in another order.

    Gaps hold 0xA5.
    """
    names = rng.sample(instance.fields.names, len(instance.fields))
    offsets, end = [], rng.randint(0, 3)
    for name in names:
        offsets.append(end)
        end += instance.fields.sizes[instance.fields.index(name)] + rng.randint(0, 4)
    formats = [instance.fields.dtypes[instance.fields.index(name)] for name in names]
    dtype = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": end + 1})
    found = np.full(len(packed) // instance.fields.nbytes * dtype.itemsize, 0xA5, np.uint8).view(dtype)
    entries = packed.view(np.dtype({"names": list(instance.fields.names), "formats": list(instance.fields.dtypes)}))
    for name in names:
        found[name] = entries[name]
    return found


def gaps_of(array: np.ndarray[Any, Any]) -> bytes:
    """What lies beside the fields of structs."""
    found = np.frombuffer(bytearray(array.view(np.uint8)), array.dtype)
    for name in array.dtype.names or ():
        found[name] = np.zeros((), array.dtype[name].base)
    return found.tobytes()


def without_gaps(instance: DistributedInstance, array: np.ndarray[Any, Any]) -> Bytes:
    """The fields of structs, side by side."""
    entries = np.zeros(len(array), np.dtype({"names": list(instance.fields.names), "formats": list(instance.fields.dtypes)}))
    for name in instance.fields.names:
        entries[name] = array[name]
    return entries.view(np.uint8)


def carry_out(copies: list[StridedCopy], source: Bytes, destination: Bytes, written: Bytes) -> None:
    """Move what the copies say, and count the writes of every byte."""
    for copy in copies:
        here, there = (np.array([offset]) for offset in (copy.source_offset, copy.destination_offset))
        for extent, source_stride, destination_stride in (*copy.loops, (copy.run, 1, 1)):
            here = (here[:, None] + np.arange(extent) * source_stride).reshape(-1)
            there = (there[:, None] + np.arange(extent) * destination_stride).reshape(-1)
        destination[there] = source[here]
        np.add.at(written, there, 1)
