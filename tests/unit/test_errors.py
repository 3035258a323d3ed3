"""Errors travel between processes, and quote any value on one line."""

from __future__ import annotations

import pickle

import pytest

from isoviz.errors import Cancelled, IsovizError, NotationError, RunError, show
from isoviz.layouts import Layout
from isoviz.machines import Memory


def test_errors_survive_pickling() -> None:
    with pytest.raises(NotationError) as notation:
        Layout("<F x>")
    with pytest.raises(IsovizError) as field:
        Memory("a", "tape")  # type: ignore[arg-type]
    for error in (notation.value, field.value, RunError("broke", hop=1, channel="a->b", chunk=2), Cancelled("stopped")):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)


def test_quoted_values_are_short() -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    for value in (10**5000, -(10**5000), "x" * 10_000, "a\nb", nested, {"a": nested}, float("nan"), None, object()):
        assert len(show(value)) <= 70
        assert "\n" not in show(value)
