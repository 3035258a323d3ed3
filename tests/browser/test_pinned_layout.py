"""A pinned layout, as a person sees it: one grid becomes two, through every later edit, with the facts of both side by side."""

from __future__ import annotations

import re

import harness
from playwright.sync_api import expect

CODE = "import isoviz\nexplorer = isoviz.explore(example='two-node', planner='simple', restore=False)"
SIZE = 8192
ENTRY = 16
"""Bytes of an entry, a complex number."""


def test_a_pinned_layout_stays_beside_later_layouts(desk: harness.Notebook) -> None:
    desk.show(CODE)
    desk.to_top()
    desk.settled()
    card = desk.end("source")
    heads = card.locator(".iv-lin-half-head code")
    desk.grid("source")
    desk.part("linearization-more").click()
    desk.part("pin-layout-source").check()
    desk.page.keyboard.press("Escape")
    for layout in ("<F, x_in=4, y, x_out>", "<F, y, x>"):
        desk.choose_layout("source", layout)
        expect(heads).to_have_text(["<F, x, y>", layout])
    desk.part("undo").click()
    desk.settled()
    desk.part("redo").click()
    desk.settled()
    expect(heads).to_have_text(["<F, x, y>", "<F, y, x>"])
    desk.to_top()
    card.get_by_test_id("pinned-grid").hover()
    marks = card.get_by_test_id("linearization-grid").locator("canvas").nth(1)
    expect(marks).to_have_attribute("data-drawn", re.compile(r"^\d+,\d+$"))
    facts = card.get_by_test_id("compared-layouts")
    expect(facts.get_by_role("row", name="Pinned")).to_contain_text(re.compile(r"\d,\d"))
    x, y = (int(at.replace(",", "")) for at in re.findall(r"= ([\d,]*\d)", desk.fact("source", "entry").inner_text()))
    for name, byte in (("Pinned", ENTRY * (x + SIZE * y)), ("Now", ENTRY * (y + SIZE * x))):
        told = facts.get_by_role("row", name=name).locator("td").all_inner_texts()
        assert told[0] == f"{byte:,}" and told[2] == f"{byte // 64:,}"
    desk.picture("pinned-layout")
    expect(card.get_by_test_id("unpin-layout")).to_be_visible()
    card.get_by_test_id("unpin-layout").click()
    expect(heads).to_have_count(0)
