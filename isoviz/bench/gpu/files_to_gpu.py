"""A file to the GPU and back, beside the slower of the disk and the link of the GPU."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.bench.files.array_files import forget, generated
from isoviz.bench.files.plain_requests import created, in_pieces, moved, opened
from isoviz.bench.gpu.gpu_here import DSK, FBM, ZCM, medians
from isoviz.bench.result_rows import row
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.planner import Plan, Transfer, cost
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.bench.gpu.gpu_here import GpuHere

AIM = 0.9
THREADS, REQUEST = 8, 1 << 20
"""The plain requests: threads, and bytes of each."""
WORD = FieldSpace(v="uint32")
PATH = (DSK, ZCM, FBM)


def files_to_gpu(here: GpuHere) -> Iterator[dict[str, Any]]:
    """Both directions. A file is out of the page cache before it is read, and on the disk when it is written."""
    words = here.sizes.file // 4
    nbytes = 4 * words
    source, target = generated(here.folder / "in.npy", (words,), np.dtype("u4")), here.folder / "out.npy"
    device, pinned = here.device(nbytes)[:nbytes], here.host(ZCM, nbytes)

    def by_hand(path: tuple[str, ...]) -> Plan:
        ends = path[0], "<F, x>", path[-1], "<F, x>"
        return cost(Transfer.whole(IndexSpace(x=words), WORD, *ends), here.machine, path)

    def read() -> float:
        forget(source)
        return here.engine.run(by_hand(PATH), source, device, verify=False).seconds

    def written() -> float:
        return here.engine.run(by_hand(PATH[::-1]), device, target, verify=False).seconds

    up: dict[str, Callable[[], float]] = {
        "isoviz": read,
        "disk": lambda: _plainly(source, nbytes, reads=True),
        "link": lambda: here.bare(device.data.ptr, pinned.ctypes.data, nbytes),
    }
    times = here.in_turn(up)
    here.check("file → GPU", read, device, np.load(source).view("u1"))
    yield _row(f"{format_bytes(nbytes)}, file → pinned → GPU", times)
    down: dict[str, Callable[[], float]] = {
        "isoviz": written,
        "disk": lambda: _plainly(here.folder / "plain", nbytes, reads=False),
        "link": lambda: here.bare(pinned.ctypes.data, device.data.ptr, nbytes),
    }
    times = here.in_turn(down)
    here.check_equal("GPU → file", device, np.load(target).view("u1"))
    yield _row(f"{format_bytes(nbytes)}, GPU → pinned → file", times)
    source.unlink()
    target.unlink()


def _row(what: str, times: dict[str, list[float]]) -> dict[str, Any]:
    slower = [max(both) for both in zip(times["disk"], times["link"], strict=True)]
    ratio = statistics.median(limit / mine for limit, mine in zip(slower, times["isoviz"], strict=True))
    mine, limit = statistics.median(times["isoviz"]), statistics.median(slower)
    found = row("files", what, mine, "the slower of disk and link, alone", limit, AIM, ratio=ratio)
    return {**found, "ways": medians(times)}


def _plainly(path: Path, nbytes: int, reads: bool) -> float:
    """Seconds of the same requests without anything else."""
    pieces = in_pieces(0, nbytes, REQUEST, -(-nbytes // REQUEST) * REQUEST)
    if reads:
        forget(path)
        descriptor = opened(path)
    else:
        descriptor = created(path, -(-nbytes // REQUEST) * REQUEST)
    try:
        return moved(descriptor, descriptor, [([piece], []) if reads else ([], [piece]) for piece in pieces], THREADS)
    finally:
        os.close(descriptor)
        if not reads:
            path.unlink()
