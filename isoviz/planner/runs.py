"""How much of a part lies together in its instance: a box or some fields leave gaps that the order of the part does not show."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from isoviz.layouts import FieldsComponent, FieldSpace, Linearization


def contiguous_bytes(lin: Linearization, origin: Sequence[int], shape: Sequence[int], fields: Sequence[str]) -> float:
    """Bytes of the contiguous runs that a box (`origin`, `shape`, in the order of the dimensions) with some fields has.

    Infinite where the part is the whole. Where fields between those that move are left out, the mean over the groups that lie
    together; of a digit that the box cuts, what it covers.
    """
    if tuple(shape) == lin.space.sizes and len(fields) == len(lin.fields):
        return math.inf
    box = {dim: (lo, extent) for dim, lo, extent in zip(lin.space.dims, origin, shape, strict=True)}
    count = 1
    entry = lin.fields.nbytes / len(lin.fields)  # bytes of an element, the mean; of an entry once F is passed
    for part in lin.parts:
        if isinstance(part, FieldsComponent):
            if len(fields) < len(lin.fields):
                moved = sum(lin.fields.sizes[lin.fields.index(name)] for name in fields)
                return count * moved / (_groups(lin.fields, fields) if count == 1 else len(fields))
            entry = lin.fields.nbytes
            continue
        lo, extent = box[part.dim]
        whole = part.step * part.extent
        if (lo, extent) != (0, lin.space[part.dim]) and (lo % whole or extent % whole):
            return count * min(part.extent, max(1, extent // part.step)) * entry
        count *= part.extent
    return math.inf


def _groups(space: FieldSpace, fields: Sequence[str]) -> int:
    """How many groups of neighbouring fields those that move make."""
    places = sorted(space.index(name) for name in fields)
    return 1 + sum(b != a + 1 for a, b in itertools.pairwise(places))
