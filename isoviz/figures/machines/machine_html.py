"""HTML of a machine: its graph, its memories, its channels and their throughput."""

from __future__ import annotations

from collections.abc import Sequence

from isoviz.figures.charts.html_parts import folded, heading, paragraph, representation, table
from isoviz.figures.charts.theme import ThemeName
from isoviz.figures.machines.curves import curves
from isoviz.figures.machines.network_picture import network_svg
from isoviz.figures.machines.path_picture import path_svg
from isoviz.machines import Channel, DataVortex, Machine, Network
from isoviz.machines.drawing import layout_words
from isoviz.units import format_bytes, format_rate, format_seconds

_OPEN = 16
_MOST = 400


def machine_html(machine: Machine, *, theme: ThemeName = "auto") -> str:
    """The picture of a machine with its memories, channels and networks as tables; long tables are folded."""
    return representation(
        "machine",
        heading(f"Machine {machine.name}"),
        path_svg(machine, theme=theme),
        network_svg(machine, theme=theme),
        _folded_when_long("Memories", memory_table(machine), len(machine.memories)),
        _folded_when_long("Channels", channel_table(machine), len(machine.channels)),
        *([network_table(machine)] if machine.networks else []),
        folded("Throughput", rate_table(machine.channels)),
        *measurement_html(machine),
    )


def network_table(machine: Machine) -> str:
    """The networks with their ways to send, one row each."""
    rows: list[Sequence[object]] = [
        (
            network.name,
            str(network.topology),
            len(network.ports),
            _link_words(network),
            str(network.routing),
            each.name or each.kind.words,
            format_rate(each.throughput.peak),
            format_rate(each.throughput(4096)),
            f"{network.provenance}; {each.provenance}",
        )
        for network in machine.networks
        for each in network.transports
    ]
    header = ("network", "topology", "ports", "links", "routing", "messages", "peak", "runs of 4 KiB", "figures")
    return table("Networks", header, rows, numbers=(2, 3, 6, 7))


def _link_words(network: Network) -> str:
    if isinstance(network.topology, DataVortex):
        return f"{format_rate(network.capacity(next(network.topology.links())))} in all"
    return format_rate(network.link_rate)


def measurement_html(machine: Machine) -> list[str]:
    """The source of the figures, and the accuracy of predictions."""
    measurement = machine.measurement
    if measurement is None:
        return []
    pairs: list[Sequence[object]] = [
        (
            p.first,
            "a second one" if p.second == p.first else p.second,
            *map(format_rate, (*p.alone, *p.together)),
            f"{p.gain:.2f}",
        )
        for p in measurement.pairs
    ]
    checked: list[Sequence[object]] = [
        (check.transfer, format_seconds(check.predicted), format_seconds(check.measured), f"{check.ratio:.2f}×")
        for check in measurement.checks
    ]
    beside = ("channel", "beside", "alone", "the other alone", "together", "the other", "channels' worth")
    transfers = ("transfer", "predicted", "measured", "measured / predicted")
    said = paragraph(str(measurement).partition("\n")[0])
    at_once = table("Two channels at once", beside, pairs, numbers=(2, 3, 4, 5, 6))
    checks = table("Predictions checked when it was measured", transfers, checked, numbers=(1, 2, 3))
    return [folded("Measurement", said + at_once + checks)]


def memory_table(machine: Machine) -> str:
    """The memories with their bounds."""
    rows: list[Sequence[object]] = [
        (
            memory.name,
            f"{memory.kind.words}{' (emulated)' if memory.emulated else ''}",
            memory.node,
            format_bytes(memory.capacity) if memory.capacity else "–",
            format_bytes(memory.slot_limit or machine.limits.slot_limit),
            memory.label,
        )
        for memory in machine.memories[:_MOST]
    ]
    return table(
        _caption("memories", len(machine.memories)),
        ("memory", "kind", "node", "capacity", "slot limit", "remark"),
        rows,
        numbers=(2, 3, 4),
    )


def _setup(channel: Channel) -> str:
    """Set-up time of a channel, and the additional time of a conversion."""
    more = f" + {format_seconds(channel.conversion_setup)} converting" if channel.conversion_setup else ""
    costs = [(format_seconds(channel.setup) if channel.setup or more else "") + more]
    costs += [cost.words for cost in channel.costs]
    if channel.layout_throughput is not None:
        costs.append(layout_words(channel.layout_throughput))
    if channel.request_seconds:
        runs = "" if channel.descriptors is None else f" of {channel.descriptors:,} runs"
        costs.append(f"{format_seconds(channel.request_seconds)} per request{runs}")
    return "; ".join(filter(None, costs)) or "–"


def channel_table(machine: Machine) -> str:
    """The channels with their throughput and the source of the figures."""
    rows: list[Sequence[object]] = [
        (
            channel.name,
            channel.kind.words,
            format_rate(channel.peak),
            format_rate(channel.rate(4096)),
            _setup(channel),
            channel.provenance,
        )
        for channel in machine.channels[:_MOST]
    ]
    return table(
        _caption("channels", len(machine.channels)),
        ("channel", "kind", "peak", "runs of 4 KiB", "set-up", "figures"),
        rows,
        numbers=(2, 3, 4),
    )


def rate_table(channels: Sequence[Channel]) -> str:
    """Throughput for a few run lengths; channels of one kind with the same function share a row."""
    runs = (64, 4096, 2**18, 2**24)
    rows: list[Sequence[object]] = [
        (curve.kind.words, curve.names, *(format_rate(curve.channels[0].rate(run)) for run in runs), format_rate(curve.peak))
        for curve in curves(channels)
    ]
    header = ("kind", "channels", *(f"runs of {format_bytes(run)}" for run in runs), "peak")
    return table("Throughput by length of contiguous runs", header, rows, numbers=(2, 3, 4, 5, 6))


def _caption(what: str, count: int) -> str:
    return f"{count} {what}" if count <= _MOST else f"The first {_MOST} of {count} {what}"


def _folded_when_long(summary: str, content: str, rows: int) -> str:
    return content if rows <= _OPEN else folded(f"{summary} ({rows})", content)
