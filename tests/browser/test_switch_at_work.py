"""The switch of a Data Vortex at work: in a cell of JupyterLab, on the machine canvas, and on a saved page without a kernel."""

from __future__ import annotations

import re
from pathlib import Path

import harness
import pytest
from playwright.sync_api import Browser, Locator, expect

# How many pixels of the moving layer have the colour of a variable.
_PIXELS = """(board, name) => {
  const canvas = board.querySelectorAll("canvas")[1];
  const colour = getComputedStyle(board).getPropertyValue(name).trim();
  const wanted = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4)
    if (data[at + 3] === 255 && wanted.every((value, k) => data[at + k] === value)) count += 1;
  return count;
}"""


def cycle(switch: Locator) -> int:
    return int(switch.get_attribute("data-cycle") or -1)


@pytest.mark.full
def test_a_switch_in_a_cell_plays_fills_and_tells_the_way_of_a_packet(desk: harness.Notebook) -> None:
    desk.enter(0, "import isoviz\nisoviz.vortex.Switch(heights=16, angles=4)")
    desk.run_first_cell()
    switch, board = desk.part("switch"), desk.part("switch-board")
    board.wait_for()
    desk.until(lambda: cycle(switch) > 3)
    desk.part("switch-empty").click()
    desk.part("switch-pace").select_option("60 cycles a second")
    desk.until(lambda: ": 0 packets in the switch" in desk.part("switch-told").inner_text())
    assert board.evaluate(_PIXELS, "--iv-slow") == 0 == board.evaluate(_PIXELS, "--iv-accent")
    desk.part("switch-saturated").click()
    before = cycle(switch)
    desk.until(lambda: cycle(switch) > before + 60)
    desk.part("switch-play").click()
    assert board.evaluate(_PIXELS, "--iv-slow") > 200, "diamonds of packets that were deflected"
    expect(desk.part("switch-told")).to_contain_text("found their input full")
    desk.part("switch-follow").click()
    for _ in range(60):
        desk.part("switch-step").click()
    told = desk.part("switch-way").inner_text()
    sum_said = r"after (\d+) hops: (\d+) inwards \+ (\d+) for .* \+ 2 × (\d+) for .* \+ (\d+) round .* = (\d+)\."
    found = re.search(sum_said, told)
    assert found is not None, told
    hops, inwards, bits, deflections, around, total = map(int, found.groups())
    assert hops == total == inwards + bits + 2 * deflections + around and inwards == 4
    assert board.evaluate(_PIXELS, "--iv-turn") > 100, "its way is drawn"


@pytest.mark.full
def test_a_saved_page_plays_the_switch_without_a_kernel(browser: Browser, tmp_path: Path) -> None:
    from isoviz.widgets.chosen.examples import EXAMPLES
    from isoviz.widgets.pages.plan_page import state_page
    from isoviz.widgets.session import Session

    session = Session(EXAMPLES["vortex-transpose"].settings)
    try:
        file = tmp_path / "page.html"
        file.write_text(state_page(session.wait()), encoding="utf-8")
    finally:
        session.close()
    page = browser.new_page(viewport={"width": 480, "height": 900})
    try:
        page.goto(file.as_uri())
        page.get_by_test_id("view-switch").locator("summary").click()
        page.get_by_test_id("switch-board").wait_for()
        expect(page.get_by_test_id("switch")).to_have_attribute("data-cycle", re.compile(r"^([4-9]|\d\d+)$"))
        page.get_by_test_id("view-machine").locator("summary").first.click()
        said = page.get_by_test_id("network-panel")
        expect(said).to_contain_text("140 GB/s of data through the whole switch: 32 ports × 0.585 words per cycle × 7.48 GB/s")
        page.get_by_test_id("net-watch-switch").click()
        expect(page.get_by_test_id("switch")).to_have_count(2)
        assert page.evaluate("document.documentElement.scrollWidth") <= 480
    finally:
        page.close()
