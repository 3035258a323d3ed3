"""Stages from what was typed to a plan: the spaces, both ends, what moves and when, the transfer, its options, its plan.

A stage takes what was typed as `typed_<name>` (`isoviz.widgets.chosen.settings`) and the outputs of other stages by their names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar, get_args

from isoviz.errors import InputError, IsovizError, LimitError, NoPathError, NotationError, show
from isoviz.layouts.dtypes import is_gap
from isoviz.units import COUNTS, parse_bytes, parse_count
from isoviz.widgets.chosen.settings import ByHand, Part, Range, Row, TransferSettings
from isoviz.widgets.consequences.what_if_plan import planned
from isoviz.widgets.contract import Side
from isoviz.widgets.state import Problem

if TYPE_CHECKING:
    from isoviz.layouts import FieldSpace, IndexSpace, Layout, Linearization
    from isoviz.machines import Machine, Memory
    from isoviz.planner import Options, Plan, Transfer

T = TypeVar("T")

MOST_DIMENSIONS = 16
"""The largest number of dimensions that the explorer shows; widgets/src/model/layouts/spaces.ts has the same."""
MOST_PRIORITY = 1_000_000
"""Priorities lie between this number and its negative."""


@dataclass(frozen=True)
class MovedPart:
    """What moves: the extent of the box and its first indices at both ends, in the order of the dimensions, and the fields."""

    shape: tuple[int, ...]
    source_origin: tuple[int, ...]
    destination_origin: tuple[int, ...]
    field_names: tuple[str, ...]


@dataclass(frozen=True)
class Turn:
    """When a transfer begins, in seconds after the begin of all, and how urgent it is."""

    priority: int = 0
    begin: float = 0.0


def caught(action: Callable[[], T], control: str, problems: dict[str, Problem]) -> T | None:
    """The result, or None with the error noted at the control that caused it."""
    try:
        return action()
    except IsovizError as error:
        problems[control] = Problem.of(error)
        return None


def space_of(problems: dict[str, Problem], typed_dimensions: tuple[Row, ...]) -> IndexSpace | None:
    """The index space of the rows; None where a row is wrong."""
    from isoviz.layouts import IndexSpace

    def check(row: Row) -> int:
        size = parse_count(row.value)
        if size is None:
            problem = f"{show(row.value.strip())} is not a size" if row.value.strip() else "the size is missing"
            raise InputError(f"{problem}; expected one such as {COUNTS}")
        IndexSpace.of({row.name: size})
        return size

    if len(typed_dimensions) > MOST_DIMENSIONS:
        count = len(typed_dimensions)
        problems["dimensions"] = Problem(f"{count} dimensions are too many; the explorer shows up to {MOST_DIMENSIONS}")
        return None
    sizes = _rows(typed_dimensions, "dimension", check, problems)
    return None if sizes is None else caught(lambda: IndexSpace.of(sizes), "dimensions", problems)


def fields_of(problems: dict[str, Problem], typed_fields: tuple[Row, ...]) -> FieldSpace | None:
    """The field space of the rows; None where a row is wrong."""
    from isoviz.layouts import FieldSpace

    def check(row: Row) -> str:
        FieldSpace.of({row.name: row.value.strip() or None})
        return row.value.strip()

    dtypes = _rows(typed_fields, "field", check, problems)
    return None if dtypes is None else caught(lambda: FieldSpace.of(dtypes), "fields", problems)


def _rows(rows: tuple[Row, ...], what: str, check: Callable[[Row], T], problems: dict[str, Problem]) -> dict[str, T] | None:
    values: dict[str, T] = {}
    names: set[str] = set()
    for row in rows:
        if row.name in names:
            problems[f"{what}:{row.key}"] = Problem(f"Two {what}s are called {row.name!r}; give this one another name")
            continue
        names.add(row.name)
        value = caught(partial(check, row), f"{what}:{row.key}", problems)
        if value is not None:
            values[row.name] = value
    return values if len(values) == len(rows) else None


def source_of(
    problems: dict[str, Problem],
    source_layout: str,
    typed_dimensions: tuple[Row, ...],
    space: IndexSpace | None,
    fields: FieldSpace | None,
) -> Linearization | None:
    """The linearization of the source; None where its text does not fit the spaces."""
    return linear_layout(problems, "source-layout", source_layout, typed_dimensions, space, fields)


def destination_of(
    problems: dict[str, Problem],
    destination_layout: str,
    typed_dimensions: tuple[Row, ...],
    space: IndexSpace | None,
    fields: FieldSpace | None,
) -> Linearization | None:
    """The linearization of the destination; None where its text does not fit the spaces."""
    return linear_layout(problems, "destination-layout", destination_layout, typed_dimensions, space, fields)


def linearization_of(settings: TransferSettings, side: str, problems: dict[str, Problem]) -> Linearization | None:
    """The linearization of one end of some settings; None where something is wrong with it or with the spaces."""
    space, fields = space_of(problems, settings.dimensions), fields_of(problems, settings.fields)
    return linear_layout(problems, f"{side}-layout", settings.end(side).layout, settings.dimensions, space, fields)


def linear_layout(
    problems: dict[str, Problem],
    control: str,
    text: str,
    dimensions: tuple[Row, ...],
    space: IndexSpace | None,
    fields: FieldSpace | None,
) -> Linearization | None:
    """The layout of one end on the spaces; None where it does not fit them. It is read even where the spaces are wrong.

    A name that is not a dimension is told before all else: what else is wrong with the text may follow from it.
    """
    from isoviz.layouts import Layout
    from isoviz.layouts.notation import end_of

    names = [row.in_layouts for row in dimensions]
    named = caught(lambda: _known_dimensions(text, names), control, problems)
    layout = None if named is None else caught(lambda: Layout(text), control, problems)
    if named is None or layout is None:
        return None
    for name in names:
        if name not in layout.dims:
            problems[control] = Problem(f"Dimension {show(name)} is missing", text, end_of(text))
            return None
    if space is None or fields is None:
        return None
    return caught(lambda: _fitting(layout, text, [at for _, at in named], space, fields), control, problems)


def _known_dimensions(text: str, names: list[str]) -> list[tuple[str, int]]:
    """The dimensions that a text names, with their positions.

    Raises:
        NotationError: one of them is not among `names`.
    """
    from isoviz.layouts.notation import named_dimensions

    named = named_dimensions(text)
    for dim, position in named:
        if dim not in names:
            raise NotationError(text, position, f"{show(dim)} is not a dimension", _listed(names) or "F alone")
    return named


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


def part_of(
    problems: dict[str, Problem],
    typed_part: Part,
    typed_dimensions: tuple[Row, ...],
    typed_fields: tuple[Row, ...],
    space: IndexSpace,
    _fields: FieldSpace,
) -> MovedPart | None:
    """The part of the array that moves; None where it cannot be, which is told at its controls."""
    ranges = [_range(typed_part.range_of(row.key), row.name, space[row.name], problems) for row in typed_dimensions]
    names = tuple([row.name for row in typed_fields if row.key not in typed_part.left_out and not is_gap(row.name)])
    if not names:
        problems["part-fields"] = Problem("No field moves; choose at least one")
    numbers = [each for each in ranges if each is not None]
    if not names or len(numbers) < len(ranges):
        return None
    first, extent, to = (tuple(each[place] for each in numbers) for place in range(3))  # there may be no dimension at all
    return MovedPart(extent, first, to, names)


def _range(given: Range, dim: str, size: int, problems: dict[str, Problem]) -> tuple[int, int, int] | None:
    """First index, extent, and first index at the destination."""

    def first() -> int:
        value = _whole(given.first, 0, "an index")
        if value >= size:
            raise InputError(f"the indices of {dim} are 0 to {size - 1}")
        return value

    def extent(start: int) -> int:
        value = _whole(given.extent, size - start, "a number of indices")
        if value < 1:
            raise InputError("at least one index has to move")
        if start + value > size:
            raise InputError(f"from index {start} on, {dim} has {size - start}")
        return value

    def goal(start: int, count: int) -> int:
        value = _whole(given.to, start, "an index")
        if value + count > size:
            raise InputError(f"{count} indices fit into {dim} from index {size - count} on at the latest")
        return value

    start = caught(first, f"part-first:{given.row}", problems)
    count = None if start is None else caught(partial(extent, start), f"part-extent:{given.row}", problems)
    if start is None or count is None:
        return None
    target = caught(partial(goal, start, count), f"part-to:{given.row}", problems)
    return None if target is None else (start, count, target)


def _whole(text: str, usual: int, what: str) -> int:
    text = text.strip()
    if not text:
        return usual
    count = parse_count(text)
    if count is None:
        raise InputError(f"{show(text)} is not {what}; expected a whole number of at least 0, such as {COUNTS}")
    return count


def turn_of(problems: dict[str, Problem], typed_priority: str, typed_begin: str) -> Turn | None:
    """When a transfer begins and how urgent it is; None where one of both cannot be."""

    def urgency() -> int:
        text = typed_priority.strip() or "0"
        if not re.fullmatch("[+-]?[0-9]{1,7}", text) or abs(int(text)) > MOST_PRIORITY:
            raise InputError(f"{show(typed_priority)} is not a priority; expected a whole number, such as 1")
        return int(text)

    def seconds() -> float:
        try:
            value = float(typed_begin.strip() or "0")
        except ValueError:
            value = math.nan
        if not 0 <= value <= 1e6:
            raise InputError(f"{show(typed_begin)} is not a time; expected seconds from 0 on, such as 0.005")
        return value

    first = caught(urgency, "transfer-priority", problems)
    second = caught(seconds, "transfer-begin", problems)
    return None if first is None or second is None else Turn(first, second)


def memories_of(
    problems: dict[str, Problem], machine: Machine, source_memory: str, destination_memory: str
) -> Mapping[Side, Memory] | None:
    """The memories of both ends; None where the machine lacks one, which is told at its control."""
    memories: dict[Side, Memory] = {}
    for side, name in zip(get_args(Side), (source_memory, destination_memory), strict=True):
        memory = caught(partial(machine.memory, name), f"{side}-memory", problems)
        if memory is not None:
            memories[side] = memory
    return memories if len(memories) == 2 else None


def transfer_of(
    problems: dict[str, Problem],
    source: Linearization,
    destination: Linearization,
    source_memory: str,
    destination_memory: str,
    part: MovedPart,
    turn: Turn,
    unplanned: str,
) -> Transfer | None:
    """The transfer of a part from one end to the other. None where an array at one end lies as no layout says."""
    from isoviz.planner import Instance, Transfer

    if unplanned:
        problems["transfer"] = Problem(unplanned)
        return None

    def make() -> Transfer:
        first = Instance(source_memory, source.space, source.fields, source.layout)
        last = Instance(destination_memory, destination.space, destination.fields, destination.layout)
        box = (part.shape, part.source_origin, part.destination_origin)
        return Transfer(first, last, *box, part.field_names, turn.priority)

    return caught(make, "transfer", problems)


def plan_of(
    problems: dict[str, Problem],
    transfer: Transfer,
    machine: Machine,
    _memories: Mapping[Side, Memory],
    options: Options,
    typed_by_hand: ByHand | None,
) -> Plan | None:
    """The plan of the planner or by hand. Where there is none, the reason is told at the control that bars it."""
    if typed_by_hand is not None:
        return _by_hand(problems, transfer, machine, options, typed_by_hand)
    from isoviz.planner import plan

    try:
        return plan(transfer, machine, options=options)
    except LimitError as error:
        limits = {"memory-limit": options.memory_limit, "slot-limit": options.slot_limit}
        chosen = [control for control, limit in limits.items() if limit is not None]
        problems[chosen[0] if chosen else "transfer"] = Problem.of(error)
    except NoPathError as error:
        problems["destination-memory"] = Problem.of(error)
    except IsovizError as error:
        problems["transfer"] = Problem.of(error)
    return None


def quick_plan_of(
    _problems: dict[str, Problem], transfer: Transfer, machine: Machine, options: Options, typed_by_hand: ByHand | None
) -> Plan | None:
    """A plan that is found at once, to be shown while `full` looks for a better one; None where another planner plans."""
    from isoviz.planner import plan

    if typed_by_hand is not None or options.planner != "full":
        return None
    with suppress(IsovizError):  # what is wrong is told by the plan itself
        return plan(transfer, machine, options=replace(options, planner="simple"))
    return None


def planners_plan_of(
    _problems: dict[str, Problem], transfer: Transfer, machine: Machine, options: Options, is_by_hand: bool
) -> Plan | None:
    """The plan of the planner, where there is one by hand: it stands beside it."""
    from isoviz.planner import plan

    with suppress(IsovizError):
        return plan(transfer, machine, options=options) if is_by_hand else None
    return None


def _by_hand(
    problems: dict[str, Problem], transfer: Transfer, machine: Machine, options: Options, by_hand: ByHand
) -> Plan | None:
    """The plan by hand. What is wrong is told at the layout of the buffer, at the chunk, or at the path."""
    from isoviz.layouts import Layout

    before = len(problems)
    for place, text in enumerate(by_hand.layouts):
        caught(lambda text=text: Layout(text).on(transfer.space, transfer.fields), f"by-hand-layout:{place}", problems)  # type: ignore[misc]
    for text in (by_hand.chunk, *(path.chunk for path in by_hand.paths)):
        if text.strip():
            caught(lambda text=text: parse_bytes(text), "by-hand-chunk", problems)  # type: ignore[misc]
    if len(problems) > before:
        return None
    return caught(lambda: planned(transfer, machine, options, by_hand), "by-hand-path", problems)


def options_of(
    problems: dict[str, Problem],
    typed_planner: str,
    typed_slot_limit: str,
    typed_memory_limit: str,
    typed_paths: str,
    typed_proxies: str,
    typed_reuse: str,
) -> Options | None:
    """The options of the planner; None where one cannot be."""
    from isoviz.planner import Options

    def size(text: str) -> int | None:
        nbytes = parse_bytes(text) if text.strip() else None
        if nbytes == 0:
            raise InputError("expected at least one byte, such as 32 MiB")
        return nbytes

    def count(text: str) -> int | None:
        return _whole(text, 0, "a number") if text.strip() else None

    named = caught(lambda: Options(planner=typed_planner), "planner", problems)
    slot = caught(lambda: Options(slot_limit=size(typed_slot_limit)), "slot-limit", problems)
    memory = caught(lambda: Options(memory_limit=size(typed_memory_limit)), "memory-limit", problems)
    paths = caught(lambda: Options(paths=count(typed_paths)), "paths", problems)
    proxies = caught(lambda: Options(proxies=count(typed_proxies)), "proxies", problems)
    reuse = caught(lambda: Options(reuse=count(typed_reuse)), "reuse", problems)
    if named is None or slot is None or memory is None or paths is None or proxies is None or reuse is None:
        return None
    return Options(
        named.planner,
        slot.slot_limit,
        memory.memory_limit,
        paths=paths.paths,
        proxies=proxies.proxies,
        reuse=reuse.reuse,
    )
