"""Notebook 3: the learner's program, the planner and bisection agree, and cheap ways to be right are none."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from course_cases import FULL, judges, solutions

import isoviz
from isoviz.course import lessons, path_rates
from isoviz.course.checking import judged, judged_again
from isoviz.course.classroom import drawn
from isoviz.course.exercise import NotAnAnswer
from isoviz.course.notebook_3 import EXERCISES
from isoviz.course.notebook_3.blocks_by_hand import (
    KIND,
    MEMORIES,
    SHARE,
    ByHand,
    buffer_layouts,
    hops_of,
    machine,
    machine_of,
    transfer_of,
)
from isoviz.course.notebook_3.missing_channels import chain_of
from isoviz.course.notebook_3.missing_channels import machine_of as unfinished
from isoviz.course.notebook_3.path_program import REASONS, hidden
from isoviz.machines import Constant, LatencyBandwidth, Machine, Memory, MemoryKind
from isoviz.machines.edits.channel_edits import connected, with_channel
from isoviz.planner.program.path_bound import PathProgram, solve
from isoviz.planner.program.program_rows import Monomial, SpaceRow, ThroughputRow, Variable

TASKS = {each.name: each for each in EXERCISES}
SEEDS = [f"seed {number}" for number in range(50 if FULL else 2)]


def given(name: str, seed: str = "ada") -> dict[str, Any]:
    return drawn(TASKS[name], seed)


def verdict(name: str, answer: object, seed: str = "ada") -> Any:
    return judged(TASKS[name], answer, given(name, seed))


def unread(name: str, answer: object, seed: str = "ada") -> str:
    with pytest.raises(NotAnAnswer) as told:
        verdict(name, answer, seed)
    return str(told.value)


# ---- one number by four ways


def by_planner(data: path_rates.Data) -> tuple[float, float]:
    """What the program of isoviz's planner finds for a path: the throughput, and the price of the slot."""
    sizes = {"x_in": data["x"], "y_in": data["y"]}
    runs = [("x_in",), (), (), ("y_in",)]
    rows = [
        ThroughputRow(at, hop["name"], _function(hop), Monomial(data["entry"], factors))
        for at, (hop, factors) in enumerate(zip(data["hops"], runs, strict=True))
    ]
    slot = SpaceRow(1, Monomial(data["entry"], ("x_in", "y_in")), data["slot"])
    solution = solve(PathProgram(tuple(Variable(name, float(high)) for name, high in sizes.items()), tuple(rows), (slot,)))
    state = next(row for row in solution.rows if row.kind == "space")
    return solution.throughput, (state.price_up or 0.0) * state.bound / solution.throughput


def _function(hop: path_rates.Data) -> Constant | LatencyBandwidth:
    return LatencyBandwidth(hop["latency"], hop["bandwidth"]) if hop["latency"] else Constant(hop["bandwidth"])


@pytest.mark.parametrize("seed", SEEDS)
def test_planner_bisection_and_closed_form_agree(seed: str) -> None:
    answers = {each.__name__: each for each in solutions(3)["3.2"]({})}
    for (data,), reason in zip(hidden(given("3.2", seed)), REASONS * 2, strict=True):
        throughput, price = by_planner(data)
        assert math.isclose(path_rates.sustained(data), throughput, rel_tol=1e-6), reason
        assert math.isclose(answers["by_bisection"](data)[0], throughput, rel_tol=1e-6), reason
        assert math.isclose(judges(3).searched(data), throughput, rel_tol=1e-6), reason
        assert math.isclose(answers["program"](data)[0], throughput, rel_tol=1e-4), reason
        assert math.isclose(path_rates.price_of_slot(data), price, abs_tol=1e-4), reason
        assert math.isclose(answers["program"](data)[1], price, abs_tol=1e-3), reason


@pytest.mark.parametrize("seed", SEEDS)
def test_the_most_of_a_path_by_hand_is_that_of_the_planner(seed: str) -> None:
    numbers = given("3.1", seed)
    options = isoviz.Options(slot_limit=numbers["slot"])
    solution = isoviz.explain(plan_of(numbers, 64, 64), machine_of(numbers), options=options).solution
    assert math.isclose(path_rates.sustained(numbers), solution.throughput, rel_tol=1e-6)


def test_prices_are_those_of_the_planner() -> None:
    data = given("3.3")
    gains = {hop["name"]: path_rates.gain(data, hop["name"], 1.00001) * 1e3 for hop in data["hops"]}
    assert math.isclose(sum(gains.values()), 1.0, rel_tol=1e-3), "prices of hops add up to one"
    _, price = by_planner(data)
    assert math.isclose(path_rates.gain(data, "slot", 1.00001) * 1e3, price, rel_tol=1e-3)


def test_the_paper_by_hand_within_three_per_cent_of_the_most() -> None:
    hops = hops_of(machine(), MEMORIES)
    numbers: dict[str, Any] = {
        **given("3.1"),
        "hops": hops,
        "dtype": "complex128",
        "entry": 16,
        "x": 8192,
        "y": 8192,
        "slot": 32 << 20,
    }
    numbers["target"] = math.ceil(SHARE * path_rates.sustained(numbers) / 1e7) * 10**7
    found = judged(TASKS["3.1"], (2048, 1024), numbers)
    assert found.verdict.right
    assert "3.000 GB/s" in found.verdict.says
    assert "100.0 %" in found.verdict.cost
    for seed in SEEDS:
        numbers = given("3.1", seed)
        plan = KIND.computed(TASKS["3.1"].right(numbers), numbers, slot_limit=numbers["slot"])
        assert plan.throughput >= 0.97 * path_rates.sustained(numbers)


# ---- 3.0


def test_a_machine_is_read_by_what_was_added() -> None:
    numbers = given("3.0")
    right = TASKS["3.0"].right(numbers)
    made = TASKS["3.0"].kind.built(right, numbers)  # type: ignore[attr-defined]
    moved = replace(made, positions={made.memories[0].name: (3.0, 4.0)})
    assert verdict("3.0", made).verdict.right
    assert verdict("3.0", moved).verdict.right, "where memories stand does not matter"
    renamed = with_channel(made, made.channels[-1].name, name="mine")
    assert verdict("3.0", renamed).verdict.right
    picture = judged(TASKS["3.0"], made, numbers).verdict.picture
    assert picture is not None
    assert all(memory.split(".")[1] in picture()._repr_html_() for memory in chain_of(numbers))


def test_what_was_given_of_a_machine_stays() -> None:
    numbers = given("3.0")
    made = TASKS["3.0"].kind.built(TASKS["3.0"].right(numbers), numbers)  # type: ignore[attr-defined]
    first = unfinished(numbers).channels[0]
    without = replace(made, channels=tuple(each for each in made.channels if each.name != first.name))
    faster = with_channel(made, first.name, throughput=LatencyBandwidth(1e-9, 1e12))
    larger = replace(made, memories=(*made.memories, Memory("node0.more", MemoryKind.SYS, 0)))
    assert f"the channel {first.name} was removed or changed" in unread("3.0", without)
    assert f"the channel {first.name} was removed or changed" in unread("3.0", faster)
    assert "a memory was added" in unread("3.0", larger)
    assert "expected the pane, a machine, or pairs" in unread("3.0", [("node0.sys",)])
    assert "node9.sys" in unread("3.0", [("node9.sys", "node0.reg")])


def test_a_channel_that_no_machine_can_have_is_wrong_as_others_against_the_rules_are() -> None:
    task, numbers = TASKS["3.0"], given("3.0")
    for ends in (("node1.fbm0", "node0.dsk"), ("node0.fbm0", "node1.reg")):
        found = judged(task, [ends], numbers)
        assert found.verdict.says == f"This machine can have no channel from {ends[0]} to {ends[1]}."
        assert found.model == "too-direct" and judged_again(task, task.kind.keep(found.read), numbers).model == "too-direct"


@pytest.mark.parametrize("to_disk", [True, False])
def test_the_detour_that_is_told_is_the_learners_own(to_disk: bool) -> None:
    task = TASKS["3.0"]
    numbers = next(each for k in range(50) if (each := given("3.0", f"seed {k}"))["to_disk"] == to_disk)
    detour = next(each for each in task.models if each.name == "detour").answer(numbers)
    words = judged(task, [(each.source, each.destination) for each in detour], numbers).verdict.words
    ends = chain_of(numbers)
    assert (words["before"], words["after"]) == (tuple(ends[-2:]) if to_disk else tuple(ends[:2]))


def test_from_where_no_channel_leads_data_get_nowhere() -> None:
    every = (given("3.0", f"seed {number}") for number in range(50))
    numbers = next(each for each in every if not unfinished(each).outgoing(chain_of(each)[0]))
    ends = chain_of(numbers)
    assert "They get nowhere." in judged(TASKS["3.0"], [ends[:-3:-1]], numbers).verdict.says


def test_a_shortcut_against_the_rules_is_none() -> None:
    numbers = given("3.0")
    ends = chain_of(numbers)
    gpu, disk = (ends[0], ends[-1]) if numbers["to_disk"] else (ends[-1], ends[0])
    near = f"{disk.split('.')[0]}.{gpu.split('.')[1]}"  # the GPU beside the disk
    pairs = [(gpu, near), (near, disk)] if numbers["to_disk"] else [(disk, near), (near, gpu)]
    made = unfinished(numbers)
    for pair in pairs:
        made, _name = connected(made, *pair)
    found = verdict("3.0", made)
    assert not found.verdict.right
    assert found.model == "too-direct"


# ---- 3.1


def plan_of(numbers: dict[str, Any], x: int, y: int, on: Machine | None = None) -> isoviz.Plan:
    return isoviz.cost(
        transfer_of(numbers), on or machine_of(numbers), ", ".join(MEMORIES), buffer_layouts(x, y),
        options=isoviz.Options(slot_limit=numbers["slot"]), over_limits=True,
    )  # fmt: skip


def test_a_plan_is_computed_again() -> None:
    numbers = given("3.1")
    small = plan_of(numbers, 8, 8)
    forged = replace(small, paths=(replace(small.paths[0], throughput=9e9, objective=1e-6),))
    assert verdict("3.1", forged).model == "both-runs-short"
    over = plan_of(numbers, numbers["x"], numbers["y"])
    assert over.violations
    assert verdict("3.1", replace(over, violations=(), notes=())).model == "slot-forgotten"


def test_another_machine_array_or_path_is_no_answer() -> None:
    numbers = given("3.1")
    faster = with_channel(machine_of(numbers), "node0.fbm0->node0.zcm", throughput=LatencyBandwidth(1e-9, 1e11))
    assert "for another machine" in unread("3.1", plan_of(numbers, 64, 64, faster))
    assert "of another transfer" in unread("3.1", plan_of({**numbers, "x": numbers["x"] // 2}, 64, 64))
    planned = isoviz.plan(transfer_of(numbers), machine_of(numbers), options=isoviz.Options(slot_limit=numbers["slot"]))
    assert "expected a plan on the path node0.fbm0, node0.zcm" in unread("3.1", planned)
    kept = {"memories": ["node0.fbm0", "node1.fbm0"], "layouts": [], "chunk": None, "slots": 2}
    with pytest.raises(NotAnAnswer):
        judged_again(TASKS["3.1"], kept, numbers)


@pytest.mark.parametrize(
    "answer", [(0, 5), (10**9, 1), (-3, 4), (1.5, 2), (True, True), "64", {"x": 64, "y": 64}, (64,), (1, 2, 3)]
)
def test_sizes_that_no_block_has_are_not_counted(answer: object) -> None:
    assert "expected" in unread("3.1", answer)


@pytest.mark.parametrize("form", ["({}, {})", "{}, {}", "{}.0,{}", "[{}; {}]"])
def test_sizes_may_be_written(form: str) -> None:
    sizes = {"x_in": 96, "y_in": 64}
    plain = verdict("3.1", (96, 64)).read
    assert verdict("3.1", form.format(96, 64)).read == plain
    assert all(verdict("3.1", each).read == plain for each in (sizes, (96.0, 64), ("96", "64 "), [96, "64"]))


def test_a_kept_plan_may_be_anything() -> None:
    numbers = given("3.1")
    for layouts in (["<F", "<F", "<F"], ["<F, x, y>"], [], ["<F, x_in=0, x_out, y>"] * 3):
        found = judged_again(TASKS["3.1"], {"memories": list(MEMORIES), "layouts": layouts, "chunk": 64, "slots": 2}, numbers)
        assert not found.verdict.right


def test_layouts_may_be_chosen_freely() -> None:
    numbers = given("3.1")
    first, *_, last = numbers["hops"]
    x, y = (math.ceil(path_rates.run_for(hop, numbers["target"]) / numbers["entry"]) for hop in (first, last))
    rows, columns = buffer_layouts(x, y)[:2]
    answers = [
        (x, y),
        ByHand(MEMORIES, (rows, columns, columns), numbers["slot"]),
        ByHand(MEMORIES, (rows.replace("x_out, y_out", "y_out, x_out"), *[columns.replace("x_out, y_out", "y_out, x_out")] * 2)),
        ByHand(MEMORIES, buffer_layouts(x, y), slots=3),
    ]
    for answer in answers:
        kept = KIND.keep(answer) if isinstance(answer, ByHand) else KIND.keep(KIND.read(answer, numbers))
        found = judged_again(TASKS["3.1"], kept, numbers)
        assert found.verdict.right, found.verdict.says
        assert "buffers take" in found.verdict.cost
    # Turned between the second and the third buffer, the network moves runs of one entry.
    late = judged_again(TASKS["3.1"], KIND.keep(ByHand(MEMORIES, (rows, rows, columns))), numbers)
    assert not late.verdict.right


def test_the_picture_is_that_of_the_own_plan() -> None:
    found = verdict("3.1", (100, 37))
    assert found.verdict.picture is not None
    shown = found.verdict.picture()._repr_html_()
    entry = given("3.1")["entry"]
    for hop, size in ((0, 100), (3, 37)):
        rate = path_rates.rate(given("3.1")["hops"][hop], entry * size)
        assert f"{rate / 1e9:.3f} GB/s" in shown
    assert "yours" in shown


# ---- 3.2


def constant(data):  # type: ignore[no-untyped-def]
    """The same for every path."""
    return 3e9, 0.0


def clears(data):  # type: ignore[no-untyped-def]
    """It spoils what it is given."""
    data.clear()
    return 1.0, 1.0


def reads_isoviz(data):  # type: ignore[no-untyped-def]
    """It raises in its own third line."""
    return data["latency"]


def several(data):  # type: ignore[no-untyped-def]
    """Too many numbers."""
    return 3e9, 0.2, 1.0


@pytest.mark.parametrize(
    ("function", "model", "says"),
    [(constant, "", "your TP is 3e+09 B/s"), (clears, "", "less than the path"), (reads_isoviz, "raised", "KeyError"),
     (several, "returned", "two finite numbers")],
)  # fmt: skip
def test_cheap_functions_are_told(function: Any, model: str, says: str) -> None:
    found = verdict("3.2", function)
    assert not found.verdict.right
    assert found.model == model
    assert says in found.verdict.says


def test_every_reason_binds_in_hidden_paths() -> None:
    for seed in SEEDS:
        numbers = given("3.2", seed)
        allowed = [path_rates.bounds(data) for (data,) in hidden(numbers)]
        least = [min(each, key=each.__getitem__) for each in allowed]
        assert sorted({"x": "dimension", "y": "dimension"}.get(each, each) for each in least) == sorted(
            ["flat", "slot", "dimension"] * 2
        )
        assert numbers["example"] not in [data for (data,) in hidden(numbers)]


# ---- 3.3 to 3.P


def test_one_answer_is_not_right_for_many() -> None:
    seeds = [f"learner {number}" for number in range(60 if FULL else 12)]
    for name in ("3.3", "3.4", "3.5", "3.P"):
        task = TASKS[name]
        kept = task.kind.keep(task.right(given(name)))
        right = sum(judged_again(task, kept, given(name, seed)).verdict.right for seed in seeds)
        assert right <= len(seeds) / 4, name


def test_a_huge_factor_wins_and_is_not_yet_right() -> None:
    numbers = given("3.P")
    slot = TASKS["3.P"].right(numbers)["slot"]
    found = verdict("3.P", (1000, slot))
    assert not found.verdict.right
    assert "A smaller factor is enough" in found.verdict.says
    assert "at most 64 MiB" in unread("3.P", (1000, "1 GiB"))
    assert "at least 1 MiB" in unread("3.P", (1000, 0))
    assert "at least 1" in unread("3.P", (0.5, "8 MiB"))


def test_the_winning_change_wins_by_the_planners_program() -> None:
    numbers = given("3.P")
    right = TASKS["3.P"].right(numbers)
    changed = [
        {**hop, "bandwidth": hop["bandwidth"] * (right["factor"] if hop["name"] == numbers["changed"] else 1)}
        for hop in numbers["loser"]
    ]
    rates = [by_planner({**numbers, "slot": right["slot"], "hops": hops})[0] for hops in (numbers["winner"], changed)]
    assert rates[1] >= rates[0] * (1 - 1e-9)
    assert rates[1] <= rates[0] * 1.01


def test_fills_are_those_of_plans() -> None:
    for seed in SEEDS[:3]:
        numbers = given("3.4", seed)
        planned = isoviz.plan(transfer_of(numbers), machine(), options=isoviz.Options(slot_limit=numbers["slot"]))
        of = numbers["planner"]
        fill = TASKS["3.4"].right(numbers)["planner"]
        assert math.isclose(fill + of["chunks"] * max(of["seconds"]), planned.seconds, rel_tol=1e-2)


@pytest.mark.parametrize("name", [name for name in TASKS if name != "3.2"])
def test_every_answer_has_a_picture(name: str) -> None:
    task, numbers = TASKS[name], given(name)
    answers = [task.right(numbers), *(model.answer(numbers) for model in task.models)]
    for answer in answers:
        picture = judged_again(task, task.kind.keep(answer), numbers).verdict.picture
        assert picture is not None
        shown = picture()._repr_html_()
        assert "<svg" in shown or "<table" in shown
        assert "nan" not in re.findall(r"[a-z]+", shown)
    assert len({judged_again(task, task.kind.keep(each), numbers).verdict.picture()._repr_html_() for each in answers}) > 1  # type: ignore[misc]


def test_unusual_layouts_have_a_picture() -> None:
    rows, columns = buffer_layouts(60, 70)[:2]
    for layouts in ((rows, rows, columns), ("<F, x, y>",) * 3, ("<F, y, x>",) * 3, (rows, columns, "<F, y, x>")):
        found = judged_again(TASKS["3.1"], KIND.keep(ByHand(MEMORIES, layouts)), given("3.1"))
        assert not found.verdict.right
        if found.verdict.picture is not None:
            assert "<table" in found.verdict.picture()._repr_html_()


def test_panes_are_made_and_read(folder: Path) -> None:
    numbers = lessons.given("3.1")
    view = lessons.pane("3.1")
    try:
        plan = view.answer()
        assert plan.throughput < numbers["target"]
        assert lessons.check("3.1", plan).model == "both-runs-short"
        assert view.explanation is None or view.explanation.target == numbers["target"]
    finally:
        view.close()
    assert lessons.answered("3.1")
    editor = lessons.pane("3.0")
    try:
        assert lessons.check("3.0", editor.answer()).model == "gap"
    finally:
        editor.close()
    assert (folder / "progress.jsonl").exists()
