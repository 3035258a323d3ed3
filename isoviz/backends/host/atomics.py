"""Atomic changes of words in memory, and the barrier, as instructions of the processor.

LLVM compiles them for this computer in milliseconds; Numba brings it. All ranks of a host may change the same word in this way. A
change by other means, such as an MPI operation, is not atomic together with these.

A barrier orders the earlier writes of a thread, also those past the caches, before its later writes and reads: `mfence` or a
locked instruction on x86, `dmb ish` on aarch64.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from isoviz.errors import RunError

if TYPE_CHECKING:
    from llvmlite import ir

SIZES = (4, 8)
"""Bytes of the words."""
_CHANGES = {"fetch_and_add": "add", "swap": "xchg"}


class Atomics:
    """The compiled functions. Addresses and words are whole numbers; `size` is 4 or 8; addresses are multiples of it.

    Raises:
        RunError: nothing can be compiled on this computer.
    """

    def __init__(self) -> None:
        try:
            self._engine = _compiled()
        except Exception as error:
            raise RunError(f"atomic operations cannot be compiled here: {type(error).__name__}: {error}") from error
        one = ctypes.c_int64
        two, three = ctypes.PYFUNCTYPE(one, one, one), ctypes.PYFUNCTYPE(one, one, one, one)
        self._calls: dict[tuple[str, int], Callable[..., int]] = {}
        for size in SIZES:
            for name in _CHANGES:
                self._calls[name, size] = two(self.address_of(name, size))
            self._calls["compare_and_swap", size] = three(self.address_of("compare_and_swap", size))
        self.barrier: Callable[[], None] = ctypes.PYFUNCTYPE(None)(self._engine.get_function_address("barrier"))

    def address_of(self, name: str, size: int) -> int:
        """The address of the code of an operation, for other compiled code: it takes and returns int64."""
        return int(self._engine.get_function_address(f"{name}{size}"))

    def operation(self, name: str, size: int) -> Callable[..., int]:
        """`fetch_and_add(address, value)`, `swap(address, value)` or `compare_and_swap(address, expected, value)`.

        Each returns the word as it was, as a signed number.
        """
        return self._calls[name, size]


_made: list[Atomics] = []


def atomics() -> Atomics:
    """The functions of this process, compiled at the first call. A forked child has them, too.

    Raises:
        RunError: nothing can be compiled on this computer.
    """
    if not _made:
        _made.append(Atomics())
    return _made[0]


def _compiled() -> Any:
    """The compiled module."""
    import llvmlite.binding as llvm

    for start in ("initialize", "initialize_native_target", "initialize_native_asmprinter"):
        with contextlib.suppress(RuntimeError):  # later versions do this themselves
            getattr(llvm, start)()
    module = llvm.parse_assembly(_source())
    module.verify()
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine(opt=2))
    engine.finalize_object()
    return engine


def _source() -> str:
    """The functions in LLVM's language."""
    from llvmlite import ir

    module, whole = ir.Module("isoviz_atomics"), ir.IntType(64)
    for size in SIZES:
        word = ir.IntType(8 * size)
        for name, change in _CHANGES.items():
            build, (address, value) = _begun(module, f"{name}{size}", whole, 2)
            old = build.atomic_rmw(change, build.inttoptr(address, word.as_pointer()), _cut(build, value, word), "seq_cst")
            build.ret(_widened(build, old, whole))
        build, (address, expected, value) = _begun(module, f"compare_and_swap{size}", whole, 3)
        pair = build.cmpxchg(
            build.inttoptr(address, word.as_pointer()),
            _cut(build, expected, word),
            _cut(build, value, word),
            "seq_cst",
            "seq_cst",
        )
        build.ret(_widened(build, build.extract_value(pair, 0), whole))
    build = ir.IRBuilder(ir.Function(module, ir.FunctionType(ir.VoidType(), []), "barrier").append_basic_block())
    build.fence("seq_cst")
    build.ret_void()
    return str(module)


def _begun(module: ir.Module, name: str, whole: ir.IntType, count: int) -> tuple[ir.IRBuilder, Any]:
    from llvmlite import ir

    function = ir.Function(module, ir.FunctionType(whole, [whole] * count), name)
    return ir.IRBuilder(function.append_basic_block()), function.args


def _cut(build: ir.IRBuilder, value: Any, word: ir.IntType) -> Any:
    return value if word.width == value.type.width else build.trunc(value, word)


def _widened(build: ir.IRBuilder, value: Any, whole: ir.IntType) -> Any:
    return value if value.type.width == whole.width else build.sext(value, whole)
