"""What a caller hands to `Engine.copy`, in the words of the data model: arrays and files as instances."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.formats.npy import NpyHeader, is_npy
from isoviz.backends.formats.stored import stored_array
from isoviz.errors import FileError, TransferError
from isoviz.layouts import Layout
from isoviz.machines import MemoryKind
from isoviz.planner import Instance

if TYPE_CHECKING:
    from isoviz.layouts import FieldSpace, IndexSpace
    from isoviz.machines import Machine


def describe(machine: Machine, given: Any, layout: Layout | str, like: Instance | None) -> Instance:
    """The instance that an array or a file is; see `isoviz.runtime.protocols.Devices`.

    Raises:
        TransferError: neither an array nor a path, or a machine without such a memory. FileError: the layout does not fit it.
    """
    if isinstance(given, np.ndarray):
        return _array(machine, given.dtype, given.shape, _is_fortran(given), layout, like)
    if isinstance(given, str | os.PathLike):
        return _file(machine, Path(os.fspath(given)), layout, like)
    raise TransferError(f"copy: expected a NumPy array or the path of a file, not {type(given).__name__}")


def _is_fortran(array: np.ndarray[Any, Any]) -> bool:
    if not array.flags.forc:
        raise TransferError("copy: the array is not contiguous; pass numpy.ascontiguousarray(...) of it")
    return not array.flags.c_contiguous


@lru_cache(maxsize=1024)
def _array(
    machine: Machine,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    fortran: bool,
    layout: Layout | str,
    like: Instance | None,
) -> Instance:
    memory = _memory(machine, MemoryKind.SYS, "an array")
    chosen = Layout(layout)
    if like is not None and dtype == np.uint8 and len(shape) == 1:  # bytes: the other end says what they are
        instance = Instance(memory, like.space, like.fields, chosen)
        if instance.linearization.nbytes == shape[0]:
            return instance
    header = NpyHeader(dtype, shape, fortran, 0)
    found = stored_array("array", chosen, None if like is None else like.space, None if like is None else like.fields, header)
    return Instance(memory, found.space, found.record.stored, chosen)


def _file(machine: Machine, path: Path, layout: Layout | str, like: Instance | None) -> Instance:
    memory = _disk(machine, path)
    if like is not None:
        return Instance(memory, like.space, like.fields, Layout(layout), str(path))
    if not is_npy(path):
        raise FileError(f"{path}: a raw file does not say its space and fields; make a Transfer and `submit` its plan")
    space, fields, chosen = _stored(path, Layout(layout))
    return Instance(memory, space, fields, chosen, str(path))


def _disk(machine: Machine, path: Path) -> str:
    """The disk that a file is or will be on: of several the one bound to a directory on its file system, else the first."""
    disks = [memory for memory in machine.memories if memory.kind is MemoryKind.DSK and memory.node == 0]
    if len(disks) > 1:
        here = _file_system(path.parent)
        for memory in disks:
            if here is not None and memory.device is not None and _file_system(Path(str(memory.device))) == here:
                return memory.name
    return _memory(machine, MemoryKind.DSK, "a file")


def _file_system(directory: Path) -> int | None:
    try:
        return directory.stat().st_dev
    except (OSError, ValueError):
        return None


def _stored(path: Path, layout: Layout) -> tuple[IndexSpace, FieldSpace, Layout]:
    found = stored_array(path, layout)
    return found.space, found.record.stored, found.layout


def _memory(machine: Machine, kind: MemoryKind, what: str) -> str:
    for memory in machine.memories:
        if memory.kind is kind and memory.node == 0:
            return memory.name
    raise TransferError(f"copy: machine {machine.name!r} has no memory ({kind}) on node 0 that could hold {what}")
