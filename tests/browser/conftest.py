"""One browser and one JupyterLab for the tests that do not need their own."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator

import harness
import pytest
from playwright.sync_api import Browser


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
    notebook = getattr(item, "funcargs", {}).get("notebook")
    if call.when == "call" and outcome.failed and notebook is not None:
        outcome.sections.append(("page errors", "\n".join(notebook.errors) or "none"))
        outcome.sections.append(("make lab", "".join(notebook.lab.output[-30:])))
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
