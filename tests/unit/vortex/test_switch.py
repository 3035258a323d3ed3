"""The switch against one with an object for each packet, and what must hold of every packet."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isoviz
from isoviz.bench.vortex import NaivePacket, NaiveSwitch
from isoviz.errors import InputError
from isoviz.vortex import Bursty, Drawn, HotSpot, Permutation, Recorded, Switch, SwitchRun, Transposition, Uniform


def some_switch(draw: np.random.Generator, most: int = 6) -> Switch:
    angles = int(draw.integers(1, 7))
    inputs, outputs = (draw.permutation(angles)[: draw.integers(1, angles + 1)] for _ in range(2))
    return Switch(2 ** int(draw.integers(0, most)), angles, inputs, outputs)


def a_list(switch: Switch, draw: np.random.Generator, cycles: int) -> Recorded:
    """Packets at random, in a quarter of the cases to two ports only."""
    load = draw.choice((0.05, 0.2, 0.5, 1))
    inputs, arrivals = np.nonzero(draw.random((switch.inputs_count, cycles)) < load)
    most = min(2, switch.outputs_count) if draw.random() < 0.25 else switch.outputs_count
    shuffled = draw.permutation(len(inputs))
    return Recorded(inputs[shuffled], draw.integers(0, most, len(inputs)), arrivals[shuffled])


def naively(switch: Switch, traffic: Recorded, cycles: int, backlog: int | None) -> np.ndarray[Any, Any]:
    """In, out and deflections of every packet."""

    def place(angles: tuple[int, ...], port: int) -> tuple[int, int]:
        return port % switch.heights, angles[port // switch.heights]

    columns = traffic.inputs.tolist(), traffic.outputs.tolist(), traffic.cycles.tolist()
    packets = [
        NaivePacket(number, place(switch.inputs, source), place(switch.outputs, to), arrives)
        for number, (source, to, arrives) in enumerate(zip(*columns, strict=True))
    ]
    NaiveSwitch(switch.heights, switch.angles).run(sorted(packets, key=lambda packet: packet.arrives), cycles, backlog)
    return np.array([(packet.entered, packet.left, packet.deflections) for packet in packets]).reshape(-1, 3).T


def check_every_packet(switch: Switch, run: SwitchRun) -> None:
    """None is lost, doubled or misdelivered, and each has as many hops as its way and its deflections say."""
    packets = run.packets
    assert packets is not None
    there = packets.delivered
    assert run.offered == run.refused + run.entered + run.waiting
    assert run.entered == (packets.entered >= 0).sum() and run.delivered == there.sum()
    assert run.in_flight == run.entered - run.delivered
    assert np.array_equal(run.at_outputs, np.bincount(packets.outputs[there], minlength=switch.outputs_count))
    assert np.array_equal(run.at_inputs, np.bincount(packets.inputs[packets.entered >= 0], minlength=switch.inputs_count))
    shortest = switch.shortest(packets.inputs, packets.outputs, packets.deflections)
    assert np.array_equal(packets.hops[there], shortest[there])
    assert (packets.entered >= packets.arrived)[packets.entered >= 0].all()
    for ports, times in ((packets.inputs, packets.entered), (packets.outputs, packets.left)):
        passed = times >= 0
        assert len(np.unique(ports[passed] + switch.nodes * times[passed])) == passed.sum(), "two packets at one port in a cycle"
    assert run.latencies.total == run.delivered + packets.hops[there].sum()
    assert run.turns.total == packets.deflections[there].sum() and run.deflections == packets.deflections.sum()


@pytest.mark.parametrize("first", range(0, 400, 20))
@pytest.mark.few(1)
def test_every_packet_as_with_an_object_for_each(first: int, report: Any) -> None:
    sent = 0
    for seed in range(first, first + 20):
        draw = np.random.default_rng(seed)
        switch, cycles = some_switch(draw), int(draw.integers(50, 400))
        traffic, backlog = a_list(switch, draw, cycles), (None, None, 1, 4)[seed % 4]
        run = switch.run(traffic, cycles, backlog=backlog)
        assert run.packets is not None
        expected = naively(switch, traffic, cycles, backlog)
        assert np.array_equal((run.packets.entered, run.packets.left, run.packets.deflections), expected), (seed, switch)
        sent += run.entered
    report("packets equal to those of the naive switch", sent)


@pytest.mark.parametrize("first", range(0, 10_000, 200))
@pytest.mark.few(1)
def test_random_runs_lose_nothing(first: int) -> None:
    """Of every kind of traffic; where the run is recorded, the same packets as a list take the same way."""
    for seed in range(first, first + 200):
        draw = np.random.default_rng(seed)
        switch, load = some_switch(draw, 7), draw.random()
        kinds = [
            Uniform(load),
            HotSpot(load, draw.random(), int(draw.integers(switch.outputs_count))),
            Bursty(load, 1 + 20 * draw.random()),
            a_list(switch, draw, 60),
            Transposition(2, ("word by word", "node by node", "from node 0", "random")[seed % 4], nodes=1),
        ]
        if switch.inputs_count <= switch.outputs_count:
            kinds.append(Permutation(load))
        traffic = kinds[seed % len(kinds)]
        cycles = int(draw.integers(1, 120))
        run = switch.run(traffic, cycles, seed=seed, backlog=int(draw.integers(1, 30)), record=True)
        check_every_packet(switch, run)
        assert run.packets is not None
        there = run.packets.entered >= 0
        again = switch.run(Recorded(*(c[there] for c in (run.packets.inputs, run.packets.outputs, run.packets.arrived))), cycles)
        assert again.packets is not None
        assert np.array_equal(again.packets.left, run.packets.left[there])
        assert np.array_equal(again.packets.deflections, run.packets.deflections[there])


def test_nothing_is_left_where_a_list_ends() -> None:
    switch = Switch(16, 3, [1])
    run = switch.run(Transposition(20))
    assert run.delivered == 16 * 16 * 20 and run.waiting == run.in_flight == 0 and run.packets is not None
    assert run.cycles == run.packets.left.max() + 1
    assert np.array_equal(np.sort(run.packets.order), np.arange(run.delivered))
    assert (np.diff(run.packets.left[run.packets.order]) >= 0).all()
    empty = switch.run(Recorded([], []))
    assert empty.cycles == empty.offered == 0 and empty.throughput == 0


def test_idle_cycles_are_skipped() -> None:
    """Packets years apart; without the skipping, this test would not end."""
    run = Switch(8, 2).run(Recorded([0, 3, 3], [5, 5, 6], [0, 10**6, 1 << 47]))
    assert run.packets is not None and run.packets.entered.tolist() == [0, 10**6, 1 << 47]
    assert run.packets.hops.tolist() == Switch(8, 2).shortest([0, 3, 3], [5, 5, 6]).tolist()
    assert run.load.shape[0] <= 4096 and run.span * run.load.shape[0] >= run.cycles
    stopped = Switch(8, 2).run(Recorded([0], [5], [10**9]), 10**6)
    assert (stopped.cycles, stopped.offered) == (10**6, 0)


def test_deflections_are_counted_beyond_what_a_word_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """All inputs send to one output: packets circle for a long time."""
    switch = Switch(64, 4)
    run = switch.run(HotSpot(1, 1, 9), 150_000, backlog=1, record=True)
    check_every_packet(switch, run)
    assert run.delivered > 149_000
    assert run.packets is not None and run.packets.deflections.max() > 1 << 15


def test_the_same_seed_gives_the_same_run() -> None:
    switch = Switch(32, 4, [0])
    first, again, other = (switch.run(Uniform(0.5), 2000, seed=seed, record=True) for seed in (7, 7, 8))
    assert first.packets is not None and again.packets is not None and other.packets is not None
    assert np.array_equal(first.packets.left, again.packets.left) and first.hops == again.hops
    assert not np.array_equal(first.packets.left, other.packets.left)
    plain = switch.run(Uniform(0.5), 2000, seed=7)
    assert plain.packets is None and (plain.hops, plain.deflections) == (first.hops, first.deflections)


def test_warming_up_is_not_counted() -> None:
    switch = Switch(16, 2)
    whole, later = switch.run(Uniform(0.1), 3000, seed=1), switch.run(Uniform(0.1), 2000, seed=1, warm=1000)
    first = switch.run(Uniform(0.1), 1000, seed=1)
    assert later.cycles == 2000 and later.delivered == whole.delivered - first.delivered
    assert later.load.shape == whole.load.shape == (3000, 5)
    assert np.array_equal(later.load, whole.load)


def test_the_load_is_that_of_the_nodes() -> None:
    """The mean over all cycles and nodes is hops and departures per node and cycle; rows of several cycles are means."""
    switch = Switch(16, 3)
    fine, coarse = switch.run(Uniform(0.3), 4096, seed=5), switch.run(Uniform(0.3), 4097, seed=5)
    assert (fine.span, coarse.span) == (1, 2)
    assert fine.load.mean() == pytest.approx((fine.hops + fine.delivered) / switch.nodes / 4096)
    assert np.allclose(fine.load.reshape(2048, 2, 5).mean(1), coarse.load[:2048])
    assert fine.load[0].sum() == 0 and (fine.load <= 1).all()


def test_distributions() -> None:
    run = Switch(16, 2).run(Uniform(0.2), 3000, seed=2, record=True)
    assert run.packets is not None
    there = run.packets.delivered
    found = (run.packets.left - run.packets.entered)[there]
    assert run.latencies.number == there.sum() and run.latencies.most == found.max()
    assert run.latencies.mean == pytest.approx(found.mean())
    for share in (0, 0.1, 0.5, 0.99, 1):
        assert run.latencies.quantile(share) == np.quantile(found, share, method="inverted_cdf")
    assert np.array_equal(run.latencies.counts[: found.max() + 1], np.bincount(found))


def test_a_kind_of_traffic_of_ones_own() -> None:
    class Mixed:
        def packets(self, inputs: int, outputs: int, seed: int) -> Drawn:
            return Drawn(0.5, burst=3, share=0.2, port=outputs - 1, to=np.where(np.arange(inputs) % 2, -1, 4))

    run = Switch(16).run(Mixed(), 20_000, seed=3, backlog=1, record=True)
    check_every_packet(Switch(16), run)
    assert run.packets is not None
    even, outputs = run.packets.inputs % 2 == 0, run.packets.outputs
    assert (outputs[even] == 4).all() and (outputs[~even] == 15).mean() == pytest.approx(0.2 + 0.8 / 16, abs=0.02)
    assert run.offered / 20_000 / 16 == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Switch(12), "heights: expected a power of two, got 12"),
        (lambda: Switch(0), "heights: expected a whole number from 1 to 65536, got 0"),
        (lambda: Switch(1 << 17), "heights: expected a whole number from 1 to 65536"),
        (lambda: Switch("8"), "heights: expected a whole number"),
        (lambda: Switch(8, 0), "angles: expected a whole number from 1 to 256, got 0"),
        (lambda: Switch(8, 2, []), "inputs: expected at least one angle from 0 to 1, got none"),
        (lambda: Switch(8, 2, [0], []), "outputs: expected at least one angle"),
        (lambda: Switch(8, 2, [2]), "inputs: expected a whole number from 0 to 1, got 2"),
        (lambda: Switch(8, 2, [1, 1]), "inputs: names an angle twice: 1, 1"),
        (lambda: Switch(8, 2, 1), "inputs: expected angles, got 1"),
        (lambda: Switch(1 << 16, 256), "are 285,212,672 nodes; at most 8,388,608 fit"),
        (lambda: Uniform(1.1), "load: expected a finite number ≥ 0 and ≤ 1, got 1.1"),
        (lambda: HotSpot(0.5, -1), "share: expected a finite number"),
        (lambda: Bursty(0.5, 0.5), "length: expected a finite number ≥ 1, got 0.5"),
        (lambda: Permutation(0.5, [0.5]), "to: expected an array of whole numbers"),
        (lambda: Recorded([1, 2], [1]), "expected arrays of one length, got 2 inputs, 1 outputs, 2 cycles"),
        (lambda: Recorded([1], [[1]]), "outputs: expected an array of whole numbers of one dimension, got 2 of int64"),
        (lambda: Recorded([1], [-1]), "outputs: expected whole numbers from 0 on, got -1 to -1"),
        (lambda: Recorded(None, [1]), "inputs: expected an array of whole numbers"),
        (lambda: Recorded([1], [1], [1 << 50]), "cycles: number 0 is"),
        (lambda: Transposition(0), "words: expected a whole number from 1"),
        (lambda: Transposition(1, "backwards"), "order: expected one of 'word by word', "),
        (lambda: Transposition(1, nodes=0), "nodes: expected a whole number from 1"),
    ],
)
def test_values_that_cannot_be(make: Any, words: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("traffic", "options", "words"),
    [
        (HotSpot(0.5, 0.1, 16), {}, "port: expected a whole number from 0 to 15, got 16"),
        (Permutation(0.5, [0, 1]), {}, "to: has 2 outputs; the switch has 16 inputs"),
        (Permutation(0.5, [0] * 16), {}, "to: names an output twice"),
        (Permutation(0.5, range(1, 17)), {}, "to: number 15 is 16; there are 16 outputs, from 0 to 15"),
        (Recorded([16], [0]), {}, "inputs: number 0 is 16; there are 16 inputs, from 0 to 15"),
        (Recorded([0, 1], [0, 99]), {}, "outputs: number 1 is 99; there are 16 outputs"),
        (Transposition(2, nodes=17), {}, "17 nodes; the switch has 16 inputs and 16 outputs"),
        (Uniform(0.5), {"cycles": None}, "cycles: expected how many; only a list of packets has an end"),
        (Uniform(0.5), {"cycles": 0}, "cycles: expected a whole number from 1"),
        (Uniform(0.5), {"seed": 1 << 32}, "seed: expected a whole number from 0 to 4294967295"),
        (Uniform(0.5), {"seed": -1}, "seed: expected a whole number"),
        (Uniform(0.5), {"warm": -1}, "warm: expected a whole number"),
        (Uniform(0.5), {"backlog": 0}, "backlog: expected a whole number from 1"),
        (Uniform(0.5), {"record": 1}, "record: expected True or False"),
        (0.5, {}, "expected traffic, such as Uniform(0.5), got 0.5"),
    ],
)
def test_traffic_that_does_not_fit(traffic: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        Switch(16).run(traffic, **{"cycles": 10, **options})
    assert words in str(caught.value)


def test_more_could_wait_than_memory_holds() -> None:
    with pytest.raises(InputError, match="65,536 inputs × a backlog of 1,048,576"):
        Switch(1 << 16).run(Uniform(1), 1, backlog=1 << 20)


def test_two_inputs_cannot_have_one_output() -> None:
    with pytest.raises(InputError, match="16 inputs and only 8 outputs"):
        Switch(8, 2, [0, 1], [0]).run(Permutation(0.5), 10)


def test_the_floor_is_loaded_late() -> None:
    assert isoviz.vortex.Switch is Switch
    assert str(Switch(8).saturate(100)).endswith("waiting")


def test_a_run_can_be_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that would take hours."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    Switch(64).saturate(1)
    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            Switch(64, 4).saturate(1 << 40)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.full
def test_a_damaged_cycle_is_compiled_again(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path / "home")}
    code = "import isoviz; print(isoviz.vortex.Switch(64).saturate(500, seed=1))"
    first = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    (kept,) = tmp_path.rglob("cycle._advance*.nbc")
    kept.write_bytes(kept.read_bytes()[:1000])
    again = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert first.stdout == again.stdout and kept.stat().st_size > 1000


def test_without_numba_the_switch_says_what_is_missing() -> None:
    code = "import sys; sys.modules['numba'] = None; import isoviz; isoviz.vortex.Switch(2).saturate(1)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingPartError: numba is not installed here" in done.stderr
