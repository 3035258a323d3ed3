"""Machines as documents: memories by node, channels grouped by speed, shared resources, networks, notes on the figures."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from isoviz.document import Cell, Document, Part, Picture, Points, Prose, Quantity, Section, Table
from isoviz.machines.channel import Channel
from isoviz.machines.kinds import channel_kinds
from isoviz.machines.machine import Machine, some
from isoviz.machines.machine_file import MachineLike, machine_argument
from isoviz.machines.memory_families import MOST_APART, families, family, listed, ranges, reach, resource_families
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoviz.machines.channel import Resource
    from isoviz.machines.limits import Limits
    from isoviz.machines.throughput import ThroughputFunction

WIDTH = 120
_PATH = 36
_COLUMN = 20
_MOST_RESOURCES = 12
"""Above this number, shared resources are listed by family."""
_MOST_ROWS = 16
"""HTML folds a longer table."""


def draw(machine: MachineLike) -> str:
    """The machine as text. Equal nodes are drawn once. Channels with the same speed share a line."""
    lines = str(machine_document(machine_argument("draw", machine))).splitlines()
    return "\n".join(_short(line, WIDTH) for line in lines)


def machine_document(machine: Machine) -> Document:
    """The machine with its picture. Equal nodes are described once. Channels with the same speed share a row."""
    notes = _Notes()
    about = [Prose(_bounds(machine.limits)), *([Prose(f"Figures: {machine.provenance}")] if machine.provenance else [])]
    parts: list[Part] = [*about, Picture("path_svg", (machine,)), Picture("network_svg", (machine,))]
    groups = _alike(machine)
    parts += [_memory_table(nodes, machine) for nodes in groups]
    within = [
        (nodes, [c for c in machine.channels if not c.kind.crosses_nodes and machine.memory(c.source).node == nodes[0]])
        for nodes in groups
    ]
    parts += [
        _channel_table(f"Channels within {_node_list(nodes)}", _rows(machine, channels, notes, remote=False))
        for nodes, channels in within
        if channels
    ]
    remote = [channel for channel in machine.channels if channel.kind.crosses_nodes]
    for pairs, channels in _by_node_pairs(machine, remote):
        parts.append(_channel_table(f"Channels {_pairs_title(machine, pairs)}", _rows(machine, channels, notes, remote=True)))
    parts += [*_resources(machine, notes), *_networks(machine, notes)]
    parts += [Points([f"{mark} {text}" for text, mark in notes.texts.items()])] if notes.texts else []
    if machine.measurement is not None:
        parts.append(Section("Measurement", [Prose(f"{machine.measurement.line}."), *machine.measurement.parts()]))
    return Document(str(machine), parts)


class _Notes:
    """Provenances and other notes. Each is told once and referenced by a mark."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def mark(self, text: str) -> str:
        return self.texts.setdefault(text, f"[{len(self.texts) + 1}]") if text else ""


def _bounds(limits: Limits) -> str:
    bounds = f"Slots up to {format_bytes(limits.slot_limit)}, {limits.slots} per buffer"
    bounds += "" if limits.overlap else ", hops in turn"
    return bounds + ("" if limits.memory_limit is None else f", buffers up to {format_bytes(limits.memory_limit)} together")


def _speed_key(channel: Channel) -> str:
    """A key that is equal for channels with the same behaviour, independent of their ends."""
    functions = channel.throughput, channel.layout_rates
    function = json.dumps([each.to_json() for each in functions], sort_keys=True)
    requests = channel.alignment, channel.max_in_flight, channel.descriptors, channel.request_seconds
    return f"{function} {(channel.kind, channel.one_time, requests, channel.provenance)}"


def _alike(machine: Machine) -> list[list[int]]:
    """The nodes in groups. Nodes of a group have the same memories and the same inner channels, up to the number of the node."""
    channels: dict[int, list[object]] = defaultdict(list)
    short = {memory.name: memory.short_name for memory in machine.memories}
    for channel in machine.channels:
        if not channel.kind.crosses_nodes:
            node = machine.memory(channel.source).node
            ends = short[channel.source], short[channel.destination]
            weights = sorted(weight for _, weight in channel.resources)
            channels[node].append((*ends, _speed_key(channel), weights))
    memories: dict[int, list[object]] = defaultdict(list)
    for m in machine.memories:
        memories[m.node].append((m.short_name, m.kind, m.capacity, m.slot_limit, m.label, m.emulated))
    groups: dict[str, list[int]] = {}
    for node in machine.nodes:
        groups.setdefault(repr((sorted(memories[node], key=repr), sorted(channels[node], key=repr))), []).append(node)
    return list(groups.values())


def _node_list(nodes: Sequence[int]) -> str:
    """`node 0`, `nodes 0, 2`, `nodes 0–3`."""
    if len(nodes) == 1:
        return f"node {nodes[0]}"
    return f"nodes {ranges(nodes)}"


def _memory_table(nodes: Sequence[int], machine: Machine) -> Table:
    """The memories of equal nodes. If there are many, equal ones share a row."""
    rows: list[tuple[str, ...]] = []
    for members in families([memory for memory in machine.memories if memory.node == nodes[0]]):
        memory, several = members[0], len(members) > 1
        loop = " ↺" if any(machine.between(each.name, each.name) for each in members) else ""
        remarks = [
            listed(each.label for each in members if each.label) if several else memory.label,
            "emulated" if memory.emulated else "",
            f"in {_tail(memory.device)}" if isinstance(memory.device, str) and not several else "",
            f"slots up to {format_bytes(memory.slot_limit)}" if memory.slot_limit is not None else "",
        ]
        rows.append(
            (
                f"{_short(listed(each.short_name for each in members), 2 * _COLUMN)}{loop}",
                f"{len(members)} × {memory.kind}" if several else str(memory.kind),
                memory.kind.words,
                "size unknown" if memory.capacity is None else format_bytes(memory.capacity),
                _short(", ".join(filter(None, remarks)), 2 * _PATH),
            )
        )
    caption = f"{_node_list(nodes)}, each" if len(nodes) > 1 else _node_list(nodes)
    names = "memory", "kind", "what it is", "size", "remarks"
    return Table(names, rows, caption, numbers=(3,), is_folded=len(rows) > _MOST_ROWS)


def _channel_table(caption: str, rows: Sequence[Sequence[Cell]]) -> Table:
    header = ("channel", "from", "to", "peak", "1 B run", "½ peak at", "set-up", "aligned to", "notes")
    return Table(header, rows, caption, numbers=(4, 5), is_folded=len(rows) > _MOST_ROWS)


def _tail(path: str) -> str:
    """A path as one short line. A long path is cut at its start, since its end distinguishes it."""
    line = "".join(c if c.isprintable() else "?" for c in path)
    return line if len(line) <= _PATH else f"…{line[1 - _PATH :]}"


def _rows(machine: Machine, channels: Iterable[Channel], notes: _Notes, *, remote: bool) -> list[Sequence[Cell]]:
    """The table rows of channels. A row stands for channels of the same speed from each of its sources to each destination."""
    big = _is_big(machine)
    groups: dict[tuple[object, ...], _Group] = {}
    order = {kind: k for k, kind in enumerate(channel_kinds())}
    for channel in sorted(channels, key=lambda c: order[c.kind]):
        ends = f"{channel.source}->{channel.destination}"
        usual = channel.name in (ends, f"{ends} {channel.kind}")
        source, destination = machine.memory(channel.source).short_name, machine.memory(channel.destination).short_name
        name = "" if usual else channel.name
        key: tuple[object, ...] = (_speed_key(channel), channel.resources, name)
        if big:
            uses = tuple((resource_families([resource]), weight) for resource, weight in channel.resources)
            key = (key[0], uses, name, family(source), family(destination))
        group = groups.setdefault(key, _Group(channel, name, {}))
        reached = group.reached.setdefault(source, [])
        if destination not in reached:
            reached.append(destination)
    mark = "*" if remote else ""
    if big:
        return [
            _row(group, *reach([(a, b) for a, each in group.reached.items() for b in each], mark), notes, big=True)
            for group in groups.values()
        ]
    return [
        _row(group, sources, destinations, notes)
        for group in groups.values()
        for sources, destinations in _rectangles(group.reached, mark)
    ]


def _is_big(machine: Machine) -> bool:
    """Whether a node has more than `MOST_APART` memories. Then memories are drawn by family."""
    return max(Counter(memory.node for memory in machine.memories).values()) > MOST_APART


class _Group(NamedTuple):
    """Channels of one speed: a representative, its name unless it is the default, and the destinations by source."""

    channel: Channel
    name: str
    reached: dict[str, list[str]]


def _rectangles(reached: dict[str, list[str]], mark: str) -> list[tuple[str, str]]:
    """Pairs (sources, destinations) as text. Within a pair every source has a channel to every destination."""
    if len(reached) > 1 and not mark:
        if all(destinations == [source] for source, destinations in reached.items()):
            return [(_names(reached), "itself")]
        if all(
            {source, *destinations} == reached.keys() and source not in destinations for source, destinations in reached.items()
        ):
            return [(_names(reached), "each other")]
    by_reach: dict[tuple[str, ...], list[str]] = {}
    for source, destinations in reached.items():
        by_reach.setdefault(tuple(destinations), []).append(source)
    return [(_names(sources), _names(destinations, mark)) for destinations, sources in by_reach.items()]


def _names(names: Iterable[str], mark: str = "") -> str:
    """Names as a list, abbreviated if the list exceeds the column."""
    full = ", ".join(f"{name}{mark}" for name in names)
    return full if len(full) <= _COLUMN else listed(names) + mark


def _row(group: _Group, sources: str, destinations: str, notes: _Notes, *, big: bool = False) -> Sequence[Cell]:
    channel = group.channel
    resources = [resource for resource, _ in channel.resources]
    uses = f"uses {resource_families(resources) if big else ', '.join(resources)}" if resources else ""
    further = "; ".join(filter(None, (_further(channel), uses)))
    setup = format_seconds(channel.setup) if channel.setup else ""
    more = f"{setup and ' + '}{format_seconds(channel.conversion_setup)} converting" if channel.conversion_setup else ""
    return (
        f"{channel.kind}{f' {_short(group.name, 20)!r}' if group.name else ''}",
        _short(sources, _COLUMN),
        _short(destinations, _COLUMN),
        Quantity(channel.peak, "rate"),
        _one_byte(channel.throughput),
        format_bytes(channel.throughput.inverse(channel.peak / 2)),
        setup + more,
        format_bytes(channel.alignment) if channel.alignment != 1 else "",
        " ".join(filter(None, map(notes.mark, (channel.provenance, further)))),
    )


def _further(channel: Channel) -> str:
    """Further costs of a channel as the text of a note: few channels have them, and a table row has no room for them."""
    said = [cost.words for cost in channel.costs]
    if channel.layout_throughput is not None:
        said.append(layout_words(channel.layout_throughput))
    if channel.descriptors is not None:
        said.append(f"{channel.descriptors:,} runs per request")
    if channel.request_seconds:
        said.append(f"{format_seconds(channel.request_seconds)} per request")
    return "; ".join(said)


def layout_words(function: ThroughputFunction) -> str:
    """The rates of hops that change the layout, in words."""
    return f"layout changes up to {format_rate(function.peak)}, {format_rate(function(4.0))} in runs of 4 bytes"


def _one_byte(function: ThroughputFunction) -> str:
    """The time of a run of 1 byte, which is the overhead of a run."""
    rate = function(1.0)
    return format_seconds(1.0 / rate) if rate > 0 else "-"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _by_node_pairs(machine: Machine, channels: Iterable[Channel]) -> list[tuple[list[tuple[int, int]], list[Channel]]]:
    """Channels between nodes, in groups of node pairs with equal channels."""
    per_pair: dict[tuple[int, int], list[Channel]] = defaultdict(list)
    for channel in channels:
        pair = machine.memory(channel.source).node, machine.memory(channel.destination).node
        per_pair[pair].append(channel)
    groups: dict[str, tuple[list[tuple[int, int]], list[Channel]]] = {}
    for pair, joined in per_pair.items():
        alike = sorted(
            (machine.memory(c.source).short_name, machine.memory(c.destination).short_name, _speed_key(c)) for c in joined
        )
        groups.setdefault(repr(alike), ([], joined))[0].append(pair)
    return list(groups.values())


def _pairs_title(machine: Machine, pairs: list[tuple[int, int]]) -> str:
    nodes = machine.nodes
    if len(nodes) > 2 and len(pairs) == len(nodes) * (len(nodes) - 1):
        return "between any two nodes"
    if len(pairs) == 2 and pairs[0] == pairs[1][::-1]:
        return f"between node {pairs[0][0]} and node {pairs[0][1]}, either way"
    listed = ", ".join(f"{a} → {b}" for a, b in pairs[:8])
    return f"between nodes {listed}{f' and {len(pairs) - 8} more pairs' if len(pairs) > 8 else ''}"


def _resources(machine: Machine, notes: _Notes) -> list[Part]:
    rows = []
    users = Counter(name for channel in machine.channels for name, _ in channel.resources)
    alike: dict[object, list[Resource]] = {}
    for resource in machine.resources:
        key = family(resource.name) if len(machine.resources) > _MOST_RESOURCES else resource.name
        alike.setdefault((key, resource.capacity, resource.held, resource.provenance, users[resource.name]), []).append(resource)
    for members in alike.values():
        first = members[0]
        several, used = len(members) > 1, users[first.name]
        rows.append(
            (
                _short(f"{len(members)} × {family(first.name)}" if several else first.name, 50),
                f"held by {first.capacity:g}" if first.held else format_rate(first.capacity),
                f"{used} channel{'' if used == 1 else 's'}{' each' if several else ''}",
                notes.mark(first.provenance),
            )
        )
    header = ("resource", "capacity", "used by", "notes")
    return [Table(header, rows, "Shared resources", is_folded=len(rows) > _MOST_ROWS)] if rows else []


def _networks(machine: Machine, notes: _Notes) -> list[Part]:
    parts: list[Part] = []
    for network in machine.networks:
        dead = [*network.dead_routers, *network.dead_links]
        said = f"{network} {notes.mark(network.provenance)}".strip() + (f"; dead: {some(dead)}" if dead else "")
        rows = [
            (
                str(each.kind),
                each.name or network.name,
                Quantity(each.throughput.peak, "rate"),
                _one_byte(each.throughput),
                format_bytes(each.throughput.inverse(each.throughput.peak / 2)),
                notes.mark(each.provenance),
            )
            for each in network.transports
        ]
        caption = f"Channels of network {network.name}"
        parts += [Prose(said), Table(("channel", "name", "peak", "1 B run", "½ peak at", "notes"), rows, caption, numbers=(3, 4))]
    return parts
