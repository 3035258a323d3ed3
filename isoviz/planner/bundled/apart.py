"""Whether the members of a bundle write the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.errors import TransferError
from isoviz.layouts import Box
from isoviz.layouts.copies import ListedCopy
from isoviz.layouts.geometry import strided_copies
from isoviz.planner.bundled.stream import end_view

if TYPE_CHECKING:
    from isoviz.planner.bundled.stream import Placed


def require_apart_in(members: Sequence[Placed]) -> None:
    """Require that no two members of a bundle write the same bytes at the destination, where their ends lie.

    Raises:
        TransferError: they do; the message names both members.
    """
    starts = [each.starts[1] for each in members]
    ends = [each.starts[1] + each.transfer.as_they_lie[1].linearization.nbytes for each in members]
    order = sorted(range(len(starts)), key=starts.__getitem__)
    reach, near = -1, list[int]()
    for number in order:  # only members whose instances overlap are looked at
        if starts[number] >= reach:
            _require_apart(members, near)
            near.clear()
        near.append(number)
        reach = max(reach, ends[number])
    _require_apart(members, near)


def _require_apart(members: Sequence[Placed], near: Sequence[int]) -> None:
    if len(near) < 2:
        return
    rows: list[np.ndarray[Any, np.dtype[np.int64]]] = []
    for number in near:
        each = members[number]
        view = end_view(each.transfer, 1)
        shape = each.transfer.space.as_dict()
        box = Box((0,) * len(shape), tuple([shape[dim] for dim in view.dims]))
        for copy in strided_copies(view, view, box, each.transfer.field_names):
            begins = copy.offsets[1] if isinstance(copy, ListedCopy) else np.array([copy.destination_offset])
            begins = begins + each.starts[1]
            for extent, _, stride in copy.loops:
                begins = np.add.outer(begins, np.arange(extent) * stride).ravel()
            rows.append(np.stack([begins, begins + copy.run, np.full(len(begins), number)]))
    begins, stops, numbers = np.concatenate(rows, axis=1)
    order = np.argsort(begins, kind="stable")
    begins, stops, numbers = begins[order], np.maximum.accumulate(stops[order]), numbers[order]
    wrong = np.flatnonzero(begins[1:] < stops[:-1])
    if len(wrong):
        at = int(wrong[0])
        pair = sorted((int(numbers[at]), int(numbers[at + 1])))
        raise TransferError(
            f"bundle: transfers {pair[0]} and {pair[1]} write the same bytes at the destination; expected each byte once"
        )
