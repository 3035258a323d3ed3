"""Section 4.3 of the Isometry paper by hand: from constraints that fail to every one green at 3 GB/s, by mouse and keyboard."""

from __future__ import annotations

import harness
import pytest
from playwright.sync_api import Locator, expect

PLAN = """\
import isoviz

space, fields = isoviz.IndexSpace(x=8192, y=8192), isoviz.FieldSpace(value="complex128")
transfer = isoviz.Transfer.whole(space, fields, "node0.fbm0", "<F, x, y>", "node1.fbm0", "<F, y, x>")
path = "node0.fbm0, node0.zcm, node0.reg, node1.reg, node1.fbm0"

def layouts(x_in, y_in):
    rows, columns = f"<F, x_in={x_in}, y_in={y_in}, x_out, y_out>", f"<F, y_in={y_in}, x_in={x_in}, x_out, y_out>"
    return [rows, columns, columns]

plan = isoviz.cost(transfer, "two-node", path, layouts(64, 64), over_limits=True)
view = isoviz.PlanView(plan)
view"""


@pytest.fixture
def view(desk: harness.Notebook) -> harness.Notebook:
    desk.show(PLAN)
    desk.part("constraints").wait_for()
    desk.settled()
    return desk


def open_rows(notebook: harness.Notebook) -> int:
    return int(notebook.part("constraints").get_attribute("data-open") or -1)


def slide_to(notebook: harness.Notebook, slider: Locator, value: str) -> None:
    """Press keys at a slider, from its begin on, until it says a value."""
    slider.focus()
    notebook.page.keyboard.press("Home")
    for _ in range(60):
        notebook.frame()
        notebook.frame()
        if slider.get_attribute("aria-valuetext") == value:
            return
        notebook.page.keyboard.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext") == value


@pytest.mark.full
def test_from_constraints_that_fail_to_three_gigabytes_per_second(view: harness.Notebook) -> None:
    constraints = view.part("constraints")
    assert open_rows(view) == 2
    expect(constraints).to_contain_text("missing")
    expect(view.part("hop-0")).to_contain_text("172 MB/s")

    # The mouse drags the point of the block sizes: both runs grow.
    point = view.part("region-point")
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    assert box is not None
    mouse = view.page.mouse
    mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    mouse.down()
    mouse.move(box["x"] + box["width"] / 2 + 60, box["y"] + box["height"] / 2 - 40, steps=6)
    mouse.up()
    view.settled()
    assert int(view.part("by-hand-block-x_in").get_attribute("aria-valuetext").replace(",", "")) > 64  # type: ignore[union-attr]

    # The keyboard does the rest: the blocks of the paper, and the chunk that holds such a block.
    slide_to(view, view.part("by-hand-block-x_in"), "2,048")
    view.settled()
    slide_to(view, view.part("by-hand-block-y_in"), "1,024")
    view.settled()
    expect(constraints).to_contain_text("shuffle")
    assert open_rows(view) == 1, "the chunk is smaller than a block"
    slide_to(view, view.part("by-hand-chunk"), "32 MiB")
    expect(constraints).to_have_attribute("data-open", "0")
    expect(constraints).to_contain_text("all hold")
    expect(view.part("why-verdict")).to_contain_text("Every constraint holds: the path sustains 3 GB/s.")
    view.settled()
    expect(view.part("hop-2")).to_contain_text("3 GB/s")
    made = view.python(
        "print(view.plan.throughput, view.plan == isoviz.cost(transfer, view.session.machine, path, layouts(2048, 1024)))"
    )
    assert made == "3000000000.0 True"
    view.picture("isometry-by-hand")


def test_by_hand_undone_and_back_to_the_planner(view: harness.Notebook) -> None:
    view.part("back-to-planner").click()
    view.settled()
    expect(view.part("leading")).not_to_contain_text("by hand")
    expect(view.part("candidate-0")).to_contain_text("chosen")
    view.page.keyboard.press("ControlOrMeta+z")
    expect(view.part("leading")).to_contain_text("by hand")
    expect(view.part("constraints")).to_have_attribute("data-open", "2")
