"""Compilation or loading of the kernels: one call of each, with the argument types that `dispatch` uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoviz.backends.host.kernels.pattern import pattern_of

if TYPE_CHECKING:
    from types import ModuleType


def warm_up(compiled: ModuleType) -> None:
    """Compile the kernels of a module, or load them; each call moves a few bytes between scratch arrays."""
    none, zeros = np.zeros(0, np.int64), np.zeros((1, 8), np.int64)
    one = np.ones(1, np.int64)
    data = np.zeros(64, np.uint8)
    address = data.ctypes.data
    zeros[0, 2] = 1
    zeros[0, 4:6] = -1
    compiled.walk(address, address, address, one, one, zeros, np.zeros((0, 5), np.int64), -1, one, False, False)
    compiled.stream_rows(address, address, none, none, none, 1, False)
    jobs, outs = np.array([[0, 0, 1, 1, 1, 0]]), np.zeros((0, 5), np.int64)
    compiled.copy_tiles(address, address, address, one, one, jobs, outs, -1, np.zeros(1, np.int64), 1, 1, 1, False)
    compiled.copy_many(address, address, np.array([[0, 0, 1, 0, 1]]), np.array([[1, 1, 1]]))
    if hasattr(compiled, "shuffle_lines"):
        found = pattern_of(((0, 0, 3, ((1 << 20, 6, 3), (2, 3, 3 << 20))),), 0)
        assert found is not None
        compiled.shuffle_lines(address, address, *found._replace(pieces=found.pieces[:0], repeats=0))
    room, order = np.zeros(4096, np.uint8), np.zeros((16, 64), np.uint8)
    at = room.ctypes.data
    compiled.turn_squares(at, at, none, none, none, 16, 4, 64, none, 4, 64, none, 1, 0, False, False, False, order, at + 1024)
    if hasattr(compiled, "permute_blocks"):
        two = np.ones(2, np.int64)
        compiled.turn_lines(address, address, none, none, none, 0, two, two, 2, False)
        compiled.gather_lines(address, address, none, none, none, 0, two, 0, two, 1, 32, np.ones(4, np.int64))
        compiled.permute_blocks(address, address, np.zeros(1, np.int64), one, one, 2, 0, np.zeros(32, np.int32), False)
