"""Errors noted at the control that caused them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from isoviz.errors import IsovizError
from isoviz.widgets.state import Problem

T = TypeVar("T")


def caught(action: Callable[[], T], control: str, problems: dict[str, Problem]) -> T | None:
    """The result, or None with the error noted at the control that caused it."""
    try:
        return action()
    except IsovizError as error:
        problems[control] = Problem.of(error)
        return None
