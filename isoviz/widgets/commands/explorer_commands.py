"""The commands of the browser, each declared by the function that carries it out (`isoviz.widgets.commands.command`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Union

from isoviz.errors import CommandError, FileError, InputError, IsovizError, MachineError, show
from isoviz.machines import machine_from_json
from isoviz.schema import MismatchError, parse, read
from isoviz.widgets.chosen.examples import EXAMPLES
from isoviz.widgets.chosen.layout_question import LayoutQuestion
from isoviz.widgets.chosen.machine_choice import DescribedMachine, FileMachine, PresetMachine
from isoviz.widgets.chosen.selection import Selection
from isoviz.widgets.chosen.session_file import settings_in
from isoviz.widgets.chosen.settings import ByHand, End, Part, Row, controls
from isoviz.widgets.chosen.transfers import added, chosen, duplicated, removed, with_transfer, with_urgent
from isoviz.widgets.chosen.what_if import ShownWhatIf, WhatIf
from isoviz.widgets.commands import rows
from isoviz.widgets.commands.answers import exported_file, steps_answer, trace_answer
from isoviz.widgets.commands.command import (
    DECLARED,
    Answer,
    CheckAsked,
    OnScreen,
    Question,
    Sender,
    Step,
    Threads,
    command,
    question,
    without_envelope,
)
from isoviz.widgets.commands.machine_edits import MachineEdit, machine_edited
from isoviz.widgets.consequences.transfer_stages import options_of
from isoviz.widgets.consequences.where_it_runs import local_settings
from isoviz.widgets.contract import WIRE, Exported, ExportMessage, ShownEntry, ShownSelection
from isoviz.widgets.panes.pane_table import VIEWS
from isoviz.widgets.running import past_runs
from isoviz.widgets.running.begin_run import checked_times, with_note
from isoviz.widgets.state import State
from isoviz.widgets.steps import (
    changed,
    demanding,
    keeping,
    measuring,
    measuring_layouts,
    redone,
    undone,
)
from isoviz.widgets.trace_contract import TraceKind

KEPT_WATCHERS = 8
"""Browser views whose demands are kept. A page that was reloaded does not say that its views are gone."""

if TYPE_CHECKING:
    TextControl = str
    TransferControl = str
else:  # what is declared of the settings
    _ENDS = [f"{side}-{member}" for side in ("source", "destination") for member in ("memory", "layout")]
    _OWN = [name for name, (_, control) in controls().items() if not control.of_any_transfer]
    TextControl = Literal[("machine", *_OWN, *_ENDS)]
    TransferControl = Literal[tuple([name for name, (_, control) in controls().items() if control.of_any_transfer])]


# ---- texts. Edits of one control, letter by letter, are one step to undo; every choice in a menu is a step by itself.


@command("set")
def set_text(state: State, /, field: TextControl, value: str) -> State:
    """Enter the text of a control; `machine` takes the name of a preset, `runs-in` a place: "", "process" or "ranks"."""
    settings = state.settings
    if field == "machine":
        return changed(state, replace(settings, machine=PresetMachine(value), runs_in=""))
    if field in controls():
        is_menu = controls()[field][1].menu
        return changed(state, replace(settings, **_entered(field, value)), step=None if is_menu else field)
    side, _, member = field.partition("-")
    end = settings.end(side)
    if member == "memory":
        return changed(state, settings.with_end(side, replace(end, memory=value)))
    other_array = replace(end, layout=value, unplanned="")  # another layout is that of another array
    return changed(state, settings.with_end(side, other_array), step=field)


@command("set")
def set_row(
    state: State, /, field: Literal["dimension-name", "dimension-size", "field-name", "field-dtype"], row: int, value: str
) -> State:
    """Enter a text of the row with the key `row`.

    Raises:
        InputError: it is gone.
    """
    return changed(state, rows.with_row(state.settings, field, row, value), step=(field, row))


@command("set")
def set_machine_option(state: State, /, field: Literal["machine-option"], name: str, value: str) -> State:
    """Enter an option of the preset.

    Raises:
        InputError: the machine is not a preset.
    """
    machine = state.settings.machine
    if not isinstance(machine, PresetMachine):
        raise InputError(f"option {name!r}: {machine.name!r} is no preset, and only presets take options")
    return changed(state, replace(state.settings, machine=machine.with_option(name, value)), step=(field, name))


@command("set")
def set_transfer(state: State, /, field: TransferControl, transfer: int, value: str) -> State:
    """Enter a text of the transfer with the key `transfer`.

    Raises:
        InputError: it is gone.
    """
    return changed(state, with_transfer(state.settings, transfer, **_entered(field, value)), step=(field, transfer))


def _entered(field: str, value: str) -> dict[str, Any]:
    """The attribute of the settings that a control enters, with its text.

    Raises:
        InputError: the control does not allow it.
    """
    name, control = controls()[field]
    if control.allowed is not None and value not in control.allowed:
        raise InputError(f"{field} {value!r}: expected {', '.join(map(repr, control.allowed))}")
    return {name: value}


# ---- machines, rows, sessions


@command("describe-machine")
def describe_machine(state: State, /, machine: dict[str, object]) -> State:
    """Choose the machine that this JSON object describes (the format of machine files).

    Raises:
        MachineError: the object does not describe a machine.
    """
    return changed(state, replace(state.settings, machine=DescribedMachine(machine_from_json(machine))))


@command("add-dimension", "add-field")
def add_row(state: State, /, kind: str) -> State:
    """Add a dimension or a field."""
    add = rows.with_another_dimension if kind == "add-dimension" else rows.with_another_field
    return changed(state, add(state.settings))


@command("remove-dimension", "remove-field")
def remove_row(state: State, /, kind: str, row: int) -> State:
    """Remove the row with the key `row`.

    Raises:
        InputError: it is gone.
    """
    remove = rows.without_dimension if kind == "remove-dimension" else rows.without_field
    return changed(state, remove(state.settings, row))


@command("example")
def begin_from(state: State, /, value: str) -> State:
    """Begin from the example of that name.

    Raises:
        InputError: there is no such example.
    """
    if value not in EXAMPLES:
        raise InputError(f"example {value!r}: expected one of {', '.join(EXAMPLES)}")
    now, example = state.settings, EXAMPLES[value].settings
    settings = replace(  # it takes the place of the transfer that is edited: the others stay
        example, name=now.name, priority=now.priority, begin=now.begin, key=now.key, place=now.place, beside=now.beside
    )
    return changed(state, settings)


_BARE: dict[str, Callable[[State, Threads], State]] = {
    "swap": lambda state, _: changed(
        state, replace(state.settings, source=state.settings.destination, destination=state.settings.source)
    ),
    "use-local": lambda state, _: changed(state, local_settings(state.settings, state.derived.machine)),
    "undo": lambda state, _: undone(state),
    "redo": lambda state, _: redone(state),
    "begin-afresh": lambda state, _: changed(state, state.begun or state.settings),
    "run": lambda state, threads: threads.run(state, 1),
    "cancel": lambda state, threads: threads.cancel(state),
    "forget": lambda state, _: replace(state, history=()),
    "measure": lambda state, _: measuring(state),
    "hello": lambda state, _: state,
    "add-transfer": lambda state, _: changed(state, added(state.settings)),
    "keep-what-if": lambda state, _: keeping(state),
    "measure-layouts": lambda state, _: measuring_layouts(state),
    "stop-measuring-layouts": lambda state, _: replace(state, layouts_to_measure=None, edits=state.edits + 1),
    "start-ranks": lambda state, threads: threads.start_ranks(state),
    "end-ranks": lambda state, threads: threads.end_ranks(state),
}


@command(*_BARE)
def bare(state: State, threads: Threads, /, kind: str) -> State:
    """A command without arguments.

    `hello` asks for an acknowledgement only, `forget` empties the history of runs, `measure` measures this computer again,
    `measure-layouts` runs the best layouts that were found, and `stop-measuring-layouts` ends that;
    `keep-what-if` makes settings of what is tried, `start-ranks` starts the ranks for the plan, `end-ranks` ends them,
    `add-transfer` keeps the transfer beside a copy of it, which is edited from then on; `begin-afresh` goes back to the settings
    that the session began with, which `undo` takes back.

    Raises:
        InputError: it cannot be done.
    """
    return _BARE[kind](state, threads)


@command("select")
def select(state: State, sender: Sender, /, selection: ShownSelection) -> State:
    """Select something in every view."""
    return replace(state, selected=state.selected.then(Selection.of(selection), *sender))


@command("watch")
def watch(state: State, sender: Sender, /, views: list[str]) -> State:
    """Compute what these views need, for as long as the sender shows them: names of views as in
    `isoviz.widgets.panes.pane_table.VIEWS`. It replaces what the sender watched before.

    Raises:
        InputError: there is no such view.
    """
    if unknown := [name for name in views if name not in VIEWS]:
        raise InputError(f"view {show(unknown[0])}: expected one of {', '.join(VIEWS)}")
    rest = {name: stages for name, stages in state.watched.items() if name != sender.client}
    newest = [*rest.items(), (sender.client or "", frozenset().union(*(VIEWS[name] for name in views)))]
    return demanding(state, replace(state, watched=dict(newest[-KEPT_WATCHERS:])))


@command("open-session")
def open_session(state: State, /, name: str, text: str) -> State:
    """Choose what the text of a session file holds. `name` is the name of the file, for errors.

    Raises:
        FileError: the text holds no session.
    """
    return changed(state, settings_in(text, name))


@command("open-machine")
def open_machine(state: State, /, name: str, text: str) -> State:
    """Choose the machine that the text of a machine file describes. `name` is the name of the file.

    Raises:
        FileError: the text does not describe a machine.
    """
    try:
        machine = machine_from_json(parse(text))
    except MachineError as error:
        raise FileError(f"{name}: {error}") from None
    return changed(state, replace(state.settings, machine=FileMachine(machine, name)))


# ---- questions


def _is_export_due(state: State, what: Exported) -> bool:
    """Whether the state holds all that an export needs: the settings alone, or everything that follows from them."""
    return what in ("session", "python") or state.settled


@question("export", _is_export_due)
def ask_export(state: State, sender: Sender, /, what: Exported) -> Answer:
    """Ask for an export."""
    message: ExportMessage = {"kind": "export", "what": what, "number": sender.number, "name": "", "text": "", "error": ""}
    try:
        name, text = ("isoviz-plan.html", _page(state)) if what == "page" else exported_file(what, state)
    except IsovizError as error:
        return Answer({**message, "error": str(error)})
    except Exception as error:  # noqa: BLE001 - a defect: told where the export was asked for
        return Answer({**message, "error": f"{type(error).__name__}: {error}"})
    return Answer({**message, "name": name, "text": text})


def _page(state: State) -> str:
    from isoviz.widgets.pages.plan_page import state_page  # an explorer is shown without it

    return state_page(state)


@question("trace")
def ask_trace(state: State, sender: Sender, /, which: TraceKind, run: str = "") -> Answer:
    """Ask for a trace: the newest of its kind, or the measured one of the run with the name `run` in the list of runs."""
    return Answer(*trace_answer(state, which, sender.number, run))


@question("steps")
def ask_steps(state: State, sender: Sender, /, first: int) -> Answer:
    """Ask for the steps of the simulation from number `first` on: the scheduler's stimuli and answers in words."""
    return Answer(steps_answer(state, first, sender.number))


# ---- transfers, paths, layouts, runs


@command("add-urgent")
def add_urgent(state: State, /) -> State:
    """Add a transfer like the one that is edited, but more urgent than all. It begins in the middle of that one.

    Raises:
        InputError: there are too many, or there is no plan.
    """
    return changed(state, with_urgent(state.settings, state.derived.plan))


@command("part")
def choose_part(state: State, /, part: Part, control: str) -> State:
    """Choose what moves. `control` names what was used: edits of one control are one step to undo."""
    settings = replace(state.settings, part=Part.of(part.ranges, part.left_out))
    return changed(state, rows.without_lost_rows(settings), step=("part", control))


@command("edit-transfer", "copy-transfer", "remove-transfer")
def one_transfer(state: State, /, kind: str, transfer: int) -> State:
    """Edit, copy or remove the transfer with the key `transfer`. A copy stands behind it and is edited from then on.

    Raises:
        InputError: it is gone, it is the only one, or there are too many.
    """
    edit = {"edit-transfer": chosen, "copy-transfer": duplicated, "remove-transfer": removed}[kind]
    return changed(state, edit(state.settings, transfer))


@command("edit-machine")
def edit_machine(state: State, /, edit: MachineEdit) -> State:
    """Edit the machine.

    Raises:
        InputError: the edit cannot be, or the machine is still being made.
    """
    return machine_edited(state, edit)


@command("by-hand")
def plan_by_hand(state: State, /, part: str, by_hand: ByHand | None) -> State:
    """Plan this path by hand; null goes back to the planner. `part` says what is edited: edits of one part in a row are one step
    to undo.
    """
    settings = replace(state.settings, by_hand=None if by_hand is None else replace(by_hand, name=""))
    return changed(state, settings, step=("by-hand", part) if part else None)


@command("convert-at")
def convert_at(state: State, /, hop: int) -> State:
    """Plan the path of the plan by hand, with its conversion at the hop of this number.

    Raises:
        InputError: there is no plan yet, it has several paths or no such hop, or that hop cannot convert.
    """
    from isoviz.planner.explanation.converting_at import layouts_converting_at

    derived, settings = state.derived, state.settings
    plan, machine, transfer = derived.plan, derived.planned_on, derived.transfer
    typed = (settings.planner, settings.slot_limit, settings.memory_limit, settings.paths, settings.proxies, settings.reuse)
    if plan is None or machine is None or transfer is None or not state.planned or (options := options_of({}, *typed)) is None:
        raise InputError("convert here: there is no plan yet for these settings")
    if len(plan.paths) > 1:
        raise InputError("convert here: the plan has several paths; edit them by hand")
    path = tuple(each.channel for each in plan.hops)
    if not 0 <= hop < len(path):
        raise InputError(f"convert here: expected a hop from 0 to {len(path) - 1}, got {hop}")
    layouts = layouts_converting_at(transfer, machine, path, hop, options)
    return changed(state, replace(settings, by_hand=ByHand(path, tuple(map(str, layouts)))))


@command("find-layout")
def ask_layouts(state: State, /, question: LayoutQuestion, control: str) -> State:
    """Find layouts that answer this question. `control` names what was used: edits of one control are one step to undo."""
    settings = replace(state.settings, layout_question=question)
    return changed(state, settings, step=("find-layout", control) if control else None)


@command("take-layout")
def take_layout(state: State, /, layout: str, question: LayoutQuestion) -> State:
    """Give the end whose layout is looked for this layout. The question stays."""
    end = replace(state.settings.end(question.side), layout=layout, unplanned="")
    return changed(state, replace(state.settings.with_end(question.side, end), layout_question=question))


@command("what-if")
def ask_what_if(state: State, /, what_if: ShownWhatIf, moving: bool) -> State:
    """Plan with these changes, beside the present plan. Without changes, the trial ends.

    `moving` says that a slider is still being dragged.
    """
    tried = WhatIf(
        bandwidths=tuple(what_if["bandwidths"]),
        slot_limit=what_if["slotLimit"],
        sizes=tuple(what_if["sizes"]),
        reuse=what_if["reuse"],
        capacities=tuple(what_if["capacities"]),
    )
    question = tried if tried.changes_nothing else replace(tried, moving=moving)
    return state if question == state.what_if else replace(state, what_if=question, refused=None, edits=state.edits + 1)


@command("repeat")
def repeat(state: State, threads: Threads, /, times: int) -> State:
    """Run `times` times, one after the other.

    Raises:
        InputError: `times` is out of range.
    """
    return threads.run(state, checked_times(times))


@command("note")
def write_note(state: State, /, run: str, note: str) -> State:
    """Write a note to a run. `run` is its name in the list of runs; an empty note removes what was there.

    Raises:
        InputError: there is no such run, or the note cannot be kept.
    """
    return with_note(state, run, note)


@question("runs", lambda state: state.planned)
def ask_runs(state: State, sender: Sender, /) -> Answer:
    """Ask for the runs of the session and for the earlier ones of its transfer on this computer."""
    return Answer(past_runs.answer(sender.number, state))


@command("check", sort=CheckAsked)
def ask_verdict(
    state: State,
    /,
    dimensions: tuple[Row, ...],
    fields: tuple[Row, ...],
    source: str,
    destination: str,
    by_hand: ByHand | None,
    entry: ShownEntry | None,
) -> OnScreen:
    """Judge what is on screen: the rows of the array, the layouts of both ends, the plan by hand (null: a planner plans), and the
    entry that is selected (null: none).

    All of it goes with the command. So the verdict is about what the person saw, also while other changes are on their way.
    """
    now = state.settings

    def row(shown: Row) -> Row:
        """The row with the name that layouts go on with, which the browser does not know."""
        return next((each for each in now.dimensions if replace(each, kept="") == shown), shown)

    def end(known: End, layout: str) -> End:
        return known if layout == known.layout else replace(known, layout=layout, unplanned="")

    seen = replace(now, dimensions=tuple(map(row, dimensions)), fields=fields, by_hand=by_hand)
    return OnScreen(replace(seen, source=end(now.source, source), destination=end(now.destination, destination)), entry)


if TYPE_CHECKING:
    Command = Step | Question | CheckAsked
else:  # what is declared above
    Command = Union[tuple(DECLARED)]  # noqa: UP007 - of all that there are
    """What the browser may ask for. Each goes with the name of the view, `client`, and the number of the command, `number`."""


def read_command(content: object) -> Command:
    """The command in a message, without its envelope.

    Raises:
        CommandError: not an object, an unknown kind, an argument that is missing, unknown or of another type.
    """
    message = without_envelope(content)
    try:
        found: Command = read(message, Command, WIRE)
    except MismatchError as error:
        raise CommandError(f"command {show(message.get('kind'))}: {error}") from None
    return found
