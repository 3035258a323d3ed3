"""What a file is, by its first bytes: a file of another format is never taken for raw bytes.

`holds_npy` is asked wherever a file is read, and `check_ending` wherever one is written. Only a user who says where the raw bytes
begin (`offset`) has the bytes of such a file read as they are.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from isoviz.errors import FileError
from isoviz.regular_files import open_for_reading, reason

MAGIC = b"\x93NUMPY"
"""The first bytes of a `.npy` file, whatever its name."""

HEAD = 2056
"""Bytes that are looked at: HDF5 may begin at byte 0, 512, 1024 or 2048."""
_LONGEST_LIST = 100 << 20  # of a safetensors file


class Format(NamedTuple):
    """A format of files: what it is, what reads its arrays, and the endings of its names.

    `pattern` matches the first bytes. An empty one stands for text, which is known by its name and its first bytes together.
    """

    words: str
    reader: str
    endings: tuple[str, ...]
    pattern: bytes = b""


_UNPACK = "unpack it"
_FORMATS = tuple(
    Format(words, reader, tuple(endings.split()), pattern)
    for words, reader, endings, pattern in (
        ("an archive of arrays (.npz)", "numpy.load(...)['name']", ".npz", rb"PK\x03\x04.{26}[^\0]{1,200}?\.npy"),
        ("a zip archive", _UNPACK, ".zip .pt .pth .keras", rb"PK(\x03\x04|\x05\x06)"),
        ("an HDF5 file", "h5py.File(...)['name'][...]", ".h5 .hdf5 .he5 .nc4", rb"(.{512}|.{1024}|.{2048})?\x89HDF\r\n\x1a\n"),
        ("a NetCDF file", "xarray.open_dataset(...)['name']", ".nc .cdf", rb"CDF[\x01\x02\x05]"),
        ("an HDF4 file", "pyhdf.SD", ".hdf .hdf4", rb"\x0e\x03\x13\x01"),
        ("a Zarr array (a folder of chunks)", "zarr.open(...)[...]", ".zarr", rb"(?!)"),
        ("a gzip file", _UNPACK, ".gz .tgz", rb"\x1f\x8b\x08[\x00-\x1f]"),
        ("a bzip2 file", _UNPACK, ".bz2", rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
        ("an xz file", _UNPACK, ".xz", rb"\xfd7zXZ\x00"),
        ("a Zstandard file", _UNPACK, ".zst", rb"\x28\xb5\x2f\xfd"),
        ("an LZ4 file", _UNPACK, ".lz4", rb"\x04\x22\x4d\x18"),
        ("a 7z archive", _UNPACK, ".7z", rb"7z\xbc\xaf\x27\x1c"),
        ("a tar archive", _UNPACK, ".tar", rb".{257}ustar"),
        ("a safetensors file", "safetensors.safe_open", ".safetensors", rb'.{8}\{\s*["}]'),
        ("a GGUF file", "gguf.GGUFReader", ".gguf", rb"GGUF[\x01-\x09]\0\0\0"),
        ("a pickle (which may run code when it is loaded)", "pickle.load", ".pkl .pickle", rb"\x80[\x04\x05]\x95.{6}\0\0"),
        ("a MATLAB file", "scipy.io.loadmat(...)['name']", ".mat", rb"MATLAB [57]\.[0-9] MAT-file"),
        ("a FITS file", "astropy.io.fits.getdata", ".fits .fit", rb"SIMPLE  ="),
        ("a NIfTI image", "nibabel.load", ".nii", rb".{344}n[+i]1\0|.{4}n[+i]2\0\r\n\x1a\n"),
        ("an MRC image", "mrcfile.open(...).data", ".mrc .mrcs", rb".{208}MAP "),
        ("a DICOM image", "pydicom.dcmread(...).pixel_array", ".dcm", rb".{128}DICM"),
        ("a NRRD image", "nrrd.read", ".nrrd", rb"NRRD000"),
        ("a GRIB file", "xarray with cfgrib", ".grib .grb .grib2", rb"GRIB.{3}[\x01\x02]"),
        ("a TIFF image", "tifffile.imread", ".tif .tiff", rb"II[\x2a\x2b]\0|MM\0[\x2a\x2b]"),
        ("a PNG image", "imageio.imread", ".png", rb"\x89PNG\r\n\x1a\n"),
        ("a JPEG image", "imageio.imread", ".jpg .jpeg", rb"\xff\xd8\xff[\xc0-\xfe]"),
        ("a GIF image", "imageio.imread", ".gif", rb"GIF8[79]a"),
        ("an OpenEXR image", "imageio.imread", ".exr", rb"\x76\x2f\x31\x01"),
        ("a WAV file", "scipy.io.wavfile.read", ".wav", rb"RIFF.{4}WAVE"),
        ("a WebP image", "imageio.imread", ".webp", rb"RIFF.{4}WEBP"),
        ("a Parquet file", "pandas.read_parquet", ".parquet", rb"PAR1"),
        ("an Arrow file", "pandas.read_feather", ".arrow .feather", rb"ARROW1\0\0|FEA1"),
        ("an SQLite database", "sqlite3.connect", ".sqlite .db", rb"SQLite format 3\0"),
        ("text", "numpy.loadtxt or pandas.read_csv", ".csv .tsv .txt .json .xml .yaml", b""),
    )
)
_PATTERNS = tuple((found, re.compile(found.pattern, re.DOTALL)) for found in _FORMATS if found.pattern)
_TEXT = re.compile(rb"[\t\n\r\x20-\x7e\x80-\xff]+")
_ZARR = (".zarray", ".zgroup", "zarr.json")


def open_array_file(path: str | Path) -> tuple[int, os.stat_result]:
    """A descriptor of a regular file and its status, as `open_for_reading`.

    Raises:
        FileError: as there; a folder that is a Zarr array is called so.
    """
    try:
        return open_for_reading(path)
    except FileError:
        if any((Path(path) / name).is_file() for name in _ZARR):
            raise _other_format(path, next(found for found in _FORMATS if ".zarr" in found.endings)) from None
        raise


def holds_npy(path: str | Path) -> bool:
    """Whether an existing file is a `.npy`, by its first bytes; if not, its bytes are raw. A file of unknown bytes is one by its
    name, so that its reader says what is wrong.

    Raises:
        FileError: it cannot be read, or is a file of another format; the message says which, and what to do.
    """
    head, size = _head(path)
    if head.startswith(MAGIC):
        return True
    check_head(path, head, size)
    return is_npy(path)


def begins_as_npy(path: str | Path) -> bool:
    """Whether the first bytes of an existing file are those of a `.npy`.

    Raises:
        FileError: it cannot be read.
    """
    return _head(path)[0].startswith(MAGIC)


def _head(path: str | Path) -> tuple[bytes, int]:
    """The first bytes of a file, and its length."""
    descriptor, status = open_array_file(path)
    try:
        return os.pread(descriptor, HEAD, 0), status.st_size
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {reason(error)}") from None
    finally:
        os.close(descriptor)


def is_npy(path: str | Path) -> bool:
    """Whether the name of a path is that of a `.npy` file."""
    return str(path).lower().endswith(".npy")


def check_head(path: str | Path, head: bytes, size: int) -> None:
    """Refuse a file of another format. `head` are its first bytes, `size` is its length.

    Raises:
        FileError: it is one; the message says which, and what to do.
    """
    for found, pattern in _PATTERNS:
        if pattern.match(head) and _is_likely(found, head, size):
            raise _other_format(path, found)
    if _TEXT.fullmatch(head) and not is_npy(path):
        for found in _FORMATS:
            if not found.pattern and _ends_in(path, found):
                raise _other_format(path, found)


def _is_likely(found: Format, head: bytes, size: int) -> bool:
    """Whether the lengths in the first bytes fit the file, where a format has few bytes that are always the same."""
    if ".safetensors" in found.endings:
        return 2 <= int.from_bytes(head[:8], "little") <= min(size - 8, _LONGEST_LIST)
    return True


def check_ending(path: str | Path) -> None:
    """Refuse to write to a name that promises another format.

    Raises:
        FileError: the name has an ending of a format that isoviz does not write.
    """
    for found in _FORMATS:
        if _ends_in(path, found):
            raise FileError(
                f"{path}: would not be {found.words}; expected a name that ends in .npy, or one such as x.raw for raw bytes"
            )


def _ends_in(path: str | Path, found: Format) -> bool:
    return str(path).lower().endswith(found.endings)


def _other_format(path: str | Path, found: Format) -> FileError:
    what = _UNPACK if found.reader == _UNPACK else f"read it with {found.reader}, and numpy.save the array as a .npy file"
    return FileError(
        f"{path}: is {found.words}, not a .npy file and not raw bytes; {what} (offset 0 takes its bytes as they are)"
    )
