"""Planners, explanations and the simulator on machines with networks."""

from __future__ import annotations

import pytest

import isoviz
from isoviz.errors import NoPathError
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import (
    ChannelKind,
    Constant,
    ListedLinks,
    Machine,
    Memory,
    MemoryKind,
    Neighbours,
    Network,
    Port,
    Torus,
    Transport,
    preset,
)
from isoviz.machines.edits.memory_edits import with_dead_parts
from isoviz.machines.presets.blue_gene import file_servers
from isoviz.planner import Transfer, cost, plan, plan_of_paths
from isoviz.runtime.simulator import Simulator, simulate

SPACE, FIELDS = IndexSpace(x=2**17, y=64), FieldSpace(a="float64")
BGQ = preset("bgq", nodes=512)


def between(source: str, destination: str, layout: str = "<F, x, y>") -> Transfer:
    return Transfer.whole(SPACE, FIELDS, source, "<F, x, y>", destination, layout)


def torus(*sizes: int, rate: float = 1e9) -> Machine:
    shape = Torus(sizes)
    memories = tuple(Memory(f"node{k}.sys", MemoryKind.SYS, k) for k in range(shape.router_count))
    ports = tuple(Port(memory.name, shape.router_name(k)) for k, memory in enumerate(memories))
    return Machine(
        "torus", memories, networks=(Network("net", shape, ports, (Transport(ChannelKind.REMOTE_MEMCPY, Constant(rate)),), rate),)
    )


@pytest.mark.parametrize("planner", ["direct", "simple", "spsl", "full", "program"])
def test_every_planner_takes_the_channel_that_a_network_makes(planner: str) -> None:
    transfer = between("node0.sys", "node311.sys")
    made = plan(transfer, BGQ, planner)
    (hop,) = made.hops
    channel = BGQ.channel(hop.channel)
    assert (hop.source, hop.destination, hop.channel) == ("node0.sys", "node311.sys", "node0.sys->node311.sys torus/pami")
    assert set(made.paths[0].resources) == {name for name, _ in channel.resources} and len(channel.resources) > 3
    assert made.machine_digest == BGQ.digest and made.seconds == pytest.approx(4.8e-6 + made.bytes / 1.7e9)
    assert simulate(made).transfers[0].ended == pytest.approx(made.seconds)
    assert len(BGQ.around("node0.sys", "node311.sys").channels) == 6, "two ways to send, both ways, and two copies"


def test_a_network_is_explained_and_costed_as_channels_are() -> None:
    made = plan(between("node0.sys", "node311.sys", "<F, y, x>"), BGQ, "full")
    found = isoviz.explain(made)
    assert found.plan is made and found.candidates[0].chosen and len(found.candidates) > 1
    assert found.program.resources, "the links of the route are rows of the program"
    by_hand = cost(made.transfer, BGQ, "node0.sys, node0.sys, node311.sys")
    assert by_hand.seconds >= made.seconds * (1 - 1e-9)
    mpi = cost(between("node0.sys", "node311.sys"), BGQ, "node0.sys->node311.sys torus/mpi")
    assert mpi.seconds == pytest.approx(20e-6 + mpi.bytes / 1.7e9)


def test_a_relay_by_hand_and_several_paths() -> None:
    transfer = between("node0.sys", "node311.sys")
    relayed = cost(transfer, BGQ, "node0.sys, node40.sys, node311.sys", chunk="128KiB")
    assert [hop.destination for hop in relayed.hops] == ["node40.sys", "node311.sys"]
    assert simulate(relayed).transfers[0].ended == pytest.approx(relayed.seconds)
    two = plan_of_paths(
        transfer, BGQ, [({"y": (0, 32)}, "node0.sys, node311.sys"), ({"y": (32, 64)}, "node0.sys, node1.sys, node311.sys")]
    )
    assert simulate(two).transfers[0].ended == pytest.approx(two.seconds, rel=1e-3)


def test_transfers_over_a_shared_link_share_it_and_others_do_not() -> None:
    machine = torus(8)
    alone = plan(between("node0.sys", "node1.sys"), machine, "direct")
    seconds = alone.bytes / 1e9
    assert alone.seconds == pytest.approx(seconds)
    crossing = plan(between("node0.sys", "node2.sys"), machine, "direct")  # over 0+ and 1+
    apart = plan(between("node2.sys", "node3.sys"), machine, "direct")  # over 2+
    back = plan(between("node1.sys", "node0.sys"), machine, "direct")  # over 1-: the other direction

    def ends(*plans: isoviz.Plan) -> list[float]:
        return [span.ended for span in simulate(plans).transfers]

    assert ends(alone, crossing) == pytest.approx([2 * seconds, 2 * seconds])
    assert ends(alone, apart, back) == pytest.approx([seconds] * 3)
    assert ends(alone, crossing, apart, back) == pytest.approx([2 * seconds, 2 * seconds, seconds, seconds])


def test_a_link_is_free_again_when_a_transfer_has_ended() -> None:
    machine = torus(8)
    first, second = (plan(between("node0.sys", f"node{there}.sys"), machine, "direct") for there in (1, 2))
    simulator = Simulator(machine)
    simulator.submit(first)
    simulator.submit(second, at=first.seconds / 2)
    one, two = (span.ended for span in simulator.run().transfers)
    assert one == pytest.approx(1.5 * first.seconds) and two == pytest.approx(2 * first.seconds)


def test_two_messages_share_1_8_of_the_2_gigabytes_of_a_link() -> None:
    plans = [plan(between("node0.sys", "node1.sys"), BGQ, "direct")]
    both = [*plans, cost(between("node0.sys", "node1.sys"), BGQ, "node0.sys->node1.sys torus/mpi")]
    last = max(span.ended for span in simulate(both).transfers)
    assert last == pytest.approx(2 * plans[0].bytes / 1.8e9, rel=1e-3)


def test_a_dead_link_is_planned_around() -> None:
    machine = with_dead_parts(torus(4, 4), "net", links=["0.0+A"])
    made = plan(between("node0.sys", "node4.sys"), machine, "full")
    used = {name for hop in made.hops for name, _ in machine.channel(hop.channel).resources}
    assert len(made.hops) == 2 and "net:0.0+A" not in used
    assert simulate(made).transfers[0].ended == pytest.approx(made.seconds)
    with pytest.raises(NoPathError):
        plan(between("node0.sys", "node4.sys"), machine, "direct")


def test_a_node_behind_several_dead_links_is_reached_over_several_stops() -> None:
    sizes = Torus((5, 5), open="AB")
    around = {"0.0", "0.1", "1.1", "1.2", "2.2"}  # a staircase is left, while routes go in A first
    dead = [
        link.name for link in sizes.links() if not {sizes.router_name(link.source), sizes.router_name(link.destination)} <= around
    ]
    machine = torus(5, 5)
    network = machine.networks[0]
    open_ones = Network("net", sizes, network.ports, network.transports, 1e9, dead_links=tuple(dead))
    machine = Machine("m", machine.memories, networks=(open_ones,))
    made = plan(between("node0.sys", f"node{sizes.router('2.2')}.sys"), machine, "full")
    routers = [network.topology.router_name(network.router_of(name)) for name in made.memories]
    assert routers[0] == "0.0" and routers[-1] == "2.2" and set(routers) <= around and len(routers) > 3
    cut = with_dead_parts(machine, "net", links=["1.1+B"])
    with pytest.raises(NoPathError):
        plan(between("node0.sys", f"node{sizes.router('2.2')}.sys"), cut, "full")


def test_gpus_without_a_link_relay_over_one_that_has_both() -> None:
    gpus = tuple(Memory(f"node0.fbm{k}", MemoryKind.FBM) for k in range(4))
    links = ListedLinks((("0", "1"), ("1", "3", 2), ("0", "2"), ("2", "3")))
    nvlink = Network(
        "nvlink",
        links,
        tuple(Port(gpu.name, gpu.name[-1]) for gpu in gpus),
        (Transport(ChannelKind.GPU_COPY, Constant(25e9)),),
        25e9,
        routing=Neighbours(),
    )
    made = plan(between("node0.fbm0", "node0.fbm3"), Machine("v100", gpus, networks=(nvlink,)), "full")
    assert len(made.hops) == 2 and made.memories[1] in ("node0.fbm1", "node0.fbm2")


def test_a_file_server_is_reached_over_an_io_node() -> None:
    server = file_servers(512)[0]
    made = plan(between("node200.sys", f"node{server}.dsk"), BGQ, "full")
    assert made.memories[-2:] == (f"node{server}.sys", f"node{server}.dsk")
    io = made.memories[-3]
    assert BGQ.memory(io).label == "I/O node" and f"torus:>{io}" in made.paths[0].resources
    assert simulate(made).transfers[0].ended == pytest.approx(made.seconds)
