"""The preset `armci-cluster`: its figures have origins, the protocols of the paper are paths, and a node may be busy."""

from __future__ import annotations

import math
from dataclasses import fields

import pytest

from isoviz import FieldSpace, IndexSpace, Instance, Plan, Transfer, cost, plan, preset, simulate
from isoviz.errors import MachineError
from isoviz.machines import ChannelKind, Machine, machine_from_json, machine_to_json
from isoviz.machines.presets.armci import CallCosts, armci_cluster, origin

US, MB = 1e-6, 1e6
ZERO_COPY, ASSISTED = ["node0.reg->node1.reg"], ["node0.reg->node1.reg assisted"]
ON_DEMAND = ["node0.sys->node1.sys on demand"]
BUFFERED = ["node0.sys->node0.reg", "node0.reg->node1.reg", "node1.reg->node1.sys"]
PACKED = ["node0.reg->node0.reg", "node0.reg->node1.reg", "node1.reg->node1.reg"]


def boxed(rows: int, run: int, end: str, here: int = 0, there: int = 1) -> Transfer:
    """`rows` runs of `run` bytes, twice as far apart."""
    space, fields = IndexSpace(x=2 * run, y=rows), FieldSpace(v="u1")
    ends = [Instance(f"node{node}.{end}", space, fields, "<F, x, y>") for node in (here, there)]  # type: ignore[arg-type]
    return Transfer(*ends, shape=(run, rows))


def seconds(transfer: Transfer, machine: Machine, channels: list[str], chunk: int | None = None) -> float:
    made = cost(transfer, machine, channels, chunk=chunk)
    assert simulate(made, machine).seconds == pytest.approx(made.seconds)
    return made.seconds


def test_every_figure_is_from_the_paper_fitted_or_assumed() -> None:
    assert {origin(each.name).split(",")[0].split(":")[0] for each in fields(CallCosts)} == {
        "from the paper",
        "fitted",
        "assumed",
    }
    for options in ({}, {"call": "put"}, {"network": "myrinet"}):
        machine = preset("armci-cluster", busy=0.6, nodes=3, **options)
        assert machine_from_json(machine_to_json(machine)) == machine
        for channel in machine.channels:
            assert channel.provenance.startswith(("from the paper: ", "fitted: ")), channel.name
        assert all(each.provenance.startswith(("from the paper", "assumed: one of two processors")) for each in machine.resources)


def test_only_a_processor_of_node_0_is_busy() -> None:
    machine = preset("armci-cluster", busy=0.6, nodes=3)
    held = {each.name: each for each in machine.resources if each.held}
    assert {name: each.capacity for name, each in held.items()} == {
        "node0.cpu": pytest.approx(0.4), "node1.cpu": 1.0, "node2.cpu": 1.0
    }  # fmt: skip
    assert "60 %" in held["node0.cpu"].provenance
    assert preset("armci-cluster") == preset("armci-cluster", busy=0)


def test_a_short_call_takes_what_table_1_says() -> None:
    """From the paper: 16 µs and 689 MB/s for a get, 7.44 µs and 730 MB/s for a put, 24 µs for a get by put."""
    for options, kind, latency, rate in (
        ({}, "RemoteMemcpy", 16, 689),
        ({"call": "put"}, "RemoteMemcpy", 7.44, 730),
        ({"network": "myrinet"}, "GetByPut", 24, 237),
    ):
        machine = preset("armci-cluster", **options)
        for nbytes in (8, 1 << 20):
            found = plan(boxed(1, nbytes, "reg"), machine, "full")
            assert [hop.kind for hop in found.hops] == [kind]
            assert found.seconds == pytest.approx(latency * US + nbytes / (rate * MB)), (options, nbytes)


@pytest.mark.parametrize(("rows", "run"), [(1, 4096), (60, 512), (61, 512), (256, 4096), (4096, 64)])
def test_protocols_beside_formulas(rows: int, run: int) -> None:
    """Written down anew, for a get of registered memory: a call for each run, sends of 60 runs, copies at both ends."""
    machine, nbytes, each = preset("armci-cluster"), rows * run, CallCosts()
    wire = nbytes / (689 * MB)
    assert seconds(boxed(rows, run, "reg"), machine, ZERO_COPY) == pytest.approx(15 * US + rows * each.read + wire)
    assisted = 21.1 * US + math.ceil(rows / 60) * US + rows * each.gather + wire
    assert seconds(boxed(rows, run, "reg"), machine, ASSISTED) == pytest.approx(assisted)
    copies = 2 * (each.call + rows * each.copied_run + nbytes / each.copy)
    buffered = 7.44 * US + 16 * US + copies + wire
    assert seconds(boxed(rows, run, "reg"), machine, PACKED, chunk=nbytes) == pytest.approx(buffered)


def test_pipelined_is_the_buffered_path_in_chunks() -> None:
    transfer, machine = boxed(1, 1 << 20, "sys"), preset("armci-cluster")
    buffered = seconds(transfer, machine, BUFFERED, chunk=1 << 20)
    found = cost(transfer, machine, BUFFERED)
    assert found.chunk_bytes < 1 << 18 and found.seconds < 0.6 * buffered
    assert plan(transfer, machine, "full").seconds == pytest.approx(found.seconds)


def busy(share: float, call: str = "get") -> Machine:
    return preset("armci-cluster", busy=share, call=call)


def test_a_busy_node_slows_copies_and_nothing_else() -> None:
    """The nearer to 1, the slower; a call that needs no copy at the busy node takes as long as ever."""
    for rows, run in ((1, 1 << 20), (256, 4096), (4096, 64)):
        for channels in (ZERO_COPY, ASSISTED):
            times = {seconds(boxed(rows, run, "reg"), busy(share), channels) for share in (0.0, 0.6, 0.9, 0.99)}
            assert len(times) == 1, channels
        for end, channels in (("sys", BUFFERED), ("reg", PACKED)):
            slower = [seconds(boxed(rows, run, end), busy(share), channels) for share in (0.0, 0.3, 0.6, 0.9, 0.99)]
            assert slower == sorted(slower) and slower[2] > 1.3 * slower[0] and slower[-1] > 30 * slower[0]


def test_a_put_is_slowed_by_the_receiver_and_a_get_by_the_owner() -> None:
    for call, path in (
        ("get", BUFFERED),
        ("put", ["node1.sys->node1.reg", "node1.reg->node0.reg", "node0.reg->node0.sys"]),
    ):
        transfer = boxed(1, 1 << 16, "sys", *((0, 1) if call == "get" else (1, 0)))
        idle, slow = (seconds(transfer, busy(share, call), path) for share in (0.0, 0.9))
        assert slow > 2 * idle


def kinds(found: Plan) -> list[str]:
    return [hop.kind for hop in found.hops]


@pytest.mark.parametrize("call", ["get", "put"])
def test_the_planner_changes_its_choice_where_a_node_is_busy(call: str) -> None:
    ends = (0, 1) if call == "get" else (1, 0)
    assisted = "AssistedGet" if call == "get" else "Assisted"
    short, long = boxed(4096, 64, "reg", *ends), boxed(1, 1 << 20, "sys", *ends)
    assert kinds(plan(short, busy(0.0, call), "full")) == ["Memcpy", "RemoteMemcpy", "Memcpy"]
    assert kinds(plan(short, busy(0.6, call), "full")) == [assisted]
    assert kinds(plan(long, busy(0.0, call), "full")) == ["Memcpy", "RemoteMemcpy", "Memcpy"]
    on_demand = plan(long, busy(0.6, call), "full")
    assert kinds(on_demand) == ["RemoteMemcpy"] and "on demand" in on_demand.hops[0].channel
    contiguous = boxed(1, 1 << 20, "reg", *ends)
    assert plan(contiguous, busy(0.0, call), "full").hops == plan(contiguous, busy(0.9, call), "full").hops


def test_memory_that_stays_registered_is_paid_for_once() -> None:
    found = cost(boxed(1, 1 << 20, "sys"), preset("armci-cluster"), ON_DEMAND)
    assert found.first - found.again == pytest.approx(2 * CallCosts.register + 2 * 512 * CallCosts.page)


def test_kinds_of_the_calls() -> None:
    assert {each.kind for each in preset("armci-cluster").channels} == {
        ChannelKind.MEMCPY, ChannelKind.REMOTE_MEMCPY, ChannelKind.ASSISTED_GET
    }  # fmt: skip
    assert ChannelKind.ASSISTED in {each.kind for each in preset("armci-cluster", call="put").channels}
    dearer = armci_cluster(costs=CallCosts(get=1.0))
    assert dearer.channel(ZERO_COPY[0]).setup == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"busy": 1}, "preset 'armci-cluster', busy: expected a share of a processor, from 0 to below 1, got 1"),
        ({"busy": -0.1}, "busy: expected a finite number ≥ 0"),
        ({"busy": float("nan")}, "busy: expected a finite number"),
        ({"busy": "0.6"}, "busy: expected a finite number"),
        ({"nodes": 33}, "nodes: expected a whole number from 1 to 32"),
        ({"call": "send"}, "call: expected one of get, put, got 'send'"),
        ({"network": ["infiniband"]}, "network: expected one of infiniband, myrinet"),
        ({"network": "myrinet", "call": "put"}, "call: expected 'get'"),
    ],
)
def test_options_out_of_range(options: dict[str, object], words: str) -> None:
    with pytest.raises(MachineError, match=words):
        preset("armci-cluster", **options)
