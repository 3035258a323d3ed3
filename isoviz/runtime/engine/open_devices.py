"""The real memories and channels of an engine, each opened once, and the dispatcher of each channel."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from os import PathLike
from typing import TYPE_CHECKING, Any

from isoviz.checks import expect
from isoviz.errors import EmptyArrayError, InputError, IsovizError, TransferError, show
from isoviz.layouts import Layout
from isoviz.layouts.given_arrays import is_flat
from isoviz.planner import Plan, Transfer, bundle
from isoviz.runtime.engine.dispatcher import Dispatcher
from isoviz.runtime.protocols import Bound, Holds

if TYPE_CHECKING:
    from isoviz.machines import Machine, Memory
    from isoviz.planner import Instance
    from isoviz.runtime.protocols import Devices, RealChannel, RealMemory

_YES, _PERHAPS = Holds.YES, Holds.PERHAPS
"""Small copies compare with these constants, because looking up an enum member takes as long as a call of `holds`."""


_MEMORY = ("slot", "source", "destination", "received", "holds", "describe")
_FLAGS = ("is_asynchronous", "at_once")
_CHANNEL = ("prepare", "requests_of_chunk", "is_asynchronous", "at_once", "release")
"""What devices of a caller must have at least; more of it is asked for where it is needed."""


def _check_device(what: str, found: object, parts: tuple[str, ...], words: str) -> None:
    """Check what devices, or a factory of a caller, made.

    Raises:
        InputError: it lacks a part.
    """
    for part in parts:
        if not callable(getattr(found, part, None)) and (part not in _FLAGS or not hasattr(found, part)):
            raise InputError(f"{what}: its devices made {show(found)} without {part!r}; expected {words} or None")


class OpenedDevices:
    """The devices of one machine on this computer, opened at their first use. Any thread may use it."""

    def __init__(self, machine: Machine, devices: Devices) -> None:
        for part in ("memory", "channel", "absence", "verify"):
            if not callable(getattr(devices, part, None)):
                raise InputError(f"engine: expected devices (isoviz.runtime.Devices), got {show(devices)} without {part}()")
        self.machine = machine
        self.devices = devices
        self._memories: dict[str, RealMemory] = {}
        self._all: tuple[RealMemory, ...] = ()
        self._channels: dict[str, tuple[RealChannel, Dispatcher]] = {}
        self._lock = threading.Lock()

    def memories(self, plan: Plan) -> list[list[RealMemory]]:
        """The memories of each path of a plan.

        Raises:
            InputError: it is no plan.
            TransferError: the plan is for another machine, this computer lacks one of its memories, or a memory cannot hold a
                buffer that the plan puts there.
        """
        expect("engine", plan, Plan, "a plan")
        if plan.machine_digest != self.machine.digest:
            raise TransferError(
                f"plan: made for a machine {plan.machine_name!r} that is not this engine's {self.machine.name!r} as it is now;"
                " plan again"
            )
        for hop in [hop for path in plan.paths for hop in path.hops[:-1]]:
            if not (memory := self.machine.memory(hop.destination)).holds_buffers:
                raise TransferError(
                    f"plan: hop {hop.index} leads to a buffer in {memory.name} ({memory.kind}), which holds none; plan again"
                )
        return [[self._memory(name) for name in path.memories] for path in plan.paths]

    def ends(
        self, source: Any, source_layout: Layout | str, destination: Any, destination_layout: Layout | str
    ) -> tuple[Instance, Instance] | None:
        """Both objects of a copy as instances; None for two empty arrays, which have none.

        Raises:
            TransferError: no memory of the machine on this computer accepts one of them.
            InputError: a layout does not fit.
        """
        try:
            here = self.describe(source, source_layout, None)
            return here, self.describe(destination, destination_layout, here)
        except InputError as error:
            if isinstance(error, EmptyArrayError) and error.holds is not None:
                try:
                    self.describe(destination, destination_layout, None)
                except InputError as other:
                    if isinstance(other, EmptyArrayError) and error.holds == other.holds:
                        return None
                raise
            if isinstance(destination, str | PathLike) or not is_flat(source):
                raise
            with suppress(InputError):  # the destination may say the sizes
                there = self.describe(destination, destination_layout, None)
                return self.describe(source, source_layout, there), there
            raise

    def describe(self, given: Any, layout: Layout | str, like: Instance | None) -> Instance:
        """An object that a caller passed to `copy`, as an instance. `like` is the source if the object is the destination.

        The instance is in the first memory that holds the object, or else in the first memory that can hold such an object.

        Raises:
            TransferError: no memory of the machine on this computer accepts it.
            InputError: the layout does not fit.
        """
        perhaps = None
        try:
            for memory in self._all or self._all_here():
                holds = memory.holds(given)
                if holds is _YES:
                    return memory.describe(given, layout, like)
                if holds is _PERHAPS and perhaps is None:
                    perhaps = memory
            if perhaps is not None:
                return perhaps.describe(given, layout, like)
        except TypeError:  # not asked before: a small copy takes some microseconds
            expect("copy", layout, (str, Layout), "a layout, such as '<F, x>'")
            raise
        taken = " or ".join(dict.fromkeys(memory.takes for memory in self._all if memory.takes))
        kind = type(given).__name__
        if not taken:
            raise TransferError(
                f"copy: this computer has no memory of machine {self.machine.name!r} that holds an object of the caller,"
                f" here {kind}"
            )
        raise TransferError(f"copy: expected {taken}, not {kind}; no memory of machine {self.machine.name!r} here holds that")

    def channel(self, name: str) -> RealChannel:
        """A channel.

        Raises:
            TransferError: this computer has no such device.
        """
        return self._channel(name)[0]

    def dispatcher(self, name: str) -> Dispatcher:
        """The dispatcher of a channel.

        It has one thread for each request that the channel takes at a time. For an asynchronous channel it has one thread.
        """
        return self._channel(name)[1]

    def dispatchers(self) -> list[Dispatcher]:
        """The dispatchers of all channels in use."""
        with self._lock:
            return [dispatcher for _, dispatcher in self._channels.values()]

    def forget(self) -> None:
        """Drop all memories, and with them the slots that they keep. Channels release what they keep while they are idle."""
        with self._lock:
            channels = [channel for channel, _ in self._channels.values()]
        for channel in channels:
            channel.release()
        self._memories.clear()
        self._all = ()

    def _memory(self, name: str) -> RealMemory:
        found = self._memories.get(name)
        if found is None:
            described = self.machine.memory(name)
            found = self._made_memory(described)
            if found is None:
                here = ", ".join(memory.name for memory in self._all_here()) or "none"
                device = "" if described.device is None else f", device {described.device}"
                raise TransferError(
                    f"memory {name}: this computer has no such device ({described.kind}{device});"
                    f" of machine {self.machine.name!r} it can run {here}{self._why(described)}"
                )
            self._memories[name] = found
        return found

    def _made_memory(self, described: Memory) -> RealMemory | None:
        """The real memory, as the devices make it.

        Raises:
            InputError: they made something else.
        """
        found = self.devices.memory(described)
        if found is not None:
            _check_device(f"memory {described.name}", found, _MEMORY, "a memory (isoviz.runtime.RealMemory)")
        return found

    @property
    def _described_here(self) -> Iterable[Memory]:
        """The described memories that this computer may have."""
        return self.machine.memories

    def _why(self, memory: Memory) -> str:
        """What the devices say about a memory that is absent."""
        reason = self.devices.absence(memory)
        return f"; {reason}" if reason else ""

    def _all_here(self) -> tuple[RealMemory, ...]:
        """The memories of the machine that this computer has."""
        found = []
        for memory in self._described_here:
            real = self._memories.get(memory.name)
            if real is None:
                with suppress(TransferError):  # it is bound to a device that this computer lacks
                    real = self._made_memory(memory)
                if real is not None:
                    self._memories[memory.name] = real
            if real is not None:
                found.append(real)
        self._all = tuple(found)
        return self._all

    def _channel(self, name: str) -> tuple[RealChannel, Dispatcher]:
        found = self._channels.get(name)
        if found is not None:
            return found
        with self._lock:
            found = self._channels.get(name)
            if found is None:
                described = self.machine.channel(name)
                ends = [Bound(self.machine.memory(end), self._memory(end)) for end in (described.source, described.destination)]
                channel = self.devices.channel(described, *ends)
                if channel is not None:
                    _check_device(f"channel {name}", channel, _CHANNEL, "a channel (isoviz.runtime.RealChannel)")
                if channel is None:
                    raise TransferError(
                        f"channel {name}: this computer has no device that is a {described.kind}"
                        f" from {described.source} to {described.destination}"
                    )
                threads = 1 if channel.is_asynchronous else described.max_in_flight
                found = self._channels[name] = channel, Dispatcher(name, threads)
            return found


def bundle_of(real: OpenedDevices, objects: tuple[Any, Any], layouts: tuple[Any, Any], priority: int) -> Transfer:
    """The bundle of copies of several objects, each to the one at the same place of the other list.

    Raises:
        InputError: the lists do not fit each other, or as `OpenedDevices.ends`. TransferError: as `bundle`.
    """
    if not all(isinstance(each, list | tuple) for each in objects):
        raise InputError(
            "copy: a list at one end only; expected an array or the path of a file at each end, or lists of them at both"
        )
    count = len(objects[0])
    if len(objects[1]) != count:
        raise InputError(f"copy: {count} sources and {len(objects[1])} destinations; expected as many of both")
    every = [[each] * count if isinstance(each, str | Layout) else each for each in layouts]
    if not all(isinstance(each, list | tuple) and len(each) == count for each in every):
        raise InputError(f"copy: expected {count} layouts or one for all at each end")
    members = []
    for number, (here, there, *orders) in enumerate(zip(*objects, *every, strict=True)):
        try:
            ends = real.ends(here, orders[0], there, orders[1])
            if ends is None:
                raise EmptyArrayError("the arrays are empty; leave them out")
        except IsovizError as error:
            error.args = (f"copy, transfer {number}: {error}", *error.args[1:])
            raise
        members.append(Transfer(*ends))
    return bundle(members, priority=priority)
