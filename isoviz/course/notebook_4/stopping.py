"""A small simulator of transfers that take buffers one after the other, and that can come to stand still.

isoviz's own scheduler cannot: a transfer gets all of its buffers at once (`isoviz.scheduling.admission`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

Orders = Sequence[Sequence[str]]
"""For each transfer, the buffers that it takes, the first one first. It gives all of them back when it has the last."""
_State = tuple[int, ...]
"""How many buffers each transfer has taken; one more than it needs: it has ended."""
_Step = tuple[int, str]
"""A transfer that takes a buffer."""


class Stop(NamedTuple):
    """Where nobody can go on: the steps that lead there, (transfer, buffer) each, who holds what, and who waits for what."""

    steps: tuple[_Step, ...]
    holds: dict[int, list[str]]
    waits: dict[int, str]


def stop_of(orders: Orders) -> Stop | None:
    """The nearest stop that some sequence of steps leads to; None where every sequence ends all transfers."""
    first: _State = (0,) * len(orders)
    came: dict[_State, tuple[_State, _Step | None]] = {first: (first, None)}
    pending = deque([first])
    while pending:
        state = pending.popleft()
        following = list(_steps(orders, state))
        if not following and any(taken <= len(order) for taken, order in zip(state, orders, strict=True)):
            return _told(orders, state, came)
        for after, step in following:
            if after not in came:
                came[after] = state, step
                pending.append(after)
    return None


def _held(orders: Orders, state: _State) -> dict[str, int]:
    """The transfer that holds each buffer that is taken."""
    pairs = enumerate(zip(state, orders, strict=True))
    return {buffer: who for who, (taken, order) in pairs if taken <= len(order) for buffer in order[:taken]}


def _steps(orders: Orders, state: _State) -> list[tuple[_State, _Step | None]]:
    """The states that one step leads to: a transfer takes a free buffer, or it has all and ends."""
    held, found = _held(orders, state), list[tuple[_State, _Step | None]]()
    for who, (taken, order) in enumerate(zip(state, orders, strict=True)):
        after = (*state[:who], taken + 1, *state[who + 1 :])
        if taken == len(order):
            found.append((after, None))
        elif taken < len(order) and order[taken] not in held:
            found.append((after, (who, order[taken])))
    return found


def _told(orders: Orders, state: _State, came: dict[_State, tuple[_State, _Step | None]]) -> Stop:
    steps, at = [], state
    while at != came[at][0]:
        at, step = came[at]
        steps += [step] if step else []
    going = {who: (taken, order) for who, (taken, order) in enumerate(zip(state, orders, strict=True)) if taken <= len(order)}
    holds = {who: list(order[:taken]) for who, (taken, order) in going.items()}
    return Stop(tuple(reversed(steps)), holds, {who: order[taken] for who, (taken, order) in going.items()})
