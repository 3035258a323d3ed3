"""The interface of a GPU driver: a thin protocol, so that memories and channels are tested without a GPU.

Pointers, streams, events, modules and functions are whole numbers, as in CUDA. Every pointer is valid on host and devices alike
(unified addressing): the address of pinned memory is also its address on the devices. Streams do not wait for the default
stream. `CupyDriver` is the implementation for real devices. Tests have another one, which records calls and fails on demand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from isoviz.backends.cuda.row_copies import Rows
    from isoviz.backends.pages import Bytes

LEGACY_STREAM = 1
"""The default stream that all threads share. Work of libraries that say nothing of their streams goes there."""


class DeviceBlock:
    """Bytes of device memory that were allocated: their first address, their number and their device.

    `owner` keeps them; it is None after `CudaDriver.free`.
    """

    __slots__ = ("device", "nbytes", "owner", "pointer")

    def __init__(self, pointer: int, nbytes: int, device: int, owner: Any) -> None:
        self.pointer, self.nbytes, self.device, self.owner = pointer, nbytes, device, owner


class PinnedBlock:
    """Bytes of pinned host memory that the devices map: their address there and here, and an array of them.

    `array` has the shape (nbytes,) and is None after `CudaDriver.free_pinned`.
    """

    __slots__ = ("array", "nbytes", "pointer")

    def __init__(self, pointer: int, array: Bytes) -> None:
        self.pointer, self.nbytes = pointer, len(array)
        self.array: Bytes | None = array


class Place(NamedTuple):
    """Where some bytes lie: on a device, or (`device` is None) in host memory.

    There, `is_pinned` says that they were pinned together, and that all devices reach them at their address on the host.
    """

    device: int | None
    is_pinned: bool


class CudaDriver(Protocol):
    """A GPU driver. Methods that make something, and those that queue work, use the device that the calling thread uses.

    Every method raises DeviceError if the driver refuses or reports an earlier failure, and DeviceMemoryError if there is no
    room.
    """

    def device_count(self) -> int:
        """The number of devices."""

    def device_name(self, device: int) -> str:
        """The name of a device."""

    def architecture(self, device: int) -> str:
        """The architecture of a device as compilers name it, such as sm_90."""

    def pci_address(self, device: int) -> str:
        """The address of a device on the PCI bus, such as 0000:17:00.0; empty if it has none."""

    def versions(self) -> tuple[tuple[str, str], ...]:
        """The versions of the software between isoviz and the devices: pairs (name, version)."""

    def free_bytes(self) -> tuple[int, int]:
        """The free bytes and all bytes of the device."""

    def used_device(self) -> int:
        """The device that this thread uses."""

    def use(self, device: int) -> None:
        """Use a device in this thread from now on."""

    def allocate(self, nbytes: int, stream: int) -> DeviceBlock:
        """Device memory for the work of a stream."""

    def free(self, block: DeviceBlock) -> None:
        """Give device memory back. No work uses it any more. Never raises."""

    def trim(self, stream: int) -> None:
        """Let go of free memory that is kept for further work of a stream, which will have none."""

    def allocate_pinned(self, nbytes: int) -> PinnedBlock:
        """Pinned host memory that all devices map. It begins at a page boundary."""

    def free_pinned(self, block: PinnedBlock) -> None:
        """Give pinned memory back. No work uses it any more. Never raises."""

    def page_lock(self, pointer: int, nbytes: int) -> None:
        """Lock whole pages of host memory in place and map them for all devices, until `page_unlock`. They are not yet locked."""

    def page_unlock(self, pointer: int) -> None:
        """End what `page_lock` began at this address. No work uses the pages any more, and they are still there."""

    def place_of(self, pointer: int, nbytes: int = 1) -> Place:
        """Where the bytes from an address on lie."""

    def from_dlpack(self, given: Any) -> Any:
        """An object with `__cuda_array_interface__` for the bytes of an object with `__dlpack__` on a device."""

    def new_stream(self) -> int:
        """A new stream."""

    def destroy_stream(self, stream: int) -> None:
        """End a stream. It has no work left, except that it may wait for an event."""

    def wait_stream(self, stream: int) -> None:
        """Wait until all work of a stream has ended."""

    def new_event(self) -> int:
        """A new event."""

    def destroy_event(self, event: int) -> None:
        """End an event."""

    def record(self, event: int, stream: int) -> None:
        """Let an event stand for the work that a stream has now."""

    def is_over(self, event: int) -> bool:
        """Whether the work has ended that the event stands for."""

    def wait_event(self, event: int) -> None:
        """Wait for the work that the event stands for, without using a processor."""

    def follow(self, stream: int, event: int) -> None:
        """Let later work of a stream wait for the work that the event stands for. The event may be of another device."""

    def copy(self, destination: int, source: int, nbytes: int, stream: int) -> None:
        """Queue a copy of contiguous bytes between any two memories."""

    def copy_rows(self, destination: int, source: int, rows: Rows, stream: int) -> None:
        """Queue a copy of rows (two dimensions) or planes of rows (three). The offsets of `rows` are added to the pointers."""

    def copy_peer(self, destination: int, there: int, source: int, here: int, nbytes: int, stream: int) -> None:
        """Queue a copy of contiguous bytes from device `here` to device `there`."""

    def fill(self, pointer: int, value: int, nbytes: int, stream: int) -> None:
        """Queue the filling of bytes of a device."""

    def reaches(self, device: int, peer: int) -> bool:
        """Whether kernels and copies of a device can reach the memory of another one."""

    def enable_peer(self, peer: int) -> None:
        """Let the device of this thread reach the memory of another device. Safe to call twice."""

    def load(self, image: bytes) -> int:
        """Load a module from machine code or PTX."""

    def unload(self, module: int) -> None:
        """End a module. No kernel of it is running."""

    def function(self, module: int, name: str) -> int:
        """A kernel of a module."""

    def launch(
        self,
        function: int,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        arguments: Sequence[int],
        stream: int,
    ) -> None:
        """Queue a kernel with 64-bit arguments and `shared` bytes of dynamic shared memory."""
