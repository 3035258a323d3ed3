"""Throughput functions as curves for figures: their channels, their sample points, and the operating points of hops."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz.document import Cell, Quantity, Table
from isoviz.figures.charts.theme import DIMENSION_COLOURS
from isoviz.machines import Channel, ChannelKind, Machine, channel_kinds
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.planner import Plan

LOW, HIGH = 1.0, float(2**30)
MOST_NAMED = 3
RUNS = 64, 4096, 2**18, 2**24
"""Bytes of the runs whose rates a table has."""


def kind_token(kind: ChannelKind) -> str:
    """The colour of a kind of channel. Kinds whose card names none take the colours in turn, in the order of registration."""
    if kind.colour is not None:
        return DIMENSION_COLOURS[kind.colour]
    further = [each for each in channel_kinds() if each.colour is None]
    return DIMENSION_COLOURS[further.index(kind) % len(DIMENSION_COLOURS)]


@dataclass(frozen=True)
class OperatingPoint:
    """The operating point of a hop: its run length and the resulting rate, in bytes and bytes per second."""

    channel: str
    run_bytes: float
    rate: float
    label: str


@dataclass(frozen=True)
class Curve:
    """One throughput function, and the channels of one kind that have it."""

    kind: ChannelKind
    channels: tuple[Channel, ...]
    points: tuple[tuple[float, float], ...]

    @property
    def peak(self) -> float:
        return self.channels[0].peak

    @property
    def label(self) -> str:
        """What it is called: "file read", or "memory copy (7 channels)" if several channels have it."""
        return self.kind.words if len(self.channels) == 1 else f"{self.kind.words} ({len(self.channels)} channels)"

    @property
    def names(self) -> str:
        return few([channel.name for channel in self.channels])


@dataclass(frozen=True)
class Bounds:
    """The ranges of the axes of a log-log plot, in bytes and bytes per second."""

    low_run: float
    high_run: float
    low_rate: float
    high_rate: float

    def around(self, runs: Sequence[float], rates: Sequence[float]) -> Bounds:
        """Ranges that include these runs, and cover exactly these rates in whole decades."""
        low, high = math.floor(math.log10(min(rates)) + 1e-9), math.ceil(math.log10(max(rates)) - 1e-9)
        return Bounds(min(self.low_run, *runs), max(self.high_run, *runs), 10.0**low, 10.0 ** max(high, low + 1))


def few(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    return ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


def curves(channels: Iterable[Channel]) -> tuple[Curve, ...]:
    """One curve for each kind and function among the channels, fastest first."""
    groups: dict[tuple[ChannelKind, tuple[tuple[float, float], ...]], list[Channel]] = {}
    for channel in channels:
        groups.setdefault((channel.kind, sampled(channel)), []).append(channel)
    made = [Curve(kind, tuple(group), points) for (kind, points), group in groups.items()]
    return tuple(sorted(made, key=lambda curve: (-curve.peak, curve.kind, curve.channels[0].name)))


def rates(channels: Sequence[Channel]) -> Table:
    """Throughput for a few run lengths; channels of one kind with the same function share a row."""
    rows: list[tuple[Cell, ...]] = [
        (
            curve.kind.words,
            curve.names,
            *(Quantity(curve.channels[0].rate(run), "rate") for run in RUNS),
            Quantity(curve.peak, "rate"),
        )
        for curve in curves(channels)
    ]
    header = ("kind", "channels", *(f"runs of {format_bytes(run)}" for run in RUNS), "peak")
    return Table(header, rows, "Throughput by length of contiguous runs")


def sampled(channel: Channel) -> tuple[tuple[float, float], ...]:
    """Points of a throughput function from 1 B to 1 GiB: four per doubling, and its own samples."""
    runs = {2.0 ** (step / 4) for step in range(121)}
    runs |= {run for run, _ in channel.throughput.samples if LOW <= run <= HIGH}
    return tuple((run, channel.rate(run)) for run in sorted(runs) if channel.rate(run) > 0)


def operating_points(plan: Plan) -> tuple[OperatingPoint, ...]:
    """The operating point of each hop of a plan, labelled with the number of the hop."""
    return tuple(
        OperatingPoint(hop.channel, min(hop.request_bytes, plan.chunk_bytes), hop.throughput, str(hop.index))
        for hop in plan.every_hop
    )


def channels_of(machine: Machine, plan: Plan | None) -> tuple[Channel, ...]:
    """The channels that a plan uses, without duplicates; all channels of the machine without a plan."""
    if plan is None or not plan.every_hop:
        return machine.channels
    return tuple({hop.channel: machine.channel(hop.channel) for hop in plan.every_hop}.values())


def bounds(found: Sequence[Curve], points: Sequence[OperatingPoint]) -> Bounds:
    """Axes from 4 B (or the shortest run in use) to 16 MiB (or the longest), and all rates in whole decades."""
    runs = [point.run_bytes for point in points if point.run_bytes > 0]
    low_run = max(LOW, min([4.0, *(2.0 ** math.floor(math.log2(run)) for run in runs)]))
    high_run = min(HIGH, max([float(2**24), *(2.0 ** math.ceil(math.log2(run)) for run in runs)]))
    rates = [rate for curve in found for run, rate in curve.points if low_run <= run <= high_run]
    rates += [point.rate for point in points if point.rate > 0]
    if not rates:
        return Bounds(low_run, high_run, 1e6, 1e10)
    high = 10.0 ** math.ceil(math.log10(max(rates)) - 1e-9)
    low = 10.0 ** math.floor(math.log10(min(rates)) + 1e-9)
    return Bounds(low_run, high_run, max(low, high / 1e9), high if high > low else low * 10)
