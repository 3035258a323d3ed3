"""What a hop does to the order of the entries, in words that every picture of a path uses."""

from __future__ import annotations

from enum import StrEnum

from isoviz import checks
from isoviz.layouts.layout import Linearization
from isoviz.layouts.modes import Mode


class OrderChange(StrEnum):
    """What a hop does to the order of the entries."""

    KEEPS = "keeps"
    """The layouts at both ends are the same."""
    FORMS = "forms blocks"
    """Runs are gathered into blocks. The order in a block is the one before."""
    CONVERTS = "converts"
    """Dimensions (or the fields) change places: others vary fastest after the hop."""
    DISSOLVES = "dissolves blocks"
    """Blocks are taken apart. Their entries keep their order."""
    REORDERS = "reorders blocks"
    """Runs stay whole and follow each other in another order, in as many levels as before."""


def order_change(here: Linearization, there: Linearization, *, converts: bool) -> OrderChange:
    """The change of the order over a hop with the layout `here` at its source and `there` at its destination.

    `converts` says whether the runs of the hop are as short as those between the two ends of its path (`Hop.converts`). Only such
    a hop can convert, and it does where the dimensions (and `F`) begin to vary in another order, or the fields follow each other
    in another order: `<F, x, y>` to `<F, y, x>` converts, `<F, x, y>` to `<F, x_in=4, y_in=4, x_out, y_out>` forms blocks.

    Raises:
        InputError: an argument has another type.
    """
    for linear in (here, there):
        checks.expect("order_change", linear, Linearization, "a linearization")
    checks.flag_argument("order_change", "converts", converts)
    if here.same_as(there):
        return OrderChange.KEEPS
    if converts and (_first_to_vary(here) != _first_to_vary(there) or here.fields.names != there.fields.names):
        return OrderChange.CONVERTS
    levels = len(there.normal) - len(here.normal)
    return OrderChange.FORMS if levels > 0 else OrderChange.DISSOLVES if levels < 0 else OrderChange.REORDERS


def _first_to_vary(linear: Linearization) -> list[str]:
    """The dimensions and `F` in the order in which they begin to vary in memory. What has one value never varies."""
    return list(dict.fromkeys(part.dim if isinstance(part, Mode) else "F" for part in linear.normal))
