"""A machine with one GPU of this computer, and arrays of a caller in its memories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from isoviz import FieldSpace, IndexSpace, Machine, Plan, Transfer, plan
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Memory, MemoryKind

FBM, ZCM, SYS, DSK = "node0.fbm0", "node0.zcm", "node0.sys", "node0.dsk"
Bytes = np.ndarray[Any, np.dtype[np.uint8]]


def machine() -> Machine:
    kinds = {FBM: MemoryKind.FBM, ZCM: MemoryKind.ZCM, SYS: MemoryKind.SYS, DSK: MemoryKind.DSK}
    memories = tuple(Memory(name, kind) for name, kind in kinds.items())
    rate = LatencyBandwidth(1e-7, 1e10)
    joined = (
        (FBM, FBM, ChannelKind.GPU_COPY),
        *((FBM, name, ChannelKind.GPU_READ) for name in (ZCM, SYS)),
        *((name, FBM, ChannelKind.GPU_WRITE) for name in (ZCM, SYS)),
        *((DSK, name, ChannelKind.DISK_READ) for name in (ZCM, SYS)),
        *((name, DSK, ChannelKind.DISK_WRITE) for name in (ZCM, SYS)),
        *((a, b, ChannelKind.MEMCPY) for a in (ZCM, SYS) for b in (ZCM, SYS)),
    )
    return Machine("this GPU", memories, tuple(Channel("", kind, a, b, rate, max_in_flight=2) for a, b, kind in joined))


def structs(nbytes: int, near: str, far: str, layout: str = "<x, F>") -> Plan:
    """A plan for structs of about `nbytes` bytes, which become what `layout` says."""
    fields = FieldSpace(re="f4", im="f4", tag="i2")
    space = IndexSpace(x=max(1, nbytes // fields.nbytes))
    return plan(Transfer.whole(space, fields, near, "<F, x>", far, layout), machine())


def held(memory: str, data: Bytes, path: Path) -> Any:
    """Some bytes as a caller passes them, in a memory."""
    import cupy

    if memory == FBM:
        return cupy.asarray(data)
    if memory == ZCM:
        room = np.frombuffer(cupy.cuda.alloc_pinned_memory(max(1, len(data))), np.uint8, len(data))
        room[:] = data
        return room
    if memory == DSK:
        data.tofile(path)
        return path
    return data.copy()


def taken(given: Any) -> Bytes:
    """The bytes of what `held` returned."""
    if isinstance(given, Path):
        return np.fromfile(given, np.uint8)
    return given if isinstance(given, np.ndarray) else given.get()
