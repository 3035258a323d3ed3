"""Transfers to a GPU over several hops: arrays of structs that are converted on the way, and array files."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.bench.aims import compared, row
from isoviz.bench.files import created, forget, generated, in_pieces, moved, opened
from isoviz.bench.gpu.bench import DSK, FBM, SYS, ZCM, left_out, medians
from isoviz.bench.gpu.links import SHORT
from isoviz.bench.table import seconds_of
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.planner import Plan, Transfer, plan_by_path
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.backends.pages import Bytes
    from isoviz.bench.gpu.bench import GpuBench

STRUCTS_AIM = 0.95
FIELDS = (2, 8)
"""Fields of float32 of a struct."""
FILES_AIM = 0.9
THREADS, REQUEST = 8, 1 << 20
"""The plain requests: threads, and bytes of each."""
WORD = FieldSpace(v="uint32")
PATH = (DSK, ZCM, FBM)


def structs_to_gpu(bench: GpuBench) -> Iterator[dict[str, Any]]:
    """Both directions, from pinned and pageable memory: beside contiguous bytes by isoviz itself, CuPy and PyTorch."""
    for memory in (ZCM, SYS):
        for fields in FIELDS:
            for up in (True, False):
                if bench.has_time:
                    yield from _structs(bench, memory, fields, up)
                else:
                    yield left_out("structs", f"{fields} fields, {SHORT[memory]} {'→' if up else '←'} GPU")
        bench.tidy()


def _structs(bench: GpuBench, memory: str, fields: int, up: bool) -> Iterator[dict[str, Any]]:
    space = IndexSpace(x=bench.sizes.structs // (4 * fields))
    kinds = FieldSpace.of({f"f{k}": "f4" for k in range(fields)})
    nbytes = space.sizes[0] * kinds.nbytes
    host, device = bench.host(memory, nbytes), bench.device(nbytes)[:nbytes]
    path = (memory, FBM) if up else (FBM, memory)
    layouts = ("<F, x>", "<x, F>") if up else ("<x, F>", "<F, x>")
    turning = plan_by_path(Transfer.whole(space, kinds, path[0], layouts[0], path[1], layouts[1]), bench.machine, path)
    ends: tuple[Any, Any] = (host, device) if up else (device, host)
    work = _by_cupy(bench, host, device, fields, up)
    ways: dict[str, Callable[[], float]] = {
        "isoviz": bench.submitted(turning, *ends),
        "contiguous bytes by isoviz": bench.submitted(bench.plan(nbytes, *path), *ends),
        "CuPy": lambda: seconds_of(work),
    }
    if bench.torch is not None:
        floats = host.view(np.float32)
        torched: Callable[[], object] = (
            bench.torch.from_host(floats, fields) if up else bench.torch.to_host(device.view(np.float32), floats, fields)
        )
        ways["PyTorch"] = lambda: seconds_of(torched)
    times = bench.in_turn(ways)
    bench.check("structs", ways["isoviz"], ends[1], _turned(host if up else device.get(), fields, up))
    sides = f"AOS {SHORT[memory]} → SOA GPU" if up else f"SOA GPU → AOS {SHORT[memory]}"
    what = f"{format_bytes(nbytes)}, {sides}, {fields} × 4 B"
    found = {"ways": medians(times)}
    yield {**compared("structs", what, times, "isoviz", "contiguous bytes by isoviz", STRUCTS_AIM), **found}
    for peer in ("CuPy", "PyTorch"):
        if peer in times:
            yield {**compared("structs", what, times, "isoviz", peer), **found}


def _turned(array: Bytes, fields: int, up: bool) -> Bytes:
    """Structs as a struct of arrays, or the other way round, by NumPy."""
    matrix = array.view(np.float32).reshape((-1, fields) if up else (fields, -1))
    return np.ascontiguousarray(matrix.T).reshape(-1).view(np.uint8)


def _by_cupy(bench: GpuBench, host: Any, device: Any, fields: int, up: bool) -> Callable[[], object]:
    """The whole array to the GPU and a transposition there, or the other way round, until it has ended."""
    cupy, runtime = bench.cupy, bench.runtime
    floats = host.view(np.float32).reshape(-1, fields)
    if up:

        def work() -> Any:
            found = cupy.ascontiguousarray(cupy.asarray(floats).T)
            runtime.deviceSynchronize()
            return found
    else:
        arrays = device.view(np.float32).reshape(fields, -1)

        def work() -> Any:
            return cupy.ascontiguousarray(arrays.T).get(out=floats)

    return work


def files_to_gpu(bench: GpuBench) -> Iterator[dict[str, Any]]:
    """Both directions. A file is out of the page cache before it is read, and on the disk when it is written."""
    words = bench.sizes.file // 4
    nbytes = 4 * words
    source, target = generated(bench.folder / "in.npy", (words,), np.dtype("u4")), bench.folder / "out.npy"
    device, pinned = bench.device(nbytes)[:nbytes], bench.host(ZCM, nbytes)

    def by_hand(path: tuple[str, ...]) -> Plan:
        ends = path[0], "<F, x>", path[-1], "<F, x>"
        return plan_by_path(Transfer.whole(IndexSpace(x=words), WORD, *ends), bench.machine, path)

    def read() -> float:
        forget(source)
        return bench.engine.run(by_hand(PATH), source, device, verify=False).seconds

    def written() -> float:
        return bench.engine.run(by_hand(PATH[::-1]), device, target, verify=False).seconds

    up: dict[str, Callable[[], float]] = {
        "isoviz": read,
        "disk": lambda: _plainly(source, nbytes, reads=True),
        "link": lambda: bench.bare(device.data.ptr, pinned.ctypes.data, nbytes),
    }
    times = bench.in_turn(up)
    bench.check("file → GPU", read, device, np.load(source).view("u1"))
    yield _row(f"{format_bytes(nbytes)}, file → pinned → GPU", times)
    down: dict[str, Callable[[], float]] = {
        "isoviz": written,
        "disk": lambda: _plainly(bench.folder / "plain", nbytes, reads=False),
        "link": lambda: bench.bare(pinned.ctypes.data, device.data.ptr, nbytes),
    }
    times = bench.in_turn(down)
    bench.check_equal("GPU → file", device, np.load(target).view("u1"))
    yield _row(f"{format_bytes(nbytes)}, GPU → pinned → file", times)
    source.unlink()
    target.unlink()


def _row(what: str, times: dict[str, list[float]]) -> dict[str, Any]:
    slower = [max(both) for both in zip(times["disk"], times["link"], strict=True)]
    ratio = statistics.median(limit / mine for limit, mine in zip(slower, times["isoviz"], strict=True))
    mine, limit = statistics.median(times["isoviz"]), statistics.median(slower)
    found = row("files", what, mine, "the slower of disk and link, alone", limit, FILES_AIM, ratio=ratio)
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
