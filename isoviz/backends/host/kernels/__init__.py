"""Copy kernels for layout conversions in host memory: compiled for this processor by Numba, without a compiler.

`prepare` makes them ready, outside of anything that is measured. They are compiled once and kept; while they are not (and where
Numba cannot be had) copies are made with NumPy, which is as right and slower: `state` says which.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.host.kernels.choices import Choices, choose, chosen, remembered
from isoviz.forks import held_over_forks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from isoviz.backends.host.kernels.direct import StridedRest
    from isoviz.backends.host.kernels.many import Many
    from isoviz.backends.host.kernels.pattern import Shape
    from isoviz.layouts import StridedCopy
    from isoviz.layouts.geometry import Loop

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

SWITCH = "ISOVIZ_KERNELS"
"""Environment variable: `numpy` switches compiled kernels off."""
LEAST = 4096
"""Bytes below which NumPy is as fast."""
PLAIN = 512 << 10
"""The same of what lies together at both ends."""
_PAGE = 4096

_lock = threading.Lock()
held_over_forks(_lock)  # a child would wait for ever for the modules that another thread was importing
_compiled: ModuleType | None = None
_reason = "they have not been needed yet"
_asked = False
_width = 0
_compiling: subprocess.Popen[bytes] | None = None
_local = threading.local()
_rooms: list[Bytes] = []
"""Buffers of threads that have ended."""


def prepare(*, wait: bool = False) -> bool:
    """Make the kernels ready; False while copies are made with NumPy.

    What was compiled before is loaded, which takes about a second. Else it is compiled by another process in the background; with
    `wait` here and now (half a minute to a minute, once for every computer and version). What suits this processor is measured,
    once for each, in one to three seconds (`isoviz.backends.host.kernels.tuning`).
    """
    global _compiled, _reason, _asked  # one set of kernels for the process
    _asked = True
    if is_ready():
        return True
    with _lock:
        if is_ready():
            return True
        if os.environ.get(SWITCH, "").lower() == "numpy":
            _reason = f"{SWITCH}=numpy"
            return False
        try:
            from isoviz.backends.host.kernels import kernel_cache as cache

            if not (wait or cache.is_complete()):
                return _left_to_another()
            try:
                _load()
            except Exception:
                _compiled = None
                if not cache.discard():
                    raise
                if not wait:
                    return _left_to_another()
                _load()  # what was kept is damaged, more likely than not
            cache.mark_complete()  # at last: whoever finds it complete need not measure at the same time
        except KeyboardInterrupt:
            _compiled = None
            raise
        except ImportError as error:
            _compiled, _reason = None, f"Numba cannot be loaded: {error}"
            return False
        except Exception as error:  # noqa: BLE001  # a kernel that cannot be compiled here must not keep anybody from copying
            _compiled, _reason = None, f"Numba cannot compile them: {type(error).__name__}: {error}"
            return False
        _reason = ""
    return True


def _load() -> None:
    """Take the kernels into use, compiled now or before, with what suits this processor."""
    global _compiled, _width  # one set of kernels for the process
    from isoviz.backends.host.kernels.compiled import compiled
    from isoviz.backends.host.kernels.compiled.vectors import WIDE

    _warmed(compiled)
    _compiled, _width = compiled, WIDE
    _tune()


def _left_to_another() -> bool:
    """Have another process compile the kernels, for those to come; False, for this one does without."""
    global _reason, _compiling  # one set of kernels for the process
    from isoviz.backends.host.kernels import kernel_cache as cache

    if not cache.can_keep():  # every run would compile them anew, for nobody
        _reason = "nothing can be kept of what is compiled"
        return False
    _reason = "they are being compiled in the background"
    if _compiling is None:
        _compiling = _in_background()
    return False


def state() -> str:
    """In words, what copies in host memory are made with, and why."""
    if _compiled is not None:
        return f"compiled kernels, vectors of {8 * _width} bits"
    return f"NumPy instead of compiled kernels: {_reason}"


def was_wanted() -> bool:
    """Whether somebody has asked for compiled kernels."""
    return _asked


def is_ready() -> bool:
    """Whether compiled kernels are at hand."""
    return _compiled is not None


def copy(each: StridedCopy, source: Bytes, destination: Bytes, *, large: bool = False) -> bool:
    """Carry out a strided copy between two arrays that it does not leave; False where it is not for these kernels. `large`: it is
    a part of a large copy, which nobody reads again soon."""
    from isoviz.backends.host.kernels.recipe import LINE

    if _compiled is None or each.run <= 0 or each.nbytes < LEAST or any(min(loop) <= 0 for loop in each.loops):
        return False
    if not each.loops and each.nbytes < PLAIN:
        return False
    here = source.ctypes.data + each.source_offset
    there = destination.ctypes.data + each.destination_offset
    way = _way(each.run, each.loops, (there % 4 or 4) if there % LINE else 0, large)
    if way is None:
        return False
    _carried_out(way, each.run, each.loops, here, there, large=large)
    return True


def _carried_out(way: _Way, run: int, loops: tuple[Loop, ...], here: int, there: int, *, large: bool) -> None:
    """A copy between two addresses, in the way that was found for it."""
    if not way.kernel:
        if not _shuffled(((0, 0, run, loops),), here, there, large=large):
            _carry_out(run, loops, here, there, large=large)
        return
    getattr(_compiled, way.kernel)(here, there, *way.arguments, *((_buffer(),) if way.with_room else ()))
    if way.rest is not None:
        _carry_out(run, way.rest.loops, here + way.rest.source_offset, there + way.rest.destination_offset)


class _Way(NamedTuple):
    """A kernel made for some copies, by name (none: those for any), and what it is called with; what it leaves over."""

    kernel: str = ""
    arguments: tuple[Any, ...] = ()
    rest: StridedRest | None = None
    with_room: bool = False


@remembered(maxsize=256)
def _way(run: int, loops: tuple[Loop, ...], start: int, large: bool) -> _Way | None:
    """The way for a copy to a place that lies `start` bytes behind a line, or as far from whole words as that; None where it is
    NumPy's."""
    from isoviz.backends.host.kernels.compiled.vectors import BYTEWISE
    from isoviz.backends.host.kernels.direct import blocks_of, gather_of, lines_of, squares_of
    from isoviz.backends.host.kernels.recipe import LINE, goes_past, is_box, streams_of

    if not loops and not goes_past(run, loops, large=large):
        return None
    streams = streams_of(run, loops, start, large=large)
    if streams is not None:
        return _Way("stream_rows", streams)
    if is_box(run, loops, large=large):
        return None
    blocks = blocks_of(run, loops, large=large) if _width == LINE else None
    if blocks is not None:
        return _Way("permute_blocks", blocks._replace(past_caches=blocks.past_caches and not start))
    squares = squares_of(run, loops, start, bytewise=BYTEWISE, tall=_width == LINE, large=large)
    if squares is not None:
        return _Way("turn_squares", squares, with_room=True)
    for kernel, recipe_for in (("turn_lines", lines_of), ("gather_lines", gather_of)) if _width == LINE and not start else ():
        found = recipe_for(run, loops, large=large)
        if found is not None:
            return _Way(kernel, *found)
    return _Way()


def _shuffled(shapes: tuple[Shape, ...], here: int, there: int, *, large: bool) -> bool:
    """Copies that turn alike between two addresses, by shuffling bytes; False where these had better be made in another way."""
    from isoviz.backends.host.kernels.pattern import pattern_of
    from isoviz.backends.host.kernels.recipe import LINE

    if not hasattr(_compiled, "shuffle_lines"):
        return False
    pattern = pattern_of(shapes, there % LINE, large=large)
    if pattern is None:
        return False
    assert _compiled is not None
    _compiled.shuffle_lines(here, there, *pattern)
    return True


def _carry_out(run: int, loops: tuple[Loop, ...], here: int, there: int, *, large: bool = False) -> None:
    """A copy between two addresses, by the recipe for any."""
    from isoviz.backends.host.kernels.many import runs_of
    from isoviz.backends.host.kernels.recipe import Recipe, is_plane, recipe_of

    assert _compiled is not None
    runs = runs_of(run, loops)
    if runs is not None:
        _compiled.copy_many(here, there, *runs)
        return
    if not is_plane(run, loops) and _tiled(((0, 0, run, loops),), here, there, large=large):
        return
    recipe = recipe_of(run, loops, large=large)
    if isinstance(recipe, Recipe):
        _compiled.walk(here, there, _buffer() if len(recipe.outs) else there, *recipe)
    else:
        _compiled.stream_rows(here, there, *recipe)


def _tiled(shapes: tuple[Shape, ...], here: int, there: int, *, large: bool) -> bool:
    """Copies that turn alike between two addresses, element by element; False where they do not turn alike, or have long runs."""
    from isoviz.backends.host.kernels.tiles import tiles_of

    tiles = tiles_of(shapes, large=large)
    if tiles is None:
        return False
    assert _compiled is not None
    _compiled.copy_tiles(here, there, _buffer() if len(tiles.outs) else there, *tiles)
    return True


def copy_structs(copies: Sequence[StridedCopy], source: Bytes, destination: Bytes, *, large: bool = False) -> bool:
    """Carry out strided copies that are the fields of structs, or turn alike, all at once; False where they do not, or are faster
    one by one. `large` is as in `copy`."""
    from isoviz.backends.host.kernels.recipe import WIDEST, recipe_of_structs
    from isoviz.backends.host.kernels.tiles import are_apart

    if _compiled is None or any(each.run <= 0 or any(min(loop) <= 0 for loop in each.loops) for each in copies):
        return False
    if sum([each.run for each in copies]) >= WIDEST * len(copies):
        return False
    here, there = copies[0].source_offset, copies[0].destination_offset
    shapes = tuple((each.source_offset - here, each.destination_offset - there, each.run, each.loops) for each in copies)
    start, to = source.ctypes.data + here, destination.ctypes.data + there
    if _shuffled(shapes, start, to, large=large):
        return True
    recipe = recipe_of_structs(shapes, large=large)
    if recipe is not None:
        _compiled.walk(start, to, _buffer(), *recipe)
        return True
    return not are_apart(shapes) and _tiled(shapes, start, to, large=large)


def copy_many(many: Many, source: Bytes, destination: Bytes, rows: slice) -> None:
    """Carry out some of many small copies between two arrays that they do not leave."""
    assert _compiled is not None
    _compiled.copy_many(source.ctypes.data, destination.ctypes.data, many.rows[rows], many.loops)


class _Room:
    """A buffer that a thread has; when the thread ends the next one gets it, with its pages: to get them anew takes longer than a
    small copy."""

    def __init__(self) -> None:
        from isoviz.backends.host.kernels.recipe import LINE, ROOM

        try:
            self._data = _rooms.pop()
        except IndexError:
            self._data = np.zeros(ROOM + 2 * _PAGE, np.uint8)
        self.address = -(-self._data.ctypes.data // _PAGE) * _PAGE + LINE

    def __del__(self) -> None:
        data = getattr(self, "_data", None)  # none where there was no room
        if data is not None:
            _rooms.append(data)


def _buffer() -> int:
    """The address of this thread's buffer, a line of which may be written to in front of it."""
    room = getattr(_local, "room", None)
    if room is None:
        room = _local.room = _Room()
    address: int = room.address
    return address


def _warmed(compiled: ModuleType) -> None:
    """Compile, or load, for the types that `copy` calls with."""
    none, zeros = np.zeros(0, np.int64), np.zeros((1, 8), np.int64)
    one = np.ones(1, np.int64)
    data = np.zeros(64, np.uint8)
    address = data.ctypes.data
    zeros[0, 2] = 1
    zeros[0, 4:6] = -1
    compiled.walk(address, address, address, one, one, zeros, np.zeros((0, 5), np.int64), -1, one, False, False)
    compiled.stream_rows(address, address, none, none, none, 1, False)
    jobs, outs = np.array([[0, 0, 1, 1, 1, 0]]), np.zeros((0, 5), np.int64)
    compiled.copy_tiles(address, address, address, one, one, jobs, outs, -1, np.zeros(1, np.int64), 1, 1, 1, False)
    compiled.copy_many(address, address, np.array([[0, 0, 1, 0, 1]]), np.array([[1, 1, 1]]))
    if hasattr(compiled, "shuffle_lines"):
        from isoviz.backends.host.kernels.pattern import pattern_of

        found = pattern_of(((0, 0, 3, ((1 << 20, 6, 3), (2, 3, 3 << 20))),), 0)
        assert found is not None
        compiled.shuffle_lines(address, address, *found._replace(pieces=found.pieces[:0], repeats=0))
    room, order = np.zeros(4096, np.uint8), np.zeros((16, 64), np.uint8)
    at = room.ctypes.data
    compiled.turn_squares(at, at, none, none, none, 16, 4, 64, none, 4, 64, none, 1, 0, False, False, False, order, at + 1024)
    if hasattr(compiled, "permute_blocks"):
        two = np.ones(2, np.int64)
        compiled.turn_lines(address, address, none, none, none, 0, two, two, 2, False)
        compiled.gather_lines(address, address, none, none, none, 0, two, 0, two, 1, 32, np.ones(4, np.int64))
        compiled.permute_blocks(address, address, np.zeros(1, np.int64), one, one, 2, 0, np.zeros(32, np.int32), False)


def _tune() -> None:
    """Choose what suits this processor."""
    from isoviz.backends.host.kernels.recipe import recipe_of
    from isoviz.backends.host.kernels.tuning import tuned

    def prepared(choices: Choices, run: int, loops: tuple[Loop, ...]) -> Callable[[int, int], object]:
        choose(choices)
        recipe_of(run, loops)  # what is remembered is not measured
        way = _way(run, loops, 0, False) or _Way()
        return lambda here, there: _carried_out(way, run, loops, here, there, large=False)

    best = Choices()
    try:
        best = tuned(prepared)
    finally:  # whatever stops it: none of those that were being tried
        choose(best)


def suiting() -> str:
    """In words, what was chosen for this processor, and on whose word."""
    from isoviz.backends.host.kernels.tuning import SWITCH as TUNING
    from isoviz.backends.host.kernels.tuning import switch

    said = os.environ.get(TUNING, "")
    if said and not switch():
        return f"for this processor: {chosen()} ({TUNING}={said} means nothing: expected off or again)"
    return f"for this processor: {chosen()}{f' ({TUNING}=off)' if switch() == 'off' else ''}"


def _in_background() -> subprocess.Popen[bytes] | None:
    """A process that compiles the kernels for those to come."""
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-m", "isoviz.backends.host.kernels"]
    try:
        # Our own module in our own interpreter.
        return subprocess.Popen(  # noqa: S603
            command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
        )
    except OSError:
        return None
