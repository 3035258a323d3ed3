"""The demands that a layout has to meet, and the runs of a layout."""

from __future__ import annotations

import math
from dataclasses import dataclass

from isoviz.layouts import FieldsComponent, Linearization, Mode


def run_along(order: Linearization, dim: str) -> float:
    """The bytes that are contiguous along a dimension: of whole entries where `F` is fastest, else of a mean field."""
    parts = order.normal
    entry = float(order.fields.nbytes)
    unit = entry if parts and isinstance(parts[0], FieldsComponent) else entry / len(order.fields)
    count = 1
    for part in parts:
        if isinstance(part, FieldsComponent) and count == 1:
            continue
        if not isinstance(part, Mode) or part.dim != dim or part.step != count:
            break
        count *= part.extent
    return min(count, order.space[dim]) * unit


@dataclass(frozen=True)
class Demands:
    """The demands of `find_layout`.

    `least_runs` are pairs (dimension, bytes). `most_padding` is a share of the array's bytes. `order` holds all dimensions, or
    none where their order is free.
    """

    least_runs: tuple[tuple[str, int], ...] = ()
    most_padding: float = 0.0
    fields_together: bool = False
    order: tuple[str, ...] = ()

    def met_by(self, order: Linearization) -> bool:
        """Whether a layout meets all demands."""
        parts = order.normal
        return (
            order.nbytes <= math.floor(order.payload * (1 + self.most_padding))
            and not (self.fields_together and parts and not isinstance(parts[0], FieldsComponent))
            and all(run_along(order, dim) >= least for dim, least in self.least_runs)
            and self._keeps_order(order)
        )

    def _keeps_order(self, order: Linearization) -> bool:
        """Whether the fastest digits of all dimensions have the demanded order, and the slowest digits of those that are cut."""
        modes = [part for part in order.normal if isinstance(part, Mode)]
        inside = [mode.dim for mode in modes if mode.step == 1]
        among = [mode.dim for mode in modes if mode.top and mode.step > 1]
        return not self.order or all(dims == [dim for dim in self.order if dim in dims] for dims in (inside, among))
