"""A kvikio for tests, over the driver of the tests: `CuFile`, `IOFuture` and `defaults`, with kvikio's parameters and checks.

Compare kvikio 26.10: `kvikio/cufile.py`, `kvikio/_lib/file_handle.pyx`, and `kvikio/_lib/arr.pyx` for what a buffer may be.
Requests are carried out late: when their future is asked for, or when the file is closed, in any order.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import random
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from fake_driver import FakeDriver

from isoviz.backends import direct_storage

FLAGS = {"r": os.O_RDONLY, "r+": os.O_RDWR, "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC, "w+": os.O_RDWR | os.O_CREAT | os.O_TRUNC}


class IOFuture:
    """`kvikio.IOFuture`. Threads that ask at the same time get one result: the first of them carries the request out."""

    def __init__(self, carry_out: Callable[[], int]) -> None:
        self._carry_out: Callable[[], int] | None = carry_out
        self._result: int | Exception = 0
        self._lock = threading.Lock()

    def get(self) -> int:
        with self._lock:
            if self._carry_out is not None:
                try:
                    self._result = self._carry_out()
                except Exception as error:  # noqa: BLE001  # a future keeps its error
                    self._result = error
                self._carry_out = None
        if isinstance(self._result, Exception):
            raise self._result
        return self._result

    def done(self) -> bool:
        return self._carry_out is None


class FakeKvikio(types.ModuleType):
    """The module.

    - `compat_mode`: there is no GPUDirect Storage.
    - `fail`: called with the number of each request. It raises an error, or returns the bytes that were moved.
    """

    def __init__(self, driver: FakeDriver, compat_mode: bool = False) -> None:
        super().__init__("kvikio")
        self.driver, self.rng, self.lock = driver, random.Random(1), threading.Lock()
        self.opened: list[CuFile] = []
        self.requests = 0
        self.fail: Callable[[int], int | None] = lambda number: None
        self.defaults = types.SimpleNamespace(is_compat_mode_preferred=lambda: compat_mode)
        self.CuFile = lambda file, flags="r": CuFile(self, file, flags)


def installs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., FakeKvikio]]:
    """A fixture: a function that installs a kvikio for a driver, with the options of `FakeKvikio`."""
    find = importlib.util.find_spec

    def install(driver: FakeDriver, **options: bool) -> FakeKvikio:
        module = FakeKvikio(driver, **options)
        monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: object() if name == "kvikio" else find(name, *more))
        monkeypatch.setitem(sys.modules, "kvikio", module)
        direct_storage.kvikio.cache_clear()
        return module

    yield install
    direct_storage.kvikio.cache_clear()


class CuFile:
    """`kvikio.CuFile`."""

    def __init__(self, module: FakeKvikio, file: Any, flags: str) -> None:
        self._module = module
        self._descriptor = os.open(os.fsencode(file), FLAGS[flags] | os.O_CLOEXEC, 0o644)
        self._futures: list[IOFuture] = []
        self.closed = False
        module.opened.append(self)

    def close(self) -> None:
        if not self.closed:
            assert all(future.done() for future in self._futures), "closed while requests are under way"
            os.close(self._descriptor)
        self.closed = True

    def fileno(self) -> int:
        return self._descriptor

    def pread(self, buf: Any, size: int | None = None, file_offset: int = 0, task_size: int | None = None) -> IOFuture:
        def read(pointer: int, nbytes: int) -> int:
            data = os.pread(self._descriptor, nbytes, file_offset)
            self._module.driver._bytes(pointer, nbytes)[: len(data)] = np.frombuffer(data, np.uint8)
            return len(data)

        return self._begun(buf, size, task_size, read)

    def pwrite(self, buf: Any, size: int | None = None, file_offset: int = 0, task_size: int | None = None) -> IOFuture:
        def write(pointer: int, nbytes: int) -> int:
            return os.pwrite(self._descriptor, self._module.driver._bytes(pointer, nbytes).tobytes(), file_offset)

        return self._begun(buf, size, task_size, write)

    def _begun(self, buf: Any, size: int | None, task_size: int | None, move: Callable[[int, int], int]) -> IOFuture:
        assert not self.closed and task_size is None
        pointer, nbytes = _parsed(buf, size)
        module = self._module
        with module.lock:
            number, module.requests = module.requests, module.requests + 1

        def carry_out() -> int:
            short = module.fail(number)
            with module.driver._lock:
                return move(pointer, nbytes) if short is None else short

        future = IOFuture(carry_out)
        with module.lock:
            self._futures.append(future)
            now = module.rng.sample(self._futures, len(self._futures)) if module.rng.random() < 0.5 else []
        for each in now:
            with contextlib.suppress(Exception):  # who asks gets it
                each.get()
        return future


def _parsed(buf: Any, size: int | None) -> tuple[int, int]:
    """The pointer and the number of bytes of a request, as `parse_buffer_argument` finds them."""
    interface = buf.__cuda_array_interface__
    assert type(interface) is dict and interface.get("mask") is None
    pointer, _ = interface["data"]
    assert type(interface["data"]) is type(interface["shape"]) is tuple and type(interface["typestr"]) is str
    assert interface.get("strides") is None, "only contiguous arrays"
    nbytes = int(np.prod(interface["shape"])) * np.dtype(interface["typestr"]).itemsize
    if size is None:
        return pointer, nbytes
    if size > nbytes:
        raise ValueError("Size is greater than the size of the buffer")
    return pointer, size
