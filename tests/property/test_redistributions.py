"""What ranks send each other moves every entry exactly once, for random distributions and layouts at both ends."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from redistribution_cases import carry_out, naive_content, naive_owners, random_ends

from isoviz import machines
from isoviz.layouts import Box, FieldSpace, IndexSpace, Layout, strided_copies
from isoviz.redistribution import DistributedInstance, Distribution, plan_redistribution
from isoviz.redistribution.regular import Axis, common
from isoviz.redistribution.regular_transfer import RegularTransfer, pair_transfers

Report = Callable[[str, object], None]
CASES = "property cases of redistributions"


def counted(reduced: int, full: int) -> settings:
    """The counts of a test whose cases take long: a test has five minutes, on a slow computer, too."""
    return settings(max_examples=full if settings().max_examples > 100 else reduced)


@st.composite
def axes_of(draw: st.DrawFn, size: int) -> Axis:
    parts = draw(st.integers(1, 6))
    block = draw(st.one_of(st.sampled_from([1, 2, 4, 8, 16, -(-size // parts)]), st.integers(1, 20)))
    return Axis(size, parts, block)


@given(data=st.data(), size=st.one_of(st.integers(1, 40), st.integers(1, 300)))
def test_common_coordinates_are_found_once(report: Report, data: st.DataObject, size: int) -> None:
    report(CASES, 1)
    here, there = data.draw(axes_of(size)), data.draw(axes_of(size))
    wanted: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for index in range(size):
        wanted.setdefault((here.owner(index), there.owner(index)), []).append((here.local(index), there.local(index)))
    for part in range(here.parts):
        for other in range(there.parts):
            sets = common(here, part, there, other)
            assert sorted(each.places(t) for each in sets for t in range(each.count)) == wanted.get((part, other), [])
            for each in sets:
                steps = [jump.step for jump in each.jumps]
                assert all(b % a == 0 for a, b in itertools.pairwise(steps))
                cut = [piece.places(t) for piece in each.pieces() for t in range(piece.count)]
                assert cut == [each.places(t) for t in range(each.count)]
                assert sum(1 for _ in each.pieces()) == each.tops
                middle = each.count // 2
                if 0 < middle < each.count:
                    halves = each.part(0, middle), each.part(middle, each.count)
                    assert [half.places(t) for half in halves for t in range(half.count)] == cut


@given(seed=st.integers(0, 2**32), ranks=st.sampled_from([1, 2, 3, 4, 6, 8]))
@counted(150, 1000)
def test_distributions_follow_their_definition(report: Report, seed: int, ranks: int) -> None:
    report(CASES, 1)
    for instance in random_ends(random.Random(seed), ranks, largest=14):
        held: dict[int, int] = {}
        for point, (rank, local) in naive_owners(instance).items():
            at = dict(zip(instance.space, point, strict=True))
            here = dict(zip(instance.space, local, strict=True))
            assert instance.owner(at) == (rank, here)
            assert instance.index(rank, here) == at
            assert all(instance.coordinates(rank)[dim][here[dim]] == at[dim] for dim in instance.space)
            held[rank] = held.get(rank, 0) + 1
        for rank in range(ranks):
            part = instance.part(rank)
            assert (0 if part is None else part.space.volume) == held.get(rank, 0)


@given(seed=st.integers(0, 2**32), ranks=st.sampled_from([1, 2, 3, 4, 6, 8]))
@counted(150, 600)
def test_every_entry_arrives_once(report: Report, seed: int, ranks: int) -> None:
    report(CASES, 1)
    source, destination = random_ends(random.Random(seed), ranks, largest=24)
    content, wanted = naive_content(source), naive_content(destination)
    found = {rank: np.zeros_like(held) for rank, held in wanted.items()}
    written = {rank: np.zeros_like(held) for rank, held in wanted.items()}
    for sender in range(ranks):
        for receiver in range(ranks):
            for transfer in pair_transfers(source, destination, sender, receiver):
                whole = Box.whole(transfer.space)
                middle = tuple(extent // 2 for extent in whole.hi)
                parts = [Box((0,) * len(middle), (middle[0], *whole.hi[1:])), Box((middle[0], *whole.lo[1:]), whole.hi)]
                for box in parts if middle[0] and seed % 2 else [whole]:  # parts of a transfer move the same
                    part = transfer.part(box)
                    views = part.source_view(), part.destination_view()
                    copies = strided_copies(*views, Box.whole(part.space), part.field_names)
                    carry_out(copies, content[sender], found[receiver], written[receiver])
    for rank, held in wanted.items():
        assert np.array_equal(found[rank], held)
        part = destination.part(rank)
        assert part is not None
        assert written[rank].max() == 1
        assert int(written[rank].sum()) == part.space.volume * destination.fields.nbytes


@given(seed=st.integers(0, 2**32), ranks=st.sampled_from([2, 4]))
@counted(10, 100)
def test_plans_move_the_same(report: Report, seed: int, ranks: int) -> None:
    """Chunk by chunk and hop by hop through the planned buffers, on a machine of ranks and on a cluster."""
    report(CASES, 1)
    rng = random.Random(seed)
    source, destination = random_ends(rng, ranks, largest=24)
    machine = rng.choice([machines.preset("ranks", ranks=ranks, measure="assumed"), machines.preset("sapling", nodes=ranks)])
    content, wanted = naive_content(source), naive_content(destination)
    found = {rank: np.zeros_like(held) for rank, held in wanted.items()}
    written = {rank: np.zeros_like(held) for rank, held in wanted.items()}
    plan = plan_redistribution(source, destination, machine)
    for each in plan.sendings:
        path = each.plan.only
        assert path.memories[0].startswith(f"node{each.sender}.")
        assert path.memories[-1].startswith(f"node{each.receiver}.")
        assert all(machine.channel(hop.channel).destination == hop.destination for hop in path.hops)
        for chunk in path.numbers:
            at = content[each.sender]
            for hop in range(len(path.hops)):
                last = hop == len(path.hops) - 1
                to = found[each.receiver] if last else np.zeros(path.buffers[hop].nbytes, np.uint8)
                carry_out(path.copies(hop, chunk), at, to, written[each.receiver] if last else np.zeros_like(to))
                at = to
    assert all(np.array_equal(found[rank], held) for rank, held in wanted.items())
    assert all(held.max() == 1 for held in written.values())
    assert plan.bytes == sum(plan.matrix.values()) <= sum(int(held.sum()) for held in written.values())  # padding may move, too


def test_common_distributions_need_one_transfer_for_each_pair() -> None:
    """Also for sizes that do not divide: the sets are regular, and one transfer carries each."""
    for size in (4096, 4099):
        block, cyclic, dealt = Axis(size, 4, -(-size // 4)), Axis(size, 4, 1), Axis(size, 4, 32)
        finer, across = Axis(size, 8, 8), Axis(size, 3, 1)
        for here, there in ((block, cyclic), (cyclic, block), (block, dealt), (dealt, finer), (cyclic, across), (finer, dealt)):
            for part in range(here.parts):
                for other in range(there.parts):
                    assert len(common(here, part, there, other)) <= 1, (here, there, part, other)


def test_regular_sets_of_a_blocked_layout_stay_whole() -> None:
    """Where the digits of layout and distribution nest, a block-cyclic pair is one transfer also between blocked layouts."""
    space, fields = IndexSpace(x=64, y=1024), FieldSpace(a="float32", b="float64")
    source = DistributedInstance(space, fields, Distribution({"y": 4}), Layout("<F, y_in=8, x, y_out>"), "sys")
    destination = DistributedInstance(space, fields, Distribution({"y": 4}, {"y": 16}), Layout("<x, F, y_in=4, y_out>"), "reg")
    for sender in range(4):
        for receiver in range(4):
            (transfer,) = pair_transfers(source, destination, sender, receiver)
            assert isinstance(transfer, RegularTransfer)
