"""`isoviz.explore()`: the explorer in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoviz.errors import InputError
from isoviz.widgets.chosen.examples import EXAMPLES
from isoviz.widgets.chosen.session_file import load_settings
from isoviz.widgets.chosen.settings import settings_for
from isoviz.widgets.explorer import Explorer

if TYPE_CHECKING:
    from isoviz.machines import Machine


def explore(
    *,
    example: str | None = None,
    session: str | Path | None = None,
    machine: str | Machine | None = None,
    machine_options: Mapping[str, Any] | None = None,
    space: Mapping[str, int] | None = None,
    fields: Mapping[str, Any] | None = None,
    source: tuple[str, str] | None = None,
    destination: tuple[str, str] | None = None,
    planner: str | None = None,
    slot_limit: str | int | None = None,
    memory_limit: str | int | None = None,
    pane: str = "explorer",
) -> Explorer:
    """Show the explorer in a notebook, with a plan already drawn, and return it.

    Everything can be changed on screen; the arguments say where to begin: an `example` (a name in `EXAMPLES`), a machine preset
    with its options or a machine of your own, the sizes of the dimensions, the dtypes of the fields, memory and layout of both
    ends, the planner and its limits (bytes, or text such as "32MiB"). `session` is a file of `explorer.session.save`.

        explorer = isoviz.explore(space={"x": 512, "y": 512}, source=("node0.sys", "<F, x, y>"))
        explorer.session.wait().derived.plan

    The session behind it keeps running while its widget is open; `explorer.close()` ends it.

    Raises:
        InputError: an unknown example or pane, an example and a session at once, an end that is not a memory and a layout, or
            options for a machine that is no preset. What is wrong with a layout, a size or a memory is shown in the explorer,
            beside its control.
        FileError: the session file cannot be read, or holds no session.
    """
    if example is not None and example not in EXAMPLES:
        raise InputError(f"example {example!r}: expected one of {', '.join(EXAMPLES)}")
    if example is not None and session is not None:
        raise InputError("explore: an example and a session were given; expected one of them")
    start = None if example is None else EXAMPLES[example].settings
    settings = settings_for(
        machine=machine,
        machine_options=machine_options,
        space=space,
        fields=fields,
        source=source,
        destination=destination,
        planner=planner,
        slot_limit=slot_limit,
        memory_limit=memory_limit,
        start=start if session is None else load_settings(session),
    )
    explorer = Explorer(settings, pane=pane)
    explorer.show()
    return explorer
