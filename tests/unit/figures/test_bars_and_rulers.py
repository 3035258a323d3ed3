"""Bars, rulers and stops of a path: well-formed, to scale, legible in both themes."""

from __future__ import annotations

import itertools
import re

import pytest
from html_cases import SVG, svg_root

from isoviz import FieldSpace, IndexSpace, Layout
from isoviz.figures.charts.bars import NamedBar, bars_svg
from isoviz.figures.charts.theme import TOKENS
from isoviz.figures.layouts.rulers import Ruler, rulers_svg
from isoviz.figures.layouts.stops import HopWords, stops_svg

BARS = [NamedBar("<F, x>", ((10.0, "10 B"),)), NamedBar("b & c", ((40.0, "40 B"),), is_marked=True)]


def widths(svg: str, fill: str) -> list[float]:
    return [float(each.get("width", "0")) for each in svg_root(svg).iter(f"{SVG}rect") if each.get("fill") == fill]


def words(svg: str) -> str:
    return " ".join("".join(each.itertext()) for each in svg_root(svg).iter(f"{SVG}text"))


def test_bars_are_as_long_as_their_figures() -> None:
    svg = bars_svg(BARS, "Runs", theme="light")
    assert 4 * widths(svg, TOKENS["path"].light)[0] == pytest.approx(widths(svg, TOKENS["bad"].light)[0], abs=0.5)
    assert "<F, x>" in words(svg) and "b & c" in words(svg) and "40 B" in words(svg)


def test_logarithmic_bars_have_equal_steps() -> None:
    bars = [NamedBar(str(figure), ((figure, f"{figure:g}"),)) for figure in (1.0, 4.0, 16.0)]
    one, two, three = widths(bars_svg(bars, "Runs", logarithmic=True, theme="light"), TOKENS["path"].light)
    assert two - one == pytest.approx(three - two, abs=0.3)


def test_two_series_are_named_and_have_colours_of_their_own() -> None:
    bars = [NamedBar("a", ((1.0, "1 ms"), (2.0, "2 ms")))]
    svg = bars_svg(bars, "Times", series=("predicted", "measured here"), theme="dark")
    assert "predicted" in words(svg) and "measured here" in words(svg)
    assert len(widths(svg, TOKENS["measured"].dark)) == len(widths(svg, TOKENS["predicted"].dark)) == 2  # key and bar


def test_rulers_are_cut_where_their_pieces_end() -> None:
    svg = rulers_svg(
        [Ruler("blocks of 4", 4), Ruler("runs of 5", 5, "path", marked=(1,))], 12, "x", "Blocks", cuts=(12,), theme="light"
    )
    assert len(widths(svg, TOKENS["path"].light)) == 2 and len(widths(svg, TOKENS["bad"].light)) == 1
    assert widths(svg, TOKENS["path"].light)[-1] == pytest.approx(2 / 5 * widths(svg, TOKENS["bad"].light)[0], abs=0.5)
    assert "behind x = 11" in svg_root(svg).findtext(f"{SVG}desc", "")


@pytest.mark.parametrize("size", [1, 7, 48, 200, 5000])
def test_numbers_along_a_ruler_do_not_touch(size: int) -> None:
    svg = rulers_svg([Ruler("blocks", 5)], size, "x", "Blocks", theme="light")
    numbers = [each for each in svg_root(svg).iter(f"{SVG}text") if each.get("font-size") == "10"]
    places = [float(each.get("x", "0")) for each in numbers]
    assert numbers[0].text == "0"
    assert all(right - left >= 18 for left, right in itertools.pairwise(places))


def test_a_path_has_its_stops_and_says_at_each_hop_whether_it_does() -> None:
    space, fields = IndexSpace(x=32, y=24), FieldSpace(v="float32")
    texts = ("<F, x, y>", "<F, x_in=8, y_in=8, x_out, y_out>", "<F, y, x>")
    stops = [Layout(text).on(space, fields) for text in texts]
    svg = stops_svg(stops, [HopWords("run 32 B", True), HopWords("run 4 B", False)], "Stops", theme="light")
    assert len(list(svg_root(svg).iter(f"{SVG}image"))) == 3
    assert "✓ run 32 B" in words(svg) and "✗ run 4 B" in words(svg)
    assert re.search(r"x_in=8, y_in=8", words(svg))
