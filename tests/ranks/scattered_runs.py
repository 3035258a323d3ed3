"""A rank of a job that moves scattered data: `scattered_runs.py WAY SEED CASES FOLDER`; `main` has the ways.

MPI's own Pack and Unpack say what is right: a datatype lists the places of all entries at each end, one by one.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from ddtbench_types import Maker, Types, types_of
from given.rank_program import begin, tell
from rank_runs import layout_of, machine_of

from isoviz import FieldSpace, IndexSpace, Instance, Layout, Machine, Options, Plan, Transfer, bundle, cost, plan, preset, rest
from isoviz.backends.host import kernels
from isoviz.backends.mpi.world import World
from isoviz.bench.patterns import patterns
from isoviz.errors import IsovizError, RankError
from isoviz.layouts import Linearization
from isoviz.runtime.ranks.rank_engine import RankEngine

TYPES = ("u1", "<f4", ">f8", "i2", "S3", "c16", "V12", "V100", "V700")
MOST_CHUNKS = 400
MANY = 50
"""Cases from which on the compiled kernels are waited for: with few of them, NumPy moves the bytes."""
LARGE = 8 << 20
"""Bytes of an array."""
Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class Scattered:
    """A transfer, and the entry of the source that each entry of the destination gets, by their own coordinates."""

    def __init__(self, transfer: Transfer, pairs: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> None:
        self.transfer, self.pairs = transfer, pairs

    def expected(self, mpi: Any, source: Bytes) -> Bytes:
        """The destination, by MPI."""
        transfer = self.transfer
        ends = transfer.source.linearization, transfer.destination.linearization
        kinds = []
        for end, lin in enumerate(ends):
            parts = []
            for name in transfer.field_names:
                size = lin.fields.sizes[lin.fields.index(name)]
                places = [lin.offset(pair[end], name) for pair in self.pairs]
                parts.append(mpi.BYTE.Create_hindexed_block(size, places))
            kinds.append(mpi.Datatype.Create_struct([1] * len(parts), [0] * len(parts), parts))
            for part in parts:
                part.Free()
        found = through_mpi(mpi, kinds[0], kinds[1], source, ends[1].nbytes)
        for kind in kinds:
            kind.Free()
        return found


def through_mpi(mpi: Any, here: Any, there: Any, source: Bytes, nbytes: int) -> Bytes:
    """What MPI packs from a source, and unpacks into zeros. The array is one of its datatype."""
    comm = mpi.COMM_SELF
    one = [kind.Create_resized(0, size).Commit() for kind, size in ((here, source.nbytes), (there, nbytes))]
    room, found = np.zeros(one[0].Pack_size(1, comm), np.uint8), np.zeros(nbytes, np.uint8)
    end = one[0].Pack(source, room, 0, comm)
    one[1].Unpack(room[:end], 0, found, comm)
    for kind in one:
        kind.Free()
    return found


def coordinates(space: IndexSpace, lists: dict[str, Any], origin: dict[str, int], shape: dict[str, int]) -> list[tuple[int, ...]]:
    """The coordinates of one end in the order of the moved box, the last of the dimensions the fastest.

    A dimension has a list, or the range from its origin on.
    """
    every = [
        [int(i) for i in lists[dim]] if dim in lists else range(origin[dim], origin[dim] + shape[dim]) for dim in sorted(space)
    ]
    at = [sorted(space).index(dim) for dim in space]
    return [tuple(index[k] for k in at) for index in itertools.product(*every)]


def random_case(rng: random.Random, ends: tuple[str, str], kind: str) -> Scattered:
    """A list along one dimension, at one end or at both; or a box of each end."""
    dims = "xyz"[: rng.randint(1, 3)]
    largest = rng.choice((6, 12)) if len(dims) == 3 else rng.choice((10, 40)) if len(dims) == 2 else rng.choice((30, 600))
    shape = {dim: rng.randint(1, largest) for dim in dims}
    fields = FieldSpace.of({f"f{i}": rng.choice(TYPES) for i in range(rng.randint(1, 3))})
    spaces, origins = [], []
    for _ in ends:
        room = {dim: count + rng.choice((0, 0, 1, 5)) for dim, count in shape.items()}
        origins.append({dim: rng.randint(0, room[dim] - shape[dim]) for dim in dims})
        spaces.append(rng.sample(list(room.items()), len(room)))
    listed = rng.choice(dims) if kind == "list" else ""
    lists: list[dict[str, Any]] = [{}, {}]
    whole = [False, False]
    if listed:
        which = rng.choice((0, 1, 2))
        for end in (0, 1):
            size = shape[listed] * rng.choice((1, 2, 4))
            if end == which:  # this end is in order and whole
                size = shape[listed]
                lists[end][listed] = np.arange(size)
                whole[end] = rng.random() < 0.7
            elif end == 0 and rng.random() < 0.3:  # entries may come twice
                lists[end][listed] = np.array([rng.randrange(size) for _ in range(shape[listed])])
            else:
                lists[end][listed] = some_of(rng, shape[listed], size)
            spaces[end] = [(dim, size if dim == listed else shape[dim]) for dim, _ in spaces[end]]
            origins[end] = dict.fromkeys(dims, 0)
    instances = []
    for memory, sizes in zip(ends, spaces, strict=True):
        space = IndexSpace.of(dict(sizes))
        instances.append(Instance(memory, space, fields, layout_of(rng, space)))
    if listed:
        here, there = (rest if whole[end] else lists[end] for end in (0, 1))
        made = Transfer.listed(*instances, entries=here, to=there)
    else:
        here, there = instances
        made = Transfer(
            here,
            there,
            tuple(shape[dim] for dim in here.space),
            tuple(origins[0][dim] for dim in here.space),
            tuple(origins[1][dim] for dim in there.space),
        )
    found = [coordinates(end.space, lists[k], origins[k], shape) for k, end in enumerate(instances)]
    return Scattered(made, list(zip(*found, strict=True)))


def some_of(rng: random.Random, count: int, size: int) -> Any:
    """Distinct numbers: in any order, in increasing order, or in short stretches."""
    if rng.random() < 0.3:
        step = max(1, min(count, rng.randint(1, 8)))
        begins = rng.sample(range(-(-size // step)), -(-size // step))
        found = [at for begin in begins for at in range(begin * step, min(size, begin * step + step))][:count]
        return np.array(found)
    found = rng.sample(range(size), count)
    return np.array(sorted(found) if rng.random() < 0.3 else found)


def way_of(rng: random.Random, transfer: Transfer, machine: Machine) -> Plan:
    """The planner's plan, or a path by hand: over one channel, or through other memories."""
    options = Options(slot_limit=rng.choice((4096, 1 << 16, 1 << 22)), slots=rng.choice((1, 2, 3)), planning_time=0.05)
    for _ in range(8):
        try:
            if rng.random() < 0.3:
                found = plan(transfer, machine, rng.choice(("full", "simple")), options)
            else:
                found = cost(transfer, machine, path_of(rng, transfer, machine), options=options)
        except IsovizError:  # no such path, or a memory is too small for it
            continue
        if found.chunk_count <= MOST_CHUNKS:
            return found
    return plan(transfer, machine, "simple")


def path_of(rng: random.Random, transfer: Transfer, machine: Machine) -> list[str]:
    here, there = transfer.source.memory, transfer.destination.memory
    if rng.random() < 0.6 and (joining := machine.between(here, there)):
        return [rng.choice(joining).name]
    hosts = [memory.name for memory in machine.memories if not memory.is_file_system and memory.name not in (here, there)]
    return [here, *rng.sample(hosts, rng.randint(1, 2)), there]


class Ends:
    """The arrays of a transfer on this rank, one for each member of a bundle. The sources are known on all ranks."""

    def __init__(self, world: World, engine: RankEngine, transfer: Transfer, seed: int) -> None:
        self.members, self.seed, self.turn = getattr(transfer, "members", (transfer,)), seed, 0
        sends, receives = (engine.node_of(end.memory) == world.rank for end in (transfer.source, transfer.destination))
        self.sources = [array(world, each.source) for each in self.members] if sends else []
        self.rooms = [array(world, each.destination) for each in self.members] if receives else []

    @property
    def given(self) -> tuple[Any, Any]:
        """What a run gets: the array of each end here, or a list of them."""
        ends = [found[0] if len(found) == 1 else found or None for found in (self.sources, self.rooms)]
        return ends[0], ends[1]

    def content(self, number: int) -> Bytes:
        some = np.random.default_rng((self.seed, self.turn, number)).integers(0, 256, 1_000_003, np.uint8)
        return np.resize(some, self.members[number].source.linearization.nbytes)

    def next(self) -> None:
        self.turn += 1
        for number, source in enumerate(self.sources):
            source[:] = self.content(number)
        for room in self.rooms:
            room[:] = 0

    def check(self, expected: Any, what: object) -> None:
        for number, room in enumerate(self.rooms):
            differs = expected(number, self.content(number)) != room
            if differs.any():  # of padding nothing is said
                differs &= holds_entries(self.members[number].destination.linearization)
            wrong = np.flatnonzero(differs)
            assert not len(wrong), f"{what}: byte {wrong[0]} of array {number}, of {len(wrong)}"


def holds_entries(lin: Linearization) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """For each byte whether it belongs to an entry, and not to padding."""
    found = np.zeros(lin.nbytes, bool)
    for index in np.ndindex(*lin.space.sizes):
        for name, size in zip(lin.fields.names, lin.fields.sizes, strict=True):
            at = lin.offset(index, name)
            found[at : at + size] = True
    return found


def array(world: World, end: Instance) -> Bytes:
    nbytes = end.linearization.nbytes
    return world.array(nbytes) if end.memory.endswith("reg") else np.zeros(nbytes, np.uint8)


def roomy(rng: random.Random, world: World) -> Machine:
    """A random machine whose memories are as large as needed."""
    machine = machine_of(rng, world.hosts)
    return replace(machine, memories=tuple(replace(memory, capacity=None) for memory in machine.memories))


def moved(world: World, engine: RankEngine, made: Plan, by_mpi: Any, seed: int) -> None:
    """Run it, submit it, and start it twice when it is prepared. What takes long is only prepared and started once."""

    def expected(number: int, source: Bytes) -> Any:
        return world.thread.call(lambda: by_mpi(number, source))

    ends = Ends(world, engine, made.transfer, seed)
    is_large = made.transfer.source.linearization.nbytes > LARGE
    if not is_large:
        report = engine.run(made)
        assert report.verified, made
        ends.next()
        engine.barrier()
        engine.submit(made, *ends.given).wait(120)
        ends.check(expected, made)
    with engine.prepare(made, *ends.given) as prepared:
        for _ in range(1 if is_large else 2):
            engine.barrier()
            ends.next()
            engine.barrier()
            prepared.start().wait(120)
            engine.barrier()
            ends.check(expected, f"prepared {made}")
    engine.barrier()


def random_cases(world: World, seed: str, cases: int) -> dict[str, Any]:
    """Random lists, boxes and bundles between random memories of any two ranks, over all kinds of channels."""
    done, across, kinds = Counter[str](), 0, Counter[str]()
    mpi = world.thread.mpi
    for batch in itertools.count():
        if sum(done.values()) >= cases:
            break
        rng = random.Random(f"{seed} {batch}")
        machine, asked = roomy(rng, world), rng.choice((1 << 14, 1 << 20))
        with RankEngine(machine, world.devices, world.transport, request_bytes=asked) as engine:
            for number in range(10):
                kind = rng.choice(("list", "list", "list", "box", "bundle"))
                here = rng.randrange(world.size)
                there = (here + rng.randrange(1, world.size)) % world.size
                ends = tuple(f"node{rank}.{rng.choice(('sys', 'reg'))}" for rank in (here, there))
                each = ["list", "box"] if kind == "bundle" else [kind]
                members = [random_case(rng, ends, rng.choice(each)) for _ in range(rng.randint(2, 4) if len(each) > 1 else 1)]  # type: ignore[arg-type]
                chosen = random.Random(f"{seed} {batch} {number}")
                own = way_of(chosen, bundle([case.transfer for case in members]), machine) if world.rank == 0 else None
                made = engine.gather(own)[0]
                assert isinstance(made, Plan)

                def expected(member: int, source: Bytes, members: list[Scattered] = members) -> Bytes:
                    return members[member].expected(mpi, source)

                moved(world, engine, made, expected, batch * 10 + number)
                done[kind] += 1
                nodes = {machine.memory(name).node for name in made.every_memory}
                across += len(nodes) > 2
                kinds.update({str(hop.kind) for hop in made.every_hop})
    return {**done, "relayed": across, "kinds": dict(sorted(kinds.items()))}


def ddtbench(world: World, _: str, cases: int) -> dict[str, Any]:
    """All patterns of DDTBench, or every so many of them, in both directions, between both kinds of memory."""
    mpi, make = world.thread.mpi, Maker(world.thread.mpi)
    machine = roomy(random.Random("ddtbench"), world)
    found = list(patterns("DDTBench").values())
    done = arrays = 0
    rng = random.Random("ddtbench")
    with RankEngine(machine, world.devices, world.transport) as engine:
        for each in found if cases >= len(found) else [*_some(found, cases)]:
            kinds, last = (rng.choice(("sys", "reg")), rng.choice(("sys", "reg"))), world.size - 1
            for ends in ((f"node0.{kinds[0]}", f"node{last}.{kinds[1]}"), (f"node{last}.{kinds[1]}", f"node0.{kinds[0]}")):
                transfers = each.transfers(*ends)
                datatypes = types_of(each.name, make)
                assert len(transfers) == len(datatypes), each.name
                sizes = [transfer.destination.linearization.nbytes for transfer in transfers]
                for transfer, (here, there) in zip(transfers, datatypes, strict=True):
                    assert transfer.nbytes == here.Get_size() == there.Get_size(), each.name
                own = plan(bundle(transfers), machine) if world.rank == 0 else None
                made = engine.gather(own)[0]
                assert isinstance(made, Plan)

                def expected(number: int, source: Bytes, datatypes: Types = datatypes, sizes: list[int] = sizes) -> Bytes:
                    return through_mpi(mpi, *datatypes[number], source, sizes[number])

                moved(world, engine, made, expected, done)
                arrays += len(transfers)
                make.free()
            done += 1
    return {"patterns": done, "arrays": arrays}


def there_and_back(world: World, *_: object) -> dict[str, Any]:
    """A bundle through both ranks: that of the destination has a ring as well, and its windows are mapped elsewhere."""
    machine = preset("ranks", ranks=world.size, hosts=world.hosts, measure="assumed")
    mpi, make, each = world.thread.mpi, Maker(world.thread.mpi), patterns("DDTBench")["SPECFEM3D_cm 7125×1729"]
    transfers, datatypes = each.transfers("node1.sys", "node0.reg"), types_of(each.name, make)
    sizes = [transfer.destination.linearization.nbytes for transfer in transfers]
    path, options = ["node1.sys", "node0.reg", "node1.reg", "node0.reg"], Options(slots=2)
    with RankEngine(machine, world.devices, world.transport) as engine:
        own = cost(bundle(transfers), machine, path, chunk=768, options=options) if world.rank == 0 else None
        made = engine.gather(own)[0]
        assert isinstance(made, Plan)
        moved(world, engine, made, lambda number, source: through_mpi(mpi, *datatypes[number], source, sizes[number]), 1)
        make.free()
    return {"hops": [str(hop.kind) for hop in made.every_hop], "chunks": made.chunk_count}


def differing(world: World, *_: object) -> dict[str, str]:
    """Each rank has another list for the same end: nothing moves, and both say so."""
    machine = roomy(random.Random("differing"), world)
    space, fields = IndexSpace(x=1000), FieldSpace(v="f8")
    ends = Instance("node0.reg", space, fields, Layout("<F, x>")), Instance("node1.reg", space, fields, Layout("<F, x>"))
    made = plan(Transfer.listed(*ends, entries=np.arange(500), to=np.arange(500)[:: 1 - 2 * world.rank]), machine, "simple")
    said = {}
    with RankEngine(machine, world.devices, world.transport) as engine:
        ends_ = Ends(world, engine, made.transfer, 1)
        for what, move in (
            ("submitted", lambda: engine.submit(made, *ends_.given).wait(60)),
            ("prepared", lambda: engine.prepare(made, *ends_.given)),
        ):
            try:
                move()
                said[what] = "moved"
            except RankError as error:
                said[what] = str(error)
            engine.barrier()
        assert not any(room.any() for room in ends_.rooms)
        every = engine.gather(said)
    return {f"{what} {rank}": words for rank, found in enumerate(every) for what, words in found.items()}  # type: ignore[attr-defined]


def _some(found: list[Any], cases: int) -> Iterator[Any]:
    """One pattern of each name, the smallest first; as many as are asked for."""
    first = {each.name.split()[0]: each for each in reversed(found)}
    yield from list(first.values())[:cases]


def main() -> None:
    begin()
    way, seed, cases, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
    kernels.prepare(wait=cases > MANY)
    with World(limit=60, directory=folder) as world:
        ways = {"random": random_cases, "ddtbench": ddtbench, "differing": differing, "there and back": there_and_back}
        found = ways[way](world, seed, cases)
        rank = world.rank
    tell(rank, found)


if __name__ == "__main__":
    main()
