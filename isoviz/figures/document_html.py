"""A document (`isoviz.document`) as HTML: all text is escaped, and plots are drawn in the theme of the page."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from isoviz.document import (
    Bar,
    Cell,
    Code,
    Document,
    Facts,
    Listing,
    Mark,
    Part,
    Picture,
    Plot,
    Points,
    Prose,
    Section,
    Table,
    Told,
)
from isoviz.figures.charts.html_parts import Markup, code, facts, folded, heading, items, paragraph, pre, representation, table
from isoviz.figures.charts.svg import escape
from isoviz.figures.plots.bokeh_plot import plot_html

if TYPE_CHECKING:
    from isoviz.figures.charts.theme import ThemeName


def document_html(document: Document, *, level: int = 1, theme: ThemeName = "auto") -> str:
    """The whole document, for a page or within a representation. `level` is that of its title."""
    inside = len(document.head)
    head = "".join(_html(document.head, level + 1, theme))
    sections = "".join(_html(document.parts[inside:], level + 1, theme))
    return f"<header>{heading(document.title, level)}{head}</header>{sections}"


def told_html(value: Told, *, theme: ThemeName = "auto") -> str:
    """A representation of a value by its document; a `LayoutChoice` is of the kind `layout-choice`."""
    kind = re.sub(r"(?<!^)(?=[A-Z])", "-", type(value).__name__).lower()
    return representation(kind, document_html(value.document(), level=3, theme=theme))


def _html(parts: Sequence[Part], level: int, theme: ThemeName) -> Iterator[str]:
    before: Part | None = None
    for part in parts:
        match part:
            case Table():
                shown = _table(part)
                summary = f"{part.caption}: the figures" if part.caption else "The figures"
                yield folded(summary, shown) if isinstance(before, Plot) or part.is_folded else shown
            case Facts(pairs):
                yield facts([(name, _cell(value)) for name, value in pairs])
            case Prose(text):
                yield paragraph(text)
            case Points(texts):
                yield items(texts) if texts else ""
            case Listing(text, summary):
                yield folded(summary, pre(text)) if summary else pre(text)
            case Picture(name, given, options):
                draw = getattr(sys.modules["isoviz.figures"], name)  # a name, for they lie above
                yield (
                    plot_html(draw, *given, theme=theme, **options)
                    if name.endswith("_figure")
                    else draw(*given, theme=theme, **options)
                )
            case Plot(_, _, draw):
                yield plot_html(draw, theme=theme)
            case Section(title, inner):
                content = heading(title, level) + "".join(_html(inner, level + 1, theme))
                yield f"<section>{content}</section>" if level == 2 else content
        before = part


def _table(given: Table) -> str:
    columns = given.columns
    header = [given.header[k] for k in columns]
    rows = [[_cell(row[k]) for k in columns] for row in given.rows]
    if given.remarks:
        header.append(given.remark)
        for row, remark in zip(rows, given.remarks, strict=True):
            row.append(Markup(f'<div class="why">{escape(_kept_together(remark))}</div>'))
    numbers = [at for at, k in enumerate(columns) if k in given.right]
    return table(given.caption, header, rows, numbers=numbers, marked=given.marked)


def _cell(cell: Cell) -> str | Markup:
    match cell:
        case Mark(text, tone):
            return Markup(f'<span class="badge {tone}">{escape(text)}</span>')
        case Code(text):
            return code(text)
        case Bar(share, text):
            width = f'<span style="width:{100 * min(1.0, share):.1f}%"></span>'
            full = " full" if share >= 1 - 1e-9 else ""
            return Markup(f'<span class="bar{full}">{width}</span> {escape(_kept_together(text))}')
    return _kept_together(str(cell))


def _kept_together(text: str) -> str:
    """Text with non-breaking spaces between figures and units."""
    return text.replace(" %", "\u00a0%").replace(" ×", "\u00a0×")
