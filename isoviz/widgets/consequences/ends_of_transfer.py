"""The index space, the field space and the linearizations of both ends, from what was typed."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from isoviz.errors import InputError, NotationError, show
from isoviz.units import COUNTS, parse_count
from isoviz.widgets.chosen.settings import Row, Settings
from isoviz.widgets.consequences.catching import caught
from isoviz.widgets.state import Problem

if TYPE_CHECKING:
    from isoviz.layouts import FieldSpace, IndexSpace, Layout, Linearization

T = TypeVar("T")

MOST_DIMENSIONS = 16
"""The largest number of dimensions that the explorer shows; widgets/src/layouts/spaces.ts has the same."""


def space_of(settings: Settings, problems: dict[str, Problem]) -> IndexSpace | None:
    """The index space of the rows; None where a row is wrong."""
    from isoviz.layouts import IndexSpace

    def check(row: Row) -> int:
        size = parse_count(row.value)
        if size is None:
            found = f"{show(row.value.strip())} is not a size" if row.value.strip() else "the size is missing"
            raise InputError(f"{found}; expected one such as {COUNTS}")
        IndexSpace.of({row.name: size})
        return size

    if len(settings.dimensions) > MOST_DIMENSIONS:
        count = len(settings.dimensions)
        problems["dimensions"] = Problem(f"{count} dimensions are too many; the explorer shows up to {MOST_DIMENSIONS}")
        return None
    sizes = _rows(settings.dimensions, "dimension", check, problems)
    return None if sizes is None else caught(lambda: IndexSpace.of(sizes), "dimensions", problems)


def fields_of(settings: Settings, problems: dict[str, Problem]) -> FieldSpace | None:
    """The field space of the rows; None where a row is wrong."""
    from isoviz.layouts import FieldSpace

    def check(row: Row) -> str:
        FieldSpace.of({row.name: row.value.strip() or None})
        return row.value.strip()

    dtypes = _rows(settings.fields, "field", check, problems)
    return None if dtypes is None else caught(lambda: FieldSpace.of(dtypes), "fields", problems)


def _rows(found: tuple[Row, ...], what: str, check: Callable[[Row], T], problems: dict[str, Problem]) -> dict[str, T] | None:
    values: dict[str, T] = {}
    names: set[str] = set()
    for row in found:
        if row.name in names:
            problems[f"{what}:{row.key}"] = Problem(f"Two {what}s are called {row.name!r}; give this one another name")
            continue
        names.add(row.name)
        value = caught(partial(check, row), f"{what}:{row.key}", problems)
        if value is not None:
            values[row.name] = value
    return values if len(values) == len(found) else None


def linearization_of(
    settings: Settings, side: str, space: IndexSpace | None, fields: FieldSpace | None, problems: dict[str, Problem]
) -> Linearization | None:
    """The layout of one end on the spaces; None where it does not fit them. It is read even where the spaces are wrong.

    A name that is no dimension is told before all else: what else is wrong with the text may follow from it.
    """
    from isoviz.layouts import Layout

    control, text = f"{side}-layout", settings.end(side).layout
    names = [row.in_layouts for row in settings.dimensions]
    found = caught(lambda: _known_dimensions(text, names), control, problems)
    layout = None if found is None else caught(lambda: Layout(text), control, problems)
    if found is None or layout is None:
        return None
    for name in names:
        if name not in layout.dims:
            problems[control] = Problem(f"Dimension {show(name)} is missing", text, len(text.rstrip().rstrip(">⟩")))
            return None
    if space is None or fields is None:
        return None
    return caught(lambda: _fitting(layout, text, [at for _, at in found], space, fields), control, problems)


def _known_dimensions(text: str, names: list[str]) -> list[tuple[str, int]]:
    """The dimensions that a text names, with their positions.

    Raises:
        NotationError: one of them is not among `names`.
    """
    from isoviz.layouts.notation import named_dimensions

    found = named_dimensions(text)
    for dim, position in found:
        if dim not in names:
            raise NotationError(text, position, f"{show(dim)} is not a dimension", _listed(names) or "F alone")
    return found


def _fitting(layout: Layout, text: str, positions: list[int], space: IndexSpace, fields: FieldSpace) -> Linearization:
    """The layout on the spaces. `positions` are those of its components in the text, without `F`.

    Raises:
        InputError: a block is larger than its dimension, or the instance would have 2⁶³ bytes or more.
    """
    from isoviz.layouts import Component
    from isoviz.layouts.spaces import MAX_BYTES

    digits = [part for part in layout.components if isinstance(part, Component)]
    for dim in space:
        step = 1
        for digit in layout.digits[dim]:
            if step * (digit.extent or 1) > space[dim]:
                through = f" (with the digits below it, {step * (digit.extent or 1)})" if step > 1 else ""
                problem = f"block {digit}{through} is larger than dimension {dim!r} of size {space[dim]}"
                raise NotationError(text, positions[digits.index(digit)], problem, f"at most {space[dim] // step}")
            step *= digit.extent or 1
    nbytes = fields.nbytes * math.prod(-(-space[dim] // step) * step for dim, step in _blocks(layout).items())
    if nbytes > MAX_BYTES:
        raise NotationError(text, 0, f"the layout has {nbytes} bytes", "at most 2^63 - 1")
    return layout.on(space, fields)


def _blocks(layout: Layout) -> dict[str, int]:
    """By dimension: the entries in one block of its slowest digit."""
    return {dim: math.prod(digit.extent or 1 for digit in digits) for dim, digits in layout.digits.items()}


def _listed(names: list[str]) -> str:
    """`x`, `x or y`, `x, y or z`."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
