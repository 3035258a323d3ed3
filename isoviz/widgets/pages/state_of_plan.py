"""The state of an explorer that shows a given plan, without a session and its threads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoviz.planner.options import BY_HAND
from isoviz.widgets.chosen.machine_choice import LOCAL, DescribedMachine, FileMachine, MachineChoice, PresetMachine
from isoviz.widgets.chosen.settings import ByHand, End, PathShare, Settings, TextSettings, rows, settings_for, transfer_text
from isoviz.widgets.consequences.derive import LATER, NOT_ALONE, derived_of_plan
from isoviz.widgets.consequences.explained_plan import FoundMap, Turns, explained
from isoviz.widgets.panes.pane_table import VIEWS
from isoviz.widgets.state import Derived, Run, State
from isoviz.widgets.traces.simulating import Simulated, Simulation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoviz.machines import Machine
    from isoviz.planner import Explanation, Instance, Options, PathPlan, Plan, Transfer, TransferFile, WinnerMap
    from isoviz.runtime import Report, Trace


def state_of_plan(
    plan: Plan,
    machine: Machine,
    *,
    choice: MachineChoice | None = None,
    options: Options | None = None,
    report: Report | None = None,
    views: Iterable[str] = (),
) -> State:
    """The state in which a plan for `machine` is shown, with what `views` (names in `VIEWS`) need of it.

    `choice` says how the machine was chosen; without it the machine is one that was described. `report` is that of a run of the
    plan.
    """
    settings = settings_of_plan(plan, choice or DescribedMachine(machine), options)
    demanded = VIEWS["explorer"].union(*(VIEWS[view] for view in views))
    derived = derived_of_plan(Derived(settings, demanded=demanded), plan, machine)
    run = Run() if report is None else _run(plan, report, transfer_text(settings))
    return State(settings, derived, run=run, views=demanded, computed=0)


def with_views(state: State, views: Iterable[str]) -> State:
    """A settled state of an explorer, with what `views` need of its plan where it is not there yet."""
    derived = state.derived
    demanded = frozenset().union(*(VIEWS[view] for view in views))
    state = replace(state, views=state.views | demanded)
    needed = LATER & demanded - NOT_ALONE
    if derived.plan is None or derived.planned_on is None or needed <= derived.later.keys():
        return state
    found = derived_of_plan(replace(derived, demanded=derived.demanded | demanded), derived.plan, derived.planned_on)
    return replace(state, derived=replace(derived, later={**derived.later, **found.later}))


def with_traces(state: State, trace: Trace, stored: Trace | None) -> State:
    """The state with simulations of its plan that were made already: `stored` is the same stored and forwarded."""
    plan, machine = state.derived.plan, state.derived.planned_on
    assert plan is not None and machine is not None
    found = dict(state.derived.later)
    found["simulation"] = _simulation(plan, machine, trace, pipelined=True)
    if stored is not None:
        found["stored_simulation"] = _simulation(plan, machine, stored, pipelined=False)
    return replace(state, derived=replace(state.derived, later=found))


def with_explanation(state: State, explanation: Explanation, options: Options | None, *, rivals: bool) -> State:
    """The state with an explanation of its plan that was made already, and where it was asked for what would make `rivals` win,
    with that.
    """
    from isoviz.planner import Options

    plan = explanation.plan
    found: dict[str, Any] = {"explanation": explained(plan, Options.given(options), explanation)}
    if rivals:
        found["turns"] = Turns(plan, tuple(explanation.crossovers), done=True)
    return replace(state, derived=replace(state.derived, later={**state.derived.later, **found}))


def with_map(state: State, found: WinnerMap, options: Options | None) -> State:
    """The state with a map of the fastest paths that was made already."""
    from isoviz.planner import Options

    transfer = state.derived.transfer
    assert transfer is not None
    later = {**state.derived.later, "winner_map": FoundMap(transfer, Options.given(options), found, done=True)}
    return replace(state, derived=replace(state.derived, later=later))


def _simulation(plan: Plan, machine: Machine, trace: Trace, *, pipelined: bool) -> Simulation:
    begin = trace.begin
    transfers = tuple(Simulated(plan, each.label, plan.transfer.priority, each.submitted - begin) for each in trace.transfers)
    return Simulation(machine, transfers, pipelined, 0, trace)


def machine_choice_of(file: TransferFile, machine: Machine) -> MachineChoice:
    """How a transfer file chooses its machine."""
    given = dict(file.machine_options)
    if "file" in given:
        return FileMachine(machine, str(file.folder / str(given["file"])))
    name = str(given.pop("preset", LOCAL))
    if isinstance(given.get("directory"), str):
        given["directory"] = file.folder / given["directory"]
    return PresetMachine(name, tuple((key, str(value)) for key, value in given.items()))


def settings_of_plan(plan: Plan, choice: MachineChoice, options: Options | None = None) -> Settings:
    """The settings that lead to a plan, as they would have been typed."""
    by_hand = _by_hand(plan)
    planner = plan.planner if by_hand is None else Settings().planner
    return replace(settings_of_transfer(plan.transfer, choice, planner, options), by_hand=by_hand)


def settings_of_transfer(
    transfer: Transfer, choice: MachineChoice, planner: str = "auto", options: Options | None = None
) -> Settings:
    """The settings that lead to a transfer on a machine, as they would have been typed."""
    source, destination = transfer.source, transfer.destination
    sizes = source.space.as_dict()
    limits = {} if options is None else options.as_dict()
    texts: dict[str, Any] = {
        name: str(value) for name, value in limits.items() if name in TextSettings.__annotations__ and name != "planner"
    }
    settings = Settings(
        machine=choice,
        dimensions=rows(sizes, 1),
        fields=rows(source.fields.as_dict(), 1 + len(sizes)),
        source=_end(source),
        destination=_end(destination),
        planner=planner,
        priority=str(transfer.priority),
        **texts,
    )
    return settings_for(start=settings, **_part(transfer)) if transfer.is_partial else settings


def _by_hand(plan: Plan) -> ByHand | None:
    """The paths by hand that a plan is; None where a planner made it."""
    if plan.planner != BY_HAND:
        return None
    if len(plan.paths) > 1:
        return ByHand(paths=tuple(map(_path_share, plan.paths)))
    channels, layouts = (hop.channel for hop in plan.hops), (hop.destination_layout for hop in plan.hops[:-1])
    return ByHand(tuple(channels), tuple(layouts), str(plan.chunk_bytes) if len(plan.hops) > 1 else "")


def _path_share(path: PathPlan) -> PathShare:
    channels, layouts = (hop.channel for hop in path.hops), (hop.destination_layout for hop in path.hops[:-1])
    return PathShare(path.bytes, tuple(channels), tuple(layouts), str(path.chunk_bytes) if len(path.hops) > 1 else "")


def _part(transfer: Transfer) -> dict[str, Any]:
    """Which part moves, as arguments of `settings_for`."""
    dims, source, destination = transfer.source.space.dims, transfer.source_origin, transfer.destination_origin
    if dims != transfer.destination.space.dims:
        return {}  # an explorer has one index space: the page tells each end on its own
    ranges = {dim: (source[k], transfer.shape[k], destination[k]) for k, dim in enumerate(dims)}
    return {"part": ranges, "moved_fields": transfer.field_names}


def _end(instance: Instance) -> End:
    return End(instance.memory, str(instance.layout))


def _run(plan: Plan, report: Report, text: str) -> Run:
    return Run(1, "done", "verify", plan.bytes, plan=report.plan, transfer_text=text, report=report, reports=(report,))
