"""The same transfer with another size."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isoviz.errors import InputError
from isoviz.layouts import IndexSpace

if TYPE_CHECKING:
    from isoviz.planner.transfer import Instance, Transfer


def resized(transfer: Transfer, dim: str, size: int) -> Transfer:
    """The transfer with another size of one dimension. Both instances grow or shrink by the same amount as the box that moves.

    Raises:
        InputError: the size is below 1. LayoutError: a block of a layout is larger than the new size.
    """
    if size < 1:
        raise InputError(f"size of {dim!r}: expected at least 1, got {size}")
    more = size - transfer.space[dim]
    shape = tuple(size if name == dim else extent for name, extent in zip(transfer.source.space, transfer.shape, strict=True))
    source, destination = (_resized(end, dim, more) for end in (transfer.source, transfer.destination))
    return replace(transfer, source=source, destination=destination, shape=shape)


def _resized(end: Instance, dim: str, more: int) -> Instance:
    sizes = {name: size + (more if name == dim else 0) for name, size in end.space.as_dict().items()}
    return replace(end, space=IndexSpace.of(sizes), path=None)
