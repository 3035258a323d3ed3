"""Figures to zoom and hover: BokehJS from the installed package, once for a page, and figures as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from isoviz.errors import InputError, IsovizError
from isoviz.widgets.commands import envelope
from isoviz.widgets.consequences.drawings import common_axes
from isoviz.widgets.contract import FigureMessage, Message, Side
from isoviz.widgets.state import State

KINDS = ("bokeh-script", "bokeh-figure")
"""Kinds of commands that `answer` answers."""


def answer(asked: Mapping[str, Any], state: State) -> tuple[Message, list[bytes]]:
    """The message and its buffers that answer a view's command, one of `KINDS`."""
    if asked["kind"] == "bokeh-script":
        return {"kind": "bokeh-script"}, [_script()]
    side: Side = asked["side"]
    reply: FigureMessage = {
        "kind": "bokeh-figure", "side": side, "number": envelope(asked)[1], "item": None, "version": "", "error": "",
    }  # fmt: skip
    try:
        item, version = _figure(side, asked["dark"], state)
    except IsovizError as error:
        return {**reply, "error": str(error)}, []
    except Exception as error:  # noqa: BLE001 - shown where the figure would be
        return {**reply, "error": f"{type(error).__name__}: {error}"}, []
    return {**reply, "item": item, "version": version}, []


@lru_cache(maxsize=1)
def _script() -> bytes:
    from bokeh.util.paths import bokehjs_path

    return (Path(bokehjs_path()) / "js" / "bokeh.min.js").read_bytes()


def _figure(side: Side, dark: bool, state: State) -> tuple[object, str]:
    import bokeh
    from bokeh.embed import json_item

    from isoviz.figures import linearization_figure

    linear = state.derived.source if side == "source" else state.derived.destination
    if linear is None:
        raise InputError("There is no layout to draw yet.")
    figure = linearization_figure(linear, axes=common_axes(state.derived), theme="dark" if dark else "light")
    figure.sizing_mode = "stretch_width"
    return json_item(figure), bokeh.__version__
