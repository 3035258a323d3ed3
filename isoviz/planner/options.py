"""The choices that a user may make besides the transfer itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from isoviz import checks
from isoviz.machines.limits import MOST_SLOTS
from isoviz.planner.planner_registry import find_planner
from isoviz.units import parse_bytes

if TYPE_CHECKING:
    from isoviz.planner.plan import Plan

AUTO = "auto"
"""The planner unless the options say otherwise."""
PLANNING_TIME = 2.0
"""The planning time unless the options say otherwise."""
MOST_PLANNING_TIME = 86400.0
"""The largest planning time in seconds that the options may give."""
MOST_COUNTED = 64
"""The most paths, and the most proxies of a path, that the options may allow."""
MOST_REUSE = 10**9
"""The largest number of runs that the options may give: from here on, what is kept costs nothing."""
BY_HAND = "by hand"
"""The planner's name in a plan whose path the user gave (`isoviz.planner.by_hand.path_by_hand`)."""


@dataclass(frozen=True)
class Options:
    """Choices of a transfer; None leaves a choice to the machine.

    `slot_limit` bounds one slot (Isometry's TH) and `memory_limit` all buffers of the transfer, in bytes or as text such as
    "32MiB". `slots` is the number of slots of an intermediate buffer.

    `paths` is the largest number of paths of a plan. `proxies` is the largest number of memories of a path between its ends. Both
    are for `multipath`, which raises NoPathError if every path stops in more memories.

    `reuse` is how often the transfer will run, 1 by default. The planner then minimises the time of all runs together, in which
    costs that are kept between runs (`OneTimeCost.kept`) count once. At run time, `Engine.prepare` keeps what such a plan counts
    on.

    `planning_time` bounds planning, in seconds. No clock is read: planning counts its steps, a million for a second
    (`isoviz.planner.planning_work`). So the same question has the same plan on every computer. A second of planning time takes
    about a second on an idle computer of 2024. Without it the bound is `PLANNING_TIME`, for `program` a minute; `auto` also stops
    where planning costs more than it can save. When the time is used up, the result is the best plan so far, and its `gap` says
    how far it can be from the optimum.

    Raises:
        InputError: the planner is unknown, a size or a number of slots, paths, proxies or runs is invalid, or the planning time
            is not a number above 0.
    """

    planner: str = AUTO
    slot_limit: int | None = None
    memory_limit: int | None = None
    slots: int | None = None
    planning_time: float | None = None
    paths: int | None = None
    proxies: int | None = None
    reuse: int | None = None

    def __post_init__(self) -> None:
        planner: object = self.planner
        if not isinstance(planner, str) or planner != AUTO:
            find_planner(planner)
        for name in ("slot_limit", "memory_limit"):
            value = getattr(self, name)
            if value is not None:
                size = checks.count("options", name, parse_bytes(value), low=1)
                object.__setattr__(self, name, size)
        slots: Any = self.slots
        if slots is not None:
            object.__setattr__(self, "slots", checks.whole("options", "slots", slots, low=1, high=MOST_SLOTS))
        for name, least in (("paths", 1), ("proxies", 0)):
            count: Any = getattr(self, name)
            if count is not None:
                object.__setattr__(self, name, checks.whole("options", name, count, low=least, high=MOST_COUNTED))
        reuse: Any = self.reuse
        if reuse is not None:
            object.__setattr__(self, "reuse", checks.whole("options", "reuse", reuse, low=1, high=MOST_REUSE))
        if self.planning_time is not None:
            seconds = checks.number("options", "planning_time", self.planning_time, open_low=True, high=MOST_PLANNING_TIME)
            object.__setattr__(self, "planning_time", seconds)

    @classmethod
    def given(cls, options: Options | None) -> Options:
        """The options that were passed to a call. For None they are the options that leave every choice to the machine.

        Raises:
            InputError: the argument is neither `Options` nor None.
        """
        if options is None:
            return _NONE
        checks.expect("options", options, Options, "isoviz.Options or None")
        return options

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, Any]:  # hashes of text differ from process to process
        return {name: value for name, value in vars(self).items() if name != "_hash"}

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(self.as_dict().items()))

    def as_dict(self) -> dict[str, Any]:
        """The choices that were made, by name; those left to the machine are omitted."""
        names = ("planner", "slot_limit", "memory_limit", "slots", "planning_time", "paths", "proxies", "reuse")
        found = {name: getattr(self, name) for name in names}
        return {name: value for name, value in found.items() if value is not None}


def options_about(plan: Plan, options: Options | None) -> Options:
    """The options for questions about a plan, with the number of runs that it was made for unless they say another one."""
    options = Options.given(options)
    return replace(options, reuse=plan.reuse) if options.reuse is None and plan.reuse > 1 else options


_NONE = Options()
