"""The `.npy` format: headers are written and read; those read are treated as untrusted input.

The format is public (NumPy enhancement proposal 1): a magic string, a version, the header length, and a Python literal with the
dtype, the shape and the order. Headers written here end at a multiple of 4096 bytes, which aligns the data for direct I/O. Every
reader of the format accepts that.
"""

from __future__ import annotations

import math
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isoviz.backends.formats.known_files import HEAD, MAGIC, check_head, open_array_file
from isoviz.errors import FileError
from isoviz.layouts.dtypes import described_dtype, is_added
from isoviz.layouts.spaces import MAX_BYTES
from isoviz.schema.literals import parse_literal

ALIGNMENT = 4096
LONGEST_HEADER = 1 << 20
"""The longest header in bytes that is read and written: tens of thousands of fields. A longer one is damaged, or an attack."""
NUMPY_READS = 10_000
"""numpy.load refuses longer headers, unless it is given `max_header_size`."""
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


def read_header(path: str | Path) -> NpyHeader:
    """The header of a `.npy` file.

    Raises:
        FileError: the file is not a `.npy` file, is damaged, holds Python objects, or is shorter than its header requires.
    """
    path = Path(path)
    descriptor, status = open_array_file(path)
    try:
        start = os.pread(descriptor, HEAD, 0)
        if start[:6] != MAGIC or len(start) < 10:
            check_head(path, start, status.st_size)
            raise FileError(f"{path}: is not a .npy file (it does not begin with the bytes \\x93NUMPY)")
        at, length = _extent(path, start)
        raw = os.pread(descriptor, length, at)
    finally:
        os.close(descriptor)
    header = _parsed(path, start, raw)
    if status.st_size - header.data_offset < header.nbytes:
        raise FileError(
            f"{path}: too short: shape {header.shape} of {header.dtype} needs {header.nbytes} bytes,"
            f" {status.st_size - header.data_offset} follow the header"
        )
    return header


def header_of(path: str | Path, content: bytes) -> NpyHeader:
    """The header in the first bytes of a file that will be written to `path`, as `read_header` will find it.

    Raises:
        FileError: `read_header` would refuse it.
    """
    at, length = _extent(Path(path), content)
    return _parsed(Path(path), content, content[at : at + length])


def _extent(path: Path, start: bytes) -> tuple[int, int]:
    """The first byte of the literal, and its length."""
    version = (start[6], start[7])
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise FileError(f"{path}: .npy version {version[0]}.{version[1]}; expected 1.0, 2.0 or 3.0")
    if version != (1, 0) and len(start) < 12:
        raise FileError(f"{path}: ends within its .npy header")
    at, length = (10, struct.unpack_from("<H", start, 8)[0]) if version == (1, 0) else (12, struct.unpack_from("<I", start, 8)[0])
    if length > LONGEST_HEADER:
        raise FileError(f"{path}: .npy header of {length} bytes; expected at most {LONGEST_HEADER}")
    return at, length


def _parsed(path: Path, start: bytes, raw: bytes) -> NpyHeader:
    at, length = _extent(path, start)
    if len(raw) < length:
        raise FileError(f"{path}: ends within its .npy header")
    try:
        found = parse_literal(raw.decode("utf-8" if start[6] == 3 else "latin-1"))
    except ValueError as error:  # Invalid UTF-8 is one, too.
        raise FileError(f"{path}: damaged .npy header: not a Python literal ({error})") from None
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
    return NpyHeader(dtype, shape, order and len(shape) > 1, at + length)


def _dtype(path: Path, descr: Any) -> np.dtype[Any]:
    try:
        dtype = described_dtype(descr)
    except Exception as error:  # noqa: BLE001  # A malicious description may raise anything.
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise FileError(f"{path}: its .npy header has {str(descr)[:60]!r}, which is not a dtype here ({reason})") from None
    if dtype.hasobject:
        raise FileError(f"{path}: holds Python objects ({dtype}); only data with bytes of their own can be moved")
    if dtype.itemsize < 1:
        raise FileError(f"{path}: its dtype {dtype} has no bytes, so there is nothing to move")
    return dtype


def header_bytes(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """The header of a C-order `.npy` file, padded so that the data begin at a multiple of 4096 bytes.

    The format has no names for the types that packages add to NumPy, such as bfloat16: they become plain bytes.

    Raises:
        FileError: the format cannot hold the dtype, or `read_header` would not read so long a header.
    """
    try:
        descr = np.lib.format.dtype_to_descr(_without_added(dtype))
    except (TypeError, ValueError) as error:
        raise FileError(f".npy cannot hold the dtype {dtype}: {error}") from None
    text = repr({"descr": descr, "fortran_order": False, "shape": shape})
    try:
        raw, version = text.encode("latin-1"), (1, 0)
    except UnicodeEncodeError:
        raw, version = text.encode("utf-8"), (3, 0)
    padded = _padded(raw, version, ALIGNMENT)
    if len(padded) > LONGEST_HEADER:
        raise FileError(f".npy cannot hold {len(dtype.names or ())} fields: a header of {len(raw)} bytes; expected at most 1 MiB")
    if len(raw) <= NUMPY_READS < len(padded) - 10:
        padded = _padded(raw, version, 64)  # Unaligned data are slower, but numpy.load accepts the file.
    return padded


def _without_added(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype with plain bytes in place of types that a package has added. NumPy's own reader refuses some of their codes."""
    if dtype.subdtype is not None:
        return np.dtype((_without_added(dtype.base), dtype.shape))
    if dtype.names is None or dtype.fields is None:
        return np.dtype(f"V{dtype.itemsize}") if is_added(dtype) else dtype
    found = [dtype.fields[name] for name in dtype.names]
    formats = [_without_added(field[0]) for field in found]
    if formats == [field[0] for field in found]:
        return dtype
    offsets, titles = [field[1] for field in found], [field[2] if len(field) > 2 else None for field in found]
    parts = {"names": list(dtype.names), "formats": formats, "offsets": offsets, "titles": titles, "itemsize": dtype.itemsize}
    return np.dtype(parts)  # type: ignore[call-overload,no-any-return]


def _padded(raw: bytes, version: tuple[int, int], alignment: int) -> bytes:
    if version == (1, 0) and len(raw) + 10 + alignment > 0xFFFF:
        version = (2, 0)
    prefix = 10 if version == (1, 0) else 12
    total = -(-(prefix + len(raw) + 1) // alignment) * alignment
    length = struct.pack("<H" if version == (1, 0) else "<I", total - prefix)
    return MAGIC + bytes(version) + length + raw + b" " * (total - prefix - len(raw) - 1) + b"\n"
