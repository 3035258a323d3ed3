"""Figures of explanations and sweeps: well-formed, self-contained, escaped, and showing what the values say."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache

import pytest
from html_cases import check_self_contained, svg_root, without_plots

from isoviz.document import Section, Table
from isoviz.figures import html
from isoviz.figures.document_html import told_html
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import preset
from isoviz.planner import Explanation, Options, Sweep, Transfer, explain
from isoviz.planner.explanation.curves.sweeping import SweepPoint
from isoviz.planner.explanation.explanation import Crossover
from isoviz.planner.explanation.explanation_words import layout_text

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
    root = svg_root(svg)
    assert not [node for node in root.iter() if node.tag.endswith("script")]
    return [words(node) for node in root.iter("{http://www.w3.org/2000/svg}text")]


def words(node: ET.Element) -> str:
    """What a text element shows, without its tooltip."""
    return (node.text or "") + "".join(child.tail or "" for child in node)


def inside(svg: str) -> None:
    """No text begins or ends far outside the picture (by the widths that the figures reckon with)."""
    from isoviz.figures.charts.svg import text_width

    root = svg_root(svg)
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
@pytest.mark.few(3)
def test_explanation_is_self_contained(name: str, theme: str) -> None:
    explanation = made(name)
    shown, plots = without_plots(told_html(explanation, theme=theme))  # type: ignore[arg-type]
    assert len(plots) == 2 + (explanation.region is not None)
    outline = check_self_contained(shown)
    assert outline.values("data-isoviz") == ["explanation"]
    for words in ("The constraints", "Block sizes", "Where the time goes", "The candidates", "The program"):
        assert words in outline.text
    assert explanation.solution.text in "".join(outline.words)


def test_tables_do_without_plots() -> None:
    outline = check_self_contained(told_html(made("transposed"), plots=False))
    assert "The constraints" in outline.text and "held back by" in outline.text and "Throughput by length" in outline.text


@pytest.mark.parametrize("name", CASES)
def test_constraint_table_has_every_row(name: str) -> None:
    explanation = made(name)
    path, constraints = (table_of(explanation, number) for number in (1, 3))
    for stage, row in zip(explanation.stages, path.rows, strict=True):
        assert row[1] == stage.memory and str(row[2]) == layout_text(stage.layout) and stage.kind in str(row[6])
    solution = explanation.solution
    assert {str(row[1]) for row in constraints.rows} == {state.label for state in solution.rows}
    assert len(constraints.rows) == len(solution.rows) and len(constraints.marked) == len(solution.binding)
    outline = check_self_contained(without_plots(html(explanation))[0])
    assert outline.text.count("◄ binding") == len(solution.binding)
    assert sum("bar" in words.split() for words in outline.values("class")) == len(solution.rows) + len(path.rows) - 1


def table_of(explanation: Explanation, section: int) -> Table:
    """The first table of a numbered section."""
    parts = next(
        each.parts for each in explanation.document().parts if isinstance(each, Section) and each.title.startswith(f"{section}. ")
    )
    return next(part for part in parts if isinstance(part, Table))


def test_limits_of_the_whole_path_have_rows_of_their_own() -> None:
    made_of = transfer(2048, 64, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<y, F, x>")
    explanation = explain(made_of, MACHINE, "simple", Options(memory_limit=2**22))
    whole = [state for state in explanation.solution.rows if state.hop is None]
    assert whole and [row[0] for row in table_of(explanation, 3).rows].count("all") == len(whole)


def point(value: float, seconds: float, name: str, converting: int | None = 0) -> SweepPoint:
    return SweepPoint(value, seconds, 1e9, ("a.m", f"a.{name}", "b.m"), (f"a.m->a.{name}", f"a.{name}->b.m"), converting)


def test_sweeps_have_a_table_of_their_points() -> None:
    found = Sweep("slot_limit", "B", 2.0**20, tuple(point(2.0**k, 1.0 / k, "p" if k < 18 else "q") for k in range(12, 25)))
    shown, plots = without_plots(html(found))
    outline = check_self_contained(shown)
    assert len(plots) == 1 and outline.values("data-isoviz") == ["sweep"] and outline.tags.count("tr") == 14
    assert "slot limit TH" in outline.text and "a.m ⇒ p → b.m" in outline.text
    check_self_contained(without_plots(html(Sweep("size", "B", 1.0, ())))[0])


def test_hostile_words_are_escaped() -> None:
    explanation = made("transposed")
    chosen, second, *_ = explanation.candidates
    evil = replace(second, limit=EVIL, memories=(EVIL, *second.memories[1:]))
    turn = Crossover("bandwidth", EVIL, 1e9, 2e9, "B/s", (EVIL,), None, (EVIL,), (1.0, 1e12))
    stages = (replace(explanation.stages[0], memory=EVIL, kind=EVIL), *explanation.stages[1:])
    hostile = replace(explanation, candidates=(chosen, evil), crossovers=(turn,), stages=stages)
    outline = check_self_contained(without_plots(told_html(hostile))[0])
    assert "What would make a rival win" in outline.text and EVIL in outline.text


def test_sixty_candidates_fold_into_a_table() -> None:
    explanation = made("transposed")
    many = replace(explanation, candidates=(explanation.candidates * 2)[:60])
    outline = check_self_contained(told_html(many, plots=False))
    assert "All 60 candidates" in outline.text
    assert not math.isnan(many.candidates[0].least)
