"""Programs: all parts of a plan as tables of whole numbers, and the lane in which a compiled loop carries them out.

A part is the copies of one chunk over one hop. A scheduler that decides about each part costs some microseconds of Python, which
would move 100 KiB. A transfer that is alone on its channels needs no decisions (`isoviz.scheduling.lease`): the loop goes through
the table, and looks at one word before each part, whether it has to give the channels back.

A program is small, because the copies of chunks repeat: it has rows for the classes of chunks, and how far they move from one
turn to the next. It belongs to the plan. A lane binds it to the addresses of a transfer's ends and buffers.
"""

from __future__ import annotations

import atexit
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.forks import in_child
from isoviz.layouts.copies import ListedCopy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.planner import PathPlan, Plan
    from isoviz.runtime.protocols import Integers, PartLoop, Store
    from isoviz.scheduling.work import Work

MOST_CHUNK = 512 << 10
"""Bytes. A chunk up to this size stays in the caches from hop to hop. Larger ones gain more from a thread for each channel."""
MOST_CLASSES = 256
"""Classes of chunks of a hop. Plans with more have no program: making it would take longer than it saves."""
MOST_COPIES = 1024
"""Copies of all classes of a hop."""
SLICE = 0.02
"""Seconds after which the loop comes back to Python for a moment: it counts what has arrived, and looks at a cancel token."""
STOP, MOVED = 0, 3
"""Words of a lane: `STOP` is 1 if it has to give way. From `MOVED` on: the chunks that each hop has moved."""
TIMES = 1 << 12
"""Parts whose times are noted before the loop comes back."""


class Program(NamedTuple):
    """The tables of a plan; `PartLoop.move` says what is in the first four.

    - `reaches`: for each hop, the bytes of its source and of its destination that it needs.
    - `classes`: for each hop, the class of a chunk as (`whole`, `turn`), and the payload and the number of copies of each class.
    """

    hops: Integers
    first: Integers
    rows: Integers
    loops: Integers
    reaches: tuple[tuple[int, int], ...]
    classes: tuple[tuple[int, int, Integers, Integers], ...]

    def counts(self, hop: int, begin: int, end: int) -> tuple[int, int]:
        """The payload in bytes, and the number of copies, of the chunks from `begin` to `end` on a hop."""
        whole, turn, payloads, copies = self.classes[hop]
        chunks = np.arange(begin, end)
        classes = np.where(chunks < whole, chunks % max(1, turn), turn + chunks - whole)
        return int(payloads[classes].sum()), int(copies[classes].sum())


def program_of(plan: Plan, loop: PartLoop) -> Program | None:
    """The program of a plan of one path for a loop; None if it has none, or the scheduler is as fast."""
    path = plan.paths[0]
    hops: list[tuple[int, ...]] = []
    first: list[int] = []
    rows: list[tuple[int, ...]] = []
    loops: list[tuple[int, ...]] = []
    known: dict[tuple[tuple[int, ...], ...], int] = {}
    reaches, classes = [], []
    for hop in range(len(path.hops)):
        found = _classes(path, hop)
        if found is None:
            return None
        turn, whole, shift, chunks = found
        hops.append((whole, turn, *shift, len(first)))
        least, most = [0, 0], [0, 0]
        for number, (copies, _) in enumerate(chunks):
            first.append(len(rows))
            turns = (whole - 1 - number) // turn if number < turn else 0  # until its last one
            for copy in copies:
                ordered = None if isinstance(copy, ListedCopy) else loop.order(copy)
                if ordered is None:
                    return None
                place = known.setdefault(ordered, len(loops))
                if place == len(loops):
                    loops += ordered
                rows.append((copy.source_offset, copy.destination_offset, copy.run, place, len(ordered)))
                for end, (low, high) in enumerate(copy.spans()):
                    least[end], most[end] = min(least[end], low), max(most[end], high + turns * shift[end])
        first.append(len(rows))
        if min(least) < 0 or min(shift) < 0:
            return None
        reaches.append((most[0], most[1]))
        payloads, numbers = (np.array(each, np.int64) for each in zip(*[(sum_, len(own)) for own, sum_ in chunks], strict=True))
        classes.append((whole, turn, payloads, numbers))
    if not rows:
        return None
    return Program(_table(hops), _table(first), _table(rows), _table(loops), tuple(reaches), tuple(classes))


def _table(numbers: Sequence[Any]) -> Integers:
    return np.array(numbers, np.int64)


def _classes(path: PathPlan, hop: int) -> tuple[int, int, tuple[int, int], list[tuple[list[Any], int]]] | None:
    """How the chunks of a hop repeat, and the copies and the payload of each class; None if there are too many."""
    recurring, count = path.recurring(hop), path.chunk_count
    turn, whole, shift = recurring.repetition or (0, 0, (0, 0))
    whole = min(whole, count)
    if whole < turn:
        turn = whole = 0
    if turn + count - whole > MOST_CLASSES:
        return None
    chunks = [recurring.of(path.numbers.start + number) for number in (*range(turn), *range(whole, count))]
    return None if sum([len(copies) for copies, _ in chunks]) > MOST_COPIES else (turn, whole, shift, chunks)


def may_have_program(path: PathPlan, work: Work) -> bool:
    """Whether the parts of a plan of one path are so short that a loop without Python between them gains."""
    asked = work.paths[0]
    is_plain = len(work.paths) == 1 and asked.pipelined and max(work.requests) == 1
    return is_plain and len(asked.channels) * asked.chunks > 1 and path.chunk_payload <= MOST_CHUNK


class Lane:
    """A program bound to the stores of a transfer: before the first hop, between the hops, and behind the last one.

    `is_timed`: whether the times of all parts are noted. One thread moves; any thread may stop it.
    """

    def __init__(
        self, program: Program, loop: PartLoop, stores: Sequence[Sequence[Store]], chunks: int, *, is_timed: bool
    ) -> None:
        count = len(program.hops)
        self._program, self._chunks, self._kept, self._loop = program, chunks, stores, loop
        self._slots = np.array([len(each) for each in stores], np.int64)
        self._addresses = np.zeros((count + 1, int(self._slots.max())), np.int64)
        for row, each in zip(self._addresses, stores, strict=True):
            row[: len(each)] = np.array([loop.address(store) for store in each], np.int64)
        self._words = np.zeros(MOVED + count, np.int64)
        self._times = np.empty((min(TIMES, chunks * count) if is_timed else 0, 4), np.int64)

    @property
    def moved(self) -> tuple[int, ...]:
        """The chunks that each hop has moved."""
        return tuple(self._words[MOVED:].tolist())

    @property
    def is_over(self) -> bool:
        """Whether all chunks have moved, or somebody has stopped it."""
        return bool(self._words[STOP]) or int(self._words[-1]) == self._chunks

    @property
    def hop(self) -> int:
        """The first hop that has not moved all chunks."""
        return next((hop for hop, count in enumerate(self.moved) if count < self._chunks), 0)

    def begin(self, moved: Sequence[int]) -> None:
        """Go on where each hop has moved its first `moved` chunks."""
        self._words[MOVED:] = moved

    def stop(self, wanted: bool = True) -> None:
        """Let it stop after the part at work; if not `wanted`, no more."""
        self._words[STOP] = wanted

    @property
    def may_move_again(self) -> bool:
        """Whether loops may begin: not once the interpreter ends."""
        return not _ends.is_set()

    def move(self) -> Integers:
        """Move parts for a short time. Returns the times of those that were noted: hop, chunk, begin and end in nanoseconds."""
        program, until = self._program, time.perf_counter_ns() + int(1e9 * SLICE)
        tables = program.hops, program.first, program.rows, program.loops
        _moving[self] = None
        try:
            if not self.may_move_again:
                self.stop()
            parts = self._loop.move(*tables, self._addresses, self._slots, self._chunks, self._words, until, self._times)
        finally:
            _moving.pop(self, None)
        return self._times[:parts]

    def gone(self, before: Sequence[int]) -> tuple[int, int, list[int]]:
        """What has moved since `before`: bytes and chunks that have arrived, and the number of copies on each hop."""
        spans = [(begin, end) for begin, end in zip(before, self.moved, strict=True)]
        counts = [self._program.counts(hop, *span) for hop, span in enumerate(spans)]
        return counts[-1][0], spans[-1][1] - spans[-1][0], [copies for _, copies in counts]


def bound(program: Program, loop: PartLoop, stores: Sequence[Sequence[Store]], chunks: int, *, is_timed: bool) -> Lane | None:
    """A program for some stores; None if one of them is smaller than it needs, or lies where the loop cannot reach it."""
    for (here, there), before, behind in zip(program.reaches, stores[:-1], stores[1:], strict=True):
        if any(store.nbytes < here for store in before) or any(store.nbytes < there for store in behind):
            return None
    if any(loop.address(store) is None for each in stores for store in each):
        return None
    return Lane(program, loop, stores, chunks, is_timed=is_timed)


_moving: dict[Lane, None] = {}
"""The lanes whose loops run now."""
in_child(_moving.clear)
_ends = threading.Event()
"""Set when the interpreter ends."""


def _stop_all() -> None:
    """Stop all loops before the interpreter ends: afterwards the memory that they write to is gone. No loop begins any more."""
    _ends.set()
    last = time.monotonic() + 1.0
    while lanes := list(_moving):
        for lane in lanes:
            lane.stop()
        if time.monotonic() > last:
            return
        time.sleep(1e-3)


atexit.register(_stop_all)
