"""A transfer that runs several times: what is kept is paid once, the least mean decides, and each start is predicted."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import isoviz
from isoviz import FieldSpace, IndexSpace, Instance, Options, Plan, Transfer, explain
from isoviz.cli import main
from isoviz.errors import InputError, TransferError
from isoviz.figures.document_html import told_html
from isoviz.layouts import Box
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine, Memory, MemoryKind, OneTimeCost, Resource, save
from isoviz.planner import (
    PLANNERS,
    PathByHand,
    explanation_text,
    load_transfer,
    plan,
    plan_from_json,
    plan_of_paths,
    plan_to_json,
    plan_together,
)
from isoviz.planner.explanation.explanation_words import time_text
from isoviz.runtime import simulate

US, GB = 1e-6, 1e9
RUNS_IN_A_KEY = 22
MAP_A_KEY, PARSE_A_RUN = 2 * 4.98 * US, 2 * 0.0622 * US
MAPPING = (OneTimeCost("mapping", MAP_A_KEY, per="request"), OneTimeCost("parsing", PARSE_A_RUN, per="run"))


def cards(costs: Sequence[OneTimeCost]) -> Machine:
    """GPUs of two nodes: pack and send, copy through the hosts, or let the card scatter by keys, which `costs` make ready."""
    memories, channels = [], []
    for node in (0, 1):
        gpu, host = f"node{node}.fbm0", f"node{node}.reg"
        memories += [Memory(gpu, MemoryKind.FBM, node), Memory(host, MemoryKind.REG, node)]
        staged = LatencyBandwidth(6.67 * US, 21.5 * GB)
        channels += [
            Channel(f"pack{node}", ChannelKind.GPU_COPY, gpu, gpu, LatencyBandwidth(1e-12, 369 * GB), setup=5.95 * US),
            Channel(f"d2h{node}", ChannelKind.GPU_READ, gpu, host, staged, setup=0.9 * US),
            Channel(f"h2d{node}", ChannelKind.GPU_WRITE, host, gpu, staged, setup=0.9 * US),
        ]
    remote: dict[str, Any] = {"kind": ChannelKind.DIRECT_REMOTE, "source": "node0.fbm0", "destination": "node1.fbm0"}
    channels += [
        Channel("net", ChannelKind.REMOTE_MEMCPY, "node0.reg", "node1.reg", LatencyBandwidth(0.5 * US, 23 * GB), setup=10.4 * US),
        Channel("gdr", **remote, throughput=LatencyBandwidth(1.5 * US, 9.78 * GB), setup=10.4 * US),
        Channel(
            "umr",
            **remote,
            throughput=LatencyBandwidth(0.0219 * US, 9.78 * GB),
            setup=10.4 * US,
            descriptors=RUNS_IN_A_KEY,
            request_seconds=0.972 * US,
            costs=tuple(costs),
        ),
    ]
    return Machine("cards", tuple(memories), tuple(channels))


def vector(count: int, nbytes: int) -> Transfer:
    """So many runs of so many bytes, as far apart as they are long."""
    space, fields = IndexSpace(x=2 * nbytes, y=count), FieldSpace(v="uint8")
    ends = (Instance(f"node{node}.fbm0", space, fields, "<F, x, y>") for node in (0, 1))
    return Transfer(*ends, shape=(nbytes, count))


def ways(found: Plan) -> list[str]:
    return [hop.channel for hop in found.hops]


@pytest.mark.parametrize(
    ("nbytes", "count", "turns"), [(1024, 16, 1), (1024, 64, 4), (4096, 128, 1000), (768, 64, 5), (6144, 64, 4)]
)
def test_reuse_turns_the_choice_where_dividing_the_cost_by_hand_does(nbytes: int, count: int, turns: int) -> None:
    keys = math.ceil(count / RUNS_IN_A_KEY)
    mapping = keys * MAP_A_KEY + count * PARSE_A_RUN
    machine, transfer = cards(MAPPING), vector(count, nbytes)
    for reuse in (1, 2, 3, 4, 5, 6, 10, 1000):
        found = plan(transfer, machine, "full", Options(reuse=reuse))
        divided = plan(transfer, cards([OneTimeCost("mapping", mapping / reuse)]), "full")
        assert ways(found) == ways(divided) == (["umr"] if reuse >= turns else ["pack0", "gdr", "pack1"]), reuse
        assert found.objective == pytest.approx(divided.objective, rel=1e-12)
        if found.hops[0].channel == "umr":
            assert found.first - found.again == pytest.approx(mapping, rel=1e-9)
            assert found.total == pytest.approx(reuse * found.mean, rel=1e-12)
        assert (found.reuse, found.first, found.total) == (reuse, found.seconds, found.first + (reuse - 1) * found.again)


@pytest.mark.parametrize("planner", [*PLANNERS])
@pytest.mark.parametrize("reuse", [1, 7])
def test_every_planner_counts_the_mean_and_each_start_takes_what_the_plan_says(planner: str, reuse: int) -> None:
    machine, transfer = cards([*MAPPING, OneTimeCost("handshake", 3 * US, kept=False)]), vector(64, 4096)
    found = plan(transfer, machine, planner, Options(reuse=reuse))
    trace = simulate(found, machine, starts=3)
    taken = [each.seconds for each in trace.transfers]
    assert taken == pytest.approx([found.first, found.again, found.again], rel=1e-12)
    assert trace.seconds == pytest.approx(sum(taken), rel=1e-12)
    assert simulate(found, machine).seconds == pytest.approx(found.seconds, rel=1e-12)


def runs_of(found: Plan, hop: int, chunk: int) -> int:
    """The contiguous runs of a chunk, counted one by one over the copies of the hop."""
    count = 0
    for copy in found.copies(hop, chunk):
        count += math.prod(extent for extent, _, _ in copy.loops)
    return count


@pytest.mark.parametrize("kept", [True, False])
def test_every_chunk_pays_for_its_own_requests_and_runs(kept: bool) -> None:
    """A last chunk that is short has fewer of them."""
    costs = [OneTimeCost("key", 5 * US, per="request", kept=kept), OneTimeCost("parse", 0.25 * US, per="run", kept=kept)]
    transfer = vector(100, 48)
    machine = cards(costs)
    found = isoviz.cost(transfer, machine, ["umr"], chunk=48 * 30, options=Options(reuse=4))
    assert found.chunk_count == 4
    runs = [runs_of(found, 0, chunk) for chunk in range(4)]
    assert runs == [30, 30, 30, 10]
    expected = sum(math.ceil(each / RUNS_IN_A_KEY) * 5 * US + each * 0.25 * US for each in runs)
    assert found.setup == pytest.approx(10.4 * US + expected, rel=1e-12)
    assert found.first - found.again == pytest.approx(expected if kept else 0.0, rel=1e-9, abs=1e-15)
    alone = isoviz.cost(transfer, cards(()), ["umr"], chunk=48 * 30)
    assert found.throughput == alone.throughput, "the steady state pays nothing of it"
    assert found.objective == pytest.approx(alone.objective + (expected / 4 if kept else expected), rel=1e-12)


def test_pages_are_those_of_both_instances_and_of_the_ring() -> None:
    page = OneTimeCost("registration", 1 * US, per="page", cached_by="registrations")
    channels = [Channel(f"{a}{b}", "Memcpy", a, b, LatencyBandwidth(US, GB), costs=(page,)) for a, b in pairwise("abc")]
    machine = Machine("line", [Memory(name, "SYS") for name in "abc"], channels)
    transfer = Transfer.whole(IndexSpace(x=100_000), FieldSpace(v="u1"), "a", "<F, x>", "c", "<F, x>")
    found = isoviz.cost(transfer, machine, "a, b, c", chunk=10_000)
    ends, ring = math.ceil(100_000 / 4096), math.ceil(2 * 10_000 / 4096)
    assert found.setup == pytest.approx((2 * ends + ring) * US), "the cache shares the ring: both hops touch it"
    apart = replace(machine, channels=[replace(each, costs=(replace(page, cached_by=""),)) for each in channels])
    found = isoviz.cost(transfer, apart, "a, b, c", chunk=10_000)
    assert found.setup == pytest.approx((2 * ends + 2 * ring) * US)


def test_a_channel_with_fewer_runs_in_a_request_dominates_none_that_pays_for_requests() -> None:
    machine = cards(())
    few, many = (
        Channel(name, ChannelKind.DIRECT_REMOTE, "node0.fbm0", "node1.fbm0", rate, descriptors=most, costs=MAPPING[:1])
        for name, rate, most in (("few", LatencyBandwidth(1e-9, 10 * GB), 2), ("many", LatencyBandwidth(1e-9, 9 * GB), 1000))
    )
    alone = replace(machine, channels=(few, many))
    assert ways(plan(vector(1000, 64), alone, "full")) == ["many"]
    assert ways(plan(vector(1000, 64), alone, "full", Options(reuse=10**6))) == ["few"]


def rails(kept: float, setup: float) -> Machine:
    """Two ways from a to z with buses of their own; over m the first start is dear."""
    buses = [Resource(name, 1 * GB) for name in ("near", "far")]
    bus = [((each.name, 1.0),) for each in buses]
    rate = LatencyBandwidth(US, 1 * GB)
    key = (OneTimeCost("key", kept),)
    channels = [
        Channel("az", "Memcpy", "a", "z", rate, setup=setup, resources=bus[0]),
        Channel("am", "Memcpy", "a", "m", rate, costs=key, resources=bus[1]),
        Channel("mz", "Memcpy", "m", "z", rate),
    ]
    return Machine("rails", [Memory(name, "SYS") for name in "amz"], channels, resources=buses)


def test_several_paths_and_transfers_together_count_what_is_kept() -> None:
    machine = rails(kept=0.05, setup=1e-4)
    transfer = Transfer.whole(IndexSpace(x=32 << 20), FieldSpace(v="u1"), "a", "<F, x>", "z", "<F, x>")
    once, often = (plan(transfer, machine, "multipath", Options(reuse=reuse)) for reuse in (1, 1000))
    assert (len(once.paths), len(often.paths)) == (1, 2), "two paths pay only if the key is used again"
    assert often.again < once.seconds < often.first
    assert often.mean == pytest.approx(often.total / 1000, rel=1e-12)
    assert [each.seconds for each in simulate(often, machine, starts=2).transfers] == pytest.approx([often.first, often.again])
    halves = [transfer.part(Box((at,), (at + (16 << 20),))) for at in (0, 16 << 20)]
    for reuse, paths in ((1, {"az"}), (1000, {"az", "am", "mz"})):
        found = plan_together(halves, machine, Options(reuse=reuse))
        assert {hop.channel for each in found for hop in each.every_hop} == paths
        assert {each.reuse for each in found} == {reuse}


def test_paths_by_hand_know_their_starts() -> None:
    machine, shares = rails(kept=2e-3, setup=1e-4), [(range(3), "a, z"), (range(3, 8), "a, m, z", (), 4096)]
    transfer = Transfer.whole(IndexSpace(x=32768), FieldSpace(v="u1"), "a", "<F, x>", "z", "<F, x>")
    found = plan_of_paths(transfer, machine, [PathByHand(*each) for each in shares], options=Options(reuse=5))
    assert [path.kept for path in found.paths] == [0.0, pytest.approx(2e-3)]
    assert found.first - found.again == pytest.approx(2e-3 - 1e-4, rel=0.05), "the other path has a set-up of its own"
    trace = simulate(found, machine, starts=5)
    assert trace.seconds == pytest.approx(found.total, rel=1e-12)
    assert plan_from_json(json.loads(json.dumps(plan_to_json(found)))) == found


def test_files_keep_the_starts_and_say_them() -> None:
    machine = cards(MAPPING)
    found = plan(vector(64, 1024), machine, "full", Options(reuse=10))
    data = json.loads(json.dumps(plan_to_json(found)))
    assert plan_from_json(data) == found
    assert {name: data[name] for name in ("reuse", "first", "again", "total")} == {
        "reuse": 10,
        "first": found.first,
        "again": found.again,
        "total": found.total,
    }
    for name, value in (("reuse", 0), ("kept", 1.0), ("reuse", "many")):
        wrong = json.loads(json.dumps(data))
        wrong["paths"][0][name] = value
        with pytest.raises(TransferError, match=rf"paths\[0\]\.{name}"):
            plan_from_json(wrong)


@pytest.mark.parametrize("reuse", [0, -1, "2", 1.5, math.nan, True, 10**10])
def test_reuse_is_a_whole_number(reuse: Any) -> None:
    with pytest.raises(InputError, match="options, reuse"):
        Options(reuse=reuse)
    with pytest.raises(InputError, match="simulate, starts"):
        simulate(plan(vector(16, 64), cards(())), starts=reuse)


def test_plans_for_other_numbers_of_starts_are_other_plans() -> None:
    machine, transfer = cards(MAPPING), vector(64, 1024)
    once, often = (plan(transfer, machine, "full", Options(reuse=reuse)) for reuse in (1, 1000))
    assert ways(once) != ways(often)
    assert plan(transfer, machine, "full", Options(reuse=1000)) is often
    assert plan(transfer, machine, "full").objective == once.objective
    assert Options(reuse=3).as_dict() == {"planner": "auto", "reuse": 3}


def test_an_explanation_compares_the_means() -> None:
    machine, transfer = cards(MAPPING), vector(64, 1024)
    found = plan(transfer, machine, "full", Options(reuse=1000))
    said = explain(found, machine)
    chosen, *others = said.candidates
    assert chosen.channels == ("umr",) and chosen.seconds == pytest.approx(found.objective)
    assert all(each.seconds is None or each.seconds > chosen.seconds * (1 - 1e-3) for each in others)


def test_what_is_said_has_the_first_start_every_later_one_and_the_mean() -> None:
    machine, transfer = cards(MAPPING), vector(64, 1024)
    once, often = (plan(transfer, machine, "full", Options(reuse=reuse)) for reuse in (1, 1000))
    starts = "1,000 starts: 59.3 µs the first, 21.4 µs every later one, 21.5 µs in the mean"
    assert starts in str(often) and starts in explanation_text(explain(often, machine)).replace("\n  ", " ")
    assert "T, the mean of 1,000 starts, = set-up 10.4 µs" in time_text(explain(often, machine))
    assert starts in told_html(often, machine)
    for said in (str(once), explanation_text(explain(once, machine)), told_html(once, machine)):
        assert "start" not in said.replace("restart", ""), "nothing of it where the transfer runs once"


FILE = """
[space]
x = 2048
y = 64
[fields]
v = "uint8"
[box]
shape = { x = 1024 }
[source]
memory = "node0.fbm0"
layout = "<F, x, y>"
[destination]
memory = "node1.fbm0"
layout = "<F, x, y>"
[machine]
file = "cards.json"
[options]
planner = "full"
reuse = 1000
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    save(cards(MAPPING), tmp_path / "cards.json")
    (tmp_path / "transfer.toml").write_text(FILE)
    return tmp_path / "transfer.toml"


def said(capsys: pytest.CaptureFixture[str], *args: object) -> str:
    assert main([str(each) for each in args]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_files_and_commands_take_the_reuse(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert load_transfer(file).options.reuse == 1000
    by_file, by_command = (json.loads(said(capsys, "plan", file, "--json", *more)) for more in ((), ("--reuse", "2")))
    assert (by_file["reuse"], by_command["reuse"]) == (1000, 2)
    assert [hop["channel"] for hop in by_file["hops"]] == ["umr"]
    assert [hop["channel"] for hop in by_command["hops"]] == ["pack0", "gdr", "pack1"]
    assert by_file["first"] == pytest.approx(59.28e-6, rel=1e-3) and by_file["again"] == pytest.approx(21.42e-6, rel=1e-3)
    priced = json.loads(said(capsys, "cost", file, "--path", "umr", "--reuse", "3", "--json"))
    assert (priced["reuse"], priced["total"]) == (3, pytest.approx(priced["first"] + 2 * priced["again"]))
    assert "1,000 starts: " in said(capsys, "simulate", file) and "a later start" in said(capsys, "simulate", file)
    simulated = json.loads(said(capsys, "simulate", file, "--json"))
    assert simulated["predicted"]["again"] == by_file["again"]
    said(capsys, "show", file)
    assert "1,000" in file.with_suffix(".html").read_text()
    for wrong in ("0", "-3"):
        assert main(["plan", str(file), "--reuse", wrong]) == 2
        assert "options, reuse: expected a whole number" in capsys.readouterr().err
    text = FILE.replace("reuse = 1000", 'reuse = "often"')
    file.write_text(text)
    assert main(["plan", str(file)]) == 2
    assert "reuse" in capsys.readouterr().err
