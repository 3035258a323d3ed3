"""The result of `find_layout` as a JSON object, in bytes and seconds."""

from __future__ import annotations

from typing import Any

from isoviz.checks import expect
from isoviz.planner.layout_choice.choice import LayoutChoice, RankedLayout


def layout_choice_to_json(choice: LayoutChoice) -> dict[str, Any]:
    """A result of `find_layout` as a JSON object."""
    expect("layout choice", choice, LayoutChoice, "a result of find_layout")
    array = choice.array
    return {
        "memory": array.memory,
        "space": array.space.as_dict(),
        "fields": array.fields.as_dict(),
        "machine": choice.machine_name,
        "options": choice.options.as_dict(),
        "uses": [
            {
                "kind": use.kind,
                "memory": use.memory or array.memory,
                "layout": None if use.layout is None else str(use.layout),
                "dim": use.dim or None,
                "weight": use.weight,
                "shape": dict(use.shape),
                "fields": list(use.fields),
            }
            for use in choice.uses
        ],
        "candidates": [_candidate(each) for each in choice.candidates],
        "front": [_candidate(each) for each in choice.front],
        "considered": choice.considered,
        "plans": choice.plans,
        "stopped": choice.stopped,
        "emulated": list(choice.emulated),
    }


def _candidate(each: RankedLayout) -> dict[str, Any]:
    return {
        "layout": str(each.layout),
        "weighted": each.weighted,
        "seconds": list(each.times),
        "padding_bytes": each.padding,
        "runs": dict(each.runs),
    }
