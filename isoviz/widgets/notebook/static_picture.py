"""The picture that stands above the explorer for viewers without a kernel: it shows the last state."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any, get_args

from isoviz.machines.memory import emulated_text
from isoviz.units import format_bytes, format_rate, format_seconds, parse_count
from isoviz.widgets.contract import Side
from isoviz.widgets.panes.network_pane import vortex_of
from isoviz.widgets.session import Session
from isoviz.widgets.state import Derived
from isoviz.widgets.worker import Publisher

if TYPE_CHECKING:
    from isoviz.layouts import Linearization
    from isoviz.runtime import Trace
    from isoviz.widgets.state import State

_LOG = logging.getLogger("isoviz")

MOST_BYTES = 400_000
"""Bytes that the picture may add to a saved notebook; drawings beyond it are left out."""
SECONDS = 2.0
"""At least this long between two pictures."""
PATIENCE = 20.0
"""Seconds that the first picture waits for a plan."""
MOST_REQUESTS = 50_000
"""Requests of a trace that is drawn."""
_WIDTH = 520
"""CSS pixels of a linearization plot at natural size: two stand beside each other in a wide cell."""
_TABLE = '<pre style="font-family:monospace;overflow:auto">{}</pre>'
_BEGAN = "isoviz, as it began; in Jupyter, run the cell to explore"
_IN_WORDS = "isoviz, in words; a notebook draws it (isoviz lab)"
_LEFT = "isoviz, as it was left; in Jupyter, run the cell to explore"


class StaticPicture:
    """The state of a session as HTML and as text, in an output that is replaced after changes.

    The live explorer hides it by its `token`.

    It is an output of its own: a widget output that also carries a picture shows "model not found" once the kernel is gone. It is
    drawn in a thread of its own, at most every other second, and once more at `close`. A view of one end (`side`) shows that
    layout and nothing else. While it `is_quiet`, it says nothing of where entries lie.
    """

    def __init__(
        self,
        session: Session,
        token: str,
        side: str = "both",
        pane: str = "explorer",
        is_quiet: Callable[[], bool] = lambda: False,
    ) -> None:
        self._session = session
        self._token = token
        self._side = side
        self._pane = pane
        self._is_quiet = is_quiet
        self._captions = _parts_of_pane(pane, side)
        self._shown: tuple[object, ...] = ()
        self._drawings: dict[str, tuple[object, str]] = {}
        self._drawing = threading.Lock()
        self._holds_place = False
        self._publisher: Publisher | None = None
        self._unlisten: Callable[[], None] = _nothing

    def hold_place(self) -> None:
        """Take the place of the picture with an empty output: what is displayed from now on stands below it.

        A viewer without a kernel says "model not found" in the place of the widget. The reader comes upon the picture first.
        """
        from IPython.display import publish_display_data

        if is_in_kernel():
            self._holds_place = True
            publish: Any = publish_display_data
            empty = {"text/plain": "", "text/html": f'<div data-isoviz-static="{self._token}"></div>'}
            publish(empty, transient={"display_id": self._token})

    def show(self) -> None:
        """Display it, once there is a plan or it is known that there is none, and replace it after every settled change.

        Outside of a kernel it is not displayed: `text` says what it says.
        """
        from IPython import display as shown

        if not is_in_kernel():
            return
        if self._holds_place:
            publish: Any = shown.publish_display_data
            publish(self._repr_mimebundle_(), transient={"display_id": self._token}, update=True)
        else:
            display: Any = shown.display
            display(self, display_id=self._token)
        here = weakref.ref(self)

        def update() -> None:
            picture = here()
            if picture is not None:
                picture.update()

        publisher = self._publisher = Publisher(update, "isoviz-picture", quick=SECONDS, slow=SECONDS)
        self._unlisten = self._session.listen(lambda finished: publisher.touch(False) if finished else None)
        publisher.touch(False)  # what changed before `listen`

    def text(self) -> str:
        """What it says, in words, once there is a plan or it is known that there is none."""
        return self._bundle(_IN_WORDS)["text/plain"]

    def close(self) -> None:
        """Show the last state, and nothing that comes later."""
        publisher, self._publisher = self._publisher, None
        if publisher is not None:
            self._unlisten()
            publisher.close()
            self.update()

    def update(self) -> None:
        """Replace the output where something changed."""
        from IPython.display import publish_display_data

        try:
            with self._drawing:
                state = self._session.state
                if self._seen(state) == self._shown:
                    return
                data = self._drawn(state, _LEFT)
            publish: Any = publish_display_data
            publish(data, transient={"display_id": self._token}, update=True)
        except Exception:  # noqa: BLE001 - the picture that is there is better than the end of the thread
            _LOG.exception("the static picture of an explorer could not be drawn")

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        return self._bundle(_BEGAN)

    def _bundle(self, heading: str) -> dict[str, str]:
        state = _first_state(self._session)
        with self._drawing:
            return self._drawn(state, heading)

    def _drawn(self, state: State, heading: str) -> dict[str, str]:
        self._shown = self._seen(state)
        quiet = self._is_quiet()
        if state.given is not None:
            return _trace_drawn(state.given, self._token)
        derived = state.derived
        lines = _machine_lines(state) if self._pane in ("machine", "switch") else _lines(state, self._side, quiet)
        plan = "" if derived.plan is None or self._side != "both" or self._pane == "machine" else str(derived.plan)
        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        begin = (
            f'<div data-isoviz-static="{self._token}" class="isoviz-static"><p>{escape(heading)}</p>'
            f'<ul style="padding-left:1.2em">{items}</ul>'
            '<div style="display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start">'
        )
        end = f"</div>{plan and _TABLE.format(escape(plan))}</div>"
        parts, size = [], len(begin.encode()) + len(end.encode())
        for name, caption in () if quiet else self._captions.items():
            picture = self._picture(name, state)
            part = f'<figure style="margin:0"><figcaption>{caption}</figcaption>{picture}</figure>'
            if picture and size + len(part.encode()) <= MOST_BYTES:
                size += len(part.encode())
                parts.append(part)
        text = "\n".join([heading, "", *lines, "", plan]).rstrip()
        return {"text/plain": text, "text/html": f"{begin}{''.join(parts)}{end}"}

    def _seen(self, state: State) -> tuple[object, ...]:
        """What the picture depends on."""
        return (self._is_quiet(), *_seen(state))

    def _picture(self, name: str, state: State) -> str:
        """A part, drawn again only where what it shows has changed; "" where there is nothing to draw."""
        shows = _shown_in(name, state)
        if name not in self._drawings or self._drawings[name][0] != shows:
            self._drawings[name] = shows, _part_of(name, state, _WIDTH)
        return self._drawings[name][1]


def summary_of(trace: Trace) -> str:
    """A trace in one line, without going through its requests."""
    count = len(trace.transfers)
    transfers = "1 transfer" if count == 1 else f"{count:,} transfers"
    return f"{trace.where}, {transfers}, {len(trace.requests):,} requests, {format_seconds(trace.seconds)}"


def _trace_drawn(trace: Trace, token: str) -> dict[str, str]:
    """A trace for viewers without a kernel: its figures, or one line where these are too large or take too long."""
    from isoviz.figures import html

    small = len(trace.requests) <= MOST_REQUESTS
    text = str(trace) if small else summary_of(trace)
    drawn = html(trace) if small else ""
    shown = drawn if drawn and len(drawn.encode()) <= MOST_BYTES else _TABLE.format(escape(text))
    return {"text/plain": text, "text/html": f'<div data-isoviz-static="{token}" class="isoviz-static">{shown}</div>'}


def _seen(state: State) -> tuple[object, ...]:
    """What of a state the picture depends on."""
    derived = state.derived
    return (
        state.settings,
        derived.plan,
        derived.planned_on,
        derived.source,
        derived.destination,
        derived.interval,
        tuple(derived.problems.items()),
        state.run.report,
        derived.machine,
        derived.later.get("simulation"),
        derived.later.get("explanation"),
    )


def _lines(state: State, side: str, quiet: bool) -> list[str]:
    """The transfer, what it costs, and the last run, in words; of one end only its layout and what is wrong with it."""
    derived, settings = state.derived, state.settings
    sizes = {row.name: (row.value, parse_count(row.value)) for row in settings.dimensions}
    space = " × ".join(f"{name} {text if size is None else size}" for name, (text, size) in sizes.items())
    fields = ", ".join(f"{row.name} {row.value}" for row in settings.fields)
    lines = [f"{space}; {fields}"]
    if side != "both":
        linear: Linearization | None = getattr(derived, side)
        size = "" if linear is None or quiet else f", {format_bytes(linear.nbytes)}"
        lines += [] if linear is None else [f"{linear.layout.pretty}{size}"]
        own = derived.problems.get(f"{side}-layout")
        return lines if own is None else [*lines, own.message]
    if "machine" in derived.demanded:
        source, destination = settings.source, settings.destination
        lines.insert(0, f"{source.memory} {source.layout} → {destination.memory} {destination.layout} on {settings.machine.name}")
    else:
        ends = {name: getattr(derived, name) for name in get_args(Side)}
        lines += [f"{name}: {end.layout.pretty}" for name, end in ends.items() if end is not None]
    if derived.plan is not None:
        plan, interval = derived.plan, derived.interval
        often = f" ({format_seconds(interval.low)} to {format_seconds(interval.high)})" if interval else ""
        lines.append(f"{format_bytes(plan.bytes)} in {format_seconds(plan.seconds)}{often}, {format_rate(plan.throughput)}")
        if derived.planned_on is not None:
            lines.append(f"Figures of the machine: {derived.planned_on.provenance}")
    lines += [f"{control}: {problem.message}" for control, problem in derived.problems.items()]
    if derived.plan is not None and "plan" in derived.stale:
        lines.append("The plan is that of the last settings that had one.")
    if (report := state.run.report) is not None:
        verified = "" if report.verified is None else "verified bit for bit" if report.verified else "wrong bytes"
        ran = f"The last run: {format_seconds(report.seconds)}, {format_rate(report.throughput)}"
        lines.append(f"{ran}, {verified}" if verified else ran)
    return lines


def _machine_lines(state: State) -> list[str]:
    """The machine in words, and what is wrong with it."""
    machine = state.derived.machine
    problems = [f"{control}: {problem.message}" for control, problem in state.derived.problems.items()]
    if machine is None:
        return problems
    emulated = emulated_text(machine.emulated(memory.name for memory in machine.memories))
    items = [emulated] if emulated else []
    return [f"{machine.name}: {len(machine.memories):,} memories, {len(machine.channels):,} channels", *items, *problems]


def _first_state(session: Session) -> State:
    """The state once there is a plan, perhaps of figures that are still being measured, or once it is settled without one."""
    ready = threading.Event()

    def look(_finished: bool) -> None:
        state = session.state
        if state.settled or (state.derived.plan is not None and not state.derived.stale):
            ready.set()

    unlisten = session.listen(look)
    look(True)
    ready.wait(PATIENCE)
    unlisten()
    return session.state


def is_in_kernel() -> bool:
    """Whether the code runs for a notebook, which can replace what it shows; a terminal would print every picture anew."""
    from IPython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None


def _nothing() -> None:
    """Nothing is listened to."""


# ---- what stands in it: drawings and tables, by name


def _common_axes(derived: Derived) -> tuple[str, ...] | None:
    """The dimensions that both plots draw to the right and down, so that they can be compared: those that suit the source."""
    from isoviz.figures.layouts.order_view import default_axes

    linear = derived.source or derived.destination
    return None if linear is None else tuple(default_axes(linear))


def _shown_by(name: str, derived: Derived) -> object:
    """The value that the picture with this name shows, or None."""
    if name in get_args(Side):
        linear = getattr(derived, name)
        return None if linear is None else (linear, _common_axes(derived))
    return None if derived.plan is None or derived.planned_on is None else (derived.plan, derived.planned_on)


def _picture_of(name: str, derived: Derived, width: int) -> str:
    """The picture of that name, as SVG: "source", "destination" or "path"; "" where there is nothing to draw.

    `width` is that of a linearization plot.
    """
    from isoviz.figures import linearization_svg, path_svg

    if name in get_args(Side):
        linear = getattr(derived, name)
        if linear is None:
            return ""
        axes = _common_axes(derived)
        fits = axes if axes is not None and set(axes) <= set(linear.space.dims) else None
        return linearization_svg(linear, axes=fits, caption=False, width=width)
    if derived.plan is None or derived.planned_on is None:
        return ""
    return path_svg(derived.planned_on, derived.plan)


_TRANSFER = {"path": "Path", "source": "Source", "destination": "Destination"}
_OF_PANES: dict[str, dict[str, str]] = {
    "machine": {"machine": "Machine"},
    "timeline": {"timeline": "Timeline"},
    "plan": {"path": "Path", "constraints": "Constraints"},
    "why": {"path": "Path", "constraints": "Constraints"},
    "switch": {"switch": "Switch"},
    "run": {"report": "The last run", "path": "Path"},
}


def _parts_of_pane(pane: str, side: str) -> dict[str, str]:
    """The parts of a view by name, in their order, with what stands above each."""
    if side != "both":
        return {side: "Layout"}
    return _OF_PANES.get(pane, _TRANSFER)


def _shown_in(name: str, state: State) -> object:
    """The value that the part with this name shows, or None."""
    derived = state.derived
    if name == "machine":
        return derived.machine
    if name == "switch":
        return state.given_switch or vortex_of(derived.machine)
    if name == "timeline":
        return derived.later.get("simulation")
    if name == "constraints":
        return derived.later.get("explanation")
    return state.run.report if name == "report" else _shown_by(name, derived)


def _part_of(name: str, state: State, width: int) -> str:
    """The part of that name as HTML or SVG; "" where there is nothing to show. `width` is that of a linearization plot."""
    shown: Any = _shown_in(name, state)
    if name in (*get_args(Side), "path"):
        return _picture_of(name, state.derived, width)
    if shown is None:
        return ""
    from isoviz.figures import html, timeline_svg
    from isoviz.figures.plans.constraint_table import constraint_table_html

    if name == "switch":
        from isoviz.figures.vortex.switch_picture import switch_html

        return switch_html(shown)
    if name == "timeline":
        trace = shown.trace
        return "" if trace is None or len(trace.requests) > MOST_REQUESTS else timeline_svg(trace)
    if name == "constraints":
        return "" if shown.explanation is None else constraint_table_html(shown.explanation)
    return html(shown)
