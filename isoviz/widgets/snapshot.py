"""The state as the browser gets it: plain JSON, quantities as numbers. The contract is `isoviz.widgets.contract`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from isoviz.schema import Named, plain
from isoviz.widgets.chosen.menus import NO_MENUS, menus
from isoviz.widgets.contract import (
    WIRE,
    Concerns,
    Refusal,
    ShownColour,
    ShownProblem,
)
from isoviz.widgets.panes.pane_table import PANES
from isoviz.widgets.state import Problem, Refused, State

PART = "part_"
"""The names of the traits that hold the parts of the panes begin with this."""


class Snapshot(Concerns):
    """The whole state: what is common to all panes, and in `panes` the part of each, by its name in the table of panes."""

    panes: Mapping[str, Mapping[str, object] | None]


def snapshot(state: State, revision: int, session: str = "") -> Snapshot:
    """The state as one JSON object. `session` is the name of the session."""
    derived = state.derived
    return {
        "frame": {
            "revision": revision,
            "session": session,
            "bothEnds": state.both_ends,
            "acknowledged": dict(state.acknowledged),
            "settled": state.settled,
            "step": derived.step,
            "notice": state.notice,
            "defect": state.defect,
            "refusal": None if state.refused is None else _refusal(state.refused),
            "canUndo": bool(state.past),
            "canRedo": bool(state.future),
            "fixed": None if state.fixed is None else state.fixed.shown,
        },
        "settings": plain(state.settings, WIRE),
        "menus": menus(derived.machine) if "machine" in state.demanded else NO_MENUS,
        "faults": {
            "problems": {name: _problem(problem) for name, problem in derived.problems.items()},
            "stale": sorted(derived.stale),
        },
        "palette": _palette(tuple(row.name for row in state.settings.dimensions)),
        "selected": state.selected.shown,
        "panes": {name: pane.part(state) for name, pane in PANES.items()},
    }


def traits(told: Snapshot) -> dict[str, Any]:
    """A snapshot as the traits of the widget: one for each concern and for the part of each pane."""
    concerns: dict[str, Any] = {name: value for name, value in told.items() if name != "panes"}
    return {**concerns, **{f"{PART}{name}": part for name, part in told["panes"].items()}}


def _refusal(refused: Refused) -> Refusal:
    return {"kind": refused.kind, "client": refused.client, "number": refused.number, "message": refused.message}


def _problem(problem: Problem) -> ShownProblem:
    return {"message": problem.message, "text": problem.text, "position": problem.position}


@lru_cache(maxsize=64)
def _palette(dims: tuple[str, ...]) -> Named[ShownColour]:
    """The colours that the pictures give the dimensions and F."""
    from isoviz.figures.charts.theme import FIELD_COLOUR, colour, dimension_tokens

    tokens = dimension_tokens(dims) | {"F": FIELD_COLOUR}
    return [(dim, {"light": colour(token, "light"), "dark": colour(token, "dark")}) for dim, token in tokens.items()]
