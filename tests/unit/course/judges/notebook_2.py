"""Notebook 2 judged independently: every element is followed through both memories. Nothing of isoviz is used."""

from __future__ import annotations

import itertools
import math
from typing import Any

SIZES = {"uint8": 1, "uint16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16}
Element = tuple[tuple[int, ...], str]


def radices(layout: str, sizes: dict[str, int], count: int) -> list[tuple[str, int, int]]:
    """Name of the dimension (or F), step and extent of each digit, fastest first."""
    parts = [part.strip() for part in layout.strip("<>").split(",")]
    blocks = {part.partition("_")[0]: int(part.partition("=")[2]) for part in parts if "=" in part}
    found = []
    for part in parts:
        dim, _, digit = part.partition("=")[0].partition("_")
        if part == "F":
            found.append(("F", 1, count))
        elif digit == "in":
            found.append((dim, 1, blocks[dim]))
        elif digit == "out":
            found.append((dim, blocks[dim], -(-sizes[dim] // blocks[dim])))
        else:
            found.append((dim, 1, sizes[dim]))
    return found


def elements(given: Any, layout: str) -> list[Element]:
    """All elements in the order of memory. Blocks divide their dimension."""
    digits = radices(layout, given["sizes"], len(given["fields"]))
    names, found = list(given["fields"]), []
    for values in itertools.product(*(range(extent) for _, _, extent in reversed(digits))):
        at = dict.fromkeys([*given["sizes"], "F"], 0)
        for (dim, step, _), value in zip(reversed(digits), values, strict=True):
            at[dim] += step * value
        found.append((tuple(at[dim] for dim in given["sizes"]), names[at["F"]]))
    return found


def run(given: Any, source: str, destination: str) -> float:
    """The bytes of runs of one length: pieces of which no one is cut at either end. Where fields move alone, their mean."""
    here, there = elements(given, source), elements(given, destination)
    place = {element: number for number, element in enumerate(there)}
    stretches, current = [], [here[0]]
    for before, element in itertools.pairwise(here):
        if place[element] == place[before] + 1:
            current.append(element)
            continue
        stretches.append(current)
        current = [element]
    stretches.append(current)
    if all({field for _, field in stretch} == set(given["fields"]) for stretch in stretches):
        entry = sum(SIZES[dtype] for dtype in given["fields"].values())
        return math.gcd(*map(len, stretches)) / len(given["fields"]) * entry
    alone = [list(group) for stretch in stretches for _, group in itertools.groupby(stretch, lambda element: element[1])]
    each = [
        math.gcd(*(len(group) for group in alone if group[0][1] == name)) * SIZES[dtype]
        for name, dtype in given["fields"].items()
    ]
    return sum(each) / len(each)


def shuffle(given: Any, source: str, destination: str) -> int:
    """The fewest bytes such that pieces of both memories of this length hold the same, one by one."""

    def order(layout: str) -> list[tuple[Element, int]]:
        return [(element, byte) for element in elements(given, layout) for byte in range(SIZES[given["fields"][element[1]]])]

    return smallest_piece(order(source), order(destination))


def smallest_piece(here: list[Any], there: list[Any]) -> int:
    place = {each: number for number, each in enumerate(there)}
    pairs = [(number, place[each]) for number, each in enumerate(here)]
    sizes = (size for size in range(1, len(here) + 1) if len(here) % size == 0)
    return next(size for size in sizes if all(one // size == other // size for one, other in pairs))


def _near(source: Any, right: float, wrong: list[float]) -> float:
    return right if source.random() < 0.6 else source.choice([each for each in wrong if each > 0])


# ---- 2.1, 2.2


def _are_runs(given: Any, answer: Any) -> bool:
    return all(answer[part] == run(given, given["source"], given[part]) for part in ("first", "second"))


def _some_runs(given: Any, source: Any) -> Any:
    found = {part: run(given, given["source"], given[part]) for part in ("first", "second")}
    return {part: _near(source, each, [2 * each, each / 2, each + 1, 7, 5000]) for part, each in found.items()}


def _is_shuffle(given: Any, answer: Any) -> bool:
    return answer == shuffle(given, given["source"], given["destination"])


def _some_shuffle(given: Any, source: Any) -> Any:
    right = shuffle(given, given["source"], given["destination"])
    if source.random() < 0.35:
        return right
    return source.choice([2 * right, max(1, right // 2), right + 1, 1, 10**6, source.randrange(1, 2 * right)])


# ---- 2.3


def _are_sorted(given: Any, answer: Any) -> bool:
    runs = [run(given, *given["pairs"][name]) for name in answer]
    return runs == sorted(runs, reverse=True)


def _some_order(given: Any, source: Any) -> Any:
    names = list(given["pairs"])
    source.shuffle(names)
    if source.random() < 0.4:
        return sorted(names, key=lambda name: -run(given, *given["pairs"][name]))
    return names


# ---- 2.4


def _meet(given: Any, answer: Any) -> bool:
    first, second = answer["first"], answer["second"]
    if run(given, "<F, x, y>", first) < given["run"] or run(given, second, "<F, y, x>") < given["run"]:
        return False
    entry = SIZES[given["fields"]["v"]]
    return smallest_piece(elements(given, first), elements(given, second)) * entry <= given["shuffle"]


def _some_path(given: Any, source: Any) -> Any:
    """Blocks that divide, in any order; half of the time one of the few that may do."""
    least = given["run"] // SIZES[given["fields"]["v"]]
    is_likely = source.random() < 0.5
    block = {}
    for dim, size in given["sizes"].items():
        most = 3 * least // 2 if is_likely else size - 1
        choices = [n for n in range(least if is_likely else 2, most + 1) if size % n == 0]
        block[dim] = source.choice(choices)
    inner, outer = [f"x_in={block['x']}", f"y_in={block['y']}"], ["x_out", "y_out"]
    if source.random() < 0.5:
        outer.reverse()
    other = inner[::-1] if is_likely or source.random() < 0.5 else inner
    return {"first": f"<F, {', '.join([*inner, *outer])}>", "second": f"<F, {', '.join([*other, *outer])}>"}


# ---- 2.5


def _pattern(given: Any) -> dict[str, float]:
    ends = [f"<F, x_in={given[end]}, y, x_out>" for end in ("here", "there")]
    return {"run": run(given, *ends), "entries": smallest_piece(*(elements(given, end) for end in ends))}


def _is_pattern(given: Any, answer: Any) -> bool:
    return bool(answer == _pattern(given))


def _some_pattern(given: Any, source: Any) -> Any:
    found = _pattern(given)
    return {part: _near(source, each, [2 * each, each + 1, max(1, each // 2), 1]) for part, each in found.items()}


# ---- 2.P

TARGETS = {
    "NCHW": "w h c n", "NHCW": "w c h n", "CHWN": "n w h c", "NCHW4c": "c_in=4 w h c_out n", "NCHW8c": "c_in=8 w h c_out n",
    "NCHW16c": "c_in=16 w h c_out n", "NWHC": "c h w n", "HWNC": "c n w h", "HNWC": "c w n h",
}  # fmt: skip


def _seconds(given: Any, name: str) -> float:
    """The time of a run for each byte of it. The first run is followed until the copy has another entry."""
    sizes = given["sizes"]
    digits = radices(f"<{', '.join(TARGETS[name].split())}>", sizes, 1)
    length = 0
    while length < math.prod(sizes.values()):
        rest, index = length, {}
        for dim in "cwhn":
            rest, index[dim] = divmod(rest, sizes[dim])
        place, weight = 0, 1
        for dim, step, extent in digits:
            place += index[dim] // step % extent * weight
            weight *= extent
        if place != length:
            break
        length += 1
    return (given["latency"] + 4 * length / given["bandwidth"]) / length


def _is_prediction(given: Any, answer: Any) -> bool:
    seconds = [_seconds(given, name) for name in answer["order"]]
    ratio = _seconds(given, given["slow"]) / _seconds(given, given["fast"])
    rises = all(later >= (1 - 1e-9) * sooner for sooner, later in itertools.pairwise(seconds))
    return rises and abs(answer["ratio"] - ratio) <= 0.02 * ratio


def _some_prediction(given: Any, source: Any) -> Any:
    names = list(given["names"])
    source.shuffle(names)
    if source.random() < 0.6:
        names.sort(key=lambda name: _seconds(given, name))
    ratio = _seconds(given, given["slow"]) / _seconds(given, given["fast"])
    return {"order": names, "ratio": ratio * source.choice((1, 1.01, 0.99, 1.05, 0.5))}


JUDGES = {
    "2.1": _are_runs,
    "2.2": _is_shuffle,
    "2.3": _are_sorted,
    "2.4": _meet,
    "2.5": _is_pattern,
    "2.P": _is_prediction,
}
"""Whether an answer is right."""
ANSWERS = {
    "2.1": _some_runs,
    "2.2": _some_shuffle,
    "2.3": _some_order,
    "2.4": _some_path,
    "2.5": _some_pattern,
    "2.P": _some_prediction,
}
"""Random answers, about a third of them right."""
