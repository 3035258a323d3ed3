"""The unit tests of the browser half, in a page of a real browser; `npm test` runs those that need no document in node."""

from __future__ import annotations

import mimetypes
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Route

WIDGETS = Path(__file__).resolve().parents[2] / "widgets"
ADDRESS = "http://isoviz.test/"  # no server: every request is answered from the folder
PATIENCE = 180_000  # milliseconds that all tests may take


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page with all tests, and the layouts, pictures, traces and switches of Python that some of them read."""
    out = tmp_path_factory.mktemp("frontend")
    node = shutil.which("node", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}")
    assert node is not None, "node is missing (the extra `test` brings it)"
    assert (WIDGETS / "node_modules").exists(), "the browser half's packages are missing; run: npm ci, in widgets/"
    subprocess.run([node, "build.mjs", "--tests", str(out)], cwd=WIDGETS, check=True, timeout=250)
    for name in ("layout", "memory", "trace", "switch"):
        cases = [sys.executable, str(WIDGETS / f"{name}_cases.py"), str(out / "page" / f"{name}-cases.json")]
        subprocess.run(cases, check=True, timeout=240)
    return out / "page"


def test_the_unit_tests_of_the_browser_half_pass_in_a_browser(browser: Browser, folder: Path) -> None:
    def answer(route: Route) -> None:
        path = folder / (urlsplit(route.request.url).path.strip("/") or "index.html")
        if not path.is_file():
            route.fulfill(status=404)
            return
        route.fulfill(body=path.read_bytes(), content_type=mimetypes.guess_type(path.name)[0] or "text/plain")

    context = browser.new_context(viewport={"width": 1280, "height": 900})
    try:
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.route("**/*", answer)
        page.goto(ADDRESS)
        page.wait_for_function("window.results !== undefined", timeout=PATIENCE)
        results: list[dict[str, Any]] = page.evaluate("window.results")
    finally:
        context.close()
    failed = [f"{found['file']}: {found['name']}\n{found['error']}" for found in results if found["error"] is not None]
    assert not failed, f"{len(failed)} of {len(results)} failed\n\n" + "\n\n".join(failed)
    assert len({found["file"] for found in results}) == len([*WIDGETS.glob("tests/*.test.ts"), *WIDGETS.glob("tests/*.test.tsx")])
    assert not errors, errors
