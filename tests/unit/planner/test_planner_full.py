"""The full planner on the machines of the paper, what it refuses, and its explanations."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest

from isoviz.bench.predictions.random_transfers import random_transfers
from isoviz.errors import InputError, LimitError, NoPathError, TransferError
from isoviz.layouts import FieldSpace, IndexSpace, Layout, compare
from isoviz.machines import Channel, ChannelKind, Constant, Limits, Machine, Memory, MemoryKind, Sampled, preset
from isoviz.planner import Explanation, Options, Plan, Transfer, explain, explanation_text, plan, sweep
from isoviz.planner.explanation.curves.scaling import resized
from isoviz.planner.explanation.rival_words import crossover_text
from isoviz.planner.explanation.rivals import scaled, with_bandwidth
from isoviz.planner.full import search
from isoviz.planner.one_path.one_layout import _OneLayoutSearch, best_one_layout
from isoviz.planner.one_path.optimum import best_choice, with_larger_chunks
from isoviz.planner.one_path.sizes import round_numbers
from isoviz.planner.planning_work import STEPS_PER_SECOND, WORTH
from isoviz.planner.problem import Problem
from isoviz.planner.search.tuning import worked_out_steps

SQUARE = IndexSpace(x=8192, y=8192)
ENTRY = FieldSpace(value="complex128")
INTEGERS = FieldSpace.of({f"f{i}": "int32" for i in range(8)})
LINE = IndexSpace(x=4 << 20)
MIB = 1 << 20
MOST_ROUNDING = 1e-3
"""What round sizes may cost a plan."""


@pytest.fixture(scope="module")
def transposition() -> Transfer:
    return Transfer.whole(SQUARE, ENTRY, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>")


@pytest.fixture(scope="module")
def explanation(transposition: Transfer) -> Explanation:
    return explain(transposition, preset("two-node"), "full", crossovers=3)


def kinds(found: Plan) -> list[str]:
    return [hop.kind for hop in found.hops]


def test_the_transposition_of_section_4_3(transposition: Transfer, explanation: Explanation) -> None:
    """3 GB/s in the steady state; at least as fast as the path, layouts and blocks of table 3."""
    machine, found = preset("two-node"), explanation.plan
    assert found.throughput == pytest.approx(3e9, rel=1e-3)
    assert found.planner == "full"
    # Table 3: FBM → ZCM → REG → REG* → FBM*, |F| × x_in = 32 KiB, |F| × y_in = 16 KiB, chunks of 32 MiB.
    at = ("node0.fbm0", "node0.zcm", "node0.reg", "node1.reg", "node1.fbm0")
    channels = [machine.between(*ends)[0] for ends in itertools.pairwise(at)]
    runs, chunk = (32768.0, 16.0, float(32 * MIB), 16384.0), 32 * MIB
    hops = [chunk / channel.rate(run) for channel, run in zip(channels, runs, strict=True)]
    table_3 = sum(channel.setup for channel in channels) + sum(hops) + (transposition.nbytes / chunk - 1) * max(hops)
    assert chunk / max(hops) == pytest.approx(3e9), "the blocks of table 3 sustain the network"
    assert found.seconds < table_3


def test_both_ways_to_solve_the_program_agree(explanation: Explanation) -> None:
    assert explanation.solution.exact
    assert explanation.solution.throughput == pytest.approx(3e9, rel=1e-9)
    assert explanation.bisection.throughput == pytest.approx(explanation.solution.throughput, rel=1e-9)
    assert explanation.plan.throughput <= explanation.solution.throughput * (1 + 1e-9)


def test_blocks_of_table_3_are_in_the_feasible_region(explanation: Explanation) -> None:
    region = explanation.region
    assert region is not None
    assert inside(region.corners, (2048.0, 1024.0))
    assert inside(region.corners, region.chosen)
    assert not inside(region.corners, (4096.0, 4096.0)), "256 MiB"


def inside(corners: tuple[tuple[float, float], ...], point: tuple[float, float]) -> bool:
    """Whether a point is in a convex polygon in log-log, its rim included."""
    import math

    logs = [(math.log(x), math.log(y)) for x, y in corners]
    px, py = math.log(point[0]), math.log(point[1])
    turns = [(bx - ax) * (py - ay) - (by - ay) * (px - ax) for (ax, ay), (bx, by) in zip(logs, [*logs[1:], logs[0]], strict=True)]
    return all(turn >= -1e-9 for turn in turns) or all(turn <= 1e-9 for turn in turns)


def test_registered_memory_serves_the_network_as_in_section_6_3() -> None:
    """SYS → SYS* without conversion: through REG, 17 % faster than the direct hop."""
    transfer = Transfer.whole(IndexSpace(x=256 << 20), INTEGERS, "node0.sys", "<F, x>", "node1.sys", "<F, x>")
    machine = preset("sapling")
    found, direct = plan(transfer, machine, "full"), plan(transfer, machine, "direct")
    assert found.memories == ("node0.sys", "node0.reg", "node1.sys")
    assert found.throughput / direct.throughput == pytest.approx(1.177, abs=0.005)
    assert direct.seconds / found.seconds == pytest.approx(1.177, abs=0.005)


def test_disks_are_written_in_long_runs_as_in_section_6_3() -> None:
    """AOS → SOA to disk: converted in memory; SPSL and SPDL convert in DiskWrite."""
    transfer = Transfer.whole(LINE, INTEGERS, "node0.sys", "<F, x>", "node0.dsk", "<x, F>")
    machine = preset("sapling")
    found = plan(transfer, machine, "full")
    assert kinds(found) == ["Memcpy", "DiskWrite"]
    assert [hop.converts for hop in found.hops] == [True, False]
    for name in ("spsl", "spdl"):
        other = plan(transfer, machine, name)
        assert [(hop.kind, hop.converts) for hop in other.hops] == [("DiskWrite", True)]
        assert other.seconds > 1000 * found.seconds


def test_a_transposing_read_is_staged() -> None:
    """Where summed hop times would take the one hop, and lose by more than 1,000 times (realm issue 404)."""
    transfer = Transfer.whole(IndexSpace(x=4096, y=4096), FieldSpace(v="f4"), "node0.dsk", "<F, x, y>", "node0.sys", "<F, y, x>")
    for name in ("local", "sapling", "laptop"):
        machine = preset(name, measure="assumed") if name == "local" else preset(name)
        found, direct = plan(transfer, machine, "full"), plan(transfer, machine, "direct")
        assert len(found.hops) > 1
        assert direct.seconds > 1000 * found.seconds, name


def test_prime_sizes_plan_like_round_ones() -> None:
    machine = preset("two-node")
    per_byte = []
    for n in (10_000, 10_007):
        transfer = Transfer.whole(IndexSpace(x=n, y=n), ENTRY, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>")
        found = plan(transfer, machine, "full")
        per_byte.append(found.seconds / found.bytes)
    assert per_byte[1] == pytest.approx(per_byte[0], rel=0.01)


@pytest.mark.parametrize("name", ["two-node", "sapling", "xstream", "moonlight", "laptop", "local", "dgx-h100-pair"])
@pytest.mark.few(2)
def test_no_other_planner_is_faster(name: str) -> None:
    machine = preset(name, measure="assumed") if name == "local" else preset(name)
    names = [*[memory.name for memory in machine.memories if memory.node == 0][:4], machine.memories[-1].name]
    cases = [
        (IndexSpace(x=1 << 22), INTEGERS, "<F, x>", "<x, F>"),
        (IndexSpace(x=3000, y=2000), FieldSpace(a="f8", b="f4"), "<F, x, y>", "<y, x, F>"),
        (IndexSpace(x=300, y=200, z=100), ENTRY, "<F, x, y, z>", "<F, z, x, y>"),
    ]
    for space, fields, here, there in cases:
        for source, destination in ((names[0], names[-1]), (names[-1], names[1])):
            transfer = Transfer.whole(space, fields, source, here, destination, there)
            best = plan(transfer, machine, "full").objective
            for other in ("simple", "spsl", "spdl", "direct"):
                try:
                    found = plan(transfer, machine, other)
                except NoPathError:
                    continue
                assert found.objective >= best * (1 - MOST_ROUNDING), (other, str(transfer))


# ---- bad input


def test_no_path() -> None:
    machine = Machine("two", (Memory("a", MemoryKind.SYS), Memory("b", MemoryKind.SYS)))
    transfer = Transfer.whole(LINE, INTEGERS, "a", "<F, x>", "b", "<x, F>")
    with pytest.raises(NoPathError, match="no channels lead from a to b; nothing can be reached from it"):
        plan(transfer, machine, "full")
    alone = Transfer.whole(LINE, INTEGERS, "a", "<F, x>", "a", "<x, F>")
    with pytest.raises(NoPathError, match="back to it"):
        plan(alone, machine, "full")


def test_the_smallest_limits_that_would_do_are_named() -> None:
    transfer = Transfer.whole(LINE, INTEGERS, "node0.sys", "<F, x>", "node1.dsk", "<x, F>")
    machine = preset("sapling")
    with pytest.raises(LimitError, match="slot_limit of at least 4 B"):
        plan(transfer, machine, "full", Options(slot_limit=3))
    assert plan(transfer, machine, "full", Options(slot_limit=4)).buffers[0].nbytes <= 4
    with pytest.raises(LimitError, match="memory_limit of at least 8 B"):
        plan(transfer, machine, "full", Options(memory_limit=7))
    assert plan(transfer, machine, "full", Options(memory_limit=8)).buffer_bytes <= 8


def test_blocks_that_do_not_nest_go_through_a_plain_layout() -> None:
    """4 into 6: no common run but 2; through memory without blocks the hops have runs of 4 and of 6."""
    machine = Machine(
        "line",
        (Memory("a", MemoryKind.SYS), Memory("b", MemoryKind.REG), Memory("c", MemoryKind.ZCM)),
        [
            Channel("", ChannelKind.MEMCPY, "a", "b", preset("two-node").channel("node0.fbm0->node0.reg").throughput),
            Channel("", ChannelKind.MEMCPY, "b", "c", preset("two-node").channel("node0.fbm0->node0.reg").throughput),
        ],
    )
    fields = FieldSpace(u="f8", v="f8")
    transfer = Transfer.whole(IndexSpace(x=12_000), fields, "a", "<x_in=4, F, x_out>", "c", "<x_in=6, F, x_out>")
    found = plan(transfer, machine, "full")
    assert Layout(found.hops[0].destination_layout).on(transfer.space, fields).normal[0].extent % 12 == 0  # type: ignore[union-attr]
    assert [hop.request_bytes for hop in found.hops] == [32, 48]
    assert not explain(found, machine).proved, "said plainly: the promise is for blocks that nest"


class Silent:
    """A channel that moves nothing in runs of less than 4 KiB."""

    samples = ((1.0, 1e9),)
    peak = 1e9
    is_concave = False

    def __call__(self, run_bytes: float, /) -> float:
        return 1e9 if run_bytes >= 4096 else 0.0

    def inverse(self, rate: float, /) -> float:
        return 4096.0 if rate <= 1e9 else float("inf")

    def to_json(self) -> dict[str, Any]:
        return {"type": "silent"}


def test_functions_that_are_zero_somewhere() -> None:
    memories = (Memory("a", MemoryKind.SYS), Memory("b", MemoryKind.REG), Memory("c", MemoryKind.ZCM))
    silent = [
        Channel("", ChannelKind.MEMCPY, "a", "b", Silent()),
        Channel("", ChannelKind.MEMCPY, "b", "c", Silent()),
    ]
    transfer = Transfer.whole(SQUARE, ENTRY, "a", "<F, x, y>", "c", "<F, y, x>")
    converting = Channel("", ChannelKind.MEMCPY, "b", "b", Constant(1e9))
    found = plan(transfer, Machine("silent", memories, [*silent, converting]), "full")
    assert kinds(found) == ["Memcpy"] * 3
    assert all(hop.request_bytes >= 4096 for hop in (found.hops[0], found.hops[2]))
    with pytest.raises(NoPathError, match="moves nothing in runs as short as"):
        plan(transfer, Machine("silent", memories, silent), "full")


def test_a_machine_edited_after_planning(transposition: Transfer) -> None:
    machine = preset("two-node")
    found = plan(transposition, machine, "full")
    edited = with_bandwidth(machine, "node0.reg->node1.zcm", 0.5)
    with pytest.raises(TransferError, match="plan again"):
        explain(found, edited)
    again = plan(transposition, edited, "full")
    assert again is not found
    assert again.seconds > found.seconds
    assert plan(transposition, machine, "full") is found


def test_memories_without_capacity_have_room() -> None:
    machine = preset("two-node")
    boundless = replace(machine, memories=tuple(replace(memory, capacity=None) for memory in machine.memories))
    transfer = Transfer.whole(LINE, INTEGERS, "node0.fbm0", "<F, x>", "node1.fbm0", "<x, F>")
    assert plan(transfer, boundless, "full").objective == plan(transfer, machine, "full").objective


# ---- explanations


def test_stages_are_the_rows_of_table_3(explanation: Explanation) -> None:
    found = explanation.plan
    assert [stage.memory for stage in explanation.stages] == list(found.memories)
    assert [stage.shuffle_bytes for stage in explanation.stages[:-1]] == list(found.shuffles)
    assert [stage.run_bytes for stage in explanation.stages[:-1]] == [hop.request_bytes for hop in found.hops]
    assert max(stage.share for stage in explanation.stages) == pytest.approx(1)
    rows = [row for stage in explanation.stages for row in stage.rows]
    assert {row.kind for row in rows} == {"throughput", "space"}
    assert all(row.left <= row.bound * (1 + 1e-9) for row in rows)
    assert [row.hop for row in rows if row.binding] == [3], "the network"


def test_prices_say_what_faster_channels_would_do(transposition: Transfer, explanation: Explanation) -> None:
    """Perturbing the bound changes the objective by the price."""
    machine = preset("two-node")
    for stage in explanation.stages[:-1]:
        factor = 1 + 1e-5
        faster = Problem(transposition, with_bandwidth(machine, stage.channel, factor), Options())
        from isoviz.planner.time.path_time import Clock

        channels = [faster.machine.channel(each.channel) for each in explanation.stages[:-1]]
        runs = [each.run_bytes for each in explanation.stages[:-1]]
        clock = Clock(faster.machine, channels, transposition.nbytes, 2)
        change = clock.seconds(explanation.plan.chunk_bytes, runs) - explanation.plan.objective
        assert change == pytest.approx(stage.price * stage.throughput * (factor - 1), rel=1e-2, abs=1e-15)


def test_candidates_are_ranked_and_say_what_holds_them_back(explanation: Explanation) -> None:
    chosen, *others = explanation.candidates
    assert chosen.chosen and not any(other.chosen for other in others)
    assert len(others) >= 20 and explanation.beaten > 1000 and explanation.proved
    assert [other.least for other in others] == sorted(other.least for other in others)
    assert all(chosen.least <= other.least * (1 + MOST_ROUNDING) for other in others)
    assert all(other.limit for other in others)
    assert all(other.seconds is None or other.bound <= other.seconds * (1 + 1e-9) for other in others)


def test_stated_values_flip_the_winner(transposition: Transfer, explanation: Explanation) -> None:
    """Planning again 1 % on either side of what would make a rival win gives the one path and the other."""
    machine = preset("two-node")
    assert {turn.parameter for turn in explanation.crossovers} >= {"bandwidth", "size"}
    for turn in explanation.crossovers:
        assert turn.value is not None
        towards = 1 if turn.value > turn.now else -1
        paths = []
        for side in (1 - 0.01 * towards, 1 + 0.01 * towards):
            value = turn.value * side
            if turn.parameter == "bandwidth":
                found = plan(transposition, with_bandwidth(machine, turn.channel, value / turn.now), "full")
            elif turn.parameter == "slot_limit":
                found = plan(transposition, machine, "full", Options(slot_limit=round(value)))
            else:
                found = plan(resized(transposition, turn.channel, round(value)), machine, "full")
            paths.append(tuple(hop.channel for hop in found.hops))
        assert paths[1] == turn.rival, crossover_text(turn)
        assert paths[0] != turn.rival, crossover_text(turn)


def test_sweeps_name_the_winning_path(transposition: Transfer) -> None:
    machine = preset("two-node")
    found = sweep(transposition, machine, "size")
    assert len(found.points) > 30
    seconds = [point.seconds for point in found.points]
    assert seconds == sorted(seconds), "more bytes take longer"
    assert len({point.channels for point in found.points}) > 1
    now = min(found.points, key=lambda point: abs(point.value - found.now))
    assert now.seconds == pytest.approx(plan(transposition, machine, "full").objective, rel=MOST_ROUNDING)
    tight = sweep(transposition, machine, "slot_limit", [1024, 65536, 32 * MIB])
    assert [point.value for point in tight.points] == [1024, 65536, 32 * MIB]
    assert tight.points[0].seconds >= tight.points[-1].seconds
    with pytest.raises(InputError, match="expected one of slot_limit, size"):
        sweep(transposition, machine, "colour")


def test_explaining_plans_of_other_planners() -> None:
    machine = preset("two-node")
    cases = [
        (Transfer.whole(LINE, INTEGERS, "node0.sys", "<F, x>", "node1.sys", "<F, x>"), "full"),
        (Transfer.whole(LINE, INTEGERS, "node0.sys", "<F, x>", "node0.dsk", "<x, F>"), "direct"),
        (Transfer.whole(SQUARE, ENTRY, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>"), "simple"),
        (Transfer.whole(LINE, INTEGERS, "node0.fbm0", "<F, x>", "node1.fbm0", "<x, F>"), "spdl"),
    ]
    for transfer, name in cases:
        found = explain(transfer, machine, name)
        assert found.plan.planner == name
        assert found.candidates[0].channels == tuple(hop.channel for hop in found.plan.hops)
        assert found.solution.throughput == pytest.approx(found.bisection.throughput, rel=1e-9)
        assert found.solution.throughput >= found.plan.throughput * (1 - 1e-9)
        assert explanation_text(found)


def test_scaled_functions() -> None:
    for function in (channel.throughput for channel in preset("two-node").channels):
        twice = scaled(function, 2.0)
        for run in (1.0, 100.0, 4096.0, 1e7):
            assert twice(run) == pytest.approx(2 * function(run))


def test_limits_without_overlap_take_large_chunks() -> None:
    """Nothing is gained by small chunks where hops take turns, and what a chunk costs besides is in no throughput function."""
    ends = [Memory(f"node{i}.sys", MemoryKind.SYS, node=i) for i in range(3)]
    channels = [Channel("", ChannelKind.REMOTE_MEMCPY, f"node{i}.sys", f"node{i + 1}.sys", Constant(1e9)) for i in range(2)]
    machine = Machine("relay", ends, channels, limits=Limits(overlap=False))
    found = plan(Transfer.whole(LINE, INTEGERS, "node0.sys", "<F, x>", "node2.sys", "<F, x>"), machine, "full")
    assert found.chunk_count <= 256


def test_a_memcpy_that_does_not_pay_still_converts() -> None:
    """The family of layouts for a conversion between two buffers is empty here; `simple` has no other path."""
    fields = FieldSpace(a="u1", b="f8")
    transfer = Transfer.whole(IndexSpace(x=2, y=3), fields, "node0.fbm0", "<y, F, x>", "node1.fbm0", "<x, F, y>")
    # A slot of 9 bytes holds one entry, within which there is nothing to convert: then the first hop does it.
    for options, converting in ((Options(), 1), (Options(slot_limit=64), 1), (Options(slot_limit=9), 0)):
        found = plan(transfer, preset("two-node"), "simple", options)
        assert found.converting == (converting,)
        assert explanation_text(explain(found, preset("two-node"), options=options))


@pytest.mark.parametrize(
    ("machine", "sizes", "fields", "ends", "options"),
    [
        # an end that pads: chunks of one entry were the best that was found
        ("xstream", {"x": 426_862}, "f4", ("node1.fbm2 <x_in=7, F, x_out>", "node1.fbm0 <F, x_out, x_in=16>"), Options()),
        # larger chunks cut digits where they cannot be cut
        ("moonlight", {"x": 12288, "y": 4096}, "f4 f4", ("node0.fbm1 <x_out, y, F, x_in=3>", "node1.fbm0 <x, y, F>"), Options()),
        pytest.param(
            "two-node",
            {"x": 36864, "y": 81},
            "f4 f4",
            ("node1.zcm <x_in=9, y, F, x_out>", "node0.fbm0 <y, x, F>"),
            Options(slots=1),
            marks=pytest.mark.full,
        ),
        # paths with one slot to a buffer are many: the simple planner's was not among those kept
        pytest.param(
            "moonlight",
            {"x": 128, "y": 406, "z": 101},
            "f8 f4",
            ("node1.dsk <x_in=8, F, y, x_out, z>", "node0.dsk <z, y, x, F>"),
            Options(slots=1),
            marks=pytest.mark.full,
        ),
        # the cut that fits is no round one, and falls into too many boxes
        (
            "laptop",
            {"x": 812, "y": 256, "z": 64},
            "f4",
            ("node0.fbm0 <F, x_out, x_in=4, y, z>", "node0.dsk <z, F, y_out, x_out, x_in=4, y_in=8>"),
            Options(),
        ),
    ],
)
def test_awkward_blocks(machine: str, sizes: dict[str, int], fields: str, ends: tuple[str, str], options: Options) -> None:
    where = preset(machine)
    (source, here), (destination, there) = (end.split(" ", 1) for end in ends)
    dtypes = FieldSpace.of({f"f{i}": dtype for i, dtype in enumerate(fields.split())})
    transfer = Transfer.whole(IndexSpace.of(sizes), dtypes, source, here, destination, there)
    found = plan(transfer, where, "full", options)
    assert found.objective <= plan(transfer, where, "simple", options).objective * (1 + MOST_ROUNDING)
    assert found.chunk_bytes > 4096 and len(found.chunks[0].parts) <= 16
    for hop, before, after in zip(found.hops[:-1], found.orders, found.orders[1:], strict=False):
        assert hop.request_bytes == min(compare(before, after).run_bytes, found.chunk_bytes)


def test_bounds_are_bounds() -> None:
    """Fields of different sizes: blocks of whole entries let another hop convert than the one a path is listed with."""
    fields = FieldSpace(a="f8", b="u1", c="u1")
    transfer = Transfer.whole(IndexSpace(x=524_288), fields, "node0.dsk", "<F, x>", "node0.sys", "<x, F>")
    found = explain(transfer, preset("laptop"), "full", Options(slot_limit=2_969_927))
    assert all(each.seconds is None or each.bound <= each.seconds * (1 + 1e-9) for each in found.candidates)


@pytest.mark.parametrize("entries", [1700, 2300, 3333])
def test_blocks_of_a_blocked_end_divide_it(entries: int) -> None:
    """A digit with more divisors than are tried one by one is cut at a divisor, not where a slot happens to end."""
    block = 720_720
    fields = FieldSpace(a="f4", b="f4")
    transfer = Transfer.whole(IndexSpace(x=40 * block), fields, "node0.fbm0", f"<x_in={block}, F, x_out>", "node1.fbm0", "<F, x>")
    found = plan(transfer, preset("two-node"), "full", Options(slot_limit=entries * fields.nbytes))
    assert block % (found.chunk_bytes // fields.nbytes) == 0
    assert found.chunk_bytes > 0.9 * entries * fields.nbytes
    assert all(order.count == transfer.space.volume for order in found.orders), "nothing pads"


@pytest.mark.parametrize("layouts", [("<F, x, y>", "<F, y, x>"), ("<F, x, y>", "<F, x, y>")])
def test_what_a_chunk_costs_makes_chunks_larger(layouts: tuple[str, str]) -> None:
    """The sum of T and what its chunks cost is less than with the chunks that are best where they cost nothing."""
    machine = preset("two-node")
    transfer = Transfer.whole(SQUARE, ENTRY, "node0.fbm0", layouts[0], "node1.fbm0", layouts[1])
    free = plan(transfer, machine, "full")
    before = free.chunk_count
    for cost in (1e-6, 1e-4, 1e-2):
        dear = plan(transfer, replace(machine, limits=replace(machine.limits, chunk_seconds=cost)), "full")
        assert dear.chunk_count <= before
        every = cost * len(free.hops)
        assert dear.seconds + every * dear.chunk_count <= (free.seconds + every * free.chunk_count) * (1 + MOST_ROUNDING)
        before = dear.chunk_count
    assert before < free.chunk_count
    with pytest.raises(InputError):
        Limits(chunk_seconds=-1.0)


@pytest.mark.parametrize("planner", ["spsl", "spdl"])
def test_small_transfers_are_not_cut_where_chunks_cost(planner: str) -> None:
    """88 KiB in pieces of 20 to 30 KiB would overlap, and cost the engine three or four times as much."""
    machine = preset("two-node")
    fields = FieldSpace.of({"a": "V12", "b": "u2"})
    transfer = Transfer.whole(IndexSpace(x=6466), fields, "node0.fbm0", "<F, x_in=32, x_out>", "node1.fbm0", "<F, x>")
    free = plan(transfer, machine, planner)
    dear = plan(transfer, replace(machine, limits=replace(machine.limits, chunk_seconds=4e-4)), planner)
    assert dear.chunk_count <= 2 < free.chunk_count


def test_boxes_are_not_cut_where_chunks_cost() -> None:
    """Where the rate of a disk hardly depends on runs of some KiB, T is least with small boxes: tens of them for 181 KiB."""
    machine = preset("local", measure="assumed")
    fields = FieldSpace.of({f"f{k}": f"V{size}" for k, size in enumerate((2, 8, 8, 4, 1))})
    transfer = Transfer.whole(IndexSpace(x=8070), fields, "node0.dsk", "<F, x_in=4, x_out>", "node0.dsk", "<F, x>")
    disk = Sampled(((64.0, 4e8), (8192.0, 6e8), (131072.0, 6e8), (8e6, 2e9)))
    channels = tuple(replace(channel, throughput=disk) if not channel.is_self_loop else channel for channel in machine.channels)
    for cost in (0.0, machine.limits.chunk_seconds):
        limits = replace(machine.limits, chunk_seconds=cost)
        problem = Problem(transfer, replace(machine, channels=channels, limits=limits), Options())
        found = search(problem, everything=True)
        (candidate,) = [
            each for each in found.candidates if each.choice and len(each.route.channels) == 3 and each.route.converting == 1
        ]
        least = best_choice(problem, candidate.route, candidate.clock)
        assert least is not None and candidate.choice is not None
        assert problem.nbytes / least.chunk > 2, "T is least so"
        choice = with_larger_chunks(problem, candidate.choice, candidate.clock)
        assert (problem.nbytes / choice.chunk <= 2) == (cost > 0)


def test_blocks_that_do_not_nest_in_one_chunk() -> None:
    """A small array is one block: nothing is left over at its end, though it is not of whole blocks or pages."""
    machine = preset("local", measure="assumed")
    fields = FieldSpace.of({f"f{k}": f"V{size}" for k, size in enumerate((4, 8, 15, 16, 8, 4, 6, 9))})
    layouts = "<x, F, y>", "<F, x_in=2, y_in=64, x_out, y_out>"
    found = plan(Transfer.whole(IndexSpace(x=19, y=739), fields, "node0.dsk", layouts[0], "node0.dsk", layouts[1]), machine)
    assert found.chunk_count == 1


@pytest.mark.parametrize("layout", ["<F, x_in=24, y_in=4, x_out, y_out>", "<x_in=128, F, x_out, y>"])
def test_an_end_with_padding_in_one_chunk(layout: str) -> None:
    """Chunks are counted in entries of the end they follow, and that has more than move."""
    machine = preset("local", measure="assumed")
    fields = FieldSpace(a="V14", b="u1", c="f8", d="u2")
    transfer = Transfer.whole(IndexSpace(x=538, y=14), fields, "node0.dsk", layout, "node0.sys", "<x_in=2, F, x_out, y>")
    for planner in ("simple", "full"):
        assert plan(transfer, machine, planner).chunk_count == 1


def test_chunks_that_nothing_holds_are_large() -> None:
    """Whatever bounds slots: there are none. They are there to tell how far a transfer is."""
    machine = preset("local", measure="assumed")
    transfer = Transfer.whole(IndexSpace(x=1 << 27), FieldSpace(a="f4", b="f4"), "node0.sys", "<F, x>", "node0.sys", "<x, F>")
    assert plan(transfer, machine, "full").chunk_count == 4
    for options in (Options(slot_limit="32MiB"), Options(slot_limit=4096), Options(memory_limit="1MiB")):
        assert plan(transfer, machine, "full", options) == plan(transfer, machine, "full"), "there is no slot to bound"
    free = replace(machine, limits=replace(machine.limits, chunk_seconds=0.0))
    assert plan(transfer, free, "full").chunk_count == 32
    through = replace(transfer, destination=replace(transfer.destination, memory="node0.dsk"))
    assert plan(through, machine, "full").chunk_count >= 32, "buffers hold these"
    written = Transfer.whole(transfer.space, transfer.fields, "node0.sys", "<F, x>", "node0.dsk", "<F, x>")
    (hop,), seconds = plan(written, machine, "full").hops, plan(written, machine, "full").seconds
    assert hop.kind == "DiskWrite" and plan(written, machine, "full").chunk_count == max(4, math.ceil(seconds / 0.5))
    slow = tuple(replace(channel, throughput=Constant(1.6e8)) for channel in machine.channels)
    assert plan(written, replace(machine, channels=slow), "full").chunk_count == 16, "half a second each: progress is told"


@pytest.mark.parametrize("planner", ["simple", "spsl", "spdl", "full"])
@pytest.mark.parametrize("here", ["node0.sys", "node0.dsk"])
def test_where_a_layout_of_one_field_names_it_makes_no_difference(planner: str, here: str) -> None:
    machine = preset("local", measure="assumed")
    space, fields = IndexSpace(x=1 << 14, y=1 << 14), FieldSpace(v="u2")
    plans = [
        plan(Transfer.whole(space, fields, here, layout, "node0.dsk", "<F, y, x>"), machine, planner)
        for layout in ("<F, x, y>", "<x, F, y>", "<x, y, F>")
    ]
    assert len({(each.seconds, each.chunk_count) for each in plans}) == 1


@pytest.mark.parametrize(("rate", "chunks"), [(5e10, 64), (2e11, 22), (2e12, 3), (2e13, 1)])
def test_chunks_without_buffers_are_no_shorter_than_what_python_takes(rate: float, chunks: int) -> None:
    """Half a millisecond: a GPU copies 1 GB within its memory in that time."""
    memory = Memory("node0.fbm0", MemoryKind.FBM)
    machine = Machine("one GPU", (memory,), (Channel("", ChannelKind.GPU_COPY, memory.name, memory.name, Constant(rate)),))
    space = IndexSpace(x=1 << 14, y=1 << 15)
    for layout in ("<F, x, y>", "<F, y, x>"):
        transfer = Transfer.whole(space, FieldSpace(v="f4"), memory.name, "<F, x, y>", memory.name, layout)
        assert plan(transfer, machine).chunk_count == chunks


@pytest.mark.parametrize("nbytes", [4 << 10, 64 << 10, 1 << 20])
def test_what_a_channel_says_of_runs_holds_however_small_the_transfer(nbytes: int) -> None:
    """Other devices have the same machine: that one of them reads what lies between the runs, too, is no reason to plan so."""
    machine = preset("local", measure="assumed")
    fields = FieldSpace(a="f4", b="f4")
    small = Transfer.whole(IndexSpace(x=nbytes // 8), fields, "node0.dsk", "<F, x>", "node0.sys", "<x, F>")
    (hop,) = plan(small, machine, "direct").hops
    assert hop.request_bytes == 4
    assert plan(small, machine).hops[0].request_bytes == nbytes


@pytest.mark.parametrize(
    "layouts", [("<x_in=2048, F, x_out, y, z>", "<F, z, y, x>"), ("<F, z, y, x>", "<x_in=512, F, x_out, y, z>")]
)
def test_what_chunks_cost_moves_no_conversion_to_a_disk(layouts: tuple[str, str]) -> None:
    """Blocks that are ragged at the end go between two buffers in boxes, and stay there."""
    machine = preset("local", measure="assumed")
    assert machine.limits.chunk_seconds > 0
    space, fields = IndexSpace(x=653796, y=2, z=4), FieldSpace(v="float64")
    found = plan(Transfer.whole(space, fields, "node0.dsk", layouts[0], "node0.dsk", layouts[1]), machine, "full")
    assert [hop.converts for hop in found.hops] == [False, True, False]
    for hop in (0, 2):
        copies = found.copies(hop, 0)
        assert sum(copy.run * 4096 >= copy.nbytes for copy in copies) == len(copies), "a disk reads and writes long runs"


def where_conversions_cost(seconds: float) -> Machine:
    """This computer as it is assumed to be, but that its disk reads and writes short runs well, and with what a conversion within
    memory takes to set up."""
    machine, disk = preset("local", measure="assumed"), Sampled(((1.0, 2e8), (64.0, 4e8), (8e6, 2e9)))
    channels = tuple(
        replace(channel, conversion_setup=seconds) if channel.is_self_loop else replace(channel, throughput=disk)
        for channel in machine.channels
    )
    return replace(machine, channels=channels)


def in_all(made: Plan, machine: Machine) -> float:
    """T of a plan and what its chunks cost."""
    return made.objective + machine.limits.chunk_seconds * len(made.hops) * made.chunk_count


def test_paths_are_compared_in_the_chunks_that_they_would_have() -> None:
    """T is least in chunks that are far too small where chunks cost; in larger ones another path may be the best."""
    machine, different = where_conversions_cost(3e-5), 0
    for transfer in itertools.islice(random_transfers(machine, ["node0.sys", "node0.dsk"], 1, 64 << 10, 2 << 20), 40):
        problem = Problem(transfer, machine, Options())
        found = search(problem, everything=True)
        least, costs = {}, {}
        for each in found.candidates:
            choice = best_choice(problem, each.route, each.clock)
            if choice is not None:
                least[each.route] = choice.seconds
                costs[each.route] = problem.with_cost(with_larger_chunks(problem, choice, each.clock))
        assert problem.key(search(problem).best) == problem.key(found.best)
        assert in_all(plan(transfer, machine, "full"), machine) <= min(costs.values()) * (1 + 1e-6)
        different += costs[min(least, key=least.__getitem__)] > min(costs.values()) * (1 + 1e-6)
    assert different, "the least T alone would do"


def test_an_explanation_compares_as_the_planner_does() -> None:
    """No path is said to be better than the one that was chosen."""
    machine = where_conversions_cost(3e-5)
    for transfer in itertools.islice(random_transfers(machine, ["node0.sys", "node0.dsk"], 1, 64 << 10, 4 << 20), 15):
        said = explain(transfer, machine, "full")
        text = explanation_text(said)
        assert "T and chunks" in text and "would be faster" not in text and "would win as things are" not in text
        chosen, *others = said.candidates
        assert all(other.least >= chosen.least * (1 - 1e-9) for other in others)
        assert chosen.bound <= chosen.least * (1 + 1e-9)


def test_small_transfers_convert_in_the_hop_that_does_it_best(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("listed_steps", "search_steps"):
        monkeypatch.setattr(f"isoviz.planner.planners.auto_planner.{name}", lambda *_: math.inf)
    machine, kinds_of = where_conversions_cost(3e-3), set()
    for transfer in itertools.islice(random_transfers(machine, ["node0.sys", "node0.dsk"], 1, 64 << 10, 2 << 20), 40):
        found = plan(transfer, machine)
        kinds_of.add(found.planner)
        for planner in ("simple", "spsl", "spdl", "direct"):
            try:
                other = plan(transfer, machine, planner)
            except NoPathError:
                continue
            more = worked_out_steps(Problem(transfer, machine, Options())) / (WORTH * STEPS_PER_SECOND)
            assert in_all(found, machine) <= in_all(other, machine) + more, "another path would have been worth its planning"
    assert kinds_of == {"simple", "auto"}


def test_chunks_that_cost_too_much_need_not_be_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = where_conversions_cost(0.0)
    transfers = list(itertools.islice(random_transfers(machine, ["node0.sys", "node0.dsk"], 2, 64 << 10, 64 << 20), 30))

    def costs() -> list[float]:
        found = []
        for transfer in transfers:
            problem = Problem(transfer, machine, Options())
            for each in search(problem, everything=True).candidates:
                if each.route.converting in (None, 0, len(each.route.channels) - 1):
                    choice = best_one_layout(problem, each.route, each.clock, costs=True)
                    assert choice is not None
                    found.append(problem.with_cost(choice))
        return found

    few = costs()
    monkeypatch.setattr(_OneLayoutSearch, "_numbers_to_try", lambda self, unit, most, runs: round_numbers(most))
    assert few == costs() and len(few) > 30
