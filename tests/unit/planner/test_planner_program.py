"""The constraint program of a path: two ways to its optimum agree, prices are what changed bounds do, errors name rows."""

from __future__ import annotations

import itertools
import math
import random
import subprocess
import sys
from dataclasses import replace

import pytest

from isoviz.errors import InputError, LimitError
from isoviz.machines import Constant, LatencyBandwidth, Sampled, ThroughputFunction, preset
from isoviz.planner.program.path_bound import (
    Monomial,
    PathProgram,
    ResourceRow,
    SpaceRow,
    ThroughputRow,
    Variable,
    bisect,
    feasible_region,
    solve,
)

STEP = 1e-4
"""By how much bounds are moved to test prices, relative."""


def isometry_example() -> PathProgram:
    """The path of Isometry, section 4.3, table 3."""
    memories = ("node0.fbm0", "node0.zcm", "node0.reg", "node1.reg", "node1.fbm0")
    channels = {(c.source, c.destination): c for c in preset("two-node").channels}
    hops = [channels[pair] for pair in itertools.pairwise(memories)]
    runs = (
        Monomial(16, ("x_in",), text="|F| × x_in"),
        Monomial(16),
        Monomial(16 * 8192**2),
        Monomial(16, ("y_in",), text="|F| × y_in"),
    )
    return PathProgram(
        (Variable("x_in", 8192), Variable("y_in", 8192)),
        tuple(ThroughputRow(k, str(c.kind), c.throughput, run) for k, (c, run) in enumerate(zip(hops, runs, strict=True))),
        (SpaceRow(1, Monomial(16, ("x_in", "y_in")), 2**25),),
    )


def concave_samples(rng: random.Random) -> Sampled:
    """Slopes fall from at most 1; the last may be flat."""
    slopes = sorted((rng.choice((1.0, rng.random())) for _ in range(rng.randint(0, 5))), reverse=True)
    run, rate = 2 ** rng.uniform(0, 10), 10 ** rng.uniform(6, 9)
    samples = [(run, rate)]
    for slope in slopes:
        factor = 2 ** rng.uniform(0.2, 4)
        run, rate = run * factor, rate * factor**slope
        samples.append((run, rate))
    return Sampled(tuple(samples))


def any_samples(rng: random.Random) -> Sampled:
    run, rate = 2 ** rng.uniform(0, 8), 10 ** rng.uniform(6, 8)
    samples = [(run, rate)]
    for _ in range(rng.randint(1, 6)):
        run, rate = run * 2 ** rng.uniform(0.2, 3), rate * 2 ** (rng.choice((0, 1)) * rng.uniform(0, 4))
        samples.append((run, rate))
    return Sampled(tuple(samples))


def function(rng: random.Random, concave: bool) -> ThroughputFunction:
    kind = rng.randrange(4)
    if kind == 0:
        return LatencyBandwidth(10 ** rng.uniform(-9, -4), 10 ** rng.uniform(8, 10))
    if kind == 1:
        return Constant(10 ** rng.uniform(7, 10))
    return concave_samples(rng) if concave else any_samples(rng)


def random_program(rng: random.Random, concave: bool = True) -> PathProgram:
    names = ["x_in", "y_in"][: rng.randint(1, 2)]

    def monomial(low: int, high: int) -> tuple[float, tuple[str, ...]]:
        return float(rng.choice((1, 4, 16, 48))), tuple(rng.sample(names, rng.randint(low, high)))

    hops = []
    for hop in range(rng.randint(1, 5)):
        cap = 2.0 ** rng.randint(6, 20) if rng.random() < 0.3 else None
        hops.append(ThroughputRow(hop, f"channel{hop}", function(rng, concave), Monomial(*monomial(0, 1), cap=cap)))
    space = [SpaceRow(hop, Monomial(*monomial(1, len(names))), 2.0 ** rng.uniform(6, 25)) for hop in range(rng.randint(0, 2))]
    resources = [ResourceRow("bus", rng.choice((0.0, 1.0, 1.5)), 10 ** rng.uniform(7, 10))] if rng.random() < 0.4 else []
    variables = tuple(Variable(name, float(rng.choice((1, 7, 100, 4096, 2**20)))) for name in names)
    return PathProgram(variables, tuple(hops), tuple(space), tuple(resources))


def scaled(tp: ThroughputFunction, factor: float) -> ThroughputFunction:
    if isinstance(tp, Sampled):
        return Sampled(tuple((run, rate * factor) for run, rate in tp.samples))
    if isinstance(tp, LatencyBandwidth):
        return LatencyBandwidth(tp.latency / factor, tp.bandwidth * factor)
    assert isinstance(tp, Constant)
    # Below one byte it would not scale; no run here is that short.
    return Constant(tp.bandwidth * factor)


def moved(program: PathProgram, number: int, factor: float) -> PathProgram:
    """The program with the bound of one row times a factor."""
    hops, space, resources = list(program.throughput), list(program.space), list(program.resources)
    if number < len(hops):
        hops[number] = replace(hops[number], throughput=scaled(hops[number].throughput, factor))
    elif number < len(hops) + len(space):
        k = number - len(hops)
        space[k] = replace(space[k], limit=space[k].limit * factor)
    else:
        k = number - len(hops) - len(space)
        resources[k] = replace(resources[k], capacity=resources[k].capacity * factor)
    return PathProgram(program.variables, tuple(hops), tuple(space), tuple(resources))


def inside(polygon: tuple[tuple[float, float], ...], x: float, y: float) -> bool:
    """Whether a point is in a convex polygon (in the logarithms, corners counter-clockwise) or on its edge."""
    logs = [(math.log(a), math.log(b)) for a, b in polygon]
    px, py = math.log(x), math.log(y)
    edges = zip(logs, logs[1:] + logs[:1], strict=True)
    return all((bx - ax) * (py - ay) - (by - ay) * (px - ax) >= -1e-9 for (ax, ay), (bx, by) in edges)


def test_isometry_example() -> None:
    program = isometry_example()
    solution = solve(program)
    assert solution.throughput == pytest.approx(3e9, rel=1e-12)
    assert solution.exact and solution.bound == pytest.approx(3e9, rel=1e-9)
    assert [(row.kind, row.hop) for row in solution.binding] == [("throughput", 2)]
    assert solution.rows[2].price == pytest.approx(1, rel=1e-6)
    assert program.throughput_at({"x_in": 2048, "y_in": 1024}) == 3e9
    region = feasible_region(program, 3e9, "x_in", "y_in")
    assert len(region) == 3
    assert inside(region, 2048, 1024)
    assert inside(region, solution.sizes["x_in"], solution.sizes["y_in"])
    assert not inside(region, 1024, 2048)
    assert not inside(region, 4096, 1024)


def test_less_space_binds_and_has_a_price() -> None:
    program = isometry_example()
    program = replace(program, space=(replace(program.space[0], limit=2**20),))
    solution = solve(program)
    assert solution.throughput < 2e9
    assert {row.label for row in solution.binding} == {
        "TP ≤ tp_GPURead(|F| × x_in)",
        "TP ≤ tp_GPUWrite(|F| × y_in)",
        "16 × x_in × y_in ≤ 1 MiB (TH)",
    }
    space = next(row for row in solution.rows if row.kind == "space")
    more = solve(moved(program, 4, 2.0)).throughput
    assert 0 < (more - solution.throughput) / 2**20 < space.price, "what more space adds, falls"


@pytest.mark.parametrize("seed", range(300))
@pytest.mark.few(80)
def test_both_ways_agree(seed: int) -> None:
    program = random_program(random.Random(seed))
    try:
        solution = solve(program, prices=False)
    except LimitError:
        with pytest.raises(LimitError):
            bisect(program)
        return
    assert solution.exact and solution.programs == 1
    assert bisect(program, prices=False).throughput == solution.throughput
    assert solution.bound == pytest.approx(solution.throughput, rel=1e-9)
    assert all(row.left <= row.bound * (1 + 1e-9) for row in solution.rows)
    assert all(1 <= solution.sizes[v.name] <= v.high for v in program.variables)


@pytest.mark.parametrize("seed", range(100))
@pytest.mark.few(30)
def test_no_sizes_are_faster(seed: int) -> None:
    rng = random.Random(1000 + seed)
    program = random_program(rng, concave=False)
    try:
        solution = solve(program, prices=False)
    except LimitError:
        return
    assert solution.bound >= solution.throughput * (1 - 1e-9)
    assert program.throughput_at(solution.sizes) >= solution.throughput
    for _ in range(2000):
        sizes = {v.name: v.high ** rng.random() for v in program.variables}
        if all(row.shuffle.value(sizes) <= row.limit for row in program.space):
            assert program.throughput_at(sizes) <= solution.throughput * (1 + 1e-9)


def test_not_concave_is_decided_by_bisection() -> None:
    """A step in the function: the hull cuts its corner, the optimum does not."""
    step = Sampled(((64.0, 1e8), (1024.0, 1e8), (2048.0, 8e8)))
    program = PathProgram(
        (Variable("x", 4096), Variable("y", 4096)),
        (ThroughputRow(0, "A", step, Monomial(1, ("x",))), ThroughputRow(1, "B", step, Monomial(1, ("y",)))),
        (SpaceRow(1, Monomial(1, ("x", "y")), 2.0**20),),
    )
    solution = solve(program)
    assert not solution.exact
    assert solution.throughput == pytest.approx(1e8)
    assert solution.bound > 2e8
    assert "bisection decided" in solution.text
    raised = replace(program, space=(replace(program.space[0], limit=2.0**21),))
    assert solve(raised).throughput == pytest.approx(1e8 * 8**0.5)
    assert solve(raised).rows[2].price * 2.0**21 / solve(raised).throughput == pytest.approx(1.5, rel=1e-6)


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.few(30)
def test_prices_are_what_moved_bounds_do(seed: int) -> None:
    program = random_program(random.Random(2000 + seed), concave=seed % 3 > 0)
    try:
        solution = solve(program)
    except LimitError:
        return
    least = 1e-8 * solution.throughput
    for number, row in enumerate(solution.rows):
        for factor, price in ((1 + STEP, row.price_up), (1 - STEP, row.price_down)):
            if math.isinf(price):
                with pytest.raises(LimitError):
                    solve(moved(program, number, factor))
                continue
            there = solve(moved(program, number, factor))
            change = abs(there.throughput - solution.throughput)
            other = there.rows[number].price_down if factor > 1 else there.rows[number].price_up
            low, high = sorted((price, other))
            kinked = high > low * 1.01  # the price changes on the way: the change lies between
            if not kinked:
                low = high = price
            delta = row.bound * STEP if row.kind != "throughput" else solution.throughput * STEP
            assert low * delta * 0.99 - least <= change <= high * delta * 1.01 + least, (number, row, there.rows[number])


@pytest.mark.parametrize("seed", range(20))
def test_the_price_of_space_is_the_slope_of_the_function(seed: int) -> None:
    """One smooth hop: with 1 % more space, runs are 1 % longer, and TP grows by the slope in the logarithms, 1 − TP / peak."""
    rng = random.Random(3000 + seed)
    tp, limit = LatencyBandwidth(10 ** rng.uniform(-10, -5), 1e9), 2.0 ** rng.uniform(3, 20)
    program = PathProgram(
        (Variable("x", 2.0**21),),
        (ThroughputRow(0, "GPURead", tp, Monomial(1, ("x",))),),
        (SpaceRow(0, Monomial(1, ("x",)), limit),),
    )
    hop, space = solve(program).rows
    slope = 1 - tp(limit) / tp.peak
    for price in (space.price_up, space.price_down):
        assert price * limit / tp(limit) == pytest.approx(slope, rel=1e-4, abs=1e-8)
    assert hop.price_up == pytest.approx(1, rel=1e-6) and hop.price_down == pytest.approx(1, rel=1e-6)


def test_sizes_are_in_the_middle() -> None:
    """Both runs and the space have the same share of slack; where a dimension ends before that, its block is all of it."""
    program = isometry_example()
    needed = [program.throughput[hop].throughput.inverse(3e9) / 16 for hop in (0, 3)]
    room = 2**25 / 16 / math.prod(needed)
    sizes = solve(program).sizes
    assert [sizes["x_in"], sizes["y_in"]] == pytest.approx([each * room ** (1 / 3) for each in needed], rel=1e-9)
    less = room ** (1 / 6)
    short = replace(program, variables=(Variable("x_in", needed[0] * less), program.variables[1]))
    assert [*solve(short).sizes.values()] == pytest.approx([each * less for each in needed], rel=1e-9)


class AnyRunWillDo:
    """A function of a user's own: the same rate for runs of any length."""

    peak = 1e9
    samples = ((1.0, 1e9),)
    is_concave = True

    def __call__(self, run_bytes: float, /) -> float:
        return self.peak if run_bytes > 0 else 0.0

    def inverse(self, rate: float, /) -> float:
        return 0.0 if rate <= self.peak else math.inf

    def to_json(self) -> dict[str, str]:
        return {}


def test_a_function_of_another_kind() -> None:
    """Hops for which every run will do ask nothing of the blocks, and the linear program is only a bound."""
    hops = tuple(ThroughputRow(k, "own", AnyRunWillDo(), Monomial(4, (name,))) for k, name in enumerate("xy"))
    program = PathProgram((Variable("x", 64), Variable("y", 64)), hops, (SpaceRow(0, Monomial(4, ("x", "y")), 1e4),))
    solution = solve(program)
    assert solution.throughput == solution.bound == 1e9 and not solution.exact
    assert [(row.price_up, row.price_down) for row in solution.rows] == [(0, 1), (0, 1), (0, 0)]
    assert len(feasible_region(program, 1e9, "x", "y")) == 5


def test_prices_at_a_kink_are_one_sided() -> None:
    """Two hops equally fast: making one faster adds nothing, making one slower costs all of it."""
    program = PathProgram((), tuple(ThroughputRow(k, "Memcpy", Constant(1e9), Monomial(64)) for k in range(2)))
    for found in (solve(program), bisect(program)):
        assert [(row.price_up, pytest.approx(row.price_down)) for row in found.rows] == [(0, 1), (0, 1)]


def test_a_hop_at_its_peak_has_the_price_of_its_bandwidth() -> None:
    tp = LatencyBandwidth(1e-9, 1e9)
    program = PathProgram((Variable("x", 1e15),), (ThroughputRow(0, "GPURead", tp, Monomial(1, ("x",))),))
    for found in (solve(program), bisect(program)):
        assert found.throughput == pytest.approx(1e9, rel=1e-9)
        assert found.rows[0].price_up == pytest.approx(1, rel=1e-6)
        assert found.rows[0].price_down == pytest.approx(1, rel=1e-6)


def test_resource_price() -> None:
    program = PathProgram(
        (Variable("x", 64),),
        (ThroughputRow(0, "DiskRead", Constant(1e9), Monomial(8, ("x",))),),
        resources=(ResourceRow("bus", 2.0, 1e9), ResourceRow("idle", 0.0, 1.0)),
    )
    for found in (solve(program), bisect(program)):
        assert found.throughput == pytest.approx(5e8)
        assert found.rows[1].price == pytest.approx(0.5, rel=1e-6)
        assert found.rows[1].left == pytest.approx(1e9) and found.rows[1].binding
        assert found.rows[2].left == 0 and not found.rows[2].binding


def test_rows_of_other_limits_keep_their_kind_and_name() -> None:
    program = isometry_example()
    rows = (
        SpaceRow(None, Monomial(64, ("x_in", "y_in")), 2**22, "memory-limit", "memory limit / 4"),
        SpaceRow(1, Monomial(32, ("x_in", "y_in")), 2**30, "capacity", "node0.zcm"),
    )
    solution = solve(replace(program, space=(*program.space, *rows)))
    limit, capacity = solution.rows[-2:]
    assert (limit.kind, limit.hop, limit.binding) == ("memory-limit", None, True)
    assert limit.label == "64 × x_in × y_in ≤ 4 MiB (memory limit / 4)"
    assert (capacity.kind, capacity.binding, capacity.price) == ("capacity", False, 0)
    assert "(memory limit / 4)" in solution.text


def test_bisection_records_its_steps() -> None:
    program = isometry_example()
    program = replace(program, space=(replace(program.space[0], limit=2**20),))
    bisection = bisect(program)
    assert len(bisection.steps) > 2
    low, high = 0.0, math.inf
    for step in bisection.steps:
        assert low <= step.low <= step.high <= high
        if step.throughput != pytest.approx(bisection.throughput, rel=1e-11):
            assert step.feasible == (step.throughput < bisection.throughput)
        low, high = step.low, step.high
    assert high - low <= 1e-12 * high


def test_cap_bounds_the_run() -> None:
    tp = LatencyBandwidth(1e-6, 1e9)
    program = PathProgram((Variable("x", 2**20),), (ThroughputRow(0, "GPURead", tp, Monomial(1, ("x",), cap=4096)),))
    for found in (solve(program), bisect(program)):
        assert found.throughput == pytest.approx(tp(4096), rel=1e-9)
        assert found.rows[0].run == pytest.approx(4096)
    assert feasible_region(replace(program, variables=(Variable("x", 2**20), Variable("y", 2))), 0.9e9, "x", "y") == ()


def test_text() -> None:
    program = isometry_example()
    text = solve(replace(program, resources=(ResourceRow("pcie0", 1.5, 1e10),))).text
    lines = [line.strip() for line in text.splitlines()]
    assert lines[:3] == ["maximise", "log TP", "subject to"]
    assert lines[3].startswith("log TP ≤ log tp_GPURead(|F| × x_in) ") and lines[3].endswith("tangents)")
    assert lines[4].startswith("log TP ≤ log tp_Memcpy(16) ") and lines[4].endswith("(hop 1, 1 piece)")
    assert any(" ".join(line.split()) == "log x_in + log y_in + log 16 ≤ log 33554432 (TH, hop 1)" for line in lines)
    assert any(" ".join(line.split()) == "log TP + log 1.5 ≤ log 10000000000 (resource pcie0)" for line in lines)
    assert any(" ".join(line.split()) == "0 ≤ log x_in ≤ log 8192 (block size)" for line in lines)
    assert any(line.startswith("TP = 3 GB/s, x_in = ") for line in lines)
    assert len(lines) < 20


def test_pulp_text() -> None:
    """The linear program is written as PuLP has it, and any solver may solve it again."""
    text = solve(isometry_example()).lp
    assert "Maximize" in text
    assert "space_0: log_x_in + log_y_in <= 14.556" in text


def test_limits_that_no_block_fits_are_named() -> None:
    program = isometry_example()
    broken = replace(program, space=(replace(program.space[0], limit=8),))
    for way in (solve, bisect):
        with pytest.raises(LimitError, match=r"16 × x_in × y_in ≤ 8 B \(TH\) of hop 1 needs 16 bytes, has 8$"):
            way(broken)


def test_a_limit_that_just_fits_leaves_nothing_below() -> None:
    tp = LatencyBandwidth(1e-6, 1e9)
    row = SpaceRow(1, Monomial(16, ("x",)), 16)
    program = PathProgram((Variable("x", 64),), (ThroughputRow(0, "GPURead", tp, Monomial(16, ("x",))),), (row,))
    solution = solve(program)
    assert solution.sizes == {"x": pytest.approx(1)}
    assert solution.rows[1].price_up > 0
    assert math.isinf(solution.rows[1].price_down)


def test_region_has_points_on_its_edges_and_needs_other_sizes() -> None:
    program = isometry_example()
    assert len(feasible_region(program, 3e9, "x_in", "y_in", samples=5)) == 15
    assert feasible_region(program, 3.001e9, "x_in", "y_in") == ()
    assert len(feasible_region(program, 1e6, "x_in", "y_in")) == 5, "the square without the corner where both are large"
    three = replace(program, variables=(*program.variables, Variable("z", 4)))
    with pytest.raises(InputError, match="no size for z"):
        feasible_region(three, 3e9, "x_in", "y_in")
    assert feasible_region(three, 3e9, "x_in", "y_in", at={"z": 2}) == feasible_region(program, 3e9, "x_in", "y_in")
    with pytest.raises(InputError, match="unknown variable w"):
        feasible_region(program, 3e9, "x_in", "w")
    with pytest.raises(InputError, match="both axes"):
        feasible_region(program, 3e9, "x_in", "x_in")


def test_what_makes_no_program() -> None:
    hop = ThroughputRow(0, "Memcpy", Constant(1e9), Monomial(4, ("x",)))
    with pytest.raises(InputError, match="unknown variable x; known are y"):
        PathProgram((Variable("y", 4),), (hop,))
    with pytest.raises(InputError, match="x stands twice"):
        PathProgram((Variable("x", 4), Variable("x", 5)), (hop,))
    with pytest.raises(InputError, match="run 4 × x × y of hop 0: expected one factor at most, got 2"):
        PathProgram((Variable("x", 4), Variable("y", 4)), (replace(hop, run=Monomial(4, ("x", "y"))),))
    with pytest.raises(InputError, match="at least one throughput row"):
        PathProgram((), ())
    with pytest.raises(InputError, match=r"largest size 0\.5"):
        Variable("x", 0.5)
    with pytest.raises(InputError, match="coefficient 0"):
        Monomial(0)
    with pytest.raises(InputError, match="has no cap"):
        SpaceRow(0, Monomial(4, cap=8), 4)
    with pytest.raises(InputError, match="limit 0"):
        SpaceRow(0, Monomial(4), 0)
    with pytest.raises(InputError, match="weight -1"):
        ResourceRow("bus", -1, 4)


def test_no_solver_is_loaded_before_it_is_needed() -> None:
    code = "import sys, isoviz.planner.program.path_bound; print([m for m in ('pulp', 'highspy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
