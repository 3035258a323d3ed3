"""The predicted time over the size of the chunks: what the plan says, and what the simulator does."""

from __future__ import annotations

from functools import cache

import pytest

from isoviz.errors import InputError, TransferError
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import preset
from isoviz.planner import Options, Plan, Transfer, chunk_curve, plan, rechunked
from isoviz.runtime import simulate

MACHINE = preset("two-node")


@cache
def made(planner: str, x: int = 4096, y: int = 512) -> Plan:
    transfer = Transfer.whole(
        IndexSpace(x=x, y=y), FieldSpace(v="complex128"), "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>"
    )
    return plan(transfer, MACHINE, planner)


@pytest.mark.parametrize("planner", ["full", "simple", "spsl", "spdl"])
def test_curve_goes_through_the_plan(planner: str) -> None:
    found = made(planner)
    curve = chunk_curve(found, MACHINE)
    assert curve.chosen.seconds == pytest.approx(found.seconds, rel=1e-9)
    assert curve.chosen.per_chunk == found.per_chunk and curve.chosen.chunks == found.chunk_count
    assert curve.chosen in curve.points and curve.best in curve.points
    sizes = [point.chunk_bytes for point in curve.points]
    assert sizes == sorted(set(sizes))
    assert curve.points[-1].chunks == 1
    assert curve.best.seconds <= curve.chosen.seconds <= curve.best.seconds * 1.01
    assert str(curve).count("B;") == 1


@pytest.mark.parametrize("planner", ["full", "spsl", "spdl"])
def test_points_agree_with_the_simulator(planner: str) -> None:
    """The simulator knows nothing of the curve; both say the same."""
    found = made(planner)
    points = [point for point in chunk_curve(found, MACHINE).points if point.per_chunk]
    assert len(points) >= 3
    for point in points[:: max(1, len(points) // 6)]:
        other = rechunked(found, point.per_chunk, MACHINE)
        assert other.chunk_count == point.chunks
        assert simulate(other, MACHINE).seconds == pytest.approx(point.seconds, rel=1e-9)
        assert simulate(other, MACHINE, pipelined=False).seconds == pytest.approx(point.stored_seconds, rel=1e-9)


def test_one_chunk_is_stored_and_forwarded() -> None:
    last = chunk_curve(made("full"), MACHINE).points[-1]
    assert last.chunks == 1
    assert last.seconds == pytest.approx(last.stored_seconds)
    assert all(point.seconds <= point.stored_seconds * (1 + 1e-9) for point in chunk_curve(made("full"), MACHINE).points)


def test_there_is_a_window() -> None:
    """Both smaller and larger chunks than the best are slower (Blue Gene/Q, section 5.4)."""
    curve = chunk_curve(made("simple"), MACHINE)
    at = curve.points.index(curve.best)
    assert 0 < at < len(curve.points) - 1
    assert curve.points[0].seconds > 2 * curve.best.seconds
    assert curve.points[-1].seconds > 1.5 * curve.best.seconds
    smaller = [point.seconds for point in curve.points if not point.per_chunk]
    assert smaller, "below a block of the plan blocks are smaller"


def test_what_does_not_fit_is_not_the_best() -> None:
    options = Options(slot_limit=2**16)
    transfer = made("simple").transfer
    found = plan(transfer, MACHINE, "simple", options)
    curve = chunk_curve(found, MACHINE, options)
    assert curve.limit == 2**16
    assert curve.best.fits and curve.chosen.fits
    assert not curve.points[-1].fits
    fitting = [point for point in curve.points if point.fits]
    assert curve.best.seconds == pytest.approx(min(point.seconds for point in fitting))
    assert all(point.chunk_bytes <= 2**16 for point in fitting)


def test_rechunked_is_the_plan_where_nothing_changes() -> None:
    found = made("full")
    again = rechunked(found, found.per_chunk, MACHINE)
    assert again.seconds == pytest.approx(found.seconds, rel=1e-12)
    for here, there in zip(found.hops, again.hops, strict=True):
        assert there.throughput == pytest.approx(here.throughput)
        assert there.request_bytes == pytest.approx(here.request_bytes)
    with pytest.raises(InputError, match="blocks in a chunk"):
        rechunked(found, 0, MACHINE)
    with pytest.raises(InputError, match="blocks in a chunk"):
        rechunked(found, found.chunks.blocks + 1, MACHINE)
    with pytest.raises(TransferError, match="plan again"):
        chunk_curve(found, preset("sapling", nodes=2))


def test_a_single_hop() -> None:
    transfer = Transfer.whole(IndexSpace(x=64, y=64), FieldSpace(v="float64"), "node0.sys", "<F, x, y>", "node0.reg", "<F, y, x>")
    curve = chunk_curve(plan(transfer, MACHINE, "direct"), MACHINE)
    assert curve.limit is None
    assert all(point.fits for point in curve.points)
    assert [point.seconds for point in curve.points] == pytest.approx([curve.chosen.seconds] * len(curve.points))
