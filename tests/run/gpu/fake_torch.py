"""A PyTorch for tests, over the arrays of the CuPy for tests: the calls of the peer in `isoviz bench gpu`."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided


class FakeTensor:
    """`torch.Tensor`. On a GPU it is a view of the memory of a fake device."""

    def __init__(self, numpy: np.ndarray[Any, Any], device: str, owner: Any = None) -> None:
        self.numpy, self.device, self.owner = numpy, device, owner

    def _like(self, numpy: np.ndarray[Any, Any]) -> FakeTensor:
        return FakeTensor(numpy, self.device, self.owner)

    def view(self, dtype: Any) -> FakeTensor:
        return self._like(self.numpy.view(dtype))

    def reshape(self, *shape: int) -> FakeTensor:
        return self._like(self.numpy.reshape(*shape))

    def t(self) -> FakeTensor:
        assert self.numpy.ndim <= 2
        return self._like(self.numpy.T)

    def permute(self, *dims: int) -> FakeTensor:
        return self._like(self.numpy.transpose(*dims))

    def contiguous(self) -> FakeTensor:
        return self._like(np.ascontiguousarray(self.numpy))

    def to(self, device: str, non_blocking: bool = False) -> FakeTensor:
        return FakeTensor(self.numpy.copy(), device)

    def copy_(self, src: FakeTensor, non_blocking: bool = False) -> FakeTensor:
        self.numpy[...] = src.numpy
        return self


def make() -> types.ModuleType:
    """The module `torch`."""
    found: Any = types.ModuleType("torch")
    found.__version__ = "0 (fake)"
    for name in ("uint8", "int16", "int32", "int64", "complex128", "float32"):
        setattr(found, name, np.dtype(name))

    def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> FakeTensor:
        assert device == "cuda" and data.__cuda_array_interface__
        return FakeTensor(data.numpy, device, data)

    def strided(tensor: FakeTensor, size: Any, stride: Any, storage_offset: int) -> FakeTensor:
        flat = tensor.numpy
        assert flat.ndim == 1
        last = storage_offset + sum((extent - 1) * step for extent, step in zip(size, stride, strict=True))
        assert 0 <= last < len(flat), "beyond the storage"
        steps = tuple(step * flat.itemsize for step in stride)
        return tensor._like(as_strided(flat[storage_offset:], size, steps))

    def from_numpy(ndarray: Any) -> FakeTensor:
        return FakeTensor(ndarray, "cpu")

    @contextlib.contextmanager
    def stream(stream: Any) -> Iterator[None]:
        assert stream.pointer
        yield

    def external(stream_ptr: int) -> Any:
        return types.SimpleNamespace(pointer=stream_ptr)

    nothing: Any = lambda: None  # noqa: E731
    found.as_tensor, found.as_strided, found.from_numpy = as_tensor, strided, from_numpy
    found.cuda = types.SimpleNamespace(
        is_available=lambda: True, empty_cache=nothing, synchronize=nothing, stream=stream, ExternalStream=external
    )
    return found  # type: ignore[no-any-return]
