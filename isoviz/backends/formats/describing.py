"""Instances of the data model for the arrays and files that are passed to `Engine.copy`."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from isoviz.backends.formats.arrays import Axes, held_by_empty, lying
from isoviz.backends.formats.known_files import holds_npy
from isoviz.backends.formats.stored import stored_array
from isoviz.errors import EmptyArrayError, FileError
from isoviz.layouts import Layout
from isoviz.layouts.given_arrays import ArrayForm, host_array, no_elements
from isoviz.planner import Instance


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
