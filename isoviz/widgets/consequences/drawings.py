"""The pictures of a state, as SVG."""

from __future__ import annotations

from typing import get_args

from isoviz.widgets.contract import Side
from isoviz.widgets.state import Derived

PLOT_WIDTH = 620
"""CSS pixels of a linearization plot at natural size: what fits beside the controls in a cell of usual width."""


def common_axes(derived: Derived) -> tuple[str, ...] | None:
    """The dimensions that both plots draw to the right and down, so that they can be compared: those that suit the source."""
    from isoviz.figures import default_axes

    linear = derived.source or derived.destination
    return None if linear is None else tuple(default_axes(linear))


def pictures_of(derived: Derived) -> dict[str, str]:
    """The pictures of what was derived, by name, as SVG: both ends, the path, and its throughput functions."""
    from isoviz.figures import channels_of, linearization_svg, operating_points, path_svg, throughput_svg

    axes = common_axes(derived)
    pictures = {}
    for side in get_args(Side):
        linear = getattr(derived, side)
        if linear is not None:
            fits = axes if axes is not None and set(axes) <= set(linear.space.dims) else None
            pictures[side] = linearization_svg(linear, axes=fits, caption=False, width=PLOT_WIDTH)
    if derived.plan is not None and derived.planned_on is not None:
        channels = channels_of(derived.planned_on, derived.plan)
        pictures["path"] = path_svg(derived.planned_on, derived.plan)
        pictures["throughput"] = throughput_svg(channels, operating_points(derived.plan))
    return pictures
