"""Names that every object of a browser has, typed, kept, run and saved; and the ways out where drawing has failed."""

from __future__ import annotations

from pathlib import Path

import harness
import pytest
from playwright.sync_api import Browser, expect

KEPT = """\
import isoviz
explorer = isoviz.explore(
    space={"x": 64, "y": 48}, fields={"a": "float32", "b": "float64"},
    source=("node0.dsk", "<F, x, y>"), destination=("node0.sys", "<x, y, F>"), machine_options={"measure": "assumed"},
)
"""
MACHINE = """\
import isoviz
from isoviz.machines import Channel, Constant, Machine, Memory
one, other = "__proto__", "hasOwnProperty"
pairs = (one, other), (other, one), (one, one), (other, other)
machine = Machine("constructor", (Memory(one, "SYS", 0), Memory(other, "REG", 0)), tuple(
    Channel(f"{a}->{b}", "Memcpy", a, b, Constant(1e9)) for a, b in pairs))
explorer = isoviz.explore(
    machine=machine, space={"toString": 32, "valueOf": 16, "toJSON": 4}, fields={"__proto__": "float32", "constructor": "int8"},
    source=(one, "<F, toString, valueOf, toJSON>"), destination=(other, "<valueOf, toString, F, toJSON>"), restore=False,
)
"""


def walked_through(desk: harness.Notebook) -> None:
    """All of the explorer is drawn: entries, every tab, a run."""
    desk.settled()
    expect(desk.part("error-drawing")).to_have_count(0)
    desk.part("way-both").click()
    for side in ("source", "destination"):
        desk.memory(side).click(position={"x": 20, "y": 20})
        expect(desk.fact(side, "entry")).not_to_have_text("")
    for tab in desk.explorer.locator("[role=tab]").all():
        tab.click()
        desk.settled()
        expect(desk.part("error-drawing")).to_have_count(0)
    desk.part("hop-0").click()
    expect(desk.part("error-drawing")).to_have_count(0)
    assert desk.errors == []


def test_dimensions_and_fields_of_such_names(desk: harness.Notebook) -> None:
    desk.show(KEPT)
    desk.to_top()
    desk.settled()
    desk.open_drawer()
    for old, new in {"x": "constructor", "y": "__proto__", "a": "toString", "b": "__proto__"}.items():
        desk.part(f"name-{old}").last.fill(new)
        desk.settled()
        expect(desk.part("error-drawing")).to_have_count(0)
    desk.close_drawer()
    assert desk.chips("source") == ["F", "constructor", "__proto__"]
    assert desk.python("print(explorer.session.plan.transfer.space)") == "constructor=64, __proto__=48"
    walked_through(desk)
    desk.run()
    desk.to_top()
    desk.picture("odd-names")
    desk.run_first_cell()
    expect(desk.part("status")).to_contain_text("Restored")
    assert desk.chips("source") == ["F", "constructor", "__proto__"]
    walked_through(desk)


@pytest.mark.full
def test_a_machine_of_such_names_and_its_page(desk: harness.Notebook, browser: Browser, tmp_path: Path) -> None:
    desk.show(MACHINE)
    desk.to_top()
    walked_through(desk)
    with desk.page.expect_download() as downloaded:
        desk.choose_from_explorer("export-page")
    path = tmp_path / "page.html"
    downloaded.value.save_as(path)
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(path.as_uri())
    page.get_by_test_id("page").wait_for()
    for view in page.locator("[data-testid^=view-]").all():
        if view.get_attribute("open") is None:
            view.locator("summary").click()
    expect(page.get_by_test_id("error-drawing")).to_have_count(0)
    assert problems == []
    context.close()


BROKEN = """\
explorer.part_layout = {**explorer.part_layout, "dims": None}
explorer.frame = {**explorer.frame, "revision": explorer.frame["revision"] + 1}
"""


def test_where_drawing_has_failed_there_are_two_ways_out(desk: harness.Notebook) -> None:
    desk.show(KEPT.replace("machine_options", "restore=False, machine_options"))
    desk.to_top()
    desk.choose_layout("source", "<y, F, x>")
    for way, layout in (("undo", "<F, x, y>"), ("begin-afresh", "<F, x, y>")):
        desk.python(BROKEN)
        harness.assert_seen(desk.part("error-drawing"), "could not be drawn")
        desk.picture(f"not-drawn-{way}")
        desk.part("error-drawing").get_by_test_id(way).click()
        expect(desk.part("source-layout")).to_have_value(layout)
        expect(desk.part("error-drawing")).to_have_count(0)
        desk.settled()
        desk.choose_layout("source", "<y, x, F>")
