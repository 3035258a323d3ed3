"""Scattered data of known programs as transfers: faces of grids, vectors, structs of arrays.

- `DDTBench`: the access patterns of applications that DDTBench collects (Schneider, Gerstenberger, Hoefler, EuroMPI 2012), with
  its sizes.
- `UMR`: the sizes of paper 002, "UMR: user-mode memory registration": figures 8 and 10 (vectors), 9 (stencil), 11 (applications).

Arrays have x fastest: `<F, x, y>`. Both ends of a face are arrays of the same sizes, and the face moves into the halo, as the
application does it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from isoviz.errors import InputError, show
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.planner import Instance, Transfer

Ends = tuple[str, str]
"""The memories of source and destination."""
Make = Callable[[Ends], list[Transfer]]


class Pattern(NamedTuple):
    """One access pattern: its family, its name with the sizes, and how it becomes transfers between two memories.

    Most patterns are one transfer. A struct of arrays is several ones, which belong together.
    """

    family: str
    name: str
    make: Make

    def transfers(self, source: str = "node0.sys", destination: str = "node1.sys") -> list[Transfer]:
        """The transfers of the pattern from one memory to another."""
        return self.make((source, destination))


def patterns(family: str | None = None) -> dict[str, Pattern]:
    """All patterns by name, or those of a family: `DDTBench` or `UMR`.

    Raises:
        InputError: there is no such family.
    """
    found = [each for make in (_ddtbench, _umr) for each in make()]
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


_WRF_Y = (
    ((-4, 27, 1, 23), (34, 85, 41, 43)),
    ((8, 34, 12, 30), (21, 61, 28, 30)),
    ((4, 27, 8, 23), (14, 47, 21, 23)),
    ((10, 31, 14, 27), (10, 39, 17, 19)),
    ((4, 22, 8, 18), (4, 27, 11, 13)),
)
_WRF_X = (((-4, 27, 18, 20), (34, 85, 38, 81)), ((4, 27, 18, 20), (14, 47, 18, 43)), ((4, 22, 13, 15), (4, 27, 8, 23)))


def _ddtbench() -> Iterator[Pattern]:
    def named(name: str, sizes: tuple[int, ...], make: Callable[..., list[Transfer]], *args: Any) -> Pattern:
        return Pattern("DDTBench", f"{name} {'×'.join(map(str, sizes))}", lambda ends: make(ends, *args))

    for milc in ((16, 16, 16, 16), (8, 16, 16, 16), (8, 8, 8, 16), (8, 8, 8, 8)):
        yield named("MILC_su3_zd", milc, _milc, *milc)
    for size in (12, 33, 64, 102, 162, 408, 1020):
        for axis in "xy":
            yield named(f"NAS_LU_{axis}", (size, size), _nas_lu, axis, size, size)
    for grid in ((34, 18, 18), (130, 66, 66), (258, 130, 130), (514, 258, 258)):
        for axis in "xyz":
            yield named(f"NAS_MG_{axis}", grid, _nas_mg, axis, *grid)
    for count in (7600, 6400, 5600, 6200):
        yield named("SPECFEM3D_mt", (3, 2, count), _specfem_mt, 3, 2, count)
    for size in (256, 512, 768, 1024, 1536):
        for ranks in (2, 4):
            yield named("FFT2", (size, ranks), _fft, size, ranks)
    for axis, boxes in (("y", _WRF_Y), ("x", _WRF_X)):
        for i, j in boxes:
            shape = (i[3] - i[2] + 1, j[3] - j[2] + 1)
            yield named(f"WRF_{axis}", (*shape, i[1] - i[0] + 1), _wrf, i, j)


# Paper 002


def _umr() -> Iterator[Pattern]:
    def named(name: str, make: Callable[..., list[Transfer]], *args: Any) -> Pattern:
        return Pattern("UMR", name, lambda ends: make(ends, *args))

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
