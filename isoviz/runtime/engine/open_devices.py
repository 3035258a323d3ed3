"""The real memories and channels that an engine has asked its devices for, each once; a channel with its dispatcher."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from isoviz.errors import TransferError
from isoviz.runtime.engine.dispatcher import Dispatcher

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime.protocols import Devices, RealChannel, RealMemory


class OpenedDevices:
    """The devices of one machine on this computer, opened where they are first needed. Any thread may ask."""

    def __init__(self, machine: Machine, devices: Devices) -> None:
        self.machine = machine
        self.devices = devices
        self._limits = {channel.name: channel.max_in_flight for channel in machine.channels}
        self._memories: dict[str, RealMemory] = {}
        self._channels: dict[str, tuple[RealChannel, Dispatcher]] = {}
        self._lock = threading.Lock()

    def memories(self, plan: Plan) -> list[RealMemory]:
        """The memories of a plan's path.

        Raises:
            TransferError: the plan is for another machine, this computer lacks one of them, or a buffer would be where none can.
        """
        if plan.machine_digest != self.machine.digest:
            raise TransferError(
                f"plan: made for a machine {plan.machine_name!r} that is not this engine's {self.machine.name!r} as it is now;"
                " plan again"
            )
        for hop in plan.hops[:-1]:
            if not (memory := self.machine.memory(hop.destination)).holds_buffers:
                raise TransferError(
                    f"plan: hop {hop.index} leads to a buffer in {memory.name} ({memory.kind}), which holds none; plan again"
                )
        return [self._memory(name) for name in plan.memories]

    def channel(self, name: str) -> RealChannel:
        """A channel.

        Raises:
            TransferError: this computer has no such device.
        """
        return self._channel(name)[0]

    def dispatcher(self, name: str) -> Dispatcher:
        """The dispatcher of a channel, with as many threads as it takes requests at a time."""
        return self._channel(name)[1]

    def dispatchers(self) -> list[Dispatcher]:
        """Those of all channels that were asked for."""
        with self._lock:
            return [dispatcher for _, dispatcher in self._channels.values()]

    def forget(self) -> None:
        """Hold no memory any more, nor the slots that it keeps."""
        self._memories.clear()

    def _memory(self, name: str) -> RealMemory:
        found = self._memories.get(name)
        if found is None:
            found = self.devices.memory(self.machine.memory(name))
            if found is None:
                here = [m.name for m in self.machine.memories if self.devices.memory(m) is not None]
                raise TransferError(
                    f"memory {name}: this computer has no such device ({self.machine.memory(name).kind});"
                    f" of machine {self.machine.name!r} it can run {', '.join(here) or 'none'}"
                )
            self._memories[name] = found
        return found

    def _channel(self, name: str) -> tuple[RealChannel, Dispatcher]:
        found = self._channels.get(name)
        if found is not None:
            return found
        with self._lock:
            found = self._channels.get(name)
            if found is None:
                described = self.machine.channel(name)
                channel = self.devices.channel(described)
                if channel is None:
                    raise TransferError(
                        f"channel {name}: this computer has no device that is a {described.kind}"
                        f" from {described.source} to {described.destination}"
                    )
                found = self._channels[name] = channel, Dispatcher(name, self._limits[name])
            return found
