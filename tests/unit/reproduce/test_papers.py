"""The base that evaluations of papers share, with papers of one's own."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from html_cases import Outline, without_plots

import isoviz.reproduce
from isoviz.document import Plot, Table
from isoviz.errors import InputError
from isoviz.figures.page import document_page
from isoviz.reproduce import Bar, Claim, Curves, Depends, Group, assumed, by_column, experiment, named, reproduce
from isoviz.reproduce.assumption import described, sensitivities
from isoviz.reproduce.evaluation import evaluations
from isoviz.reproduce.experiment import experiments_of
from isoviz.reproduce.plots import OTHER, OURS, THEIRS, bars_figure


@dataclass(frozen=True)
class Assumptions:
    """`size` is the paper's, and no assumption."""

    size: int = 8
    links: int = assumed(4, "links of a node", "section 2")
    route: str = assumed("xyz", "order of dimensions", "assumed", lambda text: f"by {text}", ("zyx", "the other way"))


def speed(given: Assumptions, times: int = 2) -> list[float]:
    return [given.size * given.links * (2.0 if given.route == "zyx" else 1.0)] * times


def test_assumptions_are_described_where_they_are_declared() -> None:
    given = Assumptions()
    assert [(each.name, each.value, each.number) for each in described(given)] == [("links", "4", 4), ("route", "by xyz", "xyz")]
    figures = [(speed, Depends("speed of {given.size}", "count", sum, "route links", quick="route", times=1))]
    links, route = sensitivities(given, figures)
    assert (links.metric, links.base, links.halved, links.doubled, links.alternative) == ("speed of 8", 32.0, 16.0, 64.0, None)
    assert (route.base, route.halved, route.doubled, route.alternative) == (32.0, None, None, 64.0)
    assert route.value == "by xyz; alternative: the other way"
    assert list(sensitivities(given, figures, quick=True)) == [route]


def test_bars_are_shares_of_the_longest_or_of_their_own_width() -> None:
    groups = [
        Group("a", "first", (Bar(((OTHER, 1.0), (OURS, 2.0)), "3 s"), Bar(((THEIRS, 4.0),), "4 s")), "2 ×"),
        Group("b", "", (Bar(((OURS, 5.0),), "5 s"),), full=10.0),
    ]
    plot: Any = bars_figure(groups, ((OTHER, "computing"), (OURS, "ours"), (THEIRS, "theirs")), "Times")
    data = [each.data_source.data for each in plot.renderers if type(each.glyph).__name__ == "HBar"]
    assert [(each["left"], each["right"]) for each in data] == [
        ([0.0], [0.2]),
        ([0.2, 0.0], [pytest.approx(0.6), 0.5]),
        ([0.0], [0.8]),
    ]
    assert list(plot.yaxis[0].major_label_overrides.values()) == ["a, first", "b"]
    assert [item.label.value for item in plot.legend[0].items] == ["computing", "ours", "theirs"]


def test_curves_of_rows_and_their_table() -> None:
    rows = [{"size": size, "rate": rate, "by": by} for by, size, rate in (("a", 1024, 1e9), ("a", 2048, 2e9), ("b", 2048, 3e9))]
    curves = by_column("size", "rate", by="by")(rows)
    assert curves == {"a": {1024: 1e9, 2048: 2e9}, "b": {2048: 3e9}} == named(a="a", b="b")(curves)
    plot, table = Curves(by_column("size", "rate", by="by"))(rows, "figure1", "Figure 1")
    assert isinstance(plot, Plot) and isinstance(table, Table)
    assert [[str(cell) for cell in row] for row in table.rows] == [["1 KiB", "1 GB/s", ""], ["2 KiB", "2 GB/s", "3 GB/s"]]
    drawn: Any = plot.draw()
    lines = [each.data_source.data for each in drawn.renderers if type(each.glyph).__name__ == "Line"]
    assert [(line["x"], line["y"]) for line in lines] == [([1024, 2048], [1e9, 2e9]), ([2048], [3e9])]
    assert lines[1]["tip"] == ["b, 2 KiB: 3 GB/s"]
    assert {1e9, 2e9, 3e9} <= set(drawn.yaxis[0].ticker.ticks), "round numbers"


# ---- a folder beside the others


FILES = {
    "__init__.py": """
        from dataclasses import dataclass
        from isoviz.reproduce import Evaluation, assumed

        @dataclass(frozen=True)
        class Given:
            links: int = assumed(4, "links of a node", "section 2")

        EVALUATION = Evaluation("A <ring> again", "Ring, section 5", "Somebody, Ring.", Given(), Given(2), "Links: <shared>.")
    """,
    "figure10.py": """
        from isoviz.reproduce import Claim, Columns, Depends, experiment
        from isoviz.reproduce.ring.figure9 import figure9

        @experiment(
            "figure 10",
            "links",
            section="5.2",
            claims=[
                Claim("links", "about 4", 4, "links", "count").because("it is <simulated>"),
                Claim("all", "8", 8, len, "count", full=True),
            ],
            shows=[Columns([("which", "name"), ("links", "links", "count")], lambda found: [{"name": "a|b <i>", **found}])],
            depends=[Depends("links", "count", "links", "links", quick="links")],
        )
        def figure10(given):
            return {"links": given.links}
    """,
    "figure9.py": """
        from isoviz.reproduce import experiment

        CALLS = []

        @experiment("figure 9", "nine", quick={"size": 1})
        def figure9(given, size=9):
            CALLS.append(size)
            return [{"size": size}]

        figure11 = figure9.further("figure 11", "more of nine", section="5")
    """,
}


@pytest.fixture
def ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder beside those of the other papers."""
    monkeypatch.setattr(isoviz.reproduce, "__path__", [*isoviz.reproduce.__path__, str(tmp_path)])
    folder = tmp_path / "ring"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(textwrap.dedent(text))
    yield folder
    for name in [name for name in sys.modules if name.startswith("isoviz.reproduce.ring")]:
        del sys.modules[name]
    vars(isoviz.reproduce).pop("ring", None)


def test_a_folder_is_an_evaluation(ring: Path) -> None:
    assert {"bgq", "isometry", "ring"} <= set(evaluations())
    said: list[str] = []
    found = reproduce("ring", progress=said.append)
    assert said == ["figure 9: nine", "figure 10: links", "figure 11: more of nine", "assumptions halved and doubled"]
    assert sys.modules["isoviz.reproduce.ring.figure9"].CALLS == [9], "figures 9 and 11 show the same run"
    data = json.loads(json.dumps(found.to_json()))
    assert data["figure9"] == [{"size": 9}] and data["figure10"] == {"links": 4} and "figure11" not in data
    assert [row["where"] for row in data["rows"]] == ["5.2, figure 10", "5.2, figure 10"]
    assert found.agreed == (1, 2)
    assert [(row["halved"], row["doubled"]) for row in data["sensitivity"]] == [(2, 8)]
    shown, _ = without_plots(document_page(found.document))
    outline = Outline(shown)
    words = " ".join(outline.words)
    assert "i" not in outline.tags and "simulated" not in outline.tags
    assert "it is <simulated>" in words and "a|b <i>" in words and "A <ring> again" in words
    assert "a\\|b \\<i>" in found.document.markdown() and "A \\<ring>" in found.document.markdown()
    assert "links: it is <simulated>" in str(found)


def test_a_quick_run_has_less(ring: Path) -> None:
    found = reproduce("ring", quick=True)
    data = found.to_json()
    assert data["figure9"] == [{"size": 1}] and data["figure10"] == {"links": 2} and data["quick"]
    assert [each.what for each in found.statements] == ["links"]
    assert found.sensitivities[0].base == 2
    assert ring.name in str(found)


def test_what_is_no_evaluation(ring: Path) -> None:
    with pytest.raises(InputError, match=r"no evaluation 'rings'; there are armci, bgq, .*ring"):
        reproduce("rings")
    (ring / "figure12.py").write_text((ring / "figure9.py").read_text())
    with pytest.raises(InputError, match="figure9: two experiments are called 'figure 9'"):
        reproduce("ring")
    (ring / "__init__.py").write_text("EVALUATION = 3")
    del sys.modules["isoviz.reproduce.ring"]
    with pytest.raises(InputError, match=r"isoviz.reproduce.ring: EVALUATION: expected an Evaluation, got 3"):
        reproduce("ring")


def test_an_experiment_is_called_as_its_function() -> None:
    module = ModuleType(__name__)

    @experiment("figure 1", "double", claims=[Claim("doubled", "4", 4, "size", "count")])
    def double(size: int, factor: int = 2) -> dict[str, int]:
        return {"size": factor * size}

    assert double(2, factor=3) == {"size": 6}
    vars(module)["double"] = double
    assert experiments_of(module) == [double]
