"""Copy kernels for layout conversions in host memory, compiled for this processor by Numba, without a C compiler.

`prepare` loads or compiles them before anything is measured. `copy`, `copy_structs` and `copy_many` use them. `state` tells as
text whether they or NumPy make the copies.
"""

from __future__ import annotations

from isoviz.backends.host.kernels.dispatch import (
    copy,
    copy_many,
    copy_structs,
    move_parts,
    prepared_copy,
    prepared_listed,
    prepared_many,
)
from isoviz.backends.host.kernels.preparation import (
    SWITCH,
    is_compiled,
    is_ready,
    prepare,
    prepare_unless_cancelled,
    state,
    suiting,
    was_wanted,
)

__all__ = [
    "SWITCH",
    "copy",
    "copy_many",
    "copy_structs",
    "is_compiled",
    "is_ready",
    "move_parts",
    "prepare",
    "prepare_unless_cancelled",
    "prepared_copy",
    "prepared_listed",
    "prepared_many",
    "state",
    "suiting",
    "was_wanted",
]
