"""Machine code of kernels, kept on disk from run to run.

The cache holds one file for each text, architecture and version of NVRTC. A file begins with a digest of its content: a file that
was cut off or damaged is compiled again. Files are written beside their place and renamed, so several processes may share them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from isoviz import user_cache
from isoviz.backends.cuda.kernels import nvrtc
from isoviz.errors import FileError
from isoviz.regular_files import read_own

if TYPE_CHECKING:
    from isoviz.backends.cuda.kernels.kernel_source import KernelSource

_OPTIONS = ("--ptxas-options=-v",)
_FORMAT = b"isoviz kernel 1\n"
PART = "part-"
"""The names of files that are being written begin with this."""
_OLD = 3600
"""Seconds after which the process that was writing a file is certainly gone."""


class Resources(NamedTuple):
    """What one thread of a kernel takes: registers, and bytes of stack and of register spills (0: none)."""

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int

    @property
    def spills(self) -> int:
        """Bytes that leave registers for memory, stores and loads together."""
        return self.spill_stores + self.spill_loads


class CompiledKernel(NamedTuple):
    """The code of a kernel (cubin or PTX) and its resources (None for PTX, where they are not known yet)."""

    code: bytes
    resources: Resources | None


def compile(source: KernelSource, architecture: str) -> bytes:  # noqa: A001  the name of the interface; nothing here evaluates Python
    """The machine code of a kernel: a cubin for "sm_90", PTX for "compute_90". From the cache, if it is there.

    Raises:
        MissingPartError: there is no NVRTC.
        InputError: NVRTC does not know the architecture.
    """
    return compiled_kernel(source, architecture).code


def compiled_kernel(source: KernelSource, architecture: str) -> CompiledKernel:
    """As `compile`, with the resources of the kernel.

    Raises:
        MissingPartError: there is no NVRTC.
        InputError: NVRTC does not know the architecture.
    """
    path = _path(source, architecture)
    found = kept(path) if path is not None else None
    if found is None:
        code, log = nvrtc.compiled(source.code, architecture, _OPTIONS)
        found = CompiledKernel(code, resources(log).get(source.name))
        if path is not None:
            _keep(path, found)
    return found


def resources(log: str) -> dict[str, Resources]:
    """The resources of each kernel by its name, from what the assembler says about them."""
    found = {}
    for part in log.split("Compiling entry function ")[1:]:
        name = re.match(r"'(\w+)'", part)
        memory = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part)
        registers = re.search(r"Used (\d+) registers", part)
        if name and memory and registers:
            found[name[1]] = Resources(int(registers[1]), *map(int, memory.groups()))
    return found


def _path(source: KernelSource, architecture: str) -> Path | None:
    """The place of a kernel in the cache; None if nothing can be kept."""
    folder = user_cache.cache_folder()
    if folder is None:
        return None
    own = user_cache.own_folder(folder / "cuda")
    if own is None:
        return None
    version = ".".join(map(str, nvrtc.version()))
    key = "\n".join((architecture, version, *_OPTIONS, source.name, source.code))
    return own / f"{source.name}-{architecture}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def kept(path: Path) -> CompiledKernel | None:
    """The kernel in a file; None if there is none, or if the file is damaged."""
    try:
        content = read_own(path)
    except FileError:
        return None
    start, digest, rest = content[: len(_FORMAT)], content[len(_FORMAT) : len(_FORMAT) + 32], content[len(_FORMAT) + 32 :]
    if start != _FORMAT or hashlib.sha256(rest).digest() != digest:
        return None
    head, _, code = rest.partition(b"\n")
    numbers = json.loads(head)
    return CompiledKernel(code, None if numbers is None else Resources(*numbers))


def _keep(path: Path, kernel: CompiledKernel) -> None:
    """Write a kernel into the cache. A cache that cannot be written to costs time, nothing else."""
    rest = json.dumps(kernel.resources).encode() + b"\n" + kernel.code
    with contextlib.suppress(OSError):
        _sweep(path.parent)
        number, name = tempfile.mkstemp(dir=path.parent, prefix=PART)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(_FORMAT + hashlib.sha256(rest).digest() + rest)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise


def _sweep(folder: Path) -> None:
    """Remove what killed processes were writing."""
    for path in folder.glob(f"{PART}*"):
        with contextlib.suppress(OSError):  # another process may have removed it
            if path.stat().st_mtime < time.time() - _OLD:
                path.unlink()
