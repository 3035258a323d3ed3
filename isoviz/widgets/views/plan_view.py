"""A plan alone in a notebook: its path, why it is the way it is, what would change it, and the plan by hand.

view = isoviz.PlanView(transfer, machine)
view
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from isoviz import checks
from isoviz.errors import InputError, show
from isoviz.machines import MachineLike, machine_argument
from isoviz.planner import Options, Plan, Transfer, machine_of
from isoviz.planner import plan as planned
from isoviz.widgets.chosen.fixed_parts import FixedPart, FixedParts
from isoviz.widgets.chosen.machine_choice import DescribedMachine
from isoviz.widgets.commands.command import OnScreen
from isoviz.widgets.consequences.derive import EVERYTHING, NOT_ALONE
from isoviz.widgets.explorer import Explorer
from isoviz.widgets.pages.state_of_plan import settings_of_plan
from isoviz.widgets.session import Session
from isoviz.widgets.views.checked_pane import TIMEOUT, Check, CheckedPane, why_no_value
from isoviz.widgets.views.judging import Found

if TYPE_CHECKING:
    from isoviz.planner import Explanation
    from isoviz.planner.path_plan import PathPlan
    from isoviz.widgets.state import Derived


_PARTS: tuple[FixedPart, ...] = ("transfer", "machine", "path")
"""What can be fixed of a plan."""


def _fixed_parts(fixed: object) -> frozenset[FixedPart]:
    """The parts that stay, as a caller names them.

    Raises:
        InputError: it is neither True, False nor some of their names.
    """
    if isinstance(fixed, bool):
        return frozenset(_PARTS if fixed else ())
    names = checks.names("PlanView, fixed", fixed, f"True, or some of {', '.join(_PARTS)}")
    if unknown := [name for name in names if name not in _PARTS]:
        raise InputError(f"PlanView, fixed: expected True, or some of {', '.join(_PARTS)}, got {show(unknown[0])}")
    return frozenset(cast(FixedPart, name) for name in names)


def _channels(path: PathPlan) -> tuple[str, ...]:
    return tuple(hop.channel for hop in path.hops)


class PlanView(CheckedPane):
    """Why a plan is what it is: constraints, candidates and what would make one of them win, sliders to try changes, plans by
    hand.

        view = isoviz.PlanView(transfer, machine)
        view

    - `shown`: a `Transfer` with its `machine`, a `Plan`, or an explorer or its session, whose plan is then shown.
    - `machine`: needed for a transfer, and for a plan that another process made.
    - `options`: the choices of the planner for a transfer, or those that the plan was made with.

    `view.plan` is the plan that is shown, None while there is none. `view.explanation` explains it, None until it is known.
    `view.answer()` waits for the plan of the last gesture. `view.session` can be observed:
    `view.session.observe(…, names="plan")`. `close` ends the view. A session that the view made itself ends, too.

    With `check`, a function that takes the plan, the view has a button *Check* that judges the plan on screen
    (`isoviz.widgets.views.checked_pane.CheckedPane` says what the function returns). `view.verdict` is the verdict on that plan.
    `fixed` names what cannot be changed: "transfer" (with its limits), "machine", "path" (its hops). True means all of them: only
    the layouts of the buffers, their blocks, the chunk and the target can then be changed.

    Raises:
        InputError: `shown` is none of these, a transfer comes without a machine, a machine is given beside a session, or the
            transfer is a bundle or has lists. Others as `isoviz.plan`.
    """

    _stages = EVERYTHING - NOT_ALONE - {"other_plans", "interval"}

    def __init__(
        self,
        shown: Transfer | Plan | Session | Explorer,
        machine: MachineLike | None = None,
        *,
        options: Options | None = None,
        check: Check | None = None,
        fixed: bool | Collection[str] = False,
    ) -> None:
        parts = _fixed_parts(fixed)
        if isinstance(shown, Explorer | Session):
            if machine is not None or options is not None or parts:
                raise InputError("PlanView: machine, options and fixed are those of the session; expected none beside it")
            super().__init__(shown.session if isinstance(shown, Explorer) else shown, pane="why", check=check)
            return
        if isinstance(shown, Transfer):
            if machine is None:
                raise InputError("PlanView: expected the machine of the transfer as well")
            options = Options(planner="full") if options is None else options
            machine = machine_argument("PlanView", machine)
            shown = planned(shown, machine, options=options)
        if not isinstance(shown, Plan):
            raise InputError(f"PlanView: expected a transfer, a plan, a session or an explorer, got {show(shown)}")
        if shown.transfer.further_json:
            raise InputError(
                f"PlanView: sessions have boxes of arrays, and no controls for {shown.transfer}; the plan shows itself in a"
                " notebook, by isoviz.figures.html(plan) and by isoviz show"
            )
        settings = settings_of_plan(shown, DescribedMachine(machine_of(shown, machine)), options)
        paths = tuple(frozenset({_channels(path), path.memories}) for path in shown.paths) if "path" in parts else ()
        held = FixedParts(settings, parts, paths) if parts else None
        super().__init__(settings, pane="why", check=check, fixed=held)

    @property
    def plan(self) -> Plan | None:
        """The plan that is shown; None while there is none for what is entered."""
        plan: Plan | None = self.session.plan
        return plan

    @property
    def explanation(self) -> Explanation | None:
        """The explanation of `plan`; None until it is known."""
        explained = self.session.state.derived.later.get("explanation")
        return None if explained is None or explained.plan is not self.plan else explained.explanation

    def answer(self, timeout: float | None = TIMEOUT) -> Plan:
        """The plan on screen, after all gestures that the browser has sent. Its explanation may follow later.

        A plan by hand that breaks limits is returned, too: `Plan.violations` says which.

        Raises:
            InputError: there is no plan for what is entered; the message says why.
            TimeoutError: it takes longer than `timeout` seconds.
        """
        plan: Plan = self._answered(lambda state: state.planned, timeout)
        return plan

    def _found_in(self, derived: Derived) -> Found:
        if derived.plan is None or "plan" in derived.stale or derived.planned != (derived.settings, derived.measurement):
            return Found(None, why_no_value(derived))
        return Found(derived.plan)

    def _shown_of(self, seen: OnScreen) -> object:
        return replace(seen.settings, layout_question=None, runs_in="")

    @property
    def _called(self) -> str:
        return "plan view"

    def __repr__(self) -> str:
        return f"<isoviz plan view: {'no plan' if self.plan is None else str(self.plan).splitlines()[0]}>"
