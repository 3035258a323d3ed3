"""A picture of at most 256 colours as a PNG data address, in place of a thousand rectangles."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np


def png_data_url(pixels: np.ndarray[Any, np.dtype[np.uint8]], palette: Sequence[str]) -> str:
    """`pixels` (rows, columns) of palette numbers as `data:image/png;base64,…`; the palette holds `#rrggbb`."""
    rows, columns = pixels.shape
    header = struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)
    colours = b"".join(bytes.fromhex(value[1:]) for value in palette)
    # Each row is preceded by its filter: 2 (difference to the row above) makes regular pictures tiny.
    above = np.vstack([np.zeros((1, columns), np.uint8), pixels[:-1]])
    lines = np.empty((rows, columns + 1), np.uint8)
    lines[:, 0] = 2
    lines[:, 1:] = pixels - above
    data = zlib.compress(lines.tobytes(), 9)
    chunks = (_chunk(b"IHDR", header), _chunk(b"PLTE", colours), _chunk(b"IDAT", data), _chunk(b"IEND", b""))
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(chunks)).decode("ascii")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
