"""HTML of explanations and sweeps: the reasons for a plan, and the parameter values at which another plan is best."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.figures.charts.html_parts import facts, folded, heading, items, paragraph, pre, representation, table
from isoviz.figures.plans.block_region import Mark, block_region_svg
from isoviz.figures.plans.candidate_ranking import candidate_ranking_svg
from isoviz.figures.plans.constraint_table import constraint_table_html
from isoviz.figures.plans.plan_html import plan_facts, plan_throughput_svg, plan_title
from isoviz.figures.plans.sweep_figure import NAMES, sweep_svg, ways
from isoviz.machines import ChannelKind
from isoviz.machines.memory import emulated_text
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
    from isoviz.planner.explanation.explanation import Explanation, Sweep

MOST = 12
"""Most candidates that are drawn."""


def explanation_html(explanation: Explanation, *, theme: ThemeName = "auto", marks: Sequence[Mark] = ()) -> str:
    """The reasons for a plan: constraints, block sizes, candidates, program. `marks` are further points of the region."""
    title = heading(f"Why this plan: {plan_title(explanation.plan)}")
    curves = plan_throughput_svg(explanation.machine, explanation.plan, theme=theme)
    parts = [heading(name, 4) + content for name, content in explanation_sections(explanation, theme=theme, marks=marks)]
    said = "".join(map(paragraph, summary(explanation)))
    return representation(
        "explanation", title, plan_facts(explanation.plan), said, *parts, folded("Throughput functions", curves)
    )


def explanation_sections(
    explanation: Explanation, *, theme: ThemeName = "auto", marks: Sequence[Mark] = ()
) -> list[tuple[str, str]]:
    """The parts of an explanation as pairs (title, content), for a representation or a page."""
    kept, already = turns_said(explanation)
    sections = [
        ("Constraints", constraint_table_html(explanation) + "".join(map(paragraph, verdict(explanation)))),
        ("Block sizes", _blocks(explanation, theme, marks)),
        ("Where the time goes", _time(explanation)),
        ("Candidates", _candidates(explanation, theme)),
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


def _blocks(explanation: Explanation, theme: ThemeName, marks: Sequence[Mark]) -> str:
    said = items(sizes_said(explanation))
    if explanation.region is None:
        return said
    remark = emulated_text(explanation.plan.emulated)
    return block_region_svg(explanation.region, explanation.program, marks=marks, remark=remark, theme=theme) + said


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


def _candidates(explanation: Explanation, theme: ThemeName) -> str:
    candidates = explanation.candidates
    rows = [
        (
            number,
            path_text(each.memories, each.converting),
            f"≥ {format_seconds(each.bound)}" if each.seconds is None else format_seconds(each.seconds),
            format_rate(each.throughput) if each.throughput is not None else "–",
            each.limit,
        )
        for number, each in enumerate(candidates, start=1)
    ]
    header = ("", "path (⇒ converts)", "T", "steady rate", "held back by")
    every = table(
        "Every candidate, the chosen one first, then by predicted time",
        header,
        rows,
        numbers=(0, 2, 3),
        marked=[0] if len(rows) > 1 else [],
    )
    return (
        paragraph(ranking_said(explanation))
        + candidate_ranking_svg(candidates, most=MOST, remark=_emulated(explanation), theme=theme)
        + folded(f"All {len(rows):,} as a table" if len(rows) > 1 else "As a table", every)
    )


def _emulated(explanation: Explanation) -> str:
    """The emulated memories of all candidates, in words."""
    return emulated_text(explanation.machine.emulated(name for each in explanation.candidates for name in each.memories))


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
    header = (name, "predicted time", "steady rate", "", "path (⇒ converts)")
    points = table(f"The best plan for every {name} tried", header, rows, numbers=(0, 1, 2))
    return representation(
        "sweep",
        heading(f"Predicted time over {name}"),
        paragraph(emulated_text(sweep.emulated)) if sweep.emulated else "",
        sweep_svg(sweep, theme=theme),
        folded("As a table", points),
    )
