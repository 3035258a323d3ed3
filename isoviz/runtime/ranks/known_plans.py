"""What a rank knows of the plans that it submits again and again."""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from typing import TYPE_CHECKING

from isoviz._version import __version__
from isoviz.errors import InputError
from isoviz.planner.plan_file import plan_digest
from isoviz.runtime.ranks.eager import is_eager
from isoviz.runtime.ranks.messages import Digest
from isoviz.scheduling.work import Work

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime.trace.trace import TransferSpan

KEPT_PLANS = 64
KEPT_WORKS = 64
"""Kept of one plan: with other priorities and requests it is other work."""


class KnownPlan:
    """What a rank knows of a plan.

    - `ranks`: the ranks that have one of its memories. `sender`, `receiver`: the ranks of its ends.
    - `is_durable`: whether the destination is a file, which is complete only once it is on the disk.
    - `is_direct`: whether one rank writes straight to another one.
    """

    def __init__(self, plan: Plan, machine: Machine) -> None:
        self.plan = plan
        self._machine = machine
        nodes = {name: machine.memory(name).node for name in plan.every_memory}
        self.ranks = tuple(sorted(set(nodes.values())))
        transfer = plan.transfer
        self.sender, self.receiver = nodes[transfer.source.memory], nodes[transfer.destination.memory]
        self.is_durable = machine.memory(transfer.destination.memory).is_file_system
        is_one_hop = all(len(path.hops) == 1 for path in plan.paths)
        self.is_direct = len(self.ranks) == 2 and self.sender != self.receiver and is_one_hop
        self._nodes = nodes
        self.is_single: bool | None = None
        """Whether it is a single request; None before that is known."""
        self.span: TransferSpan | None = None
        """What the traces of its runs over lanes have in common."""
        self._works: dict[int, tuple[Work, Work]] = {}
        """Work with ranks, by the `id` of the work without them, which is kept with it."""

    @cached_property
    def digest(self) -> Digest | None:
        """What the ranks have to agree on; None for a plan of one rank."""
        if len(self.ranks) < 2:
            return None
        return Digest(__version__, self._machine.digest, plan_digest(self.plan))

    @cached_property
    def is_eager(self) -> bool:
        """Whether the bytes are sent inside the message."""
        return is_eager(self.plan, self._machine)

    def with_ranks(self, work: Work, size: int) -> Work:
        """The work of this plan with the rank of every hop and of the destination. There are `size` ranks.

        Raises:
            InputError: a memory is on a node without a rank.
        """
        if (made := self._works.get(id(work))) is not None:
            return made[1]
        paths = []
        for path, own in zip(self.plan.paths, work.paths, strict=True):
            nodes = [self._nodes[name] for name in path.memories]
            if max(nodes) >= size:
                name = path.memories[nodes.index(max(nodes))]
                raise InputError(f"plan: {name} is on node {max(nodes)}, and there are {size} ranks, one for each node from 0")
            paths.append(own._replace(ranks=tuple(nodes[:-1]), receiver=nodes[-1]))
        found = Work(tuple(paths), work.priority)
        if len(self._works) > KEPT_WORKS:
            self._works.clear()
        self._works[id(work)] = work, found
        return found


class KnownPlans:
    """The plans that a rank knows, the latest of them."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._known: OrderedDict[int, KnownPlan] = OrderedDict()

    def of(self, plan: Plan) -> KnownPlan:
        """What this rank knows of a plan."""
        known = self._known.get(id(plan))
        if known is None or known.plan is not plan:
            known = self._known[id(plan)] = KnownPlan(plan, self._machine)
            if len(self._known) > KEPT_PLANS:
                self._known.popitem(last=False)
        return known
