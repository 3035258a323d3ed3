"""HTML of transfers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.document import Cell, Code, Document, Facts, Part, Picture, Table
from isoviz.figures.charts.html_parts import representation
from isoviz.figures.document_html import document_html
from isoviz.figures.layouts.order_view import default_axes
from isoviz.planner.explanation.plan_document import member_table, moved_part
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.figures.charts.theme import ThemeName
    from isoviz.planner import Transfer


def transfer_html(transfer: Transfer, *, theme: ThemeName = "auto") -> str:
    """The data to move: both ends with their storage orders, drawn along the same dimensions."""
    source, destination = transfer.source, transfer.destination
    key: list[tuple[str, Cell]] = [
        ("from", source.memory),
        ("to", destination.memory),
        ("moves", format_bytes(transfer.nbytes)),
        *([("priority", str(transfer.priority))] if transfer.priority else []),
    ]
    axes = default_axes(source.linearization, destination.linearization)
    shared = axes if all(dim in destination.space for dim in axes) else None
    named = (("source", source), ("destination", destination))
    heads = [{"axes": shared or None, "heading": f"{name.capitalize()}: {each.memory}"} for name, each in named]
    pictures = [Picture("linearization_svg", (each.linearization,), head) for (_, each), head in zip(named, heads, strict=True)]
    rows = [
        (
            name,
            each.memory,
            Code(each.layout.pretty),
            f"({each.space})",
            f"({each.fields})",
            format_bytes(each.linearization.nbytes),
            moved_part(transfer, each) or "all",
        )
        for name, each in named
    ]
    header = ("", "memory", "layout", "index space", "fields", "bytes", "moved")
    members = member_table(transfer)
    parts: list[Part] = [
        Facts(key),
        *pictures,
        Table(header, rows, "Both ends", numbers=(5,)),
        *([] if members is None else [members]),
    ]
    return representation("transfer", document_html(Document("Transfer", parts), level=3, theme=theme))
