"""The access patterns of DDTBench as MPI datatypes, written down from their definitions: an oracle for `isoviz.bench.patterns`.

A pattern is a list of arrays. Each has a datatype for what is sent and one for what is received, with offsets from the first
byte of the array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from isoviz.bench.patterns import sample

Types = list[tuple[Any, Any]]


class Maker:
    """Makes datatypes and frees them."""

    def __init__(self, mpi: Any) -> None:
        self.mpi = mpi
        self._made: list[Any] = []

    def __call__(self, found: Any) -> Any:
        self._made.append(found)
        return found

    def at(self, kind: Any, offset: int) -> Any:
        """A datatype that begins at a byte, committed."""
        return self(kind.Create_hindexed([1], [offset])).Commit()

    def free(self) -> None:
        for each in self._made:
            each.Free()
        self._made.clear()


def types_of(name: str, make: Maker) -> Types:
    """The datatypes of each array of a pattern, by its name in `patterns("DDTBench")`."""
    kind, sizes = name.split()
    make_types = next(found for begin, found in _MAKERS.items() if kind.startswith(begin))
    return make_types(make, kind, *map(int, sizes.split("×")))


def _milc(make: Maker, _: str, x: int, y: int, z: int, t: int) -> Types:
    vector = make(make.mpi.FLOAT.Create_contiguous(6))
    layer = make(vector.Create_vector(t, x * y // 2, x * y * z // 2))
    both = make(layer.Create_hvector(2, 1, 24 * x * y * z * t // 2))
    return [(make.at(both, 12 * x * y * (z - 1)), make.at(both, 0))]


def _nas_lu_x(make: Maker, _: str, x: int, y: int) -> Types:
    row = make(make.mpi.DOUBLE.Create_contiguous(5 * x))
    return [(make.at(row, 40 * ((x + 2) * y + 1)), make.at(row, 40))]


def _nas_lu_y(make: Maker, _: str, x: int, y: int) -> Types:
    five = make(make.mpi.DOUBLE.Create_contiguous(5))
    column = make(five.Create_vector(y, 1, x + 2))
    return [(make.at(column, 40 * (x + (x + 2))), make.at(column, 40 * (x + 2)))]


def _nas_mg(make: Maker, kind: str, x: int, y: int, z: int) -> Types:
    def place(i: int, j: int, k: int) -> int:
        return 8 * (i + x * (j + y * k))

    double = make.mpi.DOUBLE
    if kind.endswith("x"):
        column = make(double.Create_vector(y - 2, 1, x))
        plane = make(column.Create_hvector(z - 2, 1, 8 * x * y))
        return [(make.at(plane, place(x - 2, 1, 1)), make.at(plane, place(x - 1, 1, 1)))]
    if kind.endswith("y"):
        plane = make(double.Create_vector(z - 2, x - 2, x * y))
        return [(make.at(plane, place(1, y - 2, 1)), make.at(plane, place(1, y - 1, 1)))]
    plane = make(double.Create_vector(y - 2, x - 2, x))
    return [(make.at(plane, place(1, 1, 1)), make.at(plane, place(1, 1, 0)))]


def _lammps(make: Maker, kind: str, count: int, size: int) -> Types:
    found = []
    for each in (3, 1, 1, 1) if kind.endswith("atomic") else (3, 1, 1, 1, 1, 1):
        sent = make(make.mpi.DOUBLE.Create_indexed_block(each, (each * sample(count, size)).astype(np.int32)))
        got = make(make.mpi.DOUBLE.Create_contiguous(each * count))
        found.append((make.at(sent, 0), make.at(got, 8 * each * size)))
    return found


def _specfem_oc(make: Maker, _: str, count: int, size: int) -> Types:
    both = make.at(make(make.mpi.FLOAT.Create_indexed_block(1, sample(count, size).astype(np.int32))), 0)
    return [(both, both)]


_POINTS = {11797: 834917, 7125: 396849, 3801: 152001, 1957: 39929, 3009: 51153, 1729: 22477, 801: 7209, 245: 1225}


def _specfem_cm(make: Maker, _: str, *counts: int) -> Types:
    found = []
    for seed, count in enumerate(counts):
        places = (3 * sample(count, _POINTS[count], seed)).astype(np.int32)
        both = make.at(make(make.mpi.FLOAT.Create_indexed_block(3, places)), 0)
        found.append((both, both))
    return found


def _specfem_mt(make: Maker, _: str, block: int, gap: int, count: int) -> Types:
    three = make(make.mpi.FLOAT.Create_contiguous(block))
    return [(make.at(make(three.Create_vector(count, 1, gap)), 0), make.at(make(three.Create_contiguous(count)), 0))]


def _fft(make: Maker, _: str, size: int, ranks: int) -> Types:
    """Rank 0 to rank 1: gathered from columns, scattered into rows."""
    width = size // ranks
    number = make.mpi.C_DOUBLE_COMPLEX
    sent = make(number.Create_vector(width, width, size))
    row = make(make(number.Create_vector(width, 1, size)).Create_resized(0, 16))
    return [(make.at(sent, 16 * width), make.at(make(row.Create_contiguous(width)), 0))]


_WRF = {
    (23, 3, 32): ((-4, 27, 1, 23), (34, 85, 41, 43)),
    (19, 3, 27): ((8, 34, 12, 30), (21, 61, 28, 30)),
    (16, 3, 24): ((4, 27, 8, 23), (14, 47, 21, 23)),
    (14, 3, 22): ((10, 31, 14, 27), (10, 39, 17, 19)),
    (11, 3, 19): ((4, 22, 8, 18), (4, 27, 11, 13)),
    (3, 44, 32): ((-4, 27, 18, 20), (34, 85, 38, 81)),
    (3, 26, 24): ((4, 27, 18, 20), (14, 47, 18, 43)),
    (3, 16, 19): ((4, 22, 13, 15), (4, 27, 8, 23)),
}


def _wrf(make: Maker, _: str, *key: int) -> Types:
    """As subarrays, in the order of C: the slowest dimension first."""
    i, j = _WRF[key]  # type: ignore[index]
    wide, high = i[1] - i[0] + 1, j[1] - j[0] + 1
    sizes, some, first = [high, wide], [j[3] - j[2] + 1, i[3] - i[2] + 1], [j[2] - j[0], i[2] - i[0]]
    deep = [sizes[0], 65, sizes[1]], [some[0], 65, some[1]], [first[0], 0, first[1]]
    four = [2, *deep[0]], [1, *deep[1]], [1, *deep[2]]
    found = []
    for count, shape in ((4, (sizes, some, first)), (3, deep), (2, four)):
        for _ in range(count):
            both = make(make.mpi.FLOAT.Create_subarray(*shape, order=make.mpi.ORDER_C)).Commit()
            found.append((both, both))
    return found


_MAKERS: dict[str, Callable[..., Types]] = {
    "MILC": _milc,
    "NAS_LU_x": _nas_lu_x,
    "NAS_LU_y": _nas_lu_y,
    "NAS_MG": _nas_mg,
    "LAMMPS": _lammps,
    "SPECFEM3D_oc": _specfem_oc,
    "SPECFEM3D_cm": _specfem_cm,
    "SPECFEM3D_mt": _specfem_mt,
    "FFT2": _fft,
    "WRF": _wrf,
}
