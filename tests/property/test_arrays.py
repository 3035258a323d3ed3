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
from array_cases import FLAT, PERMUTED, Case
from array_ways import RANK_WAYS, RankWay, distributed, outcome, pair, plan_of, relaying, wanted

import isoviz
from isoviz.errors import InputError
from isoviz.runtime.ranks.rank_engine import RankEngine

sys.path.append(str(Path(__file__).parents[1] / "run" / "ranks"))
from group import Group, group

Report = Callable[[str, object], None]
Way = Callable[[Case, Case], None]
MACHINE = isoviz.machines.preset("local")
IN_FILES = {"c", "ones", "flat", "u1", "read-only", "fields of a larger struct"}
"""The forms that a `.npy` file holds as they lie."""


def named_in_order(given: np.ndarray) -> np.ndarray:
    """An array with its fields named in the order in which they lie: the header of a file cannot name them otherwise."""
    dtype = given.dtype
    if dtype.names is None or dtype.fields is None:
        return given
    found = sorted(((name, *dtype.fields[name][:2]) for name in dtype.names), key=lambda field: field[2])
    names, formats, offsets = zip(*found, strict=True)
    return given.view(np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": dtype.itemsize}))


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
def ways(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Every way that moves an array within this process."""
    folder = tmp_path_factory.mktemp("arrays")
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

        def from_file(source: Case, destination: Case) -> None:
            path = folder / "source.npy"
            np.save(path, named_in_order(source.given))
            engine.run(plan_of(source, destination, MACHINE, "node0.dsk", "node0.sys"), path, destination.given)

        yield {
            "relayout": relayout,
            "a file": from_file,
            "copy": lambda a, b: engine.copy(a.given, a.layout, b.given, b.layout).wait(60),
            "run": lambda a, b: engine.run(planned(a, b), a.given, b.given),
            "submit": lambda a, b: engine.submit(planned(a, b), a.given, b.given).wait(60),
            "prepare": prepared,
        }


def test_random_arrays(ways: dict[str, Way], tmp_path: Path, full: bool, report: Report) -> None:
    count = 3000 if full else 150
    found: Counter[str] = Counter()
    forms: Counter[str] = Counter()
    for number in range(count):
        seed = f"arrays {number}"
        for name, way in ways.items():
            source, destination = pair(seed, tmp_path)
            if (name == "copy" and not says_enough(source, destination)) or (name == "a file" and source.form not in IN_FILES):
                continue
            said = outcome(way, source, destination)
            words = f"{seed}, {name}: {source.form} {source.layout} to {destination.form} {destination.layout}"
            assert said == wanted(source, destination), f"{words}: {said}"
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
            ends = distributed(("node0.sys", "node0.sys"), source, destination)
            given = {0: (source.given, destination.given)}
            _raised(ranks, lambda engine: redistribute_on_rank(engine, *ends, *given.get(engine.rank, (None, None))))

        within = {name: way for name, way in ways.items() if name != "a file"}
        for name, way in {**within, "on a rank": on_a_rank, "redistributed": redistributed}.items():
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
    """The source on one rank, the destination on another one, by plans of one hop and of several, and by redistributions."""
    direct = isoviz.machines.preset("ranks", ranks=size, measure="assumed")
    count = 400 if full else 20
    within = {name: way for name, way in RANK_WAYS.items() if name != "prepare"}  # threads have no lanes; see `tests/ranks`
    found: Counter[str] = Counter()
    for machine in (direct, relaying(direct)):
        hops = 1 if machine is direct else 3
        with group(machine, tmp_path, size) as ranks:
            for number in range(hops % 2, count, 2) if full else range(count // 2):
                seed = f"ranks {size} {hops} {number}"
                here, there = random.Random(seed).sample(range(size), 2)
                memories = f"node{here}.sys", f"node{there}.sys"
                for name, way in within.items():
                    source, destination = pair(seed, tmp_path)

                    def moved(source: Case, destination: Case, way: RankWay = way, ends: tuple[str, str] = memories) -> None:
                        def on_rank(engine: RankEngine) -> None:
                            here, there = [engine.node_of(end) == engine.rank for end in ends]
                            given = source.given if here else None, destination.given if there else None
                            way(engine, source, destination, ends, given)

                        _raised(ranks, on_rank)

                    said = outcome(moved, source, destination)
                    words = f"{seed}, {name}: {source.form} {source.layout} to {destination.form} {destination.layout}"
                    assert said == wanted(source, destination), f"{words}: {said}"
                    found[said] += 1
                    found[f"{hops} hops"] += 1
    report(f"random arrays on {size} ranks", f"{count}, {dict(found)}")


def _raised(ranks: Group, call: Callable[[Any], object]) -> None:
    found = [error for error in ranks.together(call) if isinstance(error, Exception)]
    for error in sorted(found, key=lambda error: not isinstance(error, InputError)):
        raise error
