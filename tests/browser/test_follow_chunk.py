"""One chunk in motion: it is played, stepped and scrubbed; its requests are counted; it has the whole screen for a lecture."""

from __future__ import annotations

import json

import harness
import pytest
from playwright.sync_api import Locator, expect

CODE = "import isoviz\nexplorer = isoviz.explore(example='two-node', planner='full', restore=False)"
REQUESTS = ["2048", "1", "32768", "1", "16"]
"""A chunk of 16 x 2048 entries: its rows, the whole, its entries one by one, its columns."""


@pytest.fixture
def motion(desk: harness.Notebook) -> Locator:
    desk.show(CODE)
    desk.to_top()
    desk.settled()
    desk.part("follow-chunk").click()
    return desk.part("motion")


def scrub(notebook: harness.Notebook, to: float) -> None:
    """Move the slider, as dragging it does; the picture of that moment is drawn when this ends."""
    notebook.part("motion-scrub").evaluate(
        "(slider, to) => { slider.value = to; slider.dispatchEvent(new Event('input', {bubbles: true})); }", to
    )
    # A frame that was asked for before may still move it on, to between two values of the slider.
    slider, canvas = notebook.part("motion-scrub"), notebook.part("motion-canvas")
    half_step = float(slider.get_attribute("step") or "nan") / 2

    def agree() -> bool:
        at = float(canvas.get_attribute("data-at") or "nan")
        return abs(at - float(slider.evaluate("slider => slider.value"))) < half_step + 0.001

    notebook.until(agree)


def test_a_chunk_is_played_and_its_requests_are_counted(desk: harness.Notebook, motion: Locator) -> None:
    assert [desk.part(f"motion-hop-{hop}").get_attribute("data-requests") for hop in range(5)] == REQUESTS
    expect(desk.part("motion-told")).to_contain_text("Hop 1", timeout=harness.PATIENCE)  # it plays by itself
    desk.part("motion-play").click()
    scrub(desk, 2.5)
    desk.to_top()
    harness.assert_seen(desk.part("motion-told"), "Hop 2, memory copy: 16,")
    expect(desk.part("motion-hop-1")).to_contain_text("1of 1 request512 KiB each")
    desk.picture("chunk-in-motion")
    scrub(desk, 3)
    before = float(desk.part("motion-canvas").get_attribute("data-at") or 0)
    desk.part("motion-step").click()
    expect(desk.part("motion-canvas")).to_have_attribute("data-at", f"{before + 1:.3f}")  # a whole chunk in one request
    desk.part("motion-step").click()
    expect(desk.part("motion-told")).to_contain_text("Hop 4")
    scrub(desk, 5)
    expect(desk.part("motion-told")).to_contain_text("16 of 16 requests")
    desk.part("motion-close").click()
    expect(motion).to_have_count(0)
    expect(desk.end("source")).to_be_visible()


def test_it_has_the_whole_screen_and_gives_it_back(desk: harness.Notebook, motion: Locator) -> None:
    desk.part("motion-play").click()
    desk.part("motion-whole").click()
    expect(motion).to_have_attribute("data-whole", "true")
    desk.until(lambda: motion.evaluate("box => box.getBoundingClientRect().width >= innerWidth - 1"))
    scrub(desk, 2.5)
    harness.assert_seen(desk.part("motion-told"), "Hop 2")
    size = desk.part("motion-hop-2").evaluate("hop => parseFloat(getComputedStyle(hop).fontSize)")
    assert size >= 18
    desk.picture("chunk-on-the-whole-screen")
    desk.part("motion-scrub").focus()
    desk.page.keyboard.press("ArrowRight")
    desk.page.keyboard.press("Escape")
    expect(motion).to_have_attribute("data-whole", "false")
    expect(motion).to_be_visible()
    assert desk.part("run").evaluate("button => button.closest('[inert]') === null")


def test_hops_take_their_time_as_simulated_and_as_measured(desk: harness.Notebook) -> None:
    desk.show(
        "import isoviz\nexplorer = isoviz.explore(space={'x': 256, 'y': 128}, source=('node0.sys', '<F, x, y>'),"
        " destination=('node0.sys', '<F, y, x>'), restore=False)"
    )
    desk.to_top()
    desk.settled()
    desk.part("follow-chunk").click()
    clock = desk.part("motion-clock").locator("option")
    expect(clock).to_have_text(["every hop alike", "simulated time"])
    simulated = desk.part("motion-hop-0").inner_text()
    desk.run()
    expect(clock).to_have_count(3)
    desk.part("motion-clock").select_option("measured")
    expect(desk.part("motion-hop-0")).not_to_have_text(simulated)


def test_the_chunk_of_the_selected_path_is_followed(desk: harness.Notebook) -> None:
    desk.show(
        "import isoviz\nexplorer = isoviz.explore(example='two-nics', destination=('node1.sys', '<F, y, x>'), restore=False)"
    )
    desk.to_top()
    desk.settled()
    # The copies that carry out the first chunk of each path, counted one by one.
    counted = json.loads(
        desk.python(
            "import json, math\n"
            "paths = explorer.session.plan.paths\n"
            "runs = lambda copy: math.prod(extent for extent, _, _ in copy.loops)\n"
            "print(json.dumps([[sum(map(runs, path.copies(hop, path.numbers[0]))) for hop in range(len(path.hops))]"
            " for path in paths]))"
        )
    )
    assert len(counted) == 2
    desk.to_top()
    desk.part("follow-chunk").click()
    first = 0
    for track, requests in enumerate(counted):
        desk.part(f"track-{track}").click()
        expect(desk.part("motion-chunk")).to_contain_text(f"path {track} with")
        shown = [desk.part(f"motion-hop-{first + hop}").get_attribute("data-requests") for hop in range(len(requests))]
        assert shown == [str(count) for count in requests]
        first += len(requests)
    scrub(desk, 0.5)
    desk.part("motion-told").scroll_into_view_if_needed()
    harness.assert_seen(desk.part("motion-told"), f"Hop {first - len(counted[1])},")
    desk.picture("chunk-of-a-path")
