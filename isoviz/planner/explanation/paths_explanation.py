"""Why a plan of several paths has these paths and shares: full links, their prices, and what one more path would add."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isoviz.machines.memory import emulated_text
from isoviz.planner.multipath.reasons import busy_links, full_links, link_text
from isoviz.planner.multipath.several_paths import several_paths
from isoviz.planner.multipath.split import split_bytes, stream_of, time_by_paths
from isoviz.planner.planners.full_planner import full
from isoviz.planner.problem import Problem
from isoviz.planner.shares import share_text
from isoviz.units import format_bytes, format_rate, format_seconds, format_share

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner.options import Options
    from isoviz.planner.plan import Plan

MOST_COUNTED = 10
"""The time over at most this number of paths is worked out."""


@dataclass(frozen=True)
class LinkPrice:
    """A full link of several paths.

    `link` is the name of a channel or a shared resource, `text` the same with its capacity. `price` is the share of T that a
    share of its capacity is worth: at 0.5, 1 % more capacity saves 0.5 % of T. It is the dual value of the link's row.
    """

    link: str
    text: str
    price: float


@dataclass(frozen=True)
class PathsExplanation:
    """What determined the paths of a plan and their shares.

    `one_path` is T of one path, in seconds. `links` are the links without slack, the dearest first. `by_paths` holds the least
    time in seconds over at most 1, 2, … paths, by the program that splits the bytes (`isoviz.planner.multipath.split`); it ends
    with the first number that adds nothing. `considered` is the number of paths that could have carried bytes.
    """

    plan: Plan
    one_path: float
    links: tuple[LinkPrice, ...]
    by_paths: tuple[float, ...]
    considered: int


def paths_explanation(plan: Plan, machine: Machine, options: Options) -> PathsExplanation:
    """The explanation of the paths of a plan that the planner `multipath` made.

    A plan that was made together with others is explained with its own paths, as if it were alone.
    """
    problem = Problem(plan.transfer, machine, options)
    found = several_paths([problem], [full(problem)])
    streams, split = found.streams, found.split
    if len(plan.paths) > 1 and {path.memories for path in found.paths[0]} != {path.memories for path in plan.paths}:
        streams = tuple(stream_of(0, path) for path in plan.paths)
        split = split_bytes(streams, [problem.nbytes])
    busy = busy_links(plan.paths, plan.mean)
    priced = [(name, price) for name, price in full_links(split) if name in busy]
    links = tuple(LinkPrice(name.partition(" ")[2], link_text(machine, name), price) for name, price in priced)
    most = min(len(streams), len(plan.paths) + 1, MOST_COUNTED)
    disjoint = len({hop.channel for hop in plan.every_hop}) == len(plan.every_hop)
    times = time_by_paths(streams, problem.nbytes, most, disjoint=disjoint)
    return PathsExplanation(plan, found.single[0].objective, links, times, len(streams))


def lead(plan: Plan) -> Plan:
    """The path with the largest share as a plan of its part alone; the plan itself where it has one path.

    Where the shares are runs of chunks, it is a plan of all chunks over that path, with T of its run.
    """
    if len(plan.paths) == 1:
        return plan
    path = max(plan.paths, key=lambda each: each.bytes)
    return replace(plan, transfer=path.transfer, paths=(replace(path, run=None),), notes=())


def paths_text(explained: PathsExplanation) -> list[str]:
    """The explanation in sentences."""
    plan, times = explained.plan, explained.by_paths
    count, saved = len(plan.paths), 1 - plan.objective / explained.one_path
    if count == 1:
        why = plan.notes[-1]
        found = [f"{format_bytes(plan.bytes)} move in {format_seconds(plan.objective)}. {why[:1].upper()}{why[1:]}."]
    else:
        first = (
            f"{format_bytes(plan.bytes)} move over {count} paths in {format_seconds(plan.objective)}. One path takes"
            f" {format_seconds(explained.one_path)}, so they save {format_share(saved)}."
        )
        found = [first]
    for number, path in enumerate(plan.paths):
        found.append(
            f"Path {number}, {' → '.join(path.memories)}: {format_bytes(path.bytes)}"
            f" ({share_text(plan.transfer.space, plan.share(number))}), {format_rate(path.throughput)} alone."
        )
    if explained.links:
        full = "; ".join(f"{each.text}: 1 % more saves {format_share(each.price / 100)} of T" for each in explained.links)
        found.append(f"These links are full, with the dual values of their rows: {full}.")
    listed = ", ".join(f"{k}: {format_seconds(seconds)}" for k, seconds in enumerate(times, start=1))
    found.append(f"Least time by the number of paths, from the program that splits the bytes: {listed}.")
    if len(times) > count:
        gain = 1 - times[count] / times[count - 1]
        more = f"saves {format_share(gain)} more" if gain > 0 else "saves nothing"
        found.append(f"One more path {more}; {explained.considered} paths were considered.")
    else:
        found.append("No other path was worth a try: at these prices it would take more of full links than it saves.")
    if plan.emulated:
        found.append(emulated_text(plan.emulated))
    return found
