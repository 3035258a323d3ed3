"""The explorer in a notebook: `isoviz.explore()`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isoviz.errors import InputError
from isoviz.widgets.examples import EXAMPLES
from isoviz.widgets.explorer import Explorer
from isoviz.widgets.session import Session
from isoviz.widgets.settings import Settings, settings_for

__all__ = ["EXAMPLES", "Explorer", "Session", "Settings", "explore"]


def explore(
    *,
    example: str | None = None,
    machine: str | None = None,
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
    with its options, the sizes of the dimensions, the dtypes of the fields, memory and layout of both ends, the planner and its
    limits (bytes, or text such as "32MiB").

        explorer = isoviz.explore(space={"x": 512, "y": 512}, source=("node0.sys", "<F, x, y>"))
        explorer.session.wait().derived.plan

    The session behind it keeps running while its widget is open; `explorer.close()` ends it.

    Raises:
        InputError: an unknown example, or an end that is not a memory and a layout. What is wrong with a layout or a size is
            shown in the explorer, beside its control.
    """
    if example is not None and example not in EXAMPLES:
        raise InputError(f"example {example!r}: expected one of {', '.join(EXAMPLES)}")
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
        start=None if example is None else EXAMPLES[example].settings,
    )
    explorer = Explorer(settings, pane=pane)
    explorer.show()
    return explorer
