"""Transfers of entries that index arrays name: right bytes over every path, and bad lists refused in words."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_cases import FIELDS, assumed_machine, elements, no_leaked_files, random_bytes, random_layout

import isoviz
from isoviz import Engine, FieldSpace, IndexSpace, Instance, Options, Transfer, cost, plan, simulate
from isoviz.backends.emulated import EmulatedMachine
from isoviz.errors import ArrayError, EmptyArrayError, FileError, InputError, TransferError, VerificationError
from isoviz.layouts import Box, EntryList, ListedCopy, View, apply, strided_copies
from isoviz.layouts.copies import without_lists
from isoviz.layouts.recurring import split, split_together
from isoviz.machines import Channel, LatencyBandwidth, Machine, Memory, preset
from isoviz.planner import ListedTransfer, load_transfer, plan_from_json, plan_to_json
from isoviz.planner.plan_file import plan_digest

pytestmark = pytest.mark.usefixtures("no_leaked_files")
__all__ = ["no_leaked_files"]

SYS, DSK = "node0.sys", "node0.dsk"
LOCAL = assumed_machine()


def row() -> Machine:
    """Three memories in a row."""
    memories = [Memory(f"node0.{name}", "SYS", 0) for name in "abc"]
    channels = [
        Channel("", "Memcpy", f"node0.{here}", f"node0.{there}", LatencyBandwidth(1e-8, 1e11), request_seconds=1e-9)
        for here, there in itertools.permutations("abc", 2)
    ]
    return Machine("row", tuple(memories), tuple(channels))


def random_list(rng: random.Random, size: int, count: int, *, again: bool) -> list[int]:
    """Entries in any order; at times in order, in runs, or, at a source, several times."""
    if again and rng.random() < 0.3:
        return [rng.randrange(size) for _ in range(count)]
    found = rng.sample(range(size), count)
    if rng.random() < 0.5:
        found.sort()
    elif rng.random() < 0.5:  # runs of one length
        run = rng.randint(1, max(1, count // 2))
        starts = rng.sample(range(size // run), min(count // run, size // run))
        found = [start * run + k for start in starts for k in range(run)]
    return found


def random_case(rng: random.Random, here: str = SYS, there: str = SYS) -> tuple[Transfer, list[int], list[int]]:
    """A listed transfer, and for each place the entry of the source and that of the destination."""
    dims = list("xyz"[: rng.randint(1, 3)])
    listed = rng.choice(dims)
    sizes = {dim: rng.randint(1, 7) for dim in dims}
    room = rng.randint(1, 30)
    which = rng.choice(("source", "destination", "both"))
    entries = random_list(rng, room, rng.randint(1, room), again=True) if which != "destination" else []
    count = len(entries) or rng.randint(1, 20)
    beyond = count + rng.choice((0, rng.randint(0, 9)))
    to = random_list(rng, beyond, count, again=False) if which != "source" else []
    if to and entries and len(to) != len(entries):
        to = rng.sample(range(beyond), count)
    count = len(entries) or len(to)
    fields = {f"f{k}": rng.choice(FIELDS) for k in range(rng.randint(1, 4))}
    ends = []
    for memory, size in ((here, room if entries else count), (there, beyond if to else count)):
        rng.shuffle(dims)
        space = IndexSpace.of({dim: size if dim == listed else sizes[dim] for dim in dims})
        names = list(fields)
        rng.shuffle(names)
        ends.append(Instance(memory, space, FieldSpace.of({name: fields[name] for name in names}), random_layout(rng, space)))
    some = tuple(rng.sample(sorted(fields), rng.randint(1, len(fields)))) if rng.random() < 0.5 else ()
    lists = {}
    if entries:
        lists["entries"] = {listed: np.array(entries, rng.choice(("i8", "u2", "i4")))}
    if to:
        lists["to"] = {listed: to}
    made = Transfer.listed(*ends, **lists, field_names=some)
    return made, entries or list(range(count)), to or list(range(count))


def moved_one_by_one(transfer: ListedTransfer, entries: list[int], to: list[int], data: Any, out: Any) -> dict[Any, bytes]:
    """The destination that a plain loop makes."""
    source, expected = elements(transfer.source.linearization, data), elements(transfer.destination.linearization, out)
    names = transfer.source.space.dims
    for index in np.ndindex(*transfer.space.sizes):
        at = dict(zip(transfer.space.dims, index, strict=True))
        place = at[transfer.dim]
        for field in transfer.field_names:
            read = tuple(entries[place] if dim == transfer.dim else at[dim] for dim in names)
            written = tuple(to[place] if dim == transfer.dim else at[dim] for dim in transfer.destination.space.dims)
            expected[written, field] = source[read, field]
    return expected


def ends_of(rng: random.Random, transfer: Transfer) -> tuple[Any, Any]:
    return tuple(random_bytes(rng, end.linearization.nbytes) for end in (transfer.source, transfer.destination))


def test_the_copies_of_a_list_move_what_a_loop_moves(full: bool) -> None:
    rng, tables = random.Random(58), 0
    for _ in range(2000 if full else 200):
        transfer, entries, to = random_case(rng)
        assert isinstance(transfer, ListedTransfer)
        data, out = ends_of(rng, transfer)
        expected = moved_one_by_one(transfer, entries, to, data, out)
        copies = strided_copies(
            transfer.source_view(), transfer.destination_view(), Box.whole(transfer.space), transfer.field_names
        )
        tables += sum(isinstance(copy, ListedCopy) for copy in copies)
        assert sum(copy.nbytes for copy in copies) == transfer.nbytes
        for way in (copies, without_lists(copies), *(list(itertools.chain(*cut(copies, 3))) for cut in (split, split_together))):
            moved = out.copy()
            apply(way, data, moved)
            assert elements(transfer.destination.linearization, moved) == expected
            back = data.copy()  # the same bytes go back
            apply([copy.reversed() for copy in way], moved, back)
            assert bytes(back) == bytes(data)
    assert tables > 100


@pytest.mark.parametrize("source", [SYS, DSK])
@pytest.mark.parametrize("destination", [SYS, DSK])
@pytest.mark.few(2)
def test_random_lists_on_this_computer(source: str, destination: str, tmp_path: Path, full: bool) -> None:
    rng = random.Random(f"lists {source} {destination}")
    with Engine(LOCAL) as engine:
        for case in range(100 if full else 6):
            transfer, entries, to = random_case(rng, source, destination)
            assert isinstance(transfer, ListedTransfer)
            data, out = ends_of(rng, transfer)
            expected = moved_one_by_one(transfer, entries, to, data, out)
            given: Any = data
            taken: Any = out
            if source == DSK:
                given = tmp_path / f"in{case}"
                given.write_bytes(data.tobytes())
            if destination == DSK:
                taken = tmp_path / f"out{case}"
                taken.write_bytes(out.tobytes())
            limit = rng.choice((transfer.nbytes, max(64, transfer.nbytes // 4)))
            try:
                made = plan(transfer, LOCAL, options=Options(slot_limit=limit))
            except TransferError:  # no part fits this limit
                made = plan(transfer, LOCAL)
            assert engine.run(made, given, taken).verified
            if destination == DSK:
                out = np.frombuffer(taken.read_bytes(), "u1")
            assert elements(transfer.destination.linearization, out) == expected


def test_lists_over_buffers_in_chunks_and_prepared(full: bool) -> None:
    rng, machine = random.Random(7), row()
    chunks = 0
    with Engine(machine, EmulatedMachine()) as engine:
        for _ in range(150 if full else 25):
            transfer, entries, to = random_case(rng, "node0.a", "node0.c")
            assert isinstance(transfer, ListedTransfer)
            hops = rng.choice((1, 2))
            try:
                layouts = [random_layout(rng, transfer.space)] * (hops - 1)
                path = ["node0.a", "node0.b", "node0.c"] if hops == 2 else ["node0.a", "node0.c"]
                made = cost(transfer, machine, path, layouts, chunk=max(1, transfer.nbytes // rng.choice((1, 3, 7))))
            except TransferError:
                made = plan(transfer, machine)
            chunks = max(chunks, made.chunk_count)
            assert plan_from_json(plan_to_json(made)) == made
            assert abs(simulate(made).seconds - made.seconds) < 1e-9 * made.seconds
            data, out = ends_of(rng, transfer)
            expected = moved_one_by_one(transfer, entries, to, data, out)
            before = out.copy()
            assert engine.run(made, data, out).verified
            assert elements(transfer.destination.linearization, out) == expected
            with engine.prepare(made, data, out) as prepared:
                for _ in range(2):
                    out[:] = before
                    prepared.start().wait()
                    assert elements(transfer.destination.linearization, out) == expected
    assert chunks > 3


def test_bundles_of_lists_move_what_a_loop_moves(full: bool) -> None:
    rng = random.Random(11)
    with Engine(LOCAL) as engine:
        for _ in range(40 if full else 8):
            cases = [random_case(rng) for _ in range(3)]
            ends = [ends_of(rng, transfer) for transfer, _, _ in cases]
            expected = [
                moved_one_by_one(transfer, entries, to, *pair)  # type: ignore[arg-type]
                for (transfer, entries, to), pair in zip(cases, ends, strict=True)
            ]
            made = isoviz.bundle([transfer for transfer, _, _ in cases])
            chosen = plan(made, LOCAL, options=Options(slot_limit=max(64, made.nbytes // 3)))
            assert engine.run(chosen, *map(list, zip(*ends, strict=True))).verified
            assert plan_from_json(plan_to_json(chosen)) == chosen
            for (transfer, _, _), (_, out), wanted in zip(cases, ends, expected, strict=True):
                assert elements(transfer.destination.linearization, out) == wanted


def test_several_paths_and_every_planner_move_lists() -> None:
    fields = FieldSpace(a="f4", b="f8")
    for name, ends, most in (("two-node", ("node0.sys", "node1.fbm0"), 1), ("v100-mesh", ("node0.fbm0", "node0.fbm7"), 2)):
        machine = preset(name)
        here = Instance(ends[0], IndexSpace(x=20_000), fields, "<F, x>")
        there = Instance(ends[1], IndexSpace(x=10_000), fields, "<x, F>")
        made = Transfer.listed(here, there, EntryList.random(5_000, 20_000, 1), EntryList.random(5_000, 10_000, 2))
        paths = 0
        with Engine(machine, EmulatedMachine()) as engine:
            for planner in ("full", "simple", "spsl", "spdl", "multipath"):
                chosen = plan(made, machine, planner)
                paths = max(paths, len(chosen.paths))
                assert engine.run(chosen).verified
        assert paths == most
        assert "of the source: 5000 by list" in str(chosen.explain())


SPACE, PAIR = IndexSpace(x=10), FieldSpace(a="f4", b="u1")
HERE, THERE = Instance(SYS, SPACE, PAIR, "<F, x>"), Instance(SYS, IndexSpace(x=3), PAIR, "<x, F>")
SLABS = Instance(SYS, IndexSpace(x=10, y=4), PAIR, "<F, x, y>")


@pytest.mark.parametrize(
    ("ends", "lists", "kind", "said"),
    [
        ((HERE, THERE), {"entries": [1, 2, 10]}, TransferError, "entry 10 is listed at place 2; the source has 0 to 9"),
        ((THERE, HERE), {"to": [4, 11, 12]}, TransferError, "entry 11 is listed at place 1; the destination has 0 to 9"),
        ((THERE, HERE), {"to": [4, 7, 4]}, TransferError, "entry 4 of the destination is listed at places 0 and 2"),
        ((HERE, THERE), {"entries": [1, -2, 3]}, ArrayError, "entries: entry -2 at place 1"),
        ((HERE, THERE), {"entries": [1.0, 2.0, 3.0]}, ArrayError, "entries: an array of float64; expected whole numbers"),
        ((HERE, THERE), {"entries": np.arange(10) % 3 == 0}, ArrayError, "truth values"),
        ((HERE, THERE), {"entries": np.ma.array([1, 2, 3], mask=[0, 1, 0])}, ArrayError, "masked"),
        ((HERE, THERE), {"entries": []}, EmptyArrayError, "names no entry"),
        ((HERE, THERE), {"entries": [[1, 2, 3]]}, ArrayError, "shape (1, 3); expected one axis"),
        ((HERE, THERE), {"entries": "123"}, ArrayError, "got '123'"),
        ((HERE, THERE), {"entries": ["1", "2", "3"]}, ArrayError, "expected whole numbers"),
        ((HERE, THERE), {"entries": None}, ArrayError, "expected"),
        ((HERE, THERE), {"entries": [1, 2]}, TransferError, "2 entries are listed in the source, and 3 entries lie in the dest"),
        ((HERE, HERE), {"entries": [1, 2], "to": [5]}, TransferError, "2 entries are listed in the source, and 1 entries are li"),
        ((SLABS, SLABS), {"entries": [1]}, TransferError, "along which of x, y"),
        ((SLABS, SLABS), {"entries": {"q": [1]}}, TransferError, "one of x, y"),
        ((SLABS, SLABS), {"entries": {"x": [1]}, "to": {"y": [1]}}, TransferError, "lists along x and y"),
        ((SLABS, HERE), {"entries": {"x": range(10)}}, TransferError, "dimensions (x, y)"),
    ],
)
def test_bad_lists_are_refused(ends: Any, lists: Any, kind: Any, said: str) -> None:
    with pytest.raises(kind) as caught:
        Transfer.listed(*ends, **lists)
    assert said in str(caught.value)


def test_lists_are_checked_however_a_transfer_is_made() -> None:
    for lists, said in (
        ({}, "no list at either end"),
        ({"dim": "q", "entries": EntryList([1, 2, 3])}, "lists along 'q': expected one along x"),
        ({"entries": [1, 2, 3]}, "a list of entries"),
    ):
        with pytest.raises(InputError) as caught:
            ListedTransfer(HERE, THERE, **{"dim": "x", **lists})
        assert said in str(caught.value)
    made = Transfer.listed(HERE, THERE, entries=[1, 2, 3])
    assert isinstance(made, ListedTransfer)
    for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert again == made
        assert not again.entries.indices.flags.writeable
    text = json.dumps(made.to_json())
    for data, place in (
        (text.replace('"count"', '"more": 1, "count"'), "transfer.list.entries: unknown key 'more'"),
        (json.dumps({**isoviz.bundle([made, made]).to_json(), "list": made.to_json()["list"]}), "transfer.list: expected none"),
    ):
        with pytest.raises(TransferError) as caught:
            Transfer.from_json(data)
        assert place in str(caught.value)


def test_rest_is_all_entries_in_order() -> None:
    assert Transfer.listed(HERE, HERE, isoviz.rest, isoviz.rest) == Transfer(HERE, HERE)
    every = Transfer.listed(HERE, HERE, entries=range(10))
    assert every == Transfer.listed(HERE, HERE, entries=np.arange(10))
    assert hash(every) == hash(Transfer.listed(HERE, HERE, entries=np.arange(10)))
    assert every != Transfer.listed(HERE, HERE, entries=range(9, -1, -1))
    (copy,) = strided_copies(every.source_view(), every.destination_view(), Box((0,), (10,)))
    assert copy == (0, 0, 50, ())  # an even list is an ordinary copy


def test_pages_move_as_pages_and_runs_count_at_both_ends() -> None:
    end = Instance(SYS, IndexSpace(x=64), FieldSpace(a="f8"), "<F, x>")
    pages = np.concatenate([np.arange(16) + 16 * page for page in (3, 0, 2)])
    made = Transfer.listed(end, Instance(SYS, IndexSpace(x=48), FieldSpace(a="f8"), "<F, x>"), entries=pages)
    (copy,) = strided_copies(made.source_view(), made.destination_view(), Box((0,), (48,)))
    assert isinstance(copy, ListedCopy)
    assert (copy.entries, copy.run) == (3, 128)
    assert plan(made, LOCAL).hops[0].request_bytes == 128
    skewed = Transfer.listed(end, end, entries=[*range(30), 40, 50], to=[*range(32, 62), 1, 3])
    (copy,) = strided_copies(skewed.source_view(), skewed.destination_view(), Box((0,), (32,)))
    assert isinstance(copy, ListedCopy)
    assert [each.tolist() for each in copy.runs()] == [[0, 320, 400], [256, 8, 24], [240, 8, 8]]
    assert copy.run_count == 3


def test_a_wrong_byte_of_a_list_is_found() -> None:
    made = Transfer.listed(HERE, THERE, entries=[7, 2, 7])
    source, out = (random_bytes(random.Random(1), end.linearization.nbytes) for end in (made.source, made.destination))
    with Engine(LOCAL) as engine:
        engine.run(plan(made, LOCAL), source, out)
        out[13] ^= 1
        with pytest.raises(VerificationError, match="field 'b' at x=1"):
            engine.devices.verify(plan(made, LOCAL), *opened(made, source, out), lambda: None)


def opened(made: Transfer, source: Any, out: Any) -> tuple[Any, Any]:
    from isoviz.backends.host.host_memory import HostStore

    return HostStore(source), HostStore(out)


FILE = """
[space]
x = 3534
[fields]
re = "float32"
[source]
memory = "node0.sys"
layout = "<F, x>"
entries = {entries}
[destination]
memory = "node0.sys"
layout = "<F, x>"
{rest}
"""


def test_lists_in_transfer_files(tmp_path: Path) -> None:
    indices = np.random.default_rng(1).permutation(3534)[:3062]
    np.save(tmp_path / "list.npy", indices)
    found = []
    for entries in ('"list.npy"', "{random = 3062, of = 3534, seed = 1}", '{x = "list.npy"}', str(indices.tolist())):
        (tmp_path / "t.toml").write_text(FILE.format(entries=entries, rest="space = {x = 3062}"))
        found.append(load_transfer(tmp_path / "t.toml").transfer)
    assert isinstance(found[0], ListedTransfer)
    assert found[0].entries == EntryList(indices)
    assert found[1:] == found[:1] * 3
    (tmp_path / "t.toml").write_text(FILE.format(entries="[1, 2]", rest="to = [7, 8]"))
    both = load_transfer(tmp_path / "t.toml").transfer
    assert both == Transfer.listed(both.source, both.destination, entries=[1, 2], to=[7, 8])
    content = (tmp_path / "list.npy").read_bytes()
    (tmp_path / "short.npy").write_bytes(content[:-9])
    (tmp_path / "header.npy").write_bytes(content.replace(b"(3062,)", b"(2*531)"))
    (tmp_path / "pickle.npy").write_bytes(pickle.dumps(indices))
    np.savez(tmp_path / "zip", list=indices)
    (tmp_path / "zip.npz").rename(tmp_path / "zip.npy")
    for entries, more, kind, said in (
        ('"none.npy"', "", FileError, "none.npy"),
        ('"t.toml"', "", FileError, "expected the numbers of entries in a .npy file"),
        ("{random = 9999, of = 3534}", "", TransferError, "source.entries"),
        ("{random = 5}", "", TransferError, "'of' is missing"),
        ("[1, 1.5]", "", TransferError, "whole numbers"),
        ("[[1]]", "", TransferError, "one axis"),
        ("[1]", "origin = {x = 1}", TransferError, "expected no box"),
        ("3", "", TransferError, "source.entries: expected the name of a file, numbers"),
        ('""', "", TransferError, "source.entries: expected the name of a file, numbers"),
        ("{random = 5, of = 1000000000000000000}", "", TransferError, "random list, of: expected a whole number from 1 to"),
        ("[]", "", TransferError, "source.entries: list: it names no entry"),
        ('"pickle.npy"', "", FileError, "expected the numbers of entries in a .npy file, got one of another kind"),
        ('"zip.npy"', "", FileError, "got one of another kind"),
        ('"short.npy"', "", FileError, "it is damaged, ends early, or holds Python objects"),
        ('"header.npy"', "", FileError, "it is damaged, ends early, or holds Python objects"),
    ):
        (tmp_path / "t.toml").write_text(FILE.format(entries=entries, rest=more))
        with pytest.raises(kind) as caught:
            load_transfer(tmp_path / "t.toml")
        assert said in str(caught.value)


def test_lists_in_plan_files_are_compact_and_checked() -> None:
    end = Instance(SYS, IndexSpace(x=200_000), FieldSpace(a="f8"), "<F, x>")
    made = Transfer.listed(end, end, entries=EntryList.random(100_000, 200_000, 3), to=EntryList.random(100_000, 200_000, 4))
    data = made.to_json()
    assert len(str(data)) < 2 * 4 * 100_000
    assert Transfer.from_json(data) == made
    assert plan_digest(plan(made, LOCAL)) != plan_digest(plan(Transfer.listed(end, end, made.to, made.entries), LOCAL))
    for change in ({"digest": "0" * 64}, {"count": 5}, {"zlib": "!"}, {"steps": "<f8"}, {"zlib": "eJwDAAAAAAE="}):
        wrong = {**data, "list": {**data["list"], "to": {**data["list"]["to"], **change}}}
        with pytest.raises(TransferError, match=r"list\.to"):
            Transfer.from_json(wrong)


def test_a_part_of_a_list_is_a_slice_of_it() -> None:
    made = Transfer.listed(SLABS, SLABS, entries={"x": [9, 0, 4, 4]}, to={"x": [1, 2, 3, 0]})
    part = made.part(Box((1, 0), (3, 2)))
    views = part.source_view(), part.destination_view()
    copies = strided_copies(*views, Box.whole(part.space))
    expected = strided_copies(made.source_view(), made.destination_view(), Box((1, 0), (3, 2)))
    assert copies == expected
    assert isinstance(views[0], View)
    assert (part.space.as_dict(), part.nbytes) == ({"x": 2, "y": 2}, 20)
