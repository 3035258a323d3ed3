"""Edits of the rows of an array, which layouts, the part that moves and the question about layouts follow."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from isoviz.errors import InputError, IsovizError
from isoviz.widgets.chosen.settings import Row, Settings

_NAMES = ("x", "y", "z", "w", "u", "v")
"""Names that new dimensions are given."""
_COMPONENT = re.compile(r"(?P<name>[^\W\d]\w*)(?P<rest>\s*(?:=\s*\d*)?)")


def with_row(settings: Settings, field: str, key: int, value: str) -> Settings:
    """The settings with a text of a row, such as `dimension-name`.

    Raises:
        InputError: the row is gone.
    """
    what, _, member = field.partition("-")
    rows = settings.dimensions if what == "dimension" else settings.fields
    row = _row(rows, key)
    if field == "dimension-name":
        return _renamed(settings, row, value)
    new = replace(row, name=value) if member == "name" else replace(row, value=value)
    return replace(settings, **{f"{what}s": _replaced(rows, new)})  # type: ignore[arg-type]  # both are rows


def with_another_dimension(settings: Settings) -> Settings:
    """The settings with one more dimension, the slowest in both layouts."""
    name = _free_name(settings, _NAMES, "d", {row.name for row in settings.dimensions})
    longer = replace(settings, dimensions=(*settings.dimensions, Row(settings.next_key, name, "4")))
    return _with_layouts(longer, lambda text: _add_dimension(text, name))


def with_another_field(settings: Settings) -> Settings:
    """The settings with one more field, of the dtype of the last one."""
    name = _free_name(settings, ("value",), "f", {row.name for row in settings.fields})
    dtype = settings.fields[-1].value if settings.fields else "float32"
    return replace(settings, fields=(*settings.fields, Row(settings.next_key, name, dtype)))


def without_dimension(settings: Settings, key: int) -> Settings:
    """The settings without a dimension.

    Raises:
        InputError: it is gone.
    """
    lost = _row(settings.dimensions, key)
    shorter = without_lost_rows(replace(settings, dimensions=tuple(row for row in settings.dimensions if row != lost)))
    return _with_layouts(shorter, lambda text: _remove_dimension(text, lost.in_layouts))


def without_field(settings: Settings, key: int) -> Settings:
    """The settings without a field.

    Raises:
        InputError: it is gone.
    """
    lost = _row(settings.fields, key)
    return without_lost_rows(replace(settings, fields=tuple(row for row in settings.fields if row != lost)))


def without_lost_rows(settings: Settings) -> Settings:
    """The settings with a part that names no removed rows."""
    rows = [row.key for row in settings.dimensions], [row.key for row in settings.fields]
    return replace(settings, part=settings.part.of_rows(*rows))


def _renamed(settings: Settings, row: Row, name: str) -> Settings:
    """The settings with a dimension renamed, in the layouts too; an invalid name is not propagated to the layouts."""
    others = {text for other in settings.dimensions if other.key != row.key for text in (other.name, other.in_layouts)}
    good = _is_dimension(name) and name not in others
    new = replace(row, name=name, kept="" if good else row.in_layouts)
    question = settings.layout_question
    if good and question is not None:
        settings = replace(settings, layout_question=question.with_dimension(row.in_layouts, name))
    changed = replace(settings, dimensions=_replaced(settings.dimensions, new))
    return _with_layouts(changed, lambda text: _rename_dimension(text, row.in_layouts, name)) if good else changed


def _is_dimension(name: str) -> bool:
    """Whether a dimension may have that name: F is the field space, and x_in reads as a digit of x."""
    from isoviz.layouts import IndexSpace

    try:
        IndexSpace.of({name: 1})
    except IsovizError:
        return False
    return True


def _row(rows: tuple[Row, ...], key: int) -> Row:
    for row in rows:
        if row.key == key:
            return row
    raise InputError(f"row {key}: it is not there, or not any more")


def _replaced(rows: tuple[Row, ...], new: Row) -> tuple[Row, ...]:
    return tuple(new if row.key == new.key else row for row in rows)


def _free_name(settings: Settings, wanted: tuple[str, ...], stem: str, taken: set[str]) -> str:
    numbered = (f"{stem}{number}" for number in range(settings.next_key + 1))
    return next(name for name in (*wanted, *numbered) if name not in taken)


def _with_layouts(settings: Settings, change: Callable[[str], str]) -> Settings:
    question = settings.layout_question
    return replace(
        settings,
        source=replace(settings.source, layout=change(settings.source.layout)),
        destination=replace(settings.destination, layout=change(settings.destination.layout)),
        layout_question=None if question is None else question.with_layouts(change),
    )


def _belongs(component: str, dim: str) -> bool:
    """Whether a component is the dimension or one of its digits: `x`, `x_in=4`, `x_2`."""
    match = _COMPONENT.fullmatch(component.strip())
    if match is None:
        return False
    name = match["name"]
    return name == dim or (name.startswith(f"{dim}_") and re.fullmatch(r"in|out|\d+", name[len(dim) + 1 :]) is not None)


def _components(text: str) -> tuple[str, list[str], str]:
    match = re.fullmatch(r"(\s*[<⟨]?\s*)(.*?)(\s*[>⟩]?\s*)", text, re.DOTALL)
    assert match is not None  # every part is optional
    return match[1], [part.strip() for part in match[2].split(",")] if match[2] else [], match[3]


def _add_dimension(text: str, dim: str) -> str:
    """The layout with a further dimension, slowest: `<x, F>` → `<x, F, y>`."""
    opening, parts, closing = _components(text)
    return f"{opening}{', '.join((*parts, dim))}{closing}"


def _remove_dimension(text: str, dim: str) -> str:
    """The layout without the digits of a dimension: `<x_in=4, F, x_out, y>` → `<F, y>`."""
    opening, parts, closing = _components(text)
    return f"{opening}{', '.join(part for part in parts if not _belongs(part, dim))}{closing}"


def _rename_dimension(text: str, old: str, new: str) -> str:
    """The layout with a dimension renamed: `<x_in=4, F, x_out>` → `<row_in=4, F, row_out>`."""
    opening, parts, closing = _components(text)
    return f"{opening}{', '.join(new + part[len(old) :] if _belongs(part, old) else part for part in parts)}{closing}"
