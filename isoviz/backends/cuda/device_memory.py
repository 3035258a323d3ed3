"""FBM: memory of a GPU. Its ends are arrays of the caller on that GPU, or memory from CuPy's pool.

Arrays of other libraries are taken by `__cuda_array_interface__` (CuPy, Numba, PyTorch) and by DLPack.
"""

from __future__ import annotations

import math
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.cuda.cuda_driver import LEGACY_STREAM
from isoviz.backends.formats.arrays import fit, lying_as
from isoviz.backends.formats.stored import shaped_instance
from isoviz.backends.generate import fill
from isoviz.errors import ArrayError, DeviceError, TransferError
from isoviz.forks import Home
from isoviz.layouts.given_arrays import ArrayForm, cuda_form, cuda_interface
from isoviz.runtime.device_bases import BaseEndpoint, BaseMemory, BaseSlot
from isoviz.runtime.protocols import Holds

if TYPE_CHECKING:
    from isoviz.backends.cuda.cuda_driver import CudaDriver, DeviceBlock
    from isoviz.backends.cuda.gpu import Gpu
    from isoviz.backends.pages import Bytes
    from isoviz.layouts import Layout
    from isoviz.layouts.given_arrays import Array
    from isoviz.planner import Instance


_DLPACK_ON_DEVICE = (2, 13)
"""kDLCUDA and kDLCUDAManaged."""


class CudaArray(NamedTuple):
    """An array on a GPU.

    - `pointer`, `nbytes`: its first address, and its length in bytes.
    - `form`: its dtype, shape and strides.
    - `interface`: its `__cuda_array_interface__`.
    - `owner`: the object that keeps the bytes.
    """

    pointer: int
    nbytes: int
    form: ArrayForm
    is_read_only: bool
    interface: dict[str, Any]
    owner: Any


def is_on_device(given: Any) -> bool:
    """Whether an object says that it is an array on a GPU."""
    return cuda_interface(given) is not None or _is_dlpack(given)


def cuda_array(given: Any, driver: CudaDriver, what: str) -> CudaArray:
    """An object that `is_on_device` accepts. `what` names it in errors.

    Raises:
        ArrayError: it has a mask.
        DeviceError: its DLPack capsule cannot be read.
    """
    owner = given
    interface = cuda_interface(given)
    if interface is None:
        owner = driver.from_dlpack(given)
        interface = cuda_interface(owner)
    if interface is None:
        raise TransferError(f"{what}: {type(given).__name__} says nothing of its bytes on a GPU")
    form = cuda_form(interface, what)
    pointer, read_only = interface["data"]
    nbytes = math.prod(form.shape) * form.dtype.itemsize
    return CudaArray(int(pointer or 0), nbytes, form, bool(read_only), interface, owner)


def _is_dlpack(given: Any) -> bool:
    if isinstance(given, np.ndarray) or not hasattr(given, "__dlpack__") or not hasattr(given, "__dlpack_device__"):
        return False
    return int(given.__dlpack_device__()[0]) in _DLPACK_ON_DEVICE


_PIECE = 16 << 20
"""Bytes of generated data that are in host memory at a time."""


class DeviceRange:
    """The addresses of some bytes of a GPU. Overlapping ranges compare equal."""

    __slots__ = ("_end", "_start")

    def __init__(self, start: int, nbytes: int) -> None:
        self._start, self._end = start, start + nbytes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceRange) and self._start < other._end and other._start < self._end

    __hash__ = None  # type: ignore[assignment]  # Overlap is not transitive.


class GivenArray:
    """An array of the caller, as the thread that passed it saw it: libraries name the current stream of the asking thread.

    Its `event` stands for the work that the array's stream had then; None if there is nothing to wait for.

    Version 2 of the interface (PyTorch) names no stream. There `__dlpack__` lets `_behind`, a stream of this object, wait for the
    current stream of its library.

    Raises:
        TransferError: its library cannot say what to wait for.
    """

    def __init__(self, gpu: Gpu, given: Any, array: CudaArray) -> None:
        self.gpu, self.given, self.array = gpu, given, array
        self.event: int | None = None
        self._behind: int | None = None
        self._home = Home("an array on a GPU")
        if array.nbytes and gpu.driver.place_of(array.pointer).device == gpu.number:
            self._record(array.interface)

    @property
    def can_be_noted(self) -> bool:
        """Whether `note` can ask the array again: an array that came by DLPack says nothing of later work."""
        return cuda_interface(self.given) is not None

    def note(self) -> int | None:
        """Take note of the work that the array's stream has now, in the thread of the caller, as when the array was passed.

        Returns the event that stands for it; None if there is nothing to wait for.

        Raises:
            TransferError: the array has got other bytes, or its library cannot say what to wait for.
        """
        interface = cuda_interface(self.given) or {}
        if int(interface.get("data", (0, False))[0] or 0) != self.array.pointer:
            raise TransferError("the array is not where it was when the transfer was prepared; prepare it again")
        return self._record(interface) if self.array.nbytes else None

    def _record(self, interface: dict[str, Any]) -> int | None:
        """Let the event stand for the work that the array's stream has now. The thread is the caller's, and uses the GPU."""
        stream = interface["stream"] if "stream" in interface else self._stream_behind()
        if stream is None:
            return None
        if self.event is None:
            self.event = self.gpu.driver.new_event()
        self.gpu.driver.record(self.event, stream)
        return self.event

    def _stream_behind(self) -> int:
        """A stream that waits for the work of a library whose interface names no stream."""
        export = getattr(self.given, "__dlpack__", None)
        if export is None:
            return LEGACY_STREAM
        if self._behind is None:
            self._behind = self.gpu.driver.new_stream()
        try:
            export(stream=self._behind)  # it lets the stream wait; nobody needs the capsule
        except Exception as error:
            raise TransferError(
                f"{type(self.given).__name__}: its library does not say which work to wait for: __dlpack__ raised"
                f" {type(error).__name__}: {error}"
            ) from error
        return self._behind

    def __del__(self) -> None:
        if self._home.is_here and not sys.is_finalizing():  # a forked child has no GPU
            driver = self.gpu.driver
            for made, destroy in ((self.event, driver.destroy_event), (self._behind, driver.destroy_stream)):
                if made is not None:
                    with suppress(DeviceError):
                        destroy(made)


class DeviceStore(BaseEndpoint, BaseSlot):
    """Bytes of a GPU: one end of a transfer, or a slot.

    `close` frees `block`. `given` is the array of the caller that holds the bytes otherwise; it is kept until then.
    """

    def __init__(
        self, gpu: Gpu, pointer: int, nbytes: int, block: DeviceBlock | None = None, given: GivenArray | None = None
    ) -> None:
        self.gpu = gpu
        self.nbytes = nbytes
        self.notes: tuple[str, ...] = ()
        self._pointer: int | None = pointer
        self._block, self._given = block, given
        self._event = None if given is None else given.event
        self._followers: set[int] = set()

    @property
    def address(self) -> int:
        """The address of the first byte. Work of the caller may still use the bytes; see `followed_by`."""
        assert self._pointer is not None, "the store is closed"
        return self._pointer

    @property
    def pointer(self) -> int:
        """The address of the first byte, when work of the caller does not use the bytes any more."""
        if self._event is not None:
            self.gpu.driver.wait_event(self._event)
            self._event = None
        return self.address

    @property
    def has_work(self) -> bool:
        """Whether work of the caller may use the bytes."""
        return self._event is not None

    @property
    def can_be_noted(self) -> bool:
        """Whether `note` learns of all work of the caller."""
        return self._given is None or self._given.can_be_noted

    def note(self) -> None:
        """Take note of the work that the stream of the caller's array has now. The thread is the caller's, and uses the GPU."""
        if self._given is not None:
            self._event = self._given.note()
            self._followers.clear()

    def followed_by(self, stream: int) -> None:
        """Let later work of a stream wait for work of the caller that uses the bytes. The thread uses the GPU of the stream."""
        event = self._event
        if event is not None and stream not in self._followers:
            self.gpu.driver.follow(stream, event)
            self._followers.add(stream)

    @property
    def identity(self) -> object:
        """The address range; overlapping ranges compare equal."""
        return DeviceRange(self.address, self.nbytes)

    def read(self, offset: int, nbytes: int) -> Bytes:
        """A copy of the bytes in host memory."""
        return self.gpu.read(self.pointer + offset, nbytes)

    def clear(self) -> None:
        """Fill with zeros."""
        self.gpu.clear(self.pointer, self.nbytes)

    def close(self) -> None:
        block, self._block, self._given, self._pointer, self._event = self._block, None, None, None, None
        if block is not None:
            self.gpu.free(block)


class DeviceMemory(BaseMemory):
    """The memory of one GPU."""

    takes = "an array on a GPU (CuPy, __cuda_array_interface__ or DLPack)"

    def __init__(self, name: str, gpu: Gpu) -> None:
        super().__init__(name)
        self.gpu = gpu

    def slot(self, nbytes: int) -> DeviceStore:
        block = self.gpu.allocate(nbytes, f"memory {self.name}")
        return DeviceStore(self.gpu, block.pointer, nbytes, block)

    def source(self, instance: Instance, given: Any | None) -> DeviceStore:
        if given is not None:
            return self._given(given, instance, "source")
        store = self.slot(instance.linearization.nbytes)
        try:
            room = np.empty(min(_PIECE, store.nbytes), np.uint8)
            for at in range(0, store.nbytes, _PIECE):
                piece = room[: min(_PIECE, store.nbytes - at)]
                fill(piece, at)
                self.gpu.write(store.pointer + at, piece)
        except BaseException:
            store.close()
            raise
        store.notes = ("the source holds generated data",)
        return store

    def destination(self, instance: Instance, given: Any | None, partial: bool) -> DeviceStore:  # noqa: ARG002  # the protocol's
        if given is not None:
            return self._given(given, instance, "destination")
        return self.slot(instance.linearization.nbytes)

    def received(self, given: Any) -> Any:
        """The array, its stream and the work that the stream has now."""
        return self._received(given, f"array for {self.name}") if is_on_device(given) else given

    def _received(self, given: Any, what: str) -> GivenArray:
        with self.gpu.current():
            return GivenArray(self.gpu, given, cuda_array(given, self.gpu.driver, what))

    def _given(self, given: Any, instance: Instance, end: str) -> DeviceStore:
        """The bytes of an array of the caller."""
        what = f"{end} array for {self.name}"
        if not isinstance(given, GivenArray):
            if not is_on_device(given):
                raise TransferError(f"{what}: expected {self.takes}, not {type(given).__name__}")
            given = self._received(given, what)
        array = given.array
        with self.gpu.current():
            _, fields, layout = fit(self.name, end, instance.linearization, *array.form)
            if end == "destination" and array.is_read_only:
                raise ArrayError(f"{what}: is read-only")
            self._require_here(array, what)
        found = DeviceStore(self.gpu, array.pointer, array.nbytes, given=given)
        found.lies = lying_as(instance, fields, layout)
        return found

    def _require_here(self, array: CudaArray, what: str) -> None:
        if not array.nbytes:
            return
        device = self.gpu.driver.place_of(array.pointer).device
        if device != self.gpu.number:
            where = "in host memory" if device is None else f"on GPU {device}"
            raise TransferError(f"{what}: lies {where}; expected GPU {self.gpu.number}")

    def holds(self, given: Any) -> Holds:
        if not is_on_device(given):
            return Holds.NO
        with self.gpu.current():
            array = cuda_array(given, self.gpu.driver, "copy: the array")
            if not array.nbytes:
                return Holds.PERHAPS
            return Holds.YES if self.gpu.driver.place_of(array.pointer).device == self.gpu.number else Holds.NO

    def describe(self, given: Any, layout: Layout | str, like: Instance | None) -> Instance:
        with self.gpu.current():
            array = cuda_array(given, self.gpu.driver, "copy: the array")
        return shaped_instance(self.name, layout, like, *array.form)


# Bytes of host memory that were copied to a GPU, for callers who have no array of their own there.


class GpuArray:
    """A copy of a flat array in the memory of a GPU, with `__cuda_array_interface__`, until `close`.

    Raises:
        DeviceMemoryError: the GPU has no room.
        DeviceError: the GPU fails.
    """

    def __init__(self, memory: DeviceMemory, array: Array) -> None:
        self._store = memory.slot(array.nbytes)
        try:
            memory.gpu.write(self._store.pointer, array.view(np.uint8))
        except BaseException:
            self._store.close()
            raise
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "descr": array.dtype.descr,
            "data": (self._store.pointer, False),
            "stream": None,
            "version": 3,
        }

    def host(self) -> Bytes:
        """A copy of the bytes in host memory.

        Raises:
            DeviceError: the GPU fails.
        """
        return self._store.read(0, self._store.nbytes)

    def close(self) -> None:
        """Free the memory. Safe to call twice."""
        self._store.close()
