"""Channels: directed connections between two memories (Isometry, section 3.2 and table 2), and the resources they share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from isoviz import checks
from isoviz.machines.costs import CONVERSION, LONGEST, SET_UP, CopyShape, OneTimeCost, checked_costs
from isoviz.machines.kinds import ChannelKind
from isoviz.machines.throughput import Constant, LatencyBandwidth, Sampled, ShapedThroughput, ThroughputFunction

_FUNCTIONS = (Constant, LatencyBandwidth, Sampled)


@dataclass(frozen=True)
class Resource:
    """Something several channels share: `capacity` resource bytes per second in all, as a bus or a link has.

    One that is `held` is occupied by a channel for as long as it works, however little that moves: a disk, whose small requests
    take it as long as large ones. Then the weight of a channel is the part of the resource that it holds while it works, and
    `capacity` how many parts there are at a time: 1 of channels with weight 1, and they take turns.

    Raises:
        MachineError: a field of the wrong type or out of range.
    """

    name: str
    capacity: float
    provenance: str = "assumed"
    held: bool = False

    def __post_init__(self) -> None:
        name = checks.text("resource", "name", self.name)
        owner = f"resource {name!r}"
        object.__setattr__(self, "capacity", checks.number(owner, "capacity", self.capacity, open_low=True))
        checks.text(owner, "provenance", self.provenance, empty=True)
        checks.flag(owner, "held", self.held)

    def cost(self, weight: float, rate: float) -> float:
        """Seconds of the whole resource that a byte costs on a channel of that weight which moves `rate` bytes per second."""
        return weight / (rate * self.capacity) if self.held else weight / self.capacity


@dataclass(frozen=True)
class Channel:
    """A directed connection from memory `source` to memory `destination`; both may be the same memory (a self-loop).

    Two memories may be joined by several channels, told apart by `name` (empty: `"source->destination"`).

    - `throughput`: bytes per second by the length of contiguous runs; `rate` asks it, and `seconds` for a copy.
    - `setup`: seconds paid once per transfer that uses the channel; `conversion_setup`: more of them where it converts.
    - `costs`: further one-time costs (`OneTimeCost`), such as registering a buffer or making a datatype.
    - `descriptors`: how many contiguous runs one request can carry (a gather/scatter list, an IOV), None for any number. A copy
      of more runs needs more requests, and each beyond the first takes `request_seconds` more.
    - `alignment`: requests start at multiples of so many bytes and are so many long, a power of two (disks that bypass the
      page cache: one block); 1 asks nothing.
    - `resources`: pairs (resource, weight), weight ≥ 0 being the resource bytes that each payload byte costs (of a resource that
      is held: the part of it that the channel holds).
    - `max_in_flight`: how many requests the channel works on at a time.
    - `provenance`: where its figures come from: "from the paper", "assumed", "measured <date> on <computer>".

    Raises:
        MachineError: a field of the wrong type or out of range.
    """

    name: str
    kind: ChannelKind
    source: str
    destination: str
    throughput: ThroughputFunction
    setup: float = 0.0
    alignment: int = 1
    resources: tuple[tuple[str, float], ...] = ()
    max_in_flight: int = 1
    provenance: str = "assumed"
    conversion_setup: float = 0.0
    costs: tuple[OneTimeCost, ...] = ()
    descriptors: int | None = None
    request_seconds: float = 0.0

    def __post_init__(self) -> None:
        source = checks.text("channel", "source", self.source, spaces=False)
        destination = checks.text("channel", "destination", self.destination, spaces=False)
        name = checks.text("channel", "name", self.name, empty=True) or f"{source}->{destination}"
        object.__setattr__(self, "name", name)
        owner = f"channel {name!r}"
        object.__setattr__(self, "kind", ChannelKind.of(owner, "kind", self.kind))
        # The protocol is asked last: that takes longer than everything else here together.
        if not isinstance(self.throughput, _FUNCTIONS) and not isinstance(self.throughput, ThroughputFunction):
            raise checks.FieldError(owner, "throughput", f"expected a throughput function, got {checks.show(self.throughput)}")
        object.__setattr__(self, "setup", checks.number(owner, "setup", self.setup, high=LONGEST))
        more = checks.number(owner, "conversion_setup", self.conversion_setup, high=LONGEST)
        object.__setattr__(self, "conversion_setup", more)
        alignment = checks.whole(owner, "alignment", self.alignment, low=1, high=2**40)
        if alignment & (alignment - 1):
            raise checks.FieldError(owner, "alignment", f"expected a power of two, got {alignment}")
        object.__setattr__(self, "alignment", alignment)
        object.__setattr__(self, "resources", _checked_uses(owner, self.resources))
        object.__setattr__(self, "max_in_flight", checks.whole(owner, "max_in_flight", self.max_in_flight, low=1, high=2**20))
        checks.text(owner, "provenance", self.provenance, empty=True)
        object.__setattr__(self, "costs", checked_costs(owner, self.costs))
        if self.descriptors is not None:
            object.__setattr__(self, "descriptors", checks.whole(owner, "descriptors", self.descriptors, low=1))
        seconds = checks.number(owner, "request_seconds", self.request_seconds, high=LONGEST)
        object.__setattr__(self, "request_seconds", seconds)

    def rate(self, run_bytes: float) -> float:
        """Bytes per second sustained when contiguous runs are `run_bytes` long; no copy of such runs is faster."""
        return self.throughput(run_bytes)

    def seconds(self, shape: CopyShape) -> float:
        """Seconds that a copy takes, one-time costs left out; infinite where such runs move nothing.

        It is `nbytes / rate(run)` plus what further requests take (`descriptors`). A throughput function that knows more than
        the run says the first part itself (`ShapedThroughput`).
        """
        function = self.throughput
        if isinstance(function, ShapedThroughput):
            found = function.seconds(shape)
        else:
            rate = function(min(shape.run_bytes, shape.nbytes))
            found = shape.nbytes / rate if rate else math.inf
        if self.descriptors is not None and self.request_seconds:
            found += (-(-shape.pieces // self.descriptors) - 1) * self.request_seconds
        return found

    @cached_property
    def by_run(self) -> bool:
        """Whether the seconds of a copy are its bytes over `rate` of its run, whatever else its shape is."""
        if self.descriptors is not None and self.request_seconds:
            return False
        # The protocol is asked last, since that takes long.
        return isinstance(self.throughput, _FUNCTIONS) or not isinstance(self.throughput, ShapedThroughput)

    @cached_property
    def one_time(self) -> tuple[OneTimeCost, ...]:
        """All of its one-time costs."""
        own = [OneTimeCost(SET_UP, self.setup)] if self.setup else []
        own += [OneTimeCost(CONVERSION, self.conversion_setup, only_converting=True)] if self.conversion_setup else []
        return (*own, *self.costs)

    @cached_property
    def least_setup(self) -> float:
        """Seconds of one-time costs that a hop pays at least, whatever its layouts and the other hops of the path."""
        return self.setup + sum([cost.least(False) for cost in self.costs])

    @cached_property
    def least_conversion(self) -> float:
        """How many more a hop pays at least that converts."""
        return self.conversion_setup + sum([cost.least(True) - cost.least(False) for cost in self.costs])

    @cached_property
    def has_fixed_costs(self) -> bool:
        """Whether `least_setup`, and `least_conversion` where a hop converts, are exactly what it pays."""
        return all(cost.is_fixed for cost in self.costs)

    @property
    def peak(self) -> float:
        """Bytes per second that no run length exceeds."""
        return self.throughput.peak

    @property
    def is_self_loop(self) -> bool:
        """Whether it moves between two buffers of one memory."""
        return self.source == self.destination


def _checked_uses(owner: str, uses: object) -> tuple[tuple[str, float], ...]:
    if uses == ():
        return ()
    if isinstance(uses, str | bytes) or not isinstance(uses, Iterable):
        raise checks.FieldError(owner, "resources", f"expected pairs (resource, weight), got {checks.show(uses)}")
    result: list[tuple[str, float]] = []
    for k, use in enumerate(uses):
        place = f"resources[{k}]"
        if isinstance(use, str | bytes) or not isinstance(use, list | tuple) or len(use) != 2:
            raise checks.FieldError(owner, place, f"expected a pair (resource, weight), got {checks.show(use)}")
        name = checks.text(owner, f"{place}[0]", use[0])
        if any(name == known for known, _ in result):
            raise checks.FieldError(owner, place, f"the resource {name!r} stands twice")
        result.append((name, checks.number(owner, f"{place}[1]", use[1], high=1e12)))
    return tuple(result)
