"""The folder of a learner."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from isoviz.course import lessons
from isoviz.course.classroom import FILE
from isoviz.course.progress import VERSION


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The folder of a learner, opened, always with the same numbers."""
    kept = {"v": VERSION, "learner": "", "seed": "0123456789abcdef0123", "solutions": True}
    (tmp_path / FILE).write_text(json.dumps(kept))
    lessons.start(tmp_path)
    yield tmp_path
    lessons._opened = None
