"""Which part of an array moves, as it was typed: frozen values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """The indices of one dimension that move, as typed.

    `row` is the key of the dimension's row. `first` and `extent` are at the source, `to` is the first index at the destination.
    "" stands for what is usual: from the first index, up to the last, to the same index.
    """

    row: int
    first: str = ""
    extent: str = ""
    to: str = ""

    @property
    def is_everything(self) -> bool:
        """Whether nothing was typed."""
        return not (self.first.strip() or self.extent.strip() or self.to.strip())


@dataclass(frozen=True)
class Part:
    """What moves: the ranges of some dimensions (all indices of the others), and the keys of the rows of fields that stay."""

    ranges: tuple[Range, ...] = ()
    left_out: tuple[int, ...] = ()

    @classmethod
    def of(cls, ranges: Iterable[Range], left_out: Iterable[int]) -> Part:
        """A part in the one form in which equal parts are equal."""
        kept = sorted((each for each in ranges if not each.is_everything), key=lambda each: each.row)
        return cls(tuple(kept), tuple(sorted(set(left_out))))

    def of_rows(self, dimensions: Iterable[int], fields: Iterable[int]) -> Part:
        """The part without what rows say that are gone."""
        there, left = set(dimensions), set(fields)
        return Part.of((each for each in self.ranges if each.row in there), (key for key in self.left_out if key in left))

    def range_of(self, row: int) -> Range:
        """The range of the dimension whose row has this key."""
        return next((each for each in self.ranges if each.row == row), Range(row))


EVERYTHING = Part()
"""All entries with all their fields."""
