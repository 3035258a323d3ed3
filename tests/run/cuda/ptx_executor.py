"""Executes the PTX that NVRTC emitted on this processor: an interpreter in C++, compiled once, for all kernels.

A program is a table of instructions; an instruction that the table of operations lacks is an error. Each thread of a block has
its own registers. Threads run in random order, either as far as the next barrier or for random numbers of instructions.

Every access is checked to the byte: loads of global memory lie in the source, stores in the destination, and both are aligned;
no byte of the destination is stored twice. Shared memory is poisoned for every block.

With `races`, a store to shared memory that another thread touched since the last barrier is an error. A load of bytes that nobody
stored, or another thread since the last barrier, gives doubtful bits: compilers load before they know that a value is needed. The
doubt follows these bits through all operations. It is an error where a doubtful bit is stored, or is part of an address or of a
condition. Without `races`, only the result shows such a mistake.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from ptx_operations import OPERATIONS, SHARED_AT, flow
from ptx_program import COLUMNS, PARAMETERS, Program


class FaultError(Exception):
    """The kernel did something wrong. The message says what, and the line of the PTX."""


class Traffic(NamedTuple):
    """Loads or stores of global memory: accesses of warps, their bytes, and the sectors of 32 bytes that they touch.

    `sectors` counts a sector once for each access, as the stores reach the second-level cache; `different` once for each block,
    as loads do that find a sector in the first-level cache after the first time.
    """

    requests: int
    nbytes: int
    sectors: int
    different: int


class Counts(NamedTuple):
    """Mean turns of an access of shared memory (1: no bank conflicts), instructions of all threads, and what is moved."""

    turns: float
    instructions: int
    loads: Traffic
    stores: Traffic


@dataclass
class Executor:
    """The compiled interpreter."""

    library: ctypes.CDLL

    def launch(
        self,
        program: Program,
        source: np.ndarray,
        destination: np.ndarray,
        arguments: tuple[int, ...],
        grid: int,
        *,
        block: int = 256,
        blocks: np.ndarray | None = None,
        seed: int = 0,
        races: bool = True,
        once: bool = True,
        stored: np.ndarray | None = None,
        counts: bool = False,
    ) -> Counts:
        """Run a kernel on arrays of bytes.

        `blocks` are the numbers of the blocks to run (default: all). With `once`, no byte may be stored twice; `stored` counts
        the stores of each byte, over several launches. `counts`: count bank conflicts and sectors.

        Raises:
            FaultError: the kernel did something wrong.
        """
        values = [source.ctypes.data, destination.ctypes.data, *(n & 0xFFFFFFFFFFFFFFFF for n in arguments)]
        if len(values) != len(program.parameters):
            raise FaultError(f"{len(values)} arguments for {len(program.parameters)} parameters")
        code = program.code.copy()
        place = code[:, 7]
        is_parameter = place < -PARAMETERS
        place[is_parameter] = place[is_parameter] + PARAMETERS - len(program.constants)
        constants = np.array([*program.constants, *values], np.uint64)
        if stored is None and once:
            stored = np.zeros(destination.size, np.uint8)
        numbers = np.arange(grid, dtype=np.uint32) if blocks is None else blocks.astype(np.uint32)
        text = ctypes.create_string_buffer(500)
        turns = (ctypes.c_uint64 * 11)()
        failed = self.library.ptx_launch(
            _pointer(code),
            _pointer(constants),
            ctypes.c_int64(program.registers),
            ctypes.c_int64(program.shared),
            (ctypes.c_uint32 * 3)(grid, 1, 1),
            (ctypes.c_uint32 * 3)(block, 1, 1),
            _pointer(numbers),
            ctypes.c_int64(len(numbers)),
            ctypes.c_uint64(seed),
            ctypes.c_int(races + 2 * counts + 4 * (seed % 3 == 0)),
            ctypes.c_uint64(source.ctypes.data),
            ctypes.c_uint64(source.size),
            ctypes.c_uint64(destination.ctypes.data),
            ctypes.c_uint64(destination.size),
            None if stored is None else _pointer(stored),
            text,
            turns,
        )
        if failed:
            raise FaultError(text.value.decode())
        loads, stores = Traffic(*turns[3:7]), Traffic(*turns[7:11])
        return Counts(turns[0] / turns[1] if turns[1] else 1.0, turns[2], loads, stores)


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _flow(name: str) -> str:
    """The flow of an operation in C++: columns end with −1."""
    kind, *columns, bits = flow(name)
    lists = ", ".join("{" + ", ".join(map(str, (*each, -1))) + "}" for each in columns)
    return f"{{{kind}, {lists}, {hex(2**bits - 1)}ull}}"


def build(folder: Path) -> Executor:
    """Compile the interpreter with g++."""
    text = (Path(__file__).parent / "executor.cpp").read_text(encoding="utf-8")
    named = {
        "OPERATIONS": "\n".join(f"OPERATION({number}) {{ {text} return NEXT; }}" for number, text in OPERATIONS.values()),
        "TABLE": ", ".join(f"op{number}" for number, _ in OPERATIONS.values()),
        "FLOWS": ", ".join(_flow(name) for name in OPERATIONS),
        "SHARED_AT": str(SHARED_AT),
        "COLUMNS": str(COLUMNS),
    }
    for name, value in named.items():
        text = re.sub(rf"\b{name}\b", lambda _, value=value: value, text)
    (folder / "executor.cpp").write_text(text, encoding="utf-8")
    flags = ["-std=c++17", "-O1", "-fPIC", "-shared", "-w"]
    subprocess.run(["g++", *flags, "-o", str(folder / "executor.so"), str(folder / "executor.cpp")], check=True)
    return Executor(ctypes.CDLL(str(folder / "executor.so")))


def has_compiler() -> bool:
    return shutil.which("g++") is not None
