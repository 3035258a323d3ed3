"""Networks in the explorer: a pair of 512 nodes from the preset to its simulation, by mouse and by keyboard; two NICs."""

from __future__ import annotations

import harness
import pytest
from playwright.sync_api import expect
from test_keyboard import enter, tab_to

LOCAL = "import isoviz\nexplorer = isoviz.explore(example='small', restore=False)"


@pytest.fixture
def explorer(desk: harness.Notebook) -> harness.Notebook:
    desk.show(LOCAL)
    desk.to_top()
    desk.settled()
    return desk


def paths(explorer: harness.Notebook) -> int:
    return int(explorer.python("print(len(explorer.session.plan.paths))"))


def test_a_pair_of_512_nodes_by_mouse(explorer: harness.Notebook) -> None:
    explorer.open_drawer()
    explorer.part("example").select_option("torus-pair")
    explorer.settled()
    explorer.close_drawer()
    tracks = explorer.part("tracks").locator("[data-track]")
    expect(tracks).not_to_have_count(0)
    assert tracks.count() == paths(explorer) >= 8
    wide = [box["height"] for each in tracks.locator(".iv-track-band").all() if (box := each.bounding_box()) is not None]
    shares = explorer.python("plan = explorer.session.plan\nprint(*[path.bytes / plan.bytes for path in plan.paths])")
    scale = max(wide) / max(map(float, shares.split()))
    assert all(abs(height - scale * float(share)) < 0.5 for height, share in zip(wide, shares.split(), strict=True))

    # A track that is selected is selected everywhere.
    explorer.part("track-4").click()
    expect(explorer.part("inspector-path")).to_contain_text("Path 4")
    explorer.part("tab-machine").click()
    stage = explorer.part("network-stage")
    expect(stage).to_have_attribute("data-lod", "links")
    expect(explorer.part("net-track-4")).to_have_attribute("aria-pressed", "true")
    explorer.part("tab-timeline").click()
    expect(explorer.part("timeline-track")).to_contain_text("Path 4")
    explorer.part("timeline-all-paths").click()
    expect(explorer.part("timeline-track")).to_have_count(0)
    expect(explorer.part("track-4")).to_have_attribute("aria-pressed", "false")

    # Links as a heat map, at the moment of the simulation.
    explorer.part("tab-machine").click()
    explorer.part("net-loads").click()
    expect(explorer.part("net-moment")).to_contain_text("mean over the transfer")
    explorer.settled()
    scrubber = explorer.part("network-canvas").locator("input[type=range]")
    scrubber.focus()
    explorer.page.keyboard.press("End")
    expect(explorer.part("net-moment")).to_contain_text("at ")
    explorer.picture("networks-torus")

    # Pan and zoom.
    stage.scroll_into_view_if_needed()
    box = stage.bounding_box()
    assert box is not None
    explorer.page.mouse.move(box["x"] + 100, box["y"] + 100)
    explorer.page.mouse.down()
    explorer.page.mouse.move(box["x"] + 160, box["y"] + 130, steps=4)
    explorer.page.mouse.up()
    before = int(stage.get_attribute("data-drawn") or 0)
    explorer.part("net-in").click()
    explorer.until(lambda: int(stage.get_attribute("data-drawn") or 0) > before)


@pytest.mark.full
def test_a_pair_of_512_nodes_by_keyboard(explorer: harness.Notebook) -> None:
    explorer.open_drawer()
    explorer.part("example").focus()
    explorer.page.keyboard.type("Blue Gene")
    explorer.settled()
    explorer.close_drawer()
    enter(explorer)
    tab_to(explorer, explorer.part("tab-why"))
    while explorer.part("tab-machine").get_attribute("aria-selected") != "true":
        explorer.page.keyboard.press("ArrowRight")
    stage = explorer.part("network-stage")
    tab_to(explorer, stage)
    # The first key takes the source, the next its neighbour in E, which becomes the destination.
    press = explorer.page.keyboard.press
    press("ArrowRight")
    press("ArrowRight")
    expect(stage.get_by_role("status")).to_contain_text("node1.sys at A0 B0 C0 D0 E1")
    press("Enter")
    use = explorer.part("net-use-destination")
    tab_to(explorer, use)
    press("Enter")
    explorer.settled()
    expect(use).to_have_attribute("aria-pressed", "true")
    expect(explorer.part("destination-memory")).to_have_value("node1.sys")
    press("ControlOrMeta+z")
    expect(use).to_have_attribute("aria-pressed", "false")
    explorer.settled()
    assert explorer.python("print(explorer.session.plan.transfer.destination.memory)") == "node511.sys"


@pytest.mark.full
def test_two_nics_and_how_many_paths_they_are_worth(explorer: harness.Notebook) -> None:
    explorer.open_drawer()
    explorer.part("example").select_option("two-nics")
    explorer.settled()
    explorer.close_drawer()
    assert paths(explorer) == 2
    explorer.part("tab-why").click()
    explorer.settled()
    explorer.part("paths-1").click()
    explorer.settled()
    assert paths(explorer) == 1
    explorer.part("paths-any").click()
    explorer.settled()
    assert paths(explorer) == 2
    tried = explorer.part("paths-tried").locator("li")
    expect(tried).to_have_count(2)
    expect(tried.filter(has_text="paths ≤ 1")).to_contain_text("1 path,")
    explorer.part("tab-machine").click()
    expect(explorer.part("net-track-list").locator("li")).to_have_count(2)
    explorer.part("view-memories").click()
    explorer.part("machine-stage").wait_for()

    # By hand: what a share is worth, and a path less.
    explorer.part("tab-why").click()
    explorer.part("plan-by-hand").click()
    explorer.settled()
    share = explorer.part("by-hand-share-0")
    share.focus()
    share.press("Home")
    explorer.settled()
    assert paths(explorer) == 1, "a path without a share is left out"
    explorer.part("by-hand-equal").click()
    explorer.settled()
    assert paths(explorer) == 2
    explorer.part("by-hand-remove-0").click()
    explorer.settled()
    assert paths(explorer) == 1
    explorer.picture("networks-two-nics")
