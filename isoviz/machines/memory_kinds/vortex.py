"""The kind of the memory on the card of a Data Vortex."""

from __future__ import annotations

from isoviz.machines.kinds import register_memory_kind

DV = register_memory_kind("DV", description="DV memory", place=(1, 0.8))
"""Words on the Vortex Interface Controller that its node and every other one may write (Gioiosa et al., section II)."""
