"""The transfer, its options and its plan: stages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, get_args

from isoviz.errors import InputError, IsovizError, LimitError, NoPathError
from isoviz.units import parse_bytes
from isoviz.widgets.consequences.catching import caught
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
    problems: dict[str, Problem], transfer: Transfer, machine: Machine, _memories: object, options: Options
) -> Plan | None:
    """The plan. Where there is none, the reason is told at the control that bars it."""
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
