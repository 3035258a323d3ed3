"""What was entered survives: kernel restarts, reloads, viewers without a kernel, files, failing runs, tabs that close, themes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import harness
import pytest
from playwright.sync_api import Browser, expect

KEPT = """\
import isoviz
explorer = isoviz.explore(space={"x": 96, "y": 64}, source=("node0.dsk", "<F, x, y>"), destination=("node0.sys", "<x, y, F>"))
"""
FRESH = KEPT.replace('F>"))', 'F>"), restore=False)')
LARGE = FRESH.replace("96", "4096").replace("64", "4096")
BLOCKED = "<x_in=4, y, x_out, F>"


def is_kept(notebook: harness.Notebook, *texts: str) -> bool:
    """Whether a file of this server's sessions has all of these texts: what is there is kept within a second."""
    files = [path for path in notebook.lab.home.rglob("*.json") if "isoviz" in path.parts]
    return any(all(text in path.read_text(encoding="utf-8") for text in texts) for path in files)


def restart_kernel(notebook: harness.Notebook) -> None:
    notebook.choose_from_menu("Kernel", "Restart Kernel…")
    notebook.page.locator(".jp-Dialog .jp-mod-accept").click()


@pytest.mark.full
def test_a_kernel_that_is_restarted_takes_nothing_along(desk: harness.Notebook) -> None:
    desk.show(KEPT)
    desk.to_top()
    desk.choose_layout("destination", BLOCKED)
    desk.open_drawer()
    desk.part("size-x").fill("128")
    desk.settled()
    desk.close_drawer()
    desk.until(lambda: is_kept(desk, BLOCKED, '"128"'))
    restart_kernel(desk)
    harness.assert_seen(desk.part("status"), "run its cell again")
    desk.to_top()
    desk.picture("kernel-gone")
    desk.wait_for_kernel()
    desk.run_first_cell()
    expect(desk.part("destination-layout")).to_have_value(BLOCKED)
    expect(desk.part("title")).to_contain_text("128 × 64")
    expect(desk.part("status")).to_contain_text("Restored")
    # Undo goes back to what the code says; redo forward again.
    desk.part("undo").click()
    desk.settled()
    expect(desk.part("destination-layout")).to_have_value("<x, y, F>")
    expect(desk.part("title")).to_contain_text("96 × 64")
    desk.part("redo").click()
    desk.settled()
    expect(desk.part("destination-layout")).to_have_value(BLOCKED)
    # Other code begins with what it says.
    desk.show(FRESH)
    expect(desk.part("destination-layout")).to_have_value("<x, y, F>")


def test_a_page_that_is_reloaded_shows_what_was_there(desk: harness.Notebook) -> None:
    desk.show(FRESH)
    desk.choose_layout("source", "<y, F, x>")
    desk.save()
    desk.choose_layout("destination", BLOCKED)  # not in the file
    desk.page.reload()
    desk.explorer.wait_for()
    desk.settled()
    expect(desk.part("source-layout")).to_have_value("<y, F, x>")
    expect(desk.part("destination-layout")).to_have_value(BLOCKED)
    desk.wait_for_kernel()
    desk.part("undo").click()
    desk.settled()
    expect(desk.part("destination-layout")).to_have_value("<x, y, F>")


@pytest.mark.full
def test_a_viewer_without_a_kernel_shows_the_last_state(desk: harness.Notebook, browser: Browser, tmp_path: Path) -> None:
    desk.show(FRESH)
    desk.choose_layout("destination", BLOCKED)
    desk.until(lambda: "x_in=4" in (desk.page.locator("[data-isoviz-static]").first.text_content() or ""))
    desk.save()
    command = [
        sys.executable,
        "-m",
        "nbconvert",
        "--to",
        "html",
        "--output-dir",
        str(tmp_path),
        "--output",
        "page",
        str(desk.path),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=250)
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    try:
        page = context.new_page()
        page.goto((tmp_path / "page.html").as_uri(), wait_until="domcontentloaded")
        picture = page.locator("[data-isoviz-static]")
        expect(picture).to_have_count(1)
        expect(picture).to_be_visible()
        expect(picture).to_contain_text("x_in=4")
        picture.scroll_into_view_if_needed()
        harness.ARTIFACTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=harness.ARTIFACTS / "static.png")
    finally:
        context.close()


def test_a_session_is_saved_as_a_file_and_opened_again(desk: harness.Notebook, tmp_path: Path) -> None:
    desk.show(FRESH)
    desk.to_top()
    desk.choose_layout("destination", BLOCKED)
    with desk.page.expect_download() as download:
        desk.choose_from_explorer("save-session")
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    harness.assert_seen(desk.part("toast"), path.name)
    json.loads(path.read_text(encoding="utf-8"))
    desk.choose_layout("destination", "<y, x, F>")
    with desk.page.expect_file_chooser() as chooser:
        desk.choose_from_explorer("open-session")
    chooser.value.set_files(path)
    expect(desk.part("destination-layout")).to_have_value(BLOCKED)
    desk.settled()
    desk.part("undo").click()
    expect(desk.part("destination-layout")).to_have_value("<y, x, F>")
    # A file that holds no session is refused in words, and nothing changes.
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"isoviz": "something else"}', encoding="utf-8")
    with desk.page.expect_file_chooser() as chooser:
        desk.choose_from_explorer("open-session")
    chooser.value.set_files(wrong)
    harness.assert_seen(desk.part("error-command"), "wrong.json")
    expect(desk.part("destination-layout")).to_have_value("<y, x, F>")
    desk.picture("session-refused")


def test_the_python_that_is_copied_recreates_the_state(desk: harness.Notebook) -> None:
    desk.context.grant_permissions(["clipboard-read", "clipboard-write"])
    desk.show(FRESH)
    desk.to_top()
    desk.choose_layout("destination", BLOCKED)
    desk.choose_from_explorer("copy-python")
    harness.assert_seen(desk.part("toast"), "Copied")
    text = desk.page.evaluate("navigator.clipboard.readText()")
    assert "isoviz.explore(" in text
    same = "from isoviz.widgets.chosen.python_text import same_settings\nbefore = explorer.session.settings\n"
    told = f"exec({text!r})\nprint(same_settings(before, explorer.session.settings))\nexplorer.close()"
    assert desk.python(same + told).endswith("True")


@pytest.mark.full
def test_a_theme_is_switched_while_it_is_open(desk: harness.Notebook) -> None:
    desk.show(FRESH)
    desk.to_top()
    desk.part("hop-0").click()
    grid = desk.grid("source")
    grid.press("ArrowRight")
    background = "element => getComputedStyle(element).backgroundColor"
    light = desk.explorer.evaluate(background), desk.drawing("source")
    desk.choose_theme("Dark")
    try:
        dark = desk.explorer.evaluate(background), desk.drawing("source")
        assert light[0] != dark[0] and light[1] != dark[1]
        expect(desk.part("hop-0")).to_have_attribute("aria-pressed", "true")
        expect(desk.fact("source", "entry")).to_have_text("x = 0, y = 0 · re")
        desk.to_top()
        desk.picture("theme-switched")
    finally:
        desk.choose_theme("Light")
    desk.until(lambda: (desk.explorer.evaluate(background), desk.drawing("source")) == light)


# What a full disk would do while bytes move: files may suddenly be no larger than they are.
FULL_DISK = """\
import resource, threading
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
def fill(session=explorer.session):
    while session.state.run.stage != "move" or session.state.run.phase != "running":
        threading.Event().wait(0.0005)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
threading.Thread(target=fill, daemon=True).start()"""


@pytest.mark.full
def test_a_run_that_fails_in_the_middle_says_why(desk: harness.Notebook) -> None:
    to_disk = LARGE.replace("node0.dsk", "node0.mem").replace("node0.sys", "node0.dsk").replace("node0.mem", "node0.sys")
    desk.show(to_disk)
    desk.python(FULL_DISK)
    try:
        desk.to_top()
        desk.run()
        expect(desk.part("status")).to_contain_text("Run 1 failed")
        harness.assert_seen(desk.part("error-failed-run"), "cannot be written")
        desk.part("error-run").scroll_into_view_if_needed()
        harness.assert_seen(desk.part("error-run"), "cannot be written")
        desk.picture("run-failed")
    finally:
        desk.python("resource.setrlimit(resource.RLIMIT_FSIZE, limits)")
    # It still works: the next run ends well, and the report is of that run.
    desk.to_top()
    desk.run()
    expect(desk.part("status")).to_contain_text("Run 2: verified")
    for message in ("error-run", "error-failed-run"):
        expect(desk.part(message)).to_have_count(0)


# The run goes on only once it was cancelled, however long a person takes to find the button.
HELD = """\
carried_out = explorer.session._runner._execute
def held(plan, machine, tell, cancel):
    def told(stage, nbytes):
        tell(stage, nbytes)
        if stage == "move":
            cancel.wait()
    return carried_out(plan, machine, told, cancel)
explorer.session._runner._execute = held"""


def test_a_run_is_cancelled(desk: harness.Notebook) -> None:
    desk.show(LARGE)
    desk.python(HELD)
    desk.to_top()
    desk.part("run").click()
    desk.part("cancel").click()
    expect(desk.explorer).to_have_attribute("data-running", "false")
    desk.settled()
    desk.part("error-run").scroll_into_view_if_needed()
    harness.assert_seen(desk.part("error-run"), "ancel")
    expect(desk.part("error-run")).not_to_have_class(harness.containing("iv-problem"))  # what a person did is no fault
    expect(desk.part("status")).to_contain_text("cancelled")
    expect(desk.part("run")).not_to_have_attribute("aria-disabled", "true")
    desk.picture("run-cancelled")


@pytest.mark.full
def test_a_tab_that_is_closed_leaves_the_run_to_the_kernel(browser: Browser, lab: harness.Lab) -> None:
    path = lab.new_notebook("closed-tab")
    notebook = harness.Notebook(browser, lab, path)
    try:
        notebook.open()
        notebook.show(LARGE)
        notebook.save()
        notebook.part("run").click()
        expect(notebook.explorer).to_have_attribute("data-running", "true")
    finally:
        notebook.close()
    again = harness.Notebook(browser, lab, path)
    try:
        again.open()
        again.explorer.wait_for()
        expect(again.explorer).to_have_attribute("data-running", "false", timeout=harness.PATIENCE)
        expect(again.part("status")).to_contain_text("Run 1: verified")
        assert again.errors == []
    finally:
        again.close()
        path.unlink()
    # Nothing of isoviz runs in the thread "Heartbeat" of a kernel.
    assert re.findall("Exception in thread (?!Heartbeat).*", "".join(lab.output)) == []


@pytest.mark.full
def test_many_restarts_lose_nothing(desk: harness.Notebook) -> None:
    desk.show(KEPT)
    for size in (80, 72, 60):
        desk.open_drawer()
        desk.part("size-y").fill(str(size))
        desk.settled()
        desk.until(lambda size=size: is_kept(desk, f'"{size}"'))
        restart_kernel(desk)
        harness.assert_seen(desk.part("status"), "run its cell again")
        desk.wait_for_kernel()
        desk.run_first_cell()
        expect(desk.part("title")).to_contain_text(f"× {size}")
