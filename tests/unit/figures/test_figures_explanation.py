"""Figures of explanations and sweeps: well-formed, self-contained, escaped, and showing what the values say."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache

import pytest
from html_cases import check_self_contained

from isoviz.figures import (
    block_region_svg,
    candidate_ranking_svg,
    constraint_table_html,
    explanation_html,
    plan_sections,
    sweep_html,
    sweep_svg,
)
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import ChannelKind, preset
from isoviz.planner import Explanation, Options, Sweep, Transfer, explain, explanation_text, sweep
from isoviz.planner.explanation.explanation import Region, SweepPoint, Turn
from isoviz.planner.explanation.explanation_words import layout_text, path_text
from isoviz.planner.program.path_bound import feasible_region
from isoviz.units import format_seconds

MACHINE = preset("two-node")
EVIL = "</title><script>alert(1)</script>&\"'"


def transfer(x: int, y: int, source: str, first: str, destination: str, last: str) -> Transfer:
    return Transfer.whole(IndexSpace(x=x, y=y), FieldSpace(v="complex128"), source, first, destination, last)


@cache
def made(name: str) -> Explanation:
    if name == "one hop":
        return explain(transfer(64, 32, "node0.sys", "<F, x, y>", "node0.reg", "<y, x, F>"), MACHINE, "direct")
    if name == "no conversion":
        return explain(transfer(512, 64, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, x, y>"), MACHINE, "full")
    options = Options(slot_limit=2**22 if name == "bound" else None)
    planner = "simple" if name == "bound" else "full"
    return explain(transfer(8192, 8192, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>"), MACHINE, planner, options)


CASES = ("transposed", "bound", "one hop", "no conversion")


def texts(svg: str) -> list[str]:
    """The words of a picture, in order; it is well-formed and has no scripts."""
    root = ET.fromstring(svg)
    assert not [node for node in root.iter() if node.tag.endswith("script")]
    return [words(node) for node in root.iter("{http://www.w3.org/2000/svg}text")]


def words(node: ET.Element) -> str:
    """What a text element shows, without its tooltip."""
    return (node.text or "") + "".join(child.tail or "" for child in node)


def inside(svg: str) -> None:
    """No text begins or ends far outside the picture (by the widths that the figures reckon with)."""
    from isoviz.figures.charts.svg import text_width

    root = ET.fromstring(svg)
    width, height = float(root.get("width") or 0), float(root.get("height") or 0)
    for node in root.iter("{http://www.w3.org/2000/svg}text"):
        if node.get("transform"):
            continue
        content = words(node)
        room = text_width(content, float(node.get("font-size") or 12), bold=node.get("font-weight") is not None) * 0.93
        x, y = float(node.get("x") or 0), float(node.get("y") or 0)
        left = x - room if node.get("text-anchor") == "end" else x - room / 2 if node.get("text-anchor") == "middle" else x
        assert left >= -1 and left + room <= width + 1, content
        assert 0 <= y <= height, content


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("theme", ["auto", "dark"])
def test_explanation_is_self_contained(name: str, theme: str) -> None:
    explanation = made(name)
    outline = check_self_contained(explanation_html(explanation, theme=theme))  # type: ignore[arg-type]
    assert outline.values("data-isoviz") == ["explanation"]
    for words in ("Constraints", "Block sizes", "Where the time goes", "Candidates", "Program"):
        assert words in outline.text
    assert explanation.solution.text.splitlines()[0] in outline.text
    assert explanation_text(explanation) in "".join(outline.words)


@pytest.mark.parametrize("name", CASES)
def test_page_gets_its_sections(name: str) -> None:
    explanation = made(name)
    text = "".join(plan_sections(explanation.plan, MACHINE, explanation=explanation))
    outline = check_self_contained(text)
    assert outline.tags.count("h1") == 1
    assert "Constraints" in outline.text and "Candidates" in outline.text and "held back by" in outline.text
    assert ("Block sizes that sustain" in outline.text) == (explanation.region is not None)
    without = check_self_contained("".join(plan_sections(explanation.plan, MACHINE)))
    assert "Constraints" not in without.text and "Hops in order" in without.text
    assert len(text) < 800_000


@pytest.mark.parametrize("name", CASES)
def test_constraint_table_has_every_row(name: str) -> None:
    explanation = made(name)
    outline = check_self_contained(constraint_table_html(explanation))
    said = outline.text.replace("\xa0", " ")
    for stage in explanation.stages:
        assert stage.memory in said and layout_text(stage.layout) in said and ChannelKind.words_for(stage.kind) in said
    for state in explanation.solution.rows:
        assert re.sub(r"^TP ≤ tp_[^(]*", "TP ≤ tp", state.label) in said
    assert said.count("● binding") == len(explanation.solution.binding)
    hops = {state.hop for state in explanation.solution.binding}
    assert outline.values("class").count("slow") == len(hops)
    assert outline.tags.count("tr") == 1 + len(explanation.stages)


def test_limits_of_the_whole_path_have_rows_of_their_own() -> None:
    made_of = transfer(2048, 64, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<y, F, x>")
    explanation = explain(made_of, MACHINE, "simple", Options(memory_limit=2**22))
    whole = [state for state in explanation.solution.rows if state.hop is None]
    outline = check_self_contained(constraint_table_html(explanation))
    assert whole and outline.text.count("whole path") == len(whole)


def test_ranking_shows_the_chosen_path_first() -> None:
    candidates = made("transposed").candidates
    svg = candidate_ranking_svg(candidates, most=5)
    said = texts(svg)
    inside(svg)
    assert said.count("chosen") == 1 and said.index("chosen") < said.index(
        path_text(candidates[1].memories, candidates[1].converting)
    )
    for each in candidates[:5]:
        assert path_text(each.memories, each.converting) in said and each.limit in said and format_seconds(each.least) in said
    assert any(text.startswith(f"and {len(candidates) - 5} more") for text in said)
    assert svg.count('height="14"') == 5


def test_ranking_is_logarithmic_only_where_times_are_far_apart() -> None:
    chosen, second, *_ = made("transposed").candidates
    near = candidate_ranking_svg((chosen, replace(second, seconds=chosen.least * 2)))
    assert "linear scale" in texts(near) and "0" in texts(near)
    widths = [float(width) for width in re.findall(r'width="([\d.]+)" height="14"', near)]
    assert widths[1] == pytest.approx(2 * widths[0], rel=0.01)
    far = candidate_ranking_svg((chosen, replace(second, seconds=chosen.least * 1e4)))
    assert "logarithmic scale" in texts(far)
    widths = [float(width) for width in re.findall(r'width="([\d.]+)" height="14"', far)]
    assert 0 < widths[0] < widths[1]
    inside(near)
    inside(far)


def test_ranking_outlines_what_has_a_bound_only() -> None:
    chosen, second, *_ = made("transposed").candidates
    svg = candidate_ranking_svg((chosen, replace(second, seconds=None, throughput=None)))
    assert svg.count('stroke-dasharray="4 3"') == 1 and f"≥ {format_seconds(second.bound)}" in texts(svg)


@pytest.mark.parametrize("count", [1, 60])
def test_ranking_of_one_and_of_many(count: int) -> None:
    chosen, *_ = made("one hop").candidates
    rivals = [replace(chosen, chosen=False, seconds=chosen.least * (1 + k), limit=EVIL) for k in range(1, count)]
    svg = candidate_ranking_svg((chosen, *rivals), theme="dark")
    inside(svg)
    assert svg.count('height="14"') == min(12, count)
    assert "No candidates." in texts(candidate_ranking_svg(()))


def test_region_names_its_sides_and_points() -> None:
    explanation = made("bound")
    assert explanation.region is not None
    svg = block_region_svg(explanation.region, explanation.program, marks=((2048, 1024, "Isometry 4.3"),))
    inside(svg)
    said = " ".join(texts(svg))
    assert said.count("Isometry 4.3") == 2 and "the plan" in said and "x_in = 2,048, y_in = 1,024" in said
    assert "(TH)" in said and "keeps up" in said and "of 8,192" in said
    assert {"a", "b", "c"} <= set(texts(svg))


def test_region_far_larger_than_a_point_shows_all_sizes() -> None:
    explanation = made("transposed")
    assert explanation.region is not None
    svg = block_region_svg(explanation.region, explanation.program)
    inside(svg)
    assert {"1", "8", "64", "512", "4,096"} <= set(texts(svg)) and "64 KiB" in texts(svg)
    assert "all there is" in " ".join(texts(svg))


@pytest.mark.parametrize("corners", [(), ((4.0, 5.0),), ((4.0, 5.0), (8.0, 5.0)), ((1.0, 1.0), (1.5, 1.0), (1.0, 1.5))])
def test_regions_without_area(corners: tuple[tuple[float, float], ...]) -> None:
    region = Region(EVIL, "y", 1e9, corners, (4.0, 5.0))
    svg = block_region_svg(region, marks=((4.0, 5.0, EVIL), (1.0, 1.0, "corner")))
    assert ("No sizes at all" in " ".join(texts(svg))) == (not corners)
    assert "<script" not in svg


def test_region_of_the_program_contains_its_polygon() -> None:
    explanation = made("bound")
    assert explanation.region is not None
    region = explanation.region
    corners = feasible_region(explanation.program, region.throughput, region.x, region.y)
    assert len(corners) == len(region.corners)
    path = next(data for data in re.findall(r' d="(M[^"]+Z)"', block_region_svg(region, explanation.program)))
    assert path.count("L") == len(corners) - 1


def point(value: float, seconds: float, name: str, converting: int | None = 0) -> SweepPoint:
    return SweepPoint(value, seconds, 1e9, ("a.m", f"a.{name}", "b.m"), (f"a.m->a.{name}", f"a.{name}->b.m"), converting)


def test_sweep_names_paths_and_marks_now() -> None:
    found = Sweep("slot_limit", "B", 2.0**20, tuple(point(2.0**k, 1.0 / k, "p" if k < 18 else "q") for k in range(12, 25)))
    svg = sweep_svg(found)
    inside(svg)
    said = texts(svg)
    assert "now: 1 MiB" in said and said.count("A") == 2 and said.count("B") == 2
    assert "a.m ⇒ p → b.m" in said and "a.m ⇒ q → b.m" in said
    outline = check_self_contained(sweep_html(found))
    assert outline.values("data-isoviz") == ["sweep"] and outline.tags.count("tr") == 14
    assert "slot limit TH" in outline.text


def test_sweep_of_real_plans() -> None:
    made_of = transfer(512, 512, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>")
    found = sweep(made_of, MACHINE, "size", [2.0**k for k in range(16, 27, 2)])
    assert len(found.points) > 3
    svg = sweep_svg(found, theme="light")
    inside(svg)
    assert "bytes that move" in texts(svg) and "<style>" not in svg
    check_self_contained(sweep_html(found))


def test_sweeps_of_nothing_one_and_many_paths() -> None:
    assert "nothing to draw" in " ".join(texts(sweep_svg(Sweep("size", "B", 1.0, ()))))
    check_self_contained(sweep_html(Sweep("size", "B", 1.0, ())))
    one = sweep_svg(Sweep("size", "B", 64.0, (point(64.0, 1e-6, EVIL),)))
    assert "<script" not in one and "A" in texts(one)
    many = sweep_svg(Sweep("other", "", 3.0, tuple(point(2.0**k, 2.0**-k, f"m{k}") for k in range(30))))
    inside(many)
    assert "and 18 more paths, dotted" in texts(many)


def test_hostile_words_are_escaped() -> None:
    explanation = made("transposed")
    chosen, second, *_ = explanation.candidates
    evil = replace(second, limit=EVIL, memories=(EVIL, *second.memories[1:]))
    turn = Turn("bandwidth", EVIL, 1e9, 2e9, "B/s", (EVIL,), None, (EVIL,), (1.0, 1e12))
    stages = (replace(explanation.stages[0], memory=EVIL, kind=EVIL), *explanation.stages[1:])
    hostile = replace(explanation, candidates=(chosen, evil), turns=(turn,), stages=stages)
    outline = check_self_contained(explanation_html(hostile))
    assert "What would make a rival win" in outline.text and EVIL in outline.text
    check_self_contained("".join(plan_sections(hostile.plan, MACHINE, explanation=hostile)))


def test_sixty_candidates_fold_into_a_table() -> None:
    explanation = made("transposed")
    many = replace(explanation, candidates=(explanation.candidates * 2)[:60])
    outline = check_self_contained(explanation_html(many))
    assert "All 60 as a table" in outline.text and "and 48 more" in outline.text
    assert not math.isnan(many.candidates[0].least)
