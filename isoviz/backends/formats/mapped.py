"""Memory-mapped arrays (`numpy.memmap`, `numpy.load(…, mmap_mode=…)`): the file and the offset of such an array.

Reading through the map would fill memory page by page. Reading the file avoids that.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np

from isoviz.backends.formats.npy import NpyHeader
from isoviz.errors import FileError


def mapped_file(array: np.memmap[Any, Any]) -> tuple[Path, NpyHeader]:
    """The file of a mapped array, and a header that describes the array; `data_offset` is its offset in the file.

    Changes of the array that are not yet in the file are written first.

    Raises:
        FileError: the array is no longer mapped, has no file, holds Python objects or is not contiguous. Or it was mapped
            copy-on-write, so that the file may differ from the array.
    """
    name, mapping = array.filename, array._mmap  # type: ignore[attr-defined]  # noqa: SLF001  # no public attribute has the map
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
    began = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY  # the file offset of the map
    fortran = array.ndim > 1 and not array.flags.c_contiguous
    return Path(name), NpyHeader(array.dtype, array.shape, fortran, began + here - first)
