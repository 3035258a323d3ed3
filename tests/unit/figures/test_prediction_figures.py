"""Pictures of predictions: well-formed, themed, complete, whatever is in them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from prediction_cases import outcomes

from isoviz.figures.pages.prediction_page import prediction_page
from isoviz.figures.predictions.prediction_marks import MOST_PATHS
from isoviz.figures.predictions.prediction_residuals import RatioAxis
from isoviz.figures.predictions.prediction_scatter import prediction_scatter_svg
from isoviz.runtime.ledger.prediction_errors import Outcome

SVG = "{http://www.w3.org/2000/svg}"


def tips(svg: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(svg).iter(f"{SVG}title")][1:]


@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_every_run_has_its_marks(theme: str) -> None:
    found = outcomes(60)
    said = tips(prediction_scatter_svg(found, theme=theme))  # type: ignore[arg-type]
    for each in found:
        assert sum(tip.startswith(f"{each.label}: predicted") for tip in said) == 2  # in the scatter, and beside it
    counted = [int(match[1]) for tip in said if (match := re.match(r"(\d+) of 60: measured ", tip))]
    assert sum(counted) == 60


def test_nothing_to_draw() -> None:
    assert "No runs" in prediction_scatter_svg([])
    assert "No runs" in prediction_page("Empty", [("By a trial", "", []), ("By the model alone", "", [])])


def test_one_run_and_runs_that_are_all_alike() -> None:
    for count in (1, 30):
        ET.fromstring(prediction_scatter_svg([Outcome("Memcpy", "t", 1, 0.001, 0.001)] * count))


def test_more_paths_than_marks() -> None:
    svg = prediction_scatter_svg(outcomes(80, paths=MOST_PATHS + 4))
    assert "other paths" in svg
    ET.fromstring(svg)


def test_what_is_far_off_stays_in_the_picture() -> None:
    wild = [Outcome("Memcpy", f"t{k}", 1, 1e-5, 1e-5 * 1000**k, (1e-9, 1e3)) for k in range(-1, 2)]
    svg = prediction_scatter_svg([*outcomes(10), *wild], theme="light")
    root = ET.fromstring(svg)
    width, height = (float(root.get(name) or 0) for name in ("width", "height"))
    for node in root.iter():
        for name, most in (("x", width), ("x1", width), ("x2", width), ("cx", width), ("y", height), ("y1", height)):
            assert -1 <= float(node.get(name) or 0) <= most + 1


def test_ratios_on_their_axis() -> None:
    axis = RatioAxis([Outcome("p", "t", 1, 1.0, 1.0)], 10.0, 240.0)
    assert axis.place(1.0) == 130.0
    assert axis.place(2.0) == 10.0 and axis.place(0.5) == 250.0 and axis.place(100.0) == 10.0 and axis.place(0.0) == 250.0
    assert axis.bin(0.5) == 0 and axis.bin(1.0) == 6 and axis.bin(2.0) == axis.bin(50.0) == 11
    assert axis.bounds(0).startswith("less than") and axis.bounds(11).endswith("or more") and axis.bounds(6) == "1.00 to 1.12"
    assert RatioAxis([Outcome("p", "t", 1, 1.0, 7.0)], 0.0, 1.0).doublings == 3


def test_the_page_has_the_picture_as_tables_too() -> None:
    found = [*outcomes(20), Outcome("<b>path</b>", "<script>alert(1)</script>", 1, 1.0, 1.5)]
    page = prediction_page("Predictions & runs", [("By a trial", "Tried.", found), ("By the model alone", "Not tried.", [])])
    assert "By a trial" in page and "By the model alone" not in page, "a way without runs has no section"
    assert page.startswith("<!DOCTYPE html>") and "<script" not in page and "&lt;script&gt;" in page
    assert page.count("<tr>") + page.count('<tr class="slow">') == (5 + 1) + (21 + 1)
    assert "median error (aimed at: 10 %)" in page
