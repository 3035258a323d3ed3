"""What the kernel sends to the browser, declared. What the browser asks for is in `isoviz.widgets.commands`.

`widgets/src/model/types.ts` is generated from these declarations and from the table of panes by `widgets/generate.py`.
Quantities are numbers: bytes, seconds, bytes per second, shares of one. The browser writes them for people
(`widgets/src/model/units.ts`). Sizes beyond 2⁵³ bytes lose their last digits in a browser, which has no larger whole numbers.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from isoviz.schema import Named
from isoviz.widgets.chosen.fixed_parts import ShownFixed
from isoviz.widgets.chosen.settings import Settings
from isoviz.widgets.running.shown_runs import RunsMessage
from isoviz.widgets.trace_contract import StepsMessage, TraceMessage

WIRE = "wire"
"""The form of declared values in what the browser gets (`isoviz.schema`)."""

Side = Literal["source", "destination"]
"""The two ends of a transfer."""

Phase = Literal["idle", "running", "cancelling", "done", "failed", "cancelled"]
"""Where a run is between its click and its end."""

RanksPhase = Literal["none", "starting", "running", "ending", "ended", "lost", "failed"]
"""What the MPI ranks of a session are doing, or why there are none."""

Stage = Literal["prepare", "ranks", "trial", "generate", "move", "verify"]
"""What a run is doing: it starts ranks, tries a few MiB, opens both ends and fills the source, moves, verifies."""

ConstraintKind = Literal["throughput", "shuffle", "slot", "memory-limit", "capacity", "resource", "buffers"]
"""What a constraint of a plan is about (isoviz.planner.path_plan)."""


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

    index: Named[int]
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
    `defect` is the text of an error that should not have happened. `fixed` says what stays as it was given; null: nothing.
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
    fixed: ShownFixed | None


class Faults(TypedDict):
    """`problems` are by control. `stale` names what is older than the settings: "source", "destination", "plan"."""

    problems: dict[str, ShownProblem]
    stale: list[str]


VerdictKind = Literal["right", "wrong", "unread", "open"]
"""What a check says of a value: it is right, it is not yet, it could not be judged, or there is nothing to judge yet."""


class ShownVerdict(TypedDict):
    """What the button *Check* of a pane alone has led to: the trait `checked`, null in panes without that button.

    `busy` says whether a check is under way. `kind` and `text` are the last verdict; the text is "" before the first. `fresh`
    says whether that is about what the state holds now.
    """

    busy: bool
    kind: VerdictKind
    text: str
    fresh: bool


class Concerns(TypedDict):
    """The state as the browser gets it, but for the parts of the panes: one trait of the widget for each key.

    A trait whose value has not changed is not sent again. `palette` has the colour of each dimension and of F.
    """

    frame: Frame
    settings: Settings
    menus: Menus
    faults: Faults
    palette: Named[ShownColour]
    selected: Selected


Exported = Literal["session", "python", "plan", "machine", "report", "trace", "page", "runs-json", "runs-csv"]
"""What can be exported: the session, the plan and the last report as JSON, the machine as a machine file, Python that recreates
the state, the trace for ui.perfetto.dev, a page (HTML), and the list of runs."""


# ---- what the kernel sends beside its state


class ExportMessage(TypedDict):
    """An exported file, its name and its text, or the reason why it cannot be made. `number` is that of the command."""

    kind: Literal["export"]
    what: Exported
    number: int | None
    name: str
    text: str
    error: str


Message = ExportMessage | TraceMessage | StepsMessage | RunsMessage
"""What the kernel sends in answer to a command, beside the state. Each has its `kind`, the `number` of the command, and an
`error` in words, "" where there is none. Binary data go with it as buffers."""
