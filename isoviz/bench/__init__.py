"""Benchmarks that users can run: `isoviz bench SUITE`. Every figure stands beside peers measured in the same run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoviz.bench.table import Table


@dataclass(frozen=True)
class Suite:
    """A benchmark: one line for people, and the module whose `measure(**options)` returns its table."""

    description: str
    module: str
    options: tuple[str, ...]

    @property
    def measure(self) -> Callable[..., Table]:
        """The function that measures."""
        found: Callable[..., Table] = import_module(self.module).measure
        return found


SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        "convert": Suite(
            "array files from one layout to another, beside a plain copy, `cp` and NumPy",
            "isoviz.bench.convert",
            ("size", "memory_limit", "repeat", "directory"),
        ),
        "import": Suite("starting Python with isoviz, beside NumPy", "isoviz.bench.starting", ("repeat",)),
        "planner": Suite(
            "planning, beside Isometry's figures, a graph search and one PuLP solve", "isoviz.bench.planner", ("repeat",)
        ),
        "staging": Suite(
            "a transposing read from disk: the staged path beside the one hop",
            "isoviz.bench.staging",
            ("size", "repeat", "directory"),
        ),
    }
)
"""Name → benchmark."""
