"""HTML of two traces on one time axis, and of the time over the chunk size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.document import Document, Picture
from isoviz.figures.charts.html_parts import heading, paragraph, representation, table
from isoviz.figures.document_html import document_html
from isoviz.figures.plots.bokeh_plot import plot_html
from isoviz.figures.plots.planning import chunk_curve_figure
from isoviz.runtime.trace.trace_document import comparison_table
from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from isoviz.figures.charts.theme import ThemeName
    from isoviz.planner.explanation.curves.chunk_curve import ChunkCurve
    from isoviz.runtime import Trace


def comparison_html(first: Trace, second: Trace, *, names: tuple[str, str] | None = None, theme: ThemeName = "auto") -> str:
    """Two runs of the same plans on one time axis, for example simulated and real, and a table that compares their channels."""
    chosen = names or (first.where, second.where)
    picture = Picture("compare_svg", (first, second), {"names": chosen})
    document = Document(f"{chosen[0].capitalize()} and {chosen[1]}", [picture, comparison_table(first, second, chosen)])
    return representation("comparison", document_html(document, level=3, theme=theme))


def curve_html(curve: ChunkCurve, *, theme: ThemeName = "auto", plots: bool = True) -> str:
    """The predicted time over the chunk size. Without `plots` it is a table only."""
    said = str(curve)
    return representation(
        "chunk-curve",
        heading("Predicted time over the chunk size"),
        paragraph(f"{said[:1].upper()}{said[1:]}."),
        plot_html(chunk_curve_figure, curve, theme=theme) if plots else "",
        curve_table(curve),
    )


def curve_table(curve: ChunkCurve) -> str:
    """The points of a chunk curve."""
    rows = []
    for point in curve.points:
        said = "" if point.fits else "does not fit"
        said = "the plan" if point == curve.chosen else "minimum" if point == curve.best else said
        rows.append(
            (
                format_bytes(point.chunk_bytes),
                f"{point.per_chunk:,}" if point.per_chunk else "smaller blocks",
                f"{point.chunks:,}",
                format_seconds(point.seconds),
                format_seconds(point.stored_seconds),
                said,
            )
        )
    return table(
        "Predicted time for chunks of other sizes, on the same path",
        ("chunk", "blocks", "chunks", "pipelined", "stored and forwarded", ""),
        rows,
        numbers=(0, 1, 2, 3, 4),
        marked=[k for k, point in enumerate(curve.points) if point == curve.chosen],
    )
