"""Bundles: several transfers between the same two memories that are one transfer (UMR, section II: datatypes of many buffers).

A bundle moves a stream of bytes: the entries of its members, one member after the other. The stream is an ordinary index space
with the one dimension `byte`, so chunks, buffers, routes, T, simulation and traces are those of any transfer. Only the first and
the last hop know the members: they gather the stream from the sources, and scatter it to the destinations. A chunk holds as many
small members as fit, so that they share its messages.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast

import numpy as np

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import TransferError
from isoviz.layouts import Box, ChunkSequence, FieldSpace, IndexSpace, Layout, Linearization, Mode, StridedCopy, View
from isoviz.layouts.copies import ListedCopy
from isoviz.layouts.geometry import mean_run, strided_copies
from isoviz.layouts.recurring import RecurringChunks, RecurringCopies, shifted, together
from isoviz.layouts.windows import Keyed, keyed_in_parts, runs_at_origin
from isoviz.planner.intermediate.part_layouts import layout_of
from isoviz.planner.transfer import Instance, Transfer
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.layouts import Chunk

Found = TypeVar("Found")
BYTES = FieldSpace(data="uint8")
"""The field of the stream of a bundle."""
STREAM = Layout("<F, byte>")
"""The layout of the stream."""


def stretches(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges in order, with those that overlap or touch as one."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


@dataclass(frozen=True)
class BundleEnd(Instance):
    """All instances at one end of a bundle, one after the other. `starts` are their first bytes, from the begin of the first one.

    A run gives an object for each of `members`, or none. What it finds may lie elsewhere: `Transfer.lying` has other starts, and
    no members where they are those of the bundle.
    """

    members: tuple[Instance, ...] = ()
    starts: tuple[int, ...] = ()

    @classmethod
    def of(cls, members: Sequence[Instance], end: str) -> BundleEnd:
        """The `end` ("source" or "destination") with these instances.

        Raises:
            TransferError: they do not name one file.
        """
        sizes = [each.linearization.nbytes for each in members]
        starts = list(itertools.accumulate(sizes, initial=0))
        first, path, offset = members[0], None, None
        total = starts.pop()
        if any(each.path is not None for each in members):
            path, offset, starts, total = _in_one_file(end, members)
            if end == "destination" and not offset:
                offset = None  # a new file begins with the data
        return cls(first.memory, IndexSpace(byte=total), BYTES, STREAM, path, offset, tuple(members), tuple(starts))

    def __hash__(self) -> int:
        return hash((self.memory, self.space, self.starts))

    def placed(self, starts: Sequence[int], lies: Sequence[Instance | None]) -> BundleEnd | None:
        """This end where a run has found its members; None if they lie as they are here."""
        if not any(lies):
            return None if tuple(starts) == self.starts else replace(self, members=(), starts=tuple(starts))
        members = tuple([mine if found is None else found for mine, found in zip(self.members, lies, strict=True)])
        return replace(self, members=members, starts=tuple(starts))


class Placed(NamedTuple):
    """A member of a bundle: its transfer as its ends lie, where its instances begin at both ends, and its order in the stream.

    `first` is its first byte in the stream. Members that differ in these numbers alone have the same `looks`.
    """

    transfer: Transfer
    starts: tuple[int, int]
    order: Linearization
    first: int
    looks: int


@dataclass(frozen=True)
class Bundle(Transfer):
    """Several transfers as one: one path, one set of one-time costs, one event (`bundle`).

    `members` are the transfers, in their order in the stream. `order` is the end that gives their entries their order there, and
    so in every buffer and message: members whose ends differ are converted by the first hop ("destination") or by the last one
    ("source"). `plan` chooses where it is None. All other properties are those of the stream, of which a box is a range of bytes.
    """

    members: tuple[Transfer, ...] = ()
    order: Literal["source", "destination"] | None = None

    def __post_init__(self) -> None:
        first = self.source_origin or (0,)
        shape = self.shape or (sum([each.nbytes for each in self.members]),)
        stream = IndexSpace(byte=shape[0])
        more = {"shape": shape, "source_origin": first, "destination_origin": first, "field_names": BYTES.names}
        for name, value in {**more, "space": stream, "fields": BYTES, "source_fields": BYTES}.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "priority", checks.priority(self.priority))

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.order, self._members_hash))

    @cached_property
    def _members_hash(self) -> int:
        return hash(self.members)

    @property
    def further_json(self) -> dict[str, Any]:
        """The members and the order of the stream."""
        return {"bundle": [each.to_json() for each in self.members], "order": self.order}

    def part(self, box: Box) -> Transfer:
        """A range of bytes of this one, in coordinates local to it."""
        expect("transfer, part", box, Box, "a box")
        if box == Box.whole(self.space):
            return self
        if len(box.lo) != 1 or not 0 <= box.lo[0] < box.hi[0] <= self.space["byte"]:
            raise TransferError(f"transfer: {box}: expected a range of bytes that is not empty, within {self.space}")
        first = (self.source_origin[0] + box.lo[0],)
        return replace(self, shape=box.shape, source_origin=first, destination_origin=first)

    @property
    def is_whole(self) -> bool:
        """Whether all data of both ends move, in their order: never, as the members lie apart."""
        return False

    @property
    def is_partial(self) -> bool:
        """Whether a destination holds more data than is written."""
        there = cast("BundleEnd", self.destination)
        has_gaps = sum([each.linearization.nbytes for each in there.members]) != there.linearization.nbytes
        return has_gaps or any(each.is_partial for each in self.members)

    @property
    def converts(self) -> bool:
        """Whether the ends of a member store its data in different orders."""
        return any(each.converts for each in self.members)

    @property
    def orders(self) -> tuple[Transfer, ...]:
        """The bundle with each order that its stream may have."""
        if self.order is not None:
            return (self,)
        by_destination = replace(self, order="destination")
        return (by_destination, replace(self, order="source")) if self.converts else (by_destination,)

    # ---- the stream

    @cached_property
    def placed(self) -> tuple[Placed, ...]:
        """The members where their ends lie, in the order of the stream."""
        found, first, looks = [], 0, dict[Any, int]()
        ends = [cast("BundleEnd", end) for end in self.as_they_lie]
        found_lying = self.lying is not None and any(end.members for end in ends)
        for number, member in enumerate(self.members):
            lies = member
            if found_lying:
                here, there = [
                    end.members[number] if end.members else mine
                    for end, mine in zip(ends, (member.source, member.destination), strict=True)
                ]
                lies = replace(member, lying=(here, there))
            starts = ends[0].starts[number], ends[1].starts[number]
            order = _plain(member.source_order if self.order == "source" else member.destination_order)
            found.append(Placed(lies, starts, order, first, looks.setdefault(_looks(lies), len(looks))))
            first += member.nbytes
        return tuple(found)

    def stretches(self, end: int) -> list[tuple[int, int]]:
        """The ranges of bytes of an end (0: the source) that its instances take where they lie, in order and apart."""
        found = [
            (each.starts[end], each.starts[end] + each.transfer.as_they_lie[end].linearization.nbytes) for each in self.placed
        ]
        return stretches(found)

    @cached_property
    def _firsts(self) -> list[int]:
        return [each.first for each in self.placed]

    def source_view(self) -> StreamView:
        """The source as one end of a copy; local index 0 is the first byte of the stream that moves."""
        return self._views[0]

    def destination_view(self) -> StreamView:
        """The destination as one end of a copy."""
        return self._views[1]

    @cached_property
    def _views(self) -> tuple[StreamView, StreamView]:
        here, there = [StreamView(STREAM.on(self.space, BYTES), end=number) for number in (0, 1)]
        return here, there

    def mean_run(self, here: View, there: View, fields: Sequence[str]) -> float:  # noqa: ARG002  # as that of a transfer
        """The bytes that move on average between two gaps at an end, or at both; infinite without a gap.

        Every member is a run of its own at least: it lies in a buffer of its own.
        """
        if not isinstance(here, StreamView) and not isinstance(there, StreamView):
            return math.inf
        sizes = [each.transfer.nbytes for each in self.placed]
        means = self._in_members(here, there, mean_run)
        runs = sum([1 if math.isinf(run) else nbytes / run for nbytes, run in zip(sizes, means, strict=True)])
        return sum(sizes) / runs if runs > 1 else math.inf

    def keyed(self, here: View, there: View, fields: Sequence[str], limit: int) -> Keyed:  # noqa: ARG002  # as that of a transfer
        """What keys of at most `limit` runs map at both ends: the runs of all members, one after the other."""
        return keyed_in_parts(self._in_members(here, there, runs_at_origin), limit)

    def _in_members(self, here: View, there: View, found: Callable[..., Found]) -> list[Found]:
        """What a function of two views, a shape and fields finds for every member. Members that look alike share it."""
        ends = [each.end if isinstance(each, StreamView) else None for each in (here, there)]
        known: dict[int, Found] = {}
        for each in self.placed:
            if each.looks not in known:
                member = each.transfer
                views = [View(each.order) if end is None else _view(member, end) for end in ends]
                shape = member.space.as_dict()
                known[each.looks] = found(*views, tuple([shape[dim] for dim in views[0].dims]), member.field_names)
        return [known[each.looks] for each in self.placed]

    def recurring(
        self,
        chunks: ChunkSequence,
        views: Callable[[int], tuple[View, View]],
        chunk: Callable[[int], Chunk] | None = None,
        padding: Sequence[int] = (),
    ) -> RecurringChunks:
        """The copies of a hop of a path, chunk by chunk."""
        is_end = any(isinstance(view, StreamView) for view in views(0))
        return StreamChunks(self, chunks, views) if is_end else super().recurring(chunks, views, chunk, padding)

    @property
    def copies(self) -> list[StridedCopy]:
        """The copies of all that moves, from the sources to the destinations."""
        low = self.source_origin[0]
        return self.copies_of(low, low + self.nbytes, self._views, {})

    def __str__(self) -> str:
        return (
            f"{self.source.memory} → {self.destination.memory} (a bundle of {len(self.members)} transfers,"
            f" {format_bytes(self.nbytes)}; the first one: {self.members[0]})"
        )

    def copies_of(self, low: int, high: int, ends: tuple[View, View], known: dict[int, _Model]) -> list[StridedCopy]:
        """The copies of a range of bytes of the stream between two views, of which one at least is an end.

        `known` keeps what members that look the same have in common.
        """
        found: list[list[StridedCopy]] = []
        at = bisect_right(self._firsts, low) - 1
        while at < len(self.placed) and self._firsts[at] < high:
            each = self.placed[at]
            at += 1
            here, there = [_base(each, view) for view in ends]
            model = known.get(each.looks)
            if model is None:
                model = known[each.looks] = _Model.of(each, ends)
            copies = model.copies(each, max(0, low - each.first), min(high - each.first, each.transfer.nbytes))
            found.append(shifted(copies, here - model.bases[0], there - model.bases[1]))
        return together(found) if found else []


@dataclass(frozen=True)
class StreamView(View):
    """One end of a bundle: 0 is the source, 1 the destination. Its linearization is that of the stream."""

    end: int = 0


class StreamChunks(RecurringChunks):
    """The copies of the first or the last hop of a bundle, chunk by chunk, as `RecurringChunks` has those of other hops."""

    def __init__(self, bundle: Bundle, chunks: ChunkSequence, views: Callable[[int], tuple[View, View]]) -> None:
        self._bundle, self._chunks, self._views = bundle, chunks, views
        self._models: dict[int, _Model] = {}

    def of(self, number: int) -> tuple[list[StridedCopy], int]:
        """The copies of a chunk, and its payload in bytes."""
        first = self._bundle.source_origin[0]
        low, high = self._chunks.first_byte(number), self._chunks.first_byte(number + 1)
        ends = self._views(number)
        slots = [view if isinstance(view, StreamView) else replace(view, base=view.base - first) for view in ends]
        return self._bundle.copies_of(first + low, first + high, (slots[0], slots[1]), self._models), high - low


class _Model(NamedTuple):
    """The views of a member, of which others that look the same differ in their bases alone, and what it keeps of its copies."""

    views: tuple[View, View]
    bases: tuple[int, int]
    recurring: RecurringCopies
    whole: list[list[StridedCopy]]

    @classmethod
    def of(cls, each: Placed, ends: tuple[View, View]) -> _Model:
        bases = _base(each, ends[0]), _base(each, ends[1])
        here, there = [_member_view(each, view, base) for view, base in zip(ends, bases, strict=True)]
        return cls((here, there), bases, RecurringCopies(here, there), [])

    def copies(self, each: Placed, first: int, end: int) -> list[StridedCopy]:
        """The copies of a range of bytes of the member. An element that the range cuts is cut as well."""
        if not first and end == each.transfer.nbytes:
            if not self.whole:
                box = Box.whole(each.transfer.space)
                self.whole.append(self.recurring.of(*self.views, box, each.order.fields.names))
            return self.whole[0]
        whole, cut = ChunkSequence(each.order, len(each.order.parts)).of_bytes(first, end)
        found = [self.recurring.of(*self.views, box, names) for box, names in whole]
        for (box, names), low, high in cut:
            (copy,) = self.recurring.of(*self.views, box, names)
            found.append([StridedCopy(copy.source_offset + low, copy.destination_offset + low, high - low)])
        return together(found) if found else []


def _base(each: Placed, view: View) -> int:
    """Where a member begins in a view of the stream: at an end, or in a slot."""
    return each.starts[view.end] if isinstance(view, StreamView) else each.first + view.base


def _member_view(each: Placed, view: View, base: int) -> View:
    if not isinstance(view, StreamView):
        return View(each.order, base=base)
    found = _view(each.transfer, view.end)
    return replace(found, base=found.base + base)


def _view(member: Transfer, end: int) -> View:
    return member.destination_view() if end else member.source_view()


def _plain(order: Linearization) -> Linearization:
    """An order without padding: where it pads blocks, its dimensions are not cut."""
    if not order.is_padded:
        return order
    parts = [Mode(part.dim, order.space[part.dim], 1, True) if isinstance(part, Mode) else part for part in order.parts]
    return layout_of(list(dict.fromkeys(parts))).on(order.space, order.fields)


def _looks(member: Transfer) -> object:
    """What the copies of a member follow from, besides where it lies."""
    if type(member) is not Transfer:
        return member
    ends = tuple([(end.space, end.fields, end.layout) for end in (member.source, member.destination, *member.as_they_lie)])
    return ends, member.shape, member.source_origin, member.destination_origin, member.field_names


def bundle(transfers: Sequence[Transfer], *, priority: int | None = None) -> Transfer:
    """Several transfers between the same two memories as one transfer: one path, one set of one-time costs, one event.

    They may have different index spaces, fields, layouts and boxes. A chunk holds as many small ones as fit, so that they share
    messages: the structs of a simulation, or all layers of a KV cache. A bundle of one transfer is that transfer.

        >>> layers = [Transfer.whole(space, fields, "node0.sys", "<F, x>", "node1.sys", "<F, x>") for _ in range(32)]
        >>> plan = isoviz.plan(isoviz.bundle(layers), machine)
        >>> isoviz.run(plan, sources, destinations)  # lists of 32 arrays each

    A run gets a list at each end, with an object for each transfer in this order; or one object, with the bytes of the instances
    one after the other; or none. An end in a file system is one file, where its instances lie one after the other, or at the
    offsets that they name.
    `priority` is that of the bundle: by default the highest of the transfers.

    Raises:
        InputError: no transfers.
        TransferError: there is none of them; one is a bundle itself, leads between other memories, or names another file, or a
            file without an offset; or two of them write the same bytes of a file. The message names the transfer.
    """
    given: tuple[Transfer, ...] = checks.items("bundle", transfers, "transfers")
    for number, each in enumerate(given):
        expect(f"bundle, transfer {number}", each, Transfer, "a transfer")
        if isinstance(each, Bundle):
            raise TransferError(f"bundle: transfer {number} is a bundle; expected its {len(each.members)} members in its place")
        for end, mine, others in (
            ("source", each.source.memory, given[0].source.memory),
            ("destination", each.destination.memory, given[0].destination.memory),
        ):
            if mine != others:
                raise TransferError(
                    f"bundle: the {end} of transfer {number} is in {mine!r}, that of transfer 0 in {others!r}; expected the same"
                    " two memories for all; make a bundle for each pair of memories"
                )
    if not given:
        raise TransferError("bundle: expected at least one transfer, got none")
    if len(given) == 1:
        return given[0] if priority is None else replace(given[0], priority=priority)
    chosen = max(each.priority for each in given) if priority is None else priority
    ends = (
        BundleEnd.of([each.source for each in given], "source"),
        BundleEnd.of([each.destination for each in given], "destination"),
    )
    made = Bundle(*ends, priority=chosen, members=given)
    if made.source.path is not None and made.source.path == made.destination.path:
        raise TransferError(f"bundle: source and destination are the same file, {made.source.path!r}")
    require_apart_in(made)
    return made


def require_apart_in(made: Transfer) -> None:
    """Require that no two members write the same bytes at the destination, where their ends lie, if this is a bundle.

    Raises:
        TransferError: they do; the message names both members.
    """
    if not isinstance(made, Bundle):
        return
    starts = [each.starts[1] for each in made.placed]
    ends = [each.starts[1] + each.transfer.as_they_lie[1].linearization.nbytes for each in made.placed]
    order = sorted(range(len(starts)), key=starts.__getitem__)
    reach, near = -1, list[int]()
    for number in order:  # only members whose instances overlap are looked at
        if starts[number] >= reach:
            _require_apart(made, near)
            near.clear()
        near.append(number)
        reach = max(reach, ends[number])
    _require_apart(made, near)


def _require_apart(made: Bundle, near: Sequence[int]) -> None:
    if len(near) < 2:
        return
    rows: list[np.ndarray[Any, np.dtype[np.int64]]] = []
    for number in near:
        each = made.placed[number]
        view = _view(each.transfer, 1)
        shape = each.transfer.space.as_dict()
        box = Box((0,) * len(shape), tuple([shape[dim] for dim in view.dims]))
        for copy in strided_copies(view, view, box, each.transfer.field_names):
            begins = copy.offsets[1] if isinstance(copy, ListedCopy) else np.array([copy.destination_offset])
            begins = begins + each.starts[1]
            for extent, _, stride in copy.loops:
                begins = np.add.outer(begins, np.arange(extent) * stride).ravel()
            rows.append(np.stack([begins, begins + copy.run, np.full(len(begins), number)]))
    begins, stops, numbers = np.concatenate(rows, axis=1)
    order = np.argsort(begins, kind="stable")
    begins, stops, numbers = begins[order], np.maximum.accumulate(stops[order]), numbers[order]
    wrong = np.flatnonzero(begins[1:] < stops[:-1])
    if len(wrong):
        at = int(wrong[0])
        pair = sorted((int(numbers[at]), int(numbers[at + 1])))
        raise TransferError(
            f"bundle: transfers {pair[0]} and {pair[1]} write the same bytes at the destination; expected each byte once"
        )


def _in_one_file(end: str, members: Sequence[Instance]) -> tuple[str, int, list[int], int]:
    """The file that all instances of an end name, the offset of the first byte of them, where each begins, and their length."""
    first = members[0]
    for number, each in enumerate(members):
        if each.path is None or each.path != first.path or each.offset is None:
            found = "no file" if each.path is None else f"{each.path!r} at offset {each.offset}"
            raise TransferError(
                f"bundle: the {end} of transfer {number} names {found}, that of transfer 0 {first.path!r}; expected one file for"
                " all, with the offset of each in it, or no file"
            )
    offsets = [each.offset or 0 for each in members]
    low = min(offsets)
    total = max(at + each.linearization.nbytes for at, each in zip(offsets, members, strict=True)) - low
    return str(first.path), low, [at - low for at in offsets], total
