"""An explanation as a page of text for a terminal."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.checks import expect
from isoviz.planner.explanation.explanation import Explanation
from isoviz.planner.explanation.explanation_words import (
    agreement,
    ahead_said,
    amount,
    blocks_of,
    hop_stages,
    layout_text,
    path_text,
    price_text,
    sizes_said,
    summary,
    symbols,
    time_parts,
    verdict,
)
from isoviz.planner.explanation.paths_explanation import paths_said
from isoviz.planner.explanation.rival_words import difference, ranking_said, turn_text, turns_said
from isoviz.planner.path_plan import RATES
from isoviz.planner.whole_program.wording import program_lines
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from isoviz.planner.program.path_bound import Bisection

WIDTH = 116
"""The width of the text in columns, where the data allow it."""
_BAR = 20


def explanation_text(explanation: Explanation, most: int = 10) -> str:
    """The whole explanation as text, with at most `most` candidates."""
    expect("explanation", explanation, Explanation, "an explanation")
    most = checks.count("explanation", "most", most)
    sections = [
        ("Why this plan", _prose(*summary(explanation))),
        ("1. The path: memories, layouts, common prefixes", _path(explanation)),
        ("2. The hops at work", _hops(explanation)),
        ("3. The constraints at the optimum", _constraints(explanation)),
        ("The constraints of this plan", _constraints_by_hand(explanation)),
        ("4. The program and its solution", _program(explanation)),
        ("5. Block sizes and chunks", _prose(*sizes_said(explanation))),
        ("6. Where the time goes", _time(explanation)),
        ("7. The candidates", _candidates(explanation, most)),
    ]
    if explanation.several is not None:
        several = len(explanation.several.plan.paths) > 1
        if several:
            title = f"Why this plan of the path with the largest share, {format_bytes(explanation.plan.bytes)}"
            sections[0] = (title, sections[0][1])
        sections.insert(0, ("Why these paths" if several else "Why one path", _prose(*paths_said(explanation.several))))
    turns = _turns(explanation)
    if turns:
        sections.append(("8. What would make a rival win", turns))
    if explanation.whole is not None:
        sections.append(("The program of all paths", _prose(*program_lines(explanation.whole))))
    if explanation.plan.notes:
        sections.append(("Notes", _prose(*explanation.plan.notes)))
    blocks = [
        "\n".join([title, ("=" if k == 0 else "-") * len(title), *lines]) for k, (title, lines) in enumerate(sections) if lines
    ]
    return "\n\n".join(blocks)


def _path(explanation: Explanation) -> list[str]:
    """The left half of Isometry's table 3. Layouts too long for a line get names and are listed below the table."""
    stages = explanation.stages
    hops = len(stages) - 1
    for short in (False, True):
        rows = [("", "memory", "layout", "PREFIX", "run", "shuffle size", "channel")]
        for k, stage in enumerate(stages):
            layout = f"l{k}" if short else layout_text(stage.layout)
            if k == hops:
                rows.append((f"m{k}", stage.memory, layout, "", "", "", ""))
                continue
            # The paper bounds the shuffle size only for hops between two buffers, because an end holds everything anyway.
            inside = 0 < k < hops - 1
            shuffle = format_bytes(stage.shuffle_bytes) if inside else "(an end)"
            prefix, run = symbols(stage, stages[k + 1]), format_bytes(stage.run_bytes)
            rows.append((f"m{k}", stage.memory, layout, prefix, run, shuffle, f"✓ {stage.kind}"))
        lines = _columns(rows, right=(4, 5))
        if max(map(len, lines)) <= WIDTH:
            break
    if short:
        lines += ["", *(f"  l{k} = {layout_text(stage.layout)}" for k, stage in enumerate(stages))]
    said = (
        "PREFIX is the number of bytes that are contiguous in both layouts of a hop, so that one request moves them. It is TOTAL"
        " if the layout does not change; runs are then whole chunks. The shuffle size is the number of bytes before the"
        " common suffix, which a conversion has to hold; it counts only between two buffers. ✓: a channel connects the memories."
    )
    known = blocks_of(explanation)
    if known:
        said += f" Here {', '.join(f'{name} = {size:,}' for name, size in known.items())}."
    return [*lines, "", *_prose(said)]


def _hops(explanation: Explanation) -> list[str]:
    """The work of every hop for a chunk, and the gain in T if the hop were faster."""
    stages = hop_stages(explanation)
    rows = [("hop", "channel", "from → to", "run", "tp(run)", "per chunk", "busy in a period", "", "T if 1 % faster")]
    for k, stage in enumerate(stages):
        after = explanation.stages[k + 1].memory
        gain = stage.price * stage.throughput * 0.01
        worth = f"−{format_seconds(-gain)}" if gain < -1e-9 * explanation.plan.objective else "±0"
        rows.append(
            (
                str(k),
                stage.kind,
                path_text((stage.memory, after)),
                format_bytes(stage.run_bytes),
                format_rate(stage.throughput),
                format_seconds(stage.seconds),
                "█" * max(1, round(_BAR * min(1.0, stage.share))),
                f"{100 * stage.share:.0f} %",
                worth,
            )
        )
    return _columns(rows, right=(3, 4, 5, 7, 8))


def _constraints(explanation: Explanation) -> list[str]:
    """Every row of the program: left side, bound, slack and price."""
    rows = [
        (
            "all" if state.hop is None else str(state.hop),
            state.label,
            amount(state, state.left),
            amount(state, state.bound),
            "0" if state.binding else f"{100 * state.relative_slack:.3g} %",
            "◄ binding" if state.binding else "",
            price_text(state),
        )
        for state in sorted(explanation.solution.rows, key=lambda row: math.inf if row.hop is None else row.hop)
    ]
    rows.insert(0, ("hop", "constraint", "left side", "bound", "slack", "", "d TP / d bound"))
    lines = _columns(rows, right=(2, 3, 4))
    if max(map(len, lines)) > WIDTH + 4:  # long labels of constraints leave no room: prices go below the table
        prices = [(row[0], row[1], row[6]) for row in rows if row[6] != "0"]
        lines = [*_columns([row[:6] for row in rows], right=(2, 3, 4)), "", *_columns(prices)]
    return [*lines, "", *_prose(" ".join(verdict(explanation)))]


def _constraints_by_hand(explanation: Explanation) -> list[str]:
    """The constraints of a plan by hand as it is: what it needs and what is allowed."""
    if not explanation.is_by_hand:
        return []
    rows = [("hop", "constraint", "of", "needed", "allowed", "")]
    for each in explanation.constraints:
        form = format_rate if each.constraint in RATES else format_bytes
        hop = "all" if each.hop is None else str(each.hop)
        rows.append(
            (hop, each.constraint, each.name, form(each.needed), form(each.allowed), "" if each.holds else "◄ does not hold")
        )
    return [*_columns(rows, right=(3, 4)), "", *_prose(f"They are judged for {format_rate(explanation.target)}.")]


def _program(explanation: Explanation) -> list[str]:
    """The program, the results of both solution methods, and the steps of the bisection."""
    text = [f"  {line}" for line in explanation.solution.text.splitlines()]
    steps = _steps(explanation.bisection)
    return [*text, "", *_prose(agreement(explanation)), *(["", *steps] if steps else [])]


def _steps(bisection: Bisection, first: int = 4, last: int = 2) -> list[str]:
    """The first and last steps of the bisection; none if it took a single step."""
    steps = bisection.steps
    if len(steps) < 2:
        return []
    rows = [("step", "TP tried", "feasible?", "then TP is between", "", "and")]
    skipped = len(steps) - first - last
    for number, step in enumerate(steps, start=1):
        if skipped > 1 and first < number <= first + skipped:
            if number == first + 1:
                rows.append(("…", f"{skipped} more", "", "…", "", "…"))
            continue
        yes = "yes" if step.feasible else "no"
        rows.append((str(number), _fine(step.throughput), yes, _fine(step.low), "…", _fine(step.high)))
    return _columns(rows, right=(0, 1, 3, 5))


def _fine(rate: float) -> str:
    """A rate with ten digits, so that the convergence of the bisection is visible."""
    unit, name = next(((f, n) for f, n in ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")) if rate >= f), (1.0, "B/s"))
    digits = max(0, 9 - int(math.log10(max(1.0, rate / unit))))
    return f"{rate / unit:.{digits}f} {name}"


def _time(explanation: Explanation) -> list[str]:
    """T as the sum of its parts."""
    parts = time_parts(explanation)
    whole = parts.seconds or 1.0
    steady, starts = "(N − 1) × period", explanation.plan.reuse
    rows = [
        ("set-up", "once per channel" + (f", in the mean of {starts:,} starts" if starts > 1 else ""), parts.setup),
        ("filling", "the first chunk through all hops", parts.filling),
        ("steady state", f"{steady}, N = {parts.chunks:,.6g}, period = {format_seconds(parts.period)}", parts.steady),
    ]
    table = [(name, what, format_seconds(value), f"{100 * value / whole:.2f} %") for name, what, value in rows]
    table.append(("T", "", format_seconds(parts.seconds), "100 %"))
    slow = max(hop_stages(explanation), key=lambda stage: stage.seconds)
    said = f"The period is the time of the slowest hop, {slow.kind}."
    if not explanation.plan.overlap:
        said = "The hops of a chunk work one after another, so the period is the sum of their times."
    elif slow.share < 1 - 1e-9:
        said = "The period is longer than every hop: a buffer with one slot or a shared resource makes hops wait for each other."
    return [*_columns(table, right=(2, 3), header=False), "", *_prose(said + ahead_said(parts))]


def _candidates(explanation: Explanation, most: int) -> list[str]:
    """The paths by time, and the limit of each path."""
    chosen = explanation.candidates[0]
    shown = explanation.candidates[: max(1, most)]
    costs = explanation.machine.limits.chunk_seconds > 0
    rows = [("", "T and chunks" if costs else "T", "", "path (⇒ changes the order)", "held back by")]
    for number, each in enumerate(shown, start=1):
        time = f"≥ {format_seconds(each.bound)}" if each.seconds is None else format_seconds(each.seconds)
        against = "chosen" if each.chosen else difference(each, chosen)
        rows.append((str(number), time, against, path_text(each.memories, each.converting), each.limit))
    lines = _columns(rows, right=(0, 1, 2))
    if max(map(len, lines)) > WIDTH:
        lines = []
        for line, row in zip(_columns([row[:4] for row in rows], right=(0, 1, 2)), rows, strict=True):
            at = len(line) - len(row[3])
            lines += [line] if not lines else [line, f"{' ' * at}{row[4]}"]
    hidden = len(explanation.candidates) - len(shown)
    if hidden:
        lines.append(f"  and {hidden:,} more")
    return [*_prose(ranking_said(explanation)), "", *lines]


def _turns(explanation: Explanation) -> list[str]:
    kept, already = turns_said(explanation)
    return _prose(*(turn_text(turn, path) for turn, path in kept), *filter(None, [already]))


def _columns(rows: Sequence[Sequence[str]], right: Sequence[int] = (), *, header: bool = True) -> list[str]:
    """Rows in aligned columns. Empty columns are left out; the columns `right` are right-aligned."""
    kept = [k for k in range(len(rows[0])) if any(row[k] for row in rows[1 if header else 0 :])]
    widths = {k: max(len(row[k]) for row in rows) for k in kept}
    return [
        "  " + "  ".join(row[k].rjust(widths[k]) if k in right else row[k].ljust(widths[k]) for k in kept).rstrip()
        for row in rows
    ]


def _prose(*paragraphs: str) -> list[str]:
    """Paragraphs wrapped to the width. A number stays with its unit, and a name with its value."""
    wrapper = textwrap.TextWrapper(
        WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    joined = [re.sub(r"(?<=\d) (?=[A-Za-zµ%×])|(?<=\w) (?== )|(?<==) ", "\xa0", text) for text in paragraphs]
    return [line.replace("\xa0", " ") for text in joined for line in wrapper.wrap(text)]
