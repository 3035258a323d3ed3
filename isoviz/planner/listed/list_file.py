"""Lists in transfer files: the name of a `.npy` file, numbers, or a random list."""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.errors import FileError
from isoviz.layouts import EntryList
from isoviz.regular_files import read_some
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.schema import Node

LARGEST_LIST = 1 << 32
"""Bytes of the file of a list at most."""
_MAGIC = b"\x93NUMPY"


def list_at(node: Node, folder: Path) -> EntryList | dict[str, EntryList]:
    """The list of an end: the `.npy` file that holds it, numbers, a random one, or one of these for a dimension."""
    if isinstance(node.value, str) and node.value:
        return EntryList(_array(folder / node.value), node.path)
    if isinstance(node.value, list):
        return node.made(EntryList, node.value)
    table = node.table() if isinstance(node.value, Mapping) else {}
    if "random" not in table:
        if len(table) != 1:
            node.fail(
                "expected the name of a file, numbers, {random = 3062, of = 3534, seed = 1}, or one of these for a dimension"
            )
        ((dim, inner),) = node.members((), tuple(table)).items()
        found = list_at(inner, folder)
        if isinstance(found, dict):
            inner.fail("expected a list")
        return {dim: found}
    parts = node.members(("random", "of"), ("seed", "in_order"))
    seed = parts["seed"].read(int) if "seed" in parts else 0
    in_order = parts["in_order"].read(bool) if "in_order" in parts else False
    return node.made(partial(EntryList.random, in_order=in_order), parts["random"].read(int), parts["of"].read(int), seed)


def _array(path: Path) -> Any:
    content = read_some(path, LARGEST_LIST + 1)
    if len(content) > LARGEST_LIST:
        raise FileError(f"{path}: a list of more than {format_bytes(LARGEST_LIST)}")
    expected = "expected the numbers of entries in a .npy file"
    if not content.startswith(_MAGIC):
        raise FileError(f"{path}: {expected}, got one of another kind")
    try:
        return np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:  # noqa: BLE001  # NumPy's words name objects, or advise to read pickles
        raise FileError(f"{path}: {expected}; it is damaged, ends early, or holds Python objects") from None
