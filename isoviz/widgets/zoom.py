"""Figures to zoom and hover: BokehJS from the installed package, once for a page, and figures as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from isoviz.errors import IsovizError
from isoviz.widgets.state import State

KINDS = ("bokeh-script", "bokeh-figure")
"""Kinds of messages that `answer` answers."""


def answer(asked: Mapping[str, Any], state: State) -> tuple[dict[str, Any], list[bytes]]:
    """The message and its buffers that answer a view's `bokeh-script` or `bokeh-figure`."""
    if asked.get("kind") == "bokeh-script":
        return {"kind": "bokeh-script"}, [_script()]
    side = "destination" if asked.get("side") == "destination" else "source"
    reply: dict[str, Any] = {"kind": "bokeh-figure", "side": side, "number": asked.get("number")}
    try:
        return {**reply, **_figure(side, bool(asked.get("dark")), state)}, []
    except IsovizError as error:
        return {**reply, "error": str(error)}, []
    except Exception as error:  # noqa: BLE001 - shown where the figure would be
        return {**reply, "error": f"{type(error).__name__}: {error}"}, []


@lru_cache(maxsize=1)
def _script() -> bytes:
    from bokeh.util.paths import bokehjs_path

    return (Path(bokehjs_path()) / "js" / "bokeh.min.js").read_bytes()


def _figure(side: str, dark: bool, state: State) -> dict[str, Any]:
    import bokeh
    from bokeh.embed import json_item

    from isoviz.figures import linearization_figure
    from isoviz.widgets.derive import common_axes

    linear = getattr(state.derived, side)
    if linear is None:
        return {"error": "There is no layout to draw yet."}
    figure = linearization_figure(linear, axes=common_axes(state.derived), theme="dark" if dark else "light")
    figure.sizing_mode = "stretch_width"
    return {"item": json_item(figure), "version": bokeh.__version__}
