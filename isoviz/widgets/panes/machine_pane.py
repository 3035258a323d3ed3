"""The machine: its name, its drawing as text, and its parts where its canvas is shown."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypedDict

from isoviz.machines import draw
from isoviz.widgets.consequences.derive import LAYOUTS
from isoviz.widgets.consequences.rank_places import ranks_for
from isoviz.widgets.panes.canvas_parts import CanvasPart, canvas_part
from isoviz.widgets.panes.pane import pane
from isoviz.widgets.state import State

if TYPE_CHECKING:
    from isoviz.machines import Machine

CANVAS = "canvas"
"""Demanded, it is no stage: it asks for the parts of the machine."""


class MachinePart(TypedDict):
    """A machine: how many memories and channels it has, where its figures come from, and its drawing as text.

    `canvas` has its parts; null where no view shows them.
    """

    name: str
    memories: int
    channels: int
    provenance: str
    drawing: str
    canvas: CanvasPart | None


@pane("machine", "the machine", {"machine": LAYOUTS | {"machine", "memories", CANVAS}})
def machine_part(state: State) -> MachinePart | None:
    """What the machine pane shows: the last machine there was, None before the first."""
    machine = state.derived.machine
    if machine is None:
        return None
    whole = CANVAS in state.demanded
    ranks = ranks_for(machine, state.settings.machine) if whole else None
    return _machine(machine, whole, 0 if ranks is None or ranks.reason else ranks.count)


@lru_cache(maxsize=8)
def _machine(machine: Machine, whole: bool, ranks: int) -> MachinePart:
    return {
        "name": machine.name,
        "memories": len(machine.memories),
        "channels": len(machine.channels),
        "provenance": machine.provenance,
        "drawing": _drawing(machine.undrawn),
        "canvas": canvas_part(machine, ranks) if whole else None,
    }


@lru_cache(maxsize=8)
def _drawing(machine: Machine) -> str:
    """The drawing as text, the same wherever the memories lie on the canvas."""
    return draw(machine)
