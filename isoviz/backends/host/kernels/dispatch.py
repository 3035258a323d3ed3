"""Dispatch of strided copies to the fastest compiled kernel.

Where no compiled kernel suits a copy, the result is False and NumPy carries it out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.host.kernels import choices as constants
from isoviz.backends.host.kernels import in_use
from isoviz.backends.host.kernels.choices import BUFFER_BYTES, remembered
from isoviz.backends.host.kernels.direct import blocks_of, gather_of, lines_of, squares_of
from isoviz.backends.host.kernels.many import runs_of
from isoviz.backends.host.kernels.pattern import pattern_of
from isoviz.backends.host.kernels.recipe import (
    LINE,
    Recipe,
    goes_past,
    integers,
    is_box,
    is_plane,
    recipe_of,
    recipe_of_structs,
    streams_of,
)
from isoviz.backends.host.kernels.tiles import are_apart, tiles_of
from isoviz.backends.pages import Bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from isoviz.backends.host.kernels.direct import StridedRest
    from isoviz.backends.host.kernels.many import Many
    from isoviz.backends.host.kernels.pattern import Shape
    from isoviz.layouts import ListedCopy, StridedCopy
    from isoviz.layouts.copies import Loop

_PAGE = 4096
_local = threading.local()
_unused: list[np.ndarray[Any, np.dtype[np.uint8]]] = []
"""Buffers of ended threads."""


class _Buffer:
    """A buffer that one thread owns.

    When the thread ends, the next thread takes over the buffer with its pages: fresh pages cost more than a small copy.
    """

    def __init__(self) -> None:
        try:
            self._data = _unused.pop()
        except IndexError:
            self._data = np.zeros(BUFFER_BYTES + 2 * _PAGE, np.uint8)
        self.address = -(-self._data.ctypes.data // _PAGE) * _PAGE + LINE

    def __del__(self) -> None:
        data = getattr(self, "_data", None)  # None where its allocation failed.
        if data is not None:
            _unused.append(data)


def buffer_address() -> int:
    """The address of this thread's buffer of `BUFFER_BYTES`. Kernels may write to the cache line before it."""
    buffer = getattr(_local, "buffer", None)
    if buffer is None:
        buffer = _local.buffer = _Buffer()
    address: int = buffer.address
    return address


class Way(NamedTuple):
    """The way to carry out one copy: the name of a kernel, its arguments, and the rest that the kernel does not cover.

    An empty name selects the general recipes.
    """

    kernel: str = ""
    arguments: tuple[Any, ...] = ()
    rest: StridedRest | None = None
    with_buffer: bool = False


Call = Callable[[], object]
"""A kernel with all of its arguments. It may be called again and again, in any thread, while both arrays live."""


def copy(each: StridedCopy, source: Bytes, destination: Bytes, *, large: bool = False) -> bool:
    """Carry out a strided copy between two arrays; False where NumPy should.

    The copy stays inside both arrays. `large` marks a part of a large copy, whose bytes are not read again soon.
    """
    return _called(prepared_copy(each, source, destination, large=large))


def prepared_copy(
    each: StridedCopy, source: Bytes, destination: Bytes, *, large: bool = False, again: bool = False
) -> tuple[Call, ...]:
    """The calls that carry out a strided copy between two arrays; none where NumPy should. `again`: again and again."""
    if in_use.compiled is None or each.run <= 0 or each.nbytes < constants.LEAST_COMPILED:
        return ()
    if any(min(loop) <= 0 for loop in each.loops) or (not each.loops and each.nbytes < constants.LEAST_PLAIN):
        return ()
    if again and not large and each.run >= constants.LEAST_KEPT_RUN:
        return ()
    here = source.ctypes.data + each.source_offset
    there = destination.ctypes.data + each.destination_offset
    way = way_of(each.run, each.loops, (there % 4 or 4) if there % LINE else 0, large)
    return () if way is None else calls_of(way, each.run, each.loops, here, there, large=large)


def copy_structs(copies: Sequence[StridedCopy], source: Bytes, destination: Bytes, *, large: bool = False) -> bool:
    """Carry out strided copies with equal loops together, such as the fields of structs.

    False where their loops differ, or where one copy after the other is faster. `large` is as in `copy`.
    """
    if in_use.compiled is None or any(each.run <= 0 or any(min(loop) <= 0 for loop in each.loops) for each in copies):
        return False
    if sum([each.run for each in copies]) >= constants.WIDEST_RUN * len(copies):
        return False
    here, there = copies[0].source_offset, copies[0].destination_offset
    shapes = tuple((each.source_offset - here, each.destination_offset - there, each.run, each.loops) for each in copies)
    start, to = source.ctypes.data + here, destination.ctypes.data + there
    if _called(_shuffled(shapes, start, to, large=large)):
        return True
    recipe = recipe_of_structs(shapes, large=large)
    if recipe is not None:
        _kernels().walk(start, to, buffer_address(), *recipe)
        return True
    return not are_apart(shapes) and _called(_tiled(shapes, start, to, large=large))


def copy_many(many: Many, source: Bytes, destination: Bytes, rows: slice) -> None:
    """Carry out some rows of a table of small copies between two arrays. The copies stay inside both arrays."""
    prepared_many(many, source, destination, rows)()


def prepared_many(many: Many, source: Bytes, destination: Bytes, rows: slice) -> Call:
    """The call that carries out some rows of a table of small copies between two arrays."""
    return partial(_kernels().copy_many, source.ctypes.data, destination.ctypes.data, many.rows[rows], many.loops)


def move_parts(*arguments: Any) -> int:
    """Carry out the parts of a program (`isoviz.runtime.protocols.PartLoop`). The copies stay inside their stores."""
    parts: int = _kernels().move_parts(*arguments)
    return parts


def prepared_listed(copy: ListedCopy, source: Bytes, destination: Bytes) -> tuple[Call, ...]:
    """The call that carries out a copy with tables of offsets; none where NumPy should."""
    if in_use.compiled is None or any(min(loop) <= 0 for loop in copy.loops):
        return ()
    starts = source.ctypes.data, destination.ctypes.data
    kernel, offsets, arguments = copy.kept.get("host") or copy.kept.setdefault("host", _listed_way(copy))
    here, there = (start + offset for start, offset in zip(starts, offsets, strict=True))
    return (partial(getattr(_kernels(), kernel), here, there, *arguments),)


def _listed_way(copy: ListedCopy) -> tuple[str, tuple[int, int], tuple[Any, ...]]:
    """The kernel for a copy with tables of offsets, what is added to both addresses, and its further arguments."""
    if not copy.loops and copy.joins_much:
        return "copy_runs", (0, 0), copy.runs()
    tables: list[Any] = []
    steps, offsets = list(copy.steps), list(copy.bases)
    if None not in steps:
        steps = [None, None]  # one end at least has a table
    for end, places in enumerate(copy.places):
        tables.append(np.ascontiguousarray(places) if steps[end] is None else _NONE)
        offsets[end] += 0 if steps[end] is None else int(places[0])
    loops = np.array(copy.loops, np.int64).reshape(-1, 3)
    strides = tuple([step or 0 for step in steps])
    return "copy_listed", (offsets[0], offsets[1]), (*tables, strides, copy.entries, copy.run, loops, _block_of(copy))


_NONE = integers(())
_TOGETHER = 4096
"""Entries that go through outer loops together: their places stay in the first caches."""
_TILE = 64
"""Entries that go through loops together where these lead within entries at one end, and past them at the other."""


def _block_of(copy: ListedCopy) -> int:
    """The number of entries that go through the loops together, so that what lies close together is moved together."""
    if not copy.loops:
        return copy.entries
    apart = [(int(each.max()) - int(each.min())) // copy.entries for each in copy.places]
    within = [all(loop[end + 1] <= apart[end] for loop in copy.loops) for end in (0, 1)]
    return 1 if all(within) else _TILE if any(within) else _TOGETHER


@remembered(maxsize=256)
def way_of(run: int, loops: tuple[Loop, ...], start: int, large: bool) -> Way | None:
    """The way of a copy, which depends on the alignment of its destination; None where NumPy is faster.

    `start` is 0 at the beginning of a cache line, 4 at any other word of 4 bytes, otherwise the bytes after a word.
    """
    if not loops and not goes_past(run, loops, large=large):
        return None
    streams = streams_of(run, loops, start, large=large)
    if streams is not None:
        return Way("stream_rows", streams)
    if is_box(run, loops, large=large):
        return None
    assert in_use.compiled is not None
    has_whole_lines = in_use.compiled.vector == LINE
    blocks = blocks_of(run, loops, large=large) if has_whole_lines else None
    if blocks is not None:
        return Way("permute_blocks", blocks._replace(past_caches=blocks.past_caches and not start))
    squares = squares_of(run, loops, start, bytewise=in_use.compiled.bytewise, tall=has_whole_lines, large=large)
    if squares is not None:
        return Way("turn_squares", squares, with_buffer=True)
    if has_whole_lines and not start:
        lines = lines_of(run, loops, large=large)
        if lines is not None:
            return Way("turn_lines", *lines)
        gather = gather_of(run, loops, large=large)
        if gather is not None:
            return Way("gather_lines", *gather)
    return Way()


def calls_of(way: Way, run: int, loops: tuple[Loop, ...], here: int, there: int, *, large: bool) -> tuple[Call, ...]:
    """The calls that carry out a copy between two addresses in the way that was found for it."""
    if not way.kernel:
        return _shuffled(((0, 0, run, loops),), here, there, large=large) or _by_recipe(run, loops, here, there, large=large)
    kernel = getattr(_kernels(), way.kernel)
    call = _with_buffer(kernel, here, there, *way.arguments) if way.with_buffer else partial(kernel, here, there, *way.arguments)
    if way.rest is None:
        return (call,)
    return call, *_by_recipe(run, way.rest.loops, here + way.rest.source_offset, there + way.rest.destination_offset)


def _called(calls: tuple[Call, ...]) -> bool:
    """Call them. Whether there were any."""
    for call in calls:
        call()
    return bool(calls)


def _with_buffer(kernel: Callable[..., object], *arguments: object, at: int | None = None) -> Call:
    """The call of a kernel that needs the buffer of the thread that calls it, as argument number `at`, or as the last one."""
    place = len(arguments) if at is None else at
    before, after = arguments[:place], arguments[place:]
    return lambda: kernel(*before, buffer_address(), *after)


def _kernels() -> ModuleType:
    assert in_use.compiled is not None
    return in_use.compiled.module


def _shuffled(shapes: tuple[Shape, ...], here: int, there: int, *, large: bool) -> tuple[Call, ...]:
    """The call that carries out copies with equal loops by byte shuffles; none where another kernel is faster."""
    kernels = _kernels()
    if not hasattr(kernels, "shuffle_lines"):
        return ()
    pattern = pattern_of(shapes, there % LINE, large=large)
    return () if pattern is None else (partial(kernels.shuffle_lines, here, there, *pattern),)


def _by_recipe(run: int, loops: tuple[Loop, ...], here: int, there: int, *, large: bool = False) -> tuple[Call, ...]:
    """The call that carries out a copy between two addresses by a recipe that exists for every copy."""
    kernels = _kernels()
    runs = runs_of(run, loops)
    if runs is not None:
        return (partial(kernels.copy_many, here, there, *runs),)
    if not is_plane(run, loops) and (calls := _tiled(((0, 0, run, loops),), here, there, large=large)):
        return calls
    recipe = recipe_of(run, loops, large=large)
    if not isinstance(recipe, Recipe):
        return (partial(kernels.stream_rows, here, there, *recipe),)
    if len(recipe.outs):
        return (_with_buffer(kernels.walk, here, there, *recipe, at=2),)
    return (partial(kernels.walk, here, there, there, *recipe),)


def _tiled(shapes: tuple[Shape, ...], here: int, there: int, *, large: bool) -> tuple[Call, ...]:
    """The call that carries out copies with equal loops element by element, in tiles; none where these do not suit."""
    tiles = tiles_of(shapes, large=large)
    if tiles is None:
        return ()
    kernel = _kernels().copy_tiles
    if len(tiles.outs):
        return (_with_buffer(kernel, here, there, *tiles, at=2),)
    return (partial(kernel, here, there, there, *tiles),)
