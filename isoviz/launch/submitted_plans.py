"""Plans under way on ranks, as the client sees them."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz import checks
from isoviz.backends.formats.arrays import opened_array
from isoviz.errors import IsovizError
from isoviz.launch.pending import first_failure
from isoviz.launch.this_rank import MOST_MACHINES, MOST_PLANS, Recent, bound_digest
from isoviz.launch.worker import prepared_runs
from isoviz.launch.worker.plan_runs import Order, Summed, carry_out, check_plan, named, report_of, with_ends
from isoviz.layouts.given_arrays import array_of_bytes, form_of, is_host_array
from isoviz.planner.plan_file import plan_digest, plan_to_json

if TYPE_CHECKING:
    from isoviz.launch.client import Client
    from isoviz.launch.pending import Pending
    from isoviz.launch.worker.plan_runs import Done
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime import CancelToken, Progress, Report
    from isoviz.runtime.engine.progress import ProgressCallback

_keys = itertools.count()
_TICK = 0.05
_LONG_TICK = 1.0


class SentBefore:
    """What ranks keep of the submissions of this process: it is sent once, and then named by its digest.

    One thread submits at a time, and any thread may `forget`.
    """

    def __init__(self) -> None:
        self._digests: OrderedDict[int, tuple[weakref.ref[Plan], str]] = OrderedDict()
        self.forget()

    def machine(self, machine: Machine) -> Machine | str:
        """A machine as it is sent."""
        digest = bound_digest(machine)
        return digest if self._machines.keep(digest, None) else machine

    def order(self, plan: Plan) -> Order:
        """A plan as it is sent to every rank."""
        digest = self._digest(plan)
        return Order(digest, None if self._plans.keep(digest, None) else plan_to_json(plan))

    def _digest(self, plan: Plan) -> str:
        """The digest of a plan, which takes as long to make as a short run. It is kept for each plan object."""
        kept = self._digests.get(id(plan))
        if kept is None or kept[0]() is not plan:
            kept = self._digests[id(plan)] = weakref.ref(plan), plan_digest(plan)
            if len(self._digests) > MOST_PLANS:
                self._digests.popitem(last=False)
        return kept[1]

    def forget(self) -> None:
        """Send everything again: perhaps a rank has not got it. Ranks may keep more than this names."""
        self._machines: Recent[None] = Recent(MOST_MACHINES)
        self._plans: Recent[None] = Recent(MOST_PLANS)


def send_plans(
    client: Client,
    machine: Machine,
    items: Sequence[tuple[Plan, Any, Any]],
    sent: SentBefore,
    function: Callable[..., Any],
    *more: Any,
    tell: Callable[[int, Any], None] | None = None,
) -> Pending:
    """Let all ranks call a function with a machine, with the orders of some plans and ends, and with `more`."""
    for plan, _, _ in items:
        check_plan(machine, plan, client.size)
    try:
        named = sent.machine(machine)
        orders = [sent.order(plan) for plan, _, _ in items]
        by_plan = [with_ends(order, machine, plan.transfer, *ends) for order, (plan, *ends) in zip(orders, items, strict=True)]
        own: dict[int, Any] = {
            rank: (function, (named, [found.get(rank, order) for order, found in zip(orders, by_plan, strict=True)], *more), {})
            for rank in dict.fromkeys(rank for found in by_plan for rank in found)
        }
        return client.send("call", (function, (named, orders, *more), {}), tell=tell, own=own)
    except BaseException:
        sent.forget()
        raise


class SubmittedPlans:
    """Some plans that run at the same time on all ranks; `Ranks.submit` makes it.

    Any thread may ask; one thread waits.
    """

    def __init__(
        self,
        client: Client,
        machine: Machine,
        items: Sequence[tuple[Plan, Any, Any]],
        options: Mapping[str, Any],
        tells: bool,
        sent: SentBefore,
    ) -> None:
        self._client, self._machine, self._items, self._sent = client, machine, items, sent
        arrays = any(is_host_array(end) for _, *ends in items for end in ends)
        self._summed = Summed()
        call = carry_out, arrays, dict(options), tells
        self._pending = send_plans(client, machine, items, sent, *call, tell=self._summed.tell)
        self._outcomes: list[Report | BaseException] | None = None
        self._error: BaseException | None = None

    @property
    def done(self) -> bool:
        """Whether all plans have ended, with or without an error."""
        return self._pending.done

    @property
    def progress(self) -> Progress | None:
        """The progress of all plans together; None before the first bytes."""
        return self._summed.now()

    def cancel(self) -> None:
        """Ask the plans to stop between two requests. No effect after their end, or in a forked child."""
        self._client.cancel(self._pending)

    def reports(
        self,
        timeout: float | None = None,
        *,
        progress: ProgressCallback | None = None,
        cancel: CancelToken | None = None,
    ) -> list[Report]:
        """Wait for the end of all plans, and return their reports. Arrays of the caller are filled then. Ctrl-C cancels.

        Raises:
            TimeoutError: they have not ended after `timeout` seconds.
            RankLost, RanksClosed: the ranks ended before.
            ForkedError: this is a forked child of the process that submitted them.
            Exception: a plan failed; see `Ranks.run`. It is the error of the first plan that failed.
        """
        reports: list[Report] = []
        for found in self.outcomes(timeout, progress=progress, cancel=cancel):
            if isinstance(found, BaseException):
                raise found
            reports.append(found)
        return reports

    def outcomes(
        self,
        timeout: float | None = None,
        *,
        progress: ProgressCallback | None = None,
        cancel: CancelToken | None = None,
    ) -> list[Report | BaseException]:
        """As `reports`, but a plan that failed has its error in place of a report.

        Raises:
            TimeoutError: they have not ended after `timeout` seconds.
            RankLost, RanksClosed: the ranks ended before.
            ForkedError: this is a forked child of the process that submitted them.
        """
        if self._outcomes is None and self._error is None:
            self._client.require_here()
            self._wait(timeout, progress, cancel)
            try:
                self._outcomes = self._finished()
            except BaseException as error:
                self._error = error
                raise
        if self._error is not None:
            raise self._error
        assert self._outcomes is not None
        return self._outcomes

    def _wait(self, timeout: float | None, progress: ProgressCallback | None, cancel: CancelToken | None) -> None:
        tick = _TICK if progress is not None or cancel is not None else _LONG_TICK
        left = float("inf") if timeout is None else timeout
        asked = False
        try:
            while True:
                if cancel is not None and not asked and cancel.is_set():
                    asked = True
                    self.cancel()
                if self._pending.wait(min(tick, max(0.0, left))):
                    break
                left -= tick
                if left <= 0:
                    raise TimeoutError(f"the plans have not ended after {timeout:g} s")
                self._tell(progress)
            self._tell(progress)
        except TimeoutError:
            raise
        except BaseException:  # Ctrl-C, or `progress` raised: the plans end before the caller goes on.
            self.cancel()
            while not self._pending.wait(_LONG_TICK):
                pass
            raise

    def _tell(self, progress: ProgressCallback | None) -> None:
        news = self._summed.unreported() if progress is not None else None
        if progress is not None and news is not None:
            checks.tell("run", progress, news)

    def _finished(self) -> list[Report | BaseException]:
        values, failures = self._client.results(self._pending)
        if failures:
            self._sent.forget()  # The rank may not have got as far as to keep what was sent.
            raise first_failure(failures)
        answers: list[list[Done]] = [values[rank] for rank in range(self._client.size)]
        hellos = self._client.hellos
        found: list[Report | BaseException] = []
        for number, (plan, _, destination) in enumerate(self._items):
            done = [answer[number] for answer in answers]
            try:
                found.append(report_of(plan, self._machine, [each.part for each in done], hellos))
            except Exception as error:  # noqa: BLE001  # `reports` raises it
                found.append(error)
                continue
            for each in done:
                if each.destination is not None:
                    opened_array(destination, plan.transfer.destination, "destination")[0][:] = each.destination
        return found


class PreparedOnRanks:
    """A plan that ranks have prepared once and run many times; `Ranks.prepare` makes it.

        with ranks.prepare(plan, source=array) as prepared:
            seconds = prepared.run(1000)
            result = prepared.destination()

    Its arrays stay on the ranks until `close`.
    """

    def __init__(self, client: Client, machine: Machine, item: tuple[Plan, Any, Any], sent: SentBefore) -> None:
        self.plan = item[0]
        self._client, self._key = client, next(_keys)
        self._rank = machine.memory(self.plan.transfer.destination.memory).node
        self._form = form_of(item[2], "prepare") if is_host_array(item[2]) else None
        self._results(send_plans(client, machine, [item], sent, prepared_runs.prepare, self._key))

    def run(self, count: int = 1, *, cancel: threading.Event | None = None) -> list[float]:
        """Run the plan `count` times, one after the other. Returns the seconds of each run, measured on the rank of the
        destination.

        A prepared transfer is not verified. Ctrl-C, and a set `cancel`, stop it between two transfers, on all ranks.

        Raises:
            InputError: it is closed, or these ranks have run on another machine since.
            Cancelled: it was cancelled. RankLost, RanksClosed: the ranks have ended.
            RunError, TransferError: it failed; the words name the rank.
        """
        count = checks.count("run", "count", count, low=1)
        found: list[float] = self._call(prepared_runs.run, self._key, count, cancel=cancel)[self._rank]
        return found

    def destination(self) -> np.ndarray[Any, Any] | None:
        """A copy of the destination: with the shape and dtype of the array that was given, otherwise as bytes. None for a file,
        and for a destination on a GPU that was not given.

        Raises:
            InputError: it is closed, or these ranks have run on another machine since.
        """
        found: np.ndarray[Any, Any] | None = self._call(prepared_runs.fetch, self._key, ranks=[self._rank])[self._rank]
        return found if found is None or self._form is None else array_of_bytes(found, self._form)

    def close(self) -> None:
        """Release both ends on the ranks. Safe to call twice, and after the ranks have ended."""
        if self._client.error is None:
            self._call(prepared_runs.close, self._key)

    def __enter__(self) -> PreparedOnRanks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        ranks: Sequence[int] | None = None,
        cancel: threading.Event | None = None,
    ) -> dict[int, Any]:
        pending = self._client.send("call", (function, arguments, {}), ranks)
        return self._results(pending, cancel)

    def _results(self, pending: Pending, cancel: threading.Event | None = None) -> dict[int, Any]:
        values, failures = self._client.results(pending, cancel)
        if failures:
            error = first_failure(failures)
            cause = error.__cause__
            assert error.rank is not None
            raise named(cause, error.rank, self._client.hellos) if isinstance(cause, IsovizError) else error
        return values
