"""The timeline in JupyterLab, by mouse and by keyboard: scrubbed, zoomed, compared, with an urgent transfer, step by step."""

from __future__ import annotations

import re
from collections.abc import Callable

import harness
import pytest
from playwright.sync_api import Locator, expect

SHOW = """import isoviz
explorer = isoviz.explore(restore=False, machine="two-node", space={"x": 2048, "y": 4096}, fields={"z": "complex128"},
    source=("node0.fbm0", "<F, x, y>"), destination=("node1.fbm0", "<F, y, x>"), planner="full")"""


@pytest.fixture
def timeline(desk: harness.Notebook) -> harness.Notebook:
    """A notebook whose explorer shows its timeline, over the whole screen."""
    desk.show(SHOW)
    desk.part("dock-size").click()
    desk.part("tab-timeline").click()
    desk.part("timeline").wait_for()
    desk.to_top()
    return desk


def part_shown(notebook: harness.Notebook) -> tuple[float, float]:
    """The part of the time that is shown, in seconds."""
    shown = notebook.part("timeline")
    return float(shown.get_attribute("data-from") or -1), float(shown.get_attribute("data-to") or -1)


def until(notebook: harness.Notebook, holds: Callable[[], bool]) -> None:
    for _ in range(300):
        if holds():
            return
        notebook.frame()
    raise AssertionError("it does not come true")


def drawing(notebook: harness.Notebook, number: int = 1) -> harness.Drawing:
    """The pixels of a canvas of the timeline: the axis, the bars, the marks."""
    notebook.at_rest()
    canvas = notebook.part("timeline-area").locator("canvas").nth(number)
    return harness.Drawing(str(canvas.evaluate("canvas => canvas.toDataURL()")))


def chunk_at_hop(notebook: harness.Notebook, hop: int) -> Locator:
    return notebook.part(f"moving-{hop}")


def test_it_opens_where_requests_can_be_told_apart_and_zooms_from_the_whole_to_one_chunk(timeline: harness.Notebook) -> None:
    whole = float(timeline.part("timeline").get_attribute("data-whole") or 0)
    begin, end = part_shown(timeline)
    assert begin == 0 and end < whole / 10, "2,048 chunks are not one bar"
    expect(timeline.part("timeline")).to_have_attribute("data-far", "false")
    first = drawing(timeline)
    timeline.part("timeline-whole").click()
    expect(timeline.part("timeline")).to_have_attribute("data-far", "true")
    assert part_shown(timeline) == (0, whole) and drawing(timeline) != first
    expect(timeline.part("timeline-key")).to_contain_text("as high as its channel is busy")
    timeline.part("timeline-chunk").click()
    until(timeline, lambda: part_shown(timeline)[1] < whole)
    expect(timeline.part("timeline")).to_have_attribute("data-far", "false")
    timeline.part("timeline-first").click()
    until(timeline, lambda: part_shown(timeline) == (begin, end))
    # The wheel zooms with Ctrl about the pointer, and without it scrolls the page.
    area = timeline.part("timeline-area")
    area.hover(position={"x": 600, "y": 60})
    timeline.page.keyboard.down("Control")
    timeline.page.mouse.wheel(0, -200)
    timeline.page.keyboard.up("Control")
    until(timeline, lambda: part_shown(timeline)[1] - part_shown(timeline)[0] < 0.9 * (end - begin))
    # A drag moves.
    before = part_shown(timeline)
    box = area.bounding_box()
    assert box is not None
    timeline.page.mouse.move(box["x"] + 700, box["y"] + 80)
    timeline.page.mouse.down()
    timeline.page.mouse.move(box["x"] + 500, box["y"] + 80, steps=5)
    timeline.page.mouse.up()
    until(timeline, lambda: part_shown(timeline)[0] > before[0])
    timeline.picture("timeline")


def test_hover_and_click_tell_a_request_and_select_its_chunk_and_moment_everywhere(timeline: harness.Notebook) -> None:
    area = timeline.part("timeline-area")
    # The network is the slowest hop: its lane is full from the first chunk on.
    area.hover(position={"x": 700, "y": 26 + 3 * 26 + 11})
    tip = timeline.part("timeline-tip")
    expect(tip).to_contain_text(re.compile(r"Chunk \d+.*hop 3, network.*takes .*(waits|ready)", re.DOTALL))
    chunk = re.match(r"Chunk (\d+)", tip.inner_text())
    assert chunk is not None
    area.click(position={"x": 700, "y": 26 + 3 * 26 + 11})
    expect(chunk_at_hop(timeline, 3)).to_have_attribute("data-chunk", chunk[1])
    expect(timeline.part("hop-3")).to_contain_text(f"chunk {chunk[1]}")
    expect(timeline.part("slots-2")).to_have_attribute("data-used", "2")
    answer = timeline.python("s = explorer.session.wait().selected.selection\nprint(s.chunk, s.time)")
    assert answer.split()[0] == chunk[1]
    time = float(answer.split()[1])
    held = timeline.python(
        "t = isoviz.simulate(explorer.session.plan)\n"
        f"print([s.chunk for s in t.requests if s.hop == 3 and s.start <= {time} < s.end], t.fill(0, 2)[0][1])"
    )
    assert held.startswith(f"[{chunk[1]}]")


def test_the_scrubber_moves_the_moment_of_every_view_and_plays(timeline: harness.Notebook) -> None:
    scrub = timeline.part("timeline-scrub")
    scrub.focus()
    scrub.press("PageUp")
    scrub.press("ArrowRight")
    expect(timeline.part("timeline-time")).not_to_have_text("–")
    expect(timeline.part("hop-3")).to_contain_text(re.compile(r"chunk \d+"))
    until(timeline, lambda: part_shown(timeline)[0] > 0)  # the part that is shown follows
    before = timeline.part("timeline-time").inner_text()
    play = timeline.part("timeline-play")
    play.click()
    expect(play).to_have_attribute("aria-pressed", "true")
    expect(timeline.part("timeline-time")).not_to_have_text(before)
    play.click()
    expect(play).to_have_attribute("aria-pressed", "false")
    rested = timeline.part("timeline-time").inner_text()
    timeline.at_rest()
    assert timeline.part("timeline-time").inner_text() == rested
    # The kernel is told of where it has come to rest.
    time = float(scrub.input_value()) / 1e4 * float(timeline.part("timeline").get_attribute("data-whole") or 0)
    until(timeline, lambda: timeline.explorer.get_attribute("data-busy") == "false")
    answer = float(timeline.python("print(explorer.session.wait().selected.selection.time)"))
    assert abs(answer - time) < 1e-3


@pytest.mark.full
def test_the_moment_that_is_selected_is_in_sight_when_the_timeline_is_opened(timeline: harness.Notebook) -> None:
    timeline.part("timeline-scrub").press("End")
    until(timeline, lambda: part_shown(timeline)[0] > 0)
    timeline.part("tab-why").click()
    timeline.part("timeline").wait_for(state="detached")
    timeline.part("tab-timeline").click()
    whole = float(timeline.part("timeline").get_attribute("data-whole") or 0)
    until(timeline, lambda: part_shown(timeline)[1] == pytest.approx(whole))


def test_an_urgent_transfer_delays_the_other_and_who_waits_is_told(timeline: harness.Notebook) -> None:
    alone = float(timeline.part("timeline").get_attribute("data-whole") or 0)
    timeline.part("timeline-urgent").click()
    timeline.part("timeline-transfers").wait_for()
    whole = float(timeline.part("timeline").get_attribute("data-whole") or 0)
    assert whole > 1.5 * alone
    waits = timeline.part("timeline-waits")
    expect(waits).to_contain_text(re.compile(r"Transfer 1 waits .* while Urgent goes first"))
    expect(waits).to_contain_text("Urgent goes first")
    assert part_shown(timeline) == (0, pytest.approx(whole)), "it begins late, and is seen"
    timeline.picture("timeline-urgent")
    # Less urgent than the first one, it waits itself.
    entry = timeline.part("timeline-transfers").get_by_label("Priority of Urgent")
    entry.fill("-1")
    entry.press("Enter")
    expect(waits).to_contain_text(re.compile(r"Urgent waits .* while Transfer 1 goes first"))
    timeline.part("undo").click()
    expect(waits).to_contain_text(re.compile(r"Transfer 1 waits .* while Urgent goes first"))
    timeline.part("timeline-transfers").get_by_role("button", name="Remove Urgent").click()
    timeline.part("timeline-transfers").wait_for(state="detached")
    until(timeline, lambda: float(timeline.part("timeline").get_attribute("data-whole") or 0) == alone)


@pytest.mark.full
def test_pipelined_and_stored_and_forwarded_stand_on_one_axis(timeline: harness.Notebook) -> None:
    alone = float(timeline.part("timeline").get_attribute("data-whole") or 0)
    timeline.part("timeline-stored").click()
    told = timeline.part("timeline-comparison")
    expect(told).to_contain_text("Stored and forwarded")
    stored = float(timeline.python("print(isoviz.simulate(explorer.session.plan, pipelined=False).seconds)"))
    timeline.to_top()
    assert float(timeline.part("timeline").get_attribute("data-whole") or 0) == pytest.approx(stored, rel=1e-9)
    expect(told).to_contain_text(f"{stored / alone:.2f} times")
    timeline.part("timeline-critical").click()
    expect(timeline.part("timeline-critical-words")).to_contain_text(re.compile(r"critical path.*network .* ms", re.DOTALL))
    timeline.picture("timeline-stored")
    timeline.part("timeline-stored").click()
    told.wait_for(state="detached")


@pytest.mark.full
def test_step_by_step_forward_and_back_moves_the_moment(timeline: harness.Notebook) -> None:
    timeline.part("timeline-stepping").click()
    stimulus, number = timeline.part("step-stimulus"), timeline.part("step-number")
    expect(stimulus).to_contain_text("is submitted")
    marks = drawing(timeline, 2)
    said = [stimulus.inner_text()]
    for step in range(2, 6):
        timeline.part("step-next").click()
        expect(number).to_contain_text(f"Step {step}")
        said.append(stimulus.inner_text())
    assert all("is done" in text for text in said[1:]) and drawing(timeline, 2) != marks
    answer = timeline.python(
        "s = isoviz.Simulator(explorer.session.machine)\ns.submit(explorer.session.plan)\n"
        "steps = [s.step() for _ in range(5)]\nprint(steps[-1].seconds, explorer.session.wait().selected.selection.time)"
    )
    timeline.to_top()
    expected, selected = map(float, answer.split())
    assert selected == pytest.approx(expected, abs=1e-12)
    timeline.part("step-back").click()
    expect(stimulus).to_have_text(said[-2])


@pytest.mark.full
def test_everything_by_keyboard(timeline: harness.Notebook) -> None:
    area = timeline.part("timeline-area")
    area.focus()
    keyboard = timeline.page.keyboard
    keyboard.press("0")
    whole = float(timeline.part("timeline").get_attribute("data-whole") or 0)
    until(timeline, lambda: part_shown(timeline) == (0, whole))
    for _ in range(6):
        keyboard.press("+")
    until(timeline, lambda: part_shown(timeline)[1] - part_shown(timeline)[0] < whole / 10)
    before = part_shown(timeline)
    keyboard.press("ArrowRight")
    until(timeline, lambda: part_shown(timeline)[0] > before[0])
    keyboard.press("ArrowLeft")
    keyboard.press("-")
    until(timeline, lambda: part_shown(timeline)[1] - part_shown(timeline)[0] > before[1] - before[0])
    # Down to the channel of hop 1, then from request to request: each is told.
    keyboard.press("ArrowDown")
    keyboard.press("ArrowDown")
    told = timeline.part("timeline-told")
    expect(told).to_contain_text(re.compile(r"Chunk \d+.*hop 1, GPU read"))
    here = int(re.findall(r"\d+", told.inner_text())[0])
    keyboard.press(".")
    expect(told).to_contain_text(f"Chunk {here + 1}")
    keyboard.press(",")
    keyboard.press(",")
    expect(told).to_contain_text(f"Chunk {here - 1}")
    expect(timeline.part("hop-1")).to_contain_text(f"chunk {here - 1}")


def test_two_lines_show_a_trace_alone(desk: harness.Notebook) -> None:
    desk.show(
        "import isoviz\nfrom isoviz.machines import preset\nmachine = preset('two-node')\n"
        "transfer = isoviz.Transfer.whole(isoviz.IndexSpace(x=512, y=512), isoviz.FieldSpace(a='f8'),"
        " 'node0.sys', '<F, x, y>', 'node1.sys', '<F, y, x>')\n"
        "trace = isoviz.simulate(isoviz.plan(transfer, machine))\nisoviz.TraceView(trace, machine=machine)"
    )
    desk.part("timeline").wait_for()
    seconds = float(desk.python("print(trace.seconds)"))
    assert float(desk.part("timeline").get_attribute("data-whole") or 0) == seconds
    desk.part("timeline-critical").click()
    expect(desk.part("timeline-critical-words")).to_contain_text("critical path")
