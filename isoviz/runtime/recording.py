"""Recordings: the stimuli and the answers of a scheduler, to be inspected and replayed.

A scheduler has no clock and no random numbers, so equal stimuli get equal answers. A failed run on real memory can be replayed,
step by step, on a computer without that memory.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from isoviz.errors import InputError, PolicyError, RunError, show
from isoviz.regular_files import open_for_reading, write_text
from isoviz.scheduling.pool import ChannelState, Policy, first_come_first_served, highest_priority_first, policy_name
from isoviz.scheduling.rank_scheduler import RankScheduler
from isoviz.scheduling.scheduler import Counts, Scheduler
from isoviz.scheduling.work import (
    Abort,
    Allocate,
    Arrived,
    Cancel,
    Credit,
    Done,
    End,
    Failed,
    Finish,
    Grant,
    Instruction,
    Issue,
    Lend,
    Release,
    Request,
    SendArrived,
    SendCredit,
    SendEnd,
    SendStop,
    Settled,
    Stalled,
    Stimulus,
    Stop,
    Submit,
    Work,
)

FORMAT = "isoviz-recording-1"

POLICIES: Mapping[str, Policy] = {policy.__name__: policy for policy in (highest_priority_first, first_come_first_served)}
"""Policies that a recording can name."""

_STIMULI: Mapping[str, Any] = {
    "submit": Submit,
    "done": Done,
    "failed": Failed,
    "cancel": Cancel,
    "stalled": Stalled,
    "arrived": Arrived,
    "credit": Credit,
    "grant": Grant,
    "lend": Lend,
    "stop": Stop,
    "end": End,
}
_INSTRUCTIONS: Mapping[str, Any] = {
    "allocate": Allocate,
    "issue": Issue,
    "release": Release,
    "finish": Finish,
    "send arrived": SendArrived,
    "send credit": SendCredit,
    "request": Request,
    "abort": Abort,
    "settled": Settled,
    "send stop": SendStop,
    "send end": SendEnd,
}
_WORDS = {kind: word for words in (_STIMULI, _INSTRUCTIONS) for word, kind in words.items()}


class ReplayError(RunError):
    """A scheduler answers differently from the recording: to stimulus number `index`, with `got` instead of `expected`."""

    def __init__(self, index: int, entry: Entry, got: tuple[Instruction, ...] | Exception) -> None:
        self.index, self.entry, self.got = index, entry, got
        self.expected = entry.instructions
        super().__init__(f"replay: stimulus {index}, {_short(entry.stimulus)}: {self._difference()}")

    def __reduce__(self) -> tuple[type[ReplayError], tuple[Any, ...]]:
        return type(self), (self.index, self.entry, self.got)

    def _difference(self) -> str:
        if isinstance(self.got, Exception):
            return f"{type(self.got).__name__}: {self.got}"
        for k, (was, now) in enumerate(zip(self.expected, self.got, strict=False)):
            if was != now:
                return f"instruction {k} is {_short(now)}, recorded was {_short(was)}"
        shorter = min(len(self.expected), len(self.got))
        if len(self.expected) > shorter:
            return f"no instruction {shorter}, recorded was {_short(self.expected[shorter])}"
        return f"instruction {shorter} is {_short(self.got[shorter])}, recorded was none"


class Entry(NamedTuple):
    """A stimulus and its answer, `seconds` after the start of the recording."""

    seconds: float
    stimulus: Stimulus
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True)
class Recording:
    """All stimuli and answers of a scheduler, and its parameters: see `Scheduler`.

    Policies are stored by name. `rank` is the rank of a `RankScheduler`, None for a `Scheduler`.
    """

    limits: Mapping[str, int]
    capacity: Mapping[str, int]
    policies: Mapping[str, str]
    policy: str
    entries: tuple[Entry, ...]
    rank: int | None = None

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def scheduler(self) -> Scheduler:
        """A fresh scheduler with the parameters of the recorded one.

        Raises:
            InputError: it used a policy that is not known by name (`POLICIES`).
        """
        policies = {channel: _policy(name) for channel, name in self.policies.items()}
        policy = _policy(self.policy)
        if self.rank is None:
            return Scheduler(self.limits, self.capacity, policies, policy)
        return RankScheduler(self.rank, self.limits, self.capacity, policies, policy)

    def replay(self, scheduler: Scheduler | None = None) -> Scheduler:
        """Replay the stimuli on a fresh scheduler. Returns it in the final state of the recorded one.

        Raises:
            ReplayError: it answers differently.
        """
        scheduler = scheduler or self.scheduler()
        for index, entry in enumerate(self.entries):
            try:
                answer = tuple(scheduler.handle(entry.stimulus))
            except Exception as error:
                raise ReplayError(index, entry, error) from error
            if answer != entry.instructions:
                raise ReplayError(index, entry, answer)
        return scheduler

    # ---- files

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which `from_json` makes an equal recording."""
        return {
            "format": FORMAT,
            **({} if self.rank is None else {"rank": self.rank}),
            "limits": dict(self.limits),
            "capacity": dict(self.capacity),
            "policies": dict(self.policies),
            "policy": self.policy,
            "entries": [
                [entry.seconds, _packed(entry.stimulus), [_packed(instruction) for instruction in entry.instructions]]
                for entry in self.entries
            ],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Recording:
        """The recording that `to_json` described.

        Raises:
            InputError: `data` is not such an object.
        """
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise InputError(f"recording: expected an object of format {FORMAT!r}, got {show(data)}")
        try:
            entries = tuple(
                Entry(
                    float(seconds),
                    _unpacked(stimulus, _STIMULI),
                    tuple(_unpacked(instruction, _INSTRUCTIONS) for instruction in instructions),
                )
                for seconds, stimulus, instructions in data["entries"]
            )
            limits, capacity = ({str(name): int(value) for name, value in data[key].items()} for key in ("limits", "capacity"))
            policies = {str(channel): str(name) for channel, name in data["policies"].items()}
            rank = None if data.get("rank") is None else int(data["rank"])
            return cls(limits, capacity, policies, str(data["policy"]), entries, rank)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"recording: {type(error).__name__}: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write the recording to a file.

        Raises:
            FileError: it cannot be written.
        """
        write_text(path, json.dumps(self.to_json(), separators=(",", ":")) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Recording:
        """The recording in a file.

        Raises:
            InputError: the file holds no recording.
            FileError: it cannot be read.
        """
        descriptor, _ = open_for_reading(path)
        with os.fdopen(descriptor, encoding="utf-8") as file:
            try:
                data = json.load(file)
            except (ValueError, RecursionError) as error:  # neither JSON nor text, or nested too deeply
                raise InputError(f"recording {str(path)!r}: {error}") from None
        return cls.from_json(data)


class Recorder:
    """A scheduler that records its stimuli and answers. It wraps a fresh scheduler.

    `clock` returns seconds. The default is the clock of this process; a simulation passes its own (`lambda: simulator.now`).

    Raises:
        InputError: the scheduler has work already, but a recording has to start with a fresh scheduler.
    """

    def __init__(self, scheduler: Scheduler, clock: Callable[[], float] = time.perf_counter) -> None:
        if scheduler.counts != Counts(0, 0, 0, 0):
            raise InputError("recording: the scheduler already has work")
        self.scheduler = scheduler
        self._clock = clock
        self._begin = clock()
        self._entries: list[Entry] = []

    @property
    def recording(self) -> Recording:
        """The recording so far."""
        inner = self.scheduler
        policies = {channel: _name(policy) for channel, policy in inner.policies.items()}
        rank = inner.rank if isinstance(inner, RankScheduler) else None
        return Recording(dict(inner.limits), dict(inner.capacity), policies, _name(inner.policy), tuple(self._entries), rank)

    # ---- the methods of a scheduler

    def handle(self, stimulus: Stimulus) -> list[Instruction]:
        """See `Scheduler.handle`. A stimulus that raises an error is not recorded."""
        seconds = self._clock() - self._begin
        instructions = self.scheduler.handle(stimulus)
        self._entries.append(Entry(seconds, stimulus, tuple(instructions)))
        return instructions

    def submit(self, number: int, work: Work) -> list[Instruction]:
        """See `Scheduler.submit`."""
        return self.handle(Submit(number, work))

    def done(self, number: int, hop: int, chunk: int, request: int) -> list[Instruction]:
        """See `Scheduler.done`."""
        return self.handle(Done(number, hop, chunk, request))

    def failed(self, number: int, hop: int, chunk: int, request: int, reason: str) -> list[Instruction]:
        """See `Scheduler.failed`."""
        return self.handle(Failed(number, hop, chunk, request, reason))

    def cancel(self, number: int) -> list[Instruction]:
        """See `Scheduler.cancel`."""
        return self.handle(Cancel(number))

    def stalled(self) -> list[Instruction]:
        """See `Scheduler.stalled`."""
        return self.handle(Stalled())

    @property
    def may_stall(self) -> bool:
        """See `Scheduler.may_stall`."""
        return self.scheduler.may_stall

    @property
    def faults(self) -> dict[int, PolicyError]:
        """See `Scheduler.faults`."""
        return self.scheduler.faults

    @property
    def counts(self) -> Counts:
        """See `Scheduler.counts`."""
        return self.scheduler.counts

    @property
    def limits(self) -> Mapping[str, int]:
        """See `Scheduler.limits`."""
        return self.scheduler.limits

    @property
    def capacity(self) -> Mapping[str, int]:
        """See `Scheduler.capacity`."""
        return self.scheduler.capacity

    def needs(self, work: Work) -> dict[str, int]:
        """See `Scheduler.needs`."""
        return self.scheduler.needs(work)

    def priority(self, number: int) -> int:
        """See `Scheduler.priority`."""
        return self.scheduler.priority(number)

    def channel(self, name: str) -> ChannelState:
        """See `Scheduler.channel`."""
        return self.scheduler.channel(name)


def _name(policy: Policy) -> str:
    return next((name for name, known in POLICIES.items() if known is policy), policy_name(policy))


def _policy(name: str) -> Policy:
    found = POLICIES.get(name)
    if found is None:
        raise InputError(f"recording: policy {show(name)} is not one of {', '.join(POLICIES)}; pass a scheduler")
    return found


def _packed(value: Stimulus | Instruction) -> list[Any]:
    """A stimulus or instruction as a list: its word and its fields."""
    return [_WORDS[type(value)], *(field.to_json() if isinstance(field, Work) else field for field in value)]


def _unpacked(data: Any, kinds: Mapping[str, Any]) -> Any:
    word, *fields = data
    if word == "submit":
        number, work = fields
        fields = [number, Work.from_json(work)]
    elif word == "request":
        number, needs, priority, ranks = fields
        fields = [number, tuple((memory, nbytes) for memory, nbytes in needs), priority, tuple(ranks)]
    return kinds[word](*fields)


def _short(value: Stimulus | Instruction) -> str:
    """A stimulus or instruction as a short text."""
    fields = [str(field) for field in value if not isinstance(field, Work)]
    return " ".join([_WORDS[type(value)], *fields])
