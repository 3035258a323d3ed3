"""Notebook 1 judged independently: loops over all elements in their order, and NumPy. Nothing of isoviz is used."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

SIZES = {"uint8": 1, "uint16": 2, "int32": 4, "float32": 4, "float64": 8}


def places(given: Any, layout: str | None = None) -> list[tuple[int, dict[str, int] | None, str]]:
    """Every place of the memory in order: its byte, its index by dimension (None: padding), and its field."""
    parts = [part.strip() for part in (layout or given["layout"]).strip("<>").split(",")]
    blocks = {part.partition("_")[0]: int(part.partition("=")[2]) for part in parts if "=" in part}
    names = [part.partition("=")[0] for part in parts]
    extent = {"F": len(given["fields"])}
    for dim, size in given["sizes"].items():
        block = blocks.get(dim, size)
        extent |= {dim: size, f"{dim}_in": block, f"{dim}_out": -(-size // block)}
    at, found = 0, []
    for values in itertools.product(*(range(extent[name]) for name in reversed(names))):
        digits = dict(zip(reversed(names), values, strict=True))
        field = list(given["fields"])[digits["F"]]
        index = {
            dim: digits[dim] if dim in digits else digits[f"{dim}_out"] * blocks[dim] + digits[f"{dim}_in"]
            for dim in given["sizes"]
        }
        is_there = all(index[dim] < size for dim, size in given["sizes"].items())
        found.append((at, index if is_there else None, field))
        at += SIZES[given["fields"][field]]
    return found


def tape(given: Any, layout: str | None = None) -> list[tuple[int, dict[str, int], str]]:
    """The places without padding."""
    return [(at, index, field) for at, index, field in places(given, layout) if index is not None]


def _byte_is_right(given: Any, answer: Any) -> bool:
    return any(at == answer and index == given["index"] and field == given["field"] for at, index, field in tape(given))


def _some_byte(given: Any, source: Any) -> int:
    right = next(at for at, index, field in tape(given) if index == given["index"] and field == given["field"])
    return right if source.random() < 0.3 else source.choice(tape(given))[0] if source.random() < 0.9 else source.randrange(2000)


def _tape_is_right(given: Any, answer: Any) -> bool:
    return places(given, answer) == places(given)


def _shuffled(source: Any, *parts: str) -> str:
    return f"<{', '.join(source.sample(parts, len(parts)))}>"


def _some_tape(given: Any, source: Any) -> str:
    if source.random() < 0.3:
        return str(given["layout"])
    split, other = given["split"], "y" if given["split"] == "x" else "x"
    if source.random() < 0.2:
        return _shuffled(source, "F", "x", "y")
    return _shuffled(source, "F", other, f"{split}_in={source.choice((given['block'], 2, 3, 4))}", f"{split}_out")


def _what_lies_there(given: Any) -> Any:
    at, index, field = [each for each in places(given) if each[0] <= given["byte"]][-1]
    return "padding" if index is None else (index["x"], index["y"], field, given["byte"] - at)


def _content_is_right(given: Any, answer: Any) -> bool:
    return bool(answer == _what_lies_there(given))


def _some_content(given: Any, source: Any) -> Any:
    if source.random() < 0.3:
        return _what_lies_there(given)
    if source.random() < 0.3:
        return "padding"
    field = source.choice("ab")
    within = source.randrange(SIZES[given["fields"][field]])
    return (source.randrange(given["sizes"]["x"]), source.randrange(given["sizes"]["y"]), field, within)


def _addresses(given: Any, name: str) -> dict[tuple[int, int, int], int]:
    """The byte of each element by field, y and x, as the addresses in a real array say."""
    made = given["arrays"][name]
    entry = np.dtype([("a", "float32"), ("b", "float32")])
    sizes = {"f": 2, **given["sizes"]}
    array = np.zeros(
        [sizes[axis] for axis in made["axes"]],
        "float32" if "f" in made["axes"] else entry,
        order="F" if made["ordered"] else "C",
    )
    axes = made["axes"][::-1] if made["turned"] else made["axes"]
    array = array.T if made["turned"] else array
    begin, found = array.__array_interface__["data"][0], {}
    for f, y, x in itertools.product(range(2), range(sizes["y"]), range(sizes["x"])):
        part = array if "f" in axes else array["ab"[f]]
        element = part[tuple(slice({"f": f, "y": y, "x": x}[axis], None) for axis in axes)]
        found[f, y, x] = element.__array_interface__["data"][0] - begin
    return found


def _addresses_by(given: Any, layout: str) -> dict[tuple[int, int, int], int]:
    return {("ab".index(field), index["y"], index["x"]): at for at, index, field in tape(given, layout)}


def _arrays_are_right(given: Any, answer: Any) -> bool:
    (one, other), layout = answer
    return _addresses(given, one) == _addresses(given, other) == _addresses_by(given, layout)


def _some_arrays(given: Any, source: Any) -> Any:
    pairs = list(itertools.combinations("ABCDE", 2))
    same = [pair for pair in pairs if _addresses(given, pair[0]) == _addresses(given, pair[1])]
    pair = same[0] if source.random() < 0.7 else source.choice(pairs)
    layouts = [f"<{', '.join(order)}>" for order in itertools.permutations(("F", "x", "y"))]
    fitting = [each for each in layouts if _addresses_by(given, each) == _addresses(given, pair[0])]
    return pair, fitting[0] if source.random() < 0.5 else source.choice(layouts)


def _padding(given: Any, block: int) -> tuple[int, int]:
    """Bytes of the array in blocks, and how many places are empty, counted one by one."""
    found = places(given, f"<F, x_in={block}, x_out, y>")
    return found[-1][0] + SIZES[given["fields"][found[-1][2]]], sum(index is None for _, index, _ in found)


def _padding_is_right(given: Any, answer: Any) -> bool:
    nbytes, block = answer
    empty = {each: _padding(given, each)[1] for each in range(3, 9)}
    return nbytes == _padding(given, given["block"])[0] and empty.get(block) == min(empty.values())


def _some_padding(given: Any, source: Any) -> tuple[int, int]:
    nbytes = _padding(given, given["block"])[0]
    return nbytes if source.random() < 0.7 else nbytes - source.randrange(1, 200), source.choice((*range(2, 10), 7, 8, 5))


def _ends(given: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The memory before and after, as NumPy itself rearranges it: the number of the element at each place."""
    split, block, sizes = given["split"], given["block"], given["sizes"]
    before = np.arange(np.prod([sizes[dim] for dim in given["axes"]])).reshape([sizes[dim] for dim in given["axes"]])
    extents = {**sizes, f"{split}_out": sizes[split] // block, f"{split}_in": block}
    turned = before.reshape([extents[axis] for axis in given["reshaped"]])
    after = turned.transpose([given["reshaped"].index(axis) for axis in given["moved"]]).copy()
    return before.reshape(-1), after.reshape(-1)


def _numbers(given: Any, layout: str) -> list[int]:
    """The number of the element at each place of a layout, as `_ends` numbers them."""
    found = []
    for _at, index, _field in tape(given, layout):
        number = 0
        for dim in given["axes"]:
            number = number * given["sizes"][dim] + index[dim]
        found.append(number)
    return found


def _ends_are_right(given: Any, answer: Any) -> bool:
    return all(_numbers(given, layout) == end.tolist() for layout, end in zip(answer, _ends(given), strict=True))


def _some_ends(given: Any, source: Any) -> tuple[str, str]:
    split, others = given["split"], [dim for dim in "hwc" if dim != given["split"]]
    before, after = ([*reversed(given[axes])] for axes in ("axes", "moved"))
    if source.random() < 0.4:
        source.shuffle(before)
    if source.random() < 0.4:
        after = source.sample([*others, f"{split}_in", f"{split}_out"], 4)
    block = given["block"] if source.random() < 0.8 else 2
    place = source.randrange(4)  # of F, which says nothing with one field
    after[place:place] = ["F"]
    return f"<{', '.join(['F', *before])}>", f"<{', '.join(after)}>".replace(f"{split}_in", f"{split}_in={block}")


def _vectors_are_right(given: Any, answer: Any) -> bool:
    where = {(index["x"], index["y"], field): at for at, index, field in tape(given, answer)}
    nx, ny, sizes = given["sizes"]["x"], given["sizes"]["y"], {name: SIZES[dtype] for name, dtype in given["fields"].items()}
    for y, x, (field, size) in itertools.product(range(ny), range(nx), sizes.items()):
        last_of_group = x % 8 == 7 or x // 8 * 8 + 8 > nx
        if not last_of_group and where[x + 1, y, field] != where[x, y, field] + size:
            return False
    for x, y in itertools.product(range(nx), range(ny)):
        begins = [where[x, y, field] for field in sizes]
        ends = [where[x, y, field] + size for field, size in sizes.items()]
        if max(ends) - min(begins) > 1024:
            return False
    found, cell = places(given, answer), sum(sizes.values())
    return (len(found) * cell // len(sizes) - nx * ny * cell) < 0.02 * nx * ny * cell


def _some_vectors(given: Any, source: Any) -> str:
    if source.random() < 0.4:
        return str(source.choice(("<x_in=8, F, x_out, y>", "<x_in=8, F, y, x_out>", "<x_in=16, F, x_out, y>")))
    block = source.choice((4, 8, 12, 16, 24, 32, 48, 64))
    parts = ["F", "y", "x_out"]
    return f"<x_in={block}, {', '.join(source.sample(parts, 3))}>" if block != 4 else _shuffled(source, "F", "x", "y")


JUDGES = {
    "1.1": _byte_is_right,
    "1.2": _tape_is_right,
    "1.3": _content_is_right,
    "1.4": _arrays_are_right,
    "1.5": _padding_is_right,
    "1.6": _ends_are_right,
    "1.P": _vectors_are_right,
}
"""Whether an answer is right."""
ANSWERS = {
    "1.1": _some_byte,
    "1.2": _some_tape,
    "1.3": _some_content,
    "1.4": _some_arrays,
    "1.5": _some_padding,
    "1.6": _some_ends,
    "1.P": _some_vectors,
}
"""Random answers, about a third of them right."""
