"""The program of all paths: its pieces, what it says and how it ends, and the programs that plans are shown with."""

from __future__ import annotations

import itertools
import json
import math
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from isoviz.cli import main
from isoviz.errors import FileError, InputError, InternalError, LimitError, NoPathError
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Channel, Constant, LatencyBandwidth, Limits, Machine, Memory, Resource, Sampled, preset
from isoviz.planner import (
    CACHE,
    Options,
    Transfer,
    certificate,
    explain,
    explanation_text,
    explanation_to_json,
    load_transfer,
    plan,
    whole_solution,
)
from isoviz.planner.problem import Problem
from isoviz.planner.program.mip_rows import Part, parts_of
from isoviz.planner.whole_program import program_planner as planner_module
from isoviz.planner.whole_program.solving import solve_whole
from isoviz.planner.whole_program.stages import Role, stages_of
from isoviz.planner.whole_program.whole_model import TOLERANCE

EXAMPLE = "examples/fbm_to_remote_fbm.toml"
TWO_NODES = preset("two-node")
PAIR = FieldSpace(re="float32", im="float32")


def transfer(here: str = "node0.fbm0", there: str = "node1.fbm0", size: int = 4096, to: str = "<F, y, x>") -> Transfer:
    return Transfer.whole(IndexSpace(x=size, y=size), PAIR, here, "<F, x, y>", there, to)


def memories(*names: str) -> list[Memory]:
    return [Memory(name, "SYS", 0) for name in names]


def copies(*ends: str, rates: float | dict[str, float] = 1e9, **more: Any) -> list[Channel]:
    """Memcpy channels: `a>b` is from a to b."""
    found = []
    for text in ends:
        a, b = text.split(">")
        rate = rates[text] if isinstance(rates, dict) else rates
        found.append(Channel("", "Memcpy", a, b, Constant(rate), **more))
    return found


def bytes_from(here: str, there: str, to: str = "<F, x>") -> Transfer:
    return Transfer.whole(IndexSpace(x=1 << 20), FieldSpace(a="u1"), here, "<F, x>", there, to)


# ---- throughput functions


def highest(parts: tuple[Part, ...], run: float) -> float:
    """The highest log throughput that the parts allow at a log run."""
    able = [min(line.at(run) for line in part.lines) for part in parts if run >= part.low - 1e-12]
    return max(able)


@pytest.mark.parametrize("seed", range(40))
def test_parts_are_the_function(seed: int) -> None:
    """Any samples that do not fall, concave or not: the best choice of a part gives log tp itself."""
    draw = random.Random(seed)
    run, rate, samples = 1.0 + draw.random() * 30, 1e3, []
    for _ in range(draw.randint(1, 7)):
        samples.append((run, rate))
        run, rate = run * draw.choice((1.001, 1.5, 8.0)), rate * draw.choice((1.0, 1.1, 2.0, 50.0))
    function = Sampled(tuple(samples))
    low, high = math.log(draw.choice((0.5, 3.0))), math.log(run * draw.choice((0.7, 3.0)))
    parts = parts_of(function, low, high)
    for _ in range(200):
        at = low + (high - low) * draw.random()
        assert highest(parts, at) == pytest.approx(math.log(function(math.exp(at))), abs=1e-9)
    assert len(parts) == 1 or not function.is_concave


def test_tangents_lie_above_a_smooth_function() -> None:
    function = LatencyBandwidth(1e-6, 1e9)
    parts = parts_of(function, 0.0, 20.0)
    assert len(parts) == 1
    for k in range(201):
        assert highest(parts, k / 10) >= math.log(function(math.exp(k / 10))) - 1e-12


# ---- paths


def test_arcs_know_what_a_path_may_do() -> None:
    machine = Machine("m", memories("a", "b", "c"), copies("a>b", "b>c", "b>b", "c>a", "a>a"))
    stages = stages_of(machine, "a", "c", converts=True)
    roles = {(arc.channel.name, arc.role, arc.converts) for arc in stages.arcs}
    assert ("a->a", Role.FIRST, False) in roles  # out of the source into a buffer of its memory
    assert ("b->b", Role.BETWEEN, True) in roles
    assert not any(name == "c->a" for name, _, _ in roles)  # no way leads back to the source
    assert not any(name == "b->b" and role is Role.MIDDLE for name, role, _ in roles)  # only a detour


def test_a_memory_is_passed_twice_by_its_self_loop() -> None:
    """Reading and writing need long runs, the self-loop none: the conversion is there."""
    slow = LatencyBandwidth(1e-3, 1e9)
    channels = [
        Channel("in", "Memcpy", "a", "b", slow),
        Channel("turn", "Memcpy", "b", "b", Constant(5e8)),
        Channel("out", "Memcpy", "b", "c", slow),
    ]
    machine = Machine("m", memories("a", "b", "c"), channels)
    move = Transfer.whole(IndexSpace(x=8192, y=8192), PAIR, "a", "<F, x, y>", "c", "<F, y, x>")
    found = whole_solution(move, machine)
    assert found is not None and found.channels == ("in", "turn", "out") and found.converting == 1
    made = plan(move, machine, "program")
    assert made.memories == ("a", "b", "b", "c") and made.converting == (1,)


def test_runs_go_on_behind_a_block_that_both_ends_begin_with() -> None:
    """All of x and y is a block of both ends, and z and F follow alike: reading and writing move whole chunks. A block with more
    of z would not do: with fields of 1 and 8 bytes, a slot without F has room for the larger one for each element."""
    slow = LatencyBandwidth(1e-5, 1e9)
    channels = [
        Channel("in", "Memcpy", "a", "b", slow),
        Channel("turn", "Memcpy", "b", "c", Constant(9e8)),
        Channel("out", "Memcpy", "c", "d", slow),
    ]
    machine = Machine("m", memories("a", "b", "c", "d"), channels, limits=Limits(slot_limit=1 << 15))
    space, fields = IndexSpace(x=16, y=16, z=1 << 14), FieldSpace(a="u1", b="float64")
    found = whole_solution(Transfer.whole(space, fields, "a", "<x, y, z, F>", "d", "<y, x, z, F>"), machine)
    assert found is not None and found.converting == 1
    assert found.bound == pytest.approx(slow(1 << 15), rel=1e-8)


def test_from_a_memory_to_itself() -> None:
    """Its self-loop, or out and back where that is faster; never out and back twice."""
    there = Transfer.whole(IndexSpace(x=4096, y=4096), PAIR, "a", "<F, x, y>", "a", "<F, y, x>")
    rates = {"a>a": 1e9, "a>b": 4e9, "b>a": 4e9, "b>c": 4e9, "c>b": 4e9}
    found = whole_solution(there, Machine("m", memories("a", "b", "c"), copies(*rates, rates=rates)))
    assert found is not None and found.channels == ("a->b", "b->a")
    assert found.bound == pytest.approx(4e9)
    rates["a>a"] = 9e9
    found = whole_solution(there, Machine("m", memories("a", "b", "c"), copies(*rates, rates=rates)))
    assert found is not None and found.channels == ("a->a",)


def test_no_cycle_beside_the_path() -> None:
    """A ring of fast channels beside a slow path: the arcs used are one path."""
    rates = {"a>b": 1e6, "b>d": 1e6, "c>e": 1e9, "e>f": 1e9, "f>c": 1e9, "b>c": 1e5, "f>d": 1e5}
    machine = Machine("m", memories(*"abcdef"), copies(*rates, rates=rates))
    found = whole_solution(bytes_from("a", "d"), machine)
    assert found is not None and found.channels == ("a->b", "b->d")
    model = found.model
    ring = [arc for arc in model.stages.arcs if arc.channel.name in ("c->e", "e->f", "f->c") and arc.role is Role.MIDDLE]
    assert len(ring) == 3
    model.rows.minimise([(model.names[arc.number], -1.0) for arc in ring])
    forced = model.rows.solve()
    assert forced is not None
    assert forced.objective > -3 + 1e-6  # all three at once would be a cycle


# ---- shared resources


def test_a_bus_counts_once_for_each_hop_of_the_path() -> None:
    """Two hops on the bus share it: 1 GB/s each is 0.5 GB/s; a slower way beside it is faster."""
    bus = (("bus", 1.0),)
    channels = [*copies("a>b", "b>d", rates=1e9, resources=bus), *copies("a>c", "c>d", rates=6e8)]
    machine = Machine("m", memories(*"abcd"), channels, [Resource("bus", 1e9)])
    found = whole_solution(bytes_from("a", "d"), machine)
    assert found is not None and found.channels == ("a->c", "c->d")
    assert found.bound == pytest.approx(6e8, rel=1e-8)
    only = Machine("m", memories(*"abd"), channels[:2], [Resource("bus", 1e9)])
    found = whole_solution(bytes_from("a", "d"), only)
    assert found is not None and found.bound == pytest.approx(5e8, rel=1e-8)
    assert found.throughput == pytest.approx(5e8, rel=1e-8)
    assert found.binding == ("resource_bus",)


@pytest.mark.parametrize("seed", range(10))
def test_sums_of_any_weights_are_exact(seed: int) -> None:
    """Ladders of parallel channels with random weights of two resources: the best of all paths, one by one."""
    draw = random.Random(seed)
    names = [f"m{k}" for k in range(5)]
    channels, rungs = [], []
    for a, b in itertools.pairwise(names):
        rungs.append([])
        for k in range(3):
            weights = draw.uniform(0, 1), draw.uniform(0, 1)
            rate = draw.choice((1e8, 3e8, 1e9))
            uses = (("one", weights[0]), ("two", weights[1]))
            channels.append(Channel(f"{a}{b}{k}", "Memcpy", a, b, Constant(rate), resources=uses))
            rungs[-1].append((rate, *weights))
    machine = Machine("m", memories(*names), channels, [Resource("one", 5e8), Resource("two", 3e8)])
    best = 0.0
    ways: list[tuple[float, float, float]] = [(math.inf, 0.0, 0.0)]
    for rung in rungs:
        ways = [(min(rate, r), one + a, two + b) for rate, one, two in ways for r, a, b in rung]
    best = max(min(rate, 5e8 / one, 3e8 / two) for rate, one, two in ways)
    found = whole_solution(bytes_from(names[0], names[-1]), machine)
    assert found is not None and found.finished
    assert found.throughput == pytest.approx(best, rel=1e-7)
    assert found.bound == pytest.approx(best, rel=1e-7)


# ---- limits, errors, time


def test_less_memory_takes_another_path() -> None:
    """Room for one buffer, not for two."""
    channels = copies("a>b", "b>c", "c>d", "a>e", "e>d", rates={"a>b": 9e8, "b>c": 9e8, "c>d": 9e8, "a>e": 1e8, "e>d": 1e8})
    machine = Machine("m", memories(*"abcde"), channels)
    far = whole_solution(bytes_from("a", "d"), machine, Options(memory_limit=4))
    near = whole_solution(bytes_from("a", "d"), machine, Options(memory_limit=3))
    assert far is not None and len(far.channels) == 3
    assert near is not None and near.channels == ("a->e", "e->d")


def test_errors_name_what_is_missing() -> None:
    apart = Machine("apart", memories("a", "b", "c"), copies("a>b"))
    with pytest.raises(NoPathError, match="c"):
        plan(bytes_from("a", "c"), apart, "program")
    one = Machine("one", memories("a", "b", "c"), copies("a>b", "b>c"))
    with pytest.raises(LimitError, match="memory_limit"):
        plan(bytes_from("a", "c"), one, "program", Options(memory_limit=1))
    with pytest.raises(InputError, match="planning_time: expected a finite number > 0"):
        Options(planning_time=0)
    with pytest.raises(InputError, match="planning_time"):
        Options(planning_time="soon")  # type: ignore[arg-type]


def test_time_that_is_up_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    planner_module.forget_solutions()
    CACHE.clear()
    options = Options(planning_time=1e-9)
    made = plan(transfer(), TWO_NODES, "program", options)
    assert made.notes == (
        "program of Isometry, section 4.2: planning_time was used up before it found a path; this is the shortest one",
    )
    assert made.memories == ("node0.fbm0", "node0.reg", "node1.reg", "node1.fbm0") or len(made.hops) == 3


def test_planning_time_in_a_transfer_file() -> None:
    data = {
        "space": {"x": 64},
        "fields": {"a": "u1"},
        "source": {"memory": "node0.sys", "layout": "<F, x>"},
        "destination": {"memory": "node1.sys", "layout": "<F, x>"},
        "machine": {"preset": "two-node"},
        "options": {"planner": "program", "planning_time": 5},
    }
    file = load_transfer(data)
    assert file.options == Options(planner="program", planning_time=5.0)
    assert plan(file.transfer, file.machine(), None, file.options).planner == "program"


def test_ends_that_do_not_nest_are_bounded_and_said() -> None:
    move = Transfer.whole(
        IndexSpace(x=4800, y=64), PAIR, "node0.fbm0", "<F, x_in=4, y, x_out>", "node1.fbm0", "<F, x_in=6, y, x_out>"
    )
    found = whole_solution(move, TWO_NODES)
    made = plan(move, TWO_NODES, "program")
    assert found is not None and not found.exact
    assert made.throughput <= found.bound * (1 + 1e-9)
    assert plan(move, TWO_NODES, "full").throughput <= found.bound * (1 + 1e-9)
    assert "only bounds" in made.notes[0]


# ---- the same each time


def test_plans_are_equal_and_do_not_hold_the_time() -> None:
    first = plan(transfer(size=2048), TWO_NODES, "program")
    CACHE.clear()
    planner_module.forget_solutions()
    again = plan(transfer(size=2048), TWO_NODES, "program")
    assert again is not first and again == first
    assert plan(transfer(size=2048), TWO_NODES, "program") is again
    a, b = (solve_whole(Problem(transfer(size=2048), TWO_NODES, Options())) for _ in range(2))
    assert a is not None and a == b


def test_planning_by_other_planners_loads_no_solver() -> None:
    code = (
        "import sys, isoviz; from isoviz.machines import preset\n"
        "from isoviz.layouts import IndexSpace, FieldSpace; from isoviz.planner import Transfer, plan\n"
        "t = Transfer.whole(IndexSpace(x=64), FieldSpace(a='u1'), 'node0.sys', '<F, x>', 'node1.sys', '<F, x>')\n"
        "plan(t, preset('two-node'), 'full')\n"
        "print([m for m in ('pulp', 'highspy', 'networkx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.usefixtures("no_leaked_threads", "ctrl_c_interrupts")
def test_ctrl_c_stops_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """While HiGHS works the main thread still answers; the solver is told to stop."""
    import highspy

    from isoviz.planner.program.mip_rows import Rows

    draw = random.Random(1)
    rows = Rows("hard")  # a market split: no solver proves it soon
    names = [rows.binary(f"x{k}") for k in range(60)]
    slack = [rows.variable(f"s{k}", 0.0, None) for k in range(12)]
    for k in range(6):
        weights = [float(draw.randrange(100)) for _ in names]
        half = float(sum(weights) // 2)
        terms = list(zip(names, weights, strict=True))
        rows.equal(f"split{k}", [*terms, (slack[2 * k], 1.0), (slack[2 * k + 1], -1.0)], half)
    rows.minimise([(name, 1.0) for name in slack])
    main_thread = threading.main_thread().ident
    assert main_thread is not None
    real = highspy.Highs.run
    pressers = []

    def run(self: highspy.Highs) -> object:
        pressers.append(threading.Thread(target=signal.pthread_kill, args=(main_thread, signal.SIGINT)))
        pressers[-1].start()
        return real(self)

    monkeypatch.setattr(highspy.Highs, "run", run)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):  # far before the end, which no test waits for
        rows.solve()
    assert signal.getsignal(signal.SIGINT) is before
    for presser in pressers:
        presser.join()


# ---- what is shown


def test_explanations_carry_it() -> None:
    explanation = explain(transfer(), TWO_NODES, "program")
    whole = explanation.whole
    assert whole is not None and whole.finished and whole.gap <= TOLERANCE
    text = explanation_text(explanation)
    assert "The program of all paths" in text
    assert f"{whole.variables:,} variables ({whole.binaries:,} of them 0 or 1), {whole.constraints:,} constraints" in text
    assert "solved in" in text and "Binding rows" in text
    data = json.loads(json.dumps(explanation_to_json(explanation), allow_nan=False))["whole_program"]
    assert data["variables"] == whole.variables and data["bound"] == whole.bound and data["solver_seconds"] > 0
    assert explain(transfer(), TWO_NODES, "full").whole is None


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    out, error = capsys.readouterr()
    return status, out, error


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lp = tmp_path / "all paths.lp"
    status, out, error = call(capsys, "plan", EXAMPLE, "--planner", "program", "--explain", "--lp", str(lp))
    assert status == 0
    assert "The program of all paths" in out and "variables" in out and "Binding rows" in out
    assert "solved in" in error and error.count("\n") == 1
    assert optimum(lp) == pytest.approx(0.0, abs=1e-8)  # the reference of the example is its bound, 3 GB/s
    status, out, _ = call(capsys, "plan", EXAMPLE, "--planner", "program")
    assert status == 0 and out.startswith("program plan for two-node")
    assert "no path sustains more than 3 GB/s" in out


def optimum(lp: Path) -> float:
    """What another run of HiGHS finds in an LP file."""
    import highspy

    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    assert model.readModel(str(lp)) == highspy.HighsStatus.kOk
    model.run()
    return float(model.getObjectiveValue())


def test_names_of_memories_that_lp_files_cannot_hold(tmp_path: Path) -> None:
    names = ["a-b", "a+b", "ä/b"]
    machine = Machine("m", memories(*names), [*copies(f"{names[0]}>{names[1]}", f"{names[1]}>{names[2]}")])
    found = whole_solution(bytes_from(names[0], names[2]), machine)
    assert found is not None
    found.write(tmp_path / "out.lp")
    assert optimum(tmp_path / "out.lp") == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("where", ["missing/out.lp", "."])
def test_an_lp_file_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str) -> None:
    status, out, error = call(capsys, "plan", EXAMPLE, "--lp", str(tmp_path / where))
    assert (status, out) == (2, "")
    assert error.startswith("isoviz: error:") and error.count("\n") == 1


def test_the_transfer_file_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "t.toml"
    copy.write_bytes(Path(EXAMPLE).read_bytes())
    status, _, error = call(capsys, "plan", str(copy), "--lp", str(copy))
    assert status == 2 and "is the transfer file itself" in error
    assert copy.read_bytes() == Path(EXAMPLE).read_bytes()
    assert issubclass(FileError, InputError)


# ---- the program of a plan's own path


@pytest.mark.parametrize("planner", ["auto", "full", "simple", "spsl", "spdl", "program"])
def test_each_shown_plan_carries_the_program_of_its_path(capsys: pytest.CaptureFixture[str], planner: str) -> None:
    status, out, _ = call(capsys, "plan", EXAMPLE, "--planner", planner)
    assert status == 0
    assert "program of this path: at most " in out and "binding: TP ≤ tp_" in out
    status, out, _ = call(capsys, "plan", EXAMPLE, "--planner", planner, "--json")
    data = json.loads(out)
    program = data["program"]
    assert data["throughput"] <= program["bound"] * (1 + 1e-9)
    assert program["binding"] and all(row["price_up"] is not None for row in program["binding"])
    if planner in ("full", "program"):
        assert program["bound"] == pytest.approx(3e9, rel=1e-9)
        assert set(program["sizes"]) == {"x_in", "y_in"}


def test_a_plan_above_its_bound_is_an_internal_error() -> None:
    made = plan(transfer(), TWO_NODES, "full")
    known = certificate(made, TWO_NODES)
    assert certificate(made, TWO_NODES) is known  # kept
    with pytest.raises(InternalError, match="allows at most"):
        certificate(made.changed(throughput=known.bound * (1 + 1e-6)), TWO_NODES)


@pytest.mark.full
def test_a_page_shows_the_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "page.html"
    status, _, _ = call(capsys, "show", EXAMPLE, "--planner", "program", "-o", str(out))
    assert status == 0
    text = out.read_text()
    assert "The program of all paths" in text and "variables (" in text
    assert "program of this path: at most 3 GB/s" in text
    status, _, _ = call(capsys, "show", EXAMPLE, "-o", str(out))
    assert status == 0 and "program of this path: at most 3 GB/s" in out.read_text()


def test_chunks_without_buffers_may_be_longer_than_slots() -> None:
    """A machine that says what chunks cost has long ones where nothing is held: its plan is not above its bound."""
    channels = [Channel("", "Memcpy", "a", "b", Sampled(((1.0, 1e3), (1e9, 1e9))))]
    machine = Machine("m", memories("a", "b"), channels, limits=Limits(slot_limit=1 << 10, chunk_seconds=1e-3))
    made = plan(bytes_from("a", "b"), machine, "full")
    assert made.chunk_bytes > 1 << 10
    assert made.throughput <= certificate(made, machine).bound * (1 + 1e-9)
    found = whole_solution(bytes_from("a", "b"), machine)
    assert found is not None and made.throughput <= found.bound * (1 + 1e-9)
