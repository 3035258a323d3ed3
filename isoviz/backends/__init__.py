"""Real memories and channels: what moves bytes on this computer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoviz.runtime import Engine as _Engine

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.runtime import Devices


class Engine(_Engine):
    """An engine with the devices of this computer: `Engine(machine).run(plan)`. See `isoviz.runtime.Engine`, which says what the
    other options mean."""

    def __init__(self, machine: Machine, devices: Devices | None = None, **options: Any) -> None:
        from isoviz.backends.devices import ThisComputer

        super().__init__(machine, ThisComputer() if devices is None else devices, **options)


__all__ = ["EmulatedMachine", "Engine", "convert", "run_file"]

_HOMES = {
    "EmulatedMachine": "isoviz.backends.emulated",
    "convert": "isoviz.backends.conversion",
    "run_file": "isoviz.backends.running",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
