"""A scheduling policy without a usable answer ends the transfers of its channel, with an error that names both."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from isoviz import Engine, FieldSpace, IndexSpace, Transfer, plan
from isoviz.backends.emulated import EmulatedMachine
from isoviz.errors import PolicyError
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine, Memory, MemoryKind
from isoviz.planner import Plan
from isoviz.runtime import Scheduler, Simulator, first_come_first_served, highest_priority_first
from isoviz.runtime.recording import Recorder, Recording
from isoviz.scheduling.pool import ChannelState
from isoviz.scheduling.scheduler import Counts
from isoviz.scheduling.work import Allocate, Finish, Issue, Release, Ring, Stalled, Work


def nothing(channel: ChannelState) -> Any:
    return None


def nonsense(channel: ChannelState) -> Any:
    return "the next one"


def failing(channel: ChannelState) -> Any:
    raise ZeroDivisionError("by nought")


def not_ready(channel: ChannelState) -> Any:
    """A hop that has nothing to move yet, or nothing more."""
    every = [xd for transfer in channel.transfers() for xd in transfer.xds.values()]
    return next((xd for xd in every if xd.channel is channel and not xd.ready), first_come_first_served(channel))


class Wrong:
    """A policy without a name of its own."""

    def __call__(self, channel: ChannelState) -> Any:
        every = [xd for transfer in channel.transfers() for xd in transfer.xds.values()]
        return next((xd for xd in every if xd.channel is not channel), None)


POLICIES: dict[str, tuple[Callable[[ChannelState], Any], str]] = {
    "nothing": (nothing, "nothing chose no transfer"),
    "nonsense": (nonsense, "nonsense answered with 'the next one'"),
    "failing": (failing, "failing raised ZeroDivisionError: by nought"),
    "not_ready": (not_ready, "not_ready answered with a hop that cannot continue now"),
    "Wrong": (Wrong(), "Wrong answered with a hop of the channel"),
}


@pytest.fixture
def machine() -> Machine:
    memories = [Memory(f"node0.m{place}", MemoryKind.SYS, capacity=1 << 30) for place in range(4)]
    channels = [
        Channel(f"c{place}", ChannelKind.MEMCPY, f"node0.m{place}", f"node0.m{place + 1}", LatencyBandwidth(1e-6, 1e9))
        for place in range(3)
    ]
    return Machine("line", tuple(memories), tuple(channels))


def along(machine: Machine, last: int = 3) -> Plan:
    space, fields = IndexSpace(x=1 << 16), FieldSpace(a="f4")
    return plan(Transfer.whole(space, fields, "node0.m0", "<F, x>", f"node0.m{last}", "<F, x>"), machine)


@pytest.mark.parametrize("channel", ["c0", "c1", "c2"])
@pytest.mark.parametrize("name", POLICIES)
def test_run_ends_with_an_error_that_names_policy_and_channel(machine: Machine, name: str, channel: str) -> None:
    policy, said = POLICIES[name]
    chosen = along(machine)
    with Engine(machine, EmulatedMachine(), policies={channel: policy}) as engine:
        with pytest.raises(PolicyError, match=said) as raised:
            engine.run(chosen)
        assert (raised.value.policy.split(".")[-1], raised.value.channel) == (name, channel)
        assert f"channel {channel}" in str(raised.value)
        assert engine.held_bytes == 0


def test_others_go_on_beside_it(machine: Machine) -> None:
    with Engine(machine, EmulatedMachine(), policies={"c1": nothing}) as engine:
        data, end = np.arange(1 << 16, dtype=np.float32), np.zeros(1 << 16, np.float32)
        short = along(machine, 1)
        for _ in range(3):
            with pytest.raises(PolicyError):
                engine.submit(along(machine), data, np.zeros_like(data)).wait(120)
            engine.submit(short, data, end).wait(120)
            np.testing.assert_array_equal(data, end)
            end[:] = 0


def test_a_simulation_says_it_as_well(machine: Machine) -> None:
    simulator = Simulator(machine, policies={"c2": nothing})
    number = simulator.submit(along(machine))
    other = simulator.submit(along(machine, 1))
    failed, done = simulator.run().transfers
    assert (failed.number, failed.outcome, done.number, done.outcome) == (number, "failed", other, "done")
    assert failed.reason == "the scheduling policy nothing chose no transfer, and nothing else is under way (channel c2)"


def test_a_policy_may_wait_for_a_transfer_to_come(machine: Machine) -> None:
    """As long as something is to come, it is asked again."""

    def in_pairs(channel: ChannelState) -> Any:
        return highest_priority_first(channel) if len(channel.transfers()) == 2 else None

    simulator = Simulator(machine, policy=in_pairs)
    chosen = along(machine, 1)
    simulator.submit(chosen)
    simulator.submit(chosen, at=1.0)
    first, second = simulator.run().transfers
    assert "done" in (first.outcome, second.outcome)  # the one that is left alone then fails
    assert "failed" in (first.outcome, second.outcome)


def test_the_scheduler_gives_back_the_buffers_of_all_that_it_refuses() -> None:
    scheduler = Scheduler({}, {"m": 4}, {"b": nonsense})
    work = Work.one_path(("a", "b"), 3, (Ring("m", 1, 2),))
    out = [instruction for number in range(4) for instruction in scheduler.submit(number, work)]
    for instruction in out:
        if type(instruction) is Issue:
            out += scheduler.done(*instruction)
    for kind in (Allocate, Release, Finish):
        assert sorted(each.transfer for each in out if type(each) is kind) == [0, 1, 2, 3]
    assert {each.outcome for each in out if type(each) is Finish} == {"failed"}
    assert scheduler.counts == Counts(0, 0, 0, 0)
    assert sorted(scheduler.faults) == [0, 1, 2, 3]


def test_a_recording_of_it_can_be_replayed(machine: Machine) -> None:
    simulator = Simulator(machine, policies={"c1": nothing})
    recorder = simulator.scheduler = Recorder(simulator.scheduler, clock=lambda: simulator.now)  # type: ignore[assignment]
    simulator.submit(along(machine))
    simulator.run()
    recording = Recording.from_json(json.loads(json.dumps(recorder.recording.to_json())))
    assert Stalled() in [entry.stimulus for entry in recording]
    recording.replay(Scheduler(recording.limits, recording.capacity, {"c1": nothing}))


def test_the_error_can_be_pickled() -> None:
    error = PolicyError("mine", "c0", "chose no transfer")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.policy, again.channel) == (str(error), "mine", "c0")
