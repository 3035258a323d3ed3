"""What bounds transfers besides channels: the memory of their intermediate buffers, and what an engine can do."""

from __future__ import annotations

from dataclasses import dataclass

from isoviz import checks

MIB = 1024 * 1024
MOST_SLOTS = 1024


@dataclass(frozen=True)
class Limits:
    """Bounds on intermediate buffers, and what chunks cost.

    `slot_limit` bounds one slot, in bytes (Isometry's space threshold TH, 32 MiB in its evaluation); `memory_limit` all buffers
    of one transfer together, in bytes (None: no bound); `slots` is how many slots the ring of a buffer has. `overlap` says
    whether the hops of a path work at the same time, on different chunks; an engine that moves a chunk all the way before the
    next one starts has none, and predictions must not count on it. `chunk_seconds` is what a chunk costs an engine at every hop
    besides its bytes: working out where they are, handing it on. Mostly that is done while other chunks move, so that it is in
    no prediction; but of two plans that are about as fast the one with fewer chunks is chosen.

    Raises:
        MachineError: a field of the wrong type or out of range.
    """

    slot_limit: int = 32 * MIB
    memory_limit: int | None = None
    slots: int = 2
    overlap: bool = True
    chunk_seconds: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "slot_limit", checks.whole("limits", "slot_limit", self.slot_limit, low=1))
        if self.memory_limit is not None:
            object.__setattr__(self, "memory_limit", checks.whole("limits", "memory_limit", self.memory_limit, low=1))
        object.__setattr__(self, "slots", checks.whole("limits", "slots", self.slots, low=1, high=MOST_SLOTS))
        checks.flag("limits", "overlap", self.overlap)
        object.__setattr__(self, "chunk_seconds", checks.number("limits", "chunk_seconds", self.chunk_seconds, low=0.0))
