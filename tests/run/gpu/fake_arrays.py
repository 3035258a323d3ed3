"""Arrays of a caller and layout kernels for the driver of the tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from fake_driver import FakeDriver

from isoviz.backends.cuda.kernels import KernelSource, kernels_of
from isoviz.backends.cuda.layout_kernels import DefaultMaker
from isoviz.layouts import StridedCopy

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class FakeArray:
    """An array of the caller on a device, with `__cuda_array_interface__`."""

    def __init__(self, driver: FakeDriver, data: Bytes, device: int = 0, **more: Any) -> None:
        self._driver, self._pointer = driver, driver.held(data, device)
        self.__cuda_array_interface__ = {
            "shape": data.shape,
            "typestr": "|u1",
            "data": (self._pointer, False),
            "version": 3,
            "stream": None,
            **more,
        }

    def drop(self) -> None:
        """Free it."""
        with self._driver._lock:
            del self._driver.blocks[self._pointer]

    @property
    def data(self) -> Bytes:
        """The bytes on the device."""
        with self._driver._lock:
            return self._driver.blocks[self._pointer][1]


class CurrentArray(FakeArray):
    """An array of CuPy: its stream is the current one of the thread that asks."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name == "__cuda_array_interface__":
            return {**found, "stream": self._driver.current}
        return found


class StreamlessArray(FakeArray):
    """A tensor of PyTorch: version 2 of the interface, which names no stream, and DLPack."""

    def __init__(self, driver: FakeDriver, data: Bytes, device: int = 0) -> None:
        super().__init__(driver, data, device, version=2)
        del self.__cuda_array_interface__["stream"]
        self._device = device

    def __dlpack__(self, *, stream: int) -> object:
        """Let a stream wait for the current one of the thread that asks."""
        if self._driver.used_device() != self._device:
            raise BufferError("Can't export tensors on a different CUDA device index")
        event = self._driver.new_event()
        self._driver.record(event, self._driver.current)
        self._driver.follow(stream, event)
        self._driver.destroy_event(event)
        return object()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self._device


class FakeDlpack:
    """An array of the caller on a device, with DLPack only."""

    def __init__(self, array: FakeArray, device: int = 0) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **_: Any) -> Any:
        raise AssertionError("the driver imports it")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.device


class FakeKernel(NamedTuple):
    name: str
    code: str
    arguments: tuple[int, ...]
    block: tuple[int, int, int] = (256, 1, 1)
    grid: tuple[int, int, int] = (1, 1, 1)
    shared: int = 0


class FakeKernels:
    """Makes kernels for the fake driver: their text is their shape. `missing` is raised instead of compiling."""

    def __init__(self, missing: Exception | None = None) -> None:
        self.missing = missing
        self.compiled: list[str] = []

    def kernels_of(self, copies: Sequence[StridedCopy], source_alignment: int, destination_alignment: int) -> list[FakeKernel]:
        assert min(source_alignment, destination_alignment) >= 1
        return [
            FakeKernel("fake", json.dumps({"run": c.run, "loops": c.loops}), (c.source_offset, c.destination_offset))
            for c in copies
        ]

    def compile(self, source: FakeKernel, architecture: str) -> bytes:
        if self.missing is not None:
            raise self.missing
        assert architecture == "sm_90"
        self.compiled.append(source.code)
        return source.code.encode()


class RealKernels(DefaultMaker):
    """The kernels of isoviz; copies of `small` bytes and more get kernels of their own."""

    def __init__(self, small: int) -> None:
        self.small = small

    def kernels_of(
        self, copies: Sequence[StridedCopy], source_alignment: int, destination_alignment: int
    ) -> Sequence[KernelSource]:
        return kernels_of(copies, source_alignment, destination_alignment, self.small)
