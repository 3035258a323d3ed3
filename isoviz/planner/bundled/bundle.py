"""Bundles: several transfers between the same two memories that are one transfer (UMR, section II: datatypes of many buffers).

A bundle moves a stream of bytes: the entries of its members, one member after the other. The stream is an ordinary index space
with the one dimension `byte`, so chunks, buffers, routes, T, simulation and traces are those of any transfer. Only the first and
the last hop know the members: they gather the stream from the sources, and scatter it to the destinations. A chunk holds as many
small members as fit, so that they share its messages.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import TransferError, show
from isoviz.layouts import Box, ChunkSequence, IndexSpace, StridedCopy, View
from isoviz.layouts.geometry import mean_run
from isoviz.layouts.recurring import RecurringChunks
from isoviz.layouts.windows import Keyed, keyed_in_parts, runs_at_origin
from isoviz.planner.bundled.stream import (
    BYTES,
    STREAM,
    Placed,
    StreamChunks,
    StreamView,
    copies_of,
    end_view,
    looks_of,
    plain_order,
    require_apart_in,
    stretches,
)
from isoviz.planner.transfer import Instance, Transfer
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.layouts import Chunk

Found = TypeVar("Found")


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

    def __str__(self) -> str:
        return f"{self.memory} ({len(self.members)} instances)" if self.members else self.memory

    def placed(self, starts: Sequence[int], lies: Sequence[Instance | None]) -> BundleEnd | None:
        """This end where a run has found its members; None if they lie as they are here."""
        if not any(lies):
            return None if tuple(starts) == self.starts else replace(self, members=(), starts=tuple(starts))
        members = tuple([mine if found is None else found for mine, found in zip(self.members, lies, strict=True)])
        return replace(self, members=members, starts=tuple(starts))


@dataclass(frozen=True)
class Bundle(Transfer):
    """Several transfers as one: one path, one set of one-time costs, one event (`bundle`).

    `members` are the transfers, in their order in the stream. `order` names the end whose order the entries have in the stream,
    and so in every buffer and message. Members whose ends differ are converted by the first hop ("destination") or by the last
    one ("source"). If it is None, `plan` chooses. All other properties are those of the stream: a box is a range of its bytes.
    """

    members: tuple[Transfer, ...] = ()
    order: Literal["source", "destination"] | None = None

    def __post_init__(self) -> None:
        if self.order is not None and not checks.is_one_of(self.order, ("source", "destination")):
            raise TransferError(f"bundle: order {show(self.order)}: expected 'source', 'destination' or None")
        total = sum([each.nbytes for each in self.members])
        first, shape = self.source_origin or (0,), self.shape or (total,)
        if not 0 <= first[0] < first[0] + shape[0] <= total:
            raise TransferError(f"bundle: its members have {total} bytes; expected {shape[0]} of them from byte {first[0]} on")
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
        """A range of the bytes of this bundle, in coordinates local to it."""
        expect("transfer, part", box, Box, "a box")
        if box == Box.whole(self.space):
            return self
        if len(box.lo) != 1 or not 0 <= box.lo[0] < box.hi[0] <= self.space["byte"]:
            raise TransferError(f"transfer: {box}: expected a range of bytes that is not empty, within {self.space}")
        first = (self.source_origin[0] + box.lo[0],)
        return replace(self, shape=box.shape, source_origin=first, destination_origin=first)

    @property
    def is_whole(self) -> bool:
        """False: the members of a bundle lie apart."""
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

    @property
    def members_text(self) -> str:
        held = f", in the buffers in the order of the {self.order}" if self.converts and self.order else ""
        return f"a bundle of {len(self.members)} transfers{held}"

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
            order = plain_order(member.source_order if self.order == "source" else member.destination_order)
            found.append(Placed(lies, starts, order, first, looks.setdefault(looks_of(lies), len(looks))))
            first += member.nbytes
        return tuple(found)

    def stretches(self, end: int) -> list[tuple[int, int]]:
        """The ranges of bytes that the instances of an end (0: the source) take: ascending, without overlap."""
        found = [
            (each.starts[end], each.starts[end] + each.transfer.as_they_lie[end].linearization.nbytes) for each in self.placed
        ]
        return stretches(found)

    def require_apart(self) -> None:
        """Require that no two members write the same bytes where their ends lie; see `require_apart_in`."""
        require_apart_in(self.placed)

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

        Each member counts as at least one run, because it lies in a buffer of its own.
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
                views = [View(each.order) if end is None else end_view(member, end) for end in ends]
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
        made = StreamChunks(self.placed, self.source_origin[0], chunks, views) if is_end else None
        return made or super().recurring(chunks, views, chunk, padding)

    @property
    def copies(self) -> list[StridedCopy]:
        """The copies of all that moves, from the sources to the destinations."""
        low = self.source_origin[0]
        return copies_of(self.placed, [each.first for each in self.placed], low, low + self.nbytes, self._views, {})

    def __str__(self) -> str:
        ends = f"{self.source.memory} → {self.destination.memory}"
        return f"{ends} ({self.members_text}, {format_bytes(self.nbytes)}; the first one: {self.members[0]})"


def bundle(transfers: Sequence[Transfer], *, priority: int | None = None) -> Transfer:
    """Several transfers between the same two memories as one transfer: one path, one set of one-time costs, one event.

    The transfers may have different index spaces, fields, layouts and boxes, such as the structs of a simulation or all layers of
    a KV cache. A chunk holds as many small transfers as fit, so that they share messages. A bundle of one transfer is that
    transfer.

        >>> space, fields = isoviz.IndexSpace(x=1024), isoviz.FieldSpace(a="float32")
        >>> layer = isoviz.Transfer.whole(space, fields, "node0.sys", "<F, x>", "node1.sys", "<F, x>")
        >>> plan = isoviz.plan(isoviz.bundle([layer] * 32), "two-node")

    At each end a run takes one of these: a list with an object for each transfer, in the same order; one object with the bytes of
    all instances, one after the other; or nothing. An end in a file system is one file. Its instances lie there one after the
    other, or at the offsets that they name. `priority` is the priority of the bundle, by default the highest of the transfers.

    Raises:
        InputError: `transfers` is not a sequence of transfers.
        TransferError: the sequence is empty; a transfer is itself a bundle, joins other memories, or names another file or a
            file without an offset; source and destination are the same file; or two transfers write the same bytes of a file.
            The message names the transfer.
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
    made.require_apart()
    return made


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
