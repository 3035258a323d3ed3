"""Families of memories: equal memories with different numbers, such as the GPUs of a node; and text for their channels.

Drawings of nodes with many memories show a family as one box.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoviz.machines.memory import Memory

MOST_APART = 10
"""Nodes with at most this many memories are shown with every memory on its own."""

_NUMBER = re.compile(r"\d+")
_NODE = re.compile(r"^node\d+\.")


def family(name: str) -> str:
    """A name with every number replaced: `fbm*` for `fbm3`."""
    return _NUMBER.sub("*", name)


def families(memories: Sequence[Memory], apart: Collection[str] = (), most: int = MOST_APART) -> list[tuple[Memory, ...]]:
    """The memories of a node in groups. Equal memories of a family share a group.

    If there are at most `most` memories, every memory is a group. The memories in `apart` are always groups of one.
    """
    if len(memories) <= most:
        return [(memory,) for memory in memories]
    found: dict[object, list[Memory]] = {}
    for memory in memories:
        same = (family(memory.short_name), memory.kind, memory.capacity, memory.slot_limit, family(memory.label), memory.emulated)
        found.setdefault(memory.name if memory.name in apart else same, []).append(memory)
    return [tuple(members) for members in found.values()]


def listed(names: Iterable[str]) -> str:
    """Names in short form by family: `fbm0–3, 5, sys`."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(family(name), []).append(name)
    return ", ".join(_listed(pattern, members) for pattern, members in groups.items())


def _listed(pattern: str, names: Sequence[str]) -> str:
    if len(names) == 1 or pattern.count("*") != 1:
        return ", ".join(names)
    before, after = pattern.split("*")
    numbers = sorted(int(_NUMBER.findall(name)[0]) for name in names)
    return f"{before}{ranges(numbers)}{after}"


def ranges(numbers: Iterable[int]) -> str:
    """Ascending numbers in short form: `0–3, 5`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def reach(pairs: Collection[tuple[str, str]], mark: str = "") -> tuple[str, str]:
    """Sources and destinations of the channels between two families, as text. `mark` follows destinations on another node."""
    sources = list(dict.fromkeys(source for source, _ in pairs))
    destinations = list(dict.fromkeys(destination for _, destination in pairs))
    there = listed(destinations) + mark
    several = len(sources) > 1
    if several and not mark and all(source == destination for source, destination in pairs):
        there = "itself"
    elif several and not mark and set(sources) == set(destinations) and len(pairs) == len(sources) * (len(sources) - 1):
        there = "each other" if all(source != destination for source, destination in pairs) else f"some of {there}"
    elif several and len(destinations) > 1 and len(pairs) < len(sources) * len(destinations):
        if all(_NUMBER.findall(source) == _NUMBER.findall(destination) for source, destination in pairs):
            there += ", same number"
        else:
            counts = [sum(source == each for source, _ in pairs) for each in sources]
            there = f"{counts[0]} of {there} each" if len(set(counts)) == 1 else f"some of {there}"
    return listed(sources), there


def resource_families(names: Iterable[str]) -> str:
    """The resources of a channel in short form, without nodes: `pcie*.up, bus*`. `nic*.out, nic*.in` becomes `nic*`."""
    by_thing: dict[str, set[str]] = {}
    for name in names:
        short = family(_NODE.sub("", name))
        by_thing.setdefault(short.split(".")[0], set()).add(short)
    return ", ".join(min(uses) if len(uses) == 1 else thing for thing, uses in by_thing.items())
