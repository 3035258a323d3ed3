"""`isoviz.explore()`: the explorer in a notebook."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from isoviz import checks
from isoviz.errors import InputError, show
from isoviz.layouts import Component, Layout
from isoviz.widgets.chosen.examples import EXAMPLES, OPENING
from isoviz.widgets.chosen.kept_sessions import CellPlace, Kept, forget, kept
from isoviz.widgets.chosen.machine_choice import MachineChoice
from isoviz.widgets.chosen.session_file import load_settings
from isoviz.widgets.chosen.settings import ByHand, Settings, TextSettings, settings_for
from isoviz.widgets.chosen.shown_array import ShownArray, shown_array
from isoviz.widgets.consequences.chosen_machine import with_joined_ends
from isoviz.widgets.explorer import Explorer, running_cell
from isoviz.widgets.notebook.keeper import Keeper, flush_all

if TYPE_CHECKING:
    from isoviz.layouts import FieldSpace, IndexSpace
    from isoviz.machines import MachineLike

RESTORED = "Restored what was here; undo goes back to what the cell says."
"""The notice of an explorer that restores kept settings."""


def explore(
    array: Any = None,
    *,
    example: str | None = None,
    session: str | Path | None = None,
    machine: MachineLike | MachineChoice | None = None,
    machine_options: Mapping[str, Any] | None = None,
    space: Mapping[str, int] | IndexSpace | None = None,
    fields: Mapping[str, Any] | FieldSpace | None = None,
    source: tuple[str, str] | None = None,
    destination: tuple[str, str] | None = None,
    part: Mapping[str, Sequence[str | int]] | None = None,
    moved_fields: Sequence[str] | None = None,
    by_hand: ByHand | None = None,
    pane: str = "explorer",
    restore: bool = True,
    **texts: Unpack[TextSettings],
) -> Explorer:
    """Show the explorer in a notebook, with a plan already drawn, and return it.

    Everything can be changed on screen. Without arguments the explorer begins with the example `picture`, whose pixels become
    planes of red, green and blue. The arguments choose another beginning:

        explorer = isoviz.explore(space={"x": 512, "y": 512}, source=("node0.sys", "<F, x, y>"))
        explorer.session.wait().derived.plan

    - `example`: a name in `isoviz.widgets.EXAMPLES`. `session`: a file that `explorer.session.save` wrote.
    - `machine`: the name of a preset, with `machine_options`; a `Machine`; or the path of a machine file. If it lacks the usual
      memories and no ends are given, the ends are the first of its memories that a path joins.
    - `space`, `fields`: the sizes of the dimensions and the dtypes of the fields, by name or as IndexSpace and FieldSpace.
    - `source`, `destination`: the memory and the layout of each end.
    - `array`: an array (NumPy, on a GPU, or any that supports DLPack), the path of a `.npy` file, or that of a photo (PNG, JPEG,
      WebP and others that Pillow decodes), whose pixels are structs of red, green and blue. The source has its sizes, fields and
      layout. Unless ends are given, the destination has the reversed order, or planes for a photo, and the source is in main
      memory if it is not a `.npy` file. Its values colour the pictures. Up to 4096 values are written in the cells if they fit.
      If its rows have gaps, only the elements between the gaps move. An array that counts backwards or repeats elements is shown
      in memory, and the explorer says why it has no plan.
    - `part`: `{"x": (16, 32, 0)}` moves the 32 indices of x from 16 on to index 0. `moved_fields` names the fields that move. By
      default everything moves.
    - `by_hand`: a plan by hand (`isoviz.widgets.ByHand`). `pane`: the view to show, by default the whole explorer.
    - `texts`: the other settings. `planner`; `slot_limit` and `memory_limit`, in bytes or as text such as "32MiB"; the most
      `paths` and `proxies`; `reuse`, how often the transfer will run; and `runs_in`. `runs_in="ranks"` runs the plan in MPI
      ranks on this computer, `"process"` in this process. By default ranks run only what this process cannot.

    Its session runs while the widget is open; `explorer.close()` ends it. In JupyterLab the settings are kept for the cell: the
    same code shows them again, even after a restart of the kernel, and undo goes back to what the code says. `restore=False`
    begins with what the code says.

    Raises:
        InputError: an example, pane or `runs_in` is unknown, an example and a session are given together, an end is not a memory
            and a layout, options are given for a machine that is not a preset, or an array beside a space, fields, an example or
            a session. What is wrong with a layout, a size or a memory is shown in the explorer, beside its control.
        FileError: the session file cannot be read, or holds no session; or the file of the array cannot be read, is damaged, or
            is neither a `.npy` file nor a photo.
        ArrayError: `array` is not an array, has a mask, or has no elements.
        MissingPartError: `array` is a photo, and Pillow is not installed.
    """
    checks.flag_argument("explore", "restore", restore)
    if example is not None and not checks.is_one_of(example, EXAMPLES):
        raise InputError(f"example {show(example)}: expected one of {', '.join(EXAMPLES)}")
    if example is not None and session is not None:
        raise InputError("explore: an example and a session were given; expected one of them")
    if session is not None and not isinstance(session, str | os.PathLike):
        raise InputError(f"session: expected the path of a file, got {show(session)}")
    shown = None if array is None else shown_array(array)
    if shown is not None:
        if not all(other is None for other in (example, session, space, fields)):
            raise InputError("explore: an array has a space and fields of its own; expected none, and no example or session")
        space, fields = shown.linear.space, shown.linear.fields
        part = part if part is not None or not shown.part else shown.part
    given: dict[str, Any] = {
        "machine": machine,
        "machine_options": machine_options,
        "space": space,
        "fields": fields,
        "source": source,
        "destination": destination,
        "part": part,
        "moved_fields": moved_fields,
        "by_hand": by_hand,
        **texts,
    }
    settings = settings_for(**given, start=_start(example, session, is_bare=all(value is None for value in given.values())))
    if shown is not None:
        settings = _with_orders(settings, shown, is_source=source is None, is_destination=destination is None)
        if source is None and not shown.is_file:
            settings = settings.with_end("source", replace(settings.end("source"), memory="node0.sys"))
    if machine is not None:
        ends = {"source": source, "destination": destination}
        settings = with_joined_ends(settings, frozenset(side for side, end in ends.items() if end is not None))
    place = _place()
    kept_settings = _kept(place, settings, restore)
    explorer = Explorer(settings, pane=pane)
    explorer.array_values = None if shown is None else shown.values
    if place is not None:
        explorer.before_close(Keeper(explorer.session, place, settings).close)
    if kept_settings.settings is not None:
        explorer.session.choose(kept_settings.settings, RESTORED)
    elif kept_settings.problem:
        explorer.session.choose(settings, f"What was kept of this cell is ignored: {kept_settings.problem}")
    explorer.show()
    return explorer


def _start(example: str | None, session: str | Path | None, *, is_bare: bool) -> Settings:
    """The settings that the other arguments change; `is_bare` says that there are none."""
    if session is not None:
        return load_settings(session)
    if example is not None:
        return EXAMPLES[example].settings
    return OPENING if is_bare else Settings()


def _with_orders(settings: Settings, shown: ShownArray, *, is_source: bool, is_destination: bool) -> Settings:
    """Settings in which the source has the layout of an array, and the destination planes of a photo, or the reversed order of
    the dimensions."""
    if is_source:
        end = replace(settings.source, layout=str(shown.linear.layout), unplanned=shown.unplanned)
        settings = replace(settings, source=end)
    if is_destination:
        dims = [part.dim for part in shown.linear.layout.components if isinstance(part, Component)]
        is_planes = shown.is_photo and len(shown.linear.fields) > 1
        layout = Layout.soa(*dims) if is_planes else Layout.aos(*reversed(dims))
        settings = replace(settings, destination=replace(settings.destination, layout=str(layout)))
    return settings


def _kept(place: CellPlace | None, start: Settings, restore: bool) -> Kept:
    """The settings that are kept for a cell whose code gives the settings `start`."""
    if place is None:
        return Kept(None)
    flush_all(place)  # what the explorer holds that the cell has shown until now
    if restore:
        return kept(place, start)
    forget(place)
    return Kept(None)


_shown: dict[str, tuple[int, int]] = {}
"""For every cell, the execution that showed an explorer last, and how many it has shown. It grows by two numbers for each cell
that shows an explorer; the cells of a notebook are few."""


def _place() -> CellPlace | None:
    """What the settings of the next explorer are kept for; None where the front end does not say which cell runs."""
    notebook, (execution, cell) = os.environ.get("JPY_SESSION_NAME", ""), running_cell()
    if not notebook or cell is None:
        return None
    last, number = _shown.get(cell, (-1, 0))
    number = number + 1 if last == execution else 0
    _shown[cell] = execution, number
    return CellPlace(notebook, cell, number)
