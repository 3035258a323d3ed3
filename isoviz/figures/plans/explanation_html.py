"""HTML of explanations and sweeps: the reasons for a plan, and the parameter values at which another plan is best."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.figures.charts.html_parts import facts, folded, heading, items, paragraph, pre, representation, table
from isoviz.figures.machines.curves import channels_of
from isoviz.figures.machines.machine_html import rate_table
from isoviz.figures.plans.constraint_table import constraint_table_html
from isoviz.figures.plans.plan_html import plan_facts, plan_title
from isoviz.figures.plots.block_region import Mark, block_region_figure
from isoviz.figures.plots.bokeh_plot import plot_html
from isoviz.figures.plots.planning import NAMES, candidate_figure, sweep_figure, ways
from isoviz.figures.plots.throughput import plan_throughput_figure
from isoviz.figures.plots.winner_map import winner_map_figure
from isoviz.machines import ChannelKind
from isoviz.machines.memory import emulated_text
from isoviz.planner.explanation.curves.winner_map import letter, map_said
from isoviz.planner.explanation.explanation_text import explanation_text
from isoviz.planner.explanation.explanation_words import (
    agreement,
    hop_stages,
    path_text,
    sizes_said,
    summary,
    time_parts,
    time_said,
    verdict,
)
from isoviz.planner.explanation.rival_words import ranking_said, turn_text, turns_said
from isoviz.planner.program.certificate import certificate_lines
from isoviz.planner.whole_program.wording import program_lines
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.figures.charts.theme import ThemeName
    from isoviz.planner.explanation.curves.winner_map import MapPoint, WinnerMap
    from isoviz.planner.explanation.explanation import Explanation, Sweep

MOST_ROWS = 16
"""A table with more candidates is folded."""


def explanation_html(
    explanation: Explanation, *, theme: ThemeName = "auto", marks: Sequence[Mark] = (), plots: bool = True
) -> str:
    """The reasons for a plan: constraints, block sizes, candidates, program. `marks` are further points of the region.

    Without `plots` there are tables and sentences only.
    """
    title = heading(f"Why this plan: {plan_title(explanation.plan)}")
    drawn = _plots(explanation, theme, marks) if plots else {}
    parts = [heading(name, 4) + drawn.get(name, "") + content for name, content in _sections(explanation)]
    paragraphs = "".join(map(paragraph, summary(explanation)))
    return representation("explanation", title, plan_facts(explanation.plan), paragraphs, *parts)


def _plots(explanation: Explanation, theme: ThemeName, marks: Sequence[Mark]) -> dict[str, str]:
    """The plots of an explanation, by the section that they belong to."""
    remark = emulated_text(explanation.plan.emulated)
    among = emulated_text(explanation.machine.emulated(name for each in explanation.candidates for name in each.memories))
    plots = {
        "Candidates": plot_html(candidate_figure, explanation.candidates, remark=among, theme=theme),
        "Throughput functions": plot_html(plan_throughput_figure, explanation.machine, explanation.plan, theme=theme),
    }
    if explanation.region is not None:
        region = explanation.region, explanation.program
        plots["Block sizes"] = plot_html(block_region_figure, *region, marks=marks, remark=remark, theme=theme)
    return plots


def _sections(explanation: Explanation) -> list[tuple[str, str]]:
    """The parts of an explanation as pairs (title, tables and sentences)."""
    kept, already = turns_said(explanation)
    sections = [
        ("Constraints", constraint_table_html(explanation) + "".join(map(paragraph, verdict(explanation)))),
        ("Block sizes", items(sizes_said(explanation))),
        ("Where the time goes", _time(explanation)),
        ("Throughput functions", rate_table(channels_of(explanation.machine, explanation.plan))),
        ("Candidates", _candidates(explanation)),
    ]
    if kept or already:
        turns = items([turn_text(turn, path) for turn, path in kept]) if kept else ""
        sections.append(("What would make a rival win", turns + (paragraph(already) if already else "")))
    if explanation.whole is not None:
        sections.append(("The program of all paths", items(program_lines(explanation.whole))))
    program = folded("The program in the logarithms, and its optimum", pre(explanation.solution.text))
    whole = folded("The whole explanation as text", pre(explanation_text(explanation)))
    sections.append(
        ("Program", paragraph(agreement(explanation)) + items(certificate_lines(explanation.solution)) + program + whole)
    )
    return sections


def _time(explanation: Explanation) -> str:
    parts = time_parts(explanation)
    key = [
        ("set-up", format_seconds(parts.setup)),
        ("filling", format_seconds(parts.filling)),
        ("steady state", format_seconds(parts.steady)),
        ("T", format_seconds(parts.seconds)),
    ]
    rows = []
    for k, stage in enumerate(hop_stages(explanation)):
        gain = stage.price * stage.throughput * 0.01
        rows.append(
            (
                k,
                ChannelKind.words_for(stage.kind),
                path_text((stage.memory, explanation.stages[k + 1].memory)),
                format_bytes(stage.run_bytes),
                format_rate(stage.throughput),
                format_seconds(stage.seconds),
                f"{100 * stage.share:.0f} %",
                f"−{format_seconds(-gain)}" if gain < -1e-9 * explanation.plan.objective else "±0",
            )
        )
    hops = table(
        "What the hops do for one chunk, and by how much T would change if a hop were 1 % faster",
        ("hop", "channel", "from → to", "run", "rate", "per chunk", "of the period", "T if 1 % faster"),
        rows,
        numbers=(0, 3, 4, 5, 6, 7),
        marked=[k for k, stage in enumerate(hop_stages(explanation)) if stage.share >= 1 - 1e-9 and len(rows) > 1],
    )
    return facts(key) + paragraph(time_said(explanation)) + hops


def _candidates(explanation: Explanation) -> str:
    rows = [
        (
            number,
            path_text(each.memories, each.converting),
            f"≥ {format_seconds(each.bound)}" if each.seconds is None else format_seconds(each.seconds),
            format_rate(each.throughput) if each.throughput is not None else "–",
            each.limit,
        )
        for number, each in enumerate(explanation.candidates, start=1)
    ]
    header = ("", "path (⇒ changes the order)", "T", "steady rate", "held back by")
    caption = "Every candidate, the chosen one first, then by predicted time"
    every = table(caption, header, rows, numbers=(0, 2, 3), marked=[0] if len(rows) > 1 else [])
    is_long = len(rows) > MOST_ROWS
    return paragraph(ranking_said(explanation)) + (folded(f"All {len(rows):,} as a table", every) if is_long else every)


def sweep_html(sweep: Sweep, *, theme: ThemeName = "auto") -> str:
    """The best plan over a parameter: the figure, and its points as a table."""
    name = NAMES.get(sweep.parameter, sweep.parameter)
    letters = ways(sweep)
    rows = [
        (
            format_bytes(point.value) if sweep.unit == "B" else f"{point.value:,.6g}",
            format_seconds(point.seconds),
            format_rate(point.throughput),
            letters[point.channels, point.converting],
            path_text(point.memories, point.converting),
        )
        for point in sweep.points
    ]
    header = (name, "predicted time", "steady rate", "", "path (⇒ changes the order)")
    points = table(f"The best plan for every {name} tried", header, rows, numbers=(0, 1, 2))
    return representation(
        "sweep",
        heading(f"Predicted time over {name}"),
        paragraph(emulated_text(sweep.emulated)) if sweep.emulated else "",
        plot_html(sweep_figure, sweep, theme=theme),
        points,
    )


def winner_map_html(found: WinnerMap, *, theme: ThemeName = "auto", plots: bool = True) -> str:
    """Which path wins over two parameters: the map, what it says, and every point as a table.

    Without `plots` there are tables and sentences only.
    """
    named = enumerate(zip(found.names, found.ways, strict=True))
    ways = [(letter(number), name, path_text(way.memories, way.converting)) for number, (name, way) in named]
    rows = [(format_bytes(run), *(_map_cell(found.at.get((run, runs))) for runs in found.rows)) for run in found.columns]
    header = ("bytes of a run", *(f"{runs:,} {'run' if runs == 1 else 'runs'}" for runs in found.rows))
    points = table("The fastest path and T for every vector tried", header, rows, numbers=(0,))
    return representation(
        "winner-map",
        heading(found.title),
        paragraph(found.meaning),
        plot_html(winner_map_figure, found, theme=theme) if plots else "",
        items(map_said(found)),
        table("The paths", ("", "channels", "memories (⇒ changes the order)"), ways),
        folded("Every point as a table", points),
    )


def _map_cell(point: MapPoint | None) -> str:
    return "–" if point is None else f"{letter(point.way)} {format_seconds(point.seconds)}"
