"""The state as the browser gets it: plain JSON, quantities as numbers. The contract is `isoviz.widgets.contract`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from isoviz.widgets.chosen.machine_choice import PresetMachine
from isoviz.widgets.chosen.menus import menus
from isoviz.widgets.chosen.settings import Row, Settings
from isoviz.widgets.contract import Refusal, ShownColour, ShownMachineChoice, ShownProblem, ShownRow, ShownSettings, Concerns
from isoviz.widgets.panes.pane_table import PANES
from isoviz.widgets.state import Problem, Refused, State


class Snapshot(Concerns):
    """The whole state: what is common to all panes, and in `panes` the part of each, by its name in the table of panes."""

    panes: Mapping[str, Mapping[str, object] | None]


def snapshot(state: State, revision: int) -> Snapshot:
    """The state as one JSON object."""
    derived = state.derived
    return {
        "revision": revision,
        "acknowledged": dict(state.acknowledged),
        "settled": state.settled,
        "step": derived.step,
        "notice": state.notice,
        "defect": state.defect,
        "refusal": None if state.refused is None else _refusal(state.refused),
        "canUndo": bool(state.past),
        "canRedo": bool(state.future),
        "settings": _settings(state.settings),
        "menus": menus(derived.machine),
        "problems": {name: _problem(problem) for name, problem in derived.problems.items()},
        "stale": sorted(derived.stale),
        "palette": _palette(tuple(row.name for row in state.settings.dimensions)),
        "panes": {name: part(state) for name, part in PANES.items()},
    }


def pictures(state: State) -> dict[str, str]:
    """The pictures by name, as SVG."""
    return dict(state.derived.pictures)


def _settings(settings: Settings) -> ShownSettings:
    choice = settings.machine
    machine: ShownMachineChoice = (
        {"kind": "preset", "name": choice.name, "options": dict(choice.options)}
        if isinstance(choice, PresetMachine)
        else {"kind": "described", "name": choice.name, "options": {}}
    )
    return {
        "machine": machine,
        "dimensions": _rows(settings.dimensions),
        "fields": _rows(settings.fields),
        "source": {"memory": settings.source.memory, "layout": settings.source.layout},
        "destination": {"memory": settings.destination.memory, "layout": settings.destination.layout},
        "planner": settings.planner,
        "slotLimit": settings.slot_limit,
        "memoryLimit": settings.memory_limit,
    }


def _rows(rows: tuple[Row, ...]) -> list[ShownRow]:
    return [{"key": row.key, "name": row.name, "value": row.value} for row in rows]


def _refusal(refused: Refused) -> Refusal:
    return {"kind": refused.kind, "client": refused.client, "number": refused.number, "message": refused.message}


def _problem(problem: Problem) -> ShownProblem:
    return {"message": problem.message, "text": problem.text, "position": problem.position}


@lru_cache(maxsize=64)
def _palette(dims: tuple[str, ...]) -> dict[str, ShownColour]:
    """The colours that the pictures give the dimensions and F."""
    from isoviz.figures import FIELD_COLOUR, colour, dimension_tokens

    tokens = dimension_tokens(dims) | {"F": FIELD_COLOUR}
    return {dim: {"light": colour(token, "light"), "dark": colour(token, "dark")} for dim, token in tokens.items()}
