"""A document (`isoviz.document`) as HTML: all text is escaped, and plots are drawn in the theme of the page."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

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


def document_html(document: Document, *, level: int = 1, theme: ThemeName = "auto", plots: bool = True) -> str:
    """The whole document, for a page or within a representation. `level` is that of its title.

    Without `plots` there are no pictures that a script draws.
    """
    drawn = _Drawn(theme, plots)
    inside = len(document.head)
    head = "".join(drawn.parts(document.head, level + 1))
    return f"<header>{heading(document.title, level)}{head}</header>{''.join(drawn.parts(document.parts[inside:], level + 1))}"


def told_html(value: Told, *given: Any, theme: ThemeName = "auto", plots: bool = True) -> str:
    """A representation of a value by `value.document(*given)`; that of a `LayoutChoice` is of the kind `layout-choice`."""
    kind = re.sub(r"(?<!^)(?=[A-Z])", "-", type(value).__name__).lower()
    return representation(kind, document_html(value.document(*given), level=3, theme=theme, plots=plots))


class _Drawn(NamedTuple):
    """How pictures are drawn."""

    theme: ThemeName
    plots: bool

    def parts(self, parts: Sequence[Part], level: int) -> Iterator[str]:
        before: Part | None = None
        for part in parts:
            match part:
                case Table():
                    yield _folded_table(part, isinstance(before, Plot))
                case Facts(pairs):
                    yield facts([(name, _cell(value)) for name, value in pairs])
                case Prose(text):
                    yield paragraph(text)
                case Points(texts):
                    yield items(texts) if texts else ""
                case Listing(text, summary):
                    yield folded(summary, pre(text)) if summary else pre(text)
                case Picture():
                    yield self.picture(part)
                case Plot(_, _, draw):
                    yield plot_html(draw, theme=self.theme) if self.plots else ""
                case Section(title, inner):
                    content = heading(title, level) + "".join(self.parts(inner, level + 1))
                    yield f"<section>{content}</section>" if level == 2 else content
            before = part

    def picture(self, part: Picture) -> str:
        draw = getattr(sys.modules["isoviz.figures"], part.function)  # by its name, for it lies above
        if not part.function.endswith("_figure"):
            return str(draw(*part.given, theme=self.theme, **part.options))
        return plot_html(draw, *part.given, theme=self.theme, **part.options) if self.plots else ""


def _folded_table(given: Table, after_plot: bool) -> str:
    """A table, folded after a plot or where it says so."""
    shown = _table(given)
    if given.is_folded:
        return folded(given.caption, shown)
    return folded(f"{given.caption}: the figures" if given.caption else "The figures", shown) if after_plot else shown


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
