"""Host memory (SYS): page-aligned arrays, and the copy between two of them."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.lib.array_utils import byte_bounds

from isoviz.backends.formats.arrays import opened_array
from isoviz.backends.formats.stored import array_instance
from isoviz.backends.generate import fill
from isoviz.backends.host import kernels
from isoviz.backends.host.copying import copy_all, prepared_copies
from isoviz.backends.host.kernels.many import order_of
from isoviz.backends.pages import HUGE, PAGE, Bytes, page_aligned, touch
from isoviz.errors import TransferError
from isoviz.layouts.given_arrays import is_host_array
from isoviz.planner.bundled.stream import stretches
from isoviz.runtime.device_bases import BaseChannel, BaseEndpoint, BaseMemory, BaseSlot
from isoviz.runtime.protocols import Holds
from isoviz.this_computer import numa_nodes

if TYPE_CHECKING:
    from isoviz.layouts import Layout, StridedCopy
    from isoviz.layouts.copies import Loop
    from isoviz.planner import Instance
    from isoviz.planner.bundled.bundle import BundleEnd
    from isoviz.runtime.protocols import Check, Endpoint, Store


# Host memory on one NUMA node: the check of its number, and fresh pages from it.
#
# The node is preferred, not required: if it is full, the system takes pages from another node instead of ending the
# process.

_MBIND = {"x86_64": 237, "aarch64": 235, "riscv64": 235, "ppc64le": 259, "s390x": 268}
"""Numbers of the Linux system call `mbind`, which has no wrapper in the C library."""
_PREFERRED = 1
"""`MPOL_PREFERRED` of Linux's `mempolicy.h`."""
_MOST = 1024
"""The most nodes that Linux supports, and so the bits of a node mask."""


def node_of(name: str, device: int | None) -> int | None:
    """The NUMA node of a host memory, from its `device` in the machine description.

    None if there is no choice: without a device, or on a computer with one node.

    Raises:
        TransferError: this computer has no such node.
    """
    if device is None:
        return None
    known = [node.number for node in numa_nodes()] or [0]
    if device not in known:
        raise TransferError(
            f"memory {name}: is bound to NUMA node {device}, which is not on this computer; it has {', '.join(map(str, known))}"
        )
    return device if len(known) > 1 else None


def prefer(array: Bytes, node: int) -> str | None:
    """Ask the system to take the pages of an array from a NUMA node.

    The array is page-aligned and not yet touched. Returns the reason if the system refuses.
    """
    number = _MBIND.get(platform.machine()) if platform.system() == "Linux" else None
    if number is None:
        return f"no such system call is known on {platform.system()}, {platform.machine()}"
    if not array.size:
        return None
    mask = (ctypes.c_ulong * (_MOST // (8 * ctypes.sizeof(ctypes.c_ulong))))()
    word, bit = divmod(node, 8 * ctypes.sizeof(ctypes.c_ulong))
    mask[word] = 1 << bit
    nbytes = -(-array.nbytes // PAGE) * PAGE
    arguments = ctypes.c_void_p(array.ctypes.data), ctypes.c_ulong(nbytes), ctypes.c_int(_PREFERRED)
    rest = mask, ctypes.c_ulong(_MOST + 1), ctypes.c_uint(0)
    if _library().syscall(ctypes.c_long(number), *arguments, *rest) == 0:
        return None
    return os.strerror(ctypes.get_errno())


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


SMALL = 256 << 10
"""Bytes that a disk moves as one request, independent of their number of pages."""
WORTH_KERNELS = 4 << 20
"""Bytes from which loading the compiled kernels, about a second, pays."""
_YES, _NO = Holds.YES, Holds.NO
"""Kept as names for small copies: the look-up of an enum member takes as long as the rest of `holds`."""
LARGE = 16 << 20
"""Bytes from which data do not stay in caches."""


class HostStore(BaseEndpoint, BaseSlot):
    """Bytes of host memory: one end of a transfer, or a slot."""

    reads_in_place = True

    def __init__(
        self,
        array: Bytes,
        nbytes: int | None = None,
        notes: tuple[str, ...] = (),
        give_back: Callable[[Bytes], None] | None = None,
        lies: Instance | None = None,
    ) -> None:
        self._room: Bytes | None = array
        self._give_back = give_back
        self.lies = lies
        self.nbytes = len(array) if nbytes is None else nbytes
        self.notes = notes
        self._shift = 0
        self.is_large = give_back is None and self.nbytes >= LARGE
        """Whether the data are not read again soon: this is an end of a large transfer, not a slot."""

    @property
    def array(self) -> Bytes:
        """The bytes, uint8 of shape (nbytes,)."""
        assert self._room is not None, "the store is closed"
        return self._room[self._shift : self._shift + self.nbytes]

    @property
    def identity(self) -> object:
        """The address range; overlapping ranges compare equal."""
        return HostRange(self.array)

    def holds(self, low: int, high: int) -> bool:
        """Whether all bytes from `low` to `high` belong to the store."""
        return 0 <= low <= high <= self.nbytes

    def place(self, shift: int) -> None:
        """Begin `shift` bytes after the page boundary."""
        assert self._room is not None and shift + self.nbytes <= len(self._room)
        self._shift = shift

    def clear(self) -> None:
        """Fill with zeros."""
        self.array[:] = 0

    def read(self, offset: int, nbytes: int) -> Bytes:
        """A view of the bytes."""
        return self.array[offset : offset + nbytes]

    def close(self) -> None:
        room, self._room = self._room, None
        if room is not None and self._give_back is not None:
            self._give_back(room)


class HostRange:
    """The addresses of some bytes. Overlapping ranges compare equal."""

    __slots__ = ("parts",)

    def __init__(self, *arrays: Bytes) -> None:
        self.parts = arrays

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HostRange):
            return False
        if len(self.parts) == len(other.parts) == 1:
            return np.may_share_memory(self.parts[0], other.parts[0])
        reach = [-1, -1]
        for low, end, mine in sorted([(*byte_bounds(each), k) for k, of in enumerate((self, other)) for each in of.parts]):
            if low < reach[1 - mine]:
                return True
            reach[mine] = max(reach[mine], end)
        return False

    __hash__ = None  # type: ignore[assignment]  # Overlap is not transitive.


class Addresses:
    """Host memory from the first to the last byte of some arrays, which NumPy takes as an array: not all of it need exist.

    It keeps the arrays. Nobody may read or write other bytes of it than theirs.
    """

    def __init__(self, arrays: Sequence[Bytes]) -> None:
        bounds = [byte_bounds(each) for each in arrays]
        self._kept = arrays
        self.first = min(low for low, _ in bounds)
        self.starts = [low - self.first for low, _ in bounds]
        nbytes = max(end for _, end in bounds) - self.first
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "shape": (nbytes,), "data": (self.first, False)}


class JoinedStore(HostStore):
    """The arrays at an end of a bundle, as one store. Only the bytes of the arrays belong to it."""

    def __init__(self, stores: Sequence[HostStore], end: BundleEnd) -> None:
        self.arrays = [store.array for store in stores]
        addresses = Addresses(self.arrays)
        notes = tuple(dict.fromkeys(note for store in stores for note in store.notes))
        super().__init__(np.asarray(addresses), notes=notes)
        self.lies = end.placed(addresses.starts, [store.lies for store in stores])
        self.is_large = sum([store.nbytes for store in stores]) >= LARGE
        self._stores = stores
        self._stretches = stretches((low, low + len(each)) for low, each in zip(addresses.starts, self.arrays, strict=True))

    @property
    def identity(self) -> object:
        return HostRange(*self.arrays)

    def holds(self, low: int, high: int) -> bool:
        at = bisect_right(self._stretches, (low, self.nbytes)) - 1
        return at >= 0 and low <= high <= self._stretches[at][1]

    def clear(self) -> None:
        for store in self._stores:
            store.clear()

    def close(self) -> None:
        super().close()
        for store in self._stores:
            store.close()


class HostMemory(BaseMemory):
    """SYS: host memory of this process.

    Up to `kept` bytes of closed slots are kept for later slots of the same size, because getting fresh pages from the system
    takes as long as filling them. Smaller slots share huge pages.

    The pages come from NUMA node `numa`; None leaves the node to the system. With `stands_in` the memory emulates another kind:
    it is host memory too, but does not hold the arrays that callers pass to `copy`.
    """

    takes = "a NumPy array"
    lends_views = True

    def __init__(self, name: str, kept: int = 256 << 20, *, numa: int | None = None, stands_in: bool = False) -> None:
        super().__init__(name)
        self._most = kept
        self._numa = numa
        self._stands_in = stands_in
        if stands_in:
            self.takes = ""
        if numa is not None and (reason := prefer(page_aligned(PAGE), numa)):
            self._numa = None
            self.notes = (f"{name}: its pages are not bound to NUMA node {numa}: {reason}",)
        self._kept: OrderedDict[int, list[Bytes]] = OrderedDict()
        self._kept_bytes = 0
        self._left = page_aligned(0)
        """The unused rest of the huge pages that smaller slots share."""
        self._lock = threading.Lock()

    def slot(self, nbytes: int) -> HostStore:
        size = -(-nbytes // PAGE) * PAGE + PAGE
        with self._lock:
            rooms = self._kept.get(size)
            room = rooms.pop() if rooms else None
            if room is not None:
                self._kept_bytes -= size
        if room is None:
            room = self._part(size) if SMALL <= size < 2 * HUGE else self._fresh(size)
            touch(room)
        return HostStore(room, nbytes, give_back=self._keep)

    def _fresh(self, nbytes: int) -> Bytes:
        """Pages that were not touched yet."""
        array = page_aligned(nbytes)
        if self._numa is not None:
            prefer(array, self._numa)
        return array

    def _part(self, size: int) -> Bytes:
        with self._lock:
            if len(self._left) < size:
                self._left = self._fresh(4 * HUGE)
            room, self._left = self._left[:size], self._left[size:]
        return room

    def _keep(self, room: Bytes) -> None:
        with self._lock:
            self._kept.setdefault(len(room), []).append(room)
            self._kept.move_to_end(len(room))
            self._kept_bytes += len(room)
            while self._kept_bytes > self._most:
                size, rooms = next(iter(self._kept.items()))
                if rooms:
                    rooms.pop()
                    self._kept_bytes -= size
                else:
                    del self._kept[size]

    def source(self, instance: Instance, given: Any | None) -> HostStore:
        if given is not None:
            array, lies = opened_array(given, instance, "source")
            return HostStore(array, notes=() if self._numa is None else self._of_given("source"), lies=lies)
        array = self._fresh(_size(instance))
        fill(array, 0)
        return HostStore(array, notes=("the source holds generated data",))

    def destination(self, instance: Instance, given: Any | None, partial: bool) -> HostStore:  # noqa: ARG002  # required by the protocol
        if given is not None:
            array, lies = opened_array(given, instance, "destination")
            return HostStore(array, notes=() if self._numa is None else self._of_given("destination"), lies=lies)
        array = self._fresh(_size(instance))
        touch(array)
        return HostStore(array)

    def together(self, stores: Sequence[Endpoint], end: BundleEnd) -> HostStore:
        return JoinedStore([cast("HostStore", store) for store in stores], end)

    def _of_given(self, end: str) -> tuple[str, ...]:
        """The notes about an array from the caller, for a memory that is bound to a NUMA node."""
        return (f"{self.name}: the {end} array stays where its pages are; NUMA node {self._numa} was not asked for",)

    def holds(self, given: Any) -> Holds:
        return _YES if not self._stands_in and (type(given) is np.ndarray or is_host_array(given)) else _NO

    def describe(self, given: Any, layout: Layout | str, like: Instance | None) -> Instance:
        return array_instance(self.name, given, layout, like)


def _size(instance: Instance) -> int:
    return instance.linearization.nbytes


class HostLoop:
    """The compiled loop that moves parts between host memories; see `isoviz.runtime.protocols.PartLoop`."""

    move = staticmethod(kernels.move_parts)

    def order(self, copy: StridedCopy) -> tuple[Loop, ...] | None:
        return order_of(copy.run, copy.loops)

    def address(self, store: Store) -> int | None:
        return store.array.ctypes.data if isinstance(store, HostStore) else None


_LOOP = HostLoop()


class Memcpy(BaseChannel):
    """The channel between two host memories."""

    at_once = True
    takes_lists = True

    def prepare(self, nbytes: int) -> None:
        """Load the kernels for a transfer of `nbytes` bytes, before time is measured. Small transfers do not need them.

        Raises:
            Cancelled: the transfer has to stop.
        """
        if nbytes >= WORTH_KERNELS:
            kernels.prepare_unless_cancelled()

    @property
    def part_loop(self) -> HostLoop | None:
        """The loop, once the kernels are loaded. Its clock is that of Linux. A class that changes `move` has none."""
        return _LOOP if sys.platform == "linux" and kernels.is_ready() and type(self).move is Memcpy.move else None

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes about how the bytes were moved."""
        return () if kernels.is_ready() or not kernels.was_wanted() else (f"layouts converted by {kernels.state()}",)

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:
        assert isinstance(source, HostStore) and isinstance(destination, HostStore)
        copy_all(copies, source.array, destination.array, check, large=destination.is_large)
        return len(copies)

    def prepared_move(self, copies: Sequence[StridedCopy], source: Store, destination: Store) -> Sequence[Callable[[], object]]:
        assert isinstance(source, HostStore) and isinstance(destination, HostStore)
        return prepared_copies(copies, source.array, destination.array, large=destination.is_large)
