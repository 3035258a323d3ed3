"""Ends of transfers as stores of a memory: the end of a bundle has an object of the caller for each of its members."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from isoviz.errors import InputError, IsovizError
from isoviz.planner.bundled.bundle import BundleEnd

if TYPE_CHECKING:
    from isoviz.planner import Instance, Transfer
    from isoviz.runtime.protocols import Endpoint, RealMemory


def source_of(memory: RealMemory, transfer: Transfer, given: Any | None) -> Endpoint:
    """The store that a transfer reads.

    Raises:
        Exception: as `RealMemory.source`; it names the member of a bundle. InputError: not as many objects as members.
    """
    objects = _objects(transfer.source, given)
    if objects is None:
        return memory.source(transfer.source, _only(given))
    return _together(memory, transfer.source, objects, memory.source)


def destination_of(memory: RealMemory, transfer: Transfer, given: Any | None) -> Endpoint:
    """The store that a transfer writes.

    Raises:
        Exception: as `RealMemory.destination`; it names the member of a bundle. InputError: not as many objects as members.
    """
    objects = _objects(transfer.destination, given)
    if objects is None:
        return memory.destination(transfer.destination, _only(given), transfer.is_partial)
    is_partial = transfer.is_partial
    return _together(memory, transfer.destination, objects, lambda end, each: memory.destination(end, each, is_partial))


def received(receiver: Callable[[Any], Any], given: Any) -> Any:
    """What a memory makes of an object of the caller, or of each of a list of them."""
    return [receiver(each) for each in given] if isinstance(given, list | tuple) else receiver(given)


def _objects(end: Instance, given: Any | None) -> Sequence[Any] | None:
    """The objects for the members of an end; None if it has no members, or one object or none for all of them."""
    if not isinstance(end, BundleEnd) or not isinstance(given, list | tuple):
        return None
    count = len(end.members)
    if len(given) != count or any(each is None for each in given):
        found = f"{len(given)} objects" if len(given) != count else "None among them"
        raise InputError(f"bundle: expected {count} objects in {end.memory}, one for each transfer, got {found}")
    return given


def _only(given: Any | None) -> Any | None:
    """The object of an end without members. A list of one object is taken too: a bundle of one transfer is that transfer."""
    return given[0] if isinstance(given, list | tuple) and len(given) == 1 else given


def _together(memory: RealMemory, end: Instance, objects: Sequence[Any], opened: Callable[[Instance, Any], Endpoint]) -> Endpoint:
    assert isinstance(end, BundleEnd)
    stores: list[Endpoint] = []
    try:
        for number, (member, each) in enumerate(zip(end.members, objects, strict=True)):
            try:
                stores.append(opened(member, each))
            except IsovizError as error:
                error.args = (f"bundle, transfer {number}: {error}", *error.args[1:])
                raise
        return memory.together(stores, end)
    except BaseException:
        for store in stores:
            store.close()
        raise
