"""Results kept for the objects that they were made from, which are compared by identity: faster than any comparison by value."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from isoviz.forks import Lock

T = TypeVar("T")


class Remembered(Generic[T]):
    """The latest results, by the identity of frozen objects. Any thread may ask."""

    def __init__(self, most: int = 8) -> None:
        self._most = most
        self._lock = Lock()
        self._kept: OrderedDict[tuple[int, ...], tuple[tuple[object, ...], T]] = OrderedDict()

    def of(self, make: Callable[[], T], *objects: object) -> T:
        """The result for these objects: the one that was made last, else that of `make`."""
        key = tuple(map(id, objects))
        with self._lock:
            if (found := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return found[1]
        made = make()
        with self._lock:
            self._kept[key] = (objects, made)  # the objects live as long as their key: no other object gets their identity
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return made
