"""Machines: memories, channels, networks, throughput functions, their graph, presets, machine files and text drawings.

All types are frozen values. Sizes are in bytes, rates in bytes per second, times in seconds.
"""

from __future__ import annotations

import isoviz.machines.all_kinds  # noqa: F401  # registers the kinds
from isoviz.machines.channel import Channel, Resource
from isoviz.machines.costs import CopyShape, OneTimeCost
from isoviz.machines.drawing import draw
from isoviz.machines.kinds import (
    ChannelKind,
    MemoryKind,
    channel_kinds,
    memory_kinds,
    register_channel_kind,
    register_memory_kind,
)
from isoviz.machines.limits import Limits
from isoviz.machines.machine import Machine
from isoviz.machines.machine_file import MachineLike, load, machine_argument, machine_from_json, machine_to_json, save
from isoviz.machines.memory import Memory
from isoviz.machines.networks import (
    DataVortex,
    DimensionOrder,
    FatTree,
    Link,
    ListedLinks,
    Mesh,
    Neighbours,
    Network,
    Port,
    Routing,
    Shortest,
    Switch,
    ThroughTheSwitch,
    Topology,
    Torus,
    Transport,
    UpAndDown,
    register_routing,
    register_topology,
)
from isoviz.machines.presets import PresetInfo, PresetOption, preset, presets, register_preset
from isoviz.machines.rate_comparison import RateComparison, rates_beside
from isoviz.machines.shortest_paths import shortest_path
from isoviz.machines.throughput import Constant, LatencyBandwidth, Sampled, ShapedThroughput, ThroughputFunction, monotone
from isoviz.machines.throughput import from_json as throughput_from_json

__all__ = [
    "Channel",
    "ChannelKind",
    "Constant",
    "CopyShape",
    "DataVortex",
    "DimensionOrder",
    "FatTree",
    "LatencyBandwidth",
    "Limits",
    "Link",
    "ListedLinks",
    "Machine",
    "MachineLike",
    "Memory",
    "MemoryKind",
    "Mesh",
    "Neighbours",
    "Network",
    "OneTimeCost",
    "Port",
    "PresetInfo",
    "PresetOption",
    "RateComparison",
    "Resource",
    "Routing",
    "Sampled",
    "ShapedThroughput",
    "Shortest",
    "Switch",
    "ThroughTheSwitch",
    "ThroughputFunction",
    "Topology",
    "Torus",
    "Transport",
    "UpAndDown",
    "channel_kinds",
    "draw",
    "load",
    "machine_argument",
    "machine_from_json",
    "machine_to_json",
    "memory_kinds",
    "monotone",
    "preset",
    "presets",
    "rates_beside",
    "register_channel_kind",
    "register_memory_kind",
    "register_preset",
    "register_routing",
    "register_topology",
    "save",
    "shortest_path",
    "throughput_from_json",
]
