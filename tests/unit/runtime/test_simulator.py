"""The simulator: the planner's time on an idle machine, shared resources, many transfers, faults, and what it refuses."""

from __future__ import annotations

import gc
import math
import random
from dataclasses import replace

import pytest

from isoviz.errors import InputError, LimitError, TransferError
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, Constant, Limits, Machine, Memory, MemoryKind, Resource, preset
from isoviz.planner import Options, Plan, Transfer, plan
from isoviz.runtime import Simulator, first_come_first_served, simulate
from isoviz.runtime.pipeline import work_of
from isoviz.runtime.trace.trace import Trace
from isoviz.scheduling import virtual_time
from isoviz.scheduling.fair_sharing import fair_rates
from isoviz.scheduling.work import Cancel, Finish, Issue, PathWork, Ring, Submit, Work

CLOSE = 1e-9
TWO = preset("two-node")


# ---- one transfer on an idle machine


def test_requests_of_any_length_take_the_same_time() -> None:
    transfer = Transfer.whole(IndexSpace(x=1 << 20), FieldSpace(a="f8"), "node0.fbm0", "<F, x>", "node1.fbm0", "<x, F>")
    found = plan(transfer, TWO)
    times = [simulate(found, TWO, request_bytes=nbytes).seconds for nbytes in (1 << 10, 1 << 16, 1 << 20, 1 << 30)]
    assert times == pytest.approx([found.seconds] * 4, rel=CLOSE)


def test_requests_on_a_disk_follow_its_runs() -> None:
    """Short ones come with what their pages have besides, long ones want fewer requests; a chunk is at least a few, if it is not
    smaller than one."""
    local = preset("local", measure="assumed")
    for space, here, there, shortest, requests in (
        (IndexSpace(x=8192, y=8192), "<F, x, y>", "<F, y, x>", 0, math.ceil(8 / 0.75)),
        (IndexSpace(x=1 << 26), "<F, x>", "<x, F>", 1 << 20, 4),
    ):
        transfer = Transfer.whole(space, FieldSpace(a="f4", b="f4"), "node0.dsk", here, "node0.dsk", there)
        found = plan(transfer, local, options=Options(slot_limit=8 << 20))
        assert found.chunk_payload == 8 << 20
        assert shortest <= found.hops[0].request_bytes and (shortest > 0 or found.hops[0].request_bytes < 128 << 10)
        assert work_of(found).requests[0] == requests
        assert simulate(found, local, request_bytes=1 << 16).seconds == pytest.approx(found.seconds, rel=CLOSE)
        assert work_of(found, request_bytes=1).requests[0] > 1 << 20
    for nbytes, requests in ((400, 1), (2 << 20, 2), (32 << 20, 8)):
        whole = Transfer.whole(IndexSpace(x=nbytes // 4), FieldSpace(a="f4"), "node0.dsk", "<F, x>", "node0.sys", "<F, x>")
        assert work_of(plan(whole, local)).requests == (requests,)


def test_hops_in_turn_never_overlap() -> None:
    machine = replace(TWO, limits=Limits(overlap=False))
    transfer = Transfer.whole(IndexSpace(x=1 << 20), FieldSpace(a="f8"), "node0.fbm0", "<F, x>", "node1.fbm0", "<F, x>")
    found = plan(transfer, machine, options=Options(slot_limit=1 << 18))
    assert found.chunk_count > 4 and len(found.hops) > 2 and not work_of(found).paths[0].overlap
    trace = simulate(found)
    assert trace.overlap == pytest.approx(1)
    order = [(span.chunk, span.hop) for span in sorted(trace.requests, key=lambda span: (span.start, span.end))]
    assert order == sorted(order)


# ---- shared resources


def bus_machine(capacity: float, weights: tuple[float, float] = (1.0, 1.0), rate: float = 100.0) -> Machine:
    """Three memories in a row; both channels use one bus."""
    memories = [Memory(f"node0.{kind}", MemoryKind(kind.upper())) for kind in ("sys", "reg", "zcm")]
    channels = [
        Channel(f"c{k}", ChannelKind.MEMCPY, memories[k].name, memories[k + 1].name, Constant(rate), resources=(("bus", weight),))
        for k, weight in enumerate(weights)
    ]
    return Machine("bus", tuple(memories), tuple(channels), (Resource("bus", capacity),))


def bytes_of(size: int) -> Transfer:
    return Transfer.whole(IndexSpace(x=size), FieldSpace(a="u1"), "node0.sys", "<F, x>", "node0.zcm", "<F, x>")


@pytest.mark.parametrize("weights", [(1.0, 1.0), (2.0, 1.0), (1.0, 3.0), (0.0, 1.0)])
@pytest.mark.parametrize("capacity", [10.0, 150.0, 1000.0])
def test_a_bus_that_both_hops_use(capacity: float, weights: tuple[float, float]) -> None:
    machine = bus_machine(capacity, weights)
    found = plan(bytes_of(1000), machine, options=Options(slot_limit=10))
    assert found.chunk_count >= 100
    simulated = simulate(found, machine)
    assert simulated.seconds == pytest.approx(found.seconds, rel=0.01)


def test_shares_never_exceed_a_resource() -> None:
    """Bytes of all that is under way on the bus at any time, from the trace."""
    machine = bus_machine(120.0, (1.0, 2.0))
    simulator = Simulator(machine)
    draw = random.Random(5)
    for _ in range(30):
        found = plan(bytes_of(draw.randrange(1, 500)), machine, options=Options(slot_limit=draw.randrange(1, 40)))
        simulator.submit(found, at=draw.random() * 20)
    trace = simulator.run()
    weights = {"c0": 1.0, "c1": 2.0}
    whole = sum(weights[use.channel] * use.nbytes for use in trace.uses)
    assert trace.nbytes == sum(transfer.nbytes for transfer in trace.transfers)
    assert sum(use.nbytes for use in trace.uses) == pytest.approx(2 * trace.nbytes)
    busy = sum(end - start for start, end in merged([(span.start, span.end) for span in trace.requests]))
    assert whole <= 120.0 * busy * (1 + CLOSE)


def merged(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def test_equals_share_equally() -> None:
    """Two transfers of one hop each on channels of their own: the bus is all they share."""
    machine = bus_machine(100.0)
    simulator = Simulator(machine)
    for name in ("c0", "c1"):
        simulator.submit_work(Work.one_path((name,), 1), ((1.0, 1.0),), 100.0, 100.0)
    simulator.submit_work(Work.one_path(("c0",), 1), ((1.0, 1.0),), 100.0, 100.0, at=3.0)
    assert [span[4:] for span in simulator.run().requests] == [(0, 2), (0, 2), (3, 4)]


def test_a_request_that_follows_its_like_changes_no_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resources are divided anew where transfers begin and end, not with each of 300 requests of three transfers."""
    divided = []
    monkeypatch.setattr(virtual_time, "fair_rates", lambda *given: divided.append(given) or fair_rates(*given))
    simulator = Simulator(bus_machine(100.0))
    for name in ("c0", "c1"):
        simulator.submit_work(Work.one_path((name,), 100), ((1.0, 1.0),), 10_000.0, 100.0)
    simulator.submit_work(Work.one_path(("c0",), 100), ((2.0, 2.0),), 10_000.0, 100.0, at=500.0)
    trace = simulator.run()
    # 200 s until the first two end, which share the bus. The last one has it for itself, and could not use more than half of it.
    assert [span.ended for span in trace.transfers] == pytest.approx([200.0, 200.0, 700.0])
    assert len(trace.requests) == 300 and len(divided) <= 8


# ---- many transfers


def crowd(machine: Machine, count: int, seed: int = 1, **options: object) -> Simulator:
    draw = random.Random(seed)
    simulator = Simulator(machine, **options)  # type: ignore[arg-type]
    memories = [name for node in machine.nodes for name in (f"node{node}.fbm0", f"node{node}.sys")]
    space, fields = IndexSpace(x=1 << 14), FieldSpace(a="f4", b="f4")
    plans: dict[tuple[str, ...], Plan] = {}
    for _ in range(count):
        here, there = draw.sample(memories, 2)
        key = (here, there, draw.choice(("<F, x>", "<x, F>")))
        if key not in plans:
            plans[key] = plan(Transfer.whole(space, fields, here, "<F, x>", there, key[2]), machine, "simple")
        simulator.submit(plans[key], at=draw.random() * 1e-3, priority=draw.choice((0, 0, 5)))
    return simulator


@pytest.mark.parametrize("options", [{}, {"policy": first_come_first_served}, {"in_flight": 3}])
def test_a_crowd_ends(options: dict[str, object]) -> None:
    trace = crowd(TWO, 200, **options).run()
    assert len(trace.transfers) == 200 and {transfer.outcome for transfer in trace.transfers} == {"done"}
    work = sum(len(t.work.channels) * t.work.chunks for t in trace.transfers)
    assert len(trace.requests) == work
    assert trace.seconds >= max(use.seconds for use in trace.uses)


def test_one_step_at_a_time_and_in_slices() -> None:
    whole = crowd(TWO, 60).run()
    simulator = crowd(TWO, 60)
    seconds = [step.seconds for step in iter(simulator.step, None)]
    assert seconds == sorted(seconds)
    assert simulator.trace() == whole
    assert simulator.step() is None
    sliced = crowd(TWO, 60)
    for k in range(1, 40):
        part = sliced.run(until=k * whole.end / 40)
        assert sliced.now == k * whole.end / 40
        assert all(span.end <= sliced.now for span in part.requests)
        assert all(transfer.submitted <= sliced.now for transfer in part.transfers)
    assert sliced.run() == whole


def test_a_crowd_on_one_bus() -> None:
    machine = bus_machine(50.0)
    simulator = Simulator(machine)
    for k in range(40):
        simulator.submit(plan(bytes_of(50 + k), machine, options=Options(slot_limit=10)))
    trace = simulator.run()
    assert 2 * trace.nbytes / trace.seconds == pytest.approx(50.0, rel=CLOSE)  # the bus is never idle


def test_an_urgent_transfer_is_faster_than_one_that_is_not() -> None:
    transfer = Transfer.whole(IndexSpace(x=1 << 22), FieldSpace(a="f4"), "node0.sys", "<F, x>", "node1.sys", "<F, x>")
    found = plan(transfer, TWO)
    ends = {}
    for priority in (0, 1):
        simulator = Simulator(TWO)
        for _ in range(5):
            simulator.submit(found)
        late = simulator.submit(found, at=found.seconds / 2, priority=priority)
        ends[priority] = simulator.run().of[late].seconds
    assert ends[1] < 1.5 * found.seconds < 4 * found.seconds < ends[0]


# ---- faults and cancelling


def test_a_fault_ends_its_transfer_only() -> None:
    transfer = Transfer.whole(IndexSpace(x=1 << 20), FieldSpace(a="f4"), "node0.fbm0", "<F, x>", "node1.fbm0", "<F, x>")
    found = plan(transfer, TWO)
    assert found.chunk_count > 3

    def fault(issue: Issue) -> str | None:
        return "torn cable" if issue.transfer == 1 and issue[1:3] == (1, 0) else None

    simulator = Simulator(TWO, fault=fault)
    for k in range(3):
        simulator.submit(found, at=k * found.seconds * 2)
    trace = simulator.run()
    assert [(each.outcome, each.reason) for each in trace.transfers] == [("done", ""), ("failed", "torn cable"), ("done", "")]
    assert trace.of[1].seconds < trace.of[2].seconds == pytest.approx(trace.of[0].seconds)
    last = found.chunk_count - 1
    assert (0, 0, last) in trace.chunk_ends and (1, 0, last) not in trace.chunk_ends
    assert not any(span[:2] == (1, 2) for span in trace.requests)
    assert simulator.scheduler.counts.held_bytes == 0


@pytest.mark.parametrize("when", [0.0, 0.25, 0.5, 0.75, 2.5, 4.0])
def test_cancelled_at_any_time(when: float) -> None:
    """Submitted at 0.5, on its channel from 1.0 on, would end at 4.0."""
    simulator = Simulator(bus_machine(1e9))
    number = simulator.submit_work(Work.one_path(("c0",), 3), ((1.0, 1.0),), 3.0, 1.0, at=0.5, setup=0.5)
    simulator.cancel(number, at=when)
    simulator.cancel(number, at=when)
    steps = list(iter(simulator.step, None))
    trace = simulator.trace()
    if when < 0.5:
        assert trace.transfers == () or trace.of[number].ended == 0.5
    else:
        (transfer,) = trace.transfers
        assert transfer.outcome == ("cancelled" if when < 4 else transfer.outcome)
        assert transfer.ended == {0.5: 0.5, 0.75: 0.75, 2.5: 3.0, 4.0: 4.0}[when]
    assert len(trace.requests) == {2.5: 2, 4.0: 3}.get(when, 0)
    if when < 1:
        assert [(type(step.stimulus), step.instructions) for step in steps] == [(Cancel, (Finish(number, "cancelled"),))]
    else:
        assert type(steps[0].stimulus) is Submit
    assert simulator.scheduler.counts.running == 0


# ---- what is refused


def test_what_is_refused() -> None:
    found = plan(bytes_of(100), machine := bus_machine(10.0))
    simulator = Simulator(machine)
    simulator.submit(found)
    simulator.run()
    for wrong in (0.0, simulator.now / 2, math.nan, math.inf, -math.inf):
        with pytest.raises(InputError, match="submitted at"):
            simulator.submit(found, at=wrong)
        with pytest.raises(InputError, match="cancelled at"):
            simulator.cancel(0, at=wrong)
    for number in (-1, 1):
        with pytest.raises(InputError, match="no transfer"):
            simulator.cancel(number)
    with pytest.raises(TransferError, match="plan again"):
        Simulator(bus_machine(11.0)).submit(found)
    with pytest.raises(TransferError, match="plan again"):
        simulate(found, bus_machine(11.0))
    with pytest.raises(InputError, match="no plan"):
        simulate([])
    assert len(simulator.run().transfers) == 1


def test_work_that_does_not_fit_its_times() -> None:
    simulator = Simulator(TWO)
    one, two = Work.one_path(("c0",), 1), Work((PathWork(("c0",), 1), PathWork(("c1",), 1)))
    with pytest.raises(InputError, match="times of 2 hops; the work has 1"):
        simulator.submit_work(one, ((1.0, 1.0),) * 2, 1.0, 1.0)
    with pytest.raises(InputError, match="shares of 0 paths; the work has 2"):
        simulator.submit_work(two, ((1.0, 1.0),) * 2, 1.0, 1.0)
    with pytest.raises(InputError, match="shares of 2 paths; the work has 1"):
        simulator.submit_work(one, ((1.0, 1.0),), 1.0, 1.0, shares=((1.0, 1.0),) * 2)
    assert simulator.run().transfers == ()


def test_buffers_that_fit_nowhere_are_refused_at_once() -> None:
    """Stored and forwarded, everything has to fit."""
    machine = bus_machine(10.0)
    memories = tuple(replace(memory, capacity=100 if memory.name == "node0.reg" else None) for memory in machine.memories)
    machine = replace(machine, memories=memories)
    found = plan(bytes_of(1000), machine)
    simulator = Simulator(machine)
    with pytest.raises(LimitError, match=r"node0\.reg"):
        simulator.submit(found, pipelined=False, at=5.0)
    with pytest.raises(InputError, match="slots"):
        simulator.submit_work(Work.one_path(("c0", "c1"), 1, (Ring("node0.reg", 1, 0),)), ((1.0, 1.0),) * 2, 1.0, 1.0)
    simulator.submit(found)
    assert simulator.run().seconds == pytest.approx(found.seconds, rel=0.05)


def test_nothing_to_simulate() -> None:
    assert Simulator(TWO).run() == Trace((), (), "simulated")
    simulator = Simulator(TWO)
    assert simulator.run(until=3.0).seconds == 0 and simulator.now == 3.0


def test_a_trace_leaves_the_garbage_collector_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It belongs to the process: another thread would find it switched off, or on."""
    switched: list[str] = []
    for name in ("disable", "enable", "freeze", "set_threshold"):
        monkeypatch.setattr(gc, name, lambda *_, name=name: switched.append(name))
    assert crowd(TWO, 3).run().requests and not switched


def test_an_urgent_transfer_overtakes_requests_that_are_queued_ahead() -> None:
    """It is issued when one request has ended. It waits for the next one as well, which the channel has begun by then."""
    near, far = "node0.zcm", "node0.fbm0"
    link = Channel("", ChannelKind.GPU_WRITE, near, far, Constant(1e9))
    machine = Machine("one link", (Memory(near, MemoryKind.ZCM), Memory(far, MemoryKind.FBM)), (link,))
    spaces = IndexSpace(x=256 << 20), IndexSpace(x=1 << 20)
    long, urgent = (plan(Transfer.whole(space, FieldSpace(a="u1"), near, "<F, x>", far, "<F, x>"), machine) for space in spaces)
    simulator = Simulator(machine)
    simulator.submit(long)
    number = simulator.submit(urgent, at=1e-3, priority=1)
    requests = simulator.run().requests
    ends = sorted(each.end for each in requests if each.transfer != number)
    (overtaking,) = (each for each in requests if each.transfer == number)
    assert link.max_in_flight == 8 and len(ends) == 16
    assert overtaking.start == pytest.approx(ends[1], rel=CLOSE)
