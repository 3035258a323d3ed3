"""A machine with two GPUs, and engines on a driver that plays them."""

from __future__ import annotations

import gc
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fake_arrays import FakeKernels
from fake_driver import FakeDriver

from isoviz import Engine, Machine
from isoviz.backends.cuda.gpus import Gpus
from isoviz.backends.devices import ThisComputer
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Memory, MemoryKind

FBM, ZCM, SYS, DSK = MemoryKind.FBM, MemoryKind.ZCM, MemoryKind.SYS, MemoryKind.DSK
MEMORIES = {"fbm0": FBM, "fbm1": FBM, "zcm": ZCM, "sys": SYS, "dsk": DSK}
KINDS = {
    (FBM, FBM): ChannelKind.GPU_COPY,
    (FBM, ZCM): ChannelKind.GPU_READ,
    (FBM, SYS): ChannelKind.GPU_READ,
    (ZCM, FBM): ChannelKind.GPU_WRITE,
    (SYS, FBM): ChannelKind.GPU_WRITE,
    (DSK, SYS): ChannelKind.DISK_READ,
    (DSK, ZCM): ChannelKind.DISK_READ,
    (SYS, DSK): ChannelKind.DISK_WRITE,
    (ZCM, DSK): ChannelKind.DISK_WRITE,
    **dict.fromkeys(((SYS, SYS), (SYS, ZCM), (ZCM, SYS), (ZCM, ZCM)), ChannelKind.MEMCPY),
}


def machine(rng: random.Random | None = None, **emulated: bool) -> Machine:
    """One node with two GPUs, pinned and pageable memory and a disk. With `rng`: random rates, some channels missing."""
    memories = tuple(Memory(f"node0.{name}", kind, emulated=emulated.get(name, False)) for name, kind in MEMORIES.items())
    channels = []
    for here in memories:
        for there in memories:
            kind = KINDS.get((here.kind, there.kind))
            if kind is None or (rng and rng.random() < 0.2 and here is not there):
                continue
            rate = LatencyBandwidth(latency=1e-7, bandwidth=rng.choice((1e9, 1e10, 1e11)) if rng else 1e10)
            channels.append(Channel("", kind, here.name, there.name, rate, max_in_flight=2))
    return Machine("two GPUs", memories, tuple(channels))


@contextmanager
def engine(
    driver: FakeDriver, made: Machine, folder: Path, kernels: FakeKernels | None = None, tolerant: bool = False, **options: Any
) -> Iterator[Engine]:
    """An engine on a driver. Afterwards nothing of the driver is left. With `tolerant`, streams, events and modules may be left
    if the device is dead, as they end with it."""
    before = driver.used
    devices = ThisComputer(folder, gpus=Gpus(driver, kernels or FakeKernels()))
    with Engine(made, devices, **options) as found:
        yield found
    del devices, found
    if driver.streams or driver.events or driver.modules:
        gc.collect()
    assert not driver.violations, driver.violations
    if not (tolerant and driver.dead):
        assert not driver.streams and not driver.events and not driver.modules, "streams, events or modules are left"
    assert driver.used == before, "memory is left in use"
