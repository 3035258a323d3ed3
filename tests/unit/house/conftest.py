"""What the tests of the house put away."""

from __future__ import annotations

import pytest
import sources


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """With the last of these tests go the trees of all modules, which take half a gigabyte."""
    if nextitem is None or nextitem.path.parent != item.path.parent:
        sources.tree_of.cache_clear()
        sources.nodes_of.cache_clear()
