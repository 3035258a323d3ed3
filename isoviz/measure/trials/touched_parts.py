"""The parts of a transfer's ends that the first chunks read and write, and arrays with pages for these parts only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoviz.backends.generate import fill
from isoviz.backends.pages import HUGE, PAGE, page_aligned, touch
from isoviz.errors import RunError
from isoviz.machines import MemoryKind
from isoviz.measure import tuning

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy
    from isoviz.machines import Machine
    from isoviz.planner import Plan


def trial_ends(plan: Plan, machine: Machine, count: int, source: Any, room: Any) -> tuple[Any, Any] | None:
    """Arrays for the ends that are in memory and not given. Only the parts that the first `count` chunks touch have pages.

    None if these parts are too large.
    """
    found, held = [source, room], 0
    for place, end in enumerate((plan.transfer.source, plan.transfer.destination)):
        if found[place] is not None or machine.memory(end.memory).kind is not MemoryKind.SYS:
            continue
        nbytes = end.linearization.nbytes
        page = HUGE if nbytes >= HUGE // 2 else PAGE  # Touching a byte allocates its whole page.
        parts = first_parts(plan, count, place)
        parts = union([(start // page * page, min(nbytes, -(-stop // page) * page)) for start, stop in parts])
        held += sum(stop - start for start, stop in parts)
        if held > tuning.TRIAL_ROOM:
            return None
        try:
            found[place] = array = page_aligned(nbytes)
        except RunError:  # There is not even enough address space.
            return None
        for start, stop in parts:
            if place == 0:
                fill(array[start:stop], start)  # Not zeros: some disks are faster with zeros.
            else:
                touch(array[start:stop])
    return found[0], found[1]


def first_parts(plan: Plan, count: int, end: int) -> list[tuple[int, int]]:
    """The parts (start, stop) that the first `count` chunks read (`end` 0) or write (1). Gaps up to a page are included."""
    hop = (0, len(plan.hops) - 1)[end]
    return union([part for chunk in range(count) for copy in plan.copies(hop, chunk) for part in parts_of(copy, end)])


def parts_of(copy: StridedCopy, end: int) -> list[tuple[int, int]]:
    """The parts (start, stop) that a copy reads (`end` 0) or writes (1). Gaps up to a page are included."""
    first = (copy.source_offset, copy.destination_offset)[end]
    length, begins = copy.run, [first]
    for loop in sorted(copy.loops, key=lambda loop: loop[1 + end]):
        times, stride = loop[0], loop[1 + end]
        if stride <= length + PAGE or len(begins) * times > tuning.MOST_PARTS:
            length += (times - 1) * stride
        else:
            begins = [begin + k * stride for begin in begins for k in range(times)]
    return [(begin, begin + length) for begin in begins]


def union(parts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same bytes as disjoint parts in ascending order."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(parts):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], stop)
        else:
            found.append((start, stop))
    return found
