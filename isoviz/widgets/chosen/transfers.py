"""The transfers of a session: one is edited, the others stand beside it and share its machine."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from isoviz.errors import InputError
from isoviz.widgets.chosen.machine_choice import MachineChoice
from isoviz.widgets.chosen.settings import Settings, TransferSettings

if TYPE_CHECKING:
    from isoviz.planner import Plan

MOST_TRANSFERS = 16
"""Transfers of a session: more would not be told apart on a screen."""


def every_transfer(settings: Settings) -> tuple[TransferSettings, ...]:
    """All transfers in their order, the one that is edited among them."""
    place = min(settings.place, len(settings.beside))
    return (*settings.beside[:place], _alone(settings), *settings.beside[place:])


def added(settings: Settings) -> Settings:
    """The settings with a copy of the present transfer, which is edited from now on.

    Raises:
        InputError: there are too many.
    """
    return duplicated(settings, settings.key)


def duplicated(settings: Settings, key: int) -> Settings:
    """The settings with a copy of a transfer behind it; the copy is edited from now on.

    Raises:
        InputError: there is no such transfer, or there are too many.
    """
    transfers = every_transfer(settings)
    if len(transfers) >= MOST_TRANSFERS:
        raise InputError(f"{len(transfers)} transfers are as many as a session has; remove one first")
    place = _place_of(transfers, key)
    copy = replace(transfers[place], key=1 + max(each.key for each in transfers), name=_free_name(transfers))
    return _edited(settings, (*transfers[: place + 1], copy, *transfers[place + 1 :]), place + 1)


def with_urgent(settings: Settings, plan: Plan | None) -> Settings:
    """The settings with a copy of the transfer that is edited, more urgent than all. It begins when half of `plan` is over.

    Raises:
        InputError: there are too many transfers, or there is no plan.
    """
    if plan is None:
        raise InputError("an urgent transfer needs a plan beside which it runs; there is none yet")
    transfers = every_transfer(settings)
    urgent = duplicated(settings, settings.key)
    typed = [each.priority.strip() for each in transfers]
    most = max([plan.transfer.priority, *(int(text) for text in typed if re.fullmatch("[+-]?[0-9]{1,7}", text))])
    names = {each.name for each in transfers}
    numbered = (f"Urgent {number}" for number in range(2, len(transfers) + 2))
    name = next(name for name in ("Urgent", *numbered) if name not in names)
    begin = 0.5 * plan.seconds
    text = {"name": name, "priority": str(most + 1), "begin": f"{begin:.4g}"}
    return chosen(with_transfer(urgent, urgent.key, **text), settings.key)


def removed(settings: Settings, key: int) -> Settings:
    """The settings without a transfer. Where it was the one that is edited, its neighbour is edited from now on.

    Raises:
        InputError: there is no such transfer, or it is the only one.
    """
    transfers = every_transfer(settings)
    place = _place_of(transfers, key)
    if len(transfers) == 1:
        raise InputError("the only transfer of a session cannot be removed")
    rest = (*transfers[:place], *transfers[place + 1 :])
    if key == settings.key:
        return _edited(settings, rest, min(place, len(rest) - 1))
    return _edited(settings, rest, _place_of(rest, settings.key))


def chosen(settings: Settings, key: int) -> Settings:
    """The settings in which another transfer is edited.

    Raises:
        InputError: there is no such transfer.
    """
    transfers = every_transfer(settings)
    return _edited(settings, transfers, _place_of(transfers, key))


def with_transfer(settings: Settings, key: int, **changes: str) -> Settings:
    """The settings with another name, priority or begin of a transfer.

    Raises:
        InputError: there is no such transfer.
    """
    if key == settings.key:
        return replace(settings, **changes)  # type: ignore[arg-type]  # these fields are texts
    _place_of(every_transfer(settings), key)
    changed = tuple(replace(each, **changes) if each.key == key else each for each in settings.beside)  # type: ignore[arg-type]
    return replace(settings, beside=changed)


def of_transfers(transfers: tuple[TransferSettings, ...], place: int, machine: MachineChoice, runs_in: str) -> Settings:
    """The settings in which the transfer at `place` is edited. Keys of transfers are numbers from 1."""
    numbered = tuple(replace(each, key=number) for number, each in enumerate(transfers, 1))
    return _edited(Settings(machine=machine, runs_in=runs_in), numbered, place)


def _edited(settings: Settings, transfers: tuple[TransferSettings, ...], place: int) -> Settings:
    """The settings in which the transfer at `place` is edited."""
    beside = (*transfers[:place], *transfers[place + 1 :])
    return replace(settings, **vars(transfers[place]), beside=beside, place=place)


def _alone(settings: Settings) -> TransferSettings:
    """The transfer that is edited, without what it shares with the others."""
    return TransferSettings(**{each.name: getattr(settings, each.name) for each in fields(TransferSettings)})


def _place_of(transfers: tuple[TransferSettings, ...], key: int) -> int:
    for place, each in enumerate(transfers):
        if each.key == key:
            return place
    raise InputError(f"transfer {key}: it is not there, or not any more")


def _free_name(transfers: tuple[TransferSettings, ...]) -> str:
    taken = {each.name for each in transfers}
    return next(name for number in range(2, MOST_TRANSFERS + 2) if (name := f"Transfer {number}") not in taken)
