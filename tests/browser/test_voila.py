"""The explorer under Voila: a notebook as an application, without JupyterLab around it."""

from __future__ import annotations

import json
import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import harness
import pytest
import servers
from PIL import Image
from playwright.sync_api import Browser, expect

FONTS = "https://cdn.jsdelivr.net/npm/@fortawesome/"
"""Voila itself asks for these."""
ADDRESS = re.compile(r"http://localhost:\d+/(?=\s*$)")
CODE = """\
import isoviz
small = {"space": {"x": 96, "y": 64}, "fields": {"re": "float32", "im": "float32"}}
explorer = isoviz.explore(machine_options={"measure": "assumed"}, **small)
"""
ALONE = """\
isoviz.LinearizationView(session=explorer, side="destination")
"""


def free_port() -> int:
    """A port that nobody listens on: Voila does not say which one the system gave it."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def voila(tmp_path_factory: pytest.TempPathFactory) -> Iterator[harness.Lab]:
    """Voila with a notebook of two cells: the explorer, and a view of its session."""
    home = tmp_path_factory.mktemp("voila")
    notebook = home / "application.ipynb"
    cells = [
        {"cell_type": "code", "id": f"cell-{k}", "metadata": {}, "outputs": [], "execution_count": None, "source": code}
        for k, code in enumerate((CODE, ALONE))
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook.write_text(json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}), encoding="utf-8")
    command = [sys.executable, "-m", "voila", notebook.name, "--no-browser", f"--port={free_port()}"]
    environment = servers.home_with_kernels(home)
    with servers.serving(command, cwd=home, env=environment, patience=120, address=ADDRESS) as (url, output):
        yield harness.Lab(url, Path(notebook), home, output)


@pytest.fixture
def notebook(browser: Browser, voila: harness.Lab) -> Iterator[harness.Notebook]:
    found = harness.Notebook(browser, voila)
    # Voila asks for a font of icons for other people's widgets. It does not get it, and nothing here needs it.
    found.page.route(re.compile(r"^https?://(?!localhost[:/])"), lambda route: route.abort())
    yield found
    found.close()


def open_application(notebook: harness.Notebook) -> None:
    """Open the page, and again where a widget is missing.

    Voila asks the kernel for all widgets and gives up after four seconds, which a busy computer may need (known of ipywidgets,
    number 3633). A person reloads the page.
    """
    both, missing = notebook.page.get_by_test_id("explorer").nth(1), notebook.page.get_by_text("Error displaying widget")
    for _ in range(5):
        notebook.page.goto(notebook.lab.url)
        both.or_(missing).first.wait_for()
        if not missing.count():
            return
        notebook.errors.clear()
    raise AssertionError("Voila did not get the widgets of the kernel")


@pytest.mark.full
def test_layouts_plan_and_run(notebook: harness.Notebook) -> None:
    open_application(notebook)
    expect(notebook.explorer).to_have_attribute("data-pane", "explorer")
    notebook.settled()
    alone = notebook.page.get_by_test_id("explorer").nth(1)
    expect(alone).to_have_attribute("data-pane", "linearization")
    expect(alone.get_by_test_id("linearization-memory")).to_be_visible()
    notebook.at_rest()  # the page below still grows while its views are drawn
    before = notebook.part("journey").inner_text()
    notebook.drag_chip("destination", "x:0", to="y:0")
    expect(notebook.part("destination-layout")).to_have_value("<y, x, F>")
    notebook.settled()
    assert notebook.part("journey").inner_text() != before, "the plan follows"
    notebook.part("undo").click()
    expect(notebook.part("destination-layout")).to_have_value("<x, y, F>")
    notebook.settled()
    notebook.run()
    expect(notebook.part("verified")).to_have_attribute("data-verified", "true")
    grid = notebook.memory("source")
    box = grid.bounding_box()
    assert box is not None
    grid.hover(position={"x": 0.3 * box["width"], "y": 0.3 * box["height"]})  # in the first of two fields
    expect(notebook.fact("destination", "entry")).not_to_have_text("point at one")
    notebook.at_rest()
    notebook.picture("voila")
    # What is seen can be saved as a picture: the whole explorer, and a part of it.
    harness.ARTIFACTS.mkdir(parents=True, exist_ok=True)
    with notebook.page.expect_download() as saved:
        notebook.choose_from_explorer("pictures", "picture-explorer-png")
    saved.value.save_as(harness.ARTIFACTS / "picture-of-the-explorer.png")
    with Image.open(harness.ARTIFACTS / "picture-of-the-explorer.png") as image:
        assert image.width > 2 * 1200 and image.height > 2 * 800
    with notebook.page.expect_download() as saved:
        notebook.choose_from_explorer("pictures", "picture-journey-svg")
    assert "file read" in saved.value.path().read_text(encoding="utf-8")
    assert notebook.errors == []
    assert [url for url in notebook.elsewhere if not url.startswith(FONTS)] == [], "no request leaves the machine"
