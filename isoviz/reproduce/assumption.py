"""Assumptions where a paper is silent and a simulation needs a value, and how the figures depend on them.

A paper's assumptions are fields of one frozen dataclass, such as `field(default=4, metadata=assumed("threads", "section 6"))`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

from isoviz.reproduce.statement import UNITS

_KEY = "isoviz assumption"


class Assumption(NamedTuple):
    """An assumption for people: the name of its field, what it is, its value in words, the source of the value, and the value."""

    name: str
    what: str
    value: str
    origin: str
    number: Any


class _Description(NamedTuple):
    what: str
    origin: str
    write: Callable[[Any], str]
    alternative: tuple[Any, str] | None


def assumed(
    what: str, origin: str, write: Callable[[Any], str] = str, alternative: tuple[Any, str] | None = None
) -> dict[str, _Description]:
    """The metadata of a field that is an assumption.

    - `what`: what it is, in words. `origin`: where its value comes from.
    - `write`: how to write a value.
    - `alternative`: the other value of what cannot be halved and doubled, and that value in words.
    """
    return {_KEY: _Description(what, origin, write, alternative)}


def _descriptions(given: Any) -> dict[str, _Description]:
    return {each.name: each.metadata[_KEY] for each in fields(given) if _KEY in each.metadata}


def described(given: Any) -> tuple[Assumption, ...]:
    """The assumptions of a dataclass in words, in the order of its fields."""
    return tuple(
        Assumption(name, each.what, each.write(getattr(given, name)), each.origin, getattr(given, name))
        for name, each in _descriptions(given).items()
    )


class Metric(NamedTuple):
    """A figure that depends on assumptions: what it is, its unit (`statement.UNITS`), and its value under some assumptions."""

    what: str
    unit: str
    value: Callable[[Any], float]


class Sensitivity(NamedTuple):
    """A figure as it is, and with an assumption halved and doubled. An assumption that is no number has one alternative."""

    assumption: str
    value: str
    metric: str
    unit: str
    base: float
    halved: float | None
    doubled: float | None
    alternative: float | None = None

    def text(self, which: str) -> str:
        """One of its figures, written."""
        figure = getattr(self, which)
        return "" if figure is None else UNITS[self.unit](figure)


def sensitivities(given: Any, metrics: Mapping[str, Metric], affected: Mapping[str, Iterable[str]]) -> Iterator[Sensitivity]:
    """A row for each assumption and each figure that depends on it.

    `affected` gives for the name of an assumption the names of the `metrics` that depend on it.
    """
    descriptions = _descriptions(given)
    base: dict[str, float] = {}
    for name, affected_metrics in affected.items():
        value, each = getattr(given, name), descriptions[name]
        text = each.write(value)
        for key in affected_metrics:
            metric = metrics[key]
            if key not in base:
                base[key] = metric.value(given)
            if each.alternative is not None:
                other, words = each.alternative
                figure, both = metric.value(replace(given, **{name: other})), f"{text}; alternative: {words}"
                yield Sensitivity(each.what, both, metric.what, metric.unit, base[key], None, None, figure)
                continue
            half, double = (metric.value(replace(given, **{name: _scaled(value, factor)})) for factor in (0.5, 2))
            yield Sensitivity(each.what, text, metric.what, metric.unit, base[key], half, double)


def _scaled(value: Any, factor: float) -> Any:
    return int(value * factor) if isinstance(value, int) else value * factor
