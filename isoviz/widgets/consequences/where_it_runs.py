"""Whether this computer can carry a plan out, and the same transfer on this computer."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoviz.units import format_bytes
from isoviz.widgets.chosen.machine_choice import PresetMachine
from isoviz.widgets.chosen.settings import Settings
from isoviz.widgets.consequences.machines_made import LOCAL
from isoviz.widgets.state import Derived, State

if TYPE_CHECKING:
    from isoviz.layouts import Linearization
    from isoviz.machines import Machine


def where_it_runs(now: Derived) -> dict[str, Any]:
    """Whether this computer can carry the plan out: `not_runnable` says in words why it cannot."""
    if reason := _elsewhere(now):
        return {"not_runnable": reason, "offer_local": True}
    needed = sum(linear.nbytes for linear in _held_in_memory(now))
    free = available_memory()
    if free is not None and needed > free // 2:
        return {
            "not_runnable": f"A run would take {format_bytes(needed)} of memory; it may take half of the {format_bytes(free)} "
            "that are free. Choose smaller sizes.",
        }
    return {}


def _elsewhere(now: Derived) -> str:
    """Why the plan's memories are not those of this computer; "" where they are."""
    choice = now.settings.machine
    if isinstance(choice, PresetMachine):
        if choice.name == LOCAL:
            return ""
        return f"{choice.name} describes another computer: isoviz can plan on it, but not run there from here."
    from isoviz.backends.devices import ThisComputer

    assert now.plan is not None and now.machine is not None
    devices = ThisComputer()
    absent = [name for name in now.plan.every_memory if devices.memory(now.machine.memory(name)) is None]
    if not absent:
        return ""
    return f"This computer does not have {' and '.join(absent)}, and emulates only memories that are marked as emulated."


def _held_in_memory(now: Derived) -> list[Linearization]:
    """The ends that are not files."""
    assert now.machine is not None
    ends = ((now.source, now.settings.source), (now.destination, now.settings.destination))
    return [linear for linear, end in ends if linear is not None and str(now.machine.memory(end.memory).kind) != "DSK"]


def reason_not_to_run(state: State) -> str:
    """Why *Run* does nothing, in words; "" where it runs."""
    derived = state.derived
    if derived.problems.keys() - {"transfer"}:
        return "Correct the marked controls first: there is no plan to run."
    if derived.plan is None or "plan" in derived.stale:
        return "There is no plan to run."
    return derived.not_runnable


def available_memory() -> int | None:
    """Bytes of main memory that programs can still have; None where the system does not tell."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None


def local_settings(settings: Settings, machine: Machine | None) -> Settings:
    """The same transfer on this computer: files stay files, every other memory becomes main memory."""
    kinds = {memory.name: str(memory.kind) for memory in (machine.memories if machine is not None else ())}

    def here(name: str) -> str:
        return "node0.dsk" if kinds.get(name) == "DSK" else "node0.sys"

    return replace(
        settings,
        machine=PresetMachine(LOCAL),
        source=replace(settings.source, memory=here(settings.source.memory)),
        destination=replace(settings.destination, memory=here(settings.destination.memory)),
    )
