"""Answers that are machines: a drawing to which channels are added. What was given in it stays as it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from isoviz.course.exercise import Given, Kind, NotAnAnswer
from isoviz.errors import show
from isoviz.machines import Channel, Machine
from isoviz.machines.edits.channel_edits import connected, fitting_kinds

MOST_ADDED = 60


@dataclass(frozen=True, order=True)
class Added:
    """A channel that a learner added: its ends and its kind, "" where no machine can have a channel there."""

    source: str
    destination: str
    kind: str = ""


@dataclass(frozen=True)
class MachineAnswer(Kind):
    """A machine with further channels: a pane, an `isoviz.Machine`, or the ends of the channels as pairs of names.

    `machine` is the one that is given. Its memories and channels have to be there unchanged; where they stand on the drawing
    does not matter. Figures of added channels are not read.
    """

    machine: Callable[[Given], Machine]

    def read(self, answer: object, given: Given) -> tuple[Added, ...]:
        """The channels that were added, each once, in alphabetical order."""
        views = sys.modules.get("isoviz.widgets.views.machine_editor")
        if views is not None and isinstance(answer, views.MachineEditor):
            answer = answer.answer()
        if isinstance(answer, Machine):
            return self._added(answer, self.machine(given))
        if isinstance(answer, list | tuple) and answer and all(_is_pair(each) for each in answer):
            return self._checked([Added(*map(str, each)) for each in answer], given)
        raise NotAnAnswer(f"expected the pane, a machine, or pairs such as [('node0.sys', 'node0.reg')], got {show(answer)}")

    def keep(self, read: Any) -> Any:
        """Ends and kind of each."""
        return [[each.source, each.destination, each.kind] for each in read]

    def again(self, kept: Any, given: Given) -> tuple[Added, ...]:
        """The channels that were kept."""
        if not isinstance(kept, list) or not all(_is_triple(each) for each in kept):
            raise NotAnAnswer("expected channels, each by its source, destination and kind")
        return self._checked([Added(*each) for each in kept], given)

    def built(self, added: Iterable[Added], given: Given) -> Machine:
        """The given machine with these channels, but for those that no machine can have.

        Raises:
            MachineError: there is no such memory, or no channel of this kind may lead there.
        """
        machine = self.machine(given)
        for each in added:
            if fitting_kinds(machine.memory(each.source), machine.memory(each.destination)):
                machine, _name = connected(machine, each.source, each.destination, each.kind)
        return machine

    def _checked(self, added: list[Added], given: Given) -> tuple[Added, ...]:
        """The channels with their kinds. Those that no machine can have are kept without one, for the judge to tell."""
        if len(added) > MOST_ADDED:
            raise NotAnAnswer(f"expected at most {MOST_ADDED} channels, got {len(added)}")
        built, machine = self.built(added, given), self.machine(given)
        ends = [(machine.memory(each.source), machine.memory(each.destination)) for each in added]
        impossible = {Added(here.name, there.name) for here, there in ends if not fitting_kinds(here, there)}
        return tuple(sorted({*self._added(built, machine), *impossible}))

    def _added(self, machine: Machine, given: Machine) -> tuple[Added, ...]:
        if set(machine.undrawn.memories) != set(given.undrawn.memories):
            raise NotAnAnswer("a memory was added, removed or changed; expected those of the exercise, as they were")
        if machine.networks != given.networks:
            raise NotAnAnswer("a network was added or changed; expected channels alone")
        there = {channel.name: channel for channel in machine.channels}
        for channel in given.channels:
            if channel.name not in there or not _is_same(there.pop(channel.name), channel):
                raise NotAnAnswer(f"the channel {channel.name} was removed or changed; expected it as it was")
        return tuple(sorted({Added(each.source, each.destination, str(each.kind)) for each in there.values()}))


def _is_same(one: Channel, other: Channel) -> bool:
    return (one.source, one.destination, one.kind, one.throughput) == (
        other.source,
        other.destination,
        other.kind,
        other.throughput,
    )


def _is_pair(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(each, str) for each in value)


def _is_triple(value: object) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(each, str) for each in value)
