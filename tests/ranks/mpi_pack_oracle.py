"""Run by `test_mpi_pack.py` under mpiexec: MPI packs a derived datatype built from two layouts; isoviz converts; both must agree.

A datatype lists bytes in an order. Built as vectors (or lists
of places, where the source breaks the digit) inside each other, one for every digit of the destination from the fastest to
the slowest, each with the places of that digit in the source, packing it writes the destination's order.
"""

from __future__ import annotations

import itertools
import json
import random
import sys

import numpy as np
from mpi4py import MPI

from isoviz import FieldSpace, IndexSpace, Layout
from isoviz.backends.host.copying import copy_strided
from isoviz.layouts import Box, Linearization, View, strided_copies
from isoviz.layouts.modes import Mode


def random_case(rng: random.Random) -> tuple[IndexSpace, FieldSpace, Layout, Layout]:
    """Fields of one size; blocks that nest (powers of two) and divide their dimensions in the destination."""
    space = IndexSpace.of({name: rng.choice((1, 2, 3)) * 2 ** rng.randint(0, 4) for name in "xyz"[: rng.randint(1, 3)]})
    dtype = rng.choice(("u1", "i2", "f4", "f8", "c16", "V12"))
    fields = FieldSpace.of({f"f{i}": dtype for i in range(rng.randint(1, 4))})
    return space, fields, layout(rng, space, ragged=True), layout(rng, space, ragged=False)


def layout(rng: random.Random, space: IndexSpace, ragged: bool) -> Layout:
    parts = ["F"]
    for dim, size in space.as_dict().items():
        blocks = [2**k for k in range(1, 5) if 2**k <= size and (ragged or size % 2**k == 0)]
        if len(blocks) > 1 and rng.random() < 0.3:
            low, high = sorted(rng.sample(blocks, 2))
            parts += [f"{dim}_0={low}", f"{dim}_1={high // low}", f"{dim}_2"]
        elif blocks and rng.random() < 0.6:
            parts += [f"{dim}_in={rng.choice(blocks)}", f"{dim}_out"]
        else:
            parts.append(dim)
    rng.shuffle(parts)
    return Layout(f"<{', '.join(parts)}>")


def datatype(source: Linearization, destination: Linearization) -> MPI.Datatype:
    """The source's bytes in the destination's order."""
    names = source.fields.names
    size = source.fields.sizes[0]
    found = MPI.BYTE.Create_contiguous(size)
    made = [found]
    for part in destination.parts:
        if not isinstance(part, Mode):
            step = source.offset((0,) * len(source.space), names[1]) if len(names) > 1 else 0
            found = found.Create_hvector(len(names), 1, step)
            made.append(found)
            continue
        # Blocks nest, so what a digit adds to the offset does not depend on the digits below it.
        places = [index_of(part.dim, k * part.step, source) for k in range(part.extent)]
        offsets = [source.offset(index, names[0]) for index in places]
        if len({high - low for low, high in itertools.pairwise(offsets)}) == 1:
            found = found.Create_hvector(part.extent, 1, offsets[1])
        else:
            found = found.Create_hindexed_block(1, offsets)
        made.append(found)
    found = found.Create_resized(0, source.nbytes)  # one of them is what the source holds
    for unused in made:
        unused.Free()
    return found.Commit()


def index_of(dim: str, coordinate: int, lin: Linearization) -> tuple[int, ...]:
    return tuple(coordinate if name == dim else 0 for name in lin.space)


def main() -> None:
    cases, comm = int(sys.argv[1]), MPI.COMM_WORLD
    rng = random.Random(1000 + comm.rank)
    agreed = 0
    for _ in range(cases):
        space, fields, here, there = random_case(rng)
        source, destination = here.on(space, fields), there.on(space, fields)
        data = np.frombuffer(rng.randbytes(source.nbytes), "u1").copy()
        ours = np.zeros(destination.nbytes, "u1")
        for copy in strided_copies(View(source), View(destination), Box.whole(space)):
            copy_strided(copy, data, ours)
        kind = datatype(source, destination)
        assert kind.Get_size() == destination.nbytes
        theirs = np.zeros(kind.Pack_size(1, comm), "u1")
        end = kind.Pack(data, theirs, 0, comm)
        kind.Free()
        assert end == destination.nbytes
        assert ours.tobytes() == theirs[:end].tobytes(), (str(source), str(destination))
        agreed += 1
    total = comm.gather(agreed, root=0)
    if comm.rank == 0:
        print(json.dumps({"ranks": comm.size, "agreed": sum(total or [])}))


main()
