"""`isoviz reproduce bgq`: what is printed is what was simulated."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from html_cases import without_plots

from isoviz.cli import main
from isoviz.reproduce import bgq
from isoviz.reproduce.assumption import described
from isoviz.reproduce.bgq.assumptions import KIB, BgqAssumptions
from isoviz.reproduce.bgq.evaluation import AFFECTED, METRICS, BgqResults, evaluate, reproduction
from isoviz.reproduce.page import markdown, page
from isoviz.reproduce.reproduction import Reproduction


@pytest.fixture(scope="module")
def simulated() -> BgqResults:
    return evaluate(quick=True)


@pytest.fixture(scope="module")
def found(simulated: BgqResults) -> Reproduction:
    return reproduction(simulated)


def test_every_assumption_is_named_and_turned() -> None:
    names = {each.name for each in described(BgqAssumptions())}
    assert names == set(AFFECTED) == {*vars(BgqAssumptions())}
    assert {name for each in AFFECTED.values() for name in each} == set(METRICS)


@pytest.mark.full
def test_what_must_hold(simulated: BgqResults) -> None:
    for planned in simulated.nine.planned:
        assert planned.paths > 1 and planned.throughput > simulated.nine.direct[planned.nbytes]
    for each in simulated.outputs:
        assert each.several <= each.default and each.several_files <= each.default_files
        assert each.default <= each.default_files and each.several <= each.several_files
    several = [each.speedup for each in simulated.outputs if each.workload == "pattern 1"]
    assert several == sorted(several), "collective I/O loses more on more ranks"


@pytest.mark.full
def test_as_data(found: Reproduction, simulated: BgqResults) -> None:
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["benchmark"] == "reproduce bgq" and data["quick"]
    assert [row["what"] for row in data["rows"]] == [each.what for each in found.statements]
    assert data["figure4"]["direct"][str(64 * KIB)] == simulated.proxy.direct[64 * KIB]
    assert {each["workload"] for each in data["output"]} == {"pattern 1", "pattern 2", "HACC I/O"}
    agreed, of = found.agreed
    assert 0 < agreed <= of < len(found.statements)
    for each in found.statements:
        assert math.isfinite(each.ours)
        assert each.why or each.verdict in ("agrees", "no figure"), f"{each.what} has no reason"


@pytest.mark.full
def test_page_and_report(found: Reproduction) -> None:
    text = page(found)
    shown, plots = without_plots(text)
    assert len(plots) == len(found.figures) == 11
    names = [each.name for each in found.figures]
    assert names == [f"figure{number}" for number in range(4, 15)]
    for each in found.assumptions:
        assert each.what in shown
    report = markdown(found)
    for grid in found.grids:
        assert all(len(row) == len(grid.header) for row in grid.rows)
        assert grid.markdown() in report


@pytest.mark.full
def test_the_command(
    found: Reproduction, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bgq, "reproduce", lambda *, quick, progress: found)
    assert main(["reproduce", "bgq", "--quick", "--json", "--figures", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["seconds"] == found.seconds
    assert len(list(tmp_path.iterdir())) == 11
