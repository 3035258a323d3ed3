"""The preset `ranks`: its memories, channels and shared resources, and the paths that are planned between ranks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from isoviz import FieldSpace, IndexSpace, Plan, Transfer, plan
from isoviz.errors import MachineError
from isoviz.machines import Machine, Sampled, machine_from_json, machine_to_json, preset
from isoviz.machines.measurement import Measurement
from isoviz.measure import kept_measurements
from isoviz.measure.assumed_host import described
from isoviz.measure.ranks.ranks_machine import rank_hosts
from isoviz.planner.paths import routes
from isoviz.planner.paths.routes import Route, RouteQuery, Routes
from isoviz.planner.time.together import seconds_together
from isoviz.this_computer import this_computer, versions

SAME_HOST = {"Window": 2, "ProcessWrite": 2, "TwoSided": 4, "Packed": 4}
"""Channels from one rank to another on its host: windows are registered memory, and pageable memory is written to."""
OTHER_HOST = {"TwoSided": 4, "Packed": 4}
COMPARED = {"Derived": 4, "Put": 2}, {"Derived": 4}
"""What else there is on request, on one host and between two."""
KNOWN = {*SAME_HOST, *OTHER_HOST, *COMPARED[0]}


def ranks(count: int, hosts: Any = 1, **options: Any) -> Machine:
    return preset("ranks", ranks=count, hosts=hosts, **{"measure": "assumed", **options})


def planned(machine: Machine, source: str, destination: str, layout: str = "<y, F, x>", side: int = 2048) -> Plan:
    transfer = Transfer.whole(IndexSpace(x=side, y=side), FieldSpace(v="float64"), source, "<F, x, y>", destination, layout)
    return plan(transfer, machine)


def test_every_rank_is_a_node_with_three_memories() -> None:
    machine = ranks(3)
    assert [memory.name for memory in machine.memories] == [f"node{r}.{kind}" for r in range(3) for kind in ("sys", "reg", "dsk")]
    assert machine.nodes == (0, 1, 2)
    assert {str(c.kind) for c in machine.channels if not c.kind.crosses_nodes} == {"Memcpy", "DiskRead", "DiskWrite"}
    for rank in range(3):
        copies = {
            (c.source, c.destination) for c in machine.channels if c.kind == "Memcpy" and c.source.startswith(f"node{rank}.")
        }
        assert copies == {(f"node{rank}.{a}", f"node{rank}.{b}") for a in ("sys", "reg") for b in ("sys", "reg")}


@pytest.mark.parametrize("is_compared", [False, True])
@pytest.mark.parametrize(("count", "hosts"), [(1, 1), (2, 1), (4, 1), (4, 2), (5, 2), (4, ["a", "b", "a", "b"])])
def test_channels_join_every_pair(count: int, hosts: Any, is_compared: bool) -> None:
    machine, placed = ranks(count, hosts, channels="all" if is_compared else "usual"), rank_hosts("test", count, hosts)
    near, far = (SAME_HOST | COMPARED[0], OTHER_HOST | COMPARED[1]) if is_compared else (SAME_HOST, OTHER_HOST)
    pairs = Counter((machine.memory(c.source).node, machine.memory(c.destination).node, str(c.kind)) for c in machine.channels)
    for a in range(count):
        for b in range(count):
            expected = near if placed.of[a] == placed.of[b] else far
            if a != b:
                assert {kind: n for (x, y, kind), n in pairs.items() if (x, y) == (a, b) and kind in KNOWN} == expected
    assert all(c.name == f"{c.source}->{c.destination} {c.kind}" for c in machine.channels if c.kind.crosses_nodes)


def test_pairs_that_are_alike_share_their_function() -> None:
    machine = ranks(6, 2)
    functions = {id(channel.throughput) for channel in machine.channels}
    assert len(functions) == 3 + 3 + 2, "memory copies (and windows), reading, writing; three on one host, two between hosts"


@pytest.mark.parametrize(
    ("hosts", "of", "names"),
    [
        (1, (0, 0, 0, 0), ("host0",)),
        (2, (0, 0, 1, 1), ("host0", "host1")),
        (3, (0, 0, 1, 2), ("host0", "host1", "host2")),
        ("2", (0, 0, 1, 1), ("host0", "host1")),
        ("a, b,a,c", (0, 1, 0, 2), ("a", "b", "c")),
        ([7, 7, 3, 7], (0, 0, 1, 0), ("host7", "host3")),
    ],
)
def test_hosts(hosts: Any, of: tuple[int, ...], names: tuple[str, ...]) -> None:
    placed = rank_hosts("test", 4, hosts)
    assert (placed.of, placed.names) == (of, names)
    machine = ranks(4, hosts)
    assert {r.name.split(".")[0] for r in machine.resources} == {f"host{k}" for k in range(len(names))}
    assert [memory.label for memory in machine.memories if memory.kind == "SYS"] == [
        f"on {names[h]}" if len(names) > 1 else "" for h in of
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ranks": 0}, "preset 'ranks', ranks: expected a whole number from 1 to 128, got 0"),
        ({"ranks": 129}, "from 1 to 128, got 129"),
        ({"ranks": "4"}, "ranks: expected a whole number"),
        ({"ranks": 2, "hosts": 3}, "preset 'ranks', hosts: expected a whole number from 1 to 2, got 3"),
        ({"ranks": 2, "hosts": 0}, "hosts: expected a whole number from 1 to 2, got 0"),
        ({"ranks": 3, "hosts": ["a", "b"]}, "hosts: expected a number of hosts, or the host of each of 3 ranks, got 2 hosts"),
        ({"ranks": 2, "hosts": ["a", None]}, "hosts[1]: expected text, got None"),
        ({"ranks": 2, "hosts": ["a", ""]}, "hosts[1]: "),
        ({"ranks": 2, "hosts": 1.5}, "hosts: expected a whole number"),
        ({"channels": "some"}, "preset 'ranks', channels: expected one of usual, all, got 'some'"),
        ({"measure": "fresh"}, "preset 'ranks', measure: expected one of cached, assumed, got 'fresh'"),
        ({"directory": "/no/such/place"}, "preset 'ranks', directory: '/no/such/place' is no directory"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(MachineError) as caught:
        preset("ranks", **options)
    assert message in str(caught.value)


def test_hosts_are_shared_by_their_ranks() -> None:
    """What the ranks of a host do uses its memory; what they send uses the links of both hosts."""
    machine = ranks(4, 2)
    assert {resource.name for resource in machine.resources} == {
        f"host{h}.{what}"
        for h in (0, 1)
        for what in ("memory", "processors", "link.in", "link.out", "dsk.reading", "dsk.writing")
    }
    for channel in machine.channels:
        nodes = machine.memory(channel.source).node, machine.memory(channel.destination).node
        hosts = [node // 2 for node in nodes]
        used = {name for name, weight in channel.resources if weight > 0}
        assert {f"host{h}.memory" for h in hosts} <= used
        link = {f"host{hosts[0]}.link.out", f"host{hosts[1]}.link.in"} if hosts[0] != hosts[1] else set()
        assert {name for name in used if "link" in name} == link
        assert ({name for name in used if "dsk" in name} != set()) == channel.kind.startswith("Disk")
    assert not [resource for resource in ranks(4).resources if "link" in resource.name], "one host has no network"


def test_transfers_at_once_share_a_host() -> None:
    """Four ranks that all copy within their memory take longer than one alone, on one host; on four hosts they do not."""
    for hosts, slower in ((1, True), (4, False)):
        machine = ranks(4, hosts)
        plans = [planned(machine, f"node{r}.sys", f"node{r}.reg") for r in range(4)]
        paths = [path for each in plans for path in each.paths]
        together = seconds_together(paths, [each.seconds for each in plans])
        alone = max(each.seconds for each in plans)
        assert (together > 1.5 * alone) == slower, (hosts, together, alone)


@pytest.mark.parametrize("ends", ["sys sys", "sys reg", "reg reg", "reg sys"])
@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.few(2)
def test_on_one_host_a_second_path_gains_nothing(count: int, ends: str) -> None:
    """The paths share the processors of the host: all copy by them."""
    machine, (near, far) = ranks(count), ends.split()
    for size in (1 << 20, 1 << 26, 1 << 31):
        moved = Transfer.whole(IndexSpace(x=size), FieldSpace(v="u1"), f"node0.{near}", "<F, x>", f"node1.{far}", "<F, x>")
        assert [len(plan(moved, machine, planner).paths) for planner in ("multipath", "auto")] == [1, 1]


def test_a_link_bounds_what_the_ranks_of_a_host_send_at_once() -> None:
    machine = ranks(4, 2)
    plans = [planned(machine, f"node{r}.sys", f"node{r + 2}.sys", "<F, x, y>") for r in (0, 1)]
    together = seconds_together([path for each in plans for path in each.paths], [each.seconds for each in plans])
    least = sum(each.transfer.source.linearization.nbytes for each in plans) / machine.resource("host0.link.out").capacity
    assert together >= 0.99 * least
    assert least > 1.5 * max(each.seconds for each in plans), "each alone would have been faster"


@pytest.mark.parametrize("layout", ["<F, y, x>", "<x_in=16, F, y, x_out>"])
def test_on_one_host_a_copy_into_the_window_converts(layout: str) -> None:
    (hop,) = planned(ranks(4), "node1.sys", "node2.reg", layout).hops
    assert hop.kind == "Window"


@pytest.mark.parametrize("layout", ["<F, y, x>", "<x_in=16, F, y, x_out>", "<F, x, y>"])
def test_pageable_memory_of_the_same_host_is_written_to(layout: str) -> None:
    (hop,) = planned(ranks(2), "node0.sys", "node1.sys", layout, 512).hops
    assert hop.kind == "ProcessWrite"


def test_between_hosts_data_are_sent() -> None:
    machine = ranks(2, 2)
    (hop,) = planned(machine, "node0.sys", "node1.sys", "<F, x, y>").hops
    assert hop.kind == "TwoSided"
    kinds = [str(hop.kind) for hop in planned(machine, "node0.sys", "node1.reg", "<F, y, x>").hops]
    assert kinds in (["Packed"], ["Memcpy", "TwoSided"], ["TwoSided", "Memcpy"])


def test_a_file_reaches_a_file_of_another_rank() -> None:
    plan_ = planned(ranks(4), "node0.dsk", "node3.dsk", "<F, y, x>")
    kinds = [str(hop.kind) for hop in plan_.hops]
    assert kinds[0] == "DiskRead"
    assert kinds[-1] == "DiskWrite"
    assert {"Window", "ProcessWrite"} & set(kinds)


@pytest.mark.parametrize(("count", "hosts"), [(1, 1), (4, 1), (6, 3)])
def test_round_trip_and_digest(count: int, hosts: int, tmp_path: Path) -> None:
    machine = ranks(count, hosts)
    again = machine_from_json(json.loads(json.dumps(machine_to_json(machine))))
    assert again == machine
    assert again.digest == machine.digest == ranks(count, hosts).digest
    assert ranks(count, hosts, directory=tmp_path).digest == machine.digest, "the digest leaves out devices"
    assert {m.device for m in ranks(2, directory=tmp_path).memories if m.kind == "DSK"} == {str(tmp_path)}
    assert len({ranks(4, hosts).digest for hosts in (1, 2, 4, [0, 1, 0, 1])}) == 4


def test_what_is_kept_of_this_computer_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert preset("ranks", directory=tmp_path).digest == ranks(4).digest, "nothing is measured by asking for a machine"
    found = described(tmp_path, "measured 2026-01-01 on here")
    disk = Sampled(((4096.0, 1e8), (1048576.0, 8e8)))
    channels = [replace(each, throughput=disk) for each in found.channels if not each.is_self_loop]
    channels.append(replace(found.channel("node0.sys->node0.sys"), throughput=Sampled(((4.0, 1e9), (4096.0, 3e10)))))
    measurement = Measurement(this_computer(), "2026-01-01T00:00:00+00:00", 1.0, versions())
    kept_measurements.keep_probe(replace(found, channels=tuple(channels), measurement=measurement), "node0.dsk", tmp_path)
    machine = preset("ranks", directory=tmp_path)
    (copy,) = machine.between("node1.sys", "node1.reg")
    assert isinstance(copy.throughput, Sampled)
    assert copy.peak == 3e10
    assert copy.provenance.startswith("measured")
    assert machine.provenance.startswith("rates within a rank measured")
    assert machine.provenance.endswith("rates between ranks assumed")
    for channel in machine.channels:
        assert channel.kind.crosses_nodes == channel.provenance.startswith("assumed"), channel
        for name, weight in channel.resources:
            used = machine.resource(name).cost(weight, channel.peak) * channel.peak
            assert used <= 1.0 + 1e-9 or channel.kind == "Packed"
    (hop,) = planned(machine, "node0.sys", "node1.reg", "<F, y, x>").hops
    assert hop.kind == "Window"


def costs(known: Routes, listed: Sequence[Route]) -> list[list[int]]:
    """The costs of routes. Their order along a route tells no difference between routes of equal cost."""
    return sorted(sorted(known.cost_classes.of(channel) for channel in route.channels) for route in listed)


@pytest.mark.parametrize(("count", "hosts"), [(4, 1), (4, 2)])
def test_one_search_serves_all_pairs_that_are_alike(count: int, hosts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The routes of a pair are those that a search of its own finds, and few searches are made."""
    searched: list[RouteQuery] = []
    search = routes.RouteSearch

    def counted(*args: Any) -> Any:
        searched.append(args[3])
        return search(*args)

    monkeypatch.setattr(routes, "RouteSearch", counted)
    machine = ranks(count, hosts)
    shared = Routes(machine)
    pairs = [(a, b) for a in range(count) for b in range(count)]
    found = {}
    for a, b in pairs:
        query = RouteQuery(f"node{a}.sys", f"node{b}.reg", converts=False, uniform_slots=True, whole=True, paired=False)
        found[query] = shared.between(query)
    assert len(searched) <= (2 if hosts == 1 else 6), "within a rank, to a neighbour, to another host"
    for query, listed in found.items():
        alone = Routes(machine)
        monkeypatch.setattr(alone, "_representatives", lambda _query: {})
        own = alone.between(query)
        assert own is not None and listed is not None
        assert costs(shared, listed) == costs(shared, own)
        for route in listed:
            assert (route.channels[0].source, route.channels[-1].destination) == (query.source, query.destination)
            assert all(a.destination == b.source for a, b in zip(route.channels, route.channels[1:], strict=False))


def test_plans_between_many_ranks_are_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """All 240 pairs of 16 ranks need a handful of searches; the first plan may take the time of one, all others do not."""
    made = 0
    search = routes.RouteSearch

    def counted(*args: Any) -> Any:
        nonlocal made
        made += 1
        return search(*args)

    monkeypatch.setattr(routes, "RouteSearch", counted)
    routes.forget_routes()
    machine = ranks(16)
    seconds = {planned(machine, f"node{a}.reg", f"node{b}.reg").seconds for a in range(16) for b in range(16) if a != b}
    assert len(seconds) == 1
    assert made <= 8
