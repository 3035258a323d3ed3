"""What a prepared transfer keeps belongs to its arrays: others at the same addresses never get it."""

from __future__ import annotations

import ctypes
import gc
import mmap
import weakref
from functools import lru_cache

import numpy as np
import pytest

import isoviz
from isoviz import Engine, FieldSpace, IndexSpace, Machine, Plan, Transfer, plan
from isoviz.errors import ArrayError, InputError
from isoviz.machines import Channel, LatencyBandwidth, Memory

PAGES = 1 << 21
"""Bytes of the arrays. The allocator maps so many anew, mostly where the last ones were."""


@lru_cache
def machine() -> Machine:
    channel = Channel("", "Memcpy", "node0.a", "node0.a", LatencyBandwidth(1e-7, 1e9))
    return Machine("one memory", (Memory("node0.a", "SYS", 0),), (channel,))


def turned(rows: int, columns: int, dtype: str) -> Plan:
    """A transposition."""
    space, fields = IndexSpace(x=columns, y=rows), FieldSpace(a=dtype)
    return plan(Transfer.whole(space, fields, "node0.a", "<F, x, y>", "node0.a", "<F, y, x>"), machine())


SHAPES = [(64, 128, "<f4"), (32, 32, "<f8"), (500, 3, "<i2"), (1, 1, "u1"), (700, 700, "<f4")]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_addresses_with_other_shapes(shape: tuple[int, int, str]) -> None:
    """Another array at the same address has another type and another shape, and each transfer moves its own bytes."""
    room = np.zeros((2, PAGES), np.uint8)
    rng = np.random.default_rng(1)
    with Engine(machine()) as engine:
        for rows, columns, dtype in [*SHAPES, shape, shape[::-1][1:] + shape[2:]]:
            size = rows * columns * np.dtype(dtype).itemsize
            here, there = (each[:size].view(dtype).reshape(rows, columns) for each in room)
            here.view(np.uint8)[:] = rng.integers(0, 256, here.view(np.uint8).shape, np.uint8)
            there = there.reshape(columns, rows)
            with engine.prepare(turned(rows, columns, dtype), here, there) as prepared:
                for _ in range(2):
                    prepared.start().wait()
                    assert np.array_equal(there.view(np.uint8), np.ascontiguousarray(here.T).view(np.uint8))
                    here.view(np.uint8)[:] ^= 85


def test_freed_and_made_again() -> None:
    """Pages that went back to the system come again at the same address, for an array of another shape."""
    same = 0
    before: set[int] = set()
    with Engine(machine()) as engine:
        for turn, (rows, columns, dtype) in enumerate(SHAPES * 3):
            size = rows * columns * np.dtype(dtype).itemsize
            rooms = [mmap.mmap(-1, PAGES) for _ in range(2)]
            here, there = (np.frombuffer(each, np.uint8)[:size].view(dtype) for each in rooms)
            same += len(before & {here.ctypes.data, there.ctypes.data})
            before = {here.ctypes.data, there.ctypes.data}
            here, there = here.reshape(rows, columns), there.reshape(columns, rows)
            here.view(np.uint8)[:] = turn + 1
            here.flat[0] = 0
            prepared = engine.prepare(turned(rows, columns, dtype), here, there)
            prepared.start().wait()
            assert np.array_equal(there, here.T)
            with pytest.raises(BufferError):  # the transfer keeps its array
                rooms[0].close()
            del here, there
            prepared.close()
            with pytest.raises(InputError, match="closed"):
                prepared.start()
            for each in rooms:
                each.close()
    assert same


def test_arrays_live_as_long_as_the_prepared_transfer() -> None:
    with Engine(machine()) as engine:
        kept = np.arange(64 * 128, dtype="<f4").reshape(64, 128)
        there = np.zeros((128, 64), "<f4")
        gone = weakref.ref(kept)
        prepared = engine.prepare(turned(64, 128, "<f4"), kept, there)
        del kept
        gc.collect()
        assert gone() is not None
        with pytest.raises(ValueError, match="resize"):
            there.resize(4)
        prepared.start().wait()
        assert np.array_equal(there, np.arange(64 * 128, dtype="<f4").reshape(64, 128).T)
        prepared.close()
        del prepared
        gc.collect()
        assert gone() is None


def test_another_array_at_the_address_is_asked_anew() -> None:
    """What was found out about an array is not taken for another one there, of another size."""
    memory = (ctypes.c_uint8 * 4096)()
    large, small = np.frombuffer(memory, "<f4", 1000), np.frombuffer(memory, "<f4", 10)
    space = IndexSpace(x=1000)
    made = plan(Transfer.whole(space, FieldSpace(a="<f4"), "node0.a", "<F, x>", "node0.a", "<F, x>"), machine())
    there = np.zeros(1000, "<f4")
    with Engine(machine()) as engine:
        engine.prepare(made, large, there).close()
        with pytest.raises(ArrayError):
            engine.prepare(made, small, there)
        with pytest.raises(ArrayError):
            isoviz.run(made, small, there)
