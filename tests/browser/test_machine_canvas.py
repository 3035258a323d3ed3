"""The machine canvas: a machine built from nothing by keyboard, planned and run; drags, edits and undo; the editor alone."""

from __future__ import annotations

import json

import harness
import pytest
from playwright.sync_api import expect
from test_keyboard import enter, tab_to

TWO_NODES = """\
import isoviz
explorer = isoviz.explore(
    machine="two-node", space={"x": 256, "y": 256}, fields={"a": "complex64"}, restore=False,
    source=("node0.fbm0", "<F, x, y>"), destination=("node1.fbm0", "<F, y, x>"),
)
"""


def shown(desk: harness.Notebook, code: str) -> harness.Notebook:
    """An explorer with its machine in sight."""
    desk.show(code)
    desk.to_top()
    desk.part("tab-machine").click()
    stage = desk.part("machine-stage")
    stage.wait_for()
    stage.scroll_into_view_if_needed()
    desk.settled()
    return desk


def memories(desk: harness.Notebook) -> list[str]:
    return [
        str(name) for name in desk.explorer.locator("[data-memory]").evaluate_all("all => all.map(each => each.dataset.memory)")
    ]


def go_to(desk: harness.Notebook, memory: str) -> None:
    """Move the focus from memory to memory by arrow keys."""
    goal = desk.part(f"canvas-memory-{memory}")
    for turn in range(20):
        if goal.evaluate("element => element === document.activeElement"):
            return
        here = desk.page.locator("[data-memory] :focus").bounding_box()
        there = goal.bounding_box()
        assert here is not None and there is not None
        dx, dy = there["x"] - here["x"], there["y"] - here["y"]
        across = "ArrowRight" if dx > 0 else "ArrowLeft"
        down = "ArrowDown" if dy > 0 else "ArrowUp"
        first, second = (across, down) if abs(dx) > abs(dy) else (down, across)
        desk.page.keyboard.press(second if turn % 3 == 2 else first)
    raise AssertionError(f"arrow keys do not lead to {memory}")


def to_drawing(desk: harness.Notebook, memory: str, key: str = "Tab") -> None:
    """Tab into the drawing, which has one place for Tab, and go on by arrow keys."""
    tab_to(desk, desk.explorer.locator(".iv-mc-body[tabindex='0']"), key)
    go_to(desk, memory)


@pytest.mark.full
def test_a_machine_is_built_from_nothing_planned_simulated_and_run_by_keyboard(desk: harness.Notebook) -> None:
    desk.show(TWO_NODES)
    desk.to_top()
    press = desk.page.keyboard.press
    enter(desk)
    tab_to(desk, desk.part("tab-why"))
    while desk.part("tab-machine").get_attribute("aria-selected") != "true":
        press("ArrowRight")
    desk.part("machine-stage").wait_for()
    desk.settled()

    tab_to(desk, desk.part("new-machine"))
    press("Enter")
    desk.settled()
    assert memories(desk) == ["node0.sys"]
    tab_to(desk, desk.part("add-FBM"))
    press("Enter")
    desk.settled()
    tab_to(desk, desk.part("add-node"))
    press("Enter")
    desk.settled()
    to_drawing(desk, "node1.sys")
    press("Enter")
    tab_to(desk, desk.part("add-FBM"), "Shift+Tab")
    press("Enter")
    desk.settled()
    assert memories(desk) == ["node0.sys", "node0.fbm0", "node1.sys", "node1.fbm0"]

    # Channels: C on a memory, arrows to the other, Enter.
    to_drawing(desk, "node0.fbm0")
    for source, destination, words in (
        ("node0.fbm0", "node0.sys", "GPU read"),
        ("node0.sys", "node1.sys", "network"),
        ("node1.sys", "node1.fbm0", "GPU write"),
    ):
        go_to(desk, source)
        press("c")
        expect(desk.part("canvas-status")).to_contain_text(source)
        go_to(desk, destination)
        press("Enter")
        desk.settled()
        expect(desk.part("edit-channel").locator("h3")).to_contain_text(words)
    # Messages between GPUs are a channel, too. It is taken back.
    go_to(desk, "node0.fbm0")
    press("c")
    go_to(desk, "node1.fbm0")
    press("Enter")
    desk.settled()
    expect(desk.part("edit-channel").locator("h3")).to_contain_text("send and receive")
    press("ControlOrMeta+z")
    desk.settled()

    go_to(desk, "node0.fbm0")
    press("Enter")
    tab_to(desk, desk.part("use-source"))
    press("Enter")
    desk.settled()
    to_drawing(desk, "node1.fbm0", "Shift+Tab")
    press("Enter")
    tab_to(desk, desk.part("use-destination"))
    press("Enter")
    desk.settled()

    # A blocked transposition, planned on it at once.
    tab_to(desk, desk.part("destination-layout"), "Shift+Tab")
    press("ControlOrMeta+a")
    desk.page.keyboard.type("<F, y_in=16, x, y_out>")
    desk.settled()
    path = json.loads(desk.python("import json\nprint(json.dumps(explorer.session.plan.paths[0].memories))"))
    assert path == ["node0.fbm0", "node0.sys", "node1.sys", "node1.fbm0"]
    desk.to_top()
    expect(desk.part("machine-runs")).to_have_attribute("data-runs", "simulated")
    desk.picture("canvas-from-nothing")

    # It runs once main memory stands in for what this computer lacks.
    enter(desk)
    tab_to(desk, desk.part("emulate"))
    press("Enter")
    desk.settled()
    expect(desk.part("machine-runs")).to_have_attribute("data-runs", "emulated")
    tab_to(desk, desk.part("run"), "Shift+Tab")
    desk.runs(lambda: press("Enter"))
    assert desk.python("print(explorer.session.report.verified)") == "True"


def test_a_drag_is_one_step_and_positions_are_kept(desk: harness.Notebook) -> None:
    shown(desk, TWO_NODES)
    memory = desk.part("canvas-memory-node0.sys")
    before = memory.bounding_box()
    assert before is not None
    mouse = desk.page.mouse
    mouse.move(before["x"] + 20, before["y"] + 20)
    mouse.down()
    mouse.move(before["x"] + 60, before["y"] + 75, steps=6)
    mouse.up()
    desk.settled()
    after = memory.bounding_box()
    assert after is not None
    assert abs(after["x"] - before["x"] - 40) < 2 and abs(after["y"] - before["y"] - 55) < 2
    expect(desk.part("canvas-machine").locator("option:checked")).to_have_text("two-node (edited)")
    assert desk.python("print(sorted(explorer.session.machine.positions)[:2])") == "['node0.dsk', 'node0.fbm0']"
    desk.to_top()
    desk.part("canvas-undo").click()
    desk.settled()
    expect(desk.part("canvas-machine").locator("option:checked")).to_have_text("two-node")
    back = memory.bounding_box()
    assert back is not None and abs(back["x"] - before["x"]) < 1


@pytest.mark.full
def test_a_memory_that_is_added_is_seen(desk: harness.Notebook) -> None:
    shown(desk, TWO_NODES)
    desk.page.set_viewport_size({"width": 1152, "height": 720})
    desk.part("canvas-memory-node0.sys").focus()
    desk.page.keyboard.press("Shift+ArrowDown")  # from now on every memory has a place of its own
    desk.settled()
    desk.part("machine-card").evaluate("element => element.scrollIntoView({block: 'start'})")
    for kind in ("SYS", "DSK", "FBM"):
        before = memories(desk)
        desk.part(f"add-{kind}").click()
        desk.settled()
        desk.at_rest()
        (added,) = set(memories(desk)) - set(before)
        harness.assert_seen(desk.explorer.locator(f"[data-memory='{added}']"))


@pytest.mark.full
def test_a_channel_is_pulled_from_a_handle_and_edited(desk: harness.Notebook) -> None:
    shown(desk, TWO_NODES)
    count = int(desk.python("print(len(explorer.session.machine.channels))"))
    desk.part("machine-stage").scroll_into_view_if_needed()
    desk.part("canvas-memory-node0.sys").hover()
    handle, goal = desk.part("handle-node0.sys").bounding_box(), desk.part("canvas-memory-node0.zcm").bounding_box()
    assert handle is not None and goal is not None
    mouse = desk.page.mouse
    mouse.move(handle["x"] + 8, handle["y"] + 8)
    mouse.down()
    mouse.move(goal["x"] + 30, goal["y"] + 20, steps=8)
    mouse.up()
    desk.settled()
    expect(desk.part("channel-name")).to_have_value("node0.sys->node0.zcm 2")
    assert int(desk.python("print(len(explorer.session.machine.channels))")) == count + 1

    # A wrong figure is refused beside its field and stays there; a right one is planned with at once.
    bandwidth = desk.part("channel-bandwidth")
    bandwidth.fill("fast")
    bandwidth.press("Enter")
    harness.assert_seen(desk.part("error-channel-bandwidth"), "expected a number with a unit")
    expect(bandwidth).to_have_value("fast")
    bandwidth.fill("12 GB/s")
    bandwidth.press("Enter")
    desk.settled()
    expect(bandwidth).to_have_value("12 GB/s")
    expect(desk.part("error-channel-bandwidth")).to_have_count(0)
    # A point of the throughput function, by keys.
    point = desk.part("curve-point-0")
    told = point.get_attribute("aria-valuetext")
    point.focus()
    point.press("ArrowDown")
    desk.settled()
    expect(desk.part("curve-point-0")).not_to_have_attribute("aria-valuetext", told or "")
    desk.picture("canvas-channel")
    channel = "explorer.session.machine.channel('node0.sys->node0.zcm 2')"
    assert desk.python(f"print(8e9 < {channel}.peak < 12e9, {channel}.provenance)") == "True set by hand"


@pytest.mark.full
def test_a_node_is_copied_and_all_of_a_large_machine_is_found(desk: harness.Notebook) -> None:
    shown(desk, TWO_NODES)
    desk.part("canvas-node-1").click()
    desk.part("copy-times").fill("many")
    desk.part("copy-node").click()
    harness.assert_seen(desk.part("error-copy-node"), "whole number")
    desk.part("copy-times").fill("18")
    desk.part("copy-node").click()
    expect(desk.part("machine-stage")).to_have_attribute("data-lod", "nodes")
    desk.settled()
    desk.at_rest()
    desk.picture("canvas-twenty-nodes")
    assert len(memories(desk)) == 100
    search = desk.part("machine-search")
    search.fill("node17 pinned")
    search.press("Enter")
    expect(desk.part("memory-name")).to_have_value("node17.zcm")
    box, stage = desk.part("canvas-memory-node17.zcm").bounding_box(), desk.part("machine-stage").bounding_box()
    assert box is not None and stage is not None
    assert abs(box["x"] + box["width"] / 2 - stage["x"] - stage["width"] / 2) < 3
    assert stage["y"] < box["y"] and box["y"] + box["height"] < stage["y"] + stage["height"]


def test_a_machine_editor_alone_is_bound_both_ways(desk: harness.Notebook) -> None:
    desk.show("import isoviz\neditor = isoviz.MachineEditor()\neditor")
    desk.part("machine-stage").wait_for()
    desk.explorer.scroll_into_view_if_needed()
    desk.part("add-DSK").click()
    desk.settled()
    assert memories(desk) == ["node0.sys", "node0.dsk"]
    # Renamed in place.
    desk.part("canvas-memory-node0.dsk").press("F2")
    desk.part("rename").fill("scratch")
    desk.part("rename").press("Enter")
    desk.part("canvas-memory-scratch").wait_for()
    expect(desk.part("memory-name")).to_have_value("scratch")
    desk.picture("canvas-alone")
    assert desk.python("print([memory.name for memory in editor.value.memories])") == "['node0.sys', 'scratch']"
    desk.python("editor.value = isoviz.machines.preset('laptop')")
    desk.part("canvas-memory-node0.fbm0").wait_for()
    assert desk.python(
        "editor.session.undo()\nprint([memory.name for memory in editor.session.wait().settings.machine.machine.memories])"
    ) == ("['node0.sys', 'scratch']")
