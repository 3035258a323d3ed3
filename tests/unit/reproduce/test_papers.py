"""The base that reproductions of papers share, with a paper of one's own."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from isoviz.reproduce.assumption import Metric, assumed, described, sensitivities
from isoviz.reproduce.figure import OTHER, OURS, THEIRS, Bar, Bars, Figure, Grid, Group, Section, bars_figure
from isoviz.reproduce.page import markdown, page
from isoviz.reproduce.reproduction import Reproduction
from isoviz.reproduce.statement import Statement


@dataclass(frozen=True)
class Assumptions:
    """`size` is the paper's, and no assumption."""

    size: int = 8
    links: int = field(default=4, metadata=assumed("links of a node", "section 2"))
    route: str = field(
        default="xyz", metadata=assumed("order of dimensions", "assumed", lambda text: f"by {text}", ("zyx", "the other way"))
    )


def speed(given: Assumptions) -> float:
    return given.size * given.links * (2.0 if given.route == "zyx" else 1.0)


@pytest.fixture
def found() -> Reproduction:
    given = Assumptions()
    figure = Figure(
        "figure1",
        Bars([Group("all", "", (Bar(((THEIRS, 3.0),), "three"),))], [(THEIRS, "measured")], "Speeds"),
        (Grid("Figure 1: speeds", ("what", "speed"), [("all", "3")], caption="speeds"),),
    )
    metrics = {"speed": Metric("speed of all", "count", speed)}
    return Reproduction(
        "torus",
        "Torus, section 5",
        "Somebody, Torus.",
        "A torus again",
        "All is simulated.",
        ("Links are shared.",),
        (("nodes", "64"),),
        (Statement("5.1", "speed", "about 30", 30.0, 30.0, speed(given), "count", "it is <simulated>"),),
        (Section("Figure 1", (figure,)), Section("Table 1", (Grid("Table 1", ("a",), [("1",)]),))),
        described(given),
        tuple(sensitivities(given, metrics, {"links": ("speed",), "route": ("speed",)})),
        {"figure1": [3.0]},
        quick=False,
        seconds=1.5,
    )


def test_assumptions_are_described_where_they_are_declared(found: Reproduction) -> None:
    assert [(each.name, each.value, each.number) for each in found.assumptions] == [("links", "4", 4), ("route", "by xyz", "xyz")]
    links, route = found.sensitivities
    assert (links.base, links.halved, links.doubled, links.alternative) == (32.0, 16.0, 64.0, None)
    assert (route.base, route.halved, route.doubled, route.alternative) == (32.0, None, None, 64.0)
    assert route.value == "by xyz; alternative: the other way"


def test_bars_are_shares_of_the_longest_or_of_their_own_width() -> None:
    groups = [
        Group("a", "first", (Bar(((OTHER, 1.0), (OURS, 2.0)), "3 s"), Bar(((THEIRS, 4.0),), "4 s")), "2 ×"),
        Group("b", "", (Bar(((OURS, 5.0),), "5 s"),), full=10.0),
    ]
    plot: Any = bars_figure(Bars(groups, ((OTHER, "computing"), (OURS, "ours"), (THEIRS, "theirs")), "Times", "speedup"))
    data = [each.data_source.data for each in plot.renderers if type(each.glyph).__name__ == "HBar"]
    assert [(each["left"], each["right"]) for each in data] == [
        ([0.0], [0.2]),
        ([0.2, 0.0], [pytest.approx(0.6), 0.5]),
        ([0.0], [0.8]),
    ]
    assert list(plot.yaxis[0].major_label_overrides.values()) == ["a, first", "b"]
    assert [item.label.value for item in plot.legend[0].items] == ["computing", "ours", "theirs"]


def test_every_form_has_everything(found: Reproduction) -> None:
    assert found.agreed == (1, 1)
    assert [each.name for each in found.figures] == ["figure1"]
    titles = [grid.title for grid in found.grids]
    assert titles[1:-2] == ["Figure 1: speeds", "Table 1"]
    for text in (str(found), markdown(found)):
        assert all(title in text for title in titles[1:])
    shown = page(found)
    assert "it is &lt;simulated&gt;" in shown and "speeds: the figures" in shown and "data-plot" in shown
    data = json.loads(json.dumps(found.to_json()))
    assert data["benchmark"] == "reproduce torus" and data["figure1"] == [3.0]
    assert list(data)[-3:] == ["assumptions", "figure1", "sensitivity"]
