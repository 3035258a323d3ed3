"""A heap: an array of one shape in the memory of every rank, to which every rank has access."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from isoviz.backends.host.atomics import atomics
from isoviz.backends.host.host_memory import LARGE
from isoviz.backends.mpi.lanes.page import IS_STRICT
from isoviz.backends.mpi.stores import MappedStore
from isoviz.errors import Cancelled, InputError, RunError, in_words, show
from isoviz.layouts.given_arrays import Array
from isoviz.rma import moves
from isoviz.rma.far import FarPart, by_server
from isoviz.rma.handles import Handle, Ticket
from isoviz.rma.places import Ended, ListedPlace, Place, Word, put_listed, room_for, source_of, whole
from isoviz.rma.regions import checked

if TYPE_CHECKING:
    from isoviz.backends.mpi.world import World
    from isoviz.rma.together import Together
    from isoviz.runtime.ranks.handles import StoreHandle

MOST_WORDS = 1024
"""Words that a heap keeps of the latest atomic operations."""


class Heap:
    """An array of `shape` and `dtype` on each of `size` ranks; `isoviz.rma.malloc` makes it. `rank` is the number of this rank.

    `local` is the array of this rank: an ordinary array, which other ranks read and write as well.

    - A put returns when its source may be changed. Its bytes are in place after a `fence`.
    - Puts and gets of this rank to one rank take effect in its order, except those with `wait=False`.
    - Two puts to the same elements may leave either value in each element, or a mixture of their bytes, unless a fence and a
      message of the program lie between them.
    - In a `with`, the heap is freed at the end. If the block raises an error, the heap ends for the other ranks, too: their next
      call that all ranks make together raises RankError.
    """

    def __init__(
        self, world: World, together: Together, number: int, local: Array, handles: list[StoreHandle], words: str
    ) -> None:
        self.local, self.shape, self.dtype = local, local.shape, local.dtype
        self.rank, self.size, self.words = world.rank, world.size, words
        self._world, self._together, self._number, self._handles = world, together, number, handles
        self._parts: Any = _Filled(self._reach)
        self._buffers: Any = _Filled(lambda to: _buffer_of(self._parts[to]))
        self._far: dict[int, FarPart] = {}
        self._places: weakref.WeakKeyDictionary[Place, None] = weakref.WeakKeyDictionary()
        self._words: dict[Any, Word] = {}
        self._over: Exception | None = None
        self._under_way: dict[int, list[Ticket]] = {}
        """What the helper copies, by the rank at the other end."""
        self._posting = threading.Lock()

    # ---- put and get

    def put(self, value: Any, *, to: int, at: Any = (), wait: bool = True) -> Handle | None:
        """Write a value, or an array, to a part of a rank's array.

        `at` is an index as in NumPy: numbers, slices with steps, `...`, lists of indices, a mask; by default the whole array. It
        must not reach beyond the end, also where NumPy would cut a slice off. `value` has the shape of that part, or one that
        NumPy broadcasts to it.

        With `wait=False` it returns a handle. Between ranks of one host, the helper of this rank then copies 64 KiB and more;
        this gains time only if a core is free. Lists, and arrays that NumPy would convert, are copied before the call returns. If
        the array is not mapped (`way`), a thread of this rank sends the bytes.

        Raises:
            InputError: there is no such rank or part, the value does not fit, or lists name an element twice.
            RankLost: the rank is lost. RunError: the memory cannot be reached.
        """
        if (  # a number for an element takes a twentieth of the rest
            wait
            and (value.__class__ is float or value.__class__ is int)
            and to.__class__ is int
            and (
                at.__class__ is int
                or (
                    at.__class__ is tuple
                    and at  # and of whole numbers alone: a buffer takes True as 1
                    and at[0].__class__ is int
                    and at[-1].__class__ is int
                    and (len(at) < 3 or bool not in map(type, at))
                )
            )
        ):
            if not IS_STRICT:
                atomics().barrier()
            try:
                self._buffers[to][at] = value
            except (TypeError, ValueError, ArithmeticError, LookupError, NotImplementedError):
                pass
            else:
                return None
        index, has_lists = checked(self.shape, at, "put", writes=True)
        part = self._part(to)
        if part.__class__ is FarPart:
            return part.put(value, index, has_lists, wait=wait)
        if has_lists:
            put_listed(value, part, index, "put")
            atomics().barrier()
        else:
            view = part[index]
            source = source_of(value, view, "put")
            if not wait:
                return self._begin(source, view, to)
            moves.copy(source, view)
        return None if wait else Handle()

    def get(self, *, of: int, at: Any = (), into: Array | None = None, wait: bool = True) -> Any:
        """A part of a rank's array: in a new array, or in `into`. `at` is as in `put`. A single element is returned as a Python
        number.

        With `wait=False` it returns a handle, whose `wait` returns the array.

        Raises:
            InputError: there is no such rank or part, or `into` does not fit.
            RankLost: the rank is lost. RunError: the memory cannot be reached.
        """
        is_one = at.__class__ is int or (  # or it may be one
            at.__class__ is tuple
            and at
            and at[0].__class__ is int
            and at[-1].__class__ is int
            and (len(at) < 3 or bool not in map(type, at))
        )
        if wait and into is None and of.__class__ is int and is_one:
            try:
                found = self._buffers[of][at]
            except (TypeError, ValueError, IndexError, NotImplementedError):
                pass
            else:
                if not IS_STRICT:
                    atomics().barrier()
                return found
        index, has_lists = checked(self.shape, at, "get", writes=False)
        part = self._part(of)
        if part.__class__ is FarPart:
            return part.get(index, has_lists, into, wait=wait)
        view = part[index]
        if has_lists and into is None:
            found = view
        else:
            found = room_for(into, view, "get")
            if not wait and view.ndim and not has_lists:
                return self._begin(view, found, of, found)
            moves.copy(view, found)
        if into is None and not view.ndim:
            found = found[()] if self.dtype.names else found.item()
        return found if wait else Handle(found)

    def place(self, *, to: int, at: Any = ()) -> Place:
        """A part of a rank's array, for puts and gets that repeat. `at` is as in `put`. An index of an element gives a `Word`.

        Raises:
            InputError: there is no such rank or part. RankLost: the rank is lost. RunError: the memory cannot be reached.
        """
        index, has_lists = checked(self.shape, at, "place", writes=True)
        part = self._part(to)
        place: Place
        if part.__class__ is FarPart:
            place = part.place(index, has_lists)
        elif has_lists:
            place = ListedPlace(part, index, to)
        elif (view := part[index]).ndim:
            place = Place(view, to)
        else:
            place = Word(view, to, self._change(view, to))
        self._places[place] = None
        self._part(to)[()]  # it raises where the memory has gone before the place was noted
        return place

    def _begin(self, source: Array, destination: Array, rank: int, result: Array | None = None) -> Handle:
        """Have the helper of this rank copy; what it does not take is copied at once."""
        copy = moves.for_helper(source, destination)
        if copy is None:
            moves.copy(source, destination)
            return Handle(result)
        here, there = moves.first_byte(source), moves.first_byte(destination)
        client = self._world.helpers.client(self.rank)
        large = destination.nbytes >= LARGE
        ticket = client.copy(here, there, copy.run, copy.loops, large=large, kept=(source, destination))
        with self._posting:
            under_way = [each for each in self._under_way.get(rank, ()) if not each.done]
            self._under_way[rank] = [*under_way, ticket]
        return Handle(result, ticket)

    # ---- words

    def fetch_and_add(self, *, to: int, at: Any = (), value: int = 1) -> int:
        """Add atomically to a word: a whole number of 4 or 8 bytes, which wraps around at its limits. Returns the earlier value.

        Raises:
            InputError: there is no such rank or word, the element is not such a number, or it cannot hold the value.
            RankLost: the rank is lost. RunError: the memory cannot be reached.
        """
        word = self._words.get((to, at)) if to.__class__ is int and at.__class__ is int else None
        return (word or self._word(to, at)).fetch_and_add(value)

    def swap(self, *, to: int, at: Any = (), value: int) -> int:
        """Replace a word by a value, atomically. Returns the earlier value. Errors are those of `fetch_and_add`."""
        return self._word(to, at).swap(value)

    def compare_and_swap(self, *, to: int, at: Any = (), expected: int, value: int) -> int:
        """Replace a word by a value if it is as expected, atomically. Returns the earlier value.

        Errors are those of `fetch_and_add`.
        """
        return self._word(to, at).compare_and_swap(expected, value)

    def _change(self, view: Array, to: int) -> Callable[[str], Callable[..., int]] | None:
        """The atomic operations on a word that is mapped, by their names; None if it is not aligned."""
        address = view.__array_interface__["data"][0]
        if address % view.itemsize:
            return None
        if self.words == "processor":
            return partial(_by_processor, view)
        return by_server(self._world, self._handles[to], address - moves.first_byte(self._part(to)), view.itemsize)

    def _word(self, to: int, at: Any) -> Word:
        if to.__class__ is int and (at.__class__ is int or at.__class__ is tuple):
            try:
                return self._words[to, at]
            except (KeyError, TypeError):  # TypeError: there are slices or lists in it
                pass
        elif (plain := (whole(to), whole(at)))[0] is not to or plain[1] is not at:
            return self._word(*plain)
        word = self.place(to=to, at=at)
        if not isinstance(word, Word):
            raise InputError(f"at: expected an index of one element, got one of shape {word.shape}")
        if len(self._words) >= MOST_WORDS:
            self._words.clear()
        self._words[to, at] = word
        return word

    # ---- together

    def fence(self, to: int | None = None) -> None:
        """Wait until the puts of this rank to a rank, or to all ranks, are in place there.

        Raises:
            InputError: there is no such rank. RankLost: the rank is lost. RunError: a put has failed.
        """
        if self._over is not None:
            Ended(self._over)()
        if to is not None:
            self._part(to)[()]  # it raises where there is none
        for rank in list(self._under_way) if to is None else (to,):
            try:
                for ticket in self._under_way.get(rank, ()):
                    with suppress(Cancelled):  # by its handle
                        ticket.wait()
            finally:
                with self._posting:
                    self._under_way[rank] = [each for each in self._under_way.get(rank, ()) if not each.done]
        for far in list(self._far.values()):
            if to in (None, far.rank):
                far.fence()
        atomics().barrier()

    def way(self, to: int) -> str:
        """A text that says how this rank reaches the array of a rank, and how words there are changed.

        Raises:
            InputError: there is no such rank. RankLost: the rank is lost. RunError: the memory cannot be reached.
        """
        part = self._part(to)[()]
        is_far = part.__class__ is FarPart
        found = part.way if is_far else "memory of this rank" if to == self.rank else "mapped"
        return f"{found}; words by {'its server' if is_far or self.words == 'server' else 'the processor'}"

    def mapped(self, to: int) -> Array:
        """The array of a rank as an array of this process, for code that reads and writes it directly.

        Raises:
            InputError: there is no such rank. RankLost: the rank is lost. RunError: it is not mapped, or cannot be reached.
        """
        part = self._part(to)[()]
        if part.__class__ is FarPart:
            raise RunError(f"the array of rank {to} is not mapped: {part.way}")
        found: Array = part
        return found

    def exchange(self, value: Any) -> list[Any]:
        """`fence`, then exchange values that can be pickled: returns the values of all ranks, by rank. All ranks call it
        together.

        Raises:
            RankLost: a rank is lost. RankError: a rank calls something else. RunError: a put has failed.
        """
        return self._meet("exchange", value)

    def barrier(self) -> None:
        """`fence`, then wait until all ranks have called this: their puts are in place as well. All ranks call it together.

        Raises:
            RankLost: a rank is lost. RankError: a rank calls something else. RunError: a put has failed.
        """
        self._meet("barrier")

    def free(self) -> None:
        """Free the memory, after a fence. All ranks call it together. Safe to call twice.

        `local` stays an array of this rank, but no other rank can reach it.

        Raises:
            RankLost: a rank is lost. RankError: a rank calls something else, or left the heap with an error.
            RunError: a put has failed. The memory is freed nevertheless.
        """
        if self._over is not None:
            return
        try:
            self._meet("free")
        finally:
            self.end(InputError("this heap was freed"))

    def _meet(self, call: str, value: Any = None) -> list[Any]:
        failed: RunError | None = None
        if self._over is not None:
            Ended(self._over)()
        try:
            self.fence()
        except RunError as error:
            failed = error
        told = self._together.meet(value, f"{call} of heap {self._number}")  # also after a put has failed: the others wait
        if failed is not None:
            raise failed
        return told

    # ---- ends

    def lose(self, rank: int, error: Exception) -> None:
        """Let every later use of a rank's memory raise an error."""
        parts, buffers = self._parts, self._buffers
        if self._over is None and isinstance(parts, dict) and isinstance(buffers, dict):
            if rank in self._far:
                self._far[rank].end(error)
            parts[rank] = buffers[rank] = Ended(error)
            self._words = {key: word for key, word in list(self._words.items()) if word.rank != rank}
            self._end_places(error, rank)

    @property
    def is_over(self) -> bool:
        """Whether it was freed, or has ended with an error."""
        return self._over is not None

    def end(self, error: Exception) -> None:
        """Let every later use raise an error."""
        if self._over is None:
            self._over = error
            for far in list(self._far.values()):
                far.end(error)
            self._world.stores.withdraw(self._handles[self.rank])
            self._parts = self._buffers = Ended(error)
            self._words = {}
            self._end_places(error)

    def _end_places(self, error: Exception, rank: int | None = None) -> None:
        for each in self._places.keyrefs():  # copied at once: other threads may make places meanwhile
            place = each()
            if place is not None and rank in (None, place.rank):
                place.end(error)

    def _part(self, to: Any) -> Any:
        """The array of a rank, or what raises if it can no longer be reached."""
        if to.__class__ is not int:  # True and 1.0 are keys equal to 1
            if not isinstance(to, np.integer):
                raise InputError(f"there is no rank {show(to)}; expected 0 to {self.size - 1}")
            to = int(to)
        return self._parts[to]

    def _reach(self, to: int) -> Array | FarPart:
        """The array of a rank, which is mapped at its first use if it can be."""
        if not 0 <= to < self.size:
            raise InputError(f"there is no rank {show(to)}; expected 0 to {self.size - 1}")
        if to == self.rank:
            return self.local
        store = self._world.stores.reach(self._handles[to])
        if not isinstance(store, MappedStore):
            return self._far.setdefault(to, FarPart(self._world, self.local, self._handles[to]))
        found: Array = store.array.view(self.dtype).reshape(self.shape)
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.free()
        elif self._over is None:
            self._together.leave(self._number, in_words(error))
            self.end(InputError("this heap was freed"))

    def __repr__(self) -> str:
        state = "" if self._over is None else ", freed"
        return f"Heap({self.shape}, {self.dtype.str!r}, on {self.size} ranks{state})"


class _Filled(dict[Any, Any]):
    """What is made at its first use."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Any) -> Any:
        return self.setdefault(key, self._make(key))  # it may have ended meanwhile


def _buffer_of(part: Array) -> memoryview:
    """An array as a buffer whose elements are numbers of Python; an empty one, in which no index is right, if there is none."""
    try:
        found = memoryview(part)  # type: ignore[arg-type]  # an array has a buffer
        found[(0,) * part.ndim]
    except (NotImplementedError, ValueError, IndexError, TypeError):
        return memoryview(b"")
    return memoryview(b"") if found.format == "?" else found  # a buffer of bools takes anything


def _by_processor(view: Array, name: str) -> Callable[..., int]:
    """An atomic operation on a word, as an instruction of the processor."""
    found = partial(atomics().operation(name, view.itemsize), ctypes.c_int64(view.__array_interface__["data"][0]))
    found.kept = view  # type: ignore[attr-defined]  # its memory, while another thread frees the heap
    return found
