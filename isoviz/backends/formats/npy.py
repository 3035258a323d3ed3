"""The `.npy` format: headers are written and read; those read are treated as untrusted input.

The format is public (NumPy enhancement proposal 1): a magic string, a version, the header length, and a Python literal with the
dtype, the shape and the order. Headers written here end at a multiple of 4096 bytes, which aligns the data for direct I/O. Every
reader of the format accepts that.
"""

from __future__ import annotations

import ast
import math
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isoviz.errors import FileError
from isoviz.layouts.spaces import MAX_BYTES
from isoviz.regular_files import open_for_reading

MAGIC = b"\x93NUMPY"
ALIGNMENT = 4096
_LONGEST_HEADER = 1 << 16  # Enough for thousands of fields. A much longer literal could exhaust the parser.
_NUMPY_READS = 10_000  # numpy.load refuses longer headers by default
_MOST_AXES = 64  # the limit of NumPy arrays
_KEYS = {"descr", "fortran_order", "shape"}


@dataclass(frozen=True)
class NpyHeader:
    """The header of a `.npy` file. The data begin at byte `data_offset`."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran_order: bool
    data_offset: int

    @property
    def nbytes(self) -> int:
        """Bytes of the data."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def extents(self) -> tuple[int, ...]:
        """The shape in storage order, fastest axis first."""
        return self.shape if self.fortran_order else self.shape[::-1]


def is_npy(path: str | Path) -> bool:
    """Whether the name of a path is that of a `.npy` file."""
    return str(path).lower().endswith(".npy")


def read_header(path: str | Path) -> NpyHeader:
    """The header of a `.npy` file.

    Raises:
        FileError: the file is no `.npy` file, is damaged, holds Python objects, or is shorter than its header requires.
    """
    path = Path(path)
    descriptor, status = open_for_reading(path)
    try:
        start = os.pread(descriptor, 12, 0)
        if start[:6] != MAGIC or len(start) < 10:
            raise FileError(f"{path}: is not a .npy file (it does not begin with the bytes \\x93NUMPY)")
        version = (start[6], start[7])
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise FileError(f"{path}: .npy version {version[0]}.{version[1]}; expected 1.0, 2.0 or 3.0")
        at, length = (10, struct.unpack_from("<H", start, 8)[0]) if version == (1, 0) else (12, _long(start, path))
        if length > _LONGEST_HEADER:
            raise FileError(f"{path}: .npy header of {length} bytes; expected at most {_LONGEST_HEADER}")
        raw = os.pread(descriptor, length, at)
        if len(raw) < length:
            raise FileError(f"{path}: ends within its .npy header")
    finally:
        os.close(descriptor)
    header = _parsed(path, raw, "utf-8" if version == (3, 0) else "latin-1", at + length)
    if status.st_size - header.data_offset < header.nbytes:
        raise FileError(
            f"{path}: too short: shape {header.shape} of {header.dtype} needs {header.nbytes} bytes,"
            f" {status.st_size - header.data_offset} follow the header"
        )
    return header


def _long(start: bytes, path: Path) -> int:
    if len(start) < 12:
        raise FileError(f"{path}: ends within its .npy header")
    return int(struct.unpack_from("<I", start, 8)[0])


def _parsed(path: Path, raw: bytes, encoding: str, data_offset: int) -> NpyHeader:
    try:
        # Literals only: nothing in the header is evaluated. Deep nesting raises one of these errors.
        found = ast.literal_eval(raw.decode(encoding).strip())
        str(found)  # `str` raises for integers with thousands of digits, and the error messages need their text.
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise FileError(f"{path}: damaged .npy header: not a Python literal") from None
    if not isinstance(found, dict) or set(found) != _KEYS:
        raise FileError(f"{path}: damaged .npy header: expected the keys descr, fortran_order and shape")
    shape, order = found["shape"], found["fortran_order"]
    if not isinstance(shape, tuple) or len(shape) > _MOST_AXES or not all(type(n) is int and 0 <= n <= MAX_BYTES for n in shape):
        raise FileError(f"{path}: damaged .npy header: {str(shape)[:60]!r} is not a shape")
    if not isinstance(order, bool):
        raise FileError(f"{path}: damaged .npy header: fortran_order is neither True nor False")
    dtype = _dtype(path, found["descr"])
    if math.prod(shape) * dtype.itemsize > MAX_BYTES:
        raise FileError(f"{path}: damaged .npy header: shape {shape} of {dtype} has more than 2^63 - 1 bytes")
    return NpyHeader(dtype, shape, order and len(shape) > 1, data_offset)


def _dtype(path: Path, descr: Any) -> np.dtype[Any]:
    try:
        dtype: np.dtype[Any] = np.lib.format.descr_to_dtype(descr)
    except Exception:  # noqa: BLE001  # A malicious description may raise anything.
        raise FileError(f"{path}: damaged .npy header: {str(descr)[:60]!r} is not a dtype") from None
    if dtype.hasobject:
        raise FileError(f"{path}: holds Python objects ({dtype}); only data with bytes of their own can be moved")
    if dtype.itemsize < 1:
        raise FileError(f"{path}: its dtype {dtype} has no bytes, so there is nothing to move")
    return dtype


def header_bytes(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """The header of a C-order `.npy` file, padded so that the data begin at a multiple of 4096 bytes.

    Raises:
        FileError: the format cannot hold the dtype.
    """
    try:
        descr = np.lib.format.dtype_to_descr(dtype)
    except (TypeError, ValueError) as error:
        raise FileError(f".npy cannot hold the dtype {dtype}: {error}") from None
    text = repr({"descr": descr, "fortran_order": False, "shape": shape})
    try:
        raw, version = text.encode("latin-1"), (1, 0)
    except UnicodeEncodeError:
        raw, version = text.encode("utf-8"), (3, 0)
    padded = _padded(raw, version, ALIGNMENT)
    if len(raw) <= _NUMPY_READS < len(padded) - 10:
        padded = _padded(raw, version, 64)  # Unaligned data are slower, but numpy.load accepts the file.
    return padded


def _padded(raw: bytes, version: tuple[int, int], alignment: int) -> bytes:
    if version == (1, 0) and len(raw) + 10 + alignment > 0xFFFF:
        version = (2, 0)
    prefix = 10 if version == (1, 0) else 12
    total = -(-(prefix + len(raw) + 1) // alignment) * alignment
    length = struct.pack("<H" if version == (1, 0) else "<I", total - prefix)
    return MAGIC + bytes(version) + length + raw + b" " * (total - prefix - len(raw) - 1) + b"\n"
