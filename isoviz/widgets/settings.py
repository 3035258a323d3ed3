"""What the user has entered, kept as it was typed, and the edits that change it: frozen values and pure functions.

Text stays text here, wrong or not, so that a control always shows what was typed; `derive` says what it means.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from isoviz.errors import InputError, IsovizError

_NAMES = ("x", "y", "z", "w", "u", "v")
_COMPONENT = re.compile(r"(?P<name>[^\W\d]\w*)(?P<rest>\s*(?:=\s*\d*)?)")


@dataclass(frozen=True)
class Row:
    """One line of a list that people edit: a dimension with its size, or a field with its dtype.

    `key` stays with the row while its name changes, so that an edit always meets the row it was meant for. While a dimension has
    a name that cannot be, `kept` is the last one that could: layouts go on with it.
    """

    key: int
    name: str
    value: str
    kept: str = ""

    @property
    def in_layouts(self) -> str:
        """What layouts call it."""
        return self.kept or self.name


@dataclass(frozen=True)
class End:
    """One end of the transfer: the name of a memory and the text of a layout."""

    memory: str
    layout: str


@dataclass(frozen=True)
class Settings:
    """Everything that can be chosen in the explorer."""

    machine: str = "local"
    machine_options: tuple[tuple[str, str], ...] = ()
    dimensions: tuple[Row, ...] = (Row(1, "x", "2048"), Row(2, "y", "2048"))
    fields: tuple[Row, ...] = (Row(3, "re", "float32"), Row(4, "im", "float32"), Row(5, "weight", "float64"))
    source: End = End("node0.dsk", "<F, x, y>")
    destination: End = End("node0.sys", "<x, y, F>")
    planner: str = "auto"
    slot_limit: str = ""
    memory_limit: str = ""

    def end(self, side: str) -> End:
        """The end called "source" or "destination"."""
        return self.source if side == "source" else self.destination

    @property
    def next_key(self) -> int:
        """A row key that no row has."""
        return 1 + max((row.key for row in (*self.dimensions, *self.fields)), default=0)

    def to_json(self) -> dict[str, Any]:
        """The settings for the browser."""
        return {
            "machine": self.machine,
            "machineOptions": dict(self.machine_options),
            "dimensions": [{"key": row.key, "name": row.name, "value": row.value} for row in self.dimensions],
            "fields": [{"key": row.key, "name": row.name, "value": row.value} for row in self.fields],
            "source": {"memory": self.source.memory, "layout": self.source.layout},
            "destination": {"memory": self.destination.memory, "layout": self.destination.layout},
            "planner": self.planner,
            "slotLimit": self.slot_limit,
            "memoryLimit": self.memory_limit,
        }


def rows(values: Mapping[str, Any], first_key: int) -> tuple[Row, ...]:
    """Rows for a mapping of names to sizes or dtypes."""
    return tuple(Row(first_key + place, name, str(value)) for place, (name, value) in enumerate(values.items()))


def settings_for(
    *,
    machine: str | None = None,
    machine_options: Mapping[str, Any] | None = None,
    space: Mapping[str, int] | None = None,
    fields: Mapping[str, Any] | None = None,
    source: Sequence[str] | None = None,
    destination: Sequence[str] | None = None,
    planner: str | None = None,
    slot_limit: str | int | None = None,
    memory_limit: str | int | None = None,
    start: Settings | None = None,
) -> Settings:
    """`start` (the defaults unless given) with some values chosen; an end is (memory, layout).

    Dimensions other than those of `start` without a layout for an end give that end all fields together, `<F, x, y, …>`.
    """
    chosen = start or Settings()
    if machine is not None:
        chosen = replace(chosen, machine=machine, machine_options=())
    if machine_options is not None:
        chosen = replace(chosen, machine_options=tuple((name, str(value)) for name, value in machine_options.items()))
    if space is not None:
        before = [row.name for row in chosen.dimensions]
        chosen = replace(chosen, dimensions=rows(space, chosen.next_key))
        if list(space) != before:
            aos, soa = f"<{', '.join(('F', *space))}>", f"<{', '.join((*space, 'F'))}>"
            chosen = replace(
                chosen, source=replace(chosen.source, layout=aos), destination=replace(chosen.destination, layout=soa)
            )
    if fields is not None:
        chosen = replace(chosen, fields=rows(fields, chosen.next_key))
    for side, given in (("source", source), ("destination", destination)):
        if given is not None:
            if not isinstance(given, tuple | list) or len(given) != 2:
                raise InputError(f"{side} {given!r}: expected a memory and a layout, such as ('node0.sys', '<F, x>')")
            chosen = _with_end(chosen, side, End(str(given[0]), str(given[1])))
    return replace(
        chosen,
        planner=planner or chosen.planner,
        slot_limit=chosen.slot_limit if slot_limit is None else str(slot_limit),
        memory_limit=chosen.memory_limit if memory_limit is None else str(memory_limit),
    )


def edited(settings: Settings, command: Mapping[str, Any]) -> Settings:
    """The settings after one edit: `{"kind": "set", "field": …, "value": …}` and its relatives.

    Raises:
        InputError: not an edit, or of a row that is gone.
    """
    kind = command.get("kind")
    if kind == "set":
        return _set(settings, command)
    if kind == "add-dimension":
        name = _free_name(settings, _NAMES, "d", {row.name for row in settings.dimensions})
        added = replace(settings, dimensions=(*settings.dimensions, Row(settings.next_key, name, "4")))
        return _with_layouts(added, lambda text: add_dimension(text, name))
    if kind == "remove-dimension":
        row = _row(settings.dimensions, command)
        kept = tuple(other for other in settings.dimensions if other.key != row.key)
        return _with_layouts(replace(settings, dimensions=kept), lambda text: remove_dimension(text, row.in_layouts))
    if kind == "add-field":
        name = _free_name(settings, ("value",), "f", {row.name for row in settings.fields})
        dtype = settings.fields[-1].value if settings.fields else "float32"
        return replace(settings, fields=(*settings.fields, Row(settings.next_key, name, dtype)))
    if kind == "remove-field":
        row = _row(settings.fields, command)
        return replace(settings, fields=tuple(other for other in settings.fields if other.key != row.key))
    if kind == "swap":
        return replace(settings, source=settings.destination, destination=settings.source)
    raise InputError(f"command {kind!r}: not one that the explorer knows")


def _set(settings: Settings, command: Mapping[str, Any]) -> Settings:
    name, value = str(command.get("field")), str(command.get("value", ""))
    match name:
        case "machine":
            return replace(settings, machine=value, machine_options=())
        case "machine-option":
            options = dict(settings.machine_options) | {str(command.get("name")): value}
            return replace(settings, machine_options=tuple(options.items()))
        case "planner":
            return replace(settings, planner=value)
        case "slot-limit":
            return replace(settings, slot_limit=value)
        case "memory-limit":
            return replace(settings, memory_limit=value)
        case "source-memory" | "destination-memory":
            side = name.partition("-")[0]
            return _with_end(settings, side, replace(settings.end(side), memory=value))
        case "source-layout" | "destination-layout":
            side = name.partition("-")[0]
            return _with_end(settings, side, replace(settings.end(side), layout=value))
        case "dimension-size":
            row = _row(settings.dimensions, command)
            return replace(settings, dimensions=_replaced(settings.dimensions, replace(row, value=value)))
        case "dimension-name":
            return _renamed(settings, _row(settings.dimensions, command), value)
        case "field-dtype" | "field-name":
            row = _row(settings.fields, command)
            new = replace(row, value=value) if name == "field-dtype" else replace(row, name=value)
            return replace(settings, fields=_replaced(settings.fields, new))
    raise InputError(f"setting {name!r}: not one that the explorer knows")


def _renamed(settings: Settings, row: Row, name: str) -> Settings:
    """The settings with a dimension renamed, in the layouts too; a name that cannot be is not spread into them."""
    others = {text for other in settings.dimensions if other.key != row.key for text in (other.name, other.in_layouts)}
    good = _is_dimension(name) and name not in others
    new = replace(row, name=name, kept="" if good else row.in_layouts)
    changed = replace(settings, dimensions=_replaced(settings.dimensions, new))
    return _with_layouts(changed, lambda text: rename_dimension(text, row.in_layouts, name)) if good else changed


def _is_dimension(name: str) -> bool:
    """Whether a dimension may be called that: F is the field space, and x_in reads as a digit of x."""
    from isoviz.layouts import IndexSpace

    try:
        IndexSpace.of({name: 1})
    except IsovizError:
        return False
    return True


def _row(found: tuple[Row, ...], command: Mapping[str, Any]) -> Row:
    for row in found:
        if row.key == command.get("row"):
            return row
    raise InputError(f"{command.get('kind')}: the row {command.get('row')!r} is not there (any more)")


def _replaced(found: tuple[Row, ...], new: Row) -> tuple[Row, ...]:
    return tuple(new if row.key == new.key else row for row in found)


def _free_name(settings: Settings, wanted: tuple[str, ...], stem: str, taken: set[str]) -> str:
    numbered = (f"{stem}{number}" for number in range(settings.next_key + 1))
    return next(name for name in (*wanted, *numbered) if name not in taken)


def _with_end(settings: Settings, side: str, end: End) -> Settings:
    return replace(settings, source=end) if side == "source" else replace(settings, destination=end)


def _with_layouts(settings: Settings, change: Callable[[str], str]) -> Settings:
    return replace(
        settings,
        source=replace(settings.source, layout=change(settings.source.layout)),
        destination=replace(settings.destination, layout=change(settings.destination.layout)),
    )


# ---- edits of the text of a layout that leave the rest of it, right or wrong, as it was typed


def _belongs(component: str, dim: str) -> bool:
    """Whether a component is the dimension or one of its digits: `x`, `x_in=4`, `x_2`."""
    found = _COMPONENT.fullmatch(component.strip())
    if found is None:
        return False
    name = found["name"]
    return name == dim or (name.startswith(f"{dim}_") and re.fullmatch(r"in|out|\d+", name[len(dim) + 1 :]) is not None)


def _components(text: str) -> tuple[str, list[str], str]:
    found = re.fullmatch(r"(\s*[<⟨]?\s*)(.*?)(\s*[>⟩]?\s*)", text, re.DOTALL)
    assert found is not None  # every part is optional
    return found[1], [part.strip() for part in found[2].split(",")] if found[2] else [], found[3]


def add_dimension(text: str, dim: str) -> str:
    """The layout with a further dimension, slowest: `<x, F>` → `<x, F, y>`."""
    opening, parts, closing = _components(text)
    return f"{opening}{', '.join((*parts, dim))}{closing}"


def remove_dimension(text: str, dim: str) -> str:
    """The layout without the digits of a dimension: `<x_in=4, F, x_out, y>` → `<F, y>`."""
    opening, parts, closing = _components(text)
    return f"{opening}{', '.join(part for part in parts if not _belongs(part, dim))}{closing}"


def rename_dimension(text: str, old: str, new: str) -> str:
    """The layout with a dimension renamed: `<x_in=4, F, x_out>` → `<row_in=4, F, row_out>`."""
    opening, parts, closing = _components(text)
    return f"{opening}{', '.join(new + part[len(old) :] if _belongs(part, old) else part for part in parts)}{closing}"
