"""Random arrays of other people through every way in and out: right, or refused by all ways alike. Never another value.

What is expected comes from NumPy's indexing alone (`array_cases`).
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from array_cases import FLAT, PERMUTED, Case, memory_of, random_case, without_fields

import isoviz
from isoviz.errors import InputError

sys.path.append(str(Path(__file__).parents[1] / "run" / "ranks"))
from group import Group, group

Report = Callable[[str, object], None]
Way = Callable[[Case, Case], None]
MACHINE = isoviz.machines.preset("local")


def plan_of(source: Case, destination: Case, machine: isoviz.Machine, *memories: str) -> isoviz.Plan:
    """The plan between two arrays."""
    space, fields = isoviz.IndexSpace(**source.sizes), isoviz.FieldSpace.of(source.fields)
    here, there = memories
    return isoviz.plan(isoviz.Transfer.whole(space, fields, here, source.layout, there, destination.layout), machine, "simple")


def outcome(way: Callable[[Case, Case], object], source: Case, destination: Case) -> str:
    """What a way makes of two arrays: right, refused or WRONG."""
    before = memory_of(destination.given)
    try:
        way(source, destination)
    except InputError:
        return "refused" if memory_of(destination.given) == before else "WRONG: refused, and written to"
    if source.values is None or destination.values is None:
        return "WRONG: taken"
    if without_fields(before, destination.given) != without_fields(memory_of(destination.given), destination.given):
        return "WRONG: gaps were written to"
    return "right" if np.array_equal(destination.elements(), source.values) else "WRONG: other values"


def says_enough(source: Case, destination: Case) -> bool:
    """Whether two arrays alone say what is right: `copy` hears neither sizes nor fields."""
    ends = source, destination
    if source.form == "ones" or (destination.form == "ones" and source.form in FLAT):
        return False
    if 1 in source.sizes.values() and any(end.form in PERMUTED for end in ends):
        return False  # where an axis of length 1 lies is a matter of taste
    if source.is_axis != destination.is_axis and all(end.form == "flat" or end.form not in FLAT for end in ends):
        return False  # an axis does not name its fields, and a struct does
    if any(end.form in FLAT for end in ends):
        return not all(end.form in FLAT or end.values is None for end in ends)
    return any(end.values is not None for end in ends)


@pytest.fixture(scope="module")
def ways() -> Any:
    """Every way that moves an array within this process."""
    with isoviz.Engine(MACHINE) as engine:

        def planned(source: Case, destination: Case) -> isoviz.Plan:
            return plan_of(source, destination, MACHINE, "node0.sys", "node0.sys")

        def prepared(source: Case, destination: Case) -> None:
            with engine.prepare(planned(source, destination), source.given, destination.given) as ready:
                ready.start().wait(60)

        def relayout(source: Case, destination: Case) -> None:
            isoviz.relayout(
                source.given,
                source.layout,
                destination.layout,
                space=source.sizes,
                fields=source.fields,
                out=destination.given,
            )

        yield {
            "relayout": relayout,
            "copy": lambda a, b: engine.copy(a.given, a.layout, b.given, b.layout).wait(60),
            "run": lambda a, b: engine.run(planned(a, b), a.given, b.given),
            "submit": lambda a, b: engine.submit(planned(a, b), a.given, b.given).wait(60),
            "prepare": prepared,
        }


def pair(seed: str, folder: Path) -> tuple[Case, Case]:
    """Two arrays, the same for the same seed."""
    rng = random.Random(seed)
    source = random_case(rng, folder)
    return source, random_case(rng, folder, of=source)


def test_random_arrays(ways: dict[str, Way], tmp_path: Path, full: bool, report: Report) -> None:
    count = 3000 if full else 150
    found: Counter[str] = Counter()
    forms: Counter[str] = Counter()
    for number in range(count):
        seed = f"arrays {number}"
        for name, way in ways.items():
            source, destination = pair(seed, tmp_path)
            if name == "copy" and not says_enough(source, destination):
                continue
            wanted = "refused" if source.values is None or destination.values is None else "right"
            said = outcome(way, source, destination)
            words = f"{seed}, {name}: {source.form} {source.layout} to {destination.form} {destination.layout}"
            assert said == wanted, f"{words}: {said}, expected {wanted}"
            found[said] += 1
        forms.update([source.form, f"{destination.form} (filled)"])
    assert len(forms) > 40
    report("random arrays", f"{count}, {dict(found)}")


def test_ends_that_overlap_are_refused(ways: dict[str, Way], tmp_path: Path) -> None:
    """In whole or in part, by any way, also on one rank of several."""
    from isoviz.redistribution.running.on_rank import redistribute_on_rank

    machine, sizes, v = isoviz.machines.preset("ranks", ranks=2, measure="assumed"), {"x": 4, "y": 2}, np.dtype("f4")
    with group(machine, tmp_path, 2) as ranks:

        def on_a_rank(source: Case, destination: Case) -> None:
            plan = plan_of(source, destination, machine, "node1.sys", "node1.sys")
            given = source.given, destination.given
            _raised(ranks, lambda engine: engine.run(plan, *given) if engine.rank == 1 else engine.run(plan))

        def redistributed(source: Case, destination: Case) -> None:
            ends = distributed(source, destination)
            given = {0: (source.given, destination.given)}
            _raised(ranks, lambda engine: redistribute_on_rank(engine, *ends, *given.get(engine.rank, (None, None))))

        for name, way in {**ways, "on a rank": on_a_rank, "redistributed": redistributed}.items():
            for shift in (0, 3, 7):
                memory = np.arange(16, dtype=v)
                digits: list[tuple[str, int | None, int]] = [("y", None, 2), ("x", None, 4)]
                source = Case("c", memory[:8].reshape(2, 4), sizes, digits, {"v": v}, None)
                destination = Case("c", memory[shift : shift + 8].reshape(4, 2), sizes, digits[::-1], {"v": v}, None)
                with pytest.raises(InputError, match="overlap"):
                    way(source, destination)
                assert np.array_equal(memory, np.arange(16)), name


def test_random_results(tmp_path: Path, full: bool) -> None:
    """A new array lies as its layout says: calls take it as such."""
    for number in range(600 if full else 40):
        source, destination = pair(f"results {number}", tmp_path)
        if source.values is None:
            continue
        sizes, fields = source.sizes, source.fields
        made = isoviz.relayout(source.given, source.layout, destination.layout, space=sizes, fields=fields)
        assert made.flags.c_contiguous
        if made.dtype.names is None or len(made.shape) == len(destination.digits):  # no struct of arrays
            shown = replace(destination, given=made, digits=destination.digits)
            assert np.array_equal(shown.elements(), source.values), number
        again = np.zeros_like(made)
        isoviz.relayout(made, destination.layout, destination.layout, space=sizes, fields=fields, out=again)
        assert again.tobytes() == made.tobytes(), number


@pytest.mark.parametrize("size", [2, 4])
def test_random_arrays_on_ranks(size: int, tmp_path: Path, full: bool, report: Report) -> None:
    """The source on one rank, the destination on another one: as a plan, and as a redistribution with and without `into`."""
    from isoviz.redistribution.running.on_rank import redistribute_on_rank

    machine = isoviz.machines.preset("ranks", ranks=size, measure="assumed")
    count = 400 if full else 15
    found: Counter[str] = Counter()
    with group(machine, tmp_path, size) as ranks:
        for number in range(count):
            seed = f"ranks {size} {number}"
            rng = random.Random(seed)
            here, there = rng.sample(range(size), 2)

            def planned(source: Case, destination: Case, here: int = here, there: int = there) -> None:
                plan = plan_of(source, destination, machine, f"node{here}.sys", f"node{there}.sys")
                given = {here: (source.given, None), there: (None, destination.given)}
                _raised(ranks, lambda engine: engine.run(plan, *given.get(engine.rank, (None, None))))

            def redistributed(source: Case, destination: Case) -> None:
                ends = distributed(source, destination)
                given = {0: (source.given, destination.given)}
                _raised(ranks, lambda engine: redistribute_on_rank(engine, *ends, *given.get(engine.rank, (None, None))))

            for way in (planned, redistributed):
                source, destination = pair(seed, tmp_path)
                is_right = source.values is not None and destination.values is not None
                said = outcome(way, source, destination)
                words = f"{seed}, {way.__name__}: {source.form} {source.layout} to {destination.form} {destination.layout}"
                assert said == ("right" if is_right else "refused"), f"{words}: {said}"
                found[said] += 1
    report(f"random arrays on {size} ranks", f"{count}, {dict(found)}")


def distributed(*ends: Case) -> list[isoviz.DistributedInstance]:
    """Both ends, whole on rank 0."""
    return [
        isoviz.DistributedInstance(
            isoviz.IndexSpace(**each.sizes),
            isoviz.FieldSpace.of(each.fields),
            isoviz.Distribution({}),
            isoviz.Layout(each.layout),
            "sys",
        )
        for each in ends
    ]


def _raised(ranks: Group, call: Callable[[Any], object]) -> None:
    for error in ranks.together(call):
        if isinstance(error, InputError):
            raise error
    for error in ranks.together(lambda _: None):
        assert error is None
