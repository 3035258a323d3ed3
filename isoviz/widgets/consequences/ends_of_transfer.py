"""The index space, the field space and the linearizations of both ends, from what was typed."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from isoviz.errors import InputError
from isoviz.widgets.chosen.settings import Row, Settings
from isoviz.widgets.consequences.catching import caught
from isoviz.widgets.state import Problem

if TYPE_CHECKING:
    from isoviz.layouts import FieldSpace, IndexSpace, Layout, Linearization

T = TypeVar("T")


def space_of(settings: Settings, problems: dict[str, Problem]) -> IndexSpace | None:
    """The index space of the rows; None where a row is wrong."""
    from isoviz.layouts import IndexSpace

    def check(row: Row) -> int:
        text = row.value.strip()
        if not re.fullmatch("[0-9]{1,19}", text):
            found = f"{row.value.strip()!r} is not a size" if row.value.strip() else "the size is missing"
            raise InputError(f"{found}; expected a whole number of at least 1")
        size = int(text)
        IndexSpace.of({row.name: size})
        return size

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
    """The layout of one end on the spaces; None where it does not fit them. It is read even where the spaces are wrong."""
    from isoviz.layouts import Layout

    layout = caught(lambda: Layout(settings.end(side).layout), f"{side}-layout", problems)
    if layout is None or not _has_dimensions(layout, settings, side, problems) or space is None or fields is None:
        return None
    return caught(lambda: layout.on(space, fields), f"{side}-layout", problems)


def _has_dimensions(layout: Layout, settings: Settings, side: str, problems: dict[str, Problem]) -> bool:
    """Whether the layout has just the dimensions that there are; looked at even while their sizes are wrong."""
    names = [row.in_layouts for row in settings.dimensions]
    text = settings.end(side).layout
    for dim in layout.dims:
        if dim not in names:
            found = re.search(rf"(?<![\w]){re.escape(dim)}(?=$|\W|_(in|out|\d+)(?!\w))", text)
            position = None if found is None else found.start()
            problems[f"{side}-layout"] = Problem(f"{dim!r} is not a dimension; expected {_listed(names)}", text, position)
            return False
    for name in names:
        if name not in layout.dims:
            problems[f"{side}-layout"] = Problem(f"Dimension {name!r} is missing", text, len(text.rstrip().rstrip(">⟩")))
            return False
    return True


def _listed(names: list[str]) -> str:
    """`x`, `x or y`, `x, y or z`."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
