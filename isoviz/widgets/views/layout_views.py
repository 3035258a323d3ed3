"""Panes alone in a notebook: the layout editor and the linearization view, bound to values in both directions.

editor = isoviz.LayoutEditor("<x, F, y>", space={"x": 8, "y": 6}, fields={"a": "float32"})
view = isoviz.LinearizationView(editor)
"""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import traitlets

from isoviz import checks
from isoviz.errors import InputError, IsovizError, show
from isoviz.layouts import FieldSpace, IndexSpace, Layout, Linearization
from isoviz.schema import named
from isoviz.widgets.chosen.fixed_parts import FixedParts
from isoviz.widgets.chosen.settings import End, Settings, rows
from isoviz.widgets.chosen.shown_array import is_array, shown_array
from isoviz.widgets.commands.command import OnScreen
from isoviz.widgets.consequences.transfer_stages import fields_of, linearization_of, space_of
from isoviz.widgets.contract import Side
from isoviz.widgets.explorer import Explorer
from isoviz.widgets.session import Session
from isoviz.widgets.state import Derived, Problem, State
from isoviz.widgets.views.checked_pane import TIMEOUT, Check, CheckedPane, why_no_value
from isoviz.widgets.views.judging import Found

if TYPE_CHECKING:
    from isoviz.widgets.contract import ShownEntry


_MEMORY = "node0.sys"
"""Where the layouts of a pane alone lie; nobody asks for the machine."""


@dataclass(frozen=True)
class Entry:
    """An entry of the array: its index by dimension, and the name of its field."""

    index: Mapping[str, int]
    field: str


class _Checked(traitlets.Any):
    """A value that a validator of its owner checks, None included."""

    allow_none = False


class _Alone(CheckedPane):
    """A pane that shows the layout at one end of a session, its own or one that it shares (`session`, `side`).

    `value` follows what is chosen on screen, and can be set: to a `Layout`, to its text, or to a `Linearization`, which brings
    its index space and its fields. A text that is wrong is shown with its mistake: `value` stays the last layout that fitted, and
    `problem` says in words what is wrong. Observers are called in the thread that caused the change: that of the session, or the
    caller's.

    `close` ends the view, and its session where it made it.
    """

    value = _Checked(None, help="the layout: an isoviz.Layout; may be set")
    _unfollow: Callable[[], None] | None = None

    beside = _Checked(None, help="a second layout, drawn beside this one: a Layout, its text, or None; may be set")
    beside_text = traitlets.Unicode("", help="the second layout as the browser gets it").tag(sync=True)
    quiet = traitlets.Bool(False, help="whether nothing on the screen says where entries lie in memory").tag(sync=True)
    problem = traitlets.Unicode("", help='what is wrong with the text that was entered; "" where nothing is')

    def __init__(
        self,
        layout: Any,
        space: IndexSpace | Mapping[str, int] | None,
        fields: FieldSpace | Mapping[str, Any] | None,
        session: Session | Explorer | None,
        side: Side | None,
        pane: str,
        check: Check | None = None,
        fixed: bool = False,
        quiet: bool = False,
    ) -> None:
        if isinstance(layout, Explorer):
            if session is not None:
                raise InputError(f"{type(self).__name__}: a view and a session were given; expected one of them")
            session, layout = layout, None
        if isinstance(session, Explorer):
            side = side or ("destination" if session.side == "destination" else "source")
            session = session.session
        values = None
        if is_array(layout):
            shown = shown_array(layout)
            layout, values = shown.linear, shown.values
        end: Side = "source" if side is None else side
        if not checks.is_one_of(end, ("source", "destination")):
            raise InputError(f"side {show(side)}: expected source or destination")
        if session is not None and (space is not None or fields is not None):
            raise InputError(f"{type(self).__name__}: space and fields are those of the session; expected none beside it")
        if session is None and layout is None:
            raise InputError(f"{type(self).__name__}: expected a layout, or a session to share")
        self._client = f"python-{uuid.uuid4().hex}"
        self._numbers = itertools.count(1)
        self._newest = 0
        self._told = threading.local()
        checks.flag_argument(type(self).__name__, "fixed", fixed)
        checks.flag_argument(type(self).__name__, "quiet", quiet)
        shared = session if isinstance(session, Session) else None
        own: Settings = _settings(layout, space, fields) if shared is None else shared.state.settings
        array = FixedParts(own, frozenset({"array"})) if fixed else None
        super().__init__(own if shared is None else shared, pane=pane, side=end, check=check, fixed=array)
        self.array_values = values
        self.quiet = quiet
        self._told.now = True
        self.value = None if self.linearization is None else self.linearization.layout
        self._told.now = False
        if shared is not None and layout is not None:
            self.value = layout
        self._unfollow = self.session.listen(self._follow)
        self._follow(True)  # what changed before `listen`

    @property
    def linearization(self) -> Linearization | None:
        """The last layout that fitted, on its index space and its fields; None until there is one.

        It includes a value that was set just before, here or in another view of the session.
        """
        state = self.session.caught_up()
        computed: Linearization | None = getattr(state.derived, self.side)
        return linearization_of(state.settings, self.side, {}) if computed is None else computed

    def answer(self, timeout: float | None = TIMEOUT) -> Layout:
        """The layout on screen, after all gestures that the browser has sent. A cell below the editor calls it:

            editor.answer() == isoviz.Layout("<F, x, y>")

        Raises:
            InputError: the text on screen is not a layout, or one that does not fit; the message says what is wrong and where.
            TimeoutError: it takes longer than `timeout` seconds.
        """
        layout: Layout = self._answered(State.has_layouts, timeout)
        return layout

    def _found_in(self, derived: Derived) -> Found:
        linear: Linearization | None = getattr(derived, self.side)
        if linear is None or self.side in derived.stale:
            return Found(None, why_no_value(derived, f"{self.side}-layout"))
        return Found(linear.layout)

    def _shown_of(self, seen: OnScreen) -> object:
        settings = seen.settings
        return settings.dimensions, settings.fields, settings.end(self.side).layout

    @property
    def is_quiet(self) -> bool:
        """Whether the view hides where entries lie (`quiet`)."""
        return bool(self.quiet)

    def reveal(self) -> None:
        """Show all that a quiet view hides."""
        self.quiet = False

    @traitlets.observe("quiet")
    def _tell_quiet(self, _change: Any) -> None:
        if hasattr(self, "_publisher"):  # else it is being made
            self._publisher.touch(True)

    def close(self) -> None:
        """Take the view off the page and stop its threads. A session that the view made itself ends, too."""
        if self._unfollow is not None:
            self._unfollow()
        super().close()

    def __repr__(self) -> str:
        return f"<isoviz {self.pane.replace('-', ' ')}: {self.value}>"

    # ---- from Python to the session

    @traitlets.validate("value")
    def _checked(self, proposal: Any) -> Layout | None:
        """The layout that is set. One that is wrong goes to the session, which says why, and `value` stays what it was."""
        given: object = proposal["value"]
        if self._is_told:
            return given if isinstance(given, Layout) else None
        before: Layout | None = self.value
        if isinstance(given, Linearization):
            self._send_spaces(given)
            return given.layout
        if not isinstance(given, Layout | str):
            raise traitlets.TraitError(f"value: expected a Layout, its text, or a Linearization, got {show(given)}")
        self._command({"kind": "set", "field": f"{self.side}-layout", "value": str(given)})
        settings = self.session.settings
        space, fields = space_of({}, settings.dimensions), fields_of({}, settings.fields)
        try:
            layout = Layout(given)
            if space is not None and fields is not None:
                layout.on(space, fields)
        except IsovizError as error:
            self.problem = Problem.of(error).message
            return before
        self.problem = ""
        return layout

    @traitlets.validate("beside")
    def _layout_beside(self, proposal: Any) -> Layout | None:
        """The layout that is drawn beside this one.

        Raises:
            TraitError: it is none. NotationError, LayoutError: it is wrong, or does not fit the array.
        """
        given: object = proposal["value"]
        if given is not None and not isinstance(given, Layout | Linearization | str):
            raise traitlets.TraitError(f"beside: expected a Layout, its text, or None, got {show(given)}")
        layout = given.layout if isinstance(given, Linearization) else None if given is None else Layout(given)
        linear = self.linearization
        if layout is not None and linear is not None:
            layout.on(linear.space, linear.fields)
        self.beside_text = "" if layout is None else str(layout)
        self._publisher.touch(True)
        return layout

    def _send_spaces(self, given: Linearization) -> None:
        settings = _settings(given, None, None)
        before = self.session.settings
        after = replace(before, dimensions=settings.dimensions, fields=settings.fields)
        same = {row.name for row in after.dimensions} == {row.name for row in before.dimensions}
        for side in (self.side,) if same else ("source", "destination"):
            after = after.with_end(side, replace(after.end(side), layout=str(given.layout)))
        self._hold(after)
        self.session.choose(after)
        self._command({"kind": "hello"})

    def _command(self, command: dict[str, Any]) -> None:
        """Send a command. What the session says is not heard until it has this one: it would be older than what was just set."""
        self._newest = next(self._numbers)
        self.session.send({**command, "client": self._client, "number": self._newest})

    # ---- from the session to Python, in the thread of the session

    @property
    def _is_told(self) -> bool:
        return getattr(self._told, "now", False)

    def _follow(self, _finished: bool) -> None:
        state = self.session.state
        derived = state.derived
        if state.acknowledged.get(self._client, 0) < self._newest or derived.settings != state.settings:
            return
        self._told.now = True
        try:
            self._tell(state)
        finally:
            self._told.now = False

    def _tell(self, state: State) -> None:
        problems = state.derived.problems
        linear: Linearization | None = getattr(state.derived, self.side)
        own = problems.get(f"{self.side}-layout") or next(iter(problems.values()), None)
        self.problem = own.message if own is not None and self.side in state.derived.stale else ""
        if linear is not None:  # the last one that fitted
            self.value = linear.layout


class LayoutEditor(_Alone):
    """The editor of one layout: chips to move, split and merge, the notation beside them, and a `value` that follows.

        editor = isoviz.LayoutEditor("<x, F, y>", space={"x": 8, "y": 6}, fields={"a": "float32"})
        editor

    `editor.value` is an `isoviz.Layout` that can be observed and set; `editor.problem` says what is wrong with a text.
    `editor.answer()` waits for the last gesture and returns the layout on screen, or raises an error that says why there is none.
    Without `space` or `fields`, small ones are chosen. `session` is the session of an explorer, or the explorer itself; the
    editor then edits its layout at the end `side`.

    With `check`, a function that takes the layout, the editor has a button *Check* that judges the layout on screen
    (`isoviz.widgets.views.checked_pane.CheckedPane` says what the function returns). `editor.verdict` is the verdict on that
    layout. With `fixed=True` only the layout can be changed, not the dimensions and fields of the array.

    `editor.beside = "<F, x, y>"` draws the memory of a second layout of the same array below that of the edited one, as two
    tapes; the first bytes that differ are marked. None takes it away.

    With `quiet=True` the editor does not show where entries lie: no bytes, strides, order or padding, and no second layout.
    Neither does its text for screen readers. `editor.reveal()` shows all of it. The browser has the data even then, and its
    developer tools can show it.

    Raises:
        InputError: the layout does not fit the space, or arguments exclude each other.
    """

    def __init__(
        self,
        layout: Layout | Linearization | str | None = None,
        *,
        space: IndexSpace | Mapping[str, int] | None = None,
        fields: FieldSpace | Mapping[str, Any] | None = None,
        session: Session | Explorer | None = None,
        side: Side | None = None,
        check: Check | None = None,
        fixed: bool = False,
        beside: Layout | str | None = None,
        quiet: bool = False,
    ) -> None:
        super().__init__(layout, space, fields, session, side, "layout-editor", check, fixed, quiet)
        self.beside = beside


class LinearizationView(_Alone):
    """The order in which a layout stores its elements: grid, memory and layout vector, with a selection that follows.

        view = isoviz.LinearizationView("<x, F, y>", space={"x": 8, "y": 6}, fields={"a": "float32"})
        view

    `layout` may also be an array (NumPy, on a GPU, or any that supports DLPack) or the path of a `.npy` file. Its values are
    written in the cells if they are few and fit. `layout` may also be a `LayoutEditor` or another view: this view then shows what
    is edited there, as with `session` and `side`. `view.value` is an `isoviz.Layout`, and `view.selection` an `Entry` (index by
    dimension, and field) or None. Both can be observed and set: `view.selection = {"x": 1, "y": 2}, "a"`.

    With `check`, a function that takes an `Entry`, the view has a button *Check* that judges the selected entry.
    `view.beside = "<F, x, y>"` draws a second layout of the same array beside this one. With `quiet=True` the view shows the
    array by index and nothing about memory, until `view.reveal()`.

    Raises:
        InputError: the layout does not fit the space, or arguments exclude each other.
        LayoutError: no layout describes the array.
        FileError: the file cannot be read.
    """

    selection = _Checked(None, help="the entry that is selected, an Entry; may be set")

    def __init__(
        self,
        layout: Any = None,
        *,
        space: IndexSpace | Mapping[str, int] | None = None,
        fields: FieldSpace | Mapping[str, Any] | None = None,
        session: Session | Explorer | None = None,
        side: Side | None = None,
        check: Check | None = None,
        beside: Layout | str | None = None,
        quiet: bool = False,
    ) -> None:
        super().__init__(layout, space, fields, session, side, "linearization", check, quiet=quiet)
        self.beside = beside

    def _to_judge(self, derived: Derived, entry: ShownEntry | None) -> Found:
        found = self._found_in(derived)
        linear: Linearization | None = getattr(derived, self.side)
        if found.problem or linear is None:
            return found
        if entry is None:
            return Found(None, "no entry is selected; expected one: click it, or press arrow keys in the picture")
        try:
            return Found(_entry_of((dict(entry["index"]), entry["field"]), linear))
        except traitlets.TraitError as error:
            return Found(None, str(error))

    def _shown_of(self, seen: OnScreen) -> object:
        entry = seen.entry
        chosen = None if entry is None else (dict(entry["index"]), entry["field"])
        return super()._shown_of(seen), chosen

    @traitlets.validate("selection")
    def _entry(self, proposal: Any) -> Entry | None:
        given: Any = proposal["value"]
        if self._is_told:
            return given if isinstance(given, Entry) else None
        entry = None if given is None else _entry_of(given, self.linearization)
        shown = self.session.state.selected.selection.shown
        shown_entry = None if entry is None else {"index": named(entry.index), "field": entry.field}
        self._command({"kind": "select", "selection": {**shown, "entry": shown_entry}})
        return entry

    def _tell(self, state: State) -> None:
        super()._tell(state)
        selected = state.selected.selection
        index, field = selected.index, selected.field
        self.selection = None if index is None or field is None else Entry(dict(index), field)


def _entry_of(given: Any, linear: Linearization | None) -> Entry:
    """The entry that a caller means.

    Raises:
        TraitError: it is none, or there is no such entry.
    """
    try:
        index, field = (given.index, given.field) if isinstance(given, Entry) else given
        index = {str(dim): int(number) for dim, number in dict(index).items()}
    except (TypeError, ValueError):
        raise traitlets.TraitError(
            f"selection: expected an index and a field such as ({{'x': 1}}, 'a'), or None, got {show(given)}"
        ) from None
    if linear is not None:
        sizes = linear.space.as_dict()
        if set(index) != set(sizes) or not all(0 <= number < sizes[dim] for dim, number in index.items()):
            raise traitlets.TraitError(f"selection, index: {show(index)} is not in ({linear.space})")
        if field not in linear.fields.names:
            raise traitlets.TraitError(f"selection, field: {show(field)}; expected one of {', '.join(linear.fields.names)}")
    return Entry(index, str(field))


def _settings(layout: Any, space: object, fields: object) -> Settings:
    """Settings in which both ends have a layout on some spaces.

    Raises:
        InputError: the layout does not fit.
    """
    from isoviz.figures.layouts.order_view import example_fields, example_space

    if isinstance(layout, Linearization):
        if space is not None or fields is not None:
            raise InputError("a linearization has its own space and fields; expected none beside it")
        made, dims, dtypes = layout.layout, layout.space, layout.fields
    else:
        made = Layout(layout)
        dims = example_space(made) if space is None else _space(space)
        dtypes = example_fields(made) if fields is None else _fields(fields)
        made.on(dims, dtypes)
    sizes = dims.as_dict()
    end = End(_MEMORY, str(made))
    return Settings(dimensions=rows(sizes, 1), fields=rows(dtypes.as_dict(), 1 + len(sizes)), source=end, destination=end)


def _space(given: Any) -> IndexSpace:
    return given if isinstance(given, IndexSpace) else IndexSpace.of(given)


def _fields(given: Any) -> FieldSpace:
    return given if isinstance(given, FieldSpace) else FieldSpace.of(given)
