"""3.0: a machine in which channels are missing, to be connected."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from isoviz.course.exercise import Exercise, Given, Kind, NotAnAnswer, Verdict, WrongModel
from isoviz.course.notebook_3.blocks_by_hand import machine
from isoviz.course.notebook_3.pictures import Drawn
from isoviz.errors import NoPathError, show
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, Machine
from isoviz.machines.edits.channel_edits import connected, fitting_kinds
from isoviz.machines.shortest_paths import shortest_path
from isoviz.planner import Transfer, plan_by_path

# Answers that are machines: a drawing to which channels are added. What was given in it stays as it is.

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


HOPS = 4
OTHERS = 6
"""Channels that are given besides one of the path."""
GPU, PINNED, REGISTERED, DISK, SYSTEM = "fbm0", "zcm", "reg", "dsk", "sys"


def chain_of(given: Given) -> list[str]:
    """The memories of the path that the rules allow, from source to destination."""
    here, there = given["ends"]
    if given["to_disk"]:
        return [f"{here}.{GPU}", f"{here}.{PINNED}", f"{here}.{REGISTERED}", f"{there}.{REGISTERED}", f"{there}.{DISK}"]
    return [f"{here}.{DISK}", f"{here}.{REGISTERED}", f"{there}.{REGISTERED}", f"{there}.{PINNED}", f"{there}.{GPU}"]


def _allowed(source: str, destination: str) -> bool:
    """Whether the rules of the machine allow a channel there."""
    (here, first), (there, second) = source.split("."), destination.split(".")
    ends = {first, second}
    if here != there:
        return ends == {REGISTERED}
    if GPU in ends:
        return ends <= {GPU, PINNED}
    return DISK not in ends or ends in ({DISK, SYSTEM}, {DISK, REGISTERED})


@lru_cache(maxsize=64)
def _drawn_machine(kept: tuple[str, ...]) -> Machine:
    """The machine of 3.1 with these channels alone."""
    names = set(kept)
    whole = machine()
    return replace(whole, name="unfinished", channels=tuple(each for each in whole.channels if each.name in names))


def machine_of(given: Given) -> Machine:
    """The machine that is given."""
    return _drawn_machine(tuple(given["channels"]))


def _draw(source: random.Random) -> dict[str, Any]:
    ends = source.choice((["node0", "node1"], ["node1", "node0"]))
    drawn: dict[str, Any] = {"ends": ends, "to_disk": source.random() < 0.5}
    path = list(pairwise(chain_of(drawn)))
    there = source.choice(path[1:3])  # one of the middle: the ends are what a learner draws
    others = [
        (each.source, each.destination)
        for each in machine().channels
        if _allowed(each.source, each.destination) and (each.source, each.destination) not in path and not each.is_self_loop
    ]
    while True:
        found = [there, *source.sample(others, OTHERS)]
        names = sorted(f"{here}->{destination}" for here, destination in found)
        made = {**drawn, "channels": names}
        if _hops(machine_of(made), made) is None and not _reaches_own(_missing(made), made):
            return made


def _hops(drawn: Machine, given: Given) -> int | None:
    ends = chain_of(given)
    try:
        return len(shortest_path(drawn, ends[0], ends[-1]))
    except NoPathError:
        return None


def _missing(given: Given) -> tuple[Added, ...]:
    there = set(given["channels"])
    added = [(here, to) for here, to in pairwise(chain_of(given)) if f"{here}->{to}" not in there]
    return KIND.read(added, given)


def _reversed(given: Given) -> tuple[Added, ...]:
    there = set(given["channels"])
    turned = [(each.destination, each.source) for each in _missing(given)]
    return KIND.read([pair for pair in turned if "->".join(pair) not in there] or turned, given)


def _direct(given: Given) -> tuple[Added, ...]:
    """The GPU joined with the network itself."""
    path = chain_of(given)
    pairs = [(path[0], path[3]), (path[3], path[4])] if given["to_disk"] else [(path[0], path[1]), (path[1], path[4])]
    there = set(given["channels"])
    return KIND.read([pair for pair in pairs if "->".join(pair) not in there], given)


def _own_node(given: Given) -> tuple[Added, ...]:
    """A path to the disk, or the GPU, of the same node."""
    here, there = given["ends"][0], set(given["channels"])
    path = [each.replace(given["ends"][1], here) for each in chain_of(given)]
    pairs = [pair for pair in pairwise(dict.fromkeys(path)) if "->".join(pair) not in there]
    return KIND.read(pairs, given)


def _detour(given: Given) -> tuple[Added, ...]:
    """By way of the system's memory at the disk."""
    path, there = chain_of(given), set(given["channels"])
    disk = path[-1] if given["to_disk"] else path[0]
    system = f"{disk.split('.')[0]}.{SYSTEM}"
    longer = [*path[:-1], system, path[-1]] if given["to_disk"] else [path[0], system, *path[1:]]
    return KIND.read([pair for pair in pairwise(longer) if "->".join(pair) not in there], given)


def _gap(given: Given) -> tuple[Added, ...]:
    return _missing(given)[1:]


def _is_reversed(added: Sequence[Added], given: Given) -> bool:
    turned = {(each.destination, each.source) for each in _missing(given)}
    return any((each.source, each.destination) in turned for each in added)


def _reaches_own(added: Sequence[Added], given: Given) -> bool:
    ends = chain_of(given)
    own = ends[-1].replace(given["ends"][1], given["ends"][0])
    try:
        shortest_path(KIND.built(added, given), ends[0], own)
    except NoPathError:
        return False
    return True


def _judge(added: tuple[Added, ...], given: Given) -> Verdict:
    made = KIND.built(added, given)
    ends = chain_of(given)
    words: dict[str, object] = {"source": ends[0], "destination": ends[-1], "added": len(added)}

    def verdict(says: str, model: str = "") -> Verdict:
        text = MISSING_CHANNELS.text("says", says, given=given, **words)
        cost_text = MISSING_CHANNELS.text("cost", given=given, **words) if says == "right" else ""
        return Verdict(says == "right", text, words, lambda: _picture(made, given), cost_text, model)

    broken = next((each for each in added if not each.kind or not _allowed(each.source, each.destination)), None)
    if broken is not None:
        words |= {"from": broken.source, "to": broken.destination}
        return verdict("rule", "too-direct")
    hops = _hops(made, given)
    reached = ", ".join(_reached(made, ends[0]))
    words["hops"], words["reached"] = hops, f"to {reached}" if reached else "nowhere"
    if hops is None:
        model = "one-way" if _is_reversed(added, given) else "own-node" if _reaches_own(added, given) else "gap"
        return verdict("none", model)
    if hops == HOPS:
        return verdict("right")
    words["before"], words["after"] = _skipped(made, given)
    return verdict("long", "detour")


def _skipped(made: Machine, given: Given) -> tuple[str, str]:
    """Two memories on a path with too many hops, with one between them that the rules do not ask for."""
    ends = chain_of(given)
    path = [ends[0], *(channel.destination for channel in shortest_path(made, ends[0], ends[-1]))]
    return next((here, there) for here, there in zip(path, path[2:], strict=False) if _allowed(here, there))


def _reached(made: Machine, source: str) -> list[str]:
    """The memories to which data get from a source."""
    found, waiting = {source}, [source]
    while waiting:
        at = waiting.pop()
        if at != source and not made.memory(at).holds_buffers:
            continue
        for channel in made.outgoing(at):
            if channel.destination not in found:
                found.add(channel.destination)
                waiting.append(channel.destination)
    return sorted(found - {source})


def _picture(made: Machine, given: Given) -> Any:
    def drawn() -> str:
        from isoviz.figures import path_svg

        ends = chain_of(given)
        try:
            path = shortest_path(made, ends[0], ends[-1])
        except NoPathError:
            return path_svg(made)
        transfer = Transfer.whole(IndexSpace(x=1 << 20), FieldSpace(value="uint8"), ends[0], "<F, x>", ends[-1], "<F, x>")
        return path_svg(made, plan_by_path(transfer, made, [ends[0], *(each.destination for each in path)]), cards=False)

    return Drawn(drawn)


def _words(given: Given) -> dict[str, object]:
    ends = chain_of(given)
    return {
        "source": ends[0],
        "destination": ends[-1],
        "path": " → ".join(ends),
        "there": "; ".join(name.replace("->", " → ") for name in given["channels"]),
        "missing": "; ".join(f"{each.source} → {each.destination}" for each in _missing(given)),
        "own": ends[-1].replace(given["ends"][1], given["ends"][0]),
        "other_node": given["ends"][1],
    }


def _pane(given: Given, check: Callable[[Any], Any]) -> Any:
    from isoviz.widgets import MachineEditor

    return MachineEditor(machine_of(given), check=check, fixed=True)


KIND = MachineAnswer(machine_of)
MISSING_CHANNELS = Exercise(
    "3.0",
    KIND,
    _draw,
    _judge,
    (
        WrongModel("too-direct", _direct),
        WrongModel("one-way", _reversed),
        WrongModel("own-node", _own_node),
        WrongModel("detour", _detour),
        WrongModel("gap", _gap),
    ),
    _missing,
    words=_words,
    pane=_pane,
)
