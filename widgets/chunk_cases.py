"""Random chunks with the runs in which they go from layout to layout, for `tests/chunk-runs.test.ts`.

    python widgets/chunk_cases.py PATH [COUNT] [SEED]

writes COUNT cases as compact JSON. Each has a layout with its chunks and another layout of the same array. Every element of a
chunk is placed one by one. COUNT is 300, and 3,000 where ISOVIZ_FULL=1.
"""

from __future__ import annotations

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

SIZES = (1, 2, 3, 4, 6, 8, 12)
BLOCKS = (2, 3, 4, 6)


def case(rng: random.Random) -> dict[str, Any]:
    """A layout with its chunks, another layout, and what both hold of one chunk."""
    names = rng.sample(("x", "y", "z"), rng.choice((1, 2, 2, 3)))
    sizes = {name: rng.choice(SIZES) for name in names}
    fields = FieldSpace.of({f"f{n}": rng.choice(("int8", "int32", "float64")) for n in range(rng.choice((1, 1, 2, 3)))})
    space = IndexSpace.of(sizes)
    linear, other = (layout(rng, sizes).on(space, fields) for _ in range(2))
    if rng.random() < 0.3:
        other = linear
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
        "runs": runs_of(chunks, chunk, linear, other),
    }


def layout(rng: random.Random, sizes: dict[str, int]) -> Layout:
    """A random layout; blocks need neither nest nor divide."""
    parts: list[Any] = ["F"]
    for dim, size in sizes.items():
        block = rng.choice(BLOCKS)
        parts += [f"{dim}_in={block}", f"{dim}_out"] if block <= size and rng.random() < 0.5 else [dim]
    rng.shuffle(parts)
    return Layout(f"<{', '.join(parts)}>")


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
    runs = set()
    for index, name in elements(chunks, chunk):
        rest = list(index)
        for part in prefix:
            if isinstance(part, Mode):
                dim = source.space.dims.index(part.dim)
                rest[dim] -= (index[dim] // part.step) % part.extent * part.step
        runs.add((tuple(rest), "" if FIELDS in prefix else name))
    return len(runs)


if __name__ == "__main__":
    _, target, *given = sys.argv
    count = "300" if os.environ.get("ISOVIZ_FULL", "") in ("", "0") else "3000"
    number, seed = (int(each) for each in (*given, *(count, "20261127")[len(given) :]))
    draw = random.Random(seed)
    cases = [case(draw) for _ in range(number)]
    Path(target).write_text(json.dumps(cases, separators=(",", ":")), encoding="ascii")
