"""The kinds of memories of Isometry's table 1."""

from __future__ import annotations

from isoviz.machines.kinds import register_memory_kind

SYS = register_memory_kind("SYS", is_host=True, description="main memory", is_of_ranks=True, place=(3, 0.2))
REG = register_memory_kind("REG", is_host=True, description="registered memory", is_of_ranks=True, place=(2, 0.8))
ZCM = register_memory_kind("ZCM", is_host=True, description="pinned memory", place=(1, 0.2))
FBM = register_memory_kind("FBM", description="GPU memory", place=(0, 0.5))
DSK = register_memory_kind(
    "DSK", holds_buffers=False, is_file_system=True, device="directory", description="files", is_of_ranks=True, place=(4, 0.52)
)
