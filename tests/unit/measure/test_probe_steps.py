"""The steps of a probe on a machine that is known, in virtual time: it finds what is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from measured_in_virtual_time import VirtualTimer

from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine, Memory, MemoryKind, Resource, Sampled
from isoviz.measure.channel_timer import rates_together
from isoviz.measure.computer_probe import BRIEF, ComputerSteps
from isoviz.measure.jobs import Job, job_plan
from isoviz.measure.sampling import halfway
from isoviz.measure.steps import fewest_that_pay
from isoviz.measure.tuning import APART, MIB
from isoviz.measure.ways import Effort, shapes
from isoviz.runtime import Simulator
from isoviz.this_computer import ComputerFacts

FACTS = ComputerFacts("here", "a processor", 2, "a system")
EFFORT = Effort(repeats=1, samples=11, seconds=0.05, limit=1e9)
READ, WRITE, COPY = "node0.dsk->node0.sys", "node0.sys->node0.dsk", "node0.sys->node0.sys"


def truth(
    device: float | None = 1.25, memory: float | None = 12e9, setup: float = 1e-3, read: float = 1.5e9, cliff: bool = False
) -> Machine:
    """A computer whose disk does `device` channels at once and whose memory carries `memory` bytes per second."""
    uses = ((("node0.memory", 2.0),) if memory else ()), ((("node0.dsk.device", 1.0),) if device else ())
    copy = Sampled(((1.0, 1e8), (64.0, 4e9), (2.0**24, 5e9))) if cliff else LatencyBandwidth(1e-9, 5e9)
    resources = []
    if memory:
        resources.append(Resource("node0.memory", memory))
    if device:
        resources.append(Resource("node0.dsk.device", device, held=True))
    return Machine(
        "truth",
        (Memory("node0.sys", MemoryKind.SYS), Memory("node0.dsk", MemoryKind.DSK)),
        (
            Channel("", ChannelKind.MEMCPY, "node0.sys", "node0.sys", copy, resources=uses[0]),
            Channel("", ChannelKind.DISK_READ, "node0.dsk", "node0.sys", LatencyBandwidth(1e-4, read), setup, resources=uses[1]),
            Channel("", ChannelKind.DISK_WRITE, "node0.sys", "node0.dsk", LatencyBandwidth(2e-4, 1e9), setup, resources=uses[1]),
        ),
        tuple(resources),
    )


def probed(
    machine_with: Callable[[Machine], Machine] | Machine, effort: Effort = EFFORT
) -> tuple[Machine, ComputerSteps, VirtualTimer]:
    given = machine_with
    bench = VirtualTimer((lambda _: given) if isinstance(given, Machine) else given)
    told: list[tuple[int, int, str]] = []
    steps = ComputerSteps(bench, FACTS, {"node0.dsk": Path()}, (), 128 * MIB, effort, "2026-01-01", lambda *t: told.append(t))
    machine = steps.measure()
    assert all(0 <= done <= count for done, count, _ in told)
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told), "progress never goes back"
    return machine, steps, bench


@pytest.fixture(scope="module")
def found() -> tuple[Machine, ComputerSteps, VirtualTimer]:
    return probed(truth())


@pytest.mark.parametrize(("channel", "runs"), [(COPY, (1, 7, 100, 5000, 2**20, 2**24)), (READ, (2**16, 2**18, 2**20, 3 << 20))])
def test_finds_the_throughput_function(found, channel: str, runs: Sequence[int]) -> None:
    machine, _, _ = found
    for run in runs:
        assert machine.channel(channel).rate(run) == pytest.approx(truth().channel(channel).rate(run), rel=0.08), run


def test_finds_the_set_up(found) -> None:
    machine, _, _ = found
    assert machine.channel(READ).setup == pytest.approx(1e-3, rel=0.25)
    assert machine.channel(COPY).setup < 1e-4


def test_finds_how_much_more_a_conversion_takes_to_set_up() -> None:
    machine = truth()
    copy = machine.channel(COPY)
    slower = replace(copy, setup=5e-5, conversion_setup=3e-4)
    found, _, _ = probed(replace(machine, channels=(slower, *machine.channels[1:])))
    assert found.channel(COPY).setup == pytest.approx(5e-5, rel=0.3)
    assert found.channel(COPY).conversion_setup == pytest.approx(3e-4, rel=0.3)
    assert found.channel(READ).conversion_setup == 0


def test_finds_layout_changes_and_requests_apart() -> None:
    machine = truth()
    layouts = LatencyBandwidth(2e-9, 3e9)
    true = replace(machine.channel(COPY), layout_throughput=layouts, request_seconds=1e-5)
    found, _, _ = probed(replace(machine, channels=(true, *machine.channels[1:])))
    copy = found.channel(COPY)
    assert copy.layout_throughput is not None
    assert copy.request_seconds == pytest.approx(1e-5, rel=0.1)
    for run in (4, 64, 1024, 65536):
        assert copy.rate(run) == pytest.approx(true.rate(run), rel=0.08), run
        assert copy.layout_throughput(run) == pytest.approx(layouts(run), rel=0.12), run
    assert copy.rate(2**24) == pytest.approx(true.rate(2**24), rel=0.03)


def test_a_brief_probe_finds_what_a_longer_one_finds() -> None:
    machine, steps, bench = probed(truth(), replace(BRIEF, limit=1e9))
    for channel, run in ((COPY, 7), (COPY, 5000), (COPY, 2**24), (READ, 2**16), (READ, 2**20), (WRITE, 2**22)):
        assert machine.channel(channel).rate(run) == pytest.approx(truth().channel(channel).rate(run), rel=0.15), (channel, run)
    assert machine.channel(READ).setup == pytest.approx(1e-3, rel=0.25)
    assert machine.resource("node0.dsk.device").capacity == pytest.approx(1.25, rel=0.1)
    assert [check.ratio for check in steps.checks] == pytest.approx([1.0] * 12, rel=0.2)
    assert sum(job.nbytes for job in bench.jobs) < 2 << 30, "a second of a disk, a part of a second of a memory"


@pytest.mark.parametrize("capacity", [1.25, 1.0, 1.4])
@pytest.mark.few(1)
def test_finds_what_a_disk_does_at_once(capacity: float) -> None:
    machine, _, _ = probed(truth(device=capacity))
    device = machine.resource("node0.dsk.device")
    assert device.held
    assert device.capacity == pytest.approx(capacity, rel=0.06)
    assert dict(machine.channel(READ).resources)["node0.dsk.device"] == 1.0


def test_finds_how_much_the_memory_carries(found) -> None:
    """Two copies of 5 GB/s on a memory of 12 GB/s: each byte is read and written."""
    machine, steps, _ = found
    assert machine.resource("node0.memory").capacity == pytest.approx(12e9, rel=0.05)
    assert dict(machine.channel(COPY).resources)["node0.memory"] == pytest.approx(2.0, rel=0.01)
    copies = steps.pairs[0]
    assert (copies.first, copies.second) == (COPY, COPY)
    assert copies.gain == pytest.approx(1.2, rel=0.05)


def test_what_shares_nothing_gets_no_resource() -> None:
    machine, steps, _ = probed(truth(device=None, memory=None))
    assert machine.resources == ()
    assert all(channel.resources == () for channel in machine.channels)
    assert all(pair.gain > 1.85 for pair in steps.pairs[:3])


class Busy(VirtualTimer):
    """Something else keeps the computer busy while the throughput functions are looked for, until the first round."""

    over = False

    def seconds(self, machine: Machine, job: Job) -> float:
        return super().seconds(machine, job) * (1 if self.over else 1.7)


def test_what_else_was_done_for_a_while_is_no_property_of_the_computer() -> None:
    bench = Busy(lambda _: truth())

    def tell(done: int, steps: int, what: str) -> None:
        bench.over |= what.endswith("once more")

    effort = replace(EFFORT, repeats=5)
    machine = ComputerSteps(bench, FACTS, {"node0.dsk": Path()}, (), 128 * MIB, effort, "2026-01-01", tell).measure()
    for channel, run in ((COPY, 100), (COPY, 2**20), (READ, 2**20)):
        assert machine.channel(channel).rate(run) == pytest.approx(truth().channel(channel).rate(run), rel=0.1), (channel, run)


def test_rounds_end_with_the_time_there_is() -> None:
    """A slow disk: once its functions have been found the time is over, and no round begins."""
    bench, told, now = VirtualTimer(lambda _: truth()), [], [0.0]

    def tell(done: int, steps: int, what: str) -> None:
        told.append(what)
        now[0] += 10.0

    effort = replace(EFFORT, repeats=5, limit=50.0)
    ComputerSteps(bench, FACTS, {"node0.dsk": Path()}, (), 128 * MIB, effort, "2026-01-01", tell, lambda: now[0]).measure()
    assert not [what for what in told if what.endswith("once more")]


def test_predictions_hold(found) -> None:
    _, steps, _ = found
    assert len(steps.checks) == 12
    assert {check.slowest for check in steps.checks} == {READ, WRITE, COPY}
    for check in steps.checks:
        assert check.ratio == pytest.approx(1, rel=0.12), check


def test_more_samples_where_the_curve_bends() -> None:
    _, steps, _ = probed(truth(cliff=True))
    runs = [sample.run for sample in steps.samples[COPY]]
    bend = [run for run in runs if 8 <= run <= 512]
    straight = [run for run in runs if 4096 <= run <= 2**24]
    assert len(bend) > len(straight), runs
    assert len(runs) <= EFFORT.samples


def test_as_many_requests_in_flight_as_pay() -> None:
    def with_flight(machine: Machine) -> Machine:
        return truth(read=1.5e9 * min(machine.channel(READ).max_in_flight, 4))

    machine, _, _ = probed(with_flight)
    assert machine.channel(READ).max_in_flight == 4
    assert machine.channel(WRITE).max_in_flight == 1
    assert machine.channel(READ).rate(2**24) == pytest.approx(6e9, rel=0.1)


def test_once_time_is_over_only_the_first_samples_are_taken() -> None:
    _, steps, _ = probed(truth(), replace(EFFORT, limit=-1.0))
    assert {len(samples) for samples in steps.samples.values()} == {7, 5}


def test_no_job_is_larger_than_the_room(found) -> None:
    _, _, bench = found
    assert max(job.nbytes for job in bench.jobs) <= 128 * MIB
    assert all(job.nbytes * (job.run + APART) <= 128 * MIB * job.run for job in bench.jobs if job.shape == "sparse")


def test_buffered_disks_have_no_blocks() -> None:
    bench = VirtualTimer(lambda _: truth())
    steps = ComputerSteps(
        bench, FACTS, {"node0.dsk": Path()}, ["node0.dsk"], 128 * MIB, replace(EFFORT, limit=-1.0), "2026-01-01", lambda *_: None
    )
    read = steps.measure().channel(READ)
    assert read.alignment == 1
    assert read.provenance == "measured 2026-01-01 on here, buffered: this file system takes no unbuffered access"


def test_ways_of_moving() -> None:
    copy, read, write = truth().channels
    assert shapes(copy, 1) == ("gather", "scatter", "transpose")
    assert shapes(copy, 4) == ("split", "join", "transpose")
    assert shapes(copy, 65536) == ("gather", "scatter", "transpose")
    assert shapes(copy, 16 * MIB) == ("stream",)
    assert shapes(read, 4096) == ("sparse",)
    assert shapes(read, 65536) == ("sparse", "piped")
    assert shapes(write, 4096) == ("gather", "transpose")
    assert shapes(write, 65536) == ("gather", "piped")
    for channel in (read, write):
        assert shapes(channel, MIB) == shapes(channel, 16 * MIB) == ("piped", "stream")


def test_fewest_that_pay() -> None:
    assert fewest_that_pay({1: 0.0, 2: 0.1, 4: 0.12}) == 1, "a tenth faster does not pay"
    assert fewest_that_pay({1: 0.0, 2: 0.3, 4: 0.9, 8: 0.93}) == 4
    assert fewest_that_pay({1: 0.0, 2: 0.1, 4: 0.12}, 1.05) == 2, "of a disk it does"


def test_halfway() -> None:
    assert halfway(1, 16) == 4
    assert halfway(4096, 8192) is None


def test_a_job_has_the_bytes_and_the_runs_it_says() -> None:
    machine = truth()
    for shape, run in (("gather", 4), ("scatter", 4096), ("transpose", 16), ("stream", MIB)):
        plan = job_plan(machine, Job(COPY, shape, run, 4 * MIB))
        assert plan.bytes == 4 * MIB
        assert [hop.channel for hop in plan.hops] == [COPY]
        assert plan.hops[0].request_bytes == run
    for shape in ("split", "join"):
        plan = job_plan(machine, Job(COPY, shape, 16, 4 * MIB))
        assert plan.transfer.fields.sizes == (4, 8, 16, 36)
        assert plan.hops[0].request_bytes == 16, "the mean over the fields"
    sparse = job_plan(machine, Job(READ, "sparse", 512, MIB))
    assert sparse.bytes == MIB and sparse.hops[0].request_bytes == 512
    (rows,) = sparse.copies(0, 0)
    assert rows.run == 512 and rows.loops == ((2048, 512 + APART, 512),)
    piped = job_plan(machine, Job(READ, "piped", MIB, 8 * MIB))
    assert [hop.kind for hop in piped.hops] == ["DiskRead", "Memcpy"]
    assert (piped.chunk_count, piped.chunk_payload) == (8, MIB)
    copied = job_plan(machine, Job(READ, "copied", 4 * MIB, 32 * MIB))
    assert [hop.kind for hop in copied.hops] == ["DiskRead", "DiskWrite"]
    assert copied.chunk_count == 8


def test_rates_of_what_never_ran_together() -> None:
    simulator = Simulator(truth())
    simulator.submit(job_plan(truth(), Job(READ, "stream", MIB, 4 * MIB)))
    simulator.submit(job_plan(truth(), Job(WRITE, "stream", MIB, 4 * MIB)), at=10.0)
    assert rates_together(simulator.run()) is None


def test_rates_where_one_pauses_while_the_other_is_at_work() -> None:
    """One channel is asked twice, and the other works in between only: no rate of both at once."""
    machine = truth(device=None, memory=None)
    simulator = Simulator(machine)
    for when in (0.0, 10.0):
        simulator.submit(job_plan(machine, Job(READ, "stream", MIB, MIB)), at=when)
    simulator.submit(job_plan(machine, Job(WRITE, "stream", MIB, MIB)), at=5.0)
    assert rates_together(simulator.run()) is None


def test_a_disk_whose_setup_seems_to_take_all_the_time() -> None:
    """Set-ups are measured too: two of them may come to more than what was taken with both."""

    class Hasty(VirtualTimer):
        def seconds(self, machine: Machine, job: Job) -> float:
            return 1e-4 if job.shape == "copied" else super().seconds(machine, job)

    steps = ComputerSteps(
        Hasty(lambda _: truth()), FACTS, {"node0.dsk": Path()}, (), 128 * MIB, EFFORT, "2026-01-01", lambda *_: None
    )
    machine = truth(setup=1.0)
    read, write = machine.channel(READ), machine.channel(WRITE)
    pair = steps._reading_and_writing(machine, read, write)
    assert all(0 < rate <= alone for rate, alone in zip(pair.together, pair.alone, strict=True))
