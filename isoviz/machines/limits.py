"""Limits of transfers besides their channels: the memory of intermediate buffers, and properties of the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from isoviz import checks
from isoviz.errors import InputError
from isoviz.schema import As, member
from isoviz.units import parse_bytes

MIB = 1024 * 1024
MOST_SLOTS = 1024


def _bytes_of(size: Any) -> Any:
    if not isinstance(size, str):
        return size
    if len(size) > 40:
        raise InputError(f"expected a size such as '48GiB', got {checks.show(size)}")
    return parse_bytes(size)


SIZE = As(kind=object, read=_bytes_of)
"""A number of bytes, which people may write as "48GiB" in files."""


@dataclass(frozen=True)
class Limits:
    """Bounds on intermediate buffers, and properties of the engine.

    - `slot_limit`: the largest size of a slot, in bytes (Isometry's space threshold TH, 32 MiB in its evaluation).
    - `memory_limit`: the largest size of all buffers of one transfer together, in bytes; None for no bound.
    - `slots`: the number of slots in the ring of a buffer.
    - `overlap`: whether the hops of a path work at the same time, on different chunks. It is False for an engine that moves a
      chunk over all hops before it starts the next chunk; predictions then add up the hops.
    - `chunk_seconds`: the overhead of a chunk at every hop, in seconds: computing its copies and handing it on. Usually this
      happens while other chunks move, so predictions leave it out. Of two plans with about the same prediction, it favours the
      plan with fewer chunks.

    Raises:
        MachineError: a field has the wrong type or is out of range.
    """

    slot_limit: int = member(32 * MIB, by_name=SIZE)
    memory_limit: int | None = member(None, by_name=SIZE)
    slots: int = 2
    overlap: bool = True
    chunk_seconds: float = member(0.0, brief=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "slot_limit", checks.whole("limits", "slot_limit", self.slot_limit, low=1))
        if self.memory_limit is not None:
            object.__setattr__(self, "memory_limit", checks.whole("limits", "memory_limit", self.memory_limit, low=1))
        object.__setattr__(self, "slots", checks.whole("limits", "slots", self.slots, low=1, high=MOST_SLOTS))
        checks.flag("limits", "overlap", self.overlap)
        object.__setattr__(self, "chunk_seconds", checks.number("limits", "chunk_seconds", self.chunk_seconds, low=0.0))
