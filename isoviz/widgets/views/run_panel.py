"""Runs alone in a notebook.

panel = isoviz.RunPanel(explorer)
panel
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import traitlets

from isoviz.errors import InputError, show
from isoviz.planner import Plan, Transfer
from isoviz.widgets.chosen.machine_choice import LOCAL, MachineChoice, PresetMachine, machine_choice
from isoviz.widgets.explorer import Explorer
from isoviz.widgets.pages.state_of_plan import settings_of_plan, settings_of_transfer
from isoviz.widgets.session import Session

if TYPE_CHECKING:
    from isoviz.machines import MachineLike


class RunPanel(Explorer):
    """The runs of a transfer: progress, predicted and measured times, repeated runs, notes, earlier runs.

        panel = isoviz.RunPanel(explorer)
        panel

    `what` is one of these:

    - An explorer, a view, or a session: its runs, as in the explorer.
    - A `Transfer`: it is planned on `machine` (a `Machine`, the name of a preset, or the path of a machine file; by default this
      computer) and then run.
    - A `Plan`: its transfer, planned by the same planner, or by hand as it was; `machine` is the machine of the plan.

    `panel.run()` and `panel.repeat(5)` begin runs and return at once. `panel.report` is the report of the last successful run; of
    repeated runs, it is that of the median run. It can be observed. `panel.cancel()` cancels the present run. If the plan runs in
    MPI ranks, the first run starts them. They stay until `panel.end_ranks()` or the end of the session. `close` ends the view. A
    session that the view made itself ends, too.

    Raises:
        InputError: `what` is none of these, or a machine is given beside a session.
        FileError, MachineError: the file holds no machine.
    """

    report = traitlets.Any(None, allow_none=True, help="the report of the last run that ended well")

    def __init__(
        self,
        what: Transfer | Plan | Session | Explorer,
        *,
        machine: MachineLike | MachineChoice | None = None,
    ) -> None:
        given: object = what
        if isinstance(what, Explorer | Session):
            if machine is not None:
                raise InputError("RunPanel: the machine is that of the session; expected none beside it")
            super().__init__(what.session if isinstance(what, Explorer) else what, pane="run")
        elif isinstance(what, Plan | Transfer):
            choice = PresetMachine(LOCAL) if machine is None else machine_choice(machine)
            settings = settings_of_plan(what, choice) if isinstance(what, Plan) else settings_of_transfer(what, choice)
            super().__init__(settings, pane="run")
        else:
            raise InputError(f"RunPanel: expected a transfer, a plan, a session or an explorer, got {show(given)}")
        self._tell_report({"new": self.session.report})
        self.session.observe(self._tell_report, names="report")
        self.before_close(lambda: self.session.unobserve(self._tell_report, names="report"))

    def run(self) -> None:
        """Run and measure; returns at once."""
        self.session.run()

    def repeat(self, times: int) -> None:
        """Run several times, one after the other; returns at once."""
        self.session.repeat(times)

    def start_ranks(self) -> None:
        """Start the MPI ranks that the plan runs on; returns at once. A run starts them as well."""
        self.session.start_ranks()

    def end_ranks(self) -> None:
        """End the MPI ranks of the session; returns at once."""
        self.session.end_ranks()

    def cancel(self) -> None:
        """Cancel the present run."""
        self.session.cancel()

    def _tell_report(self, change: object) -> None:
        assert isinstance(change, dict)
        self.report = change["new"]

    def __repr__(self) -> str:
        return f"<isoviz runs: {self.session!r}>"
