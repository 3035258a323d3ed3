"""Channels: directed connections between two memories (Isometry, section 3.2 and table 2), and the resources they share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from isoviz import checks
from isoviz.checks import expect
from isoviz.machines.costs import CONVERSION, LONGEST, SET_UP, CopyShape, OneTimeCost, checked_costs
from isoviz.machines.kinds import ChannelKind
from isoviz.machines.positions import checked_boxes
from isoviz.machines.throughput import Constant, LatencyBandwidth, Sampled, ShapedThroughput, ThroughputFunction
from isoviz.schema import member

_FUNCTIONS = (Constant, LatencyBandwidth, Sampled)


@dataclass(frozen=True)
class Resource:
    """A resource shared by channels, such as a bus or a link. `capacity` is its total rate in resource bytes per second.

    A `held` resource is occupied by a channel for as long as the channel works, independent of the bytes moved. A disk is one:
    small requests occupy it as long as large ones. For a held resource the weight of a channel is the amount that it holds while
    it works, and `capacity` is the total amount. With capacity 1, channels of weight 1 take turns.

    `node` and `within` say where it lies, for drawings only: the number of its computer (None: on no computer, or unknown) and
    the boxes around it, outermost first (`Memory.within`).

    Raises:
        MachineError: a field has the wrong type or is out of range, or there are boxes without a node.
    """

    name: str
    capacity: float
    provenance: str = "assumed"
    held: bool = member(False, brief=True)
    node: int | None = member(None, brief=True)
    within: tuple[str, ...] = member((), brief=True)

    def __post_init__(self) -> None:
        name = checks.text("resource", "name", self.name)
        owner = f"resource {name!r}"
        object.__setattr__(self, "capacity", checks.number(owner, "capacity", self.capacity, open_low=True))
        checks.text(owner, "provenance", self.provenance, empty=True)
        checks.flag(owner, "held", self.held)
        if self.node is not None:
            object.__setattr__(self, "node", checks.whole(owner, "node", self.node, high=2**31 - 1))
        object.__setattr__(self, "within", checked_boxes(owner, self.within))
        if self.within and self.node is None:
            raise checks.FieldError(owner, "within", "expected the node of these boxes as well")

    def cost(self, weight: float, rate: float) -> float:
        """Seconds of the whole resource per payload byte, for a channel of weight `weight` that moves `rate` bytes per second."""
        weight, rate = checks.number("resource", "weight", weight), checks.number("resource", "rate", rate, open_low=True)
        return weight / (rate * self.capacity) if self.held else weight / self.capacity


@dataclass(frozen=True)
class Channel:
    """A directed connection from memory `source` to memory `destination`. A self-loop has the same memory at both ends.

    Several channels may join the same two memories; `name` distinguishes them. An empty name becomes `"source->destination"`.

    - `throughput`: the rate in bytes per second by the length of contiguous runs. `rate` and `seconds` evaluate it.
    - `layout_throughput`: the rate of a hop between two different layouts, by the length of the runs that both layouts have in
      common; None if `throughput` holds for these hops as well. A kernel changes a layout with tiles in fast memory: it touches
      whole sectors or cache lines of the source and of the destination, even where both have only 4 bytes in common. A plain copy
      of runs of 4 bytes does not. A hop is never faster than `throughput` allows for its chunk as one run.
    - `setup`: seconds paid once at every start of a transfer that uses the channel.
    - `conversion_setup`: further seconds paid once at every start if the hop over the channel converts.
    - `costs`: further one-time costs (`OneTimeCost`), such as the registration of a buffer or the creation of a datatype.
    - `request_seconds`: the seconds that every request costs besides its bytes: a launch, a hand-over. A hop moves a chunk with
      one request, unless `descriptors` says otherwise.
    - `descriptors`: the number of contiguous runs per request (a gather/scatter list, an IOV); None for no limit. A chunk of more
      runs needs more requests. Where both ends have such lists (`ChannelKind.counts_both_ends`), each has at most this number.
    - `alignment`: offsets and lengths of requests are multiples of this power of two, in bytes. It is one block for disk access
      that bypasses the page cache, and 1 for no alignment.
    - `resources`: pairs (resource, weight), weight ≥ 0. The weight is the number of resource bytes per payload byte; for a held
      resource it is the amount that the channel holds.
    - `max_in_flight`: the largest number of requests in flight; None takes the number of the kind (`ChannelKind.in_flight`).
    - `provenance`: the origin of its figures: "from the paper", "assumed", "measured <date> on <computer>".

    Raises:
        MachineError: a field has the wrong type or is out of range.
    """

    name: str
    kind: ChannelKind
    source: str
    destination: str
    throughput: ThroughputFunction
    setup: float = 0.0
    alignment: int = 1
    resources: tuple[tuple[str, float], ...] = ()
    max_in_flight: int = None  # type: ignore[assignment]  # `__post_init__` replaces it
    provenance: str = "assumed"
    conversion_setup: float = 0.0
    costs: tuple[OneTimeCost, ...] = ()
    descriptors: int | None = None
    request_seconds: float = 0.0
    layout_throughput: ThroughputFunction | None = None

    def __post_init__(self) -> None:
        source = checks.text("channel", "source", self.source, spaces=False)
        destination = checks.text("channel", "destination", self.destination, spaces=False)
        name = checks.text("channel", "name", self.name, empty=True) or f"{source}->{destination}"
        object.__setattr__(self, "name", name)
        owner = f"channel {name!r}"
        object.__setattr__(self, "kind", ChannelKind.of(owner, "kind", self.kind))
        _check_function(owner, "throughput", self.throughput)
        if self.layout_throughput is not None:
            _check_function(owner, "layout_throughput", self.layout_throughput)
        object.__setattr__(self, "setup", checks.number(owner, "setup", self.setup, high=LONGEST))
        more = checks.number(owner, "conversion_setup", self.conversion_setup, high=LONGEST)
        object.__setattr__(self, "conversion_setup", more)
        alignment = checks.whole(owner, "alignment", self.alignment, low=1, high=2**40)
        if alignment & (alignment - 1):
            raise checks.FieldError(owner, "alignment", f"expected a power of two, got {alignment}")
        object.__setattr__(self, "alignment", alignment)
        object.__setattr__(self, "resources", _checked_uses(owner, self.resources))
        asked: object = self.max_in_flight
        most = checks.whole(owner, "max_in_flight", self.kind.in_flight if asked is None else asked, low=1, high=2**20)
        object.__setattr__(self, "max_in_flight", most)
        checks.text(owner, "provenance", self.provenance, empty=True)
        object.__setattr__(self, "costs", checked_costs(owner, self.costs))
        if self.descriptors is not None:
            object.__setattr__(self, "descriptors", checks.whole(owner, "descriptors", self.descriptors, low=1))
        seconds = checks.number(owner, "request_seconds", self.request_seconds, high=LONGEST)
        object.__setattr__(self, "request_seconds", seconds)

    def rate(self, run_bytes: float) -> float:
        """Sustained bytes per second for contiguous runs of `run_bytes` bytes. No copy between equal layouts is faster."""
        return self.throughput(run_bytes)

    @property
    def layout_rates(self) -> ThroughputFunction:
        """The throughput function of hops between two different layouts."""
        return self.throughput if self.layout_throughput is None else self.layout_throughput

    def seconds(self, shape: CopyShape, *, stretch: float | None = None) -> float:
        """Seconds that a copy takes, without one-time costs; infinite if the rate is 0.

        It is `nbytes / rate(run)` plus the seconds of its requests. For a `ShapedThroughput` the first term is its `seconds`.

        Two different layouts cut a copy into runs of `shape.run_bytes`. They are those of `layout_throughput` if `stretch` is
        given: the bytes that would be contiguous between equal layouts (infinite for the whole copy).
        """
        expect("channel", shape, CopyShape, "the shape of a copy")
        if type(shape.nbytes) is not float or type(shape.run_bytes) is not float:
            shape = CopyShape(*[checks.number("shape of a copy", name, getattr(shape, name)) for name in CopyShape._fields])
        layouts = None if stretch is None else self.layout_throughput
        if layouts is None or stretch is None:
            found = _moving(self.throughput, shape)
        else:
            plain = _moving(self.throughput, CopyShape(shape.nbytes, min(stretch, shape.nbytes)))
            found = max(plain, _moving(layouts, shape))
        if self.request_seconds:
            found += self.requests(shape) * self.request_seconds
        return found

    def requests(self, shape: CopyShape) -> int:
        """The number of requests of a copy: one, or more if it has more runs than a request takes (`descriptors`).

        If descriptors count at both ends and `shape.window` is known, each request is one window.
        """
        expect("channel", shape, CopyShape, "the shape of a copy")
        if self.descriptors is None:
            return 1
        if self.has_windows and shape.window:
            return max(1, math.ceil(shape.nbytes / shape.window * (1 - 1e-12)))
        return -(-shape.pieces // self.descriptors)

    @property
    def has_windows(self) -> bool:
        """Whether its requests are windows over the runs of both ends (`isoviz.layouts.windows`)."""
        return self.descriptors is not None and self.kind.counts_both_ends

    @cached_property
    def by_run(self) -> bool:
        """Whether the seconds of a copy are `request_seconds + nbytes / rate(run_bytes)` and depend on nothing else."""
        if self.descriptors is not None and self.request_seconds:
            return False
        # The protocol check comes last because it is slow.
        return isinstance(self.throughput, _FUNCTIONS) or not isinstance(self.throughput, ShapedThroughput)

    @cached_property
    def is_plain(self) -> bool:
        """Whether the seconds of a copy are `nbytes / rate(run_bytes)`, also between two different layouts."""
        return self.by_run and not self.request_seconds and self.layout_throughput is None

    @cached_property
    def one_time(self) -> tuple[OneTimeCost, ...]:
        """All one-time costs of the channel: `setup`, `conversion_setup` and `costs`. Every start pays the first two."""
        own = [OneTimeCost(SET_UP, self.setup)] if self.setup else []
        own += [OneTimeCost(CONVERSION, self.conversion_setup, only_converting=True)] if self.conversion_setup else []
        return (*own, *self.costs)

    @cached_property
    def least_setup(self) -> float:
        """A lower bound on the one-time costs of a hop, in seconds, for all layouts, chunks and other hops of the path."""
        return self.setup + sum([cost.least(False) for cost in self.costs])

    @cached_property
    def least_conversion(self) -> float:
        """A lower bound on the further one-time costs of a hop that converts, in seconds."""
        return self.conversion_setup + sum([cost.least(True) - cost.least(False) for cost in self.costs])

    @cached_property
    def has_fixed_costs(self) -> bool:
        """Whether the bounds `least_setup` and `least_conversion` are exact."""
        return all(cost.is_fixed for cost in self.costs)

    @property
    def peak(self) -> float:
        """An upper bound on the rate over all run lengths, in bytes per second."""
        return self.throughput.peak

    @property
    def is_self_loop(self) -> bool:
        """Whether both ends are the same memory, so that it copies between two buffers."""
        return self.source == self.destination


def _check_function(owner: str, field: str, given: object) -> None:
    # The protocol check comes last: it takes longer than all other checks of a channel together.
    if not isinstance(given, _FUNCTIONS) and not isinstance(given, ThroughputFunction):
        raise checks.FieldError(owner, field, f"expected a throughput function, got {checks.show(given)}")


def _moving(function: ThroughputFunction, shape: CopyShape) -> float:
    """Seconds of the bytes of a copy, without its requests."""
    # The protocol check comes last because it is slow.
    if not isinstance(function, _FUNCTIONS) and isinstance(function, ShapedThroughput):
        return function.seconds(shape)
    rate = function(min(shape.run_bytes, shape.nbytes))
    return shape.nbytes / rate if rate else math.inf


def _checked_uses(owner: str, uses: object) -> tuple[tuple[str, float], ...]:
    pairs = checks.parts(uses)
    if pairs is None:
        raise checks.FieldError(owner, "resources", f"expected pairs (resource, weight), got {checks.show(uses)}")
    result: list[tuple[str, float]] = []
    for k, use in enumerate(pairs):
        place = f"resources[{k}]"
        if isinstance(use, str | bytes) or not isinstance(use, list | tuple) or len(use) != 2:
            raise checks.FieldError(owner, place, f"expected a pair (resource, weight), got {checks.show(use)}")
        name = checks.text(owner, f"{place}[0]", use[0])
        if any(name == known for known, _ in result):
            raise checks.FieldError(owner, place, f"the resource {name!r} stands twice")
        result.append((name, checks.number(owner, f"{place}[1]", use[1], high=1e12)))
    return tuple(result)
