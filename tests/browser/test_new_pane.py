"""A new pane of the browser is one file, perhaps with a style sheet: nothing else is edited. Tried in a copy of the sources."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

WIDGETS = Path(__file__).resolve().parents[2] / "widgets"
PATIENCE = 120_000  # milliseconds

PANE = """\
// How many bytes one hop moves.
import { registerPane } from "#model/pane.ts";
import { formatBytes } from "#model/units.ts";
import { useView } from "#model/view.ts";
import "./demo.css";

registerPane({ name: "demo", title: "Demonstration", tab: 2.5, watch: ["why"], render: () => <Demo /> });

function Demo() {
  const { demo } = useView().snapshot.panes;
  return <p class="iv-demo">{demo === null ? "Nothing yet." : `Each hop moves ${formatBytes(demo.bytes)}.`}</p>;
}
"""
SHEET = """\
.iv-demo {
  letter-spacing: 3px;
}
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the sources of the browser half, with the type and the recorded part that the kernel half would generate."""
    copied = tmp_path / "widgets"
    shutil.copytree(WIDGETS, copied, ignore=shutil.ignore_patterns("node_modules", ".tests", "__pycache__"))
    (copied / "node_modules").symlink_to(WIDGETS / "node_modules")
    types = copied / "src" / "model" / "types.ts"
    text = types.read_text(encoding="utf-8")
    types.write_text(text.replace("export interface Panes {\n", "export interface Panes {\n  demo: { bytes: number } | null;\n"))
    recorded = copied / "tests" / "snapshot.json"
    state = json.loads(recorded.read_text(encoding="utf-8"))
    recorded.write_text(json.dumps({**state, "panes": {**state["panes"], "demo": {"bytes": 3 * 2**20}}}))
    return copied


@pytest.fixture
def page_of_views(copy: Path) -> Iterator[str]:
    """The address of the page with every view, served from the copy."""
    command = [tool("node"), "build.mjs", "--dev"]
    with subprocess.Popen(
        command, cwd=copy, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, start_new_session=True
    ) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found is not None
            yield found.group()
        finally:
            os.killpg(server.pid, signal.SIGKILL)  # `node` of a wheel is a script that starts another process


def tool(name: str) -> str:
    found = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}")
    assert found is not None, f"{name} is missing (the extra `test` brings it)"
    return found


def test_a_new_pane_is_one_file(browser: Browser, copy: Path, page_of_views: str) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    try:
        page = context.new_page()
        page.goto(f"{page_of_views}?pane=explorer&pane=demo", timeout=PATIENCE)
        expect(page.get_by_test_id("tab-why")).to_be_visible(timeout=PATIENCE)
        expect(page.get_by_text("There is no view called demo")).to_be_visible()
        (copy / "src" / "panes" / "demo.css").write_text(SHEET)
        (copy / "src" / "panes" / "demo.tsx").write_text(PANE)  # the page is loaded again by itself
        expect(page.get_by_test_id("tab-demo")).to_be_visible(timeout=PATIENCE)
        page.get_by_test_id("tab-demo").click()
        shown = page.locator(".iv-demo")
        expect(shown).to_have_count(2)  # in the dock and alone
        for each in shown.all():
            expect(each).to_have_text("Each hop moves 3 MiB.")
            expect(each).to_have_css("letter-spacing", "3px")
        titles = page.get_by_role("tab").all_inner_texts()
        assert titles[:3] == ["Why", "Demonstration", "Timeline"]
    finally:
        context.close()


@pytest.mark.full
def test_a_new_pane_has_right_types_and_imports_and_is_built(copy: Path) -> None:
    (copy / "src" / "panes" / "demo.css").write_text(SHEET)
    (copy / "src" / "panes" / "demo.tsx").write_text(PANE)
    biome = "node_modules/.bin/biome"
    for command in ([tool("npm"), "run", "check"], [biome, "lint", "src/panes"], [tool("node"), "build.mjs"]):
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    static = copy.parent / "isoviz" / "widgets" / "static"
    assert "Each hop moves" in (static / "core.js").read_text(encoding="utf-8")
    assert ".iv-demo{letter-spacing:3px}" in (static / "explorer.css").read_text(encoding="utf-8")
