"""What plans say of their hops is what their layouts, their chunk and the machine say, worked out by code of its own."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from brute_force import rate
from brute_force_layouts import Parts, parts_of, prefix
from planner_problems import build, random_problem

from isoviz.errors import LimitError, NoPathError
from isoviz.layouts import ChunkSequence, Component, FieldsComponent, Layout, Linearization, compare
from isoviz.machines import Machine
from isoviz.planner import PLANNERS, Plan, plan
from isoviz.planner.one_path.hop_facts import _elements_in_first_block
from isoviz.runtime import simulate

Report = Callable[[str, object], None]
Problem = dict[str, Any]
BATCH = 40


def parts(layout: str, problem: Problem) -> tuple[Parts, dict[str, int]]:
    """A layout of a plan as brute force writes it, and how far its blocks reach in every dimension, padding included."""
    written: list[Any] = []
    given = Layout(layout)
    for part in given.components:
        if isinstance(part, FieldsComponent):
            written.append("F")
            continue
        assert isinstance(part, Component)
        faster = [
            each for each in given.components if isinstance(each, Component) and each.dim == part.dim and each.rank < part.rank
        ]
        written.append((part.dim, math.prod(each.extent or 1 for each in faster)))
    sizes = problem["sizes"]
    top = {dim: max(part[1] for part in written if part != "F" and part[0] == dim) for dim in sizes}
    reach = {dim: step * -(-sizes[dim] // step) for dim, step in top.items()}
    return parts_of(written, sizes, len(problem["fields"])), reach


def chunk_elements(found: Plan, problem: Problem) -> int:
    """Elements of a full chunk: those that exist in the first block, times the blocks of a chunk; at most all."""
    sizes, fields = problem["sizes"], len(problem["fields"])
    order = found.order.on(found.transfer.space, found.transfer.fields).parts
    digits = [(part.dim, part.step, part.extent) if hasattr(part, "dim") else None for part in order[len(order) - found.outer :]]
    first = 0
    for index in itertools.product(*map(range, sizes.values())):
        at = dict(zip(sizes, index, strict=True))
        if all(digit is None or (at[digit[0]] // digit[1]) % digit[2] == 0 for digit in digits):
            first += 1 if None in digits else fields
    return min(first * found.per_chunk, math.prod(sizes.values()) * fields)


def check_words(problem: Problem, machine: Machine, found: Plan) -> None:
    sizes, fields, channels = problem["sizes"], problem["fields"], {each["name"]: each for each in problem["channels"]}
    mean, total = sum(fields) / len(fields), math.prod(sizes.values()) * sum(fields)
    chunk = chunk_elements(found, problem) * mean
    setup, hops, runs = 0.0, [], []
    weights: list[dict[str, float]] = []
    through = [parts(found.hops[0].source_layout, problem), *(parts(hop.destination_layout, problem) for hop in found.hops)]
    for hop, (here, there) in zip(found.hops, itertools.pairwise(through), strict=True):
        channel = channels[hop.channel]
        runs.append(prefix(here[0], there[0], sizes, len(fields)) if here != there else math.inf)
        if here[1] != there[1]:  # one side pads where the other does not: a run ends there, which brute force does not count
            runs[-1] = compare(found.orders[hop.index], found.orders[hop.index + 1]).run_bytes / mean
        run = min(runs[-1] * mean, chunk)
        assert hop.request_bytes == pytest.approx(run, rel=1e-12), hop
        sustained = rate(channel["throughput"], run)
        assert hop.throughput == pytest.approx(sustained, rel=1e-12), hop
        setup += channel["setup"] + (machine.channel(hop.channel).conversion_setup if hop.converts else 0.0)
        weights.append(dict(channel["resources"]))
        shares = [weight * chunk / problem["resources"][name] for name, weight in weights[-1].items()]
        hops.append(max([chunk / sustained, *shares]))
    # Somewhere runs are as short as the conversion's: those hops convert.
    whole = through[0] == through[-1]
    shortest = math.inf if whole else max(prefix(through[0][0], through[-1][0], sizes, len(fields)), min(runs))
    assert [hop.converts for hop in found.hops] == [run < math.inf and run <= shortest for run in runs]
    if not problem["limits"]["overlap"]:
        period = sum(hops)
    elif found.slots == 1 and len(hops) > 1:
        period = max(a + b for a, b in itertools.pairwise(hops))
    else:
        period = max(hops)
    for name, capacity in problem["resources"].items():
        period = max(period, chunk * sum(each.get(name, 0.0) for each in weights) / capacity)
    assert found.setup == pytest.approx(setup, rel=1e-12)
    assert found.throughput == pytest.approx(chunk / period, rel=1e-9)
    assert found.objective == pytest.approx(setup + sum(hops) + (total / chunk - 1) * period, rel=1e-9)
    pads = any(reach != sizes for _, reach in through)  # there a run counts places
    if len(hops) == 2 and not pads and min(runs) * mean < total:
        assert chunk == total or round(chunk / mean) % min(runs) == 0, "a chunk boundary cuts a run"
    if found.chunk_count < 200:
        assert simulate(found, machine).seconds == pytest.approx(found.seconds, rel=1e-9)


def with_conversions(machine: Machine, draw: random.Random) -> Machine:
    """The machine, its channels taking some time more to set up where they convert."""
    return replace(
        machine,
        channels=tuple(replace(channel, conversion_setup=draw.choice((0.0, 0.0, 0.004, 0.03))) for channel in machine.channels),
    )


def check_batch(first: int, count: int, report: Report) -> None:
    for seed in range(first, first + count):
        problem = random_problem(seed, non_nesting=seed % 3 == 2)
        transfer, machine, options = build(problem)
        if seed % 2:
            machine = with_conversions(machine, random.Random(seed))
        for planner in (name for name in PLANNERS if name != "multipath"):
            try:
                found = plan(transfer, machine, planner, options)
            except (NoPathError, LimitError):
                continue
            if len(found.paths) > 1:  # of `auto`; the words here are those of one path
                continue
            report("plans whose words were derived once more", 1)
            try:
                check_words(problem, machine, found)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, {planner}: {error}\n{found}") from error


@pytest.mark.parametrize("first", range(0, 200, BATCH))
@pytest.mark.few(1)
def test_words_follow_from_the_layouts(report: Report, first: int) -> None:
    check_batch(first, BATCH, report)


@pytest.mark.full
@pytest.mark.parametrize("first", range(200, 4200, 400))
def test_words_follow_from_the_layouts_of_very_many(report: Report, first: int) -> None:
    check_batch(first, 400, report)


def test_elements_of_the_first_block_are_those_of_its_boxes() -> None:
    checked = 0
    for seed in range(200):
        transfer, _, _ = build(random_problem(seed, non_nesting=True))
        for order in (transfer.source_order, transfer.destination_order):
            for outer in range(len(order.parts) + 1):
                first = ChunkSequence(order, outer)[0]
                assert _elements_in_first_block(order, outer) == sum(box.volume * len(names) for box, names in first.parts), seed
                checked += 1
    assert checked > 1000


# ---- what hops do to the order


def levels(linear: Linearization) -> int:
    """In how many ways the index (and the field) moves on from one place of memory to the next, padding included."""
    ranges: list[list[tuple[str, int]]] = []
    for part in reversed(linear.layout.components):
        if isinstance(part, FieldsComponent):
            ranges.append([("F", number) for number in range(len(linear.fields))])
            continue
        assert isinstance(part, Component)
        faster = [each.extent or 1 for each in linear.layout.digits[part.dim][: part.rank]]
        step = math.prod(faster)
        ranges.append([(part.dim, digit * step) for digit in range(part.extent or -(-linear.space[part.dim] // step))])
    places: list[dict[str, int]] = []
    for digits in itertools.product(*ranges):
        at: dict[str, int] = {}
        for name, value in digits:
            at[name] = at.get(name, 0) + value
        places.append(at)
    return len({tuple(after[name] - before[name] for name in before) for before, after in itertools.pairwise(places)})


def first_to_vary(linear: Linearization) -> list[str]:
    """The dimensions and the fields by the first byte of memory at which they are not what they are at its begin."""
    zero = dict.fromkeys(linear.space.dims, 0)
    first, *others = linear.fields.names
    found = {
        dim: min(linear.offset({**zero, dim: at}, first) for at in range(1, size))
        for dim, size in linear.space.as_dict().items()
        if size > 1
    }
    if others:
        found["F"] = linear.offset(zero, others[0])
    return sorted(found, key=lambda name: found[name])


def offsets(linear: Linearization) -> list[int]:
    indices = itertools.product(*[range(linear.space[dim]) for dim in linear.space.dims])
    return [linear.offset(index, name) for index in indices for name in linear.fields.names]


def in_block(linear: Linearization, block: dict[str, int]) -> list[tuple[tuple[int, ...], str]]:
    """The elements of a block in the order of memory."""
    points = itertools.product(*[range(block[dim]) for dim in linear.space.dims])
    elements = [(point, name) for point in points for name in linear.fields.names]
    return sorted(elements, key=lambda element: linear.offset(*element))


def test_words_say_what_hops_do_to_the_order(report: Report) -> None:
    """500 plans: the words follow from offsets alone. A hop converts where it changes the order inside a block."""
    counts: dict[str, int] = {}
    seed, plans = 0, 0
    while plans < 500:
        seed += 1
        problem = random_problem(seed, non_nesting=seed % 3 == 0)
        transfer, machine, options = build(problem)
        try:
            found = plan(transfer, machine, ("full", "simple", "spsl", "spdl")[seed % 4], options)
        except (NoPathError, LimitError):
            continue
        plans += 1
        for path in found.paths:
            for (here, there), change in zip(itertools.pairwise(path.orders), path.order_changes, strict=True):
                more = levels(there) - levels(here)
                if offsets(here) == offsets(there) and here.nbytes == there.nbytes:
                    expected = "keeps"
                elif in_block(here, path.block) != in_block(there, path.block):
                    expected = "converts"
                else:
                    expected = "forms blocks" if more > 0 else "dissolves blocks" if more < 0 else "reorders blocks"
                assert change == expected, (seed, str(here), str(there))
                assert change == "converts" or not turns_from_the_start(here, there), (seed, str(here), str(there))
                counts[change] = counts.get(change, 0) + 1
    assert min(counts.get(word, 0) for word in ("keeps", "forms blocks", "converts", "dissolves blocks")) > 10
    report("hops whose words were worked out again", sum(counts.values()))


def turns_from_the_start(here: Linearization, there: Linearization) -> bool:
    """Whether other dimensions (or the fields) vary first behind a hop."""
    return first_to_vary(here) != first_to_vary(there)
