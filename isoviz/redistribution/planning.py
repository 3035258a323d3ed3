"""Planning a redistribution: transfers that are alike up to offsets and ranks share one search."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from isoviz.checks import expect
from isoviz.errors import DistributionError, NoPathError
from isoviz.machines import Machine, MachineLike, machine_argument
from isoviz.planner.planners import plan as plan_transfer
from isoviz.redistribution.distributed_instance import DistributedInstance
from isoviz.redistribution.redistribution_plan import RedistributionPlan, Sending
from isoviz.redistribution.regular_transfer import RegularTransfer, pair_transfers

if TYPE_CHECKING:
    from isoviz.machines import Channel, Machine, Memory, ThroughputFunction
    from isoviz.planner import Options, Plan, Transfer

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


def plan_redistribution(
    source: DistributedInstance,
    destination: DistributedInstance,
    machine: MachineLike,
    options: Options | None = None,
) -> RedistributionPlan:
    """The plan that moves an array to another distribution, layout and memory. Planning is deterministic.

    The destination has the dimensions of the source with the same sizes, in any order, and all or some of its fields. On
    `machine`, every rank of both ends has the memory that the end names. `options` apply to every transfer.

    Raises:
        DistributionError: the two ends do not suit each other, or a rank or a memory is not on the machine.
        NoPathError: no channels lead from one rank to another one. LimitError: no buffer within the limits is large enough.
    """
    for end in (source, destination):
        expect("redistribution", end, DistributedInstance, "a distributed instance at each end")
    machine = machine_argument("redistribution", machine)
    check_ends(source, destination)
    seen = PairMachines(machine)
    need, have = (1 + max(found) for found in ((*source.ranks, *destination.ranks), (each.node for each in machine.memories)))
    if need > have:
        raise DistributionError(
            f"redistribution: needs {need} ranks, and there are {have} (machine {machine.name!r}); start {need}: mpiexec -n"
            f" {need} python -P program.py, or isoviz.ranks({need})"
        )
    for end in (source, destination):
        for rank in end.ranks:
            seen.require(f"node{rank}.{end.memory}")
    searches = _Searches(seen, options)
    sendings = [
        Sending(sender, receiver, *searches.plan((sender, receiver), transfer))
        for sender, receiver in staggered(source, destination)
        for transfer in pair_transfers(source, destination, sender, receiver)
    ]
    return RedistributionPlan(source, destination, machine.name, machine.digest, tuple(sendings))


def check_ends(source: DistributedInstance, destination: DistributedInstance) -> None:
    """Check that a destination can take what a source holds.

    Raises:
        DistributionError: the index spaces differ, or the source lacks a field of the destination.
    """
    if source.space.as_dict() != destination.space.as_dict():
        raise DistributionError(
            f"redistribution: the source has the index space ({source.space}), the destination ({destination.space})"
        )
    for name, dtype in zip(destination.fields.names, destination.fields.dtypes, strict=True):
        if name not in source.fields:
            raise DistributionError(f"redistribution: field {name!r} is not in the source ({', '.join(source.fields)})")
        ours = source.fields.dtypes[source.fields.index(name)]
        if ours != dtype:
            raise DistributionError(f"redistribution: field {name!r} is {ours} in the source and {dtype} in the destination")


def staggered(source: DistributedInstance, destination: DistributedInstance) -> Iterator[Pair]:
    """The pairs (sender, receiver) in the order of submission.

    Each sender begins with the receiver after it and ends with itself or the one before it, so that no receiver is served by all
    senders at once.
    """
    senders, receivers = sorted(source.ranks), sorted(destination.ranks)
    for turn in range(1, len(receivers) + 1):
        for place, sender in enumerate(senders):
            at = receivers.index(sender) if sender in receivers else place * len(receivers) // len(senders)
            yield sender, receivers[(at + turn) % len(receivers)]


class _Searches:
    """The plans by class of transfers.

    All pairs of ranks that see the same are planned between the ranks of one of them, so that the planner lists the paths once.
    """

    def __init__(self, seen: PairMachines, options: Options | None) -> None:
        self.seen, self.options = seen, options
        self._known: dict[Hashable, tuple[Plan, int]] = {}
        self._machines: dict[Hashable, tuple[PairMachine, Machine]] = {}
        self.count = 0

    def plan(self, pair: Pair, transfer: Transfer) -> tuple[Plan, int]:
        """The plan of a transfer between a pair of ranks, and the number of its class."""
        mine, whole = self.seen.of(pair), self.seen.machine
        if mine.looks not in self._machines:
            self._machines[mine.looks] = mine, self.seen.machine_of(pair)
        model, machine = self._machines[mine.looks]
        key = _looks(transfer), mine.looks
        if key not in self._known:
            try:
                found = plan_transfer(_between(transfer, mine.names_in(model)["memory"]), machine, options=self.options)
            except NoPathError:  # a path may lead through a third rank
                self.count += 1
                return plan_transfer(transfer, whole, options=self.options), self.count - 1
            if len(found.paths) > 1:  # the transfers of all pairs of ranks fill the links together
                found = plan_transfer(found.transfer, machine, "full", self.options)
            self._known[key] = found, self.count
            self.count += 1
        found, number = self._known[key]
        return relabelled(found, transfer, model.names_in(mine), whole.name, whole.digest), number


def _between(transfer: Transfer, memory: dict[str, str]) -> Transfer:
    """The same transfer between memories with other names."""
    source, destination = transfer.source, transfer.destination
    return replace(
        transfer,
        source=replace(source, memory=memory[source.memory]),
        destination=replace(destination, memory=memory[destination.memory]),
    )


def _looks(transfer: Transfer) -> Hashable:
    """What a plan depends on besides the names of memories: transfers that look the same differ in offsets only."""
    jumps = tuple(each.jumps for each in transfer.sets) if isinstance(transfer, RegularTransfer) else ()
    ends = tuple((end.space, end.fields, end.layout) for end in (transfer.source, transfer.destination))
    return ends, transfer.shape, transfer.field_names, jumps


def relabelled(plan: Plan, transfer: Transfer, names: dict[str, dict[str, str]], name: str, digest: str) -> Plan:
    """A plan with one path for another transfer that looks the same.

    `names` holds, by "memory", "channel" and "resource", other names for those of the plan. `name` and `digest` are those of the
    machine.

    Raises:
        TransferError: the plan has several paths.
    """
    path = plan.only
    memory, channel, resource = names["memory"], names["channel"], names["resource"]
    hops = tuple(
        hop._replace(channel=channel[hop.channel], source=memory[hop.source], destination=memory[hop.destination])
        for hop in path.hops
    )
    moved = replace(path, transfer=transfer, hops=hops, resources=tuple(resource[each] for each in path.resources))
    return replace(plan, transfer=transfer, paths=(moved,), machine_name=name, machine_digest=digest)
