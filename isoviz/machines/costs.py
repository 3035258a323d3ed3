"""What a copy costs beside its bytes: one-time costs of channels, and the shape of a copy that a channel is asked for."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from isoviz import checks

Paid = Literal["transfer", "buffer", "layout"]

SET_UP, CONVERSION = "set-up", "conversion"
"""The names of the costs that `Channel.setup` and `Channel.conversion_setup` stand for."""
LONGEST = 1e6
"""Seconds; a longer one-time cost is a mistake."""


@dataclass(frozen=True)
class OneTimeCost:
    """Seconds that a transfer pays once for each of some things, however much it then moves.

    - `name` says what they are spent on, such as "registration".
    - `seconds` are paid by a hop over the channel for each of what `per` names: the "transfer", every "buffer" that the hop
      touches (what it reads and what it writes: an instance, or a ring of slots), every "layout" that these have (two equal ones
      are one).
    - `cached_by` names a cache that channels share, such as "registrations": for the same transfer, buffer or layout only the
      first hop of a path pays that has a cost with this cache. Empty: every hop pays.
    - `only_converting`: hops that do not convert do not pay.

    Making an MPI datatype is `OneTimeCost("datatype", 2e-6, per="layout", cached_by="datatypes")`.

    Raises:
        MachineError: a field of the wrong type or out of range.
    """

    name: str
    seconds: float
    per: Paid = "transfer"
    cached_by: str = ""
    only_converting: bool = False

    def __post_init__(self) -> None:
        owner = f"cost {checks.text('cost', 'name', self.name)!r}"
        object.__setattr__(self, "seconds", checks.number(owner, "seconds", self.seconds, high=LONGEST))
        if self.per not in get_args(Paid):
            raise checks.FieldError(owner, "per", f"expected one of {', '.join(get_args(Paid))}, got {checks.show(self.per)}")
        checks.text(owner, "cached_by", self.cached_by, empty=True)
        checks.flag(owner, "only_converting", self.only_converting)

    @property
    def is_fixed(self) -> bool:
        """Whether a hop's share of it depends on nothing but whether the hop converts."""
        return self.per != "layout" and not self.cached_by

    def least(self, converts: bool) -> float:
        """The least seconds that a hop pays, whatever its layouts and the other hops of the path."""
        if self.cached_by or (self.only_converting and not converts):
            return 0.0
        if self.per == "layout":
            return self.seconds * (2 if converts else 1)
        return self.seconds * (2 if self.per == "buffer" else 1)


class CopyShape(NamedTuple):
    """What a channel is asked to move in one go: `nbytes` bytes, in contiguous runs of `run_bytes` bytes on the average."""

    nbytes: float
    run_bytes: float

    @property
    def pieces(self) -> int:
        """How many contiguous runs that are."""
        return max(1, math.ceil(self.nbytes / self.run_bytes * (1 - 1e-12)))


def checked_costs(owner: str, costs: object) -> tuple[OneTimeCost, ...]:
    """The costs of a channel besides `setup` and `conversion_setup`.

    Raises:
        MachineError: no costs, two of one name, or one of the names that these two have.
    """
    if costs == ():
        return ()
    if isinstance(costs, str | bytes) or not isinstance(costs, Iterable):
        raise checks.FieldError(owner, "costs", f"expected a list of OneTimeCost, got {checks.show(costs)}")
    found: dict[str, OneTimeCost] = {}
    for k, cost in enumerate(costs):
        if not isinstance(cost, OneTimeCost):
            raise checks.FieldError(owner, f"costs[{k}]", f"expected a OneTimeCost, got {checks.show(cost)}")
        if cost.name in (SET_UP, CONVERSION):
            field = "setup" if cost.name == SET_UP else "conversion_setup"
            raise checks.FieldError(owner, f"costs[{k}].name", f"{cost.name!r} is what the field {field!r} stands for")
        if cost.name in found:
            raise checks.FieldError(owner, f"costs[{k}].name", f"the cost {cost.name!r} stands twice")
        found[cost.name] = cost
    return tuple(found.values())
