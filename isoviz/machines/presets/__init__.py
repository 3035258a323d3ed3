"""The machines included in isoviz: `preset(name, **options)` creates one, `presets()` lists them."""

from isoviz.machines.presets.machine_argument import machine_argument
from isoviz.machines.presets.preset_table import PresetInfo, PresetOption, preset, presets

__all__ = ["PresetInfo", "PresetOption", "machine_argument", "preset", "presets"]
