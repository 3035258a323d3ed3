"""The pictures of a state, as SVG."""

from __future__ import annotations

from typing import get_args

from isoviz.widgets.contract import Side
from isoviz.widgets.state import Derived

PLOT_WIDTH = 620
"""CSS pixels of a linearization plot at natural size: what fits beside the controls in a cell of usual width."""


def common_axes(derived: Derived) -> tuple[str, ...] | None:
    """The dimensions that both plots draw to the right and down, so that they can be compared: those that suit the source."""
    from isoviz.figures.layouts.order_view import default_axes

    linear = derived.source or derived.destination
    return None if linear is None else tuple(default_axes(linear))


def shown_by(name: str, derived: Derived) -> object:
    """The value that the picture with this name shows, or None."""
    if name in get_args(Side):
        linear = getattr(derived, name)
        return None if linear is None else (linear, common_axes(derived))
    return None if derived.plan is None or derived.planned_on is None else (derived.plan, derived.planned_on)


def picture_of(name: str, derived: Derived, width: int = PLOT_WIDTH) -> str:
    """The picture of that name, as SVG: "source", "destination" or "path"; "" where there is nothing to draw.

    `width` is that of a linearization plot.
    """
    from isoviz.figures import linearization_svg, path_svg

    if name in get_args(Side):
        linear = getattr(derived, name)
        if linear is None:
            return ""
        axes = common_axes(derived)
        fits = axes if axes is not None and set(axes) <= set(linear.space.dims) else None
        return linearization_svg(linear, axes=fits, caption=False, width=width)
    if derived.plan is None or derived.planned_on is None:
        return ""
    return path_svg(derived.planned_on, derived.plan)


def pictures_of(derived: Derived) -> dict[str, str]:
    """The pictures of what was derived, by name, as SVG: both ends, and the path."""
    values = {name: picture_of(name, derived) for name in (*get_args(Side), "path")}
    return {name: picture for name, picture in values.items() if picture}
