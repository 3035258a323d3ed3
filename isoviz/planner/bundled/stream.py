"""The stream of a bundle: its members one after the other, and the copies between it and the ends of the members."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from isoviz.errors import TransferError
from isoviz.layouts import Box, ChunkSequence, FieldSpace, Layout, Linearization, Mode, StridedCopy, View
from isoviz.layouts.copies import ListedCopy
from isoviz.layouts.geometry import strided_copies
from isoviz.layouts.recurring import RecurringChunks, RecurringCopies, shifted, together
from isoviz.planner.intermediate.part_layouts import layout_of
from isoviz.planner.transfer import Transfer

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
class StreamView(View):
    """One end of a bundle: 0 is the source, 1 the destination. Its linearization is that of the stream."""

    end: int = 0


class StreamChunks(RecurringChunks):
    """The copies of the first or the last hop of a bundle, chunk by chunk, as `RecurringChunks` has those of other hops."""

    def __init__(
        self, placed: Sequence[Placed], first: int, chunks: ChunkSequence, views: Callable[[int], tuple[View, View]]
    ) -> None:
        self._placed, self._first, self._chunks, self._views = placed, first, chunks, views
        self._firsts = [each.first for each in placed]
        self._models: dict[int, MemberCopies] = {}

    @property
    def repetition(self) -> None:
        """None: the members may be of any kind."""

    def of(self, number: int) -> tuple[list[StridedCopy], int]:
        """The copies of a chunk, and its payload in bytes."""
        first = self._first
        low, high = self._chunks.first_byte(number), self._chunks.first_byte(number + 1)
        ends = self._views(number)
        slots = [view if isinstance(view, StreamView) else replace(view, base=view.base - first) for view in ends]
        copies = copies_of(self._placed, self._firsts, first + low, first + high, (slots[0], slots[1]), self._models)
        return copies, high - low


def copies_of(
    placed: Sequence[Placed], firsts: Sequence[int], low: int, high: int, ends: tuple[View, View], known: dict[int, MemberCopies]
) -> list[StridedCopy]:
    """The copies of a range of bytes of the stream between two views. At least one of the views is an end.

    `firsts` are the first bytes of the members that are `placed`. `known` keeps what those that look the same have in common.
    """
    found: list[list[StridedCopy]] = []
    at = bisect_right(firsts, low) - 1
    while at < len(placed) and firsts[at] < high:
        each = placed[at]
        at += 1
        here, there = [_base(each, view) for view in ends]
        model = known.get(each.looks)
        if model is None:
            model = known[each.looks] = MemberCopies.of(each, ends)
        copies = model.copies(each, max(0, low - each.first), min(high - each.first, each.transfer.nbytes))
        found.append(shifted(copies, here - model.bases[0], there - model.bases[1]))
    return together(found) if found else []


class MemberCopies(NamedTuple):
    """The views of a member, and what it keeps of its copies. Members that look alike differ in the bases of their views."""

    views: tuple[View, View]
    bases: tuple[int, int]
    recurring: RecurringCopies
    whole: list[list[StridedCopy]]

    @classmethod
    def of(cls, each: Placed, ends: tuple[View, View]) -> MemberCopies:
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
    found = end_view(each.transfer, view.end)
    return replace(found, base=found.base + base)


def end_view(member: Transfer, end: int) -> View:
    """One end of a member (0: its source)."""
    return member.destination_view() if end else member.source_view()


def plain_order(order: Linearization) -> Linearization:
    """An order without padding: where it pads blocks, its dimensions are not cut."""
    if not order.is_padded:
        return order
    parts = [Mode(part.dim, order.space[part.dim], 1, True) if isinstance(part, Mode) else part for part in order.parts]
    return layout_of(list(dict.fromkeys(parts))).on(order.space, order.fields)


def looks_of(member: Transfer) -> object:
    """What the copies of a member follow from, besides where it lies."""
    if type(member) is not Transfer:
        return member
    ends = tuple([(end.space, end.fields, end.layout) for end in (member.source, member.destination, *member.as_they_lie)])
    return ends, member.shape, member.source_origin, member.destination_origin, member.field_names


# Whether the members of a bundle write the same bytes.


def require_apart_in(members: Sequence[Placed]) -> None:
    """Require that no two members of a bundle write the same bytes at the destination, where their ends lie.

    Raises:
        TransferError: they do; the message names both members.
    """
    starts = [each.starts[1] for each in members]
    ends = [each.starts[1] + each.transfer.as_they_lie[1].linearization.nbytes for each in members]
    order = sorted(range(len(starts)), key=starts.__getitem__)
    reach, near = -1, list[int]()
    for number in order:  # only members whose instances overlap are looked at
        if starts[number] >= reach:
            _require_apart(members, near)
            near.clear()
        near.append(number)
        reach = max(reach, ends[number])
    _require_apart(members, near)


def _require_apart(members: Sequence[Placed], near: Sequence[int]) -> None:
    if len(near) < 2:
        return
    rows: list[np.ndarray[Any, np.dtype[np.int64]]] = []
    for number in near:
        each = members[number]
        view = end_view(each.transfer, 1)
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
