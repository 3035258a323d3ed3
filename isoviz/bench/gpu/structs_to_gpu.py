"""Arrays of structs in host memory to structs of arrays in the GPU, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.bench.gpu.gpu_here import FBM, SYS, ZCM, medians
from isoviz.bench.gpu.gpu_report import left_out
from isoviz.bench.gpu.host_links import SHORT
from isoviz.bench.result_rows import compared
from isoviz.bench.table import seconds_of
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.planner import Transfer, cost
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.backends.pages import Bytes
    from isoviz.bench.gpu.gpu_here import GpuHere

AIM = 0.95
FIELDS = (2, 8)
"""Fields of float32 of a struct."""


def structs_to_gpu(here: GpuHere) -> Iterator[dict[str, Any]]:
    """Both directions, from pinned and pageable memory: beside contiguous bytes by isoviz itself, CuPy and PyTorch."""
    for memory in (ZCM, SYS):
        for fields in FIELDS:
            for up in (True, False):
                if here.has_time:
                    yield from _structs(here, memory, fields, up)
                else:
                    yield left_out("structs", f"{fields} fields, {SHORT[memory]} {'→' if up else '←'} GPU")
        here.tidy()


def _structs(here: GpuHere, memory: str, fields: int, up: bool) -> Iterator[dict[str, Any]]:
    space = IndexSpace(x=here.sizes.structs // (4 * fields))
    kinds = FieldSpace.of({f"f{k}": "f4" for k in range(fields)})
    nbytes = space.sizes[0] * kinds.nbytes
    host, device = here.host(memory, nbytes), here.device(nbytes)[:nbytes]
    path = (memory, FBM) if up else (FBM, memory)
    layouts = ("<F, x>", "<x, F>") if up else ("<x, F>", "<F, x>")
    turning = cost(Transfer.whole(space, kinds, path[0], layouts[0], path[1], layouts[1]), here.machine, path)
    ends: tuple[Any, Any] = (host, device) if up else (device, host)
    work = _by_cupy(here, host, device, fields, up)
    ways: dict[str, Callable[[], float]] = {
        "isoviz": here.submitted(turning, *ends),
        "contiguous bytes by isoviz": here.submitted(here.plan(nbytes, *path), *ends),
        "CuPy": lambda: seconds_of(work),
    }
    if here.torch is not None:
        floats = host.view(np.float32)
        torched: Callable[[], object] = (
            here.torch.from_host(floats, fields) if up else here.torch.to_host(device.view(np.float32), floats, fields)
        )
        ways["PyTorch"] = lambda: seconds_of(torched)
    times = here.in_turn(ways)
    here.check("structs", ways["isoviz"], ends[1], _turned(host if up else device.get(), fields, up))
    sides = f"AOS {SHORT[memory]} → SOA GPU" if up else f"SOA GPU → AOS {SHORT[memory]}"
    what = f"{format_bytes(nbytes)}, {sides}, {fields} × 4 B"
    found = {"ways": medians(times)}
    yield {**compared("structs", what, times, "isoviz", "contiguous bytes by isoviz", AIM), **found}
    for peer in ("CuPy", "PyTorch"):
        if peer in times:
            yield {**compared("structs", what, times, "isoviz", peer), **found}


def _turned(array: Bytes, fields: int, up: bool) -> Bytes:
    """Structs as a struct of arrays, or the other way round, by NumPy."""
    matrix = array.view(np.float32).reshape((-1, fields) if up else (fields, -1))
    return np.ascontiguousarray(matrix.T).reshape(-1).view(np.uint8)


def _by_cupy(here: GpuHere, host: Any, device: Any, fields: int, up: bool) -> Callable[[], object]:
    """The whole array to the GPU and a transposition there, or the other way round, until it has ended."""
    cupy, runtime = here.cupy, here.runtime
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
