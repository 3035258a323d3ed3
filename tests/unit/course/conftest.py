"""The folder of a learner, and the process of learners' functions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from isoviz.course import lessons
from isoviz.course.classroom import FILE
from isoviz.course.functions import one_sandbox
from isoviz.course.progress import VERSION


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The folder of a learner, opened, always with the same numbers."""
    kept = {"v": VERSION, "learner": "", "seed": "0123456789abcdef0123", "solutions": True}
    (tmp_path / FILE).write_text(json.dumps(kept))
    lessons.start(tmp_path)
    yield tmp_path
    lessons._opened = None


@pytest.fixture(scope="module", autouse=True)
def sandbox_of_a_module() -> Iterator[None]:
    """The functions that a module judges run in one sandbox, which begins with the first of them."""
    with one_sandbox():
        yield
