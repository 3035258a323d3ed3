"""A machine with two GPUs, and engines on a driver that plays them."""

from __future__ import annotations

import gc
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from fake_arrays import FakeArray, FakeDlpack, FakeKernels
from fake_driver import FakeDriver
from run_cases import elements, random_bytes, random_layout, random_spaces

from isoviz import Engine, Machine, Options, Transfer, plan
from isoviz.backends.cuda.cuda_driver import CudaDriver
from isoviz.backends.cuda.gpus import Gpus
from isoviz.backends.cuda.layout_kernels import KernelMaker
from isoviz.backends.devices import ThisComputer
from isoviz.errors import TransferError
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Memory, MemoryKind
from isoviz.planner import Plan

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


ZERO_COPY = {(FBM, ZCM): ChannelKind.ZERO_COPY_READ, (ZCM, FBM): ChannelKind.ZERO_COPY_WRITE}


DIRECT = {(DSK, FBM): ChannelKind.DIRECT_READ, (FBM, DSK): ChannelKind.DIRECT_WRITE}


def machine(rng: random.Random | None = None, direct: bool = False, **emulated: bool) -> Machine:
    """One node with two GPUs, pinned and pageable memory and a disk.

    With `rng`: random rates, some channels missing, and further channels of other kinds between some memories. With `direct`:
    channels straight between files and GPUs.
    """
    memories = tuple(Memory(f"node0.{name}", kind, emulated=emulated.get(name, False)) for name, kind in MEMORIES.items())
    channels = []
    for here in memories:
        for there in memories:
            kind = (KINDS | DIRECT if direct else KINDS).get((here.kind, there.kind))
            if kind is None or (rng and rng.random() < 0.2 and here is not there):
                continue
            rate = LatencyBandwidth(latency=1e-7, bandwidth=rng.choice((1e9, 1e10, 1e11)) if rng else 1e10)
            channels.append(Channel("", kind, here.name, there.name, rate, max_in_flight=2))
            more = ZERO_COPY.get((here.kind, there.kind))
            if rng and more and rng.random() < 0.7:
                rate = LatencyBandwidth(latency=1e-10, bandwidth=rng.choice((1e9, 1e10)))
                channels.append(Channel(f"{here.name} {more} {there.name}", more, here.name, there.name, rate))
    return Machine("two GPUs", memories, tuple(channels))


@contextmanager
def engine(
    driver: FakeDriver,
    made: Machine,
    folder: Path,
    kernels: KernelMaker | None = None,
    tolerant: bool = False,
    through: CudaDriver | None = None,
    **options: Any,
) -> Iterator[Engine]:
    """An engine on a driver, or on another one that ends there (`through`). Afterwards nothing of the driver is left. With
    `tolerant`, streams, events and modules may be left if the device is dead, as they end with it."""
    before = driver.used
    devices = ThisComputer(folder, gpus=Gpus(through or driver, kernels or FakeKernels()))
    with Engine(made, devices, **options) as found:
        yield found
    del devices, found
    if driver.streams or driver.events or driver.modules:
        gc.collect()
    assert not driver.violations, driver.violations
    if not (tolerant and driver.dead):
        assert not driver.streams and not driver.events and not driver.modules, "streams, events or modules are left"
    assert driver.used == before, "memory is left in use"


def held(rng: random.Random, driver: FakeDriver, memory: Memory, data: np.ndarray[Any, Any], path: Path) -> Any:
    """Some bytes as a caller passes them, in a memory."""
    if memory.kind is FBM:
        device = int(memory.name[-1])
        array = FakeArray(driver, data, device, stream=rng.choice((None, 1)))
        return FakeDlpack(array, device) if rng.random() < 0.3 else array
    if memory.kind is DSK:
        data.tofile(path)
        return path
    return data.copy()


def taken(given: Any) -> np.ndarray[Any, Any]:
    """The bytes of what `held` returned, which is gone then."""
    if isinstance(given, FakeDlpack):
        given = given.array
    if isinstance(given, FakeArray):
        data = given.data.copy()
        given.drop()
        return data
    return np.fromfile(given, np.uint8) if isinstance(given, Path) else given


def random_plan_moves_every_element(
    rng: random.Random,
    driver: FakeDriver,
    kernels: KernelMaker,
    folder: Path,
    number: int,
    largest: int,
    through: CudaDriver | None = None,
    direct: bool = False,
) -> Plan:
    """Run a random plan between random memories, and return it. `largest` is that of its space; `number` names its files; see
    `machine` and `engine`."""
    while True:
        made = machine(rng, direct)
        space, fields = random_spaces(rng, largest=largest)
        here, there = random_layout(rng, space), random_layout(rng, space)
        near, far = rng.choice(made.memories), rng.choice(made.memories)
        a, b = here.on(space, fields), there.on(space, fields)
        transfer = Transfer.whole(space, fields, near.name, here, far.name, there)
        options = Options(slot_limit=max(64, a.nbytes // rng.choice((1, 2, 6))), planner=rng.choice(("full", "simple", "direct")))
        try:
            chosen = plan(transfer, made, options=options)
        except TransferError:  # no path, or no slots as small as that
            continue
        break
    data = random_bytes(rng, a.nbytes)
    source, destination = folder / f"{number}.in", folder / f"{number}.out"
    given: list[Any] = [None, None]
    if rng.random() < 0.8:
        given[0] = held(rng, driver, near, data, source)
        given[1] = destination if far.kind is DSK else held(rng, driver, far, np.zeros(b.nbytes, "u1"), destination)
    with engine(driver, made, folder, kernels, through=through, request_bytes=rng.choice((64, 4096, 1 << 20))) as running:
        found = running.run(chosen, *given)
    assert found.verified
    if given[0] is not None:
        taken(given[0])
        assert elements(a, data) == elements(b, taken(given[1])[: b.nbytes]), chosen
    return chosen
