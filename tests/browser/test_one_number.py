"""One number for one thing: bar, journey, reasons, candidates and runs tell one time of one plan, or say beside it why not."""

from __future__ import annotations

import re

import harness
import pytest
from playwright.sync_api import expect

# A padded plan, which takes longer than what paths are compared by; chunks that cost an engine more than they cost the model;
# and a plan where everything is one number.
TRANSFERS = {
    "padding": (
        "machine='two-node', space={'x': 1000, 'y': 77}, fields={'v': 'complex128'},"
        " source=('node0.fbm0', '<F, x, y>'), destination=('node1.fbm0', '<F, y, x>')"
    ),
    "chunks": "space={'x': 16, 'y': 12}, source=('node0.sys', '<F, x, y>'), destination=('node0.sys', '<F, y, x>')",
    "alike": "example='two-node'",
}


@pytest.mark.parametrize("name", TRANSFERS)
@pytest.mark.few(1)
def test_times_of_a_plan_are_one_number_or_explained(desk: harness.Notebook, name: str) -> None:
    desk.show(f"import isoviz\nexplorer = isoviz.explore({TRANSFERS[name]}, restore=False)")
    desk.to_top()
    desk.settled()
    expect(desk.part("figure-planner")).to_contain_text("by the planner full")
    time = desk.part("figure-seconds").inner_text()
    told = "from isoviz.units import format_seconds\nprint(format_seconds(explorer.session.plan.seconds))"
    assert time == desk.python(told)
    desk.to_top()
    desk.part("tab-why").click()
    chosen = desk.part("candidate-0")
    expect(chosen).to_contain_text("chosen", timeout=harness.PATIENCE)
    compared = chosen.locator(".iv-candidate-time").inner_text()
    words = desk.part("candidates").locator("p").first
    assert (compared == time) == (name == "alike")
    if compared != time:
        harness.assert_seen(words, re.compile(rf"Paths are compared by .*{re.escape(compared)}.*{re.escape(time)}"))
    # No other plan is faster: the explorer has not been content with a quick one.
    expect(words).not_to_contain_text("would be faster")


def test_a_run_has_one_planned_time_and_one_after_the_trial(desk: harness.Notebook) -> None:
    desk.show(f"import isoviz\nexplorer = isoviz.explore({TRANSFERS['chunks']}, restore=False)")
    desk.to_top()
    desk.settled()
    time = desk.part("figure-seconds").inner_text()
    desk.run()
    report = desk.part("report")
    figures = re.search(r"^.*?([\d.,]+ [nµm]?s) measured, ([\d.,]+ [nµm]?s) planned, ([\d.,]+ [nµm]?s) after the trial",
                        report.locator(".iv-verdict").inner_text(), re.DOTALL)  # fmt: skip
    assert figures is not None
    measured, planned, tried = figures.groups()
    assert planned == time
    expect(desk.part("leading")).to_contain_text(f": planned {planned}, {tried} after the trial, measured {measured}")
    row = desk.part("history").locator("tbody tr").first
    for figure in (measured, planned, tried):
        expect(row).to_contain_text(figure)
    # One ratio, and its head says of what.
    heads = [head for head in report.locator("thead th").all_inner_texts() if "÷" in head]
    leads = "The trial is the prediction" in report.inner_text()
    assert heads == ["Measured ÷ after the trial" if leads else "Measured ÷ planned"]
    assert leads or "The plan is the prediction" in report.inner_text()
    # The rate among the figures is that of the steady state, and is called so; the report tells bytes by time.
    expect(desk.part("figure-throughput").locator("dt")).to_have_text("steady rate")
