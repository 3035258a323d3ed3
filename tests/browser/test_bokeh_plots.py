"""Plots of numbers in a notebook: the output of a cell draws them, with nothing to load."""

from __future__ import annotations

import harness
from playwright.sync_api import expect

SWEEP = """
import isoviz
ends = "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>"
move = isoviz.Transfer.whole(isoviz.IndexSpace(x=64, y=64), isoviz.FieldSpace(v="float64"), *ends)
for limit in (2**14, 2**15):
    display(isoviz.sweep(move, "two-node", "slot_limit", [2**12, limit]))
"""


def test_plots_are_drawn_in_the_output_of_a_cell(desk: harness.Notebook) -> None:
    for _ in range(2):  # the second time, the cell that holds BokehJS runs again
        desk.python(SWEEP)
        plots = desk.page.locator(".jp-OutputArea-output [data-plot]")
        expect(plots).to_have_count(2)
        for plot in plots.all():
            expect(plot.locator("canvas").first).to_be_visible(timeout=60_000)
