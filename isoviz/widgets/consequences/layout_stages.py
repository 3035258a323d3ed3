"""Stages of *Find a layout*: what is asked for, the layouts that were found, the present layout, and measured times."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from isoviz.errors import InputError, IsovizError, show
from isoviz.units import parse_bytes
from isoviz.widgets.chosen.layout_question import LayoutQuestion, TypedUse
from isoviz.widgets.chosen.machine_choice import MachineChoice
from isoviz.widgets.chosen.settings import End, Row, Settings
from isoviz.widgets.consequences.run_places import PROCESS
from isoviz.widgets.consequences.transfer_stages import MovedPart, caught, linear_layout
from isoviz.widgets.consequences.where_it_runs import where_of
from isoviz.widgets.state import Problem, State, sentence

if TYPE_CHECKING:
    from isoviz.layouts import FieldSpace, IndexSpace
    from isoviz.machines import Machine
    from isoviz.measure.local_engine import MeasuredLayout
    from isoviz.planner import LayoutChoice, Options, RankedLayout, Use

CANDIDATES = 30
"""Layouts that are asked for: many differ from a better one in nothing that counts, and are not shown."""
ALIKE = 1e-2
"""The share by which times may differ that count as equal."""
MEASURED_LAYOUTS = 5
"""The best layouts, which are run on request."""
SEARCHED = "full"
"""The planner of the search where the session leaves the choice to `auto`: its times are the least that are possible."""


@dataclass(frozen=True)
class LayoutRequest:
    """What `find_layout` is called with. `problems` says what is wrong with the question, by control; then nothing is searched.

    The first of the `uses` is the transfer itself.
    """

    question: LayoutQuestion
    space: IndexSpace | None = None
    fields: FieldSpace | None = None
    memory: str = ""
    uses: tuple[Use, ...] = ()
    demands: tuple[tuple[str, object], ...] = ()
    problems: tuple[tuple[str, Problem], ...] = ()


@dataclass(frozen=True)
class FoundLayouts:
    """The layouts that were found so far; `done` where no others follow. `problem` says why there are none.

    The candidates of `choice` differ in their times, runs or padding; `alike` counts for each of them the others that do not.
    `reason` says why they cannot be run on this computer, "" where they can. It is known once the search is done.
    """

    request: LayoutRequest
    choice: LayoutChoice | None = None
    alike: tuple[int, ...] = ()
    done: bool = False
    problem: str = ""
    reason: str = ""


@dataclass(frozen=True)
class PresentLayout:
    """The times of the uses with the layout that the array has now; `ranked` is None where a use has no plan."""

    request: LayoutRequest
    ranked: RankedLayout | None = None


@dataclass(frozen=True)
class LayoutTimes:
    """The measured times of the best layouts of `choice`, as far as they have been run; `problem` says why some could not be."""

    choice: LayoutChoice
    measured: tuple[MeasuredLayout, ...] = field(default=(), compare=False)
    done: bool = False
    problem: str = ""


def question_of(settings: Settings, machine: Machine | None) -> LayoutQuestion:
    """The question of the settings. Before somebody asks, the layout of the destination is looked for, and the array is used
    once as it arrives and once in the layout that it has now."""
    if settings.layout_question is not None:
        return settings.layout_question
    return _first_question(settings.source, settings.destination, machine)


def _first_question(source: End, destination: End, machine: Machine | None) -> LayoutQuestion:
    memory = destination.memory
    stays = machine is None or any(each.source == each.destination == memory for each in machine.channels)
    return LayoutQuestion("destination", uses=(TypedUse("to", memory if stays else source.memory, destination.layout),))


def layout_request_of(
    _problems: dict[str, Problem],
    machine: Machine,
    typed_layout_question: LayoutQuestion | None,
    typed_source: End,
    typed_destination: End,
    typed_dimensions: tuple[Row, ...],
    space: IndexSpace | None,
    fields: FieldSpace | None,
    part: MovedPart | None,
) -> LayoutRequest:
    """What is asked of `find_layout`."""
    from isoviz.planner import Use

    question = typed_layout_question or _first_question(typed_source, typed_destination, machine)
    own, other = (typed_source, typed_destination) if question.side == "source" else (typed_destination, typed_source)
    if space is None or fields is None or part is None:
        return LayoutRequest(question, problems=(("array", Problem("Correct the array first")),))
    found: dict[str, Problem] = {}
    shape = {dim: extent for dim, extent in zip(space, part.shape, strict=True) if extent != space[dim]}
    names = part.field_names if len(part.field_names) < len(fields) else ()
    kind = "to" if question.side == "source" else "from"
    uses: list[Use] = []

    def use(control: str, kind: Any, memory: str, what: str, typed_weight: str, **box: Any) -> None:
        weight = caught(partial(_weight, typed_weight), f"{control}-weight", found)
        where = caught(partial(machine.memory, memory or own.memory), f"{control}-memory", found)
        if kind == "along":
            if what not in space:
                found[f"{control}-what"] = Problem(f"{show(what)} is not a dimension; expected {' or '.join(space)}")
                return
            layout = None
        else:
            order = linear_layout(found, f"{control}-what", what, typed_dimensions, space, fields)
            if order is None:
                return
            layout = order.layout
        if weight is not None and where is not None:
            dim = what if kind == "along" else ""
            made = caught(
                lambda: Use(kind, memory if layout is None else where.name, layout, dim, weight, **box), f"{control}-what", found
            )
            uses.extend(() if made is None else (made,))

    use("use-0", kind, other.memory, other.layout, question.weight, shape=tuple(shape.items()), fields=names)
    caught(partial(machine.memory, own.memory), "array", found)
    for number, each in enumerate(question.uses, 1):
        use(f"use-{number}", each.kind, each.memory, each.what, each.weight)
    demands = _demands(question, space, found)
    return LayoutRequest(question, space, fields, own.memory, tuple(uses), demands, tuple(found.items()))


def _demands(question: LayoutQuestion, space: IndexSpace, found: dict[str, Problem]) -> tuple[tuple[str, object], ...]:
    demands: list[tuple[str, object]] = []
    if question.least_run.strip():
        dim = question.run_dim or next(iter(space))
        nbytes = caught(partial(parse_bytes, question.least_run), "least-run", found)
        if dim not in space:
            found["run-dim"] = Problem(f"{show(dim)} is not a dimension; expected {' or '.join(space)}")
        elif nbytes is not None:
            demands.append(("least_runs", ((dim, nbytes),)))
    share = caught(partial(_share, question.most_padding), "most-padding", found)
    demands += [("most_padding", share or 0.0), ("fields_together", question.fields_together)]
    return (*demands, ("order", tuple(space) if question.keep_order else ()))


def _weight(text: str) -> float:
    weight = _number(text)
    if weight is None or not 0 < weight <= 1e18:
        raise InputError(f"{show(text)} is not a weight; expected a number above 0, such as 10")
    return weight


def _share(text: str) -> float:
    if not text.strip():
        return 0.0
    percent = _number(text.strip().removesuffix("%"))
    if percent is None or not 0 <= percent <= 1e6:
        raise InputError(f"{show(text)} is not a share; expected percent from 0 on, such as 10")
    return percent / 100


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def layout_choice_of(
    _problems: dict[str, Problem], layout_request: LayoutRequest, machine: Machine, options: Options, typed_machine: MachineChoice
) -> Generator[FoundLayouts | None, None, FoundLayouts]:
    """The best layouts, better and better."""
    from isoviz.planner.layout_choice import layout_choices

    request = layout_request
    found = FoundLayouts(request)
    if request.problems or request.space is None or request.fields is None:
        return replace(found, done=True)
    demands: dict[str, Any] = dict(request.demands)
    demands["least_runs"] = dict(demands.get("least_runs", ()))
    planner = SEARCHED if options.planner == "auto" else options.planner
    try:
        for choice in layout_choices(
            request.space,
            request.fields,
            request.memory,
            request.uses,
            machine,
            count=CANDIDATES,
            planner=planner,
            options=options,
            **demands,
        ):
            found = found if choice is None else _told_apart(found, choice)
            yield None if choice is None else found
    except IsovizError as error:
        return replace(found, done=True, problem=sentence(str(error).removeprefix("find_layout: ")))
    assert found.choice is not None
    return replace(found, done=True, reason=_reason_not_to_run(found.choice, machine, typed_machine))


def _told_apart(found: FoundLayouts, choice: LayoutChoice) -> FoundLayouts:
    """The candidates of a choice without those that differ from a better one in nothing that counts."""
    kept: list[RankedLayout] = []
    alike: list[int] = []
    for each in choice.candidates:
        same = next((place for place, other in enumerate(kept) if _is_alike(each, other)), None)
        if same is None:
            kept.append(each)
            alike.append(0)
        else:
            alike[same] += 1
    return replace(found, choice=replace(choice, candidates=tuple(kept)), alike=tuple(alike))


def _is_alike(one: RankedLayout, other: RankedLayout) -> bool:
    return (one.runs, one.padding) == (other.runs, other.padding) and all(
        math.isclose(mine, its, rel_tol=ALIKE) for mine, its in zip(one.times, other.times, strict=True)
    )


def _reason_not_to_run(choice: LayoutChoice, machine: Machine, typed_machine: MachineChoice) -> str:
    """Why the best layout cannot be run in this process; "" where it can."""
    from isoviz.planner import plan

    for transfer in choice.transfers():
        where = where_of({}, plan(transfer, machine, options=choice.options), machine, typed_machine, PROCESS)
        if reason := where.reason_at(PROCESS) or where.reason:
            return reason
    return ""


def present_layout_of(
    _problems: dict[str, Problem],
    layout_request: LayoutRequest,
    machine: Machine,
    options: Options,
    typed_source: End,
    typed_destination: End,
    typed_dimensions: tuple[Row, ...],
) -> PresentLayout:
    """The times of the uses with the layout that the array has now."""
    from isoviz.planner.layout_choice import ranked_layout

    request = layout_request
    found = PresentLayout(request)
    if request.problems or request.space is None or request.fields is None:
        return found
    text = (typed_source if request.question.side == "source" else typed_destination).layout
    order = linear_layout({}, "", text, typed_dimensions, request.space, request.fields)
    if order is None:
        return found
    planner = SEARCHED if options.planner == "auto" else options.planner
    try:
        ranked = ranked_layout(order, request.memory, request.uses, machine, replace(options, planner=planner))
    except IsovizError:  # a use has no plan, which is told where the search has none
        return found
    return replace(found, ranked=ranked)


def layout_times_of(
    _problems: dict[str, Problem], layouts_to_measure: LayoutChoice, machine: Machine
) -> Generator[LayoutTimes | None, None, LayoutTimes]:
    """The measured times of the best layouts, round after round."""
    from isoviz.measure.local_engine import layout_measurements

    times = LayoutTimes(layouts_to_measure)
    try:
        measured: Sequence[MeasuredLayout] | None
        for measured in layout_measurements(layouts_to_measure, machine, count=MEASURED_LAYOUTS):
            times = times if measured is None else replace(times, measured=tuple(measured))
            yield times
    except IsovizError as error:
        return replace(times, done=True, problem=sentence(str(error)))
    return replace(times, done=True)


def times_of(later: Mapping[str, Any]) -> LayoutTimes | None:
    """The measured times of the layouts that were found last; None where these were not run. `later`: see `Derived`."""
    found: FoundLayouts | None = later.get("layout_choice")
    times: LayoutTimes | None = later.get("layout_times")
    return None if found is None or times is None or times.choice is not found.choice else times


def is_measuring_layouts(state: State) -> bool:
    """Whether layouts are being run."""
    times: LayoutTimes | None = state.derived.later.get("layout_times")
    wanted = state.layouts_to_measure
    return (
        wanted is not None
        and "layout_times" in state.demanded
        and (times is None or times.choice is not wanted or not times.done)
    )
