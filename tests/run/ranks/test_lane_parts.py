"""The parts of a lane to pageable memory: several threads may carry them out at a time."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from isoviz import FieldSpace, IndexSpace, Layout
from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.mpi.lanes.lane_ends import LaneAddress
from isoviz.backends.mpi.lanes.lanes import _written_parts
from isoviz.backends.mpi.lanes.other_process import check_reach
from isoviz.errors import RunError
from isoviz.layouts import Box, View, strided_copies
from isoviz.runtime.ranks.handles import StoreHandle

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux writes to the memory of another process")


def test_parts_at_a_time() -> None:
    """This process writes to itself. Each part is packed first, in a room that all parts share."""
    space, fields = IndexSpace(x=512, y=256), FieldSpace(v="V64")
    ends = [Layout(text).on(space, fields) for text in ("<F, x, y>", "<F, y, x>")]
    copies = strided_copies(View(ends[0]), View(ends[1]), Box.whole(space))
    source = np.random.default_rng(3).integers(0, 256, ends[0].nbytes, np.uint8)
    destination = np.zeros(ends[1].nbytes, np.uint8)
    store = StoreHandle(0, 1, destination.nbytes, None)
    address = LaneAddress(store, store, os.getpid(), destination.ctypes.data)
    parts = _written_parts(copies, HostStore(source), address)
    assert len(parts) >= 8 and sum(part.nbytes for part in parts) == source.nbytes
    expected = source.reshape(256, 512, 64).transpose(1, 0, 2).reshape(-1)
    for _ in range(5):
        destination[:] = 0
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda part: [move() for move in part.moves], parts))
        assert np.array_equal(destination, expected)


def test_memory_that_is_not_there() -> None:
    with pytest.raises(RunError, match="cannot be reached"):
        check_reach(os.getpid(), 8)
