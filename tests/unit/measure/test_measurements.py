"""What a probe measures of a channel is one list, and how channels of a kind are measured is one table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from measured_in_virtual_time import VirtualTimer

from isoviz.machines import (
    Channel,
    ChannelKind,
    Constant,
    LatencyBandwidth,
    Machine,
    Memory,
    MemoryKind,
    channel_kinds,
    preset,
    register_channel_kind,
)
from isoviz.machines.measurement import Pair
from isoviz.measure import steps as probing
from isoviz.measure.computer_probe import ComputerSteps
from isoviz.measure.gpus.gpu_parts import with_gpus
from isoviz.measure.gpus.gpu_steps import GpuSteps
from isoviz.measure.jobs import Job
from isoviz.measure.ranks.rank_steps import RankSteps
from isoviz.measure.ranks.ranks_machine import assumed_between_ranks, rank_hosts, ranks_machine
from isoviz.measure.steps import MEASUREMENTS, Measurement, Steps
from isoviz.measure.tuning import MIB
from isoviz.measure.ways import Effort
from isoviz.this_computer import ComputerFacts, GpuFacts

LEAST = Effort(repeats=1, samples=2, seconds=1e-4, limit=-1.0)
SYS, DSK = "node0.sys", "node0.dsk"
GPU = GpuFacts(0, "Maker M1", "9.0", 1 << 34)


def computer() -> Machine:
    disk = LatencyBandwidth(1e-4, 1e9)
    return Machine(
        "local",
        (Memory(SYS, MemoryKind.SYS, capacity=1 << 35), Memory(DSK, MemoryKind.DSK)),
        (
            Channel("", ChannelKind.MEMCPY, SYS, SYS, LatencyBandwidth(1e-9, 5e9)),
            Channel("", ChannelKind.DISK_READ, DSK, SYS, disk, 1e-3),
            Channel("", ChannelKind.DISK_WRITE, SYS, DSK, disk, 1e-3),
        ),
    )


def probe_everywhere() -> list[Machine]:
    """The machines of the three probes: of this computer, of its GPUs, and of two ranks."""

    def tell(*_: object) -> None:
        pass

    facts, host = ComputerFacts("here", "a processor", 2, "a system"), computer()
    found = [ComputerSteps(VirtualTimer(lambda _: host), facts, {DSK: Path()}, (), 32 * MIB, LEAST, "2026", tell).measure()]
    with_gpu = with_gpus(host, (GPU,), "true")
    timer = VirtualTimer(lambda _: with_gpu)
    pair = Pair(f"{SYS}->{SYS}", f"{SYS}->{SYS}", (5e9, 5e9), (3e9, 3e9))
    found.append(GpuSteps(timer, (GPU,), (DSK,), 32 * MIB, {}, LEAST, "2026", tell).measure(host, pair))
    hosts, local = rank_hosts("test", 2, 1), preset("local", measure="assumed")
    ranks = ranks_machine(hosts, assumed_between_ranks(local))
    found.append(RankSteps(VirtualTimer(lambda _: ranks), hosts, local, 32 * MIB, LEAST, "2026", "here", tell).measure())
    return found


MIRROR = "MirrorCopy"
"""A kind that one test registers and measures."""


@pytest.mark.full
def test_a_new_measurement_applies_to_this_computer_to_gpus_and_to_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """One entry: here a set-up that every kind has besides the one that is measured."""
    seen: list[ChannelKind] = []

    def measure(steps: Steps, machine: Machine, channel: Channel) -> Channel:
        seen.append(channel.kind)
        assert steps.timer.seconds(machine, Job(channel.name, "stream", MIB, MIB)) > 0
        return replace(channel, setup=channel.setup + 1.0)

    more = Measurement("a second more", lambda *_: True, measure)
    monkeypatch.setattr(probing, "MEASUREMENTS", (*MEASUREMENTS, more))
    computer, gpus, ranks = probe_everywhere()
    assert all(channel.setup >= 1 for channel in computer.channels)
    assert all(channel.setup >= 1 for channel in gpus.channels if channel.kind.name.startswith(("GPU", "ZeroCopy")))
    assert all(channel.setup >= 1 for channel in ranks.channels if channel.kind.crosses_nodes or channel.is_self_loop)
    direct = {ChannelKind.DIRECT_READ, ChannelKind.DIRECT_WRITE}
    measured = {kind for kind in channel_kinds() if kind.ways is not None and kind.is_usual and kind != MIRROR}
    assert set(seen) == measured - direct, "every usual kind but GPUDirect, which was not asked for"


def test_a_new_kind_is_measured_as_its_card_says() -> None:
    assert ChannelKind.MEMCPY.ways is not None
    ways = replace(ChannelKind.MEMCPY.ways, first=(64, 4096, MIB))
    kind = register_channel_kind(MIRROR, sources=["SYS"], destinations=["SYS"], ways=ways)
    host = computer()
    true = Channel(f"{SYS}->{SYS} mirror", kind, SYS, SYS, LatencyBandwidth(1e-9, 3e9), setup=2e-5)
    guess = replace(true, throughput=Constant(1e9), setup=0.0)
    timer = VirtualTimer(lambda _: replace(host, channels=(*host.channels, true)))
    steps = Steps(timer, 32 * MIB, replace(LEAST, samples=3, seconds=0.002, limit=1e9), "2026", lambda *_: None)
    machine = steps._measured(replace(host, channels=(*host.channels, guess)), [guess])
    found = machine.channel(true.name)
    for run in (64, 4096, MIB):
        assert found.rate(run) == pytest.approx(true.rate(run), rel=0.1), run
    assert found.setup == pytest.approx(true.setup, rel=0.3)


def test_jobs_are_sized_for_channels_of_any_speed() -> None:
    """A channel that is a thousand times as slow as another one gets smaller jobs, of about the same duration."""
    effort, durations = replace(LEAST, seconds=0.01), []
    for bandwidth in (2e7, 2e10):
        host = computer()
        host = replace(host, channels=(replace(host.channels[0], throughput=Constant(bandwidth)), *host.channels[1:]))
        timer = VirtualTimer(lambda _, host=host: host)  # type: ignore[misc]
        steps = Steps(timer, 1 << 30, effort, "2026", lambda *_: None)
        job = steps._job(host, host.channels[0], "gather", 64)
        durations.append(timer.seconds(host, job))
    assert durations == pytest.approx([0.01, 0.01], rel=0.2)
