"""The result of `find_layout`: ranked layouts, and what each of them gains and costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.layouts import Layout
from isoviz.planner.options import Options
from isoviz.planner.transfer import Instance, Transfer
from isoviz.public_method import PublicMethod
from isoviz.units import format_bytes, format_seconds, format_share

if TYPE_CHECKING:
    from isoviz.planner.layout_choice.use import Use


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


@dataclass(frozen=True)
class LayoutChoice:
    """Layouts for an array that is used in several ways, the best first.

    `array` is the array in the best layout. `candidates` are ranked: the least weighted time first; of times that differ by less
    than a thousandth, the layout with fewer components. `front` are the layouts that no other planned one beats in every use.
    `options` are those of each plan. `considered` counts the layouts that met the demands and that the search came to, `plans`
    the plans that were made. `stopped` says that the search ended before all of these layouts that may gain were planned.
    `emulated` names the memories that are emulated.

    `choice.to_json()` is `isoviz.planner.layout_choice_to_json(choice)`. `LayoutChoice.from_json(data)` makes an equal choice of
    it or of its text.
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
        """What is gained against what: the layouts that no other one beats in both of two uses, the fastest in `first` leading.

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

    def __str__(self) -> str:
        from isoviz.machines.memory import emulated_text

        space, fields = self.array.space, self.array.fields
        lines = [f"layouts of ({space}; {fields}) in {self.array.memory} on {self.machine_name}, the least weighted time first"]
        lines += [f"use {number}: {format_weight(use.weight)} × {use}" for number, use in enumerate(self.uses, 1)]
        names = ["weighted", *(f"use {number}" for number in range(1, len(self.uses) + 1)), "layout", "padding", "runs"]
        lines += _columns([names, *(self._row(each) for each in self.candidates)])
        lines.append(self.effort)
        if said := emulated_text(self.emulated):
            lines.append(said)
        return "\n".join(lines)

    @property
    def effort(self) -> str:
        """What was looked at, as a sentence."""
        ended = "stopped before all that may gain were planned" if self.stopped else "no other one of them can gain a thousandth"
        return f"{self.considered} layouts considered, {self.plans} plans made; {ended}"

    def _row(self, each: RankedLayout) -> list[str]:
        padding = format_share(each.padding / (self.array.space.volume * self.array.fields.nbytes)) if each.padding else "none"
        runs = ", ".join(f"{dim} {format_bytes(run)}" for dim, run in each.runs)
        return [*(format_seconds(seconds) for seconds in (each.weighted, *each.times)), str(each.layout), padding, runs]


def format_weight(weight: float) -> str:
    """A weight for people, such as `3` or `0.25`."""
    return f"{weight:.6g}"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
