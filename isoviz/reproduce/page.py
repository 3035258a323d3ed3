"""A reproduction as an HTML page with nothing to load, in both colour schemes, and as a report in Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from isoviz.figures.charts.html_parts import Markup, facts, folded, heading, items, paragraph, table
from isoviz.figures.charts.svg import escape
from isoviz.figures.page import page as html_page
from isoviz.figures.plots.bokeh_plot import plot_html
from isoviz.reproduce.figure import Figure, Grid, plot_figure
from isoviz.units import format_seconds

if TYPE_CHECKING:
    from isoviz.reproduce.reproduction import Reproduction
    from isoviz.reproduce.statement import Statement

_BADGES = {"agrees": "good", "more": "bad", "less": "bad"}


def page(reproduction: Reproduction) -> str:
    """The page."""
    agreed, of = reproduction.agreed
    sections = [
        f"<header><h1>{escape(reproduction.title)}</h1>"
        + paragraph(reproduction.citation)
        + facts(
            (
                ("figures that agree", f"{agreed} of {of}"),
                ("took", format_seconds(reproduction.seconds)),
                ("date", str(reproduction.table.machine["date"])[:10]),
                *reproduction.facts,
            )
        )
        + "</header>",
        _section(
            "Ours beside the paper's statements",
            paragraph(
                "A figure agrees that lies within the paper's, give or take a tenth of it; more and less are of the effect."
            ),
            _statements(reproduction.statements),
        ),
        _section("How it is modelled", items(reproduction.models)),
        *(_section(section.title, *map(_part, section.parts)) for section in reproduction.sections),
        _section("Assumptions", _table(reproduction.assumptions_grid)),
        _section("What hangs on them", _table(reproduction.sensitivities_grid)),
    ]
    return html_page(reproduction.title, sections, kind="reproduction")


def figure_page(figure: Figure) -> str:
    """A page with one figure and its numbers."""
    return html_page(figure.plot.title, [_section(figure.plot.title, _part(figure))], kind="reproduction")


def markdown(reproduction: Reproduction) -> str:
    """The report, to be kept beside the figures in JSON."""
    agreed, of = reproduction.agreed
    machine = reproduction.table.machine
    where = f"{machine['processor']}, {machine['cores']} cores, Python {machine['python']}"
    statements, *grids = reproduction.grids
    parts = [
        f"# {str(machine['date'])[:10]}: {reproduction.title}",
        f"`isoviz reproduce {reproduction.paper}`, {format_seconds(reproduction.seconds)} on {where}. {reproduction.remark}",
        f"{agreed} of {of} figures lie within the paper's, give or take a tenth; more and less are of the effect.",
        statements.markdown(),
        "## Why, and what it is worth",
        "\n".join(f"- {what}: {why}" for what, why in reproduction.reasons),
        "## How it is modelled",
        "\n".join(f"- {each}" for each in reproduction.models),
    ]
    for grid in grids:
        parts += [f"## {grid.title}", grid.markdown()]
    return "\n\n".join(parts) + "\n"


def _statements(statements: Iterable[Statement]) -> str:
    """The table, with the reasons."""
    rows = [
        (
            each.where,
            each.what,
            _kept_together(each.paper),
            each.text,
            Markup(f'<span class="badge {_BADGES.get(each.verdict, "none")}">{escape(each.verdict)}</span>'),
            Markup(f'<div class="why">{escape(_kept_together(each.why))}</div>'),
        )
        for each in statements
    ]
    return table("", ("where", "what", "paper", "ours", "", "why, and what it is worth"), rows, numbers=(3,))


def _kept_together(text: str) -> str:
    """Text with non-breaking spaces between figures and units."""
    return text.replace(" %", "\u00a0%").replace(" ×", "\u00a0×")


def _section(title: str, *parts: str) -> str:
    return f"<section>{heading(title, 2)}{''.join(parts)}</section>"


def _part(part: Figure | Grid) -> str:
    """A figure with its numbers folded away, or a table."""
    if isinstance(part, Grid):
        return _table(part)
    numbers = "".join(folded(f"{grid.caption or grid.title}: the figures", _table(grid)) for grid in part.grids)
    return f"{heading(part.heading) if part.heading else ''}{plot_html(plot_figure, part.plot)}{numbers}"


def _table(grid: Grid) -> str:
    return table(grid.caption or grid.title, grid.header, grid.rows, numbers=range(grid.words, len(grid.header)))
