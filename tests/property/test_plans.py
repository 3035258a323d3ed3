"""Plans of random transfers: they lead where they should, stay within the limits, and carried out they convert correctly."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from layout_cases import field_spaces, layouts, spaces

from isoviz import cost
from isoviz.errors import LimitError, NoPathError, TransferError
from isoviz.layouts import FIELDS, Box, Component, FieldsComponent, FieldSpace, IndexSpace, Layout, apply, strided_copies
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine, Memory, MemoryKind, preset
from isoviz.planner import Hop, Instance, Options, PathPlan, Plan, Transfer, plan, plan_from_json, plan_of_paths, plan_to_json
from isoviz.planner.explanation.rivals import with_bandwidth
from isoviz.runtime import simulate

Report = Callable[[str, object], None]
PLANNERS = ("auto", "full", "full", "simple", "spsl", "spdl", "direct", "program")


@cache
def machine(name: str) -> Machine:
    return preset(name, measure="assumed") if name == "local" else preset(name)


@st.composite
def transfers(draw: st.DrawFn) -> tuple[Transfer, Machine]:
    """Whole instances and parts of them, between any two memories of a preset."""
    where = machine(draw(st.sampled_from(["local", "two-node", "sapling", "laptop"])))
    shape, fields = draw(spaces()), draw(field_spaces())
    memories = [memory.name for memory in where.memories]
    ends = []
    for _ in range(2):
        margins = {dim: draw(st.sampled_from([(0, 0), (0, 0), (1, 2)])) for dim in shape}
        dims = draw(st.permutations(shape.dims))
        space = IndexSpace.of({dim: sum(margins[dim]) + shape[dim] for dim in dims})
        instance = Instance(draw(st.sampled_from(memories)), space, fields, draw(layouts(space)))
        ends.append((instance, tuple(margins[dim][0] for dim in dims)))
    (source, origin), (destination, target) = ends
    extent = tuple(shape[dim] for dim in source.space)
    names = draw(st.permutations(fields.names))[: draw(st.integers(1, len(fields)))]
    return Transfer(source, destination, extent, origin, target, tuple(names)), where


def carried_out(found: Plan, given: np.ndarray) -> np.ndarray:
    """The destination after all chunks have gone through all hops of their paths, one slot per buffer."""
    result = np.full(found.transfer.destination.linearization.nbytes, 255, np.uint8)
    for path in found.paths:
        slots = [np.full(buffer.nbytes, 170, np.uint8) for buffer in path.buffers]
        for chunk in map(path.chunks.__getitem__, path.numbers):
            places = [given, *slots, result]
            for hop in path.hops:
                source, destination = path.views(hop.index, chunk.index)
                for box, names in chunk.parts:
                    copies = strided_copies(source, destination, box, names)
                    apply(copies, places[hop.index], places[hop.index + 1])
    return result


@given(data=st.data(), case=transfers(), planner=st.sampled_from(PLANNERS))
def test_plans_carry_out_their_transfer(
    report: Report, data: st.DataObject, case: tuple[Transfer, Machine], planner: str
) -> None:
    transfer, where = case
    slot = data.draw(st.sampled_from([None, 4096, 256, 64]))
    total = data.draw(st.sampled_from([None, None, 2048, 512]))
    options = Options(slot_limit=slot, memory_limit=total)
    try:
        found = plan(transfer, where, planner, options)
    except NoPathError:
        return
    except LimitError:
        # At most four buffers of two slots: an entry that fits an eighth of everything always has a plan.
        assert transfer.fields.nbytes > min(slot or where.limits.slot_limit, (total or where.limits.slot_limit) // 8)
        return
    report("property cases of plans", 1)

    assert found == plan(transfer, where, planner, options), "planning is deterministic"
    assert plan_from_json(json.loads(json.dumps(plan_to_json(found)))) == found
    assert (found.memories[0], found.memories[-1]) == (transfer.source.memory, transfer.destination.memory)
    for here, hop in zip(found.memories, found.hops, strict=False):
        channel = where.channel(hop.channel)
        assert (channel.source, channel.destination) == (here, hop.destination)
        assert hop.throughput == channel.rate(hop.request_bytes)
    for hop, (before, after) in zip(found.hops, itertools.pairwise(found.orders), strict=True):
        assert not hop.converts or before.normal != after.normal
    assert any(hop.converts for hop in found.hops) >= transfer.converts
    for buffer in found.buffers:
        assert buffer.nbytes <= (slot or where.limits.slot_limit)
    assert total is None or found.buffer_bytes <= total
    for shuffle, (before, after) in zip(found.shuffles[1:-1], itertools.pairwise(found.buffers), strict=True):
        # A hop between two buffers converts inside a chunk (Isometry, 4.2: space constraint), on the side that pads too.
        assert shuffle <= max(before.nbytes, after.nbytes)
    assert found.throughput <= min(hop.throughput for hop in found.hops) * (1 + 1e-9)
    assert found.seconds >= found.bytes / found.throughput * (1 - 1e-9)
    check_bytes(found)


def check_bytes(found: Plan) -> None:
    """The plan carried out gives what one copy of the whole gives."""
    transfer = found.transfer
    given = np.random.default_rng(0).integers(0, 255, transfer.source.linearization.nbytes, dtype=np.uint8)
    expected = np.full(transfer.destination.linearization.nbytes, 255, np.uint8)
    whole = Box.whole(transfer.space)
    copies = strided_copies(transfer.source_view(), transfer.destination_view(), whole, transfer.field_names)
    apply(copies, given, expected)
    assert (carried_out(found, given) == expected).all()


@st.composite
def alike_outside(draw: st.DrawFn, layout: Layout, space: IndexSpace, outer: int) -> Layout:
    """A layout that ends with the same `outer` components: inside a block in another order, perhaps with padding of its own."""
    inner = list(layout.components[: len(layout.components) - outer])
    for top in [part for part in inner if isinstance(part, Component) and part.extent is None]:
        left = space[top.dim] // math.prod(digit.extent or 1 for digit in layout.digits[top.dim][: top.rank])
        if left > 1 and draw(st.booleans()):
            low = draw(st.integers(1, left))
            inner[inner.index(top)] = Component(top.dim, top.label, top.rank, low)
            inner.append(Component(top.dim, top.label, top.rank + 1))
    parts = [*draw(st.permutations(inner)), *layout.components[len(layout.components) - outer :]]
    digits = {dim: sum(isinstance(part, Component) and part.dim == dim for part in parts) for dim in space}
    labels = {1: [""], 2: ["in", "out"]}
    return Layout(
        part
        if isinstance(part, FieldsComponent)
        else Component(
            part.dim, labels.get(digits[part.dim], [str(i) for i in range(digits[part.dim])])[part.rank], part.rank, part.extent
        )
        for part in parts
    )


@st.composite
def any_path(draw: st.DrawFn, transfer: Transfer, order: Layout, outer: int, per_chunk: int) -> PathPlan:
    """A path that no planner makes: any layouts of the buffers that end alike."""
    held = [draw(alike_outside(order, transfer.space, outer)) for _ in range(draw(st.integers(0, 3)))]
    through = [transfer.source.layout, *held, transfer.destination.layout]
    names = [transfer.source.memory, *(f"node0.buffer{i}" for i in range(len(held))), transfer.destination.memory]
    hops = [
        Hop(i, f"channel{i}", "memcpy", names[i], names[i + 1], str(here), str(there), 1.0, 1.0, here != there)
        for i, (here, there) in enumerate(itertools.pairwise(through))
    ]
    return PathPlan(transfer, tuple(hops), order, outer, per_chunk, 1, False, 1.0, 1.0)


@st.composite
def any_chunks(draw: st.DrawFn) -> Plan:
    """Plans no planner makes: any layouts of the buffers that end alike, any of their components numbering the blocks."""
    transfer, _ = draw(transfers())
    order = draw(layouts(transfer.space))
    outer = draw(st.integers(0, len(order.components)))
    path = draw(any_path(transfer, order, outer, draw(st.integers(1, 7))))
    return Plan(transfer, "any", "0", "simple", (path,))


@st.composite
def several_paths(draw: st.DrawFn) -> Plan:
    """The same over two or three paths: boxes with layouts of their own, or runs of the chunks of one sequence."""
    transfer, _ = draw(transfers())
    count = draw(st.integers(2, 3))
    if draw(st.booleans()):
        order = draw(layouts(transfer.space))
        outer, per_chunk = draw(st.integers(0, len(order.components))), draw(st.integers(1, 7))
        paths = [draw(any_path(transfer, order, outer, per_chunk)) for _ in range(count)]
        assume(len(paths[0].chunks) >= count)
        cuts = draw(st.lists(st.integers(1, len(paths[0].chunks) - 1), min_size=count - 1, max_size=count - 1, unique=True))
        ends = itertools.pairwise([0, *sorted(cuts), len(paths[0].chunks)])
        paths = [replace(path, run=run) for path, run in zip(paths, draw(st.permutations(list(ends))), strict=True)]
        assume(all(path.bytes for path in paths))  # padding alone is no share
        return Plan(transfer, "any", "0", "simple", tuple(paths))
    boxes = [Box.whole(transfer.space)]
    for _ in range(count - 1):
        box = max(boxes, key=lambda box: box.volume)
        wide = [dim for dim, extent in enumerate(box.shape) if extent > 1]
        assume(wide)
        dim = draw(st.sampled_from(wide))
        cut = draw(st.integers(box.lo[dim] + 1, box.hi[dim] - 1))
        boxes.remove(box)
        boxes += [
            Box(box.lo, (*box.hi[:dim], cut, *box.hi[dim + 1 :])),
            Box((*box.lo[:dim], cut, *box.lo[dim + 1 :]), box.hi),
        ]
    paths = []
    for box in boxes:
        part = transfer.part(box)
        order = draw(layouts(part.space))
        paths.append(draw(any_path(part, order, draw(st.integers(0, len(order.components))), draw(st.integers(1, 7)))))
    return Plan(transfer, "any", "0", "simple", tuple(paths))


@given(found=any_chunks())
def test_any_chunks_of_layouts_that_end_alike_carry_a_transfer_out(report: Report, found: Plan) -> None:
    report("property cases of plans", 1)
    assert plan_from_json(json.loads(json.dumps(plan_to_json(found)))) == found
    assert sum(chunk.payload_bytes for chunk in found.chunks) == found.bytes
    check_bytes(found)


@given(found=several_paths())
def test_any_shares_of_several_paths_carry_a_transfer_out(report: Report, found: Plan) -> None:
    report("property cases of plans of several paths", 1)
    assert plan_from_json(json.loads(json.dumps(plan_to_json(found)))) == found
    for path in found.paths:
        assert sum(path.chunks[number].payload_bytes for number in path.numbers) == path.bytes
    assert sum(path.bytes for path in found.paths) == found.bytes
    check_bytes(found)


# ---- paths by hand


@cache
def rails() -> Machine:
    """Memories that are joined pairwise, each pair by a channel of its own."""
    names = ("a", "m0", "m1", "m2", "m3", "z")
    channels = [
        Channel("", ChannelKind.MEMCPY, here, there, LatencyBandwidth(1e-8 * (1 + i % 3), 1e9 * (1 + i % 4)))
        for i, (here, there) in enumerate(itertools.permutations(names, 2))
    ]
    return Machine("rails", [Memory(name, MemoryKind.SYS) for name in names], channels)


def random_layout(draw: random.Random, space: IndexSpace, last: str | None) -> Layout:
    """Up to three digits a dimension in any order, blocks of one value and of the whole among them; with `last` its top digit is
    slowest, so that two such layouts end alike once their digits are split."""
    parts: list[Component | FieldsComponent] = [FIELDS]
    for dim, size in space.as_dict().items():
        extents: list[int] = []
        for _ in range(draw.choice((0, 0, 1, 1, 2))):
            left = size // math.prod(extents)
            dividing = [extent for extent in range(1, left + 1) if left % extent == 0]
            extents.append(draw.choice((1, left, draw.choice(dividing), draw.randint(1, left))))
        labels = {0: [""], 1: ["in", "out"]}.get(len(extents), [str(rank) for rank in range(len(extents) + 1)])
        parts += [Component(dim, *digit) for digit in zip(labels, range(len(labels)), [*extents, None], strict=True)]
    draw.shuffle(parts)
    return Layout(sorted(parts, key=lambda part: isinstance(part, Component) and part.dim == last and part.extent is None))


def test_paths_by_hand_with_any_layouts_carry_a_transfer_out(report: Report, full: bool) -> None:
    for seed in range(600 if full else 60):
        draw = random.Random(seed)
        space = IndexSpace.of({dim: draw.choice((1, 2, 3, 4, 6, 8)) for dim in "xyz"[: draw.randint(1, 3)]})
        fields = FieldSpace.of({f"f{k}": draw.choice(("u1", "<f4", "<f8")) for k in range(draw.randint(1, 3))})
        transfer = Transfer.whole(space, fields, "a", random_layout(draw, space, None), "z", random_layout(draw, space, None))
        inside = iter(draw.sample(["m0", "m1", "m2", "m3"], 4))
        ways = [["a", *itertools.islice(inside, count), "z"] for count in draw.choice(((2,), (3,), (4,), (1, 1), (1, 2), (2, 2)))]
        last = draw.choice((None, *space.dims))
        held = [[random_layout(draw, space, last) for _ in way[1:-1]] for way in ways]
        found = cost(transfer, rails(), ways[0], held[0])  # any layouts do: with one chunk if they end in different ways
        check_by_hand(found)
        if full or seed % 4 == 0:
            check_explained(found, ways[0], held[0])
            report("prices of paths by hand", len(found.hops))
        report("paths by hand with any layouts", 1)
        if len(ways) == 1 or max(space.sizes) == 1:
            continue
        dim = max(space.dims, key=lambda dim: space[dim])
        cut = draw.randrange(1, space[dim])
        shares: list[Any] = [{dim: (0, cut)}, {dim: (cut, space[dim])}]
        if found.chunk_count > 1 and draw.random() < 0.4:
            cut = draw.randrange(1, found.chunk_count)
            shares = [range(cut), range(cut, found.chunk_count)]
            held[1] = [draw.choice(held[0]) for _ in held[1]]
        else:  # blocks must fit the boxes
            boxes = [IndexSpace.of({**space.as_dict(), dim: extent}) for extent in (cut, space[dim] - cut)]
            held = [[random_layout(draw, box, last) for _ in way[1:-1]] for box, way in zip(boxes, ways, strict=True)]
        try:
            several = plan_of_paths(transfer, rails(), list(zip(shares, ways, held, strict=True)))
        except TransferError as error:
            said = str(error)
        else:
            check_by_hand(several)
            assert full or seed % 4 or [stage.memory for stage in several.explain().stages][-1] == "z"
            report("several paths by hand with any layouts", 1)
            continue
        # Chunks of one sequence need layouts that end alike, and padding alone is no share.
        assert "padding alone" in said or any(str(layout) in said for layout in held[1]), said


def check_explained(found: Plan, way: list[str], held: list[Layout]) -> None:
    """The price of each hop is how the time of the same plan changes on a machine with that channel a little faster."""
    why = found.explain()
    assert why.plan is found and len(why.stages) == len(found.hops) + 1
    for hop, stage in zip(found.hops, why.stages, strict=False):
        assert found.machine_name == why.machine.name and (stage.memory, stage.throughput) == (hop.source, hop.throughput)
        factor = 1 + 1e-5
        faster = with_bandwidth(rails(), hop.channel, factor)
        again = cost(found.transfer, faster, way, held, blocks=found.per_chunk)
        if (again.outer, again.per_chunk) == (found.outer, found.per_chunk):
            # a channel with a latency is not faster by the whole factor: by as much as its rate is
            gained = again.hops[hop.index].throughput - hop.throughput
            change = again.objective - found.objective
            assert change == pytest.approx(stage.price * gained, rel=1e-3, abs=1e-9 * found.objective)


def check_by_hand(found: Plan) -> None:
    """The plan is the same from its file, carries out its transfer, and takes what its simulation takes."""
    assert plan_from_json(json.loads(json.dumps(plan_to_json(found)))) == found
    check_bytes(found)
    assert simulate(found, rails()).end == pytest.approx(found.seconds, rel=1e-9)
