"""Run under mpiexec: registered memory that GPUs reach or not, and messages to and from memory of GPUs.

`gpu_rank_ways.py locked|refused|unaware|aware|absent|limited [cupy|real]`, or several of these that need the
same GPUs, with commas between them: the result then has what each found, by its name.
"""

from __future__ import annotations

import gc
import random
import sys
from dataclasses import replace
from typing import Any, cast

import numpy as np
from given.rank_program import begin, tell
from rank_gpu_cases import Gpus, PlayedGpus, engine_of, gpus_of, machine_of, only
from run_cases import elements, random_bytes

from isoviz import FieldSpace, IndexSpace, Machine, Options, Plan, Report, Transfer, plan
from isoviz.backends.mpi.world import World
from isoviz.errors import DeviceError
from isoviz.machines import ChannelKind
from isoviz.runtime.ranks.rank_engine import Item, RankEngine

SPACE, PAIR = IndexSpace(x=60, y=50), FieldSpace(re="f4", im="f2")
NEAR, FAR = "node0.fbm0", "node1.fbm0"


def plan_on(machine: Machine, near: str = NEAR, far: str = FAR, layout: str = "<y, x, F>") -> Plan:
    return plan(Transfer.whole(SPACE, PAIR, near, "<F, x, y>", far, layout), machine, options=Options("simple", slot_limit=4096))


def straight(world: World) -> Machine:
    """From GPU to GPU through registered memory, where no processor converts."""
    machine = only(machine_of(None, world.hosts, 1), NEAR, "node0.reg", "node1.reg", FAR, kinds=("Window",))
    channels = tuple(channel for channel in machine.channels if channel.kind is not ChannelKind.MEMCPY)
    return Machine(machine.name, machine.memories, channels)


def by_rdma(machine: Machine) -> Machine:
    """The machine with GPUDirect RDMA in place of messages."""
    kinds = {ChannelKind.TWO_SIDED: ChannelKind.DIRECT_REMOTE}
    channels = tuple(replace(channel, name="", kind=kinds.get(channel.kind, channel.kind)) for channel in machine.channels)
    return Machine(machine.name, machine.memories, channels)


def ends(world: World, gpus: Gpus, found: Plan) -> tuple[Any, Any]:
    """The source on rank 0 and the destination on rank 1, on their GPUs."""
    a, b = found.transfer.source.linearization, found.transfer.destination.linearization
    data = random_bytes(random.Random(7), a.nbytes)
    if world.rank == 0:
        return gpus.held(data, 0), None
    return None, gpus.held(np.zeros(b.nbytes, np.uint8), 0)


def arrived(world: World, gpus: Gpus, found: Plan, source: Any, destination: Any) -> bool:
    """Whether every element is in the destination."""
    a, b = found.transfer.source.linearization, found.transfer.destination.linearization
    data = gpus.taken(source if world.rank == 0 else destination)
    return world.rank == 0 or elements(a, random_bytes(random.Random(7), a.nbytes)) == elements(b, data)


def run(gpus: Gpus, world: World, machine: Machine, found: Plan) -> Report:
    with engine_of(gpus, world, machine, request_bytes=4096) as engine:
        report = run_arrays(gpus, world, engine, found)
        assert engine.run(found).verified
        engine.barrier()
    return report


def run_arrays(gpus: Gpus, world: World, engine: RankEngine, found: Plan) -> Report:
    source, destination = ends(world, gpus, found)
    report = engine.run(found, source, destination)
    assert report.verified and arrived(world, gpus, found, source, destination)
    return report


def locked(gpus: PlayedGpus, world: World) -> dict[str, object]:
    """Requests of the GPUs go straight to registered memory, which is locked once for each segment, and as long as it lives."""
    machine = straight(world)
    found, driver = plan_on(machine), gpus.driver
    assert [hop.kind for hop in found.every_hop] == ["GPURead", "Window", "GPUWrite"], found
    report = run(gpus, world, machine, found)
    assert not any("staged" in note for note in report.notes), report.notes
    assert not driver.calls["allocate_pinned"], "registered memory was staged"
    first = driver.calls["page_lock"]
    assert first >= 1 and len(driver.locked) == first
    run(gpus, world, machine, found)
    assert driver.calls["page_lock"] == first, "it was locked again"
    # An array of the caller has a segment of its own, which is unlocked with its end.
    here = only(machine, f"node{world.rank}.fbm0", f"node{world.rank}.reg")
    up, down = (f"node{world.rank}.{name}" for name in ("reg", "fbm0"))
    inside = plan(Transfer.whole(SPACE, PAIR, up, "<F, x, y>", down, "<x, y, F>"), here)
    large = world.array(8 << 20)
    array = large[4096 : 4096 + inside.transfer.source.linearization.nbytes]
    with engine_of(gpus, world, here) as engine:
        assert engine.run_parts([Item(inside, array)])[0].error is None
        assert driver.calls["page_lock"] == first + 1 and len(driver.locked) == first + 1
        engine.barrier()
    del array, large, engine
    gc.collect()
    assert len(driver.locked) == first
    return {"locked": first}


def refused(gpus: PlayedGpus, world: World) -> dict[str, object]:
    """A driver that locks no pages: registered memory is staged, and the report says so. It is asked once for each segment."""
    driver = gpus.driver
    driver.fail = lambda name, number: DeviceError("cudaHostRegister failed: planted") if name == "page_lock" else None
    machine = straight(world)
    report = run(gpus, world, machine, plan_on(machine))
    notes = [note for note in report.notes if "staged" in note]
    said = "registered memory was staged through pinned buffers: cudaHostRegister failed: planted"
    assert len(notes) >= 1 and all(said in note for note in notes), report.notes
    asked = driver.calls["page_lock"]
    run(gpus, world, machine, plan_on(machine))
    assert driver.calls["page_lock"] == asked >= 1 and driver.calls["allocate_pinned"]
    driver.fail = lambda name, number: None
    return {"notes": notes}


def unaware(gpus: PlayedGpus, world: World) -> dict[str, object]:
    """The MPI library of the tests takes no memory of GPUs: such messages are refused on all ranks, and nothing is sent."""
    assert not world.cuda_aware.takes, world.cuda_aware
    machine = only(machine_of(None, world.hosts, 1, aware=True), NEAR, FAR, kinds=("TwoSided",))
    for each in (machine, by_rdma(machine)):
        with engine_of(gpus, world, each) as engine:
            error = engine.run_parts([Item(plan_on(each))])[0].error
            errors = [str(each) for each in engine.gather(str(error))]
            types = engine.gather(type(error).__name__)
        assert types[0] == "TransferError" and "of rank 0 takes no addresses of GPU memory" in errors[0], errors
        assert "of rank 0 takes no addresses of GPU memory" in errors[1], (types, errors)
    return {"said": world.cuda_aware.said, "errors": errors}


def aware(gpus: PlayedGpus, world: World) -> dict[str, object]:
    """An MPI library that takes memory of GPUs, here because it lies in the host: messages go from GPU to GPU, and so does what a
    machine describes as GPUDirect RDMA."""
    whole = machine_of(None, world.hosts, 1, aware=True)
    names = (NEAR, FAR, "node0.sys", "node1.reg")
    roads = [
        ("fbm0", "fbm0", "<y, x, F>"),
        ("fbm0", "fbm0", "<F, x, y>"),
        ("sys", "fbm0", "<x, F, y>"),
        ("fbm0", "reg", "<F, x, y>"),
    ]
    kinds: list[list[str]] = []
    for near, far, layout in roads:
        machine = only(whole, f"node0.{near}", f"node1.{far}", kinds=("TwoSided",))
        for each in (machine, by_rdma(machine)) if near == "fbm0" else (machine,):
            found = plan_on(each, f"node0.{near}", f"node1.{far}", layout)
            with engine_of(gpus, world, each, request_bytes=4096) as engine:
                assert engine.run(found).verified
                if near == far == "fbm0":
                    run_arrays(gpus, world, engine, found)
                engine.barrier()
            kinds.append([str(hop.kind) for hop in found.every_hop])
    # As a buffer between two hops: on the GPU of rank 1, between a message and a copy within that GPU.
    machine = only(whole, *names, "node1.sys", kinds=("TwoSided",))
    through = [channel for channel in machine.channels if channel.destination == FAR or channel.source == FAR]
    machine = Machine(machine.name, machine.memories, tuple(each for each in through if "fbm0->node0" not in each.name))
    found = plan_on(machine, NEAR, "node1.sys", "<F, x, y>")
    with engine_of(gpus, world, machine, request_bytes=4096) as engine:
        assert engine.run(found).verified
        engine.barrier()
    kinds.append([str(hop.kind) for hop in found.every_hop])
    return {"kinds": kinds}


def limited(gpus: Gpus, world: World) -> dict[str, object]:
    """From GPU to GPU, straight; then the GPU of rank 1 has no room, which ends the transfer on both ranks; then it has again."""
    machine = straight(world)
    found = plan_on(machine)
    report = run(gpus, world, machine, found)
    assert not any("staged" in note for note in report.notes), report.notes
    with engine_of(gpus, world, machine, request_bytes=4096) as engine:
        if world.rank == 1:
            gpus.limit(2500)
        error = engine.run_parts([Item(found)])[0].error
        errors = cast("list[tuple[str, str]]", engine.gather((type(error).__name__, str(error))))
        gpus.limit(None)
        assert [kind for kind, _ in errors] == ["RankError", "DeviceMemoryError"], errors
        assert all("no room" in said for _, said in errors) and "rank 1" in errors[0][1], errors
        assert engine.held_bytes == 0 and engine.run(found).verified
        engine.barrier()
    return {"notes": list(report.notes), "errors": errors}


def absent(world: World) -> dict[str, object]:
    """No GPU on any rank: the plan is refused on all ranks with one sentence, which names the rank."""
    machine = only(machine_of(None, world.hosts, 1), NEAR, "node0.reg", "node1.reg", FAR, kinds=("Window",))
    with RankEngine(machine, world.devices, world.transport) as engine:
        error = engine.run_parts([Item(plan_on(machine))])[0].error
        errors = cast("list[str]", engine.gather(str(error)))
    return {"errors": errors}


def main() -> None:
    begin()
    what = sys.argv[1]
    if what == "absent":
        with World(limit=30) as world:
            found, rank = absent(world), world.rank
    else:
        gpus = gpus_of(sys.argv[2], "5", 1) if sys.argv[2:] else PlayedGpus(5, reachable=what == "aware")
        with gpus.world(limit=30, takes_gpu_memory=True if what == "aware" else None) as world:
            ways: dict[str, Any] = {
                "locked": locked,
                "refused": refused,
                "unaware": unaware,
                "aware": aware,
                "limited": limited,
            }
            every, rank = {name: ways[name](gpus, world) for name in what.split(",")}, world.rank
            found = every if "," in what else every[what]
        gpus.calls_at_end()
    tell(rank, found)


if __name__ == "__main__":
    main()
