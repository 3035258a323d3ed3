"""Explanations as text: every part is there, columns fit a terminal, sums agree, sentences say what the values say."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from isoviz.document import WIDTH
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import Constant, LatencyBandwidth, preset
from isoviz.planner import Explanation, Options, Transfer, explain
from isoviz.planner.explanation.explanation import Crossover
from isoviz.planner.explanation.explanation_document import explanation_text
from isoviz.planner.explanation.explanation_words import (
    agreement,
    allowed,
    blocks_of,
    channels_text,
    count_text,
    path_text,
    price_text,
    sizes_text,
    symbols,
    time_parts,
    verdict,
)
from isoviz.planner.explanation.rival_words import compared_text, crossover_text, crossovers_text, difference, ranking_text
from isoviz.planner.program.path_bound import Monomial, PathProgram, SpaceRow, ThroughputRow, Variable, bisect, solve
from isoviz.units import format_rate, format_seconds

MACHINE = preset("two-node")
SMALL, LITTLE = Options(slot_limit=2**22), Options(memory_limit=2**20)
GPU0, GPU1 = "node0.fbm0", "node1.fbm0"
CASES: dict[str, tuple[dict[str, int], str, str, str, str, Options]] = {
    "transposed": ({"x": 8192, "y": 8192}, "complex128", f"{GPU0} <F, x, y>", f"{GPU1} <F, y, x>", "full", Options()),
    "simple": ({"x": 8192, "y": 8192}, "complex128", f"{GPU0} <F, x, y>", f"{GPU1} <F, y, x>", "simple", SMALL),
    "one hop": ({"x": 512, "y": 64}, "int32", "node0.sys <F, x, y>", "node0.reg <y, x, F>", "direct", Options()),
    "no conversion": ({"x": 512, "y": 64}, "int32", f"{GPU0} <F, x, y>", f"{GPU1} <F, x, y>", "full", Options()),
    "one dimension": ({"x": 1 << 20}, "float32", f"{GPU0} <F, x>", f"{GPU1} <x, F>", "full", Options()),
    "one chunk": ({"x": 16, "y": 16}, "int8", f"{GPU0} <F, x, y>", f"{GPU1} <y, F, x>", "full", Options()),
    "limit": ({"x": 4096, "y": 64}, "int64", "node0.dsk <F, x, y>", f"{GPU1} <y, F, x>", "full", LITTLE),
}  # fmt: skip


def transfer(sizes: dict[str, int], dtype: str, source: str, destination: str) -> Transfer:
    here, first = source.split(" ", 1)
    there, last = destination.split(" ", 1)
    return Transfer.whole(IndexSpace.of(sizes), FieldSpace(a=dtype, b=dtype), here, first, there, last)


@cache
def made(name: str) -> Explanation:
    sizes, dtype, source, destination, planner, options = CASES[name]
    return explain(transfer(sizes, dtype, source, destination), MACHINE, planner, options)


@pytest.mark.parametrize("name", CASES)
def test_page_has_every_part_and_fits(name: str) -> None:
    explanation = made(name)
    text = explanation_text(explanation)
    assert explanation_text(explanation) == text
    for words in ("Why this plan", "PREFIX", "constraint", "maximise", "Block sizes", "Where the time goes", "The candidates"):
        assert words in text
    assert max(map(len, text.splitlines())) <= WIDTH + 4
    assert all(line == line.rstrip() for line in text.splitlines())
    assert "nan" not in text and "None" not in text and "\xa0" not in text
    for stage in explanation.stages:
        assert stage.memory in text
        assert stage.kind in text
    for state in explanation.solution.rows:
        assert state.label in text
    assert text.count("◄ binding") == len(explanation.solution.binding)
    for line in explanation.solution.text.splitlines():
        assert line in text


@pytest.mark.parametrize("name", CASES)
def test_time_is_the_sum_of_its_parts(name: str) -> None:
    explanation = made(name)
    parts = time_parts(explanation)
    assert parts.seconds == pytest.approx(explanation.plan.objective, rel=1e-9)
    assert parts.seconds - parts.ahead == pytest.approx(explanation.plan.seconds, rel=1e-9)
    assert parts.chunks == pytest.approx(1) or explanation.plan.chunk_count > 1
    assert min(parts.setup, parts.filling, parts.period) >= 0 and parts.steady >= -1e-15
    assert format_seconds(parts.filling) in explanation_text(explanation)


@pytest.mark.parametrize("name", CASES)
def test_columns_stand_below_each_other(name: str) -> None:
    lines = explanation_text(made(name)).splitlines()
    at = next(k for k, line in enumerate(lines) if "d TP / d bound" in line)
    column = lines[at].index("d TP")
    for line in lines[at + 1 : lines.index("", at)]:
        assert line[column - 2 : column] in ("  ", "") and line[column : column + 1] != " "


def test_prefixes_are_symbols() -> None:
    stages = made("simple").stages
    found = [symbols(here, there) for here, there in pairwise(stages)]
    assert found == ["|F| × x_in", "|F|", "TOTAL", "|F| × y_in"]
    stages = made("one hop").stages
    assert symbols(*stages) == "|f|"


def test_blocks_of_the_plan_lie_within_what_is_allowed() -> None:
    for name in ("simple", "one dimension"):
        taken, ranges = blocks_of(made(name)), allowed(made(name))
        assert taken and set(taken) == set(ranges) == set(made(name).program.highs)
        for variable, size in taken.items():
            low, high = ranges[variable]
            assert low * (1 - 1e-6) <= size <= high * (1 + 1e-6)
            assert f"{variable} = {size:,}" in explanation_text(made(name))


def test_without_blocks_it_says_so() -> None:
    assert "No hop between two buffers converts" in sizes_text(made("one hop"))[0]
    assert sizes_text(made("one hop"))[-1] == "All of it moves as one chunk."
    assert "Blocks hold whole dimensions" in sizes_text(made("one chunk"))[0]
    assert blocks_of(made("no conversion")) == {}


def test_two_ways_agree_and_steps_are_cut() -> None:
    explanation = made("simple")
    count = len(explanation.bisection.steps)
    assert count > 8
    said = agreement(explanation)
    assert f"{count} steps" in said and format_rate(explanation.solution.throughput) in said and "relative" in said
    text = explanation_text(explanation)
    assert (
        f"{count - 6} more" in text
        and re.search(rf"^ +{count} .*GB/s", text, re.M)
        and not re.search(r"^ +7 +\d.*\b(yes|no)\b", text, re.M)
    )
    assert "feasible?" not in explanation_text(made("one hop"))


def test_many_candidates_are_cut() -> None:
    explanation = made("transposed")
    assert len(explanation.candidates) > 10
    assert f"and {len(explanation.candidates) - 10} more" in explanation_text(explanation)
    assert f"and {len(explanation.candidates) - 3} more" in explanation_text(explanation, most=3)
    assert " more\n" not in explanation_text(explanation, most=1000)
    many = replace(explanation, candidates=explanation.candidates * 2)
    assert f"and {len(many.candidates) - 10} more" in explanation_text(many)


def test_a_plan_that_is_not_the_fastest_says_so() -> None:
    explanation = made("simple")
    assert "would be faster than the simple planner's" in ranking_text(explanation)
    rival = explanation.candidates[1]
    turn = Crossover("slot_limit", "", 2.0**25, 2.0**26, "B", rival.channels, rival.converting, rival.channels, (1, 2))
    kept, already = crossovers_text(replace(explanation, crossovers=(turn,)))
    assert kept == [] and "win as things are" in already
    assert "next best" in ranking_text(made("transposed"))


def test_where_candidates_read_otherwise_than_the_plan_the_words_have_both_times() -> None:
    assert compared_text(made("transposed")) == ""
    sapling = preset("sapling", nodes=4)
    cases = (
        (3000, 2000, "<F, y, x>", "The last chunk is shorter"),
        (214, 298, "<F, y_in=9, x, y_out>", "Padding moves along"),
    )
    for x, y, there, reason in cases:
        ends = ("node0.fbm0", "<F, x, y>", "node3.fbm0", there)
        explanation = explain(Transfer.whole(IndexSpace(x=x, y=y), FieldSpace(v="f8", w="f4"), *ends), sapling, "simple")
        plan = explanation.plan
        said = compared_text(explanation)
        assert f"compared by T, {format_seconds(plan.objective)} for this one. {reason}" in said
        assert said.endswith(f" {format_seconds(plan.seconds)} in all.")
    local = preset("local", measure="assumed")
    fields = FieldSpace(re="f4", im="f4", weight="f8")
    ends = ("node0.dsk", "<F, x, y>", "node0.sys", "<x, y, F>")
    explanation = explain(Transfer.whole(IndexSpace(x=2048, y=2048), fields, *ends), local)
    shown, whole = format_seconds(explanation.candidates[0].least), format_seconds(explanation.plan.objective)
    assert f"T and the work that chunks make for an engine, {shown} for this one; T alone is {whole}." in compared_text(
        explanation
    )
    for name in CASES:
        explanation = made(name)
        shown, ours = format_seconds(explanation.candidates[0].least), format_seconds(explanation.plan.seconds)
        said = compared_text(explanation)
        assert (said == "") == (shown == ours)
        assert said == "" or f", {shown} for this one" in said


def test_a_candidate_with_a_bound_only() -> None:
    explanation = made("transposed")
    chosen = explanation.candidates[0]
    rival = replace(explanation.candidates[-1], seconds=None, throughput=None, limit="no room: none")
    text = explanation_text(replace(explanation, candidates=(chosen, rival)))
    assert f"≥ {format_seconds(rival.bound)}" in text and "no room: none" in text
    alone = explanation_text(replace(explanation, candidates=(chosen,)))
    assert "one path was worked out" in alone and "next best" not in alone


@pytest.mark.parametrize(
    ("ratio", "bare", "words"),
    [
        (1.0, "same", "just as fast"),
        (1.5, "+50 %", "50 % slower"),
        (0.5, "−50 %", "50 % faster"),
        (2.7, "2.7 ×", "2.7 times as slow"),
        (6160, "6,160 ×", "6,160 times as slow"),
    ],
)
def test_differences(ratio: float, bare: str, words: str) -> None:
    chosen = replace(made("transposed").candidates[0], seconds=2.0)
    other = replace(chosen, seconds=2.0 * ratio)
    assert difference(other, chosen) == bare and difference(other, chosen, words=True) == words


def test_turns_are_sentences() -> None:
    rival = ("a.m->a.n", "a.n->b.m")
    wide = Crossover("bandwidth", "a.m->a.n", 3e9, 4.5e9, "B/s", rival, None, rival, (1e6, 1e12))
    assert crossover_text(wide) == (
        "If the throughput of a.m->a.n were at least 4.5 GB/s (1.5 × of 3 GB/s), a.m → n → b.m would be the fastest path."
    )
    less = replace(wide, parameter="slot_limit", channel="", now=2.0**25, value=2.0**20, unit="B")
    assert "slot limit TH were at most 1 MiB (0.0312 × of 32 MiB)" in crossover_text(less)
    size = replace(wide, parameter="size", channel="x", now=8192.0, value=64.0, unit="")
    assert "size of x were at most 64 (0.00781 × of 8,192), path 2 would" in crossover_text(size, "path 2")
    assert "only 0.07 % higher than 3 GB/s, a.m" in crossover_text(replace(wide, value=3.0021e9))
    never = crossover_text(replace(wide, value=None, winner=()))
    assert (
        never == "Whatever the throughput of a.m->a.n between 1 MB/s and 1 TB/s: a.m → n → b.m does not become the fastest path."
    )
    assert "b.x → y would win, before a.m" in crossover_text(replace(wide, winner=("b.x->b.y",)))


def test_turns_stand_on_the_page() -> None:
    explanation = made("transposed")
    rival = explanation.candidates[1]
    turn = Crossover("slot_limit", "", 2.0**25, 2.0**14, "B", rival.channels, rival.converting, rival.channels, (1, 2))
    text = explanation_text(replace(explanation, crossovers=(turn,)))
    assert "What would make a rival win" in text and "at most 16 KiB" in text and "path 2 (node0.fbm0 " in text
    assert "What would make a rival win" not in explanation_text(explanation)


def test_paths_name_nodes_where_they_change() -> None:
    assert path_text(("a.m", "a.n", "b.n", "b.n"), 1) == "a.m → n ⇒ b.n → n"
    assert path_text(("left", "right")) == "left → right"
    assert channels_text(("fast lane", "a->b")) == "fast lane, a->b"


def solved(program: PathProgram) -> Explanation:
    return replace(made("simple"), program=program, solution=solve(program), bisection=bisect(program))


def test_prices_and_verdicts() -> None:
    tp = LatencyBandwidth(1e-6, 1e9)
    run = ThroughputRow(0, "GPURead", tp, Monomial(16, ("x",), text="|F| × x"))
    explanation = solved(PathProgram((Variable("x", 2.0**20),), (run,), (SpaceRow(1, Monomial(16, ("x",)), 2.0**14),)))
    throughput, space = explanation.solution.rows
    assert price_text(throughput).endswith("per MB/s") and price_text(space).endswith("per KiB")
    assert "want" in " ".join(verdict(explanation)) and "price of space" in " ".join(verdict(explanation))
    tight = solved(PathProgram((Variable("x", 64.0),), (run,), (SpaceRow(1, Monomial(16, ("x",)), 16.0),)))
    assert price_text(tight.solution.rows[1]).endswith("less leaves no room")
    equal = solved(PathProgram((), tuple(ThroughputRow(k, "Memcpy", Constant(1e9), Monomial(64)) for k in range(2))))
    assert price_text(equal.solution.rows[0]) == "0 per MB/s more, −1 MB/s less"
    assert "raising a single bound" in " ".join(verdict(equal)) and "peak of its channel" in verdict(equal)[0]
    assert price_text(made("transposed").solution.rows[0]) == "0"
    assert price_text(solve(equal.program, prices=False).rows[0]) == ""


def test_long_layouts_stand_below_the_table() -> None:
    explanation = made("simple")
    names = ", ".join(f"dimension{k}_in=16, dimension{k}_out" for k in range(4))
    middle = tuple(replace(stage, layout=f"<F, {names}>") for stage in explanation.stages[1:-1])
    text = explanation_text(replace(explanation, stages=(explanation.stages[0], *middle, explanation.stages[-1])))
    assert f"\n      ⟨F, {names}⟩\n  m2  " in text


def test_counts() -> None:
    assert [count_text(value) for value in (1, 8192.0000001, 1.98242, 2539.4, 54.25)] == ["1", "8,192", "1.98", "2,539", "54.2"]


def test_an_explanation_prints_itself() -> None:
    assert str(made("simple")) == f"{made('simple')}" == explanation_text(made("simple"))
