"""What a path costs that is given by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isoviz
from isoviz import FieldSpace, IndexSpace, Layout, Transfer
from isoviz.cli import main
from isoviz.errors import InputError, LayoutError, LimitError, MachineError, NoPathError, NotationError, TransferError
from isoviz.machines import Channel, ChannelKind, Constant, LatencyBandwidth, Machine, Memory, MemoryKind, preset
from isoviz.machines import Limits as MachineLimits
from isoviz.planner import Options, plan, plan_from_json, plan_of_paths, plan_to_json
from isoviz.planner.explanation.constraints import constraints_of
from isoviz.planner.explanation.plan_document import reasons
from isoviz.units import format_seconds
from isoviz.widgets.panes.plan_pane import limit_words

SPACE, PAIR = IndexSpace(x=256, y=128), FieldSpace(a="f4", b="f8")
MACHINE = preset("two-node")
THROUGH = ("node0.fbm0", "node0.reg", "node0.reg", "node1.reg", "node1.fbm0")
BLOCKED = ("<F, x_in=32, y_in=16, x_out, y_out>", "<F, y_in=16, x_in=32, x_out, y_out>", "<F, y_in=16, x_in=32, x_out, y_out>")


def between_gpus(here: str = "<F, x, y>", there: str = "<F, y, x>") -> Transfer:
    return Transfer.whole(SPACE, PAIR, "node0.fbm0", here, "node1.fbm0", there)


def test_a_path_by_hand() -> None:
    found = isoviz.cost(between_gpus(), MACHINE, THROUGH, BLOCKED, blocks=2)
    assert found.planner == "by hand" and found.memories == THROUGH
    assert (found.outer, found.per_chunk, found.chunk_bytes) == (2, 2, 2 * 32 * 16 * 12)
    assert [hop.converts for hop in found.hops] == [False, True, False, False]
    assert [hop.request_bytes for hop in found.hops] == [32 * 12, 12, found.chunk_bytes, 16 * 12]
    for hop in found.hops:
        assert hop.throughput == MACHINE.channel(hop.channel).rate(hop.request_bytes)
    assert isoviz.simulate(found, MACHINE).seconds == pytest.approx(found.seconds, rel=1e-9)
    assert plan_from_json(json.loads(json.dumps(plan_to_json(found)))) == found
    assert isoviz.simulate(found).seconds == pytest.approx(found.seconds, rel=1e-9), "its machine is known"


@pytest.mark.parametrize("planner", ["full", "simple", "spsl", "spdl"])
@pytest.mark.parametrize("layouts", [("<F, x, y>", "<F, y, x>"), ("<x, F, y>", "<F, x, y>"), ("<F, x, y>", "<F, x, y>")])
def test_the_path_of_a_planner_costs_what_it_says(planner: str, layouts: tuple[str, str]) -> None:
    transfer = Transfer.whole(SPACE, FieldSpace(a="f8", b="f8"), "node0.fbm0", layouts[0], "node1.fbm0", layouts[1])
    made = plan(transfer, MACHINE, planner)
    inside = [hop.destination_layout for hop in made.hops[:-1]]
    again = isoviz.cost(made.transfer, MACHINE, [hop.channel for hop in made.hops], inside, chunk=made.chunk_bytes)
    assert again.objective == pytest.approx(made.objective, rel=1e-9)
    assert [hop[1:] for hop in again.hops] == [hop[1:] for hop in made.hops]
    free = isoviz.cost(made.transfer, MACHINE, [hop.channel for hop in made.hops], inside)
    assert free.objective <= made.objective * (1 + 2e-3), "left to itself the chunk is as good"


def test_a_channel_taken_three_times() -> None:
    """One channel carries every byte three times: time, throughput and the words for its pace count that."""
    loop = Channel("", ChannelKind.MEMCPY, "a", "a", Constant(1e9))
    machine = Machine("loop", [Memory("a", MemoryKind.SYS)], [loop])
    transfer = Transfer.whole(IndexSpace(x=1 << 20), FieldSpace(v="u1"), "a", "<F, x>", "a", "<F, x>")
    once, thrice = (isoviz.cost(transfer, machine, path, chunk=1 << 14) for path in ("a,a", "a,a,a,a"))
    assert once.seconds == pytest.approx(transfer.nbytes / 1e9)
    assert thrice.seconds == pytest.approx(3 * once.seconds) == pytest.approx(thrice.objective)
    assert isoviz.simulate(thrice, machine).seconds == pytest.approx(thrice.seconds, rel=1e-9)
    assert thrice.throughput == pytest.approx(1e9 / 3)
    assert thrice.only.slowest == {0, 1, 2}
    assert reasons(thrice)[0] == "Hop 0, hop 1 and hop 2 take turns (one channel): together 333 MB/s."
    rows = [row for row in constraints_of(thrice, machine, thrice.throughput) if row.constraint == "throughput"]
    assert all(row.holds and row.slack == pytest.approx(0, abs=1) for row in rows)
    turns = [limit_words(thrice.only, hop, loop) for hop in range(3)]
    assert set(turns) == {"Hop 0, hop 1 and hop 2 take turns (one channel): together 333 MB/s"}


def test_memories_and_channels_name_a_path() -> None:
    channels = "node0.fbm0->node0.reg", "node0.reg->node1.reg", "node1.reg->node1.fbm0"
    memories = "node0.fbm0", "node0.reg", "node1.reg", "node1.fbm0"
    one = isoviz.cost(between_gpus(), MACHINE, memories)
    assert isoviz.cost(between_gpus(), MACHINE, channels) == one
    assert isoviz.cost(between_gpus(), MACHINE, ", ".join(memories)) == one
    assert isoviz.cost(between_gpus(), MACHINE, [memories[0], channels[1].split("->")[0], channels[1], *memories[2:]]) == one
    assert all(Layout(hop.destination_layout) == Layout("<F, x, y>") for hop in one.hops[:-1])
    given = {"node1.reg": "<F, y, x>"}
    assert [hop.converts for hop in isoviz.cost(between_gpus(), MACHINE, memories, given).hops] == [False, True, False]


def test_of_parallel_channels_the_best_is_taken_unless_one_is_named() -> None:
    memories = [Memory("node0.sys", MemoryKind.SYS), Memory("node1.sys", MemoryKind.SYS, node=1)]
    slow = Channel("", ChannelKind.REMOTE_MEMCPY, "node0.sys", "node1.sys", Constant(1e9))
    long = Channel("long", ChannelKind.REMOTE_MEMCPY, "node0.sys", "node1.sys", LatencyBandwidth(1e-5, 1e10))
    machine = Machine("two", memories, [slow, long])
    whole = Transfer.whole(SPACE, PAIR, "node0.sys", "<F, x, y>", "node1.sys", "<F, x, y>")
    short = Transfer.whole(SPACE, PAIR, "node0.sys", "<F, x, y>", "node1.sys", "<F, y, x>")
    assert isoviz.cost(whole, machine, "node0.sys,node1.sys").hops[0].channel == "long"
    assert isoviz.cost(short, machine, "node0.sys,node1.sys").hops[0].channel == "node0.sys->node1.sys"
    assert isoviz.cost(short, machine, ["long"]).hops[0].channel == "long"


def test_layouts_that_end_alike_once_a_digit_is_split() -> None:
    """`<F, x>` is `<F, x_in=32, x_out>`: both orders have the same blocks. Without a common suffix there is one chunk."""
    space = IndexSpace(x=4096)
    transfer = Transfer.whole(space, PAIR, "node0.fbm0", "<F, x>", "node1.fbm0", "<x, F>")
    path = ("node0.fbm0", "node0.reg", "node1.reg", "node1.fbm0")
    found = isoviz.cost(transfer, MACHINE, path, ["<F, x>", "<x_in=32, F, x_out>"], blocks=1)
    assert found.chunk_count == 128 and found.hops[1].converts
    stored = isoviz.cost(transfer, MACHINE, path, ["<F, x>", "<x, F>"])
    assert stored.chunk_count == 1 and all(buffer.nbytes == transfer.nbytes for buffer in stored.buffers)


@pytest.mark.parametrize(
    ("held", "chunks"),
    [
        (("<F, x, y>", "<F, x_in=1, y_in=4, x_out, y_out>"), 2),  # `x_in` has the step of `x_out` once `y` is split
        (("<F, x, y>", "<F, y_in=1, x_in=3, y_out, x_out>"), 48),  # one order: elements are the blocks
        (("<F, x_in=1, x_out, y>", "<F, x_in=1, x_out, y>"), 48),
    ],
)
def test_blocks_of_one_value_and_of_a_whole_dimension(held: tuple[str, str], chunks: int) -> None:
    transfer = Transfer.whole(IndexSpace(x=3, y=8), PAIR, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, x, y>")
    found = isoviz.cost(transfer, MACHINE, ("node0.fbm0", "node0.reg", "node1.reg", "node1.fbm0"), held, blocks=1)
    assert found.chunk_count == chunks
    assert plan_from_json(json.loads(json.dumps(plan_to_json(found)))) == found
    several = plan_of_paths(transfer, MACHINE, [({}, ("node0.fbm0", "node0.reg", "node1.reg", "node1.fbm0"), held)])
    assert several.transfer == transfer


@pytest.mark.parametrize(
    ("path", "more", "error", "words"),
    [
        (("node0.fbm0", "node1.fbm0"), {}, NoPathError, "no channel of machine two-node leads from node0.fbm0 to node1.fbm0"),
        (("node0.reg", "node1.reg"), {}, TransferError, "expected one from node0.fbm0 to node1.fbm0"),
        (("node0.fbm0",), {}, TransferError, "no hop"),
        ((), {}, TransferError, "no hop"),
        (("node0.fbm0", "node7.reg"), {}, MachineError, "no memory and no channel 'node7.reg'"),
        (("node0.fbm0->node0.reg", "node0.sys->node1.sys"), {}, TransferError, "expected one that begins in node0.reg"),
        (THROUGH, {"layouts": ["<F, x, y>"]}, InputError, "1 given; expected 3"),
        (THROUGH, {"layouts": "<F, x, y>"}, InputError, "expected a list"),
        (THROUGH, {"layouts": {"node0.sys": "<F, x, y>"}}, InputError, "no intermediate memory of the path"),
        (THROUGH, {"layouts": ["<F, x", *BLOCKED[1:]]}, NotationError, "expected"),
        (THROUGH, {"layouts": ["<F, x>", *BLOCKED[1:]]}, LayoutError, "y"),
        (THROUGH, {"layouts": BLOCKED, "blocks": 0}, InputError, "blocks of a chunk"),
        (THROUGH, {"layouts": BLOCKED, "blocks": 65}, InputError, "from 1 to 64"),
        (THROUGH, {"layouts": BLOCKED, "blocks": 1, "chunk": 6144}, InputError, "got both"),
        (THROUGH, {"layouts": BLOCKED, "chunk": "many"}, InputError, "expected a number"),
        (THROUGH, {"layouts": BLOCKED, "chunk": 100}, LimitError, "a chunk of 100 B is smaller than a block"),
        (
            THROUGH,
            {"layouts": BLOCKED, "blocks": 2, "options": Options(slot_limit=10_000)},
            LimitError,
            "the slot limit is 9.77 KiB",
        ),
        (THROUGH, {"layouts": BLOCKED, "options": Options(memory_limit="8KiB")}, LimitError, "the memory limit is 8 KiB"),
    ],
)
def test_what_is_wrong_with_a_path_is_said(path: Any, more: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        isoviz.cost(between_gpus(), MACHINE, path, **more)


def test_limits_that_are_broken_are_said_or_noted() -> None:
    options = Options(slot_limit=10_000, memory_limit="8KiB")
    with pytest.raises(LimitError, match=r"slot limit is 9\.77 KiB.*; .*memory limit is 8 KiB"):
        isoviz.cost(between_gpus(), MACHINE, THROUGH, BLOCKED, blocks=2, options=options)
    found = isoviz.cost(between_gpus(), MACHINE, THROUGH, BLOCKED, blocks=2, options=options, over_limits=True)
    assert [note.split(":")[0] for note in found.notes] == ["over the limits (slot limit)"] * 3 + [
        "over the limits (memory limit)"
    ]
    assert found.objective == isoviz.cost(between_gpus(), MACHINE, THROUGH, BLOCKED, blocks=2).objective
    chunk, buffers = 2 * 32 * 16 * 12, 3 * 2 * 2 * 32 * 16 * 12
    assert [(each.constraint, each.hop, each.name, each.needed, each.allowed) for each in found.violations] == [
        *(("slot", hop, memory, chunk, 10_000) for hop, memory in enumerate(THROUGH[1:-1])),
        ("memory-limit", None, "", buffers, 8192),
    ]
    assert "slot of hop 1 (node0.reg): 12 KiB needed, 9.77 KiB allowed" in str(found.violations[1])
    assert isoviz.cost(between_gpus(), MACHINE, THROUGH, BLOCKED, blocks=2).violations == ()
    assert plan(between_gpus(), MACHINE).violations == ()
    assert plan_from_json(json.dumps(plan_to_json(found))) == found
    with pytest.raises(TransferError, match=r"plan\.violations\[0\]\.constraint: expected .*'slot'"):
        plan_from_json(json.dumps(plan_to_json(found)).replace('"constraint": "slot"', '"constraint": "slots"'))


def test_every_kind_of_limit_is_a_violation() -> None:
    asked = isoviz.cost(between_gpus(), MACHINE, THROUGH, BLOCKED, chunk=100, over_limits=True)
    (small,) = asked.violations
    assert (small.constraint, small.hop, small.needed, small.allowed) == ("shuffle", None, 32 * 16 * 12, 100)
    rows = constraints_of(asked, MACHINE, asked.throughput)
    assert [(row.hop, row.needed, row.allowed) for row in rows if not row.holds] == [(1, 32 * 16 * 12, 100)]
    memories = [Memory("a", "SYS"), Memory("b", "SYS", capacity=1000), Memory("d", "DSK", capacity=1 << 20), Memory("c", "SYS")]
    kinds = {("a", "b"): "Memcpy", ("b", "c"): "Memcpy", ("a", "d"): "DiskWrite", ("d", "c"): "DiskRead"}
    channels = [Channel("", kind, *ends, Constant(1e9)) for ends, kind in kinds.items()]
    machine = Machine("narrow", memories, channels, limits=MachineLimits(slots=2))
    transfer = Transfer.whole(IndexSpace(x=1000), PAIR, "a", "<F, x>", "c", "<x, F>")
    full = isoviz.cost(transfer, machine, "a,b,c", chunk=800, over_limits=True)
    assert [(each.constraint, each.name, each.allowed) for each in full.violations] == [("capacity", "b", 1000)]
    assert full.violations[0].needed == full.buffer_bytes
    disk = isoviz.cost(transfer, machine, "a,d,c", chunk=800, over_limits=True)
    assert [(each.constraint, each.name, each.allowed) for each in disk.violations] == [("buffers", "d", 0)]


def test_a_plan_by_hand_is_explained() -> None:
    made = isoviz.cost(between_gpus(), MACHINE, THROUGH, BLOCKED, blocks=2)
    found, options = made.explain(), Options()
    assert found.plan is made and found.is_by_hand and not found.proved
    assert found.target == found.solution.throughput >= made.throughput
    assert found.constraints == constraints_of(made, MACHINE, found.target)
    assert found.reference == plan(between_gpus(), MACHINE, options=options)
    large = Transfer.whole(IndexSpace(x=8192, y=8192), PAIR, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>")
    region = isoviz.cost(large, MACHINE, THROUGH, BLOCKED).explain().region
    assert region is not None and (region.x, region.y, *region.chosen) == ("x_in", "y_in", 32.0, 16.0)
    assert [stage.memory for stage in found.stages] == list(THROUGH)
    assert [stage.run_bytes for stage in found.stages[:-1]] == [hop.request_bytes for hop in made.hops]
    (chosen,) = found.candidates
    assert (chosen.seconds, chosen.layouts, chosen.memories) == (made.objective, BLOCKED, THROUGH)
    said = str(found)
    assert "This plan by hand takes 4 hops" in said and "The constraints of this plan" in said
    assert f"The {found.reference.planner} planner takes {format_seconds(found.reference.seconds)}" in said
    direct = made.explain(options=Options(planner="direct"))
    assert direct.reference is None and "node1.fbm0" in direct.refusal
    assert f"The planner finds no plan: {direct.refusal}." in " ".join(str(direct).split())
    asked = made.explain(target=1e6)
    assert asked.target == 1e6 and all(each.holds for each in asked.constraints)
    with pytest.raises(InputError, match="target"):
        made.explain(target=0)
    with pytest.raises(TransferError, match="made for a machine 'two-node' that is not 'sapling'"):
        isoviz.explain(made, "sapling")


def test_a_plan_over_its_limits_is_explained_where_the_planner_finds_none() -> None:
    options = Options(memory_limit=16)
    over = isoviz.cost(between_gpus(), MACHINE, THROUGH, BLOCKED, blocks=2, over_limits=True, options=options)
    with pytest.raises(LimitError, match=r"no block fits the limits on its path node0\.fbm0 → node0\.reg"):
        over.explain(options=options)
    options = Options(slot_limit=4096)
    over = isoviz.cost(between_gpus(), MACHINE, THROUGH, BLOCKED, blocks=2, over_limits=True, options=options)
    found = over.explain(options=options)
    assert [each for each in found.constraints if each.constraint == "slot"] == list(over.violations)
    assert found.solution.throughput < over.explain().solution.throughput, "smaller slots sustain less"


def test_capacities_and_disks_are_limits_too() -> None:
    memories = [Memory("a", "SYS"), Memory("b", "SYS", capacity=1000), Memory("d", "DSK"), Memory("c", "SYS")]
    kinds = {("a", "b"): "Memcpy", ("b", "c"): "Memcpy", ("a", "d"): "DiskWrite", ("d", "c"): "DiskRead"}
    channels = [Channel("", kind, *ends, Constant(1e9)) for ends, kind in kinds.items()]
    machine = Machine("narrow", memories, channels, limits=MachineLimits(slots=2))
    transfer = Transfer.whole(IndexSpace(x=1000), PAIR, "a", "<F, x>", "c", "<x, F>")
    with pytest.raises(LimitError, match=r"buffers take 1.56 KiB in b, which has 1,000 B free"):
        isoviz.cost(transfer, machine, "a,b,c", chunk=800)
    with pytest.raises(LimitError, match=r"d \(DSK\) holds no intermediate buffers"):
        isoviz.cost(transfer, machine, "a,d,c")


class Silent(Constant):
    """A channel that moves nothing in short runs."""

    def __call__(self, run_bytes: float, /) -> float:
        return super().__call__(run_bytes) if run_bytes >= 64 else 0.0


def test_a_hop_that_moves_nothing_has_no_cost() -> None:
    memories = [Memory("a", "SYS"), Memory("b", "SYS")]
    machine = Machine("stuck", memories, [Channel("", "Memcpy", "a", "b", Silent(1e9))])
    transfer = Transfer.whole(IndexSpace(x=1000), FieldSpace(a="u1", b="u1"), "a", "<F, x>", "b", "<x, F>")
    with pytest.raises(NoPathError, match="moves nothing in runs of 1 B"):
        isoviz.cost(transfer, machine, "a,b")


@pytest.mark.parametrize("chunk", [None, 24, 24 * 7, "1KiB"])
@pytest.mark.parametrize("layouts", [(), ("<x_in=8, F, x_out, y>", "<F, x_in=8, x_out, y>"), ("<F, x, y>", "<y, x, F>")])
@pytest.mark.few(3)
def test_a_path_by_hand_runs(layouts: tuple[str, ...], chunk: int | str | None) -> None:
    """Bit for bit, through two buffers in host memory."""
    machine = preset("local", measure="assumed")
    transfer = Transfer.whole(SPACE, PAIR, "node0.sys", "<F, x, y>", "node0.sys", "<y, F, x>")
    path = ("node0.sys",) * 4
    made = isoviz.cost(transfer, machine, path, layouts, chunk=chunk, over_limits=True)
    given = np.random.default_rng(1).integers(0, 255, (128, 256, 12), dtype=np.uint8).view(PAIR.dtype)[..., 0]
    out = np.zeros(transfer.destination.linearization.nbytes, np.uint8)
    with isoviz.Engine(machine) as engine:
        report = engine.run(made, given, out)
    assert report.verified and made.planner == "by hand" and len(made.hops) == 3
    first = np.ascontiguousarray(given["a"].T)  # of every x: all a, then all b
    assert (out.reshape(256, -1)[:, : 128 * 4].copy().view("f4") == first).all() or np.isnan(first).any()


def test_cost_from_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "t.toml"
    file.write_text(
        '[space]\nx = 256\ny = 128\n[fields]\na = "f4"\nb = "f8"\n[source]\nmemory = "node0.fbm0"\nlayout = "<F, x, y>"\n'
        '[destination]\nmemory = "node1.fbm0"\nlayout = "<F, y, x>"\n[machine]\npreset = "two-node"\n'
    )
    layouts = [word for layout in BLOCKED for word in ("--layout", layout)]
    assert main(["cost", str(file), "--path", ",".join(THROUGH), *layouts, "--blocks", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    made = isoviz.cost(between_gpus(), MACHINE, THROUGH, BLOCKED, blocks=2)
    assert (told["planner"], told["objective"]) == ("by hand", made.objective)
    assert main(["cost", str(file), "--path", ",".join(THROUGH), *layouts, "--chunk", "100"]) == 2
    assert "smaller than a block" in capsys.readouterr().err
    assert main(["cost", str(file), "--path", ",".join(THROUGH), *layouts, "--chunk", "100", "--over-limits"]) == 0
    assert "over the limits" in capsys.readouterr().out


@pytest.mark.parametrize("path", [None, 5, ["a", ["b"], "c"], b"a,b"])
def test_paths_of_another_type(path: Any) -> None:
    machine = preset("two-node")
    transfer = Transfer.whole(IndexSpace(x=64), FieldSpace(v="f4"), "node0.sys", "<F, x>", "node0.sys", "<F, x>")
    with pytest.raises(InputError, match="path: expected names of memories or channels"):
        isoviz.cost(transfer, machine, path)


@pytest.mark.parametrize("layouts", [None, 5, {1: "<F, x>", "q": 3}, [3]])
def test_layouts_of_another_type(layouts: Any) -> None:
    machine = preset("two-node")
    transfer = Transfer.whole(IndexSpace(x=64), FieldSpace(v="f4"), "node0.sys", "<F, x>", "node0.sys", "<F, x>")
    with pytest.raises(InputError, match="layouts: expected"):
        isoviz.cost(transfer, machine, "node0.sys,node0.sys", layouts)
