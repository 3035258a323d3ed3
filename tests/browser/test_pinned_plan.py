"""A pinned plan, as a person sees it: it stays under every later plan, with the differences, until it is let go."""

from __future__ import annotations

import re

import harness
from playwright.sync_api import expect

CODE = "import isoviz\nexplorer = isoviz.explore(example='two-node', planner='full', restore=False)"


def test_a_pinned_plan_stays_beside_later_plans(desk: harness.Notebook) -> None:
    desk.show(CODE)
    desk.to_top()
    desk.settled()
    before = desk.part("figure-seconds").inner_text()
    desk.part("compare").click()
    expect(desk.part("compare")).to_have_attribute("aria-pressed", "true")
    for layout in ("<F, x, y>", "<F, x_in=2, y, x_out>"):
        desk.part("destination-layout").fill(layout)
        desk.settled()
        now = desk.part("figure-seconds").inner_text()
        harness.assert_seen(desk.part("pinned-difference"), f"This plan takes {now}")
        expect(desk.part("pinned-plan")).to_contain_text(before)
    desk.part("pinned-figures").locator("summary").click()
    expect(desk.part("pinned-figures").get_by_role("row", name=re.compile("^time"))).to_contain_text(before)
    desk.to_top()
    desk.picture("pinned-plan")
    desk.part("unpin-plan").click()
    expect(desk.part("pinned-plan")).to_have_count(0)
