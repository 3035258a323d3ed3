"""Throughput by message size: curves of a figure, as lines and as a table."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

from isoviz.figures.plots.bokeh_plot import Axis
from isoviz.reproduce.figure import Figure, Grid, Line, Lines
from isoviz.units import format_bytes, format_rate

Curve = dict[int, float]
"""Bytes per second, by the size of messages or of windows in bytes."""
_CLOSE = 1.01
"""A size at which something changes is looked for up to this factor."""
TOKENS = ("dim0", "dim1", "dim2", "dim3", "dim4", "dim5", "dim6", "field")


def throughput_figure(name: str, title: str, curves: Mapping[str, Curve], across: str = "message", heading: str = "") -> Figure:
    """The figure of some curves; the first one is what the others are compared with."""
    sizes = sorted({size for curve in curves.values() for size in curve})
    rates = [rate for curve in curves.values() for rate in curve.values()]
    lines = [
        Line(
            label,
            "predicted" if number == 0 else TOKENS[(number - 1) % len(TOKENS)],
            sorted(curve.items()),
            [f"{format_bytes(size)}: {format_rate(rate)}" for size, rate in sorted(curve.items())],
        )
        for number, (label, curve) in enumerate(curves.items())
    ]
    plot = Lines(
        lines,
        Axis(f"size of a {across}", "bytes", sizes[0] / 1.2, sizes[-1] * 1.2),
        Axis("throughput", "rate", min(rates) / 1.3, max(rates) * 1.3),
        title,
    )
    rows = [
        (format_bytes(size), *(format_rate(curve[size]) if size in curve else "" for curve in curves.values())) for size in sizes
    ]
    return Figure(name, plot, (Grid(title, (across, *curves), rows),), heading)


def crossing(gain: Callable[[int], float], sizes: Sequence[int]) -> int:
    """The size at which `gain` changes its sign for the first time, to a hundredth; the last size where it keeps it."""
    before = gain(sizes[0]) > 0
    for low, high in itertools.pairwise(sizes):
        if (gain(high) > 0) != before:
            while high > low * _CLOSE:
                middle = round((low * high) ** 0.5)
                low, high = (middle, high) if (gain(middle) > 0) == before else (low, middle)
            return high
    return sizes[-1]
