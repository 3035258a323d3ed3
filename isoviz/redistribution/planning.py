"""Planning a redistribution: transfers that are alike up to offsets and ranks share one search."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from isoviz.checks import expect
from isoviz.errors import DistributionError, NoPathError
from isoviz.machines import Machine
from isoviz.planner.planners import plan as plan_transfer
from isoviz.redistribution.distributed_instance import DistributedInstance
from isoviz.redistribution.pair_machines import Pair, PairMachine, PairMachines
from isoviz.redistribution.redistribution_plan import RedistributionPlan, Sending
from isoviz.redistribution.regular_transfer import RegularTransfer, pair_transfers

if TYPE_CHECKING:
    from isoviz.planner import Options, Plan, Transfer


def plan_redistribution(
    source: DistributedInstance,
    destination: DistributedInstance,
    machine: Machine,
    options: Options | None = None,
) -> RedistributionPlan:
    """The plan that moves an array from one distribution, layout and memory to another one. Planning is deterministic.

    The destination has the dimensions of the source with the same sizes, in any order, and all or some of its fields. Every rank
    of both has the named memory on `machine`. `options` are those of every transfer.

    Raises:
        DistributionError: the two ends do not suit each other, or a rank or a memory is not on the machine.
        NoPathError: no channels lead from one rank to another one. LimitError: no buffer within the limits is large enough.
    """
    for end in (source, destination):
        expect("redistribution", end, DistributedInstance, "a distributed instance at each end")
    expect("redistribution", machine, Machine, "a machine")
    check_ends(source, destination)
    seen = PairMachines(machine)
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
