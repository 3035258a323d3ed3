"""Machines by name: `preset(name, **options)` creates one, `presets()` lists those of isoviz and of installed packages."""

from isoviz.machines.presets import clusters, dgx, single_socket  # each registers its presets
from isoviz.machines.presets.registry import PresetInfo, PresetOption, machine_argument, preset, presets, register_preset

__all__ = [
    "PresetInfo",
    "PresetOption",
    "clusters",
    "dgx",
    "machine_argument",
    "preset",
    "presets",
    "register_preset",
    "single_socket",
]
