"""Bokeh figures: right data, both themes, small for large arrays. How they look is for the browser tests."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from isoviz import machines
from isoviz.figures import OperatingPoint, linearization_figure, throughput_figure
from isoviz.figures.charts.theme import colour
from isoviz.figures.interactive import MAX_LINE_CELLS
from isoviz.layouts import FieldSpace, IndexSpace, Layout

VALUE = FieldSpace(value="float32")
MIXED = FieldSpace(re="float32", im="float64")


def glyphs(plot: Any, name: str) -> list[Any]:
    return [each for each in plot.renderers if type(each.glyph).__name__ == name]


def serialised(plot: Any) -> str:
    from bokeh.embed import json_item

    return json.dumps(json_item(plot))


def hovered(plot: Any, column: int, row: int) -> tuple[int, int]:
    """First and last byte that the hover computes, by the same sums as its script."""
    from bokeh.models import HoverTool

    hover = next(tool for tool in plot.toolbar.tools if isinstance(tool, HoverTool))
    args = hover.formatters["@image"].args
    f = row if args["rows_are_fields"] else 0
    first = args["bases"][f]
    for at, digits in ((column, args["across"][f]), (row, args["down"][f])):
        first += sum(at // step % extent * stride for step, extent, stride in digits)
    return int(first), int(first) + args["sizes"][f] - 1


@pytest.mark.parametrize("layout", ["<F, x, y>", "<y, F, x>", "<x_in=4, y_in=3, F, x_out, y_out>"])
@pytest.mark.parametrize("size", [4, 12, 30, 512, 5000])
def test_hover_is_exact_for_every_cell(layout: str, size: int) -> None:
    space = IndexSpace(x=size, y=size)
    lin = Layout(layout).on(space, MIXED)
    plot = linearization_figure(lin)
    for x, y in ((0, 0), (size - 1, 0), (0, size - 1), (size // 2, size // 3), (size - 1, size - 1)):
        first = lin.offset((x, y), "re")
        assert hovered(plot, x, y) == (first, first + 3)
    assert len(serialised(plot)) < 600_000
    assert plot.sizing_mode == "stretch_width"


def test_one_dimension_has_a_row_for_each_field() -> None:
    lin = Layout("<x_in=4, F, x_out>").on(IndexSpace(x=10), MIXED)
    plot = linearization_figure(lin)
    for x in range(10):
        assert hovered(plot, x, 0)[0] == lin.offset((x,), "re")
        assert hovered(plot, x, 1)[0] == lin.offset((x,), "im")
    assert dict(plot.yaxis.major_label_overrides) == {0: "re", 1: "im"}


def test_line_and_numbers_follow_the_order_of_storage() -> None:
    lin = Layout("<F, y_in=2, x, y_out>").on(IndexSpace(x=5, y=4), VALUE)
    plot = linearization_figure(lin)
    (line,) = glyphs(plot, "Line")
    (text,) = glyphs(plot, "Text")
    order = [index for index, _ in lin.order()]
    assert list(zip(line.data_source.data["x"], line.data_source.data["y"], strict=True)) == order
    assert text.data_source.data["text"] == [str(lin.offset(index, "value")) for index in order]


def test_large_arrays_have_colours_only() -> None:
    plot = linearization_figure("<F, x, y>", IndexSpace(x=512, y=512), VALUE)
    assert not glyphs(plot, "Line") and not glyphs(plot, "Text")
    (image,) = glyphs(plot, "Image")
    shades = np.asarray(image.data_source.data["image"][0])
    assert shades.shape == (512, 512) and shades.dtype == np.uint8
    assert shades[0, 0] == 0 and shades[-1, -1] == 255 and (np.diff(shades[:, 0].astype(int)) >= 0).all()
    (small,) = glyphs(linearization_figure("<F, x>", IndexSpace(x=6), VALUE), "Image")
    assert np.asarray(small.data_source.data["image"][0]).tolist() == [[0, 51, 102, 153, 204, 255]]
    assert MAX_LINE_CELLS < 512 * 512
    assert "samples" in linearization_figure("<F, x, y>", IndexSpace(x=513, y=8), VALUE).title.text


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_themes(theme: Any) -> None:
    channels = machines.preset("two-node").channels
    for plot in (
        linearization_figure("<F, x>", IndexSpace(x=8), VALUE, theme=theme),
        throughput_figure(channels, theme=theme),
    ):
        assert plot.border_fill_color == colour("paper", theme)
        assert plot.title.text_color == colour("ink", theme)


def test_throughput_figure_has_every_function_and_point() -> None:
    machine = machines.preset("two-node")
    points = [OperatingPoint("node0.dsk->node0.sys", 65536.0, 1e8, "0"), OperatingPoint("node0.sys->node0.sys", 16.0, 7e9, "1")]
    plot = throughput_figure(machine.channels, points)
    for line in glyphs(plot, "Line"):
        runs, rates = line.data_source.data["run"], line.data_source.data["rate"]
        name = line.data_source.data["channel"][0].split(": ", 1)[1].split(",")[0].split(" and ")[0]
        assert [machine.channel(name).rate(run) for run in runs] == rates
    (discs,) = glyphs(plot, "Scatter")
    assert discs.data_source.data["label"] == ["0", "1"] and discs.data_source.data["rate"] == [1e8, 7e9]
    assert throughput_figure([]).renderers == []


def test_figures_load_bokeh_only_when_needed() -> None:
    code = (
        "import sys, isoviz.figures as f; from isoviz.layouts import Layout; f.html(Layout('<F, x>'));"
        "heavy = {'bokeh', 'networkx', 'pulp', 'highspy', 'ipywidgets', 'anywidget', 'cupy', 'mpi4py', 'numba'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
