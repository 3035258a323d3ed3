"""Hops with neighbours on other ranks: the counters that messages advance, and the messages that have to be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.errors import InputError
from isoviz.runtime.scheduling.pool import Tells
from isoviz.runtime.scheduling.work import SendArrived, SendCredit

if TYPE_CHECKING:
    from isoviz.runtime.scheduling.pool import TransferState
    from isoviz.runtime.scheduling.work import Instruction, PathWork

ARRIVED, CREDIT = "arrived", "credit"
"""The counters, which are also the names of the messages that advance them."""


def link(transfer: TransferState, path: PathWork, start: int, here: int, out: list[Instruction]) -> None:
    """Link the hops of a path with their neighbours on other ranks. The first hop of the path has the number `start`.

    This sets the counters of the hops here that depend on other ranks. It also notes which hops here have to inform other ranks,
    and sends the first credits: also that of a destination here which another rank writes.
    """
    if path.has_receiver:
        last = start + len(path.ranks) - 1
        if (writing := transfer.xds.get(last)) is not None:
            writing.credit = transfer.early.get((CREDIT, last), 0)
        if path.receiver == here:
            out.append(SendCredit(path.ranks[-1], transfer.number, last, path.chunks))
    for at, rank in enumerate(path.ranks):
        waiting = transfer.xds.get(start + at)
        for reason, hop, lead in path.dependencies(at):
            moving = transfer.xds.get(start + hop)
            if waiting is not None and moving is not None:
                waiting.waits_for(moving, reason, lead)
            elif waiting is not None and reason == "slot":
                waiting.credit = transfer.early.get((CREDIT, start + at), 0)
            elif waiting is not None:
                waiting.arrived = max(lead, transfer.early.get((ARRIVED, start + at), 0))
            elif moving is not None:
                told = Tells(SendCredit if reason == "slot" else SendArrived, rank, start + at, lead)
                moving.tells = (*moving.tells, told)
                if reason == "slot":
                    told.tell(moving, out)


def check(transfer: TransferState, rank: int, hop: int, count: int, message: str) -> None:
    """Refuse a message that cannot be meant for a hop.

    Raises:
        InputError: there is no such hop, the hop is another rank's, no hop of another rank advances that counter, or the count is
            not a possible number of chunks.
    """
    where = f"{message} of transfer {transfer.number}, hop {hop}"
    places = transfer.work.places
    if not 0 <= hop < len(places):
        raise InputError(f"{where}: expected a hop from 0 to {len(places) - 1}")
    number, at = places[hop]
    path = transfer.work.paths[number]
    if path.ranks and path.ranks[at] != rank:
        raise InputError(f"{where}: the hop is carried out by rank {path.ranks[at]}, not by rank {rank}")
    advancing = [other for reason, other, _ in path.dependencies(at) if (reason == "slot") == (message == CREDIT)]
    is_received = message == CREDIT and path.has_receiver and at == len(path.ranks) - 1
    if not path.ranks or not (is_received or any(path.ranks[other] != rank for other in advancing)):
        raise InputError(f"{where}: no hop of another rank advances this counter")
    if not 0 <= count <= path.chunks:
        raise InputError(f"{where}: {count} chunks, expected 0 to {path.chunks}")
