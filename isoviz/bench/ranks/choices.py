"""Predictions between two ranks, and regret: how much longer the chosen plan takes than the best of its rivals.

The rivals of a plan take each other channel between the two ends, or stop in the registered memory of one rank or of both. All
run in turn. The rival with the least median may have been lucky, so fresh runs of it and of the chosen plan count, compared round
by round.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz.bench.aims import row
from isoviz.bench.ranks.bench import Order, RankBench, rank_bench
from isoviz.errors import IsovizError
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.planner import Plan, Transfer, plan, plan_by_path
from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoviz.machines import Machine

REGRET, SHARE, ERROR = 0.05, 0.9, 0.1
"""Aims: regret up to 5 % does not count, for 90 % of the transfers; the median error of predictions is at most 10 %."""
HOPELESS = 4.0
"""Rivals that are predicted to take more than this multiple of the chosen plan do not run: a message for each of a million runs
takes seconds."""
STRUCTURE = FieldSpace(a="f8", b="f8", c="f8", d="f8")


class Outcomes(NamedTuple):
    """What was found: regrets by transfer, (prediction, measured seconds) of all plans that ran, and a row for each of them."""

    regrets: dict[str, float]
    predictions: list[tuple[float, float]]
    chosen: list[tuple[float, float]]
    reports: list[dict[str, Any]]


def choices_on_rank(machine: Machine, order: Order) -> list[dict[str, Any]]:
    """Rows for each plan and for each transfer, and rows that sum up; `order.nbytes` is the size of the largest transfer."""
    found = Outcomes({}, [], [], [])
    with rank_bench(machine, order) as rank:
        for what, transfer in _transfers(order.nbytes, ("reg",) if order.quick else ("sys", "reg")):
            compare(rank, what, transfer, order.repeat, found)
    return summed(found)


def summed(found: Outcomes) -> list[dict[str, Any]]:
    """Rows for what was found about each transfer, and rows that sum up."""
    within = statistics.fmean([regret <= REGRET for regret in found.regrets.values()])
    rows = found.reports
    rows += [
        row("regret", what, 1 + regret, "best rival, fresh runs", 1.0, unit="share") for what, regret in found.regrets.items()
    ]
    rows.append(
        row(
            "regret",
            f"transfers with a regret of at most {REGRET:.0%}",
            within,
            "90 %",
            SHARE,
            1.0,
            ratio=within / SHARE,
            unit="share",
        )
    )
    for what, pairs in (
        ("chosen plans", found.chosen),
        (f"chosen plans and rivals within {HOPELESS:g} times their time", found.predictions),
    ):
        error = statistics.median(abs(predicted / measured - 1) for predicted, measured in pairs)
        rows.append(row("predictions", f"median error, reports of {len(pairs)} {what}", error, "10 %", ERROR, 1.0, unit="share"))
    return rows


def _transfers(most: int, memories: Sequence[str]) -> Iterator[tuple[str, Transfer]]:
    """Contiguous bytes, fields, a matrix, and short runs, between pageable and between registered memories."""
    sizes = [size for size in (64 << 10, 1 << 20, 16 << 20) if size <= most]
    for memory in memories:
        here_, there = f"node0.{memory}", f"node1.{memory}"
        arrow = f"{memory.upper()} → {memory.upper()}*"
        for nbytes in sizes:
            size = format_bytes(nbytes)
            byte, side = FieldSpace(v="uint8"), int((nbytes // 8) ** 0.5)
            yield f"{size}, {arrow}", Transfer.whole(IndexSpace(x=nbytes), byte, here_, "<F, x>", there, "<F, x>")
            records = IndexSpace(x=nbytes // STRUCTURE.nbytes)
            yield f"{size}, AOS → SOA, {arrow}", Transfer.whole(records, STRUCTURE, here_, "<F, x>", there, "<x, F>")
            matrix = IndexSpace(x=side, y=side)
            yield (
                f"{size}, transposed, {arrow}",
                Transfer.whole(matrix, FieldSpace(v="f8"), here_, "<F, x, y>", there, "<F, y, x>"),
            )


def _candidates(transfer: Transfer, machine: Machine) -> list[Plan]:
    """The chosen plan first, then its rivals."""
    chosen = plan(transfer, machine)
    ends = transfer.source.memory, transfer.destination.memory
    stops = (("node0.reg",), ("node1.reg",), ("node0.reg", "node1.reg"))
    paths = [[channel.name] for channel in machine.between(*ends)]
    paths += [[ends[0], *stop, ends[1]] for stop in stops if not set(stop) & set(ends)]
    found, known = [chosen], {_looks(chosen)}
    for path in paths:
        try:
            rival = plan_by_path(transfer, machine, path)
        except IsovizError:  # a channel cannot move such runs, or a buffer is over the limits
            continue
        if _looks(rival) not in known and rival.seconds <= HOPELESS * chosen.seconds:
            known.add(_looks(rival))
            found.append(rival)
    return found


def _looks(one: Plan) -> tuple[object, ...]:
    hops = [(hop.channel, str(hop.source_layout), str(hop.destination_layout)) for hop in one.every_hop]
    return (*hops, one.chunk_bytes)


def _kinds(one: Plan) -> str:
    return " → ".join(str(hop.kind) for hop in one.every_hop)


def terms(one: Plan, busy: Sequence[float]) -> str:
    """What the prediction of a plan is made of; `busy` has the measured seconds of each hop, which stand in brackets.

    A shared resource is named where it takes longer than every hop.
    """
    measured = iter(busy)
    words: list[str] = []
    for path in one.paths:
        words += [f"set-up {format_seconds(path.setup)}", f"{path.chunk_count} × {format_bytes(path.chunk_bytes)}"]
        alone = [path.bytes / rate for rate in path.rates]
        for hop, seconds in zip(path.hops, alone, strict=True):
            words.append(f"{hop.kind} {format_seconds(seconds)} ({format_seconds(next(measured))})")
        for name, shares in zip(path.resources, path.shares, strict=True):
            if (seconds := path.bytes * sum(shares)) > max(alone):
                words.append(f"{name} {format_seconds(seconds)}")
    return ", ".join(words)


def compare(rank: RankBench, what: str, transfer: Transfer, repeat: int, found: Outcomes) -> None:
    """Time the plan that is chosen for a transfer, and its rivals; note in `found` what came out."""
    plans = rank.agreed(lambda: _candidates(transfer, rank.machine))
    memory = transfer.source.memory.split(".")[1]
    array = rank.array(memory, max(end.linearization.nbytes for end in (transfer.source, transfer.destination)))
    ends = (array, None) if rank.rank == 0 else (None, array)
    sizes = [end.linearization.nbytes for end in (transfer.source, transfer.destination)]
    given = [None if end is None else end[:size] for end, size in zip(ends, sizes, strict=True)]
    ways = {str(number): rank.reported(each, *given) for number, each in enumerate(plans)}
    times = rank.interleaved(ways, repeat)
    medians = {name: max(statistics.median(seconds), 1e-7) for name, seconds in times.items()}
    found.chosen.append((plans[0].seconds, medians["0"]))
    found.predictions.extend((each.seconds, medians[str(number)]) for number, each in enumerate(plans))
    rivals = [name for name in medians if name != "0"]
    label = f"{what} by {_kinds(plans[0])}"
    for number, each in enumerate(plans):
        busy = [[hop.seconds for hop in rank.report(each, *given).hops] for _ in range(3)]
        said = terms(each, [statistics.median(seconds) for seconds in zip(*busy, strict=True)])
        found.reports.append(row("reports", f"{what} by {_kinds(each)}", medians[str(number)], said, each.seconds))
    if not rivals:
        found.regrets[label] = 0.0
        return
    best = min(rivals, key=medians.__getitem__)
    fresh = rank.interleaved({name: ways[name] for name in ("0", best)}, 2 * repeat - 1)
    ratios = [mine / max(theirs, 1e-7) for mine, theirs in zip(fresh["0"], fresh[best], strict=True)]
    found.regrets[f"{label}, best rival by {_kinds(plans[int(best)])}"] = max(0.0, statistics.median(ratios) - 1)
