"""The fixed parts of the settings: a change of one of them is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from isoviz.widgets.chosen.machine_choice import THIS_COMPUTER, DescribedMachine
from isoviz.widgets.chosen.settings import Settings

if TYPE_CHECKING:
    from isoviz.machines import Machine

FixedPart = Literal["array", "transfer", "machine", "path"]
"""What can stay as a whole: the dimensions and fields; they with both ends, what moves, the planner and the limits; the machine;
the hops of the path, or of the paths."""


class ShownFixed(TypedDict):
    """What stays as it was given. `planner`: whether the planner may plan again. `memories`, `channels` and `resources` are the
    names of those of the machine that stay, while others may be added; they are empty where everything may change.
    """

    parts: list[FixedPart]
    planner: bool
    memories: list[str]
    channels: list[str]
    resources: list[str]


@dataclass(frozen=True)
class FixedParts:
    """The parts of `settings` that stay, by name.

    `paths` are the paths, where they stay: what each may be called, by its channels or by its memories. The memories, channels
    and resources of the machine `given` stay, while others may be added beside them; None: all may change.
    """

    settings: Settings
    parts: frozenset[FixedPart] = frozenset()
    paths: tuple[frozenset[tuple[str, ...]], ...] = ()
    given: Machine | None = None

    def broken_by(self, settings: Settings) -> str:
        """What settings change that stays, in a sentence; "" where they change nothing of it."""
        for part, stays in _STAYS.items():
            if part in self.parts and not stays(self, settings):
                return _SENTENCES[part]
        return "" if self.given is None else self._broken_given(self.given, settings)

    @property
    def shown(self) -> ShownFixed:
        """What the browser gets."""
        given = self.given
        return {
            "parts": sorted(self.parts),
            "planner": "path" not in self.parts or self.settings.by_hand is None,
            "memories": [] if given is None else [each.name for each in given.memories],
            "channels": [] if given is None else [each.name for each in given.channels],
            "resources": [] if given is None else [each.name for each in given.resources],
        }

    def _broken_given(self, given: Machine, settings: Settings) -> str:
        if settings.machine == self.settings.machine:
            return ""
        if not isinstance(settings.machine, DescribedMachine):
            return "The machine is given: memories and channels can be added to it, another one cannot be chosen."
        changed = given_part_that_differs(given, settings.machine.machine)
        return (
            f"{changed[:1].upper()}{changed[1:]} is given: it stays as it is. What you add beside it can be changed."
            if changed
            else ""
        )


def given_part_that_differs(given: Machine, machine: Machine) -> str:
    """The first part of a machine that another one lacks, or has otherwise: "the memory 'node0.sys'"; "" where it has all."""
    after, given = machine.undrawn, given.undrawn
    kinds: tuple[tuple[str, Iterable[Any], Iterable[Any]], ...] = (
        ("memory", given.memories, after.memories),
        ("channel", given.channels, after.channels),
        ("shared resource", given.resources, after.resources),
        ("network", given.networks, after.networks),
    )
    for what, before, now in kinds:
        there = {each.name: each for each in now}
        for each in before:
            if there.get(each.name) != each:
                return f"the {what} {each.name!r}"
    return "" if after.limits == given.limits else "the way in which the machine limits buffers"


def _array(fixed: FixedParts, after: Settings) -> bool:
    return _entries(fixed.settings) == _entries(after)


def _entries(settings: Settings) -> object:
    return [[(row.name, row.value) for row in rows] for rows in (settings.dimensions, settings.fields)]


def _transfer(fixed: FixedParts, after: Settings) -> bool:
    return _array(fixed, after) and _of_transfer(fixed.settings) == _of_transfer(after)


def _of_transfer(settings: Settings) -> Settings:
    """The settings without the array, and without what is not of the transfer."""
    return replace(settings, dimensions=(), fields=(), machine=THIS_COMPUTER, by_hand=None, layout_question=None, runs_in="")


def _machine(fixed: FixedParts, after: Settings) -> bool:
    return fixed.settings.machine == after.machine


def _path(fixed: FixedParts, after: Settings) -> bool:
    hand = after.by_hand
    if hand is None:
        return fixed.settings.by_hand is None and _transfer(fixed, after) and _machine(fixed, after)
    paths = [each.path for each in hand.paths] or [hand.path]
    return len(paths) == len(fixed.paths) and all(path in names for path, names in zip(paths, fixed.paths, strict=True))


_STAYS: Mapping[FixedPart, Callable[[FixedParts, Settings], bool]] = {
    "array": _array,
    "machine": _machine,
    "transfer": _transfer,
    "path": _path,
}
"""Whether a part is as it was given, in the order in which changes are told of."""
_SENTENCES: Mapping[FixedPart, str] = {
    "array": "The array is given: its dimensions and fields stay as they are.",
    "transfer": "The transfer is given: its array, its ends and its limits stay as they are.",
    "machine": "The machine is given: it stays as it is.",
    "path": "The path is given: it keeps its hops. The layouts of its buffers, their blocks and the chunk can be changed.",
}
