"""The transfer and its plan."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, get_args

from isoviz.errors import InputError, IsovizError, LimitError, NoPathError
from isoviz.units import parse_bytes
from isoviz.widgets.chosen.settings import Settings
from isoviz.widgets.consequences.catching import caught
from isoviz.widgets.contract import Side
from isoviz.widgets.state import Derived, Problem

if TYPE_CHECKING:
    from isoviz.layouts import FieldSpace, IndexSpace
    from isoviz.machines import Machine
    from isoviz.planner import Options


def check_memories(settings: Settings, machine: Machine, problems: dict[str, Problem]) -> None:
    """Note at its control each memory that the machine does not have."""
    for side in get_args(Side):
        name = settings.end(side).memory
        caught(partial(machine.memory, name), f"{side}-memory", problems)


def planned(now: Derived, space: IndexSpace | None, fields: FieldSpace | None, problems: dict[str, Problem]) -> Derived | None:
    """What was derived, with the transfer and its plan; None where a problem keeps it from being planned."""
    from isoviz.layouts import Layout
    from isoviz.planner import Transfer, plan

    settings, machine = now.settings, now.machine
    assert machine is not None and space is not None and fields is not None
    options = _options(settings, problems)
    if problems:
        return None
    transfer = caught(
        lambda: Transfer.whole(
            space, fields,
            settings.source.memory, Layout(settings.source.layout),
            settings.destination.memory, Layout(settings.destination.layout),
        ),
        "transfer", problems,
    )  # fmt: skip
    if transfer is None or options is None:
        return None
    try:
        found = plan(transfer, machine, options=options)
    except LimitError as error:
        control = "memory-limit" if settings.memory_limit.strip() else "slot-limit"
        problems[control if settings.memory_limit.strip() or settings.slot_limit.strip() else "transfer"] = Problem.of(error)
        return None
    except NoPathError as error:
        problems["destination-memory"] = Problem.of(error)
        return None
    except IsovizError as error:
        problems["transfer"] = Problem.of(error)
        return None
    return replace(now, transfer=transfer, plan=found)


def _options(settings: Settings, problems: dict[str, Problem]) -> Options | None:
    from isoviz.planner import Options

    def size(text: str) -> int | None:
        found = parse_bytes(text) if text.strip() else None
        if found == 0:
            raise InputError("expected at least one byte, such as 32 MiB")
        return found

    planner = caught(lambda: Options(planner=settings.planner), "planner", problems)
    slot = caught(lambda: Options(slot_limit=size(settings.slot_limit)), "slot-limit", problems)
    memory = caught(lambda: Options(memory_limit=size(settings.memory_limit)), "memory-limit", problems)
    if problems or planner is None or slot is None or memory is None:
        return None
    return Options(planner.planner, slot.slot_limit, memory.memory_limit)
