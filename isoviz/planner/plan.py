"""A plan: one or several paths that together carry out a transfer, with every decision made. Pure data."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from isoviz import checks
from isoviz.document import Told
from isoviz.errors import TransferError
from isoviz.layouts import Layout
from isoviz.planner.path_plan import mean_of
from isoviz.planner.shares import Share, check_shares, share_of
from isoviz.planner.time.schedule import ScheduledEnds, scheduled_ends
from isoviz.planner.time.together import rates_together, seconds_together, sharing_paths
from isoviz.public_method import PublicMethod

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.layouts import ChunkSequence, Linearization, StridedCopy, View
    from isoviz.planner.path_plan import Buffer, Constraint, Hop, PathPlan
    from isoviz.planner.transfer import Instance, Transfer


@dataclass(frozen=True, repr=False)
class Plan(Told):
    """The result of `plan()`, for one machine (`machine_digest`).

    `paths` holds one or several paths. Each path moves its share of the data (`share`), and together they move every byte once.
    `gap` is the largest share by which T can lie above the optimum, apart from the thousandth that the choice of larger chunks
    may cost; None if nothing is proved. `emulated` names the emulated memories of the paths. `violations` holds the limits that a
    plan by hand breaks (`isoviz.plan_by_path(…, over_limits=True)`), with what is needed and what is allowed.

    A plan with one path has the properties of that path: `plan.hops`, `plan.chunks`, `plan.order`. With several paths these raise
    TransferError; use `plan.paths` then.

    `plan.explain()`, `plan.simulate()` and `plan.run()` are `isoviz.explain(plan)`, `isoviz.simulate(plan)` and
    `isoviz.run(plan)`, with the same further arguments; `plan.save(path)` is `isoviz.planner.save_plan(plan, path)`.
    `plan.to_json()` is `isoviz.planner.plan_to_json(plan)`, and `Plan.from_json(data)` makes an equal plan from that object or
    its text.

    Raises:
        TransferError: the shares of the paths leave a gap or overlap; the message names it.
    """

    transfer: Transfer
    machine_name: str
    machine_digest: str
    planner: str
    paths: tuple[PathPlan, ...]
    notes: tuple[str, ...] = ()
    gap: float | None = None
    emulated: tuple[str, ...] = ()
    violations: tuple[Constraint, ...] = ()

    document = PublicMethod("isoviz.planner.explanation.plan_document", "plan_document")
    explain = PublicMethod()
    simulate = PublicMethod()
    run = PublicMethod()
    save = PublicMethod("isoviz.planner", "save_plan")
    to_json = PublicMethod("isoviz.planner", "plan_to_json")
    from_json = PublicMethod("isoviz.planner", "plan_from_json", of_class=True)

    def __post_init__(self) -> None:
        first = self.paths[0] if self.paths else None
        if first is None or len(self.paths) > 1 or first.run is not None or first.transfer is not self.transfer:
            check_shares(self.transfer, self.paths)
        if len(self.paths) > 1 and len({path.overlap for path in self.paths}) > 1:
            raise TransferError("plan: some paths overlap their hops, others do not; expected what the machine says, of all")
        if len(self.paths) > 1 and len({path.reuse for path in self.paths}) > 1:
            raise TransferError("plan: its paths start differently often; expected one number of starts, of all")

    def lying(self, source: Instance | None, destination: Instance | None) -> Plan:
        """The plan for ends whose fields lie at other places (`Transfer.lying`). None: as the instance says. No decision changes.

        Raises:
            TransferError: an end lacks a field that moves.
        """
        if source is None and destination is None:
            return self
        lying = source or self.transfer.source, destination or self.transfer.destination
        whole = replace(self.transfer, lying=lying)
        parts = [whole if path.transfer is self.transfer else replace(path.transfer, lying=lying) for path in self.paths]
        return replace(
            self, transfer=whole, paths=tuple(replace(path, transfer=part) for path, part in zip(self.paths, parts, strict=True))
        )

    # ---- of all paths together

    @property
    def bytes(self) -> int:
        """Bytes that move."""
        return self.transfer.nbytes

    @cached_property
    def seconds(self) -> float:
        """The predicted completion time of the first start.

        For one path it is the exact time of its pipeline on an idle machine (`PathPlan.seconds`). For several paths it is their
        set-up plus the time of the slowest path. Paths that share channels or resources take turns as the scheduler lets them
        (`isoviz.planner.time.schedule`).
        """
        return max(ends_of_paths(self.paths).seconds)

    @property
    def first(self) -> float:
        """The predicted seconds of the first start, which pays for everything: `seconds`."""
        return self.seconds

    @property
    def again(self) -> float:
        """The predicted seconds of every later start, which does not pay the kept costs again (`OneTimeCost.kept`)."""
        return self.later.seconds

    @property
    def total(self) -> float:
        """The predicted seconds of all starts, one after the other (`reuse`)."""
        return self.first + (self.reuse - 1) * self.again

    @property
    def mean(self) -> float:
        """The mean of the predicted seconds of all starts."""
        return mean_of(self.first, self.again, self.reuse)

    @property
    def reuse(self) -> int:
        """How often the transfer starts (`Options.reuse`)."""
        return self.paths[0].reuse

    @cached_property
    def later(self) -> Plan:
        """The plan as a start after the first one runs it: with the set-up that such a start pays, and otherwise unchanged."""
        if not any(path.kept for path in self.paths):
            return self
        return replace(self, paths=tuple([path.later for path in self.paths]))

    @cached_property
    def objective(self) -> float:
        """T, the time that planners minimise (`PathPlan.objective`): the mean of all starts.

        Several paths count as streams of bytes, which divide shared channels and resources fairly
        (`isoviz.planner.time.together`).
        """
        if len(self.paths) == 1:
            return self.paths[0].objective
        setup = mean_of(self.setup, self.later.setup, self.reuse)
        return setup + seconds_together(self.paths, [path.objective - path.mean_setup for path in self.paths])

    @cached_property
    def throughput(self) -> float:
        """Bytes per second in the steady state with all paths at work, within the capacity of every channel and resource."""
        return self.paths[0].throughput if len(self.paths) == 1 else sum(rates_together(self.paths))

    @property
    def setup(self) -> float:
        """The set-up time of the channels at the first start, in seconds. Several paths are set up together: the longest time
        counts."""
        return max(path.setup for path in self.paths)

    @property
    def chunk_count(self) -> int:
        """The number of chunks of all paths."""
        return sum([path.chunk_count for path in self.paths])

    @property
    def chunk_bytes(self) -> int:
        """Bytes of the largest chunk."""
        return max([path.chunk_bytes for path in self.paths])

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The intermediate buffers of all paths, path after path."""
        return self.paths[0].buffers if len(self.paths) == 1 else tuple(each for path in self.paths for each in path.buffers)

    @property
    def buffer_bytes(self) -> int:
        """Bytes of all intermediate buffers together."""
        return sum([path.buffer_bytes for path in self.paths])

    @property
    def every_hop(self) -> tuple[Hop, ...]:
        """The hops of all paths, path after path; runs, traces and reports number hops in this order."""
        return self.paths[0].hops if len(self.paths) == 1 else tuple(hop for path in self.paths for hop in path.hops)

    @property
    def every_rate(self) -> tuple[float, ...]:
        """For each hop of `every_hop`, the bytes of entries per second (`PathPlan.rates`)."""
        return tuple(rate for path in self.paths for rate in path.rates)

    @property
    def every_memory(self) -> tuple[str, ...]:
        """The memories of all paths, each once."""
        return tuple(dict.fromkeys(name for path in self.paths for name in path.memories))

    @cached_property
    def slowest(self) -> tuple[frozenset[int], ...]:
        """For each path, the numbers of the hops that set its pace; none for a path of one hop.

        If hops of a path tie, they are those on the link that all paths together use most.
        """
        return tuple(self._slowest_of(path) for path in self.paths)

    def _slowest_of(self, path: PathPlan) -> frozenset[int]:
        if len(path.paces) < 2:
            return path.slowest
        most = {
            hop: max(
                (self._seconds[name] for name, share in zip(path.resources, path.shares, strict=True) if share[hop]), default=0
            )
            for hop in path.slowest
        }
        return frozenset(hop for hop, seconds in most.items() if seconds >= max(most.values()) * (1 - 1e-6))

    @cached_property
    def _seconds(self) -> dict[str, float]:
        """For each shared resource, the seconds for which the bytes of all paths keep it busy."""
        found: dict[str, float] = {}
        for path in self.paths:
            for name, share in zip(path.resources, path.shares, strict=True):
                found[name] = found.get(name, 0.0) + sum(share) * path.bytes
        return found

    def share(self, path: int) -> Share:
        """The share of a path: a box, in coordinates local to the whole transfer, or a range of chunk numbers."""
        return share_of(self.transfer, self.paths[checks.count("plan", "path", path, high=len(self.paths) - 1)])

    # ---- of the only path

    @property
    def only(self) -> PathPlan:
        """The path of a plan with one path.

        Raises:
            TransferError: the plan has several paths.
        """
        if len(self.paths) != 1:
            raise TransferError(
                f"plan: has {len(self.paths)} paths, and was asked for something that each of them has for itself;"
                " ask one of plan.paths"
            )
        return self.paths[0]

    def changed(self, **changes: Any) -> Plan:
        """A copy of a plan with one path, with changes to that path: `plan.changed(slots=1)`.

        Raises:
            TransferError: the plan has several paths.
        """
        return replace(self, paths=(replace(self.only, **changes),))

    @property
    def hops(self) -> tuple[Hop, ...]:
        """See `PathPlan.hops`."""
        return self.only.hops

    @property
    def order(self) -> Layout:
        """See `PathPlan`."""
        return self.only.order

    @property
    def outer(self) -> int:
        """See `PathPlan`."""
        return self.only.outer

    @property
    def per_chunk(self) -> int:
        """See `PathPlan`."""
        return self.only.per_chunk

    @property
    def slots(self) -> int:
        """See `PathPlan`."""
        return self.only.slots

    @property
    def overlap(self) -> bool:
        """See `PathPlan`."""
        return self.only.overlap

    @property
    def shares(self) -> tuple[tuple[float, ...], ...]:
        """See `PathPlan`."""
        return self.only.shares

    @property
    def memories(self) -> tuple[str, ...]:
        """See `PathPlan.memories`."""
        return self.only.memories

    @property
    def converting(self) -> tuple[int, ...]:
        """See `PathPlan.converting`."""
        return self.only.converting

    @property
    def chunks(self) -> ChunkSequence:
        """See `PathPlan.chunks`."""
        return self.only.chunks

    @property
    def chunk_payload(self) -> float:
        """See `PathPlan.chunk_payload`."""
        return self.only.chunk_payload

    @property
    def orders(self) -> tuple[Linearization, ...]:
        """See `PathPlan.orders`."""
        return self.only.orders

    @property
    def shuffles(self) -> tuple[int, ...]:
        """See `PathPlan.shuffles`."""
        return self.only.shuffles

    @property
    def padding(self) -> tuple[tuple[int, ...], ...]:
        """See `PathPlan.padding`."""
        return self.only.padding

    @property
    def moved(self) -> tuple[float, ...]:
        """See `PathPlan.moved`."""
        return self.only.moved

    @property
    def rates(self) -> tuple[float, ...]:
        """See `PathPlan.rates`."""
        return self.only.rates

    def seconds_of(self, count: int) -> float:
        """See `PathPlan.seconds_of`."""
        return self.only.seconds_of(count)

    def views(self, hop: int, chunk: int) -> tuple[View, View]:
        """See `PathPlan.views`."""
        return self.only.views(hop, chunk)

    def copies(self, hop: int, chunk: int) -> list[StridedCopy]:
        """See `PathPlan.copies`."""
        return self.only.copies(hop, chunk)


def ends_of_paths(paths: Sequence[PathPlan]) -> ScheduledEnds:
    """The time at which each of some paths ends, if all begin at once. The last of them is `Plan.seconds`."""
    if len(paths) == 1:
        return ScheduledEnds([paths[0].seconds], 0)
    setup, ends, followed = max(path.setup for path in paths), [math.inf] * len(paths), 0
    for sharing in sharing_paths(paths):
        mine = [paths[number] for number in sharing]
        found = [setup + (mine[0].seconds - mine[0].setup)]
        if len(mine) > 1:
            if not all(hop.throughput for path in mine for hop in path.hops):  # nothing moves
                continue
            found, more = scheduled_ends([path.line() for path in mine], setup)
            followed += more
        for number, end in zip(sharing, found, strict=True):
            ends[number] = end
    return ScheduledEnds(ends, followed)


def ends_in_mean(paths: Sequence[PathPlan]) -> ScheduledEnds:
    """As `ends_of_paths`, in the mean of all starts."""
    first, starts = ends_of_paths(paths), paths[0].reuse
    if starts == 1 or not any(path.kept for path in paths):
        return first
    again = ends_of_paths([path.later for path in paths])
    ends = [mean_of(*both, starts) for both in zip(first.seconds, again.seconds, strict=True)]
    return ScheduledEnds(ends, first.followed + again.followed)
