"""The plan as the browser gets it: paths with stops and hops, curves, limits in words, chunks as digits, the interval."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import (
    Channel,
    ChannelKind,
    Constant,
    LatencyBandwidth,
    Machine,
    Memory,
    MemoryKind,
    Resource,
    Sampled,
    channel_kinds,
    memory_kinds,
    preset,
    register_channel_kind,
    register_memory_kind,
)
from isoviz.planner import Options, Plan, Transfer, cost, plan, plan_of_paths
from isoviz.runtime.ledger.ledger import Ledger
from isoviz.runtime.ledger.ledger_entry import LedgerEntry, LedgerHop
from isoviz.runtime.ledger.trial_interval import LEAST_RUNS, model_interval
from isoviz.widgets.chosen.settings import Settings, settings_for
from isoviz.widgets.consequences.run_places import Where
from isoviz.widgets.panes.plan_pane import MOST_POINTS, curve_points, measured_points, plan_part
from isoviz.widgets.session import Session
from isoviz.widgets.state import Derived, State

SPACE, FIELDS = IndexSpace(x=512, y=256), FieldSpace(a="float32", b="float64")


def part(found: Plan, machine: Machine, **more: Any) -> Any:
    settings = Settings()
    return plan_part(State(settings, Derived(settings, plan=found, planned_on=machine, **more)))


def across() -> tuple[Plan, Machine]:
    """Disk to the GPU of another node (Isometry, section 4.3)."""
    machine = preset("two-node")
    return plan(Transfer.whole(SPACE, FIELDS, "node0.dsk", "<F, x, y>", "node1.fbm0", "<x, y, F>"), machine), machine


def test_stops_and_hops_are_those_of_the_plan() -> None:
    found, machine = across()
    shown = part(found, machine, where=Where(False, ""))
    assert shown["where"] == "simulated only"
    (path,) = shown["paths"]
    assert path["share"] == 1.0
    assert [stop["memory"] for stop in path["stops"]] == list(found.memories)
    assert [hop["channel"] for hop in path["hops"]] == [hop.channel for hop in found.hops]
    assert path["stops"][0]["buffer"] is None and path["stops"][-1]["buffer"] is None
    assert [stop["buffer"] for stop in path["stops"][1:-1]] == [
        {"slots": buffer.slots, "slotBytes": buffer.nbytes} for buffer in found.buffers
    ]
    assert path["stops"][0]["where"] == "node 0 · dsk" and path["stops"][-1]["where"] == "node 1 · fbm0"
    assert path["stops"][-1]["words"] == "GPU memory"
    assert {hop["words"] for hop in path["hops"]} <= {kind.words for kind in channel_kinds()}
    assert sum(hop["bottleneck"] for hop in path["hops"]) >= 1
    slowest = max(path["hops"], key=lambda hop: hop["busy"])
    assert slowest["bottleneck"] and 0.5 < slowest["busy"] <= 1
    for hop in path["hops"]:
        assert hop["busy"] == pytest.approx(min(1, found.bytes / found.rates[hop["index"]] / found.seconds))
        assert (hop["shuffle"] is None) == (not hop["converts"])


def test_the_digits_number_the_chunks_as_the_plan_does() -> None:
    found, machine = across()
    (path,) = part(found, machine)["paths"]
    sequence = found.chunks
    assert path["chunks"] == len(sequence)
    for chunk in sequence:
        for box, names in chunk.parts:
            corner = dict(zip(SPACE, box.lo, strict=True))
            field = FIELDS.names.index(names[0])
            number, scale = 0, 1
            for digit in path["chunkDigits"]:
                value = field if digit["dim"] == "F" else corner[digit["dim"]] // digit["step"] % digit["extent"]
                number += value * scale
                scale *= digit["extent"]
            assert number // path["perChunk"] == chunk.index


def two_ways() -> Machine:
    """From main to registered memory at once, or through pinned memory."""
    memories = (
        Memory("node0.sys", MemoryKind.SYS, 0),
        Memory("node0.reg", MemoryKind.REG, 0),
        Memory("node0.zcm", MemoryKind.ZCM, 0),
    )
    channels = (
        Channel("straight", ChannelKind.MEMCPY, "node0.sys", "node0.reg", Constant(2e9)),
        Channel("first", ChannelKind.MEMCPY, "node0.sys", "node0.zcm", Constant(3e9)),
        Channel("second", ChannelKind.MEMCPY, "node0.zcm", "node0.reg", Constant(3e9)),
    )
    return Machine("two ways", memories, channels)


def test_several_paths_have_their_shares() -> None:
    machine = two_ways()
    transfer = Transfer.whole(SPACE, FIELDS, "node0.sys", "<F, x, y>", "node0.reg", "<F, x, y>")
    found = plan_of_paths(
        transfer, machine, [({"y": (0, 64)}, ["straight"]), ({"y": (64, 256)}, ["first", "second"])]
    )  # fmt: skip
    shown = part(found, machine)
    assert [path["share"] for path in shown["paths"]] == [0.25, 0.75]
    assert [len(path["hops"]) for path in shown["paths"]] == [1, 2]
    assert [len(path["stops"]) for path in shown["paths"]] == [2, 3]
    assert shown["buffers"] == 1
    assert [path["box"] for path in shown["paths"]] == [
        {
            "origin": [("x", 0), ("y", low)],
            "shape": [("x", 512), ("y", high - low)],
            "source": "<F, x, y>",
            "destination": "<F, x, y>",
        }
        for low, high in ((0, 64), (64, 256))
    ]
    assert [path["firstChunk"] for path in shown["paths"]] == [0, 0]


def test_paths_with_runs_of_one_sequence_of_chunks_say_where_theirs_begins() -> None:
    machine, way, options = two_ways(), ["first", "second"], Options(slot_limit=1 << 16)
    transfer = Transfer.whole(SPACE, FIELDS, "node0.sys", "<F, x, y>", "node0.reg", "<F, x, y>")
    count = cost(transfer, machine, way, ["<F, x, y>"], options=options).chunk_count
    assert count > 2
    shares = [(range(2, count), way, ["<F, x, y>"]), (range(2), ["straight"], [])]
    shown = part(plan_of_paths(transfer, machine, shares, options=options), machine)
    assert [path["box"] for path in shown["paths"]] == [None, None]
    assert [(path["firstChunk"], path["chunks"]) for path in shown["paths"]] == [(2, count - 2), (0, 2)]


# ---- what bounds a hop, in words


AS_IS = ("<F, x, y>", "<F, x, y>")


def limits(machine: Machine, layouts: tuple[str, str] = AS_IS, space: IndexSpace = SPACE) -> list[str]:
    """What bounds the hops from main memory to registered memory."""
    found = plan(Transfer.whole(space, FIELDS, "node0.sys", layouts[0], "node0.reg", layouts[1]), machine)
    return [hop["limits"] for hop in part(found, machine)["paths"][0]["hops"]]


def one_channel(function: Any) -> Machine:
    memories = (Memory("node0.sys", MemoryKind.SYS, 0), Memory("node0.reg", MemoryKind.REG, 0))
    return Machine("one", memories, (Channel("copy", ChannelKind.MEMCPY, "node0.sys", "node0.reg", function),))


def test_a_hop_says_what_bounds_it() -> None:
    assert limits(one_channel(Constant(1e9))) == ["It works at its peak"]
    slow = LatencyBandwidth(1e-3, 1e9)
    assert limits(one_channel(slow), ("<F, x, y>", "<y, F, x>")) == ["Its runs are short: the layouts keep 6 B together"]
    assert limits(one_channel(slow), space=IndexSpace(x=4, y=2)) == ["The transfer is small: all of it moves as one run of 96 B"]


def test_requests_that_take_longer_than_their_bytes_bound_a_hop() -> None:
    """4,096 x 4,096 entries of 12 B in chunks: a launch of 1 s is most of it, whatever the runs are; one of 1 ns is nothing."""
    channel = one_channel(LatencyBandwidth(1e-9, 1e9)).channels[0]
    for seconds, said in ((1.0, "Its requests take longer than its bytes: 1 s of "), (1e-9, "Its runs are short")):
        machine = replace(one_channel(Constant(1.0)), channels=(replace(channel, request_seconds=seconds),))
        (words,) = limits(machine, ("<F, x, y>", "<y, F, x>"))
        assert words.startswith(said)


def test_a_shared_resource_is_named_with_those_that_share_it() -> None:
    memories = (
        Memory("node0.sys", MemoryKind.SYS, 0),
        Memory("node0.reg", MemoryKind.REG, 0),
        Memory("node0.zcm", MemoryKind.ZCM, 0),
    )
    uses = (("bus", 1.0),)
    channels = (
        Channel("in", ChannelKind.MEMCPY, "node0.sys", "node0.zcm", Constant(4e9), resources=uses),
        Channel("out", ChannelKind.MEMCPY, "node0.zcm", "node0.reg", Constant(4e9), resources=uses),
    )
    machine = Machine("bus", memories, channels, (Resource("bus", 4e9),))
    assert limits(machine, space=IndexSpace(x=4096, y=4096)) == ["Hop 0 and hop 1 take turns (bus): together 2 GB/s"] * 2


# ---- throughput functions


@pytest.mark.parametrize(
    "function",
    [
        Constant(1e9),
        LatencyBandwidth(1e-6, 1e9),
        LatencyBandwidth(1e-2, 1e12),
        Sampled(tuple((2.0**k, 1e6 * 1.5**k) for k in range(40))),
        Sampled.with_gap(1e-7, 1e9),
    ],
)
@pytest.mark.parametrize("run", [1.0, 5.33, 4096.0, 2.0**24, 2.0**45])
def test_a_curve_is_the_function_around_the_run(function: Any, run: float) -> None:
    channel = Channel("copy", ChannelKind.MEMCPY, "a", "b", function)
    points = curve_points(channel, run)
    assert 2 <= len(points) <= MOST_POINTS
    assert [point["run"] for point in points] == sorted({point["run"] for point in points})
    assert all(point["rate"] == channel.rate(point["run"]) and math.isfinite(point["rate"]) for point in points)
    if run <= 2.0**40:
        assert points[0]["run"] <= run <= points[-1]["run"]
        assert run in {points[0]["run"], *(point["run"] for point in points)}


def test_only_what_was_measured_has_samples() -> None:
    samples = ((64.0, 1e8), (4096.0, 2e9), (65536.0, 1.9e9), (2.0**20, 3e9))
    measured = Sampled.from_measurement(samples, date="2026-01-01T00:00:00+00:00")
    points = measured_points(Channel("copy", ChannelKind.MEMCPY, "a", "b", measured), 4096.0)
    assert [(point["run"], point["rate"]) for point in points] == list(samples), "as measured, not as made monotone"
    assert measured_points(Channel("copy", ChannelKind.MEMCPY, "a", "b", Constant(1e9)), 4096.0) == []


# ---- words


def test_every_kind_has_words_and_so_have_those_of_other_packages() -> None:
    assert {str(kind): kind.words for kind in memory_kinds() if kind in ("SYS", "REG", "ZCM", "FBM", "DSK")} == {
        "SYS": "main memory", "REG": "registered memory", "ZCM": "pinned memory", "FBM": "GPU memory", "DSK": "files",
    }  # fmt: skip
    assert {str(kind): kind.words for kind in channel_kinds()}["RemoteMemcpy"] == "network"
    near = register_memory_kind("NEAR", device="text", description="memory beside the processor")
    nameless = register_channel_kind("NearCopy", sources=["SYS"], destinations=[near])
    machine = Machine(
        "other", (Memory("node0.sys", MemoryKind.SYS), Memory("node0.near", near)),
        (Channel("copy", nameless, "node0.sys", "node0.near", Constant(1e9)),),
    )  # fmt: skip
    found = plan(Transfer.whole(SPACE, FIELDS, "node0.sys", "<F, x, y>", "node0.near", "<F, x, y>"), machine)
    (path,) = part(found, machine)["paths"]
    assert path["stops"][1]["words"] == "memory beside the processor"
    assert path["hops"][0]["words"] == "NearCopy"


# ---- the interval


def entry(found: Plan, factor: float, **more: Any) -> LedgerEntry:
    transfer = found.transfer
    hops = tuple(
        LedgerHop(hop.channel, str(hop.kind), hop.source, hop.destination, hop.request_bytes, hop.throughput, hop.throughput)
        for hop in found.every_hop
    )
    made = LedgerEntry(
        date="2026-01-01T00:00:00+00:00", host="elsewhere", version="0", machine=found.machine_name, digest=found.machine_digest,
        planner="full", nbytes=found.bytes, space="x=64", fields="a", source=transfer.source.memory,
        source_layout=str(transfer.source.layout), destination=transfer.destination.memory,
        destination_layout=str(transfer.destination.layout), chunk_bytes=1, chunks=1, predicted=1.0, interval=None, basis="none",
        measured=factor, flush=0.0, verified=True, emulated=False, hops=hops,
    )  # fmt: skip
    return replace(made, **more)


def test_the_interval_holds_the_errors_of_earlier_runs() -> None:
    found, _ = across()
    factors = [0.9 + 0.01 * number for number in range(40)]
    interval = model_interval(found, [entry(found, factor) for factor in factors])
    assert interval is not None
    assert interval.runs == 40
    assert found.seconds * 0.9 <= interval.low < found.seconds < interval.high <= found.seconds * 1.29
    few = model_interval(found, [entry(found, 1.0)] * (LEAST_RUNS - 1))
    assert few is None


def test_runs_of_other_kinds_computers_and_memories_say_nothing() -> None:
    found, _ = across()
    others = [
        *[entry(found, 2.0, digest="another")] * 9,
        *[entry(found, 2.0, emulated=True)] * 9,
        *[entry(found, 2.0, hops=entry(found, 2.0).hops[1:])] * 9,
        *[entry(found, 2.0, destination_layout="<F, x, y>")] * 9,
    ]
    assert model_interval(found, others) is None
    mixed = model_interval(found, [*others, *[entry(found, 1.1)] * LEAST_RUNS])
    assert mixed is not None
    assert (mixed.low, mixed.high) == pytest.approx((1.1 * found.seconds, 1.1 * found.seconds))


def test_the_plan_shows_the_interval_of_this_computer_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ISOVIZ_LEDGER", str(tmp_path / "runs.jsonl"))
    session = Session(settings_for(machine_options={"measure": "assumed"}, space={"x": 64, "y": 32}, fields={"a": "float32"}))
    state = session.wait()
    found = session.plan
    shown = plan_part(state)
    assert shown is not None and shown["interval"] is None
    book = Ledger(tmp_path / "runs.jsonl")
    for factor in (0.8, 0.9, 1.0, 1.1, 1.2):
        assert book.append(entry(found, factor))
    session.send({"kind": "set", "field": "slot-limit", "value": "1MiB"})
    shown = plan_part(session.wait())
    assert shown is not None and shown["where"] == "this computer"
    interval = shown["interval"]
    assert interval is not None
    assert (interval["low"], interval["high"]) == pytest.approx((0.8 * shown["seconds"], 1.2 * shown["seconds"]))
    assert interval["origin"] == "from the latest 5 runs of this kind on this computer"
    session.close()


def test_another_computer_has_no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    from isoviz.widgets.consequences.where_it_runs import interval_of

    monkeypatch.setattr("isoviz.runtime.ledger.ledger.ledger", lambda: pytest.fail("the ledger of this computer was asked"))
    found, machine = across()
    assert interval_of({}, found, machine, Where(False, "another computer"), ()) is None
