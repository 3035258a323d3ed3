"""Regret: how much longer the chosen plan takes than the best of its rivals, on this computer.

The rivals of a plan are those predicted to be fastest, and as many others, drawn at random from everything the planner could have
chosen: other paths, other hops that convert, other planners, chunks of other sizes. All run in turn, so that other work of the
computer hits all alike. The rival with the least median may have been lucky. So fresh runs of the chosen plan and of this rival
count. They are compared round by round: the speed of a computer changes from second to second, but two runs one after the other
change together.
"""

from __future__ import annotations

import math
import os
import random
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoviz.backends.devices import ThisComputer
from isoviz.backends.disk.disk_memory import DiskMemory
from isoviz.backends.disk.file_access import NewFile
from isoviz.backends.generate import fill, fill_file
from isoviz.backends.host.host_memory import HostMemory
from isoviz.backends.pages import page_aligned, touch
from isoviz.errors import Cancelled, InputError, RunError, VerificationError
from isoviz.measure.trial import trial
from isoviz.planner import Options
from isoviz.planner.build_plan import make_plan
from isoviz.planner.explanation.alternatives import every_route, identity, in_other_chunks
from isoviz.planner.one_path.optimum import best_feasible_choice, clock_of, with_larger_chunks
from isoviz.planner.paths.routes import Route
from isoviz.planner.problem import Problem

if TYPE_CHECKING:
    from types import TracebackType

    from isoviz.machines import Channel, Machine
    from isoviz.measure.trial import Trial
    from isoviz.planner import Instance, Plan, Transfer
    from isoviz.runtime import BaseEngine, Devices, Progress, Report
    from isoviz.runtime.ledger.ledger_entry import LedgerEntry


# Runs of plans for one transfer, its data made once and its destination's room held ready.


class Deadline:
    """A cancel token that is set once a run has taken too long. Verification is not counted, unless all of it takes longer than
    `most` seconds."""

    def __init__(self, seconds: float, most: float = math.inf) -> None:
        self._end = time.monotonic() + min(seconds, most)
        self._last = time.monotonic() + most

    def is_set(self) -> bool:
        return time.monotonic() > self._end

    def told(self, progress: Progress) -> None:
        """Nothing moves any more."""
        if progress.stage == "verify":
            self._end = self._last


class TimedRuns:
    """Runs of one transfer: `with TimedRuns(engine, devices, transfer, folder) as runs: runs.seconds(plan)`.

    The source is generated once, in an array or in a file in `folder`, which is nobody else's; the destination is an array whose
    pages are there, or a new nameless file every time. Leaving it takes everything away.
    """

    def __init__(self, engine: BaseEngine, devices: Devices, transfer: Transfer, folder: str | Path) -> None:
        self._engine = engine
        self._devices = devices
        self._transfer = transfer
        self._folder = Path(folder)
        self._file: Path | None = None
        self._source: Any = None
        self._destination: Any = None

    def __enter__(self) -> TimedRuns:
        try:
            self._source, self._destination = self._made(self._transfer.source), self._room(self._transfer.destination)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Remove the file and let go of the arrays."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)
        self._source = self._destination = None

    def _made(self, instance: Instance) -> Any:
        """Source data; None where these devices have to make them."""
        memory, nbytes = self._memory(instance), instance.linearization.nbytes
        if isinstance(memory, HostMemory):
            array = page_aligned(nbytes)
            fill(array, 0)
            return array
        if not isinstance(memory, DiskMemory):
            return None
        self._file = self._folder / "source.raw"
        new = NewFile(self._file, nbytes)
        try:
            fill_file(new, 0, nbytes)
            new.flush()
            new.publish()
        finally:
            new.close()
        return self._file

    def _room(self, instance: Instance) -> Any:
        if not isinstance(self._memory(instance), HostMemory):
            return None
        array = page_aligned(instance.linearization.nbytes)
        touch(array)
        return array

    def _memory(self, instance: Instance) -> object:
        return self._devices.memory(self._engine.machine.memory(instance.memory))

    def run(self, plan: Plan, limit: float, *, verify: bool = False, most: float = math.inf) -> Report | None:
        """One run; None where it was given up after `limit` seconds, or after `most` with its verification.

        Raises:
            VerificationError: the bytes are not right. RunError: it failed.
        """
        if self._file is not None:
            _forget_pages(self._file)
        deadline = Deadline(limit, most)
        told = deadline.told if verify else None
        try:
            return self._engine.run(plan, self._source, self._destination, verify=verify, progress=told, cancel=deadline)
        except Cancelled:
            return None

    def tried(self, plan: Plan, entries: Sequence[LedgerEntry] = (), of: int = 1) -> Trial | None:
        """The trial of a plan, or of the quickest `of` its alternatives; `entries` are earlier runs.

        None where nothing can be tried, or these devices are not this computer's.
        """
        if type(self._devices) is not ThisComputer:
            return None
        if self._file is not None:
            _forget_pages(self._file)
        ends = {"room": self._destination, "devices": self._devices}
        return trial(plan, self._engine.machine, self._source, of=of, entries=entries, **ends)

    def seconds(self, plan: Plan, limit: float) -> float | None:
        """Seconds of one run that nobody verifies; None where it was given up."""
        report = self.run(plan, limit)
        return None if report is None else report.seconds


def _forget_pages(path: Path) -> None:
    """Have a file read from the disk again, where it was read through the page cache."""
    if not hasattr(os, "posix_fadvise"):
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


GOAL = 0.05
"""Regret up to this share does not count."""
BEST, OTHERS = 5, 5
"""Candidates that are predicted to be fastest, and those drawn from all others."""
LEAST_RUNS = 7
"""The least number of runs whose median counts. Short plans run more often:"""
MOST_RUNS, MOST_FRESH = 41, 151
"""at most this often to find the best of all, and to compare two,"""
ENOUGH, ENOUGH_FRESH = 0.1, 3.0
"""for this many seconds each."""
FACTORS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 2, 4, 8, 16)
"""The chunk sizes of variants of a plan, as multiples of its own."""
MOST_HOPS, MOST_FOUND, MOST_ROUTES = 4, 500, 12
"""Routes drawn at random: their most hops, the paths that are listed, and the routes that are drawn of these."""
ERROR_OF_MEDIAN = 1.4826 * math.sqrt(math.pi / 2)
"""The standard error of the median of n normally distributed values is this times their median distance from it, over √n."""
LOST = 1.25
"""A candidate runs no more if its fastest run of three takes this multiple of the median of the best one."""
PATIENCE = 3.0
"""A run is given up after this multiple of the time of the chosen plan, and `SLACK` seconds."""
SLACK = 0.05
STOPS = 3
"""Runs of the chosen plan that may be given up and made again: a disk may stop for a moment."""


@dataclass(frozen=True)
class Regret:
    """The result for one transfer, in seconds: medians of fresh runs of the chosen plan and of the best of the others, `rival`.

    `ratio` is the time of the chosen plan over that of the rival in the same round, the median over `rounds`. `noise` is twice
    its standard error, a share. `candidates` says how many plans were run. `picked` is the plan that trials of five plans
    pick (`isoviz.measure.trial`), and `picked_ratio` is what it took over the best of all.
    """

    label: str
    nbytes: int
    candidates: int
    chosen: Plan
    rival: Plan | None
    chosen_seconds: float
    rival_seconds: float
    rounds: int
    ratio: float
    noise: float
    picked: Plan
    picked_ratio: float

    @property
    def value(self) -> float:
        """The additional time of the chosen plan as a share of the best: 0 where nothing was faster."""
        return max(0.0, self.ratio - 1)

    @property
    def picked_value(self) -> float:
        """The same for the plan that trials pick."""
        return max(0.0, self.picked_ratio - 1)

    @property
    def best(self) -> Plan:
        """The plan that was fastest."""
        return self.chosen if self.rival is None or self.ratio <= 1 else self.rival

    def to_json(self) -> dict[str, Any]:
        """As a JSON object; regret and noise are shares."""
        return {
            "transfer": self.label,
            "bytes": self.nbytes,
            "candidates": self.candidates,
            "chosen": plan_words(self.chosen),
            "best": plan_words(self.best),
            "predicted_seconds": self.chosen.seconds,
            "chosen_seconds": self.chosen_seconds,
            "best_seconds": self.chosen_seconds if self.best is self.chosen else self.rival_seconds,
            "rounds": self.rounds,
            "best_predicted_seconds": self.best.seconds,
            "regret": self.value,
            "picked": plan_words(self.picked),
            "picked_regret": self.picked_value,
            "noise": self.noise,
        }


def plan_words(made: Plan) -> str:
    """A plan in short: its channels, `*` where it converts, and its chunk."""
    from isoviz.units import format_bytes

    hops = " → ".join(f"{hop.kind}{'*' if hop.converts else ''}" for hop in made.hops)
    return f"{hops}, chunks of {format_bytes(made.chunk_bytes)}"


# ---- candidates


def candidates(chosen: Plan, machine: Machine, rng: random.Random, best: int = BEST, others: int = OTHERS) -> list[Plan]:
    """The chosen plan first, then those with the best predictions, then others drawn at random; no two alike.

    Where there are too few, the same in chunks of other sizes make up for them.
    """
    problem = Problem(chosen.transfer, machine, Options())
    found = {identity(chosen): chosen}
    for made in _everything(problem, rng):
        found.setdefault(identity(made), made)
    rivals = sorted((made for made in found.values() if made is not chosen), key=lambda made: made.seconds)
    rest = rivals[best - 1 :]
    taken = [chosen, *rivals[: best - 1], *rng.sample(rest, min(others, len(rest)))]
    missing = best + others - len(taken)
    if missing > 0:
        others_of = (made for base in (chosen, *rivals) for made in in_other_chunks(base, machine, problem, FACTORS))
        variants = {identity(made): made for made in others_of}
        new = sorted((made for key, made in variants.items() if key not in found), key=lambda made: made.seconds)
        missing_best = min(missing, max(0, best - 1 - len(rivals)))
        fastest, rest = new[:missing_best], new[missing_best:]
        taken += [*fastest, *rng.sample(rest, min(missing - missing_best, len(rest)))]
    return taken


def _everything(problem: Problem, rng: random.Random) -> Iterator[Plan]:
    """Everything that could have been chosen: the best plan of every route, and those of other planners."""
    yield from every_route(problem)
    yield from _beaten(problem, rng)


def _beaten(problem: Problem, rng: random.Random) -> Iterator[Plan]:
    """Plans for routes drawn at random, also for those that the search leaves out because others always beat them.

    They do so in the machine's description, which may be wrong.
    """
    routes = list(_routes(problem))
    for route in rng.sample(routes, min(MOST_ROUTES, len(routes))):
        clock = clock_of(problem, route)
        choice = best_feasible_choice(problem, route, clock)
        if choice is not None and math.isfinite(choice.seconds):
            yield make_plan(problem, with_larger_chunks(problem, choice, clock), clock, "full")


def _routes(problem: Problem) -> Iterator[Route]:
    """Paths of channels that go through no memory twice, but for its self-loop, each with every hop that could convert."""
    machine, there = problem.machine, problem.transfer.destination.memory
    begun: list[tuple[Channel, ...]] = [(channel,) for channel in machine.outgoing(problem.transfer.source.memory)]
    found = 0
    while begun and found < MOST_FOUND:
        path = begun.pop(0)
        if path[-1].destination == there:
            found += 1
            for converting in range(len(path)) if problem.ends.converts else (None,):
                yield Route(path, converting)
        if len(path) < MOST_HOPS:
            begun += [(*path, channel) for channel in machine.outgoing(path[-1].destination) if _is_new(path, channel)]


def _is_new(path: tuple[Channel, ...], channel: Channel) -> bool:
    """Whether a channel leads to a memory that is not on the path yet."""
    if channel.is_self_loop:
        return channel not in path
    return channel.destination not in {path[0].source, *(each.destination for each in path)}


# ---- runs


def regret_of(
    chosen: Plan, machine: Machine, runs: TimedRuns, usual: float, rng: random.Random, repeat: int = LEAST_RUNS, label: str = ""
) -> Regret:
    """Run the candidates of a transfer; `usual` is what the chosen plan takes, in seconds.

    Raises:
        VerificationError: a candidate moved the wrong bytes. RunError: the chosen plan failed. Cancelled: it suddenly took
            much longer than usual, and was given up.
    """
    limit = PATIENCE * usual + SLACK
    every = candidates(chosen, machine, rng)
    able = [made for made in every if made is chosen or _is_able(made, runs, limit)]
    first = max(repeat, min(MOST_RUNS, round(ENOUGH / max(usual, 1e-9))))
    times = _in_turn(able, runs, limit, first, rng)
    medians = {k: statistics.median(found) for k, found in times.items() if len(found) >= first}
    rivals = [k for k in medians if k != 0]
    label = label or str(chosen.transfer)
    if 0 not in medians:
        raise Cancelled(f"{label}: the chosen plan takes more than {PATIENCE:g} times what it took before")
    rival = able[min(rivals, key=medians.__getitem__)] if rivals else None
    picked = _picked(chosen, runs, limit)
    finals = [chosen]
    for made in (rival, picked):
        if made is not None and all(made is not each for each in finals):
            finals.append(made)
    again = max(repeat, min(MOST_FRESH, round(ENOUGH_FRESH / max(usual, 1e-9))))
    fresh = _in_turn(finals, runs, math.inf, again, rng, keep=True)
    took = {id(made): fresh[k] for k, made in enumerate(finals)}
    own = took[id(chosen)]
    other = own if rival is None else took[id(rival)]
    ratio, noise = _over(own, other)
    again_ratio, _ = _over(took[id(picked)], own if ratio <= 1 else other)
    seconds = statistics.median(own), statistics.median(other)
    return Regret(label, chosen.bytes, len(able), chosen, rival, *seconds, again, ratio, noise, picked, again_ratio)


def _over(these: Sequence[float], those: Sequence[float]) -> tuple[float, float]:
    """The median over all rounds of the ratio of two times, and twice its standard error."""
    ratios = [one / other for one, other in zip(these, those, strict=True)]
    middle = statistics.median(ratios)
    spread = statistics.median(abs(ratio - middle) for ratio in ratios)
    return middle, 2 * ERROR_OF_MEDIAN * spread / math.sqrt(len(ratios))


def _picked(chosen: Plan, runs: TimedRuns, limit: float) -> Plan:
    """The plan that trials pick (`isoviz plan --of 5`): the chosen one where nothing can be tried."""
    trial = runs.tried(chosen, of=BEST)
    return trial.plan if trial is not None and _is_able(trial.plan, runs, limit) else chosen


def _is_able(made: Plan, runs: TimedRuns, limit: float) -> bool:
    """Whether a candidate ends in time with the right bytes, in a run that is verified and not counted."""
    try:
        return runs.run(made, limit, verify=True) is not None
    except (VerificationError, Cancelled):
        raise
    except (RunError, InputError):  # it cannot be run here: no rival
        return False


def _in_turn(
    plans: Sequence[Plan], runs: TimedRuns, limit: float, repeat: int, rng: random.Random, *, keep: bool = False
) -> dict[int, list[float]]:
    """The seconds of `repeat` runs of each plan, by its number. Every round has another order.

    Those that are clearly slower than the best, or are given up, get no further runs, unless `keep`; the first, which is the
    chosen one, gets some others instead.
    """
    stops = 0
    times: dict[int, list[float]] = {k: [] for k in range(len(plans))}
    going = list(times)
    for round_number in range(1, repeat + 1):
        for k in rng.sample(going, len(going)):
            found = runs.seconds(plans[k], limit)
            while found is None and k == 0 and stops < STOPS:
                stops, found = stops + 1, runs.seconds(plans[k], limit)
            if found is None:
                going.remove(k)
            else:
                times[k].append(found)
        if round_number >= 3 and not keep:
            best = min((statistics.median(times[k]) for k in going), default=math.inf)
            going = [k for k in going if k == 0 or min(times[k]) <= LOST * best]
    return times


def share_within(regrets: Iterable[Regret], *, with_noise: bool = False, picked: bool = False) -> float:
    """The share of transfers whose regret is at most `GOAL`, or `GOAL` and the noise.

    Of the chosen plans, or of the plans that trials `picked`.
    """
    values = [(each.picked_value if picked else each.value, each.noise if with_noise else 0.0) for each in regrets]
    return sum(value <= GOAL + noise for value, noise in values) / len(values) if values else math.nan
