"""The GPUs of this computer that a probe measures, and their memories and channels before they are measured."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.backends.cuda.gpu import using
from isoviz.backends.cuda.gpus import Gpus
from isoviz.errors import DeviceError, InputError, line, show
from isoviz.machines import Channel, ChannelKind, Constant, LatencyBandwidth, Machine, Memory, MemoryKind, ThroughputFunction
from isoviz.this_computer import GpuFacts, nvidia_gpus, pci_link
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.backends.cuda.cuda_driver import CudaDriver

SYS, ZCM = "node0.sys", "node0.zcm"
_GUESSES: dict[ChannelKind, ThroughputFunction] = {
    ChannelKind.MEMCPY: LatencyBandwidth(1e-9, 1e10),
    ChannelKind.GPU_COPY: Constant(1e12),
}
_GUESS = Constant(5e10)
"""Placeholders until the measurement, near what they will be: the length of requests depends on them."""

Role = tuple[ChannelKind, tuple[str, ...], bool]
"""Channels of one role are likely to be alike: their kind, the models of the GPUs or the disks at their ends, and whether
they stay inside."""


def memory_of(gpu: GpuFacts) -> str:
    """The name of the memory of a GPU."""
    return f"node0.fbm{gpu.number}"


def memories_of(gpus: Sequence[GpuFacts]) -> tuple[Memory, ...]:
    """Pinned memory, and the memory of every GPU."""
    pinned = Memory(ZCM, MemoryKind.ZCM, label="pinned, mapped by the GPUs", device=gpus[0].number)
    return (
        pinned,
        *(Memory(memory_of(gpu), MemoryKind.FBM, capacity=gpu.memory, label=_label(gpu), device=gpu.number) for gpu in gpus),
    )


def gpu_memories(machine: Machine) -> tuple[str, ...]:
    """The names of the memories of GPUs."""
    return tuple(memory.name for memory in machine.memories if memory.kind is MemoryKind.FBM)


DIRECT = (ChannelKind.DIRECT_READ, ChannelKind.DIRECT_WRITE)
"""Kinds of channels that join files and GPUs without host memory between."""


def with_gpus(host: Machine, gpus: Sequence[GpuFacts], origin: str, *, direct: bool = False) -> Machine:
    """The machine of a computer with its GPUs: pinned memory and the memory of every GPU, with channels of guessed rates.

    `host` has the host memory and the disks. The channels of pinned memory follow those of main memory; every other new channel
    has GPU memory at one end or both. With `direct`, files go straight to and from GPUs as well; such a channel uses the disk as
    the channel between the disk and main memory does.
    """
    pinned, *memories = memories_of(gpus)
    memories.insert(0, replace(pinned, capacity=host.memory(SYS).capacity))
    names = [memory_of(gpu) for gpu in gpus]
    channels = [*_of_pinned(host), *_of_gpus(names), *(_of_files(host, names) if direct else ())]
    made = (replace(channel, provenance=origin) for channel in channels)
    return replace(host, memories=(*host.memories, *memories), channels=(*host.channels, *made))


def without_gpus(machine: Machine) -> Machine:
    """The machine without GPU memory, pinned memory, their channels, and the resources that only these use."""
    gone = {memory.name for memory in machine.memories if memory.kind in (MemoryKind.FBM, MemoryKind.ZCM)}
    if not gone:
        return machine
    channels = tuple(channel for channel in machine.channels if not {channel.source, channel.destination} & gone)
    used = {name for channel in channels for name, _ in channel.resources}
    measured = machine.measurement
    if measured is not None:
        kept = {channel.name for channel in channels}
        pairs = tuple(pair for pair in measured.pairs if {pair.first, pair.second} <= kept)
        measured = replace(measured, gpus=(), pairs=pairs)
    return replace(
        machine,
        memories=tuple(memory for memory in machine.memories if memory.name not in gone),
        channels=channels,
        resources=tuple(resource for resource in machine.resources if resource.name in used),
        measurement=measured,
    )


def with_gpus_of(host: Machine, probed: Machine) -> Machine:
    """The machine of a host with the GPUs of a machine that was probed, their channels, and the resources that these use."""
    there = [memory for memory in probed.memories if memory.kind in (MemoryKind.FBM, MemoryKind.ZCM)]
    names = {memory.name for memory in there}
    channels = [channel for channel in probed.channels if {channel.source, channel.destination} & names]
    known = {resource.name for resource in host.resources}
    used = {name for channel in channels for name, _ in channel.resources} - known
    resources = [resource for resource in probed.resources if resource.name in used]
    measured = host.measurement
    if measured is not None and probed.measurement is not None:
        measured = replace(measured, gpus=probed.measurement.gpus)
    return replace(
        host,
        memories=(*host.memories, *there),
        channels=(*host.channels, *channels),
        resources=(*host.resources, *resources),
        measurement=measured,
    )


def with_remark(machine: Machine, missing: str) -> Machine:
    """The machine whose GPU channels say that they were measured without layout kernels, and why (`missing`, empty otherwise)."""
    if not missing:
        return machine
    said = line(f"without layout kernels: {missing}")
    return replace(
        machine,
        channels=tuple(
            replace(channel, provenance=f"{channel.provenance}, {said}") if channel.kind.is_of_gpu else channel
            for channel in machine.channels
        ),
    )


def role_of(machine: Machine, channel: Channel) -> Role:
    """The role of a channel."""
    ends = [machine.memory(end) for end in (channel.source, channel.destination)]
    if not channel.kind.is_of_gpu:
        return channel.kind, tuple(end.name for end in ends if end.is_file_system), False
    # Pinned and pageable memory differ; GPUs differ by their models, which are their labels.
    said = tuple(end.label if end.kind is MemoryKind.FBM else str(end.kind) for end in ends)
    return channel.kind, said, channel.is_self_loop


def _label(gpu: GpuFacts) -> str:
    link = f", {gpu.link}" if gpu.link else ""
    return f"{gpu.name}, {format_bytes(gpu.memory)}{link}"


def _of_pinned(host: Machine) -> Iterator[Channel]:
    """The channels of main memory, with pinned memory at one end or both."""
    for channel in host.channels:
        ends = channel.source, channel.destination
        for replaced in itertools.product(*((end, ZCM) if end == SYS else (end,) for end in ends)):
            if replaced != ends:
                yield replace(channel, name="", source=replaced[0], destination=replaced[1], resources=())


def _of_gpus(gpus: Sequence[str]) -> Iterator[Channel]:
    for gpu in gpus:
        for host in (ZCM, SYS):
            yield _channel(ChannelKind.GPU_WRITE, host, gpu)
            yield _channel(ChannelKind.GPU_READ, gpu, host)
        yield _channel(ChannelKind.ZERO_COPY_WRITE, ZCM, gpu)
        yield _channel(ChannelKind.ZERO_COPY_READ, gpu, ZCM)
    for here in gpus:
        for there in gpus:
            yield _channel(ChannelKind.GPU_COPY, here, there)


def _of_files(host: Machine, gpus: Sequence[str]) -> Iterator[Channel]:
    for channel in host.channels:
        for gpu in gpus:
            if channel.kind is ChannelKind.DISK_READ:
                found = _channel(ChannelKind.DIRECT_READ, channel.source, gpu)
            elif channel.kind is ChannelKind.DISK_WRITE:
                found = _channel(ChannelKind.DIRECT_WRITE, gpu, channel.destination)
            else:
                continue
            yield replace(found, alignment=channel.alignment, resources=channel.resources)


_BESIDE = (ChannelKind.ZERO_COPY_READ, ChannelKind.ZERO_COPY_WRITE)


def _channel(kind: ChannelKind, source: str, destination: str) -> Channel:
    guess: ThroughputFunction = _GUESSES.get(kind, _GUESS)
    name = f"{source}->{destination} {kind}" if kind in _BESIDE else ""  # the copy engines have the plain name
    return Channel(name, kind, source, destination, guess)


# ---- which GPUs there are

OWNER = "probe, gpus"


def gpus_here(asked: object, gpus: Gpus) -> tuple[GpuFacts, ...]:
    """The GPUs to measure, by number.

    `asked` is None for those that are found, False for none, True for all and at least one, or a collection of numbers.

    Raises:
        InputError: `asked` is something else.
        DeviceError: an asked GPU is absent, or a GPU fails.
    """
    if asked is False:
        return ()
    wanted = None if asked is None or asked is True else _numbers(asked)
    driver = gpus.driver()
    if driver is None:
        if asked is None or wanted == ():
            return ()
        raise DeviceError(f"{OWNER}: {gpus.reason()}")
    count = driver.device_count()
    numbers = tuple(range(count)) if wanted is None else wanted
    if missing := [number for number in numbers if number >= count]:
        have = "GPU 0" if count == 1 else f"GPUs 0 to {count - 1}"
        raise DeviceError(f"{OWNER}: there is no GPU {missing[0]}; this computer has {have}")
    return tuple(_facts(driver, number) for number in numbers)


def _numbers(asked: object) -> tuple[int, ...]:
    found: set[int] = set()
    for number in checks.items(OWNER, asked, "true, false or numbers of GPUs"):
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise InputError(f"{OWNER}: expected numbers of GPUs from 0, got {show(number)}")
        found.add(number)
    return tuple(sorted(found))


def free_bytes(gpus: Gpus, number: int) -> int:
    """The free bytes of a GPU.

    Raises:
        DeviceError: there is no GPU, or it fails.
    """
    driver = gpus.driver()
    if driver is None:
        raise DeviceError(f"{OWNER}: {gpus.reason()}")
    with using(driver, number):
        return driver.free_bytes()[0]


def _facts(driver: CudaDriver, number: int) -> GpuFacts:
    with using(driver, number):
        _, memory = driver.free_bytes()
    name = line(driver.device_name(number)).strip() or "GPU"
    return GpuFacts(number, name, capability(driver.architecture(number)), memory, pci_link(driver.pci_address(number)))


def capability(architecture: str) -> str:
    """The compute capability of an architecture: 9.0 for sm_90."""
    digits = architecture.removeprefix("sm_")
    return f"{digits[:-1]}.{digits[-1]}" if digits[:-1].isdigit() else ""


def why_not_measured(machine: Machine) -> str:
    """Why a machine that was just measured has no GPU, although the computer has one; empty otherwise."""
    if machine.measurement is None or machine.measurement.gpus or not nvidia_gpus():
        return ""
    return Gpus().reason()
