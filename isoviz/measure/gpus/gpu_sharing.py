"""What the channels of GPUs share, from channels that were measured in pairs (`isoviz.measure.shared_resources`).

- *The memory of a GPU*: its copies beside each other, and beside its channels to and from pinned memory.
- *The link of a GPU*: its channels to and from pinned memory at once. PCIe carries both directions in full; then there is nothing
  to share.
- *A link of several GPUs*: channels of two GPUs in one direction. GPUs behind one switch share it, those that share with each
  other form a group.
- *The link between two GPUs*: both directions at once, and each of them beside the channels to and from the host. A peer copy
  that is much faster than those uses another link (NVLink), and is not compared.
- *The memory of the host*: a copy of the processor beside the channels of a GPU.

The channels of main memory, and the zero-copy ones of pinned memory, use the same resources as the copy engines of pinned memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from isoviz.machines import Channel, Machine
from isoviz.machines.measurement import Pair
from isoviz.measure import shared_resources as shared
from isoviz.measure import tuning
from isoviz.measure.channel_timer import NeverTogether
from isoviz.measure.gpus.gpu_parts import SYS, ZCM, gpu_memories

MEMORY = "node0.memory"
"""The resource of the host memory, where copies of the processor share it."""


class GpuPairs:
    """Pairs of channels, each measured once by `measure`. Once `is_over` returns true, only important ones are measured."""

    def __init__(
        self, measure: Callable[[Machine, Channel, Channel | None], Pair], is_over: Callable[[], bool] = lambda: False
    ) -> None:
        self._measure, self._is_over = measure, is_over
        self.found: list[Pair] = []

    def __call__(self, machine: Machine, first: Channel, second: Channel | None, is_important: bool = False) -> Pair | None:
        """The two channels (None: two of the first) at once; None if the time is over, or they never worked at once."""
        if self._is_over() and not is_important:
            return None
        try:
            pair = self._measure(machine, first, second)
        except NeverTogether:
            return None
        self.found.append(pair)
        return pair


def with_shared(machine: Machine, copies: Pair, pairs: GpuPairs) -> Machine:
    """The machine with the resources that the channels of its GPUs share. `copies` are two copies in main memory at once."""
    found: list[shared.Found] = []
    gpus = gpu_memories(machine)
    for gpu in gpus:
        found += _within(machine, gpu, pairs)
    for way in ("down", "up"):
        found += _links(machine, gpus, way, pairs)
    for here, there in itertools.combinations(gpus, 2):
        found += _peers(machine, here, there, pairs)
    found += _of_host(machine, gpus, copies, pairs)
    uses = {channel.name: dict(channel.resources) for channel in machine.channels}
    for resource, weights in found:
        for name, weight in weights.items():
            uses[name][resource.name] = weight
    known = {resource.name for resource in machine.resources}
    return replace(
        machine,
        channels=tuple(replace(channel, resources=tuple(uses[channel.name].items())) for channel in machine.channels),
        resources=(*machine.resources, *(resource for resource, _ in found if resource.name not in known)),
    )


def _within(machine: Machine, gpu: str, pairs: GpuPairs) -> Iterator[shared.Found]:
    """The memory of a GPU, and its link to the host in both directions."""
    (copy,) = machine.between(gpu, gpu)
    down, up = _between(machine, ZCM, gpu), _between(machine, gpu, ZCM)
    is_first = gpu == gpu_memories(machine)[0]
    at_once = pairs(machine, copy, None, is_first)
    beside = [pair for each in (down, up) if (pair := pairs(machine, copy, each, is_first)) is not None]
    if at_once is not None:
        peaks = {channel.name: channel.peak for channel in (copy, down, up)}
        memory = shared.memory_resource(f"{gpu}.memory", at_once, beside, peaks, copy.provenance)
        if memory is not None:
            resource, weights = memory
            yield resource, _beside(machine, weights)
    both = pairs(machine, down, up, is_first)
    if both is not None:
        yield from _with_main_memory(machine, shared.link_resource(f"{gpu}.link", [both], down.provenance))


def _links(machine: Machine, gpus: Sequence[str], way: str, pairs: GpuPairs) -> Iterator[shared.Found]:
    """Links that several GPUs share in one direction."""
    groups: list[tuple[set[str], list[Pair]]] = []
    for here, there in itertools.combinations(gpus, 2):
        first, second = (_between(machine, ZCM, gpu) if way == "down" else _between(machine, gpu, ZCM) for gpu in (here, there))
        pair = pairs(machine, first, second)
        if pair is None or pair.gain >= tuning.SHARES_NOTHING:
            continue
        touched = [group for group in groups if group[0] & {here, there}]
        merged = {here, there}.union(*(names for names, _ in touched)), [pair, *(each for _, found in touched for each in found)]
        groups = [group for group in groups if group not in touched] + [merged]
    for names, found in groups:
        origin = machine.between(ZCM, gpus[0])[0].provenance
        yield from _with_main_memory(machine, shared.link_resource(f"{min(names)}.{way}", found, origin))


def _peers(machine: Machine, here: str, there: str, pairs: GpuPairs) -> Iterator[shared.Found]:
    """What the copies between two GPUs share with each other, and with the links to the host."""
    peer, back = _between(machine, here, there), _between(machine, there, here)
    both = pairs(machine, peer, back)
    name = f"{here}.to.{there.removeprefix('node0.')}"
    if both is not None and (found := shared.link_resource(name, [both], peer.provenance)) is not None:
        yield found
    for copy, source, destination in ((peer, here, there), (back, there, here)):
        for way, link in (("up", _between(machine, source, ZCM)), ("down", _between(machine, ZCM, destination))):
            if copy.peak > tuning.ANOTHER_LINK * link.peak:
                continue
            pair = pairs(machine, copy, link)
            if pair is not None:
                end = destination.removeprefix("node0.")
                yield from _with_main_memory(machine, shared.link_resource(f"{source}.to.{end}.{way}", [pair], copy.provenance))


def _of_host(machine: Machine, gpus: Sequence[str], copies: Pair, pairs: GpuPairs) -> Iterator[shared.Found]:
    """The parts of the host memory that the channels of GPUs take, measured with the first GPU of each model."""
    memory = next((resource for resource in machine.resources if resource.name == MEMORY), None)
    if memory is None:
        return
    (copy,) = machine.between(SYS, SYS)
    models: dict[tuple[str, str, bool], float] = {}
    for gpu in gpus:
        model = machine.memory(gpu).label
        for host in (ZCM, SYS):
            for is_up in (False, True):
                channel = _between(machine, gpu, host) if is_up else _between(machine, host, gpu)
                key = model, host, is_up
                if key not in models:
                    pair = pairs(machine, copy, channel, is_important=gpu == gpus[0])
                    if pair is None:
                        continue
                    models[key] = shared.part_beside_copies(copies, pair)
                if models[key] >= tuning.LEAST_PART:
                    weights = {channel.name: shared.weight_of_part(memory, models[key], channel.peak)}
                    yield memory, _beside(machine, weights)


def _between(machine: Machine, source: str, destination: str) -> Channel:
    return machine.between(source, destination)[0]


def _with_main_memory(machine: Machine, found: shared.Found | None) -> Iterator[shared.Found]:
    """A resource, also used by the channels of main memory beside those of pinned memory."""
    if found is None:
        return
    resource, weights = found
    yield resource, _beside(machine, weights, (ZCM, SYS))


def _beside(machine: Machine, weights: Mapping[str, float], hosts: Sequence[str] = (ZCM,)) -> dict[str, float]:
    """Weights of channels, also for those channels of a GPU beside them that have one of `hosts` in place of pinned memory."""
    more = dict(weights)
    for name, weight in weights.items():
        channel = machine.channel(name)
        if ZCM in (channel.source, channel.destination):
            for host in hosts:
                ends = [host if end == ZCM else end for end in (channel.source, channel.destination)]
                more.update({other.name: weight for other in machine.between(*ends) if other.name not in more})
    return more
