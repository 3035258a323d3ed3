"""Bundles: several transfers as one, against bytes that are moved element by element."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from bundle_cases import expected, random_bundle, random_ends, random_member

import isoviz
from isoviz import Bundle, Engine, FieldSpace, IndexSpace, Instance, Machine, Options, Plan, Transfer, plan, simulate
from isoviz.errors import InputError, IsovizError, LimitError, TransferError
from isoviz.figures import html
from isoviz.machines import Channel, LatencyBandwidth, Memory, OneTimeCost
from isoviz.planner import load_transfer, plan_from_json, plan_to_json, transfer_from_json

FLOATS = FieldSpace(a="<f4")


@lru_cache
def relay() -> Machine:
    """Three memories in a row: what goes from the first to the last has a buffer in the one between."""
    memories = [Memory(f"node0.{name}", "SYS", 0) for name in ("a", "b", "c")]
    ends = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"), ("b", "b")]
    channels = [
        Channel(
            "",
            "Memcpy",
            f"node0.{here}",
            f"node0.{there}",
            LatencyBandwidth(1e-7 * (1 + k), 1e9 * (1 + k)),
            setup=1e-6,
            request_seconds=2e-6,
        )
        for k, (here, there) in enumerate(ends)
    ]
    return Machine("relay", tuple(memories), tuple(channels))


@lru_cache
def one_hop() -> Machine:
    channel = Channel("", "Memcpy", "node0.a", "node0.c", LatencyBandwidth(1e-7, 1e9), setup=1e-6)
    return Machine("one hop", (Memory("node0.a", "SYS", 0), Memory("node0.c", "SYS", 0)), (channel,))


def vector(size: int, source: str = "node0.a", destination: str = "node0.c", layout: str = "<F, x>") -> Transfer:
    return Transfer.whole(IndexSpace(x=size), FLOATS, source, layout, destination, layout)


def test_random_bundles(full: bool, report: Callable[[str, object], None]) -> None:
    """Any members, in one hop and over buffers, with slots that hold several members and slots that hold a part of one."""
    converted, cut = set(), 0
    for seed in range(500 if full else 30):
        draw = random.Random(f"bundle {seed}")
        made = random_bundle(draw, "node0.a", "node0.c")
        machine, limit = draw.choice(((one_hop(), None), (relay(), 64), (relay(), 200), (relay(), 4096)))
        found = plan(made, machine, draw.choice(("auto", "full", "simple")), Options(slot_limit=limit))
        assert simulate(found).end == pytest.approx(found.seconds, rel=1e-9)
        sources, destinations = random_ends(made, seed)
        wanted = expected(made, sources, destinations)
        with Engine(machine) as engine:
            if draw.random() < 0.5:
                assert engine.run(found, sources, destinations).verified
            else:
                with engine.prepare(found, sources, destinations) as prepared:
                    for _ in range(2):
                        prepared.start().wait()
        for number, (moved, right) in enumerate(zip(destinations, wanted, strict=True)):
            assert np.array_equal(moved, right), f"seed {seed}, member {number}: {found}"
        assert isinstance(found.transfer, Bundle)
        converted.add(found.transfer.order)
        cut += found.chunk_count > 1
    assert converted == {"source", "destination"}
    assert cut
    report("random bundles on the host", seed + 1)


def test_members_with_lists() -> None:
    """Entries that lists name, at one end or at both, beside a box; chunks end within lists and within elements."""
    rng = np.random.default_rng(2)
    here = Instance("node0.a", IndexSpace(x=900), FieldSpace(a="<f4", b="<f8"), "<F, x>")
    packed = Instance("node0.c", IndexSpace(x=300), here.fields, "<x, F>")
    lists = [rng.permutation(900)[:300] for _ in range(4)]
    members = [
        Transfer.listed(here, packed, entries=lists[0]),
        Transfer.listed(here, replace(here, memory="node0.c"), entries=lists[1], to=lists[2]),
        vector(77),
        Transfer.listed(here, packed, entries=lists[3]),
    ]
    records = np.dtype([("a", "<f4"), ("b", "<f8")])
    sources = [rng.integers(0, 256, size, np.uint8) for size in (10800, 10800, 308, 10800)]
    values = [each.view(records) if each.size > 308 else each for each in sources]
    for machine, limit in ((one_hop(), None), (relay(), 100), (relay(), 4096)):
        destinations = [np.zeros(size, np.uint8) for size in (3600, 10800, 308, 3600)]
        found = plan(isoviz.bundle(members), machine, options=Options(slot_limit=limit))
        again = plan_from_json(plan_to_json(found))
        with Engine(machine) as engine:
            assert engine.run(again, sources, destinations).verified
        for number, entries in ((0, lists[0]), (3, lists[3])):
            right = values[number][entries]
            assert destinations[number].tobytes() == right["a"].tobytes() + right["b"].tobytes()
        right = np.zeros(900, records)
        right[lists[2]] = values[1][lists[1]]
        assert destinations[1].tobytes() == right.tobytes()
        assert np.array_equal(destinations[2], sources[2])


def test_small_members_share_messages() -> None:
    """A hop has a request for each chunk, and a chunk has many members. Alone, each of them has one of its own."""
    many = isoviz.bundle([vector(16) for _ in range(64)])
    found = plan(many, relay(), options=Options(slot_limit=1024))
    trace = simulate(found)
    assert len(trace.requests) == len(found.hops) * found.chunk_count
    assert found.chunk_count <= 8
    assert found.seconds < 64 * plan(vector(16), relay()).seconds / 8
    with Engine(relay()) as engine:
        report = engine.run(found)
        assert report.verified
        assert len(report.trace.requests) == len(trace.requests)


def test_one_set_of_one_time_costs() -> None:
    cost = OneTimeCost("registration", 1e-3)
    machine = relay()
    channels = tuple(
        Channel("", each.kind, each.source, each.destination, each.throughput, costs=(cost,)) for each in machine.channels
    )
    costly = Machine("costly", machine.memories, channels)
    many = plan(isoviz.bundle([vector(1 << 10) for _ in range(8)]), costly)
    assert many.setup == plan(vector(1 << 10), costly).setup == pytest.approx(2e-3)


def test_one_transfer_is_that_transfer() -> None:
    one = vector(100)
    assert isoviz.bundle([one]) is one
    assert isoviz.bundle([one], priority=3).priority == 3
    found = plan(isoviz.bundle([one]), one_hop())
    source, destination = np.arange(100, dtype="<f4"), np.zeros(100, "<f4")
    with Engine(one_hop()) as engine:  # a program that makes lists need not know how long they are
        for _ in range(2):
            assert engine.run(found, [source], [destination]).verified
            engine.submit(found, [source], [destination]).wait(60)
        with engine.prepare(found, [source], [destination]) as prepared:
            destination[:] = 0
            prepared.start().wait(60)
        assert np.array_equal(destination, source)
        with pytest.raises(TransferError, match="list"):
            engine.run(found, [source, source], [destination])


def test_plans_and_bundles_in_files(tmp_path: Path) -> None:
    for seed in range(10):
        draw = random.Random(f"files {seed}")
        made = random_bundle(draw, "node0.a", "node0.c")
        assert transfer_from_json(made.to_json()) == made
        found = plan(made, relay(), options=Options(slot_limit=300))
        again = plan_from_json(plan_to_json(found))
        assert again == found
        assert [again.copies(0, k) for k in range(again.chunk_count)] == [found.copies(0, k) for k in range(found.chunk_count)]
        found.save(tmp_path / "plan.json")
        assert isoviz.planner.load_plan(tmp_path / "plan.json").transfer == found.transfer


def test_text_and_pictures() -> None:
    """Equal neighbours are one row."""
    made = isoviz.bundle([vector(100)] * 3 + [vector(7)])
    found = plan(made, relay())
    assert "a bundle of 4 transfers" in str(found)
    for text in (html(made), html(found)):
        assert "4 transfers" in text
        assert text.count("0 to 2") == 1
        assert "400 B" in text
    with pytest.raises(InputError, match="no controls for node0"):
        isoviz.PlanView(found, relay())
    with Engine(relay()) as engine:
        assert "node0.a (4 instances) to node0.c (4 instances)" in str(engine.run(found))


def test_copy_of_lists() -> None:
    rng = np.random.default_rng(3)
    sources = [rng.random((7, 5)).astype("<f4"), rng.random((3, 4, 2)), rng.integers(0, 9, 1000, np.int16)]
    layouts = ["<F, x, y>", "<F, x, y, z>", "<F, x>"]
    with Engine(isoviz.preset("local", measure="assumed")) as engine:
        same = [np.zeros_like(each) for each in sources]
        event = engine.copy(sources, layouts, same, layouts)
        event.wait()
        assert isinstance(event.plan.transfer, Bundle)
        assert all(np.array_equal(a, b) for a, b in zip(sources, same, strict=True))
        turned = [np.zeros_like(each.T, order="C") for each in sources[:1] * 3]
        engine.copy(sources[:1] * 3, "<F, x, y>", turned, "<F, y, x>").wait()
        assert all(np.array_equal(each, sources[0].T) for each in turned)
        one = np.zeros_like(sources[0])
        engine.copy([sources[0]], "<F, x, y>", [one], "<F, x, y>").wait()
        assert np.array_equal(one, sources[0])
        for given, words in (
            ((sources, layouts, same[:2], layouts), "3 sources and 2 destinations"),
            ((sources, layouts[:2], same, layouts), "3 layouts or one for all"),
            ((sources, layouts, [*same[:2], 5], layouts), "copy, transfer 2: "),
            (([], "<F, x>", [], "<F, x>"), "at least one"),
            ((sources, layouts, same[0], layouts), "a list at one end only"),
        ):
            with pytest.raises(IsovizError) as error:
                engine.copy(*given).wait()
            assert words in str(error.value), error.value


def test_transfer_files(tmp_path: Path) -> None:
    """Members say what differs from the tables of the file."""
    written = tmp_path / "layers.toml"
    written.write_text(LAYERS)
    read = load_transfer(written)
    assert isinstance(read.transfer, Bundle)
    assert [each.nbytes for each in read.transfer.members] == [4096, 4096, 4096, 80, 400]
    assert [str(each.destination.layout) for each in read.transfer.members] == ["<F, x, y>"] * 3 + ["<F, y, x>", "<F, x>"]
    assert read.transfer.priority == 2
    with Engine(read.machine()) as engine:
        assert engine.run(plan(read.transfer, read.machine(), options=read.options)).verified
    for before, after, words in (
        ("count = 3", "count = 0", "bundle[0].count: expected at least 1"),
        ("count = 3", "number = 3", "unknown"),
        ('{ layout = "<F, y, x>" }', '{ memory = "node1.sys" }', "the destination of transfer 3 is in 'node1.sys'"),
    ):
        written.write_text(LAYERS.replace(before, after, 1))
        with pytest.raises(IsovizError) as error:
            load_transfer(written)
        assert words in str(error.value), error.value


LAYERS = """
[machine]
preset = "local"
measure = "assumed"

[fields]
a = "float32"

[space]
x = 32
y = 32

[source]
memory = "node0.sys"
layout = "<F, x, y>"

[destination]
memory = "node0.sys"
layout = "<F, x, y>"

[options]
priority = 2

[[bundle]]
count = 3

[[bundle]]
box = { shape = { x = 5, y = 4 } }
destination = { layout = "<F, y, x>" }

[[bundle]]
space = { x = 100 }
source = { layout = "<F, x>" }
destination = { layout = "<F, x>" }
"""


def test_an_end_in_a_file(tmp_path: Path) -> None:
    """One file holds the data of all members, one after the other, or at the places that they name."""
    machine = isoviz.preset("local", measure="assumed", directory=tmp_path)
    disk = next(each.name for each in machine.memories if each.is_file_system)
    draw = random.Random(5)
    out = isoviz.bundle([random_member(draw, "node0.sys", disk) for _ in range(5)])
    assert isinstance(out, Bundle)
    sources, destinations = random_ends(out, 1)
    with Engine(machine) as engine:
        assert engine.run(plan(out, machine), sources, tmp_path / "all.bin").verified
        stored = np.fromfile(tmp_path / "all.bin", np.uint8)
        zeros = [np.zeros_like(each) for each in destinations]
        for start, right, member in zip(out.destination.starts, expected(out, sources, zeros), out.members, strict=True):
            assert np.array_equal(stored[start : start + right.size], right), member
        placed = list(zip(out.members, out.destination.starts, strict=True))[::2]
        back = isoviz.bundle([_back(member, tmp_path / "all.bin", start) for member, start in placed])
        again = [np.zeros_like(each) for each in sources[::2]]
        assert engine.run(plan(back, machine), None, again).verified


def _back(member: Transfer, path: Path, offset: int) -> Transfer:
    """The transfer from a file, where a member has written it, to where it came from."""
    here = replace(member.destination, path=str(path), offset=offset)
    shape = dict(zip(member.source.space, member.shape, strict=True))
    origins = member.destination_origin, member.source_origin
    return Transfer(here, member.source, tuple(shape[dim] for dim in here.space), *origins, member.field_names)


def refused(engine: Engine, made: Plan, *given: object, kind: type[IsovizError] = InputError) -> str:
    """What a run and an event say of such ends."""
    for call in (engine.run, lambda *of: engine.submit(*of).wait()):
        with pytest.raises(kind) as error:
            call(made, *given)
    return str(error.value)


def test_cancel_and_errors_of_a_run() -> None:
    made = isoviz.bundle([vector(100), vector(50), vector(10)])
    sources, destinations = random_ends(made, 1)
    for machine in (one_hop(), relay()):
        found = plan(made, machine)
        with Engine(machine) as engine:
            assert "3 objects in node0.a, one for each transfer, got 2" in refused(engine, found, sources[:2], destinations)
            assert "source array for node0.a: has 400 bytes" in refused(engine, found, sources[0], destinations)
            all_bytes = np.concatenate(sources)
            assert engine.run(found, all_bytes, destinations).verified
            assert np.array_equal(np.concatenate(destinations), all_bytes)
            short = [destinations[0], destinations[2], destinations[2]]
            assert refused(engine, found, sources, short).startswith("bundle, transfer 1: ")
            same = np.zeros(700, np.uint8)
            overlapping = [same[:400], same[300:500], same[600:640]]
            assert "transfers 0 and 1 write the same bytes" in refused(engine, found, sources, overlapping, kind=TransferError)
            shared = [destinations[0], sources[1], destinations[2]]
            assert "the same or overlap" in refused(engine, found, sources, shared, kind=TransferError)
            assert not same.any()
            event = engine.submit(found, sources, destinations)
            event.cancel()
            assert event.error() is None or "cancelled" in str(event.error())


def test_members_in_one_array() -> None:
    """Members may write different parts of one array, and read the same one."""
    space = IndexSpace(x=40, y=30)
    ends = Instance("node0.a", space, FLOATS, "<F, x, y>"), Instance("node0.c", space, FLOATS, "<F, x, y>")
    parts = [Transfer(*ends, (20, 15), (x, y), (x, y)) for x, y in itertools.product((0, 20), (0, 15))]
    here = np.random.default_rng(1).random((30, 40)).astype("<f4")
    for machine in (one_hop(), relay()):
        there = np.zeros_like(here)
        with Engine(machine) as engine:
            assert engine.run(plan(isoviz.bundle(parts), machine), [here] * 4, [there] * 4).verified
        assert np.array_equal(here, there)
        more = plan(isoviz.bundle([*parts, Transfer(*ends, (2, 2), (19, 14), (20, 13))]), machine)
        with Engine(machine) as engine, pytest.raises(TransferError, match="transfers 2 and 4 write the same bytes"):
            engine.run(more, [here] * 5, [there] * 5)


def test_bundles_that_are_none(tmp_path: Path) -> None:
    pair = isoviz.bundle([vector(3), vector(4)])
    file = Instance("node0.c", IndexSpace(x=8), FLOATS, "<F, x>", str(tmp_path / "f"), 0)
    later = Instance("node0.c", IndexSpace(x=8), FLOATS, "<F, x>", str(tmp_path / "f"), 16)
    here = Instance("node0.a", IndexSpace(x=8), FLOATS, "<F, x>")
    for given, words, kind in (
        ([], "expected at least one transfer", InputError),
        ([vector(3), pair], "transfer 1 is a bundle; expected its 2 members", TransferError),
        (
            [vector(3), vector(3, "node0.b")],
            "the source of transfer 1 is in 'node0.b', that of transfer 0 in 'node0.a'",
            TransferError,
        ),
        ([vector(3), vector(3, "node0.a", "node0.b")], "the destination of transfer 1", TransferError),
        ([vector(3), "x"], "transfer 1: expected a transfer", InputError),
        (vector(3), "expected transfers", InputError),
        ([Transfer(here, file), vector(3)], "the destination of transfer 1 names no file", TransferError),
        ([Transfer(here, file), Transfer(here, later)], "transfers 0 and 1 write the same bytes", TransferError),
    ):
        with pytest.raises(kind) as error:
            isoviz.bundle(given)  # type: ignore[arg-type]
        assert words in str(error.value), error.value
    for change, words in (({"order": "up"}, "order 'up'"), ({"members": (vector(3),)}, "its members have 12 bytes")):
        with pytest.raises(TransferError, match=words):
            replace(pair, **change)


def test_no_slot_is_large_enough() -> None:
    with pytest.raises(LimitError):
        plan(isoviz.bundle([vector(100), vector(50)]), relay(), options=Options(memory_limit=1, slots=2))
