"""Resources that a channel holds while it works: what a disk is to those who read and write it at once."""

from __future__ import annotations

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
    draw,
    machine_from_json,
    machine_to_json,
)
from isoviz.planner import Options, Transfer, explain, explanation_text, plan
from isoviz.planner.explanation.curves.chunk_curve import rechunked
from isoviz.runtime import simulate

MIB = 1 << 20


def machine(capacity: float | None, latency: float = 1e-4) -> Machine:
    uses = (("device", 1.0),) if capacity else ()
    return Machine(
        "disk",
        (Memory("node0.sys", MemoryKind.SYS), Memory("node0.dsk", MemoryKind.DSK)),
        (
            Channel("", ChannelKind.MEMCPY, "node0.sys", "node0.sys", Constant(5e9)),
            Channel("", ChannelKind.DISK_READ, "node0.dsk", "node0.sys", LatencyBandwidth(latency, 1.5e9), resources=uses),
            Channel("", ChannelKind.DISK_WRITE, "node0.sys", "node0.dsk", LatencyBandwidth(latency, 1e9), resources=uses),
        ),
        (Resource("device", capacity, held=True),) if capacity else (),
    )


def copy(converts: bool = False, nbytes: int = 64 * MIB) -> Transfer:
    space, fields = IndexSpace(x=nbytes // 8), FieldSpace(re="float32", im="float32")
    return Transfer.whole(space, fields, "node0.dsk", "<F, x>", "node0.dsk", "<x, F>" if converts else "<F, x>")


@pytest.mark.parametrize("converts", [False, True])
@pytest.mark.parametrize("chunk", [MIB // 8, MIB, 8 * MIB])
@pytest.mark.parametrize("capacity", [1.0, 1.3])
def test_a_path_that_reads_and_writes_takes_turns_whatever_its_chunks(capacity: float, chunk: int, converts: bool) -> None:
    disk = machine(capacity)
    made = plan(copy(converts), disk, "full", Options(slot_limit=8 * MIB))
    made = rechunked(made, max(1, round(chunk * made.chunks.blocks / made.bytes)), disk)
    read, write = made.hops[0].throughput, made.hops[-1].throughput
    assert made.throughput == pytest.approx(min(write, capacity / (1 / read + 1 / write)), rel=1e-6)
    assert simulate(made, disk).seconds == pytest.approx(made.seconds, rel=1e-6)


def test_small_chunks_do_not_pay_for_a_disk_that_is_held() -> None:
    """Paid for by the byte, it would take the small ones: each of them keeps the disk from the other side as long."""
    free = plan(copy(), machine(None), "full")
    held = plan(copy(), machine(1.2), "full")
    assert held.chunk_payload >= free.chunk_payload
    assert held.seconds > 1.3 * free.seconds


def test_a_channel_alone_is_as_fast_as_ever() -> None:
    transfer = Transfer.whole(IndexSpace(x=MIB), FieldSpace(v="u1"), "node0.dsk", "<F, x>", "node0.sys", "<F, x>")
    assert plan(transfer, machine(1.0), "full").seconds == plan(transfer, machine(None), "full").seconds


def test_it_is_no_slower_than_every_other_chunk() -> None:
    disk = machine(1.2)
    best = plan(copy(converts=True), disk, "full")
    for count in (1, 2, 5, best.per_chunk // 2, best.per_chunk * 2):
        if 1 <= count <= best.chunks.blocks:
            assert best.objective <= rechunked(best, count, disk).objective * (1 + 1e-9)


def test_it_round_trips_shows_and_is_explained() -> None:
    disk = machine(1.2)
    assert machine_from_json(machine_to_json(disk)) == disk
    assert disk.resource("device").held
    assert "held by 1.2" in draw(disk)
    found = explain(copy(converts=True), disk)
    assert "device" in explanation_text(found)
    assert not found.proved, "outside the optimality promise"
    assert " (they share device): together " in found.candidates[0].limit, "what holds it back"
