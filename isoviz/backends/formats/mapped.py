"""Memory-mapped arrays (`numpy.memmap`, `numpy.load(…, mmap_mode=…)`): the place in a file that such an array is.

An array that is mapped need not be read through the map, which would fill memory page by page: its file can be read.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np

from isoviz.backends.formats.npy import NpyHeader
from isoviz.errors import FileError


def mapped_file(array: np.memmap[Any, Any]) -> tuple[Path, NpyHeader]:
    """The file that a mapped array is in, and what a header there would say of it; `data_offset` is where the array begins.

    What was written to the array and not yet to the file is written first.

    Raises:
        FileError: the array is no longer mapped or has no file, holds Python objects, has gaps or turned axes between its
            elements, or was mapped copy-on-write, so that the file need not hold what the array does.
    """
    name, mapping = array.filename, array._mmap  # type: ignore[attr-defined]  # noqa: SLF001  # nothing else says where it begins
    if name is None or not isinstance(mapping, mmap.mmap):
        raise FileError("mapped array: not a view of a file (an operation on a mapped array gives an array in memory)")
    if array.mode == "c":
        raise FileError(f"{name}: is mapped copy-on-write, so that the file may differ from the array; map it with mode 'r'")
    if array.dtype.hasobject:
        raise FileError(f"{name}: holds Python objects ({array.dtype}); only data with bytes of their own can be moved")
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise FileError(f"{name}: the mapped array has gaps or strides of its own; expected a contiguous one")
    if array.mode in ("r+", "w+"):
        mapping.flush()
    first = np.frombuffer(mapping, np.uint8).__array_interface__["data"][0]
    here = array.__array_interface__["data"][0]
    began = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY  # where in the file the map begins
    fortran = array.ndim > 1 and not array.flags.c_contiguous
    return Path(name), NpyHeader(array.dtype, array.shape, fortran, began + here - first)
