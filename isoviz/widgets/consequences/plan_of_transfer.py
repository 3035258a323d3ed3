"""The transfer, its options and its plan: stages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, get_args

from isoviz.errors import InputError, IsovizError, LimitError, NoPathError
from isoviz.units import parse_bytes
from isoviz.widgets.chosen.settings import ByHand
from isoviz.widgets.consequences.catching import caught
from isoviz.widgets.consequences.what_if_plan import planned
from isoviz.widgets.contract import Side
from isoviz.widgets.state import Problem

if TYPE_CHECKING:
    from isoviz.layouts import Linearization
    from isoviz.machines import Machine, Memory
    from isoviz.planner import Options, Plan, Transfer
    from isoviz.widgets.consequences.part_of_transfer import Box, Turn


def memories_of(problems: dict[str, Problem], machine: Machine, source: str, destination: str) -> Mapping[Side, Memory] | None:
    """The memories of both ends; None where the machine lacks one, which is told at its control."""
    found: dict[Side, Memory] = {}
    for side, name in zip(get_args(Side), (source, destination), strict=True):
        memory = caught(partial(machine.memory, name), f"{side}-memory", problems)
        if memory is not None:
            found[side] = memory
    return found if len(found) == 2 else None


def transfer_of(
    problems: dict[str, Problem],
    source: Linearization,
    destination: Linearization,
    source_memory: str,
    destination_memory: str,
    part: Box,
    turn: Turn,
) -> Transfer | None:
    """The transfer of a part from one end to the other."""
    from isoviz.planner import Instance, Transfer

    def make() -> Transfer:
        here = Instance(source_memory, source.space, source.fields, source.layout)
        there = Instance(destination_memory, destination.space, destination.fields, destination.layout)
        box = (part.shape, part.source_origin, part.destination_origin)
        return Transfer(here, there, *box, part.field_names, turn.priority)

    return caught(make, "transfer", problems)


def plan_of(
    problems: dict[str, Problem],
    transfer: Transfer,
    machine: Machine,
    _memories: object,
    options: Options,
    by_hand: tuple[ByHand | None],
) -> Plan | None:
    """The plan of the planner or by hand. Where there is none, the reason is told at the control that bars it."""
    if by_hand[0] is not None:
        return _by_hand(problems, transfer, machine, options, by_hand[0])
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


def _by_hand(
    problems: dict[str, Problem], transfer: Transfer, machine: Machine, options: Options, by_hand: ByHand
) -> Plan | None:
    """The plan by hand. What is wrong is told at the layout of the buffer, at the chunk, or at the path."""
    from isoviz.layouts import Layout

    before = len(problems)
    for place, text in enumerate(by_hand.layouts):
        caught(lambda text=text: Layout(text).on(transfer.space, transfer.fields), f"by-hand-layout:{place}", problems)  # type: ignore[misc]
    if by_hand.chunk.strip():
        caught(lambda: parse_bytes(by_hand.chunk), "by-hand-chunk", problems)
    if len(problems) > before:
        return None
    return caught(lambda: planned(transfer, machine, options, by_hand), "by-hand-path", problems)


def options_of(problems: dict[str, Problem], planner: str, slot_limit: str, memory_limit: str) -> Options | None:
    """The options of the planner; None where one cannot be."""
    from isoviz.planner import Options

    def size(text: str) -> int | None:
        found = parse_bytes(text) if text.strip() else None
        if found == 0:
            raise InputError("expected at least one byte, such as 32 MiB")
        return found

    named = caught(lambda: Options(planner=planner), "planner", problems)
    slot = caught(lambda: Options(slot_limit=size(slot_limit)), "slot-limit", problems)
    memory = caught(lambda: Options(memory_limit=size(memory_limit)), "memory-limit", problems)
    if named is None or slot is None or memory is None:
        return None
    return Options(named.planner, slot.slot_limit, memory.memory_limit)
