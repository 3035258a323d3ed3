"""Strided copies as rows, planes, packed bytes and pieces, and what a channel queues for each of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_arrays import FakeArray, FakeKernels
from fake_driver import FakeDriver
from gpu_cases import engine
from run_cases import random_bytes, random_layout, random_spaces

from isoviz import FieldSpace, IndexSpace, Machine, Transfer, plan
from isoviz.backends.cuda.enqueueing import SHORT, Lane
from isoviz.backends.cuda.gpu import Gpu
from isoviz.backends.cuda.row_copies import GAPS, Rows, all_rows, packed, pieces, rows_of, stretched
from isoviz.errors import MissingPartError
from isoviz.layouts import Box, StridedCopy, View, apply, strided_copies
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Memory, MemoryKind

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


def as_copy(rows: Rows) -> StridedCopy:
    loops = [
        (rows.depth, rows.source_rows * rows.source_pitch, rows.destination_rows * rows.destination_pitch),
        (rows.height, rows.source_pitch, rows.destination_pitch),
    ]
    return StridedCopy(rows.source_offset, rows.destination_offset, rows.width, tuple(loop for loop in loops if loop[0] > 1))


def test_the_engines_of_a_gpu_take_rows_and_planes() -> None:
    assert rows_of(StridedCopy(1, 2, 30)) == Rows(1, 2, 30)
    assert rows_of(StridedCopy(1, 2, 30, ((4, 50, 40),))) == Rows(1, 2, 30, 4, 1, 50, 40, 4, 4)
    assert rows_of(StridedCopy(1, 2, 30, ((3, 500, 160), (4, 50, 40)))) == Rows(1, 2, 30, 4, 3, 50, 40, 10, 4)
    for loops in (((4, 20, 40),), ((3, 501, 160), (4, 50, 40)), ((3, 100, 160), (4, 50, 40)), ((2, 1 << 32, 40),)):
        assert rows_of(StridedCopy(0, 0, 30, loops)) is None, loops
    assert len(list(all_rows(StridedCopy(0, 0, 4, ((5, 1000, 6000), (3, 501, 160), (4, 50, 40)))))) == 15
    assert len(list(all_rows(StridedCopy(0, 0, 4, ((5, 2, 60), (7, 100, 6)))))) == 5, "one for every turn of the outer loop"


def test_random_copies_in_every_form(full: bool, report: Callable[[str, object], None]) -> None:
    rng = random.Random(11)
    done = 0
    for _ in range(2000 if full else 150):
        space, fields = random_spaces(rng)
        a, b = (random_layout(rng, space).on(space, fields) for _ in range(2))
        low = [rng.randrange(size) for size in space.sizes]
        box = Box(tuple(low), tuple(rng.randint(lo + 1, size) for lo, size in zip(low, space.sizes, strict=True)))
        copies = strided_copies(View(a), View(b), box)
        data = random_bytes(rng, a.nbytes)
        wanted = np.zeros(b.nbytes, np.uint8)
        apply(copies, data, wanted)
        found = np.zeros(b.nbytes, np.uint8)
        apply([as_copy(rows) for copy in copies for rows in all_rows(copy)], data, found)
        assert np.array_equal(found, wanted)
        most, by = rng.choice((16, 48, 1024)), rng.choice(("source", "destination"))
        found[:] = 0
        for piece in pieces(copies, most):
            room = np.full(most, 0xEE, np.uint8)
            for copy, at in piece:
                assert at % 16 == 0 and at + copy.nbytes <= most
                steps = packed(copy, at, by)
                apply((steps.into,), data, room)
                apply((steps.out,), room, found)
        assert np.array_equal(found, wanted)
        done += len(copies)
    report("strided copies as rows, planes, packed pieces", done)


def test_packing_follows_the_host() -> None:
    """The processor's step is one stretch where the host side is dense, for any other side."""
    turned = StridedCopy(0, 0, 4, ((64, 4, 256), (64, 256, 4)))
    assert packed(turned, 32, "source").into == StridedCopy(0, 32, 64 * 64 * 4)
    assert packed(turned, 32, "destination").out == StridedCopy(32, 0, 64 * 64 * 4)


@pytest.mark.parametrize("fields", [2, 3, 8])
def test_structs_go_through_a_buffer_whole(fields: int) -> None:
    """The processor moves one stretch, at the begin of a piece and at its end: a field alone would touch all cache lines."""
    count, most = 1000, 4096
    structs = [StridedCopy(5 + 4 * k, 4 * k * count, 4, ((count, 4 * fields, 4),)) for k in range(fields)]
    data = random_bytes(random.Random(fields), 5 + 4 * fields * count)
    arrays = np.zeros(4 * fields * count, np.uint8)
    apply(structs, data, arrays)
    backwards = [StridedCopy(to, at, run, tuple((n, there, here) for n, here, there in loops)) for at, to, run, loops in structs]
    for copies, by, source, wanted in ((structs, "source", data, arrays), (backwards, "destination", arrays, data[5:])):
        found, sizes = np.zeros(5 + 4 * fields * count, np.uint8), []
        for piece in pieces(copies, most):
            steps = stretched([copy for copy, _ in piece], by, most)
            assert steps is not None
            (whole,) = steps.into if by == "source" else steps.out
            assert whole.loops == ()
            sizes.append(whole.run)
            room = np.zeros(most, np.uint8)
            apply(steps.into, source, room)
            apply(steps.out, room, found)
        assert np.array_equal(found[: len(wanted)] if by == "source" else found[5:], wanted)
        assert min(sizes) > most // 2


def test_gaps_are_moved_where_that_is_quicker() -> None:
    def copies(run: int, apart: int) -> list[StridedCopy]:
        return [StridedCopy(16, 0, run, ((10, apart, run),))]

    assert stretched(copies(4, 8), "source", 4096) == ([StridedCopy(16, 0, 76)], [StridedCopy(0, 0, 4, ((10, 8, 4),))])
    assert stretched(copies(4, 12), "source", 4096) is None, "most of it is gaps"
    assert stretched(copies(GAPS, GAPS + 8), "source", 4096) is None, "the runs are long"
    assert stretched(copies(4, 8), "source", 64) is None, "longer than the buffer"
    into_gaps = [StridedCopy(0, 16, 4, ((10, 4, 8),))]
    assert stretched(into_gaps, "destination", 4096) is None, "what lies between is not ours"


@pytest.mark.parametrize("place", ["a link", "within", "zero copy"])
@pytest.mark.parametrize("kernels", [True, False])
def test_what_is_queued_for_which_copy(kernels: bool, place: str) -> None:
    rng = random.Random(2)
    maker = FakeKernels(None if kernels else MissingPartError("NVRTC", "gpu-cuda13"))
    driver = FakeDriver()
    gpu = Gpu(driver, 0, maker)
    lane = Lane(gpu, within=place == "within", zero_copy=place == "zero copy")
    data = random_bytes(rng, 1 << 17)
    wide = SHORT
    cases: list[tuple[StridedCopy, dict[str, int]]] = [
        (StridedCopy(3, 5, 1000), {"copy": 1}),
        (StridedCopy(3, 5, wide, ((7, 2 * wide, wide + 1),)), {"copy_2d": 1}),
        (StridedCopy(3, 5, wide, ((3, 18 * wide, 20 * wide), (7, 2 * wide, 2 * wide))), {"copy_3d": 1}),
        (StridedCopy(3, 5, 4, ((7, 20, 8),)), {"launch": 1} if kernels else {"copy_2d": 1}),
        (StridedCopy(0, 0, 4, ((8, 4, 64), (16, 32, 4))), {"launch": 1} if kernels else {"copy_2d": 8}),
        (StridedCopy(0, 0, wide, ((9, wide, 9000), (4, 9000, wide))), {"launch": 1} if kernels else {"copy_2d": 9}),
    ]
    for copy, expected in cases:
        source, destination = FakeArray(driver, data), FakeArray(driver, np.zeros_like(data))
        before = driver.calls.copy()
        lane.queue((copy,), source._pointer, destination._pointer)
        driver.wait_stream(lane.stream)
        queued = driver.calls - before
        if kernels and (place == "zero copy" or (place == "within" and copy.loops)):
            expected = {"launch": 1}
        assert {name: queued[name] for name in ("copy", "copy_2d", "copy_3d", "launch") if queued[name]} == expected, copy
        wanted = np.zeros_like(data)
        apply((copy,), data, wanted)
        assert np.array_equal(destination.data, wanted)
    assert bool(gpu.without_kernels) != kernels
    lane.close()
    assert not driver.streams and not driver.modules and not driver.violations
    assert len(maker.compiled) == len(set(maker.compiled)), "a kernel is compiled once"


def test_the_planner_chooses_between_copy_engines_and_kernels_on_pinned_memory(tmp_path: Path) -> None:
    """Two channels lead from pinned memory to a GPU: the copy engines are faster for long runs, the kernels for short ones."""
    zcm, fbm = Memory("node0.zcm", MemoryKind.ZCM), Memory("node0.fbm0", MemoryKind.FBM)
    made = Machine(
        "two ways",
        (zcm, fbm),
        (
            Channel("engines", ChannelKind.GPU_WRITE, zcm.name, fbm.name, LatencyBandwidth(1e-7, 2e10)),
            Channel("kernels", ChannelKind.ZERO_COPY_WRITE, zcm.name, fbm.name, LatencyBandwidth(1e-10, 1e10)),
        ),
    )
    space, fields = IndexSpace(x=300, y=20), FieldSpace(a="f4", b="f4")
    for destination, kind, calls in (
        ("<F, x, y>", "GPUWrite", {"copy": 1}),
        ("<x, F, y>", "ZeroCopyWrite", {"launch": 1}),
    ):
        driver = FakeDriver()
        chosen = plan(Transfer.whole(space, fields, zcm.name, "<F, x, y>", fbm.name, destination), made)
        assert [hop.kind for hop in chosen.hops] == [kind]
        with engine(driver, made, tmp_path) as running:
            running.run(chosen, verify=False)
            assert {name: driver.calls[name] for name in ("copy", "copy_2d", "launch") if driver.calls[name]} == calls
            assert running.run(chosen).verified
