"""Answers that are plans by hand. What was chosen is read: memories, layouts, chunk. The plan is computed again from them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isoviz.course.exercise import Given, Kind, NotAnAnswer
from isoviz.errors import show
from isoviz.machines import Machine
from isoviz.planner import Options, Plan, Transfer, cost


@dataclass(frozen=True)
class ByHand:
    """What a learner chose: the memories of the path, the layouts between its ends, and the bytes of a chunk (None: the best)."""

    memories: tuple[str, ...]
    layouts: tuple[str, ...]
    chunk: int | None = None
    slots: int = 2


@dataclass(frozen=True)
class PlanAnswer(Kind):
    """A plan for `transfer` on `machine`: a pane, a plan, or whatever `shorthand` makes a `ByHand` of.

    What a plan says of its own time and rate is not read. `has_chunk`: whether the chunk belongs to the answer. `path`: the
    memories of the path that is asked for; without it, any path is an answer.
    """

    transfer: Callable[[Given], Transfer]
    machine: Callable[[Given], Machine]
    shorthand: Callable[[object, Given], ByHand | None] = lambda _answer, _given: None
    expected: str = "the pane, or a plan"
    has_chunk: bool = False
    path: Callable[[Given], Sequence[str]] | None = None

    def read(self, answer: object, given: Given) -> ByHand:
        """The choices of the plan."""
        short = self.shorthand(answer, given)
        if short is not None:
            return short
        views = sys.modules.get("isoviz.widgets.views.plan_view")
        if views is not None and isinstance(answer, views.PlanView):
            answer = answer.answer()
        if not isinstance(answer, Plan):
            raise NotAnAnswer(f"expected {self.expected}, got {show(answer)}")
        if answer.transfer != self.transfer(given):
            raise NotAnAnswer("that is a plan of another transfer; expected the one of the exercise")
        if answer.machine_digest != self.machine(given).digest:
            raise NotAnAnswer("that is a plan for another machine; expected the one of the exercise, unchanged")
        if len(answer.paths) != 1:
            raise NotAnAnswer(f"expected a plan with one path, got {len(answer.paths)}")
        layouts = tuple(str(each.layout) for each in answer.orders[1:-1])
        chunk = answer.chunk_bytes if self.has_chunk else None
        return self._on_path(ByHand(tuple(answer.memories), layouts, chunk), given)

    def _on_path(self, choices: ByHand, given: Given) -> ByHand:
        path = choices.memories if self.path is None else tuple(self.path(given))
        if choices.memories != path:
            raise NotAnAnswer(f"expected a plan on the path {', '.join(path)}; this one takes {', '.join(choices.memories)}")
        return choices

    def keep(self, read: Any) -> Any:
        """The choices."""
        return {"memories": list(read.memories), "layouts": list(read.layouts), "chunk": read.chunk, "slots": read.slots}

    def again(self, kept: Any, given: Given) -> ByHand:
        """The choices that were kept."""
        if not isinstance(kept, Mapping) or set(kept) != {"memories", "layouts", "chunk", "slots"}:
            raise NotAnAnswer("expected the choices of a plan")
        texts = [*kept["memories"], *kept["layouts"]]
        numbers = [each for each in (kept["chunk"], kept["slots"]) if each is not None]
        if not all(isinstance(each, str) for each in texts) or not all(type(each) is int for each in numbers):
            raise NotAnAnswer("expected memories and layouts as texts, and whole numbers")
        choices = ByHand(tuple(kept["memories"]), tuple(kept["layouts"]), kept["chunk"], kept["slots"])
        return self._on_path(choices, given)

    def computed(self, choices: ByHand, given: Given, **options: Any) -> Plan:
        """The plan that follows from the choices, also where it breaks limits: `Plan.violations` says which.

        Raises:
            InputError: the path cannot be used like that; the message says why.
        """
        return cost(
            self.transfer(given),
            self.machine(given),
            ", ".join(choices.memories),
            list(choices.layouts),
            **({} if choices.chunk is None else {"chunk": choices.chunk}),
            options=Options(slots=choices.slots, **options),
            over_limits=True,
        )
