"""Layouts hold what DESIGN promises, for random spaces, fields and layouts, ragged blocks included."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from layout_cases import field_spaces, layouts, linearizations, pairs, points, spaces, walk

from isoviz.layouts import (
    FIELDS,
    Box,
    ChunkSequence,
    FieldsComponent,
    IndexSpace,
    Layout,
    Linearization,
    Mode,
    View,
    apply,
    compare,
    strided_copies,
    view_of_array,
)

Report = Callable[[str, object], None]
CASES = "property cases of layouts"


@given(lin=linearizations())
def test_offsets_follow_the_definition(report: Report, lin: Linearization) -> None:
    report(CASES, 1)
    walked = walk(lin)
    taken: set[int] = set()
    for offset, cell in walked:
        if cell is None:
            assert lin.locate(offset) is None
            continue
        index, field = cell
        size = lin.fields.sizes[lin.fields.index(field)]
        assert lin.offset(index, field) == offset
        assert offset + size <= lin.nbytes
        assert taken.isdisjoint(range(offset, offset + size))
        taken.update(range(offset, offset + size))
    assert len(taken) == lin.payload
    assert lin.is_padded == any(cell is None for _, cell in walked)
    assert lin.is_padded or taken == set(range(lin.nbytes))
    assert list(lin.order()) == [cell for _, cell in walked if cell is not None]


@given(lin=linearizations())
def test_inverse_and_vectors_agree_with_scalars(report: Report, lin: Linearization) -> None:
    report(CASES, 1)
    grid = np.meshgrid(*(np.arange(size) for size in lin.space.sizes), indexing="ij", sparse=True)
    for field, size in zip(lin.fields.names, lin.fields.sizes, strict=True):
        vector = lin.offsets(grid, field)
        total = np.asarray(lin.field_base(field))
        for axis, dim in enumerate(lin.space):
            shape = [1] * len(lin.space)
            shape[axis] = -1
            total = total + lin.dim_offsets(dim, field).reshape(shape)
        assert (vector == total).all()
        for index in points(lin.space):
            offset = int(vector[index])
            assert offset == lin.offset(index, field) == lin.offset(dict(zip(lin.space.dims, index, strict=True)), field)
            for byte in {0, size - 1}:
                found = lin.locate(offset + byte)
                assert found is not None
                assert (found.index, found.field, found.byte) == (index, field, byte)


@given(data=st.data(), padded=st.booleans())
def test_equal_normal_forms_are_equal_linearizations(report: Report, data: st.DataObject, padded: bool) -> None:
    report(CASES, 1)
    space, fields = data.draw(spaces(dims=data.draw(st.integers(1, 2)))), data.draw(field_spaces())
    a, b = (data.draw(layouts(space, padded=padded)).on(space, fields) for _ in range(2))
    same = all(a.offset(index, field) == b.offset(index, field) for index in points(space) for field in fields)
    if a.same_as(b):
        assert same
        assert a.nbytes == b.nbytes
    if not (a.is_padded or b.is_padded):
        assert a.same_as(b) == same


@given(pair=pairs(padded=False))
def test_prefix_and_suffix_are_those_of_the_definition(report: Report, pair: tuple[Linearization, Linearization]) -> None:
    report(CASES, 1)
    a, b = pair
    here = [cell for _, cell in walk(a)]
    there = [cell for _, cell in walk(b)]
    place = {cell: i for i, cell in enumerate(there)}
    count = len(here)
    # The longest run that all neighbours in one layout, cut at its multiples, have in the other.
    breaks = [i for i in range(1, count) if place[here[i]] != place[here[i - 1]] + 1]
    run = math.gcd(count, *breaks)
    found = compare(a, b)
    elements = found.prefix_count * (len(a.fields) if FIELDS in found.prefix else 1)
    assert elements == run
    # The smallest blocks that hold the same elements in the same order of blocks.
    block = next(
        size
        for size in range(1, count + 1)
        if count % size == 0 and all(set(here[i : i + size]) == set(there[i : i + size]) for i in range(0, count, size))
    )
    assert count // found.suffix_count == block
    sizes = [a.fields.sizes[a.fields.index(cell[1])] for cell in here if cell is not None]
    assert found.run_bytes == pytest.approx(run * a.fields.nbytes / len(a.fields))
    assert found.shuffle_bytes == max(sum(sizes[i : i + block]) for i in range(0, count, block))
    back = compare(b, a)
    assert (back.run_bytes, back.shuffle_bytes) == (found.run_bytes, found.shuffle_bytes)


Atom = tuple[str, int, int | None]  # dimension, first step, the step where it turns over (None: the last of its dimension)


def refined(lin: Linearization, steps: dict[str, set[int]]) -> list[Atom | str]:
    """A layout split at every step that either layout has, extents of 1 left out; `F` first where it is one field."""
    found: list[Atom | str] = ["F"] if len(lin.fields) == 1 else []
    for part in lin.parts:
        if isinstance(part, FieldsComponent):
            found += ["F"] if len(lin.fields) > 1 else []
            continue
        size = lin.space[part.dim]
        end = None if part.top else part.step * part.extent
        cuts = sorted(step for step in steps[part.dim] if step > part.step and step < (end or size))
        for low, high in itertools.pairwise([part.step, *cuts, end]):
            if low < size and low != high:
                found.append((part.dim, low, None if high == size else high))
    return found


def joined(atoms: list[Atom | str]) -> list[Atom | str]:
    """Atoms of one dimension that follow each other, as one."""
    found: list[Atom | str] = []
    for atom in atoms:
        last = found[-1] if found else "F"
        if atom != "F" and last != "F" and (last[0], last[2]) == (atom[0], atom[1]):
            found[-1] = (atom[0], last[1], atom[2])
        else:
            found.append(atom)
    return found


def allocated(lin: Linearization, dim: str) -> int:
    return math.prod(part.extent for part in lin.parts if isinstance(part, Mode) and part.dim == dim)


def common_prefix(a: Linearization, b: Linearization, here: list[Atom | str], there: list[Atom | str]) -> tuple[int, bool]:
    """Elements that follow each other in both, and whether `F` is among them."""
    shared: list[Atom | str] = []
    for x, y in zip(here, there, strict=False):
        if x != y:
            break
        shared.append(x)
        if x != "F" and x[2] is None and allocated(a, x[0]) != allocated(b, x[0]):
            break  # padded on one side only: what follows is not a neighbour on both
    count = 1
    for atom in joined(shared):
        if atom != "F":
            dim, low, high = atom
            last = min(allocated(a, dim), allocated(b, dim)) // low
            same = allocated(a, dim) == allocated(b, dim)
            count *= high // low if high else last if same else min(last, -(-a.space[dim] // low))
    return count, "F" in shared


def common_suffix(a: Linearization, b: Linearization, here: list[Atom | str], there: list[Atom | str]) -> int:
    """Blocks that come in the same order in both (times the fields, where `F` is slow)."""
    tail = 0
    while tail < min(len(here), len(there)) and here[-1 - tail] == there[-1 - tail]:
        tail += 1
    count = 1
    for atom in joined(here[len(here) - tail :]):
        if atom == "F":
            count *= len(a.fields)
        else:
            dim, low, high = atom
            same = allocated(a, dim) == allocated(b, dim)
            count *= high // low if high else allocated(a, dim) // low if same else -(-a.space[dim] // low)
    return count


@given(pair=pairs())
def test_prefix_and_suffix_of_ragged_blocks(report: Report, pair: tuple[Linearization, Linearization]) -> None:
    """The definition in words: split both where the other is split, and take what the two lists share."""
    a, b = pair
    steps = {
        dim: {part.step for lin in pair for part in lin.parts if isinstance(part, Mode) and part.dim == dim} for dim in a.space
    }
    for dim, found in steps.items():  # blocks that nest, digits in order: there the words leave no choice
        chain = sorted(step for step in found if step < a.space[dim])
        assume(all(high % low == 0 for low, high in itertools.pairwise(chain)))
        for lin in pair:
            written = [part.step for part in lin.parts if isinstance(part, Mode) and part.dim == dim]
            assume(written == sorted(written))
    report(CASES, 1)
    here, there = refined(a, steps), refined(b, steps)
    found = compare(a, b)
    count, fields = common_prefix(a, b, here, there)
    assert found.run_bytes == pytest.approx(count * a.fields.nbytes / (1 if fields else len(a.fields)))
    assert found.suffix_count == common_suffix(a, b, here, there)


@given(pair=pairs())
def test_with_padding_the_prefix_is_common_from_the_start(report: Report, pair: tuple[Linearization, Linearization]) -> None:
    report(CASES, 1)
    a, b = pair
    found = compare(a, b)
    elements = found.prefix_count * (len(a.fields) if FIELDS in found.prefix else 1)
    here, there = ([cell for _, cell in walk(lin)[:elements]] for lin in (a, b))
    assert here == there
    assert found.shuffle_bytes <= max(a.nbytes, b.nbytes)


@given(data=st.data())
def test_copies_of_boxes_equal_conversion_by_offsets(report: Report, data: st.DataObject) -> None:
    report(CASES, 1)
    fields = data.draw(field_spaces())
    shape = data.draw(spaces())
    ends = []
    for _ in range(2):  # each end is an instance of its own size, in which the box begins somewhere
        margins = {dim: (data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))) for dim in shape}
        dims = data.draw(st.permutations(shape.dims))
        space = IndexSpace.of({dim: margins[dim][0] + shape[dim] + margins[dim][1] for dim in dims})
        order = data.draw(st.permutations(fields.names))
        lin = data.draw(layouts(space)).on(space, fields.subset(order))
        ends.append(View(lin, tuple(margins[dim][0] for dim in dims), base=data.draw(st.integers(0, 5))))
    source, destination = ends
    names = data.draw(st.permutations(fields.names))[: data.draw(st.integers(1, len(fields)))]
    dims = source.dims
    box = Box(
        lo := tuple(data.draw(st.integers(0, shape[dim])) for dim in dims),
        tuple(data.draw(st.integers(low, shape[dim])) for low, dim in zip(lo, dims, strict=True)),
    )
    _check_copy(source, destination, box, names)


def _check_copy(source: View, destination: View, box: Box, names: list[str]) -> None:
    a, b = source.linearization, destination.linearization
    given = np.random.default_rng(0).integers(0, 255, source.base + a.nbytes, dtype=np.uint8)
    found = np.full(destination.base + b.nbytes, 255, np.uint8)
    expected = found.copy()
    for local in np.ndindex(*box.shape):
        at = {dim: int(i) + lo for dim, i, lo in zip(source.dims, local, box.lo, strict=True)}
        here, there = (
            {dim: at[dim] + origin for dim, origin in zip(view.dims, view.origin, strict=True)} for view in (source, destination)
        )
        for name in names:
            size = a.fields.sizes[a.fields.index(name)]
            i, j = source.base + a.offset(here, name), destination.base + b.offset(there, name)
            expected[j : j + size] = given[i : i + size]
    copies = strided_copies(source, destination, box, names)
    assert sum(copy.nbytes for copy in copies) == box.volume * sum(a.fields.sizes[a.fields.index(name)] for name in names)
    apply(copies, given, found)
    assert (found == expected).all()
    apply([copy.reversed() for copy in copies], found, back := np.zeros_like(given))
    apply(copies, back, again := np.full_like(found, 255))
    assert (again == expected).all()


@given(data=st.data(), pair=pairs())
def test_every_chunking_converts_the_whole(
    report: Report, data: st.DataObject, pair: tuple[Linearization, Linearization]
) -> None:
    report(CASES, 1)
    a, b = pair
    chunks = ChunkSequence(a, data.draw(st.integers(0, len(a.parts))), data.draw(st.integers(1, 7)))
    given = np.random.default_rng(1).integers(0, 255, a.nbytes, dtype=np.uint8)
    found = np.full(b.nbytes, 255, np.uint8)
    seen: set[tuple[tuple[int, ...], str]] = set()
    for chunk in chunks:
        # A chunk's bytes are one range of the layout: a slot that holds just these must do.
        slot = given[chunk.first_byte : chunk.first_byte + chunk.nbytes]
        for box, names in chunk.parts:
            moved = cells_of(box, names)
            assert seen.isdisjoint(moved)
            seen |= moved
            apply(strided_copies(View(a, base=-chunk.first_byte), View(b), box, names), slot, found)
    assert seen == set(itertools.product(points(a.space), a.fields))
    expected = np.full(b.nbytes, 255, np.uint8)
    apply(strided_copies(View(a), View(b), Box.whole(a.space)), given, expected)
    assert (found == expected).all()


def cells_of(box: Box, names: tuple[str, ...]) -> set[tuple[tuple[int, ...], str]]:
    ranges = [range(lo, hi) for lo, hi in zip(box.lo, box.hi, strict=True)]
    return set(itertools.product(itertools.product(*ranges), names))


@given(data=st.data(), lin=linearizations())
def test_chunks_are_equal_parts_of_the_walk(report: Report, data: st.DataObject, lin: Linearization) -> None:
    """The definition in words: the elements in the order of the layout, cut behind every so many blocks."""
    report(CASES, 1)
    outer = data.draw(st.integers(0, len(lin.parts)))
    chunks = ChunkSequence(lin, outer, data.draw(st.integers(1, 7) | st.integers(1, 300)))
    walked = walk(lin)
    inside = lin.parts[: len(lin.parts) - outer]
    block = math.prod(part.extent if isinstance(part, Mode) else len(lin.fields) for part in inside)
    starts = [offset for offset, _ in walked] + [lin.nbytes]
    assert chunks.blocks == len(walked) // block
    assert chunks.block_bytes == max(starts[i + block] - starts[i] for i in range(0, len(walked), block))
    step = chunks.per_chunk * block
    assert len(chunks) == len(range(0, len(walked), step))
    for first, chunk in zip(range(0, len(walked), step), chunks, strict=True):
        last = min(first + step, len(walked))
        expected = [cell for _, cell in walked[first:last] if cell is not None]
        parts = [cells_of(box, names) for box, names in chunk.parts]
        assert sum(map(len, parts)) == len(expected)
        assert set().union(*parts) == set(expected)
        assert len({box for box, _ in chunk.parts}) == len(chunk.parts), "fields that have one box come together"
        assert all(names == tuple(name for name in lin.fields if name in names) for _, names in chunk.parts)
        assert (chunk.first_byte, chunk.nbytes) == (starts[first], starts[last] - starts[first])
        assert chunk.payload_bytes == sum(lin.fields.sizes[lin.fields.index(name)] for _, name in expected)
        assert chunks.first_byte(chunk.index) == chunk.first_byte
    largest = max(chunk.nbytes for chunk in chunks)
    assert largest <= chunks.chunk_bytes <= min(chunks.per_chunk * chunks.block_bytes, lin.nbytes)
    if len(set(lin.fields.sizes)) == 1 or chunks.per_chunk == 1 or FIELDS in inside:
        assert chunks.chunk_bytes == largest


@given(lin=linearizations(), width=st.integers(0, 3))
def test_parsing_undoes_formatting(report: Report, lin: Linearization, width: int) -> None:
    report(CASES, 1)
    layout = lin.layout
    assert Layout(str(layout)) == layout
    assert Layout(layout.pretty) == layout
    spaced = str(layout)[1:-1].replace(", ", "," + " " * width).replace("=", " " * width + "=" + " " * width)
    assert Layout(f"{' ' * width}{spaced}{' ' * width}") == layout
    assert eval(repr(layout)) == layout


@given(data=st.data())
def test_strided_arrays_are_views(report: Report, data: st.DataObject) -> None:
    report(CASES, 1)
    axes = data.draw(st.integers(1, 4))
    shape = [data.draw(st.integers(1, 6)) for _ in range(axes)]
    pitched = [size + data.draw(st.integers(0, 3)) for size in shape]
    whole = np.random.default_rng(2).integers(0, 255, pitched, dtype=np.int16)
    array = whole[tuple(slice(size) for size in shape)].transpose(data.draw(st.permutations(range(axes))))
    names = [f"d{i}" for i in range(axes)]
    fastest = min((axis for axis in range(axes) if array.shape[axis] > 1), key=lambda axis: array.strides[axis], default=0)
    # An innermost axis of size 1 whose pitch is not 1 leaves gaps between elements, which only a field could describe.
    assume(array.size == 1 or array.strides[fastest] == array.itemsize)
    view = view_of_array(array, names)
    space = IndexSpace.of(dict(zip(names, array.shape, strict=True)))
    plain = Layout.row_major(*names).on(space, view.linearization.fields)
    found = np.zeros(array.size * 2, np.uint8)
    apply(strided_copies(view, View(plain), Box.whole(space)), whole.reshape(-1).view(np.uint8), found)
    assert (found.view(np.int16).reshape(array.shape) == array).all()
