"""HTML of two traces on one time axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.document import Document, Picture
from isoviz.figures.charts.html_parts import representation
from isoviz.figures.document_html import document_html
from isoviz.runtime.trace.trace_document import comparison_table

if TYPE_CHECKING:
    from isoviz.figures.charts.theme import ThemeName
    from isoviz.runtime import Trace


def comparison_html(first: Trace, second: Trace, *, names: tuple[str, str] | None = None, theme: ThemeName = "auto") -> str:
    """Two runs of the same plans on one time axis, for example simulated and real, and a table that compares their channels."""
    chosen = names or (first.where, second.where)
    picture = Picture("compare_svg", (first, second), {"names": chosen})
    document = Document(f"{chosen[0].capitalize()} and {chosen[1]}", [picture, comparison_table(first, second, chosen)])
    return representation("comparison", document_html(document, level=3, theme=theme))
