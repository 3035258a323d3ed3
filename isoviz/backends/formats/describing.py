"""Instances of the data model for the arrays and files that are passed to `Engine.copy`."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from isoviz.backends.formats.npy import NpyHeader, is_npy
from isoviz.backends.formats.stored import stored_array
from isoviz.errors import FileError, TransferError
from isoviz.layouts import Layout
from isoviz.planner import Instance


def array_instance(memory: str, given: np.ndarray[Any, Any], layout: Layout | str, like: Instance | None) -> Instance:
    """The instance of an array in host memory; see `isoviz.runtime.protocols.RealMemory.describe`.

    Raises:
        TransferError: the array is not contiguous.
        FileError: the layout does not fit it.
    """
    return shaped_instance(memory, given.dtype, given.shape, _is_fortran(given), layout, like)


def file_instance(memory: str, path: Path, layout: Layout | str, like: Instance | None) -> Instance:
    """The instance of a file. With `like`, the instance of a file that will be written.

    Raises:
        FileError: the layout does not fit the file, or it is a raw file, which has no header.
    """
    if like is not None:
        return Instance(memory, like.space, like.fields, Layout(layout), str(path))
    if not is_npy(path):
        raise FileError(f"{path}: a raw file does not say its space and fields; make a Transfer and `submit` its plan")
    found = stored_array(path, Layout(layout))
    return Instance(memory, found.space, found.record.stored, found.layout, str(path))


def _is_fortran(array: np.ndarray[Any, Any]) -> bool:
    if not array.flags.forc:
        raise TransferError("copy: the array is not contiguous; pass numpy.ascontiguousarray(...) of it")
    return not array.flags.c_contiguous


@lru_cache(maxsize=1024)
def shaped_instance(
    memory: str,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    fortran: bool,
    layout: Layout | str,
    like: Instance | None,
) -> Instance:
    """The instance of a contiguous array that is known by its dtype and shape, in any memory; otherwise as `array_instance`."""
    chosen = Layout(layout)
    if like is not None and dtype == np.uint8 and len(shape) == 1:  # Plain bytes: the other end defines their meaning.
        instance = Instance(memory, like.space, like.fields, chosen)
        if instance.linearization.nbytes == shape[0]:
            return instance
    header = NpyHeader(dtype, shape, fortran, 0)
    found = stored_array("array", chosen, None if like is None else like.space, None if like is None else like.fields, header)
    return Instance(memory, found.space, found.record.stored, chosen)
