"""The switch of a Data Vortex on the machine canvas, in JupyterLab: from the preset to the drawing, light and dark, and a run."""

from __future__ import annotations

import harness
import pytest
from playwright.sync_api import expect
from test_own_topology import PIXELS

CODE = (
    "import isoviz\n"
    "explorer = isoviz.explore(machine='data-vortex', machine_options={'nodes': 8, 'heights': 8}, space={'x': 64, 'y': 64},"
    " fields={'v': 'f8'}, source=('node0.sys', '<F, x, y>'), destination=('node5.sys', '<F, y, x>'), restore=False)"
)


def spots(pixels: list[list[int]], apart: int) -> int:
    """How many groups of pixels there are that are as far as this from each other."""
    found: list[list[list[int]]] = []
    for pixel in pixels:
        near = [group for group in found if any(abs(x - pixel[0]) + abs(y - pixel[1]) < apart for x, y in group[-60:])]
        found = [group for group in found if group not in near]
        found.append([*(each for group in near for each in group), pixel])
    return len(found)


@pytest.mark.full
@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_the_switch_is_drawn_with_its_cylinders_and_nodes(desk: harness.Notebook, theme: str) -> None:
    desk.choose_theme(theme)
    desk.show(CODE)
    desk.to_top()
    desk.settled()
    desk.part("tab-machine").click()
    stage = desk.part("network-stage")
    stage.wait_for()
    desk.until(lambda: int(stage.get_attribute("data-drawn") or 0) > 0)
    stage.scroll_into_view_if_needed()
    desk.at_rest()
    desk.picture(f"vortex-{theme.lower()}")
    pixels = stage.evaluate(PIXELS)
    colour = stage.evaluate("stage => getComputedStyle(stage).getPropertyValue('--iv-net-router').trim().slice(1)")
    assert spots(pixels[colour], 6) == 4 * 4, "from above: a node for every angle of each of the four cylinders"
    # The plan: the network turns the matrix, and the pane says that it costs nothing.
    assert "VortexPackets" in desk.python("print(*[hop.kind for hop in explorer.session.plan.hops])")
    desk.part("tab-why").click()
    desk.settled()
    expect(desk.explorer).to_contain_text("changes the order at no cost")
