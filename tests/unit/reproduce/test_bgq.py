"""`isoviz reproduce bgq`: what is printed is what was simulated."""

from __future__ import annotations

import json
import math

import pytest
from html_cases import without_plots

from isoviz.figures.page import document_page
from isoviz.reproduce import Reproduction, bgq, reproduce
from isoviz.reproduce.assumption import described
from isoviz.reproduce.bgq.assumptions import KIB, BgqAssumptions
from isoviz.reproduce.experiment import experiments_of


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return reproduce("bgq", quick=True)


def test_every_assumption_is_named_and_turned() -> None:
    names = {each.name for each in described(BgqAssumptions())}
    turned = {name for each in experiments_of(bgq) for figure in each.depends for name in figure.on}
    assert names == turned == {*vars(BgqAssumptions())}


@pytest.mark.full
def test_what_must_hold(found: Reproduction) -> None:
    data = found.to_json()
    for planned in data["figure6"]["planned"]:
        assert planned["paths"] > 1 and planned["throughput"] > data["figure6"]["direct"][planned["nbytes"]]
    for each in data["output"]:
        assert each["several"] <= each["default"] and each["several_files"] <= each["default_files"]
        assert each["default"] <= each["default_files"] and each["several"] <= each["several_files"]
    several = [each["default"] / each["several"] for each in data["output"] if each["workload"] == "pattern 1"]
    assert several == sorted(several), "collective I/O loses more on more ranks"


@pytest.mark.full
def test_as_data(found: Reproduction) -> None:
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["benchmark"] == "reproduce bgq" and data["quick"]
    assert [row["what"] for row in data["rows"]] == [each.what for each in found.statements]
    assert data["figure4"]["direct"][str(64 * KIB)] == found.to_json()["figure4"]["direct"][64 * KIB]
    assert {each["workload"] for each in data["output"]} == {"pattern 1", "pattern 2", "HACC I/O"}
    agreed, of = found.agreed
    assert 0 < agreed <= of < len(found.statements)
    for each in found.statements:
        assert math.isfinite(each.ours)
        assert each.why or each.verdict in ("agrees", "no figure"), f"{each.what} has no reason"


@pytest.mark.full
def test_the_page(found: Reproduction) -> None:
    shown, plots = without_plots(document_page(found.document))
    names = [plot.name for plot, _ in found.document.plots()]
    assert len(plots) == len(names) == 11
    assert names == [f"figure{number}" for number in range(4, 15)], "in the order of their numbers"
    for each in found.assumptions:
        assert each.what in shown
