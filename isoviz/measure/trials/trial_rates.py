"""The time of a plan with the rates of a trial."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from isoviz.machines import ChannelKind, MemoryKind
from isoviz.measure import tuning
from isoviz.planner.time.path_time import Clock
from isoviz.planner.time.spread import seconds_at, spread_at

if TYPE_CHECKING:
    from isoviz.machines import Channel, Machine
    from isoviz.planner import Plan


def is_copy(channel: Channel, machine: Machine) -> bool:
    """Whether a channel copies within the memory of this process."""
    memory = machine.memory(channel.source)
    return channel.kind is ChannelKind.MEMCPY and channel.is_self_loop and memory.kind is MemoryKind.SYS and memory.node == 0


def model_rate(plan: Plan, machine: Machine, index: int) -> float:
    """The rate of a hop by the model. The rate of a copy includes its set-up, as in a trial."""
    hop, nbytes = plan.hops[index], plan.bytes * plan.moved[index]
    channel = machine.channel(hop.channel)
    setup = channel.setup + (channel.conversion_setup if index in plan.converting else 0.0) if channel.is_self_loop else 0.0
    return nbytes / (nbytes / hop.throughput + setup) if hop.throughput else 0.0


def between(tried: float, model: float) -> float:
    """A measured rate, moved a little towards that of the model (`tuning.PULL`)."""
    if not model:
        return tried
    most = math.log(tuning.MOST_PULL)
    return tried * math.exp(tuning.PULL * max(-most, min(most, math.log(model / tried))))


def with_rates(plan: Plan, machine: Machine, rates: Mapping[int, float], idle: float) -> Plan:
    """The plan with other rates of some hops. The rates of copies include their set-up. No hop works for `idle` seconds."""
    channels = [machine.channel(hop.channel) for hop in plan.hops]
    hops = tuple(hop._replace(throughput=rates.get(hop.index, hop.throughput)) for hop in plan.hops)
    every = [hop.throughput for hop in hops]
    clock = Clock(machine, channels, plan.bytes, plan.slots, converting=plan.converting)
    contained = math.fsum(
        channels[hop].setup + (channels[hop].conversion_setup if hop in plan.converting else 0.0)
        for hop in rates
        if channels[hop].is_self_loop
    )
    return plan.changed(
        hops=hops,
        objective=clock.timing(plan.chunk_payload, (), every).seconds - contained + idle,
        throughput=clock.throughput(plan.chunk_payload, every),
        setup=max(0.0, plan.setup - contained + idle),
        shares=clock.shares(every),
    )


def scatter_of(tried: Plan, machine: Machine, ranges: Mapping[int, tuple[float, float]]) -> float:
    """The scatter of the repeats of a trial, as a time of the plan: half of log(slowest / fastest).

    `ranges` are those of the rates by hop, as multiples of their medians. A hop that was not tried has the spread of its channel.
    """
    slow, fast = [], []
    for hop in tried.hops:
        half = (spread_at(machine.channel(hop.channel).throughput, hop.request_bytes) or 0.0) / 2
        low, high = ranges.get(hop.index, (1 / (1 + half), 1 + half))
        slow.append(low)
        fast.append(high)
    return max(0.0, math.log(seconds_at(tried, machine, slow) / seconds_at(tried, machine, fast)) / 2)
