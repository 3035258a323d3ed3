"""The folder of a learner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from isoviz.course import lessons


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The folder of a learner, opened."""
    lessons.start(tmp_path)
    yield tmp_path
    lessons._opened = None
