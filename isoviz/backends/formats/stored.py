"""Instances in files: the index space, field space and layout of the bytes in a `.npy` or raw file.

A layout lists its components in storage order, fastest first. For a C-order file of shape (n, m), `<F, x, y>` has x along the
last axis. For a Fortran-order file it has x along the first axis, which is the fastest there. Written files are in C order, and
their axes are the digits of the layout (`isoviz.backends.formats.records.array_of`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from isoviz.backends.formats.arrays import Axes, held_by_empty, lying
from isoviz.backends.formats.known_files import begins_as_npy, check_ending, holds_npy, is_npy, open_array_file
from isoviz.backends.formats.npy import NpyHeader, header_bytes, read_header
from isoviz.backends.formats.records import Record, array_of
from isoviz.errors import EmptyArrayError, FileError
from isoviz.layouts import FieldSpace, IndexSpace, Layout, Linearization
from isoviz.layouts.given_arrays import ArrayForm, host_array, no_elements
from isoviz.planner import Instance


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
        FileError: the file is not a valid `.npy`, or layout, space or fields do not fit it.
    """
    path = Path(path)
    header = read_header(path)
    found = lying(axes_of(path, header), layout, space, fields)
    return Stored(path, found.space, found.record, found.layout, header.data_offset)


def axes_of(path: Path, header: NpyHeader) -> Axes:
    """The axes of the array in a file."""
    order = tuple(range(len(header.shape)))
    return Axes(str(path), header.dtype, header.shape, order if header.fortran_order else order[::-1], header.extents, FileError)


def stored_raw(path: str | Path, layout: Layout, space: IndexSpace, fields: FieldSpace, offset: int = 0) -> Stored:
    """The instance in a raw file. It begins at byte `offset` and ends with the file.

    Raises:
        FileError: the file is missing, or its bytes from `offset` on are not as many as those of the layout.
    """
    path = Path(path)
    descriptor, status = open_array_file(path)
    os.close(descriptor)
    if offset > status.st_size:
        raise FileError(f"{path}: offset {offset} lies behind its end: it has {status.st_size} bytes")
    need, has = layout.on(space, fields).nbytes, status.st_size - offset
    if has != need:
        found = f"{has} bytes from byte {offset} on" if offset else f"{has} bytes"
        where = (
            "" if not offset or has < need else "; a part of a file is read through numpy.memmap(path, dtype, 'r', offset, shape)"
        )
        raise FileError(
            f"{path}: too {'short' if has < need else 'long'}: {found}; layout {layout} on ({space}) needs {need}{where}"
        )
    return Stored(path, space, Record.of_fields(fields), layout, offset)


def stored_as(path: str | Path, layout: Layout, space: IndexSpace, fields: FieldSpace, offset: int | None = None) -> Stored:
    """The instance with these spaces and this layout in the file at `path`: in a `.npy`, or in raw bytes from `offset` on.

    Raises:
        FileError: the file is missing, too short, of another dtype or shape, or of another format (`holds_npy`).
    """
    if holds_npy_at(path, offset):
        return stored_array(path, layout, space, fields)
    return stored_raw(path, layout, space, fields, offset or 0)


def holds_npy_at(path: str | Path, offset: int | None) -> bool:
    """Whether a file is a `.npy`. Where an `offset` is given it is raw bytes, of whatever format.

    Raises:
        FileError: an offset is given for a `.npy`; or as `holds_npy`.
    """
    if offset is None:
        return holds_npy(path)
    if begins_as_npy(path):
        raise FileError(f"{path}: is a .npy file, which says itself where its data begin; expected no offset")
    return False


def new_header(path: str | Path, linearization: Linearization, record: Record) -> bytes:
    """The header of a new file: that of a `.npy`; empty for a raw file.

    Raises:
        FileError: a `.npy` cannot hold the data, or the name is that of another format.
    """
    check_ending(path)
    if not is_npy(path):
        return b""
    return header_bytes(*array_of(linearization.parts, record, str(path)))


# Instances of the data model for the arrays and files that are passed to `Engine.copy`.


def array_instance(memory: str, given: Any, layout: Layout | str, like: Instance | None) -> Instance:
    """The instance of an array in host memory; see `isoviz.runtime.protocols.RealMemory.describe`.

    Raises:
        ArrayError: the layout does not fit it, or it cannot be moved.
    """
    array = given if type(given) is np.ndarray else host_array(given, "copy: the array")
    return shaped_instance(memory, layout, like, array.dtype, array.shape, array.strides)


def file_instance(memory: str, path: Path, layout: Layout | str, like: Instance | None) -> Instance:
    """The instance of a file. With `like`, the instance of a file that will be written.

    Raises:
        FileError: the layout does not fit the file, or it is a raw file, which has no header.
    """
    if like is not None:
        return Instance(memory, like.space, like.fields, Layout(layout), str(path))
    if not holds_npy(path):
        raise FileError(f"{path}: a raw file does not say its space and fields; make a Transfer and `submit` its plan")
    found = stored_array(path, Layout(layout))
    return Instance(memory, found.space, found.record.stored, found.layout, str(path))


@lru_cache(maxsize=1024)
def shaped_instance(memory: str, layout: Layout | str, like: Instance | None, *form: Any) -> Instance:
    """The instance of an array of any memory that is known by its `ArrayForm`; otherwise as `array_instance`."""
    axes = Axes.of(ArrayForm(*form), "copy: the array")
    space, fields = (None, None) if like is None else (like.space, like.fields.subset(like.fields.real_names))
    if axes.is_empty and like is None:
        raise EmptyArrayError(no_elements(axes.what, axes.shape), held_by_empty(axes, Layout(layout)))
    found = lying(axes, Layout(layout), space, fields)
    return Instance(memory, found.space, found.record.stored, found.layout)
