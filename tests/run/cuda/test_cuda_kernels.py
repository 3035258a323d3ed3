"""Kernels for GPUs, proven without one: the PTX that NVRTC emits, executed on this processor, against NumPy.

This shows which bytes are moved, and that barriers are where they are needed. It cannot show the weak memory order of a device,
what happens inside a warp, or speed.
"""

from __future__ import annotations

import itertools
import random
import re
import time
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from kernel_geometries import Geometry, geometries, pitched
from kernel_traffic import sparse
from ptx_executor import Executor, FaultError
from ptx_program import Program, programs

from isoviz.backends.cuda.kernels import KernelSource, kernels_of, nvrtc
from isoviz.backends.cuda.kernels.choose_kernels import tile_shape
from isoviz.backends.cuda.kernels.compile_kernels import resources
from isoviz.backends.cuda.kernels.field_parts import group_of
from isoviz.layouts import Box, FieldSpace, IndexSpace, Layout, StridedCopy, View, apply, strided_copies

SEED = 20261125
BATCH = 25
"""Kernels that are compiled together: NVRTC needs a third of the time."""


def planned(cases: Iterable[Geometry]) -> list[tuple[Geometry, list[KernelSource]]]:
    """Every fifth geometry as it is, which makes it one of any shape because it is small; the others as if they were large."""
    return [
        (case, kernels_of(case.copies, *case.alignments, small=10**9 if number % 5 == 4 else 0))
        for number, case in enumerate(cases)
    ]


def in_batches(kernels: Iterable[KernelSource]) -> list[str]:
    distinct = list({kernel.name: kernel.code for kernel in kernels}.values())
    return ["\n".join(distinct[first : first + BATCH]) for first in range(0, len(distinct), BATCH)]


def decoded(kernels: Iterable[KernelSource]) -> dict[str, Program]:
    """The kernels, compiled for one architecture after the other."""
    found: dict[str, Program] = {}
    for text, architecture in zip(
        in_batches(kernels), itertools.cycle(("compute_80", "compute_90", "compute_100")), strict=False
    ):
        found |= programs(nvrtc.compiled(text, architecture)[0].decode())
    return found


def problem(
    executor: Executor, case: Geometry, kernels: list[KernelSource], found: dict[str, Program], seed: int, *, races: bool = True
) -> str:
    """What is wrong with the kernels of a geometry; empty if nothing is."""
    rng = np.random.default_rng(seed)
    source, destination = case.arrays(rng)
    expected = destination.copy()
    apply(case.copies, source, expected)
    before = source.copy()
    stored = np.zeros(destination.size, np.uint8)
    for kernel in random.Random(seed).sample(kernels, len(kernels)):
        grid = kernel.grid[0] if seed % 2 else int(rng.integers(1, kernel.grid[0] + 1))
        try:
            executor.launch(
                found[kernel.name], source, destination, kernel.arguments, grid, seed=seed, races=races, stored=stored
            )
        except FaultError as fault:
            return str(fault)
    if not np.array_equal(source, before):
        return "the source changed"
    wrong = np.flatnonzero(destination != expected)
    return f"{wrong.size} bytes are wrong, the first at {wrong[0]}" if wrong.size else ""


@pytest.fixture(scope="module")
def cases(full: bool) -> list[tuple[Geometry, list[KernelSource]]]:
    return planned(geometries(1002 if full else 12, SEED))


@pytest.mark.full
def test_random_geometries(executor: Executor, cases, report: Callable[[str, object], None]) -> None:
    """At most 60 seconds of this process for 1,000 geometries on a computer that does nothing else; not asserted."""
    begin = time.process_time()
    kernels = [kernel for _, several in cases for kernel in several]
    found = decoded(kernels)
    for number, (case, several) in enumerate(cases):
        assert sum(kernel.nbytes for kernel in several) == sum(copy.nbytes for copy in case.copies)
        wrong = problem(executor, case, several, found, number)
        assert not wrong, f"geometry {number}: {wrong}: {case}"
    kinds = [name.split("_")[1] for name in found]
    report("geometries moved by GPU kernels, executed on the processor", len(cases))
    report("different kernels", f"{len(found)} ({', '.join(f'{kinds.count(k)} {k}' for k in sorted(set(kinds)))})")
    report("seconds of processor time for them", f"{time.process_time() - begin:.1f}")
    assert set(kinds) == {"any", "units", "slots", "tiles"}


def test_small_elements_are_sorted_in_registers(executor: Executor, full: bool, report) -> None:
    """Transpositions of bytes and pairs of bytes whose rows begin at multiples of 16, and end anywhere."""
    rng = random.Random(SEED)
    cases = []
    while len(cases) < (100 if full else 2):
        (copy,) = pitched(rng)
        sizes = [copy[end] + copy.run + sum((loop[0] - 1) * loop[1 + end] for loop in copy.loops) for end in (0, 1)]
        case = Geometry((copy,), (sizes[0], sizes[1]), (16, 16))
        kernels = kernels_of(case.copies, *case.alignments, small=0)
        if "sorted<1>(words" in kernels[0].code or (len(cases) % 3 == 0 and "sorted<2>(words" in kernels[0].code):
            cases.append((case, kernels))
    found = decoded(kernel for _, several in cases for kernel in several)
    for number, (case, several) in enumerate(cases):
        wrong = problem(executor, case, several, found, number)
        assert not wrong, f"{wrong}: {case}"
    report("geometries moved by GPU kernels, executed on the processor", len(cases))


@pytest.mark.full
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_every_kernel_compiles_without_spills(needs_nvrtc: None, cases, architecture: str, report) -> None:
    kernels = [kernel for _, several in cases for kernel in several]
    found = {}
    for text in in_batches(kernels):
        found |= resources(nvrtc.compiled(text, architecture, ("--ptxas-options=-v",))[1])
    assert len(found) == len({kernel.name for kernel in kernels})
    assert {name: each for name, each in found.items() if each.spills or each.stack} == {}
    report(
        f"kernels compiled for {architecture} without spills (most registers)", f"{len(found)} ({max(found.values()).registers})"
    )


# ---- mistakes that the proof has to notice


def copies_between(source: str, destination: str, fields: dict[str, str], **sizes: int) -> Geometry:
    space, kept = IndexSpace.of(sizes), FieldSpace.of(fields)
    a, b = (Layout(text).on(space, kept) for text in (source, destination))
    copies = strided_copies(View(a), View(b), Box((0,) * len(space), tuple(space.sizes)))
    return Geometry(tuple(copies), (a.nbytes, b.nbytes), (16, 16))


TRANSPOSED = ("<F, x, y>", "<F, y, x>", {"f": "<f4"})
PLANTED = {
    "a missing barrier": (TRANSPOSED, {"x": 64, "y": 64}, r"__syncthreads\(\);", ""),
    "a barrier for a part of the threads": (
        TRANSPOSED,
        {"x": 64, "y": 64},
        r"__syncthreads\(\);",
        "if (threadIdx.x < 200) __syncthreads();",
    ),
    "swapped indices": (TRANSPOSED, {"x": 64, "y": 64}, r"(t1) \* (\d+) \+ ([tc]0) \* (\d+)", r"\1 * \4 + \3 * \2"),
    "one unit too many": (
        ("<F, x_in=3, x_out>", "<F, x_in=3, x_out>", {"f": "<f4"}),
        {"x": 999},
        r"total = (\d+)u",
        r"total = 1 + \1u",
    ),
    "one row too many": (TRANSPOSED, {"x": 70, "y": 100}, r"(e0 = k0 == \d+ \? \d+)", r"\1 + 1"),
}


@pytest.mark.parametrize("mistake", PLANTED)
@pytest.mark.parametrize("races", [pytest.param(False, marks=pytest.mark.full), True], ids=["by the bytes", "by the accesses"])
@pytest.mark.few(3)
@pytest.mark.few(1)
def test_planted_mistakes_are_caught(executor: Executor, mistake: str, races: bool) -> None:
    """Also without looking at accesses of shared memory, where wrong bytes alone tell."""
    geometry, sizes, pattern, replacement = PLANTED[mistake]
    case = copies_between(*geometry, **sizes)
    (kernel,) = kernels_of(case.copies, *case.alignments, small=0)
    wrong, count = re.subn(pattern, replacement, kernel.code, count=1)
    assert count == 1 and wrong != kernel.code
    for code, is_right in ((kernel.code, True), (wrong, False)):
        found = decoded([kernel._replace(code=code)])
        for seed in range(6):
            said = problem(executor, case, [kernel], found, seed, races=races)
            assert (said == "") is is_right, f"seed {seed}: {said or 'not noticed'}"


# ---- banks, large arrays


@pytest.mark.parametrize(
    ("source", "destination", "fields", "sizes"),
    [
        ("<F, x, y>", "<F, y, x>", {"f": "u1"}, {"x": 128, "y": 128}),
        ("<F, x, y>", "<F, y, x>", {"f": "<i2"}, {"x": 64, "y": 64}),
        ("<F, x, y>", "<F, y, x>", {"f": "<f4"}, {"x": 64, "y": 64}),
        ("<F, x, y>", "<F, y, x>", {"f": "<f8"}, {"x": 64, "y": 64}),
        ("<F, x, y>", "<F, y, x>", {"f": "<c16"}, {"x": 64, "y": 64}),
        ("<F, x>", "<x, F>", {"a": "<f4", "b": "<f4", "c": "<f4", "d": "<f4"}, {"x": 1024}),
        ("<x, F>", "<F, x>", {"a": "<f4", "b": "<f4", "c": "<f4", "d": "<f4"}, {"x": 1024}),
        ("<F, x>", "<x, F>", {"a": "<f4", "b": "<f8", "c": "<f4"}, {"x": 1024}),
        ("<x, F>", "<F, x>", {"a": "<f4", "b": "<f8", "c": "<f4"}, {"x": 1024}),
    ],
)
@pytest.mark.few(3)
def test_no_bank_conflicts(executor: Executor, source: str, destination: str, fields, sizes, report) -> None:
    """Counted from the accesses of the executed kernel: a warp's access takes one turn."""
    case = copies_between(source, destination, fields, **sizes)
    (kernel,) = kernels_of(case.copies, *case.alignments, small=0)
    here, there = case.arrays(np.random.default_rng(0))
    program = decoded([kernel])[kernel.name]
    assert executor.launch(program, here, there, kernel.arguments, kernel.grid[0], counts=True).turns <= 1.05


LARGE = 2**31 + 70_001
LARGE_COPIES = {  # with the number of iterations of each loop, the last ones, that are looked at
    "units": (StridedCopy(0, 0, 1, ((LARGE, 2, 1),)), 3),
    "slots": (StridedCopy(3, 5, LARGE, ((2, LARGE + 1, LARGE + 2),)), 1),
    "tiles": (StridedCopy(0, 0, 1, ((50_003, 1, 50_021), (50_021, 50_003, 1))), 3),
}


@pytest.mark.parametrize("kind", LARGE_COPIES)
@pytest.mark.few(1)
def test_more_elements_than_32_bits_count(executor: Executor, kind: str) -> None:
    """The block that moves the last element, and some others: what they wrote is right at the very end of the arrays."""
    copy, last_ones = LARGE_COPIES[kind]
    (kernel,) = kernels_of([copy], 16, 16, small=0)
    assert kernel.name.split("_")[1] == kind and copy.nbytes > 2**31
    sizes = [copy[end] + copy.run + sum((loop[0] - 1) * loop[1 + end] for loop in copy.loops) for end in (0, 1)]
    corner = copy._replace(run=min(copy.run, 200), loops=tuple((last_ones, *loop[1:]) for loop in copy.loops))
    starts = [sizes[end] - corner.run - sum((loop[0] - 1) * loop[1 + end] for loop in corner.loops) for end in (0, 1)]
    corner = corner._replace(source_offset=0, destination_offset=0)
    (held, source), (other, destination) = map(sparse, sizes)
    rng = np.random.default_rng(1)
    source[starts[0] :] = rng.integers(1, 256, source[starts[0] :].size)
    steps = int(re.search(r"(?:total =|tile <) (\d+)u", kernel.code)[1])  # type: ignore[index]
    last = (steps - 1) // (1 if kind == "tiles" else 256) % kernel.grid[0]
    blocks = np.unique([0, last, (last - 1) % kernel.grid[0], 12_345])
    program = decoded([kernel])[kernel.name]
    executor.launch(program, source, destination, kernel.arguments, kernel.grid[0], blocks=blocks, once=False, races=False)
    expected, got = (np.zeros(sizes[1] - starts[1], np.uint8) for _ in range(2))
    apply([corner], source[starts[0] :], expected)
    apply([corner._replace(loops=tuple((n, there, there) for n, _, there in corner.loops))], destination[starts[1] :], got)
    assert np.array_equal(got, expected) and expected.any()
    del source, destination
    held.close()
    other.close()


FAR, FAR_ROWS, WIDTH = 1 << 30, 16, 1000
FAR_COPIES = {  # rows of elements that lie 1 GiB apart at one end, and are columns at the other one
    "source": StridedCopy(0, 0, 4, ((WIDTH, 4, 4 * FAR_ROWS), (FAR_ROWS, FAR, 4))),
    "destination": StridedCopy(0, 0, 4, ((FAR_ROWS, 4, FAR), (WIDTH, 4 * FAR_ROWS, 4))),
}


@pytest.mark.parametrize("end", FAR_COPIES)
def test_rows_of_a_tile_may_lie_gigabytes_apart(executor: Executor, end: str) -> None:
    """The number of a row inside a tile, times its stride, needs more than 32 bits. The arrays have pages only where rows lie."""
    copy = FAR_COPIES[end]
    (kernel,) = kernels_of([copy], 256, 256, small=0)
    shape = tile_shape(group_of([copy], near_is_source=True), 256, 256)
    assert kernel.name.split("_")[1] == "tiles" and shape is not None
    strides = shape.near.strides if end == "source" else shape.far[0].strides
    assert (shape.tile[strides.index(FAR)] - 1) * FAR >= 1 << 32
    sizes = [copy.run + sum((loop[0] - 1) * loop[1 + end] for loop in copy.loops) for end in (0, 1)]
    (held, source), (other, destination) = map(sparse, sizes)
    rows = np.random.default_rng(1).integers(1, 256, (FAR_ROWS, 4 * WIDTH), dtype=np.uint8)
    columns = np.ascontiguousarray(rows.view("u4").T).reshape(-1).view(np.uint8)
    places = [slice(number * FAR, number * FAR + 4 * WIDTH) for number in range(FAR_ROWS)]
    if end == "source":
        for place, row in zip(places, rows, strict=True):
            source[place] = row
    else:
        source[:] = columns
    program = decoded([kernel])[kernel.name]
    executor.launch(program, source, destination, kernel.arguments, kernel.grid[0], once=False, races=False)
    if end == "source":
        assert np.array_equal(destination, columns)
    else:
        assert all(np.array_equal(destination[place], row) for place, row in zip(places, rows, strict=True))
    del source, destination
    held.close()
    other.close()
