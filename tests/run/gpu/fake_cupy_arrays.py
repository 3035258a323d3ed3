"""Arrays of the CuPy for tests: NumPy views of the memory of the devices that the driver of the tests plays.

Work on them is done at once, and not queued as in CuPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class FakeNdarray:
    """`cupy.ndarray`, as far as isoviz uses it."""

    cuda: Any

    def __init__(self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C") -> None:
        assert order == "C"
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        kind = np.dtype(dtype)
        nbytes = int(np.prod(shape)) * kind.itemsize
        self.data = self.cuda.alloc(max(1, nbytes)) if memptr is None else memptr
        plays = self.data.plays
        _, held = plays.blocks[self.data.start]
        assert self.data.ptr % kind.itemsize == 0, "a misaligned access ends all work of a real GPU"
        self.numpy: np.ndarray[Any, Any] = np.ndarray(shape, kind, held.data, self.data.offset, strides)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.numpy.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.numpy.dtype

    @property
    def nbytes(self) -> int:
        return self.numpy.nbytes

    @property
    def T(self) -> FakeNdarray:  # CuPy's name
        return self._like(self.numpy.T)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        strides = None if self.numpy.flags.c_contiguous else self.numpy.strides
        data = (self.data.ptr, False)
        return {"shape": self.shape, "typestr": self.dtype.str, "data": data, "version": 3, "stream": 1, "strides": strides}

    def __len__(self) -> int:
        return len(self.numpy)

    def __getitem__(self, part: Any) -> FakeNdarray:
        found = self.numpy[part]
        return self._like(found, found.ctypes.data - self.numpy.ctypes.data)

    def __dlpack__(self, **_: Any) -> FakeNdarray:
        return self

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.data.plays.blocks[self.data.start][0]

    def _like(self, numpy: np.ndarray[Any, Any], offset: int = 0) -> FakeNdarray:
        return type(self)(numpy.shape, numpy.dtype, self.data + offset, numpy.strides)

    def __imul__(self, factor: Any) -> FakeNdarray:
        self.numpy *= factor
        return self

    def view(self, dtype: Any) -> FakeNdarray:
        return self._like(self.numpy.view(dtype))

    def reshape(self, *shape: int) -> FakeNdarray:
        found = self.numpy.reshape(*shape)
        assert np.shares_memory(found, self.numpy)
        return self._like(found)

    def transpose(self, *axes: int) -> FakeNdarray:
        return self._like(self.numpy.transpose(*axes))

    def fill(self, value: int) -> None:
        self.numpy[...] = value

    def set(self, arr: np.ndarray[Any, Any], stream: Any = None) -> None:
        assert arr.shape == self.shape and arr.dtype == self.dtype
        self.numpy[...] = arr

    def get(self, stream: Any = None, order: str = "C", out: Any = None) -> np.ndarray[Any, Any]:
        if out is None:
            return self.numpy.copy()
        assert out.flags.c_contiguous and out.shape == self.shape and out.dtype == self.dtype
        out[...] = self.numpy
        return out  # type: ignore[no-any-return]


def add_arrays(cupy: Any) -> None:
    """Give the module the parts that have to do with arrays."""

    class Ndarray(FakeNdarray):
        cuda = cupy.cuda

    def empty(shape: Any, dtype: Any = float) -> Ndarray:
        return Ndarray(shape, dtype)

    def zeros(shape: Any, dtype: Any = float) -> Ndarray:
        found = Ndarray(shape, dtype)
        found.fill(0)
        return found

    def arange(start: int, stop: int, *, dtype: Any) -> Ndarray:
        found = Ndarray(stop - start, dtype)
        found.numpy[...] = np.arange(start, stop, dtype=dtype)
        return found

    def asarray(a: Any) -> Ndarray:
        found = Ndarray(a.shape, a.dtype)
        found.set(a)
        return found

    def ascontiguousarray(a: Ndarray) -> Ndarray:
        found = Ndarray(a.shape, a.dtype)
        found.numpy[...] = a.numpy
        return found

    def copyto(dst: Ndarray, src: Ndarray) -> None:
        dst.numpy[...] = src.numpy

    def array_equal(a1: Ndarray, a2: Ndarray) -> Any:
        return np.array(np.array_equal(a1.numpy, a2.numpy))

    cupy.arange = arange
    cupy.ndarray, cupy.empty, cupy.zeros, cupy.asarray = Ndarray, empty, zeros, asarray
    cupy.ascontiguousarray, cupy.copyto, cupy.array_equal = ascontiguousarray, copyto, array_equal
