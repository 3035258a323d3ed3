"""The state of the explorer: frozen values, replaced as a whole by the one thread that owns them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz.errors import TextError, show
from isoviz.widgets.chosen.selection import SelectionMade
from isoviz.widgets.chosen.settings import Settings
from isoviz.widgets.chosen.what_if import NOTHING, WhatIf
from isoviz.widgets.contract import Phase, RanksPhase, Stage

if TYPE_CHECKING:
    from isoviz.layouts import FieldSpace, IndexSpace, Linearization
    from isoviz.machines import Machine
    from isoviz.planner import LayoutChoice, Plan, Transfer
    from isoviz.runtime import Report, Trace
    from isoviz.runtime.ledger.model_interval import ModelInterval
    from isoviz.vortex import Switch
    from isoviz.widgets.chosen.fixed_parts import FixedParts
    from isoviz.widgets.consequences.run_places import Where


@dataclass(frozen=True)
class Problem:
    """What is wrong with one control, in words; where it is a place in a text, the text and the place."""

    message: str
    text: str | None = None
    position: int | None = None
    expected: str | None = None

    @classmethod
    def of(cls, error: Exception) -> Problem:
        """The problem that an error tells of."""
        if isinstance(error, TextError):
            # The pane draws the text with a caret below it; the sentence need not repeat text and place.
            problem = str(error).partition(f"character {error.position + 1}: ")[2] or str(error)
            return cls(sentence(problem), error.text, error.position, error.expected)
        return cls(sentence(str(error)))

    @property
    def words(self) -> str:
        """The message, with the text and the place that the pane shows beside it."""
        if self.text is None:
            return self.message
        place = "" if self.position is None else f", character {self.position + 1}"
        expected = "" if self.expected is None or self.expected in self.message else f"; expected {self.expected}"
        return f"{show(self.text)}{place}: {self.message}{expected}"


def sentence(text: str) -> str:
    """The text with a capital letter in front, unless it begins with a name in quotes or the like."""
    return text[:1].upper() + text[1:]


def whole_sentence(text: str) -> str:
    """The text as `sentence`, with a full stop unless it ends in a mark of its own."""
    return sentence(text) if text.endswith((".", "!", "?", ":")) else f"{sentence(text)}."


class Result(NamedTuple):
    """What a stage gave for these inputs: a value (None: there is none), and what is wrong, by control."""

    inputs: tuple[object, ...]
    value: Any
    problems: Mapping[str, Problem] = {}


@dataclass(frozen=True)
class OtherPlan:
    """The plan of a transfer other than the edited one, on the machine of the session.

    `key` and `name` are those of the transfer. `begin` is in seconds after the begin of all; the priority is that of
    `plan.transfer`. Where there is no plan, `reason` says why; else `where` says where it runs.
    """

    key: int
    name: str
    plan: Plan | None
    begin: float = 0.0
    reason: str = ""
    where: Where | None = None


def control_of_transfer(key: int) -> str:
    """The control at which problems of a transfer other than the edited one are shown."""
    return f"beside:{key}"


def is_of_other_transfer(control: str) -> bool:
    """Whether a problem is about a transfer other than the edited one."""
    return control.startswith("beside:")


@dataclass(frozen=True)
class Derived:
    """What follows from settings, as far as it is demanded and has been computed; the rest is of the last settings that gave it.

    `demanded` names the stages that views ask for, `measurement` is the number of the measurement of this computer that was asked
    for last (0: none), `runs` that of the last run that ended, `what_if` what is tried on the plan, `layouts_to_measure` the
    layouts that are to be run (None: none). `problems` maps controls to
    what is wrong with them. `stale` names what is older than the settings and cannot be renewed until a problem is solved:
    "source", "destination", "plan". `step` says in words what is being computed, "" at the end.

    `begin` is when the transfer begins, in seconds after the begin of all of the session; `beside` are the plans of the others.
    `planned_on` is the machine of `plan`, which stays when another machine gives no plan; `where` says where it
    runs, `interval` which seconds its runs should take. `later` are the newest outputs of the slow stages, by name; each says
    which plan it is about. `planned` are the settings and the measurement that `plan` is of, None until it is made.
    `kept` are the results of the stages, `complete` says for which
    settings, demands and measurement all of them were. `refines` says that all of them are there and more is being found out.
    """

    settings: Settings
    demanded: frozenset[str] = frozenset()
    measurement: int = 0
    runs: int = 0
    what_if: WhatIf = NOTHING
    layouts_to_measure: LayoutChoice | None = None
    problems: Mapping[str, Problem] = field(default_factory=dict)
    stale: frozenset[str] = frozenset()
    step: str = ""
    space: IndexSpace | None = None
    fields: FieldSpace | None = None
    source: Linearization | None = None
    destination: Linearization | None = None
    machine: Machine | None = None
    transfer: Transfer | None = None
    plan: Plan | None = None
    begin: float = 0.0
    beside: tuple[OtherPlan, ...] = ()
    planned_on: Machine | None = None
    interval: ModelInterval | None = None
    where: Where | None = None
    corrections: Mapping[str, str] = field(default_factory=dict)
    later: Mapping[str, Any] = field(default_factory=dict)
    planned: tuple[object, ...] | None = None
    kept: Mapping[str, Result] = field(default_factory=dict, compare=False, repr=False)
    complete: tuple[object, ...] = ()
    refines: bool = False

    @property
    def asked(self) -> tuple[object, ...]:
        """What is to be derived."""
        return self.settings, self.demanded, self.measurement


@dataclass(frozen=True)
class MovedTransfer:
    """One of several transfers that run together. `begin` is in seconds after the begin of all; `is_edited` tells the transfer
    that was edited when the run began.

    `reports` are those of its runs that ended well, `error` says why the last one did not. `seconds` are those from its begin to
    the end of each of these runs, waiting included; `simulated` are those that it should take beside the others, None where that
    is not known.
    """

    key: int
    name: str
    plan: Plan
    begin: float
    is_edited: bool = False
    reports: tuple[Report, ...] = ()
    seconds: tuple[float, ...] = ()
    error: str = ""
    simulated: float | None = None


@dataclass(frozen=True)
class RanksNow:
    """The MPI ranks of a session. `count` and `pids` are those of the ranks that run, start, or ran last.

    `phase`: "none" before the first, "starting", "running", "ending", "ended" as was asked for, "lost", or "failed" to start;
    `problem` says why in the last two. `library` is the MPI library with its version.
    """

    phase: RanksPhase = "none"
    count: int = 0
    library: str = ""
    pids: tuple[int, ...] = ()
    problem: str = ""

    @property
    def busy(self) -> bool:
        """Whether they are on their way to running, or to their end."""
        return self.phase in ("starting", "ending")


@dataclass(frozen=True)
class Run:
    """What one click runs, from the click to its report: a plan, or several transfers together, once or several times.

    `wanted` runs were asked for, `over` of them have ended. `stage` has dealt with `bytes_done` bytes. `error` says why it
    failed. `reports` are those of the runs that ended well, of several runs without their traces; `report` is the one in the
    middle. `transfers` are all transfers where there are several, the one that was edited among them. `trace` has the requests
    of the last run on one clock that begins at 0; `is_trace_dropped` says that it made room for those of newer runs.

    `ranks` is the number of MPI ranks that carry it out, 0 for this process; `library` is their MPI.
    `keys` name its entries in the ledger, `note` is what a person wrote about it, `date` is when it began.
    """

    number: int = 0
    phase: Phase = "idle"
    stage: Stage = "prepare"
    bytes_done: int = 0
    error: str = ""
    plan: Plan | None = None
    transfer_text: str = ""
    report: Report | None = None
    name: str = ""
    wanted: int = 1
    over: int = 0
    reports: tuple[Report, ...] = ()
    transfers: tuple[MovedTransfer, ...] = ()
    trace: Trace | None = field(default=None, compare=False, repr=False)
    is_trace_dropped: bool = False
    settings: Settings | None = None
    machine: Machine | None = field(default=None, compare=False, repr=False)
    ranks: int = 0
    library: str = ""
    keys: tuple[str, ...] = ()
    note: str = ""
    date: str = ""

    @property
    def active(self) -> bool:
        """Whether its thread is at work."""
        return self.phase in ("running", "cancelling")

    @property
    def bytes(self) -> int:
        """The bytes that one run moves."""
        if self.transfers:
            return sum(each.plan.bytes for each in self.transfers)
        return 0 if self.plan is None else self.plan.bytes


@dataclass(frozen=True)
class Refused:
    """A command that was refused, and why. `client` and `number` are those of the view that sent it, if it said so."""

    kind: str
    message: str
    client: str | None = None
    number: int | None = None


@dataclass(frozen=True)
class State:
    """Everything the explorer shows.

    `begun` are the settings that the session began with; `fixed` is what of them stays, None where everything may change.
    `past` and `future` are what undo and redo bring back, the nearest last; `step` names the control that was edited last, at the
    monotonic time `stepped`.
    `what_if` is tried on the present plan; it is neither saved nor undone, and over when the settings change.
    `layouts_to_measure` are layouts that are to be run, or were.
    `both_ends` says whether a transfer is shown, else it is one layout.
    `views` are the stages that widgets and callers demand, `watched` those that a part of a browser view demands while it is
    shown, by the name of the view.
    `edits` counts the changes of the settings and of what views demand of them (`demanded`, `measurement`: see `Derived`);
    `acknowledged` maps each browser view to its newest command that is in here;
    `awaited` is the number of runs that were asked for and begin with the plan that is being made; `notes` counts the notes
    that were written to runs; `defect` is an exception that should
    not have happened, with its traceback. `ranks` are the MPI ranks of the session.
    `array_values` are those of the array that a view shows, where a page of it is written.
    `given` is the trace that a view alone shows, on the machine `given_machine`; `given_switch` is the switch that one shows.
    """

    settings: Settings
    derived: Derived
    run: Run = Run()
    ranks: RanksNow = RanksNow()
    history: tuple[Run, ...] = ()
    selected: SelectionMade = field(default_factory=SelectionMade)
    what_if: WhatIf = NOTHING
    layouts_to_measure: LayoutChoice | None = None
    views: frozenset[str] = frozenset()
    watched: Mapping[str, frozenset[str]] = field(default_factory=dict)
    measurement: int = 0
    both_ends: bool = True
    edits: int = 0
    computed: int = -1
    acknowledged: Mapping[str, int] = field(default_factory=dict)
    notice: str = ""
    defect: str = ""
    awaited: int = 0
    notes: int = 0
    refused: Refused | None = None
    begun: Settings | None = None
    fixed: FixedParts | None = None
    past: tuple[Settings, ...] = ()
    future: tuple[Settings, ...] = ()
    step: object = None
    stepped: float = 0.0
    given: Trace | None = None
    given_machine: Machine | None = None
    given_switch: Switch | None = None
    array_values: Any = field(default=None, compare=False, repr=False)

    def has_layouts(self) -> bool:
        """Whether the layouts follow from the newest settings. What needs a machine may still be at work."""
        return self.derived.settings == self.settings

    @property
    def demanded(self) -> frozenset[str]:
        """The stages that anybody demands."""
        return self.views.union(*self.watched.values())

    @property
    def planned(self) -> bool:
        """Whether the plan, or that there is none, belongs to the newest settings. What takes longer may still be at work."""
        return self.settled or self.derived.planned == (self.settings, self.measurement)

    @property
    def settled(self) -> bool:
        """Whether everything derived belongs to the newest settings, as far as it is demanded."""
        return self.computed == self.edits
