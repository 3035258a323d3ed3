"""Choices about copies that suit one processor and not another.

`isoviz.backends.host.kernels.tuning` measures them, as no manual states them. Copies move the same bytes with every choice.
Numbers that suited all processors measured so far are in `isoviz.backends.host.kernels.tuning_constants`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import _lru_cache_wrapper, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

Result = TypeVar("Result")


class Choices(NamedTuple):
    """How a transpose reads its rows, how large the tiles of other copies are, and which copies use non-temporal stores.

    `aligned`, `unaligned` and `crowded` are ways to read rows (`READING`): for columns that begin at cache lines, for columns
    that do not, and for columns that do while their rows share sets of the first-level cache. The names with `small` are for
    elements of 1 and 2 bytes. `first_level` and `buffer` are the largest tiles in bytes: `first_level` for a tile that is one
    run of the destination, `buffer` for all others. `tiles_past` and `runs_past` say whether tiles and long runs of large
    copies are written with non-temporal stores.
    """

    aligned: str = "near"
    unaligned: str = "near"
    crowded: str = "near"
    small_aligned: str = "near"
    small_unaligned: str = "near"
    small_crowded: str = "near"
    first_level: int = 24 << 10
    buffer: int = 200 << 10
    tiles_past: bool = True
    runs_past: bool = True

    def __str__(self) -> str:
        other = [
            f"{name}={value >> 10} KiB" if name in ("first_level", "buffer") else f"{name}={value}"
            for name, value in self._asdict().items()
            if value != self._field_defaults[name]
        ]
        return ", ".join(other) or "the defaults"


READING = ("near", "far", "wide", "broad", "plain", "tiles")
"""Ways to read the rows of a transpose. `near` prefetches a few lines of each row into the first-level cache, unless rows evict
each other there. `far` prefetches into the second-level cache only. `wide` is `near` with 4 lines of each row, `broad` is `far`
with 16. `plain` reads 8 lines and leaves the prefetch to the hardware. `tiles` goes through the buffer, as other copies do."""
OPTIONS: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        **dict.fromkeys(Choices._fields[:6], READING),
        "first_level": (24 << 10, 48 << 10),
        "buffer": (200 << 10, 400 << 10, 100 << 10),
        "tiles_past": (True, False),
        "runs_past": (True, False),
    }
)
"""Name of a choice → its options, the default first."""

_chosen = Choices()
_remembering: list[_lru_cache_wrapper[Any]] = []


def remembered(maxsize: int) -> Callable[[Callable[..., Result]], _lru_cache_wrapper[Result]]:
    """`lru_cache` for results that depend on the choices: `choose` clears it."""

    def wrapped(function: Callable[..., Result]) -> _lru_cache_wrapper[Result]:
        found = lru_cache(maxsize)(function)
        _remembering.append(found)
        return found

    return wrapped


def chosen() -> Choices:
    """The choices of this process."""
    return _chosen


def choose(choices: Choices) -> None:
    """Use `choices` for all copies from now on."""
    global _chosen  # A process runs on one processor.
    _chosen = choices
    for each in _remembering:
        each.cache_clear()


def checked(values: Any) -> Choices:
    """Choices from the names and values of a file.

    Raises:
        ValueError: a name is missing or unknown, or a value is not among its options.
    """
    if not isinstance(values, dict) or set(values) != set(Choices._fields):
        raise ValueError(f"choices for the kernels: expected exactly {', '.join(Choices._fields)}")
    for name, value in values.items():
        if not any(type(value) is type(each) and value == each for each in OPTIONS[name]):
            raise ValueError(f"choices for the kernels: {name} is {value!r}, expected one of {OPTIONS[name]}")
    return Choices(**values)
