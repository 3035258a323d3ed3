"""Layout kernels on one GPU: each is compiled and loaded once, and launched with the offsets of a copy."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from isoviz.backends.cuda.cuda_driver import CudaDriver
from isoviz.backends.cuda.kernels import (
    KernelSource,
    compile,  # noqa: A004  the name of the interface
    kernels_of,
)
from isoviz.errors import DeviceError, InputError, IsovizError

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy

_MOST_ALIGNED = 256
"""Bytes: the alignment of allocated device memory. A larger one is no use to a kernel."""


class Kernel(Protocol):
    """One kernel as text, and its launch (`isoviz.backends.cuda.kernels.KernelSource`)."""

    @property
    def name(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def block(self) -> tuple[int, int, int]: ...
    @property
    def grid(self) -> tuple[int, int, int]: ...
    @property
    def shared(self) -> int: ...
    @property
    def arguments(self) -> tuple[int, ...]: ...


class KernelMaker(Protocol):
    """Makes kernels for copies, and machine code of kernels."""

    def kernels_of(self, copies: Sequence[StridedCopy], source_alignment: int, destination_alignment: int) -> Sequence[Kernel]:
        """The kernels that carry out some copies, in any order."""

    def compile(self, source: Any, architecture: str) -> bytes:
        """Machine code for an architecture.

        Raises:
            MissingPartError: there is no compiler.
            InputError: it does not know the architecture.
        """


class DefaultMaker:
    """The kernels of isoviz, compiled by NVRTC."""

    def kernels_of(
        self, copies: Sequence[StridedCopy], source_alignment: int, destination_alignment: int
    ) -> Sequence[KernelSource]:
        return kernels_of(copies, source_alignment, destination_alignment)

    def compile(self, source: KernelSource, architecture: str) -> bytes:
        return compile(source, architecture)


class LayoutKernels:
    """The loaded kernels of one GPU. The methods are called while the thread uses that GPU."""

    def __init__(self, driver: CudaDriver, architecture: str, maker: KernelMaker) -> None:
        self._driver, self._architecture, self._maker = driver, architecture, maker
        self._functions: dict[str, int] = {}
        self._modules: list[int] = []
        self._lock = threading.Lock()
        self.missing = ""
        """Why there are no kernels, as a sentence; empty while they are to be had."""

    def launcher(self, copies: Sequence[StridedCopy], source: int, destination: int) -> Callable[[int], int] | None:
        """A function that queues some copies on a stream and returns the number of kernels; None where no kernels are to be had.

        Kernels are compiled before this returns. `source` and `destination` are the addresses of offset 0.

        Raises:
            DeviceError: the kernels cannot be loaded, or do not compile.
        """
        maker = self._maker
        if self.missing:
            return None
        try:
            kernels = maker.kernels_of(copies, _alignment(source), _alignment(destination))
            functions = [self._function(maker, kernel) for kernel in kernels]
        except _NoCompilerError as error:
            self.missing = str(error)
            return None

        def launch(stream: int) -> int:
            for kernel, function in zip(kernels, functions, strict=True):
                arguments = (source, destination, *kernel.arguments)
                self._driver.launch(function, kernel.grid, kernel.block, kernel.shared, arguments, stream)
            return len(kernels)

        return launch

    def unload(self) -> None:
        """Unload all kernels. None of them is running."""
        with self._lock:
            self._functions.clear()
            for module in self._modules:
                with suppress(DeviceError):
                    self._driver.unload(module)
            self._modules.clear()

    def _function(self, maker: KernelMaker, kernel: Kernel) -> int:
        with self._lock:
            found = self._functions.get(kernel.code)
            if found is None:
                try:
                    image = maker.compile(kernel, self._architecture)
                except InputError as error:
                    raise _NoCompilerError(str(error)) from error
                except IsovizError:
                    raise
                except Exception as error:
                    raise DeviceError(f"kernel {kernel.name} does not compile for {self._architecture}: {error}") from error
                module = self._driver.load(image)
                self._modules.append(module)
                found = self._functions[kernel.code] = self._driver.function(module, kernel.name)
            return found


class _NoCompilerError(Exception):
    """There is no compiler, or none for this GPU."""


def _alignment(pointer: int) -> int:
    return min(_MOST_ALIGNED, pointer & -pointer) or 1
