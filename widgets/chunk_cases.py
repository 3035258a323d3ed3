"""Random chunks with the runs in which they go from layout to layout, for `tests/chunk-runs.test.ts`.

    python widgets/chunk_cases.py PATH [COUNT] [SEED]

writes COUNT cases as compact JSON. Each has a layout with its chunks and another layout of the same array. Every element of a
chunk is placed one by one. COUNT is 300, and 3,000 where ISOVIZ_FULL=1.
"""

from __future__ import annotations

import bisect
import itertools
import json
import os
import random
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from isoviz.layouts import FIELDS, ChunkSequence, FieldSpace, IndexSpace, Layout, Linearization, Mode, compare  # noqa: E402
from isoviz.planner.intermediate.part_layouts import fitted  # noqa: E402

SIZES = (1, 2, 3, 4, 6, 8, 12)
BLOCKS = (2, 3, 4, 6)


def case(rng: random.Random, *, in_part: bool = False) -> dict[str, Any]:
    """A layout with its chunks, another layout, and what both hold of one chunk. `in_part`: the other one orders a part."""
    names = rng.sample(("x", "y", "z"), rng.choice((1, 2, 2, 3)))
    sizes = {name: rng.choice(SIZES) for name in names}
    fields = FieldSpace.of({f"f{n}": rng.choice(("int8", "int32", "float64")) for n in range(rng.choice((1, 1, 2, 3)))})
    space = IndexSpace.of(sizes)
    linear, other = (layout(rng, sizes).on(space, fields) for _ in range(2))
    if rng.random() < 0.3:
        other = linear
    part = None
    if in_part:
        whole, first, other = part_of(rng, sizes, fields)
        part = {"sizes": list(whole.space.sizes), "first": list(first), "layout": str(whole.layout)}
        if rng.random() < 0.6:
            linear = other  # the longest runs
    plain = ChunkSequence(linear, rng.randint(0, len(linear.parts)))
    chunks = ChunkSequence(linear, plain.outer, rng.randint(1, max(1, min(plain.blocks, 7))))
    chunk = rng.randrange(len(chunks))
    names_of = fields.names
    return {
        "dims": [[name, size] for name, size in sizes.items()],
        "fields": list(fields.sizes),
        "layouts": [str(linear.layout), str(other.layout)],
        "digits": [
            [part.dim, part.extent, part.step] if isinstance(part, Mode) else ["F", len(names_of), 0] for part in chunks.digits
        ],
        "perChunk": chunks.per_chunk,
        "count": len(chunks),
        "chunk": chunk,
        "elements": len(elements(chunks, chunk)),
        "part": part,
        "runs": runs_of(chunks, chunk, linear, other),
        "runsInPart": None if part is None else runs_in_part(chunks, chunk, other, whole, first),
    }


def layout(rng: random.Random, sizes: dict[str, int]) -> Layout:
    """A random layout; blocks need neither nest nor divide."""
    parts: list[Any] = ["F"]
    for dim, size in sizes.items():
        block = rng.choice(BLOCKS)
        parts += [f"{dim}_in={block}", f"{dim}_out"] if block <= size and rng.random() < 0.5 else [dim]
    rng.shuffle(parts)
    return Layout(f"<{', '.join(parts)}>")


def part_of(
    rng: random.Random, sizes: dict[str, int], fields: FieldSpace
) -> tuple[Linearization, tuple[int, ...], Linearization]:
    """A larger instance that holds a box of some sizes, the first index of the box, and the order of its entries.

    The box is cut along one dimension, between blocks.
    """
    dim = rng.choice(list(sizes))
    before, behind = rng.choice(((0, 1), (1, 0), (2, 1)))
    whole = {**sizes, dim: sizes[dim] * (before + 1 + behind)}
    instance = layout(rng, whole)
    while any(sizes[dim] % part.step for part in instance.on(IndexSpace.of(whole), fields).parts if is_of(part, dim)):
        instance = layout(rng, whole)
    first = tuple(before * size if name == dim else 0 for name, size in sizes.items())
    return instance.on(IndexSpace.of(whole), fields), first, fitted(instance, IndexSpace.of(sizes), fields)


def is_of(part: Any, dim: str) -> bool:
    return isinstance(part, Mode) and part.dim == dim


def elements(chunks: ChunkSequence, chunk: int) -> list[tuple[tuple[int, ...], str]]:
    """Every (index, field) whose byte lies in the range of a chunk."""
    linear = chunks.linearization
    first = chunks.first_byte(chunk)
    end = chunks.first_byte(chunk + 1) if chunk + 1 < len(chunks) else linear.nbytes
    points = itertools.product(*(range(size) for size in linear.space.sizes))
    return [(index, name) for index in points for name in linear.fields.names if first <= linear.offset(index, name) < end]


def runs_of(chunks: ChunkSequence, chunk: int, source: Linearization, destination: Linearization) -> int:
    """In how many runs a chunk moves: the elements of one run differ in what the common prefix counts, and in nothing else."""
    prefix = compare(source, destination).prefix
    return len({run_key(source, prefix, index, name) for index, name in elements(chunks, chunk)})


def run_key(order: Linearization, prefix: Any, index: tuple[int, ...], name: str) -> tuple[tuple[int, ...], str]:
    """What the elements of one run have in common: all but what the common prefix counts."""
    rest = list(index)
    for part in prefix:
        if isinstance(part, Mode):
            dim = order.space.dims.index(part.dim)
            rest[dim] -= (index[dim] // part.step) % part.extent * part.step
    return tuple(rest), "" if FIELDS in prefix else name


def runs_in_part(chunks: ChunkSequence, chunk: int, order: Linearization, whole: Linearization, first: tuple[int, ...]) -> int:
    """In how many runs a chunk goes to the part of an instance: as `runs_of`, and entries that stay where they are end a run."""
    prefix = compare(chunks.linearization, order).prefix
    sizes = dict(zip(order.fields.names, order.fields.sizes, strict=True))
    placed = sorted(
        (whole.offset(tuple(at + low for at, low in zip(index, first, strict=True)), name), index, name)
        for index, name in elements(chunks, chunk)
    )
    box = [range(low, low + size) for low, size in zip(first, order.space.sizes, strict=True)]
    points = itertools.product(*(range(size) for size in whole.space.sizes))
    apart = [point for point in points if not all(at in own for at, own in zip(point, box, strict=True))]
    stays = sorted(whole.offset(point, name) for point in apart for name in sizes)
    runs, end, last = 0, 0, None
    for offset, index, name in placed:
        key = run_key(order, prefix, index, name)
        runs += key != last or bisect.bisect(stays, end - 1) != bisect.bisect(stays, offset)
        end, last = offset + sizes[name], key
    return runs


if __name__ == "__main__":
    _, target, *given = sys.argv
    count = "300" if os.environ.get("ISOVIZ_FULL", "") in ("", "0") else "3000"
    number, seed = (int(each) for each in (*given, *(count, "20261127")[len(given) :]))
    draw = random.Random(seed)
    cases = [case(draw) for _ in range(number)]
    cases += [case(draw, in_part=True) for _ in range(number // 4)]
    Path(target).write_text(json.dumps(cases, separators=(",", ":")), encoding="ascii")
