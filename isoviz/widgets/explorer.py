"""The explorer as a Jupyter widget: thin, it hands commands to a session and publishes snapshots of it."""

from __future__ import annotations

import atexit
import threading
import uuid
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal

import anywidget
import traitlets

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import CommandError, InputError, show
from isoviz.widgets.chosen.settings import Settings, transfer_text
from isoviz.widgets.commands.command import Question, Sender, sender_of
from isoviz.widgets.commands.explorer_commands import read_command
from isoviz.widgets.notebook.static_picture import StaticPicture, is_in_kernel
from isoviz.widgets.notebook.tour import is_newcomer, note_end
from isoviz.widgets.panes.pane import Pane
from isoviz.widgets.panes.pane_table import PANES, VIEWS
from isoviz.widgets.script import LOADER, asked_for, message_of, parts_of_view
from isoviz.widgets.session import Session
from isoviz.widgets.snapshot import PART, snapshot, traits
from isoviz.widgets.state import State
from isoviz.widgets.steps import describe
from isoviz.widgets.worker import Publisher, Worker

_SIDES = ("source", "destination", "both")


_open: weakref.WeakSet[Explorer] = weakref.WeakSet()
"""Explorers whose threads run."""
_sent: set[str] = set()
"""Parts of the script that have been sent unasked: a page that has missed one asks for it."""


@atexit.register
def _stop_publishing() -> None:
    """Say nothing more to a browser once the interpreter goes down: the sockets go first."""
    for explorer in list(_open):
        explorer.fall_silent()


def part_traits(panes: Mapping[str, Pane]) -> Any:
    """A class with one trait for the part of each pane, `part_<name>`: a dict, or None where there is nothing to show yet."""
    parts = {
        f"{PART}{name}": traitlets.Dict(None, allow_none=True, help=each.about).tag(sync=True) for name, each in panes.items()
    }
    return type("PaneParts", (traitlets.HasTraits,), parts)


class Explorer(anywidget.AnyWidget, part_traits(PANES)):  # type: ignore[misc]  # the panes are known once they are loaded
    """A view of a session: the whole explorer, or one pane of it (`isoviz.widgets.panes.pane_table.VIEWS` names them).

    `side` says which end the layout editor and the linearization view show. `close` stops its threads. A session that the
    explorer made itself ends, too.
    """

    # As a text: of a path, anywidget keeps every widget alive that was made with it, to tell it of a change of the file.
    _esm = LOADER

    pane = traitlets.Enum(tuple(VIEWS), "explorer", help="what is shown").tag(sync=True)
    side = traitlets.Enum(_SIDES, "both", help="the end that is shown").tag(sync=True)
    array_values = traitlets.Any(None, help="the values of an array that is shown").tag(sync=True)
    static_picture = traitlets.Unicode(help="names the static output beside this widget").tag(sync=True)
    tour = traitlets.Bool(False, help="whether the tour begins by itself; the browser says when it was ended").tag(sync=True)
    # The state as the browser gets it: see isoviz.widgets.contract.
    frame = traitlets.Dict(help="what goes with every publication; its revision grows").tag(sync=True)
    settings = traitlets.Dict(help="what has been entered").tag(sync=True)
    menus = traitlets.Dict(help="what can be chosen").tag(sync=True)
    faults = traitlets.Dict(help="what is wrong, by control, and what is stale").tag(sync=True)
    palette: Any = traitlets.List(help="the colours of the dimensions").tag(sync=True)
    selected = traitlets.Dict(help="the selection").tag(sync=True)

    def __init__(
        self,
        session: Session | Settings | None = None,
        *,
        pane: str = "explorer",
        side: Literal["source", "destination", "both"] = "both",
    ) -> None:
        if session is not None:
            expect("explorer", session, (Session, Settings), "a session, settings or None")
        if not checks.is_one_of(pane, VIEWS):
            raise InputError(f"pane {show(pane)}: expected one of {', '.join(VIEWS)}")
        if not checks.is_one_of(side, _SIDES):
            raise InputError(f"side {show(side)}: expected one of {', '.join(_SIDES)}")
        self._owns_session = not isinstance(session, Session)
        self.session = session if isinstance(session, Session) else Session(session, both_ends=side == "both")
        self._release = self.session.demand(pane)
        self.shown_in: tuple[int, str | None] = (-1, None)  # execution count and cell
        self._asked: deque[tuple[Question, Sender]] = deque()
        self._beside: tuple[Callable[[], None], ...] = ()
        self._revision = 1
        self._publishing = threading.Lock()
        self._talking = threading.Lock()
        super().__init__(pane=pane, side=side, static_picture=uuid.uuid4().hex, **self._told_of(self.session.state))
        self._send_parts(parts_of_view(pane) - _sent if is_in_kernel() else frozenset())
        self._answers: Worker[tuple[Question, Sender, State]] = Worker(self._answer, self._broken, "isoviz-answers")
        self._publisher = Publisher(self._publish, "isoviz-publisher")
        self._unlisten = self.session.listen(self._publisher.touch)
        self.on_msg(self._receive)
        _open.add(self)
        self._publisher.touch(True)  # what happened between the first snapshot and `listen`

    def close(self) -> None:
        """Stop the threads and take the widget off the page."""
        _open.discard(self)
        if hasattr(self, "_publisher"):
            beside, self._beside = self._beside, ()
            for action in beside:
                action()
            self._unlisten()
            self._publisher.close()
            self._answers.close()
            self._release()
            if self._owns_session:
                self.session.close()
        super().close()

    @property
    def is_quiet(self) -> bool:
        """Whether it hides where entries lie in memory."""
        return False

    def before_close(self, action: Callable[[], None]) -> None:
        """Call `action` when this explorer is closed, before its session ends.

        Raises:
            InputError: `action` cannot be called.
        """
        checks.expect_call("before_close", action, "a function without arguments")
        self._beside = (*self._beside, action)

    def fall_silent(self) -> None:
        """Publish nothing more."""
        self._publisher.close(0.2)
        self._answers.close(0.2)

    # ---- the thread in which a message arrives is unknown: it is queued and nothing else

    def _receive(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if (names := asked_for(content)) is not None:
            self._send_parts(names)
            return
        with suppress(CommandError):  # the session refuses it, in words
            command = read_command(content)
            if isinstance(command, Question):
                self._asked.append((command, sender_of(content)))
        self.session.send(content)  # which tells the publisher when the command is done

    def _send_parts(self, names: Iterable[str]) -> None:
        """Send parts of the script to the page: unasked before a view is shown, since a busy kernel answers late."""
        parts = message_of(names)
        if parts.buffers:
            _sent.update(parts.message["names"])
            with self._talking:
                self.send(parts.message, parts.buffers)

    # ---- in the thread of the publisher

    def _told_of(self, state: State) -> dict[str, Any]:
        """The traits that tell the browser of a state."""
        return traits(snapshot(state, self._revision, self.session.name))

    def _publish(self) -> None:
        with self._publishing:
            state = self.session.state
            self._revision += 1
            try:
                values = self._told_of(state)
            except Exception as error:  # noqa: BLE001 - a defect: the last state with its text is better than silence
                values = {"frame": {**self.frame, "revision": self._revision, "defect": describe(error)}}
            try:
                with self._talking, self.hold_sync():
                    for name, value in values.items():
                        if getattr(self, name) is not value:
                            setattr(self, name, value)
            except Exception as error:  # noqa: BLE001 - a defect: what cannot be sent is told, and the thread lives on
                self.frame = {**values["frame"], "defect": ascii(describe(error))}
            for asked, sender in list(self._asked):  # in turn: what was asked for before it is in the state
                if not asked.is_due(state, sender):
                    break
                self._asked.popleft()
                self._answers.put((asked, sender, state))

    # ---- in the thread of the answers: a page of a large trace takes seconds, for which the state goes on

    def _answer(self, questions: list[tuple[Question, Sender, State]]) -> None:
        for asked, sender, state in questions:
            message, buffers = asked.answer(replace(state, array_values=self.array_values), sender)
            with self._talking:
                self.send(message, list(buffers))

    def _broken(self, error: Exception) -> None:
        """Show that an answer could not be made: a defect."""
        with self._talking:
            self.frame = {**self.frame, "defect": ascii(describe(error))}

    @traitlets.observe("tour")
    def _note_tour(self, change: Any) -> None:
        if not change.new:
            note_end()

    def _ipython_display_(self) -> None:
        """Show the explorer; as the last value of the cell that has just shown it, not once more."""
        if self.shown_in[0] != _execution_count():
            self.show()

    def __repr__(self) -> str:
        return f"<isoviz explorer: {transfer_text(self.session.settings)} on {self.session.settings.machine.name}>"

    def show(self) -> None:
        """Display the explorer and, for viewers without a kernel, a static picture above it. A terminal gets its text, once."""
        from IPython import display as shown

        count, cell = self.shown_in = running_cell()
        for earlier in list(_open):
            # The output of the cell's last run is gone, and with it every way to close what it showed.
            if cell is not None and earlier.shown_in[1] == cell and earlier.shown_in[0] != count:
                earlier.close()
        others = [each for each in list(_open) if each is not self]
        self.tour = self.pane == "explorer" and is_newcomer() and not any(each.tour for each in others)
        picture = StaticPicture(self.session, self.static_picture, self.side, self.pane, lambda: self.is_quiet)
        self.before_close(picture.close)
        picture.hold_place()
        display: Any = shown.display
        display(_Live(self, "" if is_in_kernel() else picture.text()))  # in a kernel the picture says it
        picture.show()


class _Live:
    """What is displayed of a widget: its view, or `text` where nothing can show a view."""

    def __init__(self, widget: Explorer, text: str) -> None:
        self._widget = widget
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle: Any = self._widget._repr_mimebundle_(**options)
        data, metadata = bundle
        return {**data, "text/plain": self._text}, metadata


def running_cell() -> tuple[int, str | None]:
    """The number of the execution, and what the front end calls the cell that is running (None where it does not say)."""
    return _execution_count(), _cell()


def _execution_count() -> int:
    from IPython import get_ipython

    return int(getattr(get_ipython(), "execution_count", 0) or 0)


def _cell() -> str | None:
    """What the front end calls the cell that is running; None where it does not say."""
    from IPython import get_ipython

    parent: object = getattr(get_ipython(), "get_parent", dict)()
    name = parent.get("metadata", {}).get("cellId") if isinstance(parent, Mapping) else None
    return None if name is None else str(name)
