"""A reproduction as an HTML page (self-contained, without scripts, in both colour schemes), and as a report in Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from isoviz._version import __version__
from isoviz.figures.charts.html_parts import Markup, facts, folded, heading, items, paragraph, styles, table
from isoviz.figures.charts.svg import escape
from isoviz.reproduce.figure import Figure, Grid
from isoviz.units import format_seconds

if TYPE_CHECKING:
    from isoviz.reproduce.reproduction import Reproduction
    from isoviz.reproduce.statement import Statement

_STYLE = (
    "html{color-scheme:light dark}body{margin:0;background:var(--iv-paper)}"
    "#isoviz{max-width:1080px!important;margin:0 auto;padding:28px 24px 60px!important;font-size:16px!important}"
    "#isoviz h1{font-size:1.7em;line-height:1.25;margin:0 0 .3em}#isoviz h2{font-size:1.3em;margin:1.8em 0 .4em}"
    "#isoviz h3{margin-top:1.3em}#isoviz .facts dd{font-size:20px}#isoviz .facts dt{font-size:13px}#isoviz table{font-size:14px}"
    "#isoviz td .badge{font-size:12.5px;white-space:nowrap}#isoviz .why{color:var(--iv-muted);font-size:13px;min-width:26ch}"
    "#isoviz td:first-child{min-width:7.5em}#isoviz td:nth-child(2){min-width:10em}"
    "#isoviz footer{color:var(--iv-muted);font-size:13px;margin-top:2.5em}"
    "@media print{#isoviz section{break-inside:avoid}}"
)
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
    root = styles("#isoviz").replace("#isoviz{--iv", ":root{--iv")
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(reproduction.title)}</title><style>{root}{_STYLE}</style></head>"
        f'<body><main id="isoviz" class="isoviz" data-isoviz="reproduction">{"".join(sections)}'
        f"<footer>isoviz {escape(__version__)}</footer></main></body></html>"
    )


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
    return f"{heading(part.heading) if part.heading else ''}{part.svg}{numbers}"


def _table(grid: Grid) -> str:
    return table(grid.caption or grid.title, grid.header, grid.rows, numbers=range(grid.words, len(grid.header)))
