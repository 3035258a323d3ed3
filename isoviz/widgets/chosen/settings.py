"""What the user has entered, as it was typed: frozen values, each declared once.

Text stays text here, right or wrong, so that a control always shows what was typed. `isoviz.widgets.consequences` computes what
follows from it. From the declarations of `TransferSettings` and `Settings` follow the session file (the form "file"), what the
browser gets (the form "wire") and its types, the commands that enter a text, and *Copy as Python*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, TypedDict, Unpack, get_args

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import InputError, show
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.layouts.dtypes import dtype_of, dtype_text
from isoviz.schema import As, left_out, member, members_of
from isoviz.widgets.chosen.layout_question import LayoutQuestion
from isoviz.widgets.chosen.machine_choice import (
    THIS_COMPUTER,
    KeptMachine,
    MachineChoice,
    PresetMachine,
    ShownMachineChoice,
    kept_machine,
    machine_choice,
    machine_of_file,
    shown_machine,
)

if TYPE_CHECKING:
    from isoviz.machines import MachineLike


RunsIn = Literal["", "process", "ranks"]
RUNS_IN: tuple[RunsIn, ...] = get_args(RunsIn)
"""Places for runs: this process, or MPI ranks on this computer. "" stands for the first of them that can run the plan."""


class Control(NamedTuple):
    """How the text of a setting is entered: the name of its control.

    In a `menu` every choice is a step to undo; elsewhere, texts that follow each other quickly are one. `of_any_transfer`: the
    control is that of a transfer in the list of transfers, not only of the one that is edited. `allowed` are the only texts
    (None: any).
    """

    name: str
    menu: bool = False
    of_any_transfer: bool = False
    allowed: tuple[str, ...] | None = None


def text_setting(
    default: str,
    control: str,
    *,
    menu: bool = False,
    of_any_transfer: bool = False,
    allowed: tuple[str, ...] | None = None,
    optional: bool = False,
) -> Any:
    """A setting that is one text, entered in one control.

    `optional`: session files may lack it, which then means the default. It holds for settings that are added to a format.
    """
    return member(default, optional=optional, about=Control(control, menu, of_any_transfer, allowed))


@dataclass(frozen=True)
class Row:
    """One line of a list that people edit: a dimension with its size, or a field with its dtype.

    `key` stays with the row while its name changes, so that an edit always meets the row it was meant for. While a dimension has
    an invalid name, `kept` is its last valid one: layouts go on with it.
    """

    wire_name: ClassVar = "ShownRow"

    key: int = member(file=left_out(0))
    name: str = member()
    value: str = member()
    kept: str = member("", wire=left_out(""))

    @property
    def in_layouts(self) -> str:
        """Its name in layouts."""
        return self.kept or self.name


@dataclass(frozen=True)
class End:
    """One end of a transfer: the name of a memory and the text of a layout.

    `unplanned` says why the array that lies there is no instance of this layout, so that nothing is planned; "" where it is one.
    """

    wire_name: ClassVar = "ShownChoice"

    memory: str
    layout: str
    unplanned: str = member("", optional=True, wire=left_out(""))


@dataclass(frozen=True)
class Range:
    """The indices of one dimension that move, as typed.

    `row` is the key of the dimension's row; in a session file, `dimension` is the number of the dimension. `first` and `extent`
    are at the source, `to` is the first index at the destination.
    "" stands for what is usual: from the first index, up to the last, to the same index.
    """

    wire_name: ClassVar = "ShownRange"

    row: int = member(file=As(key="dimension"))
    first: str = ""
    extent: str = ""
    to: str = ""

    @property
    def is_everything(self) -> bool:
        """Whether nothing was typed."""
        return not (self.first.strip() or self.extent.strip() or self.to.strip())


@dataclass(frozen=True)
class Part:
    """What moves: the ranges of some dimensions (all indices of the others), and the keys of the rows of fields that stay."""

    wire_name: ClassVar = "ShownPart"

    ranges: tuple[Range, ...] = ()
    left_out: tuple[int, ...] = ()

    @classmethod
    def of(cls, ranges: Iterable[Range], left_out: Iterable[int]) -> Part:
        """A part in the one form in which equal parts are equal."""
        kept = sorted((each for each in ranges if not each.is_everything), key=lambda each: each.row)
        return cls(tuple(kept), tuple(sorted(set(left_out))))

    def of_rows(self, dimensions: Iterable[int], fields: Iterable[int]) -> Part:
        """The part without the ranges and fields of rows that are gone."""
        rows, field_rows = set(dimensions), set(fields)
        return Part.of((each for each in self.ranges if each.row in rows), (key for key in self.left_out if key in field_rows))

    def range_of(self, row: int) -> Range:
        """The range of the dimension whose row has this key."""
        return next((each for each in self.ranges if each.row == row), Range(row))


EVERYTHING = Part()
"""All entries with all their fields."""


@dataclass(frozen=True)
class PathShare:
    """One of several paths by hand. `share` is its part of the bytes, relative to the shares of the others.

    `path` has the names of its channels, or of the memories that it leads through. `layouts` and `chunk` are as in `ByHand`.
    """

    wire_name: ClassVar = "ShownPathShare"

    share: float
    path: tuple[str, ...]
    layouts: tuple[str, ...] = ()
    chunk: str = ""

    def __post_init__(self) -> None:
        for name in ("path", "layouts"):
            object.__setattr__(self, name, checks.names(f"path by hand, {name}", getattr(self, name), "texts"))
        expect("path by hand, chunk", self.chunk, str, "the size of a chunk as text")
        object.__setattr__(self, "share", checks.number("path by hand", "share", self.share, low=0.0))


@dataclass(frozen=True)
class ByHand:
    """A path by hand: the names of its channels, and the layouts of its buffers as text, one for each hop but the last.

    `chunk` is the size of a chunk as typed; "" takes the one of the least time. `target` is the throughput in bytes per second
    for which the constraints are judged; None takes the most that the path sustains. Where `paths` are given, the plan has these
    paths, and `path`, `layouts` and `chunk` stay empty. `name` says what this plan is, such as "The paper's plan". An edit takes
    the name away.
    """

    wire_name: ClassVar = "ShownByHand"

    path: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()
    chunk: str = ""
    target: float | None = None
    paths: tuple[PathShare, ...] = member((), optional=True)
    name: str = member("", optional=True)

    def __post_init__(self) -> None:
        for name in ("path", "layouts"):
            object.__setattr__(self, name, checks.names(f"path by hand, {name}", getattr(self, name), "texts"))
        expect("path by hand, chunk", self.chunk, str, "the size of a chunk as text")
        expect("path by hand, name", self.name, str, "a few words")
        for path in self.paths:
            expect("paths by hand", path, PathShare, "an isoviz.widgets.PathShare for each path")
        if self.target is not None:
            object.__setattr__(self, "target", checks.amount("path by hand", "target", self.target))


@dataclass(frozen=True, kw_only=True)
class TransferSettings:
    """Everything that can be chosen for one transfer.

    `key` stays with a transfer. `name`, `priority` and `begin` (seconds after the begin of all) distinguish it from the others of
    the session. `part` says what moves; `by_hand` is None where a planner plans. `layout_question` is what is asked of *Find a
    layout*, None before somebody asks.
    """

    wire_name: ClassVar = "ShownTransfer"

    key: int = member(1, file=left_out(1))
    name: str = text_setting("Transfer 1", "transfer-name", of_any_transfer=True)
    priority: str = text_setting("0", "transfer-priority", of_any_transfer=True)
    begin: str = text_setting("0", "transfer-begin", of_any_transfer=True)
    dimensions: tuple[Row, ...] = (Row(1, "x", "2048"), Row(2, "y", "2048"))
    fields: tuple[Row, ...] = (Row(3, "re", "float32"), Row(4, "im", "float32"), Row(5, "weight", "float64"))
    source: End = End("node0.dsk", "<F, x, y>")
    destination: End = End("node0.sys", "<x, y, F>")
    part: Part = EVERYTHING
    planner: str = text_setting("full", "planner", menu=True)
    slot_limit: str = text_setting("", "slot-limit")
    memory_limit: str = text_setting("", "memory-limit")
    paths: str = text_setting("", "paths", optional=True)
    proxies: str = text_setting("", "proxies", optional=True)
    reuse: str = text_setting("", "reuse", optional=True)
    by_hand: ByHand | None = None
    layout_question: LayoutQuestion | None = member(None, optional=True)

    def end(self, side: str) -> End:
        """The end called "source" or "destination"."""
        return self.source if side == "source" else self.destination

    def with_end(self, side: str, end: End) -> Self:
        """The settings with another end called "source" or "destination"."""
        return replace(self, source=end) if side == "source" else replace(self, destination=end)

    @property
    def next_key(self) -> int:
        """A row key that no row has."""
        return 1 + max((row.key for row in (*self.dimensions, *self.fields)), default=0)

    def with_row_keys(self, dimensions: Sequence[int], fields: Sequence[int]) -> Self:
        """The same settings with other keys of their rows, in order. What the part says of rows that are gone is left out."""
        keys = {row.key: key for row, key in zip(self.dimensions, dimensions, strict=True)}
        field_keys = {row.key: key for row, key in zip(self.fields, fields, strict=True)}
        part = self.part.of_rows(keys, field_keys)
        return replace(
            self,
            dimensions=tuple(replace(row, key=keys[row.key]) for row in self.dimensions),
            fields=tuple(replace(row, key=field_keys[row.key]) for row in self.fields),
            part=Part.of((replace(each, row=keys[each.row]) for each in part.ranges), (field_keys[key] for key in part.left_out)),
        )


@dataclass(frozen=True, kw_only=True)
class Settings(TransferSettings):
    """Everything that can be chosen in the explorer: the transfer that is edited, and what it shares with the others.

    `machine` is the machine of all transfers. `runs_in` is the place that was chosen for runs (`RUNS_IN`). `beside` are the other
    transfers, `place` is where the edited one stands among all (`isoviz.widgets.chosen.transfers`).
    """

    wire_name: ClassVar = "ShownSettings"

    machine: MachineChoice = member(
        THIS_COMPUTER,
        wire=As(kind=ShownMachineChoice, write=shown_machine),
        file=As(kind=KeptMachine, write=kept_machine, read=machine_of_file),
    )
    runs_in: str = text_setting("", "runs-in", menu=True, allowed=RUNS_IN)
    place: int = 0
    beside: tuple[TransferSettings, ...] = ()


@lru_cache(maxsize=1)
def controls() -> dict[str, tuple[str, Control]]:
    """The controls of the settings that are one text: by name, the attribute of `Settings` and what is declared of it."""
    return {each.about.name: (each.name, each.about) for each in members_of(Settings) if each.about is not None}


class TextSettings(TypedDict, total=False):
    """Arguments of `settings_for` and `explore` for settings that are one text; sizes may be numbers of bytes."""

    planner: str | None
    slot_limit: str | int | None
    memory_limit: str | int | None
    paths: str | int | None
    proxies: str | int | None
    reuse: str | int | None
    runs_in: str | None


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


def _dtype_texts(given: object) -> dict[str, str]:
    """The dtypes of fields as they would be typed. What is typed wrongly stays: its row shows the mistake."""
    texts = {}
    for name, value in by_name("fields", given, "{'re': 'f4', 'im': 'f4'}").items():
        try:
            texts[name] = value if isinstance(value, str) else dtype_text(dtype_of(value))
        except ValueError as error:
            raise InputError(f"fields: {name!r} is {show(value)}, no NumPy dtype ({error})") from None
    return texts


def settings_for(
    *,
    machine: MachineLike | MachineChoice | None = None,
    machine_options: Mapping[str, Any] | None = None,
    space: Mapping[str, int] | IndexSpace | None = None,
    fields: Mapping[str, Any] | FieldSpace | None = None,
    source: Sequence[str] | None = None,
    destination: Sequence[str] | None = None,
    part: Mapping[str, Sequence[str | int]] | None = None,
    moved_fields: Sequence[str] | None = None,
    by_hand: ByHand | None = None,
    start: Settings | None = None,
    **texts: Unpack[TextSettings],
) -> Settings:
    """`start` (the defaults unless given) with some values chosen; an end is (memory, layout).

    `machine` is the name of a preset, a machine, or the path of a machine file. Other dimensions than those of `start` get the
    layouts `<F, x, y, …>` for the source and `<x, y, …, F>` for the destination, where none are given. `part` says for some
    dimensions which indices move: (first index, extent), and the first index at the destination where it is another one.
    `moved_fields` names the fields that move. `texts` are the settings that are one text, such as `planner="full"`; None leaves
    one as it is. `runs_in` is one of `RUNS_IN`.

    Raises:
        InputError: another place for runs, an end that is not a pair, no value for each name, a part of a dimension or a field
            that is not there, a machine that is none of these, options for a machine that is not a preset, or a file that cannot
            be read or describes no machine.
    """
    if by_hand is not None:
        expect("by_hand", by_hand, ByHand, "an isoviz.widgets.ByHand or None")
    chosen = start or Settings()
    chosen = replace(chosen, **_checked_texts(texts))
    if machine is not None:
        chosen = replace(chosen, machine=machine_choice(machine))
    if machine_options is not None:
        if not isinstance(chosen.machine, PresetMachine):
            raise InputError(f"machine_options: {chosen.machine.name!r} is a machine of its own; only presets take options")
        option_values = by_name("machine_options", machine_options, "{'nodes': 4}")
        options = tuple((name, str(value)) for name, value in option_values.items())
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
        chosen = replace(chosen, fields=rows(_dtype_texts(fields), chosen.next_key))
    for side, given in (("source", source), ("destination", destination)):
        if given is not None:
            if not isinstance(given, tuple | list) or len(given) != 2:
                raise InputError(f"{side} {given!r}: expected a memory and a layout, such as ('node0.sys', '<F, x>')")
            chosen = chosen.with_end(side, End(str(given[0]), str(given[1])))
    chosen = replace(chosen, part=_part(chosen, part, moved_fields))
    return chosen if by_hand is None else replace(chosen, by_hand=by_hand)


def _checked_texts(texts: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are one text and are given, as text."""
    control_of = {name: control for name, control in controls().values() if name in TextSettings.__annotations__}
    for name, value in texts.items():
        if name not in control_of:
            raise InputError(f"explore: unexpected argument {name!r}; expected {', '.join(control_of)}")
        allowed = control_of[name].allowed
        if value is not None and allowed is not None and not checks.is_one_of(value, allowed):
            raise InputError(f"{name} {show(value)}: expected {', '.join(map(repr, allowed))}")
    return {name: str(value) for name, value in texts.items() if value is not None}


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
        moved_fields = checks.names("explore", moved_fields, "names of fields")
        if absent := [name for name in moved_fields if name not in fields]:
            raise InputError(f"moved_fields: {absent[0]!r} is not a field; the fields are {', '.join(fields)}")
        left_out = tuple(key for name, key in fields.items() if name not in moved_fields)
    return Part.of(ranges, left_out)


def transfer_text(settings: TransferSettings) -> str:
    """The transfer in one line: `node0.dsk ⟨F, x⟩ → node0.sys ⟨x, F⟩`."""
    return f"{settings.source.memory} {settings.source.layout} → {settings.destination.memory} {settings.destination.layout}"
