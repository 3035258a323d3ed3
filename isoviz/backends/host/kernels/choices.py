"""What suits one processor and not another: the few things about copies that no manual says, as values.

`isoviz.backends.host.kernels.tuning` measures them. Copies move the same bytes whatever is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import _lru_cache_wrapper, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

Result = TypeVar("Result")


class Choices(NamedTuple):
    """How rows of transpositions are read, the tiles of other copies, and what is written past the caches.

    `aligned`, `unaligned` and `crowded` are ways to read (`READING`) where columns begin with lines, where they do not, and where
    they do but rows share sets of the first-level cache; those that begin with `small` are for elements of 1 and 2 bytes.
    `first_level` and `buffer` are the most bytes of a tile that is one run of the destination, and of any other.
    `tiles_past` and `runs_past` are whether tiles, and long runs, of large copies are written past the caches.
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
"""Ways to read rows of a transposition. `near`: a few lines of every row, fetched into the first-level cache, unless rows get in
each other's way there; `far`: into the second level only; `wide`: 4 lines of every row, `near`; `broad`: 16 lines, `far`;
`plain`: 8 lines, and the processor guesses what is read next; `tiles`: by way of the buffer, as other copies."""
OPTIONS: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        **dict.fromkeys(Choices._fields[:6], READING),
        "first_level": (24 << 10, 48 << 10),
        "buffer": (200 << 10, 400 << 10, 100 << 10),
        "tiles_past": (True, False),
        "runs_past": (True, False),
    }
)
"""Name of a choice → what may be chosen, the default first."""

_chosen = Choices()
_remembering: list[_lru_cache_wrapper[Any]] = []


def remembered(maxsize: int) -> Callable[[Callable[..., Result]], _lru_cache_wrapper[Result]]:
    """`lru_cache` for what depends on the choices: it is forgotten when they change."""

    def wrapped(function: Callable[..., Result]) -> _lru_cache_wrapper[Result]:
        found = lru_cache(maxsize)(function)
        _remembering.append(found)
        return found

    return wrapped


def chosen() -> Choices:
    """What is in force in this process."""
    return _chosen


def choose(choices: Choices) -> None:
    """Carry out copies as `choices` say from now on: the same bytes, in another way."""
    global _chosen  # one processor
    _chosen = choices
    for each in _remembering:
        each.cache_clear()


def checked(values: Any) -> Choices:
    """Choices from names and values as they were kept.

    Raises:
        ValueError: a name is missing or unknown, or a value is none that may be chosen.
    """
    if not isinstance(values, dict) or set(values) != set(Choices._fields):
        raise ValueError(f"choices for the kernels: expected exactly {', '.join(Choices._fields)}")
    for name, value in values.items():
        if not any(type(value) is type(each) and value == each for each in OPTIONS[name]):
            raise ValueError(f"choices for the kernels: {name} is {value!r}, expected one of {OPTIONS[name]}")
    return Choices(**values)
