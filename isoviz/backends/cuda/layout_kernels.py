"""Layout kernels on one GPU: each is compiled and loaded once, and launched with the offsets of a copy."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from isoviz.backends.cuda.cuda_driver import CudaDriver
from isoviz.backends.cuda.kernels import (
    KernelSource,
    compile,  # noqa: A004  the name of the interface
    kernels_of,
)
from isoviz.errors import DeviceError, InputError, line
from isoviz.runtime.opening import check_opening
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy

_LOG = logging.getLogger("isoviz")
_AT_ONCE = min(8, os.cpu_count() or 1)
"""Kernels that are compiled at a time; each takes a few tenths of a second of one processor."""
_TICK = 0.02
"""Seconds between two looks at a cancel."""
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


class Job(NamedTuple):
    """Copies that kernels will carry out between two addresses, those of offset 0."""

    copies: Sequence[StridedCopy]
    source: int
    destination: int


class Preparation(NamedTuple):
    """What a preparation took: the kernels that were not loaded yet, and the seconds for all of them.

    `refused`: for each kernel that cannot be had, which copy it is for and why, as a sentence.
    """

    kernels: int
    seconds: float
    refused: tuple[str, ...] = ()


class KernelMaker(Protocol):
    """Makes kernels for copies, and machine code of kernels. Several threads may use it at once."""

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
        # By the text of a kernel. Copies of equal shape share a kernel, and no kernel may be unloaded while one is running, so
        # they stay until the GPU is closed: some KiB for each shape.
        self._functions: dict[str, int] = {}
        self._modules: list[int] = []
        self._refused: dict[str, str] = {}
        self._lock = threading.Lock()
        self.missing = ""
        """Why there are no kernels, as a sentence; empty while they are to be had."""

    def prepare(self, jobs: Iterable[Job]) -> Preparation:
        """Compile and load the kernels of some jobs, several at a time. Nothing is done where no kernels are to be had.

        A kernel that does not compile, or cannot be loaded, is refused: `launcher` gives none for its jobs.

        Raises:
            Cancelled: the transfer that waits for them has to stop (`isoviz.runtime.opening`).
        """
        begin = time.perf_counter()
        if self.missing:
            return Preparation(0, 0.0)
        asked = {kernel.code: (kernel, job) for job in jobs for kernel in self._kernels(job)}
        wanted = {code: each for code, each in asked.items() if code not in self._functions and code not in self._refused}
        if wanted:
            self._prepare(wanted)
        refused = tuple(self._refused[code] for code in asked if code in self._refused)
        return Preparation(len(wanted), time.perf_counter() - begin if wanted else 0.0, refused)

    def _prepare(self, wanted: Mapping[str, tuple[Kernel, Job]]) -> None:
        if len(wanted) > _AT_ONCE:
            _LOG.info("isoviz: %d GPU kernels are loaded, or compiled for %s", len(wanted), self._architecture)
        pool = ThreadPoolExecutor(min(_AT_ONCE, len(wanted)), "isoviz GPU compiler")
        try:
            images = {code: pool.submit(self._image, kernel) for code, (kernel, _) in wanted.items()}
            while wait(images.values(), _TICK).not_done:
                check_opening()
            for code, (kernel, job) in wanted.items():
                try:
                    self._load(kernel, images[code].result())
                except _RefusedError as error:
                    self._refuse(kernel, job, error)
        except _NoCompilerError as error:
            self.missing = str(error)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def launcher(self, job: Job) -> Callable[[int], int] | None:
        """A function that queues the kernels of a job on a stream and returns their number; None where not all are to be had.

        Kernels that were not prepared are compiled before this returns.
        """
        if self.missing:
            return None
        kernels = self._kernels(job)
        functions: list[int] = []
        try:
            for kernel in kernels:
                if kernel.code in self._refused:
                    return None
                try:
                    functions.append(self._function(kernel))
                except _RefusedError as error:
                    self._refuse(kernel, job, error)
                    return None
        except _NoCompilerError as error:
            self.missing = str(error)
            return None

        def launch(stream: int) -> int:
            for kernel, function in zip(kernels, functions, strict=True):
                arguments = (job.source, job.destination, *kernel.arguments)
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

    def _kernels(self, job: Job) -> Sequence[Kernel]:
        return self._maker.kernels_of(job.copies, _alignment(job.source), _alignment(job.destination))

    def _function(self, kernel: Kernel) -> int:
        found = self._functions.get(kernel.code)
        return self._load(kernel, self._image(kernel)) if found is None else found

    def _image(self, kernel: Kernel) -> bytes:
        """The machine code of a kernel."""
        try:
            return self._maker.compile(kernel, self._architecture)
        except InputError as error:
            raise _NoCompilerError(str(error)) from error
        except Exception as error:  # a compiler may fail in any way, and the copy engines need none
            raise _RefusedError(_first_line(error)) from error

    def _load(self, kernel: Kernel, image: bytes) -> int:
        """The kernel on the GPU, loaded unless another thread has loaded it meanwhile."""
        with self._lock:
            found = self._functions.get(kernel.code)
            if found is None:
                try:
                    module = self._driver.load(image)
                    self._modules.append(module)
                    found = self._functions[kernel.code] = self._driver.function(module, kernel.name)
                except DeviceError as error:  # where the device has failed, the copy engines say so
                    raise _RefusedError(_first_line(error)) from error
            return found

    def _refuse(self, kernel: Kernel, job: Job, error: Exception) -> None:
        """Remember that the copies of a job go without their kernels."""
        copy = max(job.copies, key=lambda each: each.nbytes)
        others = f" and {len(job.copies) - 1} beside it" if len(job.copies) > 1 else ""
        what = f"{format_bytes(copy.nbytes)} in runs of {copy.run} bytes, loops {[tuple(loop) for loop in copy.loops]}"
        said = f"kernel {kernel.name} cannot be used, so the copy engines moved its copy ({what}){others}: {error}"
        _LOG.warning("isoviz: %s", said)
        self._refused[kernel.code] = said


class _NoCompilerError(Exception):
    """There is no compiler, or none for this GPU."""


class _RefusedError(Exception):
    """A kernel does not compile, or cannot be loaded."""


def _first_line(error: Exception) -> str:
    return line(next((each for each in str(error).splitlines() if each.strip()), type(error).__name__))


def _alignment(pointer: int) -> int:
    return min(_MOST_ALIGNED, pointer & -pointer) or 1
