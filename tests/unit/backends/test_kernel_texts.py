"""Kernels for GPUs as texts: which kind a geometry gets, how wide its accesses are, and what copies of equal shape share."""

from __future__ import annotations

import math
import re
import subprocess
import sys

import pytest

from isoviz.backends.cuda.kernels import KernelSource, kernels_of
from isoviz.backends.cuda.kernels.choose_kernels import SMALL
from isoviz.errors import LayoutError
from isoviz.layouts import Box, FieldSpace, IndexSpace, Layout, StridedCopy, View, strided_copies


def kernels_between(source: str, destination: str, fields: dict[str, str], **sizes: int) -> list[KernelSource]:
    space, kept = IndexSpace.of(sizes), FieldSpace.of(fields)
    views = [View(Layout(text).on(space, kept)) for text in (source, destination)]
    return kernels_of(strided_copies(*views, Box((0,) * len(space), tuple(space.sizes))), 256, 256, small=0)


def kind(kernel: KernelSource) -> str:
    return kernel.name.split("_")[1]


def test_offsets_are_arguments() -> None:
    loops = ((100, 64, 640),)
    one, other = (kernels_of([StridedCopy(here, there, 32, loops)], 16, 16, small=0)[0] for here, there in ((0, 0), (4096, 16)))
    assert (one.name, one.code) == (other.name, other.code)
    assert (one.arguments, other.arguments) == ((0, 0), (4096, 16))


@pytest.mark.parametrize("offset", range(1, 17))
def test_widest_access_that_alignment_allows(offset: int) -> None:
    (kernel,) = kernels_of([StridedCopy(offset, 0, 32, ((100, 64, 640),))], 16, 16, small=0)
    assert kind(kernel) == "units"
    assert f"load_part<{min(16, offset & -offset)}>" in kernel.code


@pytest.mark.parametrize(("source", "destination", "width"), [(3, 3, 16), (3, 7, 4), (3, 11, 8), (2, 4, 2), (2, 3, 1)])
def test_long_runs_at_odd_places_move_whole_slots(source: int, destination: int, width: int) -> None:
    """Slots are loaded across the boundaries of the source, shifted by multiples of what divides the distance of both ends."""
    (kernel,) = kernels_of([StridedCopy(source, destination, 4096)], 16, 16, small=0)
    unit = math.gcd(source, destination, 16)
    assert kind(kernel) == "slots" and f"load_across<{width}>" in kernel.code and f"store_some<{unit}>" in kernel.code


@pytest.mark.parametrize("alignment", [1, 2, 4, 8])
def test_alignment_of_the_stores_counts(alignment: int) -> None:
    (kernel,) = kernels_of([StridedCopy(0, 0, 32, ((100, 64, 640),))], alignment, 256, small=0)
    assert f"load_part<{alignment}>" in kernel.code


def test_transposition_goes_through_shared_memory() -> None:
    (kernel,) = kernels_between("<F, x, y>", "<F, y, x>", {"f": "<f4"}, x=1000, y=700)
    assert kind(kernel) == "tiles" and kernel.code.count("__syncthreads") == 2
    assert kernel.grid == (16 * 22, 1, 1)


@pytest.mark.parametrize(("source", "destination"), [("<F, x, y>", "<x, y, F>"), ("<x, y, F>", "<F, y, x>")])
def test_fields_of_one_array_of_structs_share_a_kernel(source: str, destination: str) -> None:
    fields = {"a": "<f4", "b": "<f8", "c": "u1", "d": "<f4", "e": "<f4"}
    (kernel,) = kernels_between(source, destination, fields, x=300, y=200)
    assert kind(kernel) == "tiles" and len(kernel.arguments) == 2 * 5
    assert kernel.nbytes == 21 * 300 * 200


def test_fields_that_leave_holes_at_the_destination_do_not() -> None:
    """A slot that holds bytes of other fields cannot be written as a whole."""
    copies = [StridedCopy(0, 0, 4, ((1000, 4, 16),)), StridedCopy(4000, 4, 8, ((1000, 8, 16),))]
    assert len(kernels_of(copies, 256, 256, small=0)) == 2
    assert len(kernels_of([copy.reversed() for copy in copies], 256, 256, small=0)) == 1


def test_bytes_are_conserved() -> None:
    kernels = kernels_between("<F, x_in=5, y, x_out>", "<y, F, x>", {"a": "<f4", "b": "S3"}, x=103, y=41)
    assert sum(kernel.nbytes for kernel in kernels) == 7 * 103 * 41


@pytest.mark.parametrize("elements", [2**20, 2**29 - 1, 2**29, 2**33])
def test_counters_are_wide_enough(elements: int) -> None:
    (kernel,) = kernels_of([StridedCopy(0, 0, 1, ((elements, 2, 1),))], 16, 16, small=0)
    wide = "typedef unsigned long long counter" in kernel.code
    assert wide is (elements >= 2**29) and kernel.grid[0] <= 65536


def test_small_kernels_have_small_grids() -> None:
    (kernel,) = kernels_of([StridedCopy(0, 0, 5)], 16, 16, small=0)
    assert kernel.grid == (1, 1, 1) and kernel.block == (256, 1, 1)


@pytest.mark.parametrize("copy", [StridedCopy(0, 0, 0), StridedCopy(0, 0, 4, ((0, 4, 4),))])
def test_empty_copies(copy: StridedCopy) -> None:
    with pytest.raises(LayoutError, match=r"kernels: copy .*expected a run and extents of at least 1"):
        kernels_of([copy], 16, 16, small=0)


@pytest.mark.parametrize("copy", [StridedCopy(-1, 0, 4), StridedCopy(0, -4, 4)])
def test_negative_offsets(copy: StridedCopy) -> None:
    with pytest.raises(LayoutError, match=r"kernels: offsets -?\d+ and -?\d+; expected at least 0"):
        kernels_of([copy], 16, 16, small=0)


def test_some_fields_of_an_array_of_structs_are_read_with_the_others() -> None:
    """Three floats of four: whole lines are read, and each field is written for itself."""
    (kernel,) = kernels_of([StridedCopy(0, 0, 4, ((3, 4, 40000), (10000, 16, 4)))], 256, 256, small=0)
    assert kind(kernel) == "tiles" and len(kernel.arguments) == 6


def test_pieces_of_two_loops_that_are_transposed() -> None:
    """The fastest loop is the same at both ends, and its three neighbours are too few to make up for the others."""
    loops = ((100, 1600, 12), (100, 16, 1200), (3, 4, 4))
    assert kind(kernels_of([StridedCopy(0, 0, 2, loops)], 256, 256, small=0)[0]) == "tiles"
    assert kind(kernels_of([StridedCopy(0, 0, 2, (*loops[:2], (64, 4, 4)))], 256, 256, small=0)[0]) == "units"


def test_wrong_alignments() -> None:
    with pytest.raises(LayoutError, match="alignments 0 and 16; expected at least 1 byte"):
        kernels_of([], 0, 16, small=0)


def test_strides_of_zero_and_below_go_straight() -> None:
    """Neither has an order in which a tile would be contiguous."""
    for strides in ((0, 4), (-4, 4)):
        copy = StridedCopy(400, 0, 4, ((10, 4, 400), (100, *strides)))
        assert kind(kernels_of([copy], 16, 16, small=0)[0]) == "units"


def test_texts_stand_alone() -> None:
    for kernel in kernels_between("<F, x, y>", "<y, x, F>", {"a": "<f4", "b": "<i2"}, x=64, y=64):
        assert "#include" not in kernel.code
        assert re.search(rf'extern "C" __global__ void .*\n{kernel.name}\(const b1\* __restrict__ source', kernel.code)


def test_nothing_of_a_gpu_is_loaded() -> None:
    code = "import sys, isoviz.backends.cuda.kernels as k; k.kernels_of([], 1, 1, small=0); sys.exit('cupy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_small_copies_share_kernels_of_any_shape() -> None:
    """Blocks that do not nest are many shapes; what is large among them has kernels of its own."""
    kernels = kernels_between("<F, x_0=4, y_0=5, x_1, y_1>", "<F, y_0=7, x_0=6, y_1, x_1>", {"f": "<f4"}, x=1999, y=997)
    assert len({kernel.code for kernel in kernels}) > 25
    space, fields = IndexSpace.of({"x": 1999, "y": 997}), FieldSpace.of({"f": "<f4"})
    views = [View(Layout(text).on(space, fields)) for text in ("<F, x_0=4, y_0=5, x_1, y_1>", "<F, y_0=7, x_0=6, y_1, x_1>")]
    kernels = kernels_of(strided_copies(*views, Box((0, 0), (1999, 997))), 256, 256)
    assert sum(kernel.nbytes for kernel in kernels) == 4 * 1999 * 997
    assert len({kernel.code for kernel in kernels if kind(kernel) == "any"}) < 12
    assert {kind(kernel) for kernel in kernels if kernel.nbytes < SMALL} == {"any"}


def test_offsets_are_moved_and_numbers_are_not() -> None:
    one, other = (kernels_of([StridedCopy(at, at, 4, ((10, 8, 4),))], 16, 16)[0] for at in (0, 160))
    assert one.copies == 1 and one.arguments == (0, 0, 10, 1, 4, 4, 10, 8, 4)
    assert other == one.moved(160, 160) and other.arguments == (160, 160, 10, 1, 4, 4, 10, 8, 4)
