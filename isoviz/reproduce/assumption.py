"""Assumptions where a paper is silent and a simulation needs a value, and how the figures depend on them.

A paper's assumptions are fields of one frozen dataclass, such as `threads: int = assumed(4, "threads of a node", "section 6")`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, fields, replace
from typing import Any, NamedTuple

from isoviz.document import Cell, Quantity
from isoviz.machines.presets.numbers import origin_of
from isoviz.reproduce.plots import Of, value_of

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
    default: Any, what: str, origin: str, write: Callable[[Any], str] = str, alternative: tuple[Any, str] | None = None
) -> Any:
    """A field that is an assumption, with its value.

    - `what`: what it is, in words. `origin`: where its value comes from.
    - `write`: how to write a value.
    - `alternative`: the other value of what cannot be halved and doubled, and that value in words.
    """
    return field(default=default, metadata={_KEY: _Description(what, origin, write, alternative)})


def of_preset(figures: Any, name: str, what: str, write: Callable[[Any], str]) -> Any:
    """A field that is an assumption of a preset: the figure `name` of a dataclass of figures with their origins."""
    return assumed(getattr(figures, name), what, origin_of(figures, name).partition(": ")[0], write)


def _descriptions(given: Any) -> dict[str, _Description]:
    return {each.name: each.metadata[_KEY] for each in fields(given) if _KEY in each.metadata}


def described(given: Any) -> tuple[Assumption, ...]:
    """The assumptions of a dataclass in words, in the order of its fields."""
    return tuple(
        Assumption(name, each.what, each.write(getattr(given, name)), each.origin, getattr(given, name))
        for name, each in _descriptions(given).items()
    )


class Depends:
    """A figure of an experiment that depends on assumptions.

    - `what` it is, in words in which `{given.nodes}` is the value of a field, and its unit (`isoviz.document.UNITS`).
    - `ours`: the figure in what was found (`plots.Of`). `on`: the names of the assumptions that it depends on, with spaces.
    - `quick`: those of them that a quick run halves and doubles, too.
    - `few`: arguments of the experiment with which it finds no more than this figure needs.
    """

    def __init__(self, what: str, unit: str, ours: Of, on: str, *, quick: str = "", **few: Any) -> None:
        self.what, self.unit, self.ours, self.few = what, unit, ours, few
        self.on, self.quick = on.split(), quick.split()


class Sensitivity(NamedTuple):
    """A figure as it is, and with an assumption halved and doubled. An assumption that is not a number has one alternative."""

    assumption: str
    value: str
    metric: str
    unit: str
    base: float
    halved: float | None
    doubled: float | None
    alternative: float | None = None

    def cells(self) -> list[Cell]:
        """Its cells in a table."""
        figures = (self.base, self.halved, self.doubled, self.alternative)
        written = ["" if figure is None else Quantity(figure, self.unit) for figure in figures]
        return [self.assumption, self.value, self.metric, *written]


def sensitivities(
    given: Any, figures: Iterable[tuple[Callable[..., Any], Depends]], *, quick: bool = False
) -> Iterator[Sensitivity]:
    """A row for each assumption, in the order of the fields, and each figure that depends on it. A figure stands beside its
    experiment."""
    base: dict[int, float] = {}
    every = tuple(figures)
    for name, each in _descriptions(given).items():
        value, text = getattr(given, name), each.write(getattr(given, name))
        for number, (run, figure) in enumerate(every):

            def under(changed: Any, run: Callable[..., Any] = run, figure: Depends = figure) -> float:
                return float(value_of(run(changed, **figure.few), figure.ours))

            if name not in (figure.quick if quick else figure.on):
                continue
            if number not in base:
                base[number] = under(given)
            what, same = figure.what.format(given=given), base[number]
            if each.alternative is not None:
                other, words = each.alternative
                changed, both = under(replace(given, **{name: other})), f"{text}; alternative: {words}"
                yield Sensitivity(each.what, both, what, figure.unit, same, None, None, changed)
                continue
            half, double = (under(replace(given, **{name: _scaled(value, factor)})) for factor in (0.5, 2))
            yield Sensitivity(each.what, text, what, figure.unit, same, half, double)


def _scaled(value: Any, factor: float) -> Any:
    return int(value * factor) if isinstance(value, int) else value * factor
