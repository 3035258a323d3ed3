"""What if, candidates and the plan by hand, as a user: sliders that plan anew, paths that are pointed at and taken."""

from __future__ import annotations

import harness
import pytest
from playwright.sync_api import expect

CODE = "import isoviz\nexplorer = isoviz.explore(example='two-node', planner='full', restore=False)"


@pytest.fixture
def explorer(desk: harness.Notebook) -> harness.Notebook:
    desk.show(CODE)
    desk.to_top()
    desk.settled()
    return desk


def test_sliders_plan_anew_beside_the_plan(explorer: harness.Notebook) -> None:
    explorer.part("leading-pace").click()
    slider = explorer.part("hop-what-if")
    expect(explorer.part("elsewhere")).to_be_visible()
    expect(explorer.part("why-here")).not_to_contain_text("being worked out", timeout=harness.PATIENCE)
    before = explorer.part("figure-seconds").inner_text()
    slider.focus()
    places = (
        "() => ['stop-0', 'hop-3', 'hop-what-if', 'figure-seconds'].map(name => document.querySelector(`[data-testid=${name}]`)"
        ".getBoundingClientRect()).map(({ x, y }) => [x, y].map(Math.round).join())"
    )
    unmoved = explorer.page.evaluate(places)
    for _ in range(30):
        explorer.page.keyboard.press("ArrowRight")
    expect(explorer.part("journey-tried")).to_have_attribute("data-final", "true")
    explorer.settled()
    assert explorer.page.evaluate(places) == unmoved, "nothing moves under a slider that is dragged"
    assert explorer.part("figure-seconds").inner_text() == before, "the plan itself stays"
    told = explorer.part("tried-throughput").inner_text().removeprefix("what if").strip()
    assert (
        explorer.python(
            "from isoviz.planner.explanation.rivals import with_bandwidth\n"
            "from isoviz.units import format_rate\n"
            "state = explorer.session.state\n"
            "(channel, peak), = state.what_if.bandwidths\n"
            "machine = with_bandwidth(state.derived.machine, channel, peak / state.derived.machine.channel(channel).peak)\n"
            "print(format_rate(isoviz.plan(state.derived.transfer, machine, 'full').throughput))"
        )
        == told
    )

    explorer.part("hop-what-if-keep").click()
    explorer.settled()
    expect(explorer.part("journey-tried")).to_have_count(0)
    expect(explorer.part("figure-throughput").locator("dd")).to_have_text(told)
    explorer.part("undo").click()
    explorer.settled()
    expect(explorer.part("figure-seconds")).to_have_text(before)


@pytest.mark.full
def test_a_candidate_is_pointed_at_and_taken(explorer: harness.Notebook) -> None:
    explorer.part("tab-why").click()
    explorer.part("dock-size").click()
    explorer.part("candidate-1").click()
    expect(explorer.part("path-pointed-at")).to_contain_text("Pointed at")
    hops = explorer.part("candidate-1").locator(".iv-candidate-path > span").count()
    explorer.part("take-path").click()
    explorer.part("by-hand").wait_for()
    explorer.settled()
    expect(explorer.part("by-hand").locator(".iv-hand-hop")).to_have_count(hops)
    expect(explorer.part("journey").get_by_test_id(f"stop-{hops}")).to_be_visible()  # hops may be folded, its end is not
    expect(explorer.part("journey").get_by_test_id(f"stop-{hops + 1}")).to_have_count(0)
    expect(explorer.part("leading")).to_contain_text("by hand")

    # Hop by hop: the last ones away, up to the one that reached the destination, then another way there by the keyboard.
    for left in reversed(range(hops)):
        explorer.part("by-hand-back").click()
        expect(explorer.part("by-hand").locator(".iv-hand-hop")).to_have_count(left)
        if explorer.part("by-hand").get_by_text("reaches the destination").count() == 0:
            break
    expect(explorer.part("error-by-hand-path")).to_contain_text("expected one from")
    explorer.part("by-hand-next").select_option(
        label=explorer.part("by-hand-next").locator("option", has_text="to node1.fbm0").first.inner_text()
    )
    expect(explorer.part("error-by-hand-path")).to_have_count(0)
    explorer.settled()
    expect(explorer.part("leading")).to_contain_text("by hand")
    explorer.part("back-to-planner").click()
    explorer.settled()
    expect(explorer.part("leading")).not_to_contain_text("by hand")
    expect(explorer.part("figure-planner")).to_contain_text("by the planner full")


KEYED = """
import isoviz
from dataclasses import replace
from isoviz.machines import Channel, LatencyBandwidth, OneTimeCost, preset
machine = preset("two-node")
key = OneTimeCost("key", 1.0, per="request")
card = Channel("card", "GPUDirectRemote", "node0.fbm0", "node1.fbm0", LatencyBandwidth(1e-9, 50e9), costs=(key,))
machine = replace(machine, channels=(*machine.channels, card))
ends = dict(source=("node0.fbm0", "<F, x, y>"), destination=("node1.fbm0", "<F, y, x>"))
array = dict(space={"x": 1024, "y": 1024}, fields={"v": "c16"})
explorer = isoviz.explore(machine=machine, planner="full", restore=False, **array, **ends)
"""


def test_reuse_turns_the_choice(desk: harness.Notebook) -> None:
    """A key that takes a second pays once it is used often: tried by the keyboard, kept, and said in the bar."""
    desk.show(KEYED)
    desk.to_top()
    desk.settled()
    desk.part("tab-why").click()
    slider = desk.part("what-if-reuse")
    slider.scroll_into_view_if_needed()
    slider.focus()
    for _ in range(5):
        desk.page.keyboard.press("ArrowRight")
    expect(desk.part("what-if-answer")).to_contain_text("The first of 6 starts takes")
    desk.page.keyboard.press("End")
    expect(desk.part("what-if-answer")).to_have_attribute("data-final", "true")
    expect(desk.part("what-if-answer")).to_contain_text("The first of 10,000 starts takes")
    expect(desk.part("what-if-answer")).to_contain_text("Another path")
    expect(desk.part("journey-tried")).to_contain_text("in the mean of 10,000 starts")
    desk.part("what-if-keep").click()
    desk.settled()
    expect(desk.part("leading")).to_contain_text(", then ")
    said = "plan = explorer.session.plan\nprint(plan.reuse, [hop.channel for hop in plan.hops])"
    assert desk.python(said) == "10000 ['card']"
    desk.part("title").click()
    expect(desk.part("reuse")).to_have_value("10000")
    desk.part("reuse").fill("0")
    expect(desk.part("error-reuse")).to_contain_text("expected a whole number from 1")
