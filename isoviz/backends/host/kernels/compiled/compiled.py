"""The compiled copy kernels: Numba and LLVM turn this Python into vector code for the processor.

Addresses are plain integers. The recipes make sure that no kernel touches bytes outside of source and destination.
"""

from __future__ import annotations

from isoviz.backends.host.kernels.compiled.elements import copy_many, copy_tiles
from isoviz.backends.host.kernels.compiled.listed import copy_listed, copy_runs
from isoviz.backends.host.kernels.compiled.parts import move_parts
from isoviz.backends.host.kernels.compiled.squares import turn_squares
from isoviz.backends.host.kernels.compiled.vectors import LINE, SHUFFLES, WIDE
from isoviz.backends.host.kernels.compiled.walk import stream_rows, walk

__all__ = ["copy_listed", "copy_many", "copy_runs", "copy_tiles", "move_parts", "stream_rows", "turn_squares", "walk"]

if WIDE == LINE:
    from isoviz.backends.host.kernels.compiled.lines import gather_lines, permute_blocks, turn_lines

    __all__ += ["gather_lines", "permute_blocks", "turn_lines"]

if SHUFFLES:
    from isoviz.backends.host.kernels.compiled.shuffle import shuffle_lines

    __all__ += ["shuffle_lines"]
