"""Transfers of regular sets: all that one rank sends another one, as few transfers as possible."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from isoviz.errors import TransferError
from isoviz.layouts import Box, Mode, View
from isoviz.planner import Instance, Transfer
from isoviz.redistribution.sets.regular import Regular, common
from isoviz.redistribution.sets.stretched import Stretch, StretchedLinearization

if TYPE_CHECKING:
    from isoviz.redistribution.distributed_instance import DistributedInstance


@dataclass(frozen=True)
class RegularTransfer(Transfer):
    """A transfer of entries that lie at regular places of both instances: every fourth row, or every other block.

    `sets` holds a regular set for each dimension, in the order of the source's dimensions. `shape` is the number of coordinates
    of each set; the two origins are the places of its first coordinate. In its own coordinates the transfer moves a box.

    Raises:
        TransferError: the sets do not belong to the shape and the origins, or do not nest with the digits of a layout.
    """

    sets: tuple[Regular, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        here, there = self.source.space.dims, self.destination.space.dims
        found = [each.places(0) for each in self.sets]
        last = [each.places(each.count - 1) for each in self.sets]
        suits = len(found) == len(here) and self.shape == tuple(each.count for each in self.sets)
        suits = suits and all(
            self.source_origin[i] == found[i][0]
            and self.destination_origin[there.index(dim)] == found[i][1]
            and last[i][0] < self.source.space[dim]
            and last[i][1] < self.destination.space[dim]
            for i, dim in enumerate(here)
        )
        if not suits or None in (*self._stretches[0], *self._stretches[1]):
            raise TransferError(f"transfer: regular sets {self.sets}: do not suit the box and the layouts of {self}")

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.sets))

    @cached_property
    def _stretches(self) -> tuple[list[Stretch | None], list[Stretch | None]]:
        set_of = dict(zip(self.source.space.dims, self.sets, strict=True))
        return (
            [Stretch.at_source(set_of[dim]).on_digits(_steps(self.source, dim)) for dim in self.source.space],
            [Stretch.at_destination(set_of[dim]).on_digits(_steps(self.destination, dim)) for dim in self.destination.space],
        )

    @property
    def further_json(self) -> dict[str, Any]:
        """The regular sets; `isoviz.redistribution.files` reads plans with them."""
        return {"sets": [{**each._asdict(), "jumps": [list(jump) for jump in each.jumps]} for each in self.sets]}

    def part(self, box: Box) -> Transfer:
        """A sub-box of this transfer, in coordinates local to it."""
        if box == Box.whole(self.space):
            return self
        if len(box.lo) != len(self.space) or not all(
            low < high <= size for low, high, size in zip(box.lo, box.hi, self.space.sizes, strict=False)
        ):
            raise TransferError(f"transfer: {box}: expected a box that is not empty, within {self.space}")
        sets = [each.part(low, high) for each, low, high in zip(self.sets, box.lo, box.hi, strict=True)]
        return transfer_of(self.source, self.destination, sets, self.field_names, self.priority)

    @property
    def is_whole(self) -> bool:
        """Whether all data of both ends move: never, as the sets leave gaps at one end."""
        return False

    def source_view(self) -> View:
        """The source as one end of a copy; local index 0 is the first coordinate of every set."""
        return self._views[0]

    def destination_view(self) -> View:
        """The destination as one end of a copy."""
        return self._views[1]

    @cached_property
    def _views(self) -> tuple[View, View]:
        here, there = [_view(*end) for end in zip(self.as_they_lie, self._stretches, strict=True)]
        return here, there


def _view(instance: Instance, stretches: Sequence[Stretch | None]) -> View:
    known = [each for each in stretches if each is not None]
    return View(StretchedLinearization.of(instance.linearization, known), tuple(each.phase for each in known))


def _steps(instance: Instance, dim: str) -> list[int]:
    return [part.step for part in instance.linearization.parts if isinstance(part, Mode) and part.dim == dim]


def transfer_of(
    source: Instance, destination: Instance, sets: Sequence[Regular], fields: tuple[str, ...] = (), priority: int = 0
) -> Transfer:
    """The transfer of one regular set per dimension; an ordinary one where every set is a range."""
    places = [each.places(0) for each in sets]
    target = dict(zip(source.space.dims, (there for _, there in places), strict=True))
    made = Transfer if all(not each.jumps for each in sets) else RegularTransfer
    more: dict[str, Any] = {} if made is Transfer else {"sets": tuple(sets)}
    return made(
        source,
        destination,
        tuple(each.count for each in sets),
        tuple(here for here, _ in places),
        tuple(target[dim] for dim in destination.space),
        fields,
        priority,
        **more,
    )


def pair_transfers(source: DistributedInstance, destination: DistributedInstance, sender: int, receiver: int) -> list[Transfer]:
    """What the rank `sender` sends the rank `receiver`, as transfers between the parts of both; empty where nothing moves."""
    here, there = source.part(sender), destination.part(receiver)
    mine, its = source.distribution.coordinates(sender), destination.distribution.coordinates(receiver)
    if here is None or there is None or mine is None or its is None:
        return []
    per_dim: list[list[Regular]] = []
    for dim in here.space:
        sets = common(source.axes[dim], mine.get(dim, 0), destination.axes[dim], its.get(dim, 0))
        steps = _steps(here, dim), _steps(there, dim)
        per_dim.append([piece for each in sets for piece in _nesting(each, steps)])
    names = destination.fields.names
    return [transfer_of(here, there, sets, names) for sets in itertools.product(*per_dim)]


def _nesting(found: Regular, steps: tuple[Sequence[int], Sequence[int]]) -> list[Regular]:
    """A set, cut at its jumps until each piece nests with the digits of both layouts. A range always does."""
    if not found.jumps:
        return [found]
    ends = Stretch.at_source(found), Stretch.at_destination(found)
    if all(end.on_digits(each) is not None for end, each in zip(ends, steps, strict=True)):
        return [found]
    return [piece for each in found.pieces() for piece in _nesting(each, steps)]
