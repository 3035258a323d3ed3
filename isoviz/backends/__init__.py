"""Real memories and channels: what moves bytes on this computer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoviz.runtime import Engine as _Engine

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime import CancelToken, Devices, Report
    from isoviz.runtime.ledger import Ledger
    from isoviz.runtime.watching import ProgressCallback


class Engine(_Engine):
    """An engine with the devices of this computer: `Engine(machine).run(plan)`. See `isoviz.runtime.Engine`, which says what the
    other options mean.

    What `run` carries out with these devices goes into the user's prediction ledger, or into `ledger`
    (`isoviz.runtime.ledger`). With other devices nothing does, unless a ledger is given: they say nothing about this computer.
    """

    def __init__(self, machine: Machine, devices: Devices | None = None, *, ledger: Ledger | None = None, **options: Any) -> None:
        from isoviz.backends.devices import ThisComputer

        super().__init__(machine, ThisComputer() if devices is None else devices, **options)
        self._ledger = ledger
        self._is_here = type(self.devices) is ThisComputer

    def run(
        self,
        plan: Plan,
        source: Any | None = None,
        destination: Any | None = None,
        *,
        verify: bool = True,
        progress: ProgressCallback | None = None,
        cancel: CancelToken | None = None,
        pipelined: bool = True,
        chunks: int | None = None,
    ) -> Report:
        from isoviz.runtime.calibration import recorded
        from isoviz.runtime.ledger import recording

        report = super().run(
            plan, source, destination, verify=verify, progress=progress, cancel=cancel, pipelined=pipelined, chunks=chunks
        )
        book = self._ledger or (recording() if self._is_here else None)
        if not pipelined or chunks is not None:  # stored and forwarded, or a part: it is not what was predicted
            return report
        return recorded(report, self.machine, book)


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
