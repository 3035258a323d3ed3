"""MPI datatypes for one end of strided copies: the same copies in the same order give the bytes of both ends the same order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from isoviz.layouts.copies import ListedCopy

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy


def datatype(mpi: Any, copies: Sequence[StridedCopy], end: Literal["source", "destination"]) -> Any:
    """The bytes of one end, as a committed datatype whose offsets count from the first byte of the store. The caller frees it.

    To be called in the MPI thread.
    """
    stride = 1 if end == "source" else 2
    kinds, places = [], []
    made: list[Any] = []
    for copy in copies:
        kind = mpi.BYTE.Create_contiguous(copy.run)
        made.append(kind)
        for loop in reversed(copy.loops):
            if loop[stride] < 0:  # Open MPI 5.0 takes a vector that goes back as one that goes on
                kind = kind.Create_hindexed([1] * loop[0], [turn * loop[stride] for turn in range(loop[0])])
            else:
                kind = kind.Create_hvector(loop[0], 1, loop[stride])
            made.append(kind)
        if isinstance(copy, ListedCopy):
            kind = kind.Create_hindexed_block(1, copy.offsets[stride - 1])
            made.append(kind)
            places.append(0)
        else:
            places.append(copy.source_offset if end == "source" else copy.destination_offset)
        kinds.append(kind)
    whole = mpi.Datatype.Create_struct([1] * len(kinds), places, kinds)
    for unused in made:
        unused.Free()
    return whole.Commit()
