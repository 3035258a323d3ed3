"""The compiled kernels of this process, once they are loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from types import ModuleType


class CompiledKernels(NamedTuple):
    """The module of compiled kernels; the bytes of a vector; whether lines can be joined at any byte."""

    module: ModuleType
    vector: int
    bytewise: bool


compiled: CompiledKernels | None = None
"""None until the kernels are loaded, and where they are not available."""
