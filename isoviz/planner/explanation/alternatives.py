"""Alternatives to the chosen plan of a transfer: trials and benchmarks compare them with it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from isoviz.errors import InputError
from isoviz.planner.build_plan import make_plan
from isoviz.planner.explanation.curves.chunk_curve import rechunked
from isoviz.planner.full import search
from isoviz.planner.one_path.optimum import with_larger_chunks
from isoviz.planner.options import Options, options_about
from isoviz.planner.planners import plan
from isoviz.planner.problem import Problem

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner.plan import Plan

OTHER_PLANNERS = ("simple", "spsl", "spdl", "direct")
FACTORS = (1 / 4, 1 / 2, 2, 4)
"""Factors on the chunk size for the alternatives that differ from the chosen plan only in their chunks."""


def alternatives(chosen: Plan, machine: Machine, count: int = 5, options: Options | None = None) -> list[Plan]:
    """The chosen plan, then up to `count` − 1 alternatives with the least predicted time.

    The alternatives are of two kinds, in equal numbers where possible: plans with other paths, other converting hops or other
    planners; and the chosen plan with smaller or larger chunks. An engine can run all of them. They keep the limits of `options`.
    """
    problem = Problem(chosen.transfer, machine, options_about(chosen, options))
    found = {identity(chosen): chosen}
    kinds = []
    for kind in (every_route(problem), in_other_chunks(chosen, machine, problem, FACTORS)):
        new: dict[tuple[object, ...], Plan] = {}
        for made in kind:
            if identity(made) not in found:
                new.setdefault(identity(made), made)
        found |= new
        kinds.append(sorted(new.values(), key=lambda made: made.mean))
    in_turn = [made for pair in itertools.zip_longest(*kinds) for made in pair if made is not None]
    return [chosen, *sorted(in_turn[: max(0, count - 1)], key=lambda made: made.mean)]


def identity(made: Plan) -> tuple[object, ...]:
    """The parts of a plan that determine its run: equal for two plans that run alike."""
    hops = tuple((hop.channel, hop.source_layout, hop.destination_layout) for hop in made.hops)
    return hops, str(made.order), made.outer, made.per_chunk, made.slots


def every_route(problem: Problem) -> Iterator[Plan]:
    """The best plan of every route, and the plans of the other planners."""
    for candidate in search(problem, everything=True).candidates:
        if candidate.choice is not None and math.isfinite(candidate.choice.seconds):
            yield make_plan(problem, with_larger_chunks(problem, candidate.choice, candidate.clock), candidate.clock, "full")
    for planner in OTHER_PLANNERS:
        with suppress(InputError):  # this planner has no path, or no room for its buffers
            yield plan(problem.transfer, problem.machine, planner, problem.options)


def in_other_chunks(base: Plan, machine: Machine, problem: Problem, factors: Sequence[float]) -> Iterator[Plan]:
    """For every factor, the plan with chunks of that size relative to its own, if its buffers have room for them."""
    inside = [hop.destination for hop in base.hops[:-1]]
    limit = problem.limit(inside) if inside else base.bytes
    for factor in factors:
        count = round(base.per_chunk * factor)
        if 1 <= count <= base.chunks.blocks:
            with suppress(InputError):
                made = rechunked(base, count, machine)
                if all(buffer.nbytes <= limit for buffer in made.buffers):
                    yield made
        elif factor < 1 and inside and base.planner == "full":  # a chunk below one block needs smaller blocks
            bound = max(int(base.chunk_bytes * factor), base.transfer.fields.nbytes)
            with suppress(InputError):
                yield plan(base.transfer, machine, "full", replace(problem.options, slot_limit=bound))
