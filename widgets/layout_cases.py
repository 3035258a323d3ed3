"""Random layouts with what Python says of them, for the tests of the browser's arithmetic (`tests/layouts-python.test.ts`).

    python widgets/layout_cases.py PATH [COUNT] [SEED]

writes COUNT layouts in pairs on common spaces as compact JSON: offsets of points, contents of bytes, strides, comparisons,
edits and chunks; and texts with mistakes, with the problems that the explorer tells. Without COUNT they are 2,000, and 10,000
where ISOVIZ_FULL=1.
"""

from __future__ import annotations

import json
import os
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from isoviz.errors import LayoutError  # noqa: E402
from isoviz.layouts import (  # noqa: E402
    FIELDS,
    ChunkSequence,
    Component,
    FieldSpace,
    IndexSpace,
    Layout,
    Linearization,
    Mode,
    compare,
    warp_load,
)
from isoviz.units import parse_count  # noqa: E402
from isoviz.widgets.chosen.settings import TransferSettings, rows  # noqa: E402
from isoviz.widgets.consequences.transfer_stages import linearization_of  # noqa: E402
from isoviz.widgets.state import Problem  # noqa: E402

NAMES = ("x", "y", "z", "w", "row", "_q", "x_y", "größe", "λ", "行", "𝒙", "t2", "in", "out", "f")
DTYPES = ("int8", "int16", "float32", "float64", "complex128", "S3", "S5", "S12")
SIGNS = "< > ⟨ ⟩ , ,, = =0 =1 =4 =99 F F, _ _in _out _0 _1 _01 _٣"
ODD = "x hello 𝒙 ! ' \" \\ é - 0 ² x_in=3,"
NOISE = (*SIGNS.split(), " ", "\n", "\t")
MORE_NOISE = (*ODD.split(), "\u0301", "\u200b", "\xa0", "9" * 25)
"""Without U+001C and U+FEFF: only one of Python and JavaScript takes them for space, and there the kernel has the last word."""
BELOW = 2**53
"""The browser counts bytes as doubles: layouts from here on are refused there."""


def case(rng: random.Random) -> dict[str, Any]:
    """Two layouts of one instance, with what Python says of both."""
    sizes = _sizes(rng)
    space = IndexSpace.of(sizes)
    fields = FieldSpace.of({f"f{n}": rng.choice(DTYPES) for n in range(rng.choice((1, 1, 2, 2, 3, 5)))})
    first = layout(rng, sizes)
    second = _relative(rng, first, sizes) if rng.random() < 0.5 else layout(rng, sizes)
    try:
        ends = [text.on(space, fields) for text in (first, second)]
    except LayoutError:  # more than 2^63 bytes
        return case(rng)
    if max(end.nbytes for end in ends) >= BELOW:
        return case(rng)
    found: dict[str, Any] = {"dims": [[name, size] for name, size in sizes.items()], "fields": list(fields.sizes)}
    found["layouts"] = [described(rng, end) for end in ends]
    comparison = compare(*ends)
    found["common"] = [comparison.prefix_count, comparison.suffix_count, comparison.run_bytes]
    found["chunks"] = _chunks(rng, ends[0])
    return found


def described(rng: random.Random, linear: Linearization) -> list[Any]:
    """A layout: text, size, digits, strides of one field, points, bytes and edits."""
    names = linear.fields.names
    field = rng.randrange(len(names))
    digits: list[list[Any]] = [[mode.dim, mode.extent, mode.step, stride] for mode, stride in linear.strides(names[field])]
    digits.insert(linear.parts.index(FIELDS), ["F", len(names), 0, 0])
    points = []
    for _ in range(4):
        index = [rng.choice((0, size - 1, rng.randrange(size), rng.randrange(size))) for size in linear.space.sizes]
        element = rng.randrange(len(names))
        points.append([index, element, linear.offset(index, names[element])])
    bytes_ = []
    for at in (0, linear.nbytes - 1, rng.randrange(linear.nbytes), rng.randrange(linear.nbytes), rng.randrange(linear.nbytes)):
        content = linear.locate(at)
        bytes_.append([at, content and [content.index, names.index(content.field), content.byte]])
    text, warps = _spelled(rng, linear.layout), []
    draw = random.Random(text)
    for index, element, _ in points[:2] if linear.space.dims else []:
        dim, lane = draw.choice(linear.space.dims), draw.choice((4, 8, 16))
        load = warp_load(linear, dim, index, lane, names[element])
        told = (load.width, load.requests, load.sectors, load.least_sectors, load.turns, load.conflicts)
        warps.append([linear.space.dims.index(dim), index, lane, element, told])
    return [text, linear.nbytes, linear.payload, field, digits, points, bytes_, _edits(rng, linear.layout), warps]


def layout(rng: random.Random, sizes: dict[str, int]) -> Layout:
    """A random layout of some dimensions: any digits, in any order."""
    parts: list[Any] = ["F"]
    for dim, size in sizes.items():
        style = rng.random()
        if style < 0.5:
            parts.append(dim)
        elif style < 0.8:
            parts += [f"{dim}_in={_block(rng, size)}", f"{dim}_out"]
        else:
            room, rank = size, 0
            while rank < rng.choice((0, 1, 2, 2, 3)):
                block = _block(rng, room)
                parts.append(f"{dim}_{rank}={block}")
                room //= block
                rank += 1
            parts.append(f"{dim}_{rank}")
    rng.shuffle(parts)
    return Layout(f"<{', '.join(parts)}>")


def _relative(rng: random.Random, of: Layout, sizes: dict[str, int]) -> Layout:
    """A layout that has much in common with another one: a component moved, or a dimension split or merged."""
    parts = list(of.components)
    for _ in range(rng.choice((0, 1, 1, 2))):
        kind = rng.random()
        if kind < 0.5:
            parts.insert(rng.randrange(len(parts)), parts.pop(rng.randrange(len(parts))))
            continue
        places = [n for n, part in enumerate(parts) if isinstance(part, Component)]
        if not places:
            continue
        at = rng.choice(places)
        dim = parts[at].dim  # type: ignore[union-attr]
        parts = merged(parts, dim)
        whole = next(n for n, part in enumerate(parts) if isinstance(part, Component) and part.dim == dim)
        if kind < 0.85:
            parts = split(parts, whole, _block(rng, sizes[dim]))
    return Layout(parts)


def _sizes(rng: random.Random) -> dict[str, int]:
    count = rng.choice((0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6))
    if rng.random() < 0.01:
        count = rng.randint(7, len(NAMES))
    most = rng.choice((4, 6, 6, 12, 100, 5000) if count <= 3 else (3, 4, 6, 12, 40) if count <= 6 else (2, 3, 5))
    if count <= 2 and rng.random() < 0.1:
        most = 2**25
    return {name: rng.randint(1, most) for name in rng.sample(NAMES, count)}


def _block(rng: random.Random, size: int) -> int:
    kind = rng.random()
    if kind < 0.1:
        return 1
    if kind < 0.6:
        return rng.choice([n for n in range(1, min(size, 64) + 1) if size % n == 0])
    return rng.randint(1, size)


def _spelled(rng: random.Random, of: Layout) -> str:
    """The text of a layout in one of its spellings."""
    inside = str(of)[1:-1]
    spelling = rng.randrange(4)
    if spelling == 0:
        return f"⟨{inside}⟩"
    if spelling == 1:
        return inside.replace(" ", "")
    return f" < {inside.replace('=', ' = ')} > " if spelling == 2 else f"<{inside}>"


# ---- edits, written down once more


def split(parts: list[Any], at: int, block: int) -> list[Any]:
    """A component split into its `block` fastest values and the rest."""
    part = parts[at]
    if not isinstance(part, Component):
        return parts
    if not part.label:
        return [*parts[:at], Component(part.dim, "in", 0, block), Component(part.dim, "out", 1), *parts[at + 1 :]]
    found: list[Any] = []
    for place, other in enumerate(parts):
        if not isinstance(other, Component) or other.dim != part.dim:
            found.append(other)
        elif place == at:
            rest = None if part.extent is None else -(-part.extent // block)
            found += [Component(part.dim, str(part.rank), part.rank, block)]
            found += [Component(part.dim, str(part.rank + 1), part.rank + 1, rest)]
        else:
            rank = other.rank + (other.rank > part.rank)
            found.append(Component(part.dim, str(rank), rank, other.extent))
    return found


def merged(parts: list[Any], dim: str) -> list[Any]:
    """The components with a dimension whole, where its slowest digit was."""
    own = [part for part in parts if isinstance(part, Component) and part.dim == dim]
    top = max(own, key=lambda part: part.rank)
    return [Component(dim) if part == top else part for part in parts if part not in own or part == top]


def _edits(rng: random.Random, of: Layout) -> list[list[Any]]:
    parts = list(of.components)
    at, to, block = rng.randrange(len(parts)), rng.randrange(len(parts)), rng.choice((1, 2, 3, 4, 8))
    after = [*parts[:at], *parts[at + 1 :]]
    after.insert(to, parts[at])
    found = [["moved", at, to, str(Layout(after))], ["split", at, block, str(Layout(split(parts, at, block)))]]
    part = parts[at]
    if isinstance(part, Component):
        found.append(["merged", part.dim, 0, str(Layout(merged(parts, part.dim)))])
        if part.extent is not None:
            parts[at] = replace(part, extent=block)
    found.append(["withBlock", at, block, str(Layout(parts))])
    return found


def _chunks(rng: random.Random, linear: Linearization) -> list[Any]:
    """Chunks of a layout: digits, blocks in a chunk, chunks, and the chunk of some elements."""
    plain = ChunkSequence(linear, rng.randint(0, len(linear.parts)))
    chunks = replace(plain, per_chunk=rng.randint(1, max(1, min(plain.blocks, 7))))
    names = linear.fields.names
    digits = [[part.dim, part.extent, part.step] if isinstance(part, Mode) else ["F", len(names), 0] for part in chunks.digits]
    points = []
    for _ in range(3):
        index, field = [rng.randrange(size) for size in linear.space.sizes], rng.randrange(len(names))
        byte = linear.offset(index, names[field])
        low, high = 0, len(chunks) - 1
        while low < high:  # the last chunk that does not begin behind the byte
            middle = (low + high + 1) // 2
            low, high = (middle, high) if chunks.first_byte(middle) <= byte else (low, middle - 1)
        points.append([index, field, low])
    return [digits, chunks.per_chunk, len(chunks), points]


# ---- texts with mistakes


def mistakes(rng: random.Random, count: int) -> list[list[Any]]:
    """Texts on spaces, with the explorer's problem and its position; null where the layout is right."""
    found: list[list[Any]] = []
    for number in range(count):
        sizes = {"x": 12, "y": 5} if number % 2 else _sizes(rng)
        text = _spelled(rng, layout(rng, sizes))
        for _ in range(rng.choice((1, 1, 2, 3))):
            at = rng.randint(0, len(text))
            kind = rng.random()
            if kind < 0.35:
                text = text[:at] + text[at + rng.randint(1, 4) :]
            elif kind < 0.75:
                text = text[:at] + rng.choice(NOISE) + text[at:]
            else:
                text = text[:at] + rng.choice(MORE_NOISE) + text[at:]
        found.append(told(sizes, {"v": "float64", "w": "int8"}, text))
    return [*found, *(told(*fixed) for fixed in _FIXED)]


_WRONG = """\
hello|hello=3|hello_in|hello world|F, hello!|x y|x|F||  |<|<F|<F, x, y|F, x, y>|<F, x, y>>|<F, x, y> z|F, F, x, y
F, x, x, y|F=2, x, y|x=4, F, y|x_in, x_out, y, F|x_in=0, x_out, y, F|x_in=9, x_out, y, F|x_in=4, y, F|x_out, y, F
x_out=2, x_in=4, y, F|x_0=2, x_out, y, F|x_0=2, x_2, y, F|x_0, x_1, y, F|x_0=2, x_1=2, y, F|x, x_in=2, x_out, y, F
x_01=2, x_1, y, F|x_٣=2, y, F|x_0=4, x_1=4, x_2, y, F|f, x, y|X, y, F|x_in=4,x_out,F,y ⟩
x_in=99999999999999999999, x_out, y, F|x_in=9223372036854775808, x_out, y, F|𝒙𝒙, !|<𝒙|x , !𝒙|x_1_in=2, F
F, <script>alert(1)</script>|F,x,y,|,F,x,y|F;x;y|x_in=-4, x_out, y, F|x_in=4.5, x_out, y, F|x_1000000=2, y, F
x_0, y_0, F|x _in=4, F, y|F, x , y\t>|y_out, x, F, y_in = 7|<x_in=3, x_out,, F, y>|x y_|x_in=2147483648, x_out, y, F"""

_FIXED: tuple[tuple[dict[str, int], dict[str, str], str], ...] = (
    *(({"x": 8, "y": 6}, {"v": "float64"}, text) for line in _WRONG.splitlines() for text in line.split("|")),
    ({"x": 8, "y": 6}, {"v": "float64"}, "a" * 200),
    ({"x": 8, "y": 6}, {"v": "float64"}, "a" * 50 + ", F"),
    ({"x": 8, "y" * 300: 6}, {"v": "float64"}, "F, x"),
    ({}, {"v": "float64"}, "x, F"),
    ({}, {"v": "float64"}, "F"),
    ({"x": 2**40, "y": 2**20}, {"v": "float64", "w": "float64"}, "x, y, F"),
    ({"x": 2**40, "y": 2**10}, {"v": "float64", "w": "float64"}, "x, y, F"),
    ({"größe": 3, "𝒙": 2}, {"v": "float64"}, "<𝒙, größe_in=4, größe_out, F>"),
    ({f"d{n}": 2 for n in range(30)}, {"v": "float64"}, "F, d0"),
)


def told(sizes: dict[str, int], dtypes: dict[str, str], text: str) -> list[Any]:
    """A text with what the explorer tells of it."""
    settings = TransferSettings(dimensions=rows(sizes, 1), fields=rows(dtypes, 90))
    settings = replace(settings, source=replace(settings.source, layout=text))
    problems: dict[str, Problem] = {}
    linear = linearization_of(settings, "source", problems)
    problem = problems.get("source-layout") or problems.get("dimensions")
    assert (problem is None) == (linear is not None), text
    shown = problem and [problem.message, problem.position or 0]
    if linear is not None and linear.nbytes >= BELOW:
        shown = [f"The layout has {linear.nbytes} bytes; expected at most 2^53, which the browser can count", 0]
    return [list(sizes.items()), list(FieldSpace.of(dtypes).sizes), text, shown]


COUNTS = (
    "", " 12 ", "0", "007", "1_000", "1__0", "_1", "1,000", "1,00", "12,345,678", "4Ki", "4 Ki", "4ki", "4k", "3Mi", "1Ti", "1e3",
    "1E3", "1e-3", "1.5e3", "2^20", "2**20", "2^", "2^2^2", "-1", "+1", "٣", "1e99", "2^99", "9" * 30, "0x10", "1" * 101,
)  # fmt: skip
"""Texts of sizes; "" and what is no count have none."""


def written(path: Path, count: int, seed: int) -> None:
    """Write `count` layouts, and a fifth as many texts with mistakes."""
    rng = random.Random(seed)
    content: dict[str, Any] = {"cases": [case(rng) for _ in range((count + 1) // 2)], "texts": mistakes(rng, count // 5)}
    content["counts"] = [[text, None if (found := parse_count(text)) is None else str(found)] for text in COUNTS]
    path.write_text(json.dumps(content, ensure_ascii=True, separators=(",", ":")), encoding="ascii")


if __name__ == "__main__":
    _, target, *numbers = sys.argv
    count = "2000" if os.environ.get("ISOVIZ_FULL", "") in ("", "0") else "10000"
    written(Path(target), *(int(given) for given in (*numbers, *(count, "20240611")[len(numbers) :])))
