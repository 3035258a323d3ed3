"""An explanation as a document: the path, its hops, constraints, program, times and candidates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.checks import expect
from isoviz.document import Bar, Cell, Code, Document, Listing, Part, Picture, Points, Prose, Section, Table
from isoviz.machines import ChannelKind
from isoviz.machines.memory import emulated_text
from isoviz.planner.explanation.explanation import Explanation
from isoviz.planner.explanation.explanation_words import (
    agreement,
    ahead_text,
    amount,
    blocks_of,
    hop_stages,
    layout_text,
    path_text,
    price_text,
    sizes_text,
    summary,
    symbols,
    time_parts,
    verdict,
)
from isoviz.planner.explanation.paths_explanation import paths_text
from isoviz.planner.explanation.plan_document import marked, plan_title
from isoviz.planner.explanation.rival_words import crossover_text, crossovers_text, difference, ranking_text
from isoviz.planner.path_plan import RATES
from isoviz.planner.program.certificate import certificate_lines
from isoviz.planner.whole_program.program_planner import program_lines
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from isoviz.planner.program.path_bound import Bisection, RowState

_RUNS = (64, 4096, 2**18, 2**24)
MOST_ROWS = 16
"""HTML folds a table with more candidates."""


def explanation_text(explanation: Explanation, most: int = 10) -> str:
    """The whole explanation as text, with at most `most` candidates."""
    return str(explanation_document(explanation, most))


def explanation_document(explanation: Explanation, most: int | None = None) -> Document:
    """The whole explanation, with at most `most` candidates; None: all."""
    expect("explanation", explanation, Explanation, "an explanation")
    most = len(explanation.candidates) if most is None else checks.count("explanation", "most", most)
    several = explanation.several
    sections = [
        Section("1. The path: memories, layouts, common prefixes", _path(explanation)),
        Section("2. The hops at work", _hops(explanation)),
        Section("3. The constraints at the optimum", _constraints(explanation)),
        Section("The constraints of this plan", _constraints_by_hand(explanation)),
        Section("4. The program and its solution", _program(explanation)),
        Section("5. Block sizes and chunks", _sizes(explanation)),
        Section("6. Where the time goes", _time(explanation)),
        Section("7. The candidates", _candidates(explanation, most)),
        Section("8. What would make a rival win", _crossovers(explanation)),
        Section("The program of all paths", [] if explanation.whole is None else [Points(program_lines(explanation.whole))]),
        Section("Notes", [Points(explanation.plan.notes)] if explanation.plan.notes else []),
    ]
    sections = [section for section in sections if section.parts]
    why = [Points(summary(explanation))]
    if several is None:
        return Document(f"Why this plan: {plan_title(explanation.plan)}", [*why, *sections])
    if len(several.plan.paths) == 1:
        return Document("Why one path", [Points(paths_text(several)), Section("Why this plan", why), *sections])
    largest = f"Why this plan of the path with the largest share, {format_bytes(explanation.plan.bytes)}"
    return Document("Why these paths", [Points(paths_text(several)), Section(largest, why), *sections])


def _path(explanation: Explanation) -> list[Part]:
    """The left half of Isometry's table 3."""
    stages, rows = explanation.stages, []
    names = marked([stage.memory for stage in stages], explanation.plan.emulated)
    hops = len(stages) - 1
    for k, (stage, name) in enumerate(zip(stages, names, strict=True)):
        row: list[Cell] = [f"m{k}", name, Code(layout_text(stage.layout)), "", "", "", ""]
        if k < hops:
            # The paper bounds the shuffle size only for hops between two buffers, because an end holds everything anyway.
            shuffle = format_bytes(stage.shuffle_bytes) if 0 < k < hops - 1 else "(an end)"
            row[3:] = symbols(stage, stages[k + 1]), format_bytes(stage.run_bytes), shuffle, f"✓ {stage.kind}"
        rows.append(row)
    header = ("", "memory", "layout", "PREFIX", "run", "shuffle size", "channel")
    said = (
        "PREFIX is the number of bytes that are contiguous in both layouts of a hop, so that one request moves them. It is TOTAL"
        " if the layout does not change; runs are then whole chunks. The shuffle size is the number of bytes before the"
        " common suffix, which a conversion has to hold; it counts only between two buffers. ✓: a channel connects the memories."
    )
    if known := blocks_of(explanation):
        said += f" Here {', '.join(f'{name} = {size:,}' for name, size in known.items())}."
    return [Table(header, rows, numbers=(4, 5), name=1, below=2), Prose(said)]


def _hops(explanation: Explanation) -> list[Part]:
    """The work of every hop for a chunk, and the gain in T if the hop were faster."""
    rows: list[list[Cell]] = []
    stages = hop_stages(explanation)
    for k, stage in enumerate(stages):
        gain = stage.price * stage.throughput * 0.01
        rows.append(
            [
                str(k),
                stage.kind,
                path_text((stage.memory, explanation.stages[k + 1].memory)),
                format_bytes(stage.run_bytes),
                format_rate(stage.throughput),
                format_seconds(stage.seconds),
                Bar(stage.share),
                f"{100 * stage.share:.0f} %",
                f"−{format_seconds(-gain)}" if gain < -1e-9 * explanation.plan.objective else "±0",
            ]
        )
    header = ("hop", "channel", "from → to", "run", "tp(run)", "per chunk", "busy in a period", "", "T if 1 % faster")
    slow = [k for k, stage in enumerate(stages) if stage.share >= 1 - 1e-9 and len(stages) > 1]
    picture = Picture("plan_throughput_figure", (explanation.machine, explanation.plan))
    return [Table(header, rows, numbers=(3, 4, 5, 7, 8), marked=slow), picture, _rates(explanation)]


def _rates(explanation: Explanation) -> Table:
    """The rates of the channels by the length of runs."""
    rows = []
    for k, stage in enumerate(hop_stages(explanation)):
        channel = explanation.machine.find_channel(stage.channel)
        if channel is not None:
            rates = [format_rate(channel.rate(run)) for run in _RUNS]
            rows.append((str(k), ChannelKind.words_for(stage.kind), *rates, format_rate(channel.peak)))
    header = ("hop", "channel", *(f"runs of {format_bytes(run)}" for run in _RUNS), "peak")
    return Table(header, rows, "Throughput by length of contiguous runs", numbers=range(2, len(header)))


def _constraints(explanation: Explanation) -> list[Part]:
    """Every row of the program: left side, bound, slack and price."""
    states = sorted(explanation.solution.rows, key=lambda row: math.inf if row.hop is None else row.hop)
    rows = [_constraint(state) for state in states]
    header = ("hop", "constraint", "left side", "bound", "slack", "", "d TP / d bound")
    binding = [k for k, state in enumerate(states) if state.binding]
    return [Table(header, rows, numbers=(2, 3, 4), marked=binding, name=1, below=6), Prose(" ".join(verdict(explanation)))]


def _constraint(state: RowState) -> list[Cell]:
    return [
        "all" if state.hop is None else str(state.hop),
        state.label,
        amount(state, state.left),
        amount(state, state.bound),
        Bar(state.left / state.bound, "0" if state.binding else f"{100 * state.relative_slack:.3g} %"),
        "◄ binding" if state.binding else "",
        price_text(state),
    ]


def _constraints_by_hand(explanation: Explanation) -> list[Part]:
    """The constraints of a plan by hand as it is: what it needs and what is allowed."""
    if not explanation.is_by_hand:
        return []
    rows = []
    for each in explanation.constraints:
        form = format_rate if each.constraint in RATES else format_bytes
        hop = "all" if each.hop is None else str(each.hop)
        holds = "" if each.holds else "◄ does not hold"
        rows.append((hop, each.constraint, each.name, form(each.needed), form(each.allowed), holds))
    header = ("hop", "constraint", "of", "needed", "allowed", "")
    return [Table(header, rows, numbers=(3, 4)), Prose(f"They are judged for {format_rate(explanation.target)}.")]


def _program(explanation: Explanation) -> list[Part]:
    """The program, the results of both solution methods, and the steps of the bisection."""
    program = Listing(explanation.solution.text, "The program in the logarithms, and its optimum")
    certified = Points(certificate_lines(explanation.solution))
    return [program, Prose(agreement(explanation)), certified, *_steps(explanation.bisection)]


def _steps(bisection: Bisection, first: int = 4, last: int = 2) -> list[Part]:
    """The first and last steps of the bisection; none if it took a single step."""
    steps = bisection.steps
    if len(steps) < 2:
        return []
    rows = []
    skipped = len(steps) - first - last
    for number, step in enumerate(steps, start=1):
        if skipped > 1 and first < number <= first + skipped:
            if number == first + 1:
                rows.append(("…", f"{skipped} more", "", "…", "", "…"))
            continue
        yes = "yes" if step.feasible else "no"
        rows.append((str(number), _fine(step.throughput), yes, _fine(step.low), "…", _fine(step.high)))
    return [Table(("step", "TP tried", "feasible?", "then TP is between", "", "and"), rows, numbers=(0, 1, 3, 5))]


def _fine(rate: float) -> str:
    """A rate with ten digits, so that the convergence of the bisection is visible."""
    unit, name = next(((f, n) for f, n in ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")) if rate >= f), (1.0, "B/s"))
    digits = max(0, 9 - int(math.log10(max(1.0, rate / unit))))
    return f"{rate / unit:.{digits}f} {name}"


def _sizes(explanation: Explanation) -> list[Part]:
    said = Points(sizes_text(explanation))
    if explanation.region is None:
        return [said]
    remark = {"remark": emulated_text(explanation.plan.emulated)}
    return [said, Picture("block_region_figure", (explanation.region, explanation.program), remark)]


def _time(explanation: Explanation) -> list[Part]:
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
    return [Table(("part", "", "time", "share"), table, numbers=(2, 3)), Prose(said + ahead_text(parts))]


def _candidates(explanation: Explanation, most: int) -> list[Part]:
    """The paths by time, and the limit of each path."""
    candidates = explanation.candidates
    shown = candidates[: max(1, most)]
    rows = []
    for number, each in enumerate(shown, start=1):
        time = f"≥ {format_seconds(each.bound)}" if each.seconds is None else format_seconds(each.seconds)
        against = "chosen" if each.chosen else difference(each, candidates[0])
        rows.append((str(number), time, against, path_text(each.memories, each.converting), each.limit))
    costs = explanation.machine.limits.chunk_seconds > 0
    header = ("", "T and chunks" if costs else "T", "against", "path (⇒ changes the order)", "held back by")
    is_long, marked = len(rows) > MOST_ROWS, [0] if len(rows) > 1 else []
    caption = f"All {len(rows):,} candidates" if is_long else ""
    among = explanation.machine.emulated(name for each in candidates for name in each.memories)
    return [
        Prose(ranking_text(explanation)),
        Picture("candidate_figure", (candidates,), {"remark": emulated_text(among)}),
        Table(header, rows, caption, numbers=(0, 1, 2), marked=marked, name=3, below=4, is_folded=is_long),
        *([Prose(f"and {len(candidates) - len(shown):,} more")] if len(shown) < len(candidates) else []),
    ]


def _crossovers(explanation: Explanation) -> list[Part]:
    kept, already = crossovers_text(explanation)
    said = [*(crossover_text(crossover, path) for crossover, path in kept), *filter(None, [already])]
    return [Points(said)] if said else []
