"""Notebook 1 judged independently: loops over all elements in the order of the components. Nothing of isoviz is used."""

from __future__ import annotations

import itertools
from typing import Any

SIZES = {"uint8": 1, "uint16": 2, "uint32": 4, "float32": 4, "float64": 8}


def tape(given: Any, layout: str | None = None) -> list[tuple[int, dict[str, int], str]]:
    """Every place of the memory in order: its byte, its index by dimension, and its field. Places of padding are left out."""
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
        if all(index[dim] < size for dim, size in given["sizes"].items()):
            found.append((at, index, field))
        at += SIZES[given["fields"][field]]
    return found


def _byte_is_right(given: Any, answer: Any) -> bool:
    return any(at == answer and index == given["index"] and field == given["field"] for at, index, field in tape(given))


def _some_byte(given: Any, source: Any) -> int:
    right = next(at for at, index, field in tape(given) if index == given["index"] and field == given["field"])
    return right if source.random() < 0.3 else source.choice(tape(given))[0] if source.random() < 0.9 else source.randrange(2000)


JUDGES = {"1.1": _byte_is_right}
"""Whether an answer is right."""
ANSWERS = {"1.1": _some_byte}
"""Random answers, about a third of them right."""
