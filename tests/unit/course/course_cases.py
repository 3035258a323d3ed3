"""Right answers and independent judges of the exercises."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[3]
FULL = os.environ.get("ISOVIZ_FULL") == "1"


def loaded(path: Path) -> ModuleType:
    """The module in a file that no package has."""
    spec = importlib.util.spec_from_file_location(f"course_{path.parent.name}_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def solutions(notebook: int) -> dict[str, Any]:
    """Right answers by exercise."""
    return dict(loaded(ROOT / "notebooks" / "solutions" / f"notebook_{notebook}.py").ANSWERS)


def judges(notebook: int) -> ModuleType:
    """The independent judges of a notebook, and random answers."""
    return loaded(Path(__file__).parent / "judges" / f"notebook_{notebook}.py")
