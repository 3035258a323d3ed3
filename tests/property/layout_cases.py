"""Random spaces and layouts, and what layouts mean, written down a second time and as simply as possible."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import strategies as st

from isoviz.layouts import FIELDS, Component, FieldsComponent, FieldSpace, IndexSpace, Layout, Linearization

DTYPES = ("u1", "<i2", "S3", "<f4", "<f8", "<c16", "(2,)u1", ">u4")
LARGEST = {0: 1, 1: 24, 2: 12, 3: 6, 4: 4}  # sizes that keep an instance under some 300 points


@st.composite
def spaces(draw: st.DrawFn, dims: int | None = None) -> IndexSpace:
    count = draw(st.integers(1, 4)) if dims is None else dims
    return IndexSpace.of({name: draw(st.integers(1, LARGEST[count])) for name in "xyzw"[:count]})


@st.composite
def field_spaces(draw: st.DrawFn) -> FieldSpace:
    dtypes = draw(st.lists(st.sampled_from(DTYPES), min_size=1, max_size=5))
    return FieldSpace.of({f"f{i}": dtype for i, dtype in enumerate(dtypes)})


@st.composite
def layouts(draw: st.DrawFn, space: IndexSpace, *, padded: bool = True) -> Layout:
    """Up to three digits a dimension, in any order; without `padded` every block divides."""
    parts: list[Component | FieldsComponent] = [FIELDS]
    for dim in space:
        extents: list[int] = []
        step = 1
        for _ in range(draw(st.integers(1, 3)) - 1):
            fitting = [e for e in range(1, space[dim] // step + 1) if padded or space[dim] % (step * e) == 0]
            extents.append(draw(st.sampled_from(fitting)))
            step *= extents[-1]
        labels = [""] if not extents else ["in", "out"] if len(extents) == 1 else [str(i) for i in range(len(extents) + 1)]
        parts += [
            Component(dim, label, i, extent) for i, (label, extent) in enumerate(zip(labels, [*extents, None], strict=True))
        ]
    return Layout(draw(st.permutations(parts)))


@st.composite
def linearizations(draw: st.DrawFn, *, padded: bool = True) -> Linearization:
    space = draw(spaces())
    return draw(layouts(space, padded=padded)).on(space, draw(field_spaces()))


@st.composite
def pairs(draw: st.DrawFn, *, padded: bool = True) -> tuple[Linearization, Linearization]:
    """Two layouts of the same instance."""
    a = draw(linearizations(padded=padded))
    return a, draw(layouts(a.space, padded=padded)).on(a.space, a.fields)


Cell = tuple[tuple[int, ...], str] | None


def walk(lin: Linearization) -> list[tuple[int, Cell]]:
    """The definition of a layout: go through all digits, slowest first, and put one element behind the other.

    Returns (offset, (index, field)) for every allocated element, (offset, None) in padding.
    """
    ranges: list[list[Any]] = []
    for part in reversed(lin.layout.components):
        if isinstance(part, FieldsComponent):
            ranges.append(list(lin.fields.names))
        else:
            below = 1
            for digit in lin.layout.digits[part.dim][: part.rank]:
                below *= digit.extent or 1
            count = part.extent or -(-lin.space[part.dim] // below)
            ranges.append([(part.dim, digit * below) for digit in range(count)])
    found: list[tuple[int, Cell]] = []
    offset = 0
    for digits in itertools.product(*ranges):
        at = dict.fromkeys(lin.space.dims, 0)
        name = ""
        for digit in digits:
            if isinstance(digit, str):
                name = digit
            else:
                at[digit[0]] += digit[1]
        inside = all(at[dim] < lin.space[dim] for dim in lin.space)
        found.append((offset, (tuple(at.values()), name) if inside else None))
        offset += lin.fields.sizes[lin.fields.names.index(name)]
    return found


def points(space: IndexSpace) -> Any:
    """Every index."""
    return itertools.product(*(range(size) for size in space.sizes))
