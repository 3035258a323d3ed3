"""The script of the views comes once for a page; without a kernel the picture of the last state stands in their place."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import harness
import pytest
from playwright.sync_api import Browser, WebSocket, expect

SMALL = 'space={"x": 64, "y": 32}, fields={"a": "float32", "b": "float64"}'
VIEWS = f"""\
import isoviz
explorer = isoviz.explore(restore=False, machine_options={{"measure": "assumed"}}, {SMALL})
editors = [isoviz.LayoutEditor(session=explorer, side="source") for _ in range(3)]
_ = [display(each) for each in (*editors, isoviz.MachineEditor(session=explorer))]"""
SERVED = '[...globalThis[Symbol.for("isoviz.scripts")].values()].map((script) => script.lines.size)'
"""The models that each script of the page serves: those of the views, and some that nobody shows."""
STATE = "application/vnd.jupyter.widget-state+json"
ASKED = re.compile(rb'"kind": ?"parts".*?"names": ?(\[[^]]*\])')


@pytest.fixture
def path(lab: harness.Lab) -> Iterator[Path]:
    path = lab.new_notebook("script")
    yield path
    path.unlink()


def opened(browser: Browser, lab: harness.Lab, path: Path) -> tuple[harness.Notebook, list[list[str]]]:
    """The notebook in a page, and the parts of the script that the page asks for, request by request."""
    notebook = harness.Notebook(browser, lab, path)
    asked: list[list[str]] = []

    def note(payload: str | bytes) -> None:
        found = ASKED.search(payload.encode() if isinstance(payload, str) else payload)
        if found is not None:
            asked.append(json.loads(found[1]))

    def listen(socket: WebSocket) -> None:
        socket.on("framesent", note)

    notebook.page.on("websocket", listen)
    return notebook, asked


def end_kernels(lab: harness.Lab) -> None:
    base, token = lab.url.split("/lab/")[0], lab.url.split("token=")[1]
    with urllib.request.urlopen(f"{base}/api/sessions?token={token}") as found:
        sessions = json.load(found)
    for session in sessions:
        request = urllib.request.Request(f"{base}/api/sessions/{session['id']}?token={token}", method="DELETE")
        urllib.request.urlopen(request).close()


def test_the_views_of_a_page_share_one_script(browser: Browser, lab: harness.Lab, path: Path) -> None:
    notebook, asked = opened(browser, lab, path)
    try:
        notebook.open()
        notebook.show(VIEWS)
        expect(notebook.page.get_by_test_id("explorer")).to_have_count(5)
        expect(notebook.page.locator("style[data-isoviz-style]")).to_have_count(1)
        expect(notebook.page.locator("[data-pane=machine] canvas").first).to_be_visible()
        notebook.until(lambda: bool(asked))
        names = [name for request in asked for name in request]
        assert "core.js" not in names, "it came unasked"
        assert "why.js" in names, "the other parts are asked for"
        # A kernel that takes long is asked by all views; what comes is kept once for all of them.
        (served,) = notebook.page.evaluate(SERVED)
        assert served >= 5
        notebook.part("tab-why").click()
        expect(notebook.part("why-verdict")).to_be_visible()
        assert notebook.errors == []
    finally:
        notebook.close()


@pytest.mark.full
def test_a_notebook_without_a_kernel_shows_pictures_until_one_answers(browser: Browser, lab: harness.Lab, path: Path) -> None:
    first, _ = opened(browser, lab, path)
    try:
        first.open()
        first.choose_from_menu("Settings", "Save Widget State Automatically")
        first.show(VIEWS)
        first.until(lambda: first.page.locator("[data-isoviz-static] figure").count() >= 5)
        first.save()
    finally:
        first.close()
    end_kernels(lab)
    saved = json.loads(path.read_text(encoding="utf-8"))
    states = [model["state"] for model in saved["metadata"]["widgets"][STATE]["state"].values()]
    assert [len(state["_esm"]) <= 8192 for state in states if "_esm" in state] == [True] * 5
    again, _ = opened(browser, lab, path)
    try:
        page = again.page
        again.open()  # a new kernel, which knows nothing of these views
        waiting = page.get_by_test_id("waiting-for-script")
        expect(waiting).to_have_count(5)
        pictures = page.locator("[data-isoviz-static]:visible")
        expect(pictures).to_have_count(5)
        harness.assert_seen(pictures.first.locator("p").first, "in Jupyter, run the cell to explore")
        waiting.first.scroll_into_view_if_needed()
        harness.assert_seen(waiting.first, "The picture above shows its last state")
        again.picture("no-kernel")
        assert page.get_by_test_id("explorer").count() == 0
        again.enter(1, 'import isoviz\nisoviz.LayoutEditor("<F, x>", space={"x": 10}, fields={"v": "f4"})')
        page.keyboard.press("Shift+Enter")
        # The view of the cell that was run, and those that have waited, with the state that was saved.
        expect(page.get_by_test_id("explorer")).to_have_count(6)
        expect(waiting).to_have_count(0)
        expect(pictures).to_have_count(0)
        assert again.errors == []
    finally:
        again.close()
