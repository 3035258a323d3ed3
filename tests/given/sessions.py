"""Sessions of the explorer, as fixtures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from isoviz.widgets.chosen.settings import Settings
from isoviz.widgets.session import Session


def session_fixture(settings: Settings, *views: str, waits: bool = False) -> Any:
    """The fixture `session`: one that begins with these settings and is asked for these views, at rest if it `waits`."""

    @pytest.fixture(name="session")
    def given() -> Iterator[Session]:
        with closing(Session(settings)) as session:
            for view in views:
                session.demand(view)
            if waits:
                session.wait()
            yield session

    return given
