"""The plan and cost of a path given by hand: its memories or channels, the layouts of its buffers, the size of its chunks.

Only the choices left open are searched: the best of parallel channels, and the chunk size with the least T.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.errors import InputError, LimitError, MachineError, NoPathError, TransferError, show
from isoviz.layouts import FIELDS, ChunkSequence, Layout
from isoviz.planner.by_hand.limits import broken_limits, limit_notes, limit_text
from isoviz.planner.cache import CACHE
from isoviz.planner.intermediate.part_layouts import ending_alike
from isoviz.planner.intermediate.part_runs import buffer_orders, chunk_order
from isoviz.planner.one_path.buffer_needs import run_as_blocks
from isoviz.planner.one_path.hop_facts import PlanFacts, chunk_bytes, hop_runs, path_clock, path_orders, plan_facts
from isoviz.planner.one_path.one_layout import chunk_multiple
from isoviz.planner.one_path.sizes import fastest_size, round_numbers
from isoviz.planner.options import BY_HAND, Options
from isoviz.planner.path_plan import Constraint, Hop, PathPlan
from isoviz.planner.plan import Plan
from isoviz.planner.problem import Problem
from isoviz.planner.time.path_time import rate_of
from isoviz.planner.transfer import check_arguments, check_ends
from isoviz.planner.tuning import CHUNK_GROWTH_SHARE, FEW_CHUNKS
from isoviz.units import format_bytes, parse_bytes

if TYPE_CHECKING:
    from isoviz.layouts import Linearization
    from isoviz.machines import Channel, Machine, MachineLike
    from isoviz.planner.transfer import Transfer

MOST_PARALLEL = 64
"""Up to this number of combinations of parallel channels, all are tried. With more, every hop takes the channel that is fastest
for its runs."""


def plan_by_path(
    transfer: Transfer,
    machine: MachineLike,
    path: str | Sequence[str],
    layouts: Sequence[Layout | str] | Mapping[str, Layout | str] = (),
    *,
    chunk: int | str | None = None,
    blocks: int | None = None,
    options: Options | None = None,
    over_limits: bool = False,
) -> Plan:
    """The plan of this path with these layouts, with its predicted time; its planner is "by hand".

    `path` names memories or channels, as a sequence or as text with commas. Memories begin with the source; a memory twice in a
    row is its self-loop. A channel name selects one of several parallel channels. `layouts` are the layouts of the intermediate
    buffers, in the order of the path or by memory; a layout may be text in the notation, with block sizes. By default all buffers
    hold the source's layout. If the ends have the fields in different orders, the order changes in the hop that gives the least
    T.

    `chunk` is the size of a chunk in bytes. It is rounded down to whole blocks and, with one buffer, to whole runs of the hop
    with the shorter runs. `blocks` is the number of blocks per chunk, instead of `chunk`. By default the chunk has the least time
    within the limits. The common suffix of the intermediate layouts numbers the blocks. If they have no common suffix, a single
    chunk holds everything and is stored and forwarded.

    `options` gives slots and limits. With `over_limits` a plan that breaks limits is returned as well; `Plan.violations`
    holds them, and its notes name them.

    Raises:
        NoPathError: no channel joins two memories, or a channel moves nothing in such short runs. TransferError: the path does
            not lead from the source to the destination. MachineError: a name is unknown. InputError, NotationError, LayoutError:
            a layout or a size is invalid. LimitError: a limit is broken; the message names it with its figures.
    """
    machine = check_arguments("path by hand", transfer, machine)
    options = Options.given(options)
    check_ends(transfer, machine)
    problem = Problem(transfer, machine, options)
    made, found = costed(problem, path, layouts, chunk, blocks)
    broken = (*found, *broken_limits(problem, [made]))
    if broken and not over_limits:
        raise LimitError("path by hand: " + "; ".join(limit_text(each, machine) for each in broken))
    CACHE.keep_machine(machine)
    notes, emulated = limit_notes(broken, machine), machine.emulated(made.memories)
    return Plan(transfer, machine.name, machine.digest, BY_HAND, (made,), notes, emulated=emulated, violations=broken)


cost = plan_by_path
"""The earlier name of `plan_by_path`, until version 1.0."""


def costed(
    problem: Problem,
    path: str | Sequence[str],
    layouts: Sequence[Layout | str] | Mapping[str, Layout | str] = (),
    chunk: int | str | None = None,
    blocks: int | None = None,
    like: ChunkSequence | None = None,
) -> tuple[PathPlan, list[Constraint]]:
    """The path that `plan_by_path` describes, and the violations if its chunks differ from the requested ones.

    With `like` the path has that sequence of chunks, and `chunk` and `blocks` have no effect.

    Raises:
        As `plan_by_path`, except for limits. TransferError: the layout of a buffer does not end as the sequence `like` does.
    """
    transfer, machine = problem.transfer, problem.in_mean
    _check_types(path, layouts)
    ways = _ways(transfer, machine, path)
    texts = _layouts(transfer, [way[0].destination for way in ways[:-1]], layouts)
    changes = (0,) if transfer.source_fields is transfer.fields else range(max(1, len(texts)) + 1)
    tried = (_costed(problem, ways, texts, at, chunk, blocks, like) for at in changes)
    able = [each for each in tried if each is not None]
    return min(able, key=lambda each: each[0].objective)


def _costed(
    problem: Problem,
    ways: Sequence[tuple[Channel, ...]],
    texts: Sequence[Layout],
    source_fields: int,
    chunk: int | str | None,
    blocks: int | None,
    like: ChunkSequence | None,
) -> tuple[PathPlan, list[Constraint]] | None:
    """As `costed`, where the first `source_fields` buffers hold the fields in the order of the source; None if they cannot."""
    transfer, machine = problem.transfer, problem.machine
    orders = [transfer.source_order, *buffer_orders(transfer, texts, source_fields), transfer.destination_order]
    if like is not None:
        _check_alike(like, orders[1:-1])
        order, outer = orders[1] if texts else like.linearization, like.outer
    elif texts:
        inner, outer = ending_alike(orders[1:-1])
        orders[1:-1] = inner
        order = inner[0]
    else:
        order = transfer.source_order if problem.chunk_order == "source" else transfer.destination_order
        outer = len(order.parts)
    order = chunk_order(transfer, order.layout, source_fields)
    if FIELDS in order.parts[len(order.parts) - outer :]:  # the fields number the blocks, in one order
        numbered = order if like is None else like.linearization
        if source_fields not in (0, max(1, len(texts))) or numbered.fields != order.fields:
            return None
    fixed = None if like is None else ChunkSequence(order, outer, like.per_chunk)
    channels = _best_channels(problem, ways, orders, fixed or ChunkSequence(order, outer), fixed)
    found: list[Constraint] = []
    if fixed is None:
        search = _Chunks(problem, channels, orders, order, outer)
        per_chunk, found = search.given(chunk, blocks)
        fixed = search.sequence(per_chunk)
    words = plan_facts(transfer, machine, channels, path_orders(transfer, orders), fixed, problem.slots, reuse=problem.reuse)
    if math.isinf(words.seconds):
        slow = next(hop for hop, rate in enumerate(words.rates) if not rate)
        raise NoPathError(f"path by hand: {channels[slow].name} moves nothing in runs of {format_bytes(words.requests[slow])}")
    return _path(problem, channels, orders, fixed, words, source_fields), found


def _check_alike(like: ChunkSequence, inside: Sequence[Linearization]) -> None:
    """Raises TransferError if a buffer cannot hold the chunks of `like`."""
    for order in inside:
        if like.outer > len(order.parts) or ChunkSequence(order, like.outer).digits != like.digits:
            raise TransferError(
                f"path: the buffer layout {order.layout} does not end as {like.linearization.layout} does, whose"
                f" {like.outer} slowest components number the blocks of the chunks"
            )


def _check_types(path: object, layouts: object) -> None:
    """Raises InputError if names or layouts have a type that `plan_by_path` does not accept."""
    names = [path] if isinstance(path, str) else path
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise InputError(f"path: expected names of memories or channels, as text or a sequence of texts, got {show(path)}")
    given = layouts
    if isinstance(layouts, Mapping):
        if not all(isinstance(name, str) for name in layouts):
            raise InputError(f"layouts: expected names of memories, got {show(list(layouts))}")
        given = list(layouts.values())
    if isinstance(given, str):  # `_layouts` rejects a text, with the number of layouts to give
        return
    if not isinstance(given, list | tuple) or not all(isinstance(each, str | Layout) for each in given):
        raise InputError(f"layouts: expected layouts in a sequence, or by memory, got {show(layouts)}")


def _path(
    problem: Problem,
    channels: Sequence[Channel],
    orders: Sequence[Linearization],
    chunks: ChunkSequence,
    words: PlanFacts,
    source_fields: int,
) -> PathPlan:
    transfer = problem.transfer
    texts = [str(transfer.source.layout), *(str(order.layout) for order in orders[1:-1]), str(transfer.destination.layout)]
    hops = [
        Hop(
            i,
            each.name,
            str(each.kind),
            each.source,
            each.destination,
            texts[i],
            texts[i + 1],
            words.requests[i],
            words.rates[i],
            words.converts[i],
            each.max_in_flight,
            words.latencies[i],
        )
        for i, each in enumerate(channels)
    ]
    return PathPlan(
        transfer,
        tuple(hops),
        chunks.linearization.layout,
        chunks.outer,
        chunks.per_chunk,
        problem.slots,
        problem.machine.limits.overlap,
        words.seconds,
        words.throughput,
        words.setup,
        words.shares,
        words.resources,
        source_fields=source_fields,
        kept=words.kept,
        reuse=problem.reuse,
    )


# ---- the path


def _ways(transfer: Transfer, machine: Machine, path: str | Sequence[str]) -> list[tuple[Channel, ...]]:
    """For every hop, the channels that it may use.

    Raises:
        TransferError, NoPathError, MachineError: as `plan_by_path`.
    """
    names = [name.strip() for name in path.split(",")] if isinstance(path, str) else list(path)
    memories = {memory.name for memory in machine.memories}
    ways: list[tuple[Channel, ...]] = []
    at, by_channel = None, False
    for name in names:
        channel = machine.find_channel(name)
        if channel is not None:
            if at not in (None, channel.source):
                raise TransferError(f"path: channel {name} begins in {channel.source}; expected one that begins in {at}")
            ways.append((channel,))
            at, by_channel = channel.destination, True
        elif name in memories:
            if at is not None and not (by_channel and name == at):  # a memory after a channel only names the channel's end
                ways.append(_joining(machine, at, name))
            at, by_channel = name, False
        else:
            raise MachineError(f"path: machine {machine.name} has no memory and no channel {show(name)}")
    ends = transfer.source.memory, transfer.destination.memory
    if not ways or (ways[0][0].source, ways[-1][0].destination) != ends:
        given = f"{ways[0][0].source} to {ways[-1][0].destination}" if ways else f"no hop ({', '.join(map(str, names))})"
        raise TransferError(f"path: leads from {given}; expected one from {ends[0]} to {ends[1]}" if ways else f"path: {given}")
    return ways


def _joining(machine: Machine, here: str, there: str) -> tuple[Channel, ...]:
    found = machine.between(here, there)
    if not found:
        channels = machine.around(here, there).outgoing(here)
        onwards = ", ".join(dict.fromkeys(channel.destination for channel in channels)) or "nowhere"
        raise NoPathError(
            f"path: no channel of machine {machine.name} leads from {here} to {there}; from {here} they lead to {onwards}"
        )
    return tuple(sorted(found, key=lambda channel: channel.name))


def _layouts(
    transfer: Transfer, inside: Sequence[str], given: Sequence[Layout | str] | Mapping[str, Layout | str]
) -> list[Layout]:
    """The layouts of the buffers in the memories `inside`."""
    if isinstance(given, str):
        raise InputError(f"layouts: expected a list with one for each of {len(inside)} buffers, got the text {show(given)}")
    if isinstance(given, Mapping):
        if unknown := sorted(set(given) - set(inside)):
            raise InputError(
                f"layouts: {unknown[0]} is no intermediate memory of the path ({', '.join(inside) or 'there is none'})"
            )
        return [Layout(given.get(name, transfer.source_order.layout)) for name in inside]
    if given and len(given) != len(inside):
        raise InputError(
            f"layouts: {len(given)} given; expected {len(inside)}, one for each buffer ({', '.join(inside) or 'none'})"
        )
    return [Layout(each) for each in given] or [transfer.source_order.layout] * len(inside)


def _best_channels(
    problem: Problem,
    ways: Sequence[tuple[Channel, ...]],
    orders: Sequence[Linearization],
    chunks: ChunkSequence,
    fixed: ChunkSequence | None = None,
) -> tuple[Channel, ...]:
    """The channels with the least T among parallel ones, each combination with its best chunks, or with the chunks `fixed`."""
    if math.prod(map(len, ways)) > MOST_PARALLEL:
        runs = hop_runs(problem.transfer, orders)
        most = float(problem.limit([way[0].destination for way in ways[:-1]]))
        return tuple(max(way, key=lambda each, run=run: rate_of(each, most, run)) for way, run in zip(ways, runs, strict=True))  # type: ignore[misc]

    def seconds(channels: tuple[Channel, ...]) -> float:
        if fixed is not None:
            way = path_orders(problem.transfer, orders)
            return plan_facts(problem.transfer, problem.machine, channels, way, fixed, problem.slots).seconds
        search = _Chunks(problem, channels, orders, chunks.linearization, chunks.outer)
        return search.words(search.best()).seconds

    every = list(itertools.product(*ways))
    return every[0] if len(every) == 1 else min(every, key=seconds)


# ---- the chunk


class _Chunks:
    """The possible chunks of a path: their number of blocks, their slots and their predicted time."""

    def __init__(
        self,
        problem: Problem,
        channels: tuple[Channel, ...],
        orders: Sequence[Linearization],
        order: Linearization,
        outer: int,
    ) -> None:
        self.problem, self.channels, self.orders, self.order, self.outer = problem, channels, orders, order, outer
        self.blocks = ChunkSequence(order, outer).blocks
        elements = max(1, order.count * problem.field_count // self.blocks)
        self.way = path_orders(problem.transfer, orders)
        runs = self.way.runs
        inside = [channel.destination for channel in channels[:-1]]
        alike = len({(held.normal, held.fields.names) for held in orders[1:-1]}) == 1
        shorter = chunk_multiple(problem, inside, runs) if alike else 1
        self.unit = min(shorter // math.gcd(shorter, elements), self.blocks)
        """Chunks with at least this number of blocks are a multiple of it."""
        self.limit = problem.limit(inside) if inside else None

    def sequence(self, per_chunk: int) -> ChunkSequence:
        if self.outer < len(self.order.parts):
            return ChunkSequence(self.order, self.outer, per_chunk)
        return ChunkSequence(self.order, *run_as_blocks(self.order, per_chunk))  # elements are the blocks: larger ones are fewer

    def words(self, per_chunk: int) -> PlanFacts:
        problem = self.problem
        return plan_facts(problem.transfer, problem.machine, self.channels, self.way, self.sequence(per_chunk), problem.slots)

    def slot(self, per_chunk: int) -> int:
        """Bytes of the largest slot for chunks of `per_chunk` blocks."""
        return max(ChunkSequence(order, self.outer, per_chunk).chunk_bytes for order in self.orders[1:-1])

    def best(self) -> int:
        """The number of blocks per chunk with the least T within the limits; 1 if nothing fits.

        The number is larger if that costs almost no time (`CHUNK_GROWTH_SHARE`).
        """
        if self.limit is None:
            return self.blocks
        limit = self.limit
        for unit in dict.fromkeys((self.unit, 1)):
            numbers = range(1, -(-self.blocks // unit) + 1)
            if most := bisect_right(numbers, limit, key=partial(self._slot_of, unit)):
                return min(self._best(unit, most) * unit, self.blocks)
        return 1

    def _slot_of(self, unit: int, number: int) -> int:
        return self.slot(min(unit * number, self.blocks))

    def _best(self, unit: int, most: int) -> int:
        """The best number of units per chunk, up to `most`; a unit has `unit` blocks."""
        problem = self.problem
        clock = path_clock(problem.transfer, problem.machine, self.channels, self.way, problem.slots)
        runs, block = self.way.runs, chunk_bytes(ChunkSequence(self.order, self.outer)) * unit

        def seconds(number: int) -> float:
            return clock.seconds(number * block, runs)

        def with_cost(number: int) -> float:
            return seconds(number) + problem.chunk_cost(number * block, len(runs))

        numbers = round_numbers(most)
        _, best = fastest_size(with_cost, numbers, len(numbers))
        goal = seconds(best) * (1 + CHUNK_GROWTH_SHARE)
        while problem.nbytes > FEW_CHUNKS * best * block and 2 * best <= most and seconds(2 * best) <= goal:
            best *= 2
        # T counts a short last chunk as a fraction, although it has the latency of a full one: chunks of one size may be faster.
        count = problem.nbytes / (best * block)
        even = [math.ceil(problem.nbytes / (chunks * block)) for chunks in (math.floor(count), math.ceil(count)) if chunks]
        tried = [best, *(number for number in even if number <= most)]
        return min(tried, key=lambda number: clock.pipeline_seconds(number * block, runs))

    def given(self, chunk: int | str | None, blocks: int | None) -> tuple[int, list[Constraint]]:
        """The number of blocks for the requested chunk, and a violation if the request is smaller than a block.

        Raises:
            InputError: both `chunk` and `blocks` are given, or a size is invalid.
        """
        if chunk is not None and blocks is not None:
            raise InputError("chunk: expected its bytes or its blocks, got both")
        if blocks is not None:
            return checks.whole("path by hand", "blocks of a chunk", blocks, low=1, high=self.blocks), []
        if chunk is None:
            return self.best(), []
        size = parse_bytes(chunk)
        block = self.words(1).chunk
        if size < block:
            return 1, [Constraint("shuffle", None, "", block, size)]
        number = min(math.floor(size / block * (1 + 1e-12)), self.blocks)
        return (number // self.unit * self.unit if self.unit <= number < self.blocks else number), []
