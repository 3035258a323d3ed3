"""The result of `find_layout` as a JSON object, in bytes and seconds, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoviz.checks import expect
from isoviz.errors import InputError
from isoviz.planner.layout_choice.choice import LayoutChoice, RankedLayout
from isoviz.planner.layout_choice.use import Use
from isoviz.planner.options import Options
from isoviz.planner.plan_file import fields_at, layout_at, space_at
from isoviz.planner.transfer import Instance
from isoviz.schema import read_document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoviz.schema import Node

FORMAT = "isoviz-layout-choice-1"
"""Name and version of the JSON form."""

_CHOICE = ("memory", "space", "fields", "machine", "machine_digest", "options", "uses", "candidates", "front")
_EFFORT = ("considered", "plans", "stopped", "emulated")
_USE = ("kind", "memory", "layout", "dim", "weight", "shape", "fields")
_RANKED = ("layout", "weighted", "seconds", "padding_bytes", "runs")


def layout_choice_to_json(choice: LayoutChoice) -> dict[str, Any]:
    """A result of `find_layout` as a JSON object. The memory of a use is null where it is that of the array."""
    expect("layout choice", choice, LayoutChoice, "a result of find_layout")
    array = choice.array
    return {
        "format": FORMAT,
        "memory": array.memory,
        "space": array.space.as_dict(),
        "fields": array.fields.as_dict(),
        "machine": choice.machine_name,
        "machine_digest": choice.machine_digest,
        "options": choice.options.as_dict(),
        "uses": [
            {
                "kind": use.kind,
                "memory": use.memory or None,
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


def layout_choice_from_json(data: Mapping[str, Any] | str) -> LayoutChoice:
    """The result of a JSON object that `layout_choice_to_json` made, or of its text.

    Raises:
        InputError: the object is invalid; the message names the place.
    """
    return read_document(data, "a layout choice", "layout choice", InputError, _choice)


def _choice(root: Node) -> LayoutChoice:
    root.check_format(FORMAT)
    parts = root.members(("format", *_CHOICE, *_EFFORT))
    uses = tuple(map(_use, parts["uses"].items()))
    candidates = tuple(_ranked(each, len(uses)) for each in parts["candidates"].items())
    if not candidates:
        parts["candidates"].fail("expected a list of at least one layout, got none")
    spaces = space_at(parts["space"]), fields_at(parts["fields"])
    array = parts["candidates"].made(Instance, parts["memory"].read(str), *spaces, candidates[0].layout)
    return LayoutChoice(
        array,
        uses,
        parts["machine"].read(str),
        parts["machine_digest"].read(str),
        _options(parts["options"]),
        candidates,
        tuple(_ranked(each, len(uses)) for each in parts["front"].items()),
        parts["considered"].read(int),
        parts["plans"].read(int),
        parts["stopped"].read(bool),
        tuple(name.read(str) for name in parts["emulated"].items()),
    )


def _options(node: Node) -> Options:
    node.members((), Options.__match_args__)  # raises where another name stands there
    return node.made(lambda: Options(**node.table()))


def _use(node: Node) -> Use:
    parts = node.members(_USE)
    memory, dim, layout = parts["memory"].read(str | None), parts["dim"].read(str | None), parts["layout"]
    return node.made(
        Use,
        parts["kind"].read(str),
        memory or "",
        None if layout.value is None else layout_at(layout),
        dim or "",
        parts["weight"].number(),
        tuple(parts["shape"].table().items()),
        tuple(name.read(str) for name in parts["fields"].items()),
    )


def _ranked(node: Node, uses: int) -> RankedLayout:
    parts = node.members(_RANKED)
    times = tuple(each.number() for each in parts["seconds"].items())
    if len(times) != uses:
        parts["seconds"].fail(f"expected {uses} numbers, one for every use, got {len(times)}")
    return RankedLayout(
        layout_at(parts["layout"]),
        parts["weighted"].number(),
        times,
        parts["padding_bytes"].read(int),
        tuple((dim, run.number()) for dim, run in parts["runs"].entries()),
    )
