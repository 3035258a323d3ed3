"""The simple planners on the machines of the paper, the time model, and what they refuse."""

from __future__ import annotations

import copy
import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from isoviz.errors import InputError, LimitError, NoPathError, TransferError
from isoviz.layouts import ChunkSequence, FieldSpace, IndexSpace, Layout, OrderChange, compare
from isoviz.machines import (
    Channel,
    ChannelKind,
    Constant,
    LatencyBandwidth,
    Limits,
    Machine,
    Memory,
    MemoryKind,
    Resource,
    Sampled,
    preset,
)
from isoviz.planner import Instance, Options, Plan, Transfer, cost, explain, plan, plan_from_json, plan_to_json
from isoviz.planner.explanation.explanation_words import time_parts
from isoviz.planner.intermediate.part_layouts import nesting
from isoviz.planner.intermediate.part_runs import contiguous_bytes
from isoviz.planner.time.path_time import Clock, Timing
from isoviz.runtime import simulate

SQUARE = IndexSpace(x=8192, y=8192)
ENTRY = FieldSpace(value="V16")
INTEGERS = FieldSpace.of({f"f{i}": "int32" for i in range(8)})
LINE = IndexSpace(x=4 << 20)
MIB = 1 << 20


def layouts(found: Plan) -> list[str]:
    return [found.hops[0].source_layout, *(hop.destination_layout for hop in found.hops)]


def timing(machine: Machine, channels: list[Channel], nbytes: int, chunk: int, slots: int, overlap: bool) -> Timing:
    """The time model for chunks whose runs are whole; both ways to ask it agree."""
    machine = replace(machine, limits=Limits(overlap=overlap))
    clock, runs = Clock(machine, channels, nbytes, slots), [math.inf] * len(channels)
    found = clock.timing(chunk, runs)
    assert clock.seconds(chunk, runs) == pytest.approx(found.seconds)
    return found


def test_simple_transposes_between_gpus_as_in_section_4_4() -> None:
    """Isometry, 4.4: FBM → REG → REG → REG* → FBM*, and the Memcpy converts; blocks as in 4.3."""
    transfer = Transfer.whole(SQUARE, ENTRY, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>")
    found = plan(transfer, preset("two-node"), "simple")
    assert found.memories == ("node0.fbm0", "node0.reg", "node0.reg", "node1.reg", "node1.fbm0")
    assert [hop.kind for hop in found.hops] == ["GPURead", "Memcpy", "RemoteMemcpy", "GPUWrite"]
    assert [hop.converts for hop in found.hops] == [False, True, False, False]
    assert found.shuffles[1] <= 32 * MIB
    assert found.hops[0].request_bytes >= 16384 and found.hops[3].request_bytes >= 8192, "runs as long as in section 4.3"
    assert found.hops[1].request_bytes == 16


def test_shortest_paths_with_one_end_s_layout() -> None:
    """Isometry, 6.3: SPSL converts in the last hop, SPDL in the first."""
    transfer = Transfer.whole(LINE, INTEGERS, "node0.sys", "<F, x>", "node1.dsk", "<x, F>")
    machine = preset("sapling")
    source, target = plan(transfer, machine, "spsl"), plan(transfer, machine, "spdl")
    assert layouts(source) == ["<F, x>", "<F, x>", "<x, F>"]
    assert [hop.converts for hop in source.hops] == [False] * (len(source.hops) - 1) + [True]
    assert [hop.converts for hop in target.hops] == [True] + [False] * (len(target.hops) - 1)
    assert all(Layout(hop.destination_layout) == Layout("<x, F>") for hop in target.hops[:-1])
    assert target.memories == source.memories


def test_simple_to_disk_converts_in_memory() -> None:
    """Isometry, 6.3: AOS → SOA to disk goes through an in-memory intermediate; SPSL and SPDL convert in DiskWrite."""
    transfer = Transfer.whole(LINE, INTEGERS, "node0.sys", "<F, x>", "node0.dsk", "<x, F>")
    machine = preset("sapling")
    found = plan(transfer, machine, "simple")
    assert found.memories == ("node0.sys", "node0.sys", "node0.dsk")
    assert [hop.kind for hop in found.hops] == ["Memcpy", "DiskWrite"]
    assert found.hops[1].request_bytes > MIB, "the disk gets long runs of one field"
    for name in ("spsl", "spdl", "direct"):
        assert [(hop.kind, hop.converts) for hop in plan(transfer, machine, name).hops] == [("DiskWrite", True)]
        assert plan(transfer, machine, name).seconds > 100 * found.seconds


def test_nothing_to_convert_takes_the_shortest_path() -> None:
    transfer = Transfer.whole(LINE, INTEGERS, "node0.sys", "<F, x>", "node1.sys", "<F, x>")
    found = plan(transfer, preset("sapling"), "simple")
    assert (found.memories, found.buffers) == (("node0.sys", "node1.sys"), ())
    assert not any(hop.converts for hop in found.hops)


def test_a_path_without_memcpy_says_where_it_converts() -> None:
    transfer = Transfer.whole(LINE, INTEGERS, "node0.fbm0", "<F, x>", "node0.fbm0", "<x, F>")
    found = plan(transfer, preset("sapling"), "simple")
    assert [hop.kind for hop in found.hops] == ["GPUCopy"]
    assert "no Memcpy channel" in found.notes[0]


def test_a_disk_to_itself_goes_through_memory() -> None:
    transfer = Transfer.whole(SQUARE, ENTRY, "node0.dsk", "<F, x, y>", "node0.dsk", "<F, y, x>")
    found = plan(transfer, preset("local", measure="assumed"), options=Options(memory_limit="64MiB"))
    assert found.memories == ("node0.dsk", "node0.sys", "node0.sys", "node0.dsk")
    assert found.buffer_bytes <= 64 * MIB
    assert found.overlap
    assert found.slots == 2


def test_what_a_conversion_takes_to_set_up_counts_where_it_is_done() -> None:
    """Once, in prediction, explanation and simulation; not where nothing converts; another hop converts where that is cheaper."""
    memories = [Memory(f"node{i}.sys", MemoryKind.SYS, node=i) for i in range(3)]
    first, last = (
        Channel(
            "", ChannelKind.REMOTE_MEMCPY, f"node{i}.sys", f"node{i + 1}.sys", Constant(1e9), setup=0.5, conversion_setup=more
        )
        for i, more in enumerate((0.25, 0.125))
    )
    space, pair = IndexSpace(x=1 << 20), FieldSpace(a="f4", b="f4")
    for channels, more, hop in (((first, last), 0.125, 1), ((replace(first, conversion_setup=0.0), last), 0.0, 0)):
        machine = Machine("two", memories, channels)
        found = plan(Transfer.whole(space, pair, "node0.sys", "<F, x>", "node2.sys", "<x, F>"), machine, "full")
        assert found.converting == (hop,)
        assert found.setup == 1 + more
        assert simulate(found, machine).seconds == pytest.approx(found.seconds, rel=1e-9)
        assert time_parts(explain(found, machine)).seconds == pytest.approx(found.objective, rel=1e-9)
        assert plan_from_json(plan_to_json(found)) == found
        same = plan(Transfer.whole(space, pair, "node0.sys", "<F, x>", "node2.sys", "<F, x>"), machine, "full")
        assert same.converting == () and same.setup == 1


def test_prime_sizes_do_not_ruin_a_plan() -> None:
    machine = preset("two-node")
    seconds = []
    for n in (10_000, 10_007):
        space = IndexSpace(x=n, y=n)
        found = plan(Transfer.whole(space, ENTRY, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>"), machine)
        seconds.append(found.seconds / found.bytes)
    assert seconds[1] == pytest.approx(seconds[0], rel=0.05)


def chain(*rates: float, overlap: bool = True, **more: Any) -> tuple[Machine, list[Channel]]:
    """node0.sys → node1.sys → …: one channel of constant rate after the other."""
    memories = [Memory(f"node{i}.sys", MemoryKind.SYS, node=i) for i in range(len(rates) + 1)]
    channels = [
        Channel("", ChannelKind.REMOTE_MEMCPY, memories[i].name, memories[i + 1].name, Constant(rate), setup=0.5, **more)
        for i, rate in enumerate(rates)
    ]
    resources = [Resource("bus", 50.0)] if more else []
    return Machine("chain", memories, channels, resources, Limits(overlap=overlap)), channels


@pytest.mark.parametrize(
    ("slots", "overlap", "seconds"),
    [
        (2, True, 1.5 + (1 + 2 + 4) + 9 * 4),  # set-up + every hop once + the slowest for the other chunks
        (1, True, 1.5 + (1 + 2 + 4) + 9 * 6),  # neighbours with one slot between them take turns
        (1, False, 1.5 + 10 * 7),  # every chunk through all hops
    ],
)
def test_the_time_model(slots: int, overlap: bool, seconds: float) -> None:
    machine, channels = chain(100.0, 50.0, 25.0)
    found = timing(machine, channels, 1000, 100, slots, overlap)
    assert found.seconds == pytest.approx(seconds)
    assert found.hop_seconds == (1, 2, 4)


def test_shared_resources_bound_the_throughput() -> None:
    machine, channels = chain(100.0, 100.0, resources=(("bus", 1.0),))
    found = timing(machine, channels, 1000, 100, 2, True)
    assert found.throughput == pytest.approx(25.0), "both hops load a bus of 50 B/s"
    assert found.seconds == pytest.approx(1.0 + (2 + 2) + 9 * 4), "alone on the bus, a hop takes 2 s"
    assert timing(machine, channels, 1000, 100, 1, False).seconds == pytest.approx(1.0 + 10 * 4)


def test_the_last_chunk_counts_for_what_is_in_it() -> None:
    machine, channels = chain(100.0, 50.0)
    assert timing(machine, channels, 150, 100, 2, True).seconds == pytest.approx(1.0 + 3 + 0.5 * 2)
    assert timing(machine, channels, 50, 100, 2, True).seconds == pytest.approx(1.0 + 1.5)


def test_limits_that_allow_nothing() -> None:
    transfer = Transfer.whole(LINE, INTEGERS, "node0.sys", "<F, x>", "node1.dsk", "<x, F>")
    with pytest.raises(LimitError, match="the limits leave 3 B for a slot; expected a slot_limit of at least 4 B, one element"):
        plan(transfer, preset("sapling"), "simple", Options(slot_limit=3))
    assert plan(transfer, preset("sapling"), "simple", Options(slot_limit=4)).buffers[0].nbytes == 4
    with pytest.raises(LimitError, match="a memory_limit of at least 16 B, one element in each of 4 slots"):
        plan(transfer, preset("sapling"), "simple", Options(memory_limit=15))


def unbounded(overlap: bool) -> Machine:
    """A disk and a memory of any size."""
    like = preset("local", measure="assumed")
    memories = [Memory(memory.name, memory.kind) for memory in like.memories]
    return Machine("unbounded", memories, like.channels, limits=Limits(overlap=overlap))


@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize("limit", [12, 100, 120, 130, 144])
def test_a_block_that_pads_beyond_the_limit_gives_way_to_a_smaller_one(limit: int, overlap: bool) -> None:
    """Ten entries of 12 bytes fit into 120, but blocks of four make twelve of them."""
    fields = FieldSpace(a="f4", b="f8")
    transfer = Transfer.whole(IndexSpace(x=10), fields, "node0.dsk", "<x_in=4, F, x_out>", "node0.sys", "<F, x>")
    found = plan(transfer, unbounded(overlap), "full", Options(slot_limit=limit))
    buffered = cost(transfer, unbounded(overlap), ["node0.dsk", "node0.sys", "node0.sys"], options=Options(slot_limit=limit))
    assert all(0 < each.nbytes <= limit for each in (*found.buffers, *buffered.buffers)) and buffered.buffers


def test_without_buffers_a_slot_limit_bounds_nothing() -> None:
    transfer = Transfer.whole(IndexSpace(x=10), INTEGERS, "node0.sys", "<F, x>", "node0.dsk", "<F, x>")
    for options in (Options(), Options(slot_limit=4), Options(memory_limit=4)):
        found = plan(transfer, unbounded(True), "direct", options)
        assert (found.buffers, found.chunk_count) == ((), 1)


@pytest.mark.parametrize("there", ["<F, x, y>", "<F, y, x>"])
def test_one_hop_takes_as_long_with_a_slot_limit_as_without(there: str) -> None:
    """8 MiB in one chunk, not in 2,048 that each cost what a request costs."""
    space = IndexSpace(x=1024, y=1024)
    transfer = Transfer.whole(space, FieldSpace(a="f8"), "node0.sys", "<F, x, y>", "node0.sys", there)
    for planner in ("direct", "full", "auto"):
        found = [plan(transfer, preset("local", measure="assumed"), planner, Options(slot_limit=limit)) for limit in (4096, None)]
        assert [made.chunk_count for made in found if len(made.hops) == 1] == [1] * sum(len(made.hops) == 1 for made in found)
        if planner == "direct":
            assert found[0] == found[1]


def test_cyclic_orders_move_in_few_boxes() -> None:
    """Entries 0, 4, 8, … first: a chunk is a contiguous part of the index space all the same, and reads long runs."""
    space = IndexSpace(x=1 << 22)
    for there in ("<x, F>", "<F, x_out, x_in=4>"):
        transfer = Transfer.whole(space, INTEGERS, "node0.dsk", "<F, x_out, x_in=4>", "node0.sys", there)
        found = plan(transfer, unbounded(False))
        assert all(len(chunk.parts) <= 16 for chunk in found.chunks)
        assert found.hops[0].request_bytes >= 8 * MIB


@pytest.mark.timeout(60)
def test_blocks_nest_with_digits_of_any_size() -> None:
    for step in range(2, 80):
        for bound in range(1, step):
            assert nesting(bound, [step], 100) == max(k for k in range(1, bound + 1) if step % k == 0)
    # 3 × 47 × 178481 × 2796203: not all numbers up to its root are tried, once for every candidate
    assert nesting(2_796_202, [2**46 - 1], 2**50) == 3 * 178_481
    assert nesting(2**21 - 1, [2**60], 2**62) == 2**20
    fields = FieldSpace(a="f4", b="f8")
    transfer = Transfer.whole(IndexSpace(x=2**50), fields, "node0.dsk", f"<x_in={2**46 - 1}, F, x_out>", "node0.sys", "<F, x>")
    assert plan(transfer, unbounded(True)).chunk_bytes > MIB


@pytest.mark.parametrize(
    ("sizes", "here", "there", "limit"),
    [
        ({"x": 21, "y": 24}, "<x, y_in=15, F, y_out>", "<y_in=23, x_in=4, F, x_out, y_out>", 500),
        ({"x": 19, "y": 5}, "<y_in=2, x_in=8, F, x_out, y_out>", "<x_in=9, F, x_out, y>", 500),
        ({"x": 22, "y": 16}, "<y_in=7, x, y_out, F>", "<y_out, y_in=3, x, F>", 100),
        ({"x": 24}, "<F, x_out, x_in=6>", "<x_out, x_in=4, F>", 150),
    ],
)
@pytest.mark.parametrize("planner", ["simple", "spsl", "spdl"])
def test_blocks_that_do_not_nest_still_make_one_sequence_of_chunks(
    sizes: dict[str, int], here: str, there: str, limit: int, planner: str
) -> None:
    """All buffers and the order of the chunks end with the same digits."""
    fields = FieldSpace(a="f4", b="f8")
    for machine, source, destination in (
        (unbounded(False), "node0.dsk", "node0.dsk"),
        (preset("two-node"), "node0.fbm0", "node1.dsk"),
        (preset("two-node"), "node0.dsk", "node0.fbm0"),
    ):
        transfer = Transfer.whole(IndexSpace(**sizes), fields, source, here, destination, there)
        found = plan(transfer, machine, planner, Options(slot_limit=limit))
        sequences = [
            ChunkSequence(buffer.layout.on(transfer.space, fields), found.outer, found.per_chunk) for buffer in found.buffers
        ]
        assert {sequence.digits for sequence in sequences} == {found.chunks.digits}


def test_paths_and_names_that_do_not_exist() -> None:
    machine, _ = chain(1.0)
    there = Transfer.whole(LINE, INTEGERS, "node1.sys", "<F, x>", "node0.sys", "<F, x>")
    with pytest.raises(NoPathError, match=r"no channels lead from node1\.sys to node0\.sys"):
        plan(there, machine)
    with pytest.raises(NoPathError, match="no channel leads directly"):
        plan(Transfer.whole(LINE, INTEGERS, "node0.dsk", "<F, x>", "node1.dsk", "<F, x>"), preset("sapling"), "direct")
    with pytest.raises(InputError, match=r"node0\.syss"):
        plan(Transfer.whole(LINE, INTEGERS, "node0.syss", "<F, x>", "node0.sys", "<F, x>"), preset("sapling"))
    with pytest.raises(InputError, match="expected one of auto, full, simple"):
        plan(there, machine, "best")
    with pytest.raises(NoPathError, match="back to it"):
        plan(Transfer.whole(LINE, INTEGERS, "node1.sys", "<F, x>", "node1.sys", "<x, F>"), machine)


def test_instances_that_do_not_fit_their_memory() -> None:
    memory = Memory("node0.sys", MemoryKind.SYS, capacity=1000)
    loop = Channel("", ChannelKind.MEMCPY, "node0.sys", "node0.sys", Constant(1e9))
    transfer = Transfer.whole(LINE, INTEGERS, "node0.sys", "<F, x>", "node0.sys", "<x, F>")
    with pytest.raises(TransferError, match=r"needs 128 MiB, node0\.sys has 1,000 B"):
        plan(transfer, Machine("small", [memory], [loop]))
    half = Transfer.whole(IndexSpace(x=20), INTEGERS, "node0.sys", "<F, x>", "node0.sys", "<x, F>")
    with pytest.raises(TransferError, match=r"both ends need 1\.25 KiB, node0\.sys has 1,000 B"):
        plan(half, Machine("small", [memory], [loop]))


def part(**changes: Any) -> Transfer:
    space, fields = IndexSpace(x=10, y=8), FieldSpace(a="f4", b="f8")
    given: dict[str, Any] = {
        "source": Instance("node0.sys", space, fields, Layout("<F, x, y>")),
        "destination": Instance("node0.sys", IndexSpace(y=4, x=20), fields, Layout("<x, y, F>")),
        "shape": (3, 4),
        "source_origin": (7, 4),
        "destination_origin": (0, 17),
    }
    return Transfer(**given | changes)


def test_parts_of_instances() -> None:
    found = part(field_names=("b",))
    assert (found.space.as_dict(), found.nbytes) == ({"x": 3, "y": 4}, 12 * 8)
    assert found.is_partial
    assert part(source_origin={"y": 4, "x": 7}).source_origin == (7, 4)
    assert part(shape=(np.int64(3), np.int32(4))) == part()
    assert part(shape=(), source_origin=(), destination=part().source, destination_origin=()).shape == (10, 8)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"shape": (4, 4)}, "dimension 'x' the box is 7 to 11, the source has 0 to 10"),
        ({"destination_origin": (1, 17)}, "the destination has 0 to 4"),
        ({"shape": (0, 4)}, "from 1 to"),
        ({"source_origin": (-1, 0)}, "from 0 to"),
        ({"shape": (3,)}, "expected 2 numbers"),
        ({"shape": {"x": 3}}, "expected numbers for"),
        ({"field_names": ("c",)}, "field 'c' is not in the source"),
        ({"field_names": ("a", "a")}, "named twice"),
        ({"destination": Instance("m", IndexSpace(x=10, z=8), FieldSpace(a="f4"), Layout("<F, x, z>"))}, "dimensions"),
        ({"destination": Instance("m", IndexSpace(y=8, x=30), FieldSpace(a="i4"), Layout("<F, x, y>"))}, "float32 in the source"),
    ],
)
def test_parts_that_cannot_be(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(TransferError, match=problem):
        part(**changes)


def test_onto_itself() -> None:
    instance = Instance("node0.dsk", LINE, INTEGERS, Layout("<F, x>"), "a.npy")
    with pytest.raises(TransferError, match=r"same file, 'a\.npy'"):
        Transfer(instance, instance)
    with pytest.raises(TransferError, match="no file system"):
        plan(Transfer(Instance("node0.sys", LINE, INTEGERS, Layout("<F, x>"), "b.npy"), instance), preset("sapling"))


def a_plan() -> Plan:
    return plan(Transfer.whole(LINE, INTEGERS, "node0.sys", "<F, x>", "node1.dsk", "<x, F>"), preset("sapling"))


def test_text_of_a_plan_has_every_decision() -> None:
    found = a_plan()
    text = str(found)
    for hop in found.hops:
        assert all(word in text for word in (hop.kind, hop.source, Layout(hop.source_layout).pretty))
    assert "converts" in text
    assert "128 MiB" in text


def _set(data: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    keys = path.split(".")
    at: Any = data
    for key in keys[:-1]:
        at = at[int(key) if isinstance(at, list) else key]
    at[int(keys[-1]) if isinstance(at, list) else keys[-1]] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("format", "other", "plan.format"),
        ("paths.0.hops", [], "at least one hop"),
        ("paths.0.hops", 3, "expected a list"),
        ("paths.0.hops.0.source", "node1.sys", r"plan\.paths\[0\]\.hops\[0\]\.source"),
        ("paths.0.hops.0.throughput", float("nan"), r"plan\.paths\[0\]\.hops\[0\]\.throughput"),
        ("paths.0.hops.0.extra", 1, "unknown key 'extra'"),
        ("paths.0.hops.0.index", 5, "expected 0"),
        ("paths.0.hops.1.source_layout", "<x_in=4, F, x_out>", r"plan\.paths\[0\]\.hops\[1\]\.source_layout"),
        ("paths.0.hops.0.converts", "yes", "true or false"),
        ("planner", "magic", "plan.planner: planner 'magic'"),
        ("paths.0.slots", 0, "expected 1 to 1024"),
        ("paths.0.slots", 10**400, "expected 1 to 1024"),
        ("seconds", 10**400, r"plan\.seconds"),
        ("paths.0.order.layout", "<x_in=16, F, x_out>", "does not end with"),
        ("transfer.fields", [["a"]], "fields\\[0\\]: expected a text"),
        pytest.param("transfer.shape", [10**5000], "transfer, shape", id="huge shape"),
        pytest.param("format", 10**5000, "plan.format", id="huge format"),
        ("paths.0.slots", True, "whole number"),
        ("seconds", -1, "at least 0"),
        ("paths.0.overlap", None, "true or false"),
        ("machine", [], "expected an object"),
        ("paths.0.order.outer", 5, "outer"),
        ("paths.0.order.layout", "<F x>", "character 4"),
        ("transfer.source.space.x", -1, "at least 1"),
        ("transfer.source.fields", {"a": "O"}, "objects"),
        ("transfer.shape", "all", "expected a list"),
    ],
)
def test_hostile_plans(path: str, value: object, problem: str) -> None:
    data = copy.deepcopy(plan_to_json(a_plan()))
    with pytest.raises(TransferError, match=problem) as caught:
        plan_from_json(_set(data, path, value))
    assert "\n" not in str(caught.value)


def test_plans_that_miss_something() -> None:
    for key in plan_to_json(a_plan()):
        data = plan_to_json(a_plan())
        del data[key]
        if key in ("bytes", "objective", "throughput", "chunk_bytes", "chunks", "buffer_bytes", "hops", "notes", "gap"):
            continue
        with pytest.raises(TransferError, match=key):
            plan_from_json(data)
    for key in plan_to_json(a_plan())["paths"][0]:
        data = plan_to_json(a_plan())
        del data["paths"][0][key]
        if key in ("bytes", "chunk_bytes", "chunks", "buffer_bytes"):
            continue
        with pytest.raises(TransferError, match=key):
            plan_from_json(data)
    with pytest.raises(TransferError, match="expected an object"):
        plan_from_json([])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        {"planner": "best"},
        {"planner": ["simple"]},
        {"slot_limit": "lots"},
        {"memory_limit": 0},
        {"slot_limit": 10**5000},
        {"slots": 0},
        {"slots": True},
        {"slots": 10**5000},
    ],
)
def test_options_that_cannot_be(given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Options(**given)


def test_fields_in_another_order_are_a_conversion() -> None:
    """Structs whose fields change places move field by field; the plan says so and chooses where."""
    space, names = IndexSpace(x=1 << 20), ("a", "b", "c", "d")
    ends = FieldSpace.of(dict.fromkeys(names, "u1")), FieldSpace.of(dict.fromkeys(reversed(names), "u1"))
    local = preset("local", measure="assumed")
    for layout, run in (("<F, x>", 1), ("<x_in=16, F, x_out>", 16), ("<x, F>", 1 << 20)):
        one, other = (Instance("node0.sys", space, fields, Layout(layout)) for fields in ends)
        alike, turned = (plan(Transfer(one, end), local, "direct") for end in (replace(one), other))
        assert not alike.transfer.converts and turned.transfer.converts
        assert [hop.converts for hop in turned.hops] == [True] and turned.only.order_changes == (OrderChange.CONVERTS,)
        assert turned.hops[0].request_bytes == run
        assert turned.seconds > 1.2 * alike.seconds or run > 1000
    one, other = (
        Instance(memory, space, fields, Layout("<F, x>"))
        for memory, fields in zip(("node0.fbm0", "node1.sys"), ends, strict=True)
    )
    found, last = (plan(Transfer(one, other), "two-node", planner) for planner in ("full", "spsl"))
    assert last.only.source_fields == len(last.hops) - 1 and last.hops[-1].converts and not last.hops[0].converts
    assert found.seconds <= last.seconds
    data = plan_to_json(last)
    data["paths"][0]["source_fields"] = 9
    with pytest.raises(TransferError, match="source_fields"):
        plan_from_json(data)


@pytest.mark.parametrize(
    ("layout", "changes", "run"),
    [
        ("<F, x, y>", {}, math.inf),
        ("<F, x, y>", {"shape": (5, 8)}, 5 * 16),  # rows of a box
        ("<F, x, y>", {"shape": (10, 3)}, math.inf),  # whole rows follow each other
        ("<x_in=2, F, x_out, y>", {"shape": (4, 8)}, 2 * 32),
        ("<x_in=2, F, x_out, y>", {"shape": (4, 8), "source_origin": (1, 0)}, 2 * 16 / 3),  # begins within a block
        ("<F, x, y>", {"field_names": ("b",)}, 4),
        ("<F, x, y>", {"field_names": ("a", "b")}, 8),  # neighbours
        ("<F, x, y>", {"field_names": ("a", "c")}, 6),  # two groups: 4 and 8 bytes
        ("<x, y, F>", {"field_names": ("b",)}, math.inf),
        ("<x, F, y>", {"field_names": ("b",)}, 10 * 4),
    ],
)
def test_parts_have_shorter_runs(layout: str, changes: dict[str, Any], run: float) -> None:
    """A part with gaps at an end cannot be requested as one piece, whatever its own order is."""
    space, fields = IndexSpace(x=10, y=8), FieldSpace(a="f4", b="f4", c="f8")
    source = Instance("node0.dsk", space, fields, Layout(layout))
    shape = changes.get("shape", space.sizes)
    names = changes.get("field_names", fields.names)
    origin = changes.get("source_origin", (0, 0))
    assert contiguous_bytes(source.linearization, origin, shape, names) == pytest.approx(run)
    packed = Instance("node0.sys", IndexSpace(x=shape[0], y=shape[1]), fields.subset(names), Layout(layout))
    found = plan(Transfer(source, packed, **changes), preset("local", measure="assumed"))
    assert found.hops[0].request_bytes <= run


def test_slot_limits_of_memories() -> None:
    """The limit of a memory takes the place of the machine's; an option only ever tightens."""
    ends = [Memory(f"node{i}.sys", MemoryKind.SYS, node=i) for i in (0, 2)]
    for own, option, expected in ((4096, None, 4096), (64 * MIB, None, 64 * MIB), (4096, 8192, 4096), (None, 8192, 8192)):
        middle = Memory("node1.sys", MemoryKind.SYS, node=1, slot_limit=own)
        path = [ends[0], middle, ends[1]]
        speed = LatencyBandwidth(1e-6, 1e9)
        channels = [Channel("", ChannelKind.REMOTE_MEMCPY, a.name, b.name, speed) for a, b in itertools.pairwise(path)]
        machine = Machine("relay", path, channels, limits=Limits(overlap=False))
        transfer = Transfer.whole(LINE, INTEGERS, "node0.sys", "<F, x>", "node2.sys", "<F, x>")
        found = plan(transfer, machine, options=Options(slot_limit=option))
        assert found.buffers[0].nbytes == expected


def test_the_hop_that_converts_is_named() -> None:
    """Two routes come to the same plan here: read as it is and convert in memory. It is not the disk that converts."""
    fields = FieldSpace(re="f4", im="f4", weight="f8")
    space = IndexSpace(x=2048, y=2048)
    transfer = Transfer.whole(space, fields, "node0.dsk", "<F, x, y>", "node0.sys", "<x, y, F>")
    found = plan(transfer, preset("local", measure="assumed"), "full")
    assert [hop.converts for hop in found.hops] == [False, True]


def test_an_end_that_pads_converts() -> None:
    """Blocks whose digits follow each other are one digit; the padding behind them is all that tells the layouts apart."""
    fields = FieldSpace(value="u1")
    transfer = Transfer.whole(IndexSpace(x=1, y=3), fields, "node0.sys", "<F, x, y>", "node0.sys", "<F, x, y_in=2, y_out>")
    for planner in ("full", "simple", "direct"):
        found = plan(transfer, preset("two-node"), planner)
        assert transfer.converts
        assert [hop.converts for hop in found.hops].count(True) == 1


@pytest.mark.parametrize("planner", ["auto", "full", "simple", "spsl", "spdl"])
def test_a_disk_holds_no_buffers_however_fast(planner: str) -> None:
    """Planners and engines ask the same: whether a memory can hold them."""
    machine = with_fast_disk()
    for there in ("<F, x>", "<x, F>"):
        found = plan(Transfer.whole(LINE, INTEGERS, "node0.sys", "<F, x>", "node0.sys", there), machine, planner)
        assert "node0.dsk" not in found.memories
    onwards = [Memory("node0.sys", MemoryKind.SYS), Memory("node0.dsk", MemoryKind.DSK), Memory("node0.reg", MemoryKind.REG)]
    ends = (("node0.sys", "node0.dsk", "DiskWrite"), ("node0.dsk", "node0.reg", "DiskRead"))
    split = Machine("split", onwards, [Channel("", kind, here, there, Constant(1e9)) for here, there, kind in ends])
    with pytest.raises(NoPathError, match=r"only node0\.dsk can be reached"):
        plan(Transfer.whole(LINE, INTEGERS, "node0.sys", "<F, x>", "node0.reg", "<x, F>"), split, planner)


def with_fast_disk() -> Machine:
    """This computer as it is assumed to be, but that its disk is a hundred times as fast as its memory."""
    machine = preset("local", measure="assumed")
    slow = {True: LatencyBandwidth(1e-4, 1e8), False: Constant(1e12)}
    return replace(machine, channels=tuple(replace(each, throughput=slow[each.is_self_loop]) for each in machine.channels))


def test_a_plan_that_is_not_proved_to_be_the_fastest_says_so() -> None:
    machine = preset("two-node")

    def notes(here: str, there: str, size: int = 1200, planner: str = "full") -> tuple[str, ...]:
        transfer = Transfer.whole(IndexSpace(x=size, y=64), INTEGERS, "node0.fbm0", here, "node1.fbm0", there)
        return plan(transfer, machine, planner).notes

    (note,) = notes("<F, x_in=4, y, x_out>", "<F, x_in=6, y, x_out>")
    assert note == "not proved to be the fastest: the blocks of the two ends do not nest in x (as 4 and 6 do not)"
    (note,) = notes("<F, x_in=4, y, x_out>", "<F, y, x>", 1201)
    assert note.startswith("not proved to be the fastest: the blocks of an end do not divide its dimension")
    assert notes("<F, x_in=4, y, x_out>", "<F, x_in=8, y, x_out>") == ()
    assert notes("<F, x_in=4, y, x_out>", "<F, x_in=4, y, x_out>", 1201) == (), "nothing to convert"
    assert notes("<F, x_in=4, y, x_out>", "<F, x_in=6, y, x_out>", planner="spsl") == (), "it does not say it is the fastest"


def test_hops_say_what_their_layouts_say() -> None:
    """One slot, where a hop between two buffers was called the converting one though both its ends were the same."""
    rates = (Constant(7.19e9), Sampled(((8, 4.577e8), (16, 4.933e9))), Constant(5e9))
    names = ("m2", "m1", "m3", "m0")
    channels = [Channel("", ChannelKind.MEMCPY, *ends, rate) for ends, rate in zip(itertools.pairwise(names), rates, strict=True)]
    machine = Machine("line", [Memory(name, MemoryKind.REG) for name in names], channels, limits=Limits(slots=1))
    fields = FieldSpace(a="V16", b="V16")
    transfer = Transfer.whole(IndexSpace(x=6, y=3), fields, "m2", "<F, x, y>", "m0", "<x, F, y>")
    for planner in ("full", "simple", "spsl", "spdl"):
        found = plan(transfer, machine, planner)
        for hop, (before, after) in zip(found.hops, itertools.pairwise(found.orders), strict=True):
            same = before.normal == after.normal
            run = min(math.inf if same else compare(before, after).run_bytes, found.chunk_bytes)
            assert (hop.request_bytes, hop.throughput) == (run, machine.channel(hop.channel).rate(run))
            assert not (hop.converts and same)
        assert found.converting
