"""The machine: its name and its drawing."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypedDict

from isoviz.machines import draw
from isoviz.widgets.state import State

if TYPE_CHECKING:
    from isoviz.machines import Machine


class MachinePart(TypedDict):
    """A machine: how many memories and channels it has, where its figures come from, and its drawing as text."""

    name: str
    memories: int
    channels: int
    provenance: str
    drawing: str


def machine_part(state: State) -> MachinePart | None:
    """What the machine pane shows: the last machine there was, None before the first."""
    return None if state.derived.machine is None else _machine(state.derived.machine)


@lru_cache(maxsize=8)
def _machine(machine: Machine) -> MachinePart:
    return {
        "name": machine.name,
        "memories": len(machine.memories),
        "channels": len(machine.channels),
        "provenance": machine.provenance,
        "drawing": draw(machine),
    }
