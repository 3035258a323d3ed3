"""What the user has entered, kept as it was typed: frozen values.

Text stays text here, right or wrong, so that a control always shows what was typed. What follows from it is found out by
`isoviz.widgets.consequences`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoviz.checks import expect
from isoviz.errors import InputError, show
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.widgets.chosen.by_hand import ByHand
from isoviz.widgets.chosen.machine_choice import THIS_COMPUTER, MachineChoice, PresetMachine, machine_choice
from isoviz.widgets.chosen.part import EVERYTHING, Part, Range

if TYPE_CHECKING:
    from isoviz.machines import Machine


RUNS_IN = ("", "process", "ranks")
"""Places for runs: this process, or MPI ranks on this computer. "" stands for the first of them that can run the plan."""


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
    """Everything that can be chosen in the explorer.

    `runs_in` is the place that was chosen for runs (`RUNS_IN`). `part` says what moves, `by_hand` is None where a planner plans.
    `name`, `priority` and `begin` (seconds after the begin of all) tell the transfer from the others of the session, `beside`:
    settings as well, on the same machine, whose `machine`, `runs_in`, `beside` and `place` say nothing. `key` stays with a
    transfer; `place` is where the transfer of these settings stands among all (`isoviz.widgets.chosen.transfers`).
    """

    machine: MachineChoice = THIS_COMPUTER
    dimensions: tuple[Row, ...] = (Row(1, "x", "2048"), Row(2, "y", "2048"))
    fields: tuple[Row, ...] = (Row(3, "re", "float32"), Row(4, "im", "float32"), Row(5, "weight", "float64"))
    source: End = End("node0.dsk", "<F, x, y>")
    destination: End = End("node0.sys", "<x, y, F>")
    planner: str = "auto"
    slot_limit: str = ""
    memory_limit: str = ""
    part: Part = EVERYTHING
    name: str = "Transfer 1"
    priority: str = "0"
    begin: str = "0"
    key: int = 1
    place: int = 0
    beside: tuple[Settings, ...] = ()
    by_hand: ByHand | None = None
    runs_in: str = ""

    def end(self, side: str) -> End:
        """The end called "source" or "destination"."""
        return self.source if side == "source" else self.destination

    def with_end(self, side: str, end: End) -> Settings:
        """The settings with another end called "source" or "destination"."""
        return replace(self, source=end) if side == "source" else replace(self, destination=end)

    @property
    def next_key(self) -> int:
        """A row key that no row has."""
        return 1 + max((row.key for row in (*self.dimensions, *self.fields)), default=0)


def rows(values: Mapping[str, Any], first_key: int) -> tuple[Row, ...]:
    """Rows for a mapping of names to sizes or dtypes."""
    return tuple(Row(first_key + place, name, str(value)) for place, (name, value) in enumerate(values.items()))


def by_name(argument: str, given: object, example: str) -> dict[str, Any]:
    """An argument with one value for each name, as a dict.

    Raises:
        InputError: it is something else; the message has an example of what would be right.
    """
    if isinstance(given, IndexSpace | FieldSpace):
        return dict(given.as_dict())
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise InputError(f"{argument}: expected a value for each name, such as {example}, got {show(given)}")
    return dict(given)


def settings_for(
    *,
    machine: str | Path | Machine | MachineChoice | None = None,
    machine_options: Mapping[str, Any] | None = None,
    space: Mapping[str, int] | IndexSpace | None = None,
    fields: Mapping[str, Any] | FieldSpace | None = None,
    source: Sequence[str] | None = None,
    destination: Sequence[str] | None = None,
    planner: str | None = None,
    slot_limit: str | int | None = None,
    memory_limit: str | int | None = None,
    part: Mapping[str, Sequence[str | int]] | None = None,
    moved_fields: Sequence[str] | None = None,
    by_hand: ByHand | None = None,
    runs_in: str | None = None,
    start: Settings | None = None,
) -> Settings:
    """`start` (the defaults unless given) with some values chosen; an end is (memory, layout).

    `machine` is the name of a preset, a machine, or the path of a machine file. Other dimensions than those of `start` get the
    layouts `<F, x, y, …>` for the source and `<x, y, …, F>` for the destination, where none are given. `part` says for some
    dimensions which indices move: (first index, extent), and the first index at the destination where it is another one.
    `moved_fields` names the fields that move. `runs_in` is one of `RUNS_IN`.

    Raises:
        InputError: another place for runs, an end that is not a pair, no value for each name, a part of a dimension or a field
            that is not there, a machine that is none of these, options for a machine that is no preset, or a file that cannot be
            read or describes no machine.
    """
    if by_hand is not None:
        expect("by_hand", by_hand, ByHand, "an isoviz.widgets.ByHand or None")
    chosen = start or Settings()
    if runs_in is not None and runs_in not in RUNS_IN:
        raise InputError(f"runs_in {show(runs_in)}: expected {', '.join(map(repr, RUNS_IN))}")
    if machine is not None:
        chosen = replace(chosen, machine=machine_choice(machine))
    if machine_options is not None:
        if not isinstance(chosen.machine, PresetMachine):
            raise InputError(f"machine_options: {chosen.machine.name!r} is a machine of its own; only presets take options")
        known = by_name("machine_options", machine_options, "{'nodes': 4}")
        options = tuple((name, str(value)) for name, value in known.items())
        chosen = replace(chosen, machine=PresetMachine(chosen.machine.name, options))
    if space is not None:
        before = [row.name for row in chosen.dimensions]
        sizes = by_name("space", space, "{'x': 64, 'y': 48}")
        chosen = replace(chosen, dimensions=rows(sizes, chosen.next_key))
        if list(sizes) != before:
            aos, soa = f"<{', '.join(('F', *sizes))}>", f"<{', '.join((*sizes, 'F'))}>"
            chosen = replace(
                chosen, source=replace(chosen.source, layout=aos), destination=replace(chosen.destination, layout=soa)
            )
    if fields is not None:
        chosen = replace(chosen, fields=rows(by_name("fields", fields, "{'re': 'f4', 'im': 'f4'}"), chosen.next_key))
    for side, given in (("source", source), ("destination", destination)):
        if given is not None:
            if not isinstance(given, tuple | list) or len(given) != 2:
                raise InputError(f"{side} {given!r}: expected a memory and a layout, such as ('node0.sys', '<F, x>')")
            chosen = chosen.with_end(side, End(str(given[0]), str(given[1])))
    chosen = replace(chosen, part=_part(chosen, part, moved_fields))
    return replace(
        chosen,
        planner=chosen.planner if planner is None else planner,
        slot_limit=chosen.slot_limit if slot_limit is None else str(slot_limit),
        memory_limit=chosen.memory_limit if memory_limit is None else str(memory_limit),
        by_hand=chosen.by_hand if by_hand is None else by_hand,
        runs_in=chosen.runs_in if runs_in is None else runs_in,
    )


def _part(chosen: Settings, part: Mapping[str, Sequence[str | int]] | None, moved_fields: Sequence[str] | None) -> Part:
    """The part that these arguments name, that of `chosen` where there are none."""
    dimensions, fields = {row.name: row.key for row in chosen.dimensions}, {row.name: row.key for row in chosen.fields}
    kept = chosen.part.of_rows(dimensions.values(), fields.values())
    ranges, left_out = kept.ranges, kept.left_out
    if part is not None:
        part = by_name("part", part, "{'x': (16, 32)}")
        for name, given in part.items():
            if name not in dimensions or isinstance(given, str) or not isinstance(given, Sequence) or not 2 <= len(given) <= 3:
                raise InputError(
                    f"part {name!r}: {given!r}; expected a dimension with (first index, extent) or (first index, extent, first "
                    "index at the destination)"
                )
        ranges = tuple(Range(dimensions[name], *map(str, given)) for name, given in part.items())
    if moved_fields is not None:
        if absent := [name for name in moved_fields if name not in fields]:
            raise InputError(f"moved_fields: {absent[0]!r} is not a field; the fields are {', '.join(fields)}")
        left_out = tuple(key for name, key in fields.items() if name not in moved_fields)
    return Part.of(ranges, left_out)


def transfer_text(settings: Settings) -> str:
    """The transfer in one line: `node0.dsk ⟨F, x⟩ → node0.sys ⟨x, F⟩`."""
    return f"{settings.source.memory} {settings.source.layout} → {settings.destination.memory} {settings.destination.layout}"
