"""The steps of a probe of GPUs on a machine that is known, in virtual time: they find what is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

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
    Resource,
    Sampled,
    channel_kinds,
)
from isoviz.machines.measurement import Pair
from isoviz.measure.gpus.gpu_parts import role_of, with_gpus, with_remark, without_gpus
from isoviz.measure.gpus.gpu_steps import GpuSteps
from isoviz.measure.sharing import GpuPairs
from isoviz.measure.tuning import MIB
from isoviz.measure.ways import Effort, shapes
from isoviz.this_computer import GpuFacts

EFFORT = Effort(repeats=1, samples=9, seconds=0.02, limit=1e9)
GPUS = tuple(GpuFacts(k, "Maker M1", "9.0", 1 << 34) for k in range(2))
SYS, ZCM, DSK, A, B = "node0.sys", "node0.zcm", "node0.dsk", "node0.fbm0", "node0.fbm1"
DOWN, UP = LatencyBandwidth(2e-8, 24e9), LatencyBandwidth(3e-8, 25e9)
"""Between pinned memory and a GPU."""
ZERO_COPY = LatencyBandwidth(1e-9, 20e9)
STAGED = LatencyBandwidth(4e-8, 8e9)
"""Between main memory and a GPU."""
WITHIN, PEER = LatencyBandwidth(1e-9, 300e9), LatencyBandwidth(1e-9, 100e9)


def host() -> Machine:
    """A computer without GPUs, as measured."""
    copy = Channel("", ChannelKind.MEMCPY, SYS, SYS, LatencyBandwidth(1e-9, 5e9), resources=(("node0.memory", 2.0),))
    disk = LatencyBandwidth(1e-4, 1.5e9)
    sampled = Sampled(tuple((float(1 << k), disk(1 << k)) for k in range(6, 25, 2)))
    read = Channel("", ChannelKind.DISK_READ, DSK, SYS, sampled, 1e-3, alignment=4096, provenance="measured, buffered")
    return Machine(
        "local",
        (Memory(SYS, MemoryKind.SYS, capacity=1 << 35), Memory(DSK, MemoryKind.DSK)),
        (copy, read, replace(read, name="", kind=ChannelKind.DISK_WRITE, source=SYS, destination=DSK)),
        (Resource("node0.memory", 12e9),),
        provenance="measured 2026-01-01 on here",
    )


def truth(
    slow_pinned: float = 1.0,
    slow_second: float = 1.0,
    link: float | None = None,
    both_ways: float | None = None,
    memory: float | None = None,
    flight: Callable[[int], float] = lambda count: 1.0,
    copies: float | None = None,
    counts: Machine | None = None,
) -> Machine:
    """The computer as it is.

    - `slow_pinned`, `slow_second`: factors on the rates of copies with pinned memory, and of the links of the second GPU.
    - `link`: bytes per second that both GPUs together get from the host.
    - `both_ways`: bytes per second of the link of each GPU in both directions together.
    - `memory`: bytes per second of the memory of each GPU. A copy of one byte uses two of them.
    - `flight`: a factor on the rate of GPUWrite by its requests in flight, which are those of the machine `counts`.
    """
    made = with_gpus(host(), GPUS, "true")
    resources, channels = list(made.resources), []
    for name, capacity in (
        ("link", link),
        *((f"{gpu}.both", both_ways) for gpu in (A, B)),
        *((f"{gpu}.memory", memory) for gpu in (A, B)),
    ):
        if capacity:
            resources.append(Resource(name, capacity))
    for channel in made.channels:
        ends, kind = {channel.source, channel.destination}, channel.kind
        uses: list[tuple[str, float]] = []
        function = channel.throughput
        if kind is ChannelKind.MEMCPY:
            uses = [("node0.memory", 2.0)]
            if ZCM in ends:
                function = LatencyBandwidth(1e-9 / slow_pinned, 5e9 * slow_pinned)
        elif kind in (ChannelKind.GPU_WRITE, ChannelKind.GPU_READ):
            function = (DOWN if kind is ChannelKind.GPU_WRITE else UP) if ZCM in ends else STAGED
            factor = slow_second if B in ends else 1.0
            if kind is ChannelKind.GPU_WRITE and counts is not None:
                factor *= flight(counts.channel(channel.name).max_in_flight)
            function = LatencyBandwidth(function.latency / factor, function.bandwidth * factor)
            gpu = A if A in ends else B
            uses += [("link", 1.0)] if link and kind is ChannelKind.GPU_WRITE else []
            uses += [(f"{gpu}.both", 1.0)] if both_ways else []
            uses += [(f"{gpu}.memory", 1.0)] if memory else []
        elif kind in (ChannelKind.ZERO_COPY_WRITE, ChannelKind.ZERO_COPY_READ):
            function = ZERO_COPY
            uses += [("link", 1.0)] if link and kind is ChannelKind.ZERO_COPY_WRITE else []
        elif kind is ChannelKind.GPU_COPY:
            function = WITHIN if channel.is_self_loop else PEER
            uses += [(f"{channel.source}.memory", 2.0)] if memory and channel.is_self_loop else []
        channels.append(replace(channel, throughput=function, resources=tuple(uses)))
    return replace(made, channels=tuple(channels), resources=tuple(resources))


ROOMS = {A: 4096 * MIB, B: 4096 * MIB, ZCM: 512 * MIB}


def probed(true: Callable[[Machine], Machine] | Machine, effort: Effort = EFFORT) -> tuple[Machine, GpuSteps, VirtualTimer]:
    timer = VirtualTimer((lambda _: true) if isinstance(true, Machine) else true)
    told: list[tuple[int, int, str]] = []
    steps = GpuSteps(timer, GPUS, (DSK,), 128 * MIB, ROOMS, effort, "2026-01-01", lambda *each: told.append(each))
    machine = steps.measure(host(), Pair(f"{SYS}->{SYS}", f"{SYS}->{SYS}", (5e9, 5e9), (3e9, 3e9)))
    assert all(0 <= done <= count for done, count, _ in told)
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told), "progress never goes back"
    return machine, steps, timer


@pytest.fixture(scope="module")
def found() -> tuple[Machine, GpuSteps, VirtualTimer]:
    return probed(truth())


def test_the_memories_and_channels_of_gpus(found) -> None:
    machine, _, _ = found
    assert [memory.name for memory in machine.memories] == [SYS, DSK, ZCM, A, B]
    assert [machine.memory(name).device for name in (ZCM, A, B)] == [0, 0, 1]
    assert machine.memory(A).label == "Maker M1, 16 GiB" and machine.memory(A).capacity == 1 << 34
    kinds = [str(channel.kind) for channel in machine.channels]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "Memcpy": 4, "DiskRead": 2, "DiskWrite": 2, "GPUWrite": 4, "GPURead": 4, "ZeroCopyWrite": 2, "ZeroCopyRead": 2,
        "GPUCopy": 4,
    }  # fmt: skip


@pytest.mark.parametrize("run", [1, 100, 5000, 2**20, 2**24])
@pytest.mark.parametrize("ends", [(ZCM, A), (A, ZCM), (SYS, A), (B, SYS), (A, A), (A, B), (SYS, ZCM)])
def test_finds_the_throughput_functions(found, ends: tuple[str, str], run: int) -> None:
    machine, _, _ = found
    for mine, true in zip(machine.between(*ends), truth().between(*ends), strict=True):
        assert mine.kind is true.kind and mine.rate(run) == pytest.approx(true.rate(run), rel=0.12)


def test_finds_layout_changes_and_requests_apart() -> None:
    """Kernels change layouts at rates of their own, and every request costs time besides its bytes."""
    kernels, requests = LatencyBandwidth(2e-11, 150e9), 6e-6
    true = truth()

    def real(channel: Channel) -> Channel:
        if channel.kind is ChannelKind.GPU_COPY and channel.is_self_loop:
            return replace(channel, layout_throughput=kernels, request_seconds=requests)
        if channel.kind is ChannelKind.ZERO_COPY_READ:
            return replace(channel, layout_throughput=LatencyBandwidth(1e-10, 12e9), request_seconds=requests)
        return channel

    true = replace(true, channels=tuple(map(real, true.channels)))
    machine, _, _ = probed(true)
    for mine, other in zip(machine.channels, true.channels, strict=True):
        if other.layout_throughput is None:
            continue
        assert mine.layout_throughput is not None, mine.name
        assert mine.request_seconds == pytest.approx(requests, rel=0.1), mine.name
        for run in (4, 64, 4096, 65536):
            assert mine.rate(run) == pytest.approx(other.rate(run), rel=0.08), (mine.name, run)
            assert mine.layout_rates(run) == pytest.approx(other.layout_rates(run), rel=0.12), (mine.name, run)
        assert mine.rate(1 << 24) == pytest.approx(other.rate(1 << 24), rel=0.03)
    copy, write = machine.channel(f"{SYS}->{SYS}"), machine.channel(f"{ZCM}->{A}")
    assert copy.layout_throughput is write.layout_throughput is None, "they differ in nothing"
    assert copy.request_seconds == write.request_seconds == 0


def test_equal_gpus_are_compared_and_others_are_measured(found) -> None:
    machine, _, _ = found
    assert machine.channel(f"{ZCM}->{B}").provenance == f"measured 2026-01-01 on here, as {ZCM}->{A}, compared"
    assert machine.channel(f"{ZCM}->{A}").provenance == "measured 2026-01-01 on here"
    slower, steps, _ = probed(truth(slow_second=0.5))
    for ends in ((ZCM, B), (B, ZCM), (SYS, B)):
        channel = slower.between(*ends)[0]
        assert channel.provenance == "measured 2026-01-01 on here" and channel.name in steps.samples
        assert channel.rate(2**24) == pytest.approx(truth(slow_second=0.5).channel(channel.name).rate(2**24), rel=0.1)


def test_pinned_memory_is_compared_with_main_memory(found) -> None:
    machine, steps, _ = found
    assert machine.channel(f"{SYS}->{ZCM}").provenance.endswith(f", as {SYS}->{SYS}, compared")
    assert dict(machine.channel(f"{ZCM}->{ZCM}").resources)["node0.memory"] == 2.0
    assert machine.channel(f"{DSK}->{ZCM}").alignment == 4096
    assert f"{SYS}->{ZCM}" not in steps.samples
    slower, steps, _ = probed(truth(slow_pinned=0.4))
    assert slower.channel(f"{SYS}->{ZCM}").rate(2**24) == pytest.approx(2e9, rel=0.1)
    assert f"{SYS}->{ZCM}" in steps.samples


def test_a_disk_beside_pinned_memory_has_a_factor() -> None:
    true = truth()
    slow = [
        replace(c, throughput=LatencyBandwidth(2e-4, 0.75e9)) if (c.source, c.destination) == (DSK, ZCM) else c
        for c in true.channels
    ]
    machine, _, _ = probed(replace(true, channels=tuple(slow)))
    mine, other = machine.channel(f"{DSK}->{ZCM}"), machine.channel(f"{DSK}->{SYS}")
    assert mine.provenance == "measured, buffered, 0.51 times as fast as node0.dsk->node0.sys, compared"
    for run in (2**12, 2**20, 2**23):
        assert mine.rate(run) == pytest.approx(0.51 * other.rate(run), rel=0.01)
    assert (mine.setup, mine.alignment) == (other.setup, other.alignment)


@pytest.mark.full
def test_eight_requests_are_in_flight() -> None:
    """Those behind the first one are queued on the GPU, which costs no thread: nothing is tried."""
    machine, _, _ = probed(lambda asked: truth(flight=lambda count: 1 / count, counts=asked))
    kinds = {ChannelKind.GPU_READ, ChannelKind.GPU_WRITE, ChannelKind.GPU_COPY, ChannelKind.ZERO_COPY_WRITE}
    found = [channel for channel in machine.channels if channel.kind in kinds]
    assert {channel.kind for channel in found} == kinds
    assert all(channel.max_in_flight == 8 for channel in found)


def test_what_shares_nothing_gets_no_resource(found) -> None:
    machine, steps, _ = found
    assert [resource.name for resource in machine.resources] == ["node0.memory"]
    measured = {(pair.first, pair.second) for pair in steps.pairs}
    assert (f"{ZCM}->{A}", f"{A}->{ZCM}") in measured and (f"{ZCM}->{A}", f"{ZCM}->{B}") in measured
    assert (f"{A}->{B}", f"{B}->{A}") in measured
    assert (f"{A}->{B}", f"{A}->{ZCM}") not in measured, "the peers use a link of their own: they are much faster"


def test_finds_a_link_of_both_gpus() -> None:
    machine, _, _ = probed(truth(link=30e9))
    link = machine.resource(f"{A}.down")
    assert link.capacity == pytest.approx(30e9, rel=0.05)
    users = {channel.name for channel in machine.channels if f"{A}.down" in dict(channel.resources)}
    zero_copy = {f"{ZCM}->{gpu} ZeroCopyWrite" for gpu in (A, B)}
    assert users == {f"{host}->{gpu}" for host in (ZCM, SYS) for gpu in (A, B)} | zero_copy
    assert f"{A}.up" not in [resource.name for resource in machine.resources]


def test_finds_a_link_that_takes_both_directions_in_turn() -> None:
    machine, _, _ = probed(truth(both_ways=30e9))
    for gpu in (A, B):
        assert machine.resource(f"{gpu}.link").capacity == pytest.approx(30e9, rel=0.05)
        assert dict(machine.channel(f"{gpu}->{SYS}").resources)[f"{gpu}.link"] == 1.0


def test_finds_what_the_memory_of_a_gpu_carries() -> None:
    machine, _, _ = probed(truth(memory=700e9))
    assert machine.resource(f"{A}.memory").capacity == pytest.approx(700e9, rel=0.05)
    assert dict(machine.channel(f"{A}->{A}").resources)[f"{A}.memory"] == pytest.approx(2.0, rel=0.02)


def test_predictions_hold(found) -> None:
    _, steps, _ = found
    assert len(steps.checks) == 5
    for check in steps.checks:
        assert check.ratio == pytest.approx(1, rel=0.15), check


def test_once_time_is_over_the_first_gpu_is_measured_and_the_rest_says_so() -> None:
    machine, steps, _ = probed(truth(slow_second=0.5), replace(EFFORT, limit=-1.0))
    assert {len(samples) for samples in steps.samples.values()} == {7}
    said = machine.channel(f"{ZCM}->{B}").provenance
    assert said == f"measured 2026-01-01 on here, as {ZCM}->{A}, not compared: the time was over"
    measured = {(pair.first, pair.second) for pair in steps.pairs}
    assert (f"{A}->{A}", f"{A}->{A}") in measured and (f"{B}->{B}", f"{B}->{B}") not in measured


def test_requests_do_not_hide_how_fast_a_gpu_copies() -> None:
    """A request takes as long as 140 MB of its own memory take a GPU. So the jobs are of GB."""
    true, rate = truth(), 2e12
    channels = tuple(
        replace(channel, throughput=LatencyBandwidth(1e-15, rate), request_seconds=7e-5)
        if channel.kind is ChannelKind.GPU_COPY
        else channel
        for channel in true.channels
    )
    machine, _, _ = probed(replace(true, channels=channels))
    (copy,) = machine.between(A, A)
    for run in (1, 64, 4096, MIB, 256 * MIB):
        assert copy.rate(run) == pytest.approx(rate, rel=0.2) and copy.layout_rates(run) == pytest.approx(rate, rel=0.2), run
    assert copy.request_seconds == pytest.approx(7e-5, rel=0.3)


def test_transfers_fit_into_a_gpu_with_little_room() -> None:
    """The host has a room of 128 MiB, and the block on the GPU only 16."""
    steps = GpuSteps(VirtualTimer(lambda _: truth()), GPUS, (DSK,), 128 * MIB, {A: 16 * MIB}, EFFORT, "", lambda *_: None)
    for what, transfer in steps._transfers():
        assert max(end.linearization.nbytes for end in transfer.ends) <= 16 * MIB, what


def test_ways_of_moving() -> None:
    machine = truth()
    for channel in (each for ends in ((ZCM, A), (A, SYS), (A, B), (SYS, ZCM)) for each in machine.between(*ends)):
        assert shapes(channel, 1) == shapes(channel, 4096) == ("gather", "scatter", "transpose")
        whole = {ChannelKind.GPU_COPY: 256, ChannelKind.MEMCPY: 1}.get(channel.kind, 32) * MIB
        assert shapes(channel, whole) == shapes(channel, 16 * whole) == ("stream",) != shapes(channel, whole - 1)
    (copy,) = machine.between(A, A)
    assert shapes(copy, 16) == ("split", "join", "transpose")


def test_jobs_have_at_most_the_room(found) -> None:
    """Copies within a GPU take microseconds, so they need more than those of the host."""
    machine, _, timer = found
    most: dict[int, int] = {}
    for job in timer.jobs:
        channel = machine.channel(job.channel)
        room = min(ROOMS.get(end, 128 * MIB) for end in (channel.source, channel.destination))
        most[room] = max(most.get(room, 0), job.nbytes)
    assert set(most) == {128 * MIB, *ROOMS.values()}
    assert all(room // 4 <= nbytes <= room for room, nbytes in most.items())


# ---- the parts


def test_without_gpus_it_is_the_host_again(found) -> None:
    machine, _, _ = found
    bare = without_gpus(machine)
    assert [memory.name for memory in bare.memories] == [SYS, DSK]
    assert [channel.name for channel in bare.channels] == [channel.name for channel in host().channels]
    assert [resource.name for resource in bare.resources] == ["node0.memory"]
    assert without_gpus(bare) is bare
    linked, _, _ = probed(truth(link=30e9))
    assert [resource.name for resource in without_gpus(linked).resources] == ["node0.memory"]


def test_roles_tell_models_and_memories_apart() -> None:
    other = (GPUS[0], replace(GPUS[1], name="Maker M2"))
    machine = with_gpus(host(), other, "")
    roles = [role_of(machine, machine.between(*ends)[0]) for ends in ((ZCM, A), (ZCM, B), (SYS, A), (A, A), (A, B), (B, B))]
    assert len(set(roles)) == len(roles)
    assert role_of(machine, machine.between(SYS, SYS)[0]) == role_of(machine, machine.between(ZCM, SYS)[0])


def test_a_probe_without_kernels_says_so() -> None:
    machine = with_gpus(host(), GPUS, "measured")
    assert with_remark(machine, "") is machine
    said = with_remark(machine, "NVRTC is\nmissing")
    assert said.channel(f"{A}->{A}").provenance == "measured, without layout kernels: NVRTC is\\nmissing"
    assert said.channel(f"{SYS}->{SYS}").provenance == host().channel(f"{SYS}->{SYS}").provenance


def test_pairs_that_never_worked_at_once_say_nothing() -> None:
    from isoviz.measure.channel_timer import NeverTogether

    def never(*_: object) -> Pair:
        raise NeverTogether("never")

    machine = truth()
    channel = machine.channels[0]
    pairs = GpuPairs(never)
    assert pairs(machine, channel, None) is None and pairs.found == []


def test_a_constant_channel_of_a_file_can_be_a_role() -> None:
    machine = with_gpus(replace(host(), channels=(Channel("", ChannelKind.MEMCPY, SYS, SYS, Constant(1e9)),)), GPUS, "")
    assert {role_of(machine, channel)[0] for channel in machine.channels} == {
        ChannelKind.MEMCPY, *(kind for kind in channel_kinds() if kind.is_of_gpu)
    }  # fmt: skip
