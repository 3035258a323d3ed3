"""Plans of several paths, carried out: one event, one report, one destination, bit for bit."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_cases import names_in

import isoviz
from isoviz.backends.emulated import EmulatedMachine
from isoviz.errors import Cancelled, InputError, LimitError, RunError, TransferError
from isoviz.figures import html
from isoviz.figures.document_html import told_html
from isoviz.layouts import Box, FieldSpace, IndexSpace
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Machine, Memory, MemoryKind
from isoviz.planner import Options, Plan, Transfer, plan_from_json, plan_of_paths, plan_to_json
from isoviz.runtime import first_come_first_served, simulate
from isoviz.runtime.device_bases import BaseChannel
from isoviz.runtime.engine.execution import Execution
from isoviz.runtime.protocols import Bound

PAIR = FieldSpace(re="float32", im="float64")
SPACE = IndexSpace(x=48, y=40)


def rails(count: int = 3, rate: float = 4e9) -> Machine:
    """Two memories a and z, joined by `count` rails: over a memory each, and directly."""
    memories = [
        Memory("a", MemoryKind.SYS),
        Memory("z", MemoryKind.SYS),
        *(Memory(f"m{i}", MemoryKind.SYS) for i in range(count)),
    ]
    fast = LatencyBandwidth(1e-6, rate)
    channels = [Channel("", ChannelKind.MEMCPY, "a", "z", fast)]
    for i in range(count):
        channels += [Channel("", ChannelKind.MEMCPY, *ends, fast) for ends in (("a", f"m{i}"), (f"m{i}", "z"))]
    return Machine("rails", memories, channels)


def transfer(source: str = "<F, x, y>", destination: str = "<y, x, F>") -> Transfer:
    return Transfer.whole(SPACE, PAIR, "a", source, "z", destination)


def two_paths(machine: Machine, **options: Any) -> Plan:
    halves = [({"y": (0, 15)}, ["a", "m0", "z"]), ({"y": (15, 40)}, ["a", "m1", "z"])]
    return plan_of_paths(transfer(), machine, halves, options=Options(slot_limit=4096, **options))


def array_and_result() -> tuple[Any, bytes]:
    rng = np.random.default_rng(3)
    array = np.zeros((40, 48), PAIR.dtype)
    array["re"], array["im"] = rng.random((40, 48)), rng.random((40, 48))
    return array, b"".join(array[name].T.tobytes() for name in ("re", "im"))


def test_two_paths_by_hand_bit_for_bit() -> None:
    machine = rails()
    made = two_paths(machine)
    array, expected = array_and_result()
    room = np.zeros(len(expected), np.uint8)
    with isoviz.Engine(machine, EmulatedMachine(), request_bytes=1024) as engine:
        report = engine.run(made, array, room)
        assert engine.held_bytes == 0
    assert report.verified and room.tobytes() == expected
    assert [(hop.path, hop.index) for hop in report.hops] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert sum(hop.bytes for hop in report.hops) == 2 * made.bytes
    assert report.trace is not None
    used = {span.hop for span in report.trace.requests}
    assert used == {0, 1, 2, 3}, "hops are numbered path after path"
    text = str(report)
    assert "path 0 hop 0" in text and "path 1 hop 1" in text
    data = report.to_json()
    assert len(data["paths"]) == 2 and [hop["path"] for hop in data["hops"]] == [0, 0, 1, 1]
    assert all(hop["measured_throughput"] > 0 for hop in data["hops"])


def test_runs_of_chunks_over_two_paths() -> None:
    machine = rails()
    moved, first = transfer("<F, x, y>", "<F, x, y>"), ["a", "m0", "z"]
    count = isoviz.cost(moved, machine, first, blocks=96).chunk_count
    made = plan_of_paths(moved, machine, [(range(3), first, (), None, 96), (range(3, count), ["a", "m1", "z"])])
    assert [path.chunk_count for path in made.paths] == [3, count - 3] and count > 9
    array, _ = array_and_result()
    room = np.zeros_like(array)
    with isoviz.Engine(machine, EmulatedMachine()) as engine:
        assert engine.run(made, array, room).verified
    assert room.tobytes() == array.tobytes()


@pytest.mark.parametrize("seed", range(12))
def test_random_shares_and_layouts(seed: int) -> None:
    """Two or three paths, boxes cut at random; engine and simulator, both ends and every byte."""
    rng = random.Random(seed)
    machine = rails()
    layouts = ["<F, x, y>", "<y, x, F>", "<x, F, y>", "<y, F, x>", "<F, x_in=4, y, x_out>"]
    moved = transfer(rng.choice(layouts), rng.choice(layouts))
    cut = rng.randrange(1, 48)
    boxes = [Box((0, 0), (cut, 40)), Box((cut, 0), (48, 40))]
    if rng.random() < 0.6:
        low = rng.randrange(1, 40)
        boxes[1:] = [Box((cut, 0), (48, low)), Box((cut, low), (48, 40))]
    ways: list[Sequence[str]] = [["a", "m0", "z"], ["a", "m1", "z"], rng.choice([["a", "z"], ["a", "m2", "z"]])]
    made = plan_of_paths(
        moved, machine, list(zip(boxes, ways, strict=False)), options=Options(slot_limit=rng.choice([2048, 1 << 20]))
    )
    assert plan_from_json(plan_to_json(made)) == made
    trace = simulate(made, machine)
    assert trace.end == pytest.approx(made.seconds, rel=1e-9), "paths that share nothing take as long as the slowest"
    with isoviz.Engine(machine, EmulatedMachine(), request_bytes=rng.choice([512, 1 << 20])) as engine:
        report = engine.run(made)
    assert report.verified
    assert report.trace is not None
    assert len(report.trace.requests) == sum(path.chunks * sum(path.requests) for path in report.trace.transfers[0].work.paths)


def test_paths_that_share_a_channel_are_said_to_be_slower() -> None:
    machine = rails(rate=1e9)
    halves = [({"y": (0, 20)}, ["a", "z"]), ({"y": (20, 40)}, ["a", "z"])]
    together = plan_of_paths(transfer("<F, x, y>", "<F, x, y>"), machine, halves)
    alone = max(path.seconds for path in together.paths)
    assert together.seconds > 1.5 * alone
    assert together.seconds == pytest.approx(simulate(together, machine).end, rel=0.35)


class Failing(EmulatedMachine):
    """One channel does something at its second request."""

    def __init__(self, name: str, act: Any) -> None:
        super().__init__()
        self.name, self.act, self.count = name, act, 0

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> Any:
        real = super().channel(channel, source, destination)
        if channel.name != self.name:
            return real
        outer = self

        class Acting(BaseChannel):
            def move(self, *arguments: Any) -> int:
                outer.count += 1
                if outer.count == 2:
                    outer.act()
                return real.move(*arguments)

        return Acting()


def test_a_path_that_fails_stops_all(tmp_path: Path) -> None:
    def act() -> None:
        raise OSError("the rail is broken")

    machine = rails()
    array, expected = array_and_result()
    with isoviz.Engine(machine, Failing("m1->z", act), request_bytes=512) as engine:
        with pytest.raises(RunError, match=r"path 1: .*the rail is broken.*hop 1, channel m1->z"):
            engine.run(two_paths(machine), array, np.zeros(len(expected), np.uint8))
        assert engine.held_bytes == 0
    assert names_in(tmp_path) == []


def test_cancelled_on_one_path_stops_all() -> None:
    machine, token = rails(), threading.Event()
    with isoviz.Engine(machine, Failing("a->m0", token.set), request_bytes=512) as engine:
        with pytest.raises(Cancelled):
            engine.run(two_paths(machine), cancel=token)
        assert engine.held_bytes == 0


def test_onto_a_disk_and_from_it(tmp_path: Path) -> None:
    """Two paths write into one file, which appears once, complete."""
    here = isoviz.machines.preset("local", directory=str(tmp_path), measure="assumed")
    space, fields = IndexSpace(x=256, y=96), FieldSpace(value="float32")
    array = np.random.default_rng(1).random((96, 256)).astype("f4")
    down = Transfer.whole(space, fields, "node0.sys", "<x, y, F>", "node0.dsk", "<y, x, F>")
    halves = [({"x": (0, 128)}, ["node0.sys", "node0.dsk"]), ({"x": (128, 256)}, ["node0.sys", "node0.sys", "node0.dsk"])]
    with isoviz.Engine(here, ledger=None) as engine:
        report = engine.run(plan_of_paths(down, here, halves), array, str(tmp_path / "out.raw"))
    assert report.verified and names_in(tmp_path) == ["out.raw"]
    assert (tmp_path / "out.raw").read_bytes() == array.T.tobytes()


def test_shares_with_a_gap_or_an_overlap_are_refused() -> None:
    machine = rails()
    path = ["a", "m0", "z"]
    with pytest.raises(TransferError, match="no path moves x=0…47, y=10…19"):
        plan_of_paths(transfer(), machine, [({"y": (0, 10)}, path), ({"y": (20, 40)}, path)])
    with pytest.raises(TransferError, match="paths 0 and 1 both move"):
        plan_of_paths(transfer(), machine, [({"y": (0, 30)}, path), ({"y": (20, 40)}, path)])
    with pytest.raises(LimitError):
        two_paths(machine, memory_limit=64)


def test_what_only_one_path_has_is_asked_of_a_path() -> None:
    made = two_paths(rails())
    with pytest.raises(TransferError, match="2 paths"):
        _ = made.hops
    assert made.bytes == sum(path.bytes for path in made.paths)


def test_pages_and_pictures_show_every_path() -> None:
    machine = rails()
    made = two_paths(machine)
    shown = html(made)
    assert "m0" in shown and "m1" in shown and "1.1" in shown
    with isoviz.Engine(machine, EmulatedMachine()) as engine:
        report = engine.run(made)
    assert "path 1, hop 1" in html(report)
    assert "paths a → m0 → z; a → m1 → z" in told_html(made, machine)


def test_a_transfer_whose_bookkeeping_fails_still_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error where nobody expects one fails the transfer; nobody waits for ever."""

    def broken(self: Execution, issue: object) -> None:
        raise KeyError("lost")

    machine = rails()
    monkeypatch.setattr(Execution, "finished", broken)
    with isoviz.Engine(machine, EmulatedMachine()) as engine:
        event = engine.submit(two_paths(machine))
        assert isinstance(event.error(120), RunError)
        assert engine.held_bytes == 0


@pytest.mark.parametrize("where", ["slot", "source", "destination"])
@pytest.mark.parametrize("how", ["submit", "run"])
def test_a_store_that_cannot_be_closed_ends_its_transfer(where: str, how: str) -> None:
    class Stuck(EmulatedMachine):
        def memory(self, memory: Memory) -> Any:
            real = super().memory(memory)
            make = getattr(real, where)

            def made(*arguments: Any) -> Any:
                store = make(*arguments)

                def lost() -> None:
                    raise OSError("device lost")

                store.close = lost
                return store

            setattr(real, where, made)
            return real

    machine = rails()
    engine = isoviz.Engine(machine, Stuck())
    if how == "submit":
        assert isinstance(engine.submit(two_paths(machine)).error(120), RunError)
    elif where == "slot":
        with pytest.raises(RunError, match="device lost"):
            engine.run(two_paths(machine))
    else:  # the bytes are there, verified and published
        assert engine.run(two_paths(machine)).verified
    engine.close()


def test_what_devices_raise_besides_moving_is_typed() -> None:
    class Raising(EmulatedMachine):
        def memory(self, memory: Memory) -> Any:
            real = super().memory(memory)

            def slot(nbytes: int) -> Any:
                raise KeyError("no slot")

            real.slot = slot
            return real

    machine = rails()
    with isoviz.Engine(machine, Raising()) as engine, pytest.raises(RunError, match="no slot"):
        engine.run(two_paths(machine))


def test_wrong_input_is_told() -> None:
    machine = rails()
    path = ["a", "m0", "z"]
    with pytest.raises(InputError, match="path 0"):
        plan_of_paths(transfer(), machine, [({}, path, (), None, 1.5)])
    for share in ({"x": (0, float("inf"))}, {"x": (0, 32.9)}, {"x": "08"}):
        with pytest.raises(InputError, match="share"):
            plan_of_paths(transfer(), machine, [(share, path)])
    with pytest.raises(TransferError, match="chunks"):
        plan_of_paths(transfer(), machine, [(range(10**30), path)])
    data = plan_to_json(two_paths(machine))
    data["paths"][0]["hops"][0]["throughput"] = 0
    with pytest.raises(TransferError, match="above 0"):
        plan_from_json(data)
    with pytest.raises(InputError, match="request_bytes"):
        isoviz.Engine(machine, EmulatedMachine(), request_bytes="4KiB")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no channel 'nope'"):
        isoviz.Engine(machine, EmulatedMachine(), policies={"nope": first_come_first_served})
    with isoviz.Engine(machine, EmulatedMachine()) as engine:
        for chunks in (1.5, "1", 0):
            with pytest.raises(InputError, match="chunks"):
                engine.run(two_paths(machine), chunks=chunks)
        with pytest.raises(InputError, match="priority"):
            engine.submit(two_paths(machine), priority="x")
