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
    from isoviz.runtime.ledger.trial_interval import ModelInterval
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
    """What follows from settings, as far as it is demanded and computed; the rest is of the last settings that gave it."""

    # ---- what it is derived from

    settings: Settings
    demanded: frozenset[str] = frozenset()
    """The stages that views ask for."""
    measurement: int = 0
    """The number of the measurement of this computer that was asked for last; 0: none."""
    runs: int = 0
    """The number of the last run that ended."""
    what_if: WhatIf = NOTHING
    """What is tried on the plan."""
    layouts_to_measure: LayoutChoice | None = None
    """The layouts that are to be run."""

    # ---- how far it is

    problems: Mapping[str, Problem] = field(default_factory=dict)
    """What is wrong, by control."""
    stale: frozenset[str] = frozenset()
    """What is older than the settings and cannot be renewed until a problem is solved: "source", "destination", "plan"."""
    step: str = ""
    """What is being computed, in words; "" at the end."""
    corrections: Mapping[str, str] = field(default_factory=dict)
    """Memories of another machine, each with the one that takes its place."""
    planned: tuple[object, ...] | None = None
    """The settings and the measurement that `plan` is of; None until it is made."""
    kept: Mapping[str, Result] = field(default_factory=dict, compare=False, repr=False)
    """The results of the stages."""
    complete: tuple[object, ...] = ()
    """The `derivation_key` for which all of them were computed last."""
    refines: bool = False
    """Whether all of them are there, and more is being found out."""

    # ---- the results

    space: IndexSpace | None = None
    fields: FieldSpace | None = None
    source: Linearization | None = None
    destination: Linearization | None = None
    machine: Machine | None = None
    transfer: Transfer | None = None
    plan: Plan | None = None
    begin: float = 0.0
    """When the transfer begins, in seconds after the begin of all of the session."""
    beside: tuple[OtherPlan, ...] = ()
    """The plans of the other transfers."""
    planned_on: Machine | None = None
    """The machine of `plan`; it stays when another machine gives no plan."""
    interval: ModelInterval | None = None
    """The seconds that runs of the plan should take."""
    where: Where | None = None
    """Where the plan runs."""
    later: Mapping[str, Any] = field(default_factory=dict)
    """The newest outputs of the slow stages, by name; each says which plan it is about."""

    @property
    def derivation_key(self) -> tuple[object, ...]:
        """Settings, demands and measurement that results belong to."""
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
    """What one click runs, from the click to its report: a plan, or several transfers together, once or several times."""

    number: int = 0
    phase: Phase = "idle"
    stage: Stage = "prepare"
    bytes_done: int = 0
    """The bytes that the stage has dealt with."""
    error: str = ""
    """Why it failed."""
    plan: Plan | None = None
    transfer_text: str = ""
    report: Report | None = None
    """The report in the middle of `reports`."""
    name: str = ""
    wanted: int = 1
    """The runs that were asked for."""
    over: int = 0
    """Those of them that have ended."""
    reports: tuple[Report, ...] = ()
    """The reports of the runs that ended well; of several runs without their traces."""
    transfers: tuple[MovedTransfer, ...] = ()
    """All transfers where there are several, the one that was edited among them."""
    trace: Trace | None = field(default=None, compare=False, repr=False)
    """The requests of the last run, on one clock that begins at 0."""
    is_trace_dropped: bool = False
    """Whether the trace made room for those of newer runs."""
    settings: Settings | None = None
    machine: Machine | None = field(default=None, compare=False, repr=False)
    ranks: int = 0
    """The MPI ranks that carry it out; 0: this process does."""
    library: str = ""
    """Their MPI library."""
    keys: tuple[str, ...] = ()
    """The names of its entries in the ledger."""
    note: str = ""
    """What a person wrote about it."""
    date: str = ""
    """When it began."""

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
    """Everything the explorer shows."""

    settings: Settings
    derived: Derived
    run: Run = Run()
    ranks: RanksNow = RanksNow()
    history: tuple[Run, ...] = ()
    selected: SelectionMade = field(default_factory=SelectionMade)
    what_if: WhatIf = NOTHING
    """What is tried on the present plan. It is neither saved nor undone, and over when the settings change."""
    layouts_to_measure: LayoutChoice | None = None
    """Layouts that are to be run, or were."""
    both_ends: bool = True
    """Whether a transfer is shown; else it is one layout."""
    begun: Settings | None = None
    """What the session began with."""
    fixed: FixedParts | None = None
    """What of that stays; None where everything may change."""

    # ---- what is demanded, and how far it is

    views: frozenset[str] = frozenset()
    """The stages that widgets and callers demand."""
    watched: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The stages that a part of a browser view demands while it is shown, by the name of the view."""
    measurement: int = 0
    """The number of the measurement of this computer that was asked for last; 0: none."""
    edits: int = 0
    """Counts the changes of the settings, and of what views demand of them."""
    computed: int = -1
    """The edit that everything derived belongs to."""
    awaited: int = 0
    """Runs that were asked for and begin with the plan that is being made."""
    notes: int = 0
    """Counts the notes that were written to runs."""

    # ---- what is told of commands

    acknowledged: Mapping[str, int] = field(default_factory=dict)
    """The newest command of each browser view that is in here."""
    notice: str = ""
    """What the last command led to."""
    refused: Refused | None = None
    defect: str = ""
    """An exception that should not have happened, with its traceback."""

    # ---- undo

    past: tuple[Settings, ...] = ()
    """What undo brings back, the nearest last."""
    future: tuple[Settings, ...] = ()
    """What redo brings back, the nearest last."""
    step: object = None
    """What tells the last edit from others: one with an equal step goes on with it."""
    stepped: float = 0.0
    """The monotonic time of that edit."""

    # ---- what a view alone shows

    given: Trace | None = None
    given_machine: Machine | None = None
    """The machine of that trace."""
    given_switch: Switch | None = None
    array_values: Any = field(default=None, compare=False, repr=False)
    """The values of the array that a view shows, where a page of it is written."""

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
