"""What channels cost beside their bytes: one-time costs, limits of requests, functions of the shape of a copy."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from isoviz.errors import MachineError
from isoviz.figures import html
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import (
    Channel,
    ChannelKind,
    Constant,
    CopyShape,
    LatencyBandwidth,
    Machine,
    Memory,
    MemoryKind,
    OneTimeCost,
    Sampled,
    ShapedThroughput,
    draw,
    machine_from_json,
    machine_to_json,
    preset,
)
from isoviz.planner import Options, Plan, Transfer, explain, plan, plan_from_json, plan_to_json
from isoviz.planner.problem import Problem
from isoviz.runtime import simulate

REGISTRATION = OneTimeCost("registration", 2e-4, per="buffer", cached_by="registrations")
DATATYPE = OneTimeCost("datatype", 3e-5, per="layout", cached_by="datatypes")


@dataclass(frozen=True)
class Doorbell:
    """A rate for long runs, and a fixed time for every request of up to 64 runs."""

    bandwidth: float
    doorbell: float

    def __call__(self, run_bytes: float, /) -> float:
        return self.bandwidth if run_bytes >= 1 else self.bandwidth * run_bytes

    def seconds(self, shape: CopyShape, /) -> float:
        return shape.nbytes / self.bandwidth + math.ceil(shape.pieces / 64) * self.doorbell

    def inverse(self, rate: float, /) -> float:
        return math.inf if rate > self.bandwidth else max(0.0, rate / self.bandwidth)

    @property
    def peak(self) -> float:
        return self.bandwidth

    @property
    def samples(self) -> tuple[tuple[float, float], ...]:
        return ((1.0, self.bandwidth),)

    @property
    def is_concave(self) -> bool:
        return True

    def to_json(self) -> dict[str, Any]:
        return {"type": "doorbell", "bandwidth": self.bandwidth, "doorbell": self.doorbell}


def two(*channels: Channel) -> Machine:
    loops = [Channel("", "Memcpy", name, name, Constant(5e9)) for name in ("node0.sys", "node1.sys")]  # type: ignore[arg-type]
    memories = (Memory("node0.sys", MemoryKind.SYS), Memory("node1.sys", MemoryKind.SYS, node=1))
    return Machine("two", memories, (*channels, *loops))


GIGABYTE = Constant(1e9)


def remote(name: str, function: Any = GIGABYTE, **changes: Any) -> Channel:
    return Channel(name, ChannelKind.REMOTE_MEMCPY, "node0.sys", "node1.sys", function, **changes)


def moved(size: int, here: str = "<F, x, y>", there: str = "<x, y, F>") -> Transfer:
    space, fields = IndexSpace(x=size, y=64), FieldSpace(a="f4", b="f4")
    return Transfer.whole(space, fields, "node0.sys", here, "node1.sys", there)


def test_seconds_of_a_copy() -> None:
    shape = CopyShape(1000.0, 30.0)
    assert shape.pieces == 34
    assert CopyShape(900.0, 30.0).pieces == 30
    plain = remote("a", LatencyBandwidth(1e-6, 1e9))
    assert plain.by_run
    assert plain.seconds(shape) == pytest.approx(1000 / plain.rate(30))
    limited = replace(plain, descriptors=16, request_seconds=1e-3)
    assert not limited.by_run
    assert limited.seconds(shape) == pytest.approx(1000 / plain.rate(30) + 3e-3), "three requests"
    assert limited.seconds(CopyShape(1000.0, 1000.0)) == pytest.approx(1000 / plain.rate(1000) + 1e-3)
    assert replace(plain, descriptors=16).by_run, "requests cost nothing"
    launched = replace(plain, request_seconds=1e-3)
    assert launched.by_run and not launched.is_plain, "one request, whatever the runs"
    assert launched.seconds(shape) == pytest.approx(1000 / plain.rate(30) + 1e-3)
    shaped = remote("a", Doorbell(1e9, 1e-5))
    assert isinstance(shaped.throughput, ShapedThroughput)
    assert not isinstance(Constant(1.0), ShapedThroughput)
    assert not shaped.by_run
    assert shaped.seconds(CopyShape(6500.0, 100.0)) == pytest.approx(6.5e-6 + 2e-5)
    assert plain.seconds(CopyShape(10.0, 0.0)) == math.inf or plain.rate(0) == 0


def test_layout_changes_have_a_rate_of_their_own() -> None:
    """Runs of 4 bytes: 1 MB/s in a plain copy, 600 MB/s where a kernel changes the layout, never more than as one run."""
    channel = remote("a", Sampled(((4.0, 1e6), (4096.0, 1e9))), layout_throughput=Constant(6e8), request_seconds=1e-3)
    assert channel.by_run and not channel.is_plain
    shape = CopyShape(4096.0, 4.0)
    assert channel.seconds(shape) == pytest.approx(1e-3 + 4096 / 1e6)
    assert channel.seconds(shape, stretch=math.inf) == pytest.approx(1e-3 + 4096 / 6e8)
    assert channel.seconds(shape, stretch=64.0) == pytest.approx(1e-3 + 4096 / channel.rate(64)), "a part with gaps"
    assert channel.seconds(CopyShape(4.0, 4.0), stretch=math.inf) == pytest.approx(1e-3 + 4 / 1e6), "a chunk of one run"
    without = replace(channel, layout_throughput=None)
    assert without.seconds(shape, stretch=math.inf) == channel.seconds(shape)
    assert without.layout_rates is without.throughput


def test_costs_of_a_hop() -> None:
    channel = remote(
        "a", setup=1.0, conversion_setup=2.0, costs=[OneTimeCost("r", 10.0, "buffer"), OneTimeCost("l", 100.0, "layout")]
    )
    assert [cost.name for cost in channel.one_time] == ["set-up", "conversion", "r", "l"]
    assert (channel.least_setup, channel.least_conversion) == (121.0, 102.0)
    assert not channel.has_fixed_costs
    channel = replace(channel, costs=(OneTimeCost("c", 7.0, only_converting=True), REGISTRATION))
    assert (channel.least_setup, channel.least_conversion) == (1.0, 9.0)
    channel = replace(channel, costs=(OneTimeCost("c", 7.0, "buffer", only_converting=True),), setup=3.0)
    assert (channel.least_setup, channel.least_conversion, channel.has_fixed_costs) == (3.0, 16.0, True)
    channel = replace(channel, costs=(OneTimeCost("w", 7.0, only_following=True),))
    assert (channel.least_setup, channel.least_conversion, channel.has_fixed_costs) == (3.0, 2.0, False)
    assert remote("a", setup=1.0).one_time == (OneTimeCost("set-up", 1.0),)
    assert pickle.loads(pickle.dumps(channel)) == channel


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: OneTimeCost("", 1.0), "cost, name: expected a name"),
    (lambda: OneTimeCost("a", -1.0), "cost 'a', seconds: expected a finite number"),
    (lambda: OneTimeCost("a", 1.0, "byte"), "per: expected one of transfer, buffer, layout, request, run, page, got"),  # type: ignore[arg-type]
    (lambda: OneTimeCost("a", 1.0, only_converting=1), "only_converting: expected true or false"),  # type: ignore[arg-type]
    (lambda: OneTimeCost("a", 1.0, only_following="no"), "only_following: expected true or false"),  # type: ignore[arg-type]
    (lambda: OneTimeCost("a", 1.0, kept="no"), "kept: expected true or false"),  # type: ignore[arg-type]
    (lambda: OneTimeCost("a", 1.0, "run", cached_by="c"), "cached_by: expected none: a run belongs to one hop"),
    (lambda: OneTimeCost("a", 1.0, "request", cached_by="c"), "cached_by: expected none: a request belongs to one hop"),
    (lambda: remote("a", costs=3), "costs: expected a list of OneTimeCost, got 3"),
    (lambda: remote("a", costs=[3]), r"costs\[0\]: expected a OneTimeCost, got 3"),
    (lambda: remote("a", costs=[DATATYPE, DATATYPE]), r"costs\[1\]\.name: the cost 'datatype' stands twice"),
    (lambda: remote("a", costs=[OneTimeCost("set-up", 1.0)]), "'set-up' is what the field 'setup' stands for"),
    (lambda: remote("a", descriptors=0), "descriptors: expected a whole number from 1"),
    (lambda: remote("a", request_seconds=-1), "request_seconds: expected a finite number"),
    (lambda: remote("a", request_seconds=math.inf), "request_seconds: expected a finite number"),
    (lambda: remote("a", layout_throughput=1e9), "layout_throughput: expected a throughput function, got 1000000000.0"),
    (lambda: remote("a", layout_throughput=Constant(0.0)), "bandwidth: expected a finite number"),
    (
        lambda: remote("a", layout_throughput=Sampled(((4.0, 2e9), (8.0, 1e9)))),
        r"samples\[1\]: the rate falls",
    ),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[str(k) for k in range(len(BAD))])
def test_mistakes(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(MachineError, match=message):
        make()


def test_files_hold_a_list_of_costs() -> None:
    channel = remote("a", setup=1e-5, conversion_setup=2e-5, costs=(REGISTRATION, DATATYPE), descriptors=30, request_seconds=1e-6)
    assert "layout_throughput" not in machine_to_json(two(channel))["channels"][0]
    channel = replace(channel, layout_throughput=Sampled(((4.0, 1e8), (64.0, 1e9))))
    written = json.loads(json.dumps(machine_to_json(two(channel))))
    assert machine_from_json(written) == two(channel)
    entry = written["channels"][0]
    assert "setup" not in entry
    assert entry["costs"][:2] == [
        {"name": "set-up", "seconds": 1e-5, "per": "transfer"},
        {"name": "conversion", "seconds": 2e-5, "per": "transfer", "only_converting": True},
    ]
    assert entry["costs"][2]["cached_by"] == "registrations"
    falling = json.loads(json.dumps(written))
    falling["channels"][0]["layout_throughput"]["samples"][1][1] = 1e7
    with pytest.raises(MachineError, match=r"^channels\[0\]\.layout_throughput\.samples\[1\]: the rate falls"):
        machine_from_json(falling)
    old = json.loads(json.dumps(written))
    old["channels"][0] |= {"setup": 1e-5}
    with pytest.raises(MachineError, match=r"^channels\[0\]: unknown key 'setup'; .*known are .*costs"):
        machine_from_json(old)
    twice = json.loads(json.dumps(written))
    twice["channels"][0]["costs"] += entry["costs"][:1]
    with pytest.raises(MachineError, match=r"^channels\[0\]\.costs\[4\]: the cost 'set-up' stands twice$"):
        machine_from_json(twice)
    entry["costs"][0]["per"] = "buffer"
    with pytest.raises(MachineError, match=r"channels\[0\]\.costs\[0\]: the cost 'set-up' is paid by every transfer"):
        machine_from_json(written)
    entry["costs"][0] = {"name": "x"}
    with pytest.raises(MachineError, match=r"channels\[0\]\.costs\[0\]: the key 'seconds' is missing"):
        machine_from_json(written)
    entry["costs"][0] = {"name": "x", "seconds": "1"}
    with pytest.raises(MachineError, match=r"channels\[0\]\.costs\[0\]\.seconds: expected a finite number"):
        machine_from_json(written)


def test_the_digest_tells_costs_apart_and_forgets_none_it_knew() -> None:
    digests = {
        two(remote("a", setup=1e-5, **changes)).digest
        for changes in (
            *({}, {"costs": (DATATYPE,)}, {"costs": (REGISTRATION,)}, {"descriptors": 3, "request_seconds": 1.0}),
            *({"request_seconds": 1.0}, {"layout_throughput": GIGABYTE}, {"layout_throughput": Constant(2e9)}),
        )
    }
    assert len(digests) == 7
    assert preset("two-node").digest.startswith("2245457ddcd57f05")


def test_costs_are_shown() -> None:
    layouts = Sampled(((4.0, 1e8), (64.0, 1e9)))
    machine = two(
        remote("a", costs=(REGISTRATION, DATATYPE), descriptors=30, request_seconds=1e-6),
        remote("b", layout_throughput=layouts, request_seconds=2e-6),
    )
    text, page = " ".join(draw(machine).split()), html(machine)
    assert "registration 200 µs per buffer" in text
    assert "datatype 30 µs per layout, once for all channels with datatypes; 30 runs per request; 1 µs per request" in text
    assert "layout changes up to 1 GB/s, 100 MB/s in runs of 4 bytes; 2 µs per request" in text
    assert "datatype 30 µs per layout, once for all channels with datatypes" in page
    assert "30 runs per request; 1 µs per request" in page
    assert "layout changes up to 1 GB/s, 100 MB/s in runs of 4 bytes; 2 µs per request" in page


# ---- plans


def chosen(transfer: Transfer, machine: Machine) -> Plan:
    found = plan(transfer, machine, "full")
    assert simulate(found, machine).seconds == pytest.approx(found.seconds)
    return found


def test_the_planner_chooses_between_protocols_as_between_paths() -> None:
    """Sending as it lies needs no set-up and pays for every run; gathering pays for 30 runs at a time, and to register."""
    eager = remote("eager", LatencyBandwidth(2e-6, 2e9))
    gather = remote("gather", Constant(2e9), costs=(REGISTRATION,), descriptors=30, request_seconds=1e-6)
    machine = replace(two(eager, gather), channels=(eager, gather))  # no self-loops: the network converts
    small, large = chosen(moved(1), machine), chosen(moved(1 << 14), machine)
    assert [hop.channel for hop in small.hops] == ["eager"]
    assert [hop.channel for hop in large.hops] == ["gather"]
    assert large.setup == pytest.approx(4e-4), "both ends are registered"
    assert large.gap is not None and large.gap > 1, "the bound knows the runs, and not that requests gather them"
    assert small.gap is not None and small.gap > 1


def test_what_is_cached_is_paid_once_along_a_path() -> None:
    first = Channel("in", ChannelKind.MEMCPY, "a", "b", Constant(1e9), costs=(REGISTRATION, DATATYPE))
    second = Channel("out", ChannelKind.MEMCPY, "b", "c", Constant(1e9), costs=(REGISTRATION, DATATYPE))
    machine = Machine("line", tuple(Memory(name, MemoryKind.SYS) for name in "abc"), (first, second))
    space, fields = IndexSpace(x=4096), FieldSpace(a="f4", b="f4")
    same = plan(Transfer.whole(space, fields, "a", "<F, x>", "c", "<F, x>"), machine, "full")
    assert same.setup == pytest.approx(3 * 2e-4 + 3e-5), "three buffers, one layout"
    turned = plan(Transfer.whole(space, fields, "a", "<F, x>", "c", "<x, F>"), machine, "full")
    assert turned.setup == pytest.approx(3 * 2e-4 + 2 * 3e-5)
    apart = tuple(replace(each, costs=tuple(replace(cost, cached_by="") for cost in each.costs)) for each in (first, second))
    alone = plan(Transfer.whole(space, fields, "a", "<F, x>", "c", "<F, x>"), replace(machine, channels=apart), "full")
    assert alone.setup == pytest.approx(4 * 2e-4 + 2 * 3e-5)
    for found in (same, turned, alone):
        known = replace(machine, channels=apart) if found is alone else machine
        assert simulate(found, known).seconds == pytest.approx(found.seconds)
        assert plan_from_json(json.loads(json.dumps(plan_to_json(found)))) == found


def test_a_hop_that_follows_another_one_waits_for_it() -> None:
    wait = (OneTimeCost("hand-over", 1e-3, only_following=True),)
    ends = (("a", "b", 4e9), ("b", "c", 4e9), ("a", "c", 1e9))
    hops = [Channel(f"{here}{there}", ChannelKind.MEMCPY, here, there, Constant(rate), costs=wait) for here, there, rate in ends]
    machine = Machine("triangle", tuple(Memory(name, MemoryKind.SYS) for name in "abc"), tuple(hops))
    for size, path, setup in ((1 << 20, ["ac"], 0.0), (1 << 24, ["ab", "bc"], 1e-3)):
        found = chosen(Transfer.whole(IndexSpace(x=size), FieldSpace(a="u1"), "a", "<F, x>", "c", "<F, x>"), machine)
        assert ([hop.channel for hop in found.hops], found.setup) == (path, setup)
    without = replace(machine, channels=tuple(replace(each, costs=(OneTimeCost("hand-over", 1e-3),)) for each in hops))
    assert without.digest != machine.digest
    assert machine_from_json(json.loads(json.dumps(machine_to_json(machine)))) == machine
    assert "hand-over 1 ms per transfer, but for the first hop" in html(machine)


def test_a_function_of_the_shape_is_asked_for_every_rate() -> None:
    machine = two(remote("a", Doorbell(1e9, 1e-5)))
    found = chosen(moved(4096), machine)
    hop = next(hop for hop in found.hops if hop.channel == "a")
    shape = CopyShape(found.chunk_payload, hop.request_bytes)
    assert hop.throughput == pytest.approx(shape.nbytes / machine.channel("a").seconds(shape))
    assert found.gap is None
    assert str(explain(moved(4096), machine))
    direct = plan(moved(4096), machine, "direct")
    assert direct.objective >= found.objective * (1 - 1e-9)


def test_what_is_promised() -> None:
    def promised(**changes: Any) -> bool:
        return Problem(moved(64), two(remote("a", **changes)), Options()).bound_is_proved

    assert promised()
    assert promised(setup=1.0, costs=(OneTimeCost("r", 1.0, "buffer"),))
    assert promised(descriptors=3), "requests cost nothing"
    assert promised(request_seconds=1e-6, layout_throughput=Constant(1e9)), "one request for every chunk"
    assert not promised(costs=(DATATYPE,))
    assert not promised(costs=(REGISTRATION,))
    assert not promised(costs=(OneTimeCost("r", 1.0, only_following=True),))
    assert not promised(costs=(OneTimeCost("r", 1.0, only_converting=True),))
    for per in ("request", "run", "page"):
        assert not promised(costs=(OneTimeCost("r", 1.0, per),))
    assert not promised(descriptors=3, request_seconds=1e-9)
    assert not promised(function=Doorbell(1e9, 1e-5))
    assert promised(function=Sampled(((1.0, 1e8), (64.0, 1e9))))
