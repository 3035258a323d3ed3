"""Fields of structs that are moved together: as many rows at a time as the buffer of a thread holds."""

from __future__ import annotations

import pytest

from isoviz.backends.kernels.recipe import ROOM, recipe_of_structs

ROWS = 1 << 22


def shapes(sizes: tuple[int, ...], join: bool = False) -> tuple[tuple[int, int, int, tuple[tuple[int, int, int], ...]], ...]:
    """Structs of these fields, taken apart or put together."""
    found, inside, apart = [], 0, 0
    for size in sizes:
        loop = (ROWS, size, sum(sizes)) if join else (ROWS, sum(sizes), size)
        found.append((apart, inside, size, (loop,)) if join else (inside, apart, size, (loop,)))
        inside, apart = inside + size, apart + size * ROWS
    return tuple(found)


@pytest.mark.parametrize("join", [False, True])
def test_long_fields_are_not_moved_together(join: bool) -> None:
    """A tile has 64 rows at least: of structs of 16 KiB that is more than the buffer has."""
    assert recipe_of_structs(shapes((1024, 2048, 4096, 9216), join)) is None


@pytest.mark.parametrize("join", [False, True])
@pytest.mark.parametrize("sizes", [(16, 32, 64, 144), (1, 2, 4, 9), (512, 1024, 2048, 4608), (700, 1400, 3000)])
def test_tiles_fit_the_buffer(sizes: tuple[int, ...], join: bool) -> None:
    recipe = recipe_of_structs(shapes(sizes, join))
    assert recipe is not None
    assert int(recipe.tiles[-1]) * sum(sizes) <= ROOM
