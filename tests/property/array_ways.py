"""The ways of an array in and out that tests have in common, and what a way makes of two arrays.

A way of ranks is called on all ranks together. Each rank gives the array of its own end only.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from array_cases import Case, memory_of, random_case, without_fields

import isoviz
from isoviz.errors import InputError, RankError
from isoviz.redistribution.running.on_rank import prepare_on_rank, redistribute_on_rank
from isoviz.runtime.ranks.rank_engine import RankEngine

Given = tuple[Any | None, Any | None]
RankWay = Callable[[RankEngine, Case, Case, tuple[str, str], Given], object]
STARTS = 2
"""The transfers of a prepared one."""


def pair(seed: str, folder: Path) -> tuple[Case, Case]:
    """Two arrays, the same for the same seed."""
    rng = random.Random(seed)
    source = random_case(rng, folder)
    return source, random_case(rng, folder, of=source)


def plan_of(source: Case, destination: Case, machine: isoviz.Machine, *memories: str) -> isoviz.Plan:
    """The plan between two arrays."""
    space, fields = isoviz.IndexSpace(**source.sizes), isoviz.FieldSpace.of(source.fields)
    here, there = memories
    return isoviz.plan(isoviz.Transfer.whole(space, fields, here, source.layout, there, destination.layout), machine, "simple")


def distributed(memories: tuple[str, str], *ends: Case) -> list[isoviz.DistributedInstance]:
    """Both ends, each whole on the rank of its memory."""
    return [
        isoviz.DistributedInstance(
            isoviz.IndexSpace(**each.sizes),
            isoviz.FieldSpace.of(each.fields),
            isoviz.Distribution({}, ranks=(int(memory.split(".")[0].removeprefix("node")),)),
            isoviz.Layout(each.layout),
            memory.split(".")[1],
        )
        for memory, each in zip(memories, ends, strict=True)
    ]


def relaying(machine: isoviz.Machine) -> isoviz.Machine:
    """The machine without channels between ranks that reach pageable memory: its plans need buffers, on both ranks."""

    def stays(channel: isoviz.machines.Channel) -> bool:
        (here, kind), (there, other) = channel.source.split("."), channel.destination.split(".")
        return here == there or kind == other == "reg"

    return replace(machine, channels=tuple(channel for channel in machine.channels if stays(channel)))


def _run(engine: RankEngine, source: Case, destination: Case, memories: tuple[str, str], given: Given) -> None:
    engine.run(plan_of(source, destination, engine.machine, *memories), *given)


def _submit(engine: RankEngine, source: Case, destination: Case, memories: tuple[str, str], given: Given) -> None:
    engine.submit(plan_of(source, destination, engine.machine, *memories), *given).wait(60)


def _prepare(engine: RankEngine, source: Case, destination: Case, memories: tuple[str, str], given: Given) -> None:
    with engine.prepare(plan_of(source, destination, engine.machine, *memories), *given) as ready:
        for _ in range(STARTS):
            error = ready.start().error(60)
            if any(engine.gather(error is not None)):  # a rank without a part hears of no error, and must not start once more
                raise error or RankError("it failed elsewhere")


def _redistribute(engine: RankEngine, source: Case, destination: Case, memories: tuple[str, str], given: Given) -> None:
    redistribute_on_rank(engine, *distributed(memories, source, destination), *given)


def _prepare_redistribution(engine: RankEngine, source: Case, destination: Case, memories: tuple[str, str], given: Given) -> None:
    with prepare_on_rank(engine, *distributed(memories, source, destination), *given) as ready:
        for _ in range(STARTS):
            ready.run(verify=True)


RANK_WAYS: dict[str, RankWay] = {
    "run": _run,
    "submit": _submit,
    "prepare": _prepare,
    "redistribute": _redistribute,
    "prepare_redistribution": _prepare_redistribution,
}


def wanted(source: Case, destination: Case) -> str:
    """What every way has to make of two arrays."""
    return "refused" if source.values is None or destination.values is None else "right"


def outcome(way: Callable[[Case, Case], object], source: Case, destination: Case) -> str:
    """What a way makes of two arrays: right, refused or WRONG."""
    before = memory_of(destination.given)
    try:
        way(source, destination)
    except InputError:
        return "refused" if memory_of(destination.given) == before else "WRONG: refused, and written to"
    return arrived(source, destination, before)


def arrived(source: Case, destination: Case, before: bytes) -> str:
    """Whether all elements have arrived in a destination whose memory held `before`, and nothing else: right or WRONG."""
    if source.values is None or destination.values is None:
        return "WRONG: taken"
    if without_fields(before, destination.given) != without_fields(memory_of(destination.given), destination.given):
        return "WRONG: gaps were written to"
    return "right" if np.array_equal(destination.elements(), source.values) else "WRONG: other values"
