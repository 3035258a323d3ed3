"""One transfer on one machine: the facts that all routes share, mainly the limits on slots and the bounds on runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from isoviz.errors import LimitError, NoPathError
from isoviz.layouts import View
from isoviz.machines.throughput import Constant, LatencyBandwidth, Sampled
from isoviz.planner.intermediate.intermediate_layouts import ends_of
from isoviz.planner.intermediate.part_runs import boxes_of_runs, end_runs, stretch_bytes
from isoviz.planner.planning_work import Work
from isoviz.planner.tuning import MOST_BOXES, UNBUFFERED_UNIT
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.layouts import Layout
    from isoviz.machines import Channel, Machine, Memory, OneTimeCost
    from isoviz.machines.networks import Transport
    from isoviz.planner.one_path.choice import BlockedEnds, Choice
    from isoviz.planner.one_path.hop_facts import PathOrders
    from isoviz.planner.options import Options
    from isoviz.planner.paths.routes import Route
    from isoviz.planner.transfer import Transfer


class Problem:
    """One transfer on one machine: the facts that all its routes share."""

    def __init__(self, transfer: Transfer, machine: Machine, options: Options, work: Work | None = None) -> None:
        self.work = work or Work(math.inf)
        """What counts the steps of working out choices: the work of the search that goes on."""
        self.transfer = transfer
        self.machine = machine
        """The whole machine; `part` is what planners search."""
        self.reuse = options.reuse or 1
        """How often the transfer starts."""
        self.in_mean = machine_in_mean(machine, self.reuse)
        """The machine with the one-time costs of a start in the mean of all: each has its share of what is kept. So planners that
        look for the least T of one start find the least mean."""
        self.options = options
        self.ends = ends_of(transfer.source_order, transfer.destination_order)
        self.nbytes = transfer.nbytes
        fields = transfer.fields
        self.entry = fields.nbytes
        self.mean = fields.nbytes / len(fields)
        self.largest = max(fields.sizes)
        self.field_count = len(fields)
        self.slots = options.slots or machine.limits.slots
        self.slot_limit = options.slot_limit or machine.limits.slot_limit
        """The bound on a slot, in bytes, for a memory without its own: TH."""
        self.memory_limit = options.memory_limit or machine.limits.memory_limit
        """The bound on all buffers together, in bytes; None if there is none."""
        self.uniform_slots = self._has_uniform_slots()
        """Whether every memory has the same bound on a slot."""
        self.end_runs = end_runs(transfer)
        """The contiguous bytes of the box in the source and in the destination; infinite where the box has no gaps."""
        self.moves_whole = self.end_runs == (math.inf, math.inf)
        """Whether both ends move as a whole, so that only the layouts bound the runs at the ends."""

        self.choices: dict[tuple[tuple[str, ...], int | None], Choice | None] = {}
        """The best choice found for each route; the key is the names of its channels and the number of its converting hop."""
        self.blocked_ends_of: dict[int, tuple[BlockedEnds, ...]] = {}
        """The blocks between ends that do not nest, by the bound on a slot (`one_path.non_nesting`)."""
        self.path_orders_of: dict[tuple[tuple[Layout, ...], int], PathOrders] = {}
        """The orders along a path by the layouts of its buffers and their order of the fields (`buffer_needs.orders_along`)."""

    @cached_property
    def part(self) -> Machine:
        """The part of the machine that matters for this transfer, with all its channels listed (`Machine.around`). Its costs are
        the means over all starts."""
        return self.in_mean.around(self.transfer.source.memory, self.transfer.destination.memory)

    # ---- limits

    def _has_uniform_slots(self) -> bool:
        even, least = _bounds(self.machine, self.options.slot_limit)
        if not even:
            return False
        most = 2 * self.slots * self.slot_limit  # a self-loop has two buffers in one memory
        if least >= most + self.transfer.source.linearization.nbytes + self.transfer.destination.linearization.nbytes:
            return True
        return all(memory.capacity is None or self.free_bytes(memory.name) >= most for memory in self.machine.memories)

    def free_bytes(self, name: str) -> int:
        """The capacity of a memory minus the ends of this transfer in it, in bytes."""
        taken = sum(end.linearization.nbytes for end in self.transfer.ends if end.memory == name)
        return max(0, (self.machine.memory(name).capacity or 0) - taken)

    def chunk_cost(self, chunk: float, hops: int) -> float:
        """The cost of chunks of `chunk` bytes to an engine in addition to T, in seconds: it favours fewer chunks at about equal
        T."""
        return self.machine.limits.chunk_seconds * hops * max(1.0, self.nbytes / chunk)

    def with_cost(self, choice: Choice) -> float:
        """T of a choice plus the cost of its chunks to an engine, in seconds. A short last chunk counts as a whole chunk."""
        chunks = math.ceil(self.nbytes / choice.chunk * (1 - 1e-9))
        return choice.seconds + self.chunk_cost(self.nbytes / chunks, len(choice.route.channels))

    def key(self, choice: Choice) -> tuple[object, ...]:
        """The sort key of a choice: T with the cost of its chunks, then `Choice.key`. The least is the best."""
        return self.with_cost(choice), *choice.key

    @cached_property
    def pages(self) -> tuple[int, ...]:
        """The page size of the memory at each end, in bytes; 1 if it has no pages."""
        return tuple([self._page(end.memory) for end in self.transfer.ends])

    def _page(self, name: str) -> int:
        if not self.machine.memory(name).is_file_system:
            return 1
        mine = [each.alignment for each in self.part.channels if name in (each.source, each.destination)]
        return max(mine, default=1)

    def limit(self, inside: Sequence[str]) -> int:
        """The bound on a slot in bytes, for buffers in these memories; without buffers, the bytes of the transfer."""
        if not inside:
            return self.nbytes  # no buffer holds anything
        bound = self.slot_limit if self.uniform_slots else self._own_limit(inside)
        if self.memory_limit is not None:
            bound = min(bound, self.memory_limit // (len(inside) * self.slots))
        return bound

    def longest_chunk(self, inside: Sequence[str]) -> float:
        """Bytes of the longest chunk on a route with buffers in these memories.

        A route without buffers has no slots, but the bound on a slot limits its chunks as well. The exception is a machine with a
        cost per chunk and no limit in the options: then a chunk may be as long as the transfer.
        """
        unset = self.options.slot_limit is None and self.memory_limit is None
        if not inside and unset and self.machine.limits.chunk_seconds > 0:
            return float(self.nbytes)
        return float(min(self.limit(inside), self.nbytes))

    def own_slot_limit(self, inside: Sequence[str]) -> int:
        """The least bound on a slot in these memories: TH, or the memory's own bound where it has one."""
        memories = (self.machine.memory(name) for name in inside)
        return min((_slot_limit(self.machine, memory, self.options.slot_limit) for memory in memories), default=self.slot_limit)

    def _own_limit(self, inside: Sequence[str]) -> int:
        bounds = [self.own_slot_limit(inside)]
        known = [name for name in inside if self.machine.memory(name).capacity is not None]
        bounds += [self.free_bytes(name) // (inside.count(name) * self.slots) for name in known]
        return min(bounds)

    # ---- runs

    def runs(self, hops: int, converting: int | None, first: float = math.inf, last: float = math.inf) -> tuple[float, ...]:
        """The bound on the run of every hop, in bytes. Only the converting hop and the hops at the ends have a finite bound."""
        found = [math.inf] * hops
        found[0], found[-1] = first, last
        if hops == 1:
            found[0] = min(first, last)
        if converting is not None:
            found[converting] = min(found[converting], self.ends.run)
        if not self.moves_whole:
            found[0] = min(found[0], self.end_runs[0])
            found[-1] = min(found[-1], self.end_runs[1])
        return tuple(found)

    @cached_property
    def bound_is_proved(self) -> bool:
        """Whether the proof of the optimum covers this transfer on this machine.

        The proof requires:

        - ends without blocks: intermediate blocks that nest with neither end are not tried (`families`);
        - fields of one size;
        - chunks that consist of few boxes;
        - ends with one order of the fields: no buffer has a third one;
        - a box that begins at blocks of both ends: inside a block it has no layout of its own;
        - throughput functions of a known kind, which determine the time of every copy;
        - no held resource: its cost depends on the runs of all hops together;
        - no one-time cost that depends on layouts or on other hops;
        - no channel where a conversion has an extra cost, apart from self-loops;
        - no rates of layout changes apart where buffers have one slot: two conversions may then be faster than one.
        """
        orders = self.transfer.source_order, self.transfer.destination_order
        scattered = any(boxes_of_runs(order) > MOST_BOXES for order in orders) or any(
            each.scattered for each in self.ends.families
        )
        plain = self.ends.regular and all(digit.top for digit in self.ends.digits)
        paired = self.machine.limits.overlap and self.slots == 1
        apart = paired and any(each.layout_throughput is not None for each in self.part.channels)
        return plain and self._fits_ends and not self.has_short_runs and not scattered and not apart and _argued(self.part)

    @property
    def _fits_ends(self) -> bool:
        """Whether the orders of the ends are those in which they store the box, with the same order of the fields."""
        transfer = self.transfer
        if transfer.source_fields is not transfer.fields:
            return False
        if transfer.is_whole:
            return True
        packed = View(transfer.source_order), View(transfer.destination_order)
        hops = (transfer.source_view(), packed[0]), (packed[1], transfer.destination_view())
        return tuple([transfer.mean_run(*ends, transfer.fields.names) for ends in hops]) == self.end_runs

    @cached_property
    def bounded(self) -> bool:
        """Whether the bound of a first look (`search.first_look`) holds for all plans of this transfer, with any layouts.

        It requires throughput functions of a known kind, and blocks of the ends that divide each other and their dimension. Then
        some hop of every path has a run of at most that of the conversion, as T counts runs: in mean fields where sizes differ.
        """
        return self.ends.regular and _known_rates(self.part)

    @property
    def has_short_runs(self) -> bool:
        """Whether the runs at both ends of a route may be short even if it converts at one end or nowhere (`one_layout`)."""
        return not self.ends.nesting or self.largest > self.mean

    @property
    def chunk_order(self) -> str:
        """The end whose order the chunks follow if either is possible: "source" or "destination".

        It is the end on a disk, so that the disk is read or written in sequence; else the destination.
        """
        here, there = (self.machine.memory(end.memory) for end in (self.transfer.source, self.transfer.destination))
        return "source" if here.is_file_system and not there.is_file_system else "destination"

    def held_order(self, route: Route) -> str:
        """The end whose order the buffers of a route hold, if no hop between two buffers converts."""
        if len(route.channels) == 1:
            return self._denser if self.ends.converts else self.chunk_order
        if route.converting is None:
            return self.chunk_order
        return "destination" if route.converting == 0 else "source"

    @cached_property
    def _denser(self) -> str:
        """The end whose order the chunks of a route without buffers follow.

        It is the end on a disk. Between two memories it is the end whose chunks form longer contiguous stretches at the other
        end. The reason: a chunk of one field out of structs reads all their cache lines, and does so again for every field.
        """
        ends = self.transfer.source, self.transfer.destination
        if any(self.machine.memory(end.memory).is_file_system for end in ends):
            return self.chunk_order
        here, there, nbytes = self.transfer.source_order, self.transfer.destination_order, min(UNBUFFERED_UNIT, self.nbytes)
        return "source" if stretch_bytes(here, there, nbytes) > stretch_bytes(there, here, nbytes) else "destination"


def channels_in_mean(problem: Problem, names: Iterable[str]) -> tuple[Channel, ...]:
    """The channels with these names, at the costs of a start in the mean (`Problem.in_mean`).

    Raises:
        MachineError: the machine has no such channel.
    """
    return tuple([problem.in_mean.channel(name) for name in names])


@lru_cache(maxsize=16)
def machine_in_mean(machine: Machine, starts: int) -> Machine:
    """See `Problem.in_mean`: the machine itself where nothing is kept, or one start pays for it."""

    def costs(each: Channel | Transport) -> tuple[OneTimeCost, ...]:
        return tuple([replace(cost, seconds=cost.seconds / starts) if cost.kept else cost for cost in each.costs])

    every = [each.costs for each in machine.channels]
    every += [each.costs for network in machine.networks for each in network.transports]
    if starts == 1 or not any(cost.kept for each in every for cost in each):
        return machine
    channels = tuple([replace(each, costs=costs(each)) if each.costs else each for each in machine.channels])
    networks = [
        replace(network, transports=tuple([replace(each, costs=costs(each)) for each in network.transports]))
        for network in machine.networks
    ]
    return replace(machine, channels=channels, networks=tuple(networks))


@lru_cache(maxsize=16)
def _known_rates(machine: Machine) -> bool:
    kinds = Sampled | LatencyBandwidth | Constant
    return all(isinstance(each.throughput, kinds) and isinstance(each.layout_rates, kinds) for each in machine.channels)


@lru_cache(maxsize=16)
def _argued(machine: Machine) -> bool:
    held = any(resource.held for resource in machine.resources)
    known = all(isinstance(each.throughput, Sampled | LatencyBandwidth | Constant) for each in machine.channels)
    known = known and all(each.by_run and each.has_fixed_costs for each in machine.channels)
    return known and not held and not any(each.least_conversion for each in machine.channels if not each.is_self_loop)


@lru_cache(maxsize=16)
def _bounds(machine: Machine, slot_limit: int | None) -> tuple[bool, float]:
    """Whether all memories have the same bound on slots, and the least capacity of a memory in bytes."""
    whole = slot_limit or machine.limits.slot_limit
    even = all(_slot_limit(machine, memory, slot_limit) == whole for memory in machine.memories)
    return even, min((memory.capacity for memory in machine.memories if memory.capacity is not None), default=math.inf)


def _slot_limit(machine: Machine, memory: Memory, slot_limit: int | None) -> int:
    set_here = [limit for limit in (slot_limit, memory.slot_limit) if limit is not None]
    return min(set_here, default=machine.limits.slot_limit)


# Errors for transfers that no path can carry out.


def limits_too_small(problem: Problem, insides: Sequence[Sequence[str]]) -> LimitError:
    """The error for limits that are smaller than the smallest chunk, one element, on every path. It says which limit would be
    enough.

    `insides` holds, for every path, the memories of its buffers.
    """
    transfer = problem.transfer
    element = problem.largest
    fewest = min(insides, key=len)
    slots = len(fewest) * problem.slots
    what = "the limits"
    if problem.slot_limit < element:
        what = f"a slot_limit of at least {format_bytes(element)}, one element"
    elif problem.memory_limit is not None and problem.memory_limit < slots * element:
        what = f"a memory_limit of at least {format_bytes(slots * element)}, one element in each of {slots} slots"
    else:
        what = f"room for one element, {format_bytes(element)}, in each of {slots} slots in {', '.join(dict.fromkeys(fewest))}"
    left = format_bytes(max(problem.limit(inside) for inside in insides))
    return LimitError(
        f"transfer from {transfer.source} to {transfer.destination}: the limits leave {left} for a slot; expected {what}"
    )


def no_throughput(problem: Problem) -> NoPathError:
    """The error for a transfer where every path has a channel that moves nothing in the runs that layouts and limits allow."""
    transfer = problem.transfer
    return NoPathError(
        f"machine {problem.machine.name}: on every path from {transfer.source.memory} to {transfer.destination.memory} some"
        " channel moves nothing in runs as short as the layouts and limits leave it; converting between the two orders takes"
        f" runs of {format_bytes(min(problem.ends.run, problem.nbytes))}"
    )
