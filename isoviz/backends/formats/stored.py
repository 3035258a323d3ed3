"""Instances in files: the index space, field space and layout of the bytes in a `.npy` or raw file.

A layout lists its components in storage order, fastest first. For a C-order file of shape (n, m), `<F, x, y>` has x along the
last axis. For a Fortran-order file it has x along the first axis, which is the fastest there. Written files are in C order, and
their axes are the digits of the layout (`isoviz.backends.formats.records.array_of`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from isoviz.backends.formats.arrays import Axes, lying
from isoviz.backends.formats.npy import NpyHeader, header_bytes, is_npy, read_header
from isoviz.backends.formats.records import Record, array_of
from isoviz.errors import FileError
from isoviz.layouts import FieldSpace, IndexSpace, Layout, Linearization
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
) -> Stored:
    """The instance in a `.npy` file.

    `layout` defaults to the array's own, with axes named …, `z`, `y`, `x` (x the last). `space` defaults to the sizes that follow
    from the shape. `fields` default to those of the dtype, or to `f0`, `f1`, … where the fields form an axis.

    Raises:
        FileError: the file is no valid `.npy`, or layout, space or fields do not fit it.
    """
    path = Path(path)
    header = read_header(path)
    found = lying(axes_of(path, header), layout, space, fields)
    return Stored(path, found.space, found.record, found.layout, header.data_offset)


def axes_of(path: Path, header: NpyHeader) -> Axes:
    """The axes of the array in a file."""
    order = tuple(range(len(header.shape)))
    return Axes(str(path), header.dtype, header.shape, order if header.fortran_order else order[::-1], header.extents, FileError)


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
