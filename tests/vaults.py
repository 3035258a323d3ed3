"""Vaults: memories with asynchronous channels, for tests of what an engine does with these.

The memory keeps its bytes inverted. Code that takes them for host memory gets them wrong. Each channel has one thread that
works on everything in flight and finishes the newest request first.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from isoviz import Instance, Machine
from isoviz.backends.devices import ThisComputer
from isoviz.layouts import StridedCopy
from isoviz.layouts.numpy_copy import apply
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Limits, Memory, MemoryKind
from isoviz.machines.cards import PLAIN
from isoviz.planner.path_plan import Hop, PathPlan
from isoviz.runtime.device_bases import AsynchronousChannel, BaseEndpoint, BaseMemory, BaseSlot
from isoviz.runtime.protocols import Bound, Holds

VAULT = MemoryKind.FBM
STORE, FETCH, WITHIN = ChannelKind.GPU_WRITE, ChannelKind.GPU_READ, ChannelKind.GPU_COPY
Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class VaultStore(BaseEndpoint, BaseSlot):
    """Bytes in a vault."""

    def __init__(self, vault: Vault, nbytes: int) -> None:
        self.vault, self.nbytes = vault, nbytes
        self.inverted: Bytes = np.full(nbytes, 0xFF, np.uint8)
        self.is_open = True
        vault.count(1)

    def read(self, offset: int, nbytes: int) -> bytes:
        assert self.is_open
        return (~self.inverted[offset : offset + nbytes]).tobytes()

    def clear(self) -> None:
        self.inverted[:] = 0xFF

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self.vault.count(-1)


class Held(BaseEndpoint):
    """An object of the caller's in a vault: `copy` is handed it, and it outlasts the transfer."""

    def __init__(self, memory: str, instance: Instance, data: Bytes) -> None:
        self.memory, self.instance = memory, instance
        self.inverted: Bytes = ~data
        self.nbytes = len(data)
        self.is_open = True

    def read(self, offset: int, nbytes: int) -> Bytes:
        return ~self.inverted[offset : offset + nbytes]


class Vault(BaseMemory):
    """The memory. It counts its open stores."""

    takes = "something held in a vault"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.open = 0
        self._lock = threading.Lock()

    def count(self, more: int) -> None:
        with self._lock:
            self.open += more

    def slot(self, nbytes: int) -> VaultStore:
        return VaultStore(self, nbytes)

    def source(self, instance: Instance, given: Held | None) -> VaultStore | Held:
        return given or VaultStore(self, instance.linearization.nbytes)

    def destination(self, instance: Instance, given: Held | None, partial: bool) -> VaultStore | Held:
        return given or VaultStore(self, instance.linearization.nbytes)

    def holds(self, given: Any) -> Holds:
        return Holds.YES if isinstance(given, Held) and given.memory == self.name else Holds.NO

    def describe(self, given: Held, layout: Any, like: Instance | None) -> Instance:
        return given.instance


Job = tuple[int, Callable[[], None]]


class VaultChannel(AsynchronousChannel):
    """A channel that ends in a vault. `act` is called with the number of a request before it is carried out; it may raise, or
    return True: then nothing is carried out, and the request ends only when the test calls `held[number]`. The thread begins once
    `at_least` requests are in flight, and ends when nothing is."""

    def __init__(self) -> None:
        self.act: Callable[[int], bool | None] = lambda number: None
        self.refuse: Callable[[int], None] = lambda number: None
        self.at_least = 1
        self.held: dict[int, Callable[[Any], None]] = {}
        self.started = self.in_flight = self.most_in_flight = 0
        self.ended: list[int] = []
        self.threads: list[threading.Thread] = []
        self.starters: set[str] = set()
        self._jobs: list[Job] = []
        self._works = False
        self._lock = threading.Lock()
        self.changed = threading.Condition(self._lock)

    @property
    def notes(self) -> tuple[str, ...]:
        return ("moved by a vault",)

    def requests_of_chunk(self, path: PathPlan, hop: Hop, request_bytes: int) -> int:
        """As many as were asked for: a vault is no GPU."""
        return PLAIN.requests(path.chunk_payload, hop.request_bytes, request_bytes)

    def start(
        self, copies: Sequence[StridedCopy], source: Any, destination: Any, check: Callable[[], None], done: Callable[[Any], None]
    ) -> None:
        with self._lock:
            number = self.started
            self.started += 1
        self.starters.add(threading.current_thread().name)
        self.refuse(number)

        def ended(result: Any) -> None:
            with self._lock:
                self.in_flight -= 1
                self.ended.append(number)
            done(result)

        def job() -> None:
            try:
                check()
                if self.act(number):
                    with self.changed:
                        self.held[number] = ended
                        self.changed.notify_all()
                    return
                moved(copies, source, destination)
            except BaseException as error:  # noqa: BLE001  # the engine says what it was
                ended(error)
            else:
                ended(1)

        with self._lock:
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            self._jobs.append((number, job))
            if not self._works and self.in_flight >= self.at_least:
                self._works, self.at_least = True, 1
                self.threads.append(threading.Thread(target=self._work, name=f"vault {number}"))
                self.threads[-1].start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._works = False
                    return
                _, job = self._jobs.pop()
            job()

    def join(self) -> None:
        """Wait for its threads."""
        for thread in self.threads:
            thread.join()


def moved(copies: Sequence[StridedCopy], source: Any, destination: Any) -> None:
    """Strided copies; what is inverted at one end only is inverted on the way."""
    ends = [store.inverted if hasattr(store, "inverted") else store.array for store in (source, destination)]
    if hasattr(source, "inverted") is not hasattr(destination, "inverted"):
        ends[0] = ~ends[0]
    assert getattr(source, "is_open", True) and getattr(destination, "is_open", True)
    apply(copies, *ends)


class Devices(ThisComputer):
    """This computer with vaults, as an outside package would hand them in; it remembers what was made."""

    def __init__(self) -> None:
        self.vaults: dict[str, Vault] = {}
        self.links: dict[str, VaultChannel] = {}
        self.ends: Counter[str] = Counter()
        super().__init__(memories={VAULT: self._vault}, channels=dict.fromkeys((STORE, FETCH, WITHIN), self._link))

    def _vault(self, memory: Memory) -> Vault:
        return self.vaults.setdefault(memory.name, Vault(memory.name))

    def _link(self, channel: Channel, source: Bound, destination: Bound) -> VaultChannel | None:
        self.ends[f"{source.memory.name}->{destination.memory.name}"] += 1
        if not isinstance(source.real, Vault) and not isinstance(destination.real, Vault):
            return None
        return self.links.setdefault(channel.name, VaultChannel())

    @property
    def open(self) -> int:
        """Stores that are open."""
        return sum(vault.open for vault in self.vaults.values())

    def join(self) -> None:
        """Wait for the threads of all channels."""
        for link in self.links.values():
            link.join()


def machine(slot: int = 1 << 16, *, copies: bool = False) -> Machine:
    """Host memory and two vaults, of which only the first one is reached from the host. With `copies` there is an ordinary
    channel within host memory, too."""
    memories = [Memory("node0.sys", MemoryKind.SYS), Memory("node0.vault0", VAULT), Memory("node0.vault1", VAULT)]
    outside, inside = LatencyBandwidth(1e-6, 2e9), LatencyBandwidth(1e-9, 8e9)
    channels = [
        Channel("store", STORE, "node0.sys", "node0.vault0", outside, max_in_flight=4),
        Channel("fetch", FETCH, "node0.vault0", "node0.sys", outside, max_in_flight=4),
        Channel("turn", WITHIN, "node0.vault0", "node0.vault0", inside, max_in_flight=2),
        Channel("across", WITHIN, "node0.vault0", "node0.vault1", outside, max_in_flight=3),
        Channel("back", WITHIN, "node0.vault1", "node0.vault0", outside, max_in_flight=3),
    ]
    if copies:
        channels.append(Channel("copy", ChannelKind.MEMCPY, "node0.sys", "node0.sys", inside))
    return Machine("a computer with vaults", memories, channels, limits=Limits(slot_limit=slot))
