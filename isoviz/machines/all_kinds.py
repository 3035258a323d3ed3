"""All kinds of isoviz: the cards of the folders `memory_kinds` and `channel_kinds` are found and registered.

Their constants are attributes of `MemoryKind` and `ChannelKind` as well. In all lists the kinds of the papers come first, and
those of further modules follow, by the names of the modules.
"""

from __future__ import annotations

from isoviz.found_modules import constants, modules_of
from isoviz.machines.kinds import ChannelKind, MemoryKind

for _name, _memory in constants(modules_of("isoviz.machines.memory_kinds", first=("isometry",)), MemoryKind).items():
    setattr(MemoryKind, _name, _memory)
for _name, _channel in constants(
    modules_of("isoviz.machines.channel_kinds", first=("host", "gpu", "disk", "ranks")), ChannelKind
).items():
    setattr(ChannelKind, _name, _channel)
