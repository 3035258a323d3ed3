"""Rehearsals: the first chunks say what all of them take; nothing that is the user's is touched, nothing is left."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isoviz
from isoviz import Engine, FieldSpace, IndexSpace, Options, Transfer, plan
from isoviz.backends.emulated import EmulatedMachine
from isoviz.cli import main
from isoviz.errors import InputError, TransferError
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Limits, Machine, Memory, MemoryKind, preset
from isoviz.measure import rehearsal
from isoviz.measure.rehearsal import chunks_to_move, quickest, rehearse, rehearsed, seconds_of_all
from isoviz.planner.alternatives import alternatives, identity

PAIR = FieldSpace(re="float32", im="float32")


def chain(*rates: float) -> Machine:
    memories = tuple(Memory(f"m{i}", MemoryKind.SYS) for i in range(len(rates) + 1))
    channels = tuple(
        Channel("", ChannelKind.MEMCPY, f"m{i}", f"m{i + 1}", LatencyBandwidth(50e-6, rate)) for i, rate in enumerate(rates)
    )
    return Machine("chain", memories, channels, limits=Limits(slot_limit=1 << 16))


def along(machine: Machine, nbytes: int = 8 << 20) -> Transfer:
    last = machine.memories[-1].name
    return Transfer.whole(IndexSpace(x=nbytes // PAIR.nbytes), PAIR, "m0", "<F, x>", last, "<F, x>")


@pytest.mark.parametrize("rates", [(200e6,), (300e6, 100e6, 200e6)])
def test_a_part_says_what_all_of_it_takes(rates: tuple[float, ...]) -> None:
    """Channels of a set speed: what follows from some chunks is what all of them take."""
    machine = chain(*rates)
    made = plan(along(machine), machine, "full")
    if len(rates) == 1:  # by itself, one hop is one chunk
        made = isoviz.cost(along(machine), machine, "m0,m1", chunk=1 << 16)
    with Engine(machine, EmulatedMachine()) as engine:
        ratios = []
        while len(ratios) < 5 and not any(0.85 < ratio < 1.15 for ratio in ratios):  # others may use the computer now and then
            found = rehearse(engine, made)
            measured = statistics.median(engine.run(made, verify=False).seconds for _ in range(3))
            ratios.append(found.prediction.seconds / measured)
    said = found.prediction
    assert found.chunks == chunks_to_move(made) < made.chunk_count / 2
    assert any(0.85 < ratio < 1.15 for ratio in ratios), ratios
    assert said.low <= said.seconds <= said.high
    assert said.basis == "rehearsal"
    assert f"{found.chunks} of its chunks" in str(said)
    assert said.to_json()["interval_basis"] == {"from": "rehearsal", "chunks": found.chunks}


def test_short_transfers_are_rehearsed_as_a_whole() -> None:
    machine = chain(1e9)
    made = plan(along(machine, 1 << 16), machine, "full")
    assert chunks_to_move(made) == made.chunk_count


@pytest.mark.parametrize(("short", "times"), [(math.inf, 15), (0.0, 3)])
def test_short_transfers_are_rehearsed_more_often(monkeypatch: pytest.MonkeyPatch, short: float, times: int) -> None:
    monkeypatch.setattr(rehearsal, "SHORT", short)
    monkeypatch.setattr(rehearsal, "QUICK", math.inf)  # whatever else the computer does
    machine = chain(1e9)
    made = plan(along(machine, 1 << 16), machine, "full")
    with Engine(machine, EmulatedMachine()) as engine:
        found = rehearse(engine, made)
    assert len(found.repeats) == times
    assert found.prediction.seconds == statistics.median(found.repeats)


def test_nothing_of_the_users_is_touched_and_nothing_is_left(tmp_path: Path) -> None:
    space = IndexSpace(x=1 << 18)
    source, target = tmp_path / "in.raw", tmp_path / "out.raw"
    source.write_bytes(np.arange(space.volume * 2, dtype="f4").tobytes())
    target.write_bytes(b"precious")
    machine = preset("local", measure="assumed", directory=tmp_path)
    transfer = Transfer.whole(space, PAIR, "node0.dsk", "<F, x>", "node0.dsk", "<x, F>")
    here, there = replace(transfer.source, path=source), replace(transfer.destination, path=target)
    made = plan(Transfer(here, there), machine)
    found = isoviz.rehearse(made, machine, of=3)
    assert found.prediction.seconds > 0
    assert {each.name for each in tmp_path.iterdir()} == {"in.raw", "out.raw"}
    assert target.read_bytes() == b"precious"


def test_rivals_of_large_transfers_are_rehearsed_too() -> None:
    """It takes longer to generate their data than to move some chunks; that does not count against them."""
    machine = preset("local", measure="assumed")
    space = IndexSpace(x=16 << 20)
    made = plan(Transfer.whole(space, PAIR, "node0.sys", "<F, x>", "node0.sys", "<F, x>"), machine)
    with Engine(machine) as engine:
        found = rehearsed(engine, [made] * 3)
    assert len(found) >= 2


def test_waiting_for_the_disk_grows_with_what_was_written() -> None:
    """A disk that takes all its time at the end: part of the chunks, part of the time."""
    machine = preset("local", measure="assumed")
    transfer = Transfer.whole(IndexSpace(x=1 << 22), PAIR, "node0.sys", "<F, x>", "node0.sys", "<x, F>")
    made = isoviz.cost(transfer, machine, "node0.sys,node0.sys", chunk=1 << 20)
    with Engine(machine) as engine:
        report = engine.run(made, verify=False, chunks=4)
    slow = replace(report, seconds=report.seconds + 1.0, flush_seconds=1.0)
    quick = replace(report, flush_seconds=report.seconds / 100)
    all_of_it = made.chunk_count / 4
    assert seconds_of_all(slow, 4) == pytest.approx(seconds_of_all(quick, 4) + all_of_it, rel=0.05)


def test_so_many_chunks() -> None:
    machine = chain(1e9)
    made = plan(along(machine), machine, "full")
    with Engine(machine, EmulatedMachine()) as engine:
        assert engine.run(made, chunks=2).verified is None
        with pytest.raises(InputError, match="at least 1"):
            engine.run(made, chunks=0)


def test_the_room_that_is_given_is_used() -> None:
    machine = chain(1e9)
    made = plan(along(machine), machine, "full")
    source, room = np.ones(made.bytes, np.uint8), np.zeros(made.bytes, np.uint8)
    with Engine(machine, EmulatedMachine()) as engine:
        found = rehearse(engine, made, source, room)
    assert room.sum() == found.chunks * made.chunk_bytes


def test_of_several_the_quickest() -> None:
    """A description that is wrong: the way that it makes out to be fast is slow. Rehearsing tells."""
    memories = tuple(Memory(name, MemoryKind.SYS) for name in ("a", "b", "c"))

    def machine(direct: float) -> Machine:
        ways = (("a", "c", direct), ("a", "b", 300e6), ("b", "c", 300e6))
        channels = tuple(Channel("", ChannelKind.MEMCPY, *ends, LatencyBandwidth(50e-6, rate)) for *ends, rate in ways)
        return Machine("triangle", memories, channels, limits=Limits(slot_limit=1 << 16))

    said, real = machine(1e9), machine(20e6)
    transfer = Transfer.whole(IndexSpace(x=1 << 18), PAIR, "a", "<F, x>", "c", "<F, x>")
    chosen = plan(transfer, said, "full")
    assert len(chosen.hops) == 1

    class Really(EmulatedMachine):
        def channel(self, channel: Channel) -> Any:
            return super().channel(real.channel(channel.name))

    plans = alternatives(chosen, said, 4)
    with Engine(said, Really()) as engine:
        found = rehearsed(engine, plans)
        best = quickest(found)
        slow_last = rehearsed(engine, [best.plan, chosen])
    assert len(best.plan.hops) == 2
    assert [each.plan for each in slow_last] == [best.plan], "given up: clearly slower"


def test_alternatives() -> None:
    machine = preset("local", measure="assumed")
    transfer = Transfer.whole(IndexSpace(x=2048, y=2048), PAIR, "node0.dsk", "<F, x, y>", "node0.dsk", "<F, y, x>")
    options = Options(memory_limit=8 << 20)
    chosen = plan(transfer, machine, "full", options)
    found = alternatives(chosen, machine, 5, options)
    assert found[0] is chosen
    assert len(found) == len({identity(each) for each in found}) == 5
    assert [each.seconds for each in found[1:]] == sorted(each.seconds for each in found[1:])
    assert all(each.buffer_bytes <= 8 << 20 for each in found)
    assert all(hop.destination != "node0.dsk" for each in found for hop in each.hops[:-1])


def test_what_cannot_be_rehearsed() -> None:
    machine = chain(1e9)
    whole = along(machine)
    made = plan(Transfer(whole.source, whole.destination, shape=(1024,)), machine)
    with Engine(machine, EmulatedMachine()) as engine, pytest.raises(TransferError, match="only whole instances"):
        rehearse(engine, made)
    with pytest.raises(InputError, match="at least 1"):
        isoviz.rehearse(made, machine, of=0)


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "t.toml"
    file.write_text(
        '[space]\nx = 100000\n[fields]\na = "f4"\nb = "f8"\n[source]\nmemory = "node0.sys"\nlayout = "<F, x>"\n'
        '[destination]\nmemory = "node0.dsk"\nlayout = "<x, F>"\n[machine]\npreset = "local"\n'
    )
    assert main(["plan", str(file), "--rehearse", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["interval"][0] <= found["expected_seconds"] <= found["interval"][1]
    assert found["interval_basis"]["from"] == "rehearsal"
    assert main(["plan", str(file), "--rehearse", "3"]) == 0
    said = capsys.readouterr().out
    assert "rehearsed" in said.splitlines()[0] and "of its chunks went" in said
    assert main(["plan", str(file), "--rehearse", "0"]) == 2
    assert "--rehearse 0" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["t.toml"]
