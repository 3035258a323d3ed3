"""One browser and one JupyterLab for the tests that do not need their own."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator

import harness
import pytest
from playwright.sync_api import Browser, expect

# Other tests run beside these: what must come is given as long as everything else in the page.
expect.set_options(timeout=harness.PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name == "browser":
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(harness.START + 600))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep what a failed test saw."""
    outcome = yield
    arguments = getattr(item, "funcargs", {})
    notebook = arguments.get("notebook") or arguments.get("desk")
    if call.when != "teardown" and outcome.failed and notebook is not None:
        outcome.sections.append(("page errors", "\n".join(notebook.errors) or "none"))
        outcome.sections.append(("make lab", "".join(notebook.lab.output[-100:])))
        with contextlib.suppress(Exception):
            outcome.sections.append(("screenshot", str(notebook.picture(f"failed-{item.name}"))))
    return outcome


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with harness.running_chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def status_before() -> str:
    return harness.git_status()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory, status_before: str) -> Iterator[harness.Lab]:
    with harness.running_lab(tmp_path_factory.mktemp("home")) as lab:
        yield lab


@pytest.fixture
def notebook(browser: Browser, lab: harness.Lab) -> Iterator[harness.Notebook]:
    notebook = harness.Notebook(browser, lab)
    yield notebook
    notebook.close()


@pytest.fixture(scope="session")
def open_notebooks() -> Iterator[list[harness.Notebook]]:
    """The notebook that modules share, once one has needed it."""
    found: list[harness.Notebook] = []
    yield found
    for notebook in found:
        notebook.close()


@pytest.fixture(scope="module")
def shared_notebook(
    browser: Browser, lab: harness.Lab, open_notebooks: list[harness.Notebook], request: pytest.FixtureRequest
) -> Iterator[harness.Notebook]:
    """A notebook with a kernel that modules share, as a page and a kernel take seconds to open.

    What a module shows there is closed with it. After a module with a failed test comes another notebook.
    """
    if not open_notebooks:
        notebook = harness.Notebook(browser, lab, lab.new_notebook(str(request.module.__name__)))
        open_notebooks.append(notebook)
        notebook.open()
    failed = request.session.testsfailed
    yield open_notebooks[0]
    if request.session.testsfailed > failed:
        open_notebooks.pop().close()
    else:
        open_notebooks[0].python("import ipywidgets\nipywidgets.Widget.close_all()")


@pytest.fixture
def desk(shared_notebook: harness.Notebook) -> Iterator[harness.Notebook]:
    """The shared notebook, with 1280 × 900 pixels; each test shows an explorer of its own there."""
    shared_notebook.errors.clear()
    shared_notebook.page.set_viewport_size({"width": 1280, "height": 900})
    yield shared_notebook
    assert shared_notebook.errors == []
    for name in ("defect", "drawing"):
        assert shared_notebook.page.get_by_test_id(f"error-{name}").count() == 0
