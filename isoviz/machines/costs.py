"""One-time costs of channels, and the shape of a copy, from which a channel computes its seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from isoviz import checks
from isoviz.errors import InputError
from isoviz.schema import member
from isoviz.units import format_seconds

Paid = Literal["transfer", "buffer", "layout", "request", "run", "page"]

PAGE_BYTES = 4096
"""The bytes of a page, the unit in which memory is registered."""

SET_UP, CONVERSION = "set-up", "conversion"
"""The cost names that are reserved for `Channel.setup` and `Channel.conversion_setup`."""
LONGEST = 1e6
"""The largest one-time cost accepted, in seconds. A larger one is a mistake."""


@dataclass(frozen=True)
class OneTimeCost:
    """Seconds that a transfer pays to prepare something before its first chunk moves.

    They are part of the set-up, in which no chunk moves. Costs of requests while chunks move are `Channel.request_seconds`.

    - `name`: the purpose of the cost, such as "registration".
    - `seconds`: the seconds that a hop over the channel pays, once per unit of `per`.
    - `per`: the unit.

      - "transfer": one.
      - "buffer": one for each buffer that the hop reads or writes (an instance, or a ring of slots).
      - "layout": one for each distinct layout of these buffers.
      - "page": one for each page of these buffers (`PAGE_BYTES`); of an instance all its pages, of a ring those of its slots.
      - "request": one for each request of every chunk (`Channel.requests`): a list of descriptors or a memory key that is mapped.
      - "run": one for each contiguous run of every chunk: a block that is parsed; at both ends where each has a list of them
        (`ChannelKind.counts_both_ends`).

    - `cached_by`: the name of a cache that channels share, such as "registrations". For the same unit, only the first hop of a
      path with this cache pays. If it is empty, every hop pays. Requests and runs are those of one hop, so no cache shares them.
    - `only_converting`: only hops that convert pay.
    - `only_following`: only hops after the first one of their path pay, such as the time until another thread takes over a chunk.
    - `kept`: whether the result is kept. Then a transfer that runs several times (`Options.reuse`) pays at its first start only;
      otherwise at every start.

    Creating an MPI datatype is `OneTimeCost("datatype", 2e-6, per="layout", cached_by="datatypes")`.

    Raises:
        MachineError: a field has the wrong type or is out of range, or requests or runs have a cache.
    """

    name: str
    seconds: float
    per: Paid = "transfer"
    cached_by: str = member("", brief=True)
    only_converting: bool = member(False, brief=True)
    only_following: bool = member(False, brief=True)
    kept: bool = member(True, brief=True)

    def __post_init__(self) -> None:
        owner = f"cost {checks.text('cost', 'name', self.name)!r}"
        object.__setattr__(self, "seconds", checks.number(owner, "seconds", self.seconds, high=LONGEST))
        if not checks.is_one_of(self.per, get_args(Paid)):
            raise checks.FieldError(owner, "per", f"expected one of {', '.join(get_args(Paid))}, got {checks.show(self.per)}")
        checks.text(owner, "cached_by", self.cached_by, empty=True)
        checks.flag(owner, "only_converting", self.only_converting)
        checks.flag(owner, "only_following", self.only_following)
        checks.flag(owner, "kept", self.kept)
        if self.cached_by and self.per in ("request", "run"):
            raise checks.FieldError(owner, "cached_by", f"expected none: a {self.per} belongs to one hop, no other shares it")

    @property
    def words(self) -> str:
        """The cost in words, such as "registration 200 µs per buffer"."""
        hops = " that converts" if self.only_converting else ""
        hops += ", but for the first hop" if self.only_following else ""
        where = f", once for all channels with {self.cached_by}" if self.cached_by else ""
        starts = "" if self.kept else ", at every start"
        return f"{self.name} {format_seconds(self.seconds)} per {self.per}{hops}{where}{starts}"

    @property
    def is_sized(self) -> bool:
        """Whether the seconds that a hop pays depend on its chunks and runs."""
        return self.per in ("request", "run", "page")

    @property
    def is_fixed(self) -> bool:
        """Whether the seconds that a hop pays depend only on whether the hop converts."""
        return self.per in ("transfer", "buffer") and not self.cached_by and not self.only_following

    def least(self, converts: bool) -> float:
        """A lower bound on the seconds that a hop pays, for all layouts, chunks and other hops of the path."""
        if self.is_sized or self.cached_by or self.only_following or (self.only_converting and not converts):
            return 0.0
        if self.per == "layout":
            return self.seconds * (2 if converts else 1)
        return self.seconds * (2 if self.per == "buffer" else 1)


class CopyShape(NamedTuple):
    """The shape of one copy on a channel: `nbytes` bytes, in contiguous runs of `run_bytes` bytes on average.

    `window` is the bytes of a request whose descriptors count at both ends (`ChannelKind.counts_both_ends`); 0 if it is unknown.
    """

    nbytes: float
    run_bytes: float
    window: float = 0.0

    @property
    def pieces(self) -> int:
        """The number of contiguous runs."""
        return max(1, math.ceil(self.nbytes / self.run_bytes * (1 - 1e-12)))


def pages(nbytes: float) -> int:
    """The number of pages of a buffer of `nbytes` bytes."""
    return max(1, math.ceil(nbytes / PAGE_BYTES * (1 - 1e-12)))


def checked_costs(owner: str, costs: object) -> tuple[OneTimeCost, ...]:
    """The costs of a channel besides `setup` and `conversion_setup`.

    Raises:
        MachineError: an item is not a `OneTimeCost`, two costs have the same name, or a name is reserved for those two fields.
    """
    try:
        given = checks.items(owner, costs, "a list of OneTimeCost")
    except InputError:
        raise checks.FieldError(owner, "costs", f"expected a list of OneTimeCost, got {checks.show(costs)}") from None
    found: dict[str, OneTimeCost] = {}
    for k, cost in enumerate(given):
        if not isinstance(cost, OneTimeCost):
            raise checks.FieldError(owner, f"costs[{k}]", f"expected a OneTimeCost, got {checks.show(cost)}")
        if cost.name in (SET_UP, CONVERSION):
            field = "setup" if cost.name == SET_UP else "conversion_setup"
            raise checks.FieldError(owner, f"costs[{k}].name", f"{cost.name!r} is what the field {field!r} stands for")
        if cost.name in found:
            raise checks.FieldError(owner, f"costs[{k}].name", f"the cost {cost.name!r} stands twice")
        found[cost.name] = cost
    return tuple(found.values())
