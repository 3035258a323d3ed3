"""The part of a machine that a pair of ranks sees, and which pairs see the same."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from isoviz.errors import DistributionError

if TYPE_CHECKING:
    from isoviz.machines import Channel, Machine, Memory, ThroughputFunction

Pair = tuple[int, int]
"""The ranks of a pair: the sender and the receiver."""


@dataclass(frozen=True)
class PairMachine:
    """The memories and channels of a pair of ranks, in an order that depends on what they are, not on their names.

    Two pairs with equal `looks` are alike up to names: the k-th memory, channel and resource of one stand for those of the other.
    """

    pair: Pair
    looks: Hashable
    memories: tuple[Memory, ...]
    channels: tuple[Channel, ...]
    resources: tuple[str, ...]

    def names_in(self, other: PairMachine) -> dict[str, dict[str, str]]:
        """By "memory", "channel" and "resource": the names of this pair's parts → those of another pair that looks the same."""
        return {
            "memory": {a.name: b.name for a, b in zip(self.memories, other.memories, strict=True)},
            "channel": {a.name: b.name for a, b in zip(self.channels, other.channels, strict=True)},
            "resource": dict(zip(self.resources, other.resources, strict=True)),
        }


class PairMachines:
    """The pair machines of a machine of ranks."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._memories: dict[int, list[Memory]] = {}
        for memory in machine.memories:
            self._memories.setdefault(memory.node, []).append(memory)
        self._node_of = {memory.name: memory.node for memory in machine.memories}
        self._short = {memory.name: memory.short_name for memory in machine.memories}
        self._between: dict[Pair, list[Channel]] = {}
        for channel in machine.channels:
            self._between.setdefault((self._node_of[channel.source], self._node_of[channel.destination]), []).append(channel)
        self._numbers: dict[Hashable, int] = {}
        self._number_of: dict[int, int] = {}
        self._known: dict[Pair, PairMachine] = {}
        self._own: dict[Pair, tuple[Hashable, ...]] = {}

    def require(self, memory: str) -> None:
        """Check that the machine has a memory.

        Raises:
            DistributionError: it does not; the message names the rank.
        """
        if memory not in self._node_of:
            node, _, short = memory.partition(".")
            ranks = [number for number, own in self._memories.items() if any(each.short_name == short for each in own)]
            has = f"ranks {min(ranks)} to {max(ranks)} have one" if ranks else "no rank has one"
            raise DistributionError(
                f"machine {self.machine.name}: rank {node.removeprefix('node')} has no memory {short!r}; {has}"
            )

    def of(self, pair: Pair) -> PairMachine:
        """The part of the machine that a pair sees."""
        found = self._known.get(pair)
        if found is None:
            found = self._known[pair] = self._made(pair)
        return found

    def machine_of(self, pair: Pair) -> Machine:
        """The same as a machine, for planning."""
        seen = self.of(pair)
        used = {name for channel in seen.channels for name, _ in channel.resources}
        resources = tuple(resource for resource in self.machine.resources if resource.name in used)
        return replace(
            self.machine,
            memories=seen.memories,
            channels=seen.channels,
            resources=resources,
            measurement=None,
            positions={},
        )

    def _made(self, pair: Pair) -> PairMachine:
        nodes = list(dict.fromkeys(pair))
        memories = [memory for node in nodes for memory in self._memories.get(node, ())]
        ways = [(here, there) for here in nodes for there in nodes]
        channels = [channel for way in ways for channel in self._between.get(way, ())]
        resources: dict[str, int] = {}
        uses = tuple(
            tuple((resources.setdefault(name, len(resources)), weight) for name, weight in channel.resources)
            for channel in channels
        )
        capacities = tuple(self._capacities[name] for name in resources)
        looks = (
            tuple((nodes.index(each.node), each.short_name, each.kind, each.capacity, each.slot_limit) for each in memories),
            tuple(self._looks(way) for way in ways),
            uses,
            capacities,
        )
        return PairMachine(pair, looks, tuple(memories), tuple(channels), tuple(resources))

    @cached_property
    def _capacities(self) -> dict[str, tuple[float, bool]]:
        return {resource.name: (resource.capacity, resource.held) for resource in self.machine.resources}

    def _looks(self, way: Pair) -> tuple[Hashable, ...]:
        """The looks of the channels from one rank to another, without names and resources."""
        found = self._own.get(way)
        if found is None:
            found = self._own[way] = tuple(self._look(channel) for channel in self._between.get(way, ()))
        return found

    def _look(self, channel: Channel) -> Hashable:
        return (
            self._short[channel.source],
            self._short[channel.destination],
            channel.kind,
            self._function(channel.throughput),
            self._function(channel.layout_rates),
            channel.setup,
            channel.alignment,
            channel.max_in_flight,
            channel.conversion_setup,
            channel.costs,
            channel.descriptors,
            channel.request_seconds,
        )

    def _function(self, function: ThroughputFunction) -> int:
        """The number of a throughput function; equal functions have the same number."""
        number = self._number_of.get(id(function))
        if number is None:
            number = self._number_of[id(function)] = self._numbers.setdefault(repr(function.to_json()), len(self._numbers))
        return number
