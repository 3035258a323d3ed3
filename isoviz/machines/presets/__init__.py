"""Machines by name: `preset(name, **options)` creates one, `presets()` lists those of isoviz and of installed packages."""

from isoviz.machines.presets import clusters, dgx, single_socket  # each registers its presets, in this order

# isort: split
from isoviz.machines.presets import armci, blue_gene, gpu_clusters, several_ways, vortex
from isoviz.machines.presets.registry import PresetInfo, PresetOption, preset, presets, register_preset

__all__ = [
    "PresetInfo",
    "PresetOption",
    "armci",
    "blue_gene",
    "clusters",
    "dgx",
    "gpu_clusters",
    "preset",
    "presets",
    "register_preset",
    "several_ways",
    "single_socket",
    "vortex",
]
