"""NVRTC, NVIDIA's compiler as a library, called through ctypes. It needs neither a driver nor a device.

The wheel `nvidia-cuda-nvrtc` brings it; a CUDA toolkit has it as well.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

from isoviz.errors import InputError, InternalError, MissingPartError

if TYPE_CHECKING:
    from collections.abc import Iterator

_LIBRARIES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")


def version() -> tuple[int, int]:
    """The version of NVRTC: (13, 1).

    Raises:
        MissingPartError: there is no NVRTC.
    """
    major, minor = ctypes.c_int(), ctypes.c_int()
    _library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


def is_there() -> bool:
    """Whether NVRTC is installed."""
    try:
        _library()
    except MissingPartError:
        return False
    return True


@functools.lru_cache(maxsize=1)
def architectures() -> tuple[int, ...]:
    """The architectures for which NVRTC compiles, as numbers: 80 stands for sm_80 and compute_80.

    Raises:
        MissingPartError: there is no NVRTC.
    """
    count = ctypes.c_int()
    _library().nvrtcGetNumSupportedArchs(ctypes.byref(count))
    numbers = (ctypes.c_int * count.value)()
    _library().nvrtcGetSupportedArchs(numbers)
    return tuple(numbers)


def compiled(text: str, architecture: str, options: tuple[str, ...] = ()) -> tuple[bytes, str]:
    """Machine code (`architecture` "sm_90") or PTX ("compute_90") of a CUDA C++ text, and what the compiler says about it.

    Several threads may compile at once (NVRTC user guide, thread safety): each has a program of its own.

    Raises:
        MissingPartError: there is no NVRTC.
        InputError: it does not know the architecture.
        InternalError: the text is wrong.
    """
    library = _library()
    kind, _, number = architecture.partition("_")
    if kind not in ("sm", "compute") or not number.isdigit() or int(number) not in architectures():
        known = ", ".join(f"sm_{known}" for known in architectures())
        raise InputError(f"GPU architecture {architecture!r}: NVRTC {'.'.join(map(str, version()))} knows {known}, or compute_…")
    arguments = [f"--gpu-architecture={architecture}", "--std=c++17", *options]
    program = ctypes.c_void_p()
    _check(library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"isoviz.cu", 0, None, None))
    try:
        status = library.nvrtcCompileProgram(
            program, len(arguments), (ctypes.c_char_p * len(arguments))(*(each.encode() for each in arguments))
        )
        log = _fetched("ProgramLog", program).decode(errors="replace").replace("\0", "").rstrip()
        if status:
            wrong = next((line for line in log.splitlines() if "error" in line), log)
            raise InternalError(f"a kernel does not compile for {architecture}: {_error(status)}: {wrong}")
        return _fetched("CUBIN" if kind == "sm" else "PTX", program), log
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _fetched(what: str, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    _check(getattr(_library(), f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    found = ctypes.create_string_buffer(size.value)
    _check(getattr(_library(), f"nvrtcGet{what}")(program, found))
    return found.raw


def _check(status: int) -> None:
    if status:
        raise InternalError(f"NVRTC: {_error(status)}")


def _error(status: int) -> str:
    name = _library().nvrtcGetErrorString
    name.restype = ctypes.c_char_p
    return bytes(name(status)).decode()


@functools.lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    for name in _places():
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise MissingPartError("NVRTC, which compiles kernels for GPUs,", "gpu")


def _places() -> Iterator[str]:
    """Where NVRTC can be, the wheels first: their version belongs to this environment."""
    spec = importlib.util.find_spec("nvidia")
    roots = (spec.submodule_search_locations or ()) if spec else ()
    folders = [Path(root) / folder for root in roots for folder in ("cu13/lib", "cuda_nvrtc/lib")]
    folders += [Path(os.environ[name]) / "lib64" for name in ("CUDA_PATH", "CUDA_HOME") if os.environ.get(name)]
    for folder in folders:
        yield from (str(folder / name) for name in _LIBRARIES if (folder / name).exists())
    found = ctypes.util.find_library("nvrtc")
    yield from (found,) if found else ()
    yield from _LIBRARIES
