"""The contract between the kernel and the browser: what each sends to the other, as typed dictionaries.

`widgets/src/types.ts` is generated from this module and from the table of panes (`isoviz.widgets.panes.pane_table`) by
`widgets/generate.py`. Quantities are numbers: bytes, seconds, bytes per second, shares of one. The browser writes them for people
(`widgets/src/units.ts`). Sizes beyond 2⁵³ bytes lose their last digits in a browser, which has no larger whole numbers.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from isoviz.widgets.machine_contract import DescribeMachine, EditMachine, OpenMachine
from isoviz.widgets.running.shown_runs import RunsMessage
from isoviz.widgets.trace_contract import AddUrgent, AskSteps, AskTrace, StepsMessage, TraceMessage
from isoviz.widgets.transfer_contract import AskRuns, ChoosePart, OneTransfer, Repeat, SetTransfer, ShownPart, WriteNote

Side = Literal["source", "destination"]
"""The two ends of a transfer."""

Phase = Literal["idle", "running", "cancelling", "done", "failed", "cancelled"]
"""Where a run is between its click and its end."""

RanksPhase = Literal["none", "starting", "running", "ending", "ended", "lost", "failed"]
"""What the MPI ranks of a session are doing, or why there are none."""

Stage = Literal["prepare", "ranks", "trial", "generate", "move", "verify"]
"""What a run is doing: it starts ranks, tries a few MiB, opens both ends and fills the source, moves, verifies."""

ConstraintKind = Literal["throughput", "shuffle", "slot", "memory-limit", "capacity", "resource", "buffers"]
"""What a constraint of a plan is about (isoviz.planner.explanation.constraints)."""

# ---- what has been entered


class ShownRow(TypedDict):
    """A dimension with its size, or a field with its dtype, as typed. `key` stays with the row while its name changes."""

    key: int
    name: str
    value: str


class ShownChoice(TypedDict):
    """The memory and the text of the layout at one end."""

    memory: str
    layout: str


class ShownMachineChoice(TypedDict):
    """The machine that was chosen.

    `kind` is "preset" (with its options as typed), "measured" (this computer, with its options as typed), "file" (read from
    `path`) or "drawn" (described in Python or drawn by hand).
    """

    kind: Literal["preset", "measured", "file", "drawn"]
    name: str
    options: dict[str, str]
    path: str


class ShownByHand(TypedDict):
    """A path by hand: the names of its channels, the layouts of its buffers as text (one for each hop but the last), and the size
    of a chunk as typed ("": the one of the least time). `target` is the throughput in bytes per second for which the constraints
    are judged; null takes the most that the path sustains.
    """

    path: list[str]
    layouts: list[str]
    chunk: str
    target: float | None


class ShownTransfer(TypedDict):
    """A transfer of a session, as typed, right or wrong. `begin` is in seconds after the begin of all."""

    key: int
    name: str
    priority: str
    begin: str
    dimensions: list[ShownRow]
    fields: list[ShownRow]
    source: ShownChoice
    destination: ShownChoice
    part: ShownPart
    planner: str
    slotLimit: str
    memoryLimit: str
    byHand: ShownByHand | None


class ShownSettings(ShownTransfer):
    """Everything that can be chosen: the transfer that is edited, the machine, and the transfers beside it, on the same machine.

    `runsIn` is the place that was chosen for runs: "process", "ranks", or "" for the first of them that can run the plan.
    `place` is where the transfer that is edited stands among all.
    """

    machine: ShownMachineChoice
    runsIn: str
    place: int
    beside: list[ShownTransfer]


# ---- what can be chosen


class MenuEntry(TypedDict):
    """Something that can be chosen. `about` is a line that explains it; it may be empty."""

    name: str
    title: str
    about: str


class MachineOption(TypedDict):
    """An option of a preset with its default."""

    name: str
    value: str
    title: str
    kind: Literal["number", "choice", "text"]
    choices: list[str]


class MachineEntry(MenuEntry):
    """A machine that can be chosen."""

    options: list[MachineOption]


class Menus(TypedDict):
    """What can be chosen, by control."""

    machines: list[MachineEntry]
    memories: list[MenuEntry]
    dtypes: list[str]
    planners: list[MenuEntry]
    examples: list[MenuEntry]


# ---- the whole


class ShownProblem(TypedDict):
    """What is wrong with a control, in words. `position` is the index of the offending character of `text`."""

    message: str
    text: str | None
    position: int | None


class Refusal(TypedDict):
    """A command that was refused: its kind, the view that sent it with its number (null where it did not say), and why."""

    kind: str
    client: str | None
    number: int | None
    message: str


class ShownColour(TypedDict):
    """A colour in the light and in the dark theme."""

    light: str
    dark: str


class ShownEntry(TypedDict):
    """An entry of the array: its index by dimension, and the name of its field."""

    index: dict[str, int]
    field: str


class ShownSelection(TypedDict):
    """What is selected, in every view of a session. At most one of `stop` and `hop` is set.

    `stop` and `hop` count from 0 along the path. `chunk` is the number of a chunk, `time` is in seconds from the begin of the
    transfer.
    """

    entry: ShownEntry | None
    chunk: int | None
    time: float | None
    stop: int | None
    hop: int | None


class Selected(TypedDict):
    """The selection with its origin.

    `client` and `number` name the view and the command that made it; both are null where Python code made it. `count` grows with
    every selection, from the browser and from Python.
    """

    selection: ShownSelection
    count: int
    client: str | None
    number: int | None


class Frame(TypedDict):
    """What goes with every publication of the state.

    `session` names the session: views of one session on a page share their selection. `bothEnds` says whether it is about a
    transfer; else it is about one layout, that of a pane alone, which is compared with nothing. `acknowledged` maps each
    view to its newest command that is in here. `step` says what is being computed, `notice` what the last command led to,
    `defect` is the text of an error that should not have happened.
    """

    revision: int
    session: str
    bothEnds: bool
    acknowledged: dict[str, int]
    settled: bool
    step: str
    notice: str
    defect: str
    refusal: Refusal | None
    canUndo: bool
    canRedo: bool


class Faults(TypedDict):
    """`problems` are by control. `stale` names what is older than the settings: "source", "destination", "plan"."""

    problems: dict[str, ShownProblem]
    stale: list[str]


class Concerns(TypedDict):
    """The state as the browser gets it, but for the parts of the panes: one trait of the widget for each key.

    A trait whose value has not changed is not sent again. `palette` has the colour of each dimension and of F.
    """

    frame: Frame
    settings: ShownSettings
    menus: Menus
    faults: Faults
    palette: dict[str, ShownColour]
    selected: Selected


# ---- commands of the browser


class SetText(TypedDict):
    """Enter the text of a control; `machine` takes the name of a preset, `runs-in` a place: "", "process" or "ranks"."""

    kind: Literal["set"]
    field: Literal[
        "machine", "planner", "runs-in", "slot-limit", "memory-limit",
        "source-memory", "source-layout", "destination-memory", "destination-layout",
    ]  # fmt: skip
    value: str


class SetRow(TypedDict):
    """Enter a text of the row with the key `row`."""

    kind: Literal["set"]
    field: Literal["dimension-name", "dimension-size", "field-name", "field-dtype"]
    row: int
    value: str


class SetMachineOption(TypedDict):
    """Enter an option of the preset."""

    kind: Literal["set"]
    field: Literal["machine-option"]
    name: str
    value: str


class AddRow(TypedDict):
    """Add a dimension or a field."""

    kind: Literal["add-dimension", "add-field"]


class RemoveRow(TypedDict):
    """Remove the row with the key `row`."""

    kind: Literal["remove-dimension", "remove-field"]
    row: int


class BeginFrom(TypedDict):
    """Begin from the example of that name."""

    kind: Literal["example"]
    value: str


class Bare(TypedDict):
    """A command without arguments.

    `hello` asks for an acknowledgement only, `forget` empties the history of runs, `measure` measures this computer again,
    `keep-what-if` makes settings of what is tried, `start-ranks` starts the ranks for the plan, `end-ranks` ends them,
    `add-transfer` keeps the transfer beside a copy of it, which is edited from then on.
    """

    kind: Literal[
        "swap",
        "use-local",
        "undo",
        "redo",
        "run",
        "cancel",
        "forget",
        "measure",
        "hello",
        "add-transfer",
        "keep-what-if",
        "start-ranks",
        "end-ranks",
    ]


class PlanByHand(TypedDict):
    """Plan this path by hand; null goes back to the planner. `part` says what is edited: edits of one part in a row are one step
    to undo.
    """

    kind: Literal["by-hand"]
    part: str
    byHand: ShownByHand | None


class ShownWhatIf(TypedDict):
    """What is tried on the present plan: the peak of channels in bytes per second by name, the slot limit in bytes (null: as it
    is), and sizes by dimension.
    """

    bandwidths: dict[str, float]
    slotLimit: int | None
    sizes: dict[str, int]


class AskWhatIf(TypedDict):
    """Plan with these changes, beside the present plan; without changes nothing is tried any more. While `moving`, a slider is
    still being dragged.
    """

    kind: Literal["what-if"]
    whatIf: ShownWhatIf
    moving: bool


class Select(TypedDict):
    """Select something in every view."""

    kind: Literal["select"]
    selection: ShownSelection


class OpenSession(TypedDict):
    """Choose what the text of a session file holds. `name` is the name of the file, for errors."""

    kind: Literal["open-session"]
    name: str
    text: str


class Watch(TypedDict):
    """Compute what these views need, for as long as the sender shows them: names of views as in
    `isoviz.widgets.panes.pane_table.VIEWS`. It replaces what the sender watched before.
    """

    kind: Literal["watch"]
    views: list[str]


Exported = Literal["session", "python", "plan", "machine", "report", "trace", "page", "runs-json", "runs-csv"]
"""What can be exported: the session, the plan and the last report as JSON, the machine as a machine file, Python that recreates
the state, the trace for ui.perfetto.dev, a page (HTML), and the list of runs."""


class AskExport(TypedDict):
    """Ask for an export."""

    kind: Literal["export"]
    what: Exported


Command = (
    SetText | SetRow | SetMachineOption | SetTransfer | DescribeMachine | AddRow | RemoveRow | BeginFrom | Bare | Select | Watch
    | OpenSession | OpenMachine | AskExport | AskTrace | AskSteps | AddUrgent | ChoosePart | OneTransfer | EditMachine
    | PlanByHand | AskWhatIf
    | Repeat | WriteNote | AskRuns
)  # fmt: skip
"""What the browser may ask for. Each goes with the name of the view, `client`, and the number of the command, `number`."""

# ---- what the kernel sends beside its state


class ExportMessage(TypedDict):
    """An export: the name of a file and its text, or why there is none. `number` is that of the command."""

    kind: Literal["export"]
    what: Exported
    number: int | None
    name: str
    text: str
    error: str


Message = ExportMessage | TraceMessage | StepsMessage | RunsMessage
"""What the kernel sends in answer to a command, beside the state. Each has its `kind`, the `number` of the command, and an
`error` in words, "" where there is none. Binary data go with it as buffers."""
