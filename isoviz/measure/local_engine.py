"""The engine of this computer: its devices, a trial before a run, and the ledger of runs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from isoviz.runtime import Engine as _Engine

if TYPE_CHECKING:
    from isoviz.backends.devices import ThisComputer
    from isoviz.machines import Machine
    from isoviz.measure.trial import Trial
    from isoviz.planner import Plan
    from isoviz.runtime import CancelToken, Devices, Report
    from isoviz.runtime.engine.progress import ProgressCallback
    from isoviz.runtime.ledger.ledger import Ledger


class Engine(_Engine):
    """An engine with the devices of this computer: `Engine(machine).run(plan)`. See `isoviz.runtime.Engine`, which says what the
    other options mean.

    What `run` carries out with these devices goes into the user's prediction ledger, or into `ledger`
    (`isoviz.runtime.ledger.ledger`). With other devices nothing does, unless a ledger is given: they say nothing about this
    computer.
    With `trial` a few MiB of a plan are tried just before it runs, and what is predicted goes by that (`isoviz.try_out`).
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
        trial: bool = False,
    ) -> Report:
        from isoviz.runtime.ledger.calibration import recorded
        from isoviz.runtime.ledger.ledger import recording

        self._home.require()
        tried = self._tried(plan, source, destination, cancel) if trial and pipelined and chunks is None else None
        report = super().run(
            plan, source, destination, verify=verify, progress=progress, cancel=cancel, pipelined=pipelined, chunks=chunks
        )
        if tried is not None:
            report = replace(report, tried=tried.tried, prediction=tried.prediction)
        book = self._ledger or (recording() if self._is_here else None)
        if not pipelined or chunks is not None:  # stored and forwarded, or a part: it is not what was predicted
            return report
        return recorded(report, self.machine, book)

    def _tried(self, plan: Plan, source: Any, destination: Any, cancel: CancelToken | None) -> Trial | None:
        """A trial of a plan. What goes wrong with it does so when it runs, too, and is told then."""
        from isoviz.measure.trial import try_out

        if not self._is_here:
            return None
        room = destination if isinstance(destination, str | Path) else None  # arrays of the caller's stay as they are
        with suppress(Exception):
            if not any(self.machine.memory(name).emulated for name in plan.memories):
                mine = cast("ThisComputer", self.devices)
                return try_out(plan, self.machine, source, room=room, devices=mine, cancel=cancel)
        return None
