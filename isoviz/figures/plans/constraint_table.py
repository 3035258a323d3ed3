"""The constraints of a path as a table, as in Isometry's table 3, with slack and shadow price."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from isoviz.figures.charts.html_parts import Markup, cell, table
from isoviz.figures.charts.svg import escape
from isoviz.machines import ChannelKind
from isoviz.planner.explanation.explanation_words import amount, hop_stages, layout_text, price_text, symbols
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.planner.explanation.explanation import Explanation
    from isoviz.planner.program.path_bound import RowState

_CAPTION = (
    "The path and its constraints at the optimum of the program. PREFIX: what lies together in both layouts, so what one request "
    "moves; shuffle: what lies before their common suffix and has to be held to convert, counted between buffers. A full "
    "bar is a bound with nothing left"
)


def constraint_table_html(explanation: Explanation) -> str:
    """A row for each memory of the path and for each limit of the whole path. Rows with a binding constraint are highlighted."""
    stages, states = explanation.stages, explanation.solution.rows
    marks = {name: f"{name} (emulated)" for name in explanation.plan.emulated}
    rows: list[Sequence[object]] = []
    marked = []
    for k, stage in enumerate(hop_stages(explanation)):
        own = [state for state in states if state.hop == k]
        inside = 0 < k < len(stages) - 2
        if any(state.binding for state in own):
            marked.append(len(rows))
        rows.append(
            (
                Markup(f"m<sub>{k}</sub>&#160;{cell(marks.get(stage.memory, stage.memory))}"),
                _layout(stage.layout),
                Markup(f"{_light(symbols(stage, stages[k + 1]))}<br>{_quiet(format_bytes(stage.run_bytes))}"),
                Markup(_light(format_bytes(stage.shuffle_bytes)) if inside else _quiet("an end")),
                Markup(_light(f"✓\xa0{ChannelKind.words_for(stage.kind)}")),
                _states([state for state in own if state.kind == "throughput"]),
                _states([state for state in own if state.kind != "throughput"]),
            )
        )
    last = len(stages) - 1
    memory = marks.get(stages[-1].memory, stages[-1].memory)
    rows.append((Markup(f"m<sub>{last}</sub>&#160;{cell(memory)}"), _layout(stages[-1].layout), *[""] * 5))
    for state in states:
        if state.hop is None:
            if state.binding:
                marked.append(len(rows))
            whole = _states([state])
            rows.append(("whole path", "", "", "", "", *((whole, "") if state.kind == "resource" else ("", whole))))
    header = ("memory", "layout", "PREFIX", "shuffle", "connected", "throughput constraint", "space constraint")
    return table(_CAPTION, header, rows, numbers=(3,), marked=marked)


def _states(states: Sequence[RowState]) -> Markup:
    return Markup("".join(map(_state, states)))


def _state(state: RowState) -> str:
    """A constraint: its text, its use, and its price."""
    share = min(1.0, state.left / state.bound)
    left = "binding" if state.binding else f"{100 * state.relative_slack:.3g} % left"
    colour = "path" if state.binding else "muted"
    bar = (
        '<span style="display:inline-block;width:64px;height:8px;border-radius:4px;background:var(--iv-faint);overflow:hidden">'
        f'<span style="display:block;height:8px;width:{100 * share:.1f}%;background:var(--iv-{colour})"></span></span>'
    )
    price = price_text(state)
    worth = f"<br>{_quiet(f'worth {price}')}" if price not in ("", "0") else ""
    sides = f"{amount(state, state.left)} of {amount(state, state.bound)}"
    return (
        f'<div style="margin:0 0 5px;font-weight:{600 if state.binding else 400}">{escape(_label(state))}<br>'
        f'<span style="white-space:nowrap">{bar} {"● " if state.binding else ""}{left}</span><br>{_quiet(sides)}{worth}</div>'
    )


def _label(state: RowState) -> str:
    """The constraint without its channel, which has its own column. A line may break between its sides."""
    left, sign, right = re.sub(r"^(TP ≤ tp)_[^(]*", r"\1", state.label).replace(" ", "\xa0").partition("≤\xa0")
    return f"{left[:-1]} {sign}{right}" if sign else left


def _layout(layout: str) -> Markup:
    return Markup(f'<code style="display:inline-block;min-width:118px;font-weight:400">{escape(layout_text(layout))}</code>')


def _light(text: str) -> str:
    return f'<span style="font-weight:400;white-space:nowrap">{escape(text)}</span>'


def _quiet(text: str) -> str:
    return f'<span style="color:var(--iv-muted);font-weight:400;font-size:.92em;white-space:nowrap">{escape(text)}</span>'
