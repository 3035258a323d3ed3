"""*Find a layout* as a person uses it: a question, mistakes that are seen, a layout that is taken and taken back."""

from __future__ import annotations

import re

import harness
import pytest
from playwright.sync_api import expect

CODE = """\
import isoviz
explorer = isoviz.explore(
    machine='local', machine_options={'measure': 'assumed'}, space={'x': 256, 'y': 128}, fields={'a': 'f4', 'b': 'f4'},
    source=('node0.dsk', '<F, x, y>'), destination=('node0.sys', '<F, x, y>'), planner='full', restore=False,
)"""


@pytest.fixture
def explorer(desk: harness.Notebook) -> harness.Notebook:
    desk.show(CODE)
    desk.to_top()
    desk.settled()
    desk.part("tab-find-layout").click()
    desk.part("dock-size").click()
    return desk


def done(notebook: harness.Notebook) -> None:
    expect(notebook.part("find-layout")).to_have_attribute("data-done", "true", timeout=harness.PATIENCE)


def test_a_layout_is_found_taken_and_measured(explorer: harness.Notebook) -> None:
    done(explorer)
    explorer.part("find-use-1-what").fill("<F, y, x>")
    explorer.part("find-use-1-weight").fill("50")
    expect(explorer.part("find-verdict")).to_contain_text("⟨F, y, x⟩", timeout=harness.PATIENCE)
    done(explorer)
    expect(explorer.part("find-chart")).to_be_visible()
    explorer.picture("find-a-layout")
    explorer.part("find-take-0").click()
    expect(explorer.part("find-verdict")).to_contain_text("No layout that was found beats the present one")
    explorer.settled()
    assert explorer.python("print(explorer.session.settings.destination.layout)") == "<F, y, x>"

    explorer.part("find-measure").click()
    measured = explorer.part("find-layout").get_by_role("columnheader", name="Measured")
    expect(measured).to_be_visible()
    expect(explorer.part("find-measure")).to_be_visible()
    explorer.part("undo").click()
    expect(explorer.part("find-verdict")).to_contain_text("⟨F, y, x⟩")
    explorer.settled()
    assert explorer.python("print(explorer.session.settings.destination.layout)") == "<F, x, y>"


@pytest.mark.parametrize("size", [(1152, 720), (1440, 900)])
def test_mistakes_are_seen_beside_their_controls(explorer: harness.Notebook, size: tuple[int, int]) -> None:
    explorer.page.set_viewport_size({"width": size[0], "height": size[1]})
    explorer.part("find-use-1-what").fill("<F, y, q>")
    harness.assert_seen(explorer.part("error-find-use-1-what"), re.compile("'q' is not a dimension"))
    explorer.part("find-use-1-what").fill("<F, y, x>")
    expect(explorer.part("error-find-use-1-what")).to_have_count(0)
    explorer.part("find-least-run").fill("64 bananas")
    harness.assert_seen(explorer.part("error-find-least-run"), re.compile("bananas"))
    explorer.part("find-least-run").fill("1 MiB")
    harness.assert_seen(explorer.part("error-find-layout"), re.compile("runs of 1048576 bytes along x"))
