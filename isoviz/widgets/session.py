"""The session: what has been chosen in the explorer, what follows from it, and what was run."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets

from isoviz.errors import ForkedError, InputError, show
from isoviz.machines import machine_argument
from isoviz.widgets.chosen.selection import Selection
from isoviz.widgets.chosen.session_file import load_settings, save_settings
from isoviz.widgets.chosen.settings import Settings, transfer_text
from isoviz.widgets.commands.command import Threads, sender_of
from isoviz.widgets.commands.explorer_commands import Command, read_command
from isoviz.widgets.consequences.chosen_machine import cancel_measuring
from isoviz.widgets.consequences.derive import EVERYTHING, LAYOUTS, derive
from isoviz.widgets.consequences.layout_stages import is_measuring_layouts
from isoviz.widgets.consequences.where_it_runs import ranks_of, reason_not_to_run
from isoviz.widgets.panes.pane_table import VIEWS
from isoviz.widgets.running.begin_run import new_run
from isoviz.widgets.running.rank_keeper import RankKeeper, RanksChanged
from isoviz.widgets.running.run_thread import Finished, Progressed, Runner, with_run
from isoviz.widgets.session_messages import Asked, Broken, Chosen, Computed, Demanded, SelectedHere, Told
from isoviz.widgets.state import Derived, Refused, State
from isoviz.widgets.steps import changed, computed, demanding, describe, held, to_derive
from isoviz.widgets.worker import Calculator, Worker

if TYPE_CHECKING:
    from isoviz.machines import MachineLike
    from isoviz.runtime import Trace
    from isoviz.vortex import Switch
    from isoviz.widgets.chosen.fixed_parts import FixedParts


_PYTHON = "explorer"
"""What Python code asks for that asks for a plan: as much as the whole explorer."""
_PLANNED = frozenset({"machine", "transfer", "plan", "report"})
"""Traits that say nothing as long as only layouts are demanded."""
_keys = itertools.count()
"""Keys of demands."""


class Session(traitlets.HasTraits):
    """The state behind the panes of the explorer, and the threads that keep it.

    Commands come from any thread through `send`; one thread owns the state, applies them and replaces `state`, a frozen value.
    The other traits are views of it for Python code: `session.plan`, `session.observe(…, names="report")`. Observers are
    called in the thread of the session. `session.selection` can be set as well.

    `both_ends=False` makes the session of a single layout, without a comparison. `trace` is for a `TraceView`, with the words
    that `trace_machine` has for its channels; `switch` is for a `SwitchView`. `fixed` names parts that cannot be changed.

    Expensive results are computed only on demand: of a view (`demand`), or of `wait`, `run` or `observe`. Until then a session
    knows its layouts, and no machine is made or measured.
    """

    state = traitlets.Instance(State, help="everything the explorer shows, a frozen value")
    settings = traitlets.Instance(Settings, help="what has been entered")
    machine = traitlets.Any(None, allow_none=True, help="the machine planned on")
    transfer = traitlets.Any(None, allow_none=True, help="the transfer; None while something is wrong with it")
    plan = traitlets.Any(None, allow_none=True, help="the plan; None while there is none for the settings")
    report = traitlets.Any(None, allow_none=True, help="the report of the last run that ended well")
    selection = traitlets.Instance(Selection, help="what is selected in every view; may be set")

    _worker: Worker[Told] | None = None

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        compute: Callable[[Derived], Iterator[Derived]] = derive,
        execute: Callable[..., Any] | None = None,
        ranks: Callable[[int], Any] | None = None,
        both_ends: bool = True,
        trace: Trace | None = None,
        trace_machine: MachineLike | None = None,
        switch: Switch | None = None,
        fixed: FixedParts | None = None,
    ) -> None:
        start = settings or Settings()
        first = State(
            start,
            Derived(start, demanded=LAYOUTS),
            views=LAYOUTS,
            both_ends=both_ends,
            begun=start,
            given=trace,
            given_machine=None if trace_machine is None else machine_argument("Session", trace_machine),
            given_switch=switch,
            fixed=fixed,
        )
        self._views: dict[int, frozenset[str]] = {}
        self._demanding = threading.Lock()
        super().__init__(state=first, settings=start, selection=first.selected.selection)
        self.name = uuid.uuid4().hex
        self._listeners: tuple[Callable[[bool], None], ...] = ()
        self._changed = threading.Condition()
        self._ranks = RankKeeper(self._put) if ranks is None else RankKeeper(self._put, ranks)
        kept = {} if execute is None else {"carry_out": execute, "keep": lambda *_: ""}
        self._runner = Runner(self._put, **kept, ranks=self._ranks)
        self._threads = Threads(self._run_asked, self._cancelled, self._ranks_started, self._ranks_ended)
        self._calculator: Calculator[Derived, Derived] = Calculator(compute, self._deliver, "isoviz-calculator")
        self._worker = Worker(self._handle, self._failed, "isoviz-session")
        self._calculator.request(0, first.derived)

    # ---- for callers, from any thread

    def send(self, command: Mapping[str, Any], then: Callable[[State, Command], None] | None = None) -> None:
        """Send a command: `{"kind": "set", "field": "source-layout", "value": "<F, x>"}`, `{"kind": "run"}`, …

        The commands are those of `isoviz.widgets.commands.explorer_commands`. `state.refused` says why a command was refused.
        `then` is called with the state after the command, in the thread of the session. It must be quick, and may raise
        InputError to refuse the command.
        """
        self._put(Asked(command, then))

    def demand(self, view: str) -> Callable[[], None]:
        """Compute what a view needs, from now on. Returns a function that ends the demand. Any thread may call it.

        `view` is "explorer", "plan", "run", "machine", "timeline", "stored" (the timeline stored and forwarded), "layout-editor",
        "linearization" or "trace". The last three need no machine.

        Raises:
            InputError: there is no such view.
        """
        if view not in VIEWS:
            raise InputError(f"view {show(view)}: expected one of {', '.join(VIEWS)}")
        with self._demanding:
            key = next(_keys)
            self._views[key] = VIEWS[view]
            self._put(Demanded(self._demanded()))

        def release() -> None:
            with self._demanding, suppress(ForkedError):
                if self._views.pop(key, None) is not None:
                    self._put(Demanded(self._demanded()))

        return release

    def choose(self, settings: Settings, notice: str = "") -> None:
        """Replace all settings; `notice` is shown with them."""
        self._put(Chosen(settings, notice))

    def undo(self) -> None:
        """Go back to the settings before the last edit. No effect if there are none."""
        self.send({"kind": "undo"})

    def redo(self) -> None:
        """Take back the last `undo`."""
        self.send({"kind": "redo"})

    def save(self, path: str | Path) -> None:
        """Write the settings into a file, with the machine if it was drawn or made in Python. Call `wait` first to include the
        latest commands.

        Raises:
            FileError: the file cannot be written.
        """
        save_settings(self.settings, path)

    def open(self, path: str | Path) -> None:
        """Replace the settings by those in a file of `save`. `undo` takes this back.

        Raises:
            FileError: the file cannot be read, or holds no session; the message names the place.
        """
        self.choose(load_settings(path))

    def run(self) -> None:
        """Run the plan, and the transfers beside it, and measure; returns at once."""
        self.send({"kind": "run"})

    def repeat(self, times: int) -> None:
        """Run `times` times, one after the other, and measure; returns at once.

        `report` is that of the median run. It has no trace.
        """
        self.send({"kind": "repeat", "times": times})

    def cancel(self) -> None:
        """Cancel the present run. Without one, cancel the measurement of this computer and the run that waits for it."""
        self.send({"kind": "cancel"})

    def start_ranks(self) -> None:
        """Start the MPI ranks that the plan runs on, for the next runs; returns at once. A run starts them as well."""
        self.send({"kind": "start-ranks"})

    def end_ranks(self) -> None:
        """End the MPI ranks of this session; returns at once. They end with the session as well."""
        self.send({"kind": "end-ranks"})

    def wait(self, timeout: float | None = 60.0) -> State:
        """Wait until everything asked for so far is done, runs included, and return the state.

        Raises:
            TimeoutError: it takes longer than `timeout` seconds. ForkedError: in a forked child.
        """
        self._demand_where_no_view()
        return self.until(lambda state: state.settled and not state.run.active and not state.ranks.busy, timeout)

    def caught_up(self, timeout: float = 2.0) -> State:
        """The state once its layouts include all commands so far; after `timeout` seconds the present state.

        In the thread of the session, in which observers are called, the present state is returned at once.
        """
        with suppress(TimeoutError):
            return self.until(State.has_layouts, timeout)
        return self.state

    def until(self, ready: Callable[[State], bool], timeout: float | None, quiet: float = 0.0) -> State:
        """Wait until all commands so far are applied and `ready(state)` has been true for `quiet` seconds. Returns the state.

        The quiet time lets a gesture arrive that the browser sent just before. In the thread of the session, in which observers
        are called, the present state is returned at once.

        Raises:
            TimeoutError: it takes longer than `timeout` seconds. ForkedError: in a forked child.
        """
        worker = self._worker
        assert worker is not None
        _ = worker.idle  # raises in a forked child, which would wait for a lock that nobody opens
        end = None if timeout is None else time.monotonic() + timeout
        since: float | None = None
        with self._changed:
            while not worker.is_here:
                now = time.monotonic()
                since = (since or now) if worker.idle and ready(self.state) else None
                if since is not None and now - since >= quiet:
                    break
                if end is not None and now >= end:
                    raise TimeoutError(f"the explorer is still busy after {timeout} seconds")
                # The worker says so when it has handled a message; it is idle a moment later, hence the short second look.
                self._changed.wait(0.02 if end is None else min(end - now, 0.02))
        return self.state

    def listen(self, listener: Callable[[bool], None]) -> Callable[[], None]:
        """Call `listener(finished)` after every change, in the thread of the session. Returns a function that stops this."""
        self._listeners = (*self._listeners, listener)

        def stop() -> None:
            self._listeners = tuple(other for other in self._listeners if other is not listener)

        return stop

    def close(self) -> None:
        """Cancel what runs and stop all threads."""
        self._listeners = ()
        self._calculator.close()
        self._runner.close()
        self._ranks.close()
        if self._worker is not None:
            self._worker.close()

    def observe(self, handler: Any, names: Any = traitlets.All, type: Any = "change") -> None:  # noqa: A002 - of traitlets
        """As `observe` of traitlets. Observing a machine, a plan or a report demands that it is made."""
        super().observe(handler, names, type)
        if self._worker is not None and (names is traitlets.All or _PLANNED & {*([names] if isinstance(names, str) else names)}):
            self._demand_where_no_view()

    def _demand_where_no_view(self) -> None:
        if not self._views:
            self.demand(_PYTHON)

    def _demanded(self) -> frozenset[str]:
        return frozenset().union(LAYOUTS, *self._views.values())

    @traitlets.observe("selection")
    def _selected(self, change: Any) -> None:
        if change["new"] != self.state.selected.selection:  # set by a caller: the session itself sets the state before
            self._put(SelectedHere(change["new"]))

    # ---- in the thread of the session

    def notify_change(self, change: Any) -> None:
        """Tell the observers; what one of them raises is shown in the pane and does not end the session."""
        try:
            super().notify_change(change)
        except Exception as error:  # noqa: BLE001 - an observer is code of the caller
            self._put(Broken(error))

    def _put(self, message: Told) -> None:
        assert self._worker is not None
        self._worker.put(message)

    def _deliver(self, number: int, result: Derived | Exception, final: bool) -> None:
        self._put(Computed(number, result, final))

    def _handle(self, messages: list[Told]) -> None:
        state = self.state
        for message in messages:
            state = self._after(state, message)
        wanted = to_derive(state)
        if state.edits != self.state.edits or wanted.runs != to_derive(self.state).runs:  # a run tells of predictions
            self._calculator.request(state.edits, wanted)
        progress_only = all(isinstance(message, Progressed) for message in messages)
        # What follows from a gesture that goes on is seen at once, although something better may come.
        tried = state.derived.later.get("what_if") is not self.state.derived.later.get("what_if")
        self._show(state, finished=(state.settled or tried) and not progress_only)

    def _after(self, state: State, message: Told) -> State:
        match message:
            case Asked(content, then):
                return self._commanded(state, content, then)
            case Chosen(settings, notice):
                return self._chosen(state, settings, notice)
            case Demanded(stages):
                return demanding(state, replace(state, views=stages))
            case SelectedHere(selection):
                return replace(state, selected=state.selected.then(selection))
            case Computed(number, result, final):
                state = computed(state, number, result, final)
                ready = state.awaited > 0 and state.planned
                return self._start(replace(state, awaited=0, notice=""), state.awaited) if ready else state
            case Broken(error):  # the first one only: an observer may raise again at being told of it
                return state if state.defect else replace(state, defect=describe(error))
            case Progressed(number, stage, bytes_done, over):
                if number == state.run.number and state.run.phase == "running":
                    return replace(state, run=replace(state.run, stage=stage, bytes_done=bytes_done, over=over))
            case Finished(run):
                if run.number == state.run.number:
                    return replace(state, run=run, history=with_run(state.history, run), notice="")
            case RanksChanged(now):
                return replace(state, ranks=now)
        return state

    def _commanded(self, state: State, content: object, then: Callable[[State, Command], None] | None) -> State:
        client, number = sender = sender_of(content)
        if client is not None and number is not None:
            newest = max(number, state.acknowledged.get(client, 0))
            state = replace(state, acknowledged={**state.acknowledged, client: newest})
        try:
            command = read_command(content)
            after = held(state, command.after(state, sender, self._threads))
            if then is not None:
                then(after, command)
            return after
        except InputError as error:
            kind = content.get("kind") if isinstance(content, Mapping) else None
            return replace(state, refused=Refused(str(kind), str(error), client, number))
        except Exception as error:  # noqa: BLE001 - a defect: told, and the messages beside this one are not lost
            return replace(state, defect=describe(error))

    def _chosen(self, state: State, settings: Settings, notice: str) -> State:
        try:
            return replace(held(state, changed(state, settings)), notice=notice)
        except InputError as error:
            return replace(state, refused=Refused("choose", str(error)))

    def _run_asked(self, state: State, times: int) -> State:
        if "plan" not in state.demanded:
            self.demand(_PYTHON)
            state = replace(state, views=EVERYTHING, edits=state.edits + 1)
        return self._start(replace(state, refused=None), times)

    def _cancelled(self, state: State) -> State:
        if state.run.phase == "running":
            self._runner.cancel()
            return replace(state, run=replace(state.run, phase="cancelling"))
        cancel_measuring()
        return replace(state, awaited=0, notice="")

    def _ranks_started(self, state: State) -> State:
        """Start the ranks.

        Raises:
            InputError: they are at work, or the machine has none that run here.
        """
        self._check_ranks_idle(state)
        ranks = ranks_of(state)
        if ranks is None or ranks.reason:
            raise InputError("start-ranks: there is no plan for ranks" if ranks is None else ranks.reason)
        self._ranks.begin(ranks.ranks)
        return replace(state, refused=None)

    def _ranks_ended(self, state: State) -> State:
        """End the ranks.

        Raises:
            InputError: they are at work.
        """
        self._check_ranks_idle(state)
        self._ranks.end()
        return replace(state, refused=None)

    def _check_ranks_idle(self, state: State) -> None:
        if state.run.active and state.run.ranks:
            raise InputError("a run is under way on the ranks: wait for it or cancel it first")

    def _start(self, state: State, times: int) -> State:
        if state.run.active:
            return replace(state, notice="A run is under way: wait for it or cancel it first.")
        derived = state.derived
        if is_measuring_layouts(state):
            return replace(state, notice="Layouts are being measured: wait for the end or stop it first.")
        if not state.planned:
            return replace(state, awaited=times, notice="The run begins as soon as there is a plan.")
        if reason := reason_not_to_run(state):
            return replace(state, notice=reason)
        assert derived.plan is not None and derived.machine is not None  # else there were a reason
        run = new_run(state, times, transfer_text(state.settings))
        self._runner.start(run, derived.machine)
        return replace(state, run=run, notice="")

    def _failed(self, error: Exception) -> None:
        self._show(replace(self.state, defect=describe(error)), finished=True)

    def _show(self, state: State, finished: bool) -> None:
        derived = state.derived
        good = state.planned and "plan" not in derived.stale
        with self.hold_trait_notifications():
            self.state = state
            self.settings = state.settings
            self.selection = state.selected.selection
            self.machine = derived.machine
            self.transfer = derived.transfer if good else None
            self.plan = derived.plan if good else None
            if state.run.report is not None:
                self.report = state.run.report
        with self._changed:
            self._changed.notify_all()
        for listener in self._listeners:
            listener(finished)

    def __repr__(self) -> str:
        return f"<isoviz explorer session: {transfer_text(self.settings)} on {self.settings.machine.name}>"
