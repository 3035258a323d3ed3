"""The copy kernel moves the same bytes as the reference."""

from __future__ import annotations

import random

import numpy as np
import pytest
from run_cases import random_bytes, random_layout, random_spaces

from isoviz import FieldSpace, IndexSpace, Layout
from isoviz.backends import kernel
from isoviz.layouts import Box, View, apply, strided_copies


def compare_with_reference(space: IndexSpace, fields: FieldSpace, here: Layout, there: Layout, rng: random.Random) -> None:
    a, b = here.on(space, fields), there.on(space, fields)
    copies = strided_copies(View(a), View(b), Box.whole(space))
    source = random_bytes(rng, a.nbytes)
    expected, found = np.zeros(b.nbytes, "u1"), np.zeros(b.nbytes, "u1")
    apply(copies, source, expected)
    for copy in copies:
        kernel.copy_strided(copy, source, found)
    assert (expected == found).all(), (space, fields, here, there)


def test_random_layouts(full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # Small enough that small cases take every road.
    monkeypatch.setattr(kernel, "_WORTH_TILING", 4)
    monkeypatch.setattr(kernel, "_TILE", 32)
    monkeypatch.setattr(kernel, "_LONG", 8)
    monkeypatch.setattr(kernel, "_NARROW", 3)
    monkeypatch.setattr(kernel, "_COLLIDING", 4)
    monkeypatch.setattr(kernel, "_SHORT", 3)
    rng = random.Random(5)
    for _ in range(2000 if full else 200):
        space, fields = random_spaces(rng)
        compare_with_reference(space, fields, random_layout(rng, space), random_layout(rng, space), rng)


@pytest.mark.parametrize("size", [256, 300, 17])
@pytest.mark.parametrize("dtype", ["u1", "f4", "c16", "V12", "V24"])
def test_transpositions(size: int, dtype: str) -> None:
    space, fields = IndexSpace(x=size, y=256), FieldSpace(v=dtype)
    compare_with_reference(space, fields, Layout("<F, x, y>"), Layout("<F, y, x>"), random.Random(1))


@pytest.mark.parametrize("count", [2, 5, 20])
def test_structs_and_arrays(count: int) -> None:
    space, fields = IndexSpace(x=20_000), FieldSpace.of({f"f{i}": "f4" for i in range(count)})
    rng = random.Random(1)
    compare_with_reference(space, fields, Layout("<F, x>"), Layout("<x, F>"), rng)
    compare_with_reference(space, fields, Layout("<x, F>"), Layout("<F, x>"), rng)
