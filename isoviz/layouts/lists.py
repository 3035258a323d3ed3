"""Entries named by an index array (`MPI_Type_indexed`): the list as a value, and where its entries lie in an instance."""

from __future__ import annotations

import base64
import hashlib
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from isoviz import checks
from isoviz.errors import ArrayError, EmptyArrayError, show
from isoviz.layouts.layout import Layout, Linearization
from isoviz.layouts.spaces import IndexSpace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoviz.layouts.layout import Index, IntArray


_MARKED = 16
"""Entries of an instance for each listed one up to which marks tell whether an entry is listed twice."""
MOST_DRAWN = 1 << 29
"""The most entries among which a random list is drawn: all of them are shuffled."""


class EntryList:
    """The numbers of entries along one dimension, in the order in which they move.

    `given` is an array of whole numbers with one axis, or a sequence of them; it is copied. `what` names it in errors. Two lists
    are equal if they hold the same numbers. A list for the source may name an entry several times; a destination refuses such a
    list.

    Raises:
        ArrayError: `given` is not such an array: it has a mask, truth values, fractions, or numbers below 0.
        EmptyArrayError: `given` is empty.
    """

    KEYS: ClassVar = ("count", "digest", "steps", "zlib")
    """The keys of its JSON form."""

    def __init__(self, given: Any, what: str = "list") -> None:
        self.indices: IntArray = _indices(given, what)
        """The numbers, int64 of shape (count,), read-only."""
        self.indices.flags.writeable = False

    @classmethod
    def random(cls, count: int, of: int, seed: int = 0, *, in_order: bool = False) -> EntryList:
        """`count` different entries among `of`, drawn with a seed; ascending with `in_order`.

        Raises:
            InputError: `count` is more than `of`, or `of` is more than `MOST_DRAWN`.
        """
        of = checks.count("random list", "of", of, low=1, high=MOST_DRAWN)
        count = checks.count("random list", "random", count, low=1, high=of)
        drawn = np.random.default_rng(checks.count("random list", "seed", seed)).permutation(of)[:count]
        return cls(np.sort(drawn) if in_order else drawn)

    def __len__(self) -> int:
        return len(self.indices)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, EntryList) and np.array_equal(self.indices, other.indices))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:  # NumPy's own would let the copy be written to
        return EntryList, (self.indices,)

    @cached_property
    def _hash(self) -> int:
        return int(self.digest[:15], 16)

    @cached_property
    def digest(self) -> str:
        """A hexadecimal fingerprint, the same in every process."""
        return hashlib.sha256(self.indices.astype("<i8", copy=False).tobytes()).hexdigest()

    @cached_property
    def last(self) -> int:
        """The largest number."""
        return int(self.indices.max())

    @cached_property
    def repeated(self) -> tuple[int, int] | None:
        """The first two places of the list that name the same entry; None if all entries differ."""
        indices = self.indices
        if bool((indices[1:] > indices[:-1]).all()):
            return None
        if self.last < _MARKED * len(indices):  # marks are quicker than sorting
            marks = np.zeros(self.last + 1, bool)
            marks[indices] = True
            if np.count_nonzero(marks) == len(indices):
                return None
        order = np.argsort(indices, kind="stable")
        inner = indices[order]
        again = np.flatnonzero(inner[1:] == inner[:-1])
        if not len(again):
            return None
        first = again[np.argmin(order[again + 1])]
        return int(order[first]), int(order[first + 1])

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.indices[:4].tolist()))
        return f"{len(self)} by list ({shown}{', …' if len(self) > 4 else ''})"

    def __repr__(self) -> str:
        return f"EntryList({self})"

    def to_json(self) -> dict[str, Any]:
        """A JSON object: the differences of neighbours, compressed, and the digest."""
        return dict(self._packed)

    @cached_property
    def _packed(self) -> dict[str, Any]:
        steps = np.diff(self.indices, prepend=0)
        kind = "<i4" if int(np.abs(steps).max()) < 1 << 31 else "<i8"
        text = base64.b64encode(zlib.compress(steps.astype(kind).tobytes(), 1)).decode()
        return {"count": len(self), "digest": self.digest, "steps": kind, "zlib": text}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EntryList:
        """The list of an object that `to_json` made.

        Raises:
            ArrayError: the object is invalid, or its numbers do not match its digest.
        """
        try:
            kind = np.dtype({"<i4": "<i4", "<i8": "<i8"}[data["steps"]])
            count = checks.count("list", "count", data["count"], low=1)
            unpacked = zlib.decompressobj()
            found = unpacked.decompress(base64.b64decode(data["zlib"], validate=True), count * kind.itemsize)
            made = cls(np.cumsum(np.frombuffer(found, kind), dtype=np.int64))
        except (LookupError, TypeError, ValueError, MemoryError, OverflowError, zlib.error) as error:
            raise ArrayError(f"list: expected what `EntryList.to_json` makes; it cannot be read: {show(str(error))}") from None
        if len(made) != count or made.digest != data.get("digest"):
            raise ArrayError(f"list: {len(made)} numbers that are not those of its digest; it was changed or is damaged")
        return made


def _indices(given: Any, what: str) -> IntArray:
    if isinstance(given, np.ma.MaskedArray):
        raise ArrayError(f"{what}: a masked array; expected the numbers of entries, without a mask")
    if isinstance(given, str | bytes | dict):
        raise ArrayError(f"{what}: expected an array of whole numbers with one axis, got {show(given)}")
    try:
        array = np.asarray(given)
    except Exception as error:  # an object of the caller may raise anything
        raise ArrayError(f"{what}: expected an array of whole numbers with one axis, got {show(given)}") from error
    if array.dtype == bool:
        raise ArrayError(f"{what}: an array of truth values; expected the numbers of entries, as np.flatnonzero(mask)")
    if array.ndim != 1:
        raise ArrayError(f"{what}: an array of shape {array.shape}; expected one axis")
    if not array.size:
        raise EmptyArrayError(f"{what}: it names no entry; expected at least one")
    if array.dtype.kind not in "iu":
        raise ArrayError(f"{what}: an array of {array.dtype}; expected whole numbers")
    low, high = array.min(), array.max()
    if low < 0 or high > checks.BYTES_LIMIT:
        wrong = low if low < 0 else high
        place = int(np.flatnonzero(array == wrong)[0])
        raise ArrayError(f"{what}: entry {wrong} at place {place}; expected numbers from 0 on")
    return np.array(array, np.int64, order="C")


@dataclass(frozen=True, eq=False)
class ListedLinearization(Linearization):
    """The linearization of the entries of an instance that a list names along one dimension. `of` makes it.

    `whole` is the linearization of the instance. Coordinate k of the dimension `listed` is entry `entries.indices[k]` of the
    instance; the other dimensions are those of the instance.
    """

    whole: Linearization
    listed: str
    entries: EntryList

    @classmethod
    def of(cls, whole: Linearization, dim: str, entries: EntryList) -> ListedLinearization:
        """The linearization of a list of entries of an instance."""
        space = IndexSpace.of({**whole.space.as_dict(), dim: len(entries)})
        return cls(Layout.aos(*space.dims), space, whole.fields, whole, dim, entries)

    def strides(self, field: str) -> Any:
        """The modes of the instance with their strides."""
        return self.whole.strides(field)

    def field_base(self, field: str) -> int:
        """The byte offset of a field of the instance at its first entry."""
        return self.whole.field_base(field)

    def steps(self, dim: str, field: str) -> tuple[tuple[int, int], ...]:
        """As `Linearization.steps`; none for the listed dimension, whose places stand in a table."""
        return () if dim == self.listed else self.whole.steps(dim, field)

    def dim_offsets(self, dim: str, field: str, low: int = 0, high: int | None = None) -> IntArray:
        """As `Linearization.dim_offsets`: a part of the table, which is not copied."""
        return self._table(field)[low:high] if dim == self.listed else super().dim_offsets(dim, field, low, high)

    def _table(self, field: str) -> IntArray:
        """What each entry of the list adds to an offset, in bytes. Fields that lie in the same steps share a table."""
        steps = self.whole.steps(self.listed, field)
        known = self._tables.get(steps)
        if known is None:
            known = np.zeros(len(self.entries), np.int64)
            for step, weight in steps:
                known += (self.entries.indices if step == 1 else self.entries.indices // step) * weight
            known.flags.writeable = False
            self._tables[steps] = known
        return known

    @cached_property
    def known(self) -> dict[Any, Any]:
        """What functions of views found for views of it (`isoviz.layouts.geometry.kept_by_views`)."""
        return {}

    @cached_property
    def _tables(self) -> dict[tuple[tuple[int, int], ...], IntArray]:
        return {}

    def _along(self, dim: str, coordinates: IntArray, field: str) -> IntArray:
        table: IntArray = self._table(field)[coordinates] if dim == self.listed else super()._along(dim, coordinates, field)
        return table

    def offset(self, index: Index, field: str) -> int:
        """The byte offset of one element, by its place in the list."""
        at = self._coordinates(index)
        at[self.listed] = int(self.entries.indices[at[self.listed]])
        return self.whole.offset(at, field)
