"""Padding that moves along takes time: the predicted time counts it, and so does the simulator."""

from __future__ import annotations

import pytest

from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine, Memory, MemoryKind, Resource, preset
from isoviz.planner import Transfer, cost, explain, plan
from isoviz.planner.explanation.curves.chunk_curve import chunk_curve
from isoviz.planner.explanation.explanation_document import explanation_text
from isoviz.runtime import simulate
from isoviz.runtime.trace.report import HopMeasurement, Report

FIELDS = FieldSpace(a="float64", b="float32")


def machine(*, resource: Resource | None = None) -> Machine:
    uses = ((resource.name, 1.0),) if resource else ()
    return Machine(
        "here",
        (Memory("node0.sys", MemoryKind.SYS), Memory("node0.dsk", MemoryKind.DSK)),
        (
            Channel("", ChannelKind.MEMCPY, "node0.sys", "node0.sys", LatencyBandwidth(1e-9, 1e10), resources=uses),
            Channel("", ChannelKind.DISK_READ, "node0.dsk", "node0.sys", LatencyBandwidth(1e-5, 2e9), 1e-4, resources=uses),
        ),
        (resource,) if resource else (),
    )


def padded(size: int, where: Machine):
    """From blocks of 256 on a disk, the last of them padded, to structs in memory."""
    space = IndexSpace(x=size, y=4000)
    return plan(Transfer.whole(space, FIELDS, "node0.dsk", "<x_in=256, F, x_out, y>", "node0.sys", "<F, y, x>"), where)


@pytest.mark.parametrize(
    "resource", [None, Resource("bus", 3e9), Resource("bus", 1.2, held=True)], ids=["apart", "by the byte", "held"]
)
def test_what_is_read_with_its_padding_takes_longer_and_the_simulator_agrees(resource: Resource | None) -> None:
    where = machine(resource=resource)
    exact, more = padded(512, where), padded(522, where)
    assert exact.moved == (1.0, 1.0)
    assert more.moved == (768 / 522, 1.0)
    for made in (exact, more):
        copied = sum(copy.nbytes for chunk in range(made.chunk_count) for copy in made.copies(0, chunk))
        assert copied == pytest.approx(made.bytes * made.moved[0], rel=0.02)
        assert simulate(made, where).seconds == pytest.approx(made.seconds, rel=1e-6)
    assert more.seconds / more.bytes > 1.2 * exact.seconds / exact.bytes


def test_the_explanation_says_so() -> None:
    where = machine()
    text = explanation_text(explain(padded(522, where), where), most=1)
    assert "Padding moves along, 47 % of the bytes besides" in " ".join(text.split())
    text = explanation_text(explain(padded(512, where), where), most=1)
    assert "Padding" not in text


def test_no_point_of_the_chunk_curve_is_sooner_stored_and_forwarded() -> None:
    where = machine()
    curve = chunk_curve(padded(258, where), where)
    assert all(point.seconds <= point.stored_seconds * (1 + 1e-9) for point in curve.points)


def test_a_report_expects_of_each_hop_what_belongs_to_entries() -> None:
    """A run that goes exactly as predicted is 1.00× everywhere."""
    made = padded(522, machine())
    assert made.rates == (made.hops[0].throughput / made.moved[0], made.hops[1].throughput)
    hops = [HopMeasurement(k, made.bytes / rate, made.bytes, 1) for k, rate in enumerate(made.rates)]
    lines = [line for line in str(Report(made, made.seconds, 0.0, tuple(hops), None)).splitlines() if "×" in line]
    assert len(lines) == 4 and all("1.00×" in line for line in lines)


def test_padding_at_the_end_of_a_chunk_stays_where_it_is() -> None:
    """36 = 20 + 16: in every second chunk, 4 of 20 coordinates are padding, behind all entries. The network leaves them out."""
    machine = preset("sapling", nodes=4)
    space = IndexSpace(time=6, x=48, y=36, z=20, species=4, component=3)
    fields = FieldSpace.of({f"f{place}": "float64" if place % 3 else "float32" for place in range(12)})
    here = "<F, x, y, z, species, component, time>"
    there = "<x_in=16, y_in=4, F, z, x_out, species, component, y_out, time>"
    transfer = Transfer.whole(space, fields, "node0.fbm0", here, "node3.fbm0", there)
    first = "<F, x, y_in=20, z_in=4, z_out, species, component, y_out, time>"
    block = "<x_in=16, y_0=4, F, z_in=4, x_out, y_1=5, z_out, species, component, y_2, time>"
    path = ["node0.fbm0", "node0.reg", "node0.reg", "node3.reg", "node3.fbm0"]
    made = cost(transfer, machine, path, (first, block, block))
    assert made.only.per_chunk == 1 and made.moved == (1.0, 40 / 36, 1.0, 1.0)
    sent = [made.copies(2, chunk) for chunk in range(made.chunk_count)]
    assert all(len(copies) == 1 and not copies[0].loops for copies in sent)
    assert sum(copies[0].run for copies in sent) == made.bytes
    assert simulate(made, machine).seconds == pytest.approx(made.seconds)
    # Two blocks in a chunk: padding behind the first one is within the chunk.
    double = cost(transfer, machine, path, (first, block, block), blocks=2)
    assert double.moved[2] == 40 / 36
