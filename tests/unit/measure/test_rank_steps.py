"""The steps of a probe of ranks on a machine that is known, in virtual time: it finds what is there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from measured_in_virtual_time import VirtualTimer

from isoviz.errors import Cancelled
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine, Resource, machine_from_json, machine_to_json, preset
from isoviz.measure.jobs import Job
from isoviz.measure.ranks.rank_steps import RankSteps, channel_name
from isoviz.measure.ranks.ranks_machine import (
    PREPARED,
    KindFigures,
    RankFigures,
    RankHosts,
    kinds_between,
    rank_hosts,
    ranks_machine,
)
from isoviz.measure.tuning import MIB
from isoviz.measure.ways import Effort
from isoviz.planner import Transfer, cost

EFFORT = Effort(repeats=1, samples=8, seconds=0.02, limit=1e9)
COPY = LatencyBandwidth(1e-9, 8e9)
START = 1.5e-3
"""Seconds that a transfer takes to begin and to end."""
PREPARED_START = 1e-5
"""Seconds of the start of a prepared one."""
REGISTERED = LatencyBandwidth(2e-9, 6e9)
"""Copies of registered memory, whose pages are smaller."""
TRUE = {
    ChannelKind.WINDOW: KindFigures(LatencyBandwidth(1e-9, 7e9), 20e-6),
    ChannelKind.TWO_SIDED: KindFigures(LatencyBandwidth(1e-6, 5e9), 30e-6),
    ChannelKind.PACKED: KindFigures(LatencyBandwidth(2e-9, 3e9), 40e-6, conversion_setup=50e-6),
    ChannelKind.PROCESS_WRITE: KindFigures(LatencyBandwidth(4e-9, 6e9), 25e-6),
}
AWAY = {
    ChannelKind.TWO_SIDED: KindFigures(LatencyBandwidth(1e-5, 1e9), 100e-6),
    ChannelKind.PACKED: KindFigures(LatencyBandwidth(2e-9, 0.9e9), 120e-6),
}


def truth(
    hosts: RankHosts,
    memory: float = 20e9,
    processors: float | None = 2.0,
    link: float = 1.2e9,
    window: KindFigures = TRUE[ChannelKind.WINDOW],
) -> Machine:
    """Ranks on hosts of two processors whose memory carries `memory` bytes per second, with links of `link`."""
    local = preset("local", measure="assumed")
    channels = tuple(replace(c, throughput=COPY) if c.kind is ChannelKind.MEMCPY else c for c in local.channels)
    held = None if processors is None else Resource("node0.processors", processors, held=True)
    (copy,) = local.between("node0.sys", "node0.sys")
    figures = RankFigures(
        replace(local, channels=channels),
        {
            "same host": TRUE | {ChannelKind.WINDOW: window},
            "other host": AWAY,
        },
        Resource("node0.memory", memory),
        held,
        (link, "true"),
        replace(copy, throughput=REGISTERED),
    )
    return ranks_machine(hosts, figures)


class HandedOver(VirtualTimer):
    """Ranks that take `seconds` longer for every chunk that another rank takes further on, and `waking` for the first one."""

    def __init__(self, machine: Machine, seconds: float, waking: float = 0.0) -> None:
        super().__init__(lambda _: machine)
        self.handed_over, self.waking = seconds, waking

    def submitted_seconds(self, machine: Machine, job: Job) -> float:
        return super().seconds(machine, job) + START

    def prepared_seconds(self, machine: Machine, job: Job) -> float:
        return PREPARED_START + job.nbytes / 8e9

    def seconds(self, machine: Machine, job: Job) -> float:
        more = self.waking + self.handed_over * job.nbytes / job.run if job.shape == "relayed" else 0.0
        return super().seconds(machine, job) + more


def probed(
    count: int, hosts: object = 1, effort: Effort = EFFORT, handed_over: float = 0.0, waking: float = 0.0, **options: Any
) -> tuple[Machine, RankSteps]:
    placed = rank_hosts("test", count, hosts)
    true = truth(placed, **options)
    told: list[tuple[int, int, str]] = []
    steps = RankSteps(
        HandedOver(true, handed_over, waking),
        placed,
        preset("local", measure="assumed"),
        128 * MIB,
        effort,
        "2026-01-01",
        "here",
        lambda *t: told.append(t),
        kinds={distance: tuple(kind for kind in kinds if kind in TRUE) for distance, kinds in kinds_between().items()},
    )
    found = steps.measure()
    assert all(0 <= done <= count for done, count, _ in told)
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told), "progress never goes back"
    assert told[-1][0] < told[-1][1]
    return found, steps


@pytest.fixture(scope="module")
def found() -> tuple[Machine, RankSteps]:
    return probed(4)


@pytest.fixture(scope="module")
def apart() -> tuple[Machine, RankSteps]:
    return probed(4, 2)


def between(machine: Machine, kind: ChannelKind, here: int = 0, there: int = 1) -> Channel:
    return machine.channel(channel_name(kind, here, there))


@pytest.mark.parametrize("kind", TRUE)
@pytest.mark.parametrize("run", [8, 100, 5000, 2**20, 2**22])
@pytest.mark.few(5)
def test_finds_the_throughput_functions(found: tuple[Machine, RankSteps], kind: ChannelKind, run: int) -> None:
    channel = between(found[0], kind)
    within = 0.12 if channel.layout_throughput is None else 0.2  # runs as they are have fewer samples then
    assert channel.rate(run) == pytest.approx(TRUE[kind].throughput(run), rel=within)
    assert channel.provenance == "measured 2026-01-01 on here"


def test_finds_how_transfers_begin_and_end(found: tuple[Machine, RankSteps]) -> None:
    starts = dict(found[1].starts)
    assert starts["same host"] == pytest.approx(START)
    assert starts[PREPARED] == pytest.approx(PREPARED_START, rel=0.1)


def test_all_pairs_that_are_alike_share_what_was_measured(found: tuple[Machine, RankSteps]) -> None:
    machine, _ = found
    for channel in machine.channels:
        if channel.kind.crosses_nodes:
            first = between(machine, channel.kind)
            assert channel.throughput is first.throughput
            assert (channel.setup, channel.max_in_flight) == (first.setup, first.max_in_flight)


def test_copies_of_registered_memory_have_rates_of_their_own(found: tuple[Machine, RankSteps]) -> None:
    for channel in found[0].channels:
        if channel.kind == "Memcpy":
            true = COPY if {channel.source, channel.destination} == {f"{channel.source.split('.')[0]}.sys"} else REGISTERED
            for run in (8, 4096, 2**22):
                assert channel.rate(run) == pytest.approx(true(run), rel=0.12), channel.name
            assert channel.provenance == "measured 2026-01-01 on here"


def test_chunks_that_another_rank_takes_further_on_cost_a_hand_over() -> None:
    machine, _ = probed(2, handed_over=15e-6)
    window, sent = between(machine, ChannelKind.WINDOW), between(machine, ChannelKind.TWO_SIDED)
    assert window.request_seconds == pytest.approx(15e-6, rel=0.2)
    assert sent.request_seconds == pytest.approx(15e-6, rel=0.2)
    assert window.setup + window.request_seconds == pytest.approx(20e-6, rel=0.25), "one chunk costs what it did"
    path = ["node0.sys->node1.reg Window", "node1.reg->node1.sys"]
    moved = Transfer.whole(IndexSpace(x=1 << 20), FieldSpace(v="uint8"), "node0.sys", "<F, x>", "node1.sys", "<F, x>")
    few, many = (cost(moved, machine, path, chunk=(1 << 20) // chunks).seconds for chunks in (4, 16))
    assert many > few, "each chunk pays"


@pytest.mark.parametrize("hosts", [1, 2])
@pytest.mark.few(1)
def test_a_rank_that_has_to_wake_up_costs_once_for_every_hop_but_the_first(hosts: int) -> None:
    machine, _ = probed(2, hosts, waking=400e-6)
    path = [["node0.reg->node1.reg TwoSided"], ["node0.sys->node0.reg", "node0.reg->node1.reg TwoSided", "node1.reg->node1.sys"]]
    setups = []
    for hops, memory in zip(path, ("reg", "sys"), strict=True):
        ends = f"node0.{memory}", "<F, x>", f"node1.{memory}", "<F, x>"
        setups.append(cost(Transfer.whole(IndexSpace(x=1 << 20), FieldSpace(v="uint8"), *ends), machine, hops).setup)
    assert setups[1] - setups[0] == pytest.approx(2 * 400e-6, rel=0.1)
    assert not any(channel.costs for channel in probed(2, hosts)[0].channels), "no waiting, no cost"
    assert machine_from_json(machine_to_json(machine)) == machine


@pytest.mark.parametrize("seconds", [0.0, 15e-6, 1e-3])
def test_a_hand_over_takes_no_longer_than_the_smallest_transfer(seconds: float) -> None:
    placed = rank_hosts("test", 2, 1)
    true = truth(placed)
    local = preset("local", measure="assumed")
    steps = RankSteps(HandedOver(true, seconds), placed, local, 128 * MIB, EFFORT, "2026", "here", lambda *_: None)
    for kind in (ChannelKind.WINDOW, ChannelKind.TWO_SIDED):
        channel = between(true, kind)
        assert steps.hand_overs(true, channel).request_seconds == pytest.approx(min(seconds, channel.setup), rel=0.05)


def test_a_channel_may_hold_several_processors_and_change_layouts_at_a_rate_of_its_own() -> None:
    true = replace(TRUE[ChannelKind.WINDOW], processor_use=1.8, layout_throughput=LatencyBandwidth(4e-9, 7e9))
    machine, steps = probed(2, memory=1e12, window=true)
    for run in (64, 1024):
        assert between(machine, ChannelKind.WINDOW).rate(run) == pytest.approx(true.throughput(run), rel=0.15)
        assert between(machine, ChannelKind.WINDOW).layout_rates(run) == pytest.approx(LatencyBandwidth(4e-9, 7e9)(run), rel=0.15)
    processors = machine.resource("host0.processors")
    assert (processors.held, processors.capacity) == (True, pytest.approx(2.0, rel=0.05))
    held = {kind: dict(between(machine, kind).resources)["host0.processors"] for kind in TRUE}
    assert held.pop(ChannelKind.WINDOW) == pytest.approx(1.8, rel=0.1)
    assert set(held.values()) == {1.0}
    window = between(machine, ChannelKind.WINDOW).name
    (pair,) = (pair for pair in steps.pairs if pair.second == window)
    assert pair.first == "node0.sys->node0.sys"
    assert pair.gain < 1.6


@pytest.mark.parametrize("kind", TRUE)
def test_finds_the_set_up(found: tuple[Machine, RankSteps], kind: ChannelKind) -> None:
    channel = between(found[0], kind)
    assert channel.setup == pytest.approx(TRUE[kind].setup, rel=0.25)
    assert channel.conversion_setup == pytest.approx(TRUE[kind].conversion_setup, abs=15e-6)


def test_finds_what_the_ranks_of_a_host_share(found: tuple[Machine, RankSteps]) -> None:
    machine, steps = found
    assert machine.resource("host0.memory").capacity == pytest.approx(20e9, rel=0.15), "two copies and a half"
    processors = machine.resource("host0.processors")
    assert processors.held
    assert processors.capacity == pytest.approx(2.0, rel=0.1)
    uses = dict(between(machine, ChannelKind.WINDOW).resources)
    assert uses["host0.processors"] == 1.0
    assert uses["host0.memory"] == pytest.approx(2.0, rel=0.5)
    pair, *beside = steps.pairs
    assert pair.first == "node0.sys->node0.sys"
    assert [each.second.split()[-1] for each in beside] == ["Window", "ProcessWrite", "TwoSided", "Packed"]
    assert pair.gain == pytest.approx(20e9 / 2 / 8e9, rel=0.1)


def test_processors_for_every_rank_bound_nothing() -> None:
    machine, _ = probed(2, memory=1e12, processors=None)
    assert "host0.processors" not in {resource.name for resource in machine.resources}
    assert machine.resource("host0.memory").capacity == pytest.approx(4 * 8e9, rel=0.15)


@pytest.mark.parametrize("kind", AWAY)
@pytest.mark.few(1)
@pytest.mark.full
def test_other_hosts_are_measured_on_their_own(apart: tuple[Machine, RankSteps], kind: ChannelKind) -> None:
    machine, _ = apart
    for run in (64, 4096, 2**22):
        assert between(machine, kind, 0, 2).rate(run) == pytest.approx(AWAY[kind].throughput(run), rel=0.12)
        assert between(machine, kind, 0, 1).rate(run) == pytest.approx(TRUE[kind].throughput(run), rel=0.12)


@pytest.mark.full
def test_the_link_of_a_host_is_found(apart: tuple[Machine, RankSteps]) -> None:
    machine, _ = apart
    assert machine.resource("host1.link.in").capacity == pytest.approx(1.2e9, rel=0.1)
    assert dict(between(machine, ChannelKind.TWO_SIDED, 3, 1).resources)["host1.link.out"] == 1.0


def test_ranks_on_hosts_of_their_own() -> None:
    machine, steps = probed(2, 2)
    assert {str(c.kind) for c in machine.channels if c.kind.crosses_nodes} == {"TwoSided", "Packed"}
    assert steps.pairs == []
    assert steps.starts == [("other host", pytest.approx(START))]


def test_ranks_that_may_not_write_to_each_other_have_no_such_channel() -> None:
    placed = rank_hosts("test", 2, 1)
    local, kinds = (
        preset("local", measure="assumed"),
        kinds_between() | {"same host": (ChannelKind.WINDOW, ChannelKind.TWO_SIDED)},
    )
    timer = HandedOver(truth(placed), 0.0)
    machine = RankSteps(timer, placed, local, 128 * MIB, EFFORT, "2026", "here", lambda *_: None, kinds=kinds).measure()
    assert {str(c.kind) for c in machine.channels if c.kind.crosses_nodes} == {"Window", "TwoSided"}


def test_predictions_are_checked(found: tuple[Machine, RankSteps], apart: tuple[Machine, RankSteps]) -> None:
    for steps, count in ((found[1], 3), (apart[1], 6)):
        assert len(steps.checks) == count
        for check in steps.checks:
            assert check.ratio == pytest.approx(1, abs=0.2), check


def test_what_was_found_is_saved_and_read(apart: tuple[Machine, RankSteps]) -> None:
    machine, _ = apart
    again = machine_from_json(machine_to_json(machine))
    assert again == machine
    assert again.digest == machine.digest
    assert between(machine, ChannelKind.PACKED).throughput.to_json()["date"] == "2026-01-01"


def test_one_rank_measures_its_copies() -> None:
    machine, _ = probed(1)
    assert {str(channel.kind) for channel in machine.channels} == {"Memcpy", "DiskRead", "DiskWrite"}


def test_a_teller_that_raises_ends_it() -> None:
    placed = rank_hosts("test", 2, 1)
    true = truth(placed)

    def tell(done: int, steps: int, what: str) -> None:
        if done > 5:
            raise Cancelled("enough")

    timer = VirtualTimer(lambda _: true)
    steps = RankSteps(timer, placed, preset("local", measure="assumed"), 128 * MIB, EFFORT, "2026", "here", tell)
    with pytest.raises(Cancelled):
        steps.measure()


def test_the_time_limit_leaves_the_first_samples() -> None:
    machine, _ = probed(2, effort=replace(EFFORT, limit=0.0))
    for kind in TRUE:
        assert len(between(machine, kind).throughput.samples) == 6  # type: ignore[attr-defined]
