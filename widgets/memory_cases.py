"""Pictures of memory of random layouts as Python draws them, for `tests/memory-python.test.ts`.

    python widgets/memory_cases.py PATH [COUNT] [SEED]

writes COUNT paths of layouts as compact JSON, each with the elements of its pictures in the order of memory, and pixels.
COUNT is 150, and 2,000 where ISOVIZ_FULL=1.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from layout_cases import _block, layout  # noqa: E402

from isoviz.figures.layouts.memory_map import MemoryMap, block_map, whole_map  # noqa: E402
from isoviz.figures.layouts.memory_picture import field_colour, memory_pixels  # noqa: E402
from isoviz.layouts import FieldSpace, IndexSpace  # noqa: E402

FIELDS = (("v",), ("v",), ("re", "im"), ("red", "green", "blue"), ("a", "(gap at 1)", "b"), tuple("abcdefghijk"))
SIZES = (1, 2, 3, 3, 4, 5, 6, 8, 12, 16, 30, 64, 100, 1000)


def case(rng: random.Random) -> dict[str, Any]:
    """Some layouts of an array, and the pictures of each: the whole, a model of it, and a block."""
    names = rng.sample(("x", "y", "z", "w", "constructor"), rng.choice((0, 1, 2, 2, 2, 3, 4)))
    sizes = {name: rng.choice(SIZES) for name in names}
    fields = FieldSpace.of({name: rng.choice(("int8", "float32")) for name in rng.choice(FIELDS)})
    space = IndexSpace.of(sizes)
    path = [layout(rng, sizes).on(space, fields) for _ in range(rng.choice((2, 3)))]
    block = {name: _block(rng, size) for name, size in sizes.items() if rng.random() < 0.7}
    side, limit = rng.choice((8, 24, 50, 96)), rng.choice((16, 64, 500))
    width, height = rng.randint(1, 40), rng.randint(1, 40)
    pictures = []
    for linear in path:
        maps = [whole_map(linear, side), block_map(linear, block, path, limit)]
        if linear.count * len(fields) <= 3000:
            maps.append(whole_map(linear))
        pictures.append([_picture(each, (path[0], path[-1]), width, height, dark=rng.random() < 0.5) for each in maps])
    return {
        "dims": list(sizes.items()),
        "fields": [[name, size] for name, size in zip(fields.names, fields.sizes, strict=True)],
        "layouts": [str(linear.layout) for linear in path],
        "block": list(block.items()),
        "side": side,
        "limit": limit,
        "box": [width, height],
        "pictures": pictures,
    }


def _picture(memory: MemoryMap, ends: Any, width: int, height: int, *, dark: bool) -> dict[str, Any]:
    pixels = memory_pixels(memory, ends, width, height, dark=dark)
    shown = range(min(memory.count, 600))
    found = [memory.element_at(place) for place in shown]
    return {
        "dark": dark,
        "count": memory.count,
        "levels": [[digit and [digit.dim, digit.extent] for digit in level] for level in memory.levels],
        "inside": memory.inside and [memory.inside.dim, memory.inside.extent],
        "elements": [each and [*each.point, each.field] for each in found],
        "pixels": pixels.tobytes().hex(),
    }


def written(path: Path, count: int, seed: int) -> None:
    """Write `count` cases, and the colours of many fields."""
    rng = random.Random(seed)
    content = {"cases": [case(rng) for _ in range(count)], "colours": [field_colour(field) for field in range(100)]}
    path.write_text(json.dumps(content, ensure_ascii=True, separators=(",", ":")), encoding="ascii")


if __name__ == "__main__":
    _, target, *numbers = sys.argv
    count = "150" if os.environ.get("ISOVIZ_FULL", "") in ("", "0") else "2000"
    written(Path(target), *(int(given) for given in (*numbers, *(count, "20261129")[len(numbers) :])))
