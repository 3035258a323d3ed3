"""Plans of several paths as values: shares, times together, files, what is refused."""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from isoviz import FieldSpace, IndexSpace, cost
from isoviz.errors import InputError, LayoutError, LimitError, MachineError, NoPathError, TransferError
from isoviz.layouts import Box
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine, Memory, MemoryKind, Resource
from isoviz.planner import Instance, Options, PathByHand, Plan, Transfer, plan_from_json, plan_of_paths, plan_to_json
from isoviz.planner.shares import check_boxes, check_numbers
from isoviz.runtime import simulate

PAIR = FieldSpace(re="f4", im="f8")
LAYOUTS = ("<F, x, y>", "<y, x, F>", "<x, F, y>", "<y, F, x>", "<F, x_in=4, y, x_out>")
WAYS = ("a,z", "a,m0,z", "a,m1,z", "a,m2,z", "a,m0,m1,z")


def rails(draw: random.Random | None = None, resources: int = 0) -> Machine:
    """Memories a and z, joined directly and over m0, m1 and m2; with `draw` channels of all kinds of rates and set-ups."""
    pick: Callable[[tuple[float, ...]], float] = draw.choice if draw is not None else (lambda values: values[0])
    shared = [Resource(f"bus{i}", pick((5e8, 1e9, 3e9))) for i in range(resources)]
    ends = [("a", "z"), ("m0", "m1"), *((s, d) for i in range(3) for s, d in (("a", f"m{i}"), (f"m{i}", "z")))]
    channels = [
        Channel(
            "",
            ChannelKind.MEMCPY,
            *pair,
            LatencyBandwidth(pick((1e-6, 1e-7)), pick((1e9, 5e8, 4e9))),
            setup=pick((0.0, 0.0, 1e-4)),
            resources=tuple((bus.name, pick((1.0, 0.5, 2.0))) for bus in shared if draw is None or draw.random() < 0.5),
        )
        for pair in ends
    ]
    return Machine("rails", [Memory(name, MemoryKind.SYS) for name in ("a", "m0", "m1", "m2", "z")], channels, resources=shared)


def transfer(source: str = "<F, x, y>", destination: str = "<y, x, F>", **sizes: int) -> Transfer:
    return Transfer.whole(IndexSpace(**(sizes or {"x": 48, "y": 40})), PAIR, "a", source, "z", destination)


def in_boxes(draw: random.Random, space: IndexSpace, count: int) -> list[Box]:
    """A space cut into boxes at random."""
    found = [Box.whole(space)]
    while len(found) < count:
        box = max(found, key=lambda box: box.volume)
        dim = max(range(len(space)), key=lambda dim: box.shape[dim])
        cut = draw.randrange(box.lo[dim] + 1, box.hi[dim])
        found.remove(box)
        found.append(Box(box.lo, (*box.hi[:dim], cut, *box.hi[dim + 1 :])))
        found.append(Box((*box.lo[:dim], cut, *box.lo[dim + 1 :]), box.hi))
    draw.shuffle(found)
    return found


def random_plan(draw: random.Random, machine: Machine) -> Plan | None:
    """Two or three paths, which may share channels, with boxes or runs of chunks; None where limits or chunks are too few."""
    moved = transfer(draw.choice(LAYOUTS), draw.choice(LAYOUTS), x=draw.randrange(40, 160), y=draw.randrange(40, 160))
    count = draw.choice((2, 3))
    options = Options(slot_limit=draw.choice((4096, 1 << 15, 1 << 20)), slots=draw.choice((1, 2, 3)))
    given: list[tuple[Any, ...]]
    try:
        if draw.random() < 0.6:
            given = [(box, draw.choice(WAYS)) for box in in_boxes(draw, moved.space, count)]
        else:
            ways = [draw.choice(WAYS[1:]), *(draw.choice(WAYS) for _ in range(count - 1))]
            held = [[layout] * (way.count(",") - 1) for way, layout in zip(ways, [draw.choice(LAYOUTS)] * count, strict=True)]
            chunks = cost(moved, machine, ways[0], held[0], options=options).chunk_count
            if chunks < count:
                return None
            cuts = sorted(draw.sample(range(1, chunks), count - 1))
            runs = list(map(range, [0, *cuts], [*cuts, chunks]))
            draw.shuffle(runs)
            given = list(zip(runs, ways, held, strict=True))
        return plan_of_paths(moved, machine, given, options=options)
    except LimitError:
        return None


def shares_anything(made: Plan) -> bool:
    """Whether two paths use one channel or one resource."""
    used = [
        {hop.channel for hop in path.hops} | {name for name, cost in zip(path.resources, path.shares, strict=True) if any(cost)}
        for path in made.paths
    ]
    return any(one & other for one, other in itertools.combinations(used, 2))


# ---- times


def test_random_plans_take_what_their_simulation_takes() -> None:
    """Exactly, whether paths share channels and resources or not."""
    apart = together = 0
    for seed in range(120):
        draw = random.Random(seed)
        machine = rails(draw, resources=draw.choice((0, 0, 1, 2)))
        made = random_plan(draw, machine)
        if made is None:
            continue
        assert plan_from_json(json.loads(json.dumps(plan_to_json(made)))) == made
        assert sum(path.bytes for path in made.paths) == made.bytes
        assert made.chunk_count == sum(path.chunk_count for path in made.paths)
        end, alone = simulate(made, machine).end, max(path.seconds - path.setup for path in made.paths)
        assert made.seconds >= (made.setup + alone) * (1 - 1e-9), seed
        assert end == pytest.approx(made.seconds, rel=1e-9), seed
        if shares_anything(made):
            together += 1
        else:
            apart += 1
            assert made.seconds == pytest.approx(made.setup + alone, rel=1e-12)
    assert apart > 20 and together > 50


def test_no_channel_and_no_resource_carries_more_than_it_can() -> None:
    for seed in range(60):
        draw = random.Random(seed)
        machine = rails(draw, resources=2)
        made = random_plan(draw, machine)
        if made is None:
            continue
        assert made.throughput <= sum(path.throughput for path in made.paths) * (1 + 1e-9)
        busy: dict[str, float] = {}
        for path in made.paths:
            for hop, moved in zip(path.hops, path.moved, strict=True):
                busy[hop.channel] = busy.get(hop.channel, 0.0) + path.bytes * moved / hop.throughput
            for name, costs in zip(path.resources, path.shares, strict=True):
                busy[name] = busy.get(name, 0.0) + path.bytes * sum(map(float.__mul__, costs, path.moved))
        assert made.seconds >= max(busy.values()) * (1 - 1e-9), seed


def test_a_shared_channel_is_divided_fairly() -> None:
    """Both halves over one channel take twice as long as one; with a path beside them the channel is what is waited for."""
    machine = rails()
    halves = [({"y": (0, 20)}, "a,z"), ({"y": (20, 40)}, "a,z")]
    made = plan_of_paths(transfer(destination="<F, x, y>"), machine, halves)
    alone = made.paths[0].seconds
    assert made.seconds == pytest.approx(2 * alone, rel=1e-9)
    assert made.throughput == pytest.approx(made.paths[0].throughput, rel=1e-9)
    assert simulate(made, machine).end == pytest.approx(made.seconds, rel=1e-9)
    # A short one leaves its share to the other one.
    uneven = plan_of_paths(transfer(destination="<F, x, y>"), machine, [({"y": (0, 4)}, "a,z"), ({"y": (4, 40)}, "a,z")])
    assert uneven.seconds == pytest.approx(sum(path.seconds for path in uneven.paths), rel=1e-9)


def test_paths_over_one_bus() -> None:
    """What a resource allows bounds both paths together, though they have no channel in common."""
    machine = rails(resources=1)
    halves = [({"y": (0, 20)}, "a,m0,z"), ({"y": (20, 40)}, "a,m1,z")]
    made = plan_of_paths(transfer("<F, x, y>", "<F, x, y>"), machine, halves)
    assert [path.resources for path in made.paths] == [("bus0",), ("bus0",)]
    assert made.throughput * 2 <= machine.resource("bus0").capacity * (1 + 1e-9), "every byte is two bytes of the bus"
    assert made.seconds > 1.2 * max(path.seconds for path in made.paths)


# ---- shares


def test_boxes_against_counting() -> None:
    """Random boxes are taken just where each point is in one of them; else the message names a point that is in none or two."""
    taken = 0
    for seed in range(300):
        draw = random.Random(seed)
        space = IndexSpace(x=draw.randint(1, 6), y=draw.randint(1, 6), z=draw.randint(1, 3))
        boxes = in_boxes(draw, space, draw.randint(1, max(1, min(4, space.volume // 2))))
        if draw.random() < 0.5:
            k = draw.randrange(len(boxes))
            lo = tuple(draw.randrange(size) for size in space.sizes)
            boxes[k] = Box(lo, tuple(draw.randint(low + 1, size) for low, size in zip(lo, space.sizes, strict=True)))
        count = np.zeros(space.sizes, int)
        for box in boxes:
            count[tuple(map(slice, box.lo, box.hi))] += 1
        if (count == 1).all():
            check_boxes(space, boxes)
            taken += 1
            continue
        with pytest.raises(TransferError, match="both move" if (count > 1).any() else "no path moves") as caught:
            check_boxes(space, boxes)
        said = str(caught.value).split("move ")[-1].split("moves ")[-1].split(";")[0]
        named = tuple(
            slice(int(part.split("=")[1].split("…")[0]), int(part.split("=")[1].split("…")[-1]) + 1) for part in said.split(", ")
        )
        assert (count[named] > 1).all() if (count > 1).any() else (count[named] == 0).all(), said
    assert taken > 100


@pytest.mark.parametrize(
    ("runs", "problem"),
    [
        ([range(4), range(5, 8)], "no path moves chunk 4;"),
        ([range(2, 8)], "no path moves chunks 0…1;"),
        ([range(4)], "no path moves chunks 4…7;"),
        ([range(5), range(4, 8)], "paths 0 and 1 both move chunk 4;"),
        ([range(4, 8), range(4), range(7, 8)], "paths 0 and 2 both move chunk 7;"),
        ([range(4), range(4, 9)], r"path 1: range\(4, 9\) of 8 chunks"),
        ([range(0, 8, 2)], "path 0: range"),
        ([range(0), range(8)], "path 0: range"),
        ([range(-1, 8)], "path 0: range"),
    ],
)
def test_runs_with_gaps_and_overlaps(runs: list[range], problem: str) -> None:
    with pytest.raises(TransferError, match=problem):
        check_numbers(runs, 8)
    check_numbers([range(3, 8), range(3)], 8)


def test_runs_are_of_one_sequence() -> None:
    """A direct path takes the sequence of the path that has buffers; buffers have to end alike."""
    machine, moved, layout = rails(), transfer("<F, x, y>", "<F, x, y>"), "<F, x, y_in=5, y_out>"
    made = plan_of_paths(moved, machine, [(range(3), "a,z"), (range(3, 8), "a,m0,z", [layout], 48 * 5 * 12)])
    assert made.share(0) == range(3) and [len(path.chunks) for path in made.paths] == [8, 8]
    assert made.paths[0].chunks.digits == made.paths[1].chunks.digits
    other = (range(3), "a,m1,z", ["<x, F, y_in=5, y_out>"], 48 * 5 * 12)
    inner = plan_of_paths(moved, machine, [other, (range(3, 8), "a,m0,z", [layout])])
    assert inner.paths[0].chunks.digits == inner.paths[1].chunks.digits
    with pytest.raises(TransferError, match=r"path 1: .*does not end as"):
        plan_of_paths(moved, machine, [(range(3), "a,m0,z", [layout]), (range(3, 8), "a,m1,z", ["<F, y, x>"])])
    with pytest.raises(InputError, match="path 1: the size of the chunks is that of path 0"):
        plan_of_paths(moved, machine, [(range(3), "a,m0,z", [layout]), (range(3, 8), "a,m1,z", [layout], "4KiB")])
    with pytest.raises(TransferError, match="shares of one kind"):
        plan_of_paths(moved, machine, [(range(3), "a,m0,z", [layout]), ({"x": (0, 8)}, "a,m1,z", [layout])])


def test_runs_of_padded_chunks() -> None:
    """Blocks of five entries fill seven chunks and leave some empty: bytes are counted, and padding alone is no share."""
    machine = rails()
    moved = Transfer.whole(IndexSpace(x=5), FieldSpace(v="f4"), "a", "<F, x>", "z", "<F, x>")
    layout = "<x_out, F, x_in=4>"
    chunks = cost(moved, machine, "a,m0,z", [layout], blocks=1).chunks
    assert [chunk.payload_bytes for chunk in chunks] == [4, 4, 4, 0, 4, 0, 4, 0]
    made = plan_of_paths(moved, machine, [(range(3), "a,m0,z", [layout], None, 1), (range(3, 8), "a,m1,z", [layout])])
    assert [path.bytes for path in made.paths] == [12, 8]
    with pytest.raises(TransferError, match="path 1 moves chunk 7, which hold padding alone"):
        plan_of_paths(moved, machine, [(range(7), "a,m0,z", [layout], None, 1), (range(7, 8), "a,m1,z", [layout])])


def test_shares_and_paths_that_make_no_sense() -> None:
    machine, moved = rails(), transfer()

    def made(*paths: Any, **options: Any) -> Plan:
        return plan_of_paths(moved, machine, paths, options=Options(**options))

    rest = ({"y": (20, 40)}, "a,m1,z")
    for first, error, problem in [
        (({"y": (0, 20)}, "a,m9,z"), MachineError, "path 0: .*m9"),
        (({"y": (0, 20)}, "a,m0"), TransferError, "path 0: path: leads from a to m0"),
        (({"y": (0, 20)}, "a,m2,m0,z"), NoPathError, "path 0: .*no channel"),
        (({"y": (0, 20)}, "a,m0,z", ["<F x>"]), LayoutError, "path 0: .*character"),
        (({"w": (0, 20)}, "a,m0,z"), TransferError, "no dimension 'w'"),
        (({"y": (0, 60)}, "a,m0,z"), TransferError, "y from 0 to 60; expected a part of 0 to 40"),
        (({"y": (5, 5)}, "a,m0,z"), TransferError, "not empty"),
        (({"y": 5}, "a,m0,z"), InputError, "first, end"),
        ((Box((0,), (48,)), "a,m0,z"), TransferError, "expected a box"),
        ((5, "a,m0,z"), InputError, "path 0: expected a share"),
        (("a,m0,z",), InputError, r"path 0: expected \(share, path\)"),
    ]:
        with pytest.raises(error, match=problem):
            made(first, rest)
    with pytest.raises(TransferError, match="at least one path"):
        made()
    assert made(PathByHand({"y": (0, 20)}, "a,m0,z"), rest).bytes == moved.nbytes
    # One path may have as much; both together have too much.
    half = ({"y": (0, 20)}, "a,m0,z")
    limit = made(half, rest, slot_limit=4096).buffer_bytes
    assert made(half, rest, slot_limit=4096, memory_limit=limit).buffer_bytes == limit
    with pytest.raises(LimitError, match="memory limit"):
        plan_of_paths(
            moved,
            machine,
            [(*half, (), 2048), (*rest, (), 2048)],
            options=Options(memory_limit=6000),
        )


def test_a_part_over_two_paths() -> None:
    """Shares of a part are counted from where the part begins; dimensions may come in another order at the other end."""
    source = Instance("a", IndexSpace(x=48, y=40), PAIR, "<F, x, y>")  # type: ignore[arg-type]
    destination = Instance("z", IndexSpace(y=50, x=60), PAIR, "<x, F, y>")  # type: ignore[arg-type]
    moved = Transfer(source, destination, (20, 30), (8, 5), (3, 7))
    made = plan_of_paths(moved, rails(), [({"x": (0, 6)}, "a,m0,z"), ({"x": (6, 20)}, "a,m1,z")])
    assert made.share(1) == Box((6, 0), (20, 30))
    assert made.paths[1].transfer.source_origin == (14, 5) and made.paths[1].transfer.destination_origin == (3, 13)
    assert plan_from_json(plan_to_json(made)) == made


# ---- one path, files


def test_what_belongs_to_one_path_is_asked_of_it() -> None:
    made = plan_of_paths(transfer(), rails(), [({"y": (0, 20)}, "a,m0,z"), ({"y": (20, 40)}, "a,m1,z")])
    for name in ("hops", "order", "outer", "per_chunk", "slots", "overlap", "shares", "memories", "converting", "chunks", "only"):
        with pytest.raises(TransferError, match=r"has 2 paths.*ask one of plan\.paths"):
            getattr(made, name)
    with pytest.raises(TransferError, match="2 paths"):
        made.changed(slots=1)
    assert made.every_memory == ("a", "m0", "z", "m1") and len(made.every_hop) == 4
    assert len(made.buffers) == 2 and made.buffer_bytes == sum(path.buffer_bytes for path in made.paths)
    said = str(made)
    assert "over 2 paths" in said and "path 1: x=0…47, y=20…39" in said
    alone = plan_of_paths(transfer(), rails(), [({}, "a,m0,z")])
    assert alone == cost(transfer(), rails(), "a,m0,z"), "everything over one path is the plan of that path"


def put(*path: str | int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (put("paths", 0, "share", value={"first": 0, "chunks": 1}), "of one kind"),
        (put("paths", 0, "share", value={"first": 0, "chunks": 2**70}), r"paths\[0\]\.share"),
        (put("paths", 0, "share", value={"first": -1, "chunks": 1}), r"paths\[0\]\.share"),
        (put("paths", 0, "share", value={"origin": [0, 0], "shape": [48, 40]}), "paths 0 and 1 both move x=0…47, y=20…39"),
        (put("paths", 0, "share", value={"origin": [0, 0], "shape": [48, 19]}), "no path moves x=0…47, y=19"),
        (put("paths", 0, "share", value={"origin": [0, 0], "shape": [48, 0]}), "a box that is not empty"),
        (put("paths", 0, "share", value={"origin": [0], "shape": [48, 20]}), r"paths\[0\]\.share"),
        (put("paths", 0, "share", value={"origin": [0, 0]}), "shape"),
        (put("paths", 0, "share", value=None), r"paths\[0\]\.share"),
        (put("paths", 1, "overlap", value=False), "overlap"),
        (put("paths", 1, "resources", value=["bus"]), r"paths\[1\]\.resources"),
        (put("paths", 1, "hops", 0, "source", value="z"), r"paths\[1\]\.hops\[0\]\.source"),
        (put("paths", 1, "extra", value=1), "extra"),
        (put("paths", value={}), r"plan\.paths"),
        (put("format", value="isoviz-plan-2"), "plan.format: expected 'isoviz-plan-3', got 'isoviz-plan-2'"),
    ],
)
def test_hostile_files_of_several_paths(change: Callable[[Any], None], problem: str) -> None:
    made = plan_of_paths(transfer(), rails(), [({"y": (0, 20)}, "a,m0,z"), ({"y": (20, 40)}, "a,m1,z")])
    data = copy.deepcopy(plan_to_json(made))
    change(data)
    with pytest.raises(TransferError, match=problem) as caught:
        plan_from_json(data)
    assert "\n" not in str(caught.value)
