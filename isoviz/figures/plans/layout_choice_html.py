"""HTML of a choice of layouts: the candidates as a table, and what is gained against what."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from isoviz.figures.charts.html_parts import code, heading, items, paragraph, representation, table
from isoviz.figures.plots.bokeh_plot import plot_html
from isoviz.figures.plots.planning import trade_off_figure
from isoviz.machines.memory import emulated_text
from isoviz.planner.layout_choice.choice import LayoutChoice, format_weight
from isoviz.units import format_bytes, format_seconds, format_share

if TYPE_CHECKING:
    from isoviz.figures.charts.theme import ThemeName

MOST_PLOTS = 3
"""Pairs of uses that have a plot: those of the first three uses."""


def layout_choice_html(choice: LayoutChoice, *, theme: ThemeName = "auto") -> str:
    """The ranked layouts of `isoviz.find_layout`, and for pairs of uses what is gained against what."""
    array = choice.array
    payload = array.space.volume * array.fields.nbytes
    numbers = range(1, len(choice.uses) + 1)
    rows = [
        (
            number,
            code(each.layout.pretty),
            format_seconds(each.weighted),
            *map(format_seconds, each.times),
            format_share(each.padding / payload) if each.padding else "none",
            ", ".join(f"{dim} {format_bytes(run)}" for dim, run in each.runs),
        )
        for number, each in enumerate(choice.candidates, 1)
    ]
    header = ("", "layout", "weighted time", *(f"use {number}" for number in numbers), "padding", "runs along")
    right = (0, *range(2, 3 + len(choice.uses)))
    candidates = table("Layouts, the least weighted time first", header, rows, numbers=right, marked=[0])
    pairs = itertools.islice(itertools.combinations(range(len(choice.uses)), 2), MOST_PLOTS)
    plots = [plot_html(trade_off_figure, choice, *pair, theme=theme) for pair in pairs if len(choice.trade_off(*pair)) > 1]
    uses = [f"Use {number}, {format_weight(use.weight)} ×: {use}" for number, use in enumerate(choice.uses, 1)]
    return representation(
        "layout choice",
        heading(f"Layouts of ({array.space}; {array.fields}) in {array.memory} on {choice.machine_name}"),
        paragraph(said) if (said := emulated_text(choice.emulated)) else "",
        items(uses),
        candidates,
        paragraph(f"{choice.effort}."),
        *plots,
    )
