"""Ranks with GPUs for programs under mpiexec: a driver that plays GPUs in each rank, or the real GPUs of the host."""

from __future__ import annotations

import gc
import itertools
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[1] / "run" / "cuda"))
sys.path.append(str(Path(__file__).parents[1] / "run" / "gpu"))
import fake_cupy
from fake_arrays import FakeArray, FakeKernels
from fake_driver import FakeDriver

from isoviz import Machine, Transfer
from isoviz.backends.cuda import gpus as gpus_module
from isoviz.backends.cuda import staging
from isoviz.backends.cuda.cupy_driver import Loaded
from isoviz.backends.cuda.device_memory import DeviceMemory
from isoviz.backends.cuda.gpu import using
from isoviz.backends.mpi.world import World
from isoviz.errors import MissingPartError
from isoviz.machines import Channel, ChannelKind, Memory, MemoryKind
from isoviz.machines.throughput import LatencyBandwidth
from isoviz.runtime.ranks.rank_engine import RankEngine

FBM, ZCM, REG, SYS, DSK = (MemoryKind(name) for name in ("FBM", "ZCM", "REG", "SYS", "DSK"))
HOST = ("zcm", "reg", "sys")
ACROSS = ("Window", "ProcessWrite", "TwoSided", "Packed", "Derived", "Put", "RemoteMemcpy")
Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class PlayedGpus:
    """Fake GPUs of this rank. Each rank has a driver of its own, as each process has with a real GPU that several share."""

    is_real = False

    def __init__(self, seed: int, devices: int = 1, **options: Any) -> None:
        self.driver = FakeDriver(seed, devices, **options)
        self.kernels = FakeKernels()
        self.devices = devices

    def vary(self, rng: random.Random) -> None:
        """Another length of staged pieces, another pace, and kernels or none."""
        staging.PIECE = rng.choice((4096, 16384, 1 << 20))  # type: ignore[misc]
        self.driver.slow = rng.random() < 0.1
        self.kernels.missing = MissingPartError("NVRTC", "gpu-cuda13") if rng.random() < 0.3 else None

    def world(self, **options: Any) -> World:
        return World(driver=self.driver, kernels=self.kernels, **options)

    def held(self, data: Bytes, device: int) -> Any:
        return FakeArray(self.driver, data, device)

    def taken(self, given: Any) -> Bytes:
        data: Bytes = given.data.copy()
        given.drop()
        return data

    def used(self) -> object:
        return self.driver.used

    def limit(self, nbytes: int | None) -> None:
        """Let a GPU have as much memory as this from now on; None for all of it."""
        self.driver.capacity = nbytes or 1 << 30

    def require_clean(self, *, dead: bool = False) -> None:
        """Nothing of the driver is left, and nothing wrong was done. With `dead`, the device took some of it with it."""
        assert not self.driver.violations, self.driver.violations
        if self.driver.streams or self.driver.events or self.driver.modules:
            gc.collect()
        left = len(self.driver.streams), len(self.driver.events), len(self.driver.modules)
        assert dead or left == (0, 0, 0), f"streams, events, modules left: {left}"

    def calls_at_end(self) -> dict[str, int]:
        """How often calls were made, after the world of ranks was left: nothing is left."""
        gc.collect()
        self.require_clean()
        assert not self.driver.locked, "registered memory is still locked"
        assert self.driver.used == (0, 0), self.driver.used
        return dict(self.driver.calls)


class RealGpus:
    """The GPUs of this host, through CuPy."""

    is_real = True

    def __init__(self) -> None:
        import cupy

        driver = gpus_module.loaded().driver
        assert driver is not None, gpus_module.loaded().reason
        self._cupy, self._driver = cupy, driver
        self.devices = driver.device_count()

    def world(self, **options: Any) -> World:
        return World(**options)

    def held(self, data: Bytes, device: int) -> Any:
        with using(self._driver, device):
            found = self._cupy.asarray(data)
            self._cupy.cuda.runtime.deviceSynchronize()
        return found

    def taken(self, given: Any) -> Bytes:
        found: Bytes = given.get()
        return found

    def used(self) -> object:
        gc.collect()
        used = []
        for device in range(self.devices):
            with using(self._driver, device):
                used.append(self._cupy.get_default_memory_pool().used_bytes())
        return used

    def limit(self, nbytes: int | None) -> None:
        """Let CuPy take as much memory as this from now on; None for all of it."""
        pool = self._cupy.get_default_memory_pool()
        pool.free_all_blocks()
        pool.set_limit(size=0 if nbytes is None else nbytes)

    def require_clean(self, *, dead: bool = False) -> None:
        """Nothing more can be asked of a real driver."""

    def calls_at_end(self) -> dict[str, int]:
        """Nothing is known of the calls of a real driver."""
        return {}


class CupyGpus(RealGpus):
    """A CuPy that plays GPUs, for what is done with real ones."""

    def __init__(self, seed: int, devices: int) -> None:
        patch = pytest.MonkeyPatch()  # until the process ends
        self.plays, kernels = FakeDriver(seed, devices), FakeKernels()
        driver = fake_cupy.install(patch, self.plays)
        patch.setattr(gpus_module, "loaded", lambda: Loaded(driver, ""))
        patch.setattr(gpus_module, "DefaultMaker", lambda: kernels)
        super().__init__()

    def require_clean(self, *, dead: bool = False) -> None:
        assert not self.plays.violations, self.plays.violations

    def calls_at_end(self) -> dict[str, int]:
        self.require_clean()
        assert not self.plays.locked, "registered memory is still locked"
        return dict(self.plays.calls)


Gpus = PlayedGpus | RealGpus


def gpus_of(how: str, seed: str, devices: int) -> Gpus:
    """The GPUs of a rank: "played", "cupy" for played ones through CuPy, or "real"."""
    if how == "real":
        return RealGpus()
    number = random.Random(seed).randrange(1 << 30)
    return PlayedGpus(number, devices) if how == "played" else CupyGpus(number, devices)


@contextmanager
def engine_of(gpus: Gpus, world: World, machine: Machine, *, dead: bool = False, **options: Any) -> Iterator[RankEngine]:
    """An engine of a rank. Afterwards, device and pinned memory are as they were before."""
    before = gpus.used()
    with RankEngine(machine, world.devices, world.transport, **options) as engine:
        yield engine
        assert engine.held_bytes == 0
    del engine
    gpus.require_clean(dead=dead)
    assert gpus.used() == before, (gpus.used(), before)


class _Drawing:
    """A machine of ranks while it is drawn. With `rng`, rates are random."""

    def __init__(self, rng: random.Random | None) -> None:
        self.rng = rng
        self.memories: list[Memory] = []
        self.channels: list[Channel] = []

    def some(self, share: float) -> bool:
        return self.rng is None or self.rng.random() < share

    def join(self, kind: str, source: str, destination: str) -> None:
        rng = self.rng
        rate = LatencyBandwidth(1e-7, rng.choice((1e9, 5e9, 2e10)) if rng else 1e10)
        at_once = rng.choice((1, 2, 4)) if rng else 2
        name = f"{source}->{destination}:{kind}"
        self.channels.append(Channel(name, ChannelKind(kind), source, destination, rate, max_in_flight=at_once))

    def rank(self, rank: int, devices: int) -> None:
        """The memories of a rank and the channels between them."""
        rng, node = self.rng, f"node{rank}"
        fbms = [f"fbm{k}" for k in range(rng.randint(1, devices) if rng else 1)]
        for name in (*fbms, *HOST, "dsk"):
            kind = MemoryKind(name.rstrip("01").upper())
            device = rng.choice((None, rng.randrange(devices))) if rng and kind in (FBM, ZCM) else None
            self.memories.append(Memory(f"{node}.{name}", kind, rank, device=device))
        for a, b in itertools.product(HOST, HOST):
            if self.some(0.7):
                self.join("Memcpy", f"{node}.{a}", f"{node}.{b}")
        for a in HOST:
            if self.some(0.7):
                self.join("DiskRead", f"{node}.dsk", f"{node}.{a}")
                self.join("DiskWrite", f"{node}.{a}", f"{node}.dsk")
        for a, fbm in itertools.product(HOST, fbms):
            if a == "reg" or self.some(0.7):
                self.join("GPURead", f"{node}.{fbm}", f"{node}.{a}")
                self.join("GPUWrite", f"{node}.{a}", f"{node}.{fbm}")
        for a, b in itertools.product(fbms, fbms):
            self.join("GPUCopy", f"{node}.{a}", f"{node}.{b}")

    def between(self, here: int, there: int, *, shared: bool, aware: bool) -> None:
        """The channels from a rank to another one."""
        for kind, a, b in itertools.product(ACROSS, HOST, HOST):
            if kind in ("Window", "Put") and (b != "reg" or (kind == "Window" and not shared)):
                continue
            if kind == "ProcessWrite" and (b != "sys" or not shared):
                continue
            if self.some(0.5 if a == b == "reg" else 0.15):
                self.join(kind, f"node{here}.{a}", f"node{there}.{b}")
        ends = f"node{here}.reg", f"node{there}.reg"
        if all((channel.source, channel.destination) != ends for channel in self.channels):
            self.join("RemoteMemcpy", *ends)
        for a, b in (("fbm0", "fbm0"), ("fbm0", "reg"), ("sys", "fbm0")) if aware else ():
            self.join("TwoSided", f"node{here}.{a}", f"node{there}.{b}")


def machine_of(rng: random.Random | None, hosts: tuple[str, ...], devices: int, *, aware: bool = False) -> Machine:
    """Ranks with a GPU or two, pinned, registered and pageable memory, and a disk.

    With `rng`, rates are random, and some channels are missing. The GPUs are bound to random devices, or to none. With `aware`,
    messages go to and from memory of GPUs, too.
    """
    made = _Drawing(rng)
    for rank in range(len(hosts)):
        made.rank(rank, devices)
    for here, there in itertools.permutations(range(len(hosts)), 2):
        made.between(here, there, shared=hosts[here] == hosts[there], aware=aware)
    return Machine("ranks with GPUs", tuple(made.memories), tuple(made.channels))


def only(machine: Machine, *names: str, kinds: tuple[str, ...] = ()) -> Machine:
    """The part of a machine with some memories, such as `node0.fbm0`. Of the channels between ranks, `kinds` stay."""
    memories = tuple(memory for memory in machine.memories if memory.name in names)
    channels = tuple(
        channel
        for channel in machine.channels
        if channel.source in names and channel.destination in names and (not channel.kind.crosses_nodes or channel.kind in kinds)
    )
    return Machine(machine.name, memories, channels)


def given_to(gpus: Gpus, world: World, memory: Memory, data: Bytes, path: Path) -> Any:
    """Some bytes as a caller passes them, in a memory of this rank."""
    if memory.kind is FBM:
        real = world.devices.memory(memory)
        assert isinstance(real, DeviceMemory)
        return gpus.held(data, real.gpu.number)
    if memory.kind is DSK:
        data.tofile(path)
        return path
    if memory.kind is REG:
        array = world.array(data.size)
        array[:] = data
        return array
    return data.copy()


def arrived_in(gpus: Gpus, memory: Memory, given: Any) -> Bytes:
    """The bytes of what `given_to` gave; nothing of it is left on a GPU."""
    if memory.kind is FBM:
        return gpus.taken(given)
    return np.fromfile(given, np.uint8) if memory.kind is DSK else given


def crosses_between_gpus(transfer: Transfer, machine: Machine) -> bool:
    """Whether a transfer leads from the GPU of a rank to that of another one."""
    here, there = (machine.memory(end.memory) for end in (transfer.source, transfer.destination))
    return here.kind is there.kind is FBM and here.node != there.node
