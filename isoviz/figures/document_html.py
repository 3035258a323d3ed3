"""A document (`isoviz.document`) as HTML: all text is escaped, and plots are drawn in the theme of the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isoviz.document import Cell, Document, Facts, Listing, Mark, Part, Plot, Prose, Section, Table
from isoviz.figures.charts.html_parts import Markup, facts, folded, heading, paragraph, pre, table
from isoviz.figures.charts.svg import escape
from isoviz.figures.plots.bokeh_plot import plot_html


def document_html(document: Document) -> str:
    """The whole document, for a page or within a representation."""
    inside = next((k for k, part in enumerate(document.parts) if isinstance(part, Section)), len(document.parts))
    head = "".join(_html(document.parts[:inside], 2))
    return f"<header>{heading(document.title, 1)}{head}</header>{''.join(_html(document.parts[inside:], 2))}"


def _html(parts: Sequence[Part], level: int) -> Iterator[str]:
    before: Part | None = None
    for part in parts:
        match part:
            case Table():
                shown = _table(part)
                yield (
                    folded(f"{part.caption}: the figures" if part.caption else "The figures", shown)
                    if isinstance(before, Plot)
                    else shown
                )
            case Facts(pairs):
                yield facts([(name, _cell(value)) for name, value in pairs])
            case Prose(text):
                yield paragraph(text)
            case Listing(text):
                yield pre(text)
            case Plot(_, _, draw):
                yield plot_html(draw)
            case Section(title, inner):
                content = heading(title, level) + "".join(_html(inner, level + 1))
                yield f"<section>{content}</section>" if level == 2 else content
        before = part


def _table(given: Table) -> str:
    header, rows = list(given.header), [[_cell(cell) for cell in row] for row in given.rows]
    if given.remarks:
        header.append(given.remark)
        for row, remark in zip(rows, given.remarks, strict=True):
            row.append(Markup(f'<div class="why">{escape(_kept_together(remark))}</div>'))
    return table(given.caption, header, rows, numbers=sorted(given.right))


def _cell(cell: Cell) -> str | Markup:
    if isinstance(cell, Mark):
        return Markup(f'<span class="badge {cell.tone}">{escape(cell.text)}</span>')
    return _kept_together(str(cell))


def _kept_together(text: str) -> str:
    """Text with non-breaking spaces between figures and units."""
    return text.replace(" %", "\u00a0%").replace(" ×", "\u00a0×")
