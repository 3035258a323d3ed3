"""4.5: in which order do transfers take their buffers, so that they cannot come to stand still?"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from isoviz.course.exercise import Exercise, Given, Verdict, WrongModel
from isoviz.course.functions import Cases, Function, Source
from isoviz.course.notebook_4.timelines import ShownMarkup, waiting_html

# A small simulator of transfers that take buffers one after the other, and that can come to stand still.
#
# isoviz's own scheduler cannot: a transfer gets all of its buffers at once (`isoviz.scheduling.admission`).

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


_CASES = 6


def _draw(source: random.Random) -> dict[str, Any]:
    names = source.sample("ABCDEFGHJKLMN", 5)
    pair = names[:2]
    systems = [[pair, pair[::-1]]]  # the two that the statement tells
    while len(systems) < _CASES:
        systems.append([source.sample(names, source.randrange(2, 4)) for _ in range(source.randrange(3, 5))])
    return {"systems": systems}


def in_one_order(needs: list[list[str]]) -> list[list[str]]:
    """Right: everybody takes buffers in the order of the alphabet."""
    return [sorted(each) for each in needs]


def as_they_come(needs: list[list[str]]) -> list[list[str]]:
    """Wrong: everybody as before."""
    return [list(each) for each in needs]


def turned_around(needs: list[list[str]]) -> list[list[str]]:
    """Wrong: everybody the other way round."""
    return [list(each)[::-1] for each in needs]


def first_in_order(needs: list[list[str]]) -> list[list[str]]:
    """Wrong: only the first buffer follows the alphabet."""
    return [[min(each), *(name for name in each if name != min(each))] for each in needs]


def spread_out(needs: list[list[str]]) -> list[list[str]]:
    """Wrong: as many as possible begin with a buffer of their own."""
    found: list[list[str]] = []
    for each in needs:
        begun = {other[0] for other in found}
        own = next((name for name in each if name not in begun), each[0])
        found.append([own, *(name for name in each if name != own)])
    return found


_Order = Callable[[list[list[str]]], list[list[str]]]
_FUNCTION = Function("order(needs)")
_MODELS: dict[str, _Order] = {
    "order-kept": as_they_come,
    "turned-around": turned_around,
    "first-in-order": first_in_order,
    "spread-out": spread_out,
}


def _read(value: Any) -> list[list[str]] | None:
    if not isinstance(value, list) or not all(isinstance(each, list) for each in value):
        return None
    return value if all(isinstance(name, str) for each in value for name in each) else None


def _complete(orders: Orders, needs: Orders) -> bool:
    return len(orders) == len(needs) and all(sorted(one) == sorted(other) for one, other in zip(orders, needs, strict=True))


def _cannot_stop(orders: Orders, needs: Orders) -> bool:
    return _complete(orders, needs) and stop_of(orders) is None


_CHECKED = Cases(
    exercise="4.5",
    arguments=lambda given: [(needs,) for needs in given["systems"]],
    right=in_one_order,
    read=_read,
    same=lambda one, other: bool(one == other),
    models=_MODELS,
    told=lambda needs: f"needs = {needs}",
    holds=_cannot_stop,
)


def _judge(source: Source, given: Given) -> Verdict:
    verdict = _CHECKED.judge(source, given)
    if "number" not in verdict.words:  # it is right, or it was not run to the end
        return verdict
    number = verdict.words["number"]
    assert isinstance(number, int)
    orders, needs = verdict.words["value"], given["systems"][number - 1]
    if not _complete(orders, needs):  # type: ignore[arg-type]  # `_read` has read it
        missing = BUFFER_ORDERS.text("says", "incomplete", given=given)
        return replace(verdict, says=f"{verdict.says} {missing}")
    stop = stop_of(orders)  # type: ignore[arg-type]
    assert stop is not None
    words = {**verdict.words, **_stop_words(stop)}
    stops = BUFFER_ORDERS.text("says", "stops", given=given, **words)
    return replace(verdict, says=f"{verdict.says} {stops}", words=words, picture=lambda: _picture(stop))


def _stop_words(stop: Stop) -> dict[str, object]:
    steps = [f"transfer {who} takes {what}" for who, what in stop.steps]
    waits = [f"transfer {who} waits for {what}" for who, what in stop.waits.items()]
    return {"steps": ", ".join(steps), "waits": " and ".join(waits)}


def _picture(stop: Stop) -> ShownMarkup:
    holds = {f"transfer {who}": held for who, held in stop.holds.items()}
    waits = {f"transfer {who}": what for who, what in stop.waits.items()}
    return waiting_html(holds, waits, "Who holds what, and who waits for what")


def _stop_of_statement(given: Given) -> Stop:
    stop = stop_of(given["systems"][0])
    assert stop is not None
    return stop


def _words(given: Given) -> dict[str, object]:
    one, other = given["systems"][0]
    return {
        "one": " then ".join(one), "other": " then ".join(other), "needs": given["systems"][0],
        "stops": f"{(said := _stop_words(_stop_of_statement(given)))['steps']}; then {said['waits']}",
        "number_of_cases": len(given["systems"]),
    }  # fmt: skip


def _model(name: str) -> WrongModel:
    return WrongModel(name, lambda given: _FUNCTION.read(_MODELS[name], given))


BUFFER_ORDERS = Exercise(
    "4.5",
    _FUNCTION,
    _draw,
    _judge,
    tuple(map(_model, _MODELS)),
    lambda given: _FUNCTION.read(in_one_order, given),
    words=_words,
    picture=lambda given: _picture(_stop_of_statement(given)),
    apart=lambda given: _CHECKED.tells_apart(given) and all(_some_stop(model, given) for model in _MODELS.values()),
    hidden=("systems",),
)


def _some_stop(model: _Order, given: Given) -> bool:
    """Whether a wrong model comes to a stop in some case besides that of the statement."""
    return any(stop_of(model(needs)) for needs in given["systems"][1:])
