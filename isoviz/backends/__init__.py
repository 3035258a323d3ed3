"""Real memories and channels: what moves bytes on this computer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.runtime import Engine as _Engine

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.runtime import Devices


class Engine(_Engine):
    """An engine with the devices of this computer: `Engine(machine).run(plan)`. See `isoviz.runtime.Engine`."""

    def __init__(self, machine: Machine, devices: Devices | None = None) -> None:
        from isoviz.backends.devices import ThisComputer

        super().__init__(machine, ThisComputer() if devices is None else devices)


__all__ = ["Engine", "convert", "run_file"]


def __getattr__(name: str) -> object:
    if name == "convert":
        from isoviz.backends.conversion import convert

        return convert
    if name == "run_file":
        from isoviz.backends.running import run_file

        return run_file
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
