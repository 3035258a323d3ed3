"""Array files from one layout to another, out of core, beside copying the same bytes and beside what NumPy does.

The peers in the same run: isoviz copying the file unchanged (the limit: every byte read and written once, unbuffered, fsync
inside), `shutil.copyfile` with fsync, and a NumPy memory map assigned from a view of another one, with fsync.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from isoviz.bench.files import generated, timed
from isoviz.bench.table import Table, comparison_rows, interleaved, scratch_folder, two_digits
from isoviz.conversion.convert import convert
from isoviz.units import format_bytes, format_rate, parse_bytes

_FIELDS = {"re": "float32", "im": "float32"}


def measure(
    size: int | str = "256MiB", memory_limit: int | str = "64MiB", repeat: int = 3, directory: str | Path | None = None
) -> Table:
    """Rates of conversions of a file of `size` within `memory_limit`; medians of `repeat` rounds, everything in turn."""
    nbytes = parse_bytes(size)
    with scratch_folder(directory) as folder:
        rows = [row for case in (_fields, _transposition) for row in case(folder, nbytes, memory_limit, repeat)]
    return Table(
        "convert",
        f"conversions of files of {format_bytes(nbytes)} within {format_bytes(parse_bytes(memory_limit))}:"
        f" medians of {repeat}, fsync inside",
        {
            "case": ("case", str),
            "by": ("by", str),
            "throughput": ("rate", format_rate),
            "to_copy": ("÷ isoviz copy", two_digits),
        },
        rows,
        ("`cp` and NumPy go through the page cache and use as much of the memory as there is free; isoviz does not",),
    )


def _rows(case: str, nbytes: int, seconds: dict[str, float]) -> list[dict[str, object]]:
    return comparison_rows(seconds, nbytes, seconds["isoviz copy"], "to_copy", case=case)


def _fields(folder: Path, nbytes: int, limit: int | str, repeat: int) -> list[dict[str, object]]:
    """AOS → SOA."""
    dtype = np.dtype(list(_FIELDS.items()))
    source = generated(folder / "aos.npy", (nbytes // dtype.itemsize,), dtype)

    def by_numpy(there: Path) -> None:
        here = np.load(source, mmap_mode="r")
        result = np.lib.format.open_memmap(there, "w+", np.float32, (2, len(here)))
        for i, name in enumerate(_FIELDS):
            result[i] = here[name]
        result.flush()

    return _rows("AOS → SOA", nbytes, _measured(folder, source, "<F, x>", "<x, F>", by_numpy, limit, repeat))


def _transposition(folder: Path, nbytes: int, limit: int | str, repeat: int) -> list[dict[str, object]]:
    """A square of float32, rows to columns."""
    side = int((nbytes // 4) ** 0.5)
    source = generated(folder / "square.npy", (side, side), np.dtype("float32"))

    def by_numpy(there: Path) -> None:
        result = np.lib.format.open_memmap(there, "w+", np.float32, (side, side))
        result[:] = np.load(source, mmap_mode="r").T
        result.flush()

    seconds = _measured(folder, source, "<F, x, y>", "<F, y, x>", by_numpy, limit, repeat)
    return _rows("transposition", side * side * 4, seconds)


def _measured(
    folder: Path, source: Path, here: str, there: str, by_numpy: Callable[[Path], None], limit: int | str, repeat: int
) -> dict[str, float]:
    target = folder / "out.npy"
    actions: dict[str, Callable[[Path], object]] = {
        "isoviz": lambda path: convert(source, path, here, there, memory_limit=limit),
        "isoviz copy": lambda path: convert(source, path, here, here, memory_limit=limit),
        "cp": lambda path: shutil.copyfile(source, path),
        "NumPy memmap": by_numpy,
    }
    return interleaved({name: partial(timed, action, source, target) for name, action in actions.items()}, repeat)
