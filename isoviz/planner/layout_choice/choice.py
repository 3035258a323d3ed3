"""The result of `find_layout`: ranked layouts, and what each of them gains and costs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoviz import checks
from isoviz.checks import expect
from isoviz.document import Cell, Code, Document, Picture, Points, Quantity, Table, Told
from isoviz.errors import InputError
from isoviz.layouts import Layout
from isoviz.machines.memory import emulated_text
from isoviz.planner.layout_choice.use import Use
from isoviz.planner.options import Options
from isoviz.planner.plan_file import fields_at, layout_at, space_at
from isoviz.planner.transfer import Instance, Transfer
from isoviz.public_method import PublicMethod
from isoviz.schema import read_document
from isoviz.units import format_bytes, format_seconds, format_share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoviz.schema import Node


@dataclass(frozen=True)
class RankedLayout:
    """A layout that was planned for every use.

    `times` are the predicted seconds of each use, once; `weighted` is the sum of weight × seconds. `padding` is the bytes that
    belong to no entry. `runs` are pairs (dimension, contiguous bytes along it): of whole entries where `F` is fastest, else of a
    mean field.
    """

    layout: Layout
    weighted: float
    times: tuple[float, ...]
    padding: int
    runs: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        return f"{self.layout}: {format_seconds(self.weighted)}"


MOST_PLOTS = 3
"""Pairs of uses that have a plot: those of the first uses."""


@dataclass(frozen=True, repr=False)
class LayoutChoice(Told):
    """Layouts for an array that is used in several ways, the best first.

    `array` is the array in the best layout. `candidates` are ranked: the least weighted time first; of times that differ by less
    than a thousandth, the layout with fewer components. `front` are the layouts that no other planned layout beats in every use.
    `options` are those of each plan. `considered` counts the layouts that the search reached and that meet the demands, `plans`
    the plans that were made. `stopped` says that the search ended before it had planned all layouts that may be better.
    `emulated` names the memories that are emulated.

    `choice.to_json()` is `isoviz.planner.layout_choice_to_json(choice)`. `LayoutChoice.from_json(data)` makes an equal choice
    from that object or its text.
    """

    array: Instance
    uses: tuple[Use, ...]
    machine_name: str
    machine_digest: str
    options: Options
    candidates: tuple[RankedLayout, ...]
    front: tuple[RankedLayout, ...]
    considered: int
    plans: int
    stopped: bool
    emulated: tuple[str, ...] = ()

    to_json = PublicMethod("isoviz.planner", "layout_choice_to_json")
    from_json = PublicMethod("isoviz.planner", "layout_choice_from_json", of_class=True)

    @property
    def best(self) -> RankedLayout:
        """The first candidate."""
        return self.candidates[0]

    def trade_off(self, first: int = 0, second: int = 1) -> tuple[RankedLayout, ...]:
        """The layouts that no other layout beats in both of two uses, beginning with the fastest in `first`.

        Raises:
            InputError: there is no use of that number.
        """
        most = len(self.uses) - 1
        one = checks.count("trade-off", "first", first, high=most)
        two = checks.count("trade-off", "second", second, high=most)
        found: list[RankedLayout] = []
        for each in sorted(self.front, key=lambda each: (each.times[one], each.times[two], each.weighted)):
            if not found or each.times[two] < found[-1].times[two]:
                found.append(each)
        return tuple(found)

    def transfers(self, candidate: RankedLayout | None = None) -> tuple[Transfer, ...]:
        """The transfers of the uses with a candidate's layout (None: the best one), for `isoviz.plan`."""
        chosen = self.best if candidate is None else candidate
        checks.expect("layout choice", chosen, RankedLayout, "a candidate or None")
        array = Instance(self.array.memory, self.array.space, self.array.fields, chosen.layout)
        return tuple(use.transfer(array) for use in self.uses)

    def document(self) -> Document:
        """The uses, the ranked layouts, and the trade-offs between pairs of uses."""
        numbers = range(1, len(self.uses) + 1)
        payload = self.array.space.volume * self.array.fields.nbytes
        rows: list[tuple[Cell, ...]] = [
            (
                *(Quantity(seconds, "seconds") for seconds in (each.weighted, *each.times)),
                Code(str(each.layout)),
                format_share(each.padding / payload) if each.padding else "none",
                ", ".join(f"{dim} {format_bytes(run)}" for dim, run in each.runs),
            )
            for each in self.candidates
        ]
        header = ("weighted", *(f"use {number}" for number in numbers), "layout", "padding", "runs along")
        pairs = itertools.islice(itertools.combinations(range(len(self.uses)), 2), MOST_PLOTS)
        title = f"Layouts of ({self.array.space}; {self.array.fields}) in {self.array.memory} on {self.machine_name}"
        return Document(
            title,
            [
                Points([f"use {number}: {format_weight(use.weight)} × {use}" for number, use in enumerate(self.uses, 1)]),
                Table(header, rows, "The least weighted time first", marked=[0]),
                Points([f"{self.effort}.", *filter(None, [emulated_text(self.emulated)])]),
                *[Picture("trade_off_figure", (self, *pair)) for pair in pairs if len(self.trade_off(*pair)) > 1],
            ],
            f"{title}: {self.best.layout} is best",
        )

    @property
    def effort(self) -> str:
        """How many layouts were considered and planned, as a sentence."""
        ended = "stopped before all that may gain were planned" if self.stopped else "no other one of them can gain a thousandth"
        return f"{self.considered} layouts considered, {self.plans} plans made; {ended}"


def format_weight(weight: float) -> str:
    """A weight for people, such as `3` or `0.25`."""
    return f"{weight:.6g}"


# The result of `find_layout` as a JSON object, in bytes and seconds, and back.

FORMAT = "isoviz-layout-choice-1"
"""Name and version of the JSON form."""

_CHOICE = ("memory", "space", "fields", "machine", "machine_digest", "options", "uses", "candidates", "front")
_EFFORT = ("considered", "plans", "stopped", "emulated")
_USE = ("kind", "memory", "layout", "dim", "weight", "shape", "fields")
_RANKED = ("layout", "weighted", "seconds", "padding_bytes", "runs")


def layout_choice_to_json(choice: LayoutChoice) -> dict[str, Any]:
    """A result of `find_layout` as a JSON object. The memory of a use is null if it is the memory of the array."""
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
