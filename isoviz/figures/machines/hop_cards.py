"""A card for each hop of a plan: channel, layouts, run, rate, and which hop limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz.figures.charts.svg import Drawing, shorten, text_width, wrap
from isoviz.figures.charts.theme import MARGIN
from isoviz.figures.layouts.memory_map import whole_map
from isoviz.figures.layouts.memory_picture import draw_memory
from isoviz.layouts import OrderChange
from isoviz.machines import ChannelKind
from isoviz.machines.memory import emulated_text
from isoviz.planner.explanation.plan_document import layouts_of, plan_title
from isoviz.units import format_bytes, format_rate

if TYPE_CHECKING:
    from isoviz.figures.charts.theme import ThemeName
    from isoviz.planner import Hop, PathPlan, Plan

Drawn = dict[str, tuple[str, float, float]]
"""The pictures of memory that a drawing has: by their content, the name and the place of each (`draw_memory`)."""

_GAP = 12.0
_SIDE, _PICTURES = 72.0, 84.0
"""The side of the picture of memory, and what the pictures add to the height of a card."""
_CELLS = 72
"""The cells along a side of the picture."""
_LINE = 16.0


def pretty(layout: str) -> str:
    """`<F, x>` as `⟨F, x⟩`."""
    return layout.replace("<", "⟨").replace(">", "⟩")


def hop_tip(hop: Hop, change: OrderChange) -> str:
    """A hop in one line, with what it does to the order."""
    text = f"{hop.source} → {hop.destination} by {ChannelKind.words_for(hop.kind)}, {format_rate(hop.throughput)}"
    text += f", runs of {format_bytes(hop.request_bytes)}"
    return text if change is OrderChange.KEEPS else f"{text}, {change}: {layouts_of(hop)}"


def cards_svg(plan: Plan, *, width: float = 860, theme: ThemeName = "auto") -> str:
    """The hops of a plan as cards only, without the machine."""
    said = "; ".join(" → ".join(path.memories) for path in plan.paths)
    drawing = Drawing(plan_title(plan), said, theme, remark=emulated_text(plan.emulated))
    bottom, drawn = 0.0, Drawn()
    for path in plan.paths:
        bottom = draw_cards(drawing, [path], MARGIN, bottom + MARGIN, width - 2 * MARGIN, drawn)
    return drawing.render(width, bottom + MARGIN)


def draw_cards(
    drawing: Drawing, paths: Sequence[PathPlan], x: float, y: float, width: float, drawn: Drawn | None = None
) -> float:
    """Draw a card for every hop in rows that fit `width`, all of one height. Returns the bottom.

    With several paths, the hops are numbered consecutively. `drawn` holds the pictures of memory that the drawing has already.
    """
    drawn = {} if drawn is None else drawn
    given = [(path, hop) for path in paths for hop in path.hops]
    hops = [hop._replace(index=number) for number, (_, hop) in enumerate(given)]
    columns = max(1, min(len(hops), int((width + _GAP) // (190 + _GAP))))
    rows = -(-len(hops) // columns)
    columns = -(-len(hops) // rows)
    card = min(420.0, (width - _GAP * (columns - 1)) / columns)
    texts = [_layout_lines(hop, card - 24) for hop in hops]
    height = 124.0 + _PICTURES + _LINE * max(map(len, texts))
    fastest = max(hop.throughput for hop in hops)
    for place, ((path, own), hop, lines) in enumerate(zip(given, hops, texts, strict=True)):
        row, column = divmod(place, columns)
        drawing.open(transform=f"translate({x + column * (card + _GAP):.1f} {y + row * (height + _GAP):.1f})")
        share = hop.throughput / fastest if fastest else 0.0
        change = path.order_changes[own.index]
        _card(drawing, hop, change, lines, card, height, share, own.index in path.slowest)
        _pictures(drawing, path, own, change, card, drawn)
        drawing.close()
    return y + rows * (height + _GAP) - _GAP


def _pictures(drawing: Drawing, path: PathPlan, hop: Hop, change: OrderChange, width: float, drawn: Drawn) -> None:
    """The memory at both ends of a hop, byte after byte, with an arrow that says by its colour whether the order turns."""
    ends = path.orders[0], path.orders[-1]
    right = width - 12 - _SIDE
    for x, order in zip((12.0, right), path.orders[hop.index :], strict=False):
        draw_memory(drawing, whole_map(order, _CELLS), ends, x, 60.0, _SIDE, _SIDE, drawn=drawn)
    turns = change is OrderChange.CONVERTS
    token = "turn" if turns else "muted"
    y = 60.0 + _SIDE / 2
    drawing.line(12 + _SIDE + 8, y, right - 12, y, stroke=token, width=4 if turns else 2, marker_end=drawing.arrow(token))


def _layout_lines(hop: Hop, width: float) -> list[str]:
    """The layouts of a hop, at most three lines each."""
    lines = _at_most(wrap(pretty(hop.source_layout), width, 11.5, mono=True), 3)
    if hop.source_layout != hop.destination_layout:
        lines += _at_most(wrap("→ " + pretty(hop.destination_layout), width, 11.5, mono=True), 3)
    return lines


def _at_most(lines: list[str], count: int) -> list[str]:
    return lines if len(lines) <= count else [*lines[: count - 1], "… " + lines[-1]]


def _card(
    drawing: Drawing,
    hop: Hop,
    change: OrderChange,
    lines: Sequence[str],
    width: float,
    height: float,
    share: float,
    limits: bool,
) -> None:
    inner = width - 24
    strong = "path" if limits else "ink"
    drawing.rect(
        0.5, 0.5, width - 1, height - 1, fill="panel", stroke="path" if limits else "line", radius=8, tip=hop_tip(hop, change)
    )
    drawing.element("circle", cx=22, cy=22, r=10.5, fill="path")
    drawing.text(22, 26.2, str(hop.index), size=12, fill="on-path", anchor="middle", bold=True)
    drawing.text(40, 26.5, shorten(ChannelKind.words_for(hop.kind), inner - 28, 13, bold=True), size=13, bold=True)
    drawing.text(12, 50, shorten(f"{hop.source} → {hop.destination}", inner, 11.5), size=11.5, fill="muted")
    y = 70.0 + _PICTURES
    for line in lines:
        drawing.text(12, y, line, size=11.5, mono=True)
        y += _LINE
    facts = f"runs of {format_bytes(hop.request_bytes)}"
    if text_width(f"{facts} · {change}", 11.5) <= inner:
        facts = f"{facts} · {change}"
    bottom = height - 34
    drawing.text(12, bottom - 16, shorten(facts, inner, 11.5), size=11.5, fill="muted")
    drawing.text(12, bottom + 7, format_rate(hop.throughput), size=14, bold=True, fill=strong)
    if limits:
        drawing.text(width - 12, bottom + 7, "slowest hop", size=11.5, fill="path", anchor="end", bold=True)
    drawing.rect(12, height - 17, inner, 6, fill="faint", radius=3)
    drawing.rect(12, height - 17, max(3.0, inner * share), 6, fill="path" if limits else "predicted", radius=3)
