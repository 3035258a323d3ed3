"""Photos: a file that Pillow reads, as an array of pixels. Pillow is imported when a photo is read, and not before."""

from __future__ import annotations

import os
import struct
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.formats.known_files import begins_as_npy, is_npy
from isoviz.errors import FileError, MissingPartError
from isoviz.regular_files import open_for_reading

if TYPE_CHECKING:
    from PIL.Image import Image

COLOURS = ("red", "green", "blue", "alpha")
"""The fields of a photo; one without colours has the field `grey`, and perhaps `alpha`."""
ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".ppm", ".pgm", ".avif", ".jp2", ".tga")
"""Endings of the names of photos."""
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "AVIF", "JPEG2000", "TGA")
"""Formats that Pillow decodes by itself. It starts a program for some others, such as EPS: these are left out."""
_MOST_PIXELS = 1 << 27
"""The pixels of a photo at most. They are decoded in memory, with up to four bytes each."""
_DAMAGED = (OSError, ValueError, SyntaxError, EOFError, TypeError, IndexError, KeyError, OverflowError, struct.error)
"""What Pillow raises for damaged files."""


def is_photo_name(path: str | os.PathLike[str]) -> bool:
    """Whether the name of a path is that of a photo."""
    return os.fspath(path).lower().endswith(ENDINGS)


def photo(path: str | os.PathLike[str]) -> np.ndarray[Any, Any] | None:
    """The pixels of a photo, upright: structs of shape (rows, columns).

    The fields are `COLOURS`, each a `uint8`, or `grey`. A palette and black and white are resolved; greys of more than 8 bits
    keep their numbers. None where the file is not a photo.

    Raises:
        FileError: the file cannot be read, is damaged, or has too many pixels.
        MissingPartError: Pillow is not installed, and the file has the name of a photo.
    """
    if is_npy(Path(path)) or begins_as_npy(Path(path)):
        return None
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError:
        if is_photo_name(path):
            raise MissingPartError("pillow") from None
        return None
    descriptor, _ = open_for_reading(Path(path))
    with os.fdopen(descriptor, "rb") as file:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of large or odd files; the limit below is said in words
                Image.init()
                try:
                    opened = Image.open(file, formats=[name for name in _FORMATS if name in Image.OPEN])
                except UnidentifiedImageError:
                    return None
                if opened.width * opened.height > _MOST_PIXELS:
                    raise Image.DecompressionBombError
                return _pixels(ImageOps.exif_transpose(opened))
        except Image.DecompressionBombError:
            raise FileError(f"{path}: a photo of too many pixels to be shown; expected at most {_MOST_PIXELS:,}") from None
        except _DAMAGED as error:
            raise FileError(f"{path}: a photo that is damaged ({error})") from None


def _pixels(image: Image) -> np.ndarray[Any, Any]:
    """The pixels of a decoded photo."""
    if image.mode.startswith(("I", "F")):
        return _one_field(np.asarray(image))
    has_alpha = "A" in image.getbands() or "a" in image.getbands() or "transparency" in image.info
    is_grey = image.mode in ("1", "L", "LA", "La")
    names = ("grey",) if is_grey else COLOURS[:3]
    mode = "L" if is_grey else "RGB"
    if has_alpha:
        names, mode = (*names, "alpha"), f"{mode}A"
    bytes_of = np.ascontiguousarray(image if image.mode == mode else image.convert(mode))
    if len(names) == 1:
        return _one_field(bytes_of)
    made: np.ndarray[Any, Any] = bytes_of.view([(name, "u1") for name in names])[..., 0]
    return made


def _one_field(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers as structs of the one field `grey`, in the byte order of this computer."""
    plain = np.ascontiguousarray(numbers, numbers.dtype.newbyteorder("="))
    made: np.ndarray[Any, Any] = plain.view([("grey", plain.dtype)])
    return made
