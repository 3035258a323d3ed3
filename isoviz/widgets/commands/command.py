"""The commands of the browser, declared: what it asks of the kernel. `isoviz.widgets.commands.read_command` reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypedDict

from isoviz.schema import Named, member
from isoviz.widgets.chosen.layout_question import LayoutQuestion
from isoviz.widgets.chosen.settings import ByHand, Part, Row, controls
from isoviz.widgets.commands.machine_edit import MachineEdit
from isoviz.widgets.contract import Exported, ShownEntry, ShownSelection
from isoviz.widgets.trace_contract import TraceKind

if TYPE_CHECKING:
    TextControl = str
    TransferControl = str
else:  # what is declared of the settings
    _ENDS = [f"{side}-{member}" for side in ("source", "destination") for member in ("memory", "layout")]
    _OWN = [name for name, (_, control) in controls().items() if not control.of_any_transfer]
    TextControl = Literal[("machine", *_OWN, *_ENDS)]
    TransferControl = Literal[tuple([name for name, (_, control) in controls().items() if control.of_any_transfer])]


class ShownWhatIf(TypedDict):
    """What is tried on the present plan: the peak of channels in bytes per second by name, the slot limit in bytes (null: as it
    is), sizes by dimension, how often the transfer starts (null: as it does), and what there is of held resources by name.
    """

    bandwidths: Named[float]
    slotLimit: int | None
    sizes: Named[int]
    reuse: int | None
    capacities: Named[float]


@dataclass(frozen=True)
class SetText:
    """Enter the text of a control; `machine` takes the name of a preset, `runs-in` a place: "", "process" or "ranks"."""

    kind: Literal["set"]
    field: TextControl
    value: str


@dataclass(frozen=True)
class SetRow:
    """Enter a text of the row with the key `row`."""

    kind: Literal["set"]
    field: Literal["dimension-name", "dimension-size", "field-name", "field-dtype"]
    row: int
    value: str


@dataclass(frozen=True)
class SetMachineOption:
    """Enter an option of the preset."""

    kind: Literal["set"]
    field: Literal["machine-option"]
    name: str
    value: str


@dataclass(frozen=True)
class SetTransfer:
    """Enter a text of the transfer with the key `transfer`."""

    kind: Literal["set"]
    field: TransferControl
    transfer: int
    value: str


@dataclass(frozen=True)
class DescribeMachine:
    """Choose the machine that this JSON object describes (the format of machine files)."""

    kind: Literal["describe-machine"]
    machine: dict[str, object]


@dataclass(frozen=True)
class AddRow:
    """Add a dimension or a field."""

    kind: Literal["add-dimension", "add-field"]


@dataclass(frozen=True)
class RemoveRow:
    """Remove the row with the key `row`."""

    kind: Literal["remove-dimension", "remove-field"]
    row: int


@dataclass(frozen=True)
class BeginFrom:
    """Begin from the example of that name."""

    kind: Literal["example"]
    value: str


@dataclass(frozen=True)
class Bare:
    """A command without arguments.

    `hello` asks for an acknowledgement only, `forget` empties the history of runs, `measure` measures this computer again,
    `measure-layouts` runs the best layouts that were found, and `stop-measuring-layouts` ends that;
    `keep-what-if` makes settings of what is tried, `start-ranks` starts the ranks for the plan, `end-ranks` ends them,
    `add-transfer` keeps the transfer beside a copy of it, which is edited from then on; `begin-afresh` goes back to the settings
    that the session began with, which `undo` takes back.
    """

    kind: Literal[
        "swap",
        "use-local",
        "undo",
        "redo",
        "begin-afresh",
        "run",
        "cancel",
        "forget",
        "measure",
        "hello",
        "add-transfer",
        "keep-what-if",
        "measure-layouts",
        "stop-measuring-layouts",
        "start-ranks",
        "end-ranks",
    ]


@dataclass(frozen=True)
class Select:
    """Select something in every view."""

    kind: Literal["select"]
    selection: ShownSelection


@dataclass(frozen=True)
class Watch:
    """Compute what these views need, for as long as the sender shows them: names of views as in
    `isoviz.widgets.panes.pane_table.VIEWS`. It replaces what the sender watched before.
    """

    kind: Literal["watch"]
    views: list[str]


@dataclass(frozen=True)
class OpenSession:
    """Choose what the text of a session file holds. `name` is the name of the file, for errors."""

    kind: Literal["open-session"]
    name: str
    text: str


@dataclass(frozen=True)
class OpenMachine:
    """Choose the machine that the text of a machine file describes. `name` is the name of the file."""

    kind: Literal["open-machine"]
    name: str
    text: str


@dataclass(frozen=True)
class AskExport:
    """Ask for an export."""

    kind: Literal["export"]
    what: Exported


@dataclass(frozen=True)
class AskTrace:
    """Ask for a trace: the newest of its kind, or the measured one of the run with the name `run` in the list of runs."""

    kind: Literal["trace"]
    which: TraceKind
    run: str = member("", optional=True)


@dataclass(frozen=True)
class AskSteps:
    """Ask for the steps of the simulation from number `first` on: the scheduler's stimuli and answers in words."""

    kind: Literal["steps"]
    first: int


@dataclass(frozen=True)
class AddUrgent:
    """Add a transfer like the one that is edited, but more urgent than all. It begins in the middle of that one."""

    kind: Literal["add-urgent"]


@dataclass(frozen=True)
class ChoosePart:
    """Choose what moves. `control` names what was used: edits of one control are one step to undo."""

    kind: Literal["part"]
    part: Part
    control: str


@dataclass(frozen=True)
class OneTransfer:
    """Edit, copy or remove the transfer with the key `transfer`. A copy stands behind it and is edited from then on."""

    kind: Literal["edit-transfer", "copy-transfer", "remove-transfer"]
    transfer: int


@dataclass(frozen=True)
class EditMachine:
    """Edit the machine."""

    kind: Literal["edit-machine"]
    edit: MachineEdit


@dataclass(frozen=True)
class PlanByHand:
    """Plan this path by hand; null goes back to the planner. `part` says what is edited: edits of one part in a row are one step
    to undo.
    """

    kind: Literal["by-hand"]
    part: str
    by_hand: ByHand | None


@dataclass(frozen=True)
class ConvertAt:
    """Plan the path of the plan by hand, with its conversion at the hop of this number."""

    kind: Literal["convert-at"]
    hop: int


@dataclass(frozen=True)
class AskLayouts:
    """Find layouts that answer this question. `control` names what was used: edits of one control are one step to undo."""

    kind: Literal["find-layout"]
    question: LayoutQuestion
    control: str


@dataclass(frozen=True)
class TakeLayout:
    """Give the end whose layout is looked for this layout. The question stays."""

    kind: Literal["take-layout"]
    layout: str
    question: LayoutQuestion


@dataclass(frozen=True)
class AskWhatIf:
    """Plan with these changes, beside the present plan; without changes nothing is tried any more. While `moving`, a slider is
    still being dragged.
    """

    kind: Literal["what-if"]
    what_if: ShownWhatIf
    moving: bool


@dataclass(frozen=True)
class Repeat:
    """Run `times` times, one after the other."""

    kind: Literal["repeat"]
    times: int


@dataclass(frozen=True)
class WriteNote:
    """Write a note to a run. `run` is its name in the list of runs; an empty note removes what was there."""

    kind: Literal["note"]
    run: str
    note: str


@dataclass(frozen=True)
class AskVerdict:
    """Judge what is on screen: the rows of the array, the layouts of both ends, the plan by hand (null: a planner plans), and the
    entry that is selected (null: none).

    All of it goes with the command: what is judged is what the person saw, whatever else is on its way.
    """

    kind: Literal["check"]
    dimensions: tuple[Row, ...]
    fields: tuple[Row, ...]
    source: str
    destination: str
    by_hand: ByHand | None
    entry: ShownEntry | None


@dataclass(frozen=True)
class AskRuns:
    """Ask for the runs of the session and for the earlier ones of its transfer on this computer."""

    kind: Literal["runs"]


Command = (
    SetText | SetRow | SetMachineOption | SetTransfer | DescribeMachine | AddRow | RemoveRow | BeginFrom | Bare | Select | Watch
    | OpenSession | OpenMachine | AskExport | AskTrace | AskSteps | AddUrgent | ChoosePart | OneTransfer | EditMachine
    | PlanByHand | ConvertAt | AskLayouts | TakeLayout | AskWhatIf
    | Repeat | WriteNote | AskRuns | AskVerdict
)  # fmt: skip
"""What the browser may ask for. Each goes with the name of the view, `client`, and the number of the command, `number`."""
