"""Where data turn, as a person sees it: words and pictures of memory, stops on cards, a dragged conversion, measured rates."""

from __future__ import annotations

import re
from itertools import pairwise

import harness
import pytest
from playwright.sync_api import expect

CODE = "import isoviz\nexplorer = isoviz.explore(example='two-node', planner='full', restore=False)"
CHANGES = ["forms blocks", "keeps", "converts", "keeps", "dissolves blocks"]


@pytest.fixture
def explorer(desk: harness.Notebook) -> harness.Notebook:
    desk.show(CODE)
    desk.to_top()
    desk.settled()
    return desk


def pictures(notebook: harness.Notebook) -> list[str]:
    """The pixels of the memory of every stop, as the journey draws them."""
    notebook.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    drawn = notebook.part("journey").locator(".iv-stop canvas")
    return [str(drawn.nth(place).evaluate("canvas => canvas.toDataURL()")) for place in range(drawn.count())]


def changes(seen: list[str]) -> list[bool]:
    return [before != after for before, after in pairwise(seen)]


def planned_words(notebook: harness.Notebook) -> list[str]:
    told = "print(*[change for path in explorer.session.plan.paths for change in path.order_changes], sep='|')"
    return notebook.python(told).split("|")


def test_pictures_and_words_tell_the_hop_that_turns_the_order(explorer: harness.Notebook) -> None:
    for number, word in enumerate(CHANGES):
        mark = explorer.part(f"hop-{number}").locator(".iv-hop-mark")
        expect(mark).to_have_text(word)
        if word != "keeps":  # what keeps the order is told by its like pictures, and to screen readers
            harness.assert_seen(mark)
    assert planned_words(explorer) == CHANGES
    assert changes(pictures(explorer)) == [word != "keeps" for word in CHANGES]
    explorer.part("extent-block").click()
    assert changes(pictures(explorer)) == [word == "converts" for word in CHANGES]
    explorer.to_top()
    explorer.picture("turns")


FIELDS = "fields={'re': 'float32', 'im': 'float32'}"
OF_FIELDS = {
    "structs to arrays": f"space={{'x': 4096, 'y': 4096}}, {FIELDS}, machine='two-node',"
    " source=('node0.fbm0', '<F, x, y>'), destination=('node1.fbm0', '<x, y, F>')",
    "structs to blocks of arrays": f"space={{'x': 1024, 'y': 1024}}, {FIELDS},"
    " source=('node0.dsk', '<F, x, y>'), destination=('node0.sys', '<x_in=16, F, x_out, y>')",
}


@pytest.mark.parametrize("name", OF_FIELDS)
def test_pictures_tell_the_hop_that_moves_the_fields(desk: harness.Notebook, name: str) -> None:
    desk.show(f"import isoviz\nexplorer = isoviz.explore({OF_FIELDS[name]}, planner='full', restore=False)")
    desk.to_top()
    desk.settled()
    words = planned_words(desk)
    assert "converts" in words
    assert changes(pictures(desk)) == [word != "keeps" for word in words]
    desk.part("extent-block").click()
    assert changes(pictures(desk)) == [word == "converts" for word in words]
    desk.picture(f"fields-{'-'.join(name.split())}")


def test_a_selected_hop_shows_one_block_before_and_after_it(explorer: harness.Notebook) -> None:
    for number, word in enumerate(CHANGES):
        explorer.part(f"hop-{number}").click()
        expect(explorer.part("extent-block")).to_have_attribute("aria-pressed", "true")
        explorer.at_rest()
        before, after = (explorer.drawing(side) for side in ("source", "destination"))
        assert (before != after) == (word == "converts"), f"hop {number} {word}"
    explorer.page.keyboard.press("Escape")
    expect(explorer.part("extent-whole")).to_have_attribute("aria-pressed", "true")


def test_one_array_in_c_and_in_fortran_order_has_two_pictures(desk: harness.Notebook) -> None:
    drawn = []
    for order in ("ascontiguousarray", "asfortranarray"):
        desk.show(
            "import numpy, isoviz\nrows = numpy.arange(48.0).reshape(6, 8)\n"
            f"explorer = isoviz.explore(numpy.{order}(rows), restore=False)"
        )
        desk.to_top()
        desk.settled()
        desk.at_rest()
        memory = desk.drawing("source")
        grid = desk.grid("source")
        desk.at_rest()
        drawn.append((memory, str(grid.locator("canvas").first.evaluate("canvas => canvas.toDataURL()"))))
    (memory, grid), (other_memory, other_grid) = drawn  # type: ignore[assignment]
    assert memory != other_memory, "by address"
    assert grid != other_grid, "by index"


def test_a_hop_shows_its_stops_in_the_grids_and_escape_shows_the_ends(explorer: harness.Notebook) -> None:
    before = explorer.drawing("source")
    explorer.part("hop-2").click()
    expect(explorer.end("source")).to_have_attribute("data-shows", "2")
    expect(explorer.end("destination")).to_have_attribute("data-shows", "3")
    assert explorer.drawing("source") != before
    # The entry behind the first one in memory: the order turns over this hop.
    for side, following in (("source", "x = 1, y = 0"), ("destination", "x = 0, y = 1")):
        explorer.grid(side).press("Home")
        explorer.page.keyboard.press("n")
        expect(explorer.fact(side, "entry")).to_have_text(following)
        explorer.page.keyboard.press("p")
    explorer.to_top()
    explorer.picture("stops-of-a-hop")
    explorer.part("shows-source").select_option("0")
    expect(explorer.part("source-layout")).to_be_visible()
    explorer.page.keyboard.press("Escape")
    for side in ("source", "destination"):
        expect(explorer.end(side)).to_have_attribute("data-shows", "end")
        expect(explorer.part(f"{side}-layout")).to_be_visible()
    expect(explorer.part("hop-2")).to_have_attribute("aria-pressed", "false")


def test_the_conversion_is_dragged_to_another_hop(explorer: harness.Notebook) -> None:
    chosen = explorer.part("figure-seconds").inner_text()
    mark, goal = explorer.part("conversion").bounding_box(), explorer.part("hop-0").bounding_box()
    assert mark is not None and goal is not None and chosen == "358 ms"
    mouse = explorer.page.mouse
    mouse.move(mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2)
    mouse.down()
    mouse.move(goal["x"] + goal["width"] / 2, goal["y"] + goal["height"] / 2, steps=8)
    expect(explorer.explorer.locator(".iv-held-mark")).to_have_text("converts")
    mouse.up()
    expect(explorer.part("hop-0")).to_contain_text("converts", timeout=harness.PATIENCE)
    explorer.settled()
    # From there on all hops only keep the order: where there is little room, they are one arrow, which unfolds by the keyboard.
    folded = explorer.part("folded-1")
    harness.assert_seen(folded, "4 hops keep it")
    expect(explorer.part("figure-seconds")).to_have_text(re.compile(r"^69\d ms$"))
    expect(explorer.part("journey-planned")).to_contain_text(chosen)
    harness.assert_seen(explorer.part("by-hand-difference"), re.compile(r"69\d ms, 9\d % more"))
    explorer.part("extent-block").click()
    turned = pictures(explorer)
    assert len(turned) == 3 + len(CHANGES) + 1, "both journeys"
    assert changes(turned[:3]) == [True, False]
    folded.focus()
    explorer.page.keyboard.press("Enter")
    expect(explorer.part("hop-2")).to_have_attribute("data-change", "keeps")
    expect(explorer.part("hop-3")).to_be_focused()
    explorer.page.keyboard.press("Escape")
    expect(folded).to_be_visible()
    explorer.to_top()
    explorer.picture("converted-elsewhere")
    explorer.part("journey-back").click()
    explorer.settled()
    expect(explorer.part("figure-seconds")).to_have_text(chosen)
    expect(explorer.part("journey-planned")).to_have_count(0)


def test_the_conversion_is_moved_by_keyboard(explorer: harness.Notebook) -> None:
    explorer.part("hop-4").focus()
    explorer.page.keyboard.press("Enter")
    explorer.part("convert-here").focus()
    explorer.page.keyboard.press("Enter")
    expect(explorer.part("hop-4")).to_contain_text("converts", timeout=harness.PATIENCE)
    explorer.page.keyboard.press("Control+z")
    expect(explorer.part("hop-2")).to_contain_text("converts", timeout=harness.PATIENCE)


def test_a_run_sets_measured_beside_predicted_in_the_journey(desk: harness.Notebook) -> None:
    desk.show(
        "import isoviz\nexplorer = isoviz.explore(space={'x': 256, 'y': 128}, source=('node0.sys', '<F, x, y>'),"
        " destination=('node0.sys', '<F, y, x>'), restore=False)"
    )
    desk.to_top()
    desk.settled()
    expect(desk.part("figure-measured")).to_have_count(0)
    desk.run()
    harness.assert_seen(desk.part("leading"), re.compile(r": planned .*, measured "))
    rows = desk.python("print(len(explorer.session.report.hops))")
    desk.to_top()
    for number in range(int(rows)):
        expect(desk.part(f"measured-{number}")).to_have_text(re.compile(r"^[\d.,]+ [kMGT]?B/s$"))
    desk.picture("measured-in-the-journey")
