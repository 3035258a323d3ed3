"""One pass or two: what the disk's throughput functions say."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from work_done import lines_of

from isoviz import FieldSpace, IndexSpace, Transfer
from isoviz.conversion.passes import disk_seconds, passes, stopovers
from isoviz.errors import InputError, TransferError
from isoviz.layouts import Layout, Linearization
from isoviz.machines import Constant, LatencyBandwidth, Limits, Machine, Resource, preset
from isoviz.planner import Options, plan
from isoviz.planner.intermediate.part_layouts import grown
from isoviz.planner.one_path.blocked import _whole_pages

MIB = 1 << 20
FIELDS = FieldSpace(value="f4")
OPTIONS = Options(memory_limit=64 * MIB)


def machine(read: object = None, write: object = None, alignment: int = 4096) -> Machine:
    local = preset("local", measure="assumed")
    functions = {"DiskRead": read or LatencyBandwidth(80e-6, 1.5e9), "DiskWrite": write or LatencyBandwidth(80e-6, 1.2e9)}
    channels = [
        replace(channel, throughput=functions[channel.kind], alignment=alignment) if channel.kind in functions else channel
        for channel in local.channels
    ]
    memories = [replace(memory, capacity=None) for memory in local.memories]
    return replace(local, channels=tuple(channels), memories=tuple(memories), limits=Limits())


def turn(rows: int, columns: int, there: str = "<F, y, x>") -> Transfer:
    return Transfer.whole(IndexSpace(x=columns, y=rows), FIELDS, "node0.dsk", "<F, x, y>", "node0.dsk", there)


def test_short_runs_are_worth_a_second_pass() -> None:
    found = passes(turn(16000, 16000), machine(), OPTIONS)
    assert len(found.plans) == 2
    assert found.seconds < found.other_seconds
    assert found.plans[0].transfer.destination == found.plans[1].transfer.source
    assert found.plans[0].transfer.destination.layout == found.through
    assert found.temporary_bytes >= 16000 * 16000 * 4
    assert all(each.buffer_bytes <= 64 * MIB for each in found.plans)
    assert found.reason.startswith("two passes, through a temporary file of ")


def test_a_disk_that_does_not_mind_short_runs_is_passed_once() -> None:
    fast = machine(Constant(1.5e9), Constant(1.2e9), alignment=1)
    found = passes(turn(16000, 16000), fast, OPTIONS)
    assert (len(found.plans), found.through, found.temporary_bytes) == (1, None, 0)
    assert found.reason == "", "two passes cannot be faster, whatever the file between them"
    assert replace(found, other_seconds=2 * found.seconds).reason.startswith("one pass: ")


@pytest.mark.parametrize(
    "side", [8192, 16000, *[pytest.param(side, marks=pytest.mark.full) for side in (16384, 32768, 46340, 50000)]]
)
def test_chunks_of_one_size(side: int) -> None:
    """No small ones are left over where rows end: each would be asked for in requests as many as those of a large one."""
    for room in (46, 50, 64):
        found = passes(turn(side, side), machine(), Options(memory_limit=room * MIB, slot_limit=room * MIB), 2)
        for each in found.plans:
            assert each.chunk_count * each.chunk_bytes <= 1.35 * each.bytes, (room, str(each))


def test_blocks_of_whole_pages() -> None:
    """As many as before, where a block has several pages and room for a part of one more."""
    lin = Layout("<F, x, y>").on(IndexSpace(x=10_000, y=1000), FIELDS)
    one = {"x": 1, "y": 1}
    for budget, page, extent in (
        (3000, 1, 2500),
        (3000, 256, 2560),
        (2540, 256, 2500),
        (3000, 1024, 2500),
        (20_000, 256, 10_000),
    ):
        assert grown(lin, lin, one, budget, page)["x"] == extent, (budget, page)
    # Steps that do not nest: some block that both have, never none.
    for steps, size, room in (((4, 6), 24, 11), ((96, 128), 5000, 300), ((1000, 1500), 100_000, 2500)):
        ends = [Layout(f"<F, x_in={step}, x_out>").on(IndexSpace(x=size), FIELDS) for step in steps]
        assert grown(*ends, {"x": 1}, room)["x"] > 1, steps
    tiles = Layout("<F, y_in=96, x_in=96, y_out, x_out>").on(IndexSpace(x=32_768, y=32_768), FIELDS)
    wide = {"x": 1, "y": 192}
    assert grown(lin_of(32_768), tiles, wide, 192 * 17_066)["x"] == 171 * 96, "rounded up: two of them make a row"
    assert grown(lin_of(32_768), tiles, wide, 192 * 16_400)["x"] == 170 * 96, "where there is no room for that, rounded down"


def test_parts_of_whole_pages_are_about_as_large() -> None:
    for size, page, extent, most, found in (
        (69, 16, 46_340, 70, 64),
        (138, 128, 23_170, 140, 128),
        (250, 16, 1000, 300, 256),
        (250, 16, 1000, 250, 250),
        (50, 16, 1000, 50, 48),
        (5, 4, 1000, 100, 5),
        (5, 1, 1000, 100, 5),
        (1000, 16, 1000, 1000, 1000),
    ):
        assert _whole_pages(size, page, extent, most) == found, size


def lin_of(side: int) -> Linearization:
    return Layout("<F, x, y>").on(IndexSpace(x=side, y=side), FIELDS)


def test_more_slots_where_runs_stay_long() -> None:
    """Reading and writing wait less for each other; but not where smaller chunks have shorter runs, or another number was asked
    for."""
    pair = FieldSpace(re="f4", im="f4")
    apart = Transfer.whole(IndexSpace(x=1 << 27), pair, "node0.dsk", "<F, x>", "node0.dsk", "<x, F>")
    assert passes(apart, machine(), OPTIONS).plans[0].slots == 4
    assert passes(apart, machine(), replace(OPTIONS, slots=3)).plans[0].slots == 3
    assert passes(turn(16000, 16000), machine(), OPTIONS, 1).plans[0].slots == 2


def test_deciding_takes_no_longer_with_the_array() -> None:
    """A dimension of thousands of millions: nothing is tried one by one."""
    space = IndexSpace(x=3_221_225_473)
    pair = FieldSpace(re="f4", im="f4")
    apart = Transfer.whole(space, pair, "node0.dsk", "<F, x>", "node0.dsk", "<x, F>")
    assert len(passes(apart, machine(), OPTIONS).plans) == 1
    small = Transfer.whole(IndexSpace(x=3_221_225), pair, "node0.dsk", "<F, x>", "node0.dsk", "<x, F>")
    small_lines, lines = (lines_of(lambda each=each: stopovers(each, machine(), OPTIONS)) for each in (small, apart))
    assert lines < 5 * small_lines


def test_what_needs_no_second_look() -> None:
    there = machine()
    for transfer in (
        turn(100, 100),  # over before planning is
        turn(16000, 16000, "<F, x, y>"),  # converts nothing
        turn(16000, 16000, "<F, y_in=8, x, y_out>"),  # blocked
        Transfer.whole(IndexSpace(x=16000, y=16000), FIELDS, "node0.dsk", "<F, x, y>", "node0.sys", "<F, y, x>"),
    ):
        found = passes(transfer, there, OPTIONS)
        assert len(found.plans) == 1 and math.isinf(found.other_seconds) and found.reason == ""


def test_a_number_that_is_asked_for() -> None:
    there = machine()
    assert len(passes(turn(16000, 16000), there, OPTIONS, 1).plans) == 1
    fast = machine(Constant(1.5e9), Constant(1.2e9), alignment=1)
    assert len(passes(turn(16000, 16000), fast, OPTIONS, 2).plans) == 2
    with pytest.raises(TransferError, match="two passes"):
        passes(turn(16000, 16000, "<F, x, y>"), there, OPTIONS, 2)
    with pytest.raises(InputError, match="from 1 to 2"):
        passes(turn(16000, 16000), there, OPTIONS, 0)


def test_the_same_again_is_decided_alike() -> None:
    first, second = (passes(turn(9000, 7000), machine(), OPTIONS) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("entry", ["f4", "f8", "u1", "S12", "c16"])
def test_tiles_of_the_temporary_file_are_whole_pages(entry: str) -> None:
    space, fields = IndexSpace(x=20011, y=9973), FieldSpace(value=entry)
    transfer = Transfer.whole(space, fields, "node0.dsk", "<F, x, y>", "node0.dsk", "<F, y, x>")
    for layout in stopovers(transfer, machine(), OPTIONS)[:6]:
        extents = [part.extent for part in layout.components if getattr(part, "extent", None)]
        assert math.prod(extents) * fields.nbytes % 4096 == 0, layout


def test_a_disk_takes_turns_and_moves_whole_pages() -> None:
    """Reading and writing one disk add up; runs that begin within pages cost these too."""
    straight = Transfer.whole(IndexSpace(x=1 << 26), FIELDS, "node0.dsk", "<F, x>", "node0.dsk", "<F, x>")
    there = machine(Constant(1e9), Constant(1e9))
    found = plan(straight, there, "full", OPTIONS)
    assert disk_seconds(found, there) == pytest.approx(2 * straight.nbytes / 1e9, rel=0.01)
    uneven, even = turn(16001, 16001), turn(16384, 16384)
    latent = machine()
    costs = []
    for transfer in (uneven, even):
        once = plan(transfer, latent, "full", OPTIONS)
        costs.append(disk_seconds(once, latent) / transfer.nbytes)
    assert costs[0] > costs[1] * 0.99


def test_what_a_machine_says_of_its_disk_is_believed() -> None:
    """A disk that both ways hold takes turns; one that is shared by nobody reads and writes at a time."""
    straight = Transfer.whole(IndexSpace(x=1 << 26), FIELDS, "node0.dsk", "<F, x>", "node0.dsk", "<F, x>")
    there = machine(Constant(1e9), Constant(1e9))
    for capacity, held, expected in ((1.0, True, 2.0), (2.0, True, 1.0), (4e9, False, 1.0), (0.5e9, False, 4.0)):
        disk = Resource("disk", capacity, held=held)
        channels = tuple(
            replace(channel, resources=(("disk", 1.0),)) if "Disk" in channel.kind else channel for channel in there.channels
        )
        said = replace(there, channels=channels, resources=(disk,))
        found = plan(straight, said, "full", OPTIONS)
        assert disk_seconds(found, said) == pytest.approx(expected * straight.nbytes / 1e9, rel=0.02)
