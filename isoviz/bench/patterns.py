"""Scattered data of known programs as transfers: faces of grids, lists of entries, structs of arrays, caches of language models.

- `DDTBench`: the access patterns of applications that DDTBench collects (Schneider, Gerstenberger, Hoefler, EuroMPI 2012), with
  its sizes. The lists of LAMMPS and SPECFEM3D are the first entries of a random permutation, as there.
- `UMR`: the sizes of Suresh et al., Network Assisted Non-Contiguous Transfers for GPU-Aware MPI Libraries: figures 8 and 10
  (vectors), 9 (stencil) and 11 (applications).
- `KV cache`: pages of keys and values by list. NHD has the tokens of a page before its heads, HND the heads before the tokens.

Arrays have x fastest: `<F, x, y>`. Both ends of a face are arrays of the same sizes, and the face moves into the halo, as the
application does it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.errors import InputError, show
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.planner import Instance, Transfer, bundle

if TYPE_CHECKING:
    from numpy.typing import NDArray

Ends = tuple[str, str]
"""The memories of source and destination."""
Make = Callable[[Ends], list[Transfer]]


class Pattern(NamedTuple):
    """One access pattern: its family, its name with the sizes, and how it becomes transfers between two memories.

    Most patterns are one transfer. A struct of arrays is several ones, which `transfer` makes a bundle.
    """

    family: str
    name: str
    make: Make

    def transfers(self, source: str = "node0.sys", destination: str = "node1.sys") -> list[Transfer]:
        """The transfers of the pattern from one memory to another, one for each array."""
        return self.make((source, destination))

    def transfer(self, source: str = "node0.sys", destination: str = "node1.sys") -> Transfer:
        """The pattern as one transfer: a bundle where it is made of several arrays."""
        return bundle(self.transfers(source, destination))


def patterns(family: str | None = None) -> dict[str, Pattern]:
    """All patterns by name, or those of a family: `DDTBench`, `UMR` or `KV cache`.

    Raises:
        InputError: there is no such family.
    """
    found = [each for make in (_ddtbench, _umr, _kv_caches) for each in make()]
    if family is not None and family not in (families := sorted({each.family for each in found})):
        raise InputError(f"patterns: family {show(family)}; expected one of {', '.join(families)}")
    return {each.name: each for each in found if family in (None, each.family)}


def pattern(name: str) -> Pattern:
    """The pattern with a name, such as `MILC_su3_zd 16×16×16×16`.

    Raises:
        InputError: there is no such pattern.
    """
    known = patterns()
    if name not in known:
        near = [each for each in known if each.split()[0] == name.split()[0]] if name.strip() else []
        raise InputError(f"pattern {show(name)}: expected one of {', '.join(near or known)}")
    return known[name]


def face(
    ends: Ends,
    dtype: str,
    space: Mapping[str, int],
    shape: Mapping[str, int],
    at: Mapping[str, int],
    to: Mapping[str, int] | None = None,
    into: Mapping[str, int] | None = None,
    layouts: tuple[str, str] | None = None,
) -> list[Transfer]:
    """A box of an array. `shape`, `at` and `to` (default: `at`) name the dimensions that are not whole or do not begin at 0.

    `into` are the sizes of the destination, where they differ. `layouts` are those of both ends (default: the first dimension is
    the fastest at both).
    """
    here, there = IndexSpace.of(dict(space)), IndexSpace.of(dict(into or space))
    to = at if to is None else to
    order = f"<F, {', '.join(space)}>"
    source, destination = layouts or (order, order)
    fields = FieldSpace.of({"v": dtype})
    return [
        Transfer(
            Instance(ends[0], here, fields, source),  # type: ignore[arg-type]  # a layout as text
            Instance(ends[1], there, fields, destination),  # type: ignore[arg-type]
            tuple(shape.get(dim, size) for dim, size in space.items()),
            tuple(at.get(dim, 0) for dim in here),
            tuple(to.get(dim, 0) for dim in there),
        )
    ]


def vector(ends: Ends, count: int, block: int, stride: int) -> list[Transfer]:
    """`count` blocks of `block` bytes, `stride` bytes apart at both ends (`MPI_Type_vector`)."""
    return face(ends, "u1", {"b": stride, "n": count}, {"b": block}, {})


def listed(ends: Ends, dtype: str, size: int, each: int, entries: NDArray[np.int64], to: NDArray[np.int64]) -> list[Transfer]:
    """Entries of an array of `size` groups of `each` elements, named by lists at both ends (`MPI_Type_indexed_block`)."""
    return by_list(ends, dtype, {"c": each, "n": size} if each > 1 else {"n": size}, "n", entries, to)


def by_list(
    ends: Ends,
    dtype: str,
    space: Mapping[str, int],
    dim: str,
    entries: NDArray[np.int64],
    to: NDArray[np.int64],
    layouts: tuple[str, str] | None = None,
    into: Mapping[str, int] | None = None,
) -> list[Transfer]:
    """The slabs of one dimension that lists name at both ends."""
    order = f"<F, {', '.join(space)}>"
    fields = FieldSpace.of({"v": dtype})
    here, there = layouts or (order, order)
    return [
        Transfer.listed(
            Instance(ends[0], IndexSpace.of(dict(space)), fields, here),  # type: ignore[arg-type]
            Instance(ends[1], IndexSpace.of(dict(into or space)), fields, there),  # type: ignore[arg-type]
            entries={dim: entries},
            to={dim: to},
        )
    ]


def sample(count: int, of: int, seed: int = 0) -> NDArray[np.int64]:
    """The first `count` of a random permutation of `of` numbers."""
    return np.random.default_rng(seed).permutation(of)[:count].astype(np.int64)


# DDTBench


def _milc(ends: Ends, x: int, y: int, z: int, t: int) -> list[Transfer]:
    """Vectors of 6 floats on the sites of a lattice, the even sites before the odd ones."""
    space = {"c": 6, "s": x * y // 2, "z": z, "t": t, "parity": 2}
    return face(ends, "f4", space, {"z": 1}, {"z": z - 1}, {"z": 0})


def _nas_lu(ends: Ends, axis: str, x: int, y: int) -> list[Transfer]:
    space = {"c": 5, "x": x + 2, "y": y + 2}
    if axis == "x":
        return face(ends, "f8", space, {"x": x, "y": 1}, {"x": 1, "y": y}, {"x": 1})
    return face(ends, "f8", space, {"x": 1, "y": y}, {"x": x, "y": 1}, {"y": 1})


def _nas_mg(ends: Ends, axis: str, x: int, y: int, z: int) -> list[Transfer]:
    space = {"x": x, "y": y, "z": z}
    shape = {dim: 1 if dim == axis else size - 2 for dim, size in space.items()}
    one = dict.fromkeys(space, 1)
    if axis == "z":
        return face(ends, "f8", space, shape, one, {**one, axis: 0})
    return face(ends, "f8", space, shape, {**one, axis: space[axis] - 2}, {**one, axis: space[axis] - 1})


def _lammps(ends: Ends, arrays: Mapping[str, int], count: int, size: int) -> list[Transfer]:
    """Atoms that leave: each array's entries of one list, to the places behind all atoms."""
    entries, behind = sample(count, size), np.arange(size, size + count, dtype=np.int64)
    return [made for each in arrays.values() for made in listed(ends, "f8", size + count, each, entries, behind)]


def _specfem_oc(ends: Ends, count: int, size: int) -> list[Transfer]:
    entries = sample(count, size)
    return listed(ends, "f4", size, 1, entries, entries)


def _specfem_cm(ends: Ends, counts: tuple[int, int], sizes: tuple[int, int]) -> list[Transfer]:
    """The points of the crust with the mantle and of the inner core, which both neighbours have."""
    lists = [sample(count, size, seed) for seed, (count, size) in enumerate(zip(counts, sizes, strict=True))]
    return [made for size, each in zip(sizes, lists, strict=True) for made in listed(ends, "f4", size, 3, each, each)]


def _specfem_mt(ends: Ends, block: int, gap: int, count: int) -> list[Transfer]:
    space = {"c": block, "s": gap, "n": count}
    return face(ends, "f4", space, {"s": 1}, {}, into={**space, "s": 1})


def _fft(ends: Ends, size: int, ranks: int) -> list[Transfer]:
    """What rank 0 sends rank 1 of a matrix that is transposed within the exchange: each has some of its columns."""
    width = size // ranks
    source, into = {"x": size, "y": width}, {"x": width, "y": size}
    return face(ends, "c16", source, {"x": width}, {"x": width}, {}, into, ("<F, x, y>", "<F, y, x>"))


def _wrf(ends: Ends, i: tuple[int, ...], j: tuple[int, ...], levels: int = 65) -> list[Transfer]:
    """Four horizontal arrays, three with levels, and two with a species: `i` and `j` are the first and the last index of the
    array and of the halo."""
    sizes, shape, at = {"x": i[1] - i[0] + 1}, {"x": i[3] - i[2] + 1}, {"x": i[2] - i[0]}
    sizes_y, shape_y, at_y = j[1] - j[0] + 1, j[3] - j[2] + 1, j[2] - j[0]
    flat = {**sizes, "y": sizes_y}
    high = {**sizes, "z": levels, "y": sizes_y}
    part, begin = {**shape, "y": shape_y}, {**at, "y": at_y}
    return [
        *(made for _ in range(4) for made in face(ends, "f4", flat, part, begin)),
        *(made for _ in range(3) for made in face(ends, "f4", high, part, begin)),
        *(made for _ in range(2) for made in face(ends, "f4", {**high, "s": 2}, {**part, "s": 1}, {**begin, "s": 1})),
    ]


_ATOMIC = {"x": 3, "tag": 1, "type": 1, "mask": 1}
_FULL = {**_ATOMIC, "q": 1, "molecule": 1}
_WRF_Y = (
    ((-4, 27, 1, 23), (34, 85, 41, 43)),
    ((8, 34, 12, 30), (21, 61, 28, 30)),
    ((4, 27, 8, 23), (14, 47, 21, 23)),
    ((10, 31, 14, 27), (10, 39, 17, 19)),
    ((4, 22, 8, 18), (4, 27, 11, 13)),
)
_WRF_X = (((-4, 27, 18, 20), (34, 85, 38, 81)), ((4, 27, 18, 20), (14, 47, 18, 43)), ((4, 22, 13, 15), (4, 27, 8, 23)))


Grid = tuple[int, ...]
_CUBES = (34, 18, 18), (130, 66, 66), (258, 130, 130), (514, 258, 258)
_SQUARES = 12, 33, 64, 102, 162, 408, 1020
_Cases = Sequence[tuple[Grid, tuple[Any, ...]]]
_CASES: tuple[tuple[str, Callable[..., list[Transfer]], _Cases], ...] = (
    ("MILC_su3_zd", _milc, [(n, n) for n in ((16, 16, 16, 16), (8, 16, 16, 16), (8, 8, 8, 16), (8, 8, 8, 8))]),
    *[(f"NAS_LU_{axis}", _nas_lu, [((n, n), (axis, n, n)) for n in _SQUARES]) for axis in "xy"],
    *[(f"NAS_MG_{axis}", _nas_mg, [(n, (axis, *n)) for n in _CUBES]) for axis in "xyz"],
    ("SPECFEM3D_mt", _specfem_mt, [((3, 2, n), (3, 2, n)) for n in (7600, 6400, 5600, 6200)]),
    ("SPECFEM3D_oc", _specfem_oc, [(n, n) for n in ((3225, 88881), (1897, 38585), (877, 12857), (493, 3697))]),
    (
        "SPECFEM3D_cm",
        _specfem_cm,
        [
            (n, (n, of))
            for n, of in (
                ((11797, 3009), (834917, 51153)),
                ((7125, 1729), (396849, 22477)),
                ((3801, 801), (152001, 7209)),
                ((1957, 245), (39929, 1225)),
            )
        ],
    ),
    ("LAMMPS_full", _lammps, [(n, (_FULL, *n)) for n in ((3062, 3534), (2243, 2597), (1662, 1907))]),
    ("LAMMPS_atomic", _lammps, [(n, (_ATOMIC, *n)) for n in ((243, 4084), (145, 2157), (114, 1217))]),
    ("FFT2", _fft, [((n, ranks), (n, ranks)) for n in (256, 512, 768, 1024, 1536) for ranks in (2, 4)]),
    *[
        (f"WRF_{axis}", _wrf, [((i[3] - i[2] + 1, j[3] - j[2] + 1, i[1] - i[0] + 1), (i, j)) for i, j in boxes])
        for axis, boxes in (("y", _WRF_Y), ("x", _WRF_X))
    ],
)
"""Name, how it is made, and for each size: the numbers in its name, and the arguments."""


def _ddtbench() -> Iterator[Pattern]:
    for name, make, cases in _CASES:
        for sizes, args in cases:
            yield _named("DDTBench", f"{name} {'×'.join(map(str, sizes))}", make, *args)


def _named(family: str, name: str, make: Callable[..., list[Transfer]], *args: Any, **options: Any) -> Pattern:
    return Pattern(family, name, lambda ends: make(ends, *args, **options))


# Paper 002


def _umr() -> Iterator[Pattern]:
    named = partial(_named, "UMR")
    for letter, milc in zip("ABCD", ((8, 8, 16, 32), (8, 16, 16, 32), (16, 16, 32, 32), (16, 32, 32, 32)), strict=True):
        yield named(f"MILC {letter}", _milc, *milc)
    for letter, grid in zip("ABC", ((512, 66, 66), (1024, 66, 66), (2048, 66, 120)), strict=True):
        yield named(f"NAS_MG_y {letter}", _nas_mg, "y", *grid)
    for letter, count in zip("ABC", (32, 64, 128), strict=True):
        yield named(f"SPECFEM3D_mt {letter}", _specfem_mt, 1024, 2, count)
    for block in (1024, 2048, 4096):
        for count in (16, 32, 64, 128):
            yield named(f"vector {count} × {block} B", vector, count, block, 2 * block)
    cube = {"x": 128, "y": 128, "z": 128}
    for axis in cube:
        yield named(f"stencil 128³, face {axis}", face, "f8", cube, {axis: 1}, {axis: 127}, {axis: 0})


# Caches of language models

HEAD, HEADS, TOKENS, LAYERS = 128, 8, 16, 32
"""A cache of pages of 16 tokens: 8 heads of 128 values in half precision, keys and values, 32 layers."""
PAGE = {"NHD": "d, h, t", "HND": "d, t, h"}
PLACES = {"by layer": "p, kv, l", "by page": "kv, l, p"}
"""An array of pages for each layer, keys before values; or all that belongs to a page together, as caches in main memory have
it."""


def kv_cache(
    ends: Ends,
    *,
    layers: int = 1,
    pages: int = 64,
    of: int = 256,
    order: tuple[str, str] = ("NHD", "NHD"),
    places: tuple[str, str] = ("by layer", "by layer"),
    heads: int = HEADS,
    in_order: bool = False,
    seed: int = 1,
) -> list[Transfer]:
    """Some pages of a paged cache, each named by its number at both ends.

    `order` says what comes first within a page at each end, tokens (NHD) or heads (HND); `places` how pages and layers lie.
    `in_order`: the pages are contiguous in the destination, which holds only them.
    """
    space = {"d": HEAD, "h": heads, "t": TOKENS, "p": of, "kv": 2, "l": layers}
    layouts = tuple(f"<F, {PAGE[inside]}, {PLACES[lie]}>" for inside, lie in zip(order, places, strict=True))
    to = np.arange(pages, dtype=np.int64) if in_order else sample(pages, of, seed + 1)
    into = {**space, "p": pages} if in_order else None
    return by_list(ends, "f2", space, "p", sample(pages, of, seed), to, (layouts[0], layouts[1]), into)


def _kv_caches() -> Iterator[Pattern]:
    named, few = partial(_named, "KV cache"), {"layers": LAYERS, "pages": 16, "of": 64}
    for words, some in (("one layer", {}), ("all layers", few)):
        for turn in (("NHD", "NHD"), ("NHD", "HND"), ("HND", "NHD")):
            yield named(f"KV {words} {' → '.join(turn)}", kv_cache, order=turn, **some)
    yield Pattern("KV cache", "KV all layers, an array each", lambda ends: kv_cache(ends) * LAYERS)
    for places in (("by layer", "by page"), ("by page", "by layer")):
        in_order = places[1] == "by page"
        yield named(f"KV all layers {' → '.join(places)}", kv_cache, places=places, in_order=in_order, **few)
