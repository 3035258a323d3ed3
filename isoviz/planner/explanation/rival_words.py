"""The candidates of an explanation in words: what their times are, how they compare, and what would make one of them win."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.planner.explanation.explanation_words import ahead_text, channels_text, count_text, counted, path_text, time_parts
from isoviz.planner.one_path.fewest_hops import FEWER_HOPS
from isoviz.units import format_bytes, format_rate, format_seconds, format_share

if TYPE_CHECKING:
    from isoviz.planner.explanation.explanation import Crossover, Explanation, RankedPath


SAME = 1e-7
"""Times that differ by less than this share read as the same."""


def compared_text(explanation: Explanation) -> str:
    """What the times of candidates are, in words, where that of the chosen path reads otherwise than the plan's; else empty."""
    plan = explanation.plan
    shown, whole, ours = map(format_seconds, (explanation.candidates[0].least, plan.objective, plan.mean))
    if shown == ours:
        return ""
    if shown == whole:
        compared = f"T, {shown} for this one"
    elif explanation.machine.limits.chunk_seconds:
        compared = f"T and the work that chunks make for an engine, {shown} for this one; T alone is {whole}"
    else:
        compared = f"the least T, {shown} for this one; with the chunk of this plan, T is {whole}"
    return f" Paths are compared by {compared}.{ahead_text(time_parts(explanation))}"


def ranking_text(explanation: Explanation) -> str:
    """The number of paths, and the rank of the chosen path among them."""
    if explanation.is_by_hand:
        return _reference_text(explanation)
    chosen, *others = explanation.candidates
    faster = [other for other in others if _beats(other, chosen)]
    text = f"{counted(len(explanation.candidates), 'path')} {'was' if not others else 'were'} worked out;" + _left_out(
        explanation
    )
    if faster:
        best = min(faster, key=lambda other: other.least)
        text += (
            f" {counted(len(faster), 'path')} would be faster than the {explanation.plan.planner} planner's: the best takes"
            f" {format_seconds(best.least)}, {difference(best, chosen)}."
        )
    elif others and others[0].least < chosen.least * (1 - SAME):
        less = format_share(1 - others[0].least / chosen.least)
        text += (
            f" The next best has more hops and is {less} faster: more hops win only where they save {format_share(FEWER_HOPS)}."
        )
    elif others:
        text += f" The next best is {difference(others[0], chosen, words=True)}."
    return text


def _reference_text(explanation: Explanation) -> str:
    """What the planner makes of the transfer of a plan by hand."""
    reference, said = explanation.reference, "The path was chosen by hand; no other was searched."
    if reference is None:
        return f"{said} The planner finds no plan: {explanation.refusal}."
    routes = "; ".join(path_text(path.memories) for path in reference.paths)
    compared = _compared_with(explanation.plan.mean, reference.mean)
    return f"{said} The {reference.planner} planner takes {format_seconds(reference.mean)} over {routes}; {compared}."


def _compared_with(seconds: float, reference: float) -> str:
    """How a plan by hand compares with that of the planner."""
    if abs(seconds / reference - 1) <= SAME:
        return "this plan takes as long"
    more = seconds > reference
    share = seconds / reference - 1 if more else 1 - seconds / reference
    return f"this plan takes {format_share(share)} {'longer' if more else 'less'}"


def _left_out(explanation: Explanation) -> str:
    if explanation.beaten is not None:
        return f" {explanation.beaten:,} more were left out beforehand: for every transfer, another path is at least as fast."
    if explanation.proved:
        return " no other path of this machine can be faster than the best of them: all have a larger bound."
    if explanation.gap is None:
        return " the other paths are too many to list, and nothing is proved about them."
    return f" no other path of this machine can be faster than the best of them by more than {format_share(explanation.gap)}."


def _beats(other: RankedPath, chosen: RankedPath) -> bool:
    """Whether it would be chosen instead: with more hops it has to save a thousandth."""
    more = len(other.channels) > len(chosen.channels)
    return other.seconds is not None and other.seconds < chosen.least * (1 - (FEWER_HOPS if more else 1e-12))


def difference(other: RankedPath, chosen: RankedPath, *, words: bool = False) -> str:
    """The time of a path relative to the chosen path: `+0.01 %`, `2.7 ×`; in words `0.01 % slower`."""
    ratio = other.least / chosen.least
    least = "at least " if words and other.seconds is None else "≥ " if other.seconds is None else ""
    if abs(ratio - 1) < SAME:
        return "just as fast" if words else "same"
    if ratio >= 2:
        times = f"{ratio:.3g}" if ratio < 1000 else f"{ratio:,.0f}"
        return f"{least}{times} {'times as slow' if words else '×'}"
    share = format_share(abs(ratio - 1))
    if words:
        return f"{least}{share} {'slower' if ratio > 1 else 'faster'}"
    return f"{least}{'+' if ratio > 1 else '−'}{share}"


def crossovers_text(explanation: Explanation) -> tuple[list[tuple[Crossover, str]], str]:
    """The crossovers, each with the name of its rival, and a sentence on the rivals that are faster already."""
    chosen, *others = explanation.candidates
    ahead = {other.channels for other in others if _beats(other, chosen)}
    paths = {
        (other.channels, other.converting): f"path {number} ({path_text(other.memories, other.converting)})"
        for number, other in reversed(list(enumerate(others, start=2)))
    }
    kept = [
        (crossover, paths.get((crossover.rival, crossover.converting), channels_text(crossover.rival, crossover.converting)))
        for crossover in explanation.crossovers
        if crossover.rival not in ahead
    ]
    if not ahead:
        return kept, ""
    planner = explanation.plan.planner
    why = "takes the highest throughput, not the least time" if planner == "program" else "does not look at every path"
    return kept, (
        f"{counted(len(ahead), 'path')} would win as things are: the {planner} planner {why}."
        " The planner full takes the best of them."
    )


def crossover_text(crossover: Crossover, path: str | None = None) -> str:
    """A crossover as a sentence. `path` is the name of the rival in it."""
    rival = path or channels_text(crossover.rival, crossover.converting)
    name, show = {
        "bandwidth": (f"the throughput of {crossover.channel}", format_rate),
        "slot_limit": ("the slot limit TH", format_bytes),
    }.get(crossover.parameter, (f"the size of {crossover.channel}", count_text))
    if crossover.value is None:
        low, high = crossover.tried
        return f"Whatever {name} between {show(low)} and {show(high)}: {rival} does not become the fastest path."
    ratio, winner = crossover.value / crossover.now, channels_text(crossover.winner or crossover.rival)
    value, now = show(crossover.value), show(crossover.now)
    if value == now:  # both look the same with three digits
        little = f"{format_share(abs(ratio - 1))} {'higher' if ratio > 1 else 'lower'}"
        return f"If {name} were only {little} than {now}, {winner} would be the fastest path."
    factor = f"{ratio:.3g} ×" if ratio < 100 else f"{ratio:,.0f} ×"
    least = "at least" if ratio > 1 else "at most"
    if crossover.winner and crossover.winner != crossover.rival:
        return f"If {name} were {least} {value} ({factor} of {now}), {winner} would win, before {rival} does."
    return f"If {name} were {least} {value} ({factor} of {now}), {rival} would be the fastest path."
