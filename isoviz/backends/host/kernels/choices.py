"""Choices about copies that suit one processor and not another.

`isoviz.backends.host.kernels.tuning` measures them, as no manual states them. Copies move the same bytes with every choice.
Numbers that suited all processors measured so far are in `isoviz.backends.host.kernels.choices`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import _lru_cache_wrapper, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

# Numbers that decide which copy kernel takes a copy, and in which pieces.
#
# They were measured with `isoviz bench layouts` and `isoviz bench permutations` on AMD Zen 4 and Zen 5
# (`benchmarks/layouts.md`, `benchmarks/permutations.md`); each is where one kernel became faster than the next. A
# wrong number costs speed, never bytes. What differed between these two processors is no constant:
# `isoviz.backends.host.kernels.choices`. All sizes are bytes unless the name or its text says otherwise; a line is a
# cache line of 64 bytes.

# Which kernel.

LEAST_COMPILED = 4096
"""A copy below this size is as fast with NumPy."""
LEAST_PLAIN = 512 << 10
"""The same for a copy of one contiguous run."""
PAST_CACHES = 1 << 20
"""Copies from this size on use non-temporal stores. Smaller ones may be read again from a cache."""
PART_PAST_CACHES = 128 << 10
"""The same for a part of a larger copy."""
BUFFER_BYTES = 640 << 10
"""Buffer of a thread: a tile, with a gap behind each of its rows."""

# Streams (`recipe.streams_of`): runs copied one after the other, without a buffer.

LEAST_STREAMED_RUN = 512
"""Runs from this size on are streamed."""
LEAST_STREAMED_LINES = 128
"""The same for runs of whole lines at line boundaries."""
LEAST_KEPT_RUN = 2048
"""Runs from this size on are left to NumPy where the same copy is made again and again: it stays in the caches, and NumPy has the
least code around each `memcpy`."""
TURNS_AHEAD = 8
"""Runs that are fetched before they are read, where a copy does not stay in the caches."""
LEAST_DEALT_RUN = 112
"""The same for runs that are contiguous in the source and go to `DEALT_ARRAYS` arrays in turn."""
DEALT_ARRAYS = range(4, 17)
"""Number of these arrays."""

# Tiles of planes (`recipe`): vectors transpose elements on their way through the buffer.

TILE_RUN = 512
"""Runs of a tile at both ends, where the copy has such runs. Shorter ones waste DRAM pages that are open already."""
LEAST_PLANE = 16
"""Elements of a plane that vectors transpose. Fewer are as fast one by one."""
LEAST_VECTOR_ROWS = {1: 4, 2: 8, 4: 4}
"""Element size → rows and columns of a plane that vectors transpose. Fewer are as fast one by one, except `FEW_FIELDS`."""
FEW_FIELDS = range(2, 5)
"""Fields of a struct that other vector code splits or joins."""
LEAST_TILE = 1 << 10
"""Contiguous bytes at either end that make a tile worth its start."""
LEAST_PLANE_RUN = 16
"""Runs from this size on are copied in planes though vectors do not transpose them. Shorter ones are faster by element."""
WIDEST_RUN = 256
"""From this run length on, moving a run takes longer than finding its addresses."""
TILE_PREFETCH = 16 << 10
"""Distance of the prefetch in the source."""
PREFETCHED_ROWS = 64
"""Most rows whose lines are prefetched."""

# Tiles of structs (`recipe`): all fields of a struct together.

STRUCT_TILE = 256 << 10
"""Size of a tile."""
LEAST_STRUCT_ROW = 32 << 10
"""Rows of structs from this size on are worth a tile."""

# Squares (`direct.squares_of`): transposes from registers to whole lines.

SQUARE_ELEMENTS = (1, 2, 4, 8, 16)
"""Element sizes for which squares exist."""
LEAST_STRIPS = 16 << 10
"""Size of one transpose inside outer loops from which its strips pay."""
LEAST_COLUMN = 768
"""Column length from which squares pay where columns begin within lines."""
CACHE_SETS = (64, 1024)
"""Number of sets of the first-level cache, and of the second-level cache."""
CROWDED_LINES = 36
"""Lines of a strip that share a set of the first-level cache: more evict each other."""
SPREAD_LINES = 8
"""Lines of a strip that share a set of the second-level cache where that cache is well used."""
FAR_APART_ROWS = 17 << 10
"""Distance of rows from which the hardware prefetcher makes no guess, and so no wrong one."""
TALL_COLUMN = 2 << 10
"""Column length from which several squares are transposed before their columns are stored."""
LONGEST_TABLE = 1 << 13
"""Most rows or columns that a table of offsets holds."""

# Gathers (`direct.gather_of`): lines put together from runs of 32 or 64 bytes.

LONGEST_GATHERED_ENTRY = 14 << 10
"""Longest entries that are read several in turn."""
GATHERED_ARRAYS, GATHERED_SHORT_ARRAYS = 16, 64
"""Most arrays that are read in turn: long ones, and short ones."""
LEAST_LONG_ARRAY = 1 << 10
"""Arrays from this size on are long."""

# Patterns (`pattern`): byte shuffles that repeat.

LEAST_PATTERN_COPY = 128 << 10
"""Size of a copy from which making a pattern pays."""
LEAST_PATTERN_LOOP = 32 << 10
"""Size of the repeating loop from which a pattern pays, for each turn of the loops around it."""
LEAST_REPEATS = 8
"""Repeats of a pattern in its loop. The first and the last turns are moved run by run."""
MOST_PATTERN = 8 << 10
"""Largest pattern."""
GOOD_PATTERN = 4 << 10
"""A long pattern grows up to this size."""
SHORT_PATTERN = 12
"""Lines of a short pattern. One line of it is stored for many repeats, its shuffles in registers, then the next line."""
LINES_TOGETHER = 48
"""Lines that are stored together then: their sources stay in the first-level cache, and the stores are in sequence."""
MOST_STEPS = 256
"""Steps of a pattern: more do not fit the first-level cache."""
MOST_PIECES = 256
"""Runs in one turn of a pattern."""
STEPS_PER_LINE = {1: 4.0, 2: 3.0, 4: 2.0, 8: 2.0}
"""Element size → steps of a line up to which byte shuffles beat interleaved vectors."""
PATTERN_PREFETCH = 1024
"""Least distance of the prefetch for each place of the source."""

# Element by element (`tiles`).

STAGED_TILE = 160 << 10
"""Largest tile that goes through the buffer, unless runs of a line at both ends need more."""
DIRECT_TILE = 64 << 10
"""Largest tile that goes straight to the destination."""
TILE_PART = 16 << 10
"""Part of a tile that all fields move before the next part: it stays in the first-level cache."""
LEAST_TILE_TURNS = 32
"""Turns of a tile of many fields, which may make it larger than the sizes above."""
LEAST_COLUMNS = 32
"""Elements of a row of a tile, if the loops that are fast in the source have that many."""
MOST_COLUMNS = 4096
"""Elements of the rows of all fields together: the table of their offsets holds no more."""
NEAR_FIELDS = 1024
"""Fields within this distance in the source are prefetched together."""
APART_RUN = 128
"""Run length at both ends from which fields share few lines: one field after the other is as fast."""
APART_PLANE_RUN = 64
"""The same where vectors transpose the fields."""

# Many small copies in one call (`many`).

SMALL_COPY = 64 << 10
"""A copy below this size goes into the table, if there are others."""
CACHED_COPIES = 2 << 20
"""Copies up to this size together all go into the table: their sources and destinations stay in a cache."""
FEW_COPIES = 64
"""Most copies whose sizes are added up for that."""
LEAST_INNER = 8
"""Turns of an innermost loop, if a loop with this many exists."""
MOST_INNER = 256
"""Turns of an innermost loop whose lines stay in the first-level cache until the next turn of the loop around it."""
LEAST_BLOCK_RUN = 9
"""Runs from this size on are not transposed by vectors."""
SMALL_BLOCK = 2 << 10
"""Blocks of such runs up to this size are transposed in place of a tile."""
ROWS_IN_TURN = 16
"""Rows that are read in turn. With more rows, tiles are faster."""
LEAST_VECTOR_PLANE = 8
"""Rows and columns from which vectors transpose elements of 1 to 8 bytes."""


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
