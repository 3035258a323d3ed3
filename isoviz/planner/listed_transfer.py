"""Transfers of entries that index arrays name, at one end or at both (`MPI_Type_indexed`)."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import FileError, TransferError, show
from isoviz.layouts import IndexSpace, View
from isoviz.layouts.lists import EntryList, ListedLinearization
from isoviz.planner.transfer import Instance, Transfer
from isoviz.regular_files import read_some
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.schema import Node


# Lists in transfer files: the name of a `.npy` file, numbers, or a random list.

LARGEST_LIST = 1 << 32
"""Bytes of the file of a list at most."""
_MAGIC = b"\x93NUMPY"


def list_at(node: Node, folder: Path) -> EntryList | dict[str, EntryList]:
    """The list of an end: the `.npy` file that holds it, numbers, a random one, or one of these for a dimension."""
    if isinstance(node.value, str) and node.value:
        return EntryList(_array(folder / node.value), node.path)
    if isinstance(node.value, list):
        return node.made(EntryList, node.value)
    table = node.table() if isinstance(node.value, Mapping) else {}
    if "random" not in table:
        if len(table) != 1:
            node.fail(
                "expected the name of a file, numbers, {random = 3062, of = 3534, seed = 1}, or one of these for a dimension"
            )
        ((dim, inner),) = node.members((), tuple(table)).items()
        found = list_at(inner, folder)
        if isinstance(found, dict):
            inner.fail("expected a list")
        return {dim: found}
    parts = node.members(("random", "of"), ("seed", "in_order"))
    seed = parts["seed"].read(int) if "seed" in parts else 0
    in_order = parts["in_order"].read(bool) if "in_order" in parts else False
    return node.made(partial(EntryList.random, in_order=in_order), parts["random"].read(int), parts["of"].read(int), seed)


def _array(path: Path) -> Any:
    content = read_some(path, LARGEST_LIST + 1)
    if len(content) > LARGEST_LIST:
        raise FileError(f"{path}: a list of more than {format_bytes(LARGEST_LIST)}")
    expected = "expected the numbers of entries in a .npy file"
    if not content.startswith(_MAGIC):
        raise FileError(f"{path}: {expected}, got one of another kind")
    try:
        return np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:  # noqa: BLE001  # NumPy's words name objects, or advise to read pickles
        raise FileError(f"{path}: {expected}; it is damaged, ends early, or holds Python objects") from None


class Rest:
    """The class of `isoviz.rest`: all entries of an end, in order."""

    def __repr__(self) -> str:
        return "isoviz.rest"


rest = Rest()
"""All entries of an end of `Transfer.listed`, in order."""


@dataclass(frozen=True)
class ListedTransfer(Transfer):
    """A transfer of entries that lists name along the dimension `dim` (`Transfer.listed` makes it).

    Entry `entries.indices[k]` of the source becomes entry `to.indices[k]` of the destination; None: the end has no list, and
    the entries lie there in order. Along `dim`, `shape` and the origins count places in the lists, so that a part of the transfer
    is a slice of them.

    Raises:
        TransferError: as `Transfer`; or a list names an entry that its end does not have, or the list of the destination names an
            entry twice.
    """

    dim: str = ""
    entries: EntryList | None = None
    to: EntryList | None = None

    def __post_init__(self) -> None:
        if not checks.is_one_of(self.dim, self.source.space.dims):
            raise TransferError(f"transfer: lists along {show(self.dim)}: expected one along {', '.join(self.source.space)}")
        if self.entries is None is self.to:
            raise TransferError("transfer: no list at either end; expected one at the source, at the destination, or at both")
        for found in (self.entries, self.to):
            if found is not None:
                expect("transfer", found, EntryList, "a list of entries, as `EntryList` makes it")
        for end, instance, found in (("source", self.source, self.entries), ("destination", self.destination, self.to)):
            size = instance.space.as_dict().get(self.dim, 0)
            if found is not None and found.last >= size:
                place = int((found.indices >= size).argmax())
                raise TransferError(
                    f"transfer: in dimension {self.dim!r} entry {found.indices[place]} is listed at place {place};"
                    f" the {end} has 0 to {size - 1}"
                )
        if self.to is not None and (again := self.to.repeated) is not None:
            raise TransferError(
                f"transfer: in dimension {self.dim!r} entry {self.to.indices[again[0]]} of the destination is listed at places"
                f" {again[0]} and {again[1]}; expected each entry once"
            )
        super().__post_init__()

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.dim, self.entries, self.to))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_views"}  # tables of the whole lists

    @property
    def counted(self) -> tuple[IndexSpace, IndexSpace]:
        """The index spaces of the ends, with the entries of the lists along their dimension."""
        here, there = (
            end.space if found is None else IndexSpace.of({**end.space.as_dict(), self.dim: len(found)})
            for end, found in zip((self.source, self.destination), (self.entries, self.to), strict=True)
        )
        return here, there

    @property
    def further_json(self) -> dict[str, Any]:
        """The lists, packed (`EntryList.to_json`)."""
        lists = {"entries": self.entries, "to": self.to}
        return {"list": {"dim": self.dim, **{name: found.to_json() for name, found in lists.items() if found is not None}}}

    @property
    def is_whole(self) -> bool:
        """False: lists name the entries that move."""
        return False

    def source_view(self) -> View:
        """The source as one end of a copy; its coordinates along `dim` are places in the list."""
        return self._views[0]

    def destination_view(self) -> View:
        """The destination as one end of a copy."""
        return self._views[1]

    @cached_property
    def _views(self) -> tuple[View, View]:
        here, there = (
            View(self._listed(end, found), origin)
            for end, found, origin in zip(
                self.as_they_lie, (self.entries, self.to), (self.source_origin, self.destination_origin), strict=True
            )
        )
        return here, there

    def _listed(self, end: Instance, found: EntryList | None) -> Any:
        return end.linearization if found is None else ListedLinearization.of(end.linearization, self.dim, found)

    def __str__(self) -> str:
        return f"{super().__str__()}, {self.list_text}"

    @property
    def list_text(self) -> str:
        """What its lists name, in words."""
        ends = (("source", self.entries), ("destination", self.to))
        return f"{self.dim} " + ", ".join(f"of the {end}: {found}" for end, found in ends if found is not None)


def listed_transfer(
    source: Instance,
    destination: Instance,
    entries: Any = rest,
    to: Any = rest,
    *,
    field_names: Sequence[str] = (),
    priority: int = 0,
) -> Transfer:
    """The transfer of entries that index arrays name: `Transfer.listed(source, destination, entries=…, to=…)`.

    Entry `entries[k]` of the source becomes entry `to[k]` of the destination. Both are arrays of whole numbers with one axis, or
    `isoviz.rest`: all entries of that end, in order. For an instance with several dimensions it is `{dim: array}`: each number
    names a whole slab, and the other dimensions move as a whole. An entry of the source may be named several times.

        >>> pages = Transfer.listed(cache, packed, entries=[7, 3, 12])
        >>> back = Transfer.listed(packed, cache, to=[7, 3, 12])

    Raises:
        TransferError: the lists differ in length, name an entry that does not exist, or name an entry of the destination twice;
            the message names it. ArrayError: a list is not an array of whole numbers. EmptyArrayError: a list is empty.
    """
    for given in (source, destination):
        expect("transfer", given, Instance, "an instance at each end")
    found = {end: _list_of(end, given, source.space) for end, given in (("entries", entries), ("to", to))}
    named = list(dict.fromkeys(each[0] for each in found.values() if each is not None and each[0] is not None))
    if len(named) > 1:
        raise TransferError(f"transfer: lists along {' and '.join(named)}; expected one dimension at both ends")
    names = checks.names("transfer, field names", field_names, "names of fields")
    lists = [None if each is None else each[1] for each in found.values()]
    if lists == [None, None]:
        return Transfer(source, destination, field_names=names, priority=priority)
    dim = named[0] if named else _only(source.space)
    lengths = [
        instance.space.as_dict().get(dim, 0) if each is None else len(each)
        for instance, each in zip((source, destination), lists, strict=True)
    ]
    if lengths[0] != lengths[1]:
        here, there = (
            f"{length} entries {'are listed' if each is not None else 'lie'} in the {end}"
            for length, each, end in zip(lengths, lists, ("source", "destination"), strict=True)
        )
        raise TransferError(f"transfer: in dimension {dim!r} {here}, and {there}; expected as many")
    return ListedTransfer(source, destination, field_names=names, priority=priority, dim=dim, entries=lists[0], to=lists[1])


def _list_of(end: str, given: Any, space: IndexSpace) -> tuple[str | None, EntryList] | None:
    """The dimension, if it is said, and the list of an end; None for `rest`."""
    if isinstance(given, Rest):
        return None
    where, dim = f"transfer, {end}", None
    if isinstance(given, Mapping):
        if len(given) != 1 or next(iter(given)) not in space:
            raise TransferError(f"{where}: expected a list for one of {', '.join(space)}, as {{{space.dims[0]!r}: array}}")
        ((dim, given),) = given.items()
    return dim, given if isinstance(given, EntryList) else EntryList(given, where)


def _only(space: IndexSpace) -> str:
    if len(space) != 1:
        raise TransferError(
            f"transfer: along which of {', '.join(space)} a list is, is not said; expected {{{space.dims[-1]!r}: array}}"
        )
    return space.dims[0]
