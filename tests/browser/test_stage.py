"""One hop, large: its requests are played one by one, by keys too; what converting elsewhere takes is a click away."""

from __future__ import annotations

import re
from collections.abc import Iterator

import harness
import pytest
from playwright.sync_api import Locator, expect

CODE = "import isoviz\nexplorer = isoviz.explore(example='two-node', planner='full', restore=False)"
ENTRIES = "32,768"
"""Of a block of section 4.3."""


@pytest.fixture(autouse=True)
def closed(desk: harness.Notebook) -> Iterator[None]:
    """What covers the notebook goes away with its test."""
    yield
    if desk.part("stage").count():
        desk.part("stage-close").click()


@pytest.fixture
def explorer(desk: harness.Notebook) -> harness.Notebook:
    desk.show(CODE)
    desk.to_top()
    desk.settled()
    return desk


def open_hop(notebook: harness.Notebook, number: int) -> Locator:
    notebook.part(f"hop-{number}").dblclick()
    stage = notebook.part("stage")
    expect(stage).to_have_attribute("data-hop", str(number))
    notebook.at_rest()
    return stage


def drawn(notebook: harness.Notebook, side: str) -> harness.Drawing:
    return harness.Drawing(notebook.part(f"stage-{side}").evaluate("canvas => canvas.toDataURL()"))


def press(notebook: harness.Notebook, *keys: str) -> None:
    for key in keys:
        notebook.page.keyboard.press(key)
    notebook.frame()


def moment(notebook: harness.Notebook) -> float:
    return float(notebook.part("stage-destination").get_attribute("data-at") or "nan")


def test_what_is_not_written_is_empty_and_in_the_end_memory_is_that_of_the_next_stop(explorer: harness.Notebook) -> None:
    open_hop(explorer, 2)
    whole, before = drawn(explorer, "destination"), drawn(explorer, "source")
    assert whole != before, "the hop converts"
    expect(explorer.part("stage-told")).to_have_text(f"{ENTRIES} of {ENTRIES} entries written")
    press(explorer, "Home")
    empty = drawn(explorer, "destination")
    assert (empty.pixels == empty.pixels[0, 0]).all(), "nothing is written yet"
    expect(explorer.part("stage-told")).to_have_text(f"0 of {ENTRIES} entries written")
    press(explorer, "ArrowRight", "ArrowRight")
    assert moment(explorer) == 2
    steps = int(explorer.part("stage-scrub").get_attribute("max") or 0)
    expect(explorer.part("stage-told")).to_have_text(f"{2 * 32768 // steps} of {ENTRIES} entries written")
    slider = explorer.part("stage-scrub")
    slider.fill(str(steps // 2))
    explorer.frame()
    half = drawn(explorer, "destination")
    written = (half.pixels != empty.pixels).any(axis=2)
    assert half != whole and 0.4 < written.mean() < 0.6
    assert (half.pixels[written] == whole.pixels[written]).all(), "what is written is what will be there"
    harness.assert_seen(explorer.part("stage-told"))
    explorer.picture("hop-large-half")
    explorer.part("stage-play").focus()
    press(explorer, "End")
    assert drawn(explorer, "destination") == whole
    press(explorer, "ArrowDown")
    expect(explorer.part("stage")).to_have_attribute("data-hop", "3")
    explorer.at_rest()
    assert drawn(explorer, "source") == whole == drawn(explorer, "destination"), "the next hop keeps the order, in one request"
    assert explorer.part("stage-scrub").get_attribute("max") == "1"
    press(explorer, "ArrowLeft")
    assert drawn(explorer, "destination") != whole


def test_it_is_played_by_keys_and_the_focus_goes_back(explorer: harness.Notebook) -> None:
    explorer.part("hop-1").focus()
    press(explorer, "Enter", "Enter")
    stage = explorer.part("stage")
    expect(stage).to_have_attribute("data-hop", "1")
    press(explorer, "]", "Home", "Space")
    expect(stage).to_have_attribute("data-hop", "2")
    explorer.until(lambda: moment(explorer) > 3)
    press(explorer, "Space")
    expect(explorer.part("stage-play")).to_have_text("Play")
    reached = moment(explorer)
    assert reached == int(reached), "what was in the air has not arrived"
    explorer.part("stage-whole").click()
    press(explorer, "Home", "Space")
    expect(explorer.part("stage-play")).to_have_text("Pause")
    press(explorer, "[", "ArrowUp", "Escape")
    expect(stage).to_have_count(0)
    expect(explorer.part("hop-1")).to_be_focused()
    expect(explorer.part("hop-0")).to_have_attribute("aria-pressed", "true")
    press(explorer, "f")
    expect(stage).to_have_attribute("data-hop", "1")
    explorer.part("stage-close").click()
    explorer.part("follow-chunk").click()
    expect(stage).to_have_attribute("data-hop", "0")
    explorer.part("stage-pace").select_option("fast")
    expect(stage).to_have_attribute("data-hop", "1", timeout=harness.PATIENCE)  # it goes on by itself
    press(explorer, "Escape")
    assert explorer.part("run").evaluate("button => button.closest('[inert]') === null")


def test_nothing_moves_by_itself_where_no_motion_is_wanted(explorer: harness.Notebook) -> None:
    explorer.page.emulate_media(reduced_motion="reduce")
    try:
        explorer.part("follow-chunk").click()
        explorer.at_rest()
        open_at = moment(explorer)
        assert open_at == int(explorer.part("stage-scrub").get_attribute("max") or 0), "it stands at its end"
        press(explorer, "ArrowDown", "ArrowDown", "Home", "Space")
        explorer.at_rest()
        assert moment(explorer) == 1
        press(explorer, "Space")
        explorer.at_rest()
        assert moment(explorer) == 2
        press(explorer, "Escape")
    finally:
        explorer.page.emulate_media(reduced_motion="no-preference")


def test_why_here_is_said_and_each_other_hop_is_a_click_away(explorer: harness.Notebook) -> None:
    open_hop(explorer, 2)
    told = explorer.part("stage").get_by_test_id("why-here")
    expect(told).to_have_text(re.compile(r"Why here: it takes 358 ms.*GPU copy 69\d ms, network 10\d s, .*GPU read 3\d\d s\."))
    explorer.picture("why-here")
    told.get_by_test_id("convert-at-0").click()
    expect(told).to_contain_text(re.compile(r"converted at hop 0, GPU copy: 69\d ms"), timeout=harness.PATIENCE)
    expect(told).to_contain_text(re.compile(r"Here: 35\d ms"), timeout=harness.PATIENCE)
    press(explorer, "Escape")
    expect(explorer.part("stage")).to_have_count(0)
    changes = explorer.part("journey").locator(".iv-hop[data-testid]").evaluate_all("hops => hops.map(hop => hop.dataset.change)")
    assert [change == "converts" for change in changes] == [True, False, False, False, False]
    expect(explorer.part("by-hand-difference")).to_contain_text("% more")


CASES = {
    "several paths": ("example='gpu-mesh'", 0),
    "structs of many fields": (
        "space=dict(x=40, y=24), fields={f'f{k}': 'f4' for k in range(14)}, source=('node0.dsk', '<F, x, y>'), destination=('node0.sys', '<x, y, F>')",  # noqa: E501
        1,
    ),
    "blocks that do not divide the array": (
        "space=dict(x=50, y=30), source=('node0.dsk', '<F, x, y>'), destination=('node0.sys', '<F, y_in=7, x, y_out>')",
        1,
    ),
    "three elements": ("space={'x': 3}, source=('node0.dsk', '<F, x>'), destination=('node0.sys', '<F, x>')", 0),
}


@pytest.mark.parametrize("case", CASES)
def test_any_hop_can_be_shown_large(desk: harness.Notebook, case: str) -> None:
    code, hop = CASES[case]
    desk.show(f"import isoviz\nexplorer = isoviz.explore({code}, restore=False)")
    desk.to_top()
    desk.settled()
    if desk.part("track-1").count():
        desk.part("track-1").click()
    desk.part("journey").locator(".iv-strip .iv-hop[data-testid]").nth(hop).focus()
    press(desk, "f")
    desk.part("stage-play").wait_for()
    desk.at_rest()
    desk.picture(f"large-{case.replace(' ', '-')}")
    whole = drawn(desk, "destination")
    steps = int(desk.part("stage-scrub").get_attribute("max") or 0)
    press(desk, "ArrowLeft")
    assert moment(desk) == steps - 1
    press(desk, "Home")
    assert drawn(desk, "destination") != whole
    press(desk, "End")
    assert drawn(desk, "destination") == whole
    press(desk, "Escape")
    expect(desk.part("stage")).to_have_count(0)
    assert desk.errors == []
