"""Scattered data in the explorer, by keyboard: how often it moves changes the winner; map, messages and descriptors say why."""

from __future__ import annotations

import re

import harness
import pytest
from playwright.sync_api import Locator, expect

CODE = "import isoviz\nexplorer = isoviz.explore(example='lattice', restore=False)"
PACKED, KEYS = "GPU copy · GPUDirect RDMA · GPU copy", "gather by keys"
PIXELS = """(canvas) => {
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  let seen = 0;
  for (let at = 3; at < data.length; at += 4) if (data[at] > 0) seen += 1;
  return seen;
}"""


@pytest.fixture
def explorer(desk: harness.Notebook) -> harness.Notebook:
    desk.show(CODE)
    desk.to_top()
    desk.settled()
    return desk


def opened(explorer: harness.Notebook, summary: Locator) -> None:
    """Open a fold by keyboard."""
    summary.focus()
    explorer.page.keyboard.press("Enter")


def test_reuse_changes_the_winner_and_the_map_follows(explorer: harness.Notebook) -> None:
    said = explorer.part("winner-map-said")
    whole = explorer.page.locator('[data-testid="winner-map"][data-done="true"]')
    explorer.part("tab-why").click()
    opened(explorer, explorer.part("winner-map-open"))
    whole.wait_for()
    expect(said).to_contain_text("the transfer is like 64 runs of 3 KiB")
    expect(said).to_contain_text(f"({PACKED}) wins")
    colours = {each.get_attribute("style") for each in explorer.page.locator(".iv-map-cell").all()}
    slider = explorer.part("what-if-reuse")
    slider.focus()
    explorer.page.keyboard.press("End")
    expect(explorer.part("what-if-answer")).to_have_attribute("data-final", "true")
    expect(explorer.part("what-if-answer")).to_contain_text(KEYS)
    expect(said).to_contain_text(re.compile(rf"64 runs of 3 KiB: \w \({KEYS}\) wins"))
    whole.wait_for()
    legend = dict(
        re.match(r"(\w+)\s+(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
        for text in explorer.part("winner-map-legend").locator("li").all_inner_texts()
    )
    letter = next(letter for letter, name in legend.items() if name.strip() == PACKED)
    packed = explorer.page.locator(f'.iv-map-cell[data-way="{letter}"]').first.get_attribute("style")
    assert packed in colours, "a path keeps its colour"
    chart = explorer.part("winner-map-chart")
    chart.focus()
    explorer.page.keyboard.press("ArrowUp")
    expect(explorer.part("winner-map-told")).to_contain_text("64 runs of 4 KiB")
    explorer.part("what-if-keep").click()
    explorer.settled()
    expect(explorer.part("hop-0")).to_contain_text(KEYS)


def test_a_busy_processor_changes_the_winner(desk: harness.Notebook) -> None:
    """Tried by keyboard, kept, and shown: who posts receives, who asks, and what a request names."""
    desk.show("import isoviz\nexplorer = isoviz.explore(example='one-sided', restore=False)")
    desk.to_top()
    desk.settled()
    expect(desk.part("hop-0")).to_contain_text("memory copy")
    desk.part("tab-why").click()
    slider = desk.part("what-if-taken-node0.cpu")
    slider.focus()
    desk.page.keyboard.press("End")
    answer = desk.part("what-if-answer")
    expect(answer).to_have_attribute("data-final", "true")
    expect(answer).to_contain_text("Another path: host-assisted get.")
    expect(slider).to_have_attribute("aria-valuetext", "99 %")
    desk.page.keyboard.press("ArrowLeft")
    expect(slider).to_have_attribute("aria-valuetext", "98 %")
    expect(answer).to_have_attribute("data-final", "true")
    desk.picture("what-if-busy")
    desk.part("what-if-keep").click()
    desk.settled()
    desk.part("hop-0").click()
    opened(desk, desk.part("messages").locator("summary").first)
    picture = desk.part("handshake-picture")
    expect(picture).to_be_visible()
    names = " ".join(picture.locator("text").all_text_contents())
    assert all(name in names for name in ("posted", "request", "send", "node0.reg", "node1.reg"))
    desk.picture("messages-assisted")
    opened(desk, desk.part("descriptors").locator("summary").first)
    expect(desk.part("descriptor-0")).to_have_text("request 0: 60 runs, 3.75 KiB")


def test_messages_and_descriptors_of_a_hop(explorer: harness.Notebook) -> None:
    explorer.python("explorer.session.send({'kind': 'set', 'field': 'reuse', 'value': '1000'})")
    explorer.settled()
    explorer.part("hop-0").click()
    opened(explorer, explorer.part("messages").locator("summary").first)
    picture = explorer.part("handshake-picture")
    expect(picture).to_be_visible()
    names = " ".join(picture.locator("text").all_text_contents())
    assert all(name in names for name in ("RTS", "CTS", "FIN", "node0.fbm0", "node1.fbm0", "ready"))
    opened(explorer, explorer.part("messages").locator("summary").first)
    opened(explorer, explorer.part("descriptors").locator("summary").first)
    explorer.grid("source")
    explorer.part("descriptor-list").focus()
    marks = [explorer.part(f"tape-{side}").locator("canvas").nth(1) for side in ("source", "destination")]
    before = [each.evaluate(PIXELS) for each in marks]
    explorer.page.keyboard.press("ArrowDown")
    expect(explorer.part("descriptor-0")).to_have_attribute("aria-selected", "true")
    explorer.at_rest()
    more = [each.evaluate(PIXELS) - first for each, first in zip(marks, before, strict=True)]
    assert min(more) > 1000, "a veil lies over what it does not name"
    explorer.page.keyboard.press("Escape")
    explorer.at_rest()
    assert [each.evaluate(PIXELS) for each in marks] == before
