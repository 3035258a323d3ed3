"""Kept places of a heap: what `at` names is looked up once."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from isoviz.backends.host.atomics import SIZES, atomics
from isoviz.backends.mpi.lanes.page import IS_STRICT
from isoviz.errors import InputError, show
from isoviz.layouts.given_arrays import Array
from isoviz.rma import moves

if TYPE_CHECKING:
    from collections.abc import Callable


_NUMBERS = frozenset({int, float, np.float64, np.float32, np.int64, np.int32})
"""Kinds of values that go the fast way."""


class Ended:
    """Stands where memory was that can no longer be reached. Each use raises the reason."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def _refuse(self, *_: object) -> NoReturn:
        raise copy.copy(self._error)  # an error that is raised again and again would keep the frames of all callers

    __getitem__ = __setitem__ = __call__ = _refuse


class Place:
    """A part of a rank's array in a heap, made by `Heap.place`. Repeated puts and gets do not look it up again.

    `rank`, `shape` and `dtype` are those of the part. The first put from an array, or get into an array, prepares the copy. Later
    calls with the same array repeat that copy, with the strides that the array had then.
    """

    def __init__(self, view: Array, rank: int) -> None:
        self.rank, self.shape, self.dtype = rank, view.shape, view.dtype
        self._view: Any = view
        self._put: Callable[[object], bool] | None = None
        self._get: Callable[[object], bool] | None = None

    def put(self, value: Any) -> None:
        """Write a value, or an array of the shape of this place. It returns when the value may be changed.

        Raises:
            InputError: the value does not fit. RankLost: the rank is lost.
        """
        again = self._put
        if again is not None and again(value):
            return
        view = self._view[...]
        source = source_of(value, view, "put")
        if source is not value:
            moves.copy(source, view)
            return
        again = self._put = _prepared(source, source, view)
        self._drop_if_ended()
        again(source)

    def get(self, into: Array | None = None) -> Any:
        """The values of this part: in a new array, or in `into`.

        Raises:
            InputError: `into` does not fit. RankLost: the rank is lost.
        """
        again = self._get
        if again is not None and again(into):
            return into
        view = self._view[...]
        room = room_for(into, view, "get")
        if into is None:
            moves.copy(view, room)
            return room
        again = self._get = _prepared(room, view, room)
        self._drop_if_ended()
        again(room)
        return room

    def end(self, error: Exception) -> None:
        """Let every later use raise an error."""
        self._view = Ended(error)
        self._put = self._get = None

    def _drop_if_ended(self) -> None:
        """Forget what was prepared if another thread has ended this place meanwhile."""
        if isinstance(self._view, Ended):
            self._put = self._get = None


def _prepared(given: Array, source: Array, destination: Array) -> Callable[[object], bool]:
    """A function that copies between an array of a caller and a place again, if it is given that array; else it returns False.

    It touches little memory of its own: after a large copy, the caches hold nothing else. A new shape keeps the order of the
    elements, so that only a new type or number of rows makes it another array.
    """
    measure: Any = len if given.ndim else np.shape
    dtype, extent = given.dtype, measure(given)
    repeated, barrier = moves.kept(source, destination), atomics().barrier

    # Both arrays are kept, also while another thread frees the heap: kernels have addresses.
    def again(value: Any, _kept: object = (source, destination)) -> bool:
        if value is not given or measure(value) != extent or value.dtype is not dtype:
            return False
        for move in repeated:
            move()
        barrier()
        return True

    return again


class ListedPlace(Place):
    """The elements of a rank's array that lists of indices name."""

    def __init__(self, part: Array, index: tuple[Any, ...], rank: int) -> None:
        super().__init__(part[index], rank)
        self._view, self._index = part, index

    def put(self, value: Any) -> None:
        """Write a value, or an array of the shape of this place; see `Place.put`."""
        put_listed(value, self._view[...], self._index, "put")
        atomics().barrier()

    def get(self, into: Array | None = None) -> Any:
        """What is there; see `Place.get`."""
        found = self._view[self._index]
        if into is None:
            return found
        room_for(into, found, "get")[...] = found
        return into


class Word(Place):
    """One element of a rank's array in a heap, made by `Heap.place`. `change` gives the atomic operations by their names.

    Words of whole numbers of 4 or 8 bytes can be changed atomically: `fetch_and_add`, `swap`, `compare_and_swap`. Each returns
    the earlier value. They raise InputError for other words, for words that are not aligned (`change` is None), and for values
    that the word cannot hold.
    """

    def __init__(self, view: Array, rank: int, change: Callable[[str], Callable[..., int]] | None) -> None:
        super().__init__(view, rank)
        self._word: Any = _buffer(view)
        self._add: Any = None
        self._swap: Any = None
        self._compare: Any = None
        self._lowest, self._least, self._most = 0, 0, -1  # no value is between them
        self._mask: int | None = None
        if change is not None and is_word(view.dtype):
            self._add, self._swap, self._compare = map(change, ("fetch_and_add", "swap", "compare_and_swap"))
            limits = np.iinfo(view.dtype)
            self._least, self._most = int(limits.min), int(limits.max)
            self._lowest = -self._most - 1
            self._mask = None if self._least else self._most

    def put(self, value: Any) -> None:
        """Write a value.

        Raises:
            InputError: the word does not take it. RankLost: the rank is lost.
        """
        if value.__class__ is not float and value.__class__ not in _NUMBERS:  # a buffer takes objects with __float__, too
            super().put(value)
            return
        if not IS_STRICT:
            atomics().barrier()
        try:
            self._word[0] = value
        except (TypeError, ValueError, OverflowError, NotImplementedError):
            super().put(value)

    def get(self, into: Array | None = None) -> Any:
        """The value that is there, as a number of Python; with `into`, in that array.

        Raises:
            InputError: `into` does not fit. RankLost: the rank is lost.
        """
        if into is not None:
            return super().get(into)
        try:
            found = self._word[0]
        except IndexError:  # no buffer of this type
            return super().get()[()]
        if not IS_STRICT:
            atomics().barrier()
        return found

    def fetch_and_add(self, value: int = 1) -> int:
        """Add to the word, which wraps around at its limits."""
        if value.__class__ is int and self._lowest <= value <= self._most:
            old: int = self._add(value)
            return old if self._mask is None else old & self._mask
        if (plain := whole(value)) is not value:
            return self.fetch_and_add(plain)
        raise self._wrong("fetch_and_add", value)

    def swap(self, value: int) -> int:
        """Replace the word by a value."""
        if value.__class__ is int and self._least <= value <= self._most:
            old: int = self._swap(value)
            return old if self._mask is None else old & self._mask
        if (plain := whole(value)) is not value:
            return self.swap(plain)
        raise self._wrong("swap", value)

    def compare_and_swap(self, expected: int, value: int) -> int:
        """Replace the word by a value if it is as expected."""
        if self._holds(expected) and self._holds(value):
            old: int = self._compare(expected, value)
            return old if self._mask is None else old & self._mask
        plain = whole(expected), whole(value)
        if plain[0] is not expected or plain[1] is not value:
            return self.compare_and_swap(*plain)
        raise self._wrong("compare_and_swap", expected if self._holds(value) else value)

    def end(self, error: Exception) -> None:
        """Let every later use raise an error."""
        super().end(error)
        self._word = self._add = self._swap = self._compare = Ended(error)

    def _holds(self, value: Any) -> bool:
        return value.__class__ is int and self._least <= value <= self._most

    def _wrong(self, call: str, value: object) -> InputError:
        if self._most < 0:
            got = "one that is not aligned" if is_word(self.dtype) else self.dtype
            return InputError(f"{call}: expected words of whole numbers of 4 or 8 bytes (i4, u4, i8, u8), got {got}")
        return InputError(f"{call}: expected whole numbers from {self._least} to {self._most}, got {show(value)}")


def whole(value: Any) -> Any:
    """A whole number of NumPy as one of Python; anything else as it is."""
    return int(value) if isinstance(value, np.integer) else value


def is_word(dtype: np.dtype[Any]) -> bool:
    """Whether elements of a type can be changed atomically."""
    return dtype.kind in "iu" and dtype.itemsize in SIZES and dtype.isnative


def elements_of(value: Any, dtype: np.dtype[Any], call: str) -> Array:
    """What a put writes, as an array of elements that a type takes.

    Raises:
        InputError: it is of another kind, masked, on a GPU, or no array.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise InputError(f"{call}: expected an array without a mask; give value.filled(…)")
    try:
        is_array = isinstance(value, np.ndarray | np.generic)
        if isinstance(value, int | float | complex) and not is_array:
            found = _number(value, dtype)
        else:
            found = np.asarray(value)
            if not is_array and (not found.size or (found.dtype.kind in "iu" and dtype.kind in "iu")):
                found = _listed(found, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{call}: expected elements of {dtype}: {error}") from None
    if not np.can_cast(found.dtype, dtype, "safe" if dtype.kind in "SU" else "same_kind"):  # no text is cut off
        raise InputError(f"{call}: expected elements of {dtype}, got {found.dtype}")
    return found


def source_of(value: Any, view: Array, call: str) -> Array:
    """What a put writes to a view, as an array that suits it.

    Raises:
        InputError: it does not suit: another shape, another kind of elements, masked, on a GPU.
    """
    if value.__class__ is np.ndarray and value.dtype is view.dtype and value.shape == view.shape:
        return value
    found = elements_of(value, view.dtype, call)
    if found.shape != view.shape:
        try:
            np.broadcast_to(found, view.shape)
        except ValueError:
            raise InputError(f"{call}: expected an array of the shape {view.shape}, got {found.shape}") from None
    return found


def put_listed(value: Any, part: Array, index: tuple[Any, ...], call: str) -> None:
    """Write a value to the elements that lists name.

    Raises:
        InputError: it does not suit.
    """
    found = elements_of(value, part.dtype, call)
    try:
        part[index] = found
    except ValueError as error:
        raise InputError(f"{call}: expected an array of the shape of its lists: {error}") from None


def _number(value: complex, dtype: np.dtype[Any]) -> Array:
    """A number of Python as an element. It keeps its kind: no fraction is cut off."""
    kinds = "?" if isinstance(value, bool) else "iufc" if isinstance(value, int) else "fc" if isinstance(value, float) else "c"
    if np.dtype(dtype).kind not in kinds.replace("?", "b"):
        raise TypeError(f"{show(value)} is of another kind")
    return np.array(value, dtype)


def _listed(found: Array, dtype: np.dtype[Any]) -> Array:
    """A list of whole numbers, or an empty one, as elements. Like a single number, they have to be in the range of the type."""
    if found.size and not (limits := np.iinfo(dtype)).min <= int(found.min()) <= int(found.max()) <= limits.max:
        raise OverflowError(f"they are from {limits.min} to {limits.max}, not from {found.min()} to {found.max()}")
    elements: Array = found.astype(dtype)
    return elements


def room_for(into: Any, view: Array, call: str) -> Array:
    """Where a get puts what it finds: a new array, or `into`.

    Raises:
        InputError: `into` is not an array of the shape and type of the view that can be written to.
    """
    if into is None:
        return np.empty(view.shape, view.dtype)
    is_array = isinstance(into, np.ndarray) and not isinstance(into, np.ma.MaskedArray)
    if not (is_array and into.shape == view.shape and into.dtype == view.dtype and into.flags.writeable):
        got = f"{into.shape} of {into.dtype}" if isinstance(into, np.ndarray) else show(into)
        raise InputError(f"{call}: into: expected an array to write to, of the shape {view.shape} and of {view.dtype}, got {got}")
    room: Array = into
    return room


def _buffer(view: Array) -> Any:
    """An element as a buffer of one: it takes a quarter of NumPy's time. Without a type that buffers know, each use raises."""
    try:
        found = memoryview(view.reshape(1))  # type: ignore[arg-type]  # an array has a buffer
        found[0]
    except (NotImplementedError, ValueError):
        return memoryview(b"")  # `Place` does it
    return memoryview(b"") if found.format == "?" else found  # a buffer of bools takes anything
