"""Where the parts of a machine lie on a drawing of it: positions of memories, and the boxes around memories and resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isoviz import checks

FARTHEST = 1e6
"""The largest distance from the origin in each direction, in units of the drawing."""
DEEPEST = 8
"""The most boxes within each other on a node."""


class Positions(Mapping[str, tuple[float, float]]):
    """A frozen mapping: the name of a memory to the position of its centre, (x, y), x to the right and y down.

    The unit is a CSS pixel at natural size. A memory without a position is placed by the drawing.

    Raises:
        MachineError: a position is not a pair of finite numbers.
    """

    __slots__ = ("_places",)

    def __init__(self, places: object = None) -> None:
        if places is None:
            places = {}
        if not isinstance(places, Mapping):
            raise checks.FieldError("positions", "positions", f"expected an object, got {checks.show(places)}")
        self._places: dict[str, tuple[float, float]] = {
            checks.text("positions", "name", name): _pair(name, given) for name, given in places.items()
        }

    def __getitem__(self, name: str) -> tuple[float, float]:
        return self._places[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __hash__(self) -> int:
        return hash(frozenset(self._places.items()))

    def __reduce__(self) -> tuple[type[Positions], tuple[dict[str, tuple[float, float]]]]:
        return type(self), (dict(self._places),)

    def __repr__(self) -> str:
        return f"Positions({self._places!r})"


def checked_boxes(owner: str, given: object) -> tuple[str, ...]:
    """The names of the boxes around a part of a node, outermost first, such as `("socket 0", "PCIe switch 1", "GPU 1")`.

    Raises:
        MachineError: `given` is not a list of at most `DEEPEST` names, or a name has a slash, which separates names in texts.
    """
    if isinstance(given, str | bytes) or not isinstance(given, list | tuple):
        raise checks.FieldError(owner, "within", f"expected a list of boxes, outermost first, got {checks.show(given)}")
    if len(given) > DEEPEST:
        raise checks.FieldError(owner, "within", f"expected at most {DEEPEST} boxes within each other, got {len(given)}")
    names = tuple(checks.text(owner, f"within[{k}]", name) for k, name in enumerate(given))
    for k, name in enumerate(names):
        if "/" in name:
            raise checks.FieldError(owner, f"within[{k}]", f"expected a name without '/', got {checks.show(name)}")
    return names


def _pair(name: str, given: Any) -> tuple[float, float]:
    if isinstance(given, str | bytes) or not isinstance(given, list | tuple) or len(given) != 2:
        raise checks.FieldError("positions", name, f"expected a pair (x, y), got {checks.show(given)}")
    x, y = (checks.number("positions", name, each, low=-FARTHEST, high=FARTHEST) for each in given)
    return x, y
