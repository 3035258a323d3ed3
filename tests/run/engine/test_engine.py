"""The first engine on real memory and files: right bytes, typed failures, nothing left behind."""

from __future__ import annotations

import itertools
import json
import os
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_cases import assumed_machine, elements, names_in, no_leaked_files, random_bytes, random_layout, random_spaces

from isoviz import Engine, FieldSpace, IndexSpace, Instance, Layout, Options, Transfer, cost, plan
from isoviz.backends.devices import ThisComputer
from isoviz.backends.disk import listed_runs as sieve
from isoviz.backends.disk.disk_memory import DiskRead
from isoviz.backends.disk.listed_runs import pieces
from isoviz.backends.host.host_memory import HostMemory, Memcpy
from isoviz.errors import Cancelled, FileError, RunError, TransferError, VerificationError
from isoviz.layouts import StridedCopy
from isoviz.machines import Channel, ChannelKind, Constant, LatencyBandwidth, Machine, Memory, MemoryKind, preset
from isoviz.measure.run_file import as_stored
from isoviz.runtime import Progress
from isoviz.runtime.device_bases import BaseChannel
from isoviz.runtime.engine.execution import Execution
from isoviz.runtime.protocols import Bound

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]

MACHINE = assumed_machine()
SPACE, PAIR = IndexSpace(x=5000), FieldSpace(re="f4", im="f8")
SYS, DSK = "node0.sys", "node0.dsk"


def transfer(source: str, destination: str, here: str = "<F, x>", there: str = "<x, F>") -> Transfer:
    return Transfer.whole(SPACE, PAIR, source, here, destination, there)


def small(found: Transfer, slot_limit: int = 8192) -> Any:
    """A plan with many chunks."""
    return plan(found, MACHINE, options=Options(slot_limit=slot_limit))


@pytest.mark.parametrize("source", [SYS, DSK])
@pytest.mark.parametrize("destination", [SYS, DSK])
@pytest.mark.few(2)
def test_random_transfers_move_every_element(source: str, destination: str, tmp_path: Path, full: bool) -> None:
    rng = random.Random(f"{source} {destination}")
    engine = Engine(MACHINE)
    for case in range(150 if full else 25):
        space, fields = random_spaces(rng)
        here, there = random_layout(rng, space), random_layout(rng, space)
        found = Transfer.whole(space, fields, source, here, destination, there)
        a, b = here.on(space, fields), there.on(space, fields)
        data, out = random_bytes(rng, a.nbytes), np.zeros(b.nbytes, "u1")
        given: Any = data
        taken: Any = out
        if source == DSK:
            given = tmp_path / f"in{case}"
            given.write_bytes(data.tobytes())
        if destination == DSK:
            taken = tmp_path / f"out{case}"
        limit = max(64, rng.choice((a.nbytes, a.nbytes // 4)))
        try:
            chosen = plan(found, MACHINE, options=Options(slot_limit=limit))
        except TransferError:  # no part fits this limit
            chosen = plan(found, MACHINE)
        report = engine.run(chosen, given, taken)
        if destination == DSK:
            out = np.frombuffer(taken.read_bytes(), "u1")
        assert report.verified
        assert elements(a, data) == elements(b, out), found
        assert report.bytes == space.volume * fields.nbytes


@pytest.mark.parametrize("memory", [SYS, DSK])
def test_a_part_moves_and_the_rest_of_the_destination_stays(memory: str, tmp_path: Path) -> None:
    here = Instance(SYS, IndexSpace(x=40, y=30), FieldSpace(a="f4", b="u1", c="f8"), Layout("<F, x, y>"))
    there = Instance(memory, IndexSpace(x=50, y=20), FieldSpace(b="u1", c="f8"), Layout("<y, x_in=7, F, x_out>"))
    found = Transfer(here, there, shape=(12, 9), source_origin=(3, 5), destination_origin=(20, 11), field_names=("c",))
    rng = random.Random(3)
    data = random_bytes(rng, here.linearization.nbytes)
    before = random_bytes(rng, there.linearization.nbytes)
    out: Any = before.copy()
    if memory == DSK:
        out = tmp_path / "out"
        out.write_bytes(before.tobytes())
    assert Engine(MACHINE).run(plan(found, MACHINE), data, out).verified
    after = np.frombuffer(out.read_bytes(), "u1") if memory == DSK else out
    expected = elements(there.linearization, before)
    source = elements(here.linearization, data)
    for x, y in np.ndindex(12, 9):
        expected[(x + 20, y + 11), "c"] = source[(x + 3, y + 5), "c"]
    assert elements(there.linearization, after) == expected


def test_a_part_of_an_aligned_struct_file_is_written_where_its_fields_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    aligned = np.dtype([("a", "u1"), ("b", "f8"), ("c", "i2")], align=True)
    for name, count in (("in", 20), ("out", 30)):
        array = np.zeros(count, aligned)
        for field in ("a", "b", "c"):
            array[field] = rng.integers(0, 100, count)
        np.save(tmp_path / f"{name}.npy", array)
    before, expected = np.load(tmp_path / "in.npy"), np.load(tmp_path / "out.npy")
    spaces, fields = {"in": IndexSpace(x=20), "out": IndexSpace(x=30)}, FieldSpace(a="u1", b="f8", c="i2")
    here, there = (Instance(DSK, spaces[n], fields, Layout("<F, x>"), str(tmp_path / f"{n}.npy")) for n in ("in", "out"))
    part = Transfer(here, there, shape=(7,), source_origin=(4,), destination_origin=(11,), field_names=("b", "c"))
    for chosen, shift in ((as_stored(part), 11), (part, 12)):  # as a plan that knows of the gaps, and as one that does not
        report = Engine(MACHINE).run(plan(replace(chosen, destination_origin=(shift,)), MACHINE))
        assert report.verified
        assert "copied from the file as it was" in " ".join(report.notes)
        for field in ("b", "c"):
            expected[field][shift : shift + 7] = before[field][4:11]
        assert (np.load(tmp_path / "out.npy") == expected).all()


@pytest.mark.parametrize(("layout", "names"), [("<F, x>", ("b",)), ("<F, x>", ("a", "c")), ("<x_in=100, F, x_out>", ("b", "c"))])
def test_some_fields_of_a_file_are_read_in_large_pieces(layout: str, names: tuple[str, ...], tmp_path: Path) -> None:
    space, fields = IndexSpace(x=100_000), FieldSpace(a="u1", b="f8", c="f4")
    source = Instance(DSK, space, fields, Layout(layout), str(tmp_path / "in"))
    part = Transfer(source, Instance(SYS, space, fields.subset(names), Layout("<x, F>")), field_names=names)
    data = random_bytes(random.Random(6), 1_300_000)
    (tmp_path / "in").write_bytes(data.tobytes())
    out = np.zeros(part.nbytes, "u1")
    report = Engine(MACHINE).run(plan(part, MACHINE), None, out)
    assert report.verified
    assert report.hops[0].requests < 100
    here, there = source.linearization, part.destination.linearization
    for name, x in itertools.product(names, range(0, 100_000, 997)):
        size, at, to = fields.sizes[fields.index(name)], here.offset((x,), name), there.offset((x,), name)
        assert out[to : to + size].tobytes() == data[at : at + size].tobytes()


@pytest.mark.parametrize(
    ("fields", "layout"),
    [
        ({"a": "V3", "b": "V9000", "c": "V700"}, "<F, x>"),  # structs of more than a page
        ({"a": "u1", "b": "f8"}, "<x_in=5000, F, x_out>"),  # arrays of blocks, the last of which is shorter
        ({"a": "V6000"}, "<F, x>"),
    ],
)
def test_runs_close_together_are_read_together(fields: dict[str, str], layout: str, tmp_path: Path) -> None:
    """Longer ones than a page, too: a request for each takes up to eight times as long."""
    structs = FieldSpace.of(fields)
    space = IndexSpace(x=700 if structs.nbytes > 1000 else 71_003)
    source = Instance(DSK, space, structs, Layout(layout), str(tmp_path / "in"))
    turned = Transfer(source, Instance(SYS, space, structs, Layout("<x, F>")))
    data = random_bytes(random.Random(7), source.linearization.nbytes)
    (tmp_path / "in").write_bytes(data.tobytes())
    out = np.zeros(turned.nbytes, "u1")
    report = Engine(MACHINE).run(plan(turned, MACHINE, "direct"), None, out)
    assert report.verified
    assert report.hops[0].requests <= 4 + data.nbytes // (256 << 10)


def test_random_parts_of_files(tmp_path: Path, full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    for _ in range(400 if full else 80):
        limit = rng.choice((64, 1000, sieve.SIEVE))
        monkeypatch.setattr(sieve, "pieces", lambda group, _=0, limit=limit: pieces(group, limit))
        monkeypatch.setattr(sieve, "GAP", rng.choice((0, 10, 16 << 10)))
        space, fields = random_spaces(rng)
        names = tuple(rng.sample(fields.names, rng.randint(1, len(fields))))
        shape = tuple(rng.randint(1, size) for size in space.sizes)
        origin = tuple(rng.randint(0, size - extent) for size, extent in zip(space.sizes, shape, strict=True))
        box = IndexSpace.of(dict(zip(space.dims, shape, strict=True)))
        source = Instance(DSK, space, fields, random_layout(rng, space))
        destination = Instance(SYS, box, fields.subset(names), random_layout(rng, box))
        part = Transfer(source, destination, shape=shape, source_origin=origin, field_names=names)
        a, b = source.linearization, destination.linearization
        data, out = random_bytes(rng, a.nbytes), np.zeros(b.nbytes, "u1")
        (tmp_path / "in").write_bytes(data.tobytes())
        Engine(MACHINE).run(plan(part, MACHINE), tmp_path / "in", out)
        whole = elements(a, data)
        for (index, name), found in elements(b, out).items():
            at = tuple(i + start for i, start in zip(index, origin, strict=True))
            assert found == whole[at, name], part


def test_generated_sources_and_the_report() -> None:
    seen: list[Progress] = []
    chosen = small(transfer(DSK, SYS))
    report = Engine(MACHINE).run(chosen, progress=seen.append)
    assert chosen.chunk_count > 3
    moved = [p.chunks_done for p in seen if p.stage == "move"]
    assert (moved[0], moved[-1]) == (0, chosen.chunk_count)
    assert moved == sorted(set(moved)), "told when something has arrived, and only then"
    assert seen[-1].stage == "verify"
    assert seen[-1].bytes_done == seen[-1].bytes == 60_000
    data = json.loads(json.dumps(report.to_json()))
    for key in ("planner", "bytes", "seconds", "throughput", "chunk_bytes", "hops", "verified", "measured"):
        assert key in data
    assert data["verified"] is True
    assert data["bytes"] == 60_000
    assert data["measured"]["throughput"] == pytest.approx(60_000 / data["measured"]["seconds"])
    for hop in data["hops"]:
        assert hop["measured_throughput"] > 0
        assert hop["throughput"] > 0
    assert "generated data" in " ".join(data["notes"])
    assert max(hop.seconds for hop in report.hops) <= report.seconds * 1.001
    assert "every byte verified" in str(report)
    assert "predicted without a measurement" in str(report)
    unchecked = Engine(MACHINE).run(chosen, verify=False)
    assert unchecked.verified is None
    assert "not verified" in str(unchecked)


def test_nothing_runs_for_another_machine_or_without_its_devices() -> None:
    engine = Engine(MACHINE)
    other = replace(MACHINE, name="other")
    with pytest.raises(TransferError, match="plan again"):
        engine.run(plan(transfer(DSK, SYS), other))
    cluster = preset("two-node")
    remote = plan(Transfer.whole(SPACE, PAIR, "node0.fbm0", "<F, x>", "node1.fbm0", "<x, F>"), cluster)
    with pytest.raises(TransferError, match=r"no such device \(FBM\).*node0\.sys, node0\.dsk"):
        Engine(cluster).run(remote)


class WithGpuMemory(ThisComputer):
    """This computer with the memory of a GPU, but nothing that moves bytes there."""

    def memory(self, memory: Memory) -> Any:
        return HostMemory(memory.name) if memory.kind is MemoryKind.FBM else super().memory(memory)


def test_a_kind_of_channel_that_is_not_here_is_no_copy() -> None:
    machine = preset("laptop")
    there = plan(Transfer.whole(SPACE, PAIR, "node0.fbm0", "<F, x>", "node0.fbm0", "<x, F>"), machine, "direct")
    assert [hop.kind for hop in there.hops] == [ChannelKind.GPU_COPY]
    wanted = r"channel node0\.fbm0->node0\.fbm0: this computer has no device that is a GPUCopy from node0\.fbm0 to node0\.fbm0"
    with pytest.raises(TransferError, match=wanted):
        Engine(machine, WithGpuMemory()).run(there)


def test_emulated_memories_are_copied_to_and_said_to_be_emulated() -> None:
    machine = with_emulated(preset("two-node"), "node0.fbm0", "node0.zcm", "node0.reg", "node1.reg", "node1.zcm", "node1.fbm0")
    chosen = plan(Transfer.whole(SPACE, PAIR, "node0.fbm0", "<F, x>", "node1.fbm0", "<x, F>"), machine)
    assert {hop.kind for hop in chosen.hops} >= {ChannelKind.GPU_READ, ChannelKind.REMOTE_MEMCPY, ChannelKind.GPU_WRITE}
    report = Engine(machine).run(chosen)
    assert report.verified
    assert f"emulated in host memory: {', '.join(dict.fromkeys(chosen.memories))}" in report.notes
    assert not any("emulated" in note for note in Engine(MACHINE).run(plan(transfer(SYS, SYS), MACHINE)).notes)


def with_emulated(machine: Machine, *names: str) -> Machine:
    return replace(machine, memories=tuple(replace(each, emulated=each.name in names) for each in machine.memories))


def test_a_transfer_onto_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(60_000))
    (tmp_path / "soft").symlink_to(path)
    os.link(path, tmp_path / "hard")
    chosen = small(transfer(DSK, DSK))
    for name in ("a", "soft", "hard"):
        with pytest.raises(TransferError, match="the same"):
            Engine(MACHINE).run(chosen, path, tmp_path / name)
    assert path.read_bytes() == bytes(60_000)
    assert (tmp_path / "soft").is_symlink()
    array = np.zeros(60_000, "u1")
    with pytest.raises(TransferError, match="the same"):
        Engine(MACHINE).run(plan(transfer(SYS, SYS), MACHINE), array, array)


def test_wrong_ends(tmp_path: Path) -> None:
    engine, chosen = Engine(MACHINE), plan(transfer(SYS, DSK), MACHINE)
    for source, words in (
        (np.zeros(59_999, "u1"), "59999 bytes"),
        (np.zeros(60_000, object), "Python objects"),
        (np.zeros((60_000, 2), "u1")[:, 0], "is not dense"),
        ("text", "expected a NumPy array"),
    ):
        with pytest.raises(TransferError, match=words):
            engine.run(chosen, source, tmp_path / "out")
    array = np.zeros(60_000, "u1")
    for name, words in (("missing/out", "no such directory"), (".", "is a directory")):
        with pytest.raises(FileError, match=words):
            engine.run(chosen, array, tmp_path / name)
    back = plan(transfer(DSK, SYS), MACHINE)
    (tmp_path / "short").write_bytes(bytes(59_999))
    (tmp_path / "long").write_bytes(bytes(60_001))
    np.save(tmp_path / "other.npy", np.zeros(5000, [("re", "f4"), ("im", "f4")]))
    np.save(tmp_path / "names.npy", np.zeros(5000, [("re", "f4"), ("jm", "f8")]))
    np.save(tmp_path / "size.npy", np.zeros(4999, [("re", "f4"), ("im", "f8")]))
    for name, words in (
        ("absent", "no such file"),
        ("short", "too short"),
        ("long", "too long"),
        (".", "a directory"),
        ("other.npy", "'im' is float32; expected float64"),
        ("names.npy", "expected re, im"),
        ("size.npy", "does not fit"),
    ):
        with pytest.raises(FileError, match=words):
            engine.run(back, tmp_path / name)
    array.flags.writeable = False
    with pytest.raises(TransferError, match="read-only"):
        engine.run(plan(transfer(SYS, SYS), MACHINE), np.zeros(60_000, "u1"), array)


def test_npy_files_at_both_ends(tmp_path: Path) -> None:
    array = np.zeros(5000, PAIR.dtype)
    array.view("u1")[:] = random_bytes(random.Random(1), array.nbytes)
    np.save(tmp_path / "in.npy", array)
    assert Engine(MACHINE).run(small(transfer(DSK, DSK)), tmp_path / "in.npy", tmp_path / "out.npy").verified
    found = np.load(tmp_path / "out.npy")
    assert found["re"].tobytes() == array["re"].tobytes()
    assert found["im"].tobytes() == array["im"].tobytes()


class Broken(ThisComputer):
    """This computer with a channel that does something at its third request batch."""

    def __init__(self, kind: ChannelKind, act: Callable[[], None]) -> None:
        super().__init__()
        self.kind = kind
        self.act = act
        self.calls = 0

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> Any:
        real = super().channel(channel, source, destination)
        assert real is not None
        if channel.kind is not self.kind:
            return real
        outer = self

        class Failing(BaseChannel):
            at_once = False

            def move(self, copies: Sequence[Any], source: Any, destination: Any, check: Callable[[], None]) -> int:
                outer.calls += 1
                if outer.calls == 3:
                    outer.act()
                check()
                return real.move(copies, source, destination, check)

        return Failing()


def fail(error: Exception) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


@pytest.mark.parametrize("error", [RunError("the channel is gone"), OSError(5, "Input/output error"), MemoryError("full")])
def test_a_failure_names_hop_channel_and_chunk_and_leaves_no_file(error: Exception, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"what was there")
    with pytest.raises(RunError) as caught:
        Engine(MACHINE, Broken(ChannelKind.MEMCPY, fail(error))).run(small(transfer(DSK, DSK)), None, out)
    assert (caught.value.hop, caught.value.channel, caught.value.chunk) == (1, "node0.sys->node0.sys", 2)
    assert "hop 1" in str(caught.value)
    assert out.read_bytes() == b"what was there"
    assert names_in(tmp_path) == ["out"]


@pytest.mark.parametrize("kind", [ChannelKind.DISK_READ, ChannelKind.MEMCPY, ChannelKind.DISK_WRITE])
def test_cancelled_on_the_way(kind: ChannelKind, tmp_path: Path) -> None:
    token = threading.Event()
    seen: list[Progress] = []
    with pytest.raises(Cancelled):
        Engine(MACHINE, Broken(kind, token.set)).run(
            small(transfer(DSK, DSK)), None, tmp_path / "out", cancel=token, progress=seen.append
        )
    assert seen[-1].chunks_done <= 2
    assert names_in(tmp_path) == []


def test_cancelled_while_verifying(tmp_path: Path) -> None:
    token = threading.Event()

    def progress(at: Progress) -> None:
        if at.stage == "verify":
            token.set()

    with pytest.raises(Cancelled):
        Engine(MACHINE).run(small(transfer(DSK, DSK)), None, tmp_path / "out", cancel=token, progress=progress)
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("destination", [SYS, DSK])
def test_a_wrong_byte_is_found_and_named(destination: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move = Memcpy.move
    calls = 0

    def wrong(self: Memcpy, copies: Any, source: Any, there: Any, check: Any) -> int:
        nonlocal calls
        done = move(self, copies, source, there, check)
        calls += 1
        if calls == 2:
            there.array[5] ^= 1
        return done

    monkeypatch.setattr(Memcpy, "move", wrong)
    out = tmp_path / "out" if destination == DSK else None
    with pytest.raises(VerificationError, match=r"field 're' at x=\d+"):
        Engine(MACHINE).run(small(transfer(DSK, destination)), None, out)
    assert names_in(tmp_path) == []


def test_a_source_that_shrinks_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "in"
    path.write_bytes(bytes(60_000))
    move = DiskRead.move

    def cut(self: DiskRead, copies: Any, source: Any, there: Any, check: Any) -> int:
        os.truncate(path, 30_000)
        return move(self, copies, source, there, check)

    monkeypatch.setattr(DiskRead, "move", cut)
    with pytest.raises(RunError, match=r"in: ends at byte 30000.*hop 0.*chunk \d"):
        Engine(MACHINE).run(small(transfer(DSK, DSK)), path, tmp_path / "out")
    assert names_in(tmp_path) == ["in"]


def test_a_transposing_read_reads_the_file_once(tmp_path: Path) -> None:
    """In one hop, across the gaps: not once for every request into which a long chunk could be cut."""
    side = 2048
    array = np.random.default_rng(0).random((side, side), dtype=np.float32)
    np.save(tmp_path / "in.npy", array)
    found = Transfer.whole(IndexSpace(x=side, y=side), FieldSpace(value="f4"), DSK, "<F, x, y>", SYS, "<F, y, x>")
    turned = np.zeros((side, side), np.float32)
    report = Engine(MACHINE).run(plan(found, MACHINE, "direct"), tmp_path / "in.npy", turned)
    assert np.array_equal(turned, array.T)
    assert report.hops[0].requests < 4 * array.nbytes / 2**20


@pytest.mark.parametrize("gap", [0, 5000])
def test_long_runs_are_several_requests_beside_short_ones(gap: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few short runs close together, at the end of a chunk, are read at once; nothing else has to wait for that."""
    size, at = 6 << 20, (6 << 20) + gap
    ends = [(0, 0, size), (at, size, 3000), (at + 4000, size + 3000, 3000)]
    copies = [StridedCopy(here, there, run) for here, there, run in ends]
    array = np.random.default_rng(1).integers(0, 256, at + 8000, np.uint8)
    array.tofile(tmp_path / "in")
    handed: list[int] = []
    move = DiskRead.move

    def noted(self: DiskRead, copies: Any, source: Any, there: Any, check: Any) -> int:
        handed.append(sum(copy.nbytes for copy in copies))
        return move(self, copies, source, there, check)

    monkeypatch.setattr(DiskRead, "move", noted)

    def few(self: Execution, hop: int, number: int) -> list[StridedCopy]:
        self._payloads[self._hops[hop].number, number] = len(array)
        return copies

    monkeypatch.setattr(Execution, "_copies", few)
    space, fields = IndexSpace(x=len(array)), FieldSpace(a="u1")
    found = plan(Transfer.whole(space, fields, DSK, "<F, x>", SYS, "<F, x>"), MACHINE, "direct")
    assert found.chunk_count == 1
    out = np.zeros_like(array)
    Engine(MACHINE).run(found, tmp_path / "in", out, verify=False)
    assert all(np.array_equal(out[there : there + run], array[here : here + run]) for here, there, run in ends)
    assert len([nbytes for nbytes in handed if nbytes > 6000]) >= 3
    assert max(handed) <= 2 << 20


def test_many_threads_share_an_engine(tmp_path: Path) -> None:
    engine, chosen = Engine(MACHINE), small(transfer(DSK, DSK))
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            assert engine.run(chosen, None, tmp_path / f"out{number}").verified
        except BaseException as error:  # noqa: BLE001  # reported by the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def test_copies_plan_no_buffer_where_the_engine_keeps_none() -> None:
    """On a disk that is said to be fast; a plan by hand through it is refused before anything is touched."""
    machine = preset("local", measure="assumed")
    fast = {True: LatencyBandwidth(1e-4, 1e8), False: Constant(1e12)}
    machine = replace(machine, channels=tuple(replace(each, throughput=fast[each.is_self_loop]) for each in machine.channels))
    given = np.arange(1 << 18, dtype="f8").reshape(1 << 17, 2)
    out = np.zeros((2, 1 << 17))
    with Engine(machine) as engine:
        event = engine.copy(given, "<F, x, y>", out, "<F, y, x>")
        event.wait(timeout=250)
        assert (out == given.T).all()
        assert "node0.dsk" not in event.plan.memories
        through = cost(event.plan.transfer, machine, "node0.sys,node0.dsk,node0.sys", over_limits=True)
        with pytest.raises(TransferError, match=r"hop 0 leads to a buffer in node0\.dsk"):
            engine.run(through, given, out)
