"""A store of another rank, read in large blocks: a message for every short run would take most of the time of a verification."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.runtime.device_bases import BaseStore

if TYPE_CHECKING:
    from isoviz.runtime.protocols import Store

BLOCK = 1 << 20
"""Bytes of a block."""
KEPT = 64
"""Blocks that are kept. Verification reads tile by tile, so that a block is used by few neighbouring tiles."""

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class FetchedStore(BaseStore):
    """A store that is read from another rank in blocks, the last of them kept. It is for one thread. `close` closes the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.nbytes = store.nbytes
        self._blocks: OrderedDict[int, Bytes] = OrderedDict()

    def read(self, offset: int, nbytes: int) -> Bytes:
        first, last = offset // BLOCK, max(offset, offset + nbytes - 1) // BLOCK
        if first == last:
            at = offset - first * BLOCK
            return self._block(first)[at : at + nbytes]
        found = np.empty(nbytes, np.uint8)
        done = 0
        for number in range(first, last + 1):
            at = offset + done - number * BLOCK
            piece = self._block(number)[at : at + nbytes - done]
            found[done : done + piece.size] = piece
            done += piece.size
        return found

    def _block(self, number: int) -> Bytes:
        found = self._blocks.get(number)
        if found is None:
            begin = number * BLOCK
            read = self._store.read(begin, min(BLOCK, self.nbytes - begin))
            found = self._blocks[number] = read if isinstance(read, np.ndarray) else np.frombuffer(read, np.uint8)
            if len(self._blocks) > KEPT:
                self._blocks.popitem(last=False)
        else:
            self._blocks.move_to_end(number)
        return found

    def close(self) -> None:
        self._blocks.clear()
        self._store.close()
