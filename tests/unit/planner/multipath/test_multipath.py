"""The planner `multipath`: disjoint paths, their shares, and why there is one path where there is one."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from isoviz import Engine, FieldSpace, IndexSpace, cost, explain, plan, simulate
from isoviz.backends.emulated import EmulatedMachine
from isoviz.errors import InputError
from isoviz.machines import Channel, ChannelKind, Constant, Machine, Memory, MemoryKind, Resource, preset
from isoviz.planner import (
    Options,
    Plan,
    Transfer,
    explanation_text,
    explanation_to_json,
    plan_from_json,
    plan_to_json,
    plan_together,
)
from isoviz.planner.multipath.split import Stream, split_bytes

GB = 1e9


def channel(source: str, destination: str, rate: float, *resources: str, kind: ChannelKind = ChannelKind.GPU_COPY) -> Channel:
    name = f"{source}->{destination}" + "".join(f" {resource}" for resource in resources)
    uses = tuple((resource, 1.0) for resource in resources)
    return Channel(name, kind, source, destination, Constant(rate), setup=5e-6, resources=uses, request_seconds=2e-6)


def mesh(*, shared: bool = False) -> Machine:
    """Four V100 GPUs with NVLink between them, but for 0 and 3; `shared`: all links out of GPU 0 are behind one of its ports."""
    pairs = [pair for pair in itertools.permutations(range(4), 2) if set(pair) != {0, 3}]
    links = [Resource(f"nvlink{a}{b}", 25 * GB) for a, b in pairs]
    channels = []
    for a, b in pairs:
        port = ["port"] if shared and a == 0 else []
        channels.append(channel(f"fbm{a}", f"fbm{b}", 25 * GB, f"nvlink{a}{b}", *port))
    memories = [Memory(f"fbm{gpu}", MemoryKind.FBM) for gpu in range(4)]
    return Machine("v100", memories, channels, [*links, Resource("port", 25 * GB)])


def moved(
    nbytes: int, source: str = "fbm0", destination: str = "fbm3", layouts: tuple[str, str] = ("<F, x>", "<F, x>")
) -> Transfer:
    fields = FieldSpace(a="f4", b="f4")
    return Transfer.whole(IndexSpace(x=nbytes // 8), fields, source, layouts[0], destination, layouts[1])


def check(made: Plan, machine: Machine) -> None:
    """The simulation takes what the plan says; no channel is in two paths, and the plan survives a file."""
    assert simulate(made, machine).end == pytest.approx(made.seconds, rel=1e-9)
    assert plan_from_json(plan_to_json(made)) == made
    users = Counter(hop.channel for path in made.paths for hop in path.hops)
    assert max(users.values()) == 1
    assert sum(path.bytes for path in made.paths) == made.bytes


def test_two_gpus_without_a_link_relay_through_two_others() -> None:
    machine = mesh()
    made = plan(moved(128 << 20), machine, "multipath")
    assert {path.memories for path in made.paths} == {("fbm0", "fbm1", "fbm3"), ("fbm0", "fbm2", "fbm3")}
    check(made, machine)
    one = plan(moved(128 << 20), machine, "full")
    assert 1.9 < simulate(one, machine).end / simulate(made, machine).end <= 2.0
    assert "one path takes" in made.notes[0] and "(25 GB/s)" in made.notes[0]
    assert plan(moved(128 << 20), mesh(), "multipath") == made, "the same each time"


def test_a_small_message_takes_one_path_and_says_from_which_size_on_two_are_faster() -> None:
    machine = mesh()
    made = plan(moved(1024), machine, "multipath")
    assert len(made.paths) == 1 and made.planner == "multipath"
    assert "one path" in made.notes[-1]
    counts = [len(plan(moved(1 << power), machine, "multipath").paths) for power in (8, 20)]
    assert counts == [1, 2]


def test_a_shared_link_makes_several_paths_useless() -> None:
    machine = mesh(shared=True)
    made, one = plan(moved(128 << 20), machine, "multipath"), plan(moved(128 << 20), machine, "full")
    assert "port (25 GB/s)" in made.notes[-1]
    assert 0.97 * one.seconds < made.seconds <= one.seconds, "two paths fill what the requests of one path leave idle"
    check(made, machine)


def test_two_nics_behind_one_copy() -> None:
    """Both NICs read one registered memory: the copy before them is fast enough for both, so it is on both paths."""
    kinds = {"sys": MemoryKind.SYS, "reg": MemoryKind.REG}
    memories = [Memory(f"node{node}.{name}", kind, node) for node in range(2) for name, kind in kinds.items()]
    nics = [Resource(f"nic{k}", 12 * GB) for k in range(2)]
    channels = [
        channel("node0.sys", "node0.reg", 40 * GB, kind=ChannelKind.MEMCPY),
        channel("node1.reg", "node1.sys", 40 * GB, kind=ChannelKind.MEMCPY),
        *(channel("node0.reg", "node1.reg", 12 * GB, nic.name, kind=ChannelKind.REMOTE_MEMCPY) for nic in nics),
    ]
    machine = Machine("rails", memories, channels, nics)
    transfer = moved(64 << 20, "node0.sys", "node1.sys")
    made = plan(transfer, machine, "multipath")
    assert len(made.paths) == 2 and simulate(made, machine).end == pytest.approx(made.seconds, rel=1e-9)
    one = plan(transfer, machine, "full")
    assert 1.8 < simulate(one, machine).end / simulate(made, machine).end < 2.0
    # Without resources of their own, two channels are two protocols of one link.
    plain = Machine(
        "rails", memories, [Channel(each.name, each.kind, each.source, each.destination, each.throughput) for each in channels]
    )
    assert len(plan(transfer, plain, "multipath").paths) == 1


def test_host_to_gpu_through_a_peer_with_a_layout_change() -> None:
    """Each GPU has a PCIe link; the second half goes over the peer's link and NVLink, and is converted on the way."""
    memories = [Memory("host", MemoryKind.ZCM), *(Memory(f"fbm{k}", MemoryKind.FBM) for k in range(2))]
    pcie = [Resource(f"pcie{k}", 24 * GB) for k in range(2)]
    channels = [channel("host", f"fbm{k}", 24 * GB, f"pcie{k}", kind=ChannelKind.GPU_WRITE) for k in range(2)]
    channels += [channel(f"fbm{k}", f"fbm{k}", 400 * GB) for k in range(2)] + [channel("fbm1", "fbm0", 150 * GB, "nvlink")]
    machine = Machine("peers", memories, channels, [*pcie, Resource("nvlink", 150 * GB)])
    transfer = moved(64 << 20, "host", "fbm0", ("<F, x>", "<x, F>"))
    made = plan(transfer, machine, "multipath")
    assert len(made.paths) == 2 and all(path.converting for path in made.paths)
    assert simulate(made, machine).end < 0.6 * simulate(plan(transfer, machine, "full"), machine).end
    one_switch = [
        Resource("pcie0", 24 * GB),
        Resource("pcie1", 24 * GB),
        Resource("nvlink", 150 * GB),
        Resource("switch", 24 * GB),
    ]
    behind = [
        channel(each.source, each.destination, 24 * GB, "switch", kind=each.kind) if each.source == "host" else each
        for each in channels
    ]
    refused = plan(transfer, Machine("peers", memories, behind, one_switch), "multipath")
    assert len(refused.paths) == 1 and "switch (24 GB/s)" in refused.notes[-1]


def test_limits_hold_for_all_paths_together() -> None:
    machine = mesh()
    made = plan(moved(64 << 20), machine, "multipath", Options(memory_limit=1 << 20))
    assert len(made.paths) == 2 and made.buffer_bytes <= 1 << 20


def test_source_and_destination_in_one_memory() -> None:
    machine = Machine("one", [Memory("a", MemoryKind.SYS)], [channel("a", "a", GB, kind=ChannelKind.MEMCPY)])
    made = plan(moved(1 << 20, "a", "a"), machine, "multipath")
    assert made.notes[-1] == "one path: source and destination are one memory"


def test_one_source_to_many() -> None:
    """Three transfers out of one GPU together: no link carries more than it can, and all end at about the same time."""
    machine = mesh()
    made = plan_together([moved(32 << 20, "fbm0", f"fbm{k}") for k in (1, 2, 3)], machine)
    trace = simulate(made, machine)
    alone = max(each.seconds for each in plan_together([moved(96 << 20, "fbm0", "fbm3")], machine))
    assert trace.end <= 1.1 * alone, "both links out of the GPU are busy all the time"
    with pytest.raises(InputError, match="expected at least one transfer"):
        plan_together([], machine)


def test_the_explanation_says_what_limits_the_paths() -> None:
    machine = mesh()
    explained = explain(moved(16 << 20), machine, "multipath")
    several = explained.several
    assert several is not None and len(several.plan.paths) == 2
    one, two, three = several.by_paths
    assert one > 1.7 * two and three == pytest.approx(two), "a third path has no link of its own"
    assert sum(link.price for link in several.links) == pytest.approx(1.0, abs=0.15)
    text = explanation_text(explained)
    assert "Why these paths" in text and "1 % more saves 0." in text
    assert explanation_to_json(explained)["several_paths"]["considered"] >= 2


def test_prices_are_what_more_capacity_saves() -> None:
    """The dual values of random programs, beside the same programs with one link a little faster."""
    priced = 0
    for seed in range(10):
        draw = np.random.default_rng(seed)
        uses = [{f"own {k}": 1 / draw.uniform(1, 9), "bus": 1 / draw.uniform(5, 30)} for k in range(4)]
        found = split_bytes([Stream(0, 0.0, 0.0, max(each.values()), each) for each in uses], [50.0])
        assert sum(found.shares) == pytest.approx(1.0)
        for link, price in found.prices.items():
            faster = [{name: cost / (1.001 if name == link else 1.0) for name, cost in each.items()} for each in uses]
            other = split_bytes([Stream(0, 0.0, 0.0, max(each.values()), each) for each in faster], [50.0])
            assert 1 - other.seconds / found.seconds == pytest.approx(1e-3 * price, rel=0.02)
            priced += 1
    assert priced > 15


def test_bytes_arrive_over_two_paths() -> None:
    """Every byte, through real memory."""
    memories = [Memory(name, MemoryKind.SYS) for name in ("a", "m", "n", "z")]
    pairs = (("a", "m"), ("m", "z"), ("a", "n"), ("n", "z"))
    channels = [channel(*pair, GB, f"link {'-'.join(pair)}", kind=ChannelKind.MEMCPY) for pair in pairs]
    machine = Machine("relays", memories, channels, [Resource(f"link {'-'.join(pair)}", GB) for pair in pairs])
    transfer = moved(1 << 20, "a", "z", ("<F, x>", "<x, F>"))
    made = plan(transfer, machine, "multipath")
    assert len(made.paths) == 2
    array, room = np.zeros(transfer.space["x"], transfer.fields.dtype), np.zeros(transfer.nbytes, np.uint8)
    array["a"], array["b"] = np.arange(len(array)), -np.arange(len(array))
    with Engine(machine, EmulatedMachine()) as engine:
        assert engine.run(made, array, room).verified
        wanted = array["a"].tobytes() + array["b"].tobytes()
        assert room.tobytes() == wanted
        room[:] = 0
        prepared = engine.prepare(made, array, room)
        for _ in range(3):
            prepared.start().wait()
    assert room.tobytes() == wanted
    assert cost(transfer, machine, "a,m,z").seconds > 1.5 * made.seconds


def test_a_plan_of_one_path_is_for_the_machine_that_was_given() -> None:
    """Also where its path was found again, with even chunks, on a machine that knows more links."""
    machine = preset("bgq")
    ends = (machine.memories[0].name, "<F, x, y>", machine.memories[-1].name, "<F, x, y>")
    moved = Transfer.whole(IndexSpace(x=4096, y=4096), FieldSpace(v="f8"), *ends)
    found = plan(moved, machine, options=Options("multipath"))
    assert found.machine_digest == machine.digest
