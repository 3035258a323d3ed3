"""CuPy and PyTorch as peers on the GPU: strided copies as shapes and strides of elements, and what carries them out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz.layouts import StridedCopy

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy

_WIDEST = 16
DTYPES = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}


class ElementCopy(NamedTuple):
    """A copy of elements of `unit` bytes. Offsets and strides are bytes, multiples of the unit: no access is misaligned."""

    unit: int
    shape: tuple[int, ...]
    source_offset: int
    destination_offset: int
    source_strides: tuple[int, ...]
    destination_strides: tuple[int, ...]


def element_copy(copy: StridedCopy) -> ElementCopy:
    """A copy with the largest elements that fit everywhere. A run of several elements is one more dimension."""
    steps = (step for loop in copy.loops for step in loop[1:])
    unit = math.gcd(_WIDEST, copy.run, copy.source_offset, copy.destination_offset, *steps)
    loops = copy.loops if copy.run == unit and copy.loops else (*copy.loops, (copy.run // unit, unit, unit))
    extents, here, there = zip(*loops, strict=True)
    return ElementCopy(unit, extents, copy.source_offset, copy.destination_offset, here, there)


def cupy_views(cupy: Any, copy: StridedCopy, source: Any, destination: Any) -> tuple[Any, Any]:
    """The elements of a copy in two CuPy arrays of bytes: those of the destination, and those of the source."""
    found = element_copy(copy)
    dtype = DTYPES[found.unit]
    there = cupy.ndarray(found.shape, dtype, destination.data + found.destination_offset, found.destination_strides)
    here = cupy.ndarray(found.shape, dtype, source.data + found.source_offset, found.source_strides)
    return there, here


_TYPES = {1: "uint8", 2: "int16", 4: "int32", 8: "int64", 16: "complex128"}


class TorchPeer:
    """PyTorch. All its work is queued on the stream with a given address, unless it says otherwise."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.version = str(torch.__version__)

    def tidy(self) -> None:
        """Give unused memory back."""
        self.torch.cuda.empty_cache()

    def copies(self, copies: Sequence[StridedCopy], source: Any, destination: Any, stream: int) -> Callable[[], None]:
        """A function that queues strided copies between two CuPy arrays of bytes."""
        torch = self.torch
        here, there = (torch.as_tensor(array, device="cuda") for array in (source, destination))
        pairs = []
        for copy in map(element_copy, copies):
            dtype = getattr(torch, _TYPES[copy.unit])
            ends = []
            for tensor, offset, strides in (
                (there, copy.destination_offset, copy.destination_strides),
                (here, copy.source_offset, copy.source_strides),
            ):
                steps = tuple(stride // copy.unit for stride in strides)
                ends.append(torch.as_strided(tensor.view(dtype), copy.shape, steps, offset // copy.unit))
            pairs.append(ends)
        lent = torch.cuda.ExternalStream(stream)

        def queue() -> None:
            with torch.cuda.stream(lent):
                for to, at in pairs:
                    to.copy_(at)

        return queue

    def from_host(self, structs: Any, fields: int) -> Callable[[], Any]:
        """A function that brings an array of structs of float32 to the GPU and turns it into a struct of arrays.

        It waits for the end. `structs` is a NumPy array of floats, pinned or not.
        """
        torch = self.torch
        host = torch.from_numpy(structs).reshape(-1, fields)

        def work() -> Any:
            found = host.to("cuda", non_blocking=True).t().contiguous()
            torch.cuda.synchronize()
            return found

        return work

    def to_host(self, arrays: Any, structs: Any, fields: int) -> Callable[[], None]:
        """A function that turns a struct of arrays (a CuPy array of floats) into structs, and brings them into a NumPy array."""
        torch = self.torch
        device = torch.as_tensor(arrays, device="cuda").reshape(fields, -1)
        host = torch.from_numpy(structs).reshape(-1, fields)

        def work() -> None:
            host.copy_(device.t().contiguous(), non_blocking=True)
            torch.cuda.synchronize()

        return work


def torch_peer() -> TorchPeer | None:
    """PyTorch; None where it is not installed or sees no GPU."""
    try:
        import torch
    except ImportError:
        return None
    return TorchPeer(torch) if torch.cuda.is_available() else None
