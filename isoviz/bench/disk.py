"""The disk: the rates of its requests, and array files converted at its speed.

One run answers three questions. How many bytes per second do requests of a length reach, with a number of them in flight? How
close does a conversion between structs and arrays come to a plain copy of the file (unbuffered, 1 MiB requests, several in
flight)? How close does a transposition, whose runs are short, come to the same requests without work on the bytes? `cp` and
NumPy memory maps run beside them. The source is out of the page cache, and fsync is inside the time.
"""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.disk.disk_memory import runs_in_order
from isoviz.bench.files import PAGE, Step, created, generated, in_pieces, moved, opened, timed
from isoviz.bench.table import Table, comparison_rows, interleaved, scratch_folder, two_digits, where_known
from isoviz.conversion.convert import convert
from isoviz.units import format_bytes, format_rate, format_seconds, parse_bytes

if TYPE_CHECKING:
    from isoviz.conversion.convert import Conversion
    from isoviz.planner import Plan

REQUEST = 1 << 20
THREADS = 8
"""Threads that issue plain requests, each way."""
TOGETHER = 1 << 20
"""Bytes of short plain requests that a thread hands over at once."""
LENGTHS = (4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20)
DEPTHS = (1, 4, 16)
_PAIR = np.dtype([("re", "f4"), ("im", "f4")])


def measure(
    size: int | str = "512MiB", memory_limit: int | str = "64MiB", repeat: int = 3, directory: str | Path | None = None
) -> Table:
    """Request rates of the disk, and conversions of a file of `size` within `memory_limit`; medians of `repeat` rounds in turn,
    `cp` and NumPy once."""
    nbytes, limit = parse_bytes(size), parse_bytes(memory_limit)
    with scratch_folder(directory) as folder:
        rows = [*_structs(folder, nbytes, limit, repeat)]
        more, notes = _transposition(folder, nbytes, limit, repeat)
        rows += more
        rows += _rates(folder, min(nbytes, 512 << 20))
    return Table(
        "disk",
        f"files of {format_bytes(nbytes)} within {format_bytes(limit)}: medians of {repeat}, fsync inside",
        {
            "case": ("case", str),
            "by": ("by", str),
            "seconds": ("time", where_known(format_seconds, "")),
            "throughput": ("rate", format_rate),
            "to_plain": ("÷ plain", where_known(two_digits, "")),
        },
        rows,
        (
            f"plain: the same unbuffered requests from {THREADS} threads each way, nothing done to what they bring",
            f"plain, together: threads hand {format_bytes(TOGETHER)} of short ones over at once; the faster way is the limit",
            "`cp` and NumPy go through the page cache and use as much of the memory as there is free; isoviz does not",
            *notes,
        ),
    )


def _rows(case: str, nbytes: int, seconds: dict[str, float]) -> list[dict[str, Any]]:
    ways = [name for name in seconds if name.startswith("plain")]
    plain = seconds[min(ways, key=lambda name: seconds[name])]
    return comparison_rows(seconds, nbytes, plain, "to_plain", case=case)


def _structs(folder: Path, nbytes: int, limit: int, repeat: int) -> Iterator[dict[str, Any]]:
    """AOS → SOA and back."""
    structs = generated(folder / "structs.npy", (nbytes // 8,), _PAIR)
    arrays = folder / "arrays.npy"
    for case, source, here, there, by_numpy in (
        ("AOS → SOA", structs, "<F, x>", "<x, F>", _fields_apart),
        ("SOA → AOS", arrays, "<x, F>", "<F, x>", _fields_together),
    ):
        if source is arrays:
            convert(structs, arrays, "<F, x>", "<x, F>", memory_limit=limit)
            structs.unlink()
        target = folder / "out.npy"
        size = source.stat().st_size
        copy: list[Step] = [(piece, piece) for piece in ([each] for each in in_pieces(0, size, REQUEST, size))]
        seconds = interleaved(
            {
                "isoviz": partial(timed, partial(_converted, source, here, there, limit), source, target),
                "plain": partial(_plain, [(source, size, copy)], folder),
            },
            repeat,
        )
        seconds |= _peers(source, target, by_numpy)
        yield from _rows(case, nbytes, seconds)
    arrays.unlink()


def _transposition(folder: Path, nbytes: int, limit: int, repeat: int) -> tuple[list[dict[str, Any]], list[str]]:
    """A square of float32, rows to columns, and the decision about passes."""
    side = math.isqrt(nbytes // 4)
    nbytes = side * side * 4
    source = generated(folder / "square.npy", (side, side), np.dtype("f4"))
    target = folder / "out.npy"
    found: list[Conversion] = []

    def isoviz(path: Path) -> None:
        found[:] = [_converted(source, "<F, x, y>", "<F, y, x>", limit, path)]

    def plain(together: int) -> float:
        ends = [source.stat().st_size, *(_size(report.plan) for report in found[0].reports)]
        passes = [(source, ends[i], list(_steps(report.plan, ends[i], ends[i + 1]))) for i, report in enumerate(found[0].reports)]
        return _plain(passes, folder, together)

    ways = {"plain": partial(plain, 1), "plain, together": partial(plain, TOGETHER)}
    seconds = interleaved({"isoviz": partial(timed, isoviz, source, target), **ways}, repeat)
    seconds |= _peers(source, target, _transposed)
    rows = _rows("transposition", nbytes, seconds)
    decision = found[0].decision
    assert decision is not None
    rows[0] |= {"decision": found[0].to_json()["decision"]}
    source.unlink()
    return rows, [f"transposition: {decision.reason or 'one pass: too small to look at two'}"]


def _converted(source: Path, here: str, there: str, limit: int, target: Path) -> Conversion:
    return convert(source, target, here, there, memory_limit=limit)


def _size(plan: Plan) -> int:
    """Bytes of the file that a plan writes, its header left out."""
    return -(-plan.transfer.destination.linearization.nbytes // PAGE) * PAGE


def _steps(plan: Plan, readable: int, writable: int) -> Iterator[Step]:
    """The requests of a plan on its disk, chunk by chunk: what touches the pages of every run."""
    last = len(plan.hops) - 1
    for chunk in range(plan.chunk_count):
        sides = []
        for hop, end, limit in ((0, 1, readable), (last, 2, writable)):
            copies = plan.copies(hop, chunk)
            runs = [(at, copy.run) for copy in copies for both in runs_in_order(copy, disk=end) for at in both[end - 1].tolist()]
            sides.append([request for at, run in runs for request in in_pieces(at, run, REQUEST, limit)])
        yield sides[0], sides[1]


def _plain(passes: list[tuple[Path, int, list[Step]]], folder: Path, together: int = 1) -> float:
    """Seconds that the requests of all passes take, from the source to a temporary file and on, and to give that file up."""
    total = 0.0
    for number, (source, size, steps) in enumerate(passes, 1):
        reads = opened(source)
        writes = created(folder / "plain", max(size, _end(steps)))
        try:
            total += moved(reads, writes, steps, THREADS, together)
        finally:
            os.close(reads)
            (folder / "plain").unlink()
            start = time.perf_counter()
            os.close(writes)
            total += time.perf_counter() - start if number < len(passes) else 0.0
    return total


def _end(steps: list[Step]) -> int:
    return max((at + length for _, writes in steps for at, length in writes), default=0)


def _peers(source: Path, target: Path, by_numpy: Callable[[Path, Path], None]) -> dict[str, float]:
    """`cp` and a NumPy memory map assigned from a view of another one."""
    import shutil

    return {
        "cp": timed(partial(shutil.copyfile, source), source, target),
        "NumPy memmap": timed(partial(by_numpy, source), source, target),
    }


def _fields_apart(source: Path, target: Path) -> None:
    here = np.load(source, mmap_mode="r")
    there = np.lib.format.open_memmap(target, "w+", np.float32, (2, len(here)))
    for i, name in enumerate(_PAIR.names or ()):
        there[i] = here[name]
    there.flush()


def _fields_together(source: Path, target: Path) -> None:
    here = np.load(source, mmap_mode="r")
    there = np.lib.format.open_memmap(target, "w+", _PAIR, (here.shape[1],))
    for i, name in enumerate(_PAIR.names or ()):
        there[name] = here[i]
    there.flush()


def _transposed(source: Path, target: Path) -> None:
    here = np.load(source, mmap_mode="r")
    there = np.lib.format.open_memmap(target, "w+", here.dtype, here.shape[::-1])
    there[:] = here.T
    there.flush()


def _rates(folder: Path, size: int) -> Iterator[dict[str, Any]]:
    """Bytes per second of requests anywhere in a file, over their length and how many are in flight."""
    path = folder / "rates"
    descriptor = created(path, size)
    try:
        whole = [((), [piece]) for piece in in_pieces(0, size, REQUEST, size)]
        moved(descriptor, descriptor, whole, 4)  # so that there is something to read
        order = random.Random(0)  # noqa: S311  # places in a file, the same ones every time
        for length in LENGTHS:
            if length > size:
                break
            for depth in DEPTHS:
                for what in ("read", "write"):
                    count = min(max(64, (24 << 20) // length), (192 << 20) // length)
                    some = [(order.randrange(size // length) * length, length) for _ in range(count)]
                    begin = time.perf_counter()
                    moved(descriptor, descriptor, [(some, ()) if what == "read" else ((), some)], depth)
                    seconds = time.perf_counter() - begin
                    yield {
                        "case": f"requests of {format_bytes(length)}, {depth} in flight",
                        "by": what,
                        "request_bytes": length,
                        "in_flight": depth,
                        "seconds": None,
                        "throughput": count * length / seconds,
                        "to_plain": None,
                    }
    finally:
        os.close(descriptor)
        path.unlink()
