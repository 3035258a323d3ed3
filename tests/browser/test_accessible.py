"""axe-core finds nothing to object to in the explorer (WCAG 2.1, A and AA), in both themes and in every state that it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import harness
import pytest
from axe import objections
from playwright.sync_api import expect

SMALL = """\
import isoviz
explorer = isoviz.explore(
    space={"x": 64, "y": 48}, source=("node0.dsk", "<F, x, y>"), destination=("node0.sys", "<x, y, F>"), restore=False,
)
"""
SWITCH = 'import isoviz\nexplorer = isoviz.explore(example="vortex-transpose", restore=False)'


def _open_menu(notebook: harness.Notebook) -> None:
    notebook.part("menu").click()


def _open_drawer(notebook: harness.Notebook) -> None:
    notebook.open_drawer()


def _mistake(notebook: harness.Notebook) -> None:
    notebook.choose_layout("source", "<x_in=4, F, y>")
    notebook.open_drawer()
    notebook.part("size-y").fill("many")
    notebook.settled()


def _controls(notebook: harness.Notebook) -> None:
    notebook.choose_layout("source", "<x_in=4, F, x_out, y>")
    notebook.chip("source", "x:0").click()
    notebook.part("linearization-more").click()


def _selection(notebook: harness.Notebook) -> None:
    notebook.part("stop-1").click()
    notebook.memory("source").press("ArrowRight")
    notebook.part("journey").locator("[data-term]").first.focus()


def _numbers(notebook: harness.Notebook) -> None:
    for side in ("source", "destination"):
        notebook.end(side).get_by_test_id("linearization-digits").locator("summary").click()
    notebook.part("way-both").click()
    notebook.part("dock-size").click()


def _report(notebook: harness.Notebook) -> None:
    notebook.run()
    notebook.part("report").wait_for()


def _machine(notebook: harness.Notebook) -> None:
    notebook.part("tab-machine").click()
    notebook.part("canvas-memory-node0.sys").press("Enter")
    notebook.part("edit-memory").locator(".iv-mc-link").first.press("Enter")
    notebook.part("curve-editor").wait_for()
    notebook.part("channel-bandwidth").fill("fast")
    notebook.part("channel-bandwidth").press("Enter")
    harness.assert_seen(notebook.part("error-channel-bandwidth"))


def _timeline(notebook: harness.Notebook) -> None:
    notebook.part("tab-timeline").click()
    notebook.part("timeline-urgent").click()
    notebook.part("timeline-transfers").wait_for()
    for name in ("timeline-critical", "timeline-stored", "timeline-stepping"):
        notebook.part(name).click()
    for name in ("timeline-comparison", "timeline-critical-words", "step-stimulus"):
        notebook.part(name).wait_for()
    notebook.part("timeline-tables").locator("summary").click()


def _why(notebook: harness.Notebook) -> None:
    notebook.part("tab-why").click()
    notebook.part("candidate-1").click()
    notebook.part("hop-0").click()
    notebook.part("hop-what-if").press("ArrowRight")
    notebook.part("what-if-answer").wait_for()
    notebook.settled()


def _by_hand(notebook: harness.Notebook) -> None:
    notebook.part("tab-why").click()
    notebook.part("candidate-0").wait_for()
    notebook.part("plan-by-hand").click()
    notebook.part("by-hand-target").wait_for()
    notebook.part("by-hand-target").press("End")
    expect(notebook.part("constraints")).to_contain_text("missing")
    notebook.settled()


def _find_layout(notebook: harness.Notebook) -> None:
    notebook.part("tab-find-layout").click()
    notebook.part("find-use-1-what").fill("<F, y, x>")
    expect(notebook.part("find-layout")).to_have_attribute("data-done", "true", timeout=harness.PATIENCE)
    notebook.part("find-add-use").click()
    notebook.part("find-use-1-weight").fill("heavy")
    notebook.part("find-use-1-weight").press("Enter")
    notebook.settled()


def _large_hop(notebook: harness.Notebook) -> None:
    notebook.part("hop-1").dblclick()
    notebook.part("stage-step-back").click()
    expect(notebook.part("stage").get_by_test_id("elsewhere")).to_be_visible()


def _layouts(notebook: harness.Notebook) -> None:
    notebook.part("ends-whole").click()
    expect(notebook.part("ends")).to_have_attribute("data-whole", "true")
    notebook.grid("source").press("ArrowRight")


STATES: dict[str, Callable[[harness.Notebook], None]] = {
    "as it begins": lambda notebook: None,
    "menu open": _open_menu,
    "drawer open": _open_drawer,
    "mistakes shown": _mistake,
    "controls open": _controls,
    "something selected": _selection,
    "machine edited": _machine,
    "report shown": _report,
    "why, with a change tried": _why,
    "by hand": _by_hand,
    "a layout found": _find_layout,
    "numbers on the whole screen": _numbers,
    "timeline with everything": _timeline,
    "a hop, large": _large_hop,
    "layouts on the whole screen": _layouts,
}


@pytest.fixture(scope="module", params=["Light", "Dark"])
def theme(shared_notebook: harness.Notebook, request: pytest.FixtureRequest) -> Iterator[str]:
    shared_notebook.choose_theme(request.param)
    yield request.param
    shared_notebook.choose_theme("Light")


@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing(desk: harness.Notebook, theme: str, state: str, full: bool) -> None:
    if not full and (list(STATES).index(state) + 3 * (theme == "Dark")) % 7:
        pytest.skip("all states in both themes in `make test-full` (ISOVIZ_FULL=1)")
    desk.show(SMALL)
    desk.to_top()
    STATES[state](desk)
    desk.picture(f"axe-{state.replace(' ', '-')}-{theme.lower()}")
    told = objections(desk)
    if desk.explorer.locator("[data-whole=true]").count():
        desk.page.keyboard.press("Escape")  # it covers the notebook
    assert not told, "\n".join(told)


@pytest.mark.parametrize("code", [SMALL, SWITCH], ids=["ordinary", "with a switch"])
def test_axe_finds_nothing_in_any_tab(desk: harness.Notebook, theme: str, code: str, full: bool) -> None:
    if not full and (theme == "Dark") != (code is SMALL):
        pytest.skip("every tab in both themes in `make test-full` (ISOVIZ_FULL=1)")
    desk.show(code)
    desk.to_top()
    desk.settled()
    tabs = desk.explorer.get_by_role("tablist").last.get_by_role("tab")
    assert tabs.count() >= 5
    told = []
    for tab in tabs.all():
        tab.click()
        desk.settled()
        told += [f"{tab.inner_text()}: {each}" for each in objections(desk)]
    assert not told, "\n".join(told)


def test_axe_finds_nothing_in_panes_alone(desk: harness.Notebook) -> None:
    editor = 'isoviz.LayoutEditor("<x_in=2, F, y, x_out>", space={"x": 8, "y": 6})'
    desk.show(f"import isoviz\neditor = {editor}\neditor.show()\nisoviz.LinearizationView(editor)")
    views = desk.page.get_by_test_id("explorer")
    assert views.count() == 2
    told = [each for view in views.all() for each in objections(desk, view)]
    assert not told, "\n".join(told)
