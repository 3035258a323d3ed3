"""The tour: six steps on the real controls, which it never covers; by itself for a newcomer, and once only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import harness
import pytest
from playwright.sync_api import expect

SMALL = """\
import isoviz
explorer = isoviz.explore(
    space={"x": 64, "y": 48}, source=("node0.dsk", "<F, x, y>"), destination=("node0.sys", "<x, y, F>"), restore=False,
)
"""

# What is wrong with the controls that the tour outlines, or "": the first one has to be in the window, and nothing lies over any.
_COVERED = """screen => {
  const style = screen.querySelector(".iv-tour style").sheet.cssRules[0].selectorText;
  const outlined = [...document.querySelectorAll(style)];
  if (outlined.length === 0) return "nothing is outlined";
  for (const element of outlined) {
    const {left, right, top, bottom} = element.getBoundingClientRect();
    const isOut = top < 0 || bottom > innerHeight + 1;
    if (isOut && element === outlined[0]) return `${element.className} is out of the window: ${[top, bottom]}`;
    if (isOut) continue;
    for (const y of [top + 4, (top + bottom) / 2, bottom - 4]) {
      const found = document.elementFromPoint((left + right) / 2, y);
      if (found?.closest(".iv-tour")) return `${element.className} lies below the tour at ${y}`;
      if (found?.closest(".isoviz") === null) return `${element.className} is covered by ${found.className} at ${y}`;
    }
  }
  return "";
}"""


@pytest.fixture
def newcomer(desk: harness.Notebook) -> Iterator[harness.Notebook]:
    ended: Path = desk.lab.home / "state" / "isoviz" / "tour-ended"
    ended.unlink()
    desk.show(SMALL)
    desk.to_top()
    yield desk
    ended.touch()


def test_six_steps_are_done_and_never_asked_for_again(newcomer: harness.Notebook) -> None:
    part = newcomer.part

    def is_done(step: int) -> None:
        """The tour notices that the step was done; then on to the next one."""
        expect(part("tour")).to_have_attribute("data-step", str(step))
        expect(part("tour")).to_have_attribute("data-done", "true")
        harness.assert_seen(part("tour").get_by_role("status"), f"{step} of 6")
        part("tour-next").click()

    def is_outlined() -> None:
        newcomer.until(lambda: newcomer.explorer.evaluate(_COVERED) == "")

    is_outlined()
    newcomer.drag_chip("source", "x:0", "F")
    is_done(1)
    is_outlined()
    newcomer.settled()
    part("stop-1").click()
    is_done(2)
    is_outlined()
    part("journey").locator("[data-change=converts]").click()
    is_done(3)
    is_outlined()
    other = part("journey").locator(".iv-hop:not([data-change=converts])").first
    name = str(other.get_attribute("data-testid"))
    other.click()
    part("convert-here").click()
    newcomer.settled()
    expect(part(name)).to_have_attribute("data-change", "converts")
    expect(part("journey").locator(f".iv-hop[data-testid={name}][data-change=converts]")).to_have_count(1)
    turned = [each.get_attribute("data-change") for each in part("journey").locator(".iv-hop[data-testid]").all()]
    assert turned.count("converts") == 1, turned
    expect(part("by-hand-difference")).not_to_contain_text("just as long")
    is_done(4)
    part("journey-back").click()
    newcomer.settled()
    is_outlined()
    newcomer.run()
    is_done(5)
    is_outlined()
    part("compare").click()
    newcomer.picture("tour-last-step")
    is_done(6)
    expect(part("tour")).to_have_count(0)
    expect(part("menu")).to_be_focused()

    newcomer.show(SMALL)
    newcomer.settled()
    expect(part("tour")).to_have_count(0)


def test_it_is_begun_from_the_menu_and_ended_by_keyboard(desk: harness.Notebook) -> None:
    desk.show(SMALL)
    desk.to_top()
    press = desk.page.keyboard.press
    desk.part("menu").focus()
    press("Enter")
    press("End")
    press("Enter")
    expect(desk.part("tour-next")).to_be_focused()
    harness.assert_seen(desk.part("tour").get_by_role("status"), "One array, two orders")
    press("Enter")
    expect(desk.part("tour")).to_have_attribute("data-step", "2")
    expect(desk.part("tour-next")).to_be_focused()
    press("ArrowLeft")
    press("ArrowLeft")
    expect(desk.part("tour-show")).to_be_focused()
    press("Enter")
    desk.until(lambda: desk.part("journey").evaluate("box => box.contains(document.activeElement)"))
    desk.part("tour-next").focus()
    press("Escape")
    expect(desk.part("tour")).to_have_count(0)
    expect(desk.part("menu")).to_be_focused()
