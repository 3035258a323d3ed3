"""The pictures of a state, as SVG."""

from __future__ import annotations

from collections.abc import Mapping
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


def plots(now: Derived, before: Derived) -> dict[str, str]:
    """The pictures, with the plots drawn again that changed."""
    from isoviz.figures import linearization_svg

    axes = common_axes(now)
    turned = axes != common_axes(before)
    pictures = dict(now.pictures)
    for side in get_args(Side):
        linear = getattr(now, side)
        if linear is None or (side in pictures and linear == getattr(before, side) and not turned):
            continue
        fits = axes if axes is not None and set(axes) <= set(linear.space.dims) else None
        pictures[side] = linearization_svg(linear, axes=fits, caption=False, width=PLOT_WIDTH)
    return pictures


def plan_pictures(now: Derived) -> Mapping[str, str]:
    """The pictures, with those of the plan drawn again."""
    from isoviz.figures import channels_of, operating_points, path_svg, throughput_svg

    assert now.machine is not None and now.plan is not None
    channels = channels_of(now.machine, now.plan)
    return {
        **now.pictures,
        "path": path_svg(now.machine, now.plan),
        "throughput": throughput_svg(channels, operating_points(now.plan)),
    }
