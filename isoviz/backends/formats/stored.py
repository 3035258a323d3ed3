"""Instances in files: the index space, field space and layout of the bytes in a `.npy` or raw file.

A layout lists its components in storage order, fastest first. For a C-order file of shape (n, m), `<F, x, y>` has x along the
last axis. For a Fortran-order file it has x along the first axis, which is the fastest there. Written files are in C order, and
their axes are the digits of the layout (`isoviz.backends.formats.records.array_of`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from isoviz.backends.formats.npy import NpyHeader, header_bytes, is_npy, read_header
from isoviz.backends.formats.records import Record, array_of
from isoviz.errors import FileError
from isoviz.layouts import FIELDS, Component, FieldSpace, IndexSpace, Layout, Linearization
from isoviz.layouts.array_order import default_dims
from isoviz.layouts.dtypes import dtype_text, is_added
from isoviz.layouts.modes import Mode
from isoviz.regular_files import open_for_reading


@dataclass(frozen=True)
class Stored:
    """An instance in a file; its data begin at byte `data_offset`."""

    path: Path
    space: IndexSpace
    record: Record
    layout: Layout
    data_offset: int

    @property
    def linearization(self) -> Linearization:
        """The order of all bytes in the file, including gaps between fields."""
        return self.layout.on(self.space, self.record.stored)


def stored_array(
    path: str | Path,
    layout: Layout | None = None,
    space: IndexSpace | None = None,
    fields: FieldSpace | None = None,
    header: NpyHeader | None = None,
) -> Stored:
    """The instance in a `.npy` file.

    `layout` defaults to the array's own, with axes named …, `z`, `y`, `x` (x the last). `space` defaults to the sizes that follow
    from the shape. `fields` default to those of the dtype, or to `f0`, `f1`, … where the fields form an axis.

    Raises:
        FileError: the file is no valid `.npy`, or layout, space or fields do not fit it.
    """
    path = Path(path)
    header = read_header(path) if header is None else header
    if layout is None:
        names = default_dims(len(header.shape))
        fastest_first = names if header.fortran_order else names[::-1]
        layout = Layout((FIELDS, *(Component(name) for name in fastest_first)))
    record, extents = _record_and_extents(path, header, layout, fields)
    if space is None:
        space = _space(layout, extents)
    lin = layout.on(space, record.stored)
    expected = tuple(part.extent for part in lin.parts if isinstance(part, Mode))
    if expected != extents:
        raise FileError(
            f"{path}: shape {header.shape} does not fit layout {layout} on ({space}):"
            f" its axes, fastest first, have {_list(extents)}; expected {_list(expected)}"
        )
    return Stored(path, space, record, layout, header.data_offset)


def _list(numbers: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, numbers))})"


def _space(layout: Layout, extents: tuple[int, ...]) -> IndexSpace:
    """The dimension sizes that follow from the extents of a layout's digits, assuming no ragged blocks."""
    found = dict.fromkeys(layout.dims, 1)
    digits = (part for part in layout.components if isinstance(part, Component))
    for digit, extent in zip(digits, extents, strict=True):
        found[digit.dim] *= extent
    return IndexSpace.of(found)


def _record_and_extents(
    path: Path, header: NpyHeader, layout: Layout, fields: FieldSpace | None
) -> tuple[Record, tuple[int, ...]]:
    """The fields of the file, and the extents of its digits, fastest first (without the axis of the fields)."""
    place = layout.components.index(FIELDS)
    digits = len(layout.components) - 1
    if header.dtype.names is not None:
        found = _struct(path, header, layout, place, digits)
    elif len(header.shape) == digits and (fields is None or len(fields) == 1):
        record = Record.of(header.dtype, str(path))
        if fields is not None:
            record = replace(record, stored=FieldSpace.of({fields.names[0]: header.dtype}), names=fields.names)
        found = record, header.extents
    elif len(header.shape) == digits + 1:
        count = header.extents[place]
        if fields is None:
            fields = FieldSpace.of({f"f{i}": header.dtype for i in range(max(count, 1))})
        if len(fields) != count:
            raise FileError(f"{path}: its axis of fields has length {count}, but {len(fields)} fields were given ({fields})")
        record = Record.of_fields(FieldSpace.of(dict.fromkeys(fields.names, header.dtype)))
        found = record, header.extents[:place] + header.extents[place + 1 :]
    else:
        raise FileError(
            f"{path}: shape {header.shape} has {len(header.shape)} axes, layout {layout} needs {digits} (or {digits + 1},"
            " one of them for fields of one type)"
        )
    _check_fields(path, found[0], fields)
    return found


def _struct(path: Path, header: NpyHeader, layout: Layout, place: int, digits: int) -> tuple[Record, tuple[int, ...]]:
    """A structured array: either `F` is fastest, or the components faster than `F` are sub-arrays."""
    if len(header.shape) == digits and (place == 0 or len(header.dtype.names or ()) == 1):
        record = Record.of(header.dtype, str(path))
        if len(record.names) > 1 and place:
            raise FileError(f"{path}: {header.dtype} keeps its fields together; layout {layout} does not (F must be the fastest)")
        if record.has_gaps and place:
            raise FileError(f"{path}: {header.dtype} has gaps between its fields; give its layout with F first")
        return record, header.extents
    if len(header.shape) != digits - place or header.fortran_order:
        raise FileError(
            f"{path}: shape {header.shape} of a struct does not fit layout {layout}: expected {digits} axes with F first,"
            f" or {digits - place} axes of a struct of arrays"
        )
    dtype = header.dtype
    assert dtype.names is not None and dtype.fields is not None
    formats: dict[str, np.dtype[Any]] = {}
    shapes = set()
    at = 0
    for name in dtype.names:
        found, start = dtype.fields[name][:2]
        base, shape = found.subdtype if found.subdtype is not None else (found, ())
        if len(shape) < place or start != at:
            raise FileError(f"{path}: {dtype} is not the struct of arrays that layout {layout} needs: see field {name!r}")
        shapes.add(shape[:place])
        formats[name] = np.dtype((base, shape[place:])) if shape[place:] else base
        at += found.itemsize
    if len(shapes) != 1 or at != dtype.itemsize:
        raise FileError(f"{path}: {dtype} is not the struct of arrays that layout {layout} needs: its arrays differ in shape")
    (outer,) = shapes
    return Record.of_formats(formats), (*outer[::-1], *header.extents)


def _check_fields(path: Path, record: Record, fields: FieldSpace | None) -> None:
    if fields is None or fields == record.stored:  # The caller knows the gaps.
        return
    if record.names != fields.names:
        raise FileError(f"{path}: has the fields {', '.join(record.names)}; expected {', '.join(fields.names)}")
    for name, found, expected in zip(record.names, record.fields.dtypes, fields.dtypes, strict=True):
        if found != expected and not _are_bytes_of(found, expected):
            raise FileError(f"{path}: field {name!r} is {dtype_text(found)}; expected {dtype_text(expected)}")


def _are_bytes_of(found: np.dtype[Any], expected: np.dtype[Any]) -> bool:
    """Whether one is plain bytes, and the other as many bytes for which a `.npy` has no name: a struct, bfloat16."""
    return found.itemsize == expected.itemsize and any(
        one.type is np.void and one.names is None and (other.type is np.void or is_added(other))
        for one, other in ((found, expected), (expected, found))
    )


def stored_raw(path: str | Path, layout: Layout, space: IndexSpace, fields: FieldSpace) -> Stored:
    """The instance in a raw file, which holds nothing but the data.

    Raises:
        FileError: the file is missing, or its size differs from that of the layout.
    """
    path = Path(path)
    descriptor, status = open_for_reading(path)
    os.close(descriptor)
    need = layout.on(space, fields).nbytes
    if status.st_size != need:
        word = "short" if status.st_size < need else "long"
        raise FileError(f"{path}: too {word}: {status.st_size} bytes; layout {layout} on ({space}) needs {need}")
    return Stored(path, space, Record.of_fields(fields), layout, 0)


def stored_as(path: str | Path, layout: Layout, space: IndexSpace, fields: FieldSpace) -> Stored:
    """The instance with these spaces and this layout in the file at `path`. Its name decides between `.npy` and raw.

    Raises:
        FileError: the file is missing, too short, or of another dtype or shape.
    """
    if is_npy(path):
        return stored_array(path, layout, space, fields)
    return stored_raw(path, layout, space, fields)


def new_header(path: str | Path, linearization: Linearization, record: Record) -> bytes:
    """The header of a new file: that of a `.npy`; empty for a raw file.

    Raises:
        FileError: a `.npy` cannot hold the data.
    """
    if not is_npy(path):
        return b""
    return header_bytes(*array_of(linearization.parts, record, str(path)))


def empty_array(header: NpyHeader, stored: Stored, target: Layout) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Dtype and shape of an empty array in another layout. `stored` is the same array with every extent 0 replaced by 1.

    Raises:
        FileError: the layout has blocks, which an empty dimension cannot have.
    """
    if any(len(digits) > 1 for layout in (stored.layout, target) for digits in layout.digits.values()):
        raise FileError(f"{stored.path}: is empty (shape {header.shape}); an empty array has no blocks")
    _, extents = _record_and_extents(stored.path, header, stored.layout, None)
    empty = {digit.dim for digit, extent in zip(_digits(stored.layout), extents, strict=True) if extent == 0}
    parts = target.on(stored.space, stored.record.fields).parts
    zeroed = [part._replace(extent=0) if isinstance(part, Mode) and part.dim in empty else part for part in parts]
    return array_of(zeroed, stored.record, str(stored.path))


def _digits(layout: Layout) -> tuple[Component, ...]:
    return tuple(part for part in layout.components if isinstance(part, Component))
