"""Kernels that move strided copies inside a GPU: their CUDA C++ text, and its compilation.

`kernels_of` turns copies into texts, one for each shape; offsets are arguments. `compile` makes machine code of a text by NVRTC,
which needs no driver and no device, and keeps it on disk.

What the tests prove without a GPU: the PTX of each kernel, executed on the processor with threads in random order, moves exactly
the right bytes. It writes nothing else and no byte twice, reads nothing before the first or behind the last byte of the copies,
reads no shared byte that was not written, and has a barrier between the accesses of different threads. Counts of sectors, turns
and instructions stand in for speed. What they cannot show: the weak memory order of a real device, anything that
happens inside a warp, and speed. `compute-sanitizer` (memcheck, racecheck) and benchmarks on a real device show that.
"""

from isoviz.backends.cuda.kernels.choose_kernels import kernels_of
from isoviz.backends.cuda.kernels.compile_kernels import (
    CompiledKernel,
    Resources,
    compile,  # noqa: A004  the name of the interface
    compiled_kernel,
)
from isoviz.backends.cuda.kernels.kernel_source import KernelSource

__all__ = ["CompiledKernel", "KernelSource", "Resources", "compile", "compiled_kernel", "kernels_of"]
